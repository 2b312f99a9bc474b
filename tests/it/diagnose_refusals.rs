//! `gamewire diagnose`: masters that refuse, break down, or cannot be reached, and whom they refuse.

use crate::support::diagnosis::{diagnosed, item, report_of, validated};
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use captures::wire::TimedPacket;
use serde_json::Value;

/// The words of an item of the first master.
fn words(report: &Value, name: &str) -> String {
    let items = report["masters"][0]["items"].as_array().unwrap();
    let found = items.iter().find(|it| it["item"] == name).unwrap();
    found["text"].as_str().unwrap_or_default().to_owned()
}

/// A client gets this response to its request for a list of AssaultCube Reloaded.
fn listed(client: &str, at: u32, response: &str) -> String {
    format!(
        r"{at}.00 {client} > m tcp 'GET /c?build_defs=4 HTTP/1.0\r\n\r\n'
{at}.02 m > {client} tcp '{response}' fin
{at}.03 {client} > m tcp fin
"
    )
}

#[test]
fn who_is_banned_is_named() {
    let list = |flags: u8| {
        format!(
            r"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags {flags}\ncurrent_version 20700 140\naddserver 10.0.0.2\n"
        )
    };
    let of = |script: String| diagnosed(&format!("{script}end 60"), &Setting::tcp(80), &[]).1;
    let one = of(listed("c", 0, &list(2)) + &listed("d", 10, &list(0)));
    assert_eq!(item(&one, "masters", "master.accepts"), "no banned", "{one:#}");
    assert_eq!(words(&one, "master.accepts"), "the master says that it has banned 10.0.0.1");
    let two = of(listed("c", 0, &list(2)) + &listed("d", 10, &list(2)));
    let text = "the master says that it has banned 10.0.0.1, 10.0.1.1";
    assert_eq!(words(&two, "master.accepts"), text);
}

/// A status from 500 on is no refusal.
#[test]
fn a_master_that_fails_does_not_refuse() {
    let accepts = |status: &str| {
        let response = format!(r"HTTP/1.0 {status}\r\n\r\noverloaded\n");
        let script: String = (0..3).map(|nth| listed("c", nth * 10, &response)).collect();
        diagnosed(&format!("{script}end 60"), &Setting::tcp(80), &[]).1
    };
    let fails = accepts("503 Service Unavailable");
    assert_eq!(item(&fails, "masters", "master.accepts"), "no server_error", "{fails:#}");
    assert!(words(&fails, "master.accepts").contains("503"), "{fails:#}");
    let refuses = accepts("403 Forbidden");
    assert_eq!(item(&refuses, "masters", "master.accepts"), "no refused_in_words", "{refuses:#}");
}

/// What a firewall drops is not accepted, though heartbeats to another port of the master pass.
#[test]
fn a_master_that_answers_no_connection_accepts_none() {
    let beats: String = (0..4)
        .map(|nth| {
            let beat = r"'\\heartbeat\\7778\\gamename\\ut\\'";
            let answer = if nth == 0 { validated("m", 0) } else { String::new() };
            format!("{}.00 s:7778 > m:27900  {beat}\n{answer}", nth * 60)
        })
        .collect();
    let connects: String = (0..3)
        .map(|nth| {
            let (at, port) = (200 + nth * 20, 40000 + nth);
            format!("{at}.0 c:{port} > m:28900 tcp ''\n{}.0 c:{port} > m:28900 tcp fin\n", at + 10)
        })
        .collect();
    // Of each connection, the first segment alone, or with the answer to it.
    let reached = |is_answered: bool, others: &str| {
        let script = format!("{beats}{connects}{others}end 300");
        let mut capture = capture(&script, &Setting::udp(7778)).unwrap();
        capture.packets.retain(|TimedPacket { bytes, .. }| {
            let is_tcp = bytes[14 + 9] == 6;
            !is_tcp || is_answered || bytes[14 + 20 + 13] == 0x02
        });
        let (_project, file) = Project::of_capture(capture.pcap());
        let report = report_of(&file, &[]).1;
        ["master.reached", "master.greets"].map(|name| item(&report, "masters", name))
    };
    let heard = "270.0 d:53 > c:50000  00\n";
    assert_eq!(reached(false, heard), ["no tcp_unanswered", "unknown not_in_capture"]);
    assert_eq!(reached(false, ""), ["unknown tcp_unanswered", "unknown not_in_capture"]);
    assert_eq!(reached(true, heard)[1], "no never_speaks");
}

/// A router has no route to a text master, or a firewall is in front of it: no message is ever sent.
#[test]
fn icmp_errors_about_connections_alone_are_found() {
    for (error, cause) in [("3.1", "icmp_host_unreachable"), ("3.13", "icmp_admin_prohibited")] {
        let script: String = (0..3)
            .map(|nth| {
                format!("{}.0 m:28900 > c:{} tcp refused icmp={error}\n", nth * 20, 50_000 + nth)
            })
            .collect();
        let (code, report) = diagnosed(&format!("{script}end 90"), &Setting::tcp(28900), &[]);
        assert_eq!(item(&report, "masters", "master.reached"), format!("no {cause}"), "{report:#}");
        assert_eq!(code, 1);
    }
}

/// What a text master says to each connection answers no request for its list.
#[test]
fn a_client_that_gets_challenges_and_no_list_is_named() {
    let round = |client: &str, at: u32, list: &str| {
        format!(
            "{at}.00 m:28900 > {client} tcp '\\\\basic\\\\\\\\secure\\\\XDWAOR'\n\
             {at}.02 {client} > m:28900 tcp '\\\\gamename\\\\ut\\\\location\\\\0\\\\validate\\\\3JOdDFU5\\\\final\\\\'\n\
             {at}.03 {client} > m:28900 tcp '\\\\list\\\\\\\\gamename\\\\ut\\\\final\\\\'\n{list}\
             {at}.90 {client} > m:28900 tcp fin\n{at}.91 m:28900 > {client} tcp fin\n"
        )
    };
    let script: String = (0..6)
        .map(|nth| {
            let (at, c, d) =
                (nth * 20, format!("c:{}", 50_000 + nth), format!("d:{}", 51_000 + nth));
            let list =
                format!("{at}.05 m:28900 > {c} tcp '\\\\ip\\\\10.0.0.2:7778\\\\final\\\\'\n");
            round(&c, at, &list) + &round(&d, at + 10, "")
        })
        .collect();
    let report = diagnosed(&format!("{script}end 180"), &Setting::tcp(28900), &[]).1;
    let clients = report["clients"].as_array().unwrap();
    let client = clients.iter().find(|it| it["client"] == "10.0.1.1").unwrap();
    let is = crate::support::diagnosis::verdict_of(client, "ask.answered");
    assert_eq!(is, ["no", "one_client_unanswered"], "{report:#}");
}
