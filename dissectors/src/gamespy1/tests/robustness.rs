//! Any bytes whatever: no panic, every byte in one leaf, and every sink sees the same conversation.

use proptest::prelude::*;

use crate::gamespy1::rules;
use crate::kit::{Blind, Judge, Sink, Tree};

use super::lab::{C, Ear, L, Lab, M, S, Segment};

/// One packet: milliseconds since the last, who speaks to whom, whether it closes, the bytes.
type Packet = (u16, u8, bool, Vec<u8>);

/// A message of every kind.
fn samples() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 22] = [
        br"\heartbeat\7778\gamename\ut\",
        br"\heartbeat\7778\gamename\ut\statechanged\1",
        br"\basic\\secure\XDWAOR",
        br"\basic\secure\l8jfVy",
        br"\secure\XDWAOR\final\",
        br"\heartbeat\7778\gamename\ut\validate\SAaJHX96\final\",
        br"\validate\SAaJHX96\final\\queryid\2.1",
        br"\gamename\ut\gamever\2\location\0\validate\3JOdDFU5\enctype\2\final\\queryid\1.1\",
        br"\gamename\ut\location\0\validate\3JOdDFU5\final\\list\\gamename\ut\final\",
        br"\list\gamename\ut",
        br"\list\cmp\gamename\ut\where\\final\",
        br"\list\groups\gamename\ut\final\",
        br"\ip\255.255.255.255:7778\ip\10.0.0.2:7778\final\",
        b"\x0aM\0\x02\x1eb\\final\\final\\",
        br"\status\",
        br"\info\\rules\players\\secure\ABCDEF",
        br"\echo\hello",
        br"\hostname\Test\queryid\1.1",
        br"\player_0\Ann\final\\queryid\1.2",
        br"\a\b\queryid\2.1\c\d\queryid\2.2\final\",
        br"\gamename\ut\hostname\x\final\",
        br"\x\y\z",
    ];
    texts.iter().map(|text| text.to_vec()).collect()
}

fn play<K: Sink>(packets: &[Packet], sink: K) -> Lab<K> {
    let mut lab = Lab::with(sink);
    let mut now = 0.0;
    for (pause, way, fin, bytes) in packets {
        now += f64::from(*pause) / 1000.0;
        match way % 6 {
            0 => lab.udp(now, S, M, bytes),
            1 => lab.udp(now, M, S, bytes),
            2 => lab.udp(now, C, S, bytes),
            3 => lab.udp(now, S, C, bytes),
            4 => lab.tcp(now, (C, L), C, bytes, Segment { fin: *fin }),
            _ => lab.tcp(now, (L, C), C, bytes, Segment { fin: *fin }),
        };
    }
    lab.end(now + 9.0);
    lab
}

/// The counts of every rule, and what each sink left in the conversation: shown by what follows.
fn run(packets: &[Packet]) {
    let ear = play(packets, Ear::default());
    let judge = play(packets, Judge::default());
    play(packets, Tree::default());
    play(packets, Blind);
    for rule in rules::ALL {
        assert_eq!(ear.counts(rule), judge.sink.counts(rule), "{rule:?}");
    }
}

fn everywhere(bytes: &[u8]) {
    for way in 0..4 {
        run(&[(0, way, false, bytes.to_vec())]);
    }
    let list = |form: &str| format!(r"\list\{form}\gamename\ut\final\").into_bytes();
    for form in ["", "cmp"] {
        run(&[
            (0, 4, false, list(form)),
            (1, 5, true, bytes.to_vec()),
            (1, 4, true, bytes.to_vec()),
        ]);
    }
}

#[test]
fn every_message_cut_at_every_length() {
    for sample in samples() {
        for length in 0..sample.len() {
            everywhere(&sample[..length]);
        }
    }
}

#[test]
fn every_message_with_every_byte_changed() {
    for sample in samples() {
        for at in 0..sample.len() {
            for flip in [0x01, 0x5C, 0xFF] {
                let mut changed = sample.clone();
                changed[at] ^= flip;
                everywhere(&changed);
            }
        }
    }
}

fn packet() -> impl Strategy<Value = Packet> {
    let sample = proptest::sample::select(samples());
    let changed = (sample.clone(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>())
        .prop_map(|(mut sample, at, value, cut)| {
            let at = at.index(sample.len());
            sample[at] = value;
            if cut {
                sample.truncate(at);
            }
            sample
        });
    let part = (0..3_u8, 0..5_u8, any::<bool>()).prop_map(|(answer, part, closed)| {
        let closing = if closed { r"\final\" } else { "" };
        format!(r"\key_{part}\value\queryid\{answer}.{part}{closing}").into_bytes()
    });
    let pieces = r"(\\|final|queryid|1\.1|list|ip|gamename|ut|secure|basic|validate|cmp){0,16}";
    let text = pieces.prop_map(String::into_bytes);
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    let bytes = prop_oneof![sample, changed, part, text, noise];
    let pause = prop_oneof![Just(1_u16), Just(500), Just(4000)];
    (pause, any::<u8>(), prop::bool::weighted(0.1), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in prop::collection::vec(packet(), 1..24)) {
        run(&packets);
    }

    #[test]
    fn any_segments(cuts in prop::collection::vec(1..40_usize, 1..12), client in any::<bool>()) {
        let text: Vec<u8> = samples().concat();
        let (mut packets, mut rest) = (Vec::new(), &text[..]);
        for cut in cuts.iter().cycle() {
            let (segment, left) = rest.split_at((*cut).min(rest.len()));
            packets.push((1, if client { 4 } else { 5 }, left.is_empty(), segment.to_vec()));
            if left.is_empty() {
                break;
            }
            rest = left;
        }
        run(&packets);
    }
}
