//! `gamewire probe`, against what `gamewire serve` plays.
//!
//! The servers listen at a loopback address of their own: no other test is at their neighbouring ports.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gamewire::play::{Faults, Play, Report, Scenario, Server};

use crate::support::project::Project;
use crate::support::{Run, gamewire};

/// How long a server of a test runs at most.
const LONGEST: Duration = Duration::from_secs(120);

/// For servers that answer: this long is only waited on a busy machine.
const PATIENT: &str = "9s";

/// Probes a server that plays a scenario.
fn probe(scenario: &str, faults: &str, options: &[&str]) -> (SocketAddr, Run, Report) {
    let faults = if faults.is_empty() { Faults::default() } else { faults.parse().unwrap() };
    let play = Play {
        scenarios: vec![Scenario::named(scenario).expect("a scenario")],
        listen: "127.77.0.1:0".parse().unwrap(),
        allow_remote: false,
        faults,
        seed: 1,
        record: None,
        once: false,
        duration: Some(LONGEST),
    };
    let server = Server::open(play).unwrap_or_else(|error| panic!("{error}"));
    let address = server.places()[0].address;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = || done.load(Ordering::Relaxed);
        let runs = scope.spawn(move || server.run(&stop).expect("it runs"));
        let host = address.to_string();
        let run = gamewire([&["probe", &host, "--no-config"], options].concat());
        done.store(true, Ordering::Relaxed);
        (address, run, runs.join().expect("no panic"))
    })
}

#[test]
fn a_right_server_is_asked_everything_and_nothing_is_wrong() {
    let project = Project::new("probe");
    let file = project.path("x.pcapng");
    let (address, run, report) =
        probe("a2s", "", &["-v", "--check", "-w", &file, "--timeout", PATIENT]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!((report.requests, report.unknown, report.answers), (5, 0, 5));
    assert!(run.out.starts_with(&format!("{address} (a2s, \"Test\"): ")), "{}", run.out);
    assert!(run.out.contains("\nPASS  "), "{}", run.out);
    assert!(run.err.starts_with(&format!("gamewire: asks {address}: A2S_INFO, 25 bytes\n")));
    assert!(run.err.contains("gamewire: sent 5 requests to 127.77.0.1, got 5 answers\n"));
    assert!(run.err.contains("gamewire: wrote "), "{}", run.err);
    let read = gamewire(["diagnose", "--no-config", "--complete", &file]);
    assert!(run.out.starts_with(&read.out), "the same as of the recording: {}", read.out);
}

#[test]
fn a_silent_server_is_asked_again_and_its_silence_is_the_answer() {
    let options = ["--protocol", "a2s", "--timeout", "200ms"];
    let (address, run, report) = probe("a2s", "silence", &options);
    assert_eq!((report.requests, report.answers), (2, 0));
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.starts_with(&format!("{address} ")), "{}", run.out);
    assert!(run.out.contains("\nNO   responds to clients"), "{}", run.out);
}

#[test]
fn answers_from_another_port_are_seen() {
    let options = ["--timeout", PATIENT, "--format", "json"];
    let (_, run, _) = probe("a2s", "other-port", &options);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.out.contains("\"seen.from_asked\""), "{}", run.out);
    assert!(run.out.contains("127.77.0.1:"), "{}", run.out);
}

#[test]
fn a_server_of_another_protocol_is_found_out() {
    let (address, run, report) = probe("gamespy4", "", &["--timeout", "3s"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!(report.answers, 2);
    assert!(run.out.starts_with(&format!("{address} (gamespy4, \"Test\"): nothing is wrong\n")));
}

#[test]
fn masters_are_asked_for_their_lists() {
    for (scenario, protocol) in [("valve-master", "valve_master"), ("acr-master", "acr_master")] {
        let options = ["--protocol", protocol, "--timeout", PATIENT, "-v"];
        let (_, run, report) = probe(scenario, "", &options);
        assert!(report.answers > 0, "{protocol}: {}{}", run.out, run.err);
        assert_eq!(run.code, 0, "{protocol}: {}{}", run.out, run.err);
    }
}

#[test]
fn other_hosts_are_asked_only_if_that_is_allowed() {
    let project = Project::new("probe-remote");
    let file = project.path("x.pcapng");
    for host in ["192.0.2.1:27015", "[2001:db8::1]:27015", "game.example.net:27015"] {
        let run = gamewire(["probe", host, "-w", &file]);
        assert_eq!((run.code, run.out.as_str()), (2, ""));
        assert!(run.err.contains("--allow-remote"), "{}", run.err);
        assert!(!Path::new(&file).exists());
    }
    for host in ["127.0.0.1", "255.255.255.255:27015", "127.0.0.1:0"] {
        let run = gamewire(["probe", host, "--allow-remote"]);
        assert_eq!(run.code, 2, "{host}: {}", run.err);
    }
}
