//! The outcome as one JSON object.

use dissectors::kit::Severity;
use serde::Serialize;

use super::Unreadable;
use crate::check::{Outcome, ReportedFinding, RuleStatus};
use crate::report::clock::rfc3339;
use crate::report::json;

#[derive(Serialize)]
struct CheckJson<'a> {
    captures: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<&'a str>,
    packets: u64,
    messages: u64,
    flows: u64,
    /// Exchanges, and those of them that were answered.
    requests: u64,
    answered: u64,
    verdict: &'static str,
    rules: Vec<RuleObject>,
    findings: Vec<FindingObject<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    findings_left_out: u64,
    /// Captures without any of the selected traffic.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    no_traffic: Vec<NoTraffic<'a>>,
    /// Captures of which nothing, or not all, could be read; the verdict is then that of a failure.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unreadable: &'a [Unreadable],
    #[serde(skip_serializing_if = "is_zero")]
    in_baseline: u64,
}

#[derive(Serialize)]
struct NoTraffic<'a> {
    capture: &'a str,
    /// What it contains instead.
    holds: &'a str,
}

#[derive(Serialize)]
struct RuleObject {
    code: String,
    slug: &'static str,
    severity: &'static str,
    who: &'static str,
    verdict: &'static str,
    passed: u64,
    failed: u64,
    inconclusive: u64,
    #[serde(skip_serializing_if = "is_zero")]
    in_baseline: u64,
    /// Captures in which it was required and not exercised.
    #[serde(skip_serializing_if = "is_zero")]
    missing: u64,
}

#[derive(Serialize)]
struct FindingObject<'a> {
    rule: String,
    slug: &'static str,
    severity: &'static str,
    verdict: &'static str,
    who: &'static str,
    party: Option<String>,
    flow: u32,
    frames: &'a [u64],
    #[serde(skip_serializing_if = "is_zero")]
    frames_left_out: u64,
    time: String,
    message: &'a str,
    protocol: Option<&'static str>,
    /// The name of the message that the finding is about, if it is the current one.
    about: Option<&'static str>,
    capture: &'a str,
    offset: u32,
    length: u32,
}

/// Appends the outcome. `least`: the minimum severity that fails the capture; `config`: the
/// configuration file that was read.
///
/// # Errors
/// None for a `Vec`.
pub fn write(
    outcome: &Outcome,
    unreadable: &[Unreadable],
    least: Severity,
    config: Option<&str>,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let rules = outcome.rules.iter().map(|rule_outcome| RuleObject {
        code: rule_outcome.rule.code.to_string(),
        slug: rule_outcome.rule.slug,
        severity: rule_outcome.severity.name(),
        who: rule_outcome.rule.who.name(),
        verdict: rule_outcome.status().name(),
        passed: rule_outcome.counts.passed,
        failed: rule_outcome.counts.failed,
        inconclusive: rule_outcome.counts.inconclusive,
        in_baseline: rule_outcome.in_baseline,
        missing: rule_outcome.missing,
    });
    let lacking = outcome.lacking.iter().map(|(capture, holds)| NoTraffic { capture, holds });
    let object = CheckJson {
        captures: &outcome.captures,
        config,
        packets: outcome.packets,
        messages: outcome.messages,
        flows: outcome.flows,
        requests: outcome.requests.asked,
        answered: outcome.requests.answered,
        verdict: match unreadable {
            [] => outcome.status(least).name(),
            _ => RuleStatus::Fail.name(),
        },
        rules: rules.collect(),
        findings: outcome.findings.iter().map(|f| finding(f, outcome)).collect(),
        findings_left_out: outcome.left_out,
        no_traffic: lacking.collect(),
        unreadable,
        in_baseline: outcome.in_baseline(),
    };
    json::line(&object, out)
}

fn finding<'a>(found: &'a ReportedFinding, outcome: &'a Outcome) -> FindingObject<'a> {
    FindingObject {
        rule: found.rule.code.to_string(),
        slug: found.rule.slug,
        severity: found.severity.name(),
        verdict: found.verdict.name(),
        who: found.who.name(),
        party: found.named_party(),
        flow: found.flow,
        frames: &found.frames,
        frames_left_out: found.frames_left_out.into(),
        time: rfc3339(found.time, found.digits),
        message: &found.detail,
        protocol: Some(found.protocol).filter(|name| !name.is_empty()),
        about: Some(found.message).filter(|name| !name.is_empty()),
        capture: outcome.file(found),
        offset: found.offset,
        length: found.length,
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}
