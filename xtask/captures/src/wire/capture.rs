//! Recorded packets, with their times and lengths.

use crate::wire::{Link, PcapFormat, Tag, pcap};

/// A time of a capture, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

/// The start of all captures of this crate: 2026-01-01T00:00:00Z.
pub const START: Time = Time(1_767_225_600_000_000_000);

impl Time {
    /// This many nanoseconds later.
    pub const fn after(self, nanoseconds: u64) -> Time {
        Time(self.0 + nanoseconds)
    }

    /// This many milliseconds later.
    pub const fn after_ms(self, milliseconds: u64) -> Time {
        self.after(milliseconds * 1_000_000)
    }
}

/// A packet with its link header, as a capture holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedPacket {
    /// When it was recorded.
    pub time: Time,
    /// What was recorded of it.
    pub bytes: Vec<u8>,
    /// How long it was on the wire; never shorter than `bytes`.
    pub length: u32,
}

impl TimedPacket {
    /// A packet that was recorded completely.
    pub fn new(time: Time, bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u32;
        Self { time, bytes, length }
    }

    /// The same packet, recorded up to a snap length only.
    pub fn snapped(mut self, snap_length: usize) -> Self {
        self.bytes.truncate(snap_length);
        self
    }
}

/// What was recorded on one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The kind of link.
    pub link: Link,
    /// The packets, in the order they were recorded in.
    pub packets: Vec<TimedPacket>,
}

impl Capture {
    /// A capture without packets.
    pub const fn new(link: Link) -> Self {
        Self { link, packets: Vec::new() }
    }

    /// Records an IP packet, after the link's header.
    pub fn push(&mut self, time: Time, ip_packet: &[u8]) {
        self.push_tagged(time, &[], ip_packet);
    }

    /// Records an IP packet, after the link's header with VLAN tags, the outermost first.
    pub fn push_tagged(&mut self, time: Time, tags: &[Tag], ip_packet: &[u8]) {
        self.packets.push(TimedPacket::new(time, self.link.frame(tags, ip_packet)));
    }

    /// The same packets in the order of their times; those of one time stay as they are.
    pub fn in_time(mut self) -> Self {
        self.packets.sort_by_key(|packet| packet.time);
        self
    }

    /// The capture as a pcap file: little-endian, microseconds.
    pub fn pcap(&self) -> Vec<u8> {
        self.pcap_as(PcapFormat::default())
    }

    /// The capture as a pcap file.
    pub fn pcap_as(&self, format: PcapFormat) -> Vec<u8> {
        pcap::write(self, format)
    }
}
