//! Conforming traffic has no findings, regardless of the number of simultaneous conversations and the path of
//! their packets. Nor has an incomplete capture of it: missing packets are not a fault of any host.
//!
//! The conversations are the right examples of all rules, and those of the samples.

use crate::support::examples::PRESUMED;
use crate::support::gamewire;
use captures::exchange::Setting;
use captures::samples;
use captures::traffic::{Conversation, Traffic};
use captures::wire::Prng;
use dissectors::catalogue;
use serde_json::Value;

/// How often each conversation is played, each time on another path.
const TIMES: usize = 3;

/// Captures of each kind.
const SEEDS: u64 = 6;

fn conversations() -> Vec<Conversation> {
    let presumes = |code: &str| PRESUMED.iter().any(|(rule, _)| *rule == code);
    let rules = catalogue::rules().into_iter().filter(|rule| !rule.right.trim().is_empty());
    // The example of a reaction to a fault contains that fault.
    let rules = rules.filter(|rule| !presumes(&rule.code.to_string()));
    let examples = rules.map(|rule| Conversation {
        name: format!("the right example of {}", rule.code),
        script: rule.right.to_owned(),
        setting: Setting::of_rule(&rule.code.to_string()),
    });
    examples.chain(samples::conversations()).collect()
}

fn traffic(seed: u64) -> Traffic {
    let all = conversations();
    let held: Vec<_> = std::iter::repeat_n(all, TIMES).flatten().collect();
    Traffic::interleaved(&held, seed).expect("good scripts")
}

/// The broken rules of error or warning severity with their conversations, and the number of messages.
fn checked(traffic: &Traffic, bytes: &[u8]) -> (Vec<String>, u64) {
    let thread = std::thread::current();
    let name = format!("gamewire-conforming-{}-{:?}.pcapng", std::process::id(), thread.id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    let run = gamewire(["check", "--format", "json", &path.to_string_lossy()]);
    std::fs::remove_file(&path).ok();
    assert!(run.code < 2, "{}", run.err);
    let outcome: Value = serde_json::from_str(&run.out).expect("JSON");
    let list = |key: &str| outcome[key].as_array().expect("a list").clone();
    let fails = |it: &&Value| it["verdict"] == "fail" && it["severity"] != "note";
    let rules = list("rules");
    let rules = rules.iter().filter(fails).map(|rule| format!("{} is broken", rule["code"]));
    let findings = list("findings");
    let findings = findings.iter().filter(fails).map(|finding| {
        let frame = finding["frames"][0].as_u64().unwrap_or_default();
        let (rule, party) = (&finding["rule"], &finding["party"]);
        let held = traffic.conversation(frame);
        format!("{rule} {party} packet {frame}, {held}: {}", finding["message"])
    });
    (rules.chain(findings).collect(), outcome["messages"].as_u64().expect("a number"))
}

#[test]
fn hundreds_of_simultaneous_conversations_have_no_findings() {
    for seed in 1..=SEEDS {
        let traffic = traffic(seed);
        let (broken, messages) = checked(&traffic, &traffic.pcapng());
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
        let conversations = (conversations().len() * TIMES) as u64;
        assert!(messages > 2 * conversations, "{messages} messages of {conversations}");
    }
}

/// Removes a part of a capture, and checks the rest.
fn nothing_is_proven(what: &str, cut: impl Fn(&mut Traffic, &mut Prng) -> Option<usize>) {
    for seed in 1..=SEEDS {
        let mut traffic = traffic(100 + seed);
        let mut prng = Prng::new(seed);
        let length = cut(&mut traffic, &mut prng);
        let mut bytes = traffic.pcapng();
        bytes.truncate(length.unwrap_or(usize::MAX));
        let (broken, _) = checked(&traffic, &bytes);
        assert!(broken.is_empty(), "{what}, seed {seed}: {broken:#?}");
    }
}

/// The index of a random packet.
fn some(traffic: &Traffic, prng: &mut Prng) -> usize {
    prng.below(traffic.len() as u64) as usize
}

#[test]
fn a_late_start_proves_nothing() {
    nothing_is_proven("late start", |traffic, prng| {
        let first = some(traffic, prng);
        traffic.begin_late(first);
        None
    });
}

#[test]
fn an_early_end_proves_nothing() {
    nothing_is_proven("early end", |traffic, prng| {
        let after = some(traffic, prng);
        traffic.end_early(after);
        None
    });
}

#[test]
fn one_direction_proves_nothing() {
    nothing_is_proven("one direction", |traffic, prng| {
        traffic.one_way(prng);
        None
    });
}

#[test]
fn snapped_packets_prove_nothing() {
    nothing_is_proven("snapped packets", |traffic, prng| {
        traffic.snap(prng);
        None
    });
}

#[test]
fn missing_fragments_prove_nothing() {
    nothing_is_proven("missing fragments", |traffic, prng| {
        traffic.lose_fragments(prng);
        None
    });
}

#[test]
fn missing_segments_prove_nothing() {
    nothing_is_proven("missing segments", |traffic, prng| {
        traffic.lose_segments(prng);
        None
    });
}

#[test]
fn packets_that_the_recorder_dropped_prove_nothing() {
    nothing_is_proven("dropped packets", |traffic, prng| {
        traffic.drop_packets(prng);
        None
    });
}

#[test]
fn a_truncated_file_proves_nothing() {
    nothing_is_proven("cut file", |traffic, prng| {
        Some(100 + prng.below(traffic.pcapng().len() as u64) as usize)
    });
}

#[test]
fn everything_at_once_proves_nothing() {
    nothing_is_proven("everything", |traffic, prng| {
        traffic.lose_fragments(prng);
        traffic.lose_segments(prng);
        traffic.one_way(prng);
        traffic.snap(prng);
        let first = some(traffic, prng) / 2;
        traffic.begin_late(first);
        None
    });
}
