//! What a capture does not have, and where servers stand, in `gamewire diagnose`.

use crate::flood_sources;
use crate::support::diagnosis::{self, diagnosed, verdict_of};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};
use serde_json::Value;

const ASK: &str = "FFFFFFFF 55 11223344";
const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";

/// The verdict and the cause of an item of the first server.
fn item(report: &Value, name: &str) -> [String; 2] {
    verdict_of(&report["servers"][0], name)
}

const A2S: Setting = Setting::udp(27015);

/// So many times, every ten seconds.
fn every_ten_seconds(count: u32, lines: &[(f64, String)]) -> String {
    let all = (0..count).flat_map(|round| {
        lines.iter().map(move |(at, line)| format!("{} {line}\n", f64::from(round) * 10.0 + at))
    });
    format!("{}end {}", all.collect::<String>(), count * 10 + 30)
}

#[test]
fn a_host_that_only_answers_is_a_server() {
    let lines = [(0.0, format!("s > c  {PLAYERS}"))];
    let (_, report) = diagnosed(&every_ten_seconds(12, &lines), &A2S, &[]);
    assert_eq!(report["servers"][0]["server"], "10.0.0.2:27015", "{report}");
    assert_eq!(item(&report, "seen.asked"), ["unknown", "capture_one_sided"]);
    assert_eq!(report["servers"][0]["verdict"], "unknown");
}

/// Of every fourth exchange, the recorder lost the request, or the response.
#[test]
fn losses_that_nobody_counted_accuse_nobody() {
    let whole = [(0.0, format!("c > s  {ASK}")), (0.1, format!("s > c  {PLAYERS}"))];
    let lines: Vec<_> = (0..6)
        .flat_map(|nth| {
            let lost = match nth {
                2 => Some(0),
                5 => Some(1),
                _ => None,
            };
            let kept = whole.iter().enumerate().filter(move |(at, _)| Some(*at) != lost);
            kept.map(move |(_, (at, line))| (f64::from(nth) * 1.5 + at, line.clone()))
        })
        .collect();
    let (_, report) = diagnosed(&every_ten_seconds(12, &lines), &A2S, &[]);
    assert_ne!(report["servers"][0]["verdict"], "fault", "{report}");
}

/// A capture of these datagrams: seconds, sender, receiver, payload.
fn capture_of(datagrams: impl IntoIterator<Item = (f64, String, String, Vec<u8>)>) -> Vec<u8> {
    let mut capture = Capture::new(Link::Ethernet);
    for (seconds, from, to, payload) in datagrams {
        let time = START.after((seconds * 1e9) as u64);
        capture.push(time, &Datagram::new(&from, &to, &payload).packet());
    }
    capture.pcap()
}

/// The report of a capture.
fn report_of(bytes: &[u8]) -> Value {
    let (_project, file) = Project::of_capture(bytes);
    diagnosis::report_of(&file, &[]).1
}

#[test]
fn an_address_of_a_relay_is_named() {
    let ask = b"\xFF\xFF\xFF\xFFTSource Engine Query\0".to_vec();
    let asked = (0..5).map(|nth| {
        let (client, server) = ("198.51.100.7:50000", "169.254.77.31:27015");
        (f64::from(nth) * 10.0, client.to_owned(), server.to_owned(), ask.clone())
    });
    let (_project, file) = Project::of_capture(capture_of(asked));
    for options in [&[][..], &["--complete"]] {
        let (_, report) = diagnosis::report_of(&file, options);
        assert_eq!(item(&report, "seen.answered"), ["unknown", "fake_address"], "{report}");
    }
}

#[test]
fn another_port_that_answers_is_named() {
    let mut script =
        every_ten_seconds(3, &[(0.0, format!("c > s  {ASK}")), (0.1, format!("s > c  {PLAYERS}"))]);
    script = script.replace("end 60", &format!("60 d > s:27099  {ASK}\nend 90"));
    for options in
        [&["--server", "10.0.0.2:27099"][..], &["--server", "10.0.0.2:27099", "--complete"]]
    {
        let (_, report) = diagnosed(&script, &A2S, options);
        assert_eq!(item(&report, "seen.answered"), ["unknown", "other_port_answers"], "{report}");
    }
}

#[test]
fn a_private_address_that_nobody_asks_is_named() {
    let joins = |master: &'static str| {
        (0..5).map(move |nth| {
            let server = "192.168.1.10:27015".to_owned();
            (f64::from(nth) * 300.0, server, master.to_owned(), b"q".to_vec())
        })
    };
    let report = report_of(&capture_of(joins("198.51.100.1:27010")));
    assert_eq!(item(&report, "list.address"), ["unknown", "private_address"], "{report}");
    let report = report_of(&capture_of(joins("192.168.1.1:27010")));
    assert_ne!(item(&report, "list.address")[1], "private_address", "{report}");
}

#[test]
fn counts_beyond_a_byte_are_in_the_tags() {
    let info = "FFFFFFFF 49 11 'Rusty' 00 'Map' 00 'rust' 00 'Rust' 00 0000 2C FF 00 64 6C 00 01 '2' 00 20 \
                'mp500,cp300,v2' 00";
    let lines = [
        (0.0, "c > s  FFFFFFFF 54 'Source Engine Query' 00".to_owned()),
        (0.1, format!("s > c  {info}")),
    ];
    let (_, report) = diagnosed(&every_ten_seconds(4, &lines), &A2S, &[]);
    assert_eq!(item(&report, "seen.believable"), ["unknown", "wrapped_counts"], "{report}");
}

/// 2,000 joins a second from as many ports.
#[test]
fn a_flood_of_joins_at_a_master_is_found() {
    let joins = (0..14_000).map(|nth| {
        let server = format!("203.0.{}.{}:27015", 10 + nth / 250, 1 + nth % 250);
        (f64::from(nth) / 2000.0, server, "198.51.100.1:27010".to_owned(), b"q".to_vec())
    });
    let (_project, file) = Project::of_capture(capture_of(joins));
    let run = gamewire(["abuse", "--no-config", "--format", "json", &file]);
    assert!(run.out.contains("flooded_master"), "{}", run.out);
    let check = gamewire(["check", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&check.out).unwrap();
    let rules = report["rules"].as_array().unwrap();
    let flood = rules.iter().find(|rule| rule["code"] == "SEC006").unwrap();
    assert_eq!(flood["failed"], 1, "{flood}");
}

/// Forged addresses are no parties; the servers that return the master's challenges stay the ones that are named.
#[test]
fn who_only_joins_a_flooded_master_is_no_server() {
    const MASTER: &str = "198.51.100.1:27010";
    let mut all: Vec<_> = (0..14_000)
        .map(|nth| {
            let forged = format!("{}.{}.7.9:{}", 11 + nth / 250, 1 + nth % 250, 1024 + nth);
            (20.0 + f64::from(nth) / 2000.0, forged, MASTER.to_owned(), b"q".to_vec())
        })
        .collect();
    let challenge = b"\xFF\xFF\xFF\xFFs\n\x01\0\0\0".to_vec();
    let info =
        b"0\n\\protocol\\7\\challenge\\1\\players\\0\\max\\32\\bots\\0\\gamedir\\tf\n".to_vec();
    for nth in 0..6 {
        let (at, server) = (f64::from(nth), format!("203.0.113.{}:27015", 20 + nth));
        all.push((at, server.clone(), MASTER.to_owned(), b"q".to_vec()));
        all.push((at + 0.1, MASTER.to_owned(), server.clone(), challenge.clone()));
        all.push((at + 0.2, server, MASTER.to_owned(), info.clone()));
    }
    let (client, list) =
        ("192.0.2.7:50000", b"\xFF\xFF\xFF\xFFf\n\xCB\0\x71\x14\x69\x87\0\0\0\0\0\0");
    all.push((40.0, client.to_owned(), MASTER.to_owned(), b"1\xFF0.0.0.0:0\0\0".to_vec()));
    all.push((40.1, MASTER.to_owned(), client.to_owned(), list.to_vec()));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let report = report_of(&capture_of(all));
    let servers = report["servers"].as_array().unwrap();
    let mut named = Vec::from_iter(servers.iter().map(|it| it["server"].as_str().unwrap()));
    named.sort_unstable();
    named.truncate(10);
    let real = Vec::from_iter((0..6).map(|nth| format!("203.0.113.{}:27015", 20 + nth)));
    assert_eq!(named, real);
}

/// Where clients send what they send, nothing in front of the server can hide it; and what a server sends to masters does not
/// pass there.
#[test]
fn at_a_client_only_its_own_part_is_judged() {
    let lines: Vec<_> = ["c", "d", "e"]
        .into_iter()
        .flat_map(|client| {
            [
                (0.0, format!("{client} > s  FFFFFFFF 54 'Source Engine Query' 00")),
                (0.1, format!("s > {client} ttl=51  FFFFFFFF 41 le32:7")),
            ]
        })
        .collect();
    let (_, report) = diagnosed(&every_ten_seconds(8, &lines), &A2S, &[]);
    assert_eq!(report["servers"][0]["seat"], "client", "{report}");
    assert_eq!(item(&report, "seen.verified"), ["unknown", "challenge_not_returned"], "{report}");
    for client in report["clients"].as_array().unwrap() {
        assert_eq!(
            verdict_of(client, "ask.challenge"),
            ["no", "challenge_not_returned"],
            "{report}"
        );
    }
    let response =
        r"'\\gamename\\ut\\gamever\\451\\hostname\\A\\hostport\\7777\\queryid\\1.1\\final\\'";
    let text =
        [(0.0, r"c > s  '\\basic\\'".to_owned()), (0.1, format!("s > c ttl=51  {response}"))];
    let script = every_ten_seconds(60, &text);
    let (code, report) = diagnosed(&script, &Setting::udp(7778), &["--complete"]);
    assert_eq!((code, &report["servers"][0]["seat"]), (0, &"client".into()), "{report}");
    // Elsewhere, they would be in the capture.
    let (code, _) = diagnosed(&script.replace(" ttl=51", ""), &Setting::udp(7778), &["--complete"]);
    assert_eq!(code, 1);
}

/// One port of three never answers: a probe, unless a master lists it beside the others.
#[test]
fn a_listed_port_beside_others_is_a_server() {
    let ask = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let lines: Vec<_> = (0..3)
        .flat_map(|port| {
            let at = f64::from(port) / 2.0;
            let asked = (at, format!("c > s:{}  {ask}", 27_015 + port));
            let answered = (at + 0.1, format!("s:{} > c  {answer}", 27_015 + port));
            [Some(asked), Some(answered).filter(|_| port != 1)]
        })
        .flatten()
        .collect();
    let script = every_ten_seconds(20, &lines);
    let (code, report) = diagnosed(&script, &A2S, &[]);
    assert_eq!((code, report["servers"].as_array().unwrap().len()), (0, 2), "{report}");
    let list = "1.60 c > m:27011  31 FF '0.0.0.0:0' 00 00\n\
                1.70 m:27011 > c  FFFFFFFF 660A 0A000002 6987 0A000002 6988 0A000002 6989 00000000 0000\n10.0";
    let (code, report) = diagnosed(&script.replacen("10 c", &format!("{list} c"), 1), &A2S, &[]);
    assert_eq!((code, report["servers"].as_array().unwrap().len()), (1, 3), "{report}");
    assert_eq!(report["servers"][0]["server"], "10.0.0.2:27016", "{report}");
}

/// A server that answers no query sends packets of the game; and of one that is never heard, its client sends the requests.
#[test]
fn directions_tell_the_place_also_where_no_query_is_answered() {
    const SERVER: &str = "203.0.113.60:27015";
    const CLIENT: &str = "198.51.100.40:40000";
    let cooked = |other: [&str; 2], sent_by: &str| {
        let mut capture = Capture::new(Link::Sll);
        for nth in 0..6_u8 {
            let ask = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
            for (ends, bytes) in [([CLIENT, SERVER], &ask[..]), (other, &[nth; 40])] {
                let time = START.after(u64::from(nth) * 10_000_000_000);
                capture.push(time, &Datagram::new(ends[0], ends[1], bytes).packet());
                // The packet type: to this host, or from it.
                let kind = if ends[0].starts_with(sent_by) { 4 } else { 0 };
                capture.packets.last_mut().unwrap().bytes[1] = kind;
            }
        }
        report_of(&capture.pcap())["servers"][0]["seat"].clone()
    };
    let game = ["203.0.113.60:27005", "198.51.100.41:27005"];
    assert_eq!(cooked(game, "203.0.113.60"), "server");
    let names = ["9.9.9.9:53", "198.51.100.40:44435"];
    assert_eq!(cooked(names, "198.51.100.40"), "client");
}

/// What comes from another port, and ICMP errors, show where the server is, as its responses do; so does an error of a router
/// behind the recorder.
#[test]
fn hop_limits_of_other_packets_tell_the_place() {
    let ask =
        |client: &str| (0.0, format!("{client} > s ttl=57  FFFFFFFF 54 'Source Engine Query' 00"));
    let info = "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let of = |answer: &dyn Fn(&str) -> String| {
        let lines = ["c", "d", "e"].map(|client| [ask(client), (0.1, answer(client))]);
        let script = every_ten_seconds(8, lines.as_flattened());
        diagnosed(&script, &A2S, &[]).1["servers"][0]["seat"].clone()
    };
    for from in ["s:61001", "s"] {
        assert_eq!(of(&|client| format!("{from} > {client} ttl=52  {info}")), "between", "{from}");
    }
    for [from, error] in [["s", "3.3"], ["s", "3.13"], ["n", "11.0"]] {
        let refuses = |ttl| of(&|client| format!("{from} > {client} icmp={error} ttl={ttl}"));
        assert_eq!(refuses(60), "between", "{error}");
        assert_eq!(refuses(64), "server", "{error}");
    }
}

/// One of two ports answers: the hop limits of its packets show where the host is, and that no join could be seen.
#[test]
fn a_host_has_one_place_whichever_port_is_asked() {
    let ask = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let mut capture = Capture::new(Link::Ethernet);
    let mut say = |seconds: u64, ends: [&str; 2], bytes: &[u8], ttl: u8| {
        flood_sources::say(&mut capture, START.after(seconds * 1_000_000_000), ends, bytes, ttl);
    };
    for nth in 0..10 {
        say(nth * 12, ["198.51.100.5:41000", "198.51.100.77:27016"], ask, 64);
        say(nth * 12 + 3, ["198.51.100.6:42000", "198.51.100.77:27015"], ask, 64);
        say(nth * 12 + 3, ["198.51.100.77:27015", "198.51.100.6:42000"], answer, 50);
    }
    let report = report_of(&capture.pcap());
    let seats = report["servers"].as_array().unwrap().iter().map(|server| &server["seat"]);
    assert_eq!(Vec::from_iter(seats), ["client", "client"], "{report:#}");
}

/// It answers no request, but connections to another port.
#[test]
fn other_packets_of_a_silent_server_show_where_it_is() {
    let seat = |ttl: u8| {
        let mut capture = Capture::new(Link::Ethernet);
        let ends = ["192.0.2.9:30000", "203.0.113.7:27015"];
        let [client, server] = ends.map(|end| end.parse::<std::net::SocketAddr>().unwrap().ip());
        // Port 22 accepts a connection from port 40000.
        let mut accepts = [0; 20];
        accepts[..4].copy_from_slice(&[0, 22, 0x9C, 0x40]);
        accepts[12..16].copy_from_slice(&[0x50, 0x12, 0xFA, 0]);
        for nth in 0..8 {
            let at = START.after(nth * 20_000_000_000);
            let ask = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
            flood_sources::say(&mut capture, at, ends, ask, 128);
            let ip = Ip { ttl, id: nth as u32 + 7, ..Ip::new(server, client) };
            capture.push(at.after(5_000_000_000), &ip.packet(protocol::TCP, &accepts));
        }
        report_of(&capture.pcap())["servers"][0]["seat"].clone()
    };
    assert_eq!(seat(51), "client");
    assert_eq!(seat(64), "unknown");
}
