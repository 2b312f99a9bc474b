//! `gamewire diagnose`: whether the responses of a server can be believed, and what packets show that were cut.

use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};
use serde_json::Value;

use crate::support::diagnosis::{self, diagnosed_at, item};
use crate::support::project::Project;

/// A round of messages, twelve times; `AT` is its second.
fn rounds(round: &str) -> String {
    (0..12).map(|nth| round.replace("AT", &(nth * 60).to_string())).collect::<String>() + "end 800"
}

#[test]
fn a_key_that_stands_twice_is_said_of_each_protocol() {
    let believed = |second: &str| {
        let round = format!(
            "AT.00 c > s  FEFD 09 00000007\nAT.02 s > c  09 00000007 '9513307' 00\n\
             AT.03 c > s  FEFD 00 00000007 00912A8B FFFFFF01\n\
             AT.05 s > c  00 00000007 'splitnum' 00 80 00 'hostname' 00 'A' 00 'numplayers' 00 '4' 00 \
             '{second}' 00 '20' 00 00\n"
        );
        item(&diagnosed_at(&rounds(&round), 6500), "servers", "seen.believable")
    };
    assert_eq!(believed("maxplayers"), "yes");
    assert_eq!(believed("numplayers"), "unknown key_repeated");
}

/// An info of so many players, bots among them, and a list of others so many seconds later.
fn counted(players: u8, bots: u8, listed: usize, later: u32) -> String {
    let entry = "00 'Ann' 00 le32:1 0000803F ";
    let round = format!(
        "AT.00 c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
         AT.02 s > c  FFFFFFFF 49 11 'A' 00 'm' 00 'f' 00 'g' 00 F000 {players:02X} 20 {bots:02X} 64 6C 00 00 '1' 00\n\
         AT.03 c > s  FFFFFFFF 55 FFFFFFFF\nAT.04 s > c  FFFFFFFF 41 01020304\n\
         LATER.05 c > s  FFFFFFFF 55 01020304\nLATER.06 s > c  FFFFFFFF 44 {listed:02X} {}\n",
        entry.repeat(listed)
    );
    let rounds: String = (0..12_u32)
        .map(|nth| {
            let later = (nth * 60 + later).to_string();
            round.replace("LATER", &later).replace("AT", &(nth * 60).to_string())
        })
        .collect();
    item(&diagnosed_at(&(rounds + "end 800"), 27015), "servers", "seen.believable")
}

/// A server that forgets its players at times.
#[test]
fn a_quarter_of_lists_that_are_empty_disagrees_with_the_description() {
    let believed = |empty: u32| {
        let rounds: String = (0..24_u32)
            .map(|nth| {
                let (at, listed) = (nth * 60, if nth % 6 < empty { 0 } else { 7 });
                let entries = "00 'Ann' 00 le32:1 0000803F ".repeat(listed);
                format!(
                    "{at}.00 c > s  FFFFFFFF 54 'Source Engine Query' 00\n\
                     {at}.02 s > c  FFFFFFFF 49 11 'A' 00 'm' 00 'f' 00 'g' 00 F000 07 20 00 64 6C 00 00 '1' 00 00\n\
                     {at}.03 c > s  FFFFFFFF 55 FFFFFFFF\n{at}.04 s > c  FFFFFFFF 41 01020304\n\
                     {at}.05 c > s  FFFFFFFF 55 01020304\n{at}.06 s > c  FFFFFFFF 44 {listed:02X} {entries}\n"
                )
            })
            .collect();
        item(&diagnosed_at(&(rounds + "end 1500"), 27015), "servers", "seen.believable")
    };
    assert_eq!(believed(0), "yes");
    assert_eq!(believed(1), "unknown counts_disagree");
}

/// As in the rule that compares them.
#[test]
fn bots_may_be_left_out_and_counts_of_other_times_are_no_contradiction() {
    assert_eq!(counted(12, 12, 0, 0), "yes");
    assert_eq!(counted(12, 2, 12, 0), "yes");
    assert_eq!(counted(12, 2, 0, 0), "unknown counts_disagree");
    assert_eq!(counted(20, 0, 8, 5), "unknown counts_disagree");
    assert_eq!(counted(20, 0, 8, 20), "yes");
}

/// Challenges of a host that is so many routers away, and responses of one that is farther, or is not.
#[test]
fn challenges_of_another_host_are_told_from_responses() {
    let believed = |challenges: u8| {
        let mut capture = Capture::new(Link::Ethernet);
        let (client, server) = ("192.0.2.9:50000", "203.0.113.7:25565");
        let properties =
            b"\0\0\0\0\x07splitnum\0\x80\0hostname\0A\0numplayers\x004\0maxplayers\x0020\0\0";
        for nth in 0..8_u64 {
            let exchange: [(_, _, &[u8], _); 4] = [
                (client, server, b"\xFE\xFD\x09\0\0\0\x07", 60),
                (server, client, b"\x09\0\0\0\x079513307\0", challenges),
                (client, server, b"\xFE\xFD\0\0\0\0\x07\0\x91\x29\x5B\xFF\xFF\xFF\x01", 60),
                (server, client, properties, 46),
            ];
            for (step, (from, to, bytes, hops)) in (0..).zip(exchange) {
                let datagram = Datagram::new(from, to, bytes);
                let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
                (ip.ttl, ip.id) = (hops, 1 + nth as u32 * 4 + step as u32);
                let at = START.after_ms(nth * 10_000 + step * 20);
                capture.push(at, &ip.packet(protocol::UDP, &datagram.bytes()));
            }
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        item(&diagnosis::report_of(&file, &[]).1, "servers", "seen.believable")
    };
    assert_eq!(believed(46), "yes");
    assert_eq!(believed(61), "unknown answered_by_two_hosts");
}

/// What of an item is said.
fn said(report: &Value, name: &str) -> [String; 2] {
    let items = report["servers"][0]["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["item"] == name).unwrap();
    ["verdict", "text"].map(|key| item[key].as_str().unwrap_or_default().to_owned())
}

/// Of 24 responses, every other one is longer than the recorder keeps.
#[test]
fn packets_that_were_cut_say_nothing_of_players_and_ends() {
    let players: String =
        (0..8).map(|nth| format!(r"\player_{nth}\Ann{nth}\frags_{nth}\0\team_{nth}\0")).collect();
    let diagnosed = |kept: usize| {
        let mut capture = Capture::new(Link::Ethernet);
        for nth in 0..24_u64 {
            let is_long = nth % 2 == 0;
            let of_players = if is_long { &players[..] } else { "" };
            let (question, answer) = (
                if is_long { r"\status\" } else { r"\info\" },
                format!(
                    r"\hostname\A\mapname\B\numplayers\8\maxplayers\16{of_players}\queryid\{}.1\final\",
                    nth + 1
                ),
            );
            let (client, server) = ("192.0.2.9:50000", "203.0.113.7:7778");
            let at = START.after_ms(nth * 10_000);
            capture.push(at, &Datagram::new(client, server, question.as_bytes()).packet());
            let packet = Datagram::new(server, client, answer.as_bytes()).packet();
            capture.push(at.after(1_000_000), &packet);
        }
        for packet in &mut capture.packets {
            packet.bytes.truncate(kept);
        }
        let (_project, file) = Project::of_capture(capture.pcap());
        diagnosis::report_of(&file, &[]).1
    };
    let whole = diagnosed(usize::MAX);
    assert_eq!(
        [said(&whole, "seen.whole"), said(&whole, "seen.believable")].map(|it| it[0].clone()),
        ["yes", "yes"]
    );
    let cut = diagnosed(200);
    let [verdict, text] = said(&cut, "seen.whole");
    assert_eq!(verdict, "unknown", "{cut:#}");
    assert!(text.starts_with("12 of 24 responses: it was not recorded whole"), "{text}");
    let believed = said(&cut, "seen.believable");
    assert!(!believed[1].contains("players"), "{believed:?}");
}

/// A list of many pages from a master that takes so many milliseconds for each.
#[test]
fn pages_that_are_all_late_are_a_slow_list() {
    let listed = |pages: u32, taken: u32| {
        let mut script = String::new();
        for nth in 0..pages {
            let at = |ms: u32| {
                let ms = nth * (taken + 1_000) + ms;
                format!("{}.{:03}", ms / 1_000, ms % 1_000)
            };
            let seed =
                if nth == 0 { "0.0.0.0:0".to_owned() } else { format!("10.0.{nth}.2:27015") };
            let end = if nth + 1 == pages { "000000000000" } else { "" };
            script += &format!(
                "{} c > m:27010  31FF '{seed}' 00 00\n{} m:27010 > c  FFFFFFFF 660A 0A00{:02X}02 6987 {end}\n",
                at(0),
                at(taken),
                nth + 1
            );
        }
        let end = pages * (taken + 1_000) / 1_000 + 60;
        let report =
            diagnosis::diagnosed(&format!("{script}end {end}"), &Setting::udp(27010), &[]).1;
        item(&report, "masters", "master.in_time")
    };
    assert_eq!(listed(6, 7_000), "no list_slow");
    assert_eq!(listed(60, 300), "yes");
}
