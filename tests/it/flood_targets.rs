//! What is flooded: servers that are known by a join or a list only, and masters; and who is no attacker beside it: many
//! players behind one address.

use std::path::Path;

use captures::exchange::Setting;
use captures::wire::{Capture, Connection, Datagram, End, Ip, Link, START, Time, protocol};
use serde_json::{Value, json};

use crate::attacks::attacks_of;
use crate::flood_sources::anyone;
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

    /// The server answers a client.
    fn answers(&mut self) {
        self.say(0, CLIENT, SERVER, INFO);
        self.say(10, SERVER, CLIENT, ANSWER);
    }

    /// 12,000 packets from as many sources, 3,000 a second.
    fn flood(&mut self, to: &str, bytes: impl Fn(u32) -> Vec<u8>) {
        for nth in 0..12_000_u32 {
            self.say(333, &anyone(nth), to, &bytes(nth));
        }
    }

    /// What `diagnose` and `abuse` say to people.
    fn said(self) -> String {
        let (_project, file) = Project::of_capture(self.0.pcap());
        let said =
            ["diagnose", "abuse"].map(|command| gamewire([command, "--no-config", &file]).out);
        said.concat()
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
        assert!(diagnosed.out.contains("under attack: "), "{}", diagnosed.out);
        assert!(diagnosed.out.contains("flooded with "), "{}", diagnosed.out);
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

/// A flood has no fewer packets than sources, though players ask meanwhile; and packets without payload have no bits.
#[test]
fn the_numbers_of_a_flood_of_empty_packets_agree() {
    let mut recording = Recording::new();
    recording.answers();
    for nth in 0..12_000_u32 {
        recording.say(333, &anyone(nth), SERVER, b"");
        if nth % 3_000 == 1_500 {
            let player = format!("198.51.100.{}:50000", nth / 3_000 + 20);
            recording.say(1, &player, SERVER, INFO);
            recording.say(1, SERVER, &player, b"\xFF\xFF\xFF\xFFA\x07\0\0\0");
            recording.say(1, &player, SERVER, &[INFO, b"\x07\0\0\0"].concat());
            recording.say(1, SERVER, &player, ANSWER);
        }
    }
    let said = recording.said();
    assert!(said.contains("12,000 packets from 12,000 sources"), "{said}");
    assert!(said.contains("mean 3,003/s; no payload"), "{said}");
}

/// It is one attack, and each server is told what it gets.
#[test]
fn a_flood_of_two_ports_is_one_with_its_sum_and_the_numbers_of_each() {
    let mut recording = Recording::new();
    let other = "203.0.113.7:27025";
    for server in [SERVER, other] {
        recording.say(0, CLIENT, server, INFO);
        recording.say(10, server, CLIENT, ANSWER);
    }
    for nth in 0..20_000_u32 {
        let server = if nth % 2 == 0 { SERVER } else { other };
        recording.say(333, &anyone(nth), server, INFO);
    }
    let said = recording.said();
    let times = said.matches("10,001 packets from 10,001 sources\n").count();
    assert_eq!(times, 2, "{said}");
    assert!(said.contains("20,002 in") && said.contains("203.0.113.7, on 2 ports,"), "{said}");
}

#[test]
fn a_server_that_joins_a_master_is_known() {
    let mut recording = Recording::new();
    recording.say(0, SERVER, MASTER, b"q");
    recording.say(20_000, MASTER, SERVER, b"\xFF\xFF\xFF\xFFs\n\x01\x02\x03\x04");
    recording.flood(SERVER, junk);
    is_flood(&recording.attacks(), "flooded_server", SERVER);
}

/// `abuse` keeps no flows: the request that registers a server is known by its first segment, whatever else goes over TCP.
#[test]
fn a_server_that_registers_over_tcp_is_known_by_both_its_ports() {
    for flooded in ["203.0.113.7:28770", "203.0.113.7:28771"] {
        let mut recording = Recording::new();
        let ends = ["203.0.113.7:40000", "198.51.100.30:80"].map(|end| end.parse().unwrap());
        let mut connection = Connection::new(ends[0], ends[1], [1000, 2000]);
        connection.skip_handshake();
        let request = b"GET /r?v=140&g=180300&p=28770&guid32=1 HTTP/1.0\r\n\r\n";
        for segment in connection.send(End::Opener, request, 1460) {
            recording.0.push(recording.1, &segment.packet());
        }
        recording.flood(flooded, junk);
        is_flood(&recording.attacks(), "flooded_server", flooded);
    }
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

/// `check` and `abuse` count the same, whenever a port turns out to be a server's.
#[test]
fn what_comes_before_a_server_is_known_is_of_the_flood() {
    for known_after in [3_000, 11_999] {
        let mut recording = Recording::new();
        for nth in 0..12_000_u32 {
            recording.say(800, &anyone(nth), SERVER, &junk(nth));
            if nth == known_after {
                recording.answers();
            }
        }
        let found = recording.attacks();
        is_flood(&found, "flooded_server", SERVER);
        assert_eq!(found.0[0]["packets"], 12_000, "{known_after}");
        assert!(found.1.contains("12000 packets of other content"), "{}", found.1);
    }
    // Of what is no server's port, nothing is said.
    let mut recording = Recording::new();
    recording.answers();
    recording.flood("203.0.113.8:9000", junk);
    let (_project, file) = Project::of_capture(recording.0.pcap());
    assert_eq!(attacks_of(Path::new(&file)), [Value::Null; 0]);
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

/// A master challenges some of those whose heartbeats flood it. Addresses that are forged validate nothing, and are no
/// servers with a fault.
#[test]
fn who_floods_a_master_with_heartbeats_is_no_faulty_server() {
    const TEXT_MASTER: &str = "203.0.113.9:27900";
    let mut recording = Recording::new();
    let beat = br"\heartbeat\7778\gamename\ut\";
    // One is a server, and validates.
    recording.say(100, "203.0.113.20:7779", TEXT_MASTER, beat);
    recording.say(100, TEXT_MASTER, "203.0.113.20:7779", br"\basic\\secure\XDWAOR");
    let validate = br"\heartbeat\7778\gamename\ut\validate\3JOdDFU5\final\";
    recording.say(100, "203.0.113.20:7779", TEXT_MASTER, validate);
    for nth in 0..9_000_u32 {
        recording.say(333, &anyone(nth), TEXT_MASTER, beat);
        if nth % 3 == 0 {
            recording.say(100, TEXT_MASTER, &anyone(nth), br"\basic\\secure\XDWAOR");
        }
    }
    let (_project, file) = Project::of_capture(recording.0.pcap());
    let report = gamewire(["diagnose", "--no-config", "--format", "json", &file]).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let servers = report["servers"].as_array().unwrap().iter();
    let servers = Vec::from_iter(servers.map(|it| it["server"].as_str().unwrap()));
    assert_eq!(servers, ["203.0.113.20:7778"]);
    assert_eq!(report["attacks"].as_array().unwrap().len(), 1, "{report:#}");
}

/// One of the sources floods, and the others asked once: it is named, with its share.
#[test]
fn who_sends_nearly_all_of_a_flood_is_named_before_the_number_of_sources() {
    let mut recording = Recording::new();
    for nth in 0..8_000_u32 {
        recording.say(500, "198.51.100.66:51000", SERVER, INFO);
        if nth % 1_000 == 7 {
            recording.say(0, &format!("192.0.2.{}:50000", nth / 1_000 + 1), SERVER, INFO);
        }
    }
    let (_project, file) = Project::of_capture(recording.0.pcap());
    let said = gamewire(["abuse", "--no-config", &file]).out;
    let sources = said.lines().find(|line| line.trim_start().starts_with("sources ")).unwrap();
    assert!(sources.contains("  1 sent 99.90 %: 198.51.100.66 7,99"), "{said}");
    assert!(sources.ends_with("; 8 others the rest"), "{said}");
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

/// What a server says to one that guesses its password is no attack on him.
#[test]
fn who_sends_rcon_packets_asks_for_the_answers() {
    let mut recording = Recording::new();
    recording.answers();
    for nth in 0..9_000_u32 {
        let guess = format!("\u{0}\u{0}\u{0}\u{0}rcon 1 \"{nth}\" status\n").into_bytes();
        let guess: Vec<u8> = [&[0xFF; 4][..], &guess[4..]].concat();
        recording.say(500, "198.51.100.66:51000", SERVER, &guess);
        if nth % 3 == 0 {
            let refused = b"\xFF\xFF\xFF\xFFlBad rcon_password.\n\0";
            recording.say(10, SERVER, "198.51.100.66:51000", refused);
        }
    }
    is_flood(&recording.attacks(), "flooded_server", SERVER);
}

/// A flood is one, also if each packet is answered; challenges that nobody returns show that the sources are forged.
#[test]
fn requests_to_connect_are_a_flood_even_if_they_are_answered() {
    let mut recording = Recording::new();
    recording.answers();
    for nth in 0..12_000_u32 {
        let from = anyone(nth);
        recording.say(300, &from, SERVER, b"\xFF\xFF\xFF\xFFgetchallenge steam\n");
        let challenge = format!("A00000000 {nth} 3 1 0\n\0");
        recording.say(33, SERVER, &from, &[&[0xFF; 4][..], challenge.as_bytes()].concat());
    }
    let found = recording.attacks();
    is_flood(&found, "flooded_server", SERVER);
    let attack = &found.0[0];
    assert_eq!(
        (&attack["forged"], &attack["responses"]["packets"]),
        (&json!("yes"), &json!(12_000))
    );
    assert!(attack["evidence"].to_string().contains("none of 12,000 challenged"), "{attack:#}");
}

/// A server that answers one in twenty requests is flooded, and not made to flood others.
#[test]
fn a_server_that_answers_few_requests_is_no_reflector() {
    let mut recording = Recording::new();
    for nth in 0..12_000_u32 {
        let from = format!("198.51.100.{}:40000", 60 + nth % 3);
        // What is repeated within a second is a copy.
        let named = |bytes: &[u8]| [bytes, &nth.to_be_bytes()[..]].concat();
        recording.say(333, &from, SERVER, &named(INFO));
        if nth % 60 < 3 {
            recording.say(10, SERVER, &from, &named(ANSWER));
        }
    }
    let found = recording.attacks();
    is_flood(&found, "flooded_server", SERVER);
    assert_eq!(found.0[0]["also"], Value::Null);
}

/// More players behind one address than ports are remembered: the server challenges each.
#[test]
fn players_behind_one_address_that_ask_at_once_prove_no_reflection() {
    let mut recording = Recording::new();
    for round in 0..6_u32 {
        let challenge = [b"\xFF\xFF\xFF\xFFA\x01\x02\x03", &[round as u8][..]].concat();
        let say_all = |recording: &mut Recording, is_client: bool, bytes: &[u8]| {
            for nth in 0..40 {
                let client = format!("198.51.100.200:{}", 40_000 + nth);
                let ends = if is_client { [&client[..], SERVER] } else { [SERVER, &client] };
                recording.say(100, ends[0], ends[1], bytes);
            }
        };
        recording.1 = recording.1.after(1_500_000_000);
        say_all(&mut recording, true, INFO);
        say_all(&mut recording, false, &challenge);
        say_all(&mut recording, true, &[INFO, &challenge[5..]].concat());
        say_all(&mut recording, false, ANSWER);
    }
    let (_project, file) = Project::of_capture(recording.0.pcap());
    let found = gamewire(["abuse", "--no-config", &file]).out;
    assert!(found.starts_with("no attack"), "{found}");
}

/// Packets that bear the server's own address and port are not what it sends.
#[test]
fn packets_from_the_server_to_itself_are_forged() {
    let mut recording = Recording::new();
    recording.answers();
    (0..12_000).for_each(|nth| recording.say(333, SERVER, SERVER, &junk(nth)));
    let found = recording.attacks();
    is_flood(&found, "flooded_server", SERVER);
    assert_eq!(found.0[0]["forged"], "yes", "{}", found.0[0]["evidence"]);
}

/// Joins and challenges make a port a master's: packets of any content toward it flood a master, from the first on. Servers
/// that returned its challenge are real.
#[test]
fn junk_floods_a_master_that_servers_join() {
    let mut recording = Recording::new();
    for nth in 0..24_u32 {
        let server = format!("203.0.113.{}:27015", 20 + nth);
        recording.say(1_000, &server, MASTER, b"q");
        let challenge = [b"\xFF\xFF\xFF\xFFs\n", &nth.to_le_bytes()[..]].concat();
        recording.say(1_000, MASTER, &server, &challenge);
        let info = format!("0\n\\protocol\\7\\challenge\\{nth}\\players\\0\\max\\8\n");
        recording.say(1_000, &server, MASTER, info.as_bytes());
    }
    recording.flood(MASTER, |nth| [b"9", &junk(nth)[..]].concat());
    let (_project, file) = Project::of_capture(recording.0.pcap());
    let found = gamewire(["abuse", "--no-config", "--format", "json", &file]).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    let [attack] = &found["attacks"].as_array().unwrap()[..] else { panic!("{found:#}") };
    let seen = [&attack["seat"], &attack["packets"], &attack["legitimate"]["returned_challenge"]];
    assert_eq!(seen, [&json!("flooded_master"), &json!(12_000), &json!(24)], "{attack:#}");
}

/// Bytes that look like answers are of the flood, toward a port that is known to be a server's.
#[test]
fn what_looks_like_answers_toward_a_server_is_of_one_flood() {
    let zeros: fn(u32) -> Vec<u8> = |_| vec![0; 64];
    let answers: fn(u32) -> Vec<u8> = |_| ANSWER.to_vec();
    let mixed: fn(u32) -> Vec<u8> = |nth| if nth % 50 == 0 { ANSWER.to_vec() } else { junk(nth) };
    for bytes in [zeros, answers, mixed] {
        let mut recording = Recording::new();
        recording.answers();
        recording.flood(SERVER, bytes);
        let found = recording.attacks();
        is_flood(&found, "flooded_server", SERVER);
        assert_eq!(found.0[0]["packets"], 12_000);
        // So many sources that send one packet each are none that exist.
        assert_eq!(found.0[0]["forged"], "yes", "{}", found.0[0]["evidence"]);
    }
}

/// Servers on the other side of a link that are misused against one address: the address is attacked, once.
#[test]
fn servers_that_are_misused_across_a_link_are_means() {
    let (mut capture, victim) = (Capture::new(Link::Ethernet), "198.51.100.80:80");
    let packet = |nth: u64, from: &str, to: &str, bytes: &[u8]| {
        let ends = [from, to].map(|end| end.parse::<std::net::SocketAddr>().unwrap().ip());
        let ip = Ip { ttl: 53, id: 1 + nth as u32 % 60_000, ..Ip::new(ends[0], ends[1]) };
        ip.packet(protocol::UDP, &Datagram::new(from, to, bytes).bytes())
    };
    for nth in 0..4_000_u64 {
        let server = format!("203.0.113.{}:27015", 10 + nth % 40);
        let at = START.after(nth * 1_500_000);
        capture.push(at, &packet(nth, victim, &server, INFO));
        capture.push(at.after(10_000), &packet(nth, &server, victim, ANSWER));
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let found = gamewire(["abuse", "--no-config", "--format", "json", &file]).out;
    let found: Value = serde_json::from_str(&found).unwrap();
    let [attack] = &found["attacks"].as_array().unwrap()[..] else { panic!("{found:#}") };
    assert_eq!((&attack["seat"], &attack["targets"]), (&json!("transit"), &json!([victim])));
    assert_eq!(attack["sources"]["count"], 40);
}

/// A host that plays elsewhere gets answers of 40 servers that it never asked, for four seconds.
fn reflection(answer: &[u8], port: u16) -> Recording {
    let mut recording = Recording::new();
    for nth in 0..4_000_u32 {
        let server = format!("203.0.113.{}:{port}", 1 + nth % 40);
        recording.say(1_000, &server, VICTIM, answer);
        if nth % 50 == 0 {
            recording.say(10, VICTIM, "192.0.2.77:3074", b"game");
            recording.say(10, "192.0.2.77:3074", VICTIM, b"game");
        }
    }
    recording
}

const VICTIM: &str = "198.51.100.5:3074";

#[test]
fn every_command_names_the_victim_of_a_reflection() {
    let list = b"\xFF\xFF\xFF\xFFf\n\x0A\x01\x02\x03\x69\x87\0\0\0\0\0\0";
    for (answer, port) in [(ANSWER, 27015), (&list[..], 27011)] {
        let (_project, file) = Project::of_capture(reflection(answer, port).0.pcap());
        let checked = gamewire(["check", "--no-config", &file]).out;
        assert!(checked.starts_with("UNDER ATTACK"), "{checked}");
        let summary = gamewire(["summary", "--no-config", &file]).out;
        assert!(summary.starts_with("Under attack: 198.51.100.5 gets many responses"), "{summary}");
        let diagnosed = gamewire(["diagnose", "--no-config", &file]);
        let line = diagnosed.out.lines().next().unwrap_or_default();
        assert!(line.starts_with("fault   under attack: 198.51.100.5 gets responses"), "{line}");
        // The servers that are misused are no news.
        assert!(!diagnosed.out.contains("203.0.113."), "{}", diagnosed.out);
        assert_eq!(diagnosed.code, 1);
    }
}

/// A client that asked servers before the capture began, and asks others in it.
#[test]
fn a_capture_that_begins_late_has_no_victim() {
    let mut recording = Recording::new();
    for nth in 0..150_u32 {
        let server = format!("203.0.113.{}:27015", 1 + nth);
        recording.say(1_000, &server, CLIENT, ANSWER);
    }
    for nth in 0..100_u32 {
        let server = format!("192.0.2.{}:27015", 1 + nth);
        recording.say(1_000, CLIENT, &server, INFO);
        recording.say(20_000, &server, CLIENT, ANSWER);
    }
    let (_project, file) = Project::of_capture(recording.0.pcap());
    for command in ["check", "summary"] {
        let said = gamewire([command, "--no-config", &file]).out;
        assert!(!said.to_lowercase().contains("under attack"), "{said}");
    }
}

/// `abuse` says of what part of the traffic it speaks.
#[test]
fn what_goes_over_tcp_is_said_not_to_be_measured() {
    let said = gamewire(["abuse", "--no-config", "samples/acr-master.pcap"]).out;
    assert!(said.contains(" over UDP;") && said.contains(" of TCP are not measured"), "{said}");
    // Registrations are looked at, to know the ports of servers.
    let register = r"0.00 s > m  tcp 'GET /r?v=1 HTTP/1.0\r\n\r\n'
0.02 m > s  tcp 'HTTP/1.0 200 OK\r\n\r\nregistered' fin
0.03 s > m  tcp fin
end 9";
    let (_project, file) = Project::of_script(register, &Setting::udp(80));
    let run = gamewire(["abuse", "--no-config", &file]);
    assert!(run.out.contains("only read for registrations of servers"), "{}", run.out);
    assert!(!run.err.contains("none of a supported protocol"), "{}", run.err);
    let said = gamewire(["abuse", "--no-config", "samples/a2s-info-players-rules.pcap"]).out;
    assert!(said.starts_with("no attack") && !said.contains("TCP"), "{said}");
}

/// A server that answers everybody: of many clients a while ago, and of an address that asks again and again.
#[test]
fn a_source_that_is_answered_often_is_found_among_very_many() {
    let (mut capture, server) = (Capture::new(Link::Ethernet), SERVER);
    let asks =
        (0..6_000_u64).map(|nth| (nth * 300, format!("12.{}.{}.7:40000", nth / 250, nth % 250)));
    let again = (0..400_u64).map(|nth| (2_000_000 + nth * 100, "198.51.100.7:80".to_owned()));
    for (at, client) in asks.chain(again) {
        for (at, from, to, bytes) in
            [(at, client.as_str(), server, INFO), (at + 1, server, &client, ANSWER)]
        {
            // With an identification of its own, it is no copy of an earlier one.
            let datagram = Datagram::new(from, to, bytes);
            let id = capture.packets.len() as u32 + 1;
            let ip = Ip { id, ..Ip::new(datagram.source.ip(), datagram.destination.ip()) };
            capture.push(START.after_ms(at), &ip.packet(protocol::UDP, &datagram.bytes()));
        }
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let file = Path::new(&file);
    let found = attacks_of(file);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["seat"], "reflector");
    for command in ["check", "summary"] {
        let said = gamewire([command, "--no-config", file.to_str().unwrap()]).out;
        assert!(said.contains("is misused to flood others"), "{command}: {said}");
    }
}

/// Of sources that are not all kept, a count that is not more than its error is none.
#[test]
fn counts_that_may_be_nothing_are_not_said() {
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..30_000_u32 {
        let [a, b, c, _] = nth.wrapping_mul(0x9E37_79B1).to_be_bytes();
        let client = format!("{}.{b}.{c}.7:50000", 11 + a % 80);
        let at = START.after(u64::from(nth) * 200_000);
        capture.push(at, &Datagram::new(&client, SERVER, INFO).packet());
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let found = attacks_of(Path::new(&file));
    let sources = &found[0]["sources"];
    assert!(sources["error"].as_f64().unwrap() > 0.0, "{sources:#}");
    let error = sources["top_error"].as_u64().unwrap_or(0);
    let top = sources["top"].as_array().unwrap();
    assert!(top.iter().all(|it| it["packets"].as_u64().unwrap() > error), "{sources:#}");
    assert_eq!(sources["prefixes"], serde_json::json!([]), "{sources:#}");
}

/// Two programs of one host ask in turn, and return their challenges: what the recording cut off may be these.
#[test]
fn challenges_that_were_cut_off_prove_no_reflection() {
    const ASK: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    const INFORMS: &str =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    for (snap, is_challenged) in [("", true), ("snap=70", true), ("snap=70", false)] {
        let mut script = String::new();
        for nth in 0..60 {
            let at = |milliseconds: u32| f64::from(nth * 240 + milliseconds) / 1000.0;
            let [one, other] = ["c:50001", "c:50002"];
            let lines = [
                (0, format!("{one} > s  {ASK}")),
                (1, format!("s > {one}  {snap} FFFFFFFF 41 07000000")),
                (21, format!("{one} > s  {snap} {ASK} 07000000")),
                (22, format!("{other} > s  {ASK}")),
                (23, format!("s > {one}  {snap} {INFORMS}")),
                (24, format!("s > {other}  {snap} FFFFFFFF 41 07000000")),
                (44, format!("{other} > s  {snap} {ASK} 07000000")),
                (45, format!("s > {other}  {snap} {INFORMS}")),
            ];
            let unchallenged = [
                (0, format!("{one} > s  {snap} {ASK}")),
                (1, format!("s > {one}  {snap} {INFORMS}")),
                (22, format!("{other} > s  {snap} {ASK}")),
                (23, format!("s > {other}  {snap} {INFORMS}")),
            ];
            let lines = if is_challenged { &lines[..] } else { &unchallenged };
            script.extend(lines.iter().map(|(ms, line)| format!("{} {line}\n", at(*ms))));
        }
        let (_project, file) = Project::of_script(&(script + "end 30"), &Setting::udp(27015));
        let found = gamewire(["abuse", "--no-config", &file]).out;
        assert_eq!(found.starts_with("no attack"), is_challenged, "{snap}: {found}");
    }
}

/// Of requests that were cut, nobody can say that they have no challenge.
#[test]
fn clients_whose_challenges_were_cut_off_are_not_said_to_return_none() {
    let found = |snap: usize| {
        let mut recording = Recording::new();
        recording.flood(SERVER, |_| b"\xFF\xFF\xFF\xFFW".to_vec());
        for nth in 0..30_u8 {
            let client = format!("198.51.100.{nth}:50000");
            recording.say(100_000, &client, SERVER, INFO);
            recording.say(
                100,
                SERVER,
                &client,
                &[b"\xFF\xFF\xFF\xFFA\x01\x02\x03", &[nth][..]].concat(),
            );
            recording.say(100, &client, SERVER, &[INFO, b"\x01\x02\x03", &[nth]].concat());
            recording.say(100, SERVER, &client, ANSWER);
        }
        let packets = recording.0.packets.into_iter().map(|packet| packet.snapped(snap));
        recording.0.packets = packets.collect();
        let (_project, file) = Project::of_capture(recording.0.pcap());
        let found = gamewire(["abuse", "--no-config", &file]).out;
        found.lines().find(|line| line.starts_with("  players")).unwrap().to_owned()
    };
    assert!(found(1500).contains("30 clients returned a challenge"), "{}", found(1500));
    let cut = found(60);
    assert!(cut.contains("unknown: requests were not recorded whole"), "{cut}");
}

/// Senders may have ports that are usual ones of servers: the words tell who is the client.
#[test]
fn messages_in_words_count_from_any_port() {
    let mut recording = Recording::new();
    recording.answers();
    for nth in 0..12_000_u32 {
        let from = anyone(nth);
        let host = from.rsplit_once(':').unwrap().0;
        recording.say(300, &format!("{host}:27016"), SERVER, b"\xFF\xFF\xFF\xFFqconnect0x01B4D3E5");
    }
    let (_project, file) = Project::of_capture(recording.0.pcap());
    let said = gamewire(["check", "--no-config", "--select", "SEC007", &file]).out;
    assert!(said.contains("12000 qconnect packets"), "{said}");
}
