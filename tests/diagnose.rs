//! `gamewire diagnose`: what is wrong with each server of the samples, and that nothing is with their twins.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::{gamewire, samples};

/// What a run says as JSON, one value a capture, and its exit code.
fn diagnosed(args: &[&str]) -> (Vec<Value>, u8) {
    let run = gamewire(["diagnose", "--format", "json", "--no-config"].iter().chain(args));
    assert!(run.code < 2, "{args:?}: {}", run.err);
    (run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run.code)
}

/// The first item of each server that is not so, and why.
fn faults(file: &str) -> BTreeMap<String, String> {
    let (captures, code) = diagnosed(&[file]);
    let servers = captures[0]["servers"].as_array().unwrap();
    assert_eq!(code == 1, servers.iter().any(|server| server["verdict"] == "fault"), "{file}");
    let fault = |server: &Value| {
        let (item, cause) = (server["first_no"].as_str()?, server["cause"].as_str()?);
        Some((server["server"].as_str()?.to_owned(), format!("{item} {cause}")))
    };
    servers.iter().filter_map(fault).collect()
}

fn text(args: &[&str]) -> String {
    gamewire(["diagnose", "--no-config"].iter().chain(args)).out
}

#[test]
fn each_fault_is_named() {
    let expected = [
        (
            "registration",
            &[
                ("10.0.0.2:27015", "reg.challenged join_unanswered"),
                ("10.0.0.2:27016", "reg.info info_keys_missing"),
                ("10.0.1.2:27015", "reg.echo challenge_unanswered"),
                ("10.0.1.2:27016", "reg.stays quit_sent"),
                ("10.0.2.2:27015", "reg.echo challenge_byteswapped"),
                ("10.0.2.2:27016", "list.listed not_in_list"),
            ][..],
        ),
        (
            "text-master",
            &[
                ("10.0.0.2:7778", "reg.echo validate_wrong"),
                ("10.0.1.2:7778", "reg.echo secure_unanswered"),
                ("10.0.2.2:7778", "reg.heartbeats heartbeat_rare"),
            ],
        ),
        (
            "acr",
            &[
                ("10.0.0.2:28770", "reg.accepted registration_refused"),
                ("10.0.1.2:28770", "reg.probe_back probe_unanswered"),
                ("10.0.2.2:28770", "list.address listed_other_port"),
            ],
        ),
        (
            "queries",
            &[
                ("10.0.0.2:27015", "seen.answered icmp_port_unreachable"),
                ("10.0.0.2:27016", "seen.verified challenged_request_unanswered"),
                ("10.0.1.2:27015", "seen.from_asked answers_from_other_address"),
                ("10.0.1.2:27016", "seen.whole split_part_missing"),
                ("10.0.2.2:27015", "seen.answered only_info_answered"),
                ("10.0.2.2:27016", "seen.in_time answered_late"),
            ],
        ),
    ];
    for (name, servers) in expected {
        let expected: BTreeMap<_, _> =
            servers.iter().map(|(server, fault)| (server.to_string(), fault.to_string())).collect();
        assert_eq!(faults(&format!("samples/diagnose-{name}-faults.pcap")), expected);
    }
}

#[test]
fn nothing_is_wrong_with_their_twins() {
    for name in ["registration", "text-master", "acr", "queries"] {
        let file = format!("samples/diagnose-{name}.pcap");
        let (captures, code) = diagnosed(&[&file]);
        assert_eq!(code, 0, "{name}");
        let servers = captures[0]["servers"].as_array().unwrap();
        assert!(servers.len() >= 3, "{name}");
        for server in servers {
            assert_eq!(server["verdict"], "ok", "{server}");
            for item in server["items"].as_array().unwrap() {
                assert_eq!(item["verdict"], "yes", "{item}");
                assert!(!item["frames"].as_array().unwrap().is_empty(), "{item}");
            }
        }
    }
}

#[test]
fn what_people_read() {
    let faults = "samples/diagnose-queries-faults.pcap";
    insta::assert_snapshot!("diagnose-lines", text(&[faults]));
    insta::assert_snapshot!("diagnose-one", text(&["--server", "10.0.1.2:27015", faults]));
    let markdown = text(&["--format", "markdown", "--server", "10.0.1.2:27016", faults]);
    insta::assert_snapshot!("diagnose-markdown", markdown);
    let registration = "samples/diagnose-registration-faults.pcap";
    insta::assert_snapshot!(
        "diagnose-registration",
        text(&["--server", "10.0.2.2:27015", registration])
    );
}

#[test]
fn every_sample_is_diagnosed_the_same_as_one_of_several() {
    for sample in samples() {
        let file = sample.to_str().unwrap();
        let (alone, _) = diagnosed(&[file]);
        let (twice, _) = diagnosed(&[file, file]);
        assert_eq!(twice.len(), 2, "{file}");
        assert_eq!(alone[0]["servers"], twice[1]["servers"], "{file}");
        // The first item that is not so is the first one with that verdict.
        for server in alone[0]["servers"].as_array().unwrap() {
            let items = server["items"].as_array().unwrap();
            let first = items.iter().find(|item| item["verdict"] == "no");
            assert_eq!(first.map(|item| &item["item"]), server.get("first_no"), "{file}");
            for item in items {
                assert_eq!(item["verdict"] == "yes", item.get("cause").is_none(), "{item}");
            }
        }
    }
}

#[test]
fn a_server_of_which_the_capture_has_nothing() {
    let file = "samples/diagnose-queries.pcap";
    let (captures, code) = diagnosed(&["--server", "203.0.113.5:27015", file]);
    let server = &captures[0]["servers"][0];
    assert_eq!((server["verdict"].as_str(), code), (Some("unknown"), 0));
    assert_eq!(server["server"], "203.0.113.5:27015");
    let causes = server["items"].as_array().unwrap().iter().map(|item| item["cause"].as_str());
    assert!(causes.into_iter().all(|cause| cause == Some("not_in_capture")), "{server}");
    let run = gamewire(["diagnose", "--server", "example.net", file]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("203.0.113.5:27015"), "{}", run.err);
}

#[test]
fn silence_is_a_fault_where_the_capture_is_complete() {
    let file = "samples/silence-unanswered.pcap";
    let of = |args: &[&str]| {
        let (captures, _) = diagnosed(args);
        let servers = captures[0]["servers"].as_array().unwrap().clone();
        let verdict =
            |it: &Value| (it["server"].as_str().unwrap().to_owned(), it["verdict"].clone());
        servers.iter().map(verdict).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(of(&[file])["10.0.1.2:27015"], "unknown");
    assert_eq!(of(&["--complete", file])["10.0.1.2:27015"], "fault");
}

#[test]
fn check_points_to_it_where_it_has_something_to_say() {
    let last = |args: &[&str]| {
        let run = gamewire(["check", "--no-config"].iter().chain(args));
        run.out.lines().last().unwrap_or_default().to_owned()
    };
    let file = "samples/silence-icmp.pcap";
    assert!(last(&[file]).ends_with("gamewire diagnose samples/silence-icmp.pcap"));
    assert!(last(&[file, file]).ends_with("gamewire diagnose FILE..."));
    for args in [&["-q", file][..], &["samples/a2s-info-players-rules.pcap"]] {
        assert!(!last(args).contains("diagnose"), "{args:?}");
    }
}
