//! The rules' own examples: the right one passes the rule, and the wrong one breaks it and no other
//! rule.

use crate::a2s::rules;
use crate::abuse_rules;
use crate::kit::{Role, Rule, Severity, Verdict};
use crate::script::{self, Party, What};

use super::lab::Lab;

/// The socket of a party.
fn endpoint(party: Party) -> String {
    let (host, base) = match (party.role, party.host) {
        (Role::Client, 0) => ("10.0.0.1", 50_000),
        (Role::Client, _) => ("10.0.1.1", 50_000),
        _ => ("10.0.0.2", 27_015),
    };
    format!("{host}:{}", party.port.unwrap_or(base + u16::from(party.digit)))
}

fn run(script: &str) -> Lab<super::lab::TestRecorder> {
    let (mut lab, mut now) = (Lab::new(), 0.0);
    for step in script::parse(script).unwrap() {
        now = step.at as f64 / 1e9;
        if let What::Say(say) = step.what {
            lab.packet(now, &endpoint(say.from), &endpoint(say.to), &say.payload, false);
        }
    }
    lab.end(now);
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
    let catalogue: Vec<_> = catalogue.chain((1..=7).map(|n| format!("SEC{n:03}"))).collect();
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
