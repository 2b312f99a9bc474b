//! Lists whose end the recording has lost.

use crate::gamespy1::rules;

use super::lab::{C, L, Lab, LabSegment, TestRecorder};

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
