//! An ICMP error about a message.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Time, Transport};

/// A message that did not arrive, according to an ICMP error, or a connection that was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpEvent {
    /// The packet of the message; 0 if unknown.
    pub message: u64,
    /// TCP: the error is about opening a connection.
    pub transport: Transport,
    /// Sender and receiver of the message.
    pub ends: [SocketAddr; 2],
    /// The packet of the error.
    pub frame: u64,
    /// The time of the error.
    pub time: Time,
    /// Number of digits of a second in the capture's times: 6 or 9.
    pub digits: u8,
    /// The sender of the error.
    pub from: IpAddr,
    /// The error's own IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// Its type and its code.
    pub kind: [u8; 2],
    /// Their meaning.
    pub meaning: &'static str,
    /// The path's MTU in bytes, if the error contains it.
    pub mtu: Option<u32>,
}
