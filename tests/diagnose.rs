//! `gamewire diagnose`: what is wrong with each server of the samples, and that nothing is with their twins.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/project.rs"]
mod project;
mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use project::Project;
use serde_json::Value;
use support::{gamewire, samples};
use xtask::exchange::Setting;

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

/// The verdict on the server that a script's capture shows: the first fault, or nothing.
fn of_script(script: &str, setting: &Setting, args: &[&str]) -> Option<String> {
    static SCRIPTS: AtomicUsize = AtomicUsize::new(0);
    let project = Project::new(&format!("diagnose-{}", SCRIPTS.fetch_add(1, Ordering::Relaxed)));
    project.play("capture.pcap", setting, script);
    let file = project.path("capture.pcap");
    let (captures, _) = diagnosed(&[args, &[&*file]].concat());
    let servers = captures[0]["servers"].as_array().unwrap();
    let server =
        servers.iter().find(|server| !server["server"].as_str().unwrap().starts_with("10.0.0.9"));
    let server = server.unwrap();
    Some(format!("{} {}", server["first_no"].as_str()?, server["cause"].as_str()?))
}

#[test]
fn other_faults_of_queries() {
    let a2s = Setting::udp(27015);
    let fault = |script: &str| of_script(script, &a2s, &[]);
    let port = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s:40000 > c  FFFFFFFF 41 4BA1D522\n\
        1.0 c > s  FFFFFFFF 55 4BA1D522\n1.02 s:40000 > c  FFFFFFFF 44 00\nend 9";
    assert_eq!(fault(port).as_deref(), Some("seen.from_asked answers_from_other_port"));
    let again = (0..8).map(|n| {
        let challenge = 1000 + n;
        format!(
            "{n}.0 c > s  FFFFFFFF 55 le32:{}\n{n}.02 s > c  FFFFFFFF 41 le32:{challenge}\n",
            challenge - 1
        )
    });
    let looping = again.collect::<String>().replace("le32:999", "FFFFFFFF") + "end 19";
    assert_eq!(fault(&looping).as_deref(), Some("seen.verified challenge_loop"));
    let firewall = "0.0 c > s  FFFFFFFF 54 'Source Engine Query' 00\n0.01 m > c  icmp=3.13\nend 9";
    assert_eq!(fault(firewall).as_deref(), Some("seen.answered icmp_admin_prohibited"));
    let mended = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.01 s > c  icmp=3.3\n9.0 c > s  FFFFFFFF 55 FFFFFFFF\n\
        9.02 s > c  FFFFFFFF 41 4BA1D522\n9.1 c > s  FFFFFFFF 55 4BA1D522\n9.12 s > c  FFFFFFFF 44 00\nend 20";
    assert_eq!(fault(mended), None, "what is mended is no fault");
}

#[test]
fn other_faults_of_registration() {
    let valve = Setting::udp(27010);
    let fault = |script: &str, args: &[&str]| of_script(script, &valve, args);
    let refused = "0.0 s > m  71\n0.01 m > s  icmp=3.3\nend 9";
    assert_eq!(fault(refused, &[]).as_deref(), Some("reg.challenged icmp_port_unreachable"));
    let ignored = "0.0 s > m  71\n10.0 s > m  71\n20.0 s > m  71\nend 40";
    assert_eq!(fault(ignored, &[]), None, "it may have been answered where nobody recorded");
    assert_eq!(fault(ignored, &["--complete"]).as_deref(), Some("reg.challenged join_unanswered"));
    let text = Setting::udp(7778);
    let query = "0.0 c > s  '\\\\info\\\\'\n0.02 s > c  '\\\\hostname\\\\A\\\\queryid\\\\1.1\\\\final\\\\'\nend 9";
    assert_eq!(of_script(query, &text, &[]), None);
    let never = of_script(query, &text, &["--complete"]);
    assert_eq!(never.as_deref(), Some("reg.join never_joined"));
}
