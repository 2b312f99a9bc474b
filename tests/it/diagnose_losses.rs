//! What the recorder lost accuses nobody, in `gamewire diagnose`: neither servers nor clients, whether anything says so or not.

use std::fmt::Write;

use crate::support::diagnosis::{self, diagnosed, item};
use crate::support::gamewire;
use crate::support::project::Project;
use captures::exchange::{Setting, capture};
use captures::wire::Capture;
use serde_json::Value;

const A2S: Setting = Setting::udp(27015);
const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";

/// The diagnosis of a script's capture without some packets, by their number from 0 on.
fn without(script: &str, setting: &Setting, is_lost: impl Fn(usize) -> bool) -> Value {
    let mut capture = capture(script, setting).unwrap();
    let packets = std::mem::take(&mut capture.packets).into_iter().enumerate();
    capture.packets = packets.filter(|(at, _)| !is_lost(*at)).map(|(_, packet)| packet).collect();
    let (_project, file) = Project::of_capture(capture.pcap());
    diagnosis::report_of(&file, &[]).1
}

/// So many exchanges, ten seconds apart, each from a port of its own, of which some are not answered.
fn exchanges(count: u32, is_silent: impl Fn(u32) -> bool) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let (at, port) = (nth * 10, 40_000 + nth);
        writeln!(script, "{at}.0 c:{port} > s  {INFO}").unwrap();
        if !is_silent(nth) {
            writeln!(script, "{at}.1 s > c:{port}  {ANSWER}").unwrap();
        }
    }
    format!("{script}end {}", count * 10 + 30)
}

/// The server numbers its datagrams: those that are missing were sent.
#[test]
fn missing_identifications_show_that_the_recorder_lost_packets() {
    let script = exchanges(40, |_| false);
    let report = without(&script, &A2S, |at| at % 10 == 3);
    assert_eq!(item(&report, "servers", "seen.answered"), "unknown capture_drops", "{report:#}");
    assert_eq!(report["capture"]["lost"], true, "{report:#}");
    // A server that does not answer has sent nothing that could be missing.
    let (_, report) = diagnosed(&exchanges(40, |nth| nth % 5 == 3), &A2S, &[]);
    assert_eq!(item(&report, "servers", "seen.answered"), "no sometimes_unanswered", "{report:#}");
}

/// `check` counts responses without a request: what it calls lost is lost for the diagnosis, too.
#[test]
fn what_check_calls_lost_is_lost() {
    let script = exchanges(60, |nth| nth % 5 == 3);
    let script = script.replace("\nend", "\n590.2 c:40059 > s  FFFFFFFF 55 FFFFFFFF\nend");
    let (_project, file) = {
        let mut capture = capture(&script, &A2S).unwrap();
        let mut at = 0;
        // Requests of exchanges that were answered.
        capture.packets.retain(|_| {
            at += 1;
            ![22, 40, 58, 76].contains(&(at - 1))
        });
        Project::of_capture(capture.pcap())
    };
    let said = gamewire(["check", "--no-config", &file]).out;
    let report = diagnosis::report_of(&file, &[]).1;
    assert_eq!(said.contains("packets seem to be missing"), report["capture"]["lost"] == true);
    assert!(said.contains("packets seem to be missing"), "{said}");
    assert_ne!(report["servers"][0]["verdict"], "fault", "{report:#}");
}

/// So many rounds of clients that keep their sockets, every ten seconds: an info request and a request for players, each with
/// its challenge. `again`: after so many milliseconds, the server sends each of its packets once more.
fn kept_sockets(rounds: u32, again: Option<u32>) -> String {
    let mut lines = Vec::new();
    for nth in 0..rounds {
        let (port, number) = (40_000 + nth % 8, 7_000 + nth % 8);
        let mut at = nth * 1_300;
        for (request, answer) in [(INFO, ANSWER), ("FFFFFFFF 55", PLAYERS)] {
            let first =
                if request == INFO { request.to_owned() } else { format!("{request} FFFFFFFF") };
            let second = format!("{request} le32:{number}");
            let challenge = format!("FFFFFFFF 41 le32:{number}");
            for (ask, response) in [(first, &*challenge), (second, answer)] {
                lines.push((at, format!("c:{port} > s  {ask}")));
                let respond = format!("s > c:{port}  {response}");
                lines.extend(again.map(|later| (at + 10 + later, respond.clone())));
                lines.push((at + 10, respond));
                at += 40;
            }
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let at = |ms: u32| f64::from(ms) / 1e3;
    let script: String =
        lines.iter().map(|(ms, line)| format!("{:.3} {line}\n", at(*ms))).collect();
    format!("{script}end {:.3}", at(rounds * 1_300 + 30_000))
}

/// What `check` says of a capture's rules, and the diagnosis of it.
fn checked(capture: &Capture) -> (Value, Value) {
    let (_project, file) = Project::of_capture(capture.pcap());
    let run = gamewire(["check", "--no-config", "--format", "json", &file]);
    (serde_json::from_str(&run.out).unwrap(), diagnosis::report_of(&file, &[]).1)
}

fn failed(report: &Value) -> Vec<&str> {
    let rules = report["rules"].as_array().unwrap().iter();
    let failed = rules.filter(|rule| rule["failed"] != 0 && rule["severity"] != "note");
    failed.map(|rule| rule["code"].as_str().unwrap()).collect()
}

/// A client that keeps its socket gets responses to requests that were lost on a flow with others: what shows the loss to
/// `check` shows it to the diagnosis.
#[test]
fn requests_are_missing_also_on_flows_with_others() {
    let mut capture = capture(&kept_sockets(160, None), &A2S).unwrap();
    let mut at = 0;
    capture.packets.retain(|_| {
        at += 1;
        at % 11 != 0
    });
    let (check, report) = checked(&capture);
    assert_eq!(failed(&check), [""; 0], "{:#}", check["findings"]);
    assert!(check.to_string().contains("packets seem to be missing"), "{check:#}");
    assert_eq!(report["capture"]["lost"], true, "{report:#}");
    assert_ne!(report["servers"][0]["verdict"], "fault", "{report:#}");
}

/// Who sends each response twice answers no requests that are missing, whenever the second one comes.
#[test]
fn a_server_that_answers_twice_has_lost_nothing() {
    for later in [1, 15, 60, 300] {
        let (check, report) = checked(&capture(&kept_sockets(80, Some(later)), &A2S).unwrap());
        assert!(!check.to_string().contains("packets seem to be missing"), "{later}: {check:#}");
        assert_eq!(report["capture"]["lost"], Value::Null, "{later}");
    }
}

/// The same of a capture that begins later than the flows.
#[test]
fn a_capture_that_begins_late_has_lost_nothing() {
    for skipped in [3, 14, 21, 50] {
        let mut capture = capture(&kept_sockets(80, None), &A2S).unwrap();
        capture.packets.drain(..skipped);
        let (check, report) = checked(&capture);
        assert!(!check.to_string().contains("packets seem to be missing"), "{skipped}: {check:#}");
        assert_eq!(report["capture"]["lost"], Value::Null, "{skipped}");
    }
}

/// What a server answers in another protocol than it was asked in is the answer.
#[test]
fn an_answer_in_another_protocol_misses_no_request() {
    let mut script = exchanges(30, |nth| nth % 2 == 1);
    for nth in (1..30).step_by(2) {
        let text = r"'\\hostname\\A\\numplayers\\0\\queryid\\1.1\\final\\'";
        let (at, port) = (nth * 10, 40_000 + nth);
        let line = format!("{at}.0 c:{port} > s  {INFO}\n");
        script = script.replace(&line, &format!("{line}{at}.1 s > c:{port}  {text}\n"));
    }
    let (check, report) = checked(&capture(&script, &A2S).unwrap());
    assert!(!check.to_string().contains("packets seem to be missing"), "{check:#}");
    assert_eq!(report["capture"]["lost"], Value::Null);
}

/// What comes soon after the beginning may answer what was sent before, and of a client that never asks, only one
/// direction was recorded.
#[test]
fn a_late_start_and_one_direction_are_no_losses() {
    let rest = exchanges(40, |nth| nth % 4 == 3);
    let early: String =
        (0..12).map(|nth| format!("0.{nth:02} s > c:{}  {ANSWER}\n", 30_000 + nth)).collect();
    let one_sided: String =
        (0..12).map(|nth| format!("{}.0 s > d:{}  {ANSWER}\n", 395 + nth, 30_000 + nth)).collect();
    let later = rest.replace("\nend 430", &format!("\n{one_sided}end 430"));
    for script in [
        format!("{early}{}", rest.replacen("0.0 c", "0.5 c", 1).replacen("0.1 s", "0.6 s", 1)),
        later,
    ] {
        let (_, report) = diagnosed(&script, &A2S, &[]);
        let answered = item(&report, "servers", "seen.answered");
        assert_eq!(answered, "no sometimes_unanswered", "{report:#}");
    }
}

/// The responses to queries in words are no responses without a request.
#[test]
fn words_are_requests() {
    let obsolete =
        "FFFFFFFF 6D '10.0.0.2:27015' 00 'A' 00 'b' 00 'c' 00 'd' 00 05 10 2F 'd' 'l' 00 00 00 00";
    for (word, answer) in
        [("'details' 00", obsolete), ("'players' 00", PLAYERS), ("'ping' 00", "FFFFFFFF 6A 00")]
    {
        let rest = exchanges(40, |nth| nth % 4 == 3);
        let mut script = String::new();
        for (nth, line) in rest.lines().enumerate() {
            writeln!(script, "{line}").unwrap();
            let Some(second) = line.split('.').next().filter(|_| line.contains("0.0 c")) else {
                continue;
            };
            writeln!(
                script,
                "{second}.5 d > s  FFFFFFFF {word}\n{second}.{} s > d  {answer}",
                51 + nth % 9
            )
            .unwrap();
        }
        let (_project, file) = Project::of_script(&script, &A2S);
        let said = gamewire(["check", "--no-config", &file]).out;
        assert!(!said.contains("packets seem to be missing"), "{word}: {said}");
        let report = diagnosis::report_of(&file, &[]).1;
        let answered = item(&report, "servers", "seen.answered");
        assert_eq!(answered, "no sometimes_unanswered", "{word}: {report:#}");
    }
}

/// A client of a GameSpy 4 server on one port, of whose challenges one is not in the capture.
fn session(count: u32, lost: u32, is_answered: bool) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let (at, challenge) = (nth * 10, 1_000 + nth);
        writeln!(script, "{at}.00 c > s  FEFD 09 be32:{nth}").unwrap();
        if nth != lost {
            writeln!(script, "{at}.02 s > c  09 be32:{nth} '{challenge}' 00").unwrap();
        }
        writeln!(script, "{at}.03 c > s  FEFD 00 be32:{nth} be32:{challenge} FFFFFF01").unwrap();
        if nth != lost || is_answered {
            writeln!(
                script,
                "{at}.05 s > c  00 be32:{nth} 'splitnum' 00 80 00 'hostname' 00 'A' 00 'numplayers' 00 '0' 00 00 00"
            )
            .unwrap();
        }
    }
    format!("{script}end {}", count * 10 + 30)
}

#[test]
fn a_request_that_is_answered_was_right() {
    for lost in [5, 29] {
        let (code, report) = diagnosed(&session(30, lost, true), &Setting::udp(6500), &[]);
        assert_eq!(
            (code, item(&report, "clients", "ask.wellformed").as_str()),
            (0, "yes"),
            "{report:#}"
        );
    }
    // One that is not is mended by right ones after it.
    let (_, report) = diagnosed(&session(30, 5, false), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "yes", "{report:#}");
    // At the end, the challenge that the client has asked for may be missing.
    let (_, report) = diagnosed(&session(6, 5, false), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, "clients", "ask.wellformed"), "yes", "{report:#}");
}

/// The request for a challenge and the challenge are missing, from a port of their own.
#[test]
fn a_list_request_whose_challenge_was_lost_and_that_is_answered_was_right() {
    let mut script = String::new();
    for nth in 0..30 {
        let (at, port) = (nth * 10, 40_000 + nth);
        if nth != 5 {
            writeln!(script, "{at}.0 c:{port} > s  FFFFFFFF 55 FFFFFFFF").unwrap();
            writeln!(script, "{at}.1 s > c:{port}  FFFFFFFF 41 le32:{}", 1_000 + nth).unwrap();
        }
        writeln!(script, "{at}.2 c:{port} > s  FFFFFFFF 55 le32:{}", 1_000 + nth).unwrap();
        writeln!(script, "{at}.3 s > c:{port}  {PLAYERS}").unwrap();
    }
    let (code, report) = diagnosed(&format!("{script}end 330"), &A2S, &[]);
    assert_eq!(
        (code, item(&report, "clients", "ask.wellformed").as_str()),
        (0, "yes"),
        "{report:#}"
    );
}

/// A server registers with a Valve master every five minutes. `lost`: lines of the last round that are missing.
fn rounds(lost: &[usize]) -> String {
    let mut script = String::new();
    for nth in 0..4_usize {
        let (at, challenge) = (nth * 300, 1_000_000 + nth);
        let lines = [
            format!("{at}.00 s > m  71"),
            format!("{at}.02 m > s  FFFFFFFF 730A le32:{challenge}"),
            format!(
                "{at}.05 s > m  '0\\n\\\\protocol\\\\7\\\\challenge\\\\{challenge}\\\\players\\\\0\\\\max\\\\8\\\\bots\\\\0\\\\gamedir\\\\cstrike\\\\map\\\\de_dust\\\\password\\\\0\\\\os\\\\l\\\\lan\\\\0\\\\region\\\\255\\\\type\\\\d\\\\secure\\\\0\\\\version\\\\1.0.0.0\\\\product\\\\cstrike\\n'"
            ),
        ];
        for (line, text) in lines.iter().enumerate() {
            if nth < 3 || !lost.contains(&line) {
                writeln!(script, "{text}").unwrap();
            }
        }
    }
    script
}

const LIST: &str = "950.0 c > m  31 FF '0.0.0.0:0' 00 00\n950.1 m > c  FFFFFFFF 660A 0A000002 6987 00000000 0000\n";

#[test]
fn one_packet_of_a_registration_that_is_missing_is_no_fault() {
    let valve = Setting { udp_port: 27010, ..A2S };
    let of = |script: &str| {
        let script = script.replace(" s >", " s:27015 >").replace("> s ", "> s:27015 ");
        diagnosed(&script, &valve, &[])
    };
    for lost in [&[][..], &[1]] {
        let (code, report) = of(&format!("{}end 1000", rounds(lost)));
        assert_eq!(
            (code, item(&report, "servers", "reg.challenged").as_str()),
            (0, "yes"),
            "{report:#}"
        );
        assert_eq!(item(&report, "servers", "reg.echo"), "yes", "{report:#}");
    }
    let (code, report) = of(&format!("{}{LIST}end 1000", rounds(&[2])));
    assert_eq!((code, item(&report, "servers", "reg.echo").as_str()), (0, "yes"), "{report:#}");
    let (code, report) = of(&format!("{}end 1000", rounds(&[2])));
    assert_eq!(
        (code, item(&report, "servers", "reg.echo").as_str()),
        (1, "no challenge_unanswered"),
        "{report:#}"
    );
}

/// The script of exchanges in which the port is closed or not.
fn closed_script(is_closed: impl Fn(u32) -> bool) -> String {
    let mut script = String::new();
    for nth in 0..40 {
        let (at, port) = (nth * 10, 40_000 + nth);
        let response = if is_closed(nth) { "icmp=3.3" } else { ANSWER };
        writeln!(script, "{at}.0 c:{port} > s  {INFO}\n{at}.1 s > c:{port}  {response}").unwrap();
    }
    format!("{script}end 430")
}

fn closed(is_closed: impl Fn(u32) -> bool) -> Value {
    diagnosed(&closed_script(is_closed), &A2S, &[]).1
}

#[test]
fn a_port_that_is_closed_for_a_while_is_closed_from_when_to_when() {
    let said = |is_closed: &dyn Fn(u32) -> bool| {
        let report = closed(is_closed);
        let items = report["servers"][0]["items"].as_array().unwrap();
        let answered = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
        assert_eq!(answered["cause"], "icmp_port_unreachable", "{report:#}");
        ["from", "to", "text"].map(|key| answered[key].as_str().unwrap_or_default().to_owned())
    };
    let [from, to, text] = said(&|nth| (10..16).contains(&nth));
    assert_eq!([&from[11..19], &to[11..19]], ["00:01:40", "00:02:30"]);
    let counts = "34 of 40 requests answered; 6 requests";
    assert_eq!(
        text,
        format!("{counts} from 00:01:40 to 00:02:30: 10.0.0.2 says: port unreachable")
    );
    // To the end, also if that is soon.
    for first in [20, 37] {
        let [from, to, _] = said(&|nth| nth >= first);
        let minutes = first * 10 / 60;
        let begun = format!("00:{minutes:02}:{:02}", first * 10 % 60);
        assert_eq!([&from[11..19], &to[11..19]], [&*begun, "00:06:30"]);
    }
    // The longest of several.
    let [from, to, text] = said(&|nth| (10..16).contains(&nth) || (25..28).contains(&nth));
    assert_eq!([&from[11..19], &to[11..19]], ["00:01:40", "00:02:30"]);
    assert!(text.contains(" from 00:01:40 to 00:02:30 and 1 time more: 10.0.0.2 says"), "{text}");
    // Always.
    let [from, to, _] = said(&|_| true);
    assert_eq!([&*from, &*to], ["", ""]);
    let (_project, file) = Project::of_script(&closed_script(|nth| nth >= 20), &A2S);
    let run = gamewire(["diagnose", "--no-config", &file]);
    let headline = r#"10.0.0.2:27015 (a2s, "A"): from 00:03:20 to 00:06:30, nothing listens on the port that is asked"#;
    assert_eq!(run.out.lines().next(), Some(headline));
    // A server that starts within the capture answers since.
    let report = closed(|nth| nth < 6);
    assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{report:#}");
}
