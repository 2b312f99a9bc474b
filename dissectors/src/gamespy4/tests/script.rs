//! Each rule's own examples: `right` exercises the rule and breaks none, `wrong` breaks it.

use crate::gamespy4::rules::ALL;
use crate::kit::*;

use super::{Outcome, Stage};

/// Plays an exchange, a step per line: `TIME FROM > TO PAYLOAD`, or `end TIME`.
fn play(script: &str) -> Outcome {
    let server = if script.contains("s:7780") {
        "10.0.0.2:7780"
    } else if script.contains("s:6600") {
        "10.0.0.2:6600"
    } else {
        super::SERVER
    };
    let mut stage = Stage::between(super::CLIENT, server);
    let mut end = 0;
    for line in script.lines() {
        let mut words = line.splitn(5, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (time, from) = (word(), word());
        if time == "end" {
            end = milliseconds(from);
            continue;
        }
        let (_, _, payload) = (word(), word(), word());
        let side = if from == "c" { Side::First } else { Side::Second };
        let bytes = bytes(payload.trim());
        let known = stage.lab.frame > 0;
        let claim = crate::gamespy4::GameSpy4::claim(&bytes, Hint { known, ..Hint::default() });
        assert!(claim == Claim::Sure || known && claim == Claim::Weak, "{payload} is claimed");
        stage.says(milliseconds(time), side, &bytes);
    }
    stage.ends(end)
}

fn milliseconds(seconds: &str) -> i64 {
    (seconds.parse::<f64>().unwrap() * 1000.0).round() as i64
}

fn bytes(payload: &str) -> Vec<u8> {
    let mut all = Vec::new();
    let mut rest = payload;
    while let Some(first) = rest.chars().next() {
        match first {
            ' ' => rest = &rest[1..],
            '#' => break,
            '\'' => {
                let end = rest[1..].find('\'').unwrap() + 1;
                all.extend(rest[1..end].replace("\\0", "\0").bytes());
                rest = &rest[end + 1..];
            }
            _ => {
                all.push(u8::from_str_radix(&rest[..2], 16).unwrap());
                rest = &rest[2..];
            }
        }
    }
    all
}

#[test]
fn right_keeps_the_rule_and_every_other() {
    for rule in ALL {
        let outcome = play(rule.right);
        assert!(outcome.results.counts(rule).passed > 0, "{rule:?} is exercised");
        assert_eq!(outcome.results.counts(rule).failed, 0, "{rule:?}");
        assert!(outcome.failed().is_empty(), "{rule:?}: {:?}", outcome.results.findings);
    }
}

#[test]
fn wrong_breaks_the_rule_alone() {
    // The ledger checks rules that need several flows.
    for rule in ALL.iter().filter(|rule| rule.slug != "answer-from-asked") {
        let outcome = play(rule.wrong);
        assert_eq!(
            outcome.results.counts(rule).failed,
            1,
            "{rule:?}: {:?}",
            outcome.results.findings
        );
        let mut failed = outcome.failed();
        // If a server answers a wrong challenge, a client must have sent it.
        failed.retain(|code| rule.slug != "challenge-verified" || code != "GS4007");
        let own =
            if rule.severity == Severity::Note { vec![] } else { vec![rule.code.to_string()] };
        assert_eq!(failed, own, "{:?}", outcome.results.findings);
    }
}

#[test]
fn the_list_is_sorted_and_has_no_rule_twice() {
    assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
}
