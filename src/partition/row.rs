//! A row from a file to a partition: a packet, or information about the recording.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{BrokenBytes, from_bytes};
use crate::capture::{LinkType, Packet};

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RowKind {
    /// A partition exists, with or without packets.
    Begins,
    /// Hosts in the recording that do not use a supported protocol.
    Heard,
    /// Runs of packets of this file.
    Files,
    /// A packet.
    Packet,
    /// A notice about the recording.
    Notice,
}

impl RowKind {
    /// The kind with this number, as rows are sorted by.
    pub fn numbered(number: u8) -> Option<RowKind> {
        from_bytes(&[number]).ok()
    }
}

/// A run of packets of a file: the first packet's number among all, the file, its number in the
/// file.
pub(super) type FileRun = (u64, u32, u64);

/// A row. Those of a partition are read in the order of [`PartitionRow::order`].
#[derive(Clone, Copy, Debug)]
pub struct PartitionRow<'a> {
    /// Its partition.
    pub partition: u32,
    /// The packet's number among those of all files; of a notice, that of the packet before it.
    pub frame: u64,
    /// What it is.
    pub kind: RowKind,
    /// The time; of a notice, its position in the merged order.
    pub time: i64,
    /// The file, by its number.
    pub file: u32,
    /// The packet's number in it; of a notice, a number that orders those of a file.
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
    /// The packet's bytes; otherwise serialized information.
    pub data: &'a [u8],
}

impl<'a> PartitionRow<'a> {
    /// A packet with this number.
    pub(super) fn of_packet(
        packet: &Packet<'a>,
        frame: u64,
        file: u32,
        partition: u32,
    ) -> PartitionRow<'a> {
        PartitionRow {
            partition,
            frame,
            kind: RowKind::Packet,
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

    /// A row that is not a packet.
    pub(super) fn beside(
        kind: RowKind,
        partition: u32,
        file: u32,
        data: &'a [u8],
    ) -> PartitionRow<'a> {
        let (frame, time, number, offset) = (0, 0, 0, 0);
        let (link, interface, original_length, digits) = (0, 0, 0, 0);
        PartitionRow {
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

    /// The sort key of a partition's rows.
    pub fn order(&self) -> (u64, u8, i64, u32, u64) {
        (self.frame, self.kind as u8, self.time, self.file, self.number)
    }

    /// The information in a row that is not a packet.
    pub(super) fn content<T: DeserializeOwned>(&self) -> Result<T, BrokenBytes> {
        from_bytes(self.data)
    }
}
