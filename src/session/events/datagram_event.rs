//! A single datagram, without a flow.

use std::net::SocketAddr;

use dissectors::kit::{Payload, Side, Time};

use super::NOWHERE;
use crate::net::{LinkTags, PacketDirection};

/// A single UDP datagram: see [`Needs::datagrams`](crate::session::Needs::datagrams).
#[derive(Clone, Copy, Debug)]
pub struct DatagramEvent<'b> {
    /// The values from its headers.
    pub headers: DatagramHeaders,
    /// Its payload, as far as it was recorded.
    pub bytes: &'b [u8],
}

/// The values from a datagram's headers.
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
    /// Its direction at the recording host.
    pub direction: PacketDirection,
    /// The tags and labels around it.
    pub tags: LinkTags,
    /// The IPv4 identification, if it distinguishes datagrams.
    pub identification: Option<u16>,
    /// Length of its payload as sent.
    pub length: u32,
    /// A hash of the recorded bytes: within this run, equal hashes mean equal bytes.
    pub hash: u64,
    /// The network or the recorder doubled it: it was counted.
    pub is_copy: bool,
}

impl<'b> DatagramEvent<'b> {
    /// Whether not all of its payload was recorded.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.headers.length as usize
    }

    /// The datagram in the form for rules and filters.
    pub fn payload(&self) -> Payload<'b> {
        let DatagramHeaders { frame, time, from, to, length, .. } = self.headers;
        let (lost, unlisted) = (self.is_cut(), length.saturating_sub(self.bytes.len() as u32));
        let recorded = NOWHERE.payload(Side::First, self.bytes, &[]);
        Payload { frame, time, from, to, lost, unlisted, ..recorded }
    }
}
