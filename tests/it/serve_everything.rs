//! `gamewire serve` and a client that asks everything, as libraries do: wrong examples are reached, and nothing else
//! is wrong.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dissectors::catalogue;
use gamewire::play::{Faults, Play, Scenario, Server};

use crate::serve::each;
use crate::support::examples::{self, PRESUMED};

/// How long the client waits for an answer, and then for its further datagrams.
const PATIENCE: Duration = Duration::from_secs(2);
const REST: Duration = Duration::from_millis(300);

/// Wrong examples that this client does not reach, and why.
const NOT_REACHED: &[(&str, &str)] = &[
    ("A2S024", "it never sends a challenge that it was not given"),
    ("A2S043", "that something is missing is open unless the capture is complete"),
    ("A2S062", "the capture is too short for silence"),
    ("A2S063", "it sends no ping"),
];

/// How often a client returns a challenge to a server that answers with another one.
const ROUNDS: u32 = 6;

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

/// Plays a scenario, and records it.
fn play(name: &str, client: impl FnOnce(SocketAddr)) -> (PathBuf, String) {
    let process = std::process::id();
    let file = std::env::temp_dir().join(format!("gamewire-everything-{process}-{name}.pcapng"));
    let server = Server::open(Play {
        scenarios: vec![Scenario::named(name).expect("a scenario")],
        listen: "127.0.0.1:0".parse().unwrap(),
        allow_remote: false,
        faults: Faults::default(),
        seed: 1,
        record: Some(file.clone()),
        once: false,
        duration: Some(Duration::from_secs(600)),
    });
    let server = server.unwrap_or_else(|error| panic!("{name}: {error}"));
    let address = server.places()[0].address;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = || done.load(Ordering::Relaxed);
        let runs = scope.spawn(move || server.run(&stop).expect("it runs"));
        client(address);
        done.store(true, Ordering::Relaxed);
        runs.join().expect("no panic");
    });
    (file, format!("udp.port=={},a2s", address.port()))
}

/// Asks twice for info, players and rules; the second time with the challenges of the first.
fn ask(server: SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let head = b"\xFF\xFF\xFF\xFF";
    let [players, rules] = [b"U", b"V"].map(|kind| [&head[..], kind].concat());
    let mut questions = [
        (INFO, INFO.to_vec()),
        (&players, [&players[..], head].concat()),
        (&rules, [&rules[..], head].concat()),
    ];
    for _ in 0..2 {
        for (start, request) in &mut questions {
            for _ in 0..ROUNDS {
                socket.send_to(request, server).expect("it is sent");
                let answers = answers(&socket);
                let challenge = answers.iter().find_map(|it| it.strip_prefix(b"\xFF\xFF\xFF\xFFA"));
                let Some(challenge) = challenge.and_then(|it| it.first_chunk::<4>()) else { break };
                *request = [*start, challenge].concat();
            }
        }
    }
}

fn answers(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let (mut answers, mut buffer) = (Vec::new(), [0; 1 << 16]);
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    while let Ok((length, _)) = socket.recv_from(&mut buffer) {
        answers.push(buffer[..length].to_vec());
        socket.set_read_timeout(Some(REST)).expect("a timeout");
    }
    answers
}

#[test]
fn a_client_that_asks_everything_reaches_what_is_wrong() {
    let scenarios = Scenario::all().into_iter();
    let played = scenarios.filter(|it| it.transport().is_ok() && it.protocol().info().id == "a2s");
    let names: Vec<_> = played.map(|it| it.name).collect();
    let is_reached = |name: &String| NOT_REACHED.iter().all(|(it, _)| it != name);
    let names: Vec<_> = names.into_iter().filter(is_reached).collect();
    assert!(names.len() > 40, "{names:?}");
    let complaints = each(names, |name| {
        let (file, read_as) = play(name, ask);
        let rule = catalogue::rule(name);
        let judged = examples::judge(&file, rule, &["-d", &read_as]).expect("a verdict");
        std::fs::remove_file(&file).ok();
        let (mut broken, fared) = judged;
        broken.retain(|other| other != name && !PRESUMED.contains(&(name, other)));
        let is_reached = rule.is_none() || fared.as_deref() == Some("fail");
        (!broken.is_empty() || !is_reached).then(|| format!("{name}: {fared:?}, also {broken:?}"))
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}
