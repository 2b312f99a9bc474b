//! How often rules were checked, and with what results.

use serde::{Deserialize, Serialize};

use crate::kit::{CODES, Rule, Severity, Verdict};

/// How often a rule was checked, and with what results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Passed, also with a known deviation.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Unknown from this capture.
    pub inconclusive: u64,
    /// Passed with a known deviation.
    pub noted: u64,
}

impl Counts {
    /// Counts results with this verdict.
    pub const fn count(&mut self, verdict: Verdict, times: u64) {
        match verdict {
            Verdict::Fail => self.failed += times,
            Verdict::Inconclusive => self.inconclusive += times,
            Verdict::Note => {
                self.passed += times;
                self.noted += times;
            }
        }
    }

    /// The number of results with this verdict.
    pub const fn of(&self, verdict: Verdict) -> u64 {
        match verdict {
            Verdict::Fail => self.failed,
            Verdict::Inconclusive => self.inconclusive,
            Verdict::Note => self.noted,
        }
    }

    /// The number of results that are not mere passes.
    pub const fn findings(&self) -> u64 {
        self.failed + self.inconclusive + self.noted
    }

    /// The number of findings with this severity, where `of_rule` is that of the rule; inconclusive ones have none.
    pub fn of_severity(&self, severity: Severity, of_rule: Severity) -> u64 {
        let verdicts = [Verdict::Fail, Verdict::Note].into_iter();
        let counted = verdicts.filter(|verdict| verdict.severity(of_rule) == severity);
        counted.map(|verdict| self.of(verdict)).sum()
    }

    /// So many inconclusive results are proven after all.
    pub fn prove(&mut self, times: u64) {
        let times = times.min(self.inconclusive);
        self.inconclusive -= times;
        self.failed += times;
    }

    /// Adds other counts.
    pub const fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.inconclusive += other.inconclusive;
        self.noted += other.noted;
    }
}

/// The results of all rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Counts>", into = "Vec<Counts>")]
pub struct RuleCounts(Box<[Counts; CODES]>);

impl Default for RuleCounts {
    fn default() -> RuleCounts {
        RuleCounts(Box::new([Counts::default(); CODES]))
    }
}

impl From<RuleCounts> for Vec<Counts> {
    fn from(counts: RuleCounts) -> Vec<Counts> {
        counts.0.to_vec()
    }
}

impl TryFrom<Vec<Counts>> for RuleCounts {
    type Error = &'static str;

    fn try_from(counts: Vec<Counts>) -> Result<RuleCounts, &'static str> {
        counts.try_into().map(RuleCounts).map_err(|_| "counts of more or of fewer rules")
    }
}

impl RuleCounts {
    /// The results of one rule.
    pub fn of(&self, rule: &Rule) -> Counts {
        self.0.get(rule.code.index()).copied().unwrap_or_default()
    }

    /// The results of one rule, to add to.
    #[inline]
    pub fn of_mut(&mut self, rule: &Rule) -> &mut Counts {
        &mut self.0[rule.code.index()]
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &RuleCounts) {
        self.0.iter_mut().zip(&*other.0).for_each(|(counts, more)| counts.add(*more));
    }
}
