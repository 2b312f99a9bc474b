//! The rules' own examples: the right one passes the rule, and the wrong one breaks it and no other
//! rule.

use crate::gamespy1::rules;
use crate::kit::{Rule, Severity, Verdict};

use super::lab::{Lab, LabSegment, TestRecorder};

/// The ledger checks these rules, because they need more than one pair of hosts.
const ELSEWHERE: [&Rule; 3] = [&rules::GS1006, &rules::GS1032, &rules::GS1033];

/// The fault of a master that is tested with a wrong validate implies that fault of the client; and
/// a client that requests a list without a validate has a wrong first message.
const PRESUMED: [(&Rule, &str); 2] = [(&rules::GS1018, "GS1005"), (&rules::GS1012, "GS1011")];

/// The bytes of an example's payload: 'text' with escapes.
fn payload(text: &str) -> Vec<u8> {
    let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap();
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => rest.next().filter(|byte| b"\\'".contains(byte)).unwrap(),
            byte => byte,
        });
    }
    bytes
}

fn endpoint(party: &str, tcp: bool) -> String {
    let (name, port) = party.split_once(':').map_or((party, None), |(n, p)| (n, Some(p)));
    let (host, base) = match name {
        "c" => ("10.0.0.1", "50000"),
        "s" => ("10.0.0.2", "27900"),
        "m" => ("10.0.0.9", "27900"),
        other => panic!("no party: {other}"),
    };
    assert!(!tcp || name == "c" || port.is_some(), "the master's TCP port is another");
    format!("{host}:{}", port.unwrap_or(base))
}

pub(super) fn run(script: &str) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    let mut now = 0.0_f64;
    for line in script.lines() {
        if let Some(time) = line.strip_prefix("end ") {
            now = time.parse().unwrap();
            continue;
        }
        let (head, rest) = line.split_once(" > ").unwrap();
        let (time, from) = head.split_once(' ').unwrap();
        now = time.parse().unwrap();
        let (to, rest) = rest.split_once(' ').unwrap();
        let rest = rest.trim();
        let Some(rest) = rest.strip_prefix("tcp ") else {
            lab.udp(now, &endpoint(from, false), &endpoint(to, false), &payload(rest));
            continue;
        };
        let (text, fin) = match rest.strip_suffix("fin") {
            Some(text) => (text.trim(), true),
            None => (rest, false),
        };
        let bytes = if text.is_empty() { Vec::new() } else { payload(text) };
        let (from, to) = (endpoint(from, true), endpoint(to, true));
        let opener = if from.starts_with("10.0.0.9") { &to } else { &from };
        lab.tcp(now, (&from, &to), opener, &bytes, LabSegment { fin });
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
    let catalogue = (1..=6).chain(10..=19).chain(20..=26).chain(30..=34);
    assert_eq!(codes, catalogue.map(|n| format!("GS1{n:03}")).collect::<Vec<_>>());
}
