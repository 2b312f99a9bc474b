//! Packets of the game itself, beside queries: what players and servers send each other is no attack, also where it is
//! split as long responses are; and what is an attack, although it looks like theirs.

use std::net::{IpAddr, SocketAddr};

use captures::wire::{Capture, Datagram, Ip, Link, START, icmp, protocol};
use serde_json::{Value, json};

use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "23.17.34.51:27015";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// Packets of a capture, each with its milliseconds.
struct Traffic(Vec<(u64, Vec<u8>)>);

impl Traffic {
    /// A client that asks for info once, as clients do, and gets it.
    fn new() -> Traffic {
        let mut traffic = Traffic(Vec::new());
        traffic.send(2_000, "198.51.100.7:50000", SERVER, INFO);
        traffic.send(2_020, SERVER, "198.51.100.7:50000", ANSWER);
        traffic
    }

    fn send(&mut self, ms: u64, from: &str, to: &str, payload: &[u8]) {
        // Each has another identification, so that none is a copy.
        self.send_as(ms, from, to, payload, (64, self.0.len() as u16));
    }

    fn send_as(&mut self, ms: u64, from: &str, to: &str, payload: &[u8], (ttl, id): (u8, u16)) {
        let datagram = Datagram::new(from, to, payload);
        let [source, destination] = [datagram.source.ip(), datagram.destination.ip()];
        let ip = Ip { ttl, id: id.into(), ..Ip::new(source, destination) };
        self.0.push((ms, ip.packet(protocol::UDP, &datagram.bytes())));
    }

    /// Packets of the game between a player and the server, 20 a second in each direction, for so many milliseconds; the
    /// server may be silent.
    fn plays(&mut self, player: &str, until: u64, answers: bool) {
        for nth in 0..until / 50 {
            self.send(nth * 50 + 7, player, SERVER, &content(nth, 40));
            if answers {
                self.send(nth * 50 + 9, SERVER, player, &content(nth, 120));
            }
        }
    }

    /// So many packets a second from this source for five seconds, from the third on.
    fn flood(&mut self, rate: u64, packet: impl Fn(u64) -> (String, Vec<u8>, u8)) {
        for nth in 0..rate * 5 {
            let (from, payload, ttl) = packet(nth);
            self.send_as(3_000 + nth * 1_000 / rate, &from, SERVER, &payload, (ttl, nth as u16));
        }
    }

    /// What `abuse` and `check` find, as JSON, and what `abuse` writes.
    fn found(mut self) -> Found {
        self.0.sort_by_key(|(ms, _)| *ms);
        let mut capture = Capture::new(Link::Ethernet);
        self.0.iter().for_each(|(ms, packet)| capture.push(START.after_ms(*ms), packet));
        let (project, file) = Project::of_capture(capture.pcap());
        let json = |command| {
            let out = gamewire([command, "--no-config", "--format", "json", &file]).out;
            serde_json::from_str::<Value>(&out).unwrap()
        };
        let text = gamewire(["abuse", "--no-config", &file]).out;
        let (abuse, check) = (json("abuse"), json("check"));
        Found {
            attacks: abuse["attacks"].as_array().unwrap().clone(),
            text,
            check,
            file,
            _project: project,
        }
    }
}

struct Found {
    attacks: Vec<Value>,
    text: String,
    check: Value,
    file: String,
    _project: Project,
}

impl Found {
    /// The verdict of a rule.
    fn verdict(&self, code: &str) -> &str {
        let rules = self.check["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["code"] == code).unwrap()["verdict"].as_str().unwrap()
    }

    /// The only attack.
    fn attack(&self) -> &Value {
        let [attack] = &self.attacks[..] else { panic!("not one attack: {}", self.text) };
        attack
    }

    /// There is no attack, says each command.
    fn is_calm(&self) {
        assert!(self.text.starts_with("no attack"), "{}", self.text);
        assert_ne!(self.verdict("SEC005"), "fail", "{:#}", self.check["findings"]);
        let diagnosed = gamewire(["diagnose", "--no-config", &self.file]);
        assert!(!diagnosed.out.contains("attack: "), "{}", diagnosed.out);
        assert_eq!(diagnosed.code, 0, "{}", diagnosed.out);
    }
}

/// A packet of the game: a number that counts up, and what looks random.
fn content(nth: u64, length: usize) -> Vec<u8> {
    let word = (nth + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    let rest = (0..length).map(|at| word[at % 7] ^ (at as u8).wrapping_mul(29));
    [&(nth as u32 + 100).to_le_bytes()[..], &rest.collect::<Vec<_>>()].concat()
}

/// A snapshot of the game in two packets, as the engines of Source and GoldSource send those that are too long for one.
fn snapshot(nth: u64, is_source: bool) -> [Vec<u8>; 2] {
    [0_u8, 1].map(|number| {
        let head = [&b"\xFE\xFF\xFF\xFF"[..], &(nth as u32 + 1).to_le_bytes()].concat();
        let numbers = if is_source { vec![2, number, 0xE0, 0x04] } else { vec![number << 4 | 2] };
        let length = if number == 0 { 1_196 } else { 390 };
        [head, numbers, content(nth * 3 + 5, length)].concat()
    })
}

/// Eight players, of whom the server sends each five snapshots a second.
fn snapshots(is_source: bool, traffic: &mut Traffic) {
    for player in 0..8 {
        let player = format!("11.{player}.7.9:27005");
        traffic.plays(&player, 12_000, true);
        for nth in 0..60 {
            let parts = snapshot(nth, is_source);
            parts.iter().for_each(|part| traffic.send(nth * 200 + 20, SERVER, &player, part));
        }
    }
}

#[test]
fn split_packets_of_the_game_are_no_responses_and_no_attack() {
    for is_source in [true, false] {
        let mut traffic = Traffic::new();
        snapshots(is_source, &mut traffic);
        let found = traffic.found();
        found.is_calm();
        let findings = found.check["findings"].as_array().unwrap();
        let codes = Vec::from_iter(findings.iter().map(|it| it["rule"].as_str().unwrap()));
        assert!(!codes.iter().any(|code| code.starts_with("A2S04")), "{codes:?}");
        assert_eq!(found.verdict("SEC001"), "pass");
    }
}

#[test]
fn where_nobody_asks_split_packets_of_the_game_are_no_attack_either() {
    let mut traffic = Traffic(Vec::new());
    snapshots(true, &mut traffic);
    let found = traffic.found();
    assert!(found.text.starts_with("no attack"), "{}", found.text);
    assert_eq!(found.check["findings"], json!([]));
}

/// A player may send such packets, too; but no engine sends a header alone.
#[test]
fn a_split_header_without_content_is_an_attack_whoever_sends_it() {
    for (from, is_attack) in [("11.0.7.9:27005", false), ("91.12.4.5:4444", true)] {
        let mut traffic = Traffic::new();
        traffic.plays("11.0.7.9:27005", 6_000, true);
        for nth in 0..40 {
            match is_attack {
                true => traffic.send(1_000 + nth * 20, from, SERVER, b"\xFE\xFF\xFF\xFF"),
                false => {
                    let parts = snapshot(nth, true);
                    parts
                        .iter()
                        .for_each(|part| traffic.send(1_000 + nth * 20, from, SERVER, part));
                }
            }
        }
        let found = traffic.found();
        assert_eq!(found.verdict("SEC001"), if is_attack { "fail" } else { "pass" });
        if !is_attack {
            found.is_calm();
            continue;
        }
        assert_eq!(found.attack()["seat"], "crash_attempt");
        assert!(found.text.contains("remedy "), "{}", found.text);
        // They ask for nothing.
        let checked = gamewire(["check", "--no-config", &found.file]).out;
        assert!(checked.contains("1 of 1 request answered"), "{checked}");
    }
}

/// It was given the challenge before the capture began.
#[test]
fn a_client_that_uses_its_challenge_again_shows_no_reflection() {
    let gamespy = br"splitnum.?.hostname.A.numplayers.3.maxplayers.9.hostport.7777..";
    let gamespy = gamespy.map(|byte| if byte == b'.' { 0 } else { byte });
    let gamespy =
        [&b"\0\0\0\0\x01"[..], &gamespy.map(|byte| if byte == b'?' { 0x80 } else { byte })];
    let players = b"\xFF\xFF\xFF\xFFD\x01\0bob\0\x03\0\0\0\0\0\xC8\x42";
    for (request, answer) in [
        ([INFO, b"\x6B\xDB\x0B\0"].concat(), ANSWER.to_vec()),
        (b"\xFF\xFF\xFF\xFFU\x6B\xDB\x0B\0".to_vec(), players.to_vec()),
        (b"\xFE\xFD\0\0\0\0\x01\0\x91\x29\x5B\0\0\0\0".to_vec(), gamespy.concat()),
    ] {
        let mut traffic = Traffic(Vec::new());
        for nth in 0..75 {
            traffic.send(nth * 400, "80.1.1.1:33333", SERVER, &request);
            traffic.send(nth * 400 + 1, SERVER, "80.1.1.1:33333", &answer);
        }
        traffic.found().is_calm();
    }
}

/// So many players whose server sends nothing, for ten seconds.
fn hung(players: u32) -> Traffic {
    let mut traffic = Traffic::new();
    for player in 0..players {
        traffic.plays(&format!("11.{}.{}.9:27005", player / 200, player % 200), 10_000, false);
    }
    traffic
}

#[test]
fn players_of_a_server_that_hangs_are_no_flood() {
    let found = hung(64).found();
    found.is_calm();
    assert!(found.text.contains("whose server hangs or has ended"), "{}", found.text);
    assert_eq!(found.verdict("SEC007"), "inconclusive");
    // There are more than players of a server.
    assert_eq!(hung(300).found().attack()["seat"], "flooded_server");
    // Where others play, it does not hang.
    let mut traffic = hung(64);
    traffic.plays("12.0.7.9:27005", 10_000, true);
    let found = traffic.found();
    assert_eq!(found.attack()["seat"], "flooded_server");
    assert_eq!(found.verdict("SEC007"), "fail");
}

#[test]
fn players_of_a_server_that_has_ended_are_no_flood() {
    let mut traffic = hung(64);
    // Nobody asks, and the host says that the port is closed.
    let asked = |packet: &[u8]| packet.windows(INFO.len()).any(|bytes| bytes == INFO);
    traffic.0.retain(|(ms, packet)| *ms != 2_020 || asked(packet));
    let server: SocketAddr = SERVER.parse().unwrap();
    let refused = Vec::from_iter(traffic.0.iter().step_by(20).cloned());
    for (ms, packet) in refused {
        let player = IpAddr::from(<[u8; 4]>::try_from(&packet[12..16]).unwrap());
        let error = icmp::error([3, 3], 0, [server.ip(), player], &packet[..28]);
        traffic.0.push((ms, Ip::new(server.ip(), player).packet(icmp::protocol(player), &error)));
    }
    let found = traffic.found();
    assert!(found.text.contains("whose server hangs or has ended"), "{}", found.text);
    assert!(!found.text.contains("record both"), "{}", found.text);
    assert_eq!(found.verdict("SEC007"), "inconclusive");
}

/// Packets of a player are numbered.
#[test]
fn the_same_packet_again_and_again_is_no_play() {
    let mut traffic = Traffic::new();
    for source in 0..64 {
        for nth in 0..300 {
            let from = format!("11.0.{source}.9:27005");
            traffic.send(nth * 30 + source, &from, SERVER, &content(7, 40 + source as usize));
        }
    }
    let found = traffic.found();
    assert_eq!(found.attack()["seat"], "flooded_server");
    assert_eq!(found.verdict("SEC007"), "fail");
}

/// Sources of one program: nothing shows that they are forged, and nothing said contradicts that.
#[test]
fn sources_with_one_port_and_one_identification_are_not_forged() {
    let mut traffic = Traffic::new();
    traffic.plays("84.0.7.9:27005", 10_000, true);
    for nth in 0..10_000_u64 {
        let from = format!("{}.7.{}.9:4444", 11 + nth % 40, nth % 40);
        let ttl = 44 + (nth % 40) as u8 / 3;
        traffic.send_as(3_000 + nth / 2, &from, SERVER, INFO, (ttl, 1));
    }
    let found = traffic.found();
    assert_eq!(found.attack()["forged"], "no", "{}", found.text);
    assert!(found.text.contains("no: 40 of 40 sources"), "{}", found.text);
}

#[test]
fn one_socket_that_floods_and_is_not_answered_is_not_forged() {
    let mut traffic = Traffic::new();
    traffic.plays("11.0.7.9:27005", 10_000, true);
    traffic.flood(2_000, |nth| ("45.81.232.249:35723".to_owned(), content(nth, 1_020), 52));
    let found = traffic.found();
    assert_eq!(found.attack()["forged"], "no");
    let evidence = found.attack()["evidence"][0].as_str().unwrap();
    assert!(evidence.contains("kept to one port"), "{evidence}");
}

/// Players share the attacker's address, so that nothing else names him; where many others' addresses are forged, they
/// are not named.
#[test]
fn an_attacker_behind_the_address_of_players_is_named() {
    for is_forged in [false, true] {
        let mut traffic = Traffic::new();
        let players = |nth: u64| match is_forged {
            true => format!("11.0.{}.9:{}", nth % 12, 27_005 + nth % 30_000),
            false => "84.44.2.1:33333".to_owned(),
        };
        for nth in 0..12 {
            let player = if is_forged {
                format!("11.0.{nth}.9:27005")
            } else {
                format!("84.44.2.1:{}", 27_005 + nth)
            };
            traffic.plays(&player, 10_000, true);
        }
        traffic.flood(2_000, |nth| {
            (players(nth), content(nth, 70), if is_forged { 20 + (nth % 200) as u8 } else { 64 })
        });
        let found = traffic.found();
        let sources = &found.attack()["sources"];
        let named = Vec::from_iter(sources["top"].as_array().unwrap().iter().map(|it| &it["name"]));
        assert_eq!(named, if is_forged { vec![] } else { vec!["84.44.2.1"] }, "{}", found.text);
    }
}

/// Minecraft's clients set only the low half of each byte of a session: many share one byte of it, and none four.
#[test]
fn a_filter_compares_all_bytes_that_an_attack_has_in_common() {
    let mut traffic = Traffic(Vec::new());
    let session = |nth: u64| {
        let word = (nth + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
        [word[3] & 15, word[4] & 15, word[5] & 15, word[6] & 15]
    };
    for nth in 0..30 {
        let (client, id) = (format!("11.7.{nth}.9:50000"), session(nth));
        traffic.send(nth * 300, &client, SERVER, &[&b"\xFE\xFD\x09"[..], &id].concat());
        traffic.send(nth * 300 + 1, SERVER, &client, &[&b"\x09"[..], &id, b"9513307\0"].concat());
        traffic.send(
            nth * 300 + 40,
            &client,
            SERVER,
            &[&b"\xFE\xFD\0"[..], &id, b"\0\x91\x29\x5B"].concat(),
        );
    }
    traffic.flood(2_000, |nth| {
        let from =
            format!("{}.{}.{}.7:{}", 13 + nth % 99, nth / 250, nth % 250, 1_024 + nth * 7 % 60_000);
        (from, b"\xFE\xFD\x09\x01\x01\x01\x01".to_vec(), 40 + (nth % 20) as u8)
    });
    let found = traffic.found();
    let filters = found.attack()["filters"].as_array().unwrap();
    let bytes = filters.iter().find(|filter| filter["kind"] == "bytes").unwrap();
    assert!(bytes["text"].as_str().unwrap().contains("01010101"), "{bytes:#}");
}

#[test]
fn what_floods_is_named_though_it_is_no_message() {
    let socket =
        |nth: u64| format!("{}.{}.{}.7:{}", 13 + nth % 99, nth / 250, nth % 250, 27_000 + nth % 40);
    let empty = |nth| (socket(nth), Vec::new(), 50);
    // Some come from ports that servers use.
    let split = |nth: u64| {
        let bytes =
            [&b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xF7\x7F\x12"[..], &[nth as u8 & 1]].concat();
        (socket(nth), bytes, 50)
    };
    let dns = |nth: u64| (format!("13.0.{}.7:53", nth % 200), content(nth, 300), 50);
    type Flood<'f> = &'f dyn Fn(u64) -> (String, Vec<u8>, u8);
    let floods: [(&str, Flood<'_>); 3] =
        [("empty packet", &empty), ("split packet", &split), ("packet of other content", &dns)];
    for (kind, flood) in floods {
        let mut traffic = Traffic::new();
        traffic.plays("11.0.7.9:27005", 10_000, true);
        traffic.flood(2_000, flood);
        let found = traffic.found();
        let attack = found.attack();
        let kinds = attack["kinds"].as_array().unwrap().iter().map(|it| &it["kind"]);
        // The player's first packets may be among them.
        let is_content = kind == "packet of other content";
        let kinds =
            Vec::from_iter(kinds.filter(|it| is_content || **it != "packet of other content"));
        assert_eq!(kinds, [kind], "{}", found.text);
        assert_eq!(attack["amplification"].is_null(), kind == "empty packet", "{}", found.text);
        let services = &attack["other_services"];
        assert_eq!(services[0]["name"].as_str(), is_content.then_some("DNS (53)"), "{services}");
    }
}

/// Each datagram is sent in two packets, of which none has its length.
#[test]
fn a_filter_by_length_takes_fragmented_datagrams() {
    let mut traffic = Traffic::new();
    traffic.plays("11.0.7.9:27005", 10_000, true);
    for nth in 0..10_000_u64 {
        let from =
            format!("{}.{}.{}.7:{}", 13 + nth % 99, nth / 250, nth % 250, 1_024 + nth * 7 % 60_000);
        let datagram = Datagram::new(&from, SERVER, &content(nth, 1_476));
        let [source, destination] = [datagram.source.ip(), datagram.destination.ip()];
        let ip = Ip { ttl: 40 + (nth % 20) as u8, id: nth as u32, ..Ip::new(source, destination) };
        let fragments = ip.fragments(protocol::UDP, 1_480, &datagram.bytes());
        traffic.0.extend(fragments.into_iter().map(|packet| (3_000 + nth / 2, packet)));
    }
    let found = traffic.found();
    let emitted =
        |firewall| gamewire(["abuse", "--no-config", "--emit", firewall, &found.file]).out;
    let iptables = emitted("iptables");
    assert!(iptables.contains("-m u32 --u32 \"0>>22&0x3C@4>>16=1488\""), "{iptables}");
    // Routers do not look behind the first packet of a datagram, nor for what a fragment is a part of.
    let flowspec = emitted("cisco-flowspec");
    assert!(!flowspec.contains("packet length"), "{flowspec}");
}
