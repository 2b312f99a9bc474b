//! Attacks of several kinds, on several ports, or at several times on one host are each told with their own numbers.

use std::path::Path;

use captures::wire::{Capture, Link, START};
use serde_json::Value;

use crate::attacks::attacks_of;
use crate::flood_sources::{self, anyone};
use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "203.0.113.7:27015";
const MINECRAFT: &str = "203.0.113.7:25565";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
const CONNECT: &[u8] = b"\xFF\xFF\xFF\xFFgetchallenge steam\n";
const HANDSHAKE: &[u8] = b"\xFE\xFD\x09\0\0\0\x07";
const GIVEN: &[u8] = b"\x09\0\0\0\x079513307\0";

/// Packets of a host with two servers, each of which answers a client.
struct Scene(Capture);

impl Scene {
    fn new() -> Scene {
        let mut scene = Scene(Capture::new(Link::Ethernet));
        for (server, ask, answer) in [(SERVER, INFO, ANSWER), (MINECRAFT, HANDSHAKE, GIVEN)] {
            scene.say(0, ["198.51.100.9:50000", server], ask);
            scene.say(20, [server, "198.51.100.9:50000"], answer);
        }
        scene
    }

    fn say(&mut self, at_ms: u64, ends: [&str; 2], bytes: &[u8]) {
        flood_sources::say(&mut self.0, START.after_ms(at_ms), ends, bytes, 60);
    }

    /// So many packets within six seconds of this one, each of another source.
    fn flood(&mut self, second: u64, server: &str, bytes: &[u8], packets: u32) {
        for nth in 0..packets {
            let at = second * 1_000 + u64::from(nth) * 6_000 / u64::from(packets);
            self.say(at, [&anyone(second as u32 * 20_000 + nth), server], bytes);
        }
    }

    /// The targets and the packets of each attack, and what `diagnose` says of each server.
    fn said(self) -> (Vec<(String, u64)>, String) {
        let (_project, file) = Project::of_capture(self.0.in_time().pcap());
        let of = |attack: &Value| {
            let targets = attack["targets"].as_array().unwrap().iter();
            let targets = Vec::from_iter(targets.filter_map(Value::as_str)).join(" ");
            (targets, attack["packets"].as_u64().unwrap())
        };
        let attacks = attacks_of(Path::new(&file)).iter().map(of).collect();
        (attacks, gamewire(["diagnose", "--no-config", &file]).out)
    }
}

#[test]
fn two_kinds_of_floods_of_two_ports_are_two_attacks() {
    for second in [10, 60] {
        let mut scene = Scene::new();
        scene.flood(10, SERVER, INFO, 12_000);
        scene.flood(second, MINECRAFT, HANDSHAKE, 9_000);
        let (attacks, said) = scene.said();
        let wanted = [(SERVER.to_owned(), 12_000), (MINECRAFT.to_owned(), 9_000)];
        assert_eq!(attacks, wanted, "{second}");
        for words in [
            "flooded with A2S_INFO requests, 2,000 a second",
            "flooded with initial requests, 1,500 a second",
            "12,000 packets from 12,000 sources\n",
            "9,000 packets from 9,000 sources\n",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}

#[test]
fn floods_of_one_port_at_two_times_are_two_attacks_and_the_server_is_told_of_both() {
    let mut scene = Scene::new();
    scene.flood(10, SERVER, INFO, 12_000);
    scene.flood(60, SERVER, CONNECT, 9_000);
    let (attacks, said) = scene.said();
    assert_eq!(attacks, [(SERVER.to_owned(), 12_000), (SERVER.to_owned(), 9_000)]);
    let beside = "12,000 packets from 12,000 sources; besides, it is under attack: flooded with getchallenge packets, \
                  1,500 a second: 9,000 packets from 9,000 sources";
    assert!(said.contains(beside), "{said}");
    // Meanwhile, they are one.
    let mut scene = Scene::new();
    scene.flood(10, SERVER, INFO, 12_000);
    scene.flood(12, SERVER, CONNECT, 9_000);
    assert_eq!(scene.said().0, [(SERVER.to_owned(), 21_000)]);
}

/// Who sends one request while another source repeats thousands may be a player.
#[test]
fn who_asks_once_beside_a_misuse_is_none_of_its_sources() {
    let mut scene = Scene::new();
    for nth in 0..2_000 {
        scene.say(1_000 + nth * 10, ["192.0.2.66:53", SERVER], INFO);
        scene.say(1_001 + nth * 10, [SERVER, "192.0.2.66:53"], ANSWER);
    }
    scene.say(5_003, ["198.51.100.44:50000", SERVER], INFO);
    scene.say(5_004, [SERVER, "198.51.100.44:50000"], ANSWER);
    let (_, said) = scene.said();
    assert!(said.contains("2,000 requests from 1 source\n"), "{said}");
}
