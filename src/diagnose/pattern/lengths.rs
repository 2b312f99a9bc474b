//! Whether exchanges are unanswered because their requests are long, or short.

use super::Pattern;
use super::divided::{Candidate, Divided};
use crate::diagnose::exchange_log::Exchange;
use crate::diagnose::find_or_add::find_or_add;
use crate::session::ExchangeCounts;
use crate::text::grouped;

/// Maximum number of lengths of requests.
const LENGTHS: usize = 32;

/// Exchanges by the length of a request in bytes.
#[derive(Debug, Default)]
struct ByLength(Vec<(usize, ExchangeCounts)>);

impl ByLength {
    fn add(&mut self, length: usize, is_answered: bool) {
        let new = || (length, ExchangeCounts::default());
        if let Some((_, share)) = find_or_add(&mut self.0, LENGTHS, |it| it.0 == length, new) {
            share.add_one(is_answered);
        }
    }

    fn sorted(&self) -> Vec<(usize, ExchangeCounts)> {
        let mut lengths = self.0.clone();
        lengths.sort_unstable_by_key(|(length, _)| *length);
        lengths
    }
}

/// By the length of the first request, and of the latest one: only who is challenged goes on with a longer one, so that
/// latest requests that are short show nothing.
#[derive(Debug, Default)]
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
        let (at, divided) = Divided::best(1..lengths.len(), |at| {
            let (short, long) = lengths.split_at(*at);
            Divided::of(shares(long), shares(short), self.all.missing())
        })?;
        let length = grouped(lengths.get(at)?.0 as u64);
        Some(self.of_these(&format!("{length} bytes or more"), &divided, "", ("length", length)))
    }

    /// Short requests are unanswered.
    pub(super) fn of_short_ones(&self) -> Option<Candidate> {
        let lengths = self.lengths.first.sorted();
        let (at, divided) = Divided::best(1..lengths.len(), |at| {
            let (short, long) = lengths.split_at(*at);
            Divided::of(shares(short), shares(long), self.all.missing())
        })?;
        let (place, by, words) =
            if at == 1 { (0, "length", "") } else { (at, "shorter_than", "less than ") };
        let length = grouped(lengths.get(place)?.0 as u64);
        Some(self.of_these(&format!("{words}{length} bytes"), &divided, "", (by, length)))
    }
}

fn shares(lengths: &[(usize, ExchangeCounts)]) -> impl Iterator<Item = ExchangeCounts> + '_ {
    lengths.iter().map(|(_, share)| *share)
}
