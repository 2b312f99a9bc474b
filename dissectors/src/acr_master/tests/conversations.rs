//! State that spans several connections.

use crate::acr_master::rules::*;
use crate::kit::lab::HeardMessage;
use crate::kit::{FlowState, Secret};

use super::lab::{C, Lab, LabSegment, M, S, TestRecorder, ask, exchange};

const KEY: &[u8] = b"labkey";

/// The digest of the key `labkey` over a nonce of zeros and a challenge of AB bytes.
const DIGEST: &str = "229c3b4f83318cd133e2e9ad6476ac6f7ae27634f55e309e7578458a69672b86";

fn challenge() -> String {
    format!("*c{}\n*a\n", "ab".repeat(128))
}

fn verify(id: u32, digest: &str) -> String {
    format!("/v?p=28770&i={id}&c={}&a={digest}", "0".repeat(96))
}

/// A server that is registered and has a challenge for request 7 of user 42.
fn challenged() -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    lab.settings.protocols.acr_master.keys = vec![("42".to_owned(), Secret::new(KEY))];
    ask(&mut lab, 0.0, "10.0.0.2:40000", "/r?v=140&p=28770", "registered");
    ask(&mut lab, 1.0, "10.0.0.2:40001", "/a?p=28770&a=::1&i=7&u=42", &challenge());
    lab
}

fn checked(lab: &Lab<TestRecorder>, rule: &crate::kit::Rule) -> [u64; 3] {
    let counts = lab.counts(rule);
    [counts.passed, counts.failed, counts.inconclusive]
}

#[test]
fn a_right_digest_succeeds_and_a_wrong_one_is_denied() {
    for (digest, response, ok) in [
        (DIGEST, "*sxPlayer\n", true),
        (DIGEST, "*d\n", false),
        (&"0a".repeat(32), "*d\n", true),
        (&"0a".repeat(32), "*s0Player\n", false),
    ] {
        let mut lab = challenged();
        ask(&mut lab, 2.0, "10.0.0.2:40002", &verify(7, digest), response);
        lab.end(3.0);
        assert_eq!(checked(&lab, &ACR033), [u64::from(ok), u64::from(!ok), 0], "{response}");
    }
}

#[test]
fn an_error_does_not_decide_about_the_digest() {
    let mut lab = challenged();
    ask(&mut lab, 2.0, "10.0.0.2:40002", &verify(7, DIGEST), "*f\n");
    lab.end(3.0);
    assert_eq!(checked(&lab, &ACR033), [0, 0, 0]);
}

#[test]
fn an_id_is_good_once() {
    let mut lab = challenged();
    ask(&mut lab, 2.0, "10.0.0.2:40002", &verify(7, DIGEST), "*sxPlayer\n");
    ask(&mut lab, 3.0, "10.0.0.2:40003", &verify(7, DIGEST), "*f\n");
    assert_eq!(checked(&lab, &ACR032), [2, 0, 0]);
    ask(&mut lab, 4.0, "10.0.0.2:40004", &verify(7, DIGEST), "*sxPlayer\n");
    assert_eq!(checked(&lab, &ACR032), [2, 1, 0]);
    // A new challenge makes it valid again; another server's id is another id.
    ask(
        &mut lab,
        5.0,
        "10.0.0.2:40005",
        "/a?p=28770&a=::1&i=7&u=42",
        &format!("*c{}\n*a", "cd".repeat(128)),
    );
    ask(&mut lab, 6.0, "10.0.0.2:40006", &verify(7, &"0a".repeat(32)), "*d\n");
    assert_eq!(checked(&lab, &ACR032), [3, 1, 0]);
    ask(&mut lab, 7.0, "10.0.1.2:40000", &verify(7, DIGEST), "*sxPlayer\n");
    assert_eq!(checked(&lab, &ACR032), [3, 1, 1]);
}

#[test]
fn a_missing_registration_is_certain_only_in_complete_captures() {
    let without = |complete| {
        let mut lab = Lab::new();
        lab.complete = complete;
        ask(&mut lab, 1.0, S, "/a?p=28770&a=::1&i=7&u=42", &challenge());
        lab.end(9.0);
        checked(&lab, &ACR030)
    };
    assert_eq!(without(false), [0, 0, 1]);
    assert_eq!(without(true), [0, 1, 0]);
    assert_eq!(checked(&challenged(), &ACR030), [1, 0, 0]);
    let refused = exchange("/a?p=28770&a=::1&i=7&u=42", "*f\n*a\n");
    assert_eq!(checked(&refused, &ACR030), [1, 0, 0]);
}

/// One request that a master refuses by the HTTP status.
fn refused(lab: &mut Lab<TestRecorder>, time: f64, request: &str) {
    let request = format!("GET {request} HTTP/1.0\r\n\r\n");
    lab.tcp(time, (S, M), S, request.as_bytes(), LabSegment::default());
    let response = b"HTTP/1.0 403 Forbidden\r\n\r\nno\n";
    lab.tcp(time + 0.02, (M, S), S, response, LabSegment { fin: true });
}

#[test]
fn a_registration_that_is_refused_is_none() {
    for (again, expected) in [(false, [0, 1, 0]), (true, [1, 0, 0])] {
        let mut lab = Lab::new();
        refused(&mut lab, 0.0, "/r?v=140&p=28770");
        if again {
            ask(&mut lab, 1.0, "10.0.0.2:40001", "/r?v=140&p=28770", "registered");
        }
        ask(&mut lab, 2.0, "10.0.0.2:40002", "/a?p=28770&a=::1&i=7&u=42", &challenge());
        lab.end(9.0);
        assert_eq!(checked(&lab, &ACR030), expected);
    }
    // Another request, whose response is not in the capture.
    let mut lab = Lab::new();
    refused(&mut lab, 0.0, "/r?v=140&p=28770");
    let request = b"GET /r?v=140&p=28770 HTTP/1.0\r\n\r\n";
    lab.tcp(1.0, ("10.0.0.2:40001", M), "10.0.0.2:40001", request, LabSegment::default());
    ask(&mut lab, 2.0, "10.0.0.2:40002", "/a?p=28770&a=::1&i=7&u=42", &challenge());
    lab.end(9.0);
    assert_eq!(checked(&lab, &ACR030), [0, 0, 1]);
}

#[test]
fn an_id_that_was_refused_is_not_known() {
    let verify_after = |auths: &[(&str, &str)], result: &str| {
        let mut lab = Lab::new();
        for (time, (request, response)) in (1..).zip(auths) {
            ask(&mut lab, f64::from(time), &format!("10.0.0.2:4000{time}"), request, response);
        }
        ask(&mut lab, 8.0, "10.0.0.2:40008", &verify(7, DIGEST), result);
        lab.end(9.0);
        checked(&lab, &ACR032)
    };
    let (pair, alone) = ("/a?p=28770&a=::1&i=7&u=42", "/a?p=28770&a=::1&i=7");
    let given = &challenge()[..];
    assert_eq!(verify_after(&[(pair, "*f\n*a\n")], "*d\n"), [0, 1, 0]);
    assert_eq!(verify_after(&[(alone, "*a\n")], "*d\n"), [0, 1, 0]);
    assert_eq!(verify_after(&[(pair, "*f\n*a\n")], "*f\n"), [1, 0, 0]);
    // An id that is in use is refused, and does not change.
    assert_eq!(verify_after(&[(pair, given), (pair, "*f\n*a\n")], "*d\n"), [1, 0, 0]);
    assert_eq!(verify_after(&[(pair, "*f\n*a\n"), (pair, given)], "*d\n"), [1, 0, 0]);

    let mut lab = Lab::new();
    refused(&mut lab, 1.0, pair);
    ask(&mut lab, 2.0, "10.0.0.2:40002", &verify(7, DIGEST), "*d\n");
    assert_eq!(checked(&lab, &ACR032), [0, 1, 0]);
}

/// Its fault is reported by another rule.
#[test]
fn a_challenge_that_cannot_be_read_was_handed_out() {
    for challenge in ["AB".repeat(128), "ab".repeat(127), String::new()] {
        let mut lab = Lab::new();
        lab.complete = true;
        ask(&mut lab, 0.0, "10.0.0.2:40000", "/r?v=140&p=28770", "registered");
        let response = format!("*c{challenge}\n*a\n");
        ask(&mut lab, 1.0, "10.0.0.2:40001", "/a?p=28770&a=::1&i=7&u=42", &response);
        ask(&mut lab, 2.0, "10.0.0.2:40002", &verify(7, DIGEST), "*d\n");
        lab.end(9.0);
        assert_eq!(checked(&lab, &ACR021), [0, 1, 0]);
        assert_eq!(checked(&lab, &ACR032), [1, 0, 0]);
    }
}

#[test]
fn another_port_is_another_server() {
    let mut lab = Lab::new();
    lab.complete = true;
    ask(&mut lab, 0.0, "10.0.0.2:40000", "/r?v=140&p=28780", "registered");
    ask(&mut lab, 1.0, "10.0.0.2:40001", "/a?a=::1&i=7&u=42", &challenge());
    lab.end(9.0);
    assert_eq!(checked(&lab, &ACR030), [0, 1, 0]);
}

/// A server registers, and answers the socket check with this.
fn checked_socket(answer: &[u8]) -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    let register = b"GET /r?v=140&p=28770 HTTP/1.0\r\n\r\n";
    lab.tcp(0.0, (S, M), S, register, LabSegment::default());
    lab.udp(0.1, "10.0.0.9:41000", "10.0.0.2:28771", b"\x01");
    lab.udp(0.2, "10.0.0.2:28771", "10.0.0.9:41000", answer);
    lab
}

#[test]
fn a_socket_check_is_the_registrations() {
    let mut lab = checked_socket(b"\x01pong");
    lab.end(9.0);
    let names: Vec<_> = lab.sink.heard.iter().map(|heard| heard.name).collect();
    assert_eq!(names, ["register_request", "socket_check", "socket_check_reply"]);
    assert_eq!(checked(&lab, &ACR034), [1, 0, 0]);
}

#[test]
fn a_probe_of_a_zero_byte_is_none() {
    let mut lab = Lab::new();
    ask(&mut lab, 0.0, S, "/r?v=140&p=28770", "registered");
    lab.udp(0.1, "10.0.0.9:41000", "10.0.0.2:28771", b"\0");
    lab.udp(0.2, "10.0.0.2:28771", "10.0.0.9:41000", b"\x01");
    lab.end(9.0);
    assert_eq!(checked(&lab, &ACR034), [0, 1, 0]);
}

/// As for all requests: a probe that comes after the timeout repeats none.
#[test]
fn a_probe_is_repeated_while_it_waits() {
    let tries = |times: &[f64]| {
        let mut lab = Lab::<TestRecorder>::new();
        ask(&mut lab, 0.0, S, "/r?v=140&p=28770", "registered");
        for &time in times {
            lab.udp(time, "10.0.0.9:41000", "10.0.0.2:28771", b"\x01");
        }
        lab.udp(5.0, "10.0.0.2:28771", "10.0.0.9:41000", b"\x01");
        lab.last().reply.map(|reply| reply.tries)
    };
    assert_eq!([tries(&[0.1, 2.0, 4.0]), tries(&[0.1, 4.0])], [Some(3), Some(1)]);
}

#[test]
fn a_request_is_answered_or_the_master_is_at_fault() {
    let open = |close: bool, end: f64| {
        let mut lab = Lab::new();
        lab.tcp(0.0, (C, M), C, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
        if close {
            lab.tcp(0.1, (M, C), C, b"", LabSegment { fin: true });
        }
        lab.end(end);
        checked(&lab, &ACR035)
    };
    assert_eq!(open(true, 0.2), [0, 1, 0]);
    assert_eq!(open(false, 9.0), [0, 1, 0]);
    assert_eq!(open(false, 0.2), [0, 0, 1]);
}

#[test]
fn a_wrong_request_is_owed_nothing() {
    let mut lab = Lab::new();
    lab.tcp(0.0, (C, M), C, b"GET /r?p=28770&g=1 HTTP/1.0\r\n\r\n", LabSegment::default());
    lab.tcp(0.1, (M, C), C, b"", LabSegment { fin: true });
    lab.end(9.0);
    assert_eq!(lab.codes(), ["ACR004"]);
}

#[test]
fn after_an_unreadable_response_pairs_are_unknown() {
    let mut lab = Lab::new();
    lab.tcp(0.0, (C, M), C, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
    lab.tcp(0.1, (M, C), C, b"HTTP/x 200 OK\r\n\r\nabc", LabSegment { fin: true });
    lab.end(9.0);
    assert_eq!(checked(&lab, &ACR035), [0, 0, 1]);
}

#[test]
fn pairs_are_found_again_after_unreadable_bytes() {
    let request = b"GET /a?a=::1 HTTP/1.1\r\n\r\n";
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n*bx\n";
    // An unreadable request between two others that are pipelined; then pairs at intervals.
    let wrong_ones = |ahead: bool, apart: f64| {
        let mut lab = Lab::new();
        let unread = b"GET /x HTTP/x\r\n\r\n";
        let requests = [request.as_slice(), unread, request].concat();
        let requests = if ahead { &requests } else { unread.as_slice() };
        lab.tcp(0.0, (S, M), S, requests, LabSegment::default());
        lab.tcp(0.1, (M, S), S, &response.repeat(if ahead { 3 } else { 1 }), LabSegment::default());
        for nth in 1..=3 {
            let time = f64::from(nth) * apart;
            lab.tcp(time, (S, M), S, request, LabSegment::default());
            lab.tcp(time + 0.1, (M, S), S, response, LabSegment::default());
        }
        checked(&lab, &ACR022)[1]
    };
    assert_eq!(wrong_ones(false, 1.0), 3);
    assert_eq!(wrong_ones(true, 1.0), 0);
    assert_eq!(wrong_ones(true, 5.0), 3);
}

#[test]
fn a_response_recorded_before_its_request_shifts_no_pairs() {
    let ask = |lab: &mut Lab<TestRecorder>, time: f64, target: &str| {
        let request = format!("GET {target} HTTP/1.1\r\n\r\n");
        lab.tcp(time, (S, M), S, request.as_bytes(), LabSegment::default());
    };
    let send = |lab: &mut Lab<TestRecorder>, time: f64, body: &str| {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        lab.tcp(time, (M, S), S, response.as_bytes(), LabSegment::default());
    };
    let mut lab = Lab::new();
    ask(&mut lab, 0.0, "/a?a=::1");
    send(&mut lab, 0.1, "*a\n");
    send(&mut lab, 0.2, "*bw\n");
    ask(&mut lab, 0.2, "/a?a=::2");
    for time in [1.0, 2.0, 9.0] {
        ask(&mut lab, time, "/c?build_defs=4");
        send(&mut lab, time + 0.1, "masterserver_flags 0\n");
    }
    lab.end(20.0);
    assert_eq!(checked(&lab, &ACR022), [1, 0, 0]);
    assert_eq!(checked(&lab, &ACR011), [1, 0, 0]);
    assert_eq!(checked(&lab, &ACR035), [2, 0, 0]);
}

#[test]
fn a_probe_before_its_registration_was_reported_as_one_may_have_been_there() {
    let registers = |target: &str| {
        let mut lab = Lab::new();
        ask(&mut lab, 0.0, "10.0.0.2:40000", target, "registered");
        lab.end(9.0);
        checked(&lab, &ACR034)
    };
    assert_eq!(registers("/r?v=140&g=180300&p=28770"), [0, 1, 0]);
    assert_eq!(registers("/r?v=140"), [0, 0, 1]);
}

#[test]
fn a_response_knows_its_request() {
    let mut lab = Lab::new();
    let both = b"GET /c?build_defs=4 HTTP/1.1\r\n\r\nGET /r?v=140&p=28770 HTTP/1.1\r\n\r\n";
    lab.tcp(0.0, (S, M), S, both, LabSegment::default());
    lab.udp(0.1, "10.0.0.9:41000", "10.0.0.2:28771", b"\x01");
    lab.udp(0.2, "10.0.0.9:41000", "10.0.0.2:28771", b"\x01");
    lab.udp(0.3, "10.0.0.2:28771", "10.0.0.9:41000", b"\x01");
    let response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    lab.tcp(0.4, (M, S), S, response, LabSegment::default());
    lab.tcp(0.5, (M, S), S, b"HTTP/1.1 404 No\r\n\r\n", LabSegment { fin: true });
    let reply =
        |heard: &HeardMessage| heard.reply.map(|reply| (heard.name, reply.request, reply.tries));
    let replies: Vec<_> = lab.sink.heard.iter().filter_map(reply).collect();
    assert_eq!(
        replies,
        [("socket_check_reply", 3, 2), ("client_response", 1, 1), ("register_response", 1, 1),]
    );
}

#[test]
fn a_later_answer_belongs_to_no_probe_that_was_answered() {
    let mut lab = checked_socket(b"\x01");
    lab.udp(300.2, "10.0.0.2:28771", "10.0.0.9:41000", b"\x01");
    let replies: Vec<_> = lab.sink.heard.iter().map(|heard| heard.reply.is_some()).collect();
    assert_eq!(replies, [false, false, true, false]);
}

/// The result of a registration whose probe is not answered. The capture ends soon after it.
fn unanswered(refused: Option<u64>, answered: bool) -> [u64; 3] {
    let (mut conversation, mut lab) = (None, Lab::new());
    let register = b"GET /r?v=140&p=28770 HTTP/1.0\r\n\r\n";
    lab.tcp(0.0, (S, M), S, register, LabSegment::default());
    lab.udp(0.1, "10.0.0.9:41000", "10.0.0.2:28771", b"\x01");
    lab.each_conversation(|it| {
        conversation = refused.map(|frame| it.refused(frame)).or(conversation)
    });
    if answered {
        lab.udp(0.2, "10.0.0.2:28771", "10.0.0.9:41000", b"\x01");
    }
    lab.end(1.0);
    checked(&lab, &ACR034)
}

#[test]
fn a_probe_that_is_refused_is_not_answered_for_certain() {
    assert_eq!(unanswered(None, false), [0, 0, 1]);
    assert_eq!(unanswered(Some(1), false), [0, 0, 1], "another packet");
    assert_eq!(unanswered(Some(2), false), [0, 1, 0]);
    assert_eq!(unanswered(Some(2), true), [1, 0, 0]);
}

#[test]
fn who_gives_up_on_an_answer_that_was_due_was_not_answered() {
    for (end, expected) in [(1.0, [0, 0, 0]), (3.5, [0, 1, 0])] {
        let mut lab = Lab::new();
        lab.tcp(0.0, (C, M), C, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
        lab.reset(end, (C, M));
        lab.end(9.0);
        assert_eq!(checked(&lab, &ACR035), expected);
    }
}

/// The results of ACR014 and ACR015 for a list of which only the first bytes were recorded.
fn cut_list(length: usize) -> [[u64; 3]; 2] {
    let mut lab = Lab::new();
    let response = "HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.0.2 28770 1\naddserver 10.0.0.3 28770 1\n";
    lab.tcp(0.0, (C, M), C, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
    lab.lost_after(0.1, (M, C), C, &response.as_bytes()[..length]);
    lab.end(9.0);
    assert!(lab.codes().iter().all(|code| code.ends_with('?')), "{length}: {:?}", lab.codes());
    [checked(&lab, &ACR014), checked(&lab, &ACR015)]
}

#[test]
fn lost_lines_count_once() {
    let head = "HTTP/1.0 200 OK\r\n\r\n".len();
    let (flags, server) = (head + 21, "addserver 10.0.0.2 28770 1\n".len());
    for length in 6..=flags + 2 * server {
        let whole = length.saturating_sub(flags) / server;
        let [servers, lines] = cut_list(length);
        assert_eq!(servers, [whole as u64, 0, 1], "{length}");
        assert_eq!(lines, [whole as u64, 0, 1], "{length}");
    }
}

#[test]
fn of_a_list_that_is_too_long_the_last_line_is_none() {
    let mut lab = Lab::new();
    lab.settings.limits.http_body = 40;
    lab.tcp(0.0, (C, M), C, b"GET /c?build_defs=4 HTTP/1.0\r\n\r\n", LabSegment::default());
    let response =
        b"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\naddserver 10.0.0.2 28770 1\naddserv";
    lab.tcp(0.1, (M, C), C, response, LabSegment::default());
    lab.end(9.0);
    assert_eq!(checked(&lab, &ACR014), [1, 0, 1]);
    assert_eq!(checked(&lab, &ACR015), [1, 0, 1]);
}
