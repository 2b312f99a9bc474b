//! A datagram that is reported as it comes, without a flow.

use std::net::SocketAddr;

use dissectors::kit::{Payload, Side, Time, Transport};

/// A datagram of UDP, as it comes: see [`Needs::datagrams`](super::Needs::datagrams).
#[derive(Clone, Copy, Debug)]
pub struct DatagramEvent<'b> {
    /// What its headers say.
    pub headers: DatagramHeaders,
    /// What it carries, as far as it was recorded.
    pub bytes: &'b [u8],
}

/// What the headers of a datagram say.
#[derive(Clone, Copy, Debug)]
pub struct DatagramHeaders {
    /// When it came.
    pub time: Time,
    /// Its packet.
    pub frame: u64,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// The IPv4 identification, where it tells one datagram from another.
    pub identification: Option<u16>,
    /// Bytes that it carries, as sent.
    pub length: u32,
    /// A hash of those that were recorded: of what else the same two hosts send in this run, what has the same
    /// one is the same.
    pub hash: u64,
}

impl<'b> DatagramEvent<'b> {
    /// The datagram, as rules and filters look at it.
    pub fn payload(&self) -> Payload<'b> {
        let headers = &self.headers;
        Payload {
            bytes: self.bytes,
            pieces: &[],
            inflated: false,
            frame: headers.frame,
            time: headers.time,
            side: Side::First,
            from: headers.from,
            to: headers.to,
            flow: 0,
            transport: Transport::Udp,
            headers: 0,
            lost: self.bytes.len() < headers.length as usize,
            hash: None,
        }
    }
}
