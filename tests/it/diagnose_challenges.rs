//! Challenges between clients and servers: who does not do their part, in `gamewire diagnose`.

use std::fmt::Write;

use crate::support::diagnosis::{self, verdict_of};
use captures::exchange::Setting;
use serde_json::Value;

const PLAYERS: &str = "FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5";

/// The exit code and the report of a script.
fn diagnosed(script: &str) -> (u8, Value) {
    diagnosis::diagnosed(script, &Setting::udp(27015), &[])
}

/// The verdict and the cause of an item of a party, by the start of its address.
fn item(report: &Value, party: &str, name: &str) -> [String; 2] {
    let parties = ["servers", "clients"].into_iter().flat_map(|of| report[of].as_array().unwrap());
    let is_it = |it: &&Value| {
        [&it["server"], &it["client"]]
            .iter()
            .any(|it| it.as_str().is_some_and(|it| it.starts_with(party)))
    };
    let found = parties.clone().find(is_it).unwrap_or_else(|| panic!("no {party}: {report}"));
    verdict_of(found, name)
}

const SERVER: &str = "10.0.0.2";
const CLIENT: &str = "10.0.0.1";

/// So many rounds, a minute each: lines at a second within the minute. `{n}` is the number of the round.
fn rounds(count: u32, lines: &[(f64, &str)]) -> String {
    let mut script = String::new();
    for round in 0..count {
        for (at, line) in lines {
            let line = line.replace("{n}", &(1000 + round).to_string());
            writeln!(script, "{} {line}", f64::from(round) * 60.0 + at).unwrap();
        }
    }
    writeln!(script, "end {}", f64::from(count) * 60.0 + 30.0).unwrap();
    script
}

#[test]
fn a_challenge_may_be_returned_late() {
    for pause in [4.0, 20.0] {
        let answer = format!("s > c  {PLAYERS}");
        let (code, report) = diagnosed(&rounds(
            5,
            &[
                (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
                (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
                (pause, "c > s  FFFFFFFF 55 le32:{n}"),
                (pause + 0.1, &answer),
            ],
        ));
        assert_eq!(code, 0, "{report}");
        assert_eq!(item(&report, CLIENT, "ask.challenge")[0], "yes", "{pause}");
    }
}

#[test]
fn a_challenge_may_be_returned_in_another_request() {
    let answer = "s > c  FFFFFFFF 45 0100 'motd' 00 'x' 00".to_owned();
    let (code, report) = diagnosed(&rounds(
        5,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (0.2, "c > s  FFFFFFFF 56 le32:{n}"),
            (0.3, &answer),
        ],
    ));
    assert_eq!(code, 0, "{report}");
}

#[test]
fn a_challenge_that_is_never_returned_is_the_clients_fault() {
    let (code, report) = diagnosed(&rounds(
        5,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (1.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (1.1, "s > c  FFFFFFFF 41 le32:{n}"),
        ],
    ));
    assert_eq!(code, 1, "{report}");
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_not_returned"]);
    assert_eq!(item(&report, SERVER, "seen.verified"), ["unknown", "challenge_not_returned"]);
}

#[test]
fn a_server_that_answers_its_own_challenge_with_another_one_is_at_fault() {
    let (code, report) = diagnosed(&rounds(
        5,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (0.2, "c > s  FFFFFFFF 55 le32:{n}"),
            (0.3, "s > c  FFFFFFFF 41 le32:7{n}"),
        ],
    ));
    assert_eq!(code, 1, "{report}");
    assert_eq!(item(&report, SERVER, "seen.verified"), ["no", "challenge_loop"]);
    // It answers with challenges: that it does not run is not said beside that.
    assert_eq!(item(&report, SERVER, "seen.answered"), ["unknown", "challenge_loop"]);
    assert_ne!(item(&report, CLIENT, "ask.challenge")[0], "no");
}

#[test]
fn a_challenge_from_another_port_is_a_fault_only_if_it_is_not_accepted() {
    let answer = format!("s > c2  {PLAYERS}");
    let lines = [
        (0.0, "c1 > s  FFFFFFFF 55 FFFFFFFF"),
        (0.1, "s > c1  FFFFFFFF 41 le32:{n}"),
        (0.2, "c2 > s  FFFFFFFF 55 le32:{n}"),
        (0.3, answer.as_str()),
    ];
    let (code, report) = diagnosed(&rounds(5, &lines));
    assert_eq!(code, 0, "{report}");
    assert_eq!(item(&report, SERVER, "seen.verified")[0], "yes", "{report}");
    // The server is heard, and does not answer.
    let (code, report) = diagnosed(&rounds(5, &lines[..3]));
    assert_eq!(code, 1, "{report}");
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_other_port"]);
    assert_eq!(item(&report, SERVER, "seen.verified"), ["unknown", "challenge_other_port"]);
}

/// A client that asks one server wrongly asks another one rightly, in vain.
#[test]
fn a_fault_toward_one_server_excuses_no_other() {
    let (code, report) = diagnosed(&rounds(
        6,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (1.0, "c > t  FFFFFFFF 55 FFFFFFFF"),
            (2.0, "t > d:4000  'game traffic'"),
        ],
    ));
    assert_eq!(code, 1, "{report}");
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_not_returned"]);
    assert_eq!(item(&report, "10.0.1.2", "seen.answered"), ["no", "queries_unanswered"]);
}

/// One of four clients is never answered: that is no fault of its requests.
#[test]
fn a_client_that_is_not_answered_excuses_no_server() {
    let mut lines = Vec::new();
    let texts: Vec<_> = ["c1", "c2", "d1"]
        .into_iter()
        .enumerate()
        .flat_map(|(nth, client)| {
            let at = nth as f64;
            let ask = format!("{client} > s  FFFFFFFF 55 11223344");
            [(at, ask), (at + 0.1, format!("s > {client}  {PLAYERS}"))]
        })
        .chain([(5.0, "e > s  FFFFFFFF 55 11223344".to_owned())])
        .collect();
    lines.extend(texts.iter().map(|(at, text)| (*at, text.as_str())));
    let (code, report) = diagnosed(&rounds(10, &lines));
    assert_eq!(code, 1, "{report}");
    assert_eq!(item(&report, SERVER, "seen.answered"), ["no", "one_client_unanswered"]);
}

#[test]
fn two_programs_that_challenge_each_client_are_told() {
    let answer = format!("s > c  {PLAYERS}");
    let (code, report) = diagnosed(&rounds(
        5,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (0.11, "s > c  FFFFFFFF 41 le32:7{n}"),
            (0.2, "c > s  FFFFFFFF 55 le32:7{n}"),
            (0.3, &answer),
        ],
    ));
    assert_eq!(code, 0, "{report}");
    assert_eq!(item(&report, SERVER, "seen.verified"), ["unknown", "two_challenges"]);
}

/// The client returns the first of two, and gets no answer.
#[test]
fn two_challenges_of_which_the_first_is_returned_are_told() {
    let round = [
        (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
        (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
        (0.11, "s > c  FFFFFFFF 41 le32:7{n}"),
        (0.2, "c > s  FFFFFFFF 55 le32:{n}"),
    ];
    let (_, report) = diagnosed(&rounds(5, &round));
    let verified = item(&report, SERVER, "seen.verified");
    assert_eq!(verified, ["unknown", "two_challenges"], "{report:#}");
    assert_eq!(item(&report, CLIENT, "ask.wellformed")[0], "yes", "{report:#}");
}

/// The server gives one more challenge each time. Once, that is missing from the capture.
#[test]
fn one_wrong_challenge_of_many_may_be_one_that_was_not_recorded() {
    let wrong = |rounds: u32| {
        let mut script =
            "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.01 s > c  FFFFFFFF 41 le32:100\n".to_owned();
        for nth in 0..20 {
            let given = 100 + nth - u32::from(nth % 20 >= 20 - rounds);
            let challenge = 100 + nth;
            writeln!(
                script,
                "{nth}.1 c > s  FFFFFFFF 55 le32:{challenge}\n{nth}.2 s > c  FFFFFFFF 41 le32:{}",
                given + 1
            )
            .unwrap();
        }
        let (_, report) = diagnosed(&(script + "end 60"));
        assert_eq!(item(&report, SERVER, "seen.verified")[0], "no", "{report:#}");
        item(&report, CLIENT, "ask.wellformed")[0].clone()
    };
    assert_eq!([wrong(1), wrong(8)], ["yes", "no"]);
}

#[test]
fn a_challenge_that_comes_late_is_named() {
    let challenge = "s > c  FFFFFFFF 41 le32:{n}";
    let (_, report) =
        diagnosed(&rounds(5, &[(0.0, "c > s  FFFFFFFF 55 FFFFFFFF"), (5.5, challenge)]));
    assert_eq!(item(&report, SERVER, "seen.in_time"), ["no", "answered_late"], "{report}");
    assert!(report.to_string().contains("5.5 s"), "{report}");
}

/// A client that waits for longer returns the challenge all the same: both steps are one request.
#[test]
fn an_exchange_goes_on_with_a_challenge_that_came_late() {
    let answer = format!("s > c  {PLAYERS}");
    let (_, report) = diagnosed(&rounds(
        5,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (3.6, "s > c  FFFFFFFF 41 le32:{n}"),
            (3.7, "c > s  FFFFFFFF 55 le32:{n}"),
            (7.3, &answer),
        ],
    ));
    assert!(report["servers"][0].to_string().contains("1 client, 5 requests"), "{report:#}");
    assert_eq!(item(&report, SERVER, "seen.in_time"), ["no", "answered_late"], "{report:#}");
}

/// What comes from a port that was not asked, or after the client has closed its own, does not reach the client.
#[test]
fn a_challenge_that_does_not_reach_the_client_is_not_its_fault() {
    let ask = "c > s  FFFFFFFF 55 FFFFFFFF";
    let from_asked = "s > c  FFFFFFFF 41 le32:{n}";
    let elsewhere = "s:40000 > c  FFFFFFFF 41 le32:{n}";
    let (_, report) = diagnosed(&rounds(5, &[(0.0, ask), (0.1, elsewhere)]));
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["unknown", "challenge_astray"], "{report}");
    assert_eq!(item(&report, SERVER, "seen.from_asked"), ["no", "answers_from_other_port"]);
    let refused = [(0.0, ask), (0.1, from_asked), (0.2, "c > s  icmp=3.3")];
    let (code, report) = diagnosed(&rounds(5, &refused));
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["unknown", "challenge_astray"], "{report}");
    assert_eq!(item(&report, SERVER, "seen.verified"), ["unknown", "challenge_astray"]);
    assert_eq!(code, 0);
    // One that reaches it, and that it does not return, is.
    let (_, report) = diagnosed(&rounds(5, &[(0.0, ask), (0.1, from_asked)]));
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_not_returned"]);
}

#[test]
fn a_challenge_of_other_than_four_bytes_is_the_servers_fault() {
    for bytes in ["", "11", "1122", "112233", "1122334455667788"] {
        let challenge = format!("s > c  FFFFFFFF 41 {bytes}");
        let (_, report) =
            diagnosed(&rounds(5, &[(0.0, "c > s  FFFFFFFF 55 FFFFFFFF"), (0.1, &challenge)]));
        assert_eq!(item(&report, SERVER, "seen.readable"), ["no", "challenge_missing"]);
        assert_ne!(item(&report, CLIENT, "ask.challenge")[0], "no");
    }
}

/// Of GameSpy 4 the challenge and the request with it are one exchange.
const GS4_INFO: &str =
    "s > c  00 00000007 'splitnum' 00 80 00 'hostname' 00 'A' 00 'numplayers' 00 '0' 00 00 00";

/// Exchanges of a GameSpy 4 client, one a minute; of some, the challenge is never answered.
fn gamespy4(client: &str, count: u32, is_silent: impl Fn(u32) -> bool, returns: bool) -> String {
    let mut script = String::new();
    for n in 0..count {
        let at = f64::from(n) * 60.0;
        writeln!(script, "{at} {client} > s  FEFD 09 00000007").unwrap();
        if is_silent(n) {
            continue;
        }
        writeln!(script, "{} s > {client}  09 00000007 '9513307' 00", at + 0.02).unwrap();
        if returns {
            let request = format!("{client} > s  FEFD 00 00000007 0091295B FFFFFF01");
            let answer = GS4_INFO.replace("> c", &format!("> {client}"));
            writeln!(script, "{} {request}\n{} {answer}", at + 0.03, at + 0.05).unwrap();
        }
    }
    script
}

/// The lines of several scripts, in the order of their times.
fn together(scripts: &[String], end: u32) -> String {
    let mut lines: Vec<_> = scripts.iter().flat_map(|script| script.lines()).collect();
    let time = |line: &&str| line.split(' ').next().unwrap().parse::<f64>().unwrap();
    lines.sort_by(|one, other| time(one).total_cmp(&time(other)));
    format!("{}\nend {end}\n", lines.join("\n"))
}

#[test]
fn a_challenge_that_does_not_come_is_a_missing_answer() {
    let report_of = |script: &str| diagnosis::diagnosed(script, &Setting::udp(6500), &[]).1;
    let silent = gamespy4("c", 24, |n| (8..16).contains(&n), true);
    let report = report_of(&together(&[silent], 1500));
    assert_eq!(item(&report, SERVER, "seen.answered"), ["no", "silent_period"], "{report}");
    let healthy = gamespy4("c", 24, |_| false, true);
    let report = report_of(&together(std::slice::from_ref(&healthy), 1500));
    assert_eq!(item(&report, SERVER, "seen.answered")[0], "yes", "{report}");
    // One client of several gets none.
    let other = gamespy4("d", 24, |_| true, true);
    let report = report_of(&together(&[healthy, other], 1500));
    assert_eq!(item(&report, SERVER, "seen.answered"), ["no", "one_client_unanswered"], "{report}");
}

#[test]
fn several_clients_that_are_never_answered_are_named() {
    let clients = ["c", "d", "e"].map(|client| gamespy4(client, 8, |_| client > "c", true));
    let (_, report) = diagnosis::diagnosed(&together(&clients, 600), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, SERVER, "seen.answered"), ["no", "sometimes_unanswered"], "{report}");
    let by = report["servers"][0]["items"].as_array().unwrap().iter().find_map(|it| it.get("by"));
    let silent = ["10.0.1.1", "10.0.2.1"];
    assert_eq!(by.unwrap()["client"], silent.join(", "), "{report}");
    for client in silent {
        assert_eq!(item(&report, client, "ask.answered"), ["no", "one_client_unanswered"]);
    }
}

#[test]
fn challenges_that_several_clients_do_not_return_are_filtered_for_gamespy4_too() {
    let clients = ["c", "d", "e"].map(|client| gamespy4(client, 4, |_| false, false));
    let (_, report) = diagnosis::diagnosed(&together(&clients, 600), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, SERVER, "seen.verified"), ["no", "challenge_filtered"], "{report}");
    let one = [gamespy4("c", 4, |_| false, false)];
    let (_, report) = diagnosis::diagnosed(&together(&one, 600), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_not_returned"]);
}

/// Information is answered with the challenge, players never are: each gets one more challenge.
#[test]
fn a_loop_of_one_kind_is_a_loop() {
    let info =
        "s > c  FFFFFFFF 49 11 'A' 00 'm' 00 'f' 00 'g' 00 B801 00 08 00 'd' 'l' 00 00 '1' 00 00";
    let (_, report) = diagnosed(&rounds(
        6,
        &[
            (0.0, "c > s  FFFFFFFF 54 'Source Engine Query' 00"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (0.2, "c > s  FFFFFFFF 54 'Source Engine Query' 00 le32:{n}"),
            (0.3, info),
            (1.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (1.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (1.2, "c > s  FFFFFFFF 55 le32:{n}"),
            (1.3, "s > c  FFFFFFFF 41 11223344"),
        ],
    ));
    assert_eq!(item(&report, SERVER, "seen.verified"), ["no", "challenge_loop"], "{report}");
}

/// What the client of a GameSpy 4 server returns in place of the challenge 9513308.
fn returned(challenge: &str) -> Value {
    let round = [
        (0.00, "c > s  FEFD09 10203040".to_owned()),
        (0.02, "s > c  09 10203040 '9513308' 00".to_owned()),
        (0.03, format!("c > s  FEFD00 10203040 {challenge} FFFFFF01")),
    ];
    let round: Vec<_> = round.iter().map(|(at, line)| (*at, &**line)).collect();
    diagnosed(&rounds(4, &round)).1
}

#[test]
fn a_client_that_returns_another_challenge_is_told_so() {
    for (challenge, cause) in [
        ("00000000", "challenge_wrong"),
        ("00000007", "challenge_wrong"),
        ("5C299100", "challenge_byteswapped"),
        ("", "request_malformed"),
    ] {
        let report = returned(challenge);
        assert_eq!(item(&report, CLIENT, "ask.wellformed"), ["no", cause], "{report:#}");
        assert_eq!(item(&report, SERVER, "seen.answered")[0], "unknown", "{report:#}");
    }
}

#[test]
fn wrong_requests_excuse_no_closed_port() {
    let round = [(0.0, "c > s  FFFFFFFF 55 0102"), (0.01, "s > c  icmp=3.3")];
    let (_, report) = diagnosed(&rounds(6, &round));
    let [verdict, cause] = item(&report, SERVER, "seen.answered");
    assert_eq!((&*verdict, &*cause), ("no", "icmp_port_unreachable"), "{report:#}");
}

/// A new number for the second request is what the specification says; a server that answers it at another port shows that.
#[test]
fn a_session_with_several_numbers_is_right_where_one_server_answers_it() {
    let mut script = String::new();
    for n in 0..8 {
        for (at, port) in [(n * 60, 6500), (n * 60 + 20, 6600)] {
            writeln!(script, "{at}.00 c > s:{port}  FEFD 09 be32:{}", 2 * n).unwrap();
            writeln!(script, "{at}.02 s:{port} > c  09 be32:{} '9513307' 00", 2 * n).unwrap();
            writeln!(script, "{at}.03 c > s:{port}  FEFD 00 be32:{} 0091295B FFFFFF01", 2 * n + 1)
                .unwrap();
            if port == 6500 {
                let answer = GS4_INFO
                    .replace("s >", "s:6500 >")
                    .replace("00000007", &format!("be32:{}", 2 * n + 1));
                writeln!(script, "{at}.05 {answer}").unwrap();
            }
        }
    }
    let (_, report) = diagnosis::diagnosed(&format!("{script}end 500"), &Setting::udp(6500), &[]);
    assert_eq!(item(&report, CLIENT, "ask.wellformed")[0], "yes", "{report:#}");
    let verified = item(&report, "10.0.0.2:6600", "seen.verified");
    assert_eq!(verified, ["no", "challenged_request_unanswered"], "{report:#}");
}

/// A client that does not return its challenge is owed nothing: it is not banned.
#[test]
fn a_client_that_asks_wrongly_is_not_called_banned() {
    let players = PLAYERS;
    let answer = format!("s > d  {players}");
    let (_, report) = diagnosed(&rounds(
        8,
        &[
            (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
            (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
            (20.0, "d > s  FFFFFFFF 55 FFFFFFFF"),
            (20.1, "s > d  FFFFFFFF 41 le32:{n}"),
            (20.2, "d > s  FFFFFFFF 55 le32:{n}"),
            (20.3, &answer),
        ],
    ));
    assert_eq!(
        item(&report, CLIENT, "ask.challenge"),
        ["no", "challenge_not_returned"],
        "{report:#}"
    );
    assert_ne!(item(&report, CLIENT, "ask.answered")[0], "no", "{report:#}");
}

/// As with a plain request: one or two may be lost on the way.
#[test]
fn one_or_two_lost_responses_prove_no_silence() {
    let lost = |count: u32| {
        let (_, report) = diagnosed(&rounds(
            count,
            &[
                (0.0, "c > s  FFFFFFFF 55 FFFFFFFF"),
                (0.1, "s > c  FFFFFFFF 41 le32:{n}"),
                (0.2, "c > s  FFFFFFFF 55 le32:{n}"),
            ],
        ));
        ["seen.verified", "seen.answered"].map(|name| item(&report, SERVER, name).join(" "))
    };
    assert_eq!(lost(1), ["unknown capture_too_short"; 2]);
    assert_eq!(lost(2), ["unknown capture_too_short"; 2]);
    assert_eq!(lost(3), ["no challenged_request_unanswered"; 2]);
}

/// Requests that need no challenge are answered all the same.
#[test]
fn challenges_of_one_kind_of_request_are_filtered() {
    let info = "FFFFFFFF 54 'Source Engine Query' 00";
    let answer =
        "FFFFFFFF 49 11 'A' 00 'b' 00 'tf' 00 'c' 00 B801 00 18 00 'd' 'l' 00 01 '1' 00 00";
    let round = |client: &str| {
        [
            format!("{client} > s  {info}"),
            format!("s > {client}  {answer}"),
            format!("{client} > s  FFFFFFFF 55 FFFFFFFF"),
            format!("s > {client}  FFFFFFFF 41 le32:{{n}}"),
        ]
    };
    let of = |clients: &[&str]| {
        let lines = Vec::from_iter(clients.iter().flat_map(|client| round(client)));
        let lines = lines.iter().enumerate().map(|(nth, line)| (nth as f64, line.as_str()));
        diagnosed(&rounds(4, &Vec::from_iter(lines))).1
    };
    let report = of(&["c", "d", "e"]);
    assert_eq!(item(&report, SERVER, "seen.verified"), ["no", "challenge_filtered"], "{report}");
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["unknown", "challenge_filtered"]);
    let report = of(&["c", "d"]);
    assert_eq!(item(&report, CLIENT, "ask.challenge"), ["no", "challenge_not_returned"]);
}

/// A request that was cut may return the challenge, from whatever port: that it does not is no fault of anybody.
#[test]
fn a_longer_request_that_was_cut_may_return_the_challenge() {
    const ASK: &str = "FFFFFFFF 54 'Source Engine Query' 00";
    let asked = |snap: &str, is_returned: bool| {
        let ask = format!("c1 > s  {snap} {ASK}");
        let mut lines = vec![(0.0, &*ask), (0.1, "s > c1  FFFFFFFF 41 le32:{n}")];
        let returned = format!("c2 > s  {snap} {ASK} le32:{{n}}");
        if is_returned {
            lines.extend([(0.2, &*returned), (0.3, "s > c2  FFFFFFFF 41 le32:7{n}")]);
        }
        let (_, report) = diagnosed(&rounds(4, &lines));
        [item(&report, CLIENT, "ask.challenge"), item(&report, SERVER, "seen.verified")].concat()
    };
    let drops = ["unknown", "capture_drops"];
    assert_eq!(asked("snap=70", true), [drops, drops].concat());
    // Without such a request, or with all of its bytes, it is known.
    assert_eq!(asked("", true)[..3], ["no", "challenge_other_port", "unknown"]);
    let not_returned = "challenge_not_returned";
    assert_eq!(asked("snap=70", false), ["no", not_returned, "unknown", not_returned]);
}

/// A rule proves that the server gives challenge after challenge, also in one exchange, and whether or not the last
/// request gets one.
#[test]
fn a_loop_in_one_exchange_is_a_loop() {
    let looping = |rounds: u32| {
        let mut script = "0.0 c > s  FFFFFFFF 55 FFFFFFFF\n".to_owned();
        for round in 1..=rounds {
            writeln!(script, "{round}.0 s > c  FFFFFFFF 41 le32:{round}").unwrap();
            writeln!(script, "{round}.1 c > s  FFFFFFFF 55 le32:{round}").unwrap();
        }
        let (_, report) = diagnosed(&(script + "end 60"));
        item(&report, SERVER, "seen.verified")
    };
    assert_eq!(looping(5), ["no", "challenge_loop"]);
    assert_eq!(looping(9), ["no", "challenge_loop"]);
    assert_eq!(looping(2), ["unknown", "capture_too_short"], "a few rounds are none");
}

/// A client of GameSpy 4 asks every ten seconds, and for a new challenge each minute only; others ask for one each time.
/// `is_answered`: which of its six requests of a minute.
fn with_old_challenges(is_answered: impl Fn(u32, u32) -> bool) -> Value {
    let info = |end: &str, at: &str, challenge: u32, is_answered: bool| {
        let asked = format!("{at}1 {end} > s  FEFD 00 00000007 {challenge:08x}\n");
        let answer = format!(
            "{at}5 s > {end}  00 00000007 'A' 00 'SMP' 00 'world' 00 '1' 00 '20' 00 DD63 '10.0.0.2' 00\n"
        );
        if is_answered { asked + &answer } else { asked }
    };
    let challenged = |end: &str, at: &str, challenge: u32| {
        format!(
            "{at}0 {end} > s  FEFD 09 00000007\n{at}05 s > {end}  09 00000007 '{challenge}' 00\n"
        )
    };
    let script: String = (0..36)
        .map(|nth: u32| {
            let (minute, at) = (nth / 6, nth * 10);
            let own = 1_000_000 + minute;
            let begun = match nth % 6 {
                0 => challenged("c", &format!("{at}.0"), own),
                _ => String::new(),
            };
            let own = info("c", &format!("{at}.1"), own, is_answered(nth, nth % 6));
            let other = challenged("d", &format!("{at}.5"), nth + 5_000);
            begun + &own + &other + &info("d", &format!("{at}.6"), nth + 5_000, true)
        })
        .collect();
    diagnosis::diagnosed_at(&format!("{script}end 400"), 25565)
}

#[test]
fn challenges_that_the_server_has_forgotten_are_named() {
    let report = with_old_challenges(|_, nth| nth < 3);
    let client = diagnosis::item(&report, "clients", "ask.challenge");
    assert_eq!(client, "no challenge_expired", "{report:#}");
    let text = "of requests with a challenge that is 26.9s old, or older, 18 of 18 stay unanswered; of others, 0 of ";
    assert!(report["clients"][0].to_string().contains(text), "{report:#}");
    assert_eq!(report["servers"][0]["verdict"], "ok", "{report:#}");
    // The server accepts each for as long as it likes, and pauses for a while, or answers now and then.
    for is_answered in [|_, _| true, |nth, _| !(10..22).contains(&nth), |nth, _| nth % 5 > 1] {
        let report = with_old_challenges(is_answered);
        assert!(!report.to_string().contains("challenge_expired"), "{report:#}");
    }
}
