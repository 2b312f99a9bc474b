//! The number of requests over time, and how many of them are of real clients.

use serde::{Deserialize, Serialize};

/// Number of buckets in the window of a flood.
pub(super) const BUCKETS: usize = 20;

/// The requests in the latest buckets of time, and in earlier busy ones.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rate {
    /// The number of the latest bucket, and the counts up to it.
    now: i64,
    latest: [Bucket; BUCKETS],
    /// Stored buckets with their numbers, in busy periods.
    kept: Vec<(i64, Bucket)>,
}

/// The requests in a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Bucket {
    all: u32,
    /// Those of real clients that ask no faster than clients do.
    proven: u32,
}

impl Bucket {
    fn unproven(self) -> u64 {
        self.all.saturating_sub(self.proven).into()
    }
}

impl Rate {
    fn place(bucket: i64) -> usize {
        bucket.rem_euclid(BUCKETS as i64) as usize
    }

    /// Adds a request at this time. Returns how many buckets are stored for it.
    pub(super) fn add(&mut self, bucket: i64, least: u64) -> usize {
        let before = self.kept.len();
        if bucket > self.now {
            self.keep(least);
            let over = bucket.saturating_sub(self.now).min(BUCKETS as i64);
            (0..over).for_each(|back| self.latest[Rate::place(bucket - back)] = Bucket::default());
            self.now = bucket;
        }
        // If the clock went backwards, it counts as now.
        let count = &mut self.latest[Rate::place(self.now)].all;
        *count = count.saturating_add(1);
        self.kept.len() - before
    }

    /// A request in this bucket, which was counted, is of a real client.
    pub(super) fn proves(&mut self, bucket: i64) {
        let bucket = bucket.min(self.now);
        let is_recent = self.now - bucket < BUCKETS as i64;
        let latest = is_recent.then(|| &mut self.latest[Rate::place(bucket)]);
        // While a window is busy, its buckets are in both places.
        let kept = self.kept.binary_search_by_key(&bucket, |(number, _)| *number).ok();
        let kept = kept.and_then(|at| self.kept.get_mut(at)).map(|(_, count)| count);
        latest.into_iter().chain(kept).for_each(|it| it.proven = it.proven.saturating_add(1));
    }

    /// The stored buckets without the requests of real clients.
    pub(super) fn unproven(&self) -> Rate {
        let unproven = |bucket: Bucket| Bucket { all: bucket.unproven() as u32, proven: 0 };
        let kept = self.kept.iter().map(|(number, bucket)| (*number, unproven(*bucket)));
        Rate { kept: kept.collect(), ..Rate::default() }
    }

    /// Adds the stored buckets of another group of hosts.
    pub(super) fn add_all(&mut self, other: Rate) {
        self.kept.extend(other.kept);
    }

    /// Stores the latest buckets, if they were busy.
    pub(super) fn keep(&mut self, least: u64) {
        let sum: u64 = self.latest.iter().map(|count| u64::from(count.all)).sum();
        if sum < least.max(1) {
            return;
        }
        let kept = self.kept.last().map_or(i64::MIN, |&(bucket, _)| bucket);
        for bucket in (self.now - BUCKETS as i64 + 1)..=self.now {
            let count = self.latest[Rate::place(bucket)];
            if bucket > kept && count.all > 0 {
                self.kept.push((bucket, count));
            }
        }
    }

    /// The most requests within the window.
    pub(super) fn most(&mut self) -> u64 {
        self.most_of(|count| count.all.into())
    }

    /// The most requests within the window that are not known to be of real clients.
    pub(super) fn most_unproven(&mut self) -> u64 {
        self.most_of(Bucket::unproven)
    }

    fn most_of(&mut self, count: impl Fn(Bucket) -> u64) -> u64 {
        self.kept.sort_unstable();
        let (mut start, mut sum, mut most) = (0, 0_u64, 0);
        for &(bucket, counts) in &self.kept {
            sum += count(counts);
            while let Some(&(first, gone)) = self.kept.get(start)
                && bucket - first >= BUCKETS as i64
            {
                sum -= count(gone);
                start += 1;
            }
            most = most.max(sum);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(times: impl Iterator<Item = i64>) -> u64 {
        let mut rate = Rate::default();
        times.for_each(|bucket| _ = rate.add(bucket, 2));
        rate.keep(2);
        rate.most()
    }

    #[test]
    fn the_most_within_a_window_is_found() {
        assert_eq!(most(std::iter::repeat_n(5, 7)), 7);
        assert_eq!(most(100..130), 20);
        assert_eq!(most((100..130).chain(std::iter::repeat_n(140, 15))), 24);
        assert_eq!(most((0..10).map(|n| n * 1000)), 0);
    }

    /// Counting in two halves gives the same result.
    #[test]
    fn separate_counts_are_added() {
        let (mut one, mut other) = (Rate::default(), Rate::default());
        (0..100).for_each(|n| _ = one.add(1000 + n / 4, 1));
        (0..100).for_each(|n| _ = other.add(1000 + n / 2, 1));
        one.keep(1);
        other.keep(1);
        one.kept.extend(other.kept);
        assert_eq!(one.most(), 20 * 4 + 20 * 2);
    }

    /// A request is proven when the client returns the challenge, which may be much later.
    #[test]
    fn requests_of_real_clients_are_those_of_their_time() {
        let mut rate = Rate::default();
        (0..60).for_each(|bucket| _ = rate.add(bucket, 1));
        (0..50).for_each(|n| _ = rate.add(100 + n / 10, 1));
        // Known at once, from a stored bucket, and from one that was not stored.
        (0..40).for_each(|n| rate.proves(100 + n / 10));
        (0..10).for_each(|bucket| rate.proves(bucket));
        rate.proves(-100);
        rate.keep(1);
        assert_eq!((rate.most(), rate.most_unproven()), (50, 20));
        (20..60).for_each(|bucket| rate.proves(bucket));
        assert_eq!(rate.most_unproven(), 10);
    }
}
