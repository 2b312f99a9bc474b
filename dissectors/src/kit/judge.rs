//! Verdicts: what was checked, how often, and when what is missing is a proof.

use serde::{Deserialize, Serialize};

use crate::kit::{CODES, Mark, Needs, Rule, Severities, Severity, Sink, Span};

/// What is known of the recording round a message. See [`Evidence::suffices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The user vouches that the capture is complete.
    pub vouched: bool,
    /// The flow's first packet opens a conversation.
    pub began: bool,
    /// The recording itself lost something that touches the message.
    pub lost: bool,
    /// The recording lost packets of the flow, so that what came before or after may be missing.
    pub lossy: bool,
    /// A packet of the asked party, or of who should have spoken before, is in the capture, on this
    /// flow: more than one direction was recorded.
    pub asked_party_seen: bool,
    /// The capture goes on for at least the response timeout after the question.
    pub waited: bool,
    /// An ICMP error says that the request did not arrive: no response to it will come.
    pub refused: bool,
}

impl Evidence {
    /// The one place that says when a breach is a proof.
    pub const fn suffices(self, needs: Needs) -> bool {
        if self.lost {
            return false;
        }
        match needs {
            Needs::Message => true,
            Needs::Interval => !self.lossy,
            Needs::Beginning => {
                !self.lossy && (self.vouched || self.began && self.asked_party_seen)
            }
            Needs::Answer => {
                self.refused
                    || !self.lossy && (self.vouched || self.waited && self.asked_party_seen)
            }
        }
    }
}

/// What came of checking a rule once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Broken, and proven.
    Fail,
    /// Broken, or not: what is missing from the capture could explain it.
    Inconclusive,
    /// A known form that deviates; the rule passes.
    Note,
}

impl Verdict {
    /// As scripts read it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Note => "note",
        }
    }
}

/// A rule that was not simply kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Which rule.
    pub rule: &'static Rule,
    /// What came of it.
    pub verdict: Verdict,
    /// How much it weighs here: the rule's severity, as the user has it, or a note for a known
    /// form.
    pub severity: Severity,
    /// The bytes in question.
    pub span: Span,
    /// What is wrong, in this message's own numbers.
    pub detail: String,
    /// The message it is about, if that is not the current one.
    pub mark: Option<Mark>,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.code == other.code
    }
}

impl Eq for Rule {}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.code, self.slug)
    }
}

/// How often a rule was checked, and with what result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Kept.
    pub passed: u64,
    /// Broken.
    pub failed: u64,
    /// Cannot be known from this capture.
    pub inconclusive: u64,
}

/// How all rules fared.
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
    /// How one of them fared.
    pub fn of(&self, rule: &Rule) -> Counts {
        self.0.get(rule.code.index()).copied().unwrap_or_default()
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &RuleCounts) {
        for (counts, more) in self.0.iter_mut().zip(&*other.0) {
            counts.passed += more.passed;
            counts.failed += more.failed;
            counts.inconclusive += more.inconclusive;
        }
    }

    #[inline]
    fn count(&mut self, rule: &Rule) -> &mut Counts {
        &mut self.0[rule.code.index()]
    }
}

/// Counts what passes, and keeps a finding where something does not.
pub struct Judge {
    counts: RuleCounts,
    /// What was found since the last message ended, as far as it is kept.
    pub findings: Vec<Finding>,
    /// How often each rule came to a verdict since then.
    found: Vec<(&'static Rule, Verdict, u64)>,
    /// Findings of one rule and verdict that are kept.
    most: u64,
    severities: Severities,
    evidence: Evidence,
}

impl Default for Judge {
    fn default() -> Judge {
        Judge {
            counts: RuleCounts::default(),
            findings: Vec::new(),
            found: Vec::new(),
            most: Judge::MOST,
            severities: Severities::default(),
            evidence: Evidence::default(),
        }
    }
}

impl Judge {
    /// Of one message, findings of one rule and verdict that are kept; further ones are counted.
    pub const MOST: u64 = 1000;

    /// Checks with the user's severities.
    pub fn new(severities: Severities) -> Judge {
        Judge { severities, ..Judge::default() }
    }

    /// Keeps all findings of a message, as many as it has: where each may be another's.
    #[must_use]
    pub fn keeping_all(self) -> Judge {
        Judge { most: u64::MAX, ..self }
    }

    /// How many findings were not kept since the last message ended, by rule and verdict.
    pub fn left_out(&self) -> impl Iterator<Item = (&'static Rule, Verdict, u64)> {
        let left_out = |&(rule, verdict, times): &(_, _, u64)| {
            (times > self.most).then(|| (rule, verdict, times - self.most))
        };
        self.found.iter().filter_map(left_out)
    }

    /// Whether something was found since the last message ended, kept or not.
    #[inline]
    pub const fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// The message has ended: forgets what was found in it.
    pub fn clear(&mut self) {
        self.findings.clear();
        self.found.clear();
    }

    /// How a rule fared so far.
    pub fn counts(&self, rule: &Rule) -> Counts {
        self.counts.of(rule)
    }

    /// Whether the user vouches for the whole capture.
    pub const fn is_vouched(&self) -> bool {
        self.evidence.vouched
    }

    /// How all rules fared.
    pub fn into_counts(self) -> RuleCounts {
        self.counts
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, counts: &RuleCounts) {
        self.counts.add(counts);
    }

    #[inline]
    fn count(&mut self, rule: &Rule) -> &mut Counts {
        self.counts.count(rule)
    }

    /// The verdict on a breach by an earlier message, where that has evidence of its own.
    pub fn verdict(&self, rule: &Rule, recalled: Option<Evidence>) -> Verdict {
        let evidence = recalled.map_or(self.evidence, |evidence| Evidence {
            vouched: evidence.vouched || self.evidence.vouched,
            lossy: evidence.lossy || self.evidence.lossy,
            ..evidence
        });
        if evidence.suffices(rule.needs) { Verdict::Fail } else { Verdict::Inconclusive }
    }

    /// Counts a breach that came to this.
    pub fn count_broken(&mut self, rule: &'static Rule, verdict: Verdict) {
        let counts = self.count(rule);
        match verdict {
            Verdict::Fail => counts.failed += 1,
            Verdict::Inconclusive => counts.inconclusive += 1,
            Verdict::Note => {}
        }
    }

    /// Counts a breach. Returns its verdict if the finding is to be kept.
    #[cold]
    fn broken(&mut self, rule: &'static Rule, recalled: Option<Evidence>) -> Option<Verdict> {
        let verdict = self.verdict(rule, recalled);
        self.count_broken(rule, verdict);
        self.has_room(rule, verdict).then_some(verdict)
    }

    /// Counts a finding. Whether it is to be kept: a message may have as many as bytes.
    fn has_room(&mut self, rule: &'static Rule, verdict: Verdict) -> bool {
        let same =
            |found: &&mut (&Rule, Verdict, u64)| found.0.code == rule.code && found.1 == verdict;
        let times = match self.found.iter_mut().find(same) {
            Some((.., times)) => {
                *times += 1;
                *times
            }
            None => {
                self.found.push((rule, verdict, 1));
                1
            }
        };
        times <= self.most
    }
}

impl Sink for Judge {
    #[inline]
    fn judged(&mut self, rule: &'static Rule, ok: bool, at: Span, detail: impl FnOnce() -> String) {
        if ok {
            self.count(rule).passed += 1;
        } else {
            if let Some(verdict) = self.broken(rule, None) {
                let (severity, detail) = (self.severities.of(rule), detail());
                let (span, mark) = (at, None);
                self.findings.push(Finding { rule, verdict, severity, span, detail, mark });
            }
        }
    }

    #[inline]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        self.count(rule).passed += u64::from(times);
    }

    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        self.count(rule).passed += 1;
        if self.has_room(rule, Verdict::Note) {
            self.findings.push(Finding {
                rule,
                verdict: Verdict::Note,
                severity: Severity::Note,
                span: at,
                detail: detail(),
                mark: None,
            });
        }
    }

    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        if ok {
            self.count(rule).passed += 1;
            return;
        }
        if let Some(verdict) = self.broken(rule, Some(evidence)) {
            let (severity, detail) = (self.severities.of(rule), detail());
            let (span, mark) = (mark.whole(), Some(*mark));
            self.findings.push(Finding { rule, verdict, severity, span, detail, mark });
        }
    }

    /// The user's word is about the whole capture: once given, it stays.
    fn evidence(&mut self, evidence: Evidence) {
        let vouched = evidence.vouched || self.evidence.vouched;
        self.evidence = Evidence { vouched, ..evidence };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net_rules::{NET008, NET011};

    #[test]
    fn of_a_message_each_rule_keeps_a_bounded_number_of_findings() {
        let left_out = |judge: &Judge| {
            Vec::from_iter(
                judge.left_out().map(|(rule, verdict, times)| (rule.code, verdict, times)),
            )
        };
        for (mut judge, kept) in [(Judge::default(), 1000), (Judge::default().keeping_all(), 3000)]
        {
            for _ in 0..3000 {
                judge.noted(&NET011, Span::default(), String::new);
            }
            judge.judged(&NET008, false, Span::default(), String::new);
            assert_eq!(judge.findings.len(), kept + 1, "notes hide nothing else");
            assert_eq!(judge.counts(&NET011).passed, 3000);
            let after = (3000 - kept) as u64;
            let expected = [(NET011.code, Verdict::Note, after)];
            assert_eq!(
                left_out(&judge),
                expected.into_iter().filter(|_| after > 0).collect::<Vec<_>>()
            );
            judge.clear();
            assert_eq!((judge.findings.len(), left_out(&judge).len()), (0, 0));
            judge.noted(&NET011, Span::default(), String::new);
            assert_eq!(judge.findings.len(), 1);
        }
    }
}
