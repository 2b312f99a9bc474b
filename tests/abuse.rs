//! `gamewire abuse`: the attacks of the samples, and that there is none in the others.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use serde_json::{Value, json};
use support::{gamewire, samples, small_recorded_captures};

fn attacks(file: &str) -> Vec<Value> {
    let run = gamewire(["abuse", "--format", "json", "--no-config", file]);
    assert_eq!(run.code, 0, "{file}: {}", run.err);
    let capture: Value = serde_json::from_str(&run.out).unwrap();
    capture["attacks"].as_array().unwrap().clone()
}

#[test]
fn what_people_read() {
    for name in ["query-flood", "reflector", "victim", "players"] {
        let run = gamewire(["abuse", "--no-config", &format!("samples/abuse-{name}.pcap")]);
        insta::assert_snapshot!(format!("abuse-{name}"), run.out);
    }
}

#[test]
fn a_flood_is_counted() {
    let [flood] = &attacks("samples/abuse-query-flood.pcap")[..] else { panic!("one attack") };
    assert_eq!(flood["seat"], "flooded_server");
    assert_eq!(flood["targets"], json!(["23.17.34.51:27015"]));
    assert_eq!((&flood["packets"], &flood["bytes"]), (&json!(6000), &json!(6000 * 25)));
    assert_eq!(flood["sources"]["error"], 0.0, "so few are counted exactly");
    assert_eq!((&flood["forged"], &flood["legitimate"]["clients"]), (&json!("yes"), &json!(0)));
    // Independent of it: what `dissect` says of the same capture.
    let run =
        gamewire(["dissect", "--format", "json", "--no-config", "samples/abuse-query-flood.pcap"]);
    let messages = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hosts = messages.filter(|it| it["message"] == "info_request").map(|it| {
        let from: std::net::SocketAddr = it["src"].as_str().unwrap().parse().unwrap();
        from.ip()
    });
    let hosts: std::collections::BTreeSet<_> = hosts.collect();
    assert_eq!(flood["sources"]["count"], json!(hosts.len()));
}

#[test]
fn a_reflector_and_its_victim_are_told_apart() {
    let [reflector] = &attacks("samples/abuse-reflector.pcap")[..] else { panic!("one attack") };
    assert_eq!(reflector["seat"], "reflector");
    assert_eq!(reflector["targets"], json!(["23.17.34.51:27015"]));
    assert_eq!(reflector["amplification"], 4.64);
    let [victim] = &attacks("samples/abuse-victim.pcap")[..] else { panic!("one attack") };
    assert_eq!(victim["seat"], "victim");
    assert_eq!(victim["targets"], json!(["198.51.100.7:80"]));
    assert_eq!((&victim["sources"]["count"], &victim["forged"]), (&json!(30), &json!("no")));
    assert!(victim.get("legitimate").is_none());
}

#[test]
fn other_captures_hold_no_attack() {
    let attacked = ["abuse-query-flood", "abuse-reflector", "abuse-victim"];
    let others = samples().into_iter().chain(small_recorded_captures().unwrap_or_default());
    for file in others {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let found = attacks(file.to_str().unwrap());
        let crashes = found.iter().filter(|attack| attack["seat"] == "crash_attempt").count();
        let is_attacked = found.len() > crashes;
        assert_eq!(is_attacked, attacked.contains(&name), "{name}: {found:?}");
    }
}

#[test]
fn memory_is_bounded_and_what_does_not_fit_is_said() {
    let args = ["abuse", "--no-config", "--limit", "flow-bytes=4096"];
    let run =
        gamewire(args.iter().chain(&["samples/a2s-quirks.pcap", "samples/abuse-victim.pcap"]));
    assert_eq!(run.code, 0, "{}", run.err);
}
