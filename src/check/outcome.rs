//! The outcome of checking one or several captures.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use dissectors::kit::{Counts, Rule, Severity, Time, Verdict};
use dissectors::ledger::AttackOn;

use super::{Baselined, ExchangeCounts, ReportedFinding, ReviewedFlows, Tally};
use crate::session::joined_spans;
use crate::text::escaped;

dissectors::named! {
    /// The result of a rule over a capture.
    pub enum RuleStatus {
        /// Broken at least once.
        Fail = "fail",
        /// Checked at least once, never broken.
        Pass = "pass",
        /// Checked, but packets missing from the capture could explain each breach.
        Inconclusive = "inconclusive",
        /// Never checked.
        NotExercised = "not_exercised",
    }
}

/// One rule's counts.
#[derive(Clone, Copy, Debug)]
pub struct RuleOutcome {
    /// Which rule.
    pub rule: &'static Rule,
    /// The severity, as configured by the user.
    pub severity: Severity,
    /// Captures in which it was required and not exercised.
    pub missing: u64,
    /// Its results.
    pub counts: Counts,
    /// Failed by findings in the baseline.
    pub in_baseline: u64,
}

impl RuleOutcome {
    /// For a rule that was not checked yet.
    pub(super) fn new(rule: &'static Rule, severity: Severity) -> RuleOutcome {
        RuleOutcome { rule, severity, missing: 0, counts: Counts::default(), in_baseline: 0 }
    }

    /// The number of findings with this severity; inconclusive ones have none.
    pub fn count(&self, severity: Severity) -> u64 {
        self.counts.of_severity(severity, self.severity)
    }

    /// Its verdict. Findings in the baseline do not fail, but show that the rule was exercised.
    pub fn status(&self) -> RuleStatus {
        let Counts { passed, failed, inconclusive, .. } = self.counts;
        match (failed, passed + self.in_baseline, inconclusive) {
            (1.., _, _) => RuleStatus::Fail,
            (0, 1.., _) => RuleStatus::Pass,
            (0, 0, 1..) => RuleStatus::Inconclusive,
            (0, 0, 0) => RuleStatus::NotExercised,
        }
    }
}

/// The outcome.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The captures' names.
    pub captures: Vec<String>,
    /// Packets read.
    pub packets: u64,
    /// The earliest and the latest packet.
    pub span: Option<[Time; 2]>,
    /// Messages.
    pub messages: u64,
    /// Flows of supported protocols.
    pub flows: u64,
    /// Exchanges: requests with their repeats and challenge rounds, and those that were answered.
    pub requests: ExchangeCounts,
    /// Responses without their requests show that the recorder lost packets, though nothing says so.
    pub seems_lossy: bool,
    /// Every selected rule of the catalogue, by code.
    pub rules: Vec<RuleOutcome>,
    /// The findings, in the order of the packets.
    pub findings: Vec<ReportedFinding>,
    /// The number of selected findings by rule, verdict and party, for a single capture.
    pub tally: Tally,
    /// Captures without any of the selected traffic, and what they contain instead.
    pub lacking: Vec<(String, String)>,
    /// Each must have some.
    pub requires_traffic: bool,
    /// Findings that were counted but not kept.
    pub left_out: u64,
    /// The known findings of the captures, if there is a baseline.
    pub baselined: Option<Baselined>,
    /// The results for flows that only the whole capture shows, for a single capture.
    pub reviewed: ReviewedFlows,
}

/// The reported ones among some findings, the most severe first.
pub fn gravest_first<'f>(
    found: impl Iterator<Item = &'f ReportedFinding>,
) -> Vec<&'f ReportedFinding> {
    let mut reported: Vec<_> = found.filter(|it| it.verdict != Verdict::Inconclusive).collect();
    reported.sort_by_key(|found| Reverse(found.severity));
    reported
}

/// Attacks, a sentence each: one for what several findings show.
pub(super) fn sentences<'a>(attacks: impl Iterator<Item = &'a AttackOn>) -> Vec<String> {
    Vec::from_iter(BTreeSet::from_iter(attacks.filter_map(AttackOn::sentence)))
}

impl Outcome {
    /// The attacks that findings prove, a sentence each.
    pub fn attacks(&self) -> Vec<String> {
        let proven = self.findings.iter().filter(|found| found.verdict == Verdict::Fail);
        sentences(proven.filter_map(|found| found.attack.as_ref()))
    }

    /// Sums several captures, each checked on its own.
    pub fn sum(outcomes: Vec<Outcome>) -> Option<Outcome> {
        outcomes.into_iter().reduce(|mut sum, other| {
            let first = u32::try_from(sum.captures.len()).unwrap_or(u32::MAX);
            sum.captures.extend(other.captures);
            sum.packets += other.packets;
            sum.span = joined_spans(sum.span, other.span);
            sum.messages += other.messages;
            sum.flows += other.flows;
            sum.requests.add(other.requests);
            sum.left_out += other.left_out;
            sum.lacking.extend(other.lacking);
            for (rule, more) in sum.rules.iter_mut().zip(other.rules) {
                rule.counts.add(more.counts);
                rule.in_baseline += more.in_baseline;
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

    /// The name of a finding's file; empty if unknown.
    pub fn file(&self, found: &ReportedFinding) -> &str {
        let capture = found.capture.and_then(|at| self.captures.get(at as usize));
        capture.map_or("", String::as_str)
    }

    /// The packet of a finding, as text; for merged files that are counted as one, with its file.
    pub fn place(&self, found: &ReportedFinding) -> String {
        let place = found.place();
        if self.captures.len() < 2 || found.frame() == 0 {
            return place;
        }
        match self.file(found) {
            "" => format!("{place} of all"),
            file => format!("{place} of all, in {file}"),
        }
    }

    /// A finding as a line: packet, party, text.
    pub fn line(&self, found: &ReportedFinding) -> String {
        let party = found.named_party().map_or(String::new(), |party| format!(", {party}"));
        escaped(&format!("{}{party}: {}", self.place(found), found.detail)).into_owned()
    }

    /// Whether a rule of at least this severity was broken.
    pub fn is_broken(&self, least: Severity) -> bool {
        self.rules.iter().any(|rule| rule.counts.failed > 0 && rule.severity >= least)
    }

    /// Captures that must have some of the selected traffic, and what they contain instead.
    pub fn missing_traffic(&self) -> &[(String, String)] {
        if self.requires_traffic { &self.lacking } else { &[] }
    }

    /// Whether something that is required is not there: a rule that was not exercised, or traffic.
    fn lacks_what_is_required(&self) -> bool {
        self.rules.iter().any(|rule| rule.missing > 0) || !self.missing_traffic().is_empty()
    }

    /// The verdict over all rules: failed means broken at `least` or above. What is required and not there
    /// fails, too.
    pub fn status(&self, least: Severity) -> RuleStatus {
        let any = |rule_outcome| self.rules.iter().any(|rule| rule.status() == rule_outcome);
        if self.is_broken(least) || self.lacks_what_is_required() {
            RuleStatus::Fail
        } else if self.messages > 0 && (any(RuleStatus::Pass) || any(RuleStatus::Fail)) {
            RuleStatus::Pass
        } else if any(RuleStatus::Inconclusive) {
            RuleStatus::Inconclusive
        } else {
            RuleStatus::NotExercised
        }
    }

    /// The number of findings in the baseline.
    pub fn in_baseline(&self) -> u64 {
        self.baselined.as_ref().map_or(0, |known| known.count)
    }

    /// The number of findings with this severity, kept or only counted.
    pub fn count(&self, severity: Severity) -> u64 {
        self.rules.iter().map(|rule| rule.count(severity)).sum()
    }
}
