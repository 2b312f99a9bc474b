//! Whether exchanges are unanswered because their requests are long, or short.

use super::Pattern;
use super::divided::{Candidate, Divided};
use crate::diagnose::exchanges::Exchange;
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::session::ExchangeCounts;
use crate::text::grouped;

/// Maximum number of lengths of requests.
const LENGTHS: usize = 32;

/// A length in bytes, and the exchanges whose requests have it.
type OfLength = (usize, ExchangeCounts);

/// Exchanges by the length of a request.
#[derive(Clone, Debug, Default)]
struct ByLength(Vec<OfLength>);

impl ByLength {
    fn add(&mut self, length: usize, is_answered: bool) {
        let new = || (length, ExchangeCounts::default());
        if let Some((_, counts)) = find_or_add(&mut self.0, LENGTHS, |it| it.0 == length, new) {
            counts.add_one(is_answered);
        }
    }

    fn sorted(&self) -> Vec<OfLength> {
        let mut lengths = self.0.clone();
        lengths.sort_unstable_by_key(|(length, _)| *length);
        lengths
    }
}

/// By the length of the first request, and of the latest one: only who is challenged goes on with a longer one, so that
/// latest requests that are short show nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Lengths {
    first: ByLength,
    latest: ByLength,
}

impl Lengths {
    pub(super) fn add(&mut self, exchange: &Exchange) {
        self.first.add(exchange.request.length, exchange.is_answered);
        self.latest.add(exchange.length, exchange.is_answered);
    }
}

impl Pattern {
    /// Long requests are unanswered.
    pub(super) fn of_long_ones(&self) -> Option<Candidate> {
        let lengths = self.lengths.latest.sorted();
        let divide = |short: &[_], long: &[_]| self.of_lengths(long, short);
        let (at, divided) = best_cut(&lengths, divide)?;
        let length = grouped(lengths.get(at)?.0 as u64);
        Some(self.of_these(&format!("{length} bytes or more"), &divided, "", ("length", length)))
    }

    /// Short requests are unanswered.
    pub(super) fn of_short_ones(&self) -> Option<Candidate> {
        let lengths = self.lengths.first.sorted();
        let (at, divided) = best_cut(&lengths, |short, long| self.of_lengths(short, long))?;
        let (place, by, words) =
            if at == 1 { (0, "length", "") } else { (at, "shorter_than", "less than ") };
        let length = grouped(lengths.get(place)?.0 as u64);
        Some(self.of_these(&format!("{words}{length} bytes"), &divided, "", (by, length)))
    }

    /// The requests of some lengths, and those of others.
    fn of_lengths(&self, suspects: &[OfLength], others: &[OfLength]) -> Option<Divided> {
        let [suspects, others] = [suspects, others].map(|of| of.iter().map(|(_, counts)| *counts));
        Divided::of(suspects, others, self.all.missing())
    }
}

/// The place of the first long one of these lengths, and what divides the short ones from the long ones best.
fn best_cut(
    lengths: &[OfLength],
    divide: impl Fn(&[OfLength], &[OfLength]) -> Option<Divided>,
) -> Option<(usize, Divided)> {
    Divided::best(1..lengths.len(), |at| {
        let (short, long) = lengths.split_at(*at);
        divide(short, long)
    })
}
