//! Whether exchanges are unanswered because they come too fast.

use std::fmt::Display;

use dissectors::kit::causes;

use super::{Divided, PatternFailure, item_at};
use crate::diagnose::exchange_log::{Pace, WINDOWS};
use crate::diagnose::fact::Failure;
use crate::session::ExchangeCounts;
use crate::text::{brief_span, grouped};

/// Classes of gaps between a client's requests: each is a quarter of a power of two, from one millisecond.
const GAPS: usize = 64;

/// Requests within a window of time that are told apart.
const RANKS: usize = 64;

/// Exchanges by how fast they follow earlier ones.
#[derive(Debug, Default)]
pub(super) struct Paces {
    /// By the time since an earlier one.
    gaps: Vec<ExchangeCounts>,
    /// Without an earlier one.
    first: ExchangeCounts,
    /// By the number of earlier ones, in each of the [`WINDOWS`].
    ranks: [Vec<ExchangeCounts>; WINDOWS.len()],
}

impl Paces {
    pub(super) fn add(&mut self, pace: &Pace, is_answered: bool) {
        let by_gap = match pace.gap {
            Some(gap) => item_at(&mut self.gaps, gap_class(gap)),
            None => &mut self.first,
        };
        by_gap.add_one(is_answered);
        for (ranks, before) in self.ranks.iter_mut().zip(pace.before) {
            item_at(ranks, (before as usize).min(RANKS - 1)).add_one(is_answered);
        }
    }

    /// Only those are unanswered, of so many, that come soon after another one. `other`: after which.
    pub(super) fn by_gap(
        &self,
        other: &str,
        missing: u64,
        frame: u64,
    ) -> Option<(Divided, PatternFailure)> {
        let divided = |at: usize| {
            let (fast, slow) = self.gaps.split_at(at);
            Divided::of(fast, &[slow, &[self.first]].concat(), missing)
        };
        let found = (1..=self.gaps.len()).filter_map(|at| Some((at, divided(at)?)));
        let (at, divided) = found.min_by_key(|(_, divided)| divided.errors())?;
        let gap = brief_span(class_gap(at));
        let failure = limited(&divided, &format!("less than {gap} after {other}"), gap, frame);
        Some((divided, failure))
    }

    /// Only those are unanswered, of so many, that come after many others within a window. `whose`: the others.
    pub(super) fn by_rank(
        &self,
        whose: &str,
        missing: u64,
        frame: u64,
    ) -> Option<(Divided, PatternFailure)> {
        let all = self.ranks.iter().zip(WINDOWS).flat_map(|(ranks, window)| {
            (1..ranks.len()).filter_map(move |at| {
                let (slow, fast) = ranks.split_at(at);
                Some((at, window, Divided::of(fast, slow, missing)?))
            })
        });
        let (at, window, divided) = all.min_by_key(|(.., divided)| divided.errors())?;
        let window = brief_span(window.unsigned_abs());
        let first = if at == 1 { String::new() } else { format!("{at} ") };
        let when = format!("after the first {first}{whose}within {window}");
        let failure = limited(&divided, &when, window, frame);
        Some((divided, failure))
    }
}

fn limited(divided: &Divided, when: &str, gap: String, frame: u64) -> PatternFailure {
    let Divided { suspects, others } = divided;
    let values: [(_, &dyn Display); 5] = [
        ("when", &when),
        ("missing", &grouped(suspects.missing())),
        ("fast", &grouped(suspects.asked)),
        ("slow_missing", &grouped(others.missing())),
        ("slow", &grouped(others.asked)),
    ];
    let cause = &causes::answers::RATE_LIMITED;
    PatternFailure::new(Failure::with(cause, frame, &values), Some(("gap", gap)))
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
