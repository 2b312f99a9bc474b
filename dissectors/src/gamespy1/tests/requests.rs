//! Which request a response answers, the effects of an ICMP error and a copy, and responses with an
//! unusual beginning.

use crate::gamespy1::rules;
use crate::kit::{Reply, Time};

use super::lab::{C, L, Lab, LabSegment, M, S, TestRecorder};

fn at(second: f64) -> Time {
    Time((second * 1e9).round() as i64)
}

/// The request that each message answers.
fn answered(lab: &Lab<TestRecorder>) -> Vec<(&'static str, Reply)> {
    lab.sink.heard.iter().filter_map(|heard| Some((heard.name, heard.reply?))).collect()
}

fn replies(datagrams: &[(f64, &str, &str, &str)]) -> Vec<(&'static str, Reply)> {
    let mut lab = Lab::new();
    for (time, from, to, text) in datagrams {
        lab.udp(*time, from, to, text.as_bytes());
    }
    answered(lab.end(99.0))
}

const RESPONSE: &str = r"\hostname\Test\queryid\1.1\final\";

#[test]
fn a_response_has_its_query() {
    let reported = replies(&[(1.0, C, S, r"\info\"), (1.1, S, C, RESPONSE)]);
    assert_eq!(reported, [("query_response", Reply::to(1, at(1.0)))]);
    // In parts: the joined response does.
    let parts = [r"\hostname\Test\queryid\1.1", r"\player_0\Ann\queryid\1.2\final\"];
    let reported =
        replies(&[(1.0, C, S, r"\status\"), (1.1, S, C, parts[1]), (1.2, S, C, parts[0])]);
    assert_eq!(reported, [("query_response", Reply::to(1, at(1.0)))]);
    // There is no request.
    assert_eq!(replies(&[(1.0, S, C, RESPONSE)]), []);
}

#[test]
fn a_query_that_is_sent_again_is_one_request() {
    let asked = [0.0, 1.0, 2.0].map(|time| (time, C, S, r"\info\"));
    let reported = replies(&[asked[0], asked[1], asked[2], (2.1, S, C, RESPONSE)]);
    let reply = Reply { began: at(0.0), tries: 3, ..Reply::to(3, at(2.0)) };
    assert_eq!(reported, [("query_response", reply)]);
}

#[test]
fn a_challenge_and_a_validate_have_their_requests() {
    let reported = replies(&[
        (0.0, S, M, r"\heartbeat\7778\gamename\ut\"),
        (0.1, M, S, r"\basic\\secure\l8jfVy"),
        (0.2, S, M, r"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\"),
    ]);
    let expected = [("secure", Reply::to(1, at(0.0))), ("validate", Reply::to(2, at(0.1)))];
    assert_eq!(reported, expected);
}

#[test]
fn a_query_that_is_refused_is_unanswered_for_certain() {
    let asked = |refused: &[u64], times: u32| {
        let mut lab = Lab::new();
        for time in 0..times {
            lab.udp(time.into(), C, S, br"\info\");
            if refused.contains(&lab.frame) {
                lab.refused(lab.frame);
            }
        }
        let counts = lab.end(1.5).counts(&rules::GS1030);
        [counts.failed, counts.inconclusive]
    };
    assert_eq!(asked(&[], 1), [0, 1]);
    assert_eq!(asked(&[1], 1), [1, 0]);
    // The latest repeat counts.
    assert_eq!(asked(&[1], 2), [0, 1]);
    assert_eq!(asked(&[2], 2), [1, 0]);
}

#[test]
fn a_copy_is_shown_and_changes_nothing() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\info\").again(C, S, br"\info\");
    lab.udp(0.0, S, C, br"\hostname\x").again(S, C, br"\hostname\x");
    lab.udp(0.1, C, S, br"\status\");
    let part = br"\hostname\x\queryid\1.1";
    lab.udp(0.2, S, C, part).again(S, C, part).end(9.0);
    let shown = ["query_response", "query_response", "query", "query_fragment", "query_fragment"];
    assert_eq!(lab.names(), [&["query", "query"][..], &shown].concat());
    assert_eq!(lab.counts(&rules::GS1030).passed, 2);
    let tries: Vec<_> = answered(&lab).iter().map(|(_, reply)| reply.tries).collect();
    assert_eq!(tries, [1]);
}

#[test]
fn a_response_with_an_unusual_start_is_a_response() {
    for response in [
        r"hostname\Test\queryid\1.1\final\",
        "\u{1}\u{2}",
        r"X\Y",
        "infoResponse\n\\hostname\\Test",
    ] {
        let mut lab = Lab::new();
        lab.claims = true;
        lab.udp(0.0, C, S, br"\info\").udp(0.1, S, C, response.as_bytes()).end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"], "{response:?}");
        assert!(lab.codes().contains(&"GS1001".to_owned()), "{response:?}");
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
        assert_eq!(lab.counts(&rules::GS1030).failed, 0);
    }
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, C, S, br"\info\")
        .udp(0.1, S, C, b"\xFF\xFF\xFF\xFFstatusResponse\n\\a\\b")
        .end(9.0);
    assert_eq!(lab.codes(), ["GS1001"]);
    // In parts, none of which does; and games' own traffic between these ports does not count.
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, br"hostname\Test\queryid\1.1");
    lab.udp(0.1, S, C, br"player_0\Ann\queryid\1.2\final\").udp(0.2, S, C, b"\x01\x02\x03");
    lab.udp(0.2, C, S, b"\x01\x02\x03").end(9.0);
    assert_eq!(lab.names(), ["query", "query_response"]);
    assert_eq!(lab.codes(), ["GS1001"]);
    assert_eq!(lab.counts(&rules::GS1031).passed, 1);
}

#[test]
fn a_heartbeat_without_its_backslash_is_one() {
    let mut lab = Lab::new();
    lab.claims = true;
    lab.udp(0.0, S, M, br"\heartbeat\7778\gamename\ut\").udp(0.1, M, S, br"\basic\\secure\l8jfVy");
    lab.udp(0.2, S, M, br"heartbeat\7778\gamename\ut\validate\SAaJHX96\final\");
    lab.udp(290.0, S, M, br"heartbeat\7778\gamename\ut\");
    lab.udp(580.0, S, M, br"\heartbeat\7778\gamename\ut\").end(599.0);
    assert_eq!(lab.names(), ["heartbeat", "secure", "validate", "heartbeat", "heartbeat"]);
    assert_eq!(lab.codes(), ["GS1001", "GS1001"]);
    assert_eq!(lab.counts(&rules::GS1024).passed, 2);
}

#[test]
fn in_a_stream_a_validate_and_a_list_have_their_requests() {
    let mut lab = Lab::new();
    let turns: [(&str, &str, &str); 3] = [
        (L, C, r"\basic\\secure\XDWAOR"),
        (C, L, r"\gamename\ut\location\0\validate\3JOdDFU5\final\\list\\gamename\ut\final\"),
        (L, C, r"\ip\1.2.3.4:7778\final\"),
    ];
    for (i, (from, to, text)) in turns.into_iter().enumerate() {
        lab.tcp(i as f64, (from, to), C, text.as_bytes(), LabSegment::default());
    }
    lab.end(9.0);
    let expected = [("validate", Reply::to(1, at(0.0))), ("list_response", Reply::to(2, at(1.0)))];
    assert_eq!(answered(&lab), expected);
}

#[test]
fn game_traffic_after_an_overdue_query_is_not_reported() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\info\");
    for time in [10.0, 10.1, 10.2] {
        lab.udp(time, S, C, &[0x80, 0x01, 0x7F]);
    }
    let heard: Vec<_> = lab.end(99.0).sink.heard.iter().map(|heard| heard.name).collect();
    assert_eq!(heard, ["query"]);
}
