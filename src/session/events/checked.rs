//! The results of rules in one event.

use dissectors::kit::{Finding, Rule, Side, Verdict};
use serde::{Deserialize, Serialize};

/// The results of rules.
#[derive(Clone, Copy, Default)]
pub struct Checked<'b> {
    /// The findings with a text.
    pub findings: &'b [Finding],
    /// The other findings.
    pub left_out: &'b [LeftOut],
    /// The rules that passed, if requested.
    pub passes: &'b [PassedRule],
}

/// Findings without a text: if a rule is broken very often, only the first findings have one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// The rule.
    pub rule: &'static Rule,
    /// The verdict.
    pub verdict: Verdict,
    /// The sender of the earlier message that they are about; `None`: they are about this message.
    pub side: Option<Side>,
    /// Their number.
    pub times: u64,
}

/// A rule that was passed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PassedRule {
    /// The rule.
    pub rule: &'static Rule,
    /// The sender of the earlier message that passed it; `None`: this message did.
    pub side: Option<Side>,
    /// How often.
    pub times: u64,
}

impl Checked<'_> {
    /// The number of findings without a text; inconclusive ones do not count.
    pub fn findings_left_out(&self) -> u64 {
        let left_out = self.left_out.iter().filter(|it| it.verdict != Verdict::Inconclusive);
        left_out.map(|it| it.times).sum()
    }
}
