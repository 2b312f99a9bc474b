//! Many clients of one server that ask as clients do are no attack, however fast they are together; and answers to
//! requests that were not recorded are none.

use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};
use serde_json::Value;

use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "23.17.34.51:27015";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// 2,000 clients ask for info once a second, and get a challenge; they return it, or do not.
fn crowd(returns: bool) -> Capture {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..16_000_u64 {
        let client = format!("11.{}.{}.7:50000", nth % 2_000 / 200, nth % 200);
        let challenged = [INFO, &CHALLENGE[5..]].concat();
        let all: [(&str, &str, &[u8]); 4] = [
            (&client, SERVER, INFO),
            (SERVER, &client, CHALLENGE),
            (&client, SERVER, &challenged),
            (SERVER, &client, ANSWER),
        ];
        // What is repeated within a second is a copy.
        let packets = if returns { &all[..] } else { &all[..2] };
        for (step, (from, to, bytes)) in (0..).zip(packets) {
            let at = START.after(nth * 500_500 + step * 20_000);
            capture.push(at, &Datagram::new(from, to, bytes).packet());
        }
    }
    capture
}

fn run(command: &str, file: &str) -> String {
    gamewire([command, "--no-config", file]).out
}

#[test]
fn clients_that_return_their_challenges_are_no_attack_however_many_they_are() {
    for returns in [true, false] {
        let (_project, file) = Project::of_capture(crowd(returns).pcap());
        assert_eq!(run("abuse", &file).starts_with("no attack"), returns);
        let checked = run("check", &file);
        // The rule says so, whoever asks; and no single client is at fault.
        let rule = |code: &str| checked.lines().find(|line| line.starts_with(code)).unwrap();
        assert!(rule("SEC006").contains(" fail "), "{checked}");
        assert!(!checked.contains("SEC007"), "{checked}");
        assert!(checked.contains("sources toward 23.17.34.51:27015"), "{checked}");
        assert_eq!(checked.contains("UNDER ATTACK"), !returns, "{checked}");
        let summary = run("summary", &file);
        assert_eq!(summary.contains("Under attack"), !returns, "{summary}");
        let report = gamewire(["diagnose", "--no-config", "--format", "json", &file]).out;
        let report: Value = serde_json::from_str(&report).unwrap();
        let items = report["servers"][0]["items"].as_array().unwrap();
        let is_attack = |item: &Value| item["item"] == "attack.none" && item["verdict"] == "no";
        assert_eq!(items.iter().any(is_attack), !returns, "{report:#}");
    }
}

/// So many answers of so many servers to an address, 10 ms apart; with a request to another server, or without.
fn answers(count: u64, servers: u64, is_heard: bool) -> Capture {
    let (mut capture, client) = (Capture::new(Link::Ethernet), "198.51.100.7:50000");
    for nth in 0..count {
        let server = format!("203.0.113.{}:27015", nth % servers);
        let named = [&ANSWER[..6], nth.to_string().as_bytes(), &ANSWER[7..]].concat();
        let at = START.after(nth * 10_000_000);
        capture.push(at, &Datagram::new(&server, client, &named).packet());
    }
    if is_heard {
        let at = START.after_ms(60_000);
        capture.push(at, &Datagram::new(client, "203.0.114.1:27015", INFO).packet());
    }
    capture
}

#[test]
fn answers_without_requests_prove_nothing_where_no_request_was_recorded() {
    // One direction; both; more than clients ask for.
    for (count, servers, is_heard) in
        [(20, 1, false), (60, 3, false), (20, 1, true), (500, 2, false)]
    {
        let is_open = count < 500 && !is_heard;
        let (_project, file) = Project::of_capture(answers(count, servers, is_heard).pcap());
        let checked = run("check", &file);
        let rule = checked.lines().find(|line| line.starts_with("SEC005")).unwrap();
        let verdict = if is_open { " inconclusive " } else { " fail " };
        assert!(rule.contains(verdict), "{count} {servers} {is_heard}: {checked}");
        assert_eq!(checked.contains("UNDER ATTACK"), !is_open, "{checked}");
        let found = run("abuse", &file);
        assert_eq!(
            found.starts_with("no attack"),
            is_open,
            "{count} {servers} {is_heard}: {found}"
        );
        assert_eq!(found.contains("record both directions"), is_open, "{found}");
    }
}

/// A response in two packets is one response.
#[test]
fn a_monitor_that_asks_once_a_second_for_long_responses_is_no_attack() {
    let (mut capture, client, server) =
        (Capture::new(Link::Ethernet), "198.51.100.7:50000", "203.0.113.5:7778");
    for nth in 0..60_u64 {
        let first = format!(r"\hostname\A\mapname\B\numplayers\0\maxplayers\16\queryid\{nth}.1");
        let last = format!(r"\player_0\Ann\frags_0\3\queryid\{nth}.2\final\");
        let packets: [(&str, &str, &[u8]); 3] = [
            (client, server, br"\status\"),
            (server, client, first.as_bytes()),
            (server, client, last.as_bytes()),
        ];
        for (step, (from, to, bytes)) in (0..).zip(packets) {
            let at = START.after(nth * 1_000_000_000 + step * 20_000_000);
            capture.push(at, &Datagram::new(from, to, bytes).packet());
        }
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    assert!(run("abuse", &file).starts_with("no attack"), "{}", run("abuse", &file));
}

/// What a recorder recorded twice was sent once: 700 packets a second are no flood.
#[test]
fn packets_that_were_recorded_twice_are_no_flood() {
    let mut capture = Capture::new(Link::Ethernet);
    let (client, answer) =
        ("198.51.100.7:50000", Datagram::new(SERVER, "198.51.100.7:50000", ANSWER));
    capture.push(START, &Datagram::new(client, SERVER, INFO).packet());
    capture.push(START.after(20_000), &answer.packet());
    for nth in 0..6_000_u64 {
        let client = format!("11.{}.{}.7:50000", nth / 200, nth % 200);
        let at = START.after(1_000_000 + nth * 1_430_000);
        let junk = Datagram::new(&client, SERVER, &[5, nth as u8, 7, 9]).packet();
        capture.push(at, &junk);
        capture.push(at.after(10_000), &junk);
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    assert!(run("abuse", &file).starts_with("no attack"), "{}", run("abuse", &file));
    assert!(!run("diagnose", &file).contains("under attack"));
}

/// Clients with and without a challenge: each asks at this time, in milliseconds, and gets an answer.
fn asks(capture: &mut Capture, client: &str, returns: bool, at_ms: u64) {
    let challenged = [INFO, &CHALLENGE[5..]].concat();
    let all: [(&str, &str, &[u8]); 4] = [
        (client, SERVER, INFO),
        (SERVER, client, CHALLENGE),
        (client, SERVER, &challenged),
        (SERVER, client, ANSWER),
    ];
    let packets = if returns { &all[..] } else { &[all[0], all[3]] };
    for (step, (from, to, bytes)) in (0..).zip(packets) {
        let at = START.after_ms(at_ms + step);
        capture.push(at, &Datagram::new(from, to, bytes).packet());
    }
}

/// What monitors ask without a challenge, over an hour and a half, is no part of what comes at once.
#[test]
fn a_crowd_after_hours_of_monitors_is_no_attack() {
    let mut capture = Capture::new(Link::Ethernet);
    for second in 0..5_400_u64 {
        asks(&mut capture, &format!("12.0.0.{}:40000", 1 + second % 5), false, second * 1_000);
    }
    for nth in 0..4_000_u64 {
        let client = format!("11.{}.{}.7:50000", nth / 200, nth % 200);
        asks(&mut capture, &client, true, 5_500_000 + nth * 10 / 14);
    }
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    for (command, said) in
        [("check", "UNDER ATTACK"), ("summary", "Under attack"), ("diagnose", "attack.none")]
    {
        let report = run(command, &file);
        assert!(!report.contains(said), "{command}: {report}");
    }
    let found = run("abuse", &file);
    assert!(found.starts_with("no attack") && found.contains("return challenges"), "{found}");
}

/// With low thresholds, the first requests of a client are proven as those of later ones are.
#[test]
fn the_headlines_and_abuse_find_the_same_with_other_thresholds() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..150_u64 {
        asks(&mut capture, &format!("11.{nth}.0.7:{}", 50_000 + nth), true, nth * 4);
    }
    let mut forged = Capture::new(Link::Ethernet);
    for nth in 0..30_u64 {
        let client = format!("11.{nth}.0.7:50000");
        forged.push(START.after_ms(nth * 30), &Datagram::new(&client, SERVER, INFO).packet());
    }
    for (capture, is_attack) in [(capture, false), (forged, true)] {
        let (project, file) = Project::of_capture(capture.in_time().pcap());
        let settings = "[tolerances]\nflood-rate = \"10\"\nflood-window = \"1s\"\n";
        project.write("low.toml", settings);
        let settings = project.path("low.toml");
        let run = |command: &str| gamewire([command, "--config", &settings, &file]).out;
        assert_eq!(run("check").contains("UNDER ATTACK"), is_attack, "{}", run("check"));
        assert_eq!(run("summary").contains("Under attack"), is_attack, "{}", run("summary"));
        assert_eq!(!run("abuse").starts_with("no attack"), is_attack, "{}", run("abuse"));
    }
}

/// Queries of one address, 400 ms apart, each from the port of the nth: the server answers without a challenge.
fn from_one_address(queries: u64, port: fn(u64) -> u64) -> Capture {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..queries {
        asks(&mut capture, &format!("192.0.2.9:{}", port(nth)), false, nth * 400);
    }
    capture
}

/// The address of one that plays, and the server: packets of the game, for three minutes.
fn plays(capture: &mut Capture, player: &str) {
    for nth in 0..40_u64 {
        for (step, [from, to]) in [[player, SERVER], [SERVER, player]].into_iter().enumerate() {
            let at = START.after_ms(20_000 + nth * 4_000 + step as u64);
            let bytes = [&nth.to_le_bytes()[..], player.as_bytes()].concat();
            capture.push(at, &Datagram::new(from, to, &bytes).packet());
        }
    }
}

/// Players behind one address are no victim of the server: each asks again and again, or plays. In the name of a victim,
/// ports are always the same or always others.
#[test]
fn players_behind_one_address_are_no_victim() {
    let again = from_one_address(200, |nth| 40_000 + nth % 40);
    let mut once = from_one_address(40, |nth| 40_000 + nth);
    (0..40).for_each(|nth| plays(&mut once, &format!("192.0.2.9:{}", 40_000 + nth)));
    let random = from_one_address(200, |nth| 1_024 + nth * 977 % 60_000);
    let fixed = from_one_address(200, |_| 80);
    for (capture, is_attack) in [(again, false), (once, false), (random, true), (fixed, true)] {
        let (_project, file) = Project::of_capture(capture.in_time().pcap());
        let checked = run("check", &file);
        assert_eq!(checked.contains("UNDER ATTACK"), is_attack, "{checked}");
        // By the letter of the rule, an address is a source.
        assert!(checked.contains("SEC005"), "{checked}");
        assert_eq!(checked.contains("several clients behind one address"), !is_attack, "{checked}");
        assert_eq!(!run("abuse", &file).starts_with("no attack"), is_attack);
        assert_eq!(
            run("diagnose", &file).contains("misused"),
            is_attack,
            "{}",
            run("diagnose", &file)
        );
    }
}

/// A server on the other side of a link is misused: every command says so.
#[test]
fn a_reflector_that_was_recorded_on_the_way_is_a_fault() {
    for (ports, is_attack) in [(1, true), (40, false)] {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..200_u64 {
            let client = format!("192.0.2.9:{}", 40_000 + nth % ports);
            for (step, (from, to, bytes)) in
                (0..).zip([(&*client, SERVER, INFO), (SERVER, &client, ANSWER)])
            {
                let datagram = Datagram::new(from, to, bytes);
                let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
                (ip.ttl, ip.id) = (53, 1 + nth as u32 * 2 + step as u32);
                let at = START.after_ms(nth * 400 + step);
                capture.push(at, &ip.packet(protocol::UDP, &datagram.bytes()));
            }
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        assert_eq!(run("check", &file).contains("UNDER ATTACK"), is_attack);
        let report = gamewire(["diagnose", "--no-config", &file]);
        assert_eq!(report.out.contains("misused to flood others"), is_attack, "{}", report.out);
        assert_eq!(report.code, u8::from(is_attack), "{}", report.out);
    }
}

/// A host that floods a server from many ports, without a response; players get theirs.
#[test]
fn what_a_flood_explains_has_no_other_cause() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..8_000_u64 {
        let from = format!("198.51.100.66:{}", 1_024 + nth * 97 % 60_000);
        capture.push(START.after_ms(60_000 + nth), &Datagram::new(&from, SERVER, INFO).packet());
    }
    for nth in 0..20_u64 {
        asks(&mut capture, &format!("11.0.0.{}:50000", nth % 4), true, nth * 5_000);
    }
    let (_project, file) = Project::of_capture(capture.in_time().pcap());
    let report = run("diagnose", &file);
    assert!(report.contains("8,000 packets from 1 source"), "{report}");
    assert!(report.contains("The flood explains that"), "{report}");
    assert!(!report.contains("banned"), "{report}");
}
