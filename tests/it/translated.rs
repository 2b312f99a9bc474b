//! A router or a host of containers records each datagram before and behind NAT: all commands count it once.

use crate::support::gamewire;
use crate::support::project::Project;
use crate::support::sides::{ANSWER, INFO, NO_PLAYERS, PLAYERS, Sides, of_containers};
use captures::wire::{Capture, Datagram, Ip, Link, START, icmp, protocol};
use serde_json::{Value, json};

const ROUNDS: u64 = 12;

fn report(command: &[&str], file: &str) -> Value {
    let run = gamewire([command, &["--no-config", "--format", "json", file]].concat());
    assert!(run.code < 2, "{}", run.err);
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
}

/// All commands say the same of both captures.
fn count_once(sides: &Sides) {
    let files =
        [&sides.both, &sides.clients].map(|it| Project::of_capture(it.clone().in_time().pcap()));
    let [both, clients] = [&files[0].1, &files[1].1];
    let of = |command: &[&str], key: &str| {
        [both, clients].map(|file| report(command, file)[key].clone())
    };
    for table in ["servers", "clients"] {
        let [both, clients] = of(&["summary"], table);
        assert_eq!(both, clients, "{table}");
    }
    for key in ["messages", "flows", "verdict"] {
        let [both, clients] = of(&["check"], key);
        assert_eq!(both, clients, "{key}");
    }
    let [both_rules, clients_rules] = of(&["check"], "rules");
    let rules = |rules: &Value| {
        let rules = rules.as_array().unwrap().iter().filter(|rule| rule["code"] != "NET013");
        Vec::from_iter(rules.cloned())
    };
    assert_eq!(rules(&both_rules), rules(&clients_rules));
    let [both_rows, clients_rows] = [both, clients].map(|file| flows(file));
    assert_eq!(both_rows, clients_rows);
    let [both, clients] = [both, clients].map(|file| {
        let report = report(&["diagnose"], file);
        let server = &report["servers"][0];
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report:#}");
        let answered = server["items"].as_array().unwrap().iter();
        let answered = answered.filter(|it| it["item"] == "seen.answered");
        let counts =
            Vec::from_iter(answered.map(|it| [it["asked"].clone(), it["answered"].clone()]));
        (server["server"].clone(), server["verdict"].clone(), counts)
    });
    assert_eq!(both, clients);
}

/// The rows of flows, without when their last packet came, and in which packet they begin.
fn flows(file: &str) -> Vec<String> {
    let run = gamewire(["flows", "--no-config", "--format", "csv", file]);
    assert_eq!(run.code, 0, "{}", run.err);
    let columns = Vec::from_iter(run.out.lines().next().unwrap().split(','));
    let left_out = ["last", "duration", "file", "frame", "capture"];
    let row = |line: &str| {
        let cells = line.split(',').zip(&columns).filter(|(_, column)| !left_out.contains(column));
        cells.map(|(cell, column)| format!("{column}={cell} ")).collect()
    };
    run.out.lines().skip(1).map(row).collect()
}

/// Servers before and behind NAT.
const SERVERS: [[&str; 2]; 3] = [
    ["203.0.113.7:27015", "172.17.0.2:27015"],
    ["203.0.113.7:27016", "172.17.0.2:27015"],
    ["[2a01:4f8:221::2]:27015", "[fd00::2]:27015"],
];

#[test]
fn a_container_is_one_server_and_each_exchange_one() {
    for server in SERVERS {
        for identified in [true, false] {
            let mut sides = Sides::new(identified);
            for nth in 0..ROUNDS {
                let client = match server[0].starts_with('[') {
                    true => format!("[2a02:8106::9]:{}", 50_000 + nth),
                    false => format!("198.51.100.9:{}", 50_000 + nth),
                };
                sides.exchange(nth * 8000, &client, server, [INFO, ANSWER]);
                sides.exchange(nth * 8000 + 100, &client, server, [PLAYERS, NO_PLAYERS]);
            }
            count_once(&sides);
        }
    }
}

/// Requests and answers of a summary's only server.
fn counts(table: &Value) -> Vec<Value> {
    let rows = table["servers"].as_array().unwrap().iter();
    Vec::from_iter(rows.map(|row| json!([row["server"], row["exchanges"], row["answered"]])))
}

fn summary(capture: &Capture) -> Value {
    let (_project, file) = Project::of_capture(capture.clone().in_time().pcap());
    report(&["summary"], &file)
}

#[test]
fn many_clients_and_one_behind_nat_count_once() {
    let sides = of_containers(20);
    let [both, clients] = [&sides.both, &sides.clients].map(summary);
    for table in ["servers", "clients"] {
        assert_eq!(both[table], clients[table]);
    }
    assert_eq!(counts(&both).len(), 2, "{both:#}");
}

#[test]
fn a_client_behind_nat_is_known_by_its_own_address() {
    let mut sides = Sides::new(true);
    let server = "51.38.99.17:27015";
    for nth in 0..ROUNDS {
        let inside = &*format!("192.168.178.23:{}", 50_000 + nth);
        let outside = &*format!("84.115.20.3:{}", 30_000 + nth);
        sides.send(nth * 8000, &[[inside, server], [outside, server]], 0, INFO);
        sides.send(nth * 8000 + 30, &[[server, outside], [server, inside]], 1, ANSWER);
    }
    count_once(&sides);
    let both = summary(&sides.both);
    assert_eq!(both["clients"][0]["client"], "192.168.178.23");
}

/// At no border between a private network and the Internet, a datagram without an identification proves nothing by itself.
#[test]
fn a_host_with_two_addresses_of_one_kind_is_one_from_the_second_exchange_on() {
    let public = ["51.38.99.17:27015", "5.9.8.77:27015"];
    for [outside, inside] in [["192.168.1.9:27015", "172.17.0.2:27015"], public] {
        let mut sides = Sides::new(false);
        for nth in 0..ROUNDS {
            let client = format!("192.168.1.33:{}", 50_000 + nth);
            sides.exchange(nth * 8000, &client, [outside, inside], [INFO, ANSWER]);
        }
        let counts = counts(&summary(&sides.both));
        assert!(counts.contains(&json!([outside, ROUNDS, ROUNDS])), "{counts:?}");
        assert!(counts.contains(&json!([inside, 1, 1])), "{counts:?}");
        assert_eq!(counts.len(), 2);
    }
}

/// Players of the same network reach a server by the router's public address: both addresses are others inside.
#[test]
fn what_a_router_sends_back_counts_once_from_the_second_exchange_on() {
    let mut sides = Sides::new(true);
    let [outside, inside] = ["203.0.113.7:27015", "192.168.1.10:27015"];
    for nth in 0..ROUNDS {
        let [client, router] =
            ["192.168.1.33", "192.168.1.1"].map(|it| format!("{it}:{}", 50_000 + nth));
        sides.send(nth * 8000, &[[&client, outside], [&router, inside]], 0, INFO);
        sides.send(nth * 8000 + 1, &[[inside, &router], [outside, &client]], 1, ANSWER);
    }
    let counts = counts(&summary(&sides.both));
    assert!(counts.contains(&json!([outside, ROUNDS, ROUNDS])), "{counts:?}");
    assert!(counts.contains(&json!([inside, 1, 1])), "{counts:?}");
    assert_eq!(counts.len(), 2);
}

/// Both are of one client, and their datagrams come mixed, if identifications distinguish them.
#[test]
fn two_containers_at_one_address_are_two_servers() {
    for identified in [true, false] {
        let mut sides = Sides::new(identified);
        for nth in 0..ROUNDS {
            let client = &*format!("198.51.100.9:{}", 50_000 + nth);
            let host = "203.0.113.7";
            for (port, inside) in [(27_015, "172.17.0.2:27015"), (27_016, "172.17.0.3:27015")] {
                let ms = nth * 8000 + u64::from(port % 2 * u16::from(!identified)) * 10;
                sides.exchange(ms, client, [&format!("{host}:{port}"), inside], [INFO, ANSWER]);
            }
        }
        let counts = counts(&summary(&sides.both));
        let of = |port: u16| json!([format!("203.0.113.7:{port}"), ROUNDS, ROUNDS]);
        assert_eq!(counts.len(), 2, "{counts:?}");
        assert!(counts.contains(&of(27_015)) && counts.contains(&of(27_016)), "{counts:?}");
    }
}

/// Until then, nothing shows that they are also recorded elsewhere.
#[test]
fn heartbeats_are_of_the_address_where_they_are_recorded_first() {
    let [outside, inside, master] = ["203.0.113.7:7777", "172.17.0.2:7777", "134.122.57.9:27900"];
    let mut sides = Sides::new(true);
    for nth in 0..4 {
        let heartbeat = b"\\heartbeat\\7778\\gamename\\ut\\";
        sides.send(nth * 60_000, &[[inside, master], [outside, master]], 1, heartbeat);
        let challenge = b"\\basic\\\\secure\\ABCDEF";
        sides.send(nth * 60_000 + 40, &[[master, outside], [master, inside]], 0, challenge);
    }
    let (_project, file) = Project::of_capture(sides.both.clone().in_time().pcap());
    let checked = report(&["check"], &file);
    assert_eq!((&checked["messages"], &checked["flows"]), (&json!(8), &json!(1)));
    let servers = summary(&sides.both)["servers"].as_array().unwrap().clone();
    assert_eq!(servers.len(), 1, "{servers:#?}");
    assert_eq!(servers[0]["server"], "172.17.0.2:7778");
}

/// What a client sends to one of the addresses only is no copy.
#[test]
fn requests_that_only_the_inside_gets_count_there() {
    let [outside, inside] = ["203.0.113.7:27015", "172.17.0.2:27015"];
    let client = "198.51.100.9:50000";
    let mut sides = Sides::new(true);
    for nth in 0..ROUNDS {
        sides.exchange(nth * 8000, client, [outside, inside], [INFO, ANSWER]);
        sides.send(nth * 8000 + 100, &[[client, inside]], 0, INFO);
        sides.send(nth * 8000 + 101, &[[inside, client]], 0, ANSWER);
    }
    let expected = [inside, outside].map(|server| json!([server, ROUNDS, ROUNDS]));
    assert_eq!(counts(&summary(&sides.both)), expected);
}

#[test]
fn an_answer_that_does_not_leave_the_host_of_its_container_is_no_answer() {
    let [outside, inside] = ["203.0.113.7:27015", "172.17.0.2:27015"];
    let mut sides = Sides::new(true);
    for nth in 0..ROUNDS {
        let client = &*format!("198.51.100.9:{}", 50_000 + nth);
        sides.send(nth * 8000, &[[client, outside], [client, inside]], 0, INFO);
        sides.send(nth * 8000 + 1, &[[inside, client]], 0, ANSWER);
    }
    assert_eq!(counts(&summary(&sides.both)), [json!([outside, ROUNDS, 0])]);
}

/// Clients of the same network and of others ask at the same time, as many do each minute.
#[test]
fn clients_that_ask_the_same_at_once_are_several() {
    let server = "51.38.99.17:27015";
    for identified in [true, false] {
        for hop_limits in [[60, 60], [60, 59], [59, 60], [60, 57]] {
            let mut sides = Sides::new(identified);
            for nth in 0..ROUNDS {
                for (client, hop_limit) in ["198.51.100.9", "192.0.2.7"].iter().zip(hop_limits) {
                    let client = &*format!("{client}:{}", 50_000 + nth);
                    sides.hop_limit = hop_limit;
                    sides.send(nth * 8000, &[[client, server]], 0, INFO);
                    sides.hop_limit = 64;
                    sides.send(nth * 8000 + 1, &[[server, client]], 0, ANSWER);
                }
            }
            let both = summary(&sides.both);
            assert_eq!(counts(&both), [json!([server, 2 * ROUNDS, 2 * ROUNDS])], "{hop_limits:?}");
        }
    }
}

/// A router records each at two interfaces, and a tool gives all datagrams one identification.
#[test]
fn servers_that_a_scanner_asks_at_once_are_several() {
    let client = "198.51.100.9:50000";
    let mut capture = Capture::new(Link::Sll2);
    let servers = ["51.38.99.17:27015", "5.9.8.77:27015", "5.9.8.78:27015"];
    for nth in 0..ROUNDS {
        for (at, server) in (0..).zip(servers) {
            for interface in 0..2 {
                let datagram = Datagram::new(client, server, INFO);
                let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
                (ip.ttl, ip.id) = (60 - interface, 54_321);
                let time = nth * 8_000_000_000 + at * 80_000 + u64::from(interface) * 20_000;
                capture.push(START.after(time), &ip.packet(protocol::UDP, &datagram.bytes()));
            }
        }
    }
    let mut counts = counts(&summary(&capture));
    counts.sort_by_key(|it| it[0].to_string());
    let mut expected = servers.map(|server| json!([server, ROUNDS, 0]));
    expected.sort_by_key(|it| it[0].to_string());
    assert_eq!(counts, expected);
}

/// One datagram cannot hide a flood.
#[test]
fn few_datagrams_are_copies_of_one() {
    let server = "51.38.99.17:27015";
    let mut sides = Sides::new(false);
    sides.send(0, &[["192.168.1.2:50000", server]], 0, INFO);
    let mut capture = sides.both;
    for nth in 0..1000_u32 {
        let source = format!("84.115.{}.{}:50000", nth / 250, nth % 250);
        let datagram = Datagram::new(&source, server, INFO);
        let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
        (ip.ttl, ip.id) = (59, 1);
        let time = START.after(u64::from(nth) * 1000);
        capture.push(time, &ip.packet(protocol::UDP, &datagram.bytes()));
    }
    let counts = counts(&summary(&capture));
    assert!(counts[0][1].as_u64().unwrap() > 980, "{counts:?}");
}

/// The port of a container is closed: its host says so inside, and translated outside.
#[test]
fn an_icmp_error_is_about_the_datagram_before_nat() {
    let [outside, inside] = ["203.0.113.7:27015", "172.17.0.2:27015"];
    let mut sides = Sides::new(true);
    for nth in 0..ROUNDS {
        let client = &*format!("198.51.100.9:{}", 50_000 + nth);
        sides.send(nth * 8000, &[[client, outside], [client, inside]], 0, INFO);
        for (at, from) in [inside, outside].into_iter().enumerate() {
            let asked = Datagram::new(client, from, INFO);
            let mut ip = Ip::new(asked.source.ip(), asked.destination.ip());
            (ip.id, ip.dont_fragment) = (nth as u32 + 1, true);
            let quoted = ip.packet(protocol::UDP, &asked.bytes());
            let ends = [asked.destination.ip(), asked.source.ip()];
            let error = icmp::error([3, 3], 0, ends, &quoted);
            let packet = Ip::new(ends[0], ends[1]).packet(icmp::protocol(ends[0]), &error);
            let time = START.after(nth * 8_000_000_000 + 1_000_000 + at as u64 * 40_000);
            sides.both.push(time, &packet);
            if at == 1 {
                sides.clients.push(time, &packet);
            }
        }
    }
    count_once(&sides);
}

/// Each copy is shown with its own addresses, and refers to the original, or to what both flows had before it.
#[test]
fn copies_are_shown_as_such() {
    let mut sides = Sides::new(true);
    let server = ["203.0.113.7:27015", "172.17.0.2:27015"];
    sides.exchange(0, "198.51.100.9:50000", server, [INFO, ANSWER]);
    let (_project, file) = Project::of_capture(sides.both.in_time().pcap());
    let run = gamewire(["dissect", "--no-config", "--format", "json", &file]);
    let lines = run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shown =
        Vec::from_iter(lines.map(|it| json!([it["frame"], it["src"], it["copy_of"], it["flow"]])));
    let [client, outside, inside] = ["198.51.100.9:50000", server[0], server[1]];
    let expected = [
        json!([1, client, null, 1]),
        json!([2, client, 1, 1]),
        json!([3, client, 1, 1]),
        json!([4, inside, 1, 1]),
        json!([5, inside, 1, 1]),
        json!([6, outside, null, 1]),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn fragments_of_both_sides_are_of_one_datagram() {
    let mut rules = b"\xFF\xFF\xFF\xFFE\x64\0".to_vec();
    (0..100).for_each(|nth| {
        rules.extend(format!("sv_setting_of_the_server_{nth}\0{nth:09}\0").bytes())
    });
    let request = b"\xFF\xFF\xFF\xFFV\x07\0\0\0";
    let mut sides = Sides::new(true);
    for nth in 0..ROUNDS {
        let client = format!("198.51.100.9:{}", 50_000 + nth);
        let server = ["203.0.113.7:27015", "172.17.0.2:27015"];
        sides.exchange(nth * 8000, &client, server, [INFO, ANSWER]);
        sides.exchange(nth * 8000 + 100, &client, server, [request, &rules]);
    }
    count_once(&sides);
}

#[test]
fn a_scrubbed_capture_has_the_same_counts() {
    let sides = of_containers(20);
    let project = Project::new("scrubbed-nat");
    project.write("nat.pcap", sides.both.pcap());
    let [from, to] = ["nat.pcap", "scrubbed.pcapng"].map(|name| project.path(name));
    let run = gamewire(["scrub", "--no-config", &from, "-o", &to]);
    assert_eq!(run.code, 0, "{}", run.err);
    let [before, after] = [&from, &to].map(|file| report(&["check"], file));
    for key in ["messages", "flows", "requests", "answered"] {
        assert_eq!(before[key], after[key], "{key}");
    }
}

/// The other side was recorded into another file.
#[test]
fn merged_files_of_two_interfaces_count_once() {
    let sides = of_containers(20);
    let project = Project::new("merged-nat");
    let (inside, outside): (Vec<_>, Vec<_>) =
        sides.both.packets.iter().cloned().partition(|it| !sides.clients.packets.contains(it));
    for (name, packets) in [("inside.pcap", inside), ("outside.pcap", outside)] {
        project.write(name, Capture { link: Link::Sll2, packets }.pcap());
    }
    let [inside, outside] = ["inside.pcap", "outside.pcap"].map(|name| project.path(name));
    let run = gamewire(["check", "--no-config", "--format", "json", "--merge", &inside, &outside]);
    let merged: Value = serde_json::from_str(&run.out).unwrap();
    let alone = report(&["check"], &outside);
    for key in ["messages", "flows", "requests", "answered"] {
        assert_eq!(merged[key], alone[key], "{key}");
    }
}
