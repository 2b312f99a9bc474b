//! Findings that are only counted.

use serde::{Deserialize, Serialize};

use crate::kit::{Finding, Rule, Severity, Side, Verdict};

/// Findings without a text: if a rule is broken very often, only the first findings have one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// The rule.
    pub rule: &'static Rule,
    /// The verdict.
    pub verdict: Verdict,
    /// The severity.
    pub severity: Severity,
    /// The sender of the earlier message that they are about; `None`: they are about this message.
    pub side: Option<Side>,
    /// Their number.
    pub times: u64,
}

impl LeftOut {
    /// A finding without its text.
    pub fn of(finding: &Finding) -> LeftOut {
        let &Finding { rule, verdict, severity, mark, .. } = finding;
        LeftOut { rule, verdict, severity, side: mark.map(|mark| mark.side), times: 1 }
    }

    /// Adds it to those of the same kind, if there are any from `start` on. Returns how many there are now.
    pub fn add_to(self, all: &mut Vec<LeftOut>, start: usize) -> u64 {
        let mut since = all.get_mut(start..).unwrap_or_default().iter_mut();
        let same = since
            .find(|it| it.rule == self.rule && it.verdict == self.verdict && it.side == self.side);
        match same {
            Some(same) => {
                same.times += self.times;
                same.times
            }
            None => {
                all.push(self);
                self.times
            }
        }
    }
}
