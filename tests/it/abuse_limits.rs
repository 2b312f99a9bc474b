//! `gamewire abuse` behind its limits: what depends on something that did not fit into memory is not reported.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::gamewire;
use captures::wire::{Capture, Checksum, Datagram, Link, START, Time};
use serde_json::Value;

type End = (Ipv4Addr, u16);

const SERVER: End = (Ipv4Addr::new(23, 17, 34, 51), 27015);
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const INFO_RESPONSE: &[u8] = b"\xFF\xFF\xFF\xFFI\x11Test\0de_dust2\0csgo\0Counter-Strike\0\
    \xDA\x02\x05\x10\0dl\0\x011.38\0";
const SPLIT: &[u8] =
    b"\xFE\xFF\xFF\xFF\x07\0\0\0\x02\x00\xE0\x04\xFF\xFF\xFF\xFFE\x01\0motd\0a text of some length";

/// An address that looks random, another for each number.
fn host(number: u32) -> Ipv4Addr {
    (number.wrapping_mul(0x9E37_79B1) ^ 0x5A5A_0000).into()
}

/// Packets in the order of their times.
struct Recording {
    capture: Capture,
    now: Time,
}

impl Recording {
    fn new() -> Recording {
        Recording { capture: Capture::new(Link::Ethernet), now: START }
    }

    /// So many microseconds later.
    fn wait(&mut self, microseconds: u64) {
        self.now = self.now.after(microseconds * 1000);
    }

    /// A datagram, 20 microseconds after the one before.
    fn say(&mut self, from: End, to: End, payload: &[u8]) {
        let (source, destination) = (from.into(), to.into());
        let (payload, checksum) = (payload.to_vec(), Checksum::Right);
        let datagram = Datagram { source, destination, payload, checksum };
        self.wait(20);
        self.capture.push(self.now, &datagram.packet());
    }

    /// A request with a challenge that the server gave, and its response.
    fn ask_with_challenge(&mut self, client: End, server: End) {
        self.say(client, server, &[INFO, b"\x01\x02\x03\x04"].concat());
        self.say(server, client, INFO_RESPONSE);
    }

    /// A request and the challenge that it gets.
    fn be_challenged(&mut self, client: End, server: End) {
        self.say(client, server, INFO);
        self.say(server, client, b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04");
    }

    /// The attacks, whether something was left out, and the text output.
    fn attacks(&self, memory: &str) -> (Vec<Value>, bool, String) {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let (process, nth) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
        let name = format!("gamewire-abuse-limits-{process}-{nth}.pcap");
        let file: PathBuf = std::env::temp_dir().join(name);
        std::fs::write(&file, self.capture.pcap()).expect("a temporary file");
        let path = file.to_string_lossy().into_owned();
        let run = |format: &str| {
            let run =
                gamewire(["abuse", "--no-config", "--memory", memory, "--format", format, &path]);
            assert_eq!(run.code, 0, "{}", run.err);
            run.out
        };
        let report: Value = serde_json::from_str(&run("json")).expect("JSON");
        let attacks = report["attacks"].as_array().expect("a list").clone();
        let text = run("text");
        std::fs::remove_file(file).ok();
        (attacks, report.get("cut").is_some(), text)
    }

    /// Asserts that there is no attack, and that this much memory suffices, or does not.
    fn has_no_attack(&self, memory: &str, is_enough: bool) {
        let (attacks, is_cut, text) = self.attacks(memory);
        assert!(attacks.is_empty(), "--memory {memory}: {attacks:#?}");
        assert_eq!(is_cut, !is_enough, "--memory {memory}: {text}");
        assert_eq!(text.contains("see --memory"), !is_enough, "--memory {memory}: {text}");
    }
}

/// The clients' ports are usual ones of servers, and those of the servers are not: which of both ends is
/// the server is only known from requests.
#[test]
fn servers_that_are_not_kept_are_not_accused_of_what_they_send() {
    let split = |servers: u32| {
        let mut recording = Recording::new();
        for n in 0..servers {
            let server = (host(n), 30_000 + (n % 100) as u16);
            let client = (Ipv4Addr::from(0x0A00_0001 + n % 50), 27_000 + (n % 40) as u16);
            recording.be_challenged(client, server);
            recording.say(client, server, b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04");
            recording.say(server, client, SPLIT);
            recording.say(server, client, &[&SPLIT[..8], b"\x02\x01", &SPLIT[10..]].concat());
        }
        recording
    };
    split(1000).has_no_attack("64M", false);
    // The limit is where the note says it is.
    split(1000).has_no_attack("256M", true);
    split(4000).has_no_attack("1G", true);
}

/// A report about everything has as much room for attacks as the command that looks for nothing else.
#[test]
fn all_commands_know_as_many_targets() {
    let folder = std::env::temp_dir().join(format!("gamewire-targets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (file, page) = (path("targets.pcap"), path("report.html"));
    let mut recording = Recording::new();
    (0..1000).for_each(|n| recording.be_challenged((host(n), 40_000), (host(n + 5000), 30_000)));
    std::fs::write(&file, recording.capture.pcap()).expect("a temporary file");
    let run = |command: &[&str], memory| {
        let shared = ["--no-config", "--memory", memory, &file];
        let run = gamewire([command, &shared].concat());
        run.out + &std::fs::read_to_string(&page).unwrap_or_default()
    };
    for command in [&["abuse"][..], &["report", "-o", &page]] {
        for (memory, is_enough) in [("64M", false), ("256M", true)] {
            let is_cut = run(command, memory).contains("more targets than fit into memory");
            assert_eq!(is_cut, !is_enough, "{command:?} --memory {memory}");
        }
    }
    std::fs::remove_dir_all(folder).ok();
}

/// What crashes a server is reported as long as it is known who is a server.
#[test]
fn attempts_to_crash_a_server_are_reported_before_the_limit_is_met() {
    let mut recording = Recording::new();
    recording.say((host(1), 50_000), SERVER, SPLIT);
    for n in 0..1000 {
        recording.say((Ipv4Addr::new(10, 0, 0, 1), 40_000), (host(n + 9), 30_000), INFO);
    }
    recording.say((host(2), 50_000), SERVER, SPLIT);
    for (memory, packets) in [("64M", 1), ("256M", 2)] {
        let (attacks, is_cut, text) = recording.attacks(memory);
        let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
        assert_eq!(
            (&attack["seat"], &attack["packets"]),
            (&"crash_attempt".into(), &packets.into())
        );
        assert_eq!(is_cut, memory == "64M");
        let said = "packets that crash servers are not reported from then on";
        assert_eq!(text.contains(said), is_cut, "{text}");
    }
}

/// A client that asks very many servers is not the victim of their responses.
#[test]
fn responses_of_servers_that_are_not_kept_have_requests() {
    let mut recording = Recording::new();
    let client = (Ipv4Addr::new(198, 51, 100, 7), 50_000);
    for n in 0..10_000 {
        recording.say(client, (host(n), 27015), INFO);
        recording.say((host(n), 27015), client, INFO_RESPONSE);
    }
    recording.has_no_attack("64M", false);
    recording.has_no_attack("1G", false);
    recording.has_no_attack("2G", true);
}

/// Slow responses come after requests of so many others that their own are forgotten.
#[test]
fn responses_to_requests_that_are_forgotten_are_not_unsolicited() {
    let recording = |others: u32| {
        let mut recording = Recording::new();
        let client = (Ipv4Addr::new(198, 51, 100, 7), 50_000);
        let slow = |n: u32| (Ipv4Addr::from(0x1711_0000 + n), 27015);
        (0..60).for_each(|n| recording.say(client, slow(n), INFO));
        for n in 0..others {
            recording.say((host(n), 50_000), (host(1_000_000 + n % 50), 27015), INFO);
            recording.wait(80);
        }
        (0..60).for_each(|n| recording.say(slow(n), client, INFO_RESPONSE));
        recording
    };
    recording(50_000).has_no_attack("1G", false);
    recording(5000).has_no_attack("64M", false);
    recording(5000).has_no_attack("1G", true);
    // Those are unsolicited that come when no forgotten request can be answered any more.
    let mut late = recording(5000);
    late.wait(40_000_000);
    for n in 0..60 {
        late.say((Ipv4Addr::from(0x1711_0000 + n), 27015), (host(7), 80), INFO_RESPONSE);
    }
    let (attacks, ..) = late.attacks("64M");
    assert_eq!(attacks.len(), 1, "{attacks:#?}");
    assert_eq!(attacks[0]["seat"], "victim");
}

/// A server that answers only with a challenge is not misused, even if the challenge is forgotten.
#[test]
fn a_challenge_that_is_forgotten_is_not_missing() {
    let mut recording = Recording::new();
    let client = |n: u32| (Ipv4Addr::from(0x0B00_0000 + n * 7), 50_000);
    (0..1500).for_each(|n| recording.be_challenged(client(n), SERVER));
    for n in 0..50_000 {
        recording.say((host(n), 50_000), (host(1_000_000 + n % 100), 27015), INFO);
        recording.wait(200);
    }
    (0..1500).for_each(|n| recording.ask_with_challenge(client(n), SERVER));
    let (attacks, ..) = recording.attacks("1G");
    let accused = |attack: &&Value| attack["targets"][0] == "23.17.34.51:27015";
    assert_eq!(attacks.iter().find(accused), None);
}

/// Players that return their challenges are no flood, however many there are.
#[test]
fn a_crowd_of_which_not_all_are_kept_is_no_flood() {
    let crowd = |clients: u32, is_real: bool| {
        let mut recording = Recording::new();
        for n in 0..clients {
            let client = (host(n), 50_000);
            recording.be_challenged(client, SERVER);
            if is_real {
                recording.ask_with_challenge(client, SERVER);
            }
            recording.wait(60);
        }
        recording
    };
    crowd(10_000, true).has_no_attack("64M", false);
    crowd(10_000, true).has_no_attack("1G", true);
    // Forged sources take no room of clients.
    let (attacks, is_cut, _) = crowd(20_000, false).attacks("64M");
    assert_eq!((attacks.len(), is_cut), (1, false), "{attacks:#?}");
    assert_eq!(
        (&attacks[0]["seat"], &attacks[0]["forged"]),
        (&"flooded_server".into(), &"yes".into())
    );
}

/// Whether sources return challenges is unknown if these are forgotten at once.
#[test]
fn sources_that_are_forgotten_at_once_are_not_called_forged() {
    let mut recording = Recording::new();
    for n in 0..100_000 {
        recording.be_challenged((host(n), 50_000), SERVER);
    }
    let (attacks, ..) = recording.attacks("64M");
    let evidence = attacks[0]["evidence"][0].as_str().expect("a text");
    assert!(evidence.contains("too many to know which returned the challenge"), "{evidence}");
}
