//! `gamewire probe`, against what `gamewire serve` plays.
//!
//! The servers listen at a loopback address of their own: no other test is at their neighbouring ports.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gamewire::play::{Faults, Play, Report, Scenario, Server};

use serde_json::Value;

use crate::serve::each;
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
    assert_eq!((report.requests, report.answers), (4, 0), "info twice, players, rules");
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
    for (scenario, protocol, list) in [
        ("valve-master", "valve_master", "3 servers in 2 packets"),
        ("acr-master", "acr_master", "1 server in 1 packet"),
        ("gamespy1-master", "gamespy1_master", "2 servers in 1 packet"),
    ] {
        let options = ["--protocol", protocol, "--timeout", PATIENT, "-v"];
        let (address, run, report) = probe(scenario, "", &options);
        let said = format!("{protocol}: {}{}", run.out, run.err);
        assert!(report.answers > 0 && report.unknown == 0, "{said}");
        assert_eq!(run.code, 0, "{said}");
        assert!(run.out.starts_with(&format!("master {address} (")), "{said}");
        assert!(run.out.contains(": nothing is wrong\n") && run.out.contains(list), "{said}");
        assert!(run.out.contains("\nPASS  "), "{said}");
        let [markdown, _] = ["markdown", "json"].map(|format| {
            let options = ["--protocol", protocol, "--timeout", PATIENT, "--format", format];
            let (_, run, _) = probe(scenario, "", &options);
            assert!(run.code == 0 && run.out.contains(list), "{}", run.out);
            run.out
        });
        assert!(markdown.starts_with("**master 127.77.0.1:"), "{markdown}");
    }
}

/// A master whose list never ends.
#[test]
fn a_list_is_followed_for_twenty_requests() {
    let master = UdpSocket::bind("127.77.0.1:0").expect("a free port");
    let address = master.local_addr().expect("an address").to_string();
    master.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut buffer, mut page) = ([0; 256], 0);
            while !done.load(Ordering::Relaxed) {
                let Ok((_, client)) = master.recv_from(&mut buffer) else { continue };
                page += 1;
                let list = [&b"\xFF\xFF\xFF\xFFf\n\x0A\x01\0"[..], &[page, 0x69, 0x87]].concat();
                master.send_to(&list, client).expect("it is sent");
            }
        });
        let options = ["--protocol", "valve_master", "--timeout", PATIENT, "--no-config"];
        let run = gamewire([&["probe", &address][..], &options].concat());
        done.store(true, Ordering::Relaxed);
        assert!(run.err.contains("gamewire: sent 20 requests to "), "{}", run.err);
        let note = "gamewire: note: there is more to ask; a probe ends after 20 requests\n";
        assert!(run.err.contains(note), "{}", run.err);
        assert!(run.out.contains("20 servers in 20 packets"), "{}", run.out);
        assert_eq!(run.code, 0, "{}", run.out);
    });
}

/// The pairs of the page.
#[test]
fn each_cause_that_can_be_played_is_found() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/probe.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let rows =
        page.lines().filter(|line| ["`seen.", "`master."].iter().any(|it| line.contains(it)));
    let rows: Vec<_> = rows.map(str::to_owned).collect();
    assert!(rows.len() > 14, "{rows:?}");
    let complaints = each(rows, |row| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let [_, serve, options, item, cause, _] = cells[..] else { return Some(row.to_owned()) };
        let options: Vec<_> = options.split(' ').chain(["--format", "json"]).collect();
        let run = match serve.split_once(" --fault ") {
            _ if serve.starts_with("nothing") => closed(&options),
            Some((scenario, faults)) => probe(scenario, faults, &options).1,
            None => probe(serve, "", &options).1,
        };
        let said: Value = serde_json::from_str(&run.out).expect("JSON");
        let parties = ["servers", "masters"].map(|kind| said[kind].as_array().expect("a list"));
        let mut items =
            parties.into_iter().flatten().flat_map(|it| it["items"].as_array()).flatten();
        let is_found = items.any(|it| it["item"] == item && it["cause"] == cause);
        (!is_found).then(|| format!("{row}: {}{}", run.out, run.err))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Probes a port where nobody listens.
fn closed(options: &[&str]) -> Run {
    let socket = UdpSocket::bind("127.77.0.2:0").expect("a free port");
    let address = socket.local_addr().expect("an address").to_string();
    drop(socket);
    gamewire([&["probe", &address, "--no-config"][..], options].concat())
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

#[test]
fn a_master_that_says_nothing_is_named_with_the_cause() {
    let refusing = closed(&["--protocol", "acr_master"]);
    assert_eq!(refusing.code, 1, "{}{}", refusing.out, refusing.err);
    let first = refusing.out.lines().next().unwrap_or_default();
    assert!(first.ends_with(" (acr_master): the master refuses the connection"), "{first}");
    assert!(!refusing.out.contains("recording: "), "no rule adds to that: {}", refusing.out);
    // The system accepts the connection.
    let silent = TcpListener::bind("127.77.0.3:0").expect("a free port");
    let address = silent.local_addr().expect("an address").to_string();
    for (protocol, says) in [
        ("gamespy1_master", "the master accepts connections, and says nothing"),
        ("acr_master", "the master does not answer requests for its list"),
    ] {
        let options = ["--no-config", "--timeout", "300ms", "--protocol", protocol];
        let run = gamewire([&["probe", &address][..], &options].concat());
        assert!(run.code == 1 && run.out.contains(says), "{}{}", run.out, run.err);
    }
}
