//! Whole conversations over UDP: servers and masters, queries and responses.

use crate::gamespy1::rules;

use super::lab::{C, Lab, M, S, TestRecorder};

const BEAT: &[u8] = br"\heartbeat\7778\gamename\ut\";
const PROOF: &[u8] = br"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\";
const CHALLENGE: &[u8] = br"\basic\\secure\l8jfVy";

/// A server that is validated.
fn registered() -> Lab<TestRecorder> {
    let mut lab = Lab::new();
    lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).udp(0.04, S, M, PROOF);
    lab
}

#[test]
fn a_server_sends_heartbeats_for_an_hour() {
    let mut lab = registered();
    for minute in 1..60 {
        lab.udp(f64::from(minute) * 60.0, S, M, BEAT);
    }
    lab.end(3600.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1024).passed, 59);
    assert_eq!(lab.counts(&rules::GS1025).passed, 58);
}

#[test]
fn heartbeats_too_often_and_too_seldom() {
    for (second, fine) in [(26.9, false), (27.1, true), (329.0, true), (331.0, false)] {
        let mut lab = registered();
        lab.udp(second, S, M, BEAT).end(second + 9.0);
        assert_eq!(lab.counts(&rules::GS1024).failed, u64::from(!fine), "{second}");
    }
}

#[test]
fn heartbeats_that_are_no_copies_come_too_often_at_any_interval() {
    for again in [60.1, 60.4, 61.0] {
        let mut lab = registered();
        lab.udp(60.0, S, M, BEAT).udp(again, S, M, BEAT).end(70.0);
        assert_eq!(lab.codes(), ["GS1024"], "{again}");
    }
}

#[test]
fn a_server_that_was_validated_before_the_capture() {
    let both: &[&str] = &["GS1005?", "GS1023?"];
    for (first, codes) in
        [(&[(M, S, CHALLENGE), (S, M, PROOF)][..], &both[1..]), (&[(S, M, PROOF)], both)]
    {
        let mut lab = Lab::new();
        for (from, to, text) in first {
            lab.udp(0.0, from, to, text);
        }
        lab.udp(60.0, S, M, BEAT).udp(61.0, M, S, br"\status\");
        lab.udp(61.1, S, M, br"\hostname\Test\queryid\1.1\final\")
            .udp(120.0, S, M, BEAT)
            .end(130.0);
        let mut found = lab.codes();
        found.sort();
        assert_eq!(found, codes);
        assert_eq!(lab.counts(&rules::GS1021), Default::default());
    }
}

#[test]
fn a_change_of_state_may_come_at_any_time() {
    let mut lab = registered();
    let changed = br"\heartbeat\7778\gamename\ut\statechanged\1";
    lab.udp(3.0, S, M, changed).udp(60.0, S, M, BEAT).udp(70.0, S, M, changed).end(99.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
}

#[test]
fn a_restart_on_another_port_is_the_same_server() {
    let mut lab = registered();
    lab.udp(60.0, "10.0.0.2:40000", M, BEAT).udp(120.0, "10.0.0.2:40000", M, BEAT).end(200.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1021).passed, 1);
    assert_eq!(lab.counts(&rules::GS1024).passed, 2);
}

#[test]
fn masters_are_reported_apart() {
    let mut lab = registered();
    lab.udp(1.0, S, "10.0.0.9:27500", BEAT).udp(2.0, S, "10.0.1.9:27900", BEAT).end(9.0);
    assert_eq!(lab.counts(&rules::GS1024).passed + lab.counts(&rules::GS1024).failed, 0);
    assert_eq!(lab.codes(), ["GS1021?", "GS1021?"], "neither master is in the capture");
}

#[test]
fn a_silent_server_may_be_challenged_again() {
    let mut lab = registered();
    lab.udp(1000.0, S, M, BEAT).udp(1000.1, M, S, CHALLENGE).udp(1000.2, S, M, PROOF).end(1100.0);
    assert_eq!(lab.codes(), ["GS1024"]);
}

#[test]
fn a_server_that_failed_may_be_challenged_again() {
    let mut lab = Lab::new();
    lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE);
    lab.udp(0.04, S, M, br"\heartbeat\7778\gamename\ut\validate\XuXkWPKC\final\");
    lab.udp(60.0, S, M, BEAT).udp(60.02, M, S, CHALLENGE).udp(60.04, S, M, PROOF).end(99.0);
    assert_eq!(lab.codes(), ["GS1005"]);
}

#[test]
fn an_unanswered_heartbeat_proves_nothing_without_the_master() {
    let run = |complete| {
        let mut lab = Lab::new();
        lab.complete = complete;
        lab.udp(0.0, S, M, BEAT).end(60.0);
        lab.codes()
    };
    assert_eq!(run(false), ["GS1021?"]);
    assert_eq!(run(true), ["GS1021"]);
}

/// From another port than that of heartbeats, at either port of the server.
#[test]
fn a_master_may_challenge_from_another_port() {
    let run = |uplink: &str, server: &str, challenge: &[u8], responses: bool| {
        let mut lab = Lab::new();
        lab.complete = true;
        lab.udp(0.0, uplink, M, BEAT).udp(0.02, "10.0.0.9:45233", server, challenge);
        if responses {
            let proof = br"\validate\SAaJHX96\final\\queryid\1.1";
            lab.udp(0.04, server, "10.0.0.9:45233", proof);
        }
        lab.end(60.0);
        lab
    };
    for uplink in [S, "10.0.0.2:1041"] {
        for server in [S, uplink] {
            let lab = run(uplink, server, br"\secure\l8jfVy", true);
            assert_eq!(lab.codes(), ["(GS1021)", "(GS1002)", "(GS1022)"]);
            assert_eq!(lab.counts(&rules::GS1005).passed, 1);
            let lab = run(uplink, server, br"\secure\l8jfVy", false);
            assert_eq!(lab.codes(), ["(GS1021)", "GS1022"]);
            let lab = run(uplink, server, CHALLENGE, true);
            assert_eq!(lab.counts(&rules::GS1021).passed, 1);
            assert_eq!(lab.codes(), ["(GS1002)", "(GS1022)"]);
        }
    }
}

#[test]
fn a_challenge_without_a_response() {
    let run = |end: f64| {
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).end(end);
        lab.codes()
    };
    assert_eq!(run(1.0), ["GS1022?"]);
    assert_eq!(run(9.0), ["GS1022"]);
}

#[test]
fn a_response_of_another_server() {
    for response in [
        &br"\heartbeat\7779\gamename\ut\validate\SAaJHX96\final\"[..],
        br"\heartbeat\7778\gamename\unreal\validate\SAaJHX96\final\",
    ] {
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).udp(0.04, S, M, response).end(9.0);
        assert_eq!(lab.codes(), ["GS1023"]);
    }
}

#[test]
fn two_servers_may_share_a_socket() {
    let other = br"\heartbeat\7788\gamename\unreal\";
    for beats in [[BEAT, other], [other, BEAT]] {
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, beats[0]).udp(0.01, S, M, beats[1]).udp(0.02, M, S, CHALLENGE);
        lab.udp(0.04, S, M, PROOF).end(9.0);
        assert_eq!(lab.codes(), [""; 0]);
        assert_eq!(lab.counts(&rules::GS1023).passed, 1);
    }
}

#[test]
fn a_response_without_its_heartbeat() {
    let run = |response: &[u8]| {
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).udp(0.04, S, M, response).end(9.0);
        lab.codes()
    };
    assert_eq!(run(br"\gamename\ut\validate\SAaJHX96\final\"), ["GS1022"]);
    assert_eq!(run(br"\validate\SAaJHX96\final\"), ["GS1022"]);
    assert_eq!(run(br"\heartbeat\7778\validate\SAaJHX96\final\"), ["GS1022"]);
    assert_eq!(run(br"\heartbeat\0\gamename\ut\validate\SAaJHX96\final\"), ["GS1020"]);
    // As in GameSpy's own software.
    assert_eq!(run(br"\validate\SAaJHX96\final\\queryid\2.1"), ["(GS1002)", "(GS1022)"]);
    assert_eq!(run(br"\validate\XuXkWPKC\final\\queryid\2.1"), ["(GS1002)", "(GS1022)", "GS1005"]);
}

#[test]
fn a_response_without_only_its_end() {
    let mut lab = Lab::new();
    lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE);
    lab.udp(0.04, S, M, br"\heartbeat\7778\gamename\ut\validate\SAaJHX96").end(9.0);
    assert_eq!(lab.codes(), ["GS1002", "GS1022"]);
}

#[test]
fn the_game_of_a_server_is_known_on_its_other_flows() {
    let mut lab = registered();
    lab.udp(1.0, "10.0.0.9:27901", S, br"\secure\XDWAOR");
    lab.udp(1.02, S, "10.0.0.9:27901", br"\validate\3JOdDFU5\final\\queryid\2.1").end(9.0);
    assert_eq!(lab.counts(&rules::GS1005).passed, 2);
}

#[test]
fn a_response_in_parts_is_one_message() {
    let parts: [&[u8]; 3] = [
        br"\hostname\Test\queryid\7.1",
        br"\player_0\Ann\queryid\7.2",
        br"\player_1\Bob\final\\queryid\7.3",
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\");
        for at in order {
            lab.udp(0.1, S, C, parts[at]);
        }
        lab.end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"]);
        let heard = lab.last();
        assert_eq!(heard.fields, "properties=[hostname:Test player_0:Ann player_1:Bob]");
        let frame = |part| order.iter().position(|at| *at == part).unwrap() as u64 + 2;
        assert_eq!(heard.frames, [frame(0), frame(1), frame(2)], "by the parts' numbers");
        assert_eq!(lab.codes(), ["(GS1002)"]);
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
        assert_eq!(lab.counts(&rules::GS1031).passed, 1);
    }
}

#[test]
fn a_repeated_part_after_the_complete_response_is_a_copy() {
    let parts: [&[u8]; 3] = [
        br"\hostname\Test\queryid\5.1",
        br"\player_0\Ann\queryid\5.2",
        br"\player_1\Bob\queryid\5.3\final\",
    ];
    let asked_again = |lab: &mut Lab<TestRecorder>| {
        lab.udp(0.1, C, S, br"\status\");
    };
    let copies: [fn(&mut Lab<TestRecorder>); 2] = [|_| (), asked_again];
    for before in copies {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\");
        for part in parts {
            lab.udp(0.1, S, C, part);
        }
        before(&mut lab);
        lab.udp(0.101, S, C, parts[2]).udp(0.102, S, C, parts[0]);
        lab.udp(5.0, S, C, br"\a\b\queryid\6.1\final\").end(9.0);
        assert_eq!(lab.codes(), Vec::<String>::new());
        assert_eq!(lab.counts(&rules::GS1031).passed, 2);
        assert_eq!(lab.names().iter().filter(|name| **name == "query_fragment").count(), 2);
    }
    // A recording with every packet twice.
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(0.0, C, S, br"\status\");
    for part in parts {
        lab.udp(0.1, S, C, part).udp(0.1, S, C, part);
    }
    lab.udp(5.0, C, S, br"\echo\x").end(9.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1030).passed, 1);
    // Number and words are reused.
    let mut lab = Lab::new();
    for round in [0.0, 1.0] {
        lab.udp(round, C, S, br"\status\");
        for part in parts {
            lab.udp(round + 0.1, S, C, part);
        }
    }
    lab.end(9.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert_eq!(lab.counts(&rules::GS1031).passed, 2);
    assert_eq!(lab.counts(&rules::GS1030).passed, 2);
}

#[test]
fn the_keys_of_a_response_may_have_any_name() {
    for response in [
        &br"\hostname\a\heartbeat\1\queryid\1.1\final\"[..],
        br"\ip\1.2.3.4\hostname\a\queryid\1.1\final\",
        br"\list\x\hostname\a\queryid\1.1\final\",
    ] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, response).end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"]);
        assert_eq!(lab.codes(), Vec::<String>::new());
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
    }
}

#[test]
fn a_part_of_a_response_may_look_like_another_message() {
    let basic = r"\gamename\ut\gamever\451\minnetver\432\location\0";
    let (right, wrong) = (r"\validate\SAaJHX96", r"\validate\AAAAAAAA");
    for (query, parts, codes) in [
        (r"\basic\secure\l8jfVy", vec![basic, right], vec!["(GS1002)"]),
        (r"\secure\l8jfVy\basic\", vec![right, basic], vec!["(GS1002)"]),
        (r"\basic\secure\l8jfVy", vec![basic, wrong], vec!["(GS1002)", "GS1005"]),
        (
            r"\basic\secure\l8jfVy\info\",
            vec![basic, wrong, r"\hostname\x"],
            vec!["(GS1002)", "GS1005"],
        ),
        (r"\status\", vec![r"\heartbeat\5", r"\hostname\x"], vec!["(GS1002)"]),
        (r"\status\", vec![r"\ip\1.2.3.4", r"\list\5", r"\gamename\x"], vec!["(GS1002)"]),
        // With one part.
        (r"\status\secure\l8jfVy", vec![r"\gamename\ut\a\b\validate\SAaJHX96"], vec!["(GS1002)"]),
    ] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, query.as_bytes());
        for (at, part) in parts.iter().enumerate() {
            let last = if at + 1 == parts.len() { r"\final\" } else { "" };
            let part = format!(r"{part}{last}\queryid\1.{}", at + 1);
            lab.udp(0.1, S, C, part.as_bytes());
        }
        lab.end(9.0);
        assert_eq!(lab.names().len(), 2, "{query}");
        assert_eq!(lab.last().name, "query_response");
        assert_eq!(lab.codes(), codes, "{query}");
        let counts = lab.counts(&rules::GS1005);
        assert_eq!(counts.passed + counts.failed, u64::from(query.contains("secure")), "{query}");
        assert_eq!(lab.counts(&rules::GS1031).passed, 1, "{query}");
    }
}

/// Unreal servers number it, and do not close it.
#[test]
fn the_response_to_a_challenge_is_not_part_of_the_response_to_a_query() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\secure\l8jfVy").udp(0.0, C, S, br"\status\");
    lab.udp(0.1, S, C, br"\validate\SAaJHX96\queryid\1.1");
    lab.udp(0.1, S, C, br"\gamename\ut\hostname\x\queryid\2.1");
    lab.udp(0.1, S, C, br"\player_0\Ann\queryid\2.2\final\").end(9.0);
    assert_eq!(lab.names(), ["secure", "query", "validate", "query_response"]);
    assert_eq!(lab.codes(), ["GS1002"]);
    assert_eq!(lab.counts(&rules::GS1031).passed, 1);
}

#[test]
fn a_challenge_is_answered_as_a_query_is() {
    let run = |responses: &[&str]| {
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE);
        for response in responses {
            lab.udp(0.04, S, M, response.as_bytes());
        }
        lab.udp(60.0, S, M, BEAT).end(70.0);
        assert_eq!(lab.counts(&rules::GS1022).passed, 1, "{responses:?}");
        lab.codes()
    };
    let proof = r"\heartbeat\7778\gamename\ut\minnetver\432\validate\SAaJHX96\queryid\1.1\final\";
    assert_eq!(run(&[proof]), [""; 0]);
    assert_eq!(run(&[&proof.replace("SAaJHX96", "AAAAAAAA")]), ["GS1005"]);
    assert_eq!(run(&[&proof.replace("SAaJHX96", "AAAA")]), ["GS1004"]);
    assert_eq!(run(&[&proof.replace("7778", "7779")]), ["GS1023"]);
    let basic = r"\gamename\ut\minnetver\432\queryid\1.1";
    assert_eq!(run(&[basic, r"\validate\SAaJHX96\queryid\1.2\final\"]), ["(GS1022)"]);
    // The rest of it is lost.
    assert_eq!(run(&[basic, r"\validate\SAaJHX96\queryid\1.2"]), ["GS1031", "(GS1022)"]);
}

#[test]
fn without_a_challenge_no_key_of_a_response_is_a_validate() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\rules\");
    lab.udp(0.1, S, C, br"\validate\yes\secure\no\a\b\queryid\1.1\final\").end(9.0);
    assert_eq!(lab.codes(), [""; 0]);
}

#[test]
fn a_response_that_is_never_complete() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\");
    lab.udp(0.1, S, C, br"\hostname\Test\queryid\7.1");
    lab.udp(0.1, S, C, br"\player_1\Bob\queryid\7.3\final\");
    lab.udp(0.1, S, C, br"\player_1\Bob\queryid\7.3\final\");
    assert_eq!(lab.names(), ["query", "query_fragment"], "a copy of a part is no part");
    lab.udp(5.0, C, S, br"\echo\later").end(9.0);
    let reported: Vec<_> =
        lab.sink.heard[2..].iter().map(|heard| (heard.name, &*heard.fields)).collect();
    assert_eq!(
        reported,
        [
            ("query_fragment", "queryid=7 part=1 properties=[hostname:Test]"),
            ("query_fragment", "queryid=7 part=3 properties=[player_1:Bob]"),
            ("query", r#"query="echo" argument="later""#),
        ]
    );
    assert_eq!(lab.codes(), ["GS1031"]);
    assert_eq!(lab.details(), ["part 2 is missing"]);
}

#[test]
fn a_response_without_its_end() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\");
    lab.udp(0.1, S, C, br"\hostname\Test\queryid\7.1").end(9.0);
    assert_eq!(lab.details(), [r"\final\ is missing in the only part"]);
}

#[test]
fn a_response_with_neither_number_nor_end() {
    for response in
        [r"\hostname\x\mapname\y", r"\hostname\x\mapname\y\", r"\gamename\ut\hostname\x"]
    {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, response.as_bytes()).end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"]);
        assert_eq!(lab.codes(), ["GS1002", "GS1031"]);
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
    }
    // The recording may have cut both off.
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\");
    lab.datagram(0.1, S, C, br"\hostname\x\mapname\y", true).end(9.0);
    assert_eq!(lab.codes(), ["GS1002?", "GS1031?"]);
    // There is no request, or no recent one.
    let mut lab = Lab::new();
    lab.udp(0.0, S, C, br"\hostname\x").udp(1.0, C, S, br"\status\");
    lab.udp(5.0, S, C, br"\hostname\x").end(9.0);
    assert_eq!(lab.names(), ["text", "query", "text"]);
    assert_eq!(lab.codes(), ["GS1030"]);
}

#[test]
fn numbers_that_are_wrong() {
    for (text, detail) in [
        (&br"\hostname\Test\final\"[..], "there is no queryid"),
        (
            br"\hostname\Test\queryid\1\final\",
            "the queryid is not ANSWER.PART, or does not follow the previous one",
        ),
        (br"\hostname\Test\queryid\1.0\final\", "the parts are numbered from 0, not from 1"),
    ] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, text).end(9.0);
        assert_eq!(lab.names(), ["query", "query_response"]);
        assert_eq!(lab.codes(), ["GS1031"]);
        assert_eq!(lab.details(), [detail]);
    }
    let mut lab = Lab::new();
    lab.udp(0.1, S, C, br"\b\2\queryid\1.3").udp(0.1, S, C, br"\a\1\queryid\1.2\final\");
    lab.udp(0.1, S, C, br"\a\1\queryid\1.1").end(9.0);
    assert_eq!(lab.names(), ["query_response"]);
    assert_eq!(lab.details(), [r"\final\ is in part 2, and there is a part 3 as well"]);
}

#[test]
fn a_reused_number_is_another_response() {
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, br"\a\1\queryid\1.1");
    lab.udp(1.0, C, S, br"\status\").udp(1.1, S, C, br"\a\2\queryid\1.1");
    lab.udp(1.1, S, C, br"\b\2\queryid\1.2\final\").end(9.0);
    let names = ["query", "query", "query_fragment", "query_response"];
    assert_eq!(lab.names(), names);
    assert_eq!(lab.last().fields, "properties=[a:2 b:2]");
    assert_eq!(lab.counts(&rules::GS1030).passed, 2);
}

#[test]
fn a_query_without_a_response() {
    let response = br"\hostname\Test\queryid\1.1\final\";
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(0.1, S, C, response).udp(1.0, C, S, br"\rules\");
    lab.udp(5.0, C, S, br"\echo\x").end(5.1);
    assert_eq!(lab.codes(), ["GS1030"]);
    assert_eq!(lab.details(), [r"no answer came to \rules\"]);
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\info\").end(9.0);
    assert_eq!(lab.codes(), ["GS1030?"], "nothing of the server is in the capture");
}

#[test]
fn a_response_does_not_belong_to_an_overdue_query() {
    let response = br"\hostname\x\queryid\1.1\final\";
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\info\").udp(10.0, C, S, br"\status\").udp(10.1, S, C, response);
    assert_eq!(lab.end(20.0).details(), [r"no answer came to \info\"]);
    // A late one counts, too.
    let mut lab = Lab::new();
    lab.udp(0.0, C, S, br"\status\").udp(5.0, S, C, response).end(20.0);
    assert_eq!(lab.codes(), [""; 0]);
}

#[test]
fn a_response_may_be_recorded_shortly_before_its_request() {
    let response = br"\hostname\x\queryid\1.1\final\";
    let parts: [&[u8]; 2] = [br"\hostname\x\queryid\1.1", br"\a\b\queryid\1.2\final\"];
    for (moment, passed) in [(0.0002, 2), (1.0, 1)] {
        let mut lab = Lab::new();
        lab.udp(0.0, S, C, response).udp(moment, C, S, br"\status\");
        lab.udp(9.0, C, S, br"\status\").udp(9.1, S, C, response).end(20.0);
        assert_eq!(lab.counts(&rules::GS1030).passed, passed);
        assert_eq!(lab.counts(&rules::GS1030).failed, 2 - passed);
        let mut lab = Lab::new();
        lab.udp(0.0, S, C, parts[0]).udp(moment, C, S, br"\status\").udp(moment, S, C, parts[1]);
        lab.udp(9.0, C, S, br"\info\").udp(9.1, S, C, response).end(20.0);
        assert_eq!(lab.counts(&rules::GS1030).passed, passed);
        assert_eq!(lab.counts(&rules::GS1030).failed, 2 - passed);
        let mut lab = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.05, S, M, PROOF).udp(0.05 + moment, M, S, CHALLENGE);
        lab.udp(60.0, S, M, BEAT).end(70.0);
        assert_eq!(lab.codes().contains(&"GS1022".to_owned()), passed == 1);
    }
}

#[test]
fn requests_that_are_dropped_early_break_no_rule() {
    let mut lab = Lab::new();
    lab.complete = true;
    for length in 0..30 {
        lab.udp(0.0, C, S, format!(r"\status\{}", "x".repeat(length)).as_bytes());
    }
    for response in 1..=30 {
        lab.udp(0.1, S, C, format!(r"\hostname\x\queryid\{response}.1\final\").as_bytes());
    }
    lab.end(9.0);
    assert_eq!(lab.codes(), [""; 0]);
    assert_eq!(lab.counts(&rules::GS1030).passed, 16);
}

#[test]
fn truncation_by_the_recording_breaks_no_rule() {
    let mut lab = Lab::new();
    lab.datagram(0.0, S, M, br"\heartbeat\7778\gamena", true);
    lab.datagram(0.1, M, S, br"\basic\\secure\l8", true);
    lab.datagram(0.2, S, M, br"\heartbeat\7778\gamename\ut\validate\SAa", true);
    lab.end(9.0);
    let codes = lab.codes();
    assert!(!codes.is_empty() && codes.iter().all(|code| code.ends_with('?')), "{codes:?}");
}

#[test]
fn parts_are_bounded() {
    let mut lab = Lab::new();
    for part in 2..600 {
        let text = format!(r"\player_{part}\Ann\queryid\1.{part}");
        lab.udp(0.1, S, C, text.as_bytes());
    }
    for response in 2..20 {
        lab.udp(0.2, S, C, format!(r"\a\b\queryid\{response}.2").as_bytes());
    }
    lab.end(9.0);
    assert_eq!(lab.names().len(), 598 + 18, "every datagram is reported once");
}

#[test]
fn a_challenge_that_comes_twice_is_one() {
    let mut lab = registered();
    lab.udp(0.05, M, S, CHALLENGE).udp(60.0, S, M, BEAT).end(70.0);
    assert_eq!(lab.codes(), [""; 0]);
    let mut lab = registered();
    lab.udp(0.6, M, S, CHALLENGE).end(70.0);
    assert_eq!(lab.codes(), ["(GS1025)", "GS1022"], "it is another one");
}

#[test]
fn a_query_that_is_sent_again_is_one_question() {
    for again in [0.000_005, 1.0] {
        let mut lab = Lab::new();
        lab.udp(0.0, C, S, br"\status\").udp(again, C, S, br"\status\");
        lab.udp(again + 0.01, S, C, br"\hostname\x\queryid\1.1\final\").end(9.0);
        assert_eq!(lab.codes(), [""; 0]);
        assert_eq!(lab.counts(&rules::GS1030).passed, 1);
    }
}

#[test]
fn a_late_copy_of_a_part_is_not_another_response() {
    let mut lab = Lab::new();
    for (number, query) in [br"\status\".as_slice(), br"\rules\"].into_iter().enumerate() {
        let parts =
            [format!(r"\a\b\queryid\{number}.1"), format!(r"\c\d\queryid\{number}.2\final\")];
        let time = number as f64;
        lab.udp(time, C, S, query);
        for part in parts {
            lab.udp(time + 0.1, S, C, part.as_bytes());
        }
    }
    lab.udp(1.2, S, C, br"\c\d\queryid\0.2\final\").end(9.0);
    assert_eq!(lab.codes(), [""; 0]);
}
