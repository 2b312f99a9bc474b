//! The examples of rules, played into captures, and what `check` says of captures of examples.

use captures::exchange::{Setting, capture};
use dissectors::kit::Rule;

use std::path::Path;

use serde_json::Value;

use super::{gamewire, recording};

/// Rules about reactions to another party's fault: the examples of the first rule break the second.
pub(crate) const PRESUMED: &[(&str, &str)] = &[
    ("VM017", "VM022"),
    ("VM043", "VM040"),
    ("GS4010", "GS4007"),
    ("GS1012", "GS1011"),
    ("GS1018", "GS1005"),
    ("SEC004", "A2S022"),
    ("SEC004", "A2S024"),
    ("SEC005", "A2S061"),
    ("NET012", "NET014"),
    ("NET012", "A2S062"),
    ("NET014", "A2S062"),
];

/// Plays an example. Examples of layers below an exchange modify the packets or the file.
pub(crate) fn play(rule: &Rule, script: &str, is_right: bool) -> Result<Vec<u8>, String> {
    let code = rule.code.to_string();
    if let Some(bytes) = recording::play(&code, is_right) {
        return Ok(bytes);
    }
    if script.trim().is_empty() {
        return Err("has no example".to_owned());
    }
    let capture = capture(script, &Setting::of_rule(&code)).map_err(|error| error.to_string())?;
    Ok(capture.pcap())
}

/// Rules that are inconclusive without `--complete`.
const COMPLETE: &[&str] = &["VM028", "VM046", "GS1032", "ACR030", "SEC004"];

/// The key that the examples of ACR033 are made with.
const ACR_KEY: &str = "user=42,key=6c61626b6579";

/// Checks a capture of a rule's example; returns the broken rules of error or warning severity, and the verdict on
/// this rule.
pub(crate) fn judge(
    file: &Path,
    rule: Option<&Rule>,
    more: &[&str],
) -> Result<(Vec<String>, Option<String>), String> {
    let (name, code) = (file.to_string_lossy(), rule.map(|rule| rule.code.to_string()));
    let mut args = vec!["check", "--format", "json", "--verify-checksums", "--acr-key", ACR_KEY];
    args.extend(more);
    args.push(&name);
    if code.as_ref().is_some_and(|code| COMPLETE.contains(&&**code)) {
        args.push("--complete");
    }
    let run = gamewire(&args);
    assert!(run.code < 2, "{}", run.err);
    let object: Value = serde_json::from_str(&run.out).map_err(|error| error.to_string())?;
    let rules = object["rules"].as_array().ok_or("no rules")?;
    let broken = rules.iter().filter(|r| r["verdict"] == "fail" && r["severity"] != "note");
    let broken = broken.filter_map(|r| r["code"].as_str().map(str::to_owned)).collect();
    let fared = code.and_then(|code| rules.iter().find(|r| r["code"] == *code));
    Ok((broken, fared.and_then(|r| r["verdict"].as_str()).map(str::to_owned)))
}
