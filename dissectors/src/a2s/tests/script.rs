//! The rules' own examples: the right one passes the rule, and the wrong one breaks it and no other
//! rule.

use crate::a2s::rules;
use crate::abuse_rules;
use crate::kit::{Rule, Severity, Verdict};

use super::lab::Lab;

/// The bytes of an example's payload.
pub(super) fn payload(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (mut token, length) = token(rest);
        rest = &rest[length..];
        if let Some(count) = rest.strip_prefix('*') {
            let digits = count.find(|c: char| !c.is_ascii_digit()).unwrap_or(count.len());
            token = token.repeat(count[..digits].parse().unwrap());
            rest = &count[digits..];
        }
        bytes.extend(token);
        rest = rest.trim_start();
    }
    bytes
}

fn token(text: &str) -> (Vec<u8>, usize) {
    if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.find('\'').unwrap();
        return (quoted.as_bytes()[..end].to_vec(), end + 2);
    }
    let end = text.find([' ', '*']).unwrap_or(text.len());
    let word = &text[..end];
    let bytes = match word.split_once(':') {
        Some(("le16", n)) => n.parse::<u16>().unwrap().to_le_bytes().to_vec(),
        Some(("le32", n)) => n.parse::<u32>().unwrap().to_le_bytes().to_vec(),
        Some(("le64", n)) => n.parse::<u64>().unwrap().to_le_bytes().to_vec(),
        Some(("f32", x)) => x.parse::<f32>().unwrap().to_le_bytes().to_vec(),
        Some(other) => panic!("no token: {other:?}"),
        None => {
            let pairs = (0..word.len()).step_by(2);
            pairs.map(|at| u8::from_str_radix(&word[at..at + 2], 16).unwrap()).collect()
        }
    };
    (bytes, end)
}

fn endpoint(party: &str) -> String {
    let (name, port) = party.split_once(':').map_or((party, None), |(n, p)| (n, Some(p)));
    let digit: u16 = name.get(1..).filter(|d| !d.is_empty()).map_or(0, |d| d.parse().unwrap());
    let (host, base) = match &name[..1] {
        "c" => ("10.0.0.1", 50000),
        "d" => ("10.0.1.1", 50000),
        "s" => ("10.0.0.2", 27015),
        other => panic!("no party: {other}"),
    };
    port.map_or_else(|| format!("{host}:{}", base + digit), |port| format!("{host}:{port}"))
}

fn run(script: &str) -> Lab<super::lab::TestRecorder> {
    let mut lab = Lab::new();
    let (mut now, mut end) = (0.0, 0.0_f64);
    for line in script.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(time) = line.strip_prefix("end ") {
            end = time.parse().unwrap();
            continue;
        }
        let mut words = line.splitn(5, char::is_whitespace);
        let time = words.next().unwrap();
        now = match time.strip_prefix('+') {
            Some(more) => now + more.parse::<f64>().unwrap(),
            None => time.parse().unwrap(),
        };
        let from = endpoint(words.next().unwrap());
        assert_eq!(words.next(), Some(">"), "{line}");
        let to = endpoint(words.next().unwrap());
        lab.packet(now, &from, &to, &payload(words.next().unwrap()), false);
    }
    lab.end(end.max(now));
    lab
}

/// Codes of what fails at error or warning severity.
fn failed(lab: &Lab<super::lab::TestRecorder>) -> Vec<String> {
    let weighs =
        |f: &&crate::kit::Finding| f.verdict == Verdict::Fail && f.severity != Severity::Note;
    lab.sink
        .results
        .findings
        .iter()
        .filter(weighs)
        .map(|f| format!("{}: {}", f.rule.code, f.detail))
        .collect()
}

/// The rules, without those that the ledger checks because they need more than one pair of hosts.
fn all() -> impl Iterator<Item = &'static Rule> {
    rules::ALL.iter().chain(abuse_rules::ALL).copied()
}

#[test]
fn right_examples_keep_their_rule_and_all_others() {
    for rule in all() {
        let lab = run(rule.right);
        assert_eq!(failed(&lab), Vec::<String>::new(), "{rule:?}");
        if abuse_rules::ALL.iter().any(|other| other.code == rule.code) {
            continue;
        }
        let counts = lab.counts(rule);
        assert!(counts.passed > 0 && counts.failed == 0, "{rule:?}: {counts:?}");
        assert_eq!(counts.inconclusive, 0, "{rule:?}");
    }
}

#[test]
fn wrong_examples_break_their_rule_and_no_other() {
    for rule in all() {
        let (lab, failed) = (run(rule.wrong), failed(&run(rule.wrong)));
        if abuse_rules::ALL.iter().any(|other| other.code == rule.code) {
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
    let codes: Vec<_> = all().map(|rule| rule.code.to_string()).collect();
    let catalogue = (1..=8).chain(10..=27).chain(30..=34).chain(40..=48);
    let catalogue = catalogue.chain(50..=55).chain(60..=67).map(|n| format!("A2S{n:03}"));
    let catalogue: Vec<_> = catalogue.chain((1..=6).map(|n| format!("SEC{n:03}"))).collect();
    assert_eq!(codes, catalogue);
}

/// A script in which the messages of some parties are repeated.
fn twice(script: &str, who: &str) -> String {
    let lines = script.lines().flat_map(|line| {
        let speaker = line.split_whitespace().nth(1).unwrap_or_default();
        let is_said_twice = speaker.starts_with(|first| who.contains(first));
        std::iter::repeat_n(line, if is_said_twice { 2 } else { 1 })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Clients may repeat a request before a response comes; servers may respond once or each time.
#[test]
fn requests_that_are_repeated_give_nothing_to_find() {
    for rule in all() {
        for who in ["cd", "cds"] {
            let lab = run(&twice(rule.right, who));
            assert_eq!(failed(&lab), Vec::<String>::new(), "{rule:?}, {who}");
        }
    }
}
