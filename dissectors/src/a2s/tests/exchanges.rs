//! Repeated requests, the responses to them, and the replies that are reported.

use crate::a2s::{A2s, rules};
use crate::kit::{Claim, Hint, Protocol, Reply, Role, Rule, Sending};

use super::lab::{C, Lab, S, TestRecorder, bytes, seconds};

const T: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const TC: &str = "FFFFFFFF 54 'Source Engine Query' 00 4BA1D522";
const I: &str = "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 01 10 00 'dl' 00 01 '1' 00";
const D: &str = "FFFFFFFF 44 01 00 'a' 00 00000000 f32:1";
const A: &str = "FFFFFFFF 41 4BA1D522";
const U1: &str = "FFFFFFFF 55 FFFFFFFF";
const U: &str = "FFFFFFFF 55 4BA1D522";

fn said(messages: &[(f64, &str)], end: f64) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    for &(time, message) in messages {
        let bytes = bytes(message);
        match bytes.get(4) {
            Some(b'T' | b'U' | b'V' | b'W' | b'i') | None => lab.c(time, &bytes),
            _ => lab.s(time, &bytes),
        };
    }
    lab.end(end);
    lab
}

fn verdict(lab: &Lab<TestRecorder>, rule: &Rule) -> [u64; 3] {
    let counts = lab.counts(rule);
    [counts.passed, counts.failed, counts.inconclusive]
}

/// The parts of a reply: the request's packet, when it and the exchange began, and how often it was
/// sent.
fn reply(request: u64, sent: f64, began: f64, tries: u32, complete: bool) -> Reply {
    Reply { began: seconds(began), tries, complete, ..Reply::to(request, seconds(sent)) }
}

#[test]
fn a_response_has_its_request_and_the_start_of_the_exchange() {
    let lab = said(&[(0.0, T), (0.1, A), (0.2, TC), (0.3, I)], 9.0);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, false), reply(3, 0.2, 0.0, 1, true)]);
    // The next exchange is separate.
    let lab = said(&[(0.0, U1), (0.1, A), (0.2, U), (0.3, D), (1.0, U), (1.1, D)], 9.0);
    assert_eq!(lab.sink.replies.last(), Some(&reply(5, 1.0, 1.0, 1, true)));
    // A request for a challenge only is complete with it.
    let lab = said(&[(0.0, "FFFFFFFF 57"), (0.1, A)], 9.0);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, true)]);
}

/// Some servers send the data beside a challenge; a client that returns the challenge all the same asks anew.
#[test]
fn data_beside_a_challenge_answers_the_request() {
    let lab = said(&[(0.0, T), (0.1, A), (0.2, I)], 9.0);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, false), reply(1, 0.0, 0.0, 1, true)]);
    assert_eq!(verdict(&lab, &rules::A2S061), [2, 0, 0]);
    let lab = said(&[(0.0, U1), (0.1, A), (0.2, D), (0.3, U), (0.4, D)], 9.0);
    assert_eq!(lab.sink.replies.last(), Some(&reply(4, 0.3, 0.3, 1, true)));
    assert_eq!(verdict(&lab, &rules::A2S061)[1], 0);
    // Too late, or twice, it is unasked.
    for at in [4.0, 0.3] {
        let lab =
            said(&[(0.0, T), (0.1, A), (0.2, I), (at, I.replace("'n'", "'o'").as_str())], 9.0);
        assert_eq!(verdict(&lab, &rules::A2S061)[1], 1, "{at}");
    }
}

/// The request that returns the challenge may be missing from the capture.
#[test]
fn a_list_after_a_challenge_proves_nothing_against_the_challenge() {
    let lab = said(&[(0.0, U1), (0.1, A), (0.2, D)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S023), [1, 0, 1]);
    let lab = said(&[(0.0, U1), (0.1, D)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S023), [0, 1, 0]);
}

/// A client that has asked for a challenge may have been given one that the capture lacks.
#[test]
fn a_challenge_that_may_be_missing_accuses_nobody() {
    let lab = said(&[(0.0, U1), (0.2, U), (0.3, D)], 9.0);
    let both = [&rules::A2S022, &rules::A2S024].map(|rule| verdict(&lab, rule)[1..].to_vec());
    assert_eq!(both, [[0, 1], [0, 1]]);
    let lab = said(&[(0.0, U1), (0.1, "FFFFFFFF 41 01020304"), (0.2, U), (0.3, D)], 9.0);
    let both = [&rules::A2S022, &rules::A2S024].map(|rule| verdict(&lab, rule)[1..].to_vec());
    assert_eq!(both, [[1, 0], [1, 0]]);
}

/// The first response that no request has may answer one from before the capture; the others keep their requests.
#[test]
fn what_was_asked_before_the_capture_is_answered_in_it() {
    let rules = "FFFFFFFF 45 0100 'motd' 00 'x' 00";
    let (v, v1) = ("FFFFFFFF 56 32000000", "FFFFFFFF 56 FFFFFFFF");
    let lab = said(&[(0.0, v), (0.1, D), (0.2, rules)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S060), [1, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S061), [1, 0, 1]);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
    let lab = said(&[(0.0, A), (0.1, TC), (0.2, rules), (0.3, U1), (0.4, I)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S060), [1, 0, 0]);
    // Not after a silence, nor where the beginning is in the capture.
    let lab = said(&[(0.0, v), (0.1, rules), (5.0, v), (5.1, D)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S060), [1, 1, 0]);
    let lab = said(&[(0.0, v1), (0.1, D)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S060), [0, 1, 0]);
}

#[test]
fn a_response_of_another_kind_has_its_request() {
    let lab = said(&[(0.0, U1), (0.1, "FFFFFFFF 45 0100 'motd' 00 'x' 00")], 9.0);
    assert_eq!(lab.codes(), ["A2S060"]);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, false)]);
}

/// Hybrid servers answer info in the obsolete form first.
#[test]
fn the_other_forms_of_info_answer_the_same_request() {
    let obsolete =
        "FFFFFFFF 6D '10.0.0.2:27015' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F 'dl' 00 00 01 00";
    let lab = said(&[(0.0, T), (0.1, obsolete), (0.1, I), (0.2, D)], 9.0);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, true); 3]);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
}

#[test]
fn the_last_packet_of_a_split_response_answers() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes("FFFFFFFF 56 FFFFFFFF")).s(0.1, &bytes(A));
    lab.c(0.2, &bytes("FFFFFFFF 56 4BA1D522"));
    lab.s(0.3, &bytes("FEFFFFFF 07000000 02 00 E004 FFFFFFFF 45 0100 'mo'"));
    assert_eq!(lab.sink.replies.len(), 1);
    lab.s(0.4, &bytes("FEFFFFFF 07000000 02 01 E004 'td' 00 'x' 00")).end(9.0);
    assert_eq!(lab.sink.replies.last(), Some(&reply(3, 0.2, 0.0, 1, true)));
}

#[test]
fn a_request_repeated_while_it_waits_is_the_same() {
    // One response answers both.
    let lab = said(&[(0.0, T), (1.0, T), (1.1, I)], 9.0);
    assert_eq!(lab.codes(), ["(SEC003)"]);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0]);
    assert_eq!(lab.sink.replies, [reply(2, 1.0, 0.0, 2, true)]);
    // One for each is not a fault, a third is.
    let lab = said(&[(0.0, T), (1.0, T), (1.1, I), (1.2, I)], 9.0);
    assert_eq!(
        (verdict(&lab, &rules::A2S061), verdict(&lab, &rules::A2S062)),
        ([2, 0, 0], [1, 0, 0])
    );
    let lab = said(&[(0.0, T), (1.0, T), (1.1, I), (1.2, I), (1.3, I)], 9.0);
    assert_eq!(verdict(&lab, &rules::A2S061), [2, 1, 0]);
    // Also if the client has continued with the challenge from the first one.
    let round = [(0.0, U1), (0.5, U1), (0.6, A), (0.7, U), (0.8, "FFFFFFFF 41 11111111"), (0.9, D)];
    let lab = said(&round, 9.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(verdict(&lab, &rules::A2S062), [2, 0, 0]);
    assert_eq!(lab.sink.replies.last(), Some(&reply(4, 0.7, 0.0, 1, true)));
    // Repeating has a limit: a server that is silent for 27 seconds was asked three times.
    let silent: Vec<_> = (0..27).map(|at| (f64::from(at), T)).collect();
    let lab = said(&[&[(-1.0, T), (-0.9, I)], &silent[..]].concat(), 60.0);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 3, 0]);
}

#[test]
fn a_client_that_begins_anew_asks_the_same() {
    // Each time it gets another challenge, and its third request is answered.
    let challenge = |number: u8| format!("FFFFFFFF 41 4BA1D5{number:02X}");
    let request = |number: u8| format!("FFFFFFFF 55 4BA1D5{number:02X}");
    for numbers in [[1, 2, 3], [7, 7, 7]] {
        let mut messages = Vec::new();
        for (round, number) in numbers.into_iter().enumerate() {
            let at = 1.1 * round as f64;
            messages.push((at, U1.to_owned()));
            messages.push((at + 0.02, challenge(number)));
            messages.push((at + 0.04, request(number)));
        }
        messages.push((2.29, D.to_owned()));
        let messages = Vec::from_iter(messages.iter().map(|(at, text)| (*at, text.as_str())));
        let lab = said(&messages, 9.0);
        assert_eq!(lab.sink.replies.last(), Some(&reply(9, 2.24, 0.0, 3, true)));
        assert_eq!(verdict(&lab, &rules::A2S062), [4, 0, 0], "{numbers:?}");
        assert_eq!(lab.codes(), Vec::<String>::new());
    }
    // A late response to the first one is none without a request.
    let both = [(0.0, U1), (0.1, A), (0.2, U), (1.0, U1), (1.1, "FFFFFFFF 41 11111111")];
    let both = [&both[..], &[(1.2, "FFFFFFFF 55 11111111"), (1.3, D), (1.4, D)]].concat();
    assert_eq!(verdict(&said(&both, 9.0), &rules::A2S061), [4, 0, 0]);
    // After the timeout it is another request.
    let later = [(0.0, U1), (0.1, A), (0.2, U), (5.0, U1), (5.1, A), (5.2, U), (5.3, D)];
    let lab = said(&later, 9.0);
    assert_eq!(lab.sink.replies.last(), Some(&reply(6, 5.2, 5.0, 1, true)));
    assert_eq!(verdict(&lab, &rules::A2S062), [3, 1, 0]);
}

#[test]
fn a_retried_query_is_not_a_query_without_a_challenge() {
    let retried = [(0.0, T), (1.0, T), (1.1, A), (1.2, TC), (1.3, I)];
    let lab = said(&retried, 9.0);
    assert_eq!(verdict(&lab, &rules::SEC003), [1, 0, 0]);
    assert_eq!(lab.codes(), ["(A2S026)"]);
    // If a server requires a challenge, info never answers an older request without one.
    let older = [(0.0, T), (3.5, T), (3.6, A), (3.7, TC), (3.8, I)];
    assert_eq!(verdict(&said(&older, 9.0), &rules::SEC003), [1, 0, 0]);
    let both = [(0.0, T), (0.1, A), (0.2, T), (0.2, TC), (0.3, I)];
    assert_eq!(verdict(&said(&both, 0.4), &rules::SEC003), [1, 0, 0]);
}

#[test]
fn a_challenge_answers_the_latest_possible_request() {
    let (v1, v) = ("FFFFFFFF 56 FFFFFFFF", "FFFFFFFF 56 4BA1D522");
    let lab = said(&[(0.0, U1), (0.1, v1), (0.2, A), (0.3, v)], 0.3);
    assert_eq!(lab.sink.replies, [reply(2, 0.1, 0.1, 1, false)]);
    // An invalid request gets no response while another one waits.
    let lab = said(&[(0.0, U1), (0.1, "FFFFFFFF 55 4B"), (0.2, A)], 0.3);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, false)]);
}

#[test]
fn a_request_that_an_icmp_error_quotes_is_unanswered_for_certain() {
    let silent = |messages: &[f64], refused: u64| {
        let mut lab = Lab::new();
        for &time in messages {
            lab.c(time, &bytes(T));
        }
        lab.refused(refused);
        lab
    };
    assert_eq!(verdict(silent(&[0.0], 1).end(0.1), &rules::A2S062), [0, 1, 0]);
    assert_eq!(verdict(silent(&[0.0, 1.0], 2).end(1.1), &rules::A2S062), [0, 1, 0]);
    // A packet without an error; a later repeat.
    assert_eq!(verdict(silent(&[0.0, 1.0], 1).end(1.1), &rules::A2S062), [0, 0, 1]);
    assert_eq!(verdict(silent(&[0.0], 1).c(1.0, &bytes(T)).end(1.1), &rules::A2S062), [0, 0, 1]);
    let mut answered = silent(&[0.0], 1);
    answered.c(1.0, &bytes(T)).s(1.1, &bytes(I)).end(9.0);
    assert_eq!(verdict(&answered, &rules::A2S062), [1, 0, 0]);
}

#[test]
fn a_doubled_datagram_is_shown_and_changes_nothing() {
    let mut lab = Lab::new();
    let split = bytes("FEFFFFFF 07000000 02 00 E004 FFFFFFFF 45 0100 'mo'");
    lab.c(0.0, &bytes(T)).again(S, C, &bytes(I)).again(C, S, &bytes(T)).again(S, C, &split);
    assert_eq!(lab.names(), ["info_request", "info_response", "info_request", "split_fragment"]);
    assert!(lab.sink.replies.is_empty());
    lab.s(0.1, &bytes(I)).end(9.0);
    assert_eq!(lab.codes(), ["(SEC003)"]);
    assert_eq!(lab.sink.replies, [reply(1, 0.0, 0.0, 1, true)]);
    // A game's packet is not A2S.
    lab.c(10.0, &bytes(T)).again(C, S, &bytes("05000080 01000080 DEADBEEF"));
    assert_eq!(lab.names().last(), Some(&"info_request"));
}

#[test]
fn a_request_after_a_wrong_first_long_is_one() {
    let wrong = "FDFFFFFF 54 'Source Engine Query' 00";
    let lab = said(&[(0.0, T), (0.1, I), (0.2, wrong)], 9.0);
    assert_eq!(lab.names(), ["info_request", "info_response", "info_request"]);
    assert_eq!(lab.sink.heard[2].codes(), ["A2S001"]);
    assert_eq!(verdict(&lab, &rules::A2S062), [1, 0, 0], "nothing is owed to it");
    let lab = said(&[(0.0, U1), (0.1, A), (0.2, "FDFFFFFF 55 4BA1D522")], 9.0);
    assert_eq!(lab.codes(), ["A2S001"]);
    // Nor is a game's packet of the same length.
    let lab = said(&[(0.0, U1), (0.1, A), (0.2, "05000000 55 4BA1D522")], 9.0);
    assert_eq!(lab.names().len(), 2);
}

#[test]
fn bytes_after_a_challenge_are_not_the_challenge() {
    let longer = "FFFFFFFF 55 FFFFFFFF 01020304";
    assert_eq!(A2s::claim(&bytes(longer), Hint::default()), Claim::Sure);
    assert_eq!(A2s::claim(&bytes("FFFFFFFF 'Vegetable'"), Hint::default()), Claim::Weak);
    let lab =
        said(&[(0.0, longer), (0.1, A), (0.2, "FFFFFFFF 55 4BA1D522 01020304"), (0.3, D)], 9.0);
    assert_eq!(lab.codes(), ["A2S006", "A2S006"]);
    assert_eq!(verdict(&lab, &rules::A2S021), [2, 0, 0]);
    assert_eq!(verdict(&lab, &rules::A2S022), [2, 0, 0]);
    assert_eq!(lab.sink.heard[2].value("challenge"), Some("584425803"));
}

/// The exchange goes on, as it does where the asked host sends the challenge.
#[test]
fn a_challenge_from_another_host_is_returned_in_the_same_exchange() {
    let other = "10.0.0.3:27015";
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(U1)).packet(0.02, other, C, &bytes(A), false);
    lab.c(0.03, &bytes(U)).packet(0.05, other, C, &bytes(D), false);
    // The rules are others, and much later it is another exchange.
    lab.c(0.06, &bytes("FFFFFFFF 56 4BA1D522")).c(60.0, &bytes(U));
    let requests = lab.sink.heard.iter().filter(|heard| heard.speaker == Role::Client);
    let sendings: Vec<_> = requests.map(|heard| heard.sending).collect();
    assert_eq!(sendings, [Sending::New, Sending::GoesOn(1), Sending::New, Sending::New]);
}

/// The endpoint answered on another flow of the two hosts.
#[test]
fn messages_to_a_known_server_are_for_it() {
    let server = "10.0.0.2:7777";
    let mut lab = Lab::new();
    for other in ["'details'", "'players'", "'rules'", "'ping'", "54 'Quarry' 00"] {
        lab.packet(0.0, C, server, &bytes(&format!("FFFFFFFF {other}")), false);
    }
    assert_eq!(lab.names().len(), 0);
    lab.packet(0.0, C, server, &bytes(T), false).packet(0.1, server, C, &bytes(I), false);
    let before = lab.names().len();
    for (port, other) in (1..).zip(["'details'", "'players'", "'rules'", "'ping'"]) {
        let client = format!("10.0.0.1:{port}");
        lab.packet(0.2, &client, server, &bytes(&format!("FFFFFFFF {other}")), false);
    }
    assert_eq!(lab.names()[before..], ["unknown"; 4]);
    assert_eq!(verdict(&lab, &rules::A2S003)[1], 4);
    lab.packet(0.3, "10.0.0.1:5", server, &bytes("FFFFFFFF 54 'Quarry' 00"), false);
    assert_eq!(lab.sink.heard.last().unwrap().codes(), ["A2S010"]);
    // Nor are a Valve master's and a game's own messages recognized as requests.
    lab.packet(0.3, "10.0.0.1:6", server, &bytes("FFFFFFFF 'infoResponse' 0A"), false);
    lab.packet(0.3, "10.0.0.3:6", server, &bytes("FFFFFFFF 'details'"), false);
    assert_eq!(lab.names().len(), before + 5);
}

#[test]
fn a_response_to_words_is_asked_for() {
    let server = "10.0.0.2:27015";
    let mut lab = Lab::new();
    lab.packet(0.0, C, server, &bytes(T), false).packet(0.1, server, C, &bytes(I), false);
    let client = "10.0.0.1:7";
    for (words, codes) in [(true, &[][..]), (false, &["A2S061?"])] {
        if words {
            lab.packet(1.0, client, server, &bytes("FFFFFFFF 'details' 00"), false);
        }
        lab.packet(1.1, server, client, &bytes("FFFFFFFF 44 00"), false);
        assert_eq!(lab.sink.heard.last().unwrap().codes(), codes, "{words}");
    }
}

#[test]
fn every_split_header_toward_a_server_is_reported() {
    let header = |id: u32| bytes(&format!("FEFFFFFF le32:{id} 02 00 E004"));
    let mut lab = Lab::new();
    for id in 0..200 {
        let client = format!("10.0.0.1:{}", 10_000 + id % 7);
        lab.packet(0.0, &client, S, &header(id), false);
        lab.packet(0.0, "10.0.0.1:9", "10.0.0.2:7777", &header(id), false);
    }
    assert_eq!(verdict(&lab, &rules::SEC001), [0, 200, 0]);
    assert_eq!(lab.budget.take_met().count(), 0);
    // On any port, once the endpoint has answered that host.
    lab.packet(1.0, C, "10.0.0.2:7777", &bytes(T), false);
    lab.packet(1.1, "10.0.0.2:7777", C, &bytes(I), false);
    lab.packet(1.2, "10.0.0.1:9", "10.0.0.2:7777", &header(7), false);
    lab.packet(1.2, "10.0.0.1:9", "10.0.0.2:7777", &Form::first_of(9), false);
    assert_eq!(verdict(&lab, &rules::SEC001)[1..], [202, 0]);
}

struct Form;

impl Form {
    /// The first packet of a response.
    fn first_of(total: u8) -> Vec<u8> {
        bytes(&format!("FEFFFFFF 01000000 {total:02X} 00 E004 FFFFFFFF 45 0100 'motd'"))
    }
}

#[test]
fn packets_that_are_less_than_a_header_are_reported_and_empty_ones_among_them() {
    let runts = ["FF", "FFFF", "FFFFFF", "FFFFFFFF", ""];
    let mut lab = Lab::new();
    for runt in runts {
        lab.c(0.0, &bytes(runt));
    }
    assert_eq!(lab.codes(), ["SEC002"; 5]);
    lab.c(0.1, &bytes("FEFFFFFF")).c(0.1, &bytes("FEFFFFFF 01000000"));
    assert_eq!(lab.codes()[5..], ["SEC001"; 2]);
    // A single empty datagram is not A2S, nor is one from a server.
    let lab = said(&[(0.0, T), (0.1, I), (0.2, "")], 9.0);
    assert_eq!(verdict(&lab, &rules::SEC002), [1, 0, 0]);
    // On any port, once the endpoint has answered that host.
    let server = "10.0.0.2:7777";
    let mut lab = Lab::new();
    lab.packet(0.0, "10.0.0.1:9", server, &bytes("FFFF"), false);
    lab.packet(0.0, C, server, &bytes(T), false).packet(0.1, server, C, &bytes(I), false);
    for runt in runts {
        lab.packet(0.2, "10.0.0.1:9", server, &bytes(runt), false);
    }
    assert_eq!(verdict(&lab, &rules::SEC002), [1, 5, 0]);
}

/// A monitor that asks a dead server for an hour, and players who retry while theirs restarts.
#[test]
fn requests_to_a_silent_server_reach_no_limit() {
    for every in [0.2, 1.0, 3.0, 10.0] {
        let mut lab = Lab::new();
        for at in 0..400 {
            lab.c(f64::from(at) * every, &bytes(T));
        }
        lab.end(9000.0);
        assert_eq!(lab.budget.take_met().count(), 0, "{every}");
        let [passed, failed, inconclusive] = verdict(&lab, &rules::A2S062);
        assert!(passed == 0 && failed == 0 && inconclusive >= 400.min((every * 40.0) as u64));
    }
}
