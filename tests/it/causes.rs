//! Causes in `gamewire diagnose` that no sample has, each with a capture.

use crate::support::project::Project;
use crate::support::{diagnosis, gamewire};
use captures::exchange::{Setting, capture};
use captures::wire::{Capture, Datagram, Ip, Link, START, Time, protocol};
use serde_json::Value;

/// The result for this server of a capture.
fn diagnosed(bytes: &[u8], server: &str, args: &[&str]) -> Value {
    let (_project, file) = Project::of_capture(bytes);
    let always = ["diagnose", "--no-config", "--format", "json", "--server", server, &file];
    let run = gamewire(always.iter().chain(args));
    assert!(run.code < 2, "{}", run.err);
    let found: Value = serde_json::from_str(&run.out).unwrap();
    found["servers"][0].clone()
}

/// The verdict on an item of it, the cause, and the text.
fn item(server: &Value, item: &str) -> [String; 3] {
    let items = server["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["item"] == item);
    let item = item.unwrap_or_else(|| panic!("no such item: {server}"));
    ["verdict", "cause", "text"].map(|key| item[key].as_str().unwrap_or_default().to_owned())
}

fn of_script(script: &str, setting: &Setting, server: &str, of: &str) -> [String; 3] {
    item(&diagnosed(&capture(script, setting).unwrap().pcap(), server, &[]), of)
}

const A2S: Setting = Setting::udp(27015);
const VALVE: Setting = Setting::udp(27010);
const ASK: &str = "FFFFFFFF 54 'Source Engine Query' 00";

#[test]
fn a_host_that_cannot_be_reached() {
    let script = format!("0.0 c > s  {ASK}\n0.01 m > c  icmp=3.1\nend 9");
    let said = of_script(&script, &A2S, "10.0.0.2:27015", "seen.answered");
    assert_eq!(said, ["no", "icmp_host_unreachable", "10.0.0.9 says: host unreachable"]);
    let script = "0.0 s:27015 > m  71\n0.01 n > s:27015  icmp=3.0\nend 9";
    let said = of_script(script, &VALVE, "10.0.0.2:27015", "reg.challenged");
    assert_eq!(said, ["no", "icmp_host_unreachable", "10.0.1.9 says: net unreachable"]);
}

/// A join with this info string.
fn joined(info: &str) -> String {
    format!(
        "0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:1339895702\n\
         0.03 s:27015 > m  30 0A '{}' 0A\nend 30",
        info.replace('\\', r"\\")
    )
}

const INFO: &str = r"\protocol\47\challenge\1339895702\players\0\max\2\bots\0\gamedir\cstrike\map\de_dust\type\d\password\0\os\l\secure\0\lan\0\version\1.1.2.5/Stdio\region\255\product\cstrike";

#[test]
fn an_info_string_that_cannot_be_read() {
    let info = |info: &str| of_script(&joined(info), &VALVE, "10.0.0.2:27015", "reg.info");
    assert_eq!(info(INFO)[..2], ["yes", ""]);
    let twice = info(&format!(r"{INFO}\map\de_dust2"));
    assert_eq!(twice[..2], ["no", "info_malformed"], "{twice:?}");
    assert!(twice[2].contains("map"), "{twice:?}");
}

#[test]
fn queries_that_are_never_answered() {
    let asks: String = (0..4).map(|nth| format!("{nth}0.0 c > s  {ASK}\n")).collect();
    let script = format!("{asks}end 60");
    let bytes = capture(&script, &A2S).unwrap().pcap();
    let answered =
        |args: &[&str]| item(&diagnosed(&bytes, "10.0.0.2:27015", args), "seen.answered");
    assert_eq!(answered(&["--complete"])[..2], ["no", "queries_unanswered"]);
    // It is unknown whether the other direction was recorded.
    let said = answered(&[]);
    assert_eq!(said[..2], ["unknown", "capture_one_sided"], "{said:?}");
}

#[test]
fn a_list_that_is_enciphered() {
    let script = r"0.0 s:7778 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'
60.0 s:7778 > m:27900  '\\heartbeat\\7778\\gamename\\ut\\'
70.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
70.02 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\enctype\\2\\final\\'
70.03 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
70.05 m:28900 > c tcp 9D11E3213EC04255B0BF5B117D5C5B1D46C89699 fin
70.06 c > m:28900 tcp fin
end 120";
    let said = of_script(script, &Setting::udp(7778), "10.0.0.2:7778", "list.listed");
    let text = "the list is encrypted or compressed, and cannot be read";
    assert_eq!(said, ["unknown", "list_enciphered", text]);
}

/// A server that sends a heartbeat, is challenged and responds.
fn validated(game: &str) -> String {
    format!(
        r"0.00 s:7778 > m:27900  '\\heartbeat\\7778\\gamename\\{game}\\'
0.02 m:27900 > s:7778  '\\basic\\\\secure\\XDWAOR'
0.03 s:7778 > m:27900  '\\heartbeat\\7778\\gamename\\{game}\\validate\\3JOdDFU5\\final\\'
end 90"
    )
}

#[test]
fn a_game_whose_key_is_not_known() {
    let echo = |game| of_script(&validated(game), &Setting::udp(7778), "10.0.0.2:7778", "reg.echo");
    assert_eq!(echo("ut")[..2], ["yes", ""]);
    let said = echo("nosuchgame");
    assert_eq!(said[..2], ["unknown", "key_unknown"]);
    assert!(said[2].contains("secret key"), "{said:?}");
}

#[test]
fn a_capture_that_begins_too_late() {
    let whole = joined(INFO);
    let late = whole.lines().skip(2).collect::<Vec<_>>().join("\n");
    let said = of_script(&late, &VALVE, "10.0.0.2:27015", "reg.echo");
    assert_eq!(said[..2], ["unknown", "capture_starts_late"], "{said:?}");
}

#[test]
fn a_capture_that_is_too_short() {
    let script = "0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:1339895702\nend 0.5";
    let echo = of_script(script, &VALVE, "10.0.0.2:27015", "reg.echo");
    assert_eq!(echo[..2], ["unknown", "capture_too_short"], "{echo:?}");
    let beats = of_script(&joined(INFO), &VALVE, "10.0.0.2:27015", "reg.heartbeats");
    assert_eq!(beats[..2], ["unknown", "capture_too_short"], "{beats:?}");
}

#[test]
fn a_recorder_that_lost_packets() {
    let mut file = captures::wire::PcapNg::new(captures::wire::ByteOrder::Little);
    let packets =
        capture("0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le32:7\nend 60", &VALVE);
    let packets = packets.unwrap().packets;
    let interface = file.interface(captures::wire::Interface::new(Link::Ethernet));
    packets.iter().for_each(|packet| file.enhanced(interface, packet));
    file.statistics(interface, Time(START.0 + 60_000_000_000), 10, 7);
    let echo = item(&diagnosed(&file.done(), "10.0.0.2:27015", &[]), "reg.echo");
    assert_eq!(echo[..2], ["unknown", "capture_drops"], "{echo:?}");
}

/// A server joins, and a client of another network receives the master's list with the server.
fn listed(server: &str, client: &str) -> Vec<u8> {
    listed_as(server, server, client, 20)
}

/// The same, with this address in the list, and so many milliseconds between two packets.
fn listed_as(server: &str, address: &str, client: &str, step: u64) -> Vec<u8> {
    const MASTER: &str = "198.51.100.9:27010";
    let endpoint: std::net::SocketAddrV4 = address.parse().unwrap();
    let listed = [&endpoint.ip().octets()[..], &endpoint.port().to_be_bytes()].concat();
    let info = [b"0\n", INFO.as_bytes(), b"\n"].concat();
    let list = [b"\xFF\xFF\xFF\xFFf\n", &listed[..], &[0; 6]].concat();
    let messages: [(&str, &str, &[u8]); 5] = [
        (server, MASTER, b"q"),
        (MASTER, server, &[b"\xFF\xFF\xFF\xFFs\n", &1_339_895_702_u32.to_le_bytes()[..]].concat()),
        (server, MASTER, &info),
        (client, MASTER, b"1\xFF0.0.0.0:0\0\0"),
        (MASTER, client, &list),
    ];
    let mut capture = Capture::new(Link::Ethernet);
    for (nth, (from, to, payload)) in (1..).zip(messages) {
        let datagram = Datagram::new(from, to, payload);
        let ip = Ip { id: nth, ..Ip::new(datagram.source.ip(), datagram.destination.ip()) };
        let time = Time(START.0 + u64::from(nth) * step * 1_000_000);
        capture.push(time, &ip.packet(protocol::UDP, &datagram.bytes()));
    }
    capture.pcap()
}

#[test]
fn an_address_that_clients_cannot_reach() {
    let address = |server: &str, client: &str| {
        item(&diagnosed(&listed(server, client), server, &[]), "list.address")
    };
    let (inside, outside) = ("192.168.0.7:50000", "203.0.113.7:50000");
    let private = "192.168.0.2:27015";
    let text = "as 192.168.0.2:27015, to 203.0.113.7";
    assert_eq!(address(private, outside), ["no", "listed_private_address", text]);
    // The master is public: players everywhere get its list.
    assert_eq!(address(private, inside)[..2], ["no", "listed_private_address"]);
    let loopback = "127.0.0.1:27015";
    assert_eq!(address(loopback, outside), ["no", "listed_loopback", "as 127.0.0.1:27015"]);
    assert_eq!(address("203.0.113.2:27015", outside)[0], "yes");
}

/// What is listed in its place, with its port, is the server under its local address.
#[test]
fn a_local_address_in_the_place_of_the_server() {
    let (server, client) = ("203.0.113.2:27015", "203.0.114.7:50000");
    let of = |address: &str, name: &str| {
        item(&diagnosed(&listed_as(server, address, client, 2_000), server, &[]), name)
    };
    let said = "as 192.168.1.10:27015, to 203.0.114.7";
    let private = of("192.168.1.10:27015", "list.address");
    assert_eq!(private, ["no", "listed_private_address", said]);
    assert_eq!(of("127.0.0.1:27015", "list.address")[..2], ["no", "listed_loopback"]);
    assert_eq!(of("127.0.0.1:27015", "list.listed")[0], "unknown");
    for other in ["192.168.1.10:27016", "203.0.113.3:27015"] {
        assert_eq!(of(other, "list.listed")[..2], ["no", "not_in_list"], "{other}");
    }
}

#[test]
fn a_list_right_behind_the_first_join_need_not_have_the_server() {
    let server = "203.0.113.2:27015";
    let of = |step: u64| {
        let list = listed_as(server, "203.0.113.3:27015", "203.0.114.7:50000", step);
        item(&diagnosed(&list, server, &[]), "list.listed").concat()
    };
    assert!(of(500).starts_with("unknownnot_in_capture"), "{}", of(500));
    assert!(of(2_000).starts_with("nonot_in_list"), "{}", of(2_000));
}

/// A client repeatedly requests the rules, and a part of each response is missing.
fn in_part(response: &dyn Fn(u32) -> String) -> Value {
    let one = |nth: u32| {
        let at = nth * 20;
        format!(
            "{at}.0 c > s  FFFFFFFF 56 FFFFFFFF\n{at}.02 s > c  FFFFFFFF 41 le32:7\n\
             {at}.1 c > s  FFFFFFFF 56 le32:7\n{at}.12 s > c  {}\n",
            response(nth)
        )
    };
    let script = format!("{}end 190", (0..4).map(one).collect::<String>());
    diagnosed(&capture(&script, &A2S).unwrap().pcap(), "10.0.0.2:27015", &["--complete"])
}

#[test]
fn a_server_whose_responses_come_in_part_responds() {
    let split = in_part(&|nth| {
        format!("FEFFFFFF le32:{} 02 00 E004 FFFFFFFF 45 0100 'a' 00 'b'*1230", 77 + nth)
    });
    let fragments = in_part(&|_| "frag=800 lacks=2 FFFFFFFF 45 0100 'a' 00 'b'*1430 00".to_owned());
    for (server, cause) in [(split, "split_part_missing"), (fragments, "fragment_lost")] {
        assert_eq!(item(&server, "seen.whole")[..2], ["no", cause]);
        assert_eq!(server["cause"], cause, "{server}");
        assert_eq!(item(&server, "seen.answered"), ["yes", "", "only in part"], "{server}");
        assert_eq!(item(&server, "seen.verified")[0], "yes", "{server}");
        let unknown = ["unknown", "not_in_capture", "no response is whole"];
        assert_eq!(item(&server, "seen.readable"), unknown, "{server}");
    }
}

#[test]
fn responses_from_elsewhere_are_in_the_capture() {
    let script = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s:40000 > c  FFFFFFFF 41 4BA1D522\n\
        1.0 c > s  FFFFFFFF 55 4BA1D522\n1.02 s:40000 > c  FFFFFFFF 44 00\nend 9";
    let said = of_script(script, &A2S, "10.0.0.2:27015", "seen.in_time");
    let text = "only responses from 10.0.0.2:40000 are in the capture";
    assert_eq!(said, ["unknown", "not_in_capture", text]);
    let from_both = script.replace("0.02 s:40000", "0.02 s");
    let said = of_script(&from_both, &A2S, "10.0.0.2:27015", "seen.in_time");
    let text = "no whole response is from the address asked";
    assert_eq!(said, ["unknown", "not_in_capture", text]);
}

/// A client that asks for information once a minute, from one port and with one session ID.
#[test]
fn a_challenge_from_elsewhere_is_one_each_time() {
    let round = |at: u32| {
        format!(
            "{at}.00 c > s  FEFD 09 01020304\n{at}.01 t > c  09 01020304 '100' 00\n\
             {at}.02 c > s  FEFD 00 01020304 00000064 FFFFFF01\n\
             {at}.03 s > c  00 01020304 'hostname' 00 'A' 00 00 00 00\n"
        )
    };
    let script = round(0) + &round(60) + "end 90";
    let said = of_script(&script, &Setting::udp(6500), "10.0.0.2:6500", "seen.from_asked");
    let text = "10.0.1.2:6500 sends 2 of 4 responses";
    assert_eq!(said, ["no", "answers_from_other_address", text]);
}

const LIST: &str = "10.0 c > m:27010  31FF '0.0.0.0:0' 00 00\n\
    10.02 m:27010 > c  FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27016 ip:0.0.0.0:0\nend 30";

/// A master that answers no request for its list has cut none.
#[test]
fn a_list_that_never_began_is_not_cut() {
    let script = "0.0 s > m:27010  71\n0.02 m:27010 > s  FFFFFFFF 730A le32:7\n\
        10.0 c > m:27010  31FF '0.0.0.0:0' 00 00\nend 30";
    let whole = of_script(script, &VALVE, "10.0.0.2:27015", "list.whole");
    assert_eq!(whole[..2], ["unknown", "not_in_capture"]);
}

/// More than one of ten responses is too many, of at least ten; of fewer, three.
#[test]
fn one_of_ten_responses_may_be_unreadable() {
    let verdict = |good: usize, bad: usize| {
        // Now and then, also the last one: what is over is no fault.
        let all = good + bad;
        let is_bad = |nth: usize| nth * bad / all < (nth + 1) * bad / all;
        let round = |nth: usize| {
            let text = if is_bad(nth) { "00000000 '' 00*20" } else { PLAYERS };
            format!("{nth}0.0 c > s  FFFFFFFF 55 01020304\n{nth}0.1 s > c  {text}\n")
        };
        let script = (0..all).map(round).collect::<String>() + "end 900";
        of_script(&script, &A2S, "10.0.0.2:27015", "seen.readable")[0].clone()
    };
    for (good, bad, expected) in
        [(9, 1, "unknown"), (10, 2, "no"), (6, 2, "unknown"), (6, 3, "no"), (12, 0, "yes")]
    {
        assert_eq!(verdict(good, bad), expected, "{good} {bad}");
    }
}

const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";

/// A master that refuses connections is named, also where nothing else of it is in the capture.
#[test]
fn a_port_of_masters_that_refuses_connections() {
    let script = "1.0 m:28900 > c tcp refused\nend 40";
    let (_project, file) = Project::of_script(script, &Setting::udp(27900));
    let (code, report) = diagnosis::report_of(&file, &[]);
    assert_eq!((code, &report["masters"][0]["cause"]), (1, &"tcp_refused".into()), "{report:#}");
}

/// A response that nothing closes never ends for its readers, whether it counts its parts or not.
#[test]
fn a_text_without_its_end_is_not_terminated() {
    let round = |at: u32| {
        format!(
            "{at}.0 c > s  '\\\\status\\\\'\n{at}.01 s > c  '\\\\hostname\\\\A\\\\mapname\\\\B'\n"
        )
    };
    let script = round(0) + &round(10) + &round(20) + "end 40";
    let whole = of_script(&script, &Setting::udp(7778), "10.0.0.2:7778", "seen.whole");
    assert_eq!(whole[..2], ["no", "not_terminated"]);
}

/// The capture may end before the rest of the last one could come: that it is like the others counts.
#[test]
fn the_last_of_three_texts_without_an_end_counts() {
    let round = |at: u32| {
        format!(
            "{at}.0 c > s  '\\\\status\\\\'\n{at}.01 s > c  '\\\\hostname\\\\A\\\\mapname\\\\B\\\\queryid\\\\{at}.1'\n"
        )
    };
    let of =
        |script: String| of_script(&script, &Setting::udp(7778), "10.0.0.2:7778", "seen.whole");
    assert_eq!(of(round(1) + &round(5) + &round(9))[..2], ["no", "not_terminated"]);
    // Of two, the rest may be lost.
    assert_eq!(of(round(1) + &round(5) + "end 20")[..2], ["no", "split_part_missing"]);
}

/// All that a user may have is the list that a client got.
#[test]
fn a_server_that_only_a_list_could_have() {
    let bytes = capture(LIST, &VALVE).unwrap().pcap();
    let listed = |server: &str| diagnosed(&bytes, server, &[]);
    let text = "as 10.0.0.2:27015";
    assert_eq!(item(&listed("10.0.0.2:27015"), "list.listed"), ["yes", "", text]);
    let other = listed("10.0.2.2:27015");
    let text = "the latest complete list does not have it";
    assert_eq!(item(&other, "list.listed"), ["no", "not_in_list", text]);
    assert_eq!(other["verdict"], "fault");
    let port = listed("10.0.1.2:27015");
    assert_eq!(item(&port, "list.address"), ["no", "listed_other_port", "as 10.0.1.2:27016"]);
    let swapped = listed(&format!("10.0.1.2:{}", 27016_u16.swap_bytes()));
    let text = "as 10.0.1.2:27016, the two bytes of the port exchanged by the master";
    assert_eq!(item(&swapped, "list.address"), ["no", "listed_other_port", text]);
    // Two protocols' lists, of which either may be the server's.
    let text = r"0.00 m:28900 > c tcp '\\basic\\\\secure\\XDWAOR'
0.02 c > m:28900 tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
0.03 c > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'
0.05 m:28900 > c tcp '\\ip\\10.0.0.3:7778\\final\\' fin
0.06 c > m:28900 tcp fin
";
    let both = capture(&format!("{text}{LIST}"), &VALVE).unwrap().pcap();
    let said = item(&diagnosed(&both, "10.0.2.2:27015", &[]), "list.listed");
    assert_eq!(said[..2], ["unknown", "not_in_capture"], "{said:?}");
    let shown =
        gamewire(["diagnose", "--server", "203.0.113.200:7778", "samples/gamespy1-list.pcap"]);
    assert!(
        shown.out.contains("no list in the capture is one that should have it"),
        "{}",
        shown.out
    );
}

#[test]
fn a_capture_of_lists_alone_says_how_to_look_one_up() {
    let (_project, file) = Project::of_script(LIST, &VALVE);
    let run = gamewire(["diagnose", "--no-config", &file]);
    let note = "; --server IP:PORT looks one up in the lists of masters\n";
    assert!(run.out.contains(note), "{}", run.out);
}
