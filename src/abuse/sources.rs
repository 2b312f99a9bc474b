//! The number of sources and their behaviour, in bounded memory: exact while there are few. After
//! that, a HyperLogLog sketch counts them, counts of the busiest are kept, and their properties come
//! from a sample by hash, which does not depend on their order.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use datasketches::common::NumStdDev;
use datasketches::hll::{HllSketch, HllType, HllUnion};
use dissectors::kit::{Map, Time};
use dissectors::ledger::WAYS;

use super::SECOND;
use super::busiest::Busiest;
use super::clients::RealClient;
use super::filters::NetworkLimits;
use crate::filter::first_address;

/// Maximum number of stored sources per target.
const MOST: usize = 1 << 14;

/// The logarithm of the number of registers of the counting sketch: 2^14, 0.8 % error.
const REGISTERS: u8 = 14;

/// Fewer sources of a network in a sample may be chance: four standard deviations are as many.
const NAMED_FROM: u64 = 16;

/// The sources of one target.
#[derive(Clone, Default)]
pub(super) struct Sources {
    /// Only sources whose hashes end in this many zeros are stored.
    level: u32,
    kept: Map<IpAddr, TrafficSource>,
    /// Used once not all are stored.
    sketches: Option<Box<Sketches>>,
}

/// The memory that all targets share.
#[derive(Clone, Debug)]
pub(super) struct RoomForSources {
    /// Sources that are kept.
    pub(super) entries: usize,
    /// Targets that have sketches: for others, the number of sources is estimated from the sample.
    pub(super) sketches: usize,
}

#[derive(Clone)]
struct Sketches {
    distinct: HllSketch,
    /// From a random packet in this many: busy sources are busy among these, too.
    busiest: Busiest,
    /// The state of the generator that chooses, the same in every run.
    random: u64,
}

impl Sketches {
    /// One in this many packets is counted for the busiest.
    const OF: u64 = 8;

    fn see(&mut self, source: IpAddr, hash: u64) {
        self.distinct.update(hash);
        self.random = self.random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        if (self.random >> 33).is_multiple_of(Sketches::OF) {
            self.busiest.see(source, Sketches::OF);
        }
    }
}

/// The responses to a source that needed no challenge, in the current window.
#[derive(Clone, Copy, Default)]
pub(super) struct PlainAnswers {
    /// The second in which the window began.
    second: i32,
    /// How many there are, and how many there were in the window before.
    pub(super) times: u32,
    before: u32,
    pub(super) bytes: u32,
}

impl PlainAnswers {
    /// One more, of this many bytes. `window`: its length.
    pub(super) fn see(&mut self, time: Time, bytes: u64, window: i64) {
        let since = self.since(time);
        if since >= window {
            let before = if since < window.saturating_mul(2) { self.times } else { 0 };
            *self = PlainAnswers { second: second_of(time), before, ..PlainAnswers::default() };
        }
        self.times = self.times.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes.try_into().unwrap_or(u32::MAX));
    }

    /// Whether a source that asks now is answered as often within the window as clients are not.
    pub(super) fn are_many(&self, now: Time, window: i64, repeats: u32) -> bool {
        let most = self.times.max(self.before).saturating_add(1);
        most >= repeats && self.since(now) < window.saturating_mul(2)
    }

    /// When the window began.
    pub(super) fn begin(&self, now: Time) -> Time {
        Time(now.0.div_euclid(SECOND).saturating_mul(SECOND).saturating_sub(self.since(now)))
    }

    fn since(&self, now: Time) -> i64 {
        i64::from(second_of(now).wrapping_sub(self.second)).max(0) * SECOND
    }
}

/// Seconds, which are compared with others of the same capture.
fn second_of(time: Time) -> i32 {
    time.0.div_euclid(SECOND) as i32
}

/// The behaviour of one source.
#[derive(Clone, Copy, Default)]
pub(super) struct TrafficSource {
    /// Packets that it sent.
    pub(super) packets: u32,
    /// Responses to it that were not challenges.
    pub(super) responses: u32,
    /// It was challenged.
    pub(super) challenged: bool,
    pub(super) answers: PlainAnswers,
    /// The minimum and maximum number of routers that its packets have passed.
    hops: [u8; 2],
    /// The number of seconds in which it sent something, and the latest of them.
    seconds: u32,
    second: i32,
    pub(super) limits: NetworkLimits,
}

impl TrafficSource {
    /// One more packet of it.
    pub(super) fn sends(&mut self, time: Time, hop_limit: u8) {
        let hops = distance(hop_limit);
        let [least, greatest] = if self.packets == 0 { [hops; 2] } else { self.hops };
        self.hops = [least.min(hops), greatest.max(hops)];
        let second = second_of(time);
        if self.packets == 0 || self.second != second {
            (self.second, self.seconds) = (second, self.seconds.saturating_add(1));
        }
        self.packets = self.packets.saturating_add(1);
        self.limits.see(time);
    }

    /// Whether all its packets came about as far as one with this hop limit.
    pub(super) fn is_as_far(&self, hop_limit: u8) -> bool {
        self.hops.iter().all(|hops| hops.abs_diff(distance(hop_limit)) <= WAYS)
    }

    /// Whether more packets came this way than a client at the same address sends, at most `repeats` at once.
    pub(super) fn is_more_than(&self, client: &RealClient, repeats: u32) -> bool {
        u64::from(self.packets) > client.requests.max(repeats.into())
            && self.is_as_far(client.hop_limit)
    }

    /// The difference between these.
    pub(super) fn spread_of_hops(&self) -> u8 {
        self.hops[1] - self.hops[0]
    }
}

/// The number of routers that a packet has passed: senders start with 64, 128 or 255.
fn distance(hop_limit: u8) -> u8 {
    let begin = [64, 128].into_iter().find(|begin| *begin >= hop_limit);
    begin.unwrap_or(255) - hop_limit
}

/// The same hash in every run, so that estimates do not vary.
fn hash(source: IpAddr) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(0x0AB0_5E00).build_hasher();
    match source {
        IpAddr::V4(host) => hasher.write_u32(host.into()),
        IpAddr::V6(host) => hasher.write_u128(host.into()),
    }
    hasher.finish()
}

impl Sketches {
    fn new() -> Option<Box<Sketches>> {
        let distinct = HllSketch::new(REGISTERS, HllType::Hll8).ok()?;
        Some(Box::new(Sketches { distinct, busiest: Busiest::default(), random: 0 }))
    }
}

impl Sources {
    /// The entry of a source that sends a packet, if it is in the sample. `room`: the remaining
    /// entries over all targets.
    pub(super) fn sends(
        &mut self,
        source: IpAddr,
        room: &mut RoomForSources,
    ) -> Option<&mut TrafficSource> {
        let hash = hash(source);
        if let Some(sketches) = &mut self.sketches {
            sketches.see(source, hash);
        }
        if hash.trailing_zeros() < self.level {
            return None;
        }
        if !self.kept.contains_key(&source) {
            while self.kept.len() >= MOST || room.entries == 0 && self.kept.len() > 1 {
                self.thin_out(self.level + 1, room);
                self.count(source, hash);
            }
            if room.entries == 0 || hash.trailing_zeros() < self.level {
                return None;
            }
            room.entries -= 1;
        }
        Some(self.kept.entry(source).or_default())
    }

    /// Counts a source in the sketches, if these contain all sources.
    fn count(&mut self, source: IpAddr, hash: u64) {
        if let Some(sketches) = self.sketches.as_mut().filter(|_| self.level == 1) {
            sketches.see(source, hash);
        }
    }

    /// Halves the sample for each level.
    fn thin_out(&mut self, level: u32, room: &mut RoomForSources) {
        // From the first level on, either the sketches have all sources or there are none.
        if self.level == 0
            && level > 0
            && room.sketches > 0
            && let Some(mut sketches) = Sketches::new()
        {
            room.sketches -= 1;
            hashes(&self.kept).into_iter().for_each(|hash| sketches.distinct.update(hash));
            sketches.busiest.extend(packets(&self.kept));
            self.sketches = Some(sketches);
        }
        let before = self.kept.len();
        self.level = self.level.max(level);
        self.kept.retain(|source, _| hash(*source).trailing_zeros() >= level);
        room.entries += before - self.kept.len();
    }

    /// A source sent this many packets, each of which was counted elsewhere.
    pub(super) fn sent(&mut self, source: IpAddr, packets: u64) {
        let source = self.kept.entry(source).or_default();
        source.packets = source.packets.saturating_add(packets.try_into().unwrap_or(u32::MAX));
        source.seconds = source.seconds.max(1);
    }

    /// How many are kept, and whether there are sketches of the others.
    pub(super) fn room(&self) -> [usize; 2] {
        [self.kept.len(), self.sketches.is_some().into()]
    }

    /// A known source.
    pub(super) fn get(&self, source: IpAddr) -> Option<&TrafficSource> {
        self.kept.get(&source)
    }

    /// The entry of a known source.
    pub(super) fn known(&mut self, source: IpAddr) -> Option<&mut TrafficSource> {
        self.kept.get_mut(&source)
    }

    /// The estimated total for this many sources of the sample.
    fn scaled(&self, kept: u64) -> u64 {
        let all = self.kept.len().max(1) as f64;
        (kept as f64 * self.count_all() as f64 / all).round() as u64
    }

    /// How many sources there are.
    pub(super) fn count_all(&self) -> u64 {
        match &self.sketches {
            Some(sketches) => sketches.distinct.estimate().round() as u64,
            None => (self.kept.len() as u64) << self.level.min(40),
        }
    }

    /// The error of this number, one standard deviation; 0 if all are counted.
    pub(super) fn error(&self) -> f64 {
        match &self.sketches {
            Some(sketches) => {
                let estimate = sketches.distinct.estimate().max(1.0);
                (sketches.distinct.upper_bound(NumStdDev::One) - estimate) / estimate
            }
            None if self.level == 0 => 0.0,
            None => 1.0 / (self.kept.len().max(1) as f64).sqrt(),
        }
    }

    /// The number of sources that satisfy the condition, and of their packets.
    pub(super) fn with(&self, is: impl Fn(IpAddr, &TrafficSource) -> bool) -> (u64, u64) {
        let like = self.kept.iter().filter(|(address, source)| is(**address, source));
        let (count, packets) = like.fold((0, 0), |(count, packets), (_, source)| {
            (count + 1, packets + u64::from(source.packets))
        });
        (self.scaled(count), self.scaled(packets))
    }

    /// The sums of two numbers over the sources of the sample.
    pub(super) fn sum(&self, of: impl Fn(IpAddr, &TrafficSource) -> [u64; 2]) -> [u64; 2] {
        let each = self.kept.iter().map(|(address, source)| of(*address, source));
        each.fold([0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]])
    }

    /// The share of a second's sources that were not seen before, over all seconds.
    pub(super) fn new_share(&self) -> f64 {
        let [sources, seconds] = self.sum(|_, source| [1, source.seconds.into()]);
        sources as f64 / seconds.max(1) as f64
    }

    /// The sources with most packets, the busiest first, and the error of these numbers.
    pub(super) fn top(&self, most: usize) -> (Vec<(IpAddr, u64)>, u64) {
        match &self.sketches {
            Some(sketches) => {
                let top = largest(sketches.busiest.all(), most);
                // Four standard deviations of the random selection, plus what counts may lack.
                let chosen = top.first().map_or(0, |(_, packets)| packets * (Sketches::OF - 1));
                let chance = 4.0 * (chosen as f64).sqrt();
                (top, sketches.busiest.lacking + chance.ceil() as u64)
            }
            None => (largest(packets(&self.kept).collect(), most), 0),
        }
    }

    /// The networks with most packets of sources that may be named, of these prefix lengths in IPv4 and in IPv6.
    pub(super) fn networks(
        &self,
        lengths: [u8; 2],
        most: usize,
        is_named: impl Fn(IpAddr) -> bool,
    ) -> Vec<(String, u64)> {
        let mut networks: Map<IpAddr, [u64; 2]> = Map::default();
        let named =
            self.kept.iter().filter(|(address, source)| source.packets > 0 && is_named(**address));
        named.for_each(|(address, source)| {
            let [sources, packets] = networks.entry(network(*address, lengths)).or_default();
            (*sources, *packets) = (*sources + 1, *packets + u64::from(source.packets));
        });
        let is_certain = |sources: u64| self.level == 0 || sources >= NAMED_FROM;
        let certain = networks.into_iter().filter(|(_, [sources, _])| is_certain(*sources));
        let certain = certain.map(|(network, [_, packets])| (network, packets));
        let top = largest(certain.collect(), most).into_iter();
        top.map(|(network, packets)| {
            let length = lengths[usize::from(network.is_ipv6())];
            (format!("{network}/{length}"), self.scaled(packets))
        })
        .collect()
    }

    /// The number of /8 networks, or /16 in IPv6, among these addresses.
    pub(super) fn spread(addresses: impl Iterator<Item = IpAddr>) -> usize {
        let mut networks: Vec<IpAddr> = addresses.map(|it| network(it, [8, 16])).collect();
        networks.sort_unstable();
        networks.dedup();
        networks.len()
    }

    /// Adds the sources of another target of the same attack.
    pub(super) fn add(&mut self, other: &Sources) {
        let sketches = [self.sketches.take(), other.sketches.clone()];
        let is_known = |all: &Sources, at: usize| all.level == 0 || sketches[at].is_some();
        if sketches.iter().any(Option::is_some) && is_known(self, 0) && is_known(other, 1) {
            self.sketches = joined(&sketches, [&self.kept, &other.kept]);
        }
        for (address, source) in sorted(&other.kept) {
            let mine = self.kept.entry(address).or_default();
            let is_new = mine.packets == 0;
            let hops = if is_new { source.hops } else { mine.hops };
            mine.hops = [hops[0].min(source.hops[0]), hops[1].max(source.hops[1])];
            mine.packets = mine.packets.saturating_add(source.packets);
            mine.responses = mine.responses.saturating_add(source.responses);
            mine.challenged |= source.challenged;
            mine.seconds = mine.seconds.max(source.seconds);
            mine.answers = source.answers;
            mine.limits.add(&source.limits);
        }
        // They are counted in the room of their targets.
        let level = self.level.max(other.level);
        let mut room = RoomForSources { entries: 0, sketches: usize::from(level == 0) };
        self.thin_out(level, &mut room);
        while self.kept.len() > MOST {
            self.thin_out(self.level + 1, &mut room);
        }
    }
}

/// The union of two sketches; without a sketch, all sources are in the map.
fn joined(
    sketches: &[Option<Box<Sketches>>; 2],
    kept: [&Map<IpAddr, TrafficSource>; 2],
) -> Option<Box<Sketches>> {
    let mut union = HllUnion::new(REGISTERS).ok()?;
    let mut busiest = Busiest::default();
    for (sketches, kept) in sketches.iter().zip(kept) {
        match sketches {
            Some(sketches) => {
                union.update(&sketches.distinct);
                busiest.add(&sketches.busiest);
            }
            None => {
                hashes(kept).into_iter().for_each(|hash| union.update_value(hash));
                busiest.extend(packets(kept));
            }
        }
    }
    Some(Box::new(Sketches { distinct: union.to_sketch(HllType::Hll8), busiest, random: 0 }))
}

/// The hashes of sources, in order: the counting sketch depends on it.
fn hashes(kept: &Map<IpAddr, TrafficSource>) -> Vec<u64> {
    let mut hashes: Vec<_> = kept.keys().map(|source| hash(*source)).collect();
    hashes.sort_unstable();
    hashes
}

/// The packets of sources, in any order.
fn packets(kept: &Map<IpAddr, TrafficSource>) -> impl Iterator<Item = (IpAddr, u64)> {
    kept.iter().map(|(address, source)| (*address, u64::from(source.packets)))
}

fn sorted(kept: &Map<IpAddr, TrafficSource>) -> Vec<(IpAddr, TrafficSource)> {
    let mut all: Vec<_> = kept.iter().map(|(address, source)| (*address, *source)).collect();
    all.sort_by_key(|(address, _)| *address);
    all
}

/// Those with most packets first; of equal counts, the lower address.
fn largest(mut all: Vec<(IpAddr, u64)>, most: usize) -> Vec<(IpAddr, u64)> {
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(most);
    all
}

/// The network of an address, with these prefix lengths in IPv4 and in IPv6: its first address, and its length.
pub fn network_of(address: IpAddr, [v4, v6]: [u8; 2]) -> (IpAddr, u8) {
    let length = if address.is_ipv4() { v4 } else { v6 };
    (first_address(address, length), length)
}

/// The first address of that.
pub(super) fn network(address: IpAddr, lengths: [u8; 2]) -> IpAddr {
    network_of(address, lengths).0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(entries: usize) -> RoomForSources {
        RoomForSources { entries, sketches: 9 }
    }

    fn of(sources: u32, order: impl Fn(u32) -> u32, room: &mut RoomForSources) -> Sources {
        let mut all = Sources::default();
        for n in 0..sources {
            let address = IpAddr::from(order(n).wrapping_mul(0x9E37_79B1).to_be_bytes());
            if let Some(source) = all.sends(address, room) {
                source.sends(Time(i64::from(n)), 50);
            }
        }
        all
    }

    #[test]
    fn few_are_counted_exactly() {
        let all = of(1000, |n| n / 2, &mut room(100_000));
        assert_eq!((all.count_all(), all.error()), (500, 0.0));
        assert_eq!(all.with(|_, source| source.packets == 2), (500, 1000));
        assert_eq!((all.top(3).0.len(), all.top(3).1), (3, 0));
        assert_eq!(all.new_share(), 1.0, "each is seen in one second");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// An estimate is within four times its stated error, also of two together.
        #[test]
        fn many_are_estimated(sources in 20_000_u32..300_000) {
            let room = &mut room(1_000_000);
            let (mut one, other) = (of(sources, |n| n, room), of(sources, |n| n + sources / 2, room));
            let off = |all: &Sources, truth: u32| {
                (all.count_all() as f64 - f64::from(truth)).abs() / f64::from(truth)
            };
            prop_assert!(off(&one, sources) <= 4.0 * one.error(), "{} of {sources}", one.count_all());
            prop_assert!(one.error() < 0.01);
            let (single, packets) = one.with(|_, source| source.packets == 1);
            prop_assert!(single == one.count_all() && packets == single);
            one.add(&other);
            prop_assert!(off(&one, sources + sources / 2) <= 4.0 * one.error());
            prop_assert!(one.kept.len() <= MOST);
        }

        /// A busy source is named, and its number is within the stated error.
        #[test]
        fn busy_sources_are_found_among_many(sources in 20_000_u32..100_000, every in 20_u32..200) {
            let mut all = Sources::default();
            let (busy, mut sent) = (IpAddr::from([198, 51, 100, 7]), 0);
            for n in 0..sources {
                let single = IpAddr::from(n.wrapping_mul(0x9E37_79B1).to_be_bytes());
                all.sends(single, &mut room(1_000_000));
                if n % every == 0 {
                    all.sends(busy, &mut room(1_000_000)).into_iter().for_each(|it| it.sends(Time(0), 60));
                    sent += 1;
                }
            }
            let (top, error) = all.top(1);
            prop_assert_eq!(top[0].0, busy);
            prop_assert!(top[0].1.abs_diff(sent) <= error + 1, "{} of {sent}, {error}", top[0].1);
        }
    }

    #[test]
    fn room_is_shared_and_given_back() {
        let room = &mut RoomForSources { entries: 100, sketches: 0 };
        let one = of(5000, |n| n, room);
        assert!(one.kept.len() <= 100 && room.entries == 100 - one.kept.len());
        // Without a sketch, the number is estimated from the sample.
        let off = (one.count_all() as f64 - 5000.0).abs() / 5000.0;
        assert!(one.error() > 0.0 && off <= 4.0 * one.error(), "{}", one.count_all());
    }

    #[test]
    fn the_ways_of_packets_are_measured() {
        assert_eq!([64, 60, 128, 115, 255, 244].map(distance), [0, 4, 0, 13, 0, 11]);
        let mut source = TrafficSource::default();
        [60, 60, 58].into_iter().for_each(|hop_limit| source.sends(Time(0), hop_limit));
        assert_eq!(source.spread_of_hops(), 2);
    }

    #[test]
    fn networks_have_the_length_that_is_asked_for() {
        let v4: IpAddr = "198.51.100.7".parse().unwrap();
        let v6: IpAddr = "2001:db8:1:2::7".parse().unwrap();
        assert_eq!(network(v4, [24, 48]).to_string(), "198.51.100.0");
        assert_eq!(network(v4, [0, 48]).to_string(), "0.0.0.0");
        assert_eq!(network(v6, [24, 48]).to_string(), "2001:db8:1::");
        assert_eq!(network(v6, [24, 128]), v6);
    }
}
