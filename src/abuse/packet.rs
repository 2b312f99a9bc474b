//! Stored packets, with the properties that filters use, and a random sample of them.

use std::net::IpAddr;

use dissectors::kit::Time;

use crate::session::{DatagramEvent, LinkTags};

/// Number of bytes at the beginning of a payload that filters use.
pub(super) const HEAD: usize = 48;

/// Maximum number of stored packets per target.
const MOST: usize = 1 << 12;

/// A packet toward a target.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledPacket {
    pub(super) time: Time,
    pub(super) source: IpAddr,
    pub(super) port: u16,
    /// Bytes of payload, as sent.
    pub(super) length: u16,
    pub(super) hop_limit: u8,
    pub(super) tags: LinkTags,
    pub(super) identification: Option<u16>,
    /// It has a challenge, returned or invented.
    pub(super) has_challenge: bool,
    /// It asks for what takes more work to answer.
    pub(super) is_costly: bool,
    /// It asks for nothing, and is the game's if its source plays.
    pub(super) may_play: bool,
    /// The limits of a network that would have dropped it, a bit each.
    pub(super) over_network: u8,
    held: u8,
    head: [u8; HEAD],
}

impl SampledPacket {
    pub(super) fn of(event: &DatagramEvent<'_>, has_challenge: bool) -> SampledPacket {
        let headers = &event.headers;
        let held = event.bytes.len().min(HEAD);
        let mut head = [0; HEAD];
        head[..held].copy_from_slice(event.bytes.get(..held).unwrap_or_default());
        SampledPacket {
            time: headers.time,
            source: headers.from.ip(),
            port: headers.from.port(),
            length: u16::try_from(headers.length).unwrap_or(u16::MAX),
            hop_limit: headers.hop_limit,
            tags: headers.tags,
            identification: headers.identification,
            has_challenge,
            is_costly: false,
            may_play: false,
            over_network: 0,
            held: held as u8,
            head,
        }
    }

    /// The parts of it that lie farthest apart in memory.
    pub(super) fn ends(&self) -> (Time, u8) {
        (self.time, self.head[HEAD - 1])
    }

    /// The beginning of its payload.
    pub(super) fn head(&self) -> &[u8] {
        self.head.get(..self.held.into()).unwrap_or_default()
    }
}

/// A sample in which each packet has the same probability: all, while there are few.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// How many there were.
    pub(super) seen: u64,
    kept: Vec<SampledPacket>,
    /// The state of the random generator, the same in every run so that results do not vary.
    random: u64,
}

impl Sample {
    /// Adds a packet. `room`: the remaining number over all targets.
    pub(super) fn see(&mut self, packet: &SampledPacket, room: &mut usize) {
        self.seen += 1;
        if self.kept.len() < MOST && *room > 0 && self.seen == self.kept.len() as u64 + 1 {
            *room -= 1;
            self.kept.push(*packet);
            return;
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = (self.random ^ self.random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        let place = (u128::from(bits ^ bits >> 31) * u128::from(self.seen)) >> 64;
        if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.kept.get_mut(place)) {
            *kept = *packet;
        }
    }

    /// Those that are kept.
    pub(super) fn packets(&self) -> &[SampledPacket] {
        &self.kept
    }

    /// Adds the sample of another target of the same attack: each packet of both stands for as many.
    pub(super) fn add(&mut self, other: &Sample) {
        let stands_for = |all: &Sample| match all.kept.len() {
            0 => 0.0,
            kept => all.seen as f64 / kept as f64,
        };
        let each = stands_for(self).max(stands_for(other));
        self.kept = self.thinned(each);
        self.kept.extend(other.thinned(each));
        self.seen += other.seen;
    }

    /// Adds packets of the same target to it, and keeps no more than before.
    pub(super) fn continues(&mut self, other: &Sample) {
        self.add(other);
        if self.kept.len() > MOST {
            self.kept = self.thinned(self.seen as f64 / MOST as f64);
        }
    }

    /// So many of the packets, evenly chosen, that each stands for this many.
    fn thinned(&self, each: f64) -> Vec<SampledPacket> {
        let kept = self.kept.len();
        let some = ((self.seen as f64 / each).round() as usize).min(kept);
        (0..some).filter_map(|nth| self.kept.get(nth * kept / some).copied()).collect()
    }
}

/// The most frequent value, and its count; of equal counts, the smallest value.
pub(super) fn commonest<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    let runs = all.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len())));
    runs.max_by_key(|(value, count)| (*count, std::cmp::Reverse(*value)))
}

#[cfg(test)]
impl SampledPacket {
    /// A packet of 25 bytes of a source.
    pub(super) fn example(source: u32, time: Time) -> SampledPacket {
        SampledPacket {
            time,
            source: IpAddr::from(source.to_be_bytes()),
            port: 1,
            length: 25,
            hop_limit: 64,
            tags: LinkTags::default(),
            identification: None,
            has_challenge: false,
            is_costly: false,
            may_play: false,
            over_network: 0,
            held: 0,
            head: [0; HEAD],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_all_while_there_are_few_and_fair_from_then_on() {
        let packet = |n: u32| SampledPacket::example(n, Time(n.into()));
        let (mut sample, mut room) = (Sample::default(), 1 << 20);
        (0..MOST as u32).for_each(|n| sample.see(&packet(n), &mut room));
        assert!(sample.packets().iter().map(|it| it.time.0).eq(0..MOST as i64));
        (MOST as u32..400_000).for_each(|n| sample.see(&packet(n), &mut room));
        assert_eq!((sample.packets().len(), sample.seen), (MOST, 400_000));
        // Four standard deviations.
        let late = sample.packets().iter().filter(|it| it.time.0 >= 200_000).count();
        assert!(late.abs_diff(MOST / 2) < 128, "{late}");
        let (mut small, mut room) = (Sample::default(), 10);
        (0..1000).for_each(|n| small.see(&packet(n), &mut room));
        assert_eq!((small.packets().len(), room), (10, 0));
    }

    #[test]
    fn the_most_common_kind_is_found() {
        assert_eq!(commonest([3, 1, 2, 1, 2].into_iter()), Some((1, 2)));
        assert_eq!(commonest(std::iter::empty::<u8>()), None);
    }
}
