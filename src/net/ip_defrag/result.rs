//! The results of defragmentation: whole datagrams, and events about faults.

use dissectors::kit::Piece;

use crate::net::packet::{FrameRef, Ip, Malformed};

/// A datagram whose fragments have all arrived.
///
/// Return it with [`Defragmenter::recycle`](super::Defragmenter::recycle) after use, so that its
/// memory is reused.
#[derive(Debug)]
pub struct WholeDatagram {
    /// Addresses, of the first fragment.
    pub ip: Ip,
    /// The protocol of the payload, from the first fragment.
    pub protocol: u8,
    /// The IPv4 identification that its fragments have in common.
    pub identification: Option<u16>,
    /// The datagram's payload: the bytes after the IP header (or the IPv6 fragment header).
    pub bytes: Vec<u8>,
    /// Where each byte comes from: in order, without holes or overlaps.
    pub pieces: Vec<Piece>,
    /// Some fragments overlapped; `bytes` holds what arrived first.
    pub overlapped: bool,
}

impl WholeDatagram {
    /// The frame, and the offset in its packet, that the byte at `at` comes from.
    pub fn locate(&self, at: u32) -> Option<(u64, u32)> {
        let index = self.pieces.partition_point(|piece| piece.at <= at).checked_sub(1)?;
        let piece = self.pieces.get(index)?;
        let within = at.checked_sub(piece.at).filter(|within| *within < piece.length)?;
        Some((piece.frame, piece.offset.saturating_add(within)))
    }
}

/// The properties of a datagram when its last fragment has arrived, before its bytes are joined.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a> {
    /// Addresses, of the first fragment.
    pub ip: &'a Ip,
    /// The protocol of the payload, from the first fragment.
    pub protocol: u8,
    /// The first eight bytes, or all if there are fewer.
    pub head: &'a [u8],
    /// Its number of bytes.
    pub length: u32,
}

/// A fault in a datagram that verdicts depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentEvent {
    /// Addresses of the datagram.
    pub ip: Ip,
    /// Its ports, if the fragment with them arrived.
    pub ports: Option<[u16; 2]>,
    /// Its identification.
    pub identification: u32,
    /// The packet that it is about; of a dropped datagram, the first one.
    pub at: FrameRef,
    /// What happened.
    pub kind: FragmentEventKind,
}

/// What happened to a fragmented datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FragmentEventKind {
    /// Fragments overlap (NET004). Reported once per datagram, when it is whole or dropped; `at` is
    /// the first fragment that overlapped. Copies of a fragment do not overlap it.
    Overlap {
        /// Some byte was sent with two different values.
        differs: bool,
    },
    /// The datagram was dropped (NET005).
    Missing {
        /// Why.
        cause: GiveUpCause,
        /// Packets of its fragments, at most
        /// [`limits::NAMED_FRAMES`](crate::net::limits::NAMED_FRAMES).
        frames: Vec<u64>,
        /// How many bytes arrived.
        held: u32,
        /// Its length, if the last fragment arrived.
        length: Option<u32>,
        /// The capture had cut some of its packets.
        snapped: bool,
    },
    /// A fragment cannot be part of a datagram, or contradicts its datagram, and was left out
    /// (NET008).
    Malformed(Malformed),
}

/// Why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GiveUpCause {
    /// Its fragments did not arrive in time.
    Timeout,
    /// Memory was needed for newer ones.
    Limit,
    /// The capture ended.
    End,
}
