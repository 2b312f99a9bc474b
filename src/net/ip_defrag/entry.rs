//! One datagram in the making, and what a fragment is to it.
//!
//! Knows what belongs together and what contradicts; refuses to know how many datagrams there are
//! and what they may cost together.

use std::mem;
use std::net::IpAddr;

use super::Source;
use super::lanes::{Lane, Links};
use super::pages::Coverage;
use super::result::{Cause, Event, EventKind, FrameRef, Piece};
use crate::net::limits;
use crate::net::packet::{Fragment, Ip, Tunnels};

/// What a datagram costs beyond pages and pieces: its entry, and its places in the two maps, which
/// may be half empty.
pub(super) const ENTRY_COST: usize = mem::size_of::<Entry>()
    + 2 * mem::size_of::<(Key, u32)>()
    + 2 * mem::size_of::<(IpAddr, Source)>();

/// A vector may be half empty too.
pub(super) const PIECE_COST: usize = 2 * mem::size_of::<Piece>();

/// Fragments of one datagram have all of this in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) identification: u32,
    /// Zero for IPv6, where fragments of one datagram may differ in it.
    pub(super) protocol: u8,
    pub(super) vlan: Option<u16>,
    pub(super) tunnels: Tunnels,
}

impl Key {
    pub(super) fn of(fragment: &Fragment<'_>) -> Self {
        let ip = &fragment.ip;
        Self {
            source: ip.source,
            destination: ip.destination,
            identification: fragment.identification,
            protocol: if ip.source.is_ipv4() { fragment.protocol } else { 0 },
            vlan: ip.vlan,
            tunnels: ip.tunnels,
        }
    }
}

/// A datagram in the making.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// Of the fragment at offset 0, as soon as it is there; until then of any.
    pub(super) ip: Ip,
    pub(super) protocol: u8,
    pub(super) opened: FrameRef,
    pub(super) coverage: Coverage,
    pub(super) pieces: Vec<Piece>,
    /// Bytes held.
    pub(super) held: u32,
    /// The farthest byte that any fragment claimed.
    pub(super) reach: u32,
    /// The datagram's length, once the last fragment said so.
    pub(super) length: Option<u32>,
    pub(super) overlap: Option<Overlap>,
    pub(super) snapped: bool,
    /// Its datagram was whole a moment ago: probably copies.
    pub(super) echo: bool,
    /// What it counts for in `used` and in its source.
    pub(super) cost: usize,
    pub(super) links: [Links; Lane::COUNT],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Overlap {
    pub(super) at: FrameRef,
    pub(super) differs: bool,
}

impl Entry {
    /// Refuses fragments that contradict what is known of the datagram's length.
    pub(super) fn accepts(&self, extent: &Extent<'_>) -> Result<(), &'static str> {
        match self.length {
            Some(length) if extent.end > length => Err("a fragment reaches beyond the last one"),
            Some(length) if extent.last && extent.end != length => {
                Err("two last fragments end at different places")
            }
            None if extent.last && extent.end < self.reach => {
                Err("the last fragment ends before bytes of another one")
            }
            _ => Ok(()),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.length == Some(self.held)
    }

    pub(super) fn report_overlap(&self, events: &mut Vec<Event>) {
        if let Some(Overlap { at, differs }) = self.overlap {
            events.push(self.event(at, EventKind::Overlap { differs }));
        }
    }

    pub(super) fn missing(&self, cause: Cause) -> Event {
        let mut frames = vec![self.opened.frame];
        for piece in &self.pieces {
            if frames.len() >= limits::NAMED_FRAMES {
                break;
            }
            if !frames.contains(&piece.frame) {
                frames.push(piece.frame);
            }
        }
        let (held, length, snapped) = (self.held, self.length, self.snapped);
        self.event(self.opened, EventKind::Missing { cause, frames, held, length, snapped })
    }

    pub(super) fn event(&self, at: FrameRef, kind: EventKind) -> Event {
        Event { ip: self.ip, identification: self.key.identification, at, kind }
    }
}

/// The part of a datagram that a fragment may fill.
#[derive(Debug)]
pub(super) struct Extent<'a> {
    pub(super) start: u32,
    /// As announced; beyond `bytes` if the capture cut the packet.
    pub(super) end: u32,
    pub(super) last: bool,
    /// Whole units of eight bytes, except at the end of the last fragment.
    pub(super) bytes: &'a [u8],
}

impl<'a> Extent<'a> {
    pub(super) fn of(fragment: &Fragment<'a>) -> Result<Self, &'static str> {
        let start = fragment.at;
        let last = !fragment.more;
        let announced = fragment.payload.announced;
        if !start.is_multiple_of(8) {
            return Err("a fragment does not begin at a multiple of 8 bytes");
        }
        if !last && !announced.is_multiple_of(8) {
            return Err("a fragment before the last one is no multiple of 8 bytes long");
        }
        if !last && announced == 0 {
            return Err("a fragment is empty");
        }
        let end = start
            .checked_add(announced)
            .filter(|end| *end <= limits::DATAGRAM)
            .ok_or("a fragment reaches beyond the longest datagram")?;
        let held = fragment.payload.bytes;
        let usable = if fragment.payload.is_whole() { held.len() } else { held.len() & !7 };
        let most = (announced as usize).min(usable);
        let bytes = held.get(..most).unwrap_or_default();
        Ok(Self { start, end, last, bytes })
    }
}

/// Where a fragment's bytes come from: a packet, or pieces of a joined datagram around it.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) at: FrameRef,
    pub(super) pieces: Option<&'a [Piece]>,
}

impl Origin<'_> {
    /// Names the origin of `length` bytes at `offset` of what the fragment was decoded from.
    pub(super) fn record(&self, at: u32, offset: u32, length: u32, pieces: &mut Vec<Piece>) {
        let Some(outer) = self.pieces else {
            let frame = self.at.frame;
            match pieces.last_mut() {
                // A run that goes on over a page's end.
                Some(last)
                    if last.frame == frame
                        && last.at + last.length == at
                        && last.offset + last.length == offset =>
                {
                    last.length += length;
                }
                _ => pieces.push(Piece { at, length, offset, frame }),
            }
            return;
        };
        let end = offset.saturating_add(length);
        let first = outer.partition_point(|piece| piece.at + piece.length <= offset);
        for piece in outer.iter().skip(first).take_while(|piece| piece.at < end) {
            let from = piece.at.max(offset);
            let to = (piece.at + piece.length).min(end);
            pieces.push(Piece {
                at: at + (from - offset),
                length: to - from,
                offset: piece.offset + (from - piece.at),
                frame: piece.frame,
            });
        }
    }
}
