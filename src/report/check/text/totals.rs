//! One line of totals over several captures.

use dissectors::kit::Severity;

use super::{Headline, Style};
use crate::check::{ExchangeCounts, Outcome, RuleStatus};
use crate::text::grouped;

/// Maximum number of failed captures that are named.
const NAMED: usize = 20;

/// The sum of several captures.
#[derive(Clone, Debug, Default)]
pub struct CheckTotals {
    captures: u64,
    rule_outcome: Option<RuleStatus>,
    failed: Vec<String>,
    failures: usize,
    /// Captures with an attack.
    attacked: u64,
    counts: [u64; 3],
    requests: ExchangeCounts,
    messages: u64,
    flows: u64,
}

impl CheckTotals {
    /// One more.
    pub fn add(&mut self, outcome: &Outcome, style: &Style) {
        let rule_outcome = outcome.status(style.least);
        self.captures += 1;
        self.attacked += u64::from(!outcome.attacks().is_empty());
        self.rule_outcome =
            Some(self.rule_outcome.map_or(rule_outcome, |before| worse(before, rule_outcome)));
        if rule_outcome == RuleStatus::Fail {
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
        let (true, Some(rule_outcome)) = (self.captures > 1, self.rule_outcome) else { return };
        let mut subject = format!("{} captures", grouped(self.captures));
        if self.failures > 0 {
            let more = match self.failures - self.failed.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let failed = grouped(self.failures as u64);
            subject += &format!(", {failed} failed ({}{more})", self.failed.join(", "));
        }
        let attacks = match self.attacked {
            0 => Vec::new(),
            attacked => vec![format!("attacks in {attacked}")],
        };
        let headline = Headline {
            status: rule_outcome,
            subject: &subject,
            attacks: &attacks,
            counts: self.counts,
            requests: self.requests,
            messages: self.messages,
            flows: self.flows,
        };
        headline.write(style, out);
    }
}

/// The verdict for several captures: the worse one.
fn worse(a: RuleStatus, b: RuleStatus) -> RuleStatus {
    let order =
        [RuleStatus::Fail, RuleStatus::Pass, RuleStatus::Inconclusive, RuleStatus::NotExercised];
    order.into_iter().find(|rule_outcome| [a, b].contains(rule_outcome)).unwrap_or(a)
}
