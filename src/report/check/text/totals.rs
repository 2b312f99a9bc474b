//! One line of totals over several captures.

use dissectors::kit::Severity;

use super::{Style, headline};
use crate::check::{Answered, Fared, Outcome};
use crate::text::grouped;

/// Maximum number of failed captures that are named.
const NAMED: usize = 20;

/// The sum of several captures.
#[derive(Clone, Debug, Default)]
pub struct CheckTotals {
    captures: u64,
    fared: Option<Fared>,
    failed: Vec<String>,
    failures: usize,
    counts: [u64; 3],
    requests: Answered,
    messages: u64,
    flows: u64,
}

impl CheckTotals {
    /// One more.
    pub fn add(&mut self, outcome: &Outcome, style: &Style) {
        let fared = outcome.fared(style.least);
        self.captures += 1;
        self.fared = Some(self.fared.map_or(fared, |before| graver(before, fared)));
        if fared == Fared::Fail {
            self.failures += 1;
            if self.failures <= NAMED {
                self.failed.push(outcome.captures.join(", "));
            }
        }
        for (count, severity) in self.counts.iter_mut().zip(Severity::ALL) {
            *count += outcome.count(severity);
        }
        self.requests.add(outcome.requests);
        self.messages += outcome.messages;
        self.flows += outcome.flows;
    }

    /// Writes the line for several captures, with the names of failed ones.
    pub fn write(&self, style: &Style, out: &mut String) {
        let (true, Some(fared)) = (self.captures > 1, self.fared) else { return };
        let mut subject = format!("{} captures", grouped(self.captures));
        if self.failures > 0 {
            let more = match self.failures - self.failed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let failed = grouped(self.failures as u64);
            subject += &format!(", {failed} failed ({}{more})", self.failed.join(", "));
        }
        let size = (self.messages, self.flows);
        headline(fared, &subject, self.counts, self.requests, size, style.paint, out);
    }
}

/// The verdict for several captures: the worse one.
fn graver(a: Fared, b: Fared) -> Fared {
    let order = [Fared::Fail, Fared::Pass, Fared::Inconclusive, Fared::NotExercised];
    order.into_iter().find(|fared| [a, b].contains(fared)).unwrap_or(a)
}
