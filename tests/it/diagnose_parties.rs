//! `gamewire diagnose`: clients, masters and broadcasts are parties of their own, and patterns of unanswered requests.

use std::fmt::Write;

use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// The diagnosis of a script's capture.
fn diagnosed(script: &str) -> Value {
    of(script, &Setting::udp(27015), &[])
}

fn of(script: &str, setting: &Setting, options: &[&str]) -> Value {
    let (_project, file) = Project::of_script(script, setting);
    let args = ["diagnose", "--no-config", "--format", "json", &file];
    let run = gamewire(args.iter().chain(options));
    serde_json::from_str(&run.out).unwrap()
}

/// The verdict and the cause of an item of the first party of a kind.
fn item(report: &Value, kind: &str, name: &str) -> String {
    let items = report[kind][0]["items"].as_array().unwrap();
    let item = items.iter().find(|item| item["item"] == name).unwrap();
    let cause = item["cause"].as_str().unwrap_or_default();
    format!("{} {cause}", item["verdict"].as_str().unwrap()).trim_end().to_owned()
}

/// Rounds of a script, 20 seconds apart, each with its number and its second.
fn rounds(count: u32, round: impl Fn(u32, u32) -> String) -> String {
    let rounds: String = (0..count).map(|nth| round(nth, nth * 20)).collect();
    format!("{rounds}end {}", count * 20 + 60)
}

#[test]
fn a_client_that_returns_no_challenge_is_at_fault_and_not_the_server() {
    let left =
        rounds(4, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n"));
    let report = diagnosed(&left);
    assert_eq!(item(&report, "clients", "ask.challenge"), "no challenge_not_returned");
    assert_eq!(item(&report, "servers", "seen.verified"), "unknown challenge_not_returned");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown challenge_not_returned");
    let returned = rounds(4, |_, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  FFFFFFFF 41 le32:7\n{at}.03 c > s  {INFO} le32:7\n\
             {at}.05 s > c  {ANSWER}\n"
        )
    });
    let report = diagnosed(&returned);
    assert_eq!(item(&report, "clients", "ask.challenge"), "yes");
    assert_eq!(report["clients"][0]["verdict"], "ok");
    assert_eq!(report["servers"][0]["verdict"], "ok");
}

#[test]
fn challenges_that_no_client_returns_are_filtered() {
    let script = rounds(3, |nth, at| {
        let client = ["c", "d", "e"][nth as usize];
        format!("{at}.0 {client} > s  {INFO}\n{at}.02 s > {client}  FFFFFFFF 41 le32:7\n")
    });
    let report = diagnosed(&script);
    assert_eq!(item(&report, "servers", "seen.verified"), "no challenge_filtered");
    assert_eq!(item(&report, "clients", "ask.challenge"), "unknown challenge_filtered");
}

#[test]
fn a_challenge_from_another_port_or_as_text_is_named() {
    let port = rounds(3, |_, at| {
        format!(
            "{at}.0 c:50001 > s  FFFFFFFF 55 FFFFFFFF\n{at}.02 s > c:50001  FFFFFFFF 41 le32:70000\n\
             {at}.03 c:50002 > s  FFFFFFFF 55 le32:70000\n{at}.05 s > c:50002  FFFFFFFF 41 le32:80000\n"
        )
    });
    assert_eq!(item(&diagnosed(&port), "clients", "ask.challenge"), "no challenge_other_port");
    let text = rounds(3, |_, at| format!("{at}.0 c > s  FFFFFFFF 55 '4294967295'\n"));
    let report = diagnosed(&text);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no challenge_as_text");
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown request_wrong");
}

#[test]
fn words_and_zeros_in_place_of_responses_are_named() {
    let answers = |bytes: &str| {
        let script = rounds(4, |_, at| format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {bytes}\n"));
        item(&diagnosed(&script), "servers", "seen.readable")
    };
    assert_eq!(answers("FFFFFFFF 6C 'Banned by server.' 0A 00"), "no refused_in_words");
    assert_eq!(answers("FFFFFFFF 65 'Update your client' 00"), "no other_protocol");
    assert_eq!(answers("00*40"), "no zero_filled");
    assert_eq!(answers(ANSWER), "yes");
}

#[test]
fn a_share_of_unanswered_requests_is_a_fault_from_a_tenth_on() {
    let answered = |is_answered: &dyn Fn(u32) -> bool| {
        let script = rounds(30, |nth, at| {
            let mut round = format!("{at}.0 c > s  {INFO}\n");
            if is_answered(nth) {
                writeln!(round, "{at}.02 s > c  {ANSWER}").unwrap();
            }
            round
        });
        diagnosed(&script)
    };
    let share = answered(&|nth| nth % 5 != 2);
    assert_eq!(item(&share, "servers", "seen.answered"), "no sometimes_unanswered");
    let period = answered(&|nth| !(10..20).contains(&nth));
    assert_eq!(item(&period, "servers", "seen.answered"), "no silent_period");
    let items = period["servers"][0]["items"].as_array().unwrap();
    let item_of = items.iter().find(|item| item["item"] == "seen.answered").unwrap();
    assert!(item_of["from"].is_string() && item_of["to"].is_string(), "{item_of}");
    assert_eq!(item(&answered(&|nth| nth != 7), "servers", "seen.answered"), "yes");
}

#[test]
fn a_master_that_never_answers_is_proven_silent_only_in_a_complete_capture() {
    // Nothing of another host is recorded: not even the packet that ends other scripts.
    let ask = |at: u32| format!("{}.0 c > m:27011  31FF '0.0.0.0:0' 00 00\n", at * 20);
    let script: String = (0..4).map(ask).collect();
    let setting = Setting::udp(27015);
    let report = of(&script, &setting, &[]);
    assert_eq!(item(&report, "masters", "master.reached"), "unknown master_silent");
    let report = of(&script, &setting, &["--complete"]);
    assert_eq!(item(&report, "masters", "master.reached"), "no master_silent");
    let listed = "0.0 c > m:27011  31FF '0.0.0.0:0' 00 00\n\
                  0.1 m:27011 > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6\nend 60";
    assert_eq!(of(listed, &setting, &[])["masters"][0]["verdict"], "ok");
}

#[test]
fn a_broadcast_is_no_server_and_a_probe_is_one() {
    let mut capture = Capture::new(Link::Ethernet);
    let info = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let answer = b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\0\x18\0dl\0\x011\0\0";
    let (client, server) = ("10.0.0.1:50000", "10.0.0.2:27015");
    for nth in 0..4 {
        let at = |ms: u64| START.after((nth * 20_000 + ms) * 1_000_000);
        let request = Datagram::new(client, "255.255.255.255:27015", info);
        capture.push(at(0), &request.packet());
        capture.push(at(20), &Datagram::new(server, client, answer).packet());
    }
    let (_project, file) = Project::of_capture(capture.pcap());
    let run = gamewire(["diagnose", "--no-config", "--format", "json", &file]);
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["servers"][0]["verdict"], "ok");
    assert_eq!(report["broadcasts"][0]["to"], "255.255.255.255:27015");
    assert_eq!(report["broadcasts"][0]["asked"], 4);
    let probe = format!(
        "0.0 c > s:27016  {INFO}\n0.1 c > s:27017  {INFO}\n0.2 c > s  {INFO}\n0.22 s > c  {ANSWER}\nend 60"
    );
    let report = diagnosed(&probe);
    assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["servers"][0]["probed"].as_array().unwrap().len(), 2);
}
