//! The rules' own examples: the right one passes the rule, and the wrong one breaks it and no other
//! rule.

use crate::gamespy1::rules;
use crate::kit::{Role, Rule, Severity, Transport, Verdict};
use crate::script::{self, Party, What};

use super::lab::{Lab, LabSegment, TestRecorder};

/// The ledger checks these rules, because they need more than one pair of hosts.
const ELSEWHERE: [&Rule; 4] = [&rules::GS1006, &rules::GS1027, &rules::GS1032, &rules::GS1033];

/// The fault of a master that is tested with a wrong validate implies that fault of the client; and
/// a client that requests a list without a validate has a wrong first message.
const PRESUMED: [(&Rule, &str); 2] = [(&rules::GS1018, "GS1005"), (&rules::GS1012, "GS1011")];

/// The socket of a party.
fn endpoint(party: Party) -> String {
    let (host, base) = match party.role {
        Role::Client => ("10.0.0.1", 50_000),
        Role::Server => ("10.0.0.2", 27_900),
        _ => ("10.0.0.9", 27_900),
    };
    format!("{host}:{}", party.port.unwrap_or(base))
}

pub(super) fn run(script: &str) -> Lab<TestRecorder> {
    let (mut lab, mut now) = (Lab::new(), 0.0);
    for step in script::parse(script).unwrap() {
        now = step.at as f64 / 1e9;
        let What::Say(say) = step.what else { continue };
        let (from, to) = (endpoint(say.from), endpoint(say.to));
        if say.options.transport != Some(Transport::Tcp) {
            lab.udp(now, &from, &to, &say.payload);
            continue;
        }
        let opener = if say.from.opens_towards(say.to) { &from } else { &to };
        let segment = LabSegment { fin: say.options.fin };
        lab.tcp(now, (&from, &to), opener, &say.payload, segment);
    }
    lab.end(now);
    lab
}

/// Broken rules of error or warning severity.
fn failed(lab: &Lab<TestRecorder>) -> Vec<String> {
    let weighs =
        |f: &&crate::kit::Finding| f.verdict == Verdict::Fail && f.severity != Severity::Note;
    let findings = lab.sink.results.findings.iter().filter(weighs);
    findings.map(|f| format!("{}: {}", f.rule.code, f.detail)).collect()
}

fn presumed(rule: &Rule, failed: &mut Vec<String>) {
    for (_, other) in PRESUMED.iter().filter(|(checked, _)| checked.code == rule.code) {
        failed.retain(|failed| !failed.starts_with(other));
    }
}

#[test]
fn right_examples_keep_their_rule_and_all_others() {
    for rule in rules::ALL {
        let lab = run(rule.right);
        let mut failed = failed(&lab);
        presumed(rule, &mut failed);
        assert_eq!(failed, Vec::<String>::new(), "{rule:?}");
        if ELSEWHERE.iter().any(|other| other.code == rule.code) {
            continue;
        }
        let counts = lab.counts(rule);
        assert!(counts.passed > 0 && counts.failed == 0, "{rule:?}: {counts:?}");
        assert_eq!(counts.inconclusive, 0, "{rule:?}");
    }
}

#[test]
fn wrong_examples_break_their_rule_and_no_other() {
    for rule in rules::ALL {
        let lab = run(rule.wrong);
        let mut failed = failed(&lab);
        presumed(rule, &mut failed);
        if ELSEWHERE.iter().any(|other| other.code == rule.code) {
            assert_eq!(failed, Vec::<String>::new(), "{rule:?}");
            continue;
        }
        let counts = lab.counts(rule);
        assert!(counts.failed > 0, "{rule:?}: {counts:?}, {failed:?}");
        let code = rule.code.to_string();
        assert!(failed.iter().all(|other| other.starts_with(&code)), "{rule:?}: {failed:?}");
    }
}

#[test]
fn the_list_is_sorted_and_complete() {
    let codes: Vec<_> = rules::ALL.iter().map(|rule| rule.code.to_string()).collect();
    let catalogue = (1..=6).chain(10..=19).chain(20..=27).chain(30..=34);
    assert_eq!(codes, catalogue.map(|n| format!("GS1{n:03}")).collect::<Vec<_>>());
}
