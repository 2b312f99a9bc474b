//! `gamewire summary`: which addresses are servers of their own.

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

/// The servers in the summary of a capture.
fn servers(bytes: &[u8]) -> Vec<String> {
    let (_project, file) = Project::of_capture(bytes);
    let run = gamewire(["summary", "--no-config", "--format", "json", &file]);
    let summary: Value = serde_json::from_str(&run.out).unwrap();
    let servers = summary["servers"].as_array().unwrap();
    servers.iter().map(|it| it["server"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_address_of_several_hosts_is_no_server() {
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let asked = |to: &str, from: &str| {
        let (client, mut capture) = ("10.0.0.1:50000", Capture::new(Link::Ethernet));
        capture.push(START, &Datagram::new(client, to, info).packet());
        capture.push(START.after(20_000_000), &Datagram::new(from, client, answer).packet());
        servers(&capture.pcap())
    };
    let server = "10.0.0.2:27015";
    assert_eq!(asked("255.255.255.255:27015", server), [server]);
    assert_eq!(asked("10.0.0.255:27015", server), [server]);
    assert_eq!(asked("10.0.0.255:27015", "10.0.0.255:27015"), ["10.0.0.255:27015"], "it answers");
    assert_eq!(asked("10.0.0.7:27015", server).len(), 2);
}

#[test]
fn a_server_that_joins_from_another_port_has_one_row() {
    let of = |script: String| servers(&capture(&script, &Setting::udp(27015)).unwrap().pcap());
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let joins = "0.00 s:26900 > m:27011  71\n0.02 m:27011 > s:26900  FFFFFFFF 730A 01020304\n";
    let asked = format!("1.00 c > s  {info}\n1.02 s > c  {answer}\n");
    assert_eq!(of(format!("{joins}{asked}end 9")), ["10.0.0.2:27015"]);
    let two = format!("{asked}2.00 c > s:27016  {info}\n2.02 s:27016 > c  {answer}\n");
    assert_eq!(of(format!("{joins}{two}end 9")).len(), 3, "it may be either one's");
    let vain = format!("{joins}{asked}2.00 c > s:26900  {info}\nend 9");
    assert_eq!(of(vain).len(), 2, "clients ask the other port, too");
}

/// The challenge that a request takes is no second one.
#[test]
fn one_request_of_a_client_has_no_rate() {
    let rate = |count: u32| {
        let round = |nth: u32| {
            let (at, ask) = (nth * 10, "FFFFFFFF 54 'Source Engine Query' 00");
            format!(
                "{at}.00 c > s  {ask}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n{at}.03 c > s  {ask} le32:7\n\
                 {at}.05 s > c  FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'dl' 00 01 '1' 00 00\n"
            )
        };
        let script = (0..count).map(round).collect::<String>() + "end 60";
        let (_project, file) = Project::of_script(&script, &Setting::udp(27015));
        let run = gamewire(["summary", "--no-config", "--format", "json", &file]);
        let summary: Value = serde_json::from_str(&run.out).unwrap();
        summary["clients"][0]["rate"].clone()
    };
    assert!(!rate(1).is_number(), "{}", rate(1));
    assert!(rate(4).is_number());
}
