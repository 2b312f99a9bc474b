//! Details of flows that only listings need: the traffic of each direction, and response times.

use dissectors::kit::Side;
use serde::{Deserialize, Serialize};

use super::per_flow::PerFlowValue;

/// More are counted in [`BUCKETS`].
/// Limit: response times that `gamewire flows` keeps of a flow | {} | percentiles are from a histogram, within 2 %
const EXACT: usize = 1024;

/// Values below are their own buckets; above, each power of two has this many buckets of equal width.
const FINE: u64 = 64;
const BUCKETS_OF_POWER: usize = 32;
const BUCKETS: usize = FINE as usize + (64 - 6) * BUCKETS_OF_POWER;

/// The traffic of a flow's ends, and the response times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowDetail {
    /// The flow's first packet.
    pub(super) frame: u64,
    /// Packets of the second end.
    pub(super) packets: u64,
    /// Bytes of payload of each end, by [`Side::index`].
    pub(super) bytes: [u64; 2],
    /// Messages of each end, by [`Side::index`].
    pub messages: [u32; 2],
    times: Option<Box<ResponseTimes>>,
}

impl FlowDetail {
    /// Counts packets of one side, with this many payload bytes in total.
    pub(super) fn count(&mut self, side: Side, packets: u64, bytes: u64) {
        if side == Side::Second {
            self.packets += packets;
        }
        let all = &mut self.bytes[side.index()];
        *all = all.saturating_add(bytes);
    }

    /// A response came this many nanoseconds after its request.
    pub fn response(&mut self, nanoseconds: u64) {
        self.times.get_or_insert_default().add(nanoseconds);
    }

    /// The median, the 95th percentile and the maximum of the response times, in nanoseconds.
    pub(super) fn response_times(&self) -> Option<[u64; 3]> {
        self.times.as_ref().and_then(|times| times.of_half_most_all())
    }
}

impl PerFlowValue for FlowDetail {
    #[inline]
    fn held(&self) -> usize {
        self.times.as_ref().map_or(0, |times| size_of::<ResponseTimes>() + times.held())
    }
}

/// Response times: exact while there are few, as in nearly all flows. `hdrhistogram` would need 18
/// KiB for its buckets instead of 8, and would be another dependency of the library without default
/// features.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseTimes {
    exact: Vec<u64>,
    /// The count of each bucket; empty while all are exact.
    buckets: Vec<u32>,
    count: u64,
    longest: u64,
}

impl ResponseTimes {
    /// Bytes of memory outside of this value.
    pub fn held(&self) -> usize {
        self.buckets.capacity() * size_of::<u32>() + self.exact.capacity() * size_of::<u64>()
    }

    /// Adds one, in nanoseconds, unless there is no room and it would take more memory. Returns whether it was
    /// added; if not, it may still be the longest.
    pub fn add_within(&mut self, time: u64, has_room: bool) -> bool {
        let grows = self.buckets.is_empty() && self.exact.len() == self.exact.capacity();
        if has_room || !grows {
            self.add(time);
            return true;
        }
        self.longest = self.longest.max(time);
        false
    }

    /// Adds one, in nanoseconds.
    pub fn add(&mut self, time: u64) {
        self.count += 1;
        self.longest = self.longest.max(time);
        if self.buckets.is_empty() {
            self.exact.push(time);
            if self.exact.len() <= EXACT {
                return;
            }
            self.buckets = vec![0; BUCKETS];
            for time in std::mem::take(&mut self.exact) {
                self.put(time);
            }
        } else {
            self.put(time);
        }
    }

    /// Adds those of others, unless there is no room for any. Returns whether there was.
    pub fn merge_within(&mut self, others: &ResponseTimes, has_room: bool) -> bool {
        if has_room {
            self.merge(others);
        } else {
            self.longest = self.longest.max(others.longest);
        }
        has_room || others.count == 0
    }

    /// Adds those of others, with the same result as adding them one by one.
    pub fn merge(&mut self, others: &ResponseTimes) {
        if others.buckets.is_empty() {
            return others.exact.iter().for_each(|time| self.add(*time));
        }
        let exact = std::mem::take(&mut self.exact);
        self.buckets.resize(BUCKETS, 0);
        exact.into_iter().for_each(|time| self.put(time));
        for (count, more) in self.buckets.iter_mut().zip(&others.buckets) {
            *count = count.saturating_add(*more);
        }
        self.count += others.count;
        self.longest = self.longest.max(others.longest);
    }

    fn put(&mut self, time: u64) {
        if let Some(count) = self.buckets.get_mut(bucket(time)) {
            *count = count.saturating_add(1);
        }
    }

    /// The median, the 95th percentile and the maximum, in nanoseconds; `None` if there are none.
    pub fn of_half_most_all(&self) -> Option<[u64; 3]> {
        (self.count > 0).then(|| self.percentiles([50, 95, 100]))
    }

    /// By nearest rank. From buckets, the middle of one, with an error of at most 1/64.
    fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [u64; N] {
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        percents.map(|percent| {
            let rank = (self.count.saturating_mul(percent)).div_ceil(100).max(1);
            if rank >= self.count {
                return self.longest;
            }
            if self.buckets.is_empty() {
                return sorted.get(rank as usize - 1).copied().unwrap_or(self.longest);
            }
            let mut seen = 0;
            let at = self.buckets.iter().position(|&count| {
                seen += u64::from(count);
                seen >= rank
            });
            at.map_or(self.longest, middle).min(self.longest)
        })
    }
}

/// The bucket of a value.
fn bucket(value: u64) -> usize {
    if value < FINE {
        return value as usize;
    }
    let power = value.ilog2();
    let nth = (value >> (power - 5)) as usize % BUCKETS_OF_POWER;
    FINE as usize + (power as usize - 6) * BUCKETS_OF_POWER + nth
}

/// The middle value of a bucket.
fn middle(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(FINE as usize) else { return bucket as u64 };
    let (power, nth) = (above / BUCKETS_OF_POWER + 6, above % BUCKETS_OF_POWER);
    let width = 1u64 << (power - 5);
    (1 << power) + nth as u64 * width + width / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn few_times_are_exact() {
        let mut detail = FlowDetail::default();
        assert_eq!((detail.response_times(), detail.held()), (None, 0));
        (1..=20).rev().for_each(|time| detail.response(time * 1_000_003));
        let times = [10, 19, 20].map(|time| time * 1_000_003);
        assert_eq!(detail.response_times(), Some(times));
    }

    #[test]
    fn many_times_take_bounded_room_and_are_near() {
        let mut detail = FlowDetail::default();
        (0..100_000_u64).for_each(|nth| detail.response(nth * 7919 % 100_000 * 1000));
        assert!(detail.held() < 10_000, "{}", detail.held());
        let [half, most, all] = detail.response_times().unwrap();
        assert!(half.abs_diff(50_000_000) < 50_000_000 / 50, "{half}");
        assert!(most.abs_diff(95_000_000) < 95_000_000 / 50, "{most}");
        assert_eq!(all, 99_999_000);
    }

    proptest! {
        #[test]
        fn a_bucket_is_near_its_values(value: u64) {
            let at = bucket(value);
            prop_assert!(at < BUCKETS);
            prop_assert!(middle(at).abs_diff(value) <= value / 64);
        }
    }
}
