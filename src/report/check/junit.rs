//! The outcome as JUnit XML: a suite per capture, a case per rule.
//!
//! JUnit knows no "inconclusive": such a rule, like one that was not exercised, is skipped and says
//! why. A rule broken below the severity that fails is a success with its findings as output.

use std::fmt::Write;

use dissectors::kit::Severity;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::check::{Fared, Outcome, RuleOutcome};

/// Findings of one rule that are written out.
const SHOWN: usize = 20;

/// Appends the outcomes as one document.
///
/// # Errors
/// None that a `Vec` can have.
pub fn write(
    outcomes: &[Outcome],
    least: Severity,
    out: &mut Vec<u8>,
) -> Result<(), SerializeError> {
    let mut report = Report::new("gamewire check");
    for outcome in outcomes {
        let mut suite = TestSuite::new(outcome.captures.join(", "));
        let cases = outcome.rules.iter().map(|fared| case(outcome, fared, least));
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    out.extend_from_slice(report.to_string()?.as_bytes());
    Ok(())
}

fn case(outcome: &Outcome, fared: &RuleOutcome, least: Severity) -> TestCase {
    let rule = fared.rule;
    let fails = fared.fared() == Fared::Fail && rule.severity >= least;
    let status = match fared.fared() {
        Fared::Fail if fails => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let times = if fared.failed == 1 { "time" } else { "times" };
            status.set_type(rule.severity.name());
            status.set_message(format!("broken {} {times}: {}", fared.failed, rule.asks));
            status.set_description(findings(outcome, fared));
            status
        }
        Fared::Fail | Fared::Pass => TestCaseStatus::success(),
        Fared::Inconclusive => skipped(format!(
            "inconclusive: what is missing from the capture could explain each of {} occasions",
            fared.inconclusive
        )),
        Fared::NotExercised => skipped("not exercised".to_owned()),
    };
    let mut case = TestCase::new(format!("{} {}", rule.code, rule.slug), status);
    case.set_classname(format!("gamewire.{}", rule.who.name()));
    case.set_assertions(usize::try_from(fared.passed + fared.failed).unwrap_or(usize::MAX));
    if !fails && fared.fared() == Fared::Fail {
        case.set_system_out(findings(outcome, fared));
    }
    case
}

fn skipped(why: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn findings(outcome: &Outcome, fared: &RuleOutcome) -> String {
    let mut text = String::new();
    let of_rule = outcome.findings.iter().filter(|found| found.rule.code == fared.rule.code);
    for found in of_rule.take(SHOWN) {
        let party = found.party.map_or(String::new(), |party| format!(", {party}"));
        // A `String` takes everything.
        let _ = writeln!(text, "{}{party}: {}", found.place(), found.detail);
    }
    text
}
