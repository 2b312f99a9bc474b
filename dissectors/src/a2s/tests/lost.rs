//! Lists whose end the recording has lost.

use crate::a2s::decode::{self, DecodeContext};
use crate::a2s::rules::*;
use crate::kit::{Evidence, Rule, RuleResults, Sink};

/// What is found in a response when only its first bytes were recorded.
fn checked(bytes: &[u8], length: usize) -> impl Fn(&'static Rule) -> [u64; 3] {
    let mut results = RuleResults::default();
    let lost = length < bytes.len();
    results.evidence(Evidence { lost, ..Evidence::default() });
    decode::message(
        &bytes[..length],
        DecodeContext { lost, ..DecodeContext::default() },
        &mut results,
    );
    move |rule| {
        let counts = results.counts(rule);
        [counts.passed, counts.failed, counts.inconclusive]
    }
}

#[test]
fn lost_players_count_once() {
    let header = b"\xFF\xFF\xFF\xFFD\x03".as_slice();
    let player = |index| [&[index], b"Ann\0\x03\0\0\0\0\0\x76\x42".as_slice()].concat();
    let bytes = [header, &player(0), &player(1), &player(2)].concat();
    for length in 5..bytes.len() {
        let counts = checked(&bytes, length);
        let whole = (length.saturating_sub(header.len()) / player(0).len()) as u64;
        assert_eq!(counts(&A2S032), [whole, 0, 1], "{length}");
        let indices = u64::from(length >= header.len());
        assert_eq!(counts(&A2S031), [0, 0, indices], "{length}");
    }
    let counts = checked(&bytes, bytes.len());
    assert_eq!((counts(&A2S032), counts(&A2S031)), ([3, 0, 0], [1, 0, 0]));
}

#[test]
fn lost_rules_count_once() {
    let (header, rule) = (b"\xFF\xFF\xFF\xFFE\x03\0".as_slice(), b"rule0\0v\0".as_slice());
    let (second, third) = (b"rule1\0v\0".as_slice(), b"rule2\0v\0".as_slice());
    let bytes = [header, rule, second, third].concat();
    for length in 5..bytes.len() {
        let counts = checked(&bytes, length);
        let whole = (length.saturating_sub(header.len()) / rule.len()) as u64;
        assert_eq!(counts(&A2S005), [whole, 0, 1], "{length}");
        let names = u64::from(length >= header.len());
        assert_eq!(counts(&A2S034), [0, 0, names], "{length}");
    }
    let counts = checked(&bytes, bytes.len());
    assert_eq!((counts(&A2S005), counts(&A2S034)), ([3, 0, 0], [1, 0, 0]));
}

/// What the recording lost of a list excuses no entry that is there.
#[test]
fn whole_entries_are_judged() {
    let player = |index, time: f32| {
        let time = time.to_le_bytes();
        [&[index], b"Ann\0\x03\0\0\0".as_slice(), &time].concat()
    };
    let header = b"\xFF\xFF\xFF\xFFD\x03".as_slice();
    let bytes = [header, &player(5, -9.0), &player(1, 9.0), &player(2, 9.0)].concat();
    let counts = checked(&bytes, header.len() + 2 * player(0, 0.0).len() + 3);
    assert_eq!((counts(&A2S032), counts(&A2S031)), ([1, 1, 1], [0, 1, 0]));
    let rules = b"\xFF\xFF\xFF\xFFE\x03\0motd\0a\0motd\0b\0other\0c\0".as_slice();
    let counts = checked(rules, rules.len() - 3);
    assert_eq!(counts(&A2S034), [0, 1, 0]);
    let rules = b"\xFF\xFF\xFF\xFFE\x05\0a\0\0b\0\0a\0\0a\0\0b\0\0".as_slice();
    assert_eq!(checked(rules, rules.len())(&A2S034), [0, 2, 0], "each name that occurs again");
}

/// Of a list in several packets, the recording may have lost entries between others.
#[test]
fn a_split_list_with_a_hole_may_have_other_rules_than_are_there() {
    let bytes = b"\xFF\xFF\xFF\xFFE\x02\0rule0\0v\0rule1\0v\0".as_slice();
    let mut results = RuleResults::default();
    results.evidence(Evidence { lost: true, ..Evidence::default() });
    let known = DecodeContext { lost: true, split: true, ..DecodeContext::default() };
    decode::message(bytes, known, &mut results);
    for (rule, passed) in [(&A2S004, 4), (&A2S005, 2), (&A2S033, 0), (&A2S034, 0)] {
        let counts = results.counts(rule);
        assert_eq!([counts.passed, counts.failed, counts.inconclusive], [passed, 0, 1], "{rule:?}");
    }
}

/// What follows the first packet that was cut need not begin where an entry does.
#[test]
fn what_follows_a_gap_proves_nothing() {
    let judged = |bytes: &[u8], gap: usize| {
        let mut results = RuleResults::default();
        results.evidence(Evidence { lost: true, ..Evidence::default() });
        let known =
            DecodeContext { lost: true, split: true, gap: Some(gap), ..DecodeContext::default() };
        decode::message(bytes, known, &mut results);
        move |rule| {
            let counts = results.counts(rule);
            [counts.passed, counts.failed, counts.inconclusive]
        }
    };
    let rules = b"\xFF\xFF\xFF\xFFE\x09\0a\0b\0c\0vvvv\0d\0vvvv\0e\0".as_slice();
    assert_eq!(judged(rules, 13)(&A2S034), [0, 0, 1]);
    let rules = b"\xFF\xFF\xFF\xFFE\x09\0a\0b\0a\0c\0dd\0e\0".as_slice();
    assert_eq!(judged(rules, 14)(&A2S034), [0, 1, 0], "both came before the gap");
    assert_eq!(judged(rules, 10)(&A2S034), [0, 0, 1]);
    let player =
        |index, time: f32| [&[index], b"Ann\0\x03\0\0\0".as_slice(), &time.to_le_bytes()].concat();
    let header = b"\xFF\xFF\xFF\xFFD\x05".as_slice();
    let players = [header, &player(0, -9.0), &player(7, -9.0), &player(2, -9.0)].concat();
    let gap = header.len() + player(0, 0.0).len();
    assert_eq!(judged(&players, gap)(&A2S032), [0, 1, 1]);
    assert_eq!(judged(&players, gap)(&A2S031), [0, 0, 1]);
    assert_eq!(judged(&players, players.len())(&A2S032), [0, 3, 1]);
}
