//! `gamewire diagnose`: clients that ask several servers from one socket, or say other things from the socket that asks.

use std::fmt::Write;

use crate::support::diagnosis;
use captures::exchange::Setting;
use serde_json::Value;

const INFO: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const ANSWER: &str =
    "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";

/// The diagnosis of rounds of a script, 20 seconds apart.
fn of_rounds(port: u16, round: impl Fn(u32) -> String) -> Value {
    let rounds: String = (0..6).map(|nth| round(nth * 20)).collect();
    let script = rounds + "end 180";
    diagnosis::diagnosed(&script, &Setting::udp(port), &[]).1
}

/// The verdict and the cause of an item of one server.
fn of_server(report: &Value, server: &str, item: &str) -> String {
    let servers = report["servers"].as_array().unwrap();
    let server = servers.iter().find(|it| it["server"] == server).unwrap();
    diagnosis::verdict_of(server, item).join(" ")
}

/// What the server `t` answers so while `s` and `u` are asked from the same socket, and answer.
fn among_others(port: u16, request: &str, own: &str, answers: &[&str]) -> Value {
    of_rounds(port, |at| {
        let mut script = format!(
            "{at}.00 c:5000 > s  {request}\n{at}.01 c:5000 > t  {request}\n\
             {at}.02 c:5000 > u  {request}\n{at}.04 s > c:5000  {own}\n"
        );
        for (nth, answer) in answers.iter().enumerate() {
            writeln!(script, "{at}.05{nth} {answer}").unwrap();
        }
        script + &format!("{at}.06 u > c:5000  {own}\n")
    })
}

#[test]
fn a_response_from_another_port_is_that_of_the_server_that_was_asked() {
    let text = [r"'\\basic\\'", r"'\\gamename\\ut\\gamever\\451\\queryid\\1.1\\final\\'"];
    let a2s = [INFO, ANSWER];
    let challenge = [INFO, "FFFFFFFF 41 le32:7"];
    for (port, [request, own]) in [(27015, a2s), (27015, challenge), (7778, text)] {
        let report = among_others(port, request, own, &[&format!("t:1024 > c:5000  {own}")]);
        let of = |host: &str| of_server(&report, &format!("{host}:{port}"), "seen.from_asked");
        assert_eq!(of("10.0.1.2"), "no answers_from_other_port", "{own}");
        assert_eq!([of("10.0.0.2"), of("10.0.2.2")], ["yes ", "yes "], "{own}");
    }
}

#[test]
fn a_response_from_another_host_is_that_of_the_server_that_was_asked() {
    let report = among_others(27015, INFO, ANSWER, &[&format!("m:27015 > c:5000  {ANSWER}")]);
    let of = |host: &str| of_server(&report, host, "seen.from_asked");
    assert_eq!(of("10.0.1.2:27015"), "no answers_from_other_address");
    assert_eq!([of("10.0.0.2:27015"), of("10.0.2.2:27015")], ["yes ", "yes "]);
}

/// The recorder missed a request: its response is none of the server that is silent.
#[test]
fn a_response_whose_request_is_missing_is_laid_to_nobody() {
    let round = |at: u32, lost: &str| {
        format!(
            "{at}.00 c:5000 > s:27016 {lost} {INFO}\n{at}.01 c:5000 > t  {INFO}\n\
             {at}.02 c:5000 > u  {INFO}\n{at}.04 s:27016 > c:5000  {ANSWER}\n\
             {at}.06 u > c:5000  {ANSWER}\n"
        )
    };
    let report = of_rounds(27015, |at| round(at, if at == 0 { "lost" } else { "" }));
    for server in ["10.0.0.2:27016", "10.0.1.2:27015", "10.0.2.2:27015"] {
        let from = of_server(&report, server, "seen.from_asked");
        assert!(!from.starts_with("no"), "{server} {from}");
    }
    assert!(of_server(&report, "10.0.0.2:27016", "seen.answered").starts_with("yes"));
}

/// What the asked port answers counts, readable or not, although the socket has asked another server since.
#[test]
fn a_refusal_is_an_answer_among_others() {
    for (bytes, cause) in [
        ("FFFFFFFF 6C 'Banned by server.' 0A 00", "no refused_in_words"),
        ("00*64", "no zero_filled"),
        ("FFFFFFFF 65 'Update your client' 00", "no other_protocol"),
        ("'{\"state\":\"starting\"}'", "no other_protocol"),
    ] {
        let report = among_others(27015, INFO, ANSWER, &[&format!("t > c:5000  {bytes}")]);
        assert_eq!(of_server(&report, "10.0.1.2:27015", "seen.readable"), cause, "{bytes}");
        assert_eq!(of_server(&report, "10.0.1.2:27015", "seen.answered"), "yes ", "{bytes}");
        assert_eq!(of_server(&report, "10.0.2.2:27015", "seen.readable"), "yes ", "{bytes}");
    }
}

/// A client that asks for all kinds at once is refused each of them.
#[test]
fn each_kind_that_is_refused_is_answered() {
    let refused = "FFFFFFFF 6C 'Banned by server.' 0A 00";
    let report = of_rounds(27015, |at| {
        format!(
            "{at}.00 c > s  {INFO}\n{at}.01 c > s  FFFFFFFF 55 FFFFFFFF\n\
             {at}.02 c > s  FFFFFFFF 56 FFFFFFFF\n{at}.04 s > c  {refused}\n\
             {at}.05 s > c  {refused}\n{at}.06 s > c  {refused}\n"
        )
    });
    assert_eq!(of_server(&report, "10.0.0.2:27015", "seen.answered"), "yes ", "{report:#}");
    assert_eq!(of_server(&report, "10.0.0.2:27015", "seen.readable"), "no refused_in_words");
}

/// A player who joins and an administrator speak from the socket that asks.
#[test]
fn answers_to_other_messages_are_no_answers_to_queries() {
    for [said, answered] in [
        ["'challenge rcon' 0A 00", "'challenge rcon 1274398501' 0A"],
        ["'rcon 1274398501 \"secret\" status'", "6C 'hostname:  A' 0A 00"],
        ["'connect 48 1 \"\\\\name\\\\joe\"' 0A", "42 ' 12 \"10.0.0.1:50000\" 0 7960' 00"],
        ["'connect 48 1 \"\\\\name\\\\joe\"' 0A", "39 'Server is full.' 0A 00"],
        ["'netinfo 48 4 0'", "'netinfo 48 4 \\\\players\\\\3'"],
        ["71 le32:1234567", "41 le32:7 le32:1234567 00*8"],
    ] {
        let other = |at: u32| {
            format!("{at}.50 c > s  FFFFFFFF {said}\n{at}.51 s > c  FFFFFFFF {answered}\n")
        };
        let report = of_rounds(27015, |at| {
            format!("{at}.00 c > s  {INFO}\n{at}.02 s > c  {ANSWER}\n{}", other(at))
        });
        assert_eq!(report["servers"][0]["verdict"], "ok", "{said} {report:#}");
        // The answer to the query comes later than that to the other message. While a query waits, the challenge of a
        // game's connection is judged as one (A2S020).
        if said.starts_with("71") {
            continue;
        }
        let report = of_rounds(27015, |at| {
            format!("{at}.49 c > s  {INFO}\n{}{at}.52 s > c  {ANSWER}\n", other(at))
        });
        assert_eq!(report["servers"][0]["verdict"], "ok", "{said} {report:#}");
    }
}

/// A server that answers nothing, and a response of another host to the same socket: the recorder may have lost the request
/// to that one. Where it is so each time, or nobody else is asked, it did not.
#[test]
fn one_response_of_another_host_may_be_to_a_request_that_is_missing() {
    let other = |at: u32| {
        format!(
            "{at}.5 c > u1  {INFO}\n{at}.6 u1 > c  {ANSWER}\n{at}.8 c > t  {INFO}\n{at}.9 t > c  {ANSWER}\n"
        )
    };
    let stray = |at: u32| format!("{at}.0 c > s  {INFO}\n{at}.05 u > c  {ANSWER}\n");
    let of = |script: String, name: &str| {
        let setting = Setting::udp(27015);
        let (_, report) = diagnosis::diagnosed(&format!("{script}end 90"), &setting, &[]);
        of_server(&report, "10.0.0.2:27015", name)
    };
    let once = || stray(0) + &other(10) + &other(20);
    for name in ["seen.from_asked", "seen.answered"] {
        assert_eq!(of(once(), name), "unknown answers_from_other_address");
    }
    let always = (0..4).map(|nth| stray(10 * nth) + &other(10 * nth + 1)).collect();
    assert_eq!(of(always, "seen.from_asked"), "no answers_from_other_address");
    assert_eq!(of(stray(0), "seen.from_asked"), "no answers_from_other_address");
}
