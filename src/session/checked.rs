//! How rules fared by one event.

use dissectors::kit::{Finding, Rule, Side, Verdict};
use serde::{Deserialize, Serialize};

/// How rules fared.
#[derive(Clone, Copy, Default)]
pub struct Checked<'b> {
    /// What was found, as far as it was put into words.
    pub findings: &'b [Finding],
    /// What else was found.
    pub left_out: &'b [LeftOut],
    /// The rules that were passed, where that was asked for.
    pub passes: &'b [Passes],
}

/// Findings that were not put into words: of a rule that is broken all the time, the first ones are
/// enough.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LeftOut {
    /// The rule.
    pub rule: &'static Rule,
    /// What came of it.
    pub verdict: Verdict,
    /// Who sent the message of the past that they are about; `None`: they are about this message.
    pub side: Option<Side>,
    /// How many they are.
    pub times: u64,
}

/// A rule that was passed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Passes {
    /// The rule.
    pub rule: &'static Rule,
    /// Who sent the message of the past that passed it; `None`: this message did.
    pub side: Option<Side>,
    /// How often.
    pub times: u64,
}

impl Checked<'_> {
    /// How many findings there are that were not put into words; inconclusive ones do not count.
    pub fn findings_left_out(&self) -> u64 {
        let left_out = self.left_out.iter().filter(|it| it.verdict != Verdict::Inconclusive);
        left_out.map(|it| it.times).sum()
    }
}
