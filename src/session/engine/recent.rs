//! Recent datagrams of supported protocols: finds the original of a duplicate, and the datagram
//! that an ICMP error quotes.
//!
//! The size is fixed: a new datagram replaces the oldest in its bucket. The hash that tells duplicates
//! from other datagrams has a random seed, so that nobody can make one pass for another. The hash that
//! determines the bucket is the same in every run, and so is what is replaced; a bucket has few
//! places, so that datagrams of one bucket take no more time than others.

use std::hash::{BuildHasher, Hasher};

use dissectors::kit::{Seed, Time, keyed_hash};
use foldhash::quality::FixedState;

use crate::flows::FlowKey;
use crate::net::Quote;

/// Buckets, and datagrams in a bucket, which are adjacent in memory.
/// Limit: datagrams that copies and ICMP errors are compared with, by group of hosts | {BUCKETS * WAYS} | older ones
/// are not recognized
const BUCKETS: usize = 1 << 9;
const WAYS: usize = 4;

/// Bytes of a datagram that determine its bucket: an ICMP error need not quote more.
const HEAD: usize = 32;

/// A datagram that arrives again within this many nanoseconds, with the same IPv4 identification,
/// is a duplicate.
const DOUBLED: i64 = 1_000_000_000;

/// Limit: interfaces at which one datagram is recorded | {} | what arrives more often within
/// {dissectors::kit::time::MOMENT:time} was sent again and again
const INTERFACES: u8 = 8;

/// The unit of short times, in nanoseconds: 16 bits hold a moment.
const TICK: i64 = 1 << 7;

const _: () = assert!(Time::MOMENT / TICK < u16::MAX as i64);

/// The datagrams of a bucket. A search looks at hashes and packets, which are in one cache line.
#[derive(Clone, Copy, Default)]
#[repr(C, align(128))]
struct Bucket {
    /// Hashes of the addresses, the ports and all their bytes.
    hashes: [u64; WAYS],
    /// The packets; 0: empty.
    frames: [u64; WAYS],
    more: [RecentDatagram; WAYS],
}

/// Further properties of a datagram that identify it.
#[derive(Clone, Copy, Default)]
struct RecentDatagram {
    /// The time of the original; of a datagram that is sent again and again, the latest.
    time: Time,
    /// A hash of the addresses, the ports, the length, the first bytes and the identification.
    head: u32,
    /// Duplicates at once, which other interfaces record, and the ticks from the original to the latest of them.
    at_once: u8,
    until: u16,
    /// Later ones, which the way makes.
    later: u8,
}

impl RecentDatagram {
    /// Of a datagram that is sent again and again with the same identification, instead of a number of duplicates.
    const SENT_AGAIN: u8 = u8::MAX;

    /// Whether it arrives again: as a duplicate, or sent again. `None`: this is the first of its kind. `is_identified`:
    /// its identification distinguishes datagrams.
    fn again(&mut self, now: Time, is_identified: bool) -> Option<Again> {
        let since = now.since(self.time);
        if since > DOUBLED {
            return None;
        }
        let is_at_once = since <= Time::MOMENT;
        // Other interfaces do not record a datagram on and on: it is sent again and again.
        let goes_on = self.at_once > 0
            && self.later == 0
            && since.saturating_sub(i64::from(self.until) * TICK) <= Time::MOMENT;
        let is_duplicate = match () {
            () if self.at_once == RecentDatagram::SENT_AGAIN => false,
            () if is_at_once => self.at_once + 1 < INTERFACES,
            () if goes_on => false,
            // On its second way, it passes the same interfaces.
            () if is_identified => self.later <= self.at_once,
            () => return None,
        };
        if !is_duplicate {
            (self.time, self.at_once) = (now, RecentDatagram::SENT_AGAIN);
            return Some(Again::Sent);
        }
        if is_at_once {
            self.until = u16::try_from(since / TICK).unwrap_or(0);
            self.at_once += 1;
        } else {
            self.later += 1;
        }
        Some(Again::Duplicate)
    }
}

/// Why a datagram arrives again.
enum Again {
    /// The network or the recorder doubled it.
    Duplicate,
    /// Its sender gives all datagrams the same identification, and sends so many.
    Sent,
}

impl Bucket {
    /// The datagram with these hashes: its packet, and further properties.
    #[inline]
    fn find(&mut self, hash: u64, head: u32) -> Option<(&mut u64, &mut RecentDatagram)> {
        let places = self.frames.iter_mut().zip(&self.hashes).zip(&mut self.more);
        let mut known = places.filter(|((frame, _), _)| **frame > 0);
        let same = known.find(|((_, known), more)| **known == hash && more.head == head)?;
        Some((same.0.0, same.1))
    }

    /// The packets, hashes and further properties of its datagrams.
    #[inline]
    fn datagrams(&self) -> impl Iterator<Item = (u64, u64, &RecentDatagram)> {
        let known = self.frames.iter().zip(&self.hashes).zip(&self.more);
        known.map(|((frame, hash), more)| (*frame, *hash, more)).filter(|(frame, ..)| *frame > 0)
    }

    /// Puts a datagram in the place of the oldest.
    #[inline]
    fn replace(&mut self, frame: u64, hash: u64, more: RecentDatagram) {
        let places = self.frames.iter_mut().zip(&mut self.hashes).zip(&mut self.more);
        if let Some(oldest) = places.min_by_key(|((frame, _), _)| **frame) {
            let ((old_frame, old_hash), old) = oldest;
            (*old_frame, *old_hash, *old) = (frame, hash, more);
        }
    }
}

/// The latest packet with some addresses, ports and identification.
#[derive(Clone, Copy, Default)]
struct RecentHeader {
    hash: u64,
    /// 0: several packets, or none.
    frame: u64,
}

/// A datagram that was recorded completely.
pub(super) struct SentDatagram<'a> {
    pub(super) key: &'a FlowKey,
    pub(super) bytes: &'a [u8],
    /// A hash of all its bytes, by [`keyed_hash`].
    pub(super) hash: u64,
    /// Its identification, if it distinguishes datagrams.
    pub(super) identification: Option<u16>,
    pub(super) frame: u64,
    pub(super) time: Time,
}

/// Determines the buckets: the same in every run.
const PLACES: FixedState = FixedState::with_seed(0x6761_6D65_7769_7265);

/// The latest datagrams. Memory is allocated for the first one.
#[derive(Default)]
pub(super) struct RecentDatagrams {
    seed: Seed,
    buckets: Box<[Bucket]>,
    headers: Box<[RecentHeader]>,
}

impl RecentDatagrams {
    /// Adds a datagram. Returns the packet of the original, if it is a duplicate.
    #[inline]
    pub(super) fn note(&mut self, sent: &SentDatagram<'_>) -> Option<u64> {
        let ends = ends(&PLACES, sent.key);
        let first = self.put(sent, head(ends, sent.bytes.len(), sent.bytes));
        if first.is_none()
            && let Some(identification) = sent.identification
        {
            let hash = header(ends, identification);
            if let Some(header) = self.headers.get_mut(hash as usize % BUCKETS) {
                let frame = if header.hash == hash { 0 } else { sent.frame };
                *header = RecentHeader { hash, frame };
            }
        }
        first
    }

    /// Adds a datagram if ICMP errors do not matter. Returns whether it is a duplicate.
    #[inline]
    pub(super) fn is_copy(&mut self, sent: &SentDatagram<'_>) -> bool {
        self.put(sent, head(ends(&PLACES, sent.key), sent.bytes.len(), sent.bytes)).is_some()
    }

    /// Adds a datagram to the bucket that `head` determines. Returns the packet of the original, if
    /// it is a duplicate.
    #[inline]
    fn put(&mut self, sent: &SentDatagram<'_>, head: u64) -> Option<u64> {
        if self.buckets.is_empty() {
            self.buckets = vec![Bucket::default(); BUCKETS].into();
            self.headers = vec![RecentHeader::default(); BUCKETS].into();
        }
        let hash = sent.hash ^ ends(&self.seed, sent.key);
        let bucket = self.buckets.get_mut(head as usize % BUCKETS)?;
        let head = identified(head, sent.identification);
        let more = RecentDatagram { time: sent.time, head, ..RecentDatagram::default() };
        let Some((frame, known)) = bucket.find(hash, head) else {
            bucket.replace(sent.frame, hash, more);
            return None;
        };
        match known.again(sent.time, sent.identification.is_some()) {
            Some(Again::Duplicate) => return Some(*frame),
            Some(Again::Sent) => *frame = sent.frame,
            None => (*frame, *known) = (sent.frame, more),
        }
        None
    }

    /// The packet of a quoted datagram with these addresses and ports: the latest one that begins
    /// with the quoted bytes. If there are too few, it is found by the header, if only one packet
    /// has that.
    pub(super) fn quoted(&self, key: &FlowKey, quote: &Quote<'_>) -> Option<u64> {
        let place = ends(&PLACES, key);
        if quote.bytes.len() < quote.length.min(HEAD) {
            let hash = header(place, quote.identification.filter(|&it| it != 0)?);
            let header = self.headers.get(hash as usize % BUCKETS)?;
            return Some(header.frame).filter(|&frame| frame > 0 && header.hash == hash);
        }
        let head = head(place, quote.length, quote.bytes);
        let hash = keyed_hash(quote.bytes) ^ ends(&self.seed, key);
        let is_whole = quote.bytes.len() >= quote.length;
        let same = |(_, known, more): &(u64, u64, &RecentDatagram)| {
            more.head == identified(head, quote.identification) && (!is_whole || *known == hash)
        };
        let bucket = self.buckets.get(head as usize % BUCKETS)?;
        bucket.datagrams().filter(same).map(|(frame, ..)| frame).max()
    }
}

/// A hash of the addresses and the ports.
#[inline]
fn ends(seed: &impl BuildHasher, key: &FlowKey) -> u64 {
    key.words().map_or_else(|| seed.hash_one(key), |words| seed.hash_one(words))
}

/// A hash of a datagram of this length between these ends that begins with these bytes.
#[inline]
fn head(ends: u64, length: usize, bytes: &[u8]) -> u64 {
    let mut hasher = PLACES.build_hasher();
    hasher.write_u64(ends ^ length as u64);
    hasher.write(bytes.get(..HEAD).unwrap_or(bytes));
    hasher.finish()
}

/// What tells datagrams of a bucket apart: the rest of this hash, with the identification, if there is one.
#[inline]
fn identified(head: u64, identification: Option<u16>) -> u32 {
    // Odd, so that different identifications have different hashes.
    let identification = identification.map_or(u32::MAX, u32::from).wrapping_mul(0x9E37_79B1);
    (head >> 32) as u32 ^ identification
}

/// A hash of the addresses, the ports and an identification.
#[inline]
fn header(ends: u64, identification: u16) -> u64 {
    // Odd, so that different identifications have different hashes.
    ends ^ u64::from(identification).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FlowKey {
        FlowKey {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            ports: [50_000, 27_015],
            transport: dissectors::kit::Transport::Udp,
        }
    }

    fn note(
        recent: &mut RecentDatagrams,
        bytes: &[u8],
        id: Option<u16>,
        frame: u64,
        ms: i64,
    ) -> Option<u64> {
        let (key, time) = (&key(), Time(ms * 1_000_000));
        let hash = keyed_hash(bytes);
        recent.note(&SentDatagram { key, bytes, hash, identification: id, frame, time })
    }

    fn quote(bytes: &[u8], length: usize, identification: Option<u16>) -> Quote<'_> {
        let FlowKey { source, destination, transport, ports } = key();
        Quote { source, destination, transport, ports, identification, length, bytes }
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_identification_and_comes_within_a_second() {
        let mut recent = RecentDatagrams::default();
        assert_eq!(note(&mut recent, b"query", Some(1), 1, 0), None);
        assert_eq!(note(&mut recent, b"query", Some(1), 2, 1000), Some(1));
        assert_eq!(note(&mut recent, b"query", Some(2), 3, 0), None, "sent twice");
        assert_eq!(note(&mut recent, b"other", Some(1), 4, 0), None);
        assert_eq!(note(&mut recent, b"query", Some(1), 5, 1001), None, "too late");
        assert_eq!(note(&mut recent, b"query", Some(1), 6, 1500), Some(5));
        assert_eq!(note(&mut recent, b"query", None, 7, 1500), None);
        assert_eq!(note(&mut recent, b"query", None, 8, 1505), Some(7));
        assert_eq!(note(&mut recent, b"query", None, 9, 1506), None, "sent again");
        // The same if quotes do not matter.
        let key = &key();
        let (bytes, time) = (&b"query"[..], Time(0));
        let mut is_copy = |id, frame| {
            let hash = keyed_hash(bytes);
            recent.is_copy(&SentDatagram {
                key,
                bytes,
                hash,
                identification: Some(id),
                frame,
                time,
            })
        };
        assert_eq!([is_copy(7, 10), is_copy(7, 11), is_copy(8, 12)], [false, true, false]);
    }

    /// At microseconds; whether each is a copy.
    fn copies(id: Option<u16>, times: impl Iterator<Item = i64>) -> Vec<bool> {
        let (mut recent, key) = (RecentDatagrams::default(), &key());
        let is_copy = |(at, micros)| {
            let (bytes, time, frame) = (&b"query"[..], Time(micros * 1_000), at as u64 + 1);
            let hash = keyed_hash(bytes);
            recent.is_copy(&SentDatagram { key, bytes, hash, identification: id, frame, time })
        };
        times.enumerate().map(is_copy).collect()
    }

    fn count(copies: &[bool]) -> usize {
        copies.iter().filter(|it| **it).count()
    }

    #[test]
    fn a_sender_that_gives_all_datagrams_one_identification_sends_each() {
        for id in [Some(1), Some(0), None] {
            // 50,000 to 250 a second: the first few may be copies.
            for gap in [20, 100, 500, 700, 1_000, 2_500, 4_000] {
                let of_flood = copies(id, (0..1_000).map(|nth| nth * gap));
                assert!(count(&of_flood) <= 7, "{id:?}, {gap}: {}", count(&of_flood));
            }
        }
        let slow = copies(Some(1), (0..100).map(|nth| nth * 50_000));
        assert!(count(&slow) <= 1, "{}", count(&slow));
        let rare = copies(None, (0..100).map(|nth| nth * 6_000));
        assert_eq!(count(&rare), 0);
        // It ends with a second of silence.
        let later = copies(Some(1), (0..20).map(|nth| nth * 100).chain([2_000_000, 2_000_010]));
        assert_eq!(later[18..], [false, false, false, true]);
    }

    #[test]
    fn what_several_interfaces_record_is_sent_once_also_if_the_way_doubles_it() {
        for id in [Some(1), None] {
            // Sent anew with other bytes or another identification, or after a while.
            for (interfaces, doubled) in [(3, false), (8, false), (2, true), (3, true)] {
                let once = |begin: i64| (0..interfaces).map(move |nth| begin + nth * 30);
                let twice = once(0).chain(once(3_500).filter(move |_| doubled));
                let late = once(60_000).filter(move |_| doubled && id.is_some());
                let of_way = if id.is_some() {
                    once(0).chain(late).collect()
                } else {
                    Vec::from_iter(twice)
                };
                let is_copy = copies(id, of_way.iter().copied());
                assert_eq!(count(&is_copy), of_way.len() - 1, "{id:?}, {interfaces}, {doubled}");
            }
        }
        let polls = (0..50).flat_map(|nth| [0, 20, 40].map(|after| nth * 100_000 + after));
        assert_eq!(count(&copies(None, polls)), 100);
    }

    #[test]
    fn the_last_byte_of_a_long_datagram_counts() {
        let mut recent = RecentDatagrams::default();
        let (first, mut second) = ([7; 1400], [7; 1400]);
        second[1399] = 8;
        assert_eq!(note(&mut recent, &first, Some(1), 1, 0), None);
        assert_eq!(note(&mut recent, &second, Some(1), 2, 0), None);
        assert_eq!(note(&mut recent, &second, Some(1), 3, 0), Some(2));
    }

    #[test]
    fn a_quote_names_the_latest_datagram_that_it_fits() {
        let mut recent = RecentDatagrams::default();
        let bytes = [9; 100];
        for (frame, id) in [(1, None), (2, None), (3, Some(5)), (4, Some(6))] {
            note(&mut recent, &bytes, id, frame, frame as i64 * 100);
        }
        let quoted = |bytes: &[u8], id| recent.quoted(&key(), &quote(bytes, 100, id));
        assert_eq!(quoted(&bytes, None), Some(2));
        assert_eq!(quoted(&bytes[..40], None), Some(2), "as much as is quoted");
        assert_eq!(quoted(&bytes, Some(5)), Some(3));
        assert_eq!(quoted(&bytes[..2], Some(6)), Some(4), "by the header alone");
        assert_eq!(quoted(&bytes[..2], None), None);
        assert_eq!(quoted(&bytes[..2], Some(0)), None);
        assert_eq!(quoted(&[8; 100], None), None);
        assert_eq!(recent.quoted(&key(), &quote(&bytes, 101, None)), None);
        assert_eq!(RecentDatagrams::default().quoted(&key(), &quote(&bytes, 100, None)), None);
    }

    #[test]
    fn a_header_that_two_packets_have_tells_nothing() {
        let mut recent = RecentDatagrams::default();
        note(&mut recent, b"one", Some(7), 1, 0);
        note(&mut recent, b"two", Some(7), 2, 0);
        assert_eq!(recent.quoted(&key(), &quote(b"", 3, Some(7))), None);
    }

    /// What is forgotten does not depend on the random seed.
    #[test]
    fn all_runs_forget_the_same() {
        let run = || {
            let mut recent = RecentDatagrams::default();
            let datagrams = (0..3000_u64).chain(0..3000).enumerate();
            let firsts = datagrams.map(|(at, number)| {
                let bytes = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
                let first = note(&mut recent, &bytes, Some(number as u16), at as u64 + 1, 0);
                (first, recent.quoted(&key(), &quote(&bytes[..2], 8, Some(number as u16))))
            });
            Vec::from_iter(firsts)
        };
        let once = run();
        assert!((0..9).all(|_| run() == once));
        let known = once[3000..].iter().filter(|(first, _)| first.is_some()).count();
        assert!((200..2800).contains(&known), "some are forgotten: {known} are not");
    }

    #[test]
    fn a_flood_makes_it_forget_and_takes_no_room() {
        let mut recent = RecentDatagrams::default();
        for frame in 1..100_000u64 {
            assert_eq!(note(&mut recent, &frame.to_be_bytes(), None, frame, 0), None);
        }
        assert_eq!((recent.buckets.len(), recent.headers.len()), (BUCKETS, BUCKETS));
        assert_eq!(note(&mut recent, &99_999u64.to_be_bytes(), None, 100_000, 0), Some(99_999));
        assert_eq!(size_of::<Bucket>(), 128);
    }
}
