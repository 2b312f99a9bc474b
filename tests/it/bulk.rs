//! The captures for measurements have the described content.

use std::collections::BTreeSet;
use std::fs;

use crate::support::gamewire;
use captures::bulk::{self, Input, Size};

/// The messages in this number of packets of an input, as "protocol message".
fn messages(input: Input, packets: u64) -> BTreeSet<String> {
    let mut bytes = Vec::new();
    bulk::write(input, Size::Packets(packets), &mut bytes).expect("memory");
    let name = format!("gamewire-bulk-{}-{}.pcap", input.name(), std::process::id());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, bytes).expect("a folder for a while");
    let run = gamewire(["dissect".into(), "--format=json".into(), file.clone().into_os_string()]);
    fs::remove_file(file).expect("it is there");
    // Some have no supported protocol, which is reported.
    let is_silent = run.err.is_empty() || run.err.contains("none of a supported protocol");
    assert!(run.code == 0 && is_silent, "{input:?}: {}", run.err);
    let message = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line is an object");
        let text = |key: &str| line[key].as_str().unwrap_or("?").to_owned();
        format!("{} {}", text("protocol"), text("message"))
    };
    run.out.lines().map(message).collect()
}

#[track_caller]
fn assert_has(messages: &BTreeSet<String>, expected: &[&str]) {
    let missing: Vec<_> = expected.iter().filter(|name| !messages.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?} are not among {messages:?}");
}

#[test]
fn a2s() {
    let expected = [
        "a2s info_request",
        "a2s info_response",
        "a2s challenge_response",
        "a2s player_request",
        "a2s player_response",
        "a2s rules_request",
        "a2s rules_response",
    ];
    assert_has(&messages(Input::A2s, 2500), &expected);
    assert_has(&messages(Input::Fragments, 1500), &["a2s rules_request", "a2s rules_response"]);
    assert_has(&messages(Input::ManyFlows, 500), &expected[..3]);
}

#[test]
fn all_protocols() {
    let expected = [
        "a2s info_request",
        "gamespy1 heartbeat",
        "gamespy1 query_response",
        "gamespy4 challenge_response",
        "gamespy4 info_request",
        "valve_master join",
        "valve_master reply",
    ];
    assert_has(&messages(Input::Mixed, 4000), &expected);
    let expected = [
        "acr_master client_request",
        "acr_master client_response",
        "gamespy1 list_request",
        "gamespy1 list_response",
        "gamespy1 secure",
    ];
    assert_has(&messages(Input::Tcp, 2000), &expected);
}

#[test]
fn corners_are_tracked_and_never_complete() {
    assert!(messages(Input::OneDatagram, 500).is_empty());
    assert!(messages(Input::HalfOpen, 500).is_empty());
    let expected = ["gamespy1 list_response", "gamespy1 secure"].map(str::to_owned);
    assert_eq!(messages(Input::OneByteSegments, 500), BTreeSet::from(expected));
}
