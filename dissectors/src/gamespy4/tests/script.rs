//! Each rule's own examples: `right` exercises the rule and breaks none, `wrong` breaks it.

use crate::gamespy4::rules::ALL;
use crate::kit::*;
use crate::script::{self, What};

use super::{Outcome, Stage};

/// Plays an exchange.
fn play(script: &str) -> Outcome {
    let server = if script.contains("s:7780") {
        "10.0.0.2:7780"
    } else if script.contains("s:6600") {
        "10.0.0.2:6600"
    } else {
        super::SERVER
    };
    let mut stage = Stage::between(super::CLIENT, server);
    let mut now = 0;
    for step in script::parse(script).unwrap() {
        now = (step.at / 1_000_000) as i64;
        let What::Say(say) = step.what else { continue };
        let side = if say.from.role == Role::Client { Side::First } else { Side::Second };
        let known = stage.lab.frame > 0;
        let hint = Hint { known, ..Hint::default() };
        let claim = crate::gamespy4::GameSpy4::claim(&say.payload, hint);
        assert!(claim == Claim::Sure || known && claim == Claim::Weak, "{script} is claimed");
        stage.says(now, side, &say.payload);
    }
    stage.ends(now)
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
