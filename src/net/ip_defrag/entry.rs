//! One incomplete datagram, and how a fragment relates to it.
//!
//! Finds what belongs together and what contradicts. The number of datagrams and their total cost
//! are handled elsewhere.

use std::hash::{Hash, Hasher};
use std::mem;
use std::net::IpAddr;

use dissectors::kit::Piece;

use super::FragmentSource;
use super::pages::{Coverage, Pages, Placement, TouchedPages};
use super::queue::{InQueues, QueueKind, QueueLinks};
use super::result::{FragmentEvent, FragmentEventKind, GiveUpCause, Joined};
use super::table::NumberedTable;
use crate::net::hosts::{Hosts, hash_addresses};
use crate::net::limits;
use crate::net::packet::{Fragment, FrameRef, Ip};
use crate::net::tunnels::Tunnels;

/// The cost of a datagram without its bytes and pieces: its actual cost if it is the only one of
/// its source and between its hosts. The number is fixed, so that limits are reached at the same
/// point on all platforms.
pub(super) const ENTRY_COST: usize = 728;
const _: () = assert!(
    ENTRY_COST
        >= NumberedTable::<DatagramKey, PartialDatagram>::COST
            + NumberedTable::<IpAddr, FragmentSource>::COST
            + NumberedTable::<Hosts, u32>::COST
            + size_of::<Coverage>()
);

/// The same for a piece: a third of a list may be empty.
pub(super) const PIECE_COST: usize = 48;
const _: () = assert!(PIECE_COST * 2 >= size_of::<HeldPiece>() * 3);

/// With more pieces than this, bytes are copied on arrival: pieces are kept sorted by moving later
/// ones.
const LENT_PIECES: usize = 64;

/// The properties that all fragments of one datagram have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatagramKey {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) identification: u32,
    /// Zero for IPv6, where fragments of one datagram may differ in it.
    pub(super) protocol: u8,
    pub(super) vlan: Option<u16>,
    pub(super) tunnels: Tunnels,
}

impl DatagramKey {
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

impl Hash for DatagramKey {
    /// Usually two words: it is computed for every fragment.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { source, destination, identification, protocol, vlan, tunnels } = self;
        hash_addresses(source, destination, state);
        let vlan = vlan.map_or(0, |vlan| 1 << 16 | u64::from(vlan));
        let number = u64::from(*identification);
        state.write_u64(number << 32 | vlan << 8 | u64::from(*protocol));
        tunnels.hash(state);
    }
}

/// A range of a datagram's bytes from one packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldPiece {
    piece: Piece,
    /// The position of its bytes in the capture, if they were left there.
    place: usize,
}

impl HeldPiece {
    /// Its bytes, if they were left in the capture.
    fn bytes<'a>(&self, capture: &'a [u8]) -> &'a [u8] {
        let rest = capture.get(self.place..).unwrap_or_default();
        rest.get(..self.piece.length as usize).unwrap_or_default()
    }
}

/// Where the byte after a piece would be in the datagram.
fn end_of(piece: &Piece) -> u32 {
    piece.at + piece.length
}

impl InQueues for PartialDatagram {
    fn links(&mut self) -> &mut [QueueLinks; QueueKind::COUNT] {
        &mut self.links
    }
}

/// An incomplete datagram.
#[derive(Debug)]
pub(super) struct PartialDatagram {
    pub(super) identification: u32,
    /// Of the fragment at offset 0, once it has arrived; until then of any.
    pub(super) ip: Ip,
    pub(super) protocol: u8,
    /// Those of the transport header, once the fragment at offset 0 has arrived.
    pub(super) ports: Option<[u16; 2]>,
    pub(super) opened: FrameRef,
    /// Its bytes, if they are stored here; otherwise the pieces have their positions in the
    /// capture.
    pub(super) coverage: Option<Box<Coverage>>,
    /// In order of arrival; sorted, if the bytes are in the capture.
    pub(super) pieces: Vec<HeldPiece>,
    pub(super) touched: TouchedPages,
    /// Number of bytes held.
    pub(super) held: u32,
    /// The end of the farthest fragment.
    pub(super) reach: u32,
    /// The datagram's length, once the last fragment has arrived.
    pub(super) length: Option<u32>,
    pub(super) overlap: Option<Overlap>,
    pub(super) snapped: bool,
    /// Its datagram was whole recently: probably copies.
    pub(super) echo: bool,
    /// Its cost in `used` and in its source.
    pub(super) cost: usize,
    /// The numbers of its source, and of its two hosts.
    pub(super) source: u32,
    pub(super) hosts: u32,
    pub(super) links: [QueueLinks; QueueKind::COUNT],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Overlap {
    pub(super) at: FrameRef,
    pub(super) differs: bool,
}

impl PartialDatagram {
    /// Rejects fragments that contradict the datagram's known length.
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

    /// Leaves a fragment's bytes in the capture. Fails if they are not there, if they overlap
    /// others, or if there are too many pieces: then they must be copied.
    pub(super) fn lend(
        &mut self,
        extent: &Extent<'_>,
        offset: u32,
        origin: FragmentOrigin<'_>,
        capture: &[u8],
    ) -> bool {
        if self.coverage.is_some() {
            return false;
        }
        let (at, length) = (extent.start, extent.bytes.len() as u32);
        if length == 0 {
            return true;
        }
        let Some(place) = place_in(capture, extent.bytes) else { return false };
        let pieces = &mut self.pieces;
        let next = pieces.iter().rposition(|it| it.piece.at < at).map_or(0, |before| before + 1);
        let (before, after) = pieces.split_at(next);
        let meets = before.last().is_some_and(|it| end_of(&it.piece) > at)
            || after.first().is_some_and(|it| at + length > it.piece.at);
        if meets || pieces.len() >= LENT_PIECES {
            return false;
        }
        let piece = Piece { at, length, offset, frame: origin.at.frame };
        pieces.insert(next, HeldPiece { piece, place });
        self.held += length;
        self.touched.add(at, length);
        true
    }

    /// Copies a fragment's bytes, after those that were left in the capture until now.
    pub(super) fn copy(
        &mut self,
        extent: &Extent<'_>,
        offset: u32,
        origin: FragmentOrigin<'_>,
        pages: &mut Pages,
        capture: &[u8],
    ) {
        let coverage = self.coverage.get_or_insert_with(|| {
            let mut coverage = pages.coverage();
            in_order_of_arrival(&mut self.pieces);
            for held in &self.pieces {
                pages.place(&mut coverage, held.piece.at, held.bytes(capture), |_, _| {});
            }
            coverage
        });
        let placement = pages.place(coverage, extent.start, extent.bytes, |at, length| {
            self.held += length;
            self.touched.add(at, length);
            origin.record(at, offset.saturating_add(at - extent.start), length, &mut self.pieces);
        });
        if let Placement::Overlap { differs } = placement {
            let overlap = self.overlap.get_or_insert(Overlap { at: origin.at, differs: false });
            overlap.differs |= differs;
        }
    }

    /// Updates its cost, and returns the increase.
    pub(super) fn weigh(&mut self) -> usize {
        let cost = ENTRY_COST + self.touched.cost() + self.pieces.len() * PIECE_COST;
        cost.saturating_sub(mem::replace(&mut self.cost, cost))
    }

    /// Its properties, now that it is whole.
    pub(super) fn joined<'a>(&'a self, capture: &'a [u8]) -> Joined<'a> {
        let head = match (&self.coverage, self.pieces.first()) {
            (Some(coverage), _) => coverage.first(8.min(self.held as usize)),
            (None, Some(first)) => {
                let first = first.bytes(capture);
                first.get(..8).unwrap_or(first)
            }
            (None, None) => &[],
        };
        Joined { ip: &self.ip, protocol: self.protocol, head, length: self.held }
    }

    /// All bytes and pieces in order, of a datagram that is whole.
    pub(super) fn put_together(
        &mut self,
        capture: &[u8],
        bytes: &mut Vec<u8>,
        pieces: &mut Vec<Piece>,
    ) {
        bytes.clear();
        match &self.coverage {
            Some(coverage) => {
                coverage.copy(self.held, bytes);
                self.pieces.sort_unstable_by_key(|it| it.piece.at);
            }
            None => {
                self.pieces.iter().for_each(|held| bytes.extend_from_slice(held.bytes(capture)))
            }
        }
        pieces.clear();
        pieces.extend(self.pieces.iter().map(|it| it.piece));
    }

    /// Where fragments overlapped. Copies of a cut fragment may be cut elsewhere, which is not an
    /// overlap.
    pub(super) fn overlapped(&self) -> Option<Overlap> {
        self.overlap.filter(|overlap| overlap.differs || !self.snapped)
    }

    pub(super) fn report_overlap(&self, events: &mut Vec<FragmentEvent>) {
        if let Some(Overlap { at, differs }) = self.overlapped() {
            events.push(self.event(at, FragmentEventKind::Overlap { differs }));
        }
    }

    pub(super) fn missing(&mut self, cause: GiveUpCause) -> FragmentEvent {
        if self.coverage.is_none() {
            in_order_of_arrival(&mut self.pieces);
        }
        let mut frames = vec![self.opened.frame];
        for HeldPiece { piece, .. } in &self.pieces {
            if frames.len() >= limits::NAMED_FRAMES {
                break;
            }
            if !frames.contains(&piece.frame) {
                frames.push(piece.frame);
            }
        }
        let (held, length, snapped) = (self.held, self.length, self.snapped);
        self.event(self.opened, FragmentEventKind::Missing { cause, frames, held, length, snapped })
    }

    fn event(&self, at: FrameRef, kind: FragmentEventKind) -> FragmentEvent {
        FragmentEvent {
            ip: self.ip,
            ports: self.ports,
            identification: self.identification,
            at,
            kind,
        }
    }
}

/// The position of these bytes in a capture, if they are in its memory.
fn place_in(capture: &[u8], bytes: &[u8]) -> Option<usize> {
    let place = bytes.as_ptr().addr().checked_sub(capture.as_ptr().addr())?;
    let found = capture.get(place..)?.get(..bytes.len())?;
    std::ptr::eq(found, bytes).then_some(place)
}

/// Each piece in the capture came in a separate packet.
fn in_order_of_arrival(pieces: &mut [HeldPiece]) {
    pieces.sort_unstable_by_key(|it| it.piece.frame);
}

/// The range of a datagram that a fragment covers.
#[derive(Debug)]
pub(super) struct Extent<'a> {
    pub(super) start: u32,
    /// As announced; after the end of `bytes` if the capture cut the packet.
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
            return Err("a fragment before the last one is not a multiple of 8 bytes long");
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

/// The origin of a fragment's bytes: a packet, or pieces of the joined datagram around it.
#[derive(Clone, Copy)]
pub(super) struct FragmentOrigin<'a> {
    pub(super) at: FrameRef,
    pub(super) pieces: Option<&'a [Piece]>,
}

impl FragmentOrigin<'_> {
    /// Names the origin of `length` bytes at `offset` of what the fragment was decoded from.
    pub(super) fn record(&self, at: u32, offset: u32, length: u32, pieces: &mut Vec<HeldPiece>) {
        let Some(outer) = self.pieces else {
            let frame = self.at.frame;
            match pieces.last_mut().map(|it| &mut it.piece) {
                // A run that continues on the next page.
                Some(last)
                    if last.frame == frame
                        && last.at + last.length == at
                        && last.offset + last.length == offset =>
                {
                    last.length += length;
                }
                _ => add(pieces, Piece { at, length, offset, frame }),
            }
            return;
        };
        let end = offset.saturating_add(length);
        let first = outer.partition_point(|piece| end_of(piece) <= offset);
        for piece in outer.iter().skip(first).take_while(|piece| piece.at < end) {
            let from = piece.at.max(offset);
            let to = end_of(piece).min(end);
            let piece = Piece {
                at: at + (from - offset),
                length: to - from,
                offset: piece.offset + (from - piece.at),
                frame: piece.frame,
            };
            add(pieces, piece);
        }
    }
}

/// Appends to a list whose capacity exceeds its length by at most a half, plus a few pieces.
fn add(pieces: &mut Vec<HeldPiece>, piece: Piece) {
    if pieces.len() == pieces.capacity() {
        pieces.reserve_exact(pieces.len() / 2 + 4);
    }
    pieces.push(HeldPiece { piece, place: 0 });
}
