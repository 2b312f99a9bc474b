//! What a file says to a partition: a packet, or something about the recording.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Broken, from_bytes};
use crate::capture::{LinkType, Packet};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A partition is there, be there packets for it or none.
    Begins,
    /// Hosts that were heard, and do not speak a protocol of ours.
    Heard,
    /// From where on packets are from this file.
    Files,
    /// A packet.
    Packet,
    /// Something about the recording.
    Notice,
}

impl Kind {
    /// The kind with this number, as rows are sorted by.
    pub fn numbered(number: u8) -> Option<Kind> {
        from_bytes(&[number]).ok()
    }
}

/// From which packet on packets are from a file: its number among all, the file, its number in that.
pub(super) type Run = (u64, u32, u64);

/// A row. Those of a partition are read in the order of [`Row::order`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Whose it is.
    pub partition: u32,
    /// The packet's number among those of all files; of a notice, that of the packet before it.
    pub frame: u64,
    /// What it is.
    pub kind: Kind,
    /// When; of a notice, where it is in the order of merged files.
    pub time: i64,
    /// The file, by its number.
    pub file: u32,
    /// The packet's number in it; of a notice, a number by which those of a file are in order.
    pub number: u64,
    /// Where the packet begins in the file.
    pub offset: u64,
    /// See [`Packet::link`].
    pub link: u16,
    /// See [`Packet::interface`].
    pub interface: u32,
    /// See [`Packet::original_length`].
    pub original_length: u32,
    /// See [`Packet::digits`].
    pub digits: u8,
    /// The packet's bytes; otherwise what there is to say.
    pub data: &'a [u8],
}

impl<'a> Row<'a> {
    /// A packet with this number.
    pub(super) fn of_packet(packet: &Packet<'a>, frame: u64, file: u32, partition: u32) -> Row<'a> {
        Row {
            partition,
            frame,
            kind: Kind::Packet,
            time: packet.time,
            file,
            number: packet.number,
            offset: packet.offset,
            link: packet.link.0,
            interface: packet.interface,
            original_length: packet.original_length,
            digits: packet.digits,
            data: packet.data,
        }
    }

    /// What is said beside packets.
    pub(super) fn beside(kind: Kind, partition: u32, file: u32, data: &'a [u8]) -> Row<'a> {
        let (frame, time, number, offset) = (0, 0, 0, 0);
        let (link, interface, original_length, digits) = (0, 0, 0, 0);
        Row {
            partition,
            frame,
            kind,
            time,
            file,
            number,
            offset,
            link,
            interface,
            original_length,
            digits,
            data,
        }
    }

    /// Its packet.
    pub(super) fn packet(&self) -> Packet<'a> {
        Packet {
            time: self.time,
            link: LinkType(self.link),
            interface: self.interface,
            original_length: self.original_length,
            data: self.data,
            file: self.file,
            number: self.number,
            offset: self.offset,
            digits: self.digits,
        }
    }

    /// By what the rows of a partition are sorted.
    pub fn order(&self) -> (u64, u8, i64, u32, u64) {
        (self.frame, self.kind as u8, self.time, self.file, self.number)
    }

    /// What it says beside packets.
    pub(super) fn said<T: DeserializeOwned>(&self) -> Result<T, Broken> {
        from_bytes(self.data)
    }
}
