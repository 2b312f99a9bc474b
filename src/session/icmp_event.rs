//! An ICMP error about a message.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Time;

/// A message that did not arrive, as an ICMP error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpEvent {
    /// The packet that carried the message; 0 where it is not known.
    pub message: u64,
    /// Who sent the message to whom.
    pub ends: [SocketAddr; 2],
    /// The packet of the error.
    pub frame: u64,
    /// When it came.
    pub time: Time,
    /// How many digits of a second the capture has: 6 or 9.
    pub digits: u8,
    /// Who sent it.
    pub from: IpAddr,
    /// Its type and its code.
    pub kind: [u8; 2],
    /// What these say.
    pub meaning: &'static str,
    /// The largest packet that passes, in bytes, where it says so.
    pub mtu: Option<u32>,
}
