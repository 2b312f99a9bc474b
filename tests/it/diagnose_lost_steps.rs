//! Packets of registrations and lists that were not recorded accuse nobody, in `gamewire diagnose` and `check`; the same
//! faults are found where nothing is missing.

use std::fmt::Write;

use crate::support::diagnosis::{self, item};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use serde_json::Value;

const VALVE: Setting = Setting::udp(27010);
const GS4: Setting = Setting::udp(6500);

/// What `check` says of the rules that are broken, and the diagnosis, of a script without some packets, by their number
/// from 0 on.
fn without(
    script: &str,
    setting: &Setting,
    is_lost: impl Fn(usize) -> bool,
) -> (Vec<String>, Value) {
    let mut capture = capture(script, setting).unwrap();
    let packets = std::mem::take(&mut capture.packets).into_iter().enumerate();
    capture.packets = packets.filter(|(at, _)| !is_lost(*at)).map(|(_, packet)| packet).collect();
    let (_project, file) = Project::of_capture(capture.pcap());
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    let check: Value = serde_json::from_str(&run.out).unwrap();
    let rules = check["rules"].as_array().unwrap().iter();
    let failed = rules.filter(|rule| rule["failed"] != 0 && rule["severity"] != "note");
    let codes = failed.map(|rule| rule["code"].as_str().unwrap().to_owned()).collect();
    (codes, diagnosis::report_of(&file, &[]).1)
}

/// So many joins, every five minutes.
fn joins(rounds: u32) -> String {
    let mut script = String::new();
    let info = r"\\players\\0\\max\\2\\bots\\0\\gamedir\\cstrike\\map\\de_dust\\type\\d\\password\\0\\os\\l\\secure\\0\\lan\\0\\version\\1.1.2.5/Stdio\\region\\255\\product\\cstrike";
    for round in 0..rounds {
        let (at, number) = (round * 300, 1000 + round);
        writeln!(script, "{at}.0 s:27015 > m  71").unwrap();
        writeln!(script, "{at}.1 m > s:27015  FFFFFFFF 730A le32:{number}").unwrap();
        let text = format!(r"30 0A '\\protocol\\47\\challenge\\{number}{info}' 0A");
        writeln!(script, "{at}.2 s:27015 > m  {text}").unwrap();
    }
    format!("{script}end {}", rounds * 300)
}

#[test]
fn a_join_that_was_not_recorded_makes_no_heartbeat_rare() {
    let (codes, report) = without(&joins(6), &VALVE, |at| at == 12);
    assert_eq!(codes, [""; 0]);
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "yes", "{report:#}");
    // A round that did not take place.
    let (codes, report) = without(&joins(6), &VALVE, |at| (12..15).contains(&at));
    assert_eq!(codes, ["VM044"]);
    assert_eq!(item(&report, "servers", "reg.heartbeats"), "no heartbeat_rare", "{report:#}");
}

/// Challenges without a join show that the recorder lost packets.
#[test]
fn a_recorder_that_loses_joins_accuses_no_server() {
    let (codes, report) = without(&joins(60), &VALVE, |at| at % 7 == 6);
    assert_eq!(codes, [""; 0]);
    assert_eq!(report["capture"]["lost"], true, "{report:#}");
    assert_ne!(report["servers"][0]["verdict"], "fault", "{report:#}");
    // Nothing is lost if each join is answered.
    let (_, report) = without(&joins(60), &VALVE, |_| false);
    assert_eq!(report["capture"]["lost"], Value::Null, "{report:#}");
}

/// Registrations of one server at a master that probes it and is content, a minute apart.
fn registrations(count: u32) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let (at, port) = (nth * 60, 40_000 + nth);
        let request = r"'GET /r?v=140&g=20700&p=28770 HTTP/1.0\r\nHost: m\r\n\r\n'";
        writeln!(script, "{at}.00 s:{port} > m  {request}").unwrap();
        writeln!(script, "{at}.02 m:41000 > s:28771 udp  01").unwrap();
        writeln!(script, "{at}.03 s:28771 > m:41000 udp  01 808c 00").unwrap();
        let text = r"'HTTP/1.0 200 OK\r\n\r\nserver registered' fin";
        writeln!(script, "{at}.05 m > s:{port}  {text}\n{at}.06 s:{port} > m  fin").unwrap();
    }
    format!("{script}end {}", count * 60)
}

#[test]
fn a_probe_whose_answer_was_not_recorded_was_answered_if_the_master_is_content() {
    let script = registrations(3);
    let lost = "120.03 s:28771 > m:41000 udp  01 808c 00\n";
    let (_, report) = without(&script.replace(lost, ""), &Setting::tcp(80), |_| false);
    assert_eq!(item(&report, "servers", "reg.probe_back"), "yes", "{report:#}");
    let refused = script.replace(lost, "").replace("\n120.05", "\n120.04");
    let (before, after) = refused.split_at(refused.find("\n120.04").unwrap());
    let refused = format!("{before}{}", after.replace("server registered", "could not register"));
    let (_, report) = without(&refused, &Setting::tcp(80), |_| false);
    assert_eq!(item(&report, "servers", "reg.probe_back"), "no probe_unanswered", "{report:#}");
}

/// Lists over TCP for so many clients.
fn text_lists(clients: u32) -> String {
    let mut script = String::new();
    for nth in 0..clients {
        let (at, port) = (nth * 10, 40_000 + nth);
        let validate = r"'\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'";
        writeln!(script, r"{at}.00 m:28900 > c:{port} tcp '\\basic\\\\secure\\XDWAOR'").unwrap();
        writeln!(script, "{at}.02 c:{port} > m:28900 tcp {validate}").unwrap();
        writeln!(script, r"{at}.03 c:{port} > m:28900 tcp '\\list\\\\gamename\\ut\\final\\'")
            .unwrap();
        writeln!(script, r"{at}.05 m:28900 > c:{port} tcp '\\ip\\10.0.0.2:7778\\final\\' fin")
            .unwrap();
        writeln!(script, "{at}.06 c:{port} > m:28900 tcp fin").unwrap();
    }
    format!("{script}end {}", clients * 10 + 30)
}

/// The clients acknowledge what they got.
#[test]
fn acknowledged_lists_that_were_not_recorded_accuse_no_master() {
    let script = text_lists(30);
    let packets = capture(&script, &Setting::tcp(28900)).unwrap().packets.len();
    let each = packets / 30;
    for place in 0..each {
        let is_lost = |at: usize| at % (3 * each) == place;
        let (codes, report) = without(&script, &Setting::tcp(28900), is_lost);
        assert_eq!(codes, [""; 0], "{place}");
        assert_ne!(report["masters"][0]["verdict"], "fault", "{place}: {report:#}");
    }
    let unanswered = script.replace(r"'\\ip\\10.0.0.2:7778\\final\\' fin", "fin");
    let (_, report) = without(&unanswered, &Setting::tcp(28900), |_| false);
    assert_eq!(report["masters"][0]["verdict"], "fault", "{report:#}");
    assert_eq!(report["capture"]["lost"], Value::Null, "{report:#}");
}

/// A recorder that sees one direction loses nothing of the other.
#[test]
fn one_direction_of_connections_is_no_loss() {
    let mut capture = capture(&text_lists(30), &Setting::tcp(28900)).unwrap();
    let from_master = |bytes: &[u8]| bytes.windows(2).any(|it| it == 28_900_u16.to_be_bytes());
    capture.packets.retain(|packet| !from_master(&packet.bytes[34..36]));
    let (_project, file) = Project::of_capture(capture.pcap());
    let report = diagnosis::report_of(&file, &[]).1;
    assert_eq!(report["capture"]["lost"], Value::Null, "{report:#}");
}

/// So many queries, each of a client of its own, with a challenge before.
fn queries(count: u32) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let (at, port, number) = (nth * 10, 40_000 + nth, 1000 + nth);
        writeln!(script, "{at}.00 c:{port} > s  FEFD09 0000{number:04}").unwrap();
        writeln!(script, "{at}.04 s > c:{port}  09 0000{number:04} '{number}\\0'").unwrap();
        let hex = format!("{number:08X}");
        writeln!(script, "{at}.05 c:{port} > s  FEFD00 0001{number:04} {hex} FFFFFF01").unwrap();
        writeln!(
            script,
            "{at}.09 s > c:{port}  00 0001{number:04} 'splitnum\\0' 80 00 'hostname\\0A\\0hostport\\07777\\0\\0'"
        )
        .unwrap();
    }
    format!("{script}end {}", count * 10 + 30)
}

#[test]
fn a_challenge_that_was_not_recorded_was_given_as_the_response_shows() {
    let (codes, report) = without(&queries(20), &GS4, |at| at == 21);
    assert_eq!(codes, [""; 0]);
    let server = &report["servers"][0];
    assert_eq!(server["verdict"], "ok", "{report:#}");
    let answered = server["items"].as_array().unwrap().iter();
    let answered = answered.filter(|it| it["item"] == "seen.answered");
    for it in answered {
        assert_eq!((&it["asked"], &it["answered"]), (&20.into(), &20.into()), "{report:#}");
    }
    // Another one was.
    let script = queries(20).replace("1005 000003ED", "1005 000003EE");
    let (codes, _) = without(&script, &GS4, |_| false);
    assert_eq!(codes, ["GS4007", "GS4010"]);
}

/// Lists of three packets for so many clients; `stops`: this one gets only two, and asks so often for the third.
fn lists(clients: u32, stops: impl Fn(u32) -> u32) -> String {
    let mut script = String::new();
    for client in 0..clients {
        let (at, port) = (client * 20, 40_000 + client);
        let mut seed = "0.0.0.0:0".to_owned();
        for page in 0..3 {
            let asks = if page == 2 { stops(client) } else { 0 };
            for time in 0..asks.max(1) {
                writeln!(script, "{}.{page}1 c:{port} > m  31 FF '{seed}' 00 00", at + time * 4)
                    .unwrap();
            }
            let (server, end) =
                (format!("203.0.113.{}:27015", 10 + page), if page == 2 { " 00*6" } else { "" });
            if asks == 0 {
                writeln!(script, "{at}.{page}5 m > c:{port}  FFFFFFFF 660A ip:{server}{end}")
                    .unwrap();
            }
            seed = server;
        }
    }
    format!("{script}end {}", clients * 20 + 30)
}

#[test]
fn one_page_that_does_not_come_is_no_throttling() {
    let of = |script: &str| {
        let (_, report) = without(script, &Setting::udp(27011), |_| false);
        item(&report, "masters", "master.whole")
    };
    assert_eq!(of(&lists(6, |client| u32::from(client == 3))), "yes");
    let one = of(&lists(1, |_| 1));
    assert!(one.starts_with("unknown"), "{one}");
    let throttled = "no list_throttled";
    assert_eq!(of(&lists(1, |_| 3)), throttled);
    assert_eq!(of(&lists(6, |client| u32::from(client > 2) * 3)), throttled);
    assert_eq!(of(&lists(6, |client| u32::from(client > 2))), throttled);
}

#[test]
fn a_response_whose_text_was_not_recorded_may_accept_what_was_refused_before() {
    let of = |options: &str| {
        let refused = registrations(2).replacen("200 OK", "500 Error", 1);
        let script = refused.replace("60.05 m > s:40001 ", &format!("60.05 m > s:40001 {options}"));
        item(&without(&script, &Setting::tcp(80), |_| false).1, "servers", "reg.accepted")
    };
    assert_eq!(of(""), "yes");
    assert_eq!(of("snap=80 "), "unknown capture_drops");
    let refused = registrations(2).replace("200 OK", "500 Error");
    let (_, report) = without(&refused, &Setting::tcp(80), |_| false);
    assert_eq!(item(&report, "servers", "reg.accepted"), "no registration_refused");
}

/// An info string need not be recorded whole for that.
#[test]
fn a_challenge_that_was_recorded_shows_that_earlier_wrong_ones_are_mended() {
    let of = |snap: u32| {
        let script: String = (0..8)
            .map(|nth| {
                let (at, given) = (nth * 300, 70_000_i32 + nth);
                let echo = if nth < 3 { given.swap_bytes() } else { given };
                let info = format!(
                    r"\\protocol\\47\\challenge\\{echo}\\players\\3\\max\\16\\bots\\0\\gamedir\\cstrike"
                );
                format!(
                    "{at}.00 s:27015 > m  71\n{at}.02 m > s:27015  FFFFFFFF 730A le32:{given}\n\
                     {at}.04 s:27015 > m snap={snap} 30 0A '{info}' 0A\n"
                )
            })
            .collect();
        let (_, report) = without(&format!("{script}end 2200"), &VALVE, |_| false);
        item(&report, "servers", "reg.echo")
    };
    assert_eq!(of(100), "yes");
    assert_eq!(of(60), "unknown capture_drops");
}
