//! Tests every rule of the catalogue: its right example exercises it and breaks no rule, its wrong example
//! breaks only this rule. The examples are those of `gamewire explain`, played into a capture and checked by
//! `gamewire check` as a user would.

use crate::support::examples;
use std::fmt::Write;

use crate::support::examples::PRESUMED;
use dissectors::catalogue;
use dissectors::kit::Rule;

/// Checks an example; returns the broken rules of error or warning severity, and the verdict on this one.
fn check(rule: &Rule, script: &str, is_right: bool) -> Result<(Vec<String>, String), String> {
    let bytes = examples::play(rule, script, is_right)?;
    let path = std::env::temp_dir().join(format!(
        "gamewire-rules-{}-{}.pcap",
        std::process::id(),
        rule.code
    ));
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let judged = examples::judge(&path, Some(rule), &[]);
    std::fs::remove_file(&path).ok();
    let (broken, fared) = judged?;
    Ok((broken, fared.ok_or("the rule is missing")?))
}

#[test]
fn every_rule_agrees_with_its_examples() {
    let mut wrong = String::new();
    for rule in catalogue::rules() {
        let code = rule.code.to_string();
        let mut complain = |what: &str| {
            let _ = writeln!(wrong, "{code} {}: {what}", rule.slug);
        };
        let presumed = |broken: &String| {
            PRESUMED.iter().any(|(of, other)| *of == code && other == broken) && *broken != code
        };
        if rule.examples().contains(&("Right", Err("")))
            || rule.examples().contains(&("Wrong", Err("")))
        {
            complain("an example is missing, and no word says why");
        }
        match check(rule, rule.right, true) {
            Ok((mut broken, fared)) => {
                broken.retain(|broken| !presumed(broken));
                if fared != "pass" || !broken.is_empty() {
                    complain(&format!("right: {fared}, broken {broken:?}"));
                }
            }
            Err(error) => complain(&format!("right: {error}")),
        }
        match check(rule, rule.wrong, false) {
            Ok((mut broken, fared)) => {
                broken.retain(|broken| !presumed(broken) && *broken != code);
                if fared != "fail" || !broken.is_empty() {
                    complain(&format!("wrong: {fared}, also broken {broken:?}"));
                }
            }
            Err(error) => complain(&format!("wrong: {error}")),
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}
