//! What servers and masters owe, where something else comes in its place.

use crate::gamespy1::rules;

use super::lab::{C, L, Lab, LabSegment, M, S, TestRecorder};

const BEAT: &[u8] = br"\heartbeat\7778\gamename\ut\";
const CHALLENGE: &[u8] = br"\basic\\secure\l8jfVy";
const PROOF: &[u8] = br"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\";

#[test]
fn a_challenge_after_a_later_heartbeat_does_not_answer_the_first_one() {
    let challenged_after = |beats: &[f64]| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        let mut last = 0.0;
        for &second in beats {
            lab.udp(second, S, M, BEAT);
            last = second;
        }
        lab.udp(last + 0.02, M, S, CHALLENGE).end(last + 0.1);
        let counts = lab.counts(&rules::GS1021);
        [counts.passed, counts.failed, counts.inconclusive]
    };
    assert_eq!(challenged_after(&[0.0, 60.0, 120.0]), [0, 0, 1]);
    assert_eq!(challenged_after(&[0.0]), [1, 0, 0]);
    assert_eq!(challenged_after(&[0.0, 2.0, 4.0]), [1, 0, 0], "it is repeated while it waits");
}

#[test]
fn a_part_that_comes_twice_is_of_one_response_if_one_was_asked_for() {
    let parts = |queries: &[f64]| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        for &second in queries {
            lab.udp(second, C, S, br"\status\");
        }
        lab.udp(1.0, S, C, br"\hostname\Test\queryid\5.1");
        lab.udp(1.1, S, C, br"\hostname\Other\queryid\5.1");
        lab.udp(1.2, S, C, br"\player_0\Ann\queryid\5.2\final\").end(9.0);
        lab.counts(&rules::GS1031).failed
    };
    assert_eq!(parts(&[0.9]), 1);
    assert_eq!(parts(&[0.8, 0.9]), 0, "the other one may be the response to the repeat");
}

/// Both directions of a connection are independent: what one side sends may come between two segments of the other.
#[test]
fn a_text_goes_on_after_a_message_of_the_other_side() {
    let challenge: &[u8] = br"\basic\\secure\XDWAOR";
    let proof: &[u8] = br"\gamename\ut\location\0\validate\3JOdDFU5\final\";
    let told = |segments: &[(&str, &[u8])]| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        let mut time = 0.0;
        for &(from, bytes) in segments {
            let way = if from == C { (C, L) } else { (L, C) };
            time += 0.01;
            lab.tcp(time, way, C, bytes, LabSegment::default());
        }
        lab.tcp(0.1, (C, L), C, br"\list\\gamename\ut\final\", LabSegment::default());
        lab.tcp(0.2, (L, C), C, br"\ip\1.2.3.4:7778\final\", LabSegment { fin: true });
        lab.end(9.0);
        lab.codes()
    };
    let (head, tail) = proof.split_at(9);
    assert_eq!(told(&[(C, head), (L, challenge), (C, tail)]), ["GS1019"]);
    let (head, tail) = challenge.split_at(12);
    assert_eq!(told(&[(L, head), (C, proof), (L, tail)]), ["GS1019"]);
}

/// A master that gives no list may say why in words, at once or in several segments.
#[test]
fn words_in_place_of_a_list_are_a_message() {
    let told = |list: &[u8], words: &[&[u8]]| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        let mut say = |time: f64, way: (&str, &str), bytes: &[u8], fin: bool| {
            lab.tcp(time, (way.0, way.1), C, bytes, LabSegment { fin });
        };
        say(0.01, (L, C), br"\basic\\secure\XDWAOR", false);
        say(0.02, (C, L), br"\gamename\ut\location\0\validate\3JOdDFU5\final\", false);
        say(0.03, (C, L), list, false);
        for (at, part) in words.iter().enumerate() {
            say(0.1 + at as f64 / 100.0, (L, C), part, at + 1 == words.len());
        }
        lab.end(9.0);
        (lab.names().split_off(3), lab.codes())
    };
    for list in [&br"\list\\gamename\ut\final\"[..], br"\list\cmp\gamename\ut\final\"] {
        for words in [&[&b"You are banned."[..]][..], &[b"You failed", b" to authenticate.\r\n"]] {
            let (names, codes) = told(list, words);
            assert_eq!(names, ["text"], "{words:?}");
            assert!(codes.is_empty(), "{codes:?}");
        }
    }
    let (names, codes) = told(br"\list\\gamename\ut\final\", &[b"\x01\x02\x03\x04"]);
    assert!(names.is_empty() && codes == ["GS1016"], "{names:?} {codes:?}");
}

/// Two that name the same port behind one address: the intervals, and the proof, are of each.
#[test]
fn two_servers_may_name_the_same_port() {
    const OTHER: &str = "10.0.0.2:40000";
    let registered = || {
        let mut lab: Lab<TestRecorder> = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).udp(0.04, S, M, PROOF);
        lab
    };
    let mut lab = registered();
    lab.udp(20.0, OTHER, M, BEAT).udp(20.02, M, OTHER, CHALLENGE).udp(20.04, OTHER, M, PROOF);
    for minute in 1..5 {
        let at = f64::from(minute) * 60.0;
        lab.udp(at, S, M, BEAT).udp(at + 20.0, OTHER, M, BEAT);
    }
    lab.end(400.0);
    assert_eq!(lab.codes(), Vec::<String>::new());
    assert!(lab.counts(&rules::GS1025).passed > 0);
    let mut lab = registered();
    lab.udp(20.0, S, M, BEAT).udp(20.02, M, S, CHALLENGE).udp(20.04, S, M, PROOF).end(60.0);
    assert_eq!(lab.codes(), ["GS1024", "(GS1025)"], "it is one server");
}
