//! `gamewire diagnose`: servers that answer one request many times.

use crate::support::diagnosis::{self, item, verdict_of};
use captures::exchange::Setting;
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
const GOLDSRC: &str = "FFFFFFFF 6D '10.0.0.2:27015' 00 'A' 00 'b' 00 'cstrike' 00 'c' 00 01 10 2F 'd' 'l' 00 00 00 00";

/// The diagnosis of rounds that are so many seconds apart.
fn of_rounds(port: u16, apart: u32, round: impl Fn(u32) -> String) -> Value {
    let rounds: String = (0..12).map(|nth| round(nth * apart)).collect();
    let script = format!("{rounds}end {}", 12 * apart + 60);
    diagnosis::diagnosed(&script, &Setting::udp(port), &[]).1
}

/// The request of a round, with so many answers 20 ms apart.
fn answered(at: u32, times: u32, request: &str, answer: &str) -> String {
    let answers = (1..=times).map(|nth| format!("{at}.{:02} s > c  {answer}\n", 2 * nth));
    format!("{at}.0 c > s  {request}\n{}", answers.collect::<String>())
}

fn said(report: &Value) -> String {
    item(report, "servers", "seen.answered")
}

#[test]
fn many_answers_to_each_request_are_named() {
    for (port, request, answer) in [
        (27015, INFO, ANSWER),
        (7778, r"'\\basic\\'", r"'\\gamename\\ut\\gamever\\451\\final\\\\queryid\\7.1'"),
    ] {
        for times in [3, 5, 20] {
            let report = of_rounds(port, 10, |at| answered(at, times, request, answer));
            assert_eq!(said(&report), "yes answers_repeated", "{port} {times}");
        }
        for times in [1, 2] {
            let report = of_rounds(port, 10, |at| answered(at, times, request, answer));
            assert_eq!(said(&report), "yes", "{port} {times}");
        }
    }
}

#[test]
fn what_it_says_of_many_answers() {
    let report = of_rounds(27015, 10, |at| answered(at, 5, INFO, ANSWER));
    let items = report["servers"][0]["items"].as_array().unwrap();
    let item = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
    assert_eq!(
        item["text"], "up to 5 responses to one request, 48 more than were asked for",
        "{item}"
    );
    assert_eq!((&item["asked"], &item["answered"]), (&12.into(), &12.into()));
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report}");
    assert!(report["capture"].get("lost").is_none(), "no request is missing: {report}");
}

/// One request may draw a burst that never ends.
#[test]
fn one_request_with_very_many_answers() {
    let report =
        of_rounds(27015, 10, |at| answered(at, if at == 50 { 40 } else { 1 }, INFO, ANSWER));
    assert_eq!(said(&report), "yes answers_repeated");
    // A few are an accident.
    let report =
        of_rounds(27015, 10, |at| answered(at, if at == 50 { 3 } else { 1 }, INFO, ANSWER));
    assert_eq!(said(&report), "yes");
}

/// Each datagram was recorded at several interfaces.
#[test]
fn copies_are_no_answers() {
    let report = of_rounds(27015, 10, |at| {
        format!("{at}.0 c > s  twice {INFO}\n{at}.05 s > c  twice {ANSWER}\n")
    });
    assert_eq!(said(&report), "yes");
}

#[test]
fn an_answer_for_each_sending_is_right() {
    let report = of_rounds(27015, 10, |at| {
        let sent: String = (0..6).map(|nth| format!("{at}.{nth}0 c > s  {INFO}\n")).collect();
        let answers: String = (0..6).map(|nth| format!("{at}.{nth}5 s > c  {ANSWER}\n")).collect();
        sent + &answers
    });
    assert_eq!(said(&report), "yes");
    // Also if they come late, or all at once.
    let report = of_rounds(27015, 10, |at| {
        let sent: String = (0..6).map(|nth| format!("{at}.{nth}0 c > s  {INFO}\n")).collect();
        let answers: String = (0..6).map(|nth| format!("{at}.9{nth} s > c  {ANSWER}\n")).collect();
        sent + &answers
    });
    assert_eq!(said(&report), "yes");
}

/// Hybrid servers answer in several layouts, and a split answer has several packets.
#[test]
fn several_packets_of_an_answer_are_one() {
    let report = of_rounds(27015, 10, |at| {
        answered(at, 1, INFO, GOLDSRC)
            + &format!("{at}.03 s > c  {ANSWER}\n{at}.04 s > c  FFFFFFFF 44 00\n")
    });
    assert_eq!(said(&report), "yes");
}

/// That requests are unanswered says more.
#[test]
fn what_is_not_answered_comes_first() {
    let report = of_rounds(27015, 10, |at| match at / 10 % 2 {
        0 => format!("{at}.0 c > s  {INFO}\n"),
        _ => answered(at, 6, INFO, ANSWER),
    });
    let [verdict, cause] = verdict_of(&report["servers"][0], "seen.answered");
    assert_eq!(verdict, "no");
    assert_ne!(cause, "answers_repeated");
}

/// A client that asks all the time may have asked for what seems to be too much, where packets were lost.
#[test]
fn a_recorder_that_lost_requests_shows_no_repeats() {
    let script: String = (0..300)
        .map(|nth| {
            let at = f64::from(nth) * 0.2;
            let request =
                if nth % 4 == 0 { String::new() } else { format!("{at:.2} c > s  {INFO}\n") };
            request + &format!("{:.2} s > c  {ANSWER}\n", at + 0.05)
        })
        .collect();
    let report = diagnosis::diagnosed(&format!("{script}end 120"), &Setting::udp(27015), &[]).1;
    assert_ne!(said(&report), "yes answers_repeated");
}

/// A cache and the server both answer each request: two programs, and two hosts if their hop limits differ.
#[test]
fn two_answers_that_differ_are_of_two_programs() {
    let of = |cache: &str, times: u32| {
        of_rounds(27015, 10, |at| {
            let both = format!("{at}.002 s > c  {cache}\n{at}.050 s > c  ttl=52 {ANSWER}\n");
            let both =
                if at / 10 < times { both } else { format!("{at}.05 s > c  ttl=52 {ANSWER}\n") };
            format!("{at}.0 c > s  {INFO}\n{both}")
        })
    };
    let other = ANSWER.replace("00 18 00", "05 18 00");
    let believed = |report: &Value| item(report, "servers", "seen.believable");
    let report = of(&format!("ttl=250 {other}"), 12);
    assert_eq!(believed(&report), "unknown answered_by_two_hosts", "{report:#}");
    assert_eq!(said(&report), "yes answers_repeated");
    assert_eq!(report["servers"][0]["verdict"], "ok");
    assert!(report.to_string().contains("the first responses have hop limit 250"), "{report:#}");
    let report = of(&format!("ttl=52 {other}"), 12);
    assert_eq!(believed(&report), "unknown answers_differ", "{report:#}");
    // What is the same was doubled on the way, and what differs once may be an accident.
    for report in [of(&format!("ttl=250 {ANSWER}"), 12), of(&format!("ttl=250 {other}"), 1)] {
        assert_eq!((believed(&report), said(&report)), ("yes".to_owned(), "yes".to_owned()));
    }
}

/// Each sending gets an answer, and what a server says changes.
#[test]
fn answers_to_several_sendings_may_differ() {
    let report = of_rounds(27015, 10, |at| {
        let sent: String = (0..3).map(|nth| format!("{at}.{nth}0 c > s  {INFO}\n")).collect();
        let answer = |nth| ANSWER.replace("00 18 00", &format!("0{nth} 18 00"));
        let answers = (1..4).map(|nth| format!("{at}.9{nth} s > c  {}\n", answer(nth)));
        sent + &answers.collect::<String>()
    });
    assert_eq!(item(&report, "servers", "seen.believable"), "yes", "{report:#}");
}
