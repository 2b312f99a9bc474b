//! `gamewire serve`: clients in these tests play the other side of what it plays, on the loopback interface.

#![allow(clippy::disallowed_methods, reason = "the clients of these tests use the system's clock")]

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dissectors::catalogue;
use gamewire::play::{Faults, Place, Play, Report, Scenario, Server};

use crate::support::examples::{self, PRESUMED};
use crate::support::{gamewire, player};

/// Wrong examples that are not compared, and why.
const LEFT_OUT: &[(&str, &str)] =
    &[("VM047", "it lasts five minutes"), ("GS1025", "it lasts a minute")];

/// How many scenarios are played at once: they mostly wait.
const AT_ONCE: usize = 24;

/// How long a server of a test runs at most.
const LONGEST: Duration = Duration::from_secs(600);

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn of(name: &str) -> Play {
    Play {
        scenarios: vec![Scenario::named(name).expect("a scenario")],
        listen: loopback(),
        allow_remote: false,
        faults: Faults::default(),
        seed: 1,
        record: None,
        once: true,
        duration: Some(LONGEST),
    }
}

fn recording(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("gamewire-serve-{}-{name}.pcapng", std::process::id()))
}

/// Plays a scenario while `client` talks to it; ends when the script has ended, or the client has.
fn serve<T>(play: Play, client: impl FnOnce(SocketAddr) -> T) -> (Report, T) {
    let once = play.once;
    let server = Server::open(play).unwrap_or_else(|error| panic!("{error}"));
    let address = server.places()[0].address;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = || !once && done.load(Ordering::Relaxed);
        let runs = scope.spawn(move || server.run(&stop).expect("it runs"));
        let result = client(address);
        done.store(true, Ordering::Relaxed);
        (runs.join().expect("no panic"), result)
    })
}

/// The option that reads a recording as the protocol of a scenario.
fn read_as(scenario: &Scenario, place: &Place) -> String {
    let (transport, port) = (place.transport.name(), place.address.port());
    format!("{transport}.port=={port},{}", scenario.protocol().info().id)
}

/// Plays a scenario to its end; returns its recording, and how it is read.
fn play_to_its_end(name: &str) -> (PathBuf, String) {
    let scenario = Scenario::named(name).expect("a scenario");
    let file = recording(name);
    let play = || Play { record: Some(file.clone()), ..of(name) };
    let open = || Server::open(play()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut server = open();
    // Every hundredth port is one of those that GS4032 requires.
    while server.places()[0].address.port() % 100 == 0 {
        server = open();
    }
    let place = server.places()[0].clone();
    let runs = std::thread::spawn(move || server.run(&|| false).expect("it runs"));
    let open = player::play(scenario.script, scenario.usual, place.address);
    let report = runs.join().expect("no panic");
    drop(open);
    assert_eq!((report.played, report.unknown), (1, 0), "{name}: {report:?}");
    (file, read_as(&scenario, &place))
}

/// Does this with each item, several at once; returns what it complains about.
pub(crate) fn each(
    items: Vec<String>,
    complaint: impl Fn(&str) -> Option<String> + Sync,
) -> Vec<String> {
    let (items, complaints) = (Mutex::new(VecDeque::from(items)), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(item) = items.lock().unwrap().pop_front() else { return };
                    let found = complaint(&item);
                    complaints.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut complaints = complaints.into_inner().unwrap();
    complaints.sort();
    complaints
}

fn names(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let played = Scenario::all().into_iter().filter(|it| it.transport().is_ok());
    played.map(|it| it.name).filter(|name| is_wanted(name)).collect()
}

fn is_rule(name: &str) -> bool {
    catalogue::rule(name).is_some()
}

fn judged(file: &Path, read_as: &str, name: &str) -> (Vec<String>, Option<String>) {
    let rule = catalogue::rule(name);
    let judged = examples::judge(file, rule, &["-d", read_as]).expect("a verdict");
    std::fs::remove_file(file).ok();
    judged
}

#[test]
fn what_is_wrong_breaks_its_rule_and_no_other() {
    let wanted = names(|name| is_rule(name) && LEFT_OUT.iter().all(|(it, _)| *it != name));
    assert!(wanted.len() > 90, "{}", wanted.len());
    let complaints = each(wanted, |name| {
        let (file, read_as) = play_to_its_end(name);
        let (mut broken, fared) = judged(&file, &read_as, name);
        let presumed = |other: &str| PRESUMED.contains(&(name, other));
        broken.retain(|other| other != name && !presumed(other));
        let is_right = fared.as_deref() == Some("fail") && broken.is_empty();
        (!is_right).then(|| format!("{name}: {fared:?}, also broken {broken:?}"))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn what_is_right_breaks_no_rule() {
    let wanted = names(|name| !is_rule(name));
    assert!(wanted.len() > 12, "{}", wanted.len());
    let complaints = each(wanted, |name| {
        let (file, read_as) = play_to_its_end(name);
        let (broken, _) = judged(&file, &read_as, name);
        (!broken.is_empty()).then(|| format!("{name}: broken {broken:?}"))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ASKS: &[u8] = b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF";

/// A client's socket, which waits for long.
fn client() -> UdpSocket {
    let socket = UdpSocket::bind(loopback()).expect("a free port");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    socket
}

/// The answer to a request, and who sends it.
fn ask(socket: &UdpSocket, server: SocketAddr, request: &[u8]) -> (Vec<u8>, SocketAddr) {
    socket.send_to(request, server).expect("it is sent");
    let mut buffer = [0; 2048];
    let (length, from) = socket.recv_from(&mut buffer).expect("an answer");
    (buffer[..length].to_vec(), from)
}

fn with_challenge(kind: u8, challenge: &[u8]) -> Vec<u8> {
    [b"\xFF\xFF\xFF\xFF", &[kind][..], challenge].concat()
}

#[test]
fn a_client_may_ask_in_any_order_and_again() {
    let play = Play { once: false, ..of("a2s") };
    serve(play, |server| {
        let (one, other) = (client(), client());
        let (challenge, from) = ask(&one, server, ASKS);
        assert_eq!((challenge[4], from), (b'A', server));
        let players = with_challenge(b'U', &challenge[5..]);
        assert_eq!(ask(&one, server, &players).0[4], b'D');
        assert_eq!(ask(&one, server, &players).0[4], b'D', "it is known from before");
        assert_eq!(ask(&other, server, INFO).0[4], b'I');
        let wrong = with_challenge(b'U', b"\x01\x02\x03\x04");
        assert_eq!(ask(&other, server, &wrong).0[4], b'A', "another challenge is none");
        assert_eq!(ask(&one, server, INFO).0[4], b'I');
    });
}

#[test]
fn the_clients_own_timestamp_comes_back_and_its_challenge_is_its_own() {
    let play = Play { once: false, ..of("gamespy4") };
    serve(play, |server| {
        let (one, other) = (client(), client());
        let (answer, _) = ask(&one, server, b"\xFE\xFD\x09\x01\x02\x03\x04");
        assert_eq!(answer[..5], *b"\x09\x01\x02\x03\x04");
        // The challenge holds for the port that got it.
        let info = b"\xFE\xFD\x00\x01\x02\x03\x04\x00\x91\x29\x5B\xFF\xFF\xFF\x01";
        other.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        other.send_to(info, server).expect("it is sent");
        assert!(other.recv_from(&mut [0; 2048]).is_err());
        assert_eq!(ask(&one, server, info).0[..5], *b"\x00\x01\x02\x03\x04");
    });
}

#[test]
fn what_no_script_has_an_answer_for_gets_none() {
    let play = Play { once: false, ..of("a2s") };
    let (report, ()) = serve(play, |server| {
        let socket = client();
        for said in [&b"\xFF\xFF\xFF\xFFW"[..], b"", b"hello", b"\xFE\xFF\xFF\xFF\x01"] {
            socket.send_to(said, server).expect("it is sent");
        }
        assert_eq!(ask(&socket, server, INFO).0[4], b'I', "the first answer is that to a request");
    });
    assert_eq!((report.requests, report.unknown, report.answers), (5, 4, 1));
}

#[test]
fn faults_of_the_way() {
    let played = |faults: &str, client: &dyn Fn(SocketAddr)| {
        let faults = faults.parse().expect("faults");
        serve(Play { once: false, faults, ..of("a2s") }, client).0
    };
    played("truncate=20", &|server| assert_eq!(ask(&client(), server, INFO).0.len(), 20));
    played("other-port", &|server| assert_ne!(ask(&client(), server, INFO).1, server));
    played("duplicate=100%", &|server| {
        let socket = client();
        let first = ask(&socket, server, INFO);
        let mut buffer = [0; 2048];
        let (length, from) = socket.recv_from(&mut buffer).expect("it comes again");
        assert_eq!((buffer[..length].to_vec(), from), first);
    });
    played("delay=200ms", &|server| {
        let before = std::time::Instant::now();
        ask(&client(), server, INFO);
        assert!(before.elapsed() >= Duration::from_millis(220), "{:?}", before.elapsed());
    });
    for faults in ["loss=100%", "silence"] {
        let faults = faults.parse().expect("faults");
        // The script ends with its last answer, though that is lost.
        let (report, ()) = serve(Play { faults, ..of("SEC003") }, |server| {
            client().send_to(INFO, server).expect("it is sent");
        });
        assert_eq!((report.played, report.answers), (1, 0));
    }
}

/// The way makes the copies, so they are the recording's, not the server's fault.
#[test]
fn copies_of_a_datagram_are_recorded_as_such() {
    let file = recording("copies");
    let faults = "duplicate=100%".parse().expect("faults");
    let play = Play { once: false, faults, record: Some(file.clone()), ..of("a2s") };
    serve(play, |server| {
        let socket = client();
        ask(&socket, server, INFO);
        socket.recv_from(&mut [0; 2048]).expect("it comes again");
    });
    let run = gamewire(["check", "--no-config", "--format", "json", &file.to_string_lossy()]);
    std::fs::remove_file(&file).ok();
    let checked: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let rules = checked["rules"].as_array().expect("rules");
    let failed = |code: &str| {
        rules.iter().find(|rule| rule["code"] == code).expect("a rule")["failed"].clone()
    };
    assert_eq!((failed("NET013"), failed("A2S061")), (1.into(), 0.into()));
}

#[test]
fn a_right_master_gives_a_challenge_that_looks_random() {
    let (file, read_as) = play_to_its_end("acr-master-register");
    let (broken, verdict) = judged(&file, &read_as, "ACR016");
    assert_eq!((broken, verdict.as_deref()), (Vec::new(), Some("pass")));
}

#[test]
fn a_seed_decides_which_answers_are_lost() {
    const REQUESTS: usize = 40;
    let answers = |seed| {
        let faults = "loss=50%".parse().expect("faults");
        let play = Play { once: false, seed, faults, ..of("SEC003") };
        let (_, count) = serve(play, |server| {
            let (socket, later) = (client(), client());
            for _ in 0..REQUESTS {
                socket.send_to(INFO, server).expect("it is sent");
            }
            // Whoever asks later gets an answer when all these are there.
            later.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
            let asks = || later.send_to(INFO, server).and_then(|_| later.recv_from(&mut [0; 2048]));
            assert!((0..100).any(|_| asks().is_ok()), "an answer");
            socket.set_nonblocking(true).expect("it does not wait");
            (0..).take_while(|_| socket.recv_from(&mut [0; 2048]).is_ok()).count()
        });
        count
    };
    let first = answers(1);
    assert!((10..30).contains(&first), "{first}");
    assert_eq!(answers(1), first);
    assert!((2..9).any(|seed| answers(seed) != first));
}

#[test]
fn for_other_hosts_challenges_are_each_clients_own_and_answers_small() {
    let play = || Play { once: false, allow_remote: true, ..of("a2s") };
    let (report, ()) = serve(play(), |server| {
        let (one, other) = (client(), client());
        let [(first, _), (second, _)] = [&one, &other].map(|socket| ask(socket, server, ASKS));
        assert_ne!(first[5..], second[5..]);
        // The other one's challenge is a wrong one: there is a new one, and no data.
        let stolen = with_challenge(b'U', &second[5..]);
        assert_eq!(ask(&one, server, &stolen).0, first);
        let players = with_challenge(b'U', &first[5..]);
        assert_eq!(ask(&one, server, &players).0[4], b'D');
        // The script's own challenge is not valid, either.
        assert_eq!(ask(&other, server, b"\xFF\xFF\xFF\xFFU\x4B\xA1\xD5\x22").0, second);
    });
    assert_eq!(report.withheld, 0);
    let rules = Play { scenarios: vec![Scenario::named("A2S023").expect("a rule")], ..play() };
    let (report, ()) = serve(rules, |server| {
        // 27 bytes may come, and fewer do.
        assert_eq!(ask(&client(), server, ASKS).0[4], b'D');
    });
    assert_eq!(report.withheld, 0);
    let info = Play { scenarios: vec![Scenario::named("a2s-goldsrc").expect("one")], ..play() };
    let (report, ()) = serve(info, |server| {
        let socket = client();
        socket.send_to(INFO, server).expect("it is sent");
        assert_eq!(ask(&socket, server, ASKS).0[4], b'A', "25 bytes get no answer of a hundred");
    });
    assert_eq!((report.withheld, report.answers), (1, 1));
}

#[test]
fn other_hosts_are_allowed_explicitly() {
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:27015"] {
        let run = gamewire(["serve", "a2s", "--listen", listen]);
        assert_eq!(run.code, 2);
        assert!(run.err.contains("--allow-remote"), "{}", run.err);
    }
}

#[test]
fn the_list_has_every_scenario_and_why_some_are_not_played() {
    let run = gamewire(["serve", "--list"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    let (played, others) = run.out.split_once("\n\n").expect("two parts");
    for scenario in Scenario::all() {
        let part = if scenario.transport().is_ok() { played } else { others };
        let is_its = |line: &&str| line.split(' ').next() == Some(&*scenario.name);
        let line = part.lines().find(is_its).unwrap_or_else(|| panic!("{}", scenario.name));
        assert!(line.contains(&scenario.shows), "{line}");
    }
    let rules = catalogue::rules();
    let is_of_servers = |who: &str| ["server", "master"].contains(&who);
    for rule in rules.iter().filter(|rule| is_of_servers(rule.who.name())) {
        assert!(run.out.contains(&format!("\n{} ", rule.code)), "{} is listed", rule.code);
    }
}

#[test]
fn a_command_says_where_it_plays_and_ends_in_time() {
    let file = recording("command");
    let name = file.to_string_lossy().into_owned();
    let run = gamewire([
        "serve",
        "a2s",
        "gamespy1-master",
        "--listen",
        "127.0.0.1:0",
        "--for",
        "100ms",
        "--record",
        &name,
    ]);
    assert_eq!(run.code, 0, "{}", run.err);
    let lines: Vec<_> = run.out.lines().collect();
    assert!(
        lines[0].starts_with("a2s at 127.0.0.1:") && lines[0].contains(" (udp): "),
        "{}",
        run.out
    );
    assert!(lines[1].starts_with("gamespy1-master at 127.0.0.1:") && lines[1].contains(" (tcp): "));
    assert!(run.err.contains("0 requests, 0 answers"), "{}", run.err);
    let read = gamewire(["check", &name]);
    std::fs::remove_file(&file).ok();
    assert_eq!(read.code, 0, "an empty recording is a capture: {}", read.err);
}

#[test]
fn errors_have_a_remedy() {
    let unknown = gamewire(["serve", "a3s"]);
    assert!(
        unknown.code == 2 && unknown.err.contains("there is no scenario `a3s`"),
        "{}",
        unknown.err
    );
    let client = gamewire(["serve", "VM030"]);
    assert!(
        client.code == 2 && client.err.contains("that of the server, which asks"),
        "{}",
        client.err
    );
    let fault = gamewire(["serve", "a2s", "--fault", "flood"]);
    assert!(fault.code == 2 && fault.err.contains("known ones are loss=10%"), "{}", fault.err);
    for fault in ["loss=100%", "duplicate=5%", "delay=1s,reorder", "other-port"] {
        let master = ["serve", "gamespy1-master", "--listen", "127.0.0.1:0", "--for", "10ms"];
        let run = gamewire([&master[..], &["--fault", fault]].concat());
        assert!(run.code == 2 && run.err.contains("use delay, truncate or silence"), "{}", run.err);
    }
    // Where something is played over UDP, its datagrams have them.
    let both = ["serve", "gamespy1-master", "a2s", "--listen", "127.0.0.1:0"];
    let run = gamewire([&both[..], &["--fault", "loss=100%", "--for", "10ms"]].concat());
    assert_eq!(run.code, 0, "{}", run.err);
    let taken = UdpSocket::bind(loopback()).expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let run = gamewire(["serve", "a2s", "--listen", &address]);
    assert!(run.code == 2 && run.err.contains("--listen"), "{}", run.err);
    let nothing = gamewire(["serve"]);
    assert!(nothing.code == 2 && nothing.err.contains("SCENARIO"), "{}", nothing.err);
}
