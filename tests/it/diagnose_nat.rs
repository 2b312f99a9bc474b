//! `gamewire diagnose`: datagrams that were recorded twice, before and behind NAT.

use crate::support::diagnosis;
use crate::support::project::Project;
use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};
use serde_json::Value;

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFU\x07\0\0\0";
const NO_PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\0";
const ANSWER: &[u8] = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
const ROUNDS: u64 = 12;

/// Servers before and behind NAT.
const SERVERS: [[&str; 2]; 4] = [
    ["192.168.1.9:27015", "172.17.0.2:27015"],
    ["100.72.14.3:27100", "192.168.1.10:27015"],
    ["51.38.99.17:27015", "5.9.8.77:27015"],
    ["[2a01:4f8:221::2]:27015", "[2a01:4f8:999::2]:27015"],
];

/// A capture of two interfaces.
struct Both {
    capture: Capture,
    /// Whether identifications distinguish datagrams.
    identified: bool,
    sent: u32,
}

impl Both {
    fn new(identified: bool) -> Both {
        Both { capture: Capture::new(Link::Ethernet), identified, sent: 0 }
    }

    /// A datagram, recorded with the first ends, and then behind one more router with the second ones.
    fn send(&mut self, at: u64, ends: [[&str; 2]; 2], bytes: &[u8]) {
        self.sent += 1;
        for (nth, [from, to]) in (0..).zip(ends) {
            let datagram = Datagram::new(from, to, bytes);
            let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
            ip.ttl = 60 - nth;
            (ip.id, ip.dont_fragment) = (if self.identified { self.sent } else { 0 }, true);
            let time = START.after(at * 1_000_000 + u64::from(nth) * 40_000);
            self.capture.push(time, &ip.packet(protocol::UDP, &datagram.bytes()));
        }
    }

    fn report(self, options: &[&str]) -> Value {
        let (_project, file) = Project::of_capture(self.capture.pcap());
        diagnosis::report_of(&file, options).1
    }
}

/// What a router in front of a server records: requests for the information, and for the players.
fn at_a_server([outside, inside]: [&str; 2], identified: bool, is_answered: bool) -> Both {
    let mut both = Both::new(identified);
    for nth in 0..ROUNDS {
        let client = match outside.starts_with('[') {
            true => format!("[2a02:8106::9]:{}", 50_000 + nth),
            false => format!("203.0.113.9:{}", 50_000 + nth),
        };
        let (client, at) = (&*client, nth * 8000);
        let (request, response) =
            ([[client, outside], [client, inside]], [[inside, client], [outside, client]]);
        both.send(at, request, INFO);
        both.send(at + 1, response, ANSWER);
        both.send(at + 100, request, PLAYERS);
        if is_answered {
            both.send(at + 101, response, NO_PLAYERS);
        }
    }
    both
}

fn asked(party: &Value, name: &str) -> String {
    let item = party["items"].as_array().unwrap().iter().find(|it| it["item"] == name).unwrap();
    format!("{} of {}", item["answered"], item["asked"])
}

#[test]
fn a_server_is_one_on_both_sides_of_nat_whatever_its_addresses() {
    for [outside, inside] in SERVERS {
        for is_identified in [true, false] {
            let report = at_a_server([outside, inside], is_identified, true).report(&[]);
            let servers = report["servers"].as_array().unwrap();
            assert_eq!(servers.len(), 1, "{outside} {is_identified} {report:#}");
            assert_eq!(servers[0]["server"], outside);
            assert_eq!(servers[0]["verdict"], "ok", "{report:#}");
            assert_eq!(servers[0]["addresses"][1]["address"], inside);
            assert_eq!(servers[0]["addresses"][1]["role"], "nat");
        }
        let report = at_a_server([outside, inside], true, false).report(&[]);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(asked(&report["servers"][0], "seen.answered"), "12 of 24");
    }
}

#[test]
fn either_address_of_a_server_names_it() {
    let [outside, inside] = SERVERS[0];
    for named in [outside, inside, "172.17.0.2"] {
        let report = at_a_server([outside, inside], true, true).report(&["--server", named]);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(report["servers"][0]["server"], outside);
    }
}

#[test]
fn servers_that_say_the_same_are_several() {
    let mut both = Both::new(false);
    for nth in 0..ROUNDS {
        let (client, at) = (&*format!("203.0.113.9:{}", 50_000 + nth), nth * 8000);
        let [one, another] = ["51.38.99.17:27015", "5.9.8.77:27015"];
        // One host sends both requests, and one of the servers is farther away.
        for (server, delay) in [(one, 0), (another, 1)] {
            let request = Datagram::new(client, server, INFO).packet();
            both.capture.push(START.after(at * 1_000_000 + delay), &request);
        }
        both.send(at + 1, [[one, client], [another, client]], ANSWER);
    }
    assert_eq!(both.report(&[])["servers"].as_array().unwrap().len(), 2);
}

#[test]
fn clients_that_ask_different_servers_the_same_are_several() {
    let mut both = Both::new(true);
    for nth in 0..ROUNDS {
        let (one, other) =
            (format!("203.0.113.9:{}", 50_000 + nth), format!("198.51.100.7:{}", 40_000 + nth));
        both.send(nth * 8000, [[&one, "51.38.99.17:27015"], [&other, "5.9.8.77:27015"]], INFO);
    }
    assert_eq!(both.report(&[])["servers"].as_array().unwrap().len(), 2);
}

#[test]
fn a_client_is_one_on_both_sides_of_nat() {
    let server = "51.38.99.17:27015";
    for (is_identified, is_answered) in [(true, true), (true, false), (false, true)] {
        let mut both = Both::new(is_identified);
        for nth in 0..ROUNDS {
            let inside = &*format!("192.168.178.23:{}", 50_000 + nth);
            let outside = &*format!("84.115.20.3:{}", 30_000 + nth);
            let (request, response) =
                ([[inside, server], [outside, server]], [[server, outside], [server, inside]]);
            let at = nth * 8000;
            both.send(at, request, INFO);
            both.send(at + 30, response, ANSWER);
            both.send(at + 100, request, PLAYERS);
            if is_answered {
                both.send(at + 130, response, NO_PLAYERS);
            }
        }
        let report = both.report(&[]);
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
        let clients = report["clients"].as_array().unwrap();
        // Without identifications, the first datagrams prove nothing by themselves.
        assert!(clients.len() == 1 || !is_identified, "{report:#}");
        assert!(clients.iter().any(|it| it["client"] == "192.168.178.23"), "{report:#}");
        if !is_answered {
            assert_eq!(asked(&report["servers"][0], "seen.answered"), "12 of 24");
        }
    }
}

#[test]
fn a_server_is_one_where_its_clients_are_translated_too() {
    let [[outside, inside], ..] = SERVERS;
    let mut both = Both::new(true);
    for nth in 0..ROUNDS {
        let [client, node] =
            ["203.0.113.9", "10.0.3.12"].map(|it| format!("{it}:{}", 50_000 + nth));
        both.send(nth * 8000, [[&client, outside], [&node, inside]], INFO);
        both.send(nth * 8000 + 1, [[inside, &node], [outside, &client]], ANSWER);
    }
    let report = both.report(&[]);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["servers"][0]["server"], outside);
}

#[test]
fn a_heartbeat_and_its_answer_are_one_on_both_sides_of_nat() {
    let [outside, inside, master] = ["192.168.1.9:7777", "172.17.0.2:7777", "134.122.57.9:27900"];
    let mut both = Both::new(true);
    for nth in 0..4 {
        let at = nth * 60_000;
        let heartbeat = b"\\heartbeat\\7778\\gamename\\ut\\";
        both.send(at, [[inside, master], [outside, master]], heartbeat);
        let challenge = b"\\basic\\\\secure\\ABCDEF";
        both.send(at + 40, [[master, outside], [master, inside]], challenge);
    }
    let report = both.report(&[]);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
    let addresses = report["servers"][0]["addresses"].to_string();
    assert!(addresses.contains(outside), "{addresses}");
}

/// A container that is alive, or answers, and of which nothing leaves its host.
#[test]
fn a_container_is_heard_behind_its_host() {
    let answered = |sends: Option<&[u8]>| {
        let mut both = Both::new(true);
        let [outside, inside] = SERVERS[0];
        for nth in 0..ROUNDS {
            let client = format!("203.0.113.9:{}", 50_000 + nth);
            both.send(nth * 10_000, [[&client, outside], [&client, inside]], INFO);
            let (to, bytes) = match sends {
                None => continue,
                Some(b"game") => ("198.51.100.77:27005", b"game".as_slice()),
                Some(answer) => (client.as_str(), answer),
            };
            let at = START.after(nth * 10_000_000_000 + 5_000_000);
            both.capture.push(at, &Datagram::new(inside, to, bytes).packet());
        }
        let report = both.report(&[]);
        let item = diagnosis::item(&report, "servers", "seen.answered");
        let items = report["servers"][0]["items"].as_array().unwrap().clone();
        let text = items.iter().find(|it| it["item"] == "seen.answered").unwrap()["text"].clone();
        (item, text.as_str().unwrap_or_default().to_owned())
    };
    let (item, text) = answered(None);
    assert_eq!(item, "unknown capture_one_sided");
    assert!(text.ends_with("nothing of this host is in the capture"), "{text}");
    assert_eq!(answered(Some(b"game")).0, "no queries_unanswered");
    let (item, text) = answered(Some(ANSWER));
    assert_eq!(item, "unknown capture_one_sided");
    assert!(text.contains("12 responses left 172.17.0.2:27015"), "{text}");
}

/// A router records both interfaces, and does not translate what stays in its network: players there ask the public
/// address, and get responses from the inner one.
#[test]
fn players_in_the_network_of_the_server_are_answered_from_its_inner_address() {
    let [outside, inside] = ["203.0.113.7:27015", "192.168.1.10:27015"];
    for others in [false, true] {
        let mut both = Both::new(true);
        for nth in 0..ROUNDS {
            let (near, far) = (
                format!("192.168.1.33:{}", 50_000 + nth),
                format!("198.51.100.9:{}", 50_000 + nth),
            );
            let at = nth * 8000;
            both.send(at, [[&near, outside], [&near, inside]], INFO);
            let answer = Datagram::new(inside, &near, ANSWER);
            both.capture.push(START.after((at + 20) * 1_000_000), &answer.packet());
            if others {
                both.send(at + 4000, [[&far, outside], [&far, inside]], INFO);
                both.send(at + 4020, [[inside, &far], [outside, &far]], ANSWER);
            }
        }
        let report = both.report(&[]);
        let servers = report["servers"].as_array().unwrap();
        assert_eq!(servers.len(), 1, "{report:#}");
        let from_asked = diagnosis::verdict_of(&servers[0], "seen.from_asked");
        assert_eq!(from_asked, ["unknown", "nat_loopback"], "{report:#}");
        let verdicts = report["clients"].as_array().unwrap().iter().map(|it| &it["verdict"]);
        assert!(verdicts.clone().all(|verdict| verdict != "fault"), "{report:#}");
        assert_eq!(servers[0]["verdict"], "ok", "{report:#}");
    }
}

/// A server's host sends from another port than is asked, or joins a master from one: behind NAT, too, it is one host.
#[test]
fn a_port_behind_nat_is_one_of_the_host_before_it() {
    let (client, master) = ("203.0.113.9", "198.51.100.10:27010");
    let [outside, inside] = ["51.38.99.17", "192.168.1.10"];
    let at = |host: &str, port: u16| format!("{host}:{port}");
    let asked = |both: &mut Both, nth: u64, from: u16| {
        let client = format!("{client}:{}", 50_000 + nth);
        let [asks, asks_inside] = [outside, inside].map(|host| at(host, 27015));
        both.send(nth * 20, [[&client, &asks], [&client, &asks_inside]], INFO);
        let [answers, answers_inside] = [outside, inside].map(|host| at(host, from));
        both.send(nth * 20 + 1, [[&answers_inside, &client], [&answers, &client]], ANSWER);
    };
    let mut elsewhere = Both::new(true);
    (0..ROUNDS).for_each(|nth| asked(&mut elsewhere, nth, 61_024));
    let report = elsewhere.report(&[]);
    assert_eq!(report["servers"][0]["cause"], "answers_from_other_port", "{report:#}");
    let mut joins = Both::new(true);
    for nth in 0..ROUNDS {
        let [from, from_inside] = [outside, inside].map(|host| at(host, 61_234));
        joins.send(nth * 300 + 5, [[&from_inside, master], [&from, master]], b"q");
        (0..3).for_each(|more| asked(&mut joins, nth * 15 + more, 27015));
    }
    let report = joins.report(&[]);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
}
