//! Whether exchanges are unanswered because they come too fast.

use std::fmt::Display;

use dissectors::kit::{Time, causes};

use super::{Candidate, Divided, PatternFailure, item_at};
use crate::diagnose::exchanges::{Burst, PAUSE, Pace, WINDOWS};
use crate::diagnose::facts::Failure;
use crate::session::ExchangeCounts;
use crate::text::{brief_span, grouped};

/// Classes of gaps between a client's requests: each is a quarter of a power of two, from one millisecond.
const GAPS: usize = 64;

/// Nanoseconds between requests from which on nobody calls them fast: limits are for those that come faster.
pub(super) const SLOW: i64 = 10_000_000_000;

/// The same between those of all clients together: no limit lets a server answer so few.
pub(super) const SLOW_OF_ALL: i64 = 1_000_000_000;

/// Requests within a window of time that are told apart.
const RANKS: usize = 64;

/// Requests of a burst that are told apart.
const RANKS_OF_BURST: usize = 256;

/// Exchanges by how fast they follow earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Paces {
    /// By the time since an earlier one.
    gaps: Vec<ExchangeCounts>,
    /// Without an earlier one.
    first: ExchangeCounts,
    /// By the number of earlier ones.
    ranks: Vec<OfRank>,
    /// The first burst with unanswered ones, and the latest one that began behind these.
    broken: [Option<BrokenBurst>; 2],
}

/// Exchanges before which there were so many others.
#[derive(Clone, Copy, Debug, Default)]
struct OfRank {
    /// In each of the [`WINDOWS`].
    within: [ExchangeCounts; WINDOWS.len()],
    /// In the same burst.
    in_burst: ExchangeCounts,
}

/// A burst of which some are unanswered.
#[derive(Clone, Copy, Debug)]
struct BrokenBurst {
    begun: Time,
    /// The latest unanswered one.
    latest: Time,
    /// How many came before that.
    before: u32,
}

impl Paces {
    pub(super) fn add(&mut self, pace: &Pace, time: Time, is_answered: bool) {
        let by_gap = match pace.gap {
            Some(gap) => item_at(&mut self.gaps, gap_class(gap)),
            None => &mut self.first,
        };
        by_gap.add_one(is_answered);
        for (window, before) in pace.before.into_iter().enumerate() {
            let rank = (before as usize).min(RANKS - 1);
            item_at(&mut self.ranks, rank).within[window].add_one(is_answered);
        }
        let rank = (pace.burst.before as usize).min(RANKS_OF_BURST - 1);
        item_at(&mut self.ranks, rank).in_burst.add_one(is_answered);
        if !is_answered {
            self.breaks(pace.burst, time);
        }
    }

    /// An exchange of a burst is unanswered.
    fn breaks(&mut self, Burst { begun, before }: Burst, latest: Time) {
        let new = BrokenBurst { begun, latest, before };
        let [first, later] = &mut self.broken;
        let first = first.get_or_insert(new);
        let known = if begun <= first.latest {
            first
        } else {
            later.take_if(|later| later.begun < begun);
            later.get_or_insert(new)
        };
        known.latest = known.latest.max(latest);
        known.before = known.before.max(before);
    }

    /// Only those are unanswered, of so many, that come soon after another one. `other`: after which, and from how many
    /// nanoseconds on that is not soon.
    pub(super) fn by_gap(
        &self,
        other: &str,
        slow: i64,
        missing: u64,
        frame: u64,
    ) -> Option<Candidate> {
        let fast = self.gaps.len().min(gap_class(slow));
        let (at, divided) = Divided::best(1..=fast, |at| {
            let (fast, slow) = self.gaps.split_at(*at);
            let slow = slow.iter().chain([&self.first]);
            Divided::of(fast.iter().copied(), slow.copied(), missing)
        })?;
        let gap = brief_span(class_gap(at));
        Some(limited(&divided, &format!("less than {gap} after {other}"), gap, frame))
    }

    /// Only those are unanswered, of so many, that come after many others within a window. `whose`: the others.
    pub(super) fn by_rank(&self, whose: &str, missing: u64, frame: u64) -> Option<Candidate> {
        let windows = WINDOWS.into_iter().enumerate();
        let best = windows.filter_map(|(at, window)| {
            let least = usize::try_from(window / SLOW).unwrap_or(RANKS).max(1);
            Some((self.beyond(least, |of_rank| of_rank.within[at], missing)?, window))
        });
        let ((at, divided), window) = best.min_by_key(|((_, divided), _)| divided.errors())?;
        let window = brief_span(window.unsigned_abs());
        let first = if at == 1 { String::new() } else { format!("{at} ") };
        let when = format!("after the first {first}{whose}within {window}");
        Some(limited(&divided, &when, window, frame))
    }

    /// Only those are unanswered, of so many, that come after many others in a burst, in several bursts. `whose`: the
    /// others.
    pub(super) fn by_burst(&self, whose: &str, missing: u64, frame: u64) -> Option<Candidate> {
        let [Some(first), Some(later)] = self.broken else { return None };
        let (at, divided) = self.beyond(1, |of_rank| of_rank.in_burst, missing)?;
        let is_again = first.before.min(later.before) as usize >= at && later.begun > first.latest;
        if !is_again {
            return None;
        }
        let pause = brief_span(PAUSE.unsigned_abs());
        let when = format!("{whose}that come less than {pause} apart, after the first {at}");
        Some(limited(&divided, &when, pause, frame))
    }

    /// Beyond how many exchanges, at least these, those are that stay unanswered, of so many. `counts`: of those before
    /// which there were so many others.
    fn beyond(
        &self,
        least: usize,
        counts: impl Fn(&OfRank) -> ExchangeCounts,
        missing: u64,
    ) -> Option<(usize, Divided)> {
        Divided::best(least..self.ranks.len(), |at| {
            let (slow, fast) = self.ranks.split_at(*at);
            Divided::of(fast.iter().map(&counts), slow.iter().map(&counts), missing)
        })
    }
}

fn limited(divided: &Divided, when: &str, gap: String, frame: u64) -> Candidate {
    let Divided { suspects, others } = divided;
    let values: [(_, &dyn Display); 5] = [
        ("when", &when),
        ("missing", &grouped(suspects.missing())),
        ("fast", &grouped(suspects.asked)),
        ("slow_missing", &grouped(others.missing())),
        ("slow", &grouped(others.asked)),
    ];
    let failure = Failure::with(&causes::answers::RATE_LIMITED, frame, &values);
    let failure = PatternFailure::new(failure, Some(("gap", gap)));
    Candidate { failure, errors: divided.errors() }
}

/// The class of a gap in nanoseconds.
fn gap_class(gap: i64) -> usize {
    let quarters = ((gap.max(1) as f64 / 1e6).log2() * 4.0).floor();
    (quarters.max(0.0) as usize).min(GAPS - 1)
}

/// The least gap of a class, in nanoseconds.
fn class_gap(class: usize) -> u64 {
    ((class as f64 / 4.0).exp2() * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_gaps_are_ordered() {
        const SECOND: i64 = 1_000_000_000;
        for gap in [1, 1_000_000, 3_000_000, SECOND, 100 * SECOND, i64::MAX] {
            let class = gap_class(gap);
            assert!(class == 0 || class_gap(class) <= gap as u64, "{gap}");
        }
    }
}
