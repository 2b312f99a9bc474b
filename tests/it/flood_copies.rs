//! What is sent once and recorded several times, at several interfaces or on both sides of NAT, is no flood of its own; and
//! what is sent again and again with one identification is one. A short capture shows the rate over what there is.

use std::path::Path;

use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};
use serde_json::{Value, json};

use crate::attacks::{attacks_of, number};
use crate::flood_sources::{anyone, say};
use crate::support::gamewire;
use crate::support::project::Project;

const SERVER: &str = "203.0.113.7:27015";
const ATTACKER: &str = "45.81.232.249:53";
const VICTIM: &str = "185.60.9.9:80";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";

/// A datagram with this identification, so many microseconds after the start.
fn identified(capture: &mut Capture, at: u64, ends: [&str; 2], bytes: &[u8], ip: [u32; 2]) {
    let datagram = Datagram::new(ends[0], ends[1], bytes);
    let [id, ttl] = ip;
    let (source, destination) = (datagram.source.ip(), datagram.destination.ip());
    let header = Ip { id, ttl: ttl as u8, ..Ip::new(source, destination) };
    capture.push(START.after(at * 1_000), &header.packet(protocol::UDP, &datagram.bytes()));
}

/// A server that answers clients for twelve seconds.
fn asked() -> Capture {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..12_u32 {
        let (client, at) = (anyone(90_000 + nth), START.after_ms(u64::from(nth) * 1_000));
        say(&mut capture, at, [&client, SERVER], INFO, 52);
        say(&mut capture, at.after(1_000_000), [SERVER, &client], ANSWER, 64);
    }
    capture
}

fn found(capture: Capture) -> (Vec<Value>, impl Fn(&str) -> String) {
    let (project, file) = Project::of_capture(capture.in_time().pcap());
    let attacks = attacks_of(Path::new(&file));
    (attacks, move |command: &str| {
        let _project = &project;
        gamewire([command, "--no-config", &file]).out
    })
}

/// From 2,000 a second of one source to 50 a second of each of sixty.
#[test]
fn senders_that_give_all_datagrams_one_identification_flood() {
    for bytes in [INFO, b"\xFF\xFF\xFF\xFFgetchallenge steam\n", &[7; 32]] {
        for (sources, rate) in [(1, 2_000), (60, 3_000)] {
            // As much as sixty players send a server that hangs.
            if sources > 1 && bytes[0] == 7 {
                continue;
            }
            let mut capture = asked();
            for nth in 0..8 * rate {
                let from = if sources == 1 { ATTACKER.to_owned() } else { anyone(nth % sources) };
                let at = 2_000_000 + u64::from(nth) * 1_000_000 / u64::from(rate);
                identified(&mut capture, at, [&from, SERVER], bytes, [54_321, 244]);
            }
            let (attacks, said) = found(capture);
            let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
            let (packets, truth) = (number(&attack["packets"]), f64::from(8 * rate));
            assert!((packets - truth).abs() <= truth / 50.0, "{packets} of {truth}");
            assert!(said("check").starts_with("UNDER ATTACK"), "{}", said("check"));
            assert!(said("diagnose").contains("under attack"), "{}", said("diagnose"));
        }
    }
}

#[test]
fn a_reflection_with_one_identification_is_one() {
    let mut capture = asked();
    for nth in 0..3_200_u64 {
        let at = 2_000_000 + nth * 2_500;
        identified(&mut capture, at, [VICTIM, SERVER], INFO, [54_321, 244]);
        say(&mut capture, START.after((at + 300) * 1_000), [SERVER, VICTIM], ANSWER, 64);
    }
    let (attacks, said) = found(capture);
    let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
    assert_eq!(attack["seat"], "reflector");
    let checked = said("check");
    assert!(
        checked.lines().any(|it| it.starts_with("SEC005") && it.contains(" fail ")),
        "{checked}"
    );
}

/// On a bridge with three ports, each datagram is recorded three times.
#[test]
fn what_three_interfaces_record_counts_once() {
    let mut capture = asked();
    for nth in 0..4_800_u32 {
        for copy in 0..3 {
            let at = 2_000_000 + u64::from(nth) * 1_666 + copy * 20;
            identified(&mut capture, at, [&anyone(nth), SERVER], INFO, [nth % 60_000 + 1, 244]);
        }
    }
    let (project, file) = Project::of_capture(capture.in_time().pcap());
    let _project = project;
    let found = gamewire(["abuse", "--no-config", "--format", "json", &file]).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["attacks"], json!([]));
    assert!(number(&found["seen"]["highest"]["rate"]) < 700.0, "{found:#}");
    // All packets are of the server.
    assert_eq!(found["seen"]["share_read"], 1.0, "{found:#}");
    assert!(!gamewire(["check", "--no-config", &file]).out.contains("UNDER ATTACK"));
}

/// Each datagram is recorded at the host's interface and at the container's, with its address.
#[test]
fn a_flood_of_a_container_is_one_attack() {
    let inside = "172.17.0.2:27015";
    let mut capture = Capture::new(Link::Ethernet);
    let mut next = 1;
    let mut twice = |capture: &mut Capture, at, ends: [&str; 2], bytes: &[u8], ttl| {
        next = next % 60_000 + 1;
        let to_inside = ends.map(|end| if end == SERVER { inside } else { end });
        let (first, second) = if ends[0] == SERVER { (to_inside, ends) } else { (ends, to_inside) };
        identified(capture, at, first, bytes, [next, ttl]);
        identified(capture, at + 15, second, bytes, [next, ttl - 1]);
    };
    for nth in 0..40_u32 {
        let (client, at) = (anyone(90_000 + nth), u64::from(nth) * 300_000);
        twice(&mut capture, at, [&client, SERVER], INFO, 52);
        twice(&mut capture, at + 900, [SERVER, &client], b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04", 64);
        twice(&mut capture, at + 30_000, [&client, SERVER], &[INFO, &[1, 2, 3, 4]].concat(), 52);
        twice(&mut capture, at + 31_000, [SERVER, &client], ANSWER, 64);
    }
    for nth in 0..16_000_u32 {
        let at = 2_000_000 + u64::from(nth) * 500;
        twice(&mut capture, at, [&anyone(nth), SERVER], INFO, 111);
    }
    let (attacks, said) = found(capture);
    let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
    assert_eq!(attack["targets"], json!([SERVER]), "{attack:#}");
    assert_eq!(attack["legitimate"]["clients"], 40, "{attack:#}");
    let packets = number(&attack["packets"]);
    assert!((packets - 16_000.0).abs() < 100.0, "{packets}");
    // The rules count it once, too.
    let checked = said("check");
    let [headline, rule] = ["UNDER ATTACK", "SEC006"].map(|begins| {
        checked.lines().find(|it| it.starts_with(begins)).unwrap_or_default().to_owned()
    });
    assert!(headline.contains(SERVER) && !headline.contains(inside), "{headline}");
    assert_eq!(rule.split_whitespace().nth_back(1), Some("1"), "{rule}");
    assert!(
        !said("diagnose").lines().next().unwrap_or_default().contains(inside),
        "{}",
        said("diagnose")
    );
}

/// A capture that is shorter than the window of a flood, in microseconds, with so many packets.
fn short(length: u64, packets: u64) -> Capture {
    let mut capture = Capture::new(Link::Ethernet);
    say(&mut capture, START, [&anyone(90_000), SERVER], INFO, 52);
    say(&mut capture, START.after(400_000), [SERVER, &anyone(90_000)], ANSWER, 64);
    for nth in 0..packets {
        let at = START.after(1_000_000 + nth * length * 1_000 / packets);
        say(&mut capture, at, [&anyone(nth as u32), SERVER], INFO, 244);
    }
    capture
}

#[test]
fn a_short_capture_shows_the_rate_over_what_there_is() {
    for (length, packets, is_attack) in
        [(80_000, 4_000, true), (2_000_000, 4_800, true), (2_000_000, 1_600, false)]
    {
        let (attacks, said) = found(short(length, packets));
        let name = format!("{packets} in {length} us: {attacks:#?}");
        assert_eq!(attacks.len(), usize::from(is_attack), "{name}");
        let checked = said("check");
        assert_eq!(checked.starts_with("UNDER ATTACK"), is_attack, "{name}: {checked}");
        let verdict = if is_attack { " fail " } else { " pass " };
        let rule = checked.lines().find(|it| it.starts_with("SEC006")).unwrap_or_default();
        assert!(is_attack == rule.contains(verdict), "{name}: {checked}");
        match attacks.first() {
            Some(attack) => {
                let (rate, truth) =
                    (number(&attack["rate"]["mean"]), packets as f64 / length as f64 * 1e6);
                assert!((rate - truth).abs() < truth / 20.0, "{rate}, not {truth}");
            }
            None => {
                let text = said("abuse");
                assert!(
                    text.contains("; the highest rate is 80") && text.contains("/s over 2 s"),
                    "{text}"
                );
            }
        }
    }
    // 400 at once may be a crowd, or the beginning of a flood.
    let (attacks, said) = found(short(40_000, 400));
    assert!(attacks.is_empty());
    let text = said("abuse").replace("\n", " ");
    assert!(text.contains("may be a flood") && text.contains("too short to tell"), "{text}");
    assert!(!said("check").lines().any(|it| it.starts_with("SEC006")), "{}", said("check"));
}

/// Nothing answers at the port, and nobody asks.
#[test]
fn what_floods_a_port_of_nobody_is_said_not_to_be_measured() {
    for is_flood in [true, false] {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..15_000_u32 {
            let at = START.after(u64::from(nth) * if is_flood { 500_000 } else { 2_000_000 });
            say(&mut capture, at, [&anyone(nth), SERVER], &[nth as u8; 600], 90);
        }
        let (attacks, said) = found(capture);
        assert!(attacks.is_empty(), "{attacks:#?}");
        let text = said("abuse").replace('\n', " ");
        let noted = "15,000 packets to ports of 203.0.113.7 that nothing shows to be a game server's, 2,000/s,";
        assert_eq!(text.contains(noted), is_flood, "{text}");
    }
}

/// Three thousand a second for seven seconds of two minutes, to all ports of a game server's host: from many hosts, or as a
/// download, whose receiver confirms.
#[test]
fn what_floods_all_ports_of_a_game_server_is_said_not_to_be_measured() {
    for is_download in [false, true] {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..120_u32 {
            let (client, at) = (anyone(90_000 + nth), START.after_ms(u64::from(nth) * 1_000));
            say(&mut capture, at, [&client, SERVER], INFO, 52);
            say(&mut capture, at.after(1_000_000), [SERVER, &client], ANSWER, 64);
        }
        for nth in 0..21_000_u32 {
            let at = START.after(60_000_000_000 + u64::from(nth) * 333_333);
            let [from, to] = match is_download {
                true => ["198.51.100.9:443".to_owned(), "203.0.113.7:50000".to_owned()],
                false => [anyone(nth), format!("203.0.113.7:{}", 1 + nth * 7 % 26_000)],
            };
            say(&mut capture, at, [&from, &to], &[nth as u8; 60], 90);
            if is_download && nth % 4 == 0 {
                say(&mut capture, at.after(1_000), [&to, &from], &[nth as u8; 20], 64);
            }
        }
        let (attacks, said) = found(capture);
        assert!(attacks.is_empty(), "{attacks:#?}");
        let text = said("abuse").replace('\n', " ");
        let noted =
            " packets to ports of 203.0.113.7 that nothing shows to be a game server's, 3,000/s,";
        assert_eq!(text.contains(noted), !is_download, "{text}");
    }
}

#[test]
fn every_attack_says_how_many_clients_are_real() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..4_000_u64 {
        let server = format!("203.0.113.{}:27015", 1 + nth % 40);
        say(&mut capture, START.after_ms(nth), [&server, VICTIM], ANSWER, 50);
        if nth % 50 == 0 {
            say(&mut capture, START.after_ms(nth), [VICTIM, "192.0.2.77:3074"], b"game", 64);
        }
    }
    let (attacks, _) = found(capture);
    let [attack] = &attacks[..] else { panic!("one attack: {attacks:#?}") };
    assert_eq!(attack["seat"], "victim");
    assert_eq!(
        [&attack["legitimate"]["clients"], &attack["legitimate"]["packets"]],
        [&json!(0); 2]
    );
}
