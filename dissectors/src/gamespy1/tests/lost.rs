//! Lists whose end the recording has lost.

use crate::gamespy1::rules;

use super::lab::{C, L, Lab, LabSegment, M, S, TestRecorder};

const TEXT: &[u8] = br"\ip\10.0.0.2:7778\ip\10.0.0.3:7778\ip\10.0.0.4:7778";
const BLOCKS: &[u8] = b"\x0a\0\0\x02\x1e\x62\x0a\0\0\x03\x1e\x62\x0a\0\0\x04\x1e\x62";

/// The result of GS1015 for a list of this kind when only its first bytes were recorded.
fn cut(kind: &str, list: &[u8]) -> [u64; 3] {
    let mut lab: Lab<TestRecorder> = Lab::new();
    let validate = r"\gamename\ut\location\0\validate\3JOdDFU5\final\";
    let request = format!(r"\list\{kind}\gamename\ut\final\");
    lab.tcp(0.0, (L, C), C, br"\basic\\secure\XDWAOR", LabSegment::default());
    lab.tcp(0.1, (C, L), C, validate.as_bytes(), LabSegment::default());
    lab.tcp(0.1, (C, L), C, request.as_bytes(), LabSegment::default());
    lab.lost_after(0.2, (L, C), C, list);
    lab.end(9.0);
    let counts = lab.counts(&rules::GS1015);
    [counts.passed, counts.failed, counts.inconclusive]
}

#[test]
fn lost_servers_count_once() {
    let server = TEXT.len() / 3;
    for length in 5..=TEXT.len() {
        // It is unknown whether the last one is complete.
        let whole = ((length - 1) / server) as u64;
        assert_eq!(cut("", &TEXT[..length]), [whole, 0, 1], "{length}");
    }
    for length in 6..=BLOCKS.len() {
        assert_eq!(cut("cmp", &BLOCKS[..length]), [(length / 6) as u64, 0, 1], "{length}");
    }
}

#[test]
fn a_keyword_that_the_recording_cut_is_no_fault() {
    for cut in [r"\basic\\secure\XDWAOR\fina", r"\basic\\secure\XDWAOR\f"] {
        let mut lab: Lab<TestRecorder> = Lab::new();
        lab.lost_after(0.0, (L, C), C, cut.as_bytes());
        let validate = br"\gamename\ut\location\0\validate\3JOdDFU5\final\";
        lab.tcp(0.1, (C, L), C, validate, LabSegment::default());
        lab.end(9.0);
        let pairs = lab.counts(&rules::GS1001);
        assert_eq!((pairs.failed, pairs.inconclusive), (0, 1), "{cut}");
    }
}

#[test]
fn messages_of_a_side_that_was_recorded_alone_are_separate() {
    let mut lab: Lab<TestRecorder> = Lab::new();
    lab.tcp(0.0, (L, C), L, br"\basic\\secure\XDWAOR\final\", LabSegment::default());
    lab.tcp(0.2, (L, C), L, br"\ip\10.0.0.2:7778\final\", LabSegment::default());
    lab.end(9.0);
    assert_eq!(lab.counts(&rules::GS1002).failed, 0);
    assert_eq!(lab.counts(&rules::GS1015).passed, 1);
}

const BEAT: &[u8] = br"\heartbeat\7778\gamename\ut\";
const PROOF: &[u8] = br"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\";
const CHALLENGE: &[u8] = br"\basic\\secure\l8jfVy";

/// A master that is content with a server challenges it no more: the response to its challenge is only missing.
#[test]
fn a_validate_that_was_not_recorded_is_no_fault() {
    let codes = |beats: u32, is_challenged_again: bool| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE);
        for minute in 1..=beats {
            lab.udp(f64::from(minute) * 60.0, S, M, BEAT);
        }
        if is_challenged_again {
            lab.udp(f64::from(beats) * 60.0 + 0.02, M, S, br"\basic\\secure\XDWAOR");
        }
        lab.end(900.0);
        lab.codes()
    };
    assert_eq!(codes(9, false), ["GS1022?"]);
    assert_eq!(codes(2, false), ["GS1022"], "it may challenge the server again later");
    assert_eq!(codes(9, true), ["GS1022", "GS1022"]);
}

/// A master challenges each heartbeat, and one of its challenges is missing.
#[test]
fn a_validate_to_a_challenge_that_was_not_recorded_is_no_fault() {
    let codes = |has_beat: bool| {
        let mut lab: Lab<TestRecorder> = Lab::new();
        lab.udp(0.0, S, M, BEAT).udp(0.02, M, S, CHALLENGE).udp(0.04, S, M, PROOF);
        if has_beat {
            lab.udp(60.0, S, M, BEAT);
        }
        let other = br"\heartbeat\7778\gamename\ut\validate\3JOdDFU5\final\";
        lab.udp(60.04, S, M, other).end(90.0);
        lab.codes()
    };
    assert_eq!(codes(true), ["GS1005?"]);
    assert_eq!(codes(false), ["GS1005"], "nothing draws another challenge");
}
