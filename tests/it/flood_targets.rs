//! What is flooded: servers that are known by a join or a list only, and masters; and who is no attacker beside it: many
//! players behind one address.

use captures::wire::{Capture, Datagram, Link, START, Time};
use serde_json::{Value, json};

use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "203.0.113.7:27015";
const MASTER: &str = "208.64.200.65:27011";
const CLIENT: &str = "198.51.100.9:50000";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// Packets in the order of their times, and the time of the latest.
struct Recording(Capture, Time);

impl Recording {
    fn new() -> Recording {
        Recording(Capture::new(Link::Ethernet), START)
    }

    /// A datagram so many microseconds later.
    fn say(&mut self, later: u64, from: &str, to: &str, bytes: &[u8]) {
        self.1 = self.1.after(later * 1000);
        self.0.push(self.1, &Datagram::new(from, to, bytes).packet());
    }

    /// 12,000 packets from as many sources, 3,000 a second.
    fn flood(&mut self, to: &str, bytes: impl Fn(u32) -> Vec<u8>) {
        for nth in 0..12_000_u32 {
            let [a, b, c, d] = nth.wrapping_mul(0x9E37_79B1).to_be_bytes();
            let from = format!("{}.{b}.{c}.{d}:{}", 11 + a % 80, 1024 + nth);
            self.say(333, &from, to, &bytes(nth));
        }
    }

    /// The attacks, as `abuse` says, and what the other commands say.
    fn attacks(self) -> (Vec<Value>, String) {
        let (_project, file) = Project::of_capture(self.0.pcap());
        let found = gamewire(["abuse", "--no-config", "--format", "json", &file]).out;
        let found: Value = serde_json::from_str(&found).unwrap();
        let checked = gamewire(["check", "--no-config", &file]).out;
        let summary = gamewire(["summary", "--no-config", &file]).out;
        assert!(summary.contains("Under attack: "), "{summary}");
        let diagnosed = gamewire(["diagnose", "--no-config", &file]);
        assert!(diagnosed.out.contains("it is under attack: flooded with "), "{}", diagnosed.out);
        assert_eq!(diagnosed.code, 1);
        (found["attacks"].as_array().unwrap().clone(), checked)
    }
}

fn junk(nth: u32) -> Vec<u8> {
    [&nth.to_be_bytes()[..], &[7; 60][..20 + nth as usize % 40]].concat()
}

fn is_flood(found: &(Vec<Value>, String), seat: &str, target: &str) {
    let (attacks, checked) = found;
    let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
    let seats = [&attack["seat"], &attack["targets"]];
    assert_eq!(seats, [&json!(seat), &json!([target])], "{attack:#}");
    assert!(checked.starts_with("UNDER ATTACK") && checked.contains(target), "{checked}");
}

#[test]
fn a_server_that_joins_a_master_is_known() {
    let mut recording = Recording::new();
    recording.say(0, SERVER, MASTER, b"q");
    recording.say(20_000, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\x02\x03\x04");
    recording.flood(SERVER, junk);
    is_flood(&recording.attacks(), "flooded_server", SERVER);
}

#[test]
fn a_server_that_a_master_lists_is_known() {
    let mut recording = Recording::new();
    recording.say(0, CLIENT, MASTER, b"1\xFF0.0.0.0:0\0\0");
    let list = b"\xFF\xFF\xFF\xFFf\n\xCB\x00\x71\x07\x69\x87\0\0\0\0\0\0";
    recording.say(20_000, MASTER, CLIENT, list);
    recording.flood(SERVER, junk);
    is_flood(&recording.attacks(), "flooded_server", SERVER);
}

#[test]
fn joins_flood_a_master() {
    let mut recording = Recording::new();
    recording.flood(MASTER, |_| b"q".to_vec());
    let found = recording.attacks();
    is_flood(&found, "flooded_master", MASTER);
    assert!(found.1.lines().any(|it| it.starts_with("SEC006") && it.contains(" fail ")));
    let mut recording = Recording::new();
    recording.flood("203.0.113.9:27900", |nth| {
        format!(r"\heartbeat\{}\gamename\ut\", 1024 + nth).into_bytes()
    });
    is_flood(&recording.attacks(), "flooded_master", "203.0.113.9:27900");
}

/// Forty players behind one address ask four times each; their address is no attacker's.
#[test]
fn players_behind_one_address_are_each_one() {
    let mut recording = Recording::new();
    for nth in 0..160 {
        let client = format!("198.51.100.200:{}", 40_000 + nth % 40);
        let challenge = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
        recording.say(26_000, &client, SERVER, INFO);
        recording.say(10, SERVER, &client, challenge);
        recording.say(10, &client, SERVER, &[INFO, &challenge[5..]].concat());
        recording.say(10, SERVER, &client, ANSWER);
    }
    recording.flood(SERVER, |_| INFO.to_vec());
    let (attacks, _) = recording.attacks();
    let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
    assert_eq!(attack["legitimate"]["packets"], 320, "{attack:#}");
    assert_eq!(attack["forged"], "yes", "{attack:#}");
}
