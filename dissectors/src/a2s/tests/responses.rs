//! Which response belongs to which request: copies, late ones, those of hybrid servers, and invalid
//! ones.

use crate::a2s::rules;
use crate::kit::Rule;

use super::lab::{C, Lab, S, TestRecorder, bytes};

const T: &str = "FFFFFFFF 54 'Source Engine Query' 00";
const I: &str = "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 01 10 00 'dl' 00 01 '1' 00";
const M: &str =
    "FFFFFFFF 6D '10.0.0.2:27015' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F 'dl' 00 00 01 00";
const D: &str = "FFFFFFFF 44 01 00 'a' 00 00000000 f32:1";
const E: &str = "FFFFFFFF 45 0100 'motd' 00 'x' 00";
const A: &str = "FFFFFFFF 41 4BA1D522";
/// A player request with no challenge, and with this one.
const U1: &str = "FFFFFFFF 55 FFFFFFFF";
const U: &str = "FFFFFFFF 55 4BA1D522";
const V: &str = "FFFFFFFF 56 4BA1D522";

/// These messages in short intervals: requests from the client, the others from the server.
fn said(messages: &[&str]) -> Lab<TestRecorder> {
    let timed: Vec<_> =
        (0..).map(|at| f64::from(at) / 50.0).zip(messages.iter().copied()).collect();
    said_at(&timed)
}

fn said_at(messages: &[(f64, &str)]) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    for &(time, message) in messages {
        let bytes = bytes(message);
        match bytes[4] {
            b'T' | b'U' | b'V' | b'W' | b'i' => lab.c(time, &bytes),
            _ => lab.s(time, &bytes),
        };
    }
    lab.end(60.0);
    lab
}

fn verdict(lab: &Lab<TestRecorder>, rule: &Rule) -> [u64; 3] {
    let counts = lab.counts(rule);
    [counts.passed, counts.failed, counts.inconclusive]
}

/// Findings of the rules about requests and responses, with their packets.
fn exchange(lab: &Lab<TestRecorder>) -> Vec<(String, u64)> {
    let heard = lab.sink.heard.iter();
    let reported = heard.flat_map(|heard| heard.findings.iter().map(|f| (f, heard.frames[0])));
    let recalled = lab.sink.recalled().into_iter();
    let recalled = recalled.map(|f| (f, f.mark.map_or(0, |mark| mark.frame)));
    let codes = reported.chain(recalled).map(|(f, frame)| (super::lab::code(f), frame));
    codes.filter(|(code, _)| code.contains("A2S06") || code.contains("A2S02")).collect()
}

fn found(code: &str, frame: u64) -> Vec<(String, u64)> {
    vec![(code.to_owned(), frame)]
}

/// Both with the maximum number of pending requests and with more.
#[test]
fn requests_that_are_dropped_early_break_no_rule() {
    let others = (11..30).map(|n| format!("{T} 000000{n}"));
    let asked = Vec::from_iter([T.to_owned()].into_iter().chain(others));
    let asked = (0..).zip(&asked).map(|(n, asked)| (f64::from(n) * 0.01, asked.as_str()));
    let responses = (0..21).map(|n| (1.0 + f64::from(n) * 0.01, I));
    let lab = said_at(&asked.chain(responses).collect::<Vec<_>>());
    let inconclusive: Vec<_> = (37..=40).map(|frame| ("A2S061?".to_owned(), frame)).collect();
    let mut reported = exchange(&lab);
    reported.retain(|(code, _)| code.starts_with("A2S061"));
    assert_eq!(reported, [inconclusive, found("A2S061", 41)].concat());
    assert_eq!(verdict(&lab, &rules::A2S062), [16, 0, 0]);
}

#[test]
fn a_copy_of_the_last_response_does_not_answer_the_next_request() {
    let start = [U1, A];
    let with = |rest: &[&str]| said(&[&start, rest].concat());
    assert_eq!(exchange(&with(&[V, E, U, E, D])), found("A2S061", 6));
    assert_eq!(exchange(&with(&[U, D, V, D, E])), found("A2S061", 6));
    assert_eq!(exchange(&said(&[T, I, U1, I, A])), found("A2S061", 4));
    // A different response than the last one.
    assert_eq!(exchange(&with(&[U, E])), found("A2S060", 4));
    // The same response, once for each client.
    assert_eq!(exchange(&with(&[U, D, U, D, U, U, D, D])), []);
}

#[test]
fn a_challenge_that_was_given_before_leaves_its_request_waiting() {
    assert_eq!(exchange(&said(&[U1, A, U, A, D])), []);
    let info = &format!("{T} 4BA1D522");
    assert_eq!(exchange(&said(&[T, A, info, A, I])), found("(A2S026)", 2));
    // It may have been the response: then a missing one is not a fault.
    let lab = said(&[U1, A, U, A]);
    assert_eq!(exchange(&lab), []);
    assert_eq!(verdict(&lab, &rules::A2S062), [2, 0, 0]);
    // A server that always sends the same response is recognized all the same.
    let lab = said(&[U1, A, U, A, U, A, U, A, U, A]);
    assert_eq!(exchange(&lab), found("A2S027", 10));
}

#[test]
fn texts_unknown_messages_and_game_packets_answer_nothing() {
    for other in ["FFFFFFFF 6C 'Welcome' 0A 00", "FFFFFFFF 39 01", "01020304 05060708"] {
        let lab = said(&[U1, other, A, U, other, D]);
        assert_eq!(exchange(&lab), [], "{other}");
        assert_eq!(verdict(&lab, &rules::A2S062), [2, 0, 0], "{other}");
        // The server may have no other response.
        assert_eq!(exchange(&said(&[U1, A, U, other])), [], "{other}");
    }
    let lab = said(&[U1, "01020304 05060708", "01020304 05060708"]);
    assert_eq!(verdict(&lab, &rules::A2S001)[1], 1, "one for each request");
}

#[test]
fn requests_that_are_followed_only_by_texts_are_forgotten() {
    let messages: Vec<_> = [T, "FFFFFFFF 6C 'Banned' 00"].repeat(100);
    let mut lab = said_at(&(0..).map(|at| f64::from(at) / 100.0).zip(messages).collect::<Vec<_>>());
    assert_eq!(lab.budget.take_met().count(), 0);
    assert_eq!(verdict(&lab, &rules::A2S062), [0, 0, 0]);
}

#[test]
fn a_challenge_of_zero_is_valid_if_the_server_sent_it() {
    let (zero, u) = ("FFFFFFFF 41 00000000", "FFFFFFFF 55 00000000");
    let lab = said(&[T, zero, &format!("{T} 00000000"), I, u, D]);
    assert_eq!(lab.codes(), ["(A2S026)"]);
    let lab = said(&[u, D]);
    assert_eq!(exchange(&lab), [("(A2S022)".to_owned(), 1), ("A2S024?".to_owned(), 2)]);
    let lab = said(&[U1, A, u, D]);
    assert_eq!(exchange(&lab), [("(A2S022)".to_owned(), 3), ("A2S024".to_owned(), 4)]);
}

#[test]
fn rounds_of_challenges_are_counted_for_each_kind_of_request() {
    let all = |challenge: &str| {
        [
            format!("{T} {challenge}"),
            format!("FFFFFFFF 55 {challenge}"),
            format!("FFFFFFFF 56 {challenge}"),
        ]
    };
    let given = |challenge: &str| [(); 3].map(|()| format!("FFFFFFFF 41 {challenge}"));
    let mut conversation = vec![U1.to_owned(), "FFFFFFFF 41 01000000".to_owned()];
    for [asked, answered] in [["01000000", "02000000"], ["02000000", "03000000"]] {
        conversation.extend(all(asked).into_iter().chain(given(answered)));
    }
    conversation.extend(all("03000000"));
    conversation.extend([I, D, E].map(str::to_owned));
    let conversation: Vec<_> = conversation.iter().map(String::as_str).collect();
    assert_eq!(exchange(&said(&conversation)), []);
}

#[test]
fn hybrid_servers_answer_in_any_order_and_every_time() {
    let sorts: [&[&str]; 8] = [
        &[T, I, D, M],
        &[T, M, D, I],
        &[T, D, M, I],
        &[T, T, M, I, M, I],
        &[T, M, T, I, M, I],
        &[T, M, U1, I, A, U, D],
        &[U1, A, T, U, M, D, I, D],
        &[T, M, U1, D, I, A, U, D],
    ];
    for messages in sorts {
        let lab = said(messages);
        let notes = exchange(&lab);
        assert!(notes.iter().all(|(code, _)| code == "(A2S060)"), "{messages:?}: {notes:?}");
        let pass = verdict(&lab, &rules::A2S061);
        assert_eq!((pass[1], pass[2]), (0, 0), "{messages:?}");
        assert_eq!(verdict(&lab, &rules::A2S062)[1..], [0, 0], "{messages:?}");
    }
    // A list comes from a hybrid server only if the obsolete info comes, too.
    assert_eq!(exchange(&said(&[T, I, D])), found("A2S061", 3));
    assert_eq!(exchange(&said(&[T, D, I])), found("A2S061", 2));
    assert_eq!(exchange(&said(&[T, D])), found("A2S060", 2));
    assert_eq!(exchange(&said(&[T, M, I, I])).last(), found("A2S061", 4).last());
    // The next request and response end it.
    let lab = said(&[T, I, U1, A, M]);
    assert_eq!(exchange(&lab), found("A2S061", 5));
}

#[test]
fn other_forms_of_info_are_responses_in_time_and_otherwise_unsolicited() {
    for (other, first) in [(I, M), (D, M), (M, I)] {
        let with = |time| exchange(&said_at(&[(0.0, T), (0.1, first), (time, other)]));
        assert_eq!(with(3.0), found("(A2S060)", 3));
        // However long the flow was silent.
        for late in [60.0, 100.0, 191.9, 192.1, 384.1] {
            assert_eq!(with(late), found("A2S061", 3), "{late}");
        }
    }
    // A list that is requested later is the response to that request.
    let wrong = "FFFFFFFF 55 61626364";
    let with = |ask, time| said_at(&[(0.0, T), (0.1, M), (time, ask), (time + 0.02, D)]);
    assert_eq!(exchange(&with(U1, 5.0)), found("A2S023", 4));
    let later = exchange(&with(wrong, 60.0));
    assert_eq!(later, [("A2S022".to_owned(), 3), ("A2S024".to_owned(), 4)]);
    // Before that it may be either: the request is not reported as unanswered.
    assert_eq!(exchange(&with(U1, 0.5)), found("(A2S060)", 4));
}

#[test]
fn a_list_may_respond_to_a_challenge_from_before_the_capture() {
    let lab = said(&[I, T, M, U, D]);
    assert_eq!(exchange(&lab)[1..], [("A2S022?".to_owned(), 4), ("A2S024?".to_owned(), 5)]);
    assert_eq!(verdict(&lab, &rules::A2S060), [2, 0, 0]);
}

#[test]
fn a_late_response_is_not_unsolicited() {
    let lab = said_at(&[(0.0, T), (3.2, T), (3.3, I), (3.4, I)]);
    assert_eq!(exchange(&lab), found("A2S062", 1));
    let lab = said_at(&[(0.0, T), (3.2, T), (3.3, I), (3.4, I), (3.5, I)]);
    assert_eq!(exchange(&lab), [("A2S061".to_owned(), 5), ("A2S062".to_owned(), 1)]);
}

#[test]
fn a_challenge_that_was_cut_may_be_used_from_another_port() {
    let mut lab = Lab::new();
    lab.c(0.0, &bytes(U1)).packet(0.1, S, C, &bytes("FFFFFFFF 41 4B"), true);
    let other = "10.0.0.1:50009";
    for (time, from, to, what) in
        [(1.0, other, S, T), (1.1, S, other, I), (1.2, other, S, U), (1.3, S, other, D)]
    {
        lab.packet(time, from, to, &bytes(what), false);
    }
    lab.end(9.0);
    assert_eq!(verdict(&lab, &rules::A2S022), [1, 0, 1]);
    assert_eq!(verdict(&lab, &rules::A2S024), [0, 0, 0]);
}

#[test]
fn a_copy_of_an_earlier_response_is_not_wrong_for_a_pending_request() {
    // The first request was lost: the copy is not a list without a challenge.
    let lab = said(&[U1, U1, A, U, D, D]);
    assert_eq!(exchange(&lab), found("A2S061", 6));
    let wrong = "FFFFFFFF 55 61626364";
    let lab = said(&[T, I, wrong, U1, A, U, D, D]);
    assert_eq!(exchange(&lab), [("A2S022".to_owned(), 3), ("A2S061".to_owned(), 8)]);
    // A request after the first list gets its own response, even a wrong one.
    assert_eq!(exchange(&said(&[U1, A, U, D, U1, D])), found("A2S023", 6));
    assert_eq!(exchange(&said(&[U1, U1, D, D])), [found("A2S023", 3), found("A2S023", 4)].concat());
}

/// Players of info and the list agree, whichever comes first.
#[test]
fn a_list_is_compared_with_the_info_around_it() {
    let info = bytes("FFFFFFFF 49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 14 20 00 64 6C 00 01 '1' 00");
    let list = bytes("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5");
    for (messages, failed) in [
        (vec![(0.0, &info), (1.0, &list)], 1),
        (vec![(0.0, &list), (1.0, &info)], 1),
        (vec![(0.0, &list), (11.0, &info)], 0),
        // A list before which there is an info is not compared again.
        (vec![(0.0, &info), (1.0, &list), (2.0, &info)], 1),
    ] {
        let mut lab = Lab::new();
        for &(time, message) in &messages {
            lab.s(time, message);
        }
        lab.end(20.0);
        assert_eq!(lab.counts(&rules::A2S066).failed, failed, "{messages:?}");
    }
}
