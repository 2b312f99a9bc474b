//! The examples of rules, played into captures.

use dissectors::kit::{Group, Rule};
use xtask::exchange::{Setting, capture};

use crate::recording;

fn setting(rule: &Rule) -> Setting {
    match rule.code.group() {
        Group::Vm => Setting::udp(27010),
        Group::A2s | Group::Sec | Group::Net => Setting::udp(27015),
        Group::Gs4 => Setting::udp(6500),
        Group::Gs1 => Setting::udp(27900),
        Group::Acr => Setting::tcp(80),
    }
}

/// Plays an example. What lies below an exchange is done to the packets or to the file.
pub(crate) fn play(rule: &Rule, script: &str, is_right: bool) -> Result<Vec<u8>, String> {
    let code = rule.code.to_string();
    if let Some(bytes) = recording::play(&code, is_right) {
        return Ok(bytes);
    }
    if script.trim().is_empty() {
        return Err("has no example".to_owned());
    }
    let capture = capture(script, &setting(rule)).map_err(|error| error.to_string())?;
    Ok(capture.pcap())
}
