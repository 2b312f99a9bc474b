//! What came of checking one or several captures.

use std::cmp::Reverse;

use dissectors::kit::{Rule, Severity, Time, Verdict};

use super::{Answered, Baselined, Found, Parties};
use crate::text::escaped;

/// How a rule fared over a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fared {
    /// Broken at least once.
    Fail,
    /// Checked at least once, never broken.
    Pass,
    /// There were occasions, but what is missing from the capture could explain each.
    Inconclusive,
    /// There was no occasion.
    NotExercised,
}

impl Fared {
    /// As scripts read it.
    pub const fn name(self) -> &'static str {
        match self {
            Fared::Fail => "fail",
            Fared::Pass => "pass",
            Fared::Inconclusive => "inconclusive",
            Fared::NotExercised => "not_exercised",
        }
    }
}

/// One rule's counts.
#[derive(Clone, Copy, Debug)]
pub struct RuleOutcome {
    /// Which rule.
    pub rule: &'static Rule,
    /// How much a breach weighs, as the user has it.
    pub severity: Severity,
    /// Captures in which it was required and not exercised.
    pub missing: u64,
    /// Kept.
    pub passed: u64,
    /// Broken.
    pub failed: u64,
    /// Cannot be known from this capture.
    pub inconclusive: u64,
    /// Broken in ways that the baseline holds.
    pub in_baseline: u64,
    /// Kept in a known form that deviates.
    pub notes: u64,
}

impl RuleOutcome {
    /// Of a rule that had no occasion yet.
    pub(super) fn new(rule: &'static Rule, severity: Severity) -> RuleOutcome {
        RuleOutcome {
            rule,
            severity,
            missing: 0,
            passed: 0,
            failed: 0,
            inconclusive: 0,
            in_baseline: 0,
            notes: 0,
        }
    }

    /// How many findings have this severity; what is inconclusive has none.
    pub fn count(&self, severity: Severity) -> u64 {
        let failed = if self.severity == severity { self.failed } else { 0 };
        let notes = if severity == Severity::Note { self.notes } else { 0 };
        failed + notes
    }

    /// Its verdict. What the baseline holds does not fail, and shows that there was occasion.
    pub fn fared(&self) -> Fared {
        match (self.failed, self.passed + self.in_baseline, self.inconclusive) {
            (1.., _, _) => Fared::Fail,
            (0, 1.., _) => Fared::Pass,
            (0, 0, 1..) => Fared::Inconclusive,
            (0, 0, 0) => Fared::NotExercised,
        }
    }
}

/// What came of it all.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The captures' names.
    pub captures: Vec<String>,
    /// Packets read.
    pub packets: u64,
    /// The earliest and the latest time of one.
    pub span: Option<[Time; 2]>,
    /// Messages reported.
    pub messages: u64,
    /// Flows of protocols of ours.
    pub flows: u64,
    /// Requests that were checked, and those of them that were answered.
    pub requests: Answered,
    /// Every rule of the catalogue that counts, by code.
    pub rules: Vec<RuleOutcome>,
    /// What was found, in the order of the packets.
    pub findings: Vec<Found>,
    /// How often each party broke a rule, of one capture.
    pub parties: Parties,
    /// Captures that hold nothing of what was asked for, and what they hold instead.
    pub lacking: Vec<(String, String)>,
    /// Findings that were counted but not kept.
    pub left_out: u64,
    /// What the captures show of the baseline, if there is one.
    pub baselined: Option<Baselined>,
}

/// Those of some findings that are reported, the gravest first.
pub fn gravest_first<'f>(found: impl Iterator<Item = &'f Found>) -> Vec<&'f Found> {
    let mut reported: Vec<_> = found.filter(|it| it.verdict != Verdict::Inconclusive).collect();
    reported.sort_by_key(|found| Reverse(found.severity));
    reported
}

impl Outcome {
    /// Several captures, each checked on its own, as one.
    pub fn sum(outcomes: Vec<Outcome>) -> Option<Outcome> {
        outcomes.into_iter().reduce(|mut sum, other| {
            let first = u32::try_from(sum.captures.len()).unwrap_or(u32::MAX);
            sum.captures.extend(other.captures);
            sum.packets += other.packets;
            sum.span = match (sum.span, other.span) {
                (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
                (one, other) => one.or(other),
            };
            sum.messages += other.messages;
            sum.flows += other.flows;
            sum.requests.add(other.requests);
            sum.left_out += other.left_out;
            sum.lacking.extend(other.lacking);
            for (rule, more) in sum.rules.iter_mut().zip(other.rules) {
                rule.passed += more.passed;
                rule.failed += more.failed;
                rule.inconclusive += more.inconclusive;
                rule.in_baseline += more.in_baseline;
                rule.notes += more.notes;
                rule.missing += more.missing;
            }
            if let (Some(known), Some(more)) = (&mut sum.baselined, other.baselined) {
                known.add(more, first);
            }
            let findings = other.findings.into_iter();
            sum.findings.extend(findings.map(|found| found.of_more(first)));
            sum
        })
    }

    /// The name of the file that a finding is in; empty if that is not known.
    pub fn file(&self, found: &Found) -> &str {
        let capture = found.capture.and_then(|at| self.captures.get(at as usize));
        capture.map_or("", String::as_str)
    }

    /// Which packet a finding is about, in words; where files were merged, and counted as one, in
    /// which of them.
    pub fn place(&self, found: &Found) -> String {
        let place = found.place();
        if self.captures.len() < 2 || found.frame() == 0 {
            return place;
        }
        match self.file(found) {
            "" => format!("{place} of all"),
            file => format!("{place} of all, in {file}"),
        }
    }

    /// A finding in a line: where, by whom, what.
    pub fn line(&self, found: &Found) -> String {
        let party = found.party.map_or(String::new(), |party| format!(", {party}"));
        escaped(&format!("{}{party}: {}", self.place(found), found.detail)).into_owned()
    }

    /// Whether a rule was broken that weighs at least so much.
    pub fn is_broken(&self, least: Severity) -> bool {
        self.rules.iter().any(|rule| rule.failed > 0 && rule.severity >= least)
    }

    /// The verdict over all rules: broken means broken at `least` or above. What was required and
    /// not exercised fails, too.
    pub fn fared(&self, least: Severity) -> Fared {
        let any = |fared| self.rules.iter().any(|rule| rule.fared() == fared);
        if self.is_broken(least) || self.rules.iter().any(|rule| rule.missing > 0) {
            Fared::Fail
        } else if self.messages > 0 && (any(Fared::Pass) || any(Fared::Fail)) {
            Fared::Pass
        } else if any(Fared::Inconclusive) {
            Fared::Inconclusive
        } else {
            Fared::NotExercised
        }
    }

    /// How many findings the baseline holds.
    pub fn in_baseline(&self) -> u64 {
        self.baselined.as_ref().map_or(0, |known| known.count)
    }

    /// How many findings have this severity, whether they were kept or only counted.
    pub fn count(&self, severity: Severity) -> u64 {
        self.rules.iter().map(|rule| rule.count(severity)).sum()
    }
}
