//! The number of sources and their behaviour, in bounded memory.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::kit::Time;

/// Kinds of queries that are distinguished.
pub(super) const KINDS: usize = 6;

/// Limit: sources of one server, by group of hosts | {} | a sample by hash is kept; the total is reported as "about"
const MOST: usize = 512;

/// A sample of sources: all, while there are few; then those whose hashes end in this many zeros.
/// It does not depend on their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SourceSample {
    /// The number of zeros.
    level: u8,
    /// Sorted by their hashes.
    sample: Vec<SampledSource>,
    /// There was no room for some: it is no sample of all, and what depends on its proportions is
    /// unknown.
    pub(super) is_cut: bool,
}

/// The behaviour of a source.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SampledSource {
    hash: u32,
    /// The time of its first packet, in tenths of a second.
    pub(super) first: u32,
    /// The number of requests, up to a maximum.
    pub(super) asked: u8,
    /// It received a response without a challenge.
    pub(super) is_served: bool,
    /// The current window for counting responses, and the responses in it by kind of request.
    window: u32,
    served: [u16; KINDS],
    /// Responses to requests that returned a challenge, in the same window.
    proven: u16,
}

/// A time in tenths of a second. It wraps after 13 years.
pub(super) fn tenths(time: Time) -> u32 {
    time.0.div_euclid(100_000_000) as u32
}

/// The same hash in every run, so that estimates do not vary.
pub(super) fn host_hash(source: IpAddr) -> u32 {
    let seed = foldhash::quality::FixedState::with_seed(0x5EC0_0005);
    let mut hasher = seed.build_hasher();
    match source {
        IpAddr::V4(host) => hasher.write_u32(host.into()),
        IpAddr::V6(host) => hasher.write_u128(host.into()),
    }
    hasher.finish() as u32
}

impl SourceSample {
    /// The entry of a known source, if it is in the sample.
    pub(super) fn known(&mut self, source: IpAddr) -> Option<&mut SampledSource> {
        let hash = host_hash(source);
        let at = self.sample.binary_search_by_key(&hash, |source| source.hash).ok()?;
        self.sample.get_mut(at)
    }

    /// The entry of a source, if it is in the sample. `is_full`: there is no room for another.
    pub(super) fn entry(
        &mut self,
        source: IpAddr,
        now: Time,
        is_full: bool,
    ) -> Option<&mut SampledSource> {
        let hash = host_hash(source);
        if !self.takes(hash) {
            return None;
        }
        let at = match self.sample.binary_search_by_key(&hash, |source| source.hash) {
            Ok(at) => at,
            Err(_) if is_full => {
                self.is_cut = true;
                return None;
            }
            Err(at) if self.sample.len() < MOST => {
                let first = tenths(now);
                let served = [0; KINDS];
                let source = SampledSource {
                    hash,
                    first,
                    asked: 0,
                    is_served: false,
                    window: first,
                    served,
                    proven: 0,
                };
                self.sample.insert(at, source);
                at
            }
            Err(_) => {
                self.rise(self.level + 1);
                return if self.level < 32 { self.entry(source, now, is_full) } else { None };
            }
        };
        self.sample.get_mut(at)
    }

    fn takes(&self, hash: u32) -> bool {
        hash.trailing_zeros() >= self.level.into()
    }

    fn rise(&mut self, level: u8) {
        self.level = self.level.max(level);
        let level = u32::from(self.level);
        self.sample.retain(|source| source.hash.trailing_zeros() >= level);
    }

    /// Adds the sources of another group of hosts. Of a source in both, one entry remains.
    pub(super) fn add(&mut self, other: SourceSample) {
        self.sample.extend(other.sample);
        self.sample.sort_by_key(|source| source.hash);
        self.sample.dedup_by_key(|source| source.hash);
        self.rise(other.level);
        self.is_cut |= other.is_cut;
    }

    /// The hashes of the sources in the sample.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u32> {
        self.sample.iter().map(|source| source.hash)
    }

    /// The number of sources in the sample.
    pub(super) fn len(&self) -> usize {
        self.sample.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SampledSource> {
        self.sample.iter()
    }

    /// The estimated total for this many sources of the sample.
    pub(super) fn estimate(&self, kept: usize) -> u64 {
        (kept as u64).saturating_mul(1 << self.level.min(31))
    }

    /// The number of sources, as text. `packets`: how many these sent; each sent at least one.
    pub(super) fn count(&self, packets: u64) -> String {
        let about = match self.level {
            _ if self.is_cut => "more than ",
            0 => "",
            _ => "about ",
        };
        let count = self.estimate(self.len()).min(packets.max(1));
        format!("{about}{count} {}", if count == 1 { "source" } else { "sources" })
    }

    /// The maximum number of sources that satisfy the condition and first came within one window,
    /// in tenths of a second.
    pub(super) fn within(&self, window: u32, is: impl Fn(&SampledSource) -> bool) -> u64 {
        let mut firsts: Vec<_> =
            self.iter().filter(|source| is(source)).map(|source| source.first).collect();
        firsts.sort_unstable();
        let (mut start, mut most) = (0, 0);
        for (end, last) in firsts.iter().enumerate() {
            while firsts.get(start).is_some_and(|first| last - first >= window) {
                start += 1;
            }
            most = most.max(end + 1 - start);
        }
        self.estimate(most)
    }
}

impl SampledSource {
    /// Counts a request.
    pub(super) fn asks(&mut self) {
        self.asked = self.asked.saturating_add(1);
    }

    /// Counts a response without a challenge. Returns the number of these within the window.
    pub(super) fn is_answered(&mut self, kind: usize, now: Time, window: u32) -> u32 {
        self.is_served = true;
        self.go_on(now, window);
        let Some(served) = self.served.get_mut(kind) else { return 0 };
        *served = served.saturating_add(1);
        (*served).into()
    }

    /// Counts a response to a request that returned a challenge. Returns the number of these within the window.
    pub(super) fn is_proven(&mut self, now: Time, window: u32) -> u32 {
        self.go_on(now, window);
        self.proven = self.proven.saturating_add(1);
        self.proven.into()
    }

    /// Begins a new window, if this time is not in the current one.
    fn go_on(&mut self, now: Time, window: u32) {
        let now = tenths(now);
        if now.saturating_sub(self.window) >= window {
            (self.window, self.served, self.proven) = (now, [0; KINDS], 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: u32) -> SourceSample {
        let mut sources = SourceSample::default();
        for n in 0..count {
            if let Some(source) = sources.entry(n.to_be_bytes().into(), Time(0), false) {
                source.asks();
            }
        }
        sources
    }

    #[test]
    fn few_sources_are_counted_and_many_estimated() {
        assert_eq!(all(1).count(9), "1 source");
        assert_eq!(all(512).count(9_000), "512 sources");
        for count in [5000, 100_000, 1_000_000] {
            let sources = all(count);
            let estimate = sources.estimate(sources.len());
            assert!(
                sources.len() <= MOST && estimate.abs_diff(count.into()) < u64::from(count) / 5
            );
            assert!(sources.count(u64::MAX).starts_with("about "));
            assert_eq!(sources.count(1_000), "about 1000 sources", "not more than packets");
        }
    }

    #[test]
    fn the_order_of_sources_does_not_matter() {
        let mut backwards = SourceSample::default();
        for n in (0..3000u32).rev() {
            backwards.entry(n.to_be_bytes().into(), Time(0), false);
        }
        let hashes = |sources: &SourceSample| Vec::from_iter(sources.iter().map(|it| it.hash));
        assert_eq!(hashes(&all(3000)), hashes(&backwards));
    }

    #[test]
    fn those_that_come_within_a_window_are_counted() {
        let mut sources = SourceSample::default();
        for n in 0..100u8 {
            sources.entry([10, 0, 0, n].into(), Time(i64::from(n) * 1_000_000_000), false);
        }
        assert_eq!(sources.within(600, |_| true), 60);
        assert_eq!(sources.within(600, |source| source.asked > 0), 0);
    }

    #[test]
    fn equal_responses_within_a_window_are_counted() {
        let mut sources = SourceSample::default();
        let source = sources.entry([10, 0, 0, 1].into(), Time(0), false).unwrap();
        let at = |seconds: i64| Time(seconds * 1_000_000_000);
        assert_eq!([0, 4, 9].map(|now| source.is_answered(0, at(now), 100)), [1, 2, 3]);
        assert_eq!(source.is_answered(1, at(9), 100), 1);
        assert_eq!(source.is_answered(0, at(10), 100), 1);
    }
}
