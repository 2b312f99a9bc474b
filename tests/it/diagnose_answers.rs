//! `gamewire diagnose`: what comes in place of responses, and silences that only a whole run of queries shows.

use crate::support::diagnosis::{self, item};
use crate::support::project::Project;
use captures::exchange::Setting;
use captures::wire::{PcapFormat, Precision};
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
const HANDSHAKE: &str = "FEFD 09 00000007";

/// The diagnosis of a script with rounds that are so many seconds apart, to this port.
fn of_rounds(port: u16, apart: u32, count: u32, round: impl Fn(u32, u32) -> String) -> Value {
    let rounds: String = (0..count).map(|nth| round(nth, nth * apart)).collect();
    let script = format!("{rounds}end {}", count * apart + 60);
    diagnosis::diagnosed(&script, &Setting::udp(port), &[]).1
}

/// A monitor with one socket asks every two seconds, faster than the timeout of a response: each request is a repeat of
/// the one before it.
#[test]
fn who_asks_without_a_pause_learns_of_a_silence() {
    let polled = |is_answered: &dyn Fn(u32) -> bool| {
        of_rounds(27015, 2, 120, |nth, at| {
            let other = format!("{at}.9 s:40000 > d:53  00\n");
            let answer =
                if is_answered(nth) { format!("{at}.02 s > c  {ANSWER}\n") } else { String::new() };
            format!("{at}.0 c > s  {INFO}\n{answer}{other}")
        })
    };
    let answered =
        |is_answered: &dyn Fn(u32) -> bool| item(&polled(is_answered), "servers", "seen.answered");
    assert_eq!(answered(&|_| false), "no queries_unanswered");
    assert_eq!(answered(&|nth| !(30..90).contains(&nth)), "no silent_period");
    assert_eq!(answered(&|_| true), "yes");
    // The lost ones of a healthy server are repeated in time.
    assert_eq!(answered(&|nth| nth % 20 != 0), "yes");
}

#[test]
fn bytes_of_another_program_are_an_answer() {
    for bytes in ["FFFFFFFF 6E 'infoResponse'", "1C 00*8 'MCPE;Server'", "'EYE1' 04 'samp'", "07"] {
        let report = of_rounds(25565, 20, 6, |_, at| {
            format!("{at}.0 c > s  {HANDSHAKE}\n{at}.03 s > c  {bytes}\n")
        });
        assert_eq!(item(&report, "servers", "seen.readable"), "no other_protocol", "{bytes}");
        assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{bytes}");
    }
    let silent = of_rounds(25565, 20, 6, |_, at| {
        format!("{at}.0 c > s  {HANDSHAKE}\n{at}.5 s:40000 > d:53  00\n")
    });
    assert_eq!(item(&silent, "servers", "seen.answered"), "no queries_unanswered");
}

#[test]
fn what_another_program_says_is_shown_whole() {
    for (bytes, text) in [
        ("FFFFFFFF 'disconnect'", "disconnect"),
        ("FFFFFFFF 'infoResponse' 0A", "infoResponse"),
        ("FFFFFFFF 39 'Bad password.'", "Bad password."),
        ("'disconnect'", "disconnect"),
    ] {
        let report = of_rounds(7778, 20, 4, |_, at| {
            format!("{at}.0 c > s  '\\\\status\\\\'\n{at}.03 s > c  {bytes}\n")
        });
        let items = report["servers"][0]["items"].as_array().unwrap();
        let readable = items.iter().find(|it| it["item"] == "seen.readable").unwrap();
        let said = readable["text"].as_str().unwrap();
        assert!(said.ends_with(&format!("\"{text}\"")), "{bytes}: {said}");
    }
}

/// Split packets with impossible headers form no response, and yet the server answers.
#[test]
fn split_packets_that_form_no_response_are_an_answer_that_cannot_be_read() {
    for numbers in [["00 00", "00 01"], ["02 00", "02 02"], ["02 00", "03 01"]] {
        let report = of_rounds(27015, 20, 6, |nth, at| {
            let packet = |part: &str| {
                format!(
                    "{at}.05 s > c  FEFFFFFF {nth:02X}000000 {part} E004 FFFFFFFF 45 0100 'a' 00 'b' 00\n"
                )
            };
            format!("{at}.0 c > s  FFFFFFFF 56 4BA1D522\n") + &numbers.map(packet).concat()
        });
        assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{numbers:?}");
        assert_eq!(item(&report, "servers", "seen.readable"), "no header_broken", "{numbers:?}");
    }
}

/// In GoldSrc, the game and its queries have one port, and a player's client may ask from the socket with which it plays.
#[test]
fn packets_of_a_game_are_no_answers() {
    let report = of_rounds(25565, 20, 6, |nth, at| {
        let game = |tenth: u32| {
            format!("{at}.{tenth}1 c > s  4142{nth:02X}\n{at}.{tenth}5 s > c  4344{nth:02X}\n")
        };
        let game: String = (1..9).map(game).collect();
        format!("{at}.0 c > s  {HANDSHAKE}\n{game}")
    });
    let readable = item(&report, "servers", "seen.readable");
    assert!(!readable.starts_with("no"), "{readable}");
}

#[test]
fn an_answer_in_another_protocol_is_one() {
    let report = of_rounds(25565, 20, 6, |_, at| {
        format!("{at}.0 c > s  {HANDSHAKE}\n{at}.03 s > c  {ANSWER}\n")
    });
    assert_eq!(item(&report, "servers", "seen.readable"), "no other_protocol");
    assert_eq!(item(&report, "servers", "seen.answered"), "yes");
}

/// What echoes each datagram answers nothing, and its clients are no servers.
#[test]
fn an_echo_is_no_response() {
    for (port, request) in [(27015, INFO), (25565, HANDSHAKE), (7778, r"'\\basic\\'")] {
        let report = of_rounds(port, 20, 6, |_, at| {
            format!("{at}.0 c > s  {request}\n{at}.03 s > c  {request}\n")
        });
        assert_eq!(item(&report, "servers", "seen.readable"), "no other_protocol", "{port}");
        assert_eq!(report["servers"].as_array().unwrap().len(), 1, "{port}");
    }
}

#[test]
fn all_kinds_that_are_never_answered_are_named() {
    let report = of_rounds(27015, 20, 6, |_, at| {
        format!(
            "{at}.0 c:50001 > s  {INFO}\n{at}.02 s > c:50001  {ANSWER}\n\
             {at}.1 c:50002 > s  FFFFFFFF 55 FFFFFFFF\n{at}.2 c:50003 > s  FFFFFFFF 56 FFFFFFFF\n"
        )
    });
    assert_eq!(item(&report, "servers", "seen.answered"), "no only_info_answered");
    let items = report["servers"][0]["items"].to_string();
    assert!(items.contains("player requests and rules requests"), "{items}");
}

/// At the server, nothing in front of it answers.
#[test]
fn what_a_server_never_answers_is_not_dropped_in_front_of_it() {
    let advice = |ttl: u32| {
        let report = of_rounds(27015, 20, 6, |_, at| {
            format!(
                "{at}.0 c:50001 > s  ttl=52 {INFO}\n{at}.02 s > c:50001  ttl={ttl} {ANSWER}\n\
                 {at}.1 c:50002 > s  ttl=52 FFFFFFFF 55 FFFFFFFF\n\
                 {at}.2 c:50003 > s  ttl=52 FFFFFFFF 56 FFFFFFFF\n"
            )
        });
        assert_eq!(item(&report, "servers", "seen.answered"), "no only_info_answered");
        let items = report["servers"][0]["items"].as_array().unwrap();
        let answered = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
        answered["advice"].as_str().unwrap().to_owned()
    };
    assert!(advice(52).contains("in front of the server"), "{}", advice(52));
    assert!(advice(64).starts_with("The other requests arrive"), "{}", advice(64));
}

/// One client of three gets responses that break off.
#[test]
fn the_client_whose_responses_are_broken_is_named() {
    let broken = "FFFFFFFF 49 11 'A'";
    let report = of_rounds(27015, 20, 15, |nth, at| {
        let client = ["c", "d", "e"][nth as usize % 3];
        let answer = if client == "d" { broken } else { ANSWER };
        format!("{at}.0 {client} > s  {INFO}\n{at}.02 s > {client}  {answer}\n")
    });
    assert_eq!(item(&report, "servers", "seen.readable"), "no header_broken");
    let items = report["servers"][0]["items"].to_string();
    assert!(items.contains("5 of 15 responses, all to "), "{items}");
    // One of twenty is no fault, and is not kept back.
    let report = of_rounds(27015, 20, 20, |nth, at| {
        let answer = if nth == 5 { broken } else { ANSWER };
        format!("{at}.0 c > s  {INFO}\n{at}.02 s > c  {answer}\n")
    });
    assert_eq!(item(&report, "servers", "seen.readable"), "unknown header_broken");
    assert_eq!(report["servers"][0]["verdict"], "ok");
}

#[test]
fn times_have_as_many_digits_as_the_capture() {
    let answered = |nth: u32| !(30..90).contains(&nth);
    let rounds = (0..120).map(|nth| {
        let at = nth * 2;
        let answer = format!("{at}.02 s > c  {ANSWER}\n{at}.9 s:40000 > d:53  00\n");
        format!("{at}.00 c > s  {INFO}\n{}", if answered(nth) { &*answer } else { "" })
    });
    let script = rounds.collect::<String>() + "end 300";
    let capture = captures::exchange::capture(&script, &Setting::udp(27015)).unwrap();
    for (precision, digits) in [(Precision::Micro, 6), (Precision::Nano, 9)] {
        let format = PcapFormat { precision, ..PcapFormat::default() };
        let (_project, file) = Project::of_capture(capture.pcap_as(format));
        let report = diagnosis::report_of(&file, &[]).1;
        let items = report["servers"][0]["items"].as_array().unwrap();
        let silent = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
        let from = silent["from"].as_str().unwrap();
        assert_eq!(from.len(), "2026-11-20T10:00:00.Z".len() + digits, "{from}");
    }
}

/// Parts that all have the same number never form a response, and are an answer all the same.
#[test]
fn parts_with_one_number_are_no_whole_response() {
    let report = of_rounds(27015, 20, 6, |nth, at| {
        let part = |ms: u32, content: &str| {
            format!("{at}.{ms} s > c  FEFFFFFF {nth:02X}000000 02 00 E004 {content}\n")
        };
        format!("{at}.0 c > s  FFFFFFFF 56 4BA1D522\n")
            + &part(11, "FFFFFFFF 45 0200 'motd' 00 'x'*1236")
            + &part(12, "'y'*100 00")
    });
    assert_eq!(item(&report, "servers", "seen.answered"), "yes");
    assert_eq!(item(&report, "servers", "seen.whole"), "no split_part_missing");
    // Whatever comes in answer counts.
    let report = of_rounds(27015, 20, 6, |nth, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.05 s > c  {ANSWER}\n{at}.1 c > s  FFFFFFFF 56 4BA1D522\n\
             {at}.21 s > c  FEFFFFFF {nth:02X}000000 02 00 E004 FFFFFFFF 45 0200 'motd' 00 'x'*1236\n\
             {at}.22 s > c  FEFFFFFF {nth:02X}000000 02 00 E004 'y'*100 00\n"
        )
    });
    let items = report["servers"][0]["items"].as_array().unwrap();
    let answered = items.iter().find(|it| it["item"] == "seen.answered").unwrap();
    assert_eq!(answered["text"], "12 of 12 requests, 6 of them in part");
}

/// Words that refuse a client are no description, and a server that lists none of its own says so at least.
#[test]
fn an_error_in_place_of_a_description_is_a_refusal() {
    let answered = |answer: &str| {
        let report = of_rounds(7778, 20, 4, |_, at| {
            format!("{at}.0 c > s  '\\\\status\\\\'\n{at}.1 s > c  '{answer}\\\\final\\\\'\n")
        });
        item(&report, "servers", "seen.readable")
    };
    assert_eq!(answered("\\\\error\\\\You are banned from this server"), "no refused_in_words");
    let own =
        "\\\\hostname\\\\A\\\\mapname\\\\M\\\\numplayers\\\\0\\\\maxplayers\\\\8\\\\error\\\\none";
    assert_eq!(answered(own), "yes");
}

/// Responses in parts come from another port than was asked, whole or not.
#[test]
fn parts_from_another_port_are_an_answer_also_if_one_is_lost() {
    let of = |port: &str, last: &str| {
        of_rounds(27015, 20, 6, |nth, at| {
            let end = format!("c:{}", 50_000 + nth);
            let part = |number: u32, bytes: &str| {
                format!(
                    "{at}.6{number} s:{port} > {end}  FEFFFFFF 0{nth}000000 03 0{number} E004 {bytes}\n"
                )
            };
            format!(
                "{at}.0 {end} > s  {INFO}\n{at}.03 s > {end}  {ANSWER}\n\
                 {at}.5 {end} > s  FFFFFFFF 56 FFFFFFFF\n{at}.53 s > {end}  FFFFFFFF 41 le32:9{nth}\n\
                 {at}.55 {end} > s  FFFFFFFF 56 le32:9{nth}\n{}{}{}",
                part(0, "FFFFFFFF 45 0100 'motd' 00 'x'*1236"),
                part(1, "'x'*1248"),
                part(2, last),
            )
            .replace(&part(2, ""), "")
        })
    };
    for last in ["'x'*60 00", ""] {
        let report = of("1025", last);
        assert_eq!(item(&report, "servers", "seen.answered"), "yes", "{last} {report:#}");
        let from = item(&report, "servers", "seen.from_asked");
        assert_eq!(from, "no answers_from_other_port", "{last} {report:#}");
        let whole = item(&report, "servers", "seen.whole");
        assert_eq!(whole.starts_with("unknown"), last.is_empty(), "{last} {report:#}");
    }
    let report = of("27015", "'x'*60 00");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
    let report = of("27015", "");
    assert_eq!(item(&report, "servers", "seen.whole"), "no split_part_missing", "{report:#}");
}

/// Requests that not every server knows stay unanswered beside others: that these are owed nothing is said.
#[test]
fn kinds_that_are_owed_no_answer_are_named() {
    let report = of_rounds(27015, 20, 12, |_, at| {
        format!(
            "{at}.0 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{at}.5 c > s  FFFFFFFF 57\n{at}.6 c > s  FFFFFFFF 69\n"
        )
    });
    let items = report["servers"][0]["items"].to_string();
    let text = "12 of 36 requests; 24 are owed none: challenge requests, ping requests";
    assert!(items.contains(text), "{items}");
}

/// A client whose requests begin with a doubled header is not answered, and another one is.
#[test]
fn a_request_with_a_doubled_header_is_the_clients_fault() {
    let of = |header: &str| {
        of_rounds(27015, 20, 6, |_, at| {
            format!(
                "{at}.0 c > s  {header} {INFO}\n{at}.5 d > s  {INFO}\n{at}.53 s > d  {ANSWER}\n"
            )
        })
    };
    let report = of("FFFFFFFF");
    assert_eq!(item(&report, "clients", "ask.wellformed"), "no request_malformed", "{report:#}");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
    let report = of("");
    assert!(!report.to_string().contains("request_malformed"), "{report:#}");
}
