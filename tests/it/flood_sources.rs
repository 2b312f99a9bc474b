//! Who floods, and who only seems to: clients in whose names packets are forged, crowds that return their challenges,
//! and players who ask for nothing.

use std::net::SocketAddr;
use std::path::Path;

use captures::wire::{Capture, Datagram, Ip, Link, START, Time, protocol};
use serde_json::{Value, json};

use crate::attacks::{attacks_of, number};
use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "23.17.34.51:27015";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// Datagrams, in any order.
struct Scene(Capture);

impl Scene {
    fn new() -> Scene {
        Scene(Capture::new(Link::Ethernet))
    }

    /// A datagram, so many microseconds after the start, with this hop limit.
    fn say(&mut self, at: u64, ends: [&str; 2], bytes: &[u8], ttl: u8) {
        say(&mut self.0, START.after(at * 1_000), ends, bytes, ttl);
    }

    /// A client asks, returns its challenge, and gets its answer.
    fn asks(&mut self, at: u64, client: &str, server: &str, challenge: [u8; 4], ttl: u8) {
        let (there, back) = ([client, server], [server, client]);
        self.say(at, there, INFO, ttl);
        self.say(at + 100, back, &[b"\xFF\xFF\xFF\xFFA", &challenge[..]].concat(), 64);
        self.say(at + 40_000, there, &[INFO, &challenge].concat(), ttl);
        self.say(at + 40_100, back, ANSWER, 64);
    }

    /// Thirty packets a second of a player, and twenty of the server, for so many seconds.
    fn plays(&mut self, seconds: u64, client: &str, ttl: u8) {
        self.plays_at(seconds, [client, SERVER], ttl);
    }

    /// The same at another server.
    fn plays_at(&mut self, seconds: u64, [client, server]: [&str; 2], ttl: u8) {
        for nth in 0..30 * seconds {
            let bytes = [&nth.to_le_bytes()[..], &[5; 40]].concat();
            self.say(nth * 33_333, [client, server], &bytes, ttl);
        }
        for nth in 0..20 * seconds {
            self.say(nth * 50_000 + 17, [server, client], &[6; 120], 64);
        }
    }

    /// 4,000 packets a second, from second 4 to second 16; `from`: who seems to send the nth.
    fn flood(
        &mut self,
        from: impl Fn(u32) -> String,
        to: impl Fn(u32) -> String,
        bytes: &[u8],
        ttl: impl Fn(u32) -> u8,
    ) {
        for nth in 0..48_000 {
            let at = 4_000_000 + u64::from(nth) * 250;
            self.say(at, [&from(nth), &to(nth)], bytes, ttl(nth));
        }
    }

    /// The attacks that `abuse` finds.
    fn attacks(self) -> Vec<Value> {
        let (_project, file) = Project::of_capture(self.0.in_time().pcap());
        attacks_of(Path::new(&file))
    }

    /// No command finds an attack.
    fn has_no_attack(self) {
        let (_project, file) = Project::of_capture(self.0.in_time().pcap());
        let found = attacks_of(Path::new(&file));
        assert!(found.is_empty(), "{found:#?}");
        for command in ["check", "summary", "diagnose"] {
            let said = gamewire([command, "--no-config", &file]).out;
            assert!(!said.to_lowercase().contains("under attack"), "{command}: {said}");
        }
    }
}

/// A datagram at this time, with this hop limit, and an identification of its own.
pub(crate) fn say(capture: &mut Capture, time: Time, [from, to]: [&str; 2], bytes: &[u8], ttl: u8) {
    let datagram = Datagram::new(from, to, bytes);
    let id = (capture.packets.len() as u32).wrapping_mul(7_919) + 1;
    let ip = Ip { id, ttl, ..Ip::new(datagram.source.ip(), datagram.destination.ip()) };
    capture.push(time, &ip.packet(protocol::UDP, &datagram.bytes()));
}

/// The nth of many addresses.
pub(crate) fn anyone(nth: u32) -> String {
    let [a, b, c, d] = nth.wrapping_mul(0x9E37_79B1).to_be_bytes();
    format!("{}.{b}.{c}.{d}:{}", 11 + a % 80, 1_024 + nth % 60_000)
}

fn player(nth: u32) -> String {
    format!("91.{nth}.7.9:{}", 27_005 + nth)
}

fn only(mut attacks: Vec<Value>) -> Value {
    assert_eq!(attacks.len(), 1, "{attacks:#?}");
    attacks.remove(0)
}

fn is_near(value: &Value, wanted: f64) {
    assert!((number(value) - wanted).abs() <= wanted / 50.0, "{value} instead of {wanted}");
}

#[test]
fn servers_that_return_the_challenges_of_their_master_do_not_flood_it() {
    let mut scene = Scene::new();
    let master = "208.64.200.65:27011";
    for nth in 0..10_000_u32 {
        let (server, at) = (anyone(nth), u64::from(nth) * 800);
        scene.say(at, [&server, master], b"q", 110);
        scene.say(
            at + 50,
            [master, &server],
            &[b"\xFF\xFF\xFF\xFFs\n", &nth.to_le_bytes()[..]].concat(),
            64,
        );
        let info = format!(
            "0\n\\protocol\\7\\challenge\\{nth}\\players\\0\\max\\2\\bots\\0\\gamedir\\tf\\map\\cp\\password\\0\\os\\l\
             \\lan\\0\\region\\255\\type\\d\\secure\\1\\version\\1.0.0.0\\product\\tf\n"
        );
        scene.say(at + 30_000, [&server, master], info.as_bytes(), 110);
    }
    scene.has_no_attack();
}

/// The code that each returns is correct for the challenge, unknown, or wrong.
#[test]
fn servers_that_answer_the_challenges_of_a_text_master_do_not_flood_it() {
    let master = "208.64.200.65:27900";
    for (game, code, are_real) in
        [("ut", "3JOdDFU5", true), ("rune", "3JOdDFU5", true), ("ut", "AAAAAAAA", false)]
    {
        let mut scene = Scene::new();
        for nth in 0..10_000_u32 {
            let (server, at) = (anyone(nth), u64::from(nth) * 800);
            let beat = format!(r"\heartbeat\7778\gamename\{game}\");
            scene.say(at, [&server, master], beat.as_bytes(), 100 + (nth % 20) as u8);
            scene.say(at + 50, [master, &server], br"\basic\\secure\XDWAOR", 64);
            let code = format!(r"\heartbeat\7778\gamename\{game}\validate\{code}\final\");
            let is_late = 30_000 + u64::from(nth % 7);
            scene.say(at + is_late, [&server, master], code.as_bytes(), 100 + (nth % 20) as u8);
        }
        match are_real {
            true => scene.has_no_attack(),
            false => {
                let attack = only(scene.attacks());
                assert_eq!(
                    (&attack["seat"], &attack["legitimate"]["clients"]),
                    (&json!("flooded_master"), &json!(0))
                );
                // The master challenged them all.
                assert_eq!(attack["responses"]["packets"], 10_000, "{attack:#}");
            }
        }
    }
}

/// As each client of a game does, from another port: their packets of the game are no requests.
#[test]
fn players_who_also_ask_are_players() {
    let real_attacker = "45.81.232.9:5000";
    for is_real in [false, true] {
        let mut scene = Scene::new();
        for nth in 0..20_u32 {
            scene.plays(20, &player(nth), 110);
            let browser = format!("91.{nth}.7.9:{}", 50_000 + nth);
            scene.asks(700_000 * u64::from(nth), &browser, SERVER, [1, 2, 3, nth as u8], 110);
        }
        scene.asks(2_000_000, real_attacker, SERVER, [7; 4], 110);
        let challenged = [INFO, &[7; 4]].concat();
        match is_real {
            true => scene.flood(
                |_| real_attacker.to_owned(),
                |_| SERVER.to_owned(),
                &challenged,
                |_| 110,
            ),
            false => scene.flood(anyone, |_| SERVER.to_owned(), INFO, |_| 110),
        }
        let attack = only(scene.attacks());
        let real = &attack["legitimate"];
        let others = u64::from(!is_real);
        assert_eq!(real["clients"], 20 + others, "{attack:#}");
        // Without the first ones, before it was known that they play.
        assert!(number(&real["packets"]) > 0.95 * 20.0 * 602.0, "{attack:#}");
        let evidence = attack["evidence"].to_string();
        assert_eq!(evidence.contains("1 source with more than 20 requests"), is_real, "{evidence}");
        assert_eq!(evidence.contains("more than 20 requests"), is_real, "{evidence}");
        let filters = attack["filters"].as_array().unwrap();
        let sources = filters.iter().find(|it| it["kind"] == "sources");
        let rules = sources.map(|it| it["text"].to_string()).unwrap_or_default();
        assert_eq!(rules.contains("45.81.232.9"), is_real, "{rules}");
        assert!(!rules.contains(" 91."), "{rules}");
        assert!(
            attack["filters"]
                .as_array()
                .unwrap()
                .iter()
                .all(|it| number(&it["collateral"]) <= 0.05)
        );
    }
}

/// All come as far: what drops the flood by its hop limit drops them.
#[test]
fn players_at_several_ports_are_of_all_of_them() {
    for (bytes, asks) in [(INFO, true), (INFO, false), (&[9; 60][..], true)] {
        let port = |nth: u32| format!("23.17.34.51:{}", 27_015 + nth % 5);
        let mut scene = Scene::new();
        for nth in 0..20_u32 {
            scene.plays_at(20, [&player(nth), &port(nth)], 52);
            if asks || nth < 5 {
                let browser = format!("91.{nth}.7.9:{}", 50_000 + nth);
                scene.asks(90_000 * u64::from(nth), &browser, &port(nth), [1, 2, 3, nth as u8], 52);
            }
        }
        scene.flood(anyone, port, bytes, |_| 52);
        let attack = only(scene.attacks());
        assert_eq!(attack["targets"].as_array().map(Vec::len), Some(5));
        assert_eq!(attack["legitimate"]["clients"], 20, "{attack:#}");
        assert!(number(&attack["legitimate"]["packets"]) > 0.95 * 20.0 * 601.0, "{attack:#}");
        let best = &attack["filters"][0];
        assert!(best.is_null() || number(&best["collateral"]) <= 0.05, "{best:#}");
    }
}

#[test]
fn many_clients_behind_one_address_are_no_reflection() {
    let mut scene = Scene::new();
    for nth in 0..2_000_u32 {
        let client = format!("84.22.10.9:{}", 40_000 + nth % 120);
        scene.asks(u64::from(nth) * 9_000, &client, SERVER, nth.to_le_bytes(), 55);
    }
    scene.has_no_attack();
}

#[test]
fn what_a_browser_gets_is_no_flood_where_what_it_asks_was_not_recorded() {
    let mut scene = Scene::new();
    for nth in 0..3_000_u32 {
        let (server, at) = (anyone(nth), u64::from(nth) * 1_500);
        let ends = [server.as_str(), "81.2.69.142:50123"];
        scene.say(at, ends, &[b"\xFF\xFF\xFF\xFFA", &nth.to_le_bytes()[..]].concat(), 50);
        scene.say(at + 40_000, ends, ANSWER, 50);
    }
    scene.has_no_attack();
}

/// Their sockets are forged, on another way.
#[test]
fn a_flood_in_the_names_of_players_is_one_and_no_player_is_named() {
    for bytes in [&[9; 50][..], b"\xFF\xFF\xFF\xFFgetchallenge\n", INFO] {
        let mut scene = Scene::new();
        (0..24).for_each(|nth| {
            scene.plays(20, &player(nth), 108 + (nth % 9) as u8);
            scene.asks(
                100_000 * u64::from(nth),
                &player(nth),
                SERVER,
                [1, 2, 3, nth as u8],
                108 + (nth % 9) as u8,
            );
        });
        scene.flood(|nth| player(nth % 24), |_| SERVER.to_owned(), bytes, |_| 240);
        let (_project, file) = Project::of_capture(scene.0.in_time().pcap());
        let attack = only(attacks_of(Path::new(&file)));
        is_near(&attack["packets"], 48_000.0);
        assert_eq!(attack["sources"]["top"].as_array().map(Vec::len), Some(0), "{attack:#}");
        let text = gamewire(["abuse", "--no-config", &file]).out;
        // Those that ask, too, are known by that.
        let how = ["", ", sent a further request, or play: "][usize::from(bytes != INFO)];
        assert!(text.contains(&format!(" clients returned a challenge{how}")), "{text}");
    }
}

/// Their hop limits are random: a few packets come as far as the client's own.
#[test]
fn clients_in_whose_names_others_flood_are_no_attackers() {
    let mut scene = Scene::new();
    for nth in 0..25_u32 {
        for query in 0..4 {
            let at = u64::from(nth) * 100_000 + query * 4_500_000;
            scene.asks(at, &player(nth), SERVER, [1, 2, 3, nth as u8], 100 + (nth % 15) as u8);
        }
    }
    let from = |nth: u32| format!("91.{}.7.9:{}", nth % 25, 1_024 + nth % 60_000);
    scene.flood(
        from,
        |_| SERVER.to_owned(),
        INFO,
        |nth| 40 + (nth.wrapping_mul(2_654_435_761) >> 25) as u8,
    );
    let (_project, file) = Project::of_capture(scene.0.in_time().pcap());
    let attack = only(attacks_of(Path::new(&file)));
    assert_eq!(attack["forged"], "yes");
    assert_eq!(attack["sources"]["top"].as_array().map(Vec::len), Some(0), "{attack:#}");
    let filters = attack["filters"].as_array().unwrap();
    assert!(filters.iter().all(|it| it["kind"] != "sources"), "{filters:#?}");
    let folder = format!("{file}.reports");
    let reporter = "Example <abuse@example.net>";
    let said =
        gamewire(["abuse", "--no-config", "--report", &folder, "--reporter", reporter, &file]);
    assert!(said.err.contains("the sources are forged"), "{}", said.err);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_player_who_floods_from_another_port_is_told_from_his_game() {
    let mut scene = Scene::new();
    (0..20).for_each(|nth| scene.plays(20, &player(nth), 110));
    scene.asks(0, &anyone(90_000), SERVER, [1; 4], 110);
    scene.flood(|_| "91.3.7.9:50000".to_owned(), |_| SERVER.to_owned(), &[1; 200], |_| 110);
    let attack = only(scene.attacks());
    is_near(&attack["packets"], 48_000.0);
    let best = &attack["filters"][0];
    assert!(number(&best["drops"]) > 0.99 && number(&best["collateral"]) < 0.001, "{best:#}");
}

#[test]
fn requests_or_other_packets_to_several_ports_or_hosts_are_one_flood() {
    for bytes in [INFO, &[3; 80]] {
        for is_network in [false, true] {
            let server = |nth: u32| match is_network {
                true => format!("23.17.34.{}:27015", 1 + nth % 60),
                false => format!("23.17.34.51:{}", 27_015 + nth % 6),
            };
            let mut scene = Scene::new();
            for nth in 0..60 {
                scene.asks(
                    u64::from(nth) * 10_000,
                    &anyone(90_000 + nth),
                    &server(nth),
                    [1; 4],
                    110,
                );
            }
            scene.flood(anyone, server, bytes, |_| 244);
            let (_project, file) = Project::of_capture(scene.0.in_time().pcap());
            let attack = only(attacks_of(Path::new(&file)));
            let checked = gamewire(["check", "--no-config", &file]).out;
            let is_said = checked.starts_with("UNDER ATTACK");
            // Rules are about hosts.
            assert_eq!(is_said, !is_network, "{}", checked.lines().next().unwrap_or_default());
            let is_named = checked.contains(" to 6 ports of 23.17.34.51, from about ");
            assert_eq!(is_named, !is_network, "{checked}");
            assert_eq!(attack["seat"], "flooded_server");
            let targets = if is_network { 60 } else { 6 };
            assert_eq!(attack["targets"].as_array().map(Vec::len), Some(targets), "{attack:#}");
            is_near(&attack["packets"], 48_000.0);
        }
    }
}

#[test]
fn more_pulses_than_are_named_count() {
    let mut scene = Scene::new();
    for pulse in 0..40_u64 {
        for nth in 0..7_000_u64 {
            let from = anyone((pulse * 7_000 + nth) as u32);
            scene.say(pulse * 6_000_000 + nth * 142, [&from, SERVER], INFO, 244);
        }
    }
    let attack = only(scene.attacks());
    is_near(&attack["rate"]["mean"], 7_000.0);
    assert!(number(&attack["rate"]["mean"]) <= number(&attack["rate"]["peak"]), "{attack:#}");
    assert!(attack["end"].as_str().unwrap().contains("T00:03:5"), "{}", attack["end"]);
}

/// Nobody proved to be a client: one hop limit of all packets is none that many clients have.
#[test]
fn without_clients_what_few_can_have_in_common_comes_before_a_limit_for_all() {
    let mut scene = Scene::new();
    scene.flood(anyone, |_| SERVER.to_owned(), INFO, |_| 244);
    let attack = only(scene.attacks());
    assert_eq!(attack["filters"][0]["kind"], "hop_limit", "{attack:#}");
}

#[test]
fn only_what_would_be_longer_with_a_challenge_lacks_one() {
    for (bytes, kind) in
        [(INFO, "missing_challenge"), (b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF", "length")]
    {
        let mut scene = Scene::new();
        for nth in 0..100_u32 {
            // Their challenges are known from before.
            let (client, at) = (anyone(90_000 + nth), u64::from(nth) * 180_000);
            scene.say(at, [SERVER, &client], b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04", 64);
            if nth == 0 {
                scene.asks(at + 1, &client, SERVER, [1, 2, 3, 4], 110);
            }
            scene.say(at + 50_000, [&client, SERVER], &[INFO, &[1, 2, 3, 4]].concat(), 110);
            scene.say(at + 50_100, [SERVER, &client], ANSWER, 64);
        }
        scene.flood(anyone, |_| SERVER.to_owned(), bytes, |nth| 100 + (nth % 24) as u8);
        let attack = only(scene.attacks());
        let kinds = attack["filters"].as_array().unwrap().iter();
        let kinds: String = kinds.filter_map(|it| it["kind"].as_str()).collect();
        assert!(kinds.contains(kind), "{kinds}");
        assert!(kind != "length" || !kinds.contains("missing_challenge"), "{kinds}");
    }
}

/// Servers with players are asked in its name, while it asks others what they are.
#[test]
fn what_a_victim_asked_for_is_told_from_what_floods_it_by_its_beginning() {
    let (mut scene, victim) = (Scene::new(), "81.2.69.142:50123");
    for nth in 0..60_u32 {
        let at = u64::from(nth) * 250_000;
        scene.asks(at, victim, &anyone(90_000 + nth), nth.to_le_bytes(), 64);
    }
    let players = b"\xFF\xFF\xFF\xFFD\x01\0Ann\0\x05\0\0\0\0\0\x20\x41";
    scene.flood(|nth| anyone(70_000 + nth % 200), |_| victim.to_owned(), players, |_| 50);
    let attack = only(scene.attacks());
    assert_eq!(attack["seat"], "victim");
    let best = &attack["filters"][0];
    assert!(number(&best["drops"]) > 0.99 && number(&best["collateral"]) < 0.001, "{best:#}");
}

/// They are no datagrams of a port, so that nobody is attacked for certain.
#[test]
fn fragments_that_never_become_whole_are_said_not_to_be_measured() {
    let mut scene = Scene::new();
    scene.asks(0, &anyone(90_000), SERVER, [1; 4], 110);
    for nth in 0..500_u32 {
        let (from, to) = (anyone(nth).parse::<SocketAddr>(), SERVER.parse::<SocketAddr>());
        let ip = Ip { id: nth + 7, ..Ip::new(from.unwrap().ip(), to.unwrap().ip()) };
        let packet = ip.fragment(protocol::UDP, 0, true, &[9; 1_480]);
        scene.0.push(START.after_ms(1_000 + u64::from(nth)), &packet);
    }
    let (_project, file) = Project::of_capture(scene.0.in_time().pcap());
    let said = gamewire(["abuse", "--no-config", &file]).out;
    assert!(said.contains("the fragments of 500 IP datagrams that never became whole"), "{said}");
    let said = gamewire(["abuse", "--no-config", "samples/a2s-vlan-ipv6-fragments.pcapng"]).out;
    assert!(said.starts_with("no attack") && !said.contains("fragments"), "{said}");
}
