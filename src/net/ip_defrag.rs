//! Joins the fragments of IP datagrams, of both versions.
//!
//! The bytes that arrived first win: over later copies, over overlapping fragments, over a last
//! fragment that contradicts. For IPv4 that is RFC 791's freedom, used as BSD uses it; for IPv6,
//! RFC 5722 would have the receiver discard the whole datagram, but a capture is read to see what
//! was sent, so it is joined alike and the overlap reported.
//!
//! Nothing is dropped silently: what did not become whole, or could not be taken, is an [`Event`].
//! The exception are leftovers right behind a whole datagram with the same identification: copies
//! of its fragments, from captures that hold each packet twice ([`limits::ECHO`]).
//! Memory is bounded per source and in all ([`FragmentLimits`]); the oldest datagrams are given up
//! first. Work is proportional to the bytes of the fragments, whatever their order: bytes lie in
//! pages of 2 KiB with a bit for each unit of eight.
//!
//! IPv6 fragments are joined from the bytes right behind the fragment header; extension headers
//! among them are read when the datagram is whole.

mod entry;
mod lanes;
mod pages;
mod result;
#[cfg(test)]
mod tests;

use std::hash::BuildHasher;
use std::mem;
use std::net::{IpAddr, SocketAddr};

use foldhash::quality::RandomState;
use hashbrown::HashMap;

use self::entry::{ENTRY_COST, Entry, Extent, Key, Origin, Overlap, PIECE_COST};
use self::lanes::{Lane, Queue, Slots};
use self::pages::{Coverage, Pages, Placement};
pub use self::result::{Cause, Event, EventKind, FrameRef, Piece, Whole};
use super::limits::{self, FragmentLimits};
use super::packet::{Fragment, Layer, Malformed};

/// Joins fragments; holds those of datagrams that are not whole yet.
#[derive(Debug)]
pub struct Defragmenter {
    limits: FragmentLimits,
    /// The latest capture time seen; never goes back.
    now: i64,
    pages: Pages,
    entries: Slots<Entry>,
    index: HashMap<Key, u32, RandomState>,
    sources: HashMap<IpAddr, Source, RandomState>,
    /// How many datagrams are under way between two hosts, in either direction.
    pairs: HashMap<[IpAddr; 2], u32, RandomState>,
    /// All datagrams, by the time of their first fragment.
    age: Queue,
    used: usize,
    recent: Recent,
    spare_bytes: Vec<Vec<u8>>,
    spare_pieces: Vec<Vec<Piece>>,
}

/// What one source address has under way.
#[derive(Debug, Default)]
struct Source {
    used: usize,
    age: Queue,
}

const SPARE_BYTES: usize = 8;
const SPARE_PIECES: usize = 256;
/// Longer lists of pieces are an attacker's, and not worth keeping.
const SPARE_PIECES_LENGTH: usize = 64;

impl Defragmenter {
    /// An empty table; limits below [`FragmentLimits::LEAST`] are raised to it.
    pub fn new(limits: FragmentLimits) -> Self {
        let limits = FragmentLimits {
            timeout: limits.timeout.max(0),
            source: limits.source.max(FragmentLimits::LEAST),
            total: limits.total.max(FragmentLimits::LEAST),
        };
        Self {
            limits,
            now: i64::MIN,
            pages: Pages::default(),
            entries: Slots::default(),
            index: HashMap::default(),
            sources: HashMap::default(),
            pairs: HashMap::default(),
            age: Queue::default(),
            used: 0,
            recent: Recent::default(),
            spare_bytes: Vec::new(),
            spare_pieces: Vec::new(),
        }
    }

    /// Adds a fragment; returns the datagram if it is whole with it.
    ///
    /// The packet's time drives [`expire`](Self::expire).
    pub fn add(
        &mut self,
        fragment: &Fragment<'_>,
        packet: FrameRef,
        events: &mut Vec<Event>,
    ) -> Option<Whole> {
        self.insert(fragment, Origin { at: packet, pieces: None }, events)
    }

    /// Adds a fragment that was found inside a joined datagram, so that its bytes can still be
    /// traced to the packets they came in. `packet` is the one that made `outer` whole.
    pub fn add_inside(
        &mut self,
        fragment: &Fragment<'_>,
        outer: &Whole,
        packet: FrameRef,
        events: &mut Vec<Event>,
    ) -> Option<Whole> {
        self.insert(fragment, Origin { at: packet, pieces: Some(&outer.pieces) }, events)
    }

    /// Gives up the datagrams whose time is over at capture time `now`; a `now` before an earlier
    /// one counts as that one.
    pub fn expire(&mut self, now: i64, events: &mut Vec<Event>) {
        self.now = self.now.max(now);
        while let Some(oldest) = self.age.oldest() {
            let opened = self.entries.at(oldest).opened.time;
            if self.now.saturating_sub(opened) <= self.limits.timeout {
                return;
            }
            self.give_up(oldest, Cause::Timeout, events);
        }
    }

    /// Gives up everything: the capture is over.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        while let Some(oldest) = self.age.oldest() {
            self.give_up(oldest, Cause::End, events);
        }
    }

    /// Takes back the memory of a datagram that is done with.
    pub fn recycle(&mut self, whole: Whole) {
        let Whole { mut bytes, pieces, .. } = whole;
        if self.spare_bytes.len() < SPARE_BYTES {
            bytes.clear();
            self.spare_bytes.push(bytes);
        }
        self.recycle_pieces(pieces);
    }

    /// Bytes in use, bookkeeping included; never more than the limit.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Datagrams under way.
    pub fn pending(&self) -> usize {
        self.index.len()
    }

    /// Whether any datagram is under way that is not whole yet.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// Whether one is, between the hosts of these ends.
    pub fn waits_between(&self, ends: [SocketAddr; 2]) -> bool {
        self.pairs.contains_key(&pair(ends[0].ip(), ends[1].ip()))
    }

    fn insert(
        &mut self,
        fragment: &Fragment<'_>,
        origin: Origin<'_>,
        events: &mut Vec<Event>,
    ) -> Option<Whole> {
        self.expire(origin.at.time, events);
        let extent = match Extent::of(fragment) {
            Ok(extent) => extent,
            Err(what) => {
                events.push(refused(fragment, origin.at, what));
                return None;
            }
        };
        self.make_room(fragment, &extent, origin.pieces.map_or(0, <[Piece]>::len), events);
        let index = self.entry(fragment, origin.at);
        if let Err(what) = self.entries.at(index).accepts(&extent) {
            events.push(refused(fragment, origin.at, what));
            return None;
        }
        self.place(index, fragment, &extent, origin);
        if self.entries.at(index).is_whole() { Some(self.close(index, events)) } else { None }
    }

    /// The datagram that a fragment belongs to; opened, if this is the first fragment.
    fn entry(&mut self, fragment: &Fragment<'_>, at: FrameRef) -> u32 {
        let key = Key::of(fragment);
        if let Some(index) = self.index.get(&key) {
            return *index;
        }
        let entry = Entry {
            key,
            ip: fragment.ip,
            protocol: fragment.protocol,
            // Entries are ordered by this: it must not go back.
            opened: FrameRef { time: self.now, ..at },
            coverage: Coverage::default(),
            pieces: self.spare_pieces.pop().unwrap_or_default(),
            held: 0,
            reach: 0,
            length: None,
            overlap: None,
            snapped: false,
            echo: self.recent.contains(self.index.hasher().hash_one(key), self.now),
            cost: 0,
            links: Default::default(),
        };
        let index = self.entries.insert(entry);
        self.index.insert(key, index);
        self.age.push(Lane::All, &mut self.entries, index);
        let source = self.sources.entry(key.source).or_default();
        source.age.push(Lane::Source, &mut self.entries, index);
        *self.pairs.entry(pair(key.source, key.destination)).or_default() += 1;
        index
    }

    fn place(
        &mut self,
        index: u32,
        fragment: &Fragment<'_>,
        extent: &Extent<'_>,
        origin: Origin<'_>,
    ) {
        let entry = self.entries.at_mut(index);
        if extent.start == 0 {
            (entry.ip, entry.protocol) = (fragment.ip, fragment.protocol);
        }
        entry.reach = entry.reach.max(extent.end);
        entry.snapped |= extent.bytes.len() < (extent.end - extent.start) as usize;
        if !fragment.more {
            entry.length = Some(extent.end);
        }
        let (held, pieces) = (&mut entry.held, &mut entry.pieces);
        let placement =
            self.pages.place(&mut entry.coverage, extent.start, extent.bytes, |at, length| {
                *held += length;
                let offset = fragment.payload.offset.saturating_add(at - extent.start);
                origin.record(at, offset, length, pieces);
            });
        if let Placement::Overlap { differs } = placement {
            let overlap = entry.overlap.get_or_insert(Overlap { at: origin.at, differs: false });
            overlap.differs |= differs;
        }
        let cost = ENTRY_COST + entry.coverage.cost() + entry.pieces.len() * PIECE_COST;
        let more = cost.saturating_sub(mem::replace(&mut entry.cost, cost));
        self.used += more;
        if let Some(source) = self.sources.get_mut(&entry.key.source) {
            source.used += more;
        }
    }

    /// Gives up old datagrams until the fragment fits, at the worst that it can cost.
    fn make_room(
        &mut self,
        fragment: &Fragment<'_>,
        extent: &Extent<'_>,
        outer_pieces: usize,
        events: &mut Vec<Event>,
    ) {
        let pieces = extent.bytes.len() / 16 + 1 + outer_pieces;
        let worst = ENTRY_COST + Coverage::most(extent.bytes.len()) + pieces * PIECE_COST;
        while let Some(source) = self.sources.get(&fragment.ip.source)
            && source.used + worst > self.limits.source
            && let Some(oldest) = source.age.oldest()
        {
            self.give_up(oldest, Cause::Limit, events);
        }
        while self.used + worst > self.limits.total
            && let Some(oldest) = self.age.oldest()
        {
            self.give_up(oldest, Cause::Limit, events);
        }
    }

    fn close(&mut self, index: u32, events: &mut Vec<Event>) -> Whole {
        let mut entry = self.remove(index);
        self.recent.insert(self.index.hasher().hash_one(entry.key), self.now);
        entry.report_overlap(events);
        let mut bytes = self.spare_bytes.pop().unwrap_or_default();
        self.pages.copy(&entry.coverage, entry.held, &mut bytes);
        self.pages.free(&mut entry.coverage);
        entry.pieces.sort_unstable_by_key(|piece| piece.at);
        Whole {
            ip: entry.ip,
            protocol: entry.protocol,
            bytes,
            pieces: entry.pieces,
            overlapped: entry.overlap.is_some(),
        }
    }

    fn give_up(&mut self, index: u32, cause: Cause, events: &mut Vec<Event>) {
        let mut entry = self.remove(index);
        self.pages.free(&mut entry.coverage);
        entry.report_overlap(events);
        if !entry.echo {
            events.push(entry.missing(cause));
        }
        self.recycle_pieces(mem::take(&mut entry.pieces));
    }

    fn remove(&mut self, index: u32) -> Entry {
        let key = self.entries.at(index).key;
        self.age.remove(Lane::All, &mut self.entries, index);
        if let Some(source) = self.sources.get_mut(&key.source) {
            source.age.remove(Lane::Source, &mut self.entries, index);
            source.used -= self.entries.at(index).cost;
            if source.age.oldest().is_none() {
                self.sources.remove(&key.source);
            }
        }
        let pair = pair(key.source, key.destination);
        if let Some(count) = self.pairs.get_mut(&pair) {
            *count -= 1;
            if *count == 0 {
                self.pairs.remove(&pair);
            }
        }
        self.index.remove(&key);
        self.used -= self.entries.at(index).cost;
        self.entries.remove(index)
    }

    fn recycle_pieces(&mut self, mut pieces: Vec<Piece>) {
        let fits = pieces.capacity() <= SPARE_PIECES_LENGTH;
        if fits && self.spare_pieces.len() < SPARE_PIECES {
            pieces.clear();
            self.spare_pieces.push(pieces);
        }
    }
}

/// Two hosts, whichever of them sends.
fn pair(a: IpAddr, b: IpAddr) -> [IpAddr; 2] {
    [a.min(b), a.max(b)]
}

fn refused(fragment: &Fragment<'_>, at: FrameRef, what: &'static str) -> Event {
    let layer = if fragment.ip.source.is_ipv4() { Layer::Ipv4 } else { Layer::Ipv6 };
    let kind = EventKind::Malformed(Malformed { layer, what });
    Event { ip: fragment.ip, identification: fragment.identification, at, kind }
}

/// Which datagrams were whole a moment ago: a small table in which newer ones displace older.
#[derive(Debug)]
struct Recent {
    slots: Vec<(u64, i64)>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { slots: vec![(0, i64::MIN); Self::SLOTS as usize] }
    }
}

impl Recent {
    const SLOTS: u64 = 4096;

    fn insert(&mut self, hash: u64, now: i64) {
        if let Some(slot) = self.slots.get_mut((hash % Self::SLOTS) as usize) {
            *slot = (hash, now);
        }
    }

    fn contains(&self, hash: u64, now: i64) -> bool {
        self.slots.get((hash % Self::SLOTS) as usize).is_some_and(|(known, then)| {
            *known == hash && now.saturating_sub(*then) <= limits::ECHO
        })
    }
}
