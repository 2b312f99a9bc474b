//! Tests every rule of the catalogue: its right example exercises it and breaks no rule, its wrong example
//! breaks only this rule. The examples are those of `gamewire explain`, played into a capture and checked by
//! `gamewire check` as a user would.

use crate::support::examples;
use std::fmt::Write;

use crate::support::examples::PRESUMED;
use crate::support::gamewire;
use dissectors::catalogue;
use dissectors::kit::Rule;
use serde_json::Value;

/// Rules that are inconclusive without `--complete`.
const VOUCHED: &[&str] = &["VM028", "VM046", "GS1032", "ACR030", "SEC004"];

/// The key that the examples of ACR033 are made with.
const ACR_KEY: &str = "user=42,key=6c61626b6579";

/// Checks an example; returns the broken rules of error or warning severity, and the verdict on this one.
fn check(rule: &Rule, script: &str, is_right: bool) -> Result<(Vec<String>, String), String> {
    let bytes = examples::play(rule, script, is_right)?;
    let path = std::env::temp_dir().join(format!(
        "gamewire-rules-{}-{}.pcap",
        std::process::id(),
        rule.code
    ));
    std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
    let name = path.to_string_lossy().into_owned();
    let mut args =
        vec!["check", "--format", "json", "--verify-checksums", "--acr-key", ACR_KEY, &name];
    if VOUCHED.contains(&rule.code.to_string().as_str()) {
        args.push("--complete");
    }
    let run = gamewire(&args);
    std::fs::remove_file(&path).ok();
    assert!(run.code < 2, "{}", run.err);
    let object: Value = serde_json::from_str(&run.out).map_err(|error| error.to_string())?;
    let rules = object["rules"].as_array().ok_or("no rules")?;
    let code = rule.code.to_string();
    let broken = rules.iter().filter(|r| r["verdict"] == "fail" && r["severity"] != "note");
    let broken = broken.filter_map(|r| r["code"].as_str().map(str::to_owned)).collect();
    let fared = rules.iter().find(|r| r["code"] == code.as_str()).ok_or("the rule is missing")?;
    Ok((broken, fared["verdict"].as_str().unwrap_or_default().to_owned()))
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
