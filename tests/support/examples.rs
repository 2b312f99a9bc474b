//! The examples of rules, played into captures.

use captures::exchange::{Setting, capture};
use dissectors::kit::Rule;

use super::recording;

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
