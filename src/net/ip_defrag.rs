//! Joins the fragments of IP datagrams, of both versions.
//!
//! The bytes that arrived first win: over later copies, over overlapping fragments, over a
//! contradicting last fragment. RFC 791 allows this for IPv4, and BSD does it; for IPv6, RFC 5722
//! requires that a receiver discards the whole datagram, but the purpose of a capture is to see
//! what was sent, so it is joined in the same way and the overlap is reported.
//!
//! Nothing is dropped silently: fragments that did not become whole, or could not be stored, are
//! reported as an [`FragmentEvent`]. The exceptions are fragments right after a whole datagram with
//! the same identification: copies, from captures that hold each packet twice ([`limits::ECHO`]).
//! Memory is bounded per source and in total ([`FragmentLimits`]); the oldest datagrams are dropped
//! first. The time is proportional to the bytes of the fragments, whatever their order: bytes are
//! stored in pages of 2 KiB with a bit for each unit of eight.
//!
//! If the whole capture is in memory, bytes are left there until their datagram is whole, and are
//! then copied once, if needed; unless fragments overlap, or there are very many. They count for
//! the limits as if they had been copied, so that results do not depend on how a capture is read.
//!
//! IPv6 fragments are joined from the bytes right after the fragment header; extension headers
//! among them are read when the datagram is whole.

mod entry;
mod pages;
mod queue;
mod result;
mod table;
#[cfg(test)]
mod tests;

use std::mem;
use std::net::IpAddr;
use std::sync::Arc;

use dissectors::kit::Piece;
use hashbrown::HashTable;

use self::entry::{
    DatagramKey, ENTRY_COST, Extent, FragmentOrigin, HeldPiece, PIECE_COST, PartialDatagram,
};
use self::pages::{Pages, TouchedPages};
use self::queue::{AgeQueue, QueueKind};
pub use self::result::{FragmentEvent, FragmentEventKind, GiveUpCause, Joined, WholeDatagram};
use self::table::NumberedTable;
use super::hosts::Hosts;
use super::limits::{self, FragmentLimits};
use super::packet::{Fragment, FrameRef, Layer, Malformed};
use super::protocol;

/// Joins fragments; stores those of incomplete datagrams.
pub struct Defragmenter {
    limits: FragmentLimits,
    /// The capture, if it is in memory as a whole.
    capture: Option<Arc<dyn AsRef<[u8]> + Send + Sync>>,
    /// The latest capture time seen; never goes back.
    now: i64,
    /// The deadline of the oldest datagram.
    due: i64,
    pages: Pages,
    entries: NumberedTable<DatagramKey, PartialDatagram>,
    sources: NumberedTable<IpAddr, FragmentSource>,
    /// The number of incomplete datagrams between two hosts, in either direction.
    hosts: NumberedTable<Hosts, u32>,
    /// The datagram of the previous fragment, if it is still incomplete.
    latest: Option<u32>,
    /// All datagrams, by the time of their first fragment.
    age: AgeQueue,
    used: usize,
    recent: RecentlyWhole,
    spare_wholes: Vec<(Vec<u8>, Vec<Piece>)>,
    spare_pieces: Vec<Vec<HeldPiece>>,
}

/// The incomplete datagrams of one source address.
#[derive(Debug, Default)]
struct FragmentSource {
    used: usize,
    age: AgeQueue,
}

const SPARE_WHOLES: usize = 8;
const SPARE_PIECES: usize = 256;
/// Longer lists of pieces occur only in attacks, and are not kept for reuse.
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
            capture: None,
            now: i64::MIN,
            due: i64::MAX,
            pages: Pages::default(),
            entries: NumberedTable::default(),
            sources: NumberedTable::default(),
            hosts: NumberedTable::default(),
            latest: None,
            age: AgeQueue::default(),
            used: 0,
            recent: RecentlyWhole::default(),
            spare_wholes: Vec::new(),
            spare_pieces: Vec::new(),
        }
    }

    /// The capture is in memory: bytes of fragments in it are left there. They may change
    /// meanwhile, if the file is written to.
    pub fn lend(&mut self, capture: Arc<dyn AsRef<[u8]> + Send + Sync>) {
        self.capture = Some(capture);
    }

    /// Adds a fragment; returns the datagram if it is now whole and `wanted`. A whole datagram that
    /// is not wanted is dropped silently.
    ///
    /// The packet's time drives [`expire`](Self::expire).
    pub fn add(
        &mut self,
        fragment: &Fragment<'_>,
        packet: FrameRef,
        events: &mut Vec<FragmentEvent>,
        wanted: impl FnOnce(Joined<'_>) -> bool,
    ) -> Option<WholeDatagram> {
        self.insert(fragment, FragmentOrigin { at: packet, pieces: None }, events, wanted)
    }

    /// Adds a fragment that was found inside a joined datagram, so that its bytes can be traced to
    /// their packets. `packet` is the one that completed `outer`.
    pub fn add_inside(
        &mut self,
        fragment: &Fragment<'_>,
        outer: &WholeDatagram,
        packet: FrameRef,
        events: &mut Vec<FragmentEvent>,
        wanted: impl FnOnce(Joined<'_>) -> bool,
    ) -> Option<WholeDatagram> {
        self.insert(
            fragment,
            FragmentOrigin { at: packet, pieces: Some(&outer.pieces) },
            events,
            wanted,
        )
    }

    /// Drops the datagrams whose deadline has passed at capture time `now`; if `now` goes
    /// backwards, the previous time is used.
    #[inline]
    pub fn expire(&mut self, now: i64, events: &mut Vec<FragmentEvent>) {
        self.now = self.now.max(now);
        while self.now > self.due
            && let Some(oldest) = self.age.oldest()
        {
            self.give_up(oldest, GiveUpCause::Timeout, events);
        }
    }

    /// Drops everything at the end of the capture.
    pub fn finish(&mut self, events: &mut Vec<FragmentEvent>) {
        while let Some(oldest) = self.age.oldest() {
            self.give_up(oldest, GiveUpCause::End, events);
        }
    }

    /// Takes back the memory of a datagram for reuse.
    pub fn recycle(&mut self, whole: WholeDatagram) {
        let WholeDatagram { bytes, mut pieces, .. } = whole;
        if self.spare_wholes.len() < SPARE_WHOLES {
            pieces.clear();
            pieces.shrink_to(SPARE_PIECES_LENGTH);
            self.spare_wholes.push((bytes, pieces));
        }
    }

    /// Bytes in use, with bookkeeping; never more than the limit.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Number of incomplete datagrams.
    pub fn pending(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are incomplete datagrams.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether there are any between these hosts.
    pub fn waits_between(&self, hosts: &Hosts) -> bool {
        self.hosts.find(hosts).is_some()
    }

    fn insert(
        &mut self,
        fragment: &Fragment<'_>,
        origin: FragmentOrigin<'_>,
        events: &mut Vec<FragmentEvent>,
        wanted: impl FnOnce(Joined<'_>) -> bool,
    ) -> Option<WholeDatagram> {
        self.expire(origin.at.time, events);
        let extent = match Extent::of(fragment) {
            Ok(extent) => extent,
            Err(what) => {
                events.push(refused(fragment, origin.at, what));
                return None;
            }
        };
        let number = self.entry(fragment, &extent, origin, events);
        if let Err(what) = self.entries.at(number).accepts(&extent) {
            events.push(refused(fragment, origin.at, what));
            return None;
        }
        self.place(number, fragment, &extent, origin);
        if self.entries.at(number).is_whole() { self.close(number, events, wanted) } else { None }
    }

    /// The datagram of a fragment; a new one for its first fragment. Old ones are dropped until the
    /// fragment fits at its maximum cost.
    fn entry(
        &mut self,
        fragment: &Fragment<'_>,
        extent: &Extent<'_>,
        origin: FragmentOrigin<'_>,
        events: &mut Vec<FragmentEvent>,
    ) -> u32 {
        let pieces = extent.bytes.len() / 16 + 1 + origin.pieces.map_or(0, <[Piece]>::len);
        let worst = ENTRY_COST + TouchedPages::most(extent.bytes.len()) + pieces * PIECE_COST;
        let key = DatagramKey::of(fragment);
        // A datagram's fragments usually follow each other.
        let is_latest = |&number: &u32| *self.entries.key(number) == key;
        let mut found = self.latest.filter(is_latest).or_else(|| self.entries.find(&key));
        let mut source = match found {
            Some(number) => Some(self.entries.at(number).source),
            None => self.sources.find(&key.source),
        };
        if !self.fits(source, worst) {
            self.make_room(key.source, worst, events);
            found = self.entries.find(&key);
            source = self.sources.find(&key.source);
        }
        let number = found.unwrap_or_else(|| self.open(key, source, fragment, origin.at));
        self.latest = Some(number);
        number
    }

    fn fits(&self, source: Option<u32>, more: usize) -> bool {
        let used = source.map_or(0, |source| self.sources.at(source).used);
        used + more <= self.limits.source && self.used + more <= self.limits.total
    }

    #[cold]
    fn make_room(&mut self, source: IpAddr, more: usize, events: &mut Vec<FragmentEvent>) {
        while let Some(source) = self.sources.find(&source).map(|source| self.sources.at(source))
            && source.used + more > self.limits.source
            && let Some(oldest) = source.age.oldest()
        {
            self.give_up(oldest, GiveUpCause::Limit, events);
        }
        while self.used + more > self.limits.total
            && let Some(oldest) = self.age.oldest()
        {
            self.give_up(oldest, GiveUpCause::Limit, events);
        }
    }

    fn open(
        &mut self,
        key: DatagramKey,
        source: Option<u32>,
        fragment: &Fragment<'_>,
        at: FrameRef,
    ) -> u32 {
        let source =
            source.unwrap_or_else(|| self.sources.insert(key.source, FragmentSource::default()));
        let hosts = Hosts::of(key.source, key.destination);
        let hosts = self.hosts.find(&hosts).unwrap_or_else(|| self.hosts.insert(hosts, 0));
        let hash = self.entries.hash(&key);
        let entry = PartialDatagram {
            ip: fragment.ip,
            identification: fragment.identification,
            protocol: fragment.protocol,
            ports: None,
            // Entries are sorted by this time, so it must not go backwards.
            opened: FrameRef { time: self.now, ..at },
            coverage: None,
            pieces: self.spare_pieces.pop().unwrap_or_default(),
            touched: TouchedPages::default(),
            held: 0,
            reach: 0,
            length: None,
            overlap: None,
            snapped: false,
            echo: self.recent.contains(hash, self.now),
            cost: 0,
            source,
            hosts,
            links: Default::default(),
        };
        let number = self.entries.insert_hashed(hash, key, entry);
        *self.hosts.at_mut(hosts) += 1;
        self.sources.at_mut(source).age.push(QueueKind::Source, &mut self.entries, number);
        self.age.push(QueueKind::All, &mut self.entries, number);
        self.plan();
        number
    }

    /// Updates the deadline of the oldest datagram.
    fn plan(&mut self) {
        let opened = |oldest| self.entries.at(oldest).opened.time;
        let due =
            self.age.oldest().map(|oldest| opened(oldest).saturating_add(self.limits.timeout));
        self.due = due.unwrap_or(i64::MAX);
    }

    fn place(
        &mut self,
        number: u32,
        fragment: &Fragment<'_>,
        extent: &Extent<'_>,
        origin: FragmentOrigin<'_>,
    ) {
        let capture = in_memory(&self.capture);
        let entry = self.entries.at_mut(number);
        if extent.start == 0 {
            (entry.ip, entry.protocol) = (fragment.ip, fragment.protocol);
            entry.ports = ports(entry.protocol, extent.bytes);
        }
        entry.reach = entry.reach.max(extent.end);
        entry.snapped |= extent.bytes.len() < (extent.end - extent.start) as usize;
        if !fragment.more {
            entry.length = Some(extent.end);
        }
        if !entry.lend(extent, fragment.payload.offset, origin, capture) {
            entry.copy(extent, fragment.payload.offset, origin, &mut self.pages, capture);
        }
        let more = entry.weigh();
        self.used += more;
        self.sources.at_mut(entry.source).used += more;
    }

    fn close(
        &mut self,
        number: u32,
        events: &mut Vec<FragmentEvent>,
        wanted: impl FnOnce(Joined<'_>) -> bool,
    ) -> Option<WholeDatagram> {
        self.recent.insert(self.entries.hash_at(number), self.now);
        let mut entry = self.remove(number);
        let capture = in_memory(&self.capture);
        if !wanted(entry.joined(capture)) {
            self.recycle_entry(entry);
            return None;
        }
        entry.report_overlap(events);
        let (mut bytes, mut pieces) = self.spare_wholes.pop().unwrap_or_default();
        entry.put_together(capture, &mut bytes, &mut pieces);
        let (ip, protocol, overlapped) = (entry.ip, entry.protocol, entry.overlapped().is_some());
        let identification = ip.source.is_ipv4().then_some(entry.identification as u16);
        self.recycle_entry(entry);
        Some(WholeDatagram { ip, protocol, identification, bytes, pieces, overlapped })
    }

    fn give_up(&mut self, number: u32, cause: GiveUpCause, events: &mut Vec<FragmentEvent>) {
        let mut entry = self.remove(number);
        entry.report_overlap(events);
        if !entry.echo {
            events.push(entry.missing(cause));
        }
        self.recycle_entry(entry);
    }

    fn remove(&mut self, number: u32) -> PartialDatagram {
        let &PartialDatagram { source, hosts, cost, .. } = self.entries.at(number);
        self.age.remove(QueueKind::All, &mut self.entries, number);
        let of_source = self.sources.at_mut(source);
        of_source.age.remove(QueueKind::Source, &mut self.entries, number);
        of_source.used -= cost;
        if of_source.age.oldest().is_none() {
            self.sources.remove(source);
        }
        let count = self.hosts.at_mut(hosts);
        *count -= 1;
        if *count == 0 {
            self.hosts.remove(hosts);
        }
        self.used -= cost;
        self.latest = self.latest.filter(|&latest| latest != number);
        let entry = self.entries.remove(number);
        self.plan();
        entry
    }

    fn recycle_entry(&mut self, entry: PartialDatagram) {
        if let Some(coverage) = entry.coverage {
            self.pages.free(coverage);
        }
        let mut pieces = entry.pieces;
        let fits = (1..=SPARE_PIECES_LENGTH).contains(&pieces.capacity());
        if fits && self.spare_pieces.len() < SPARE_PIECES {
            pieces.clear();
            self.spare_pieces.push(pieces);
        }
    }
}

fn in_memory(capture: &Option<Arc<dyn AsRef<[u8]> + Send + Sync>>) -> &[u8] {
    capture.as_ref().map_or(&[], |capture| (**capture).as_ref())
}

fn refused(fragment: &Fragment<'_>, at: FrameRef, what: &'static str) -> FragmentEvent {
    let layer = if fragment.ip.source.is_ipv4() { Layer::Ipv4 } else { Layer::Ipv6 };
    let kind = FragmentEventKind::Malformed(Malformed { layer, what });
    FragmentEvent {
        ip: fragment.ip,
        ports: None,
        identification: fragment.identification,
        at,
        kind,
    }
}

/// The hashes of datagrams that became whole recently: at least the latest [`RecentlyWhole::MOST`].
/// Which are forgotten depends only on the order of datagrams, not on their hashes, which differ
/// from run to run.
#[derive(Debug, Default)]
struct RecentlyWhole {
    /// Hash, and the time when it was whole.
    young: HashTable<(u64, i64)>,
    old: HashTable<(u64, i64)>,
}

impl RecentlyWhole {
    const MOST: usize = 2048;

    fn insert(&mut self, hash: u64, now: i64) {
        if self.young.len() >= Self::MOST {
            mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        match self.young.find_mut(hash, |known| known.0 == hash) {
            Some(known) => known.1 = now,
            None => {
                self.young.insert_unique(hash, (hash, now), |known| known.0);
            }
        }
    }

    fn contains(&self, hash: u64, now: i64) -> bool {
        [&self.young, &self.old].into_iter().any(|known| {
            let known = known.find(hash, |known| known.0 == hash);
            known.is_some_and(|(_, then)| now.saturating_sub(*then) <= limits::ECHO)
        })
    }
}

/// The ports at the start of UDP and TCP headers.
fn ports(carried: u8, header: &[u8]) -> Option<[u16; 2]> {
    let &[a, b, c, d] = header.first_chunk()?;
    let has_ports = matches!(carried, protocol::UDP | protocol::TCP);
    has_ports.then(|| [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}
