//! Any bytes whatever: no panic, every byte in one leaf, and every sink sees the same conversation.

use proptest::prelude::*;

use crate::kit::{Blind, Judge, Tree};

use super::lab::{C, Lab, S, bytes};
use super::messages::{COUNTER_STRIKE, THE_SHIP};

/// One packet: milliseconds since the last, whether the client speaks, the bytes.
type Packet = (u16, bool, Vec<u8>);

fn whole(text: &str) -> Vec<u8> {
    bytes(&text.replace(' ', ""))
}

/// A message of every kind.
fn samples() -> Vec<Vec<u8>> {
    let split = "FEFFFFFF 01000080 01 00 E004 le32:18 217F1CC2 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D";
    let texts = [
        "FFFFFFFF 54 'Source Engine Query' 00 4BA1D522",
        "FFFFFFFF 57",
        "FFFFFFFF 69",
        "FFFFFFFF 55 FFFFFFFF",
        "FFFFFFFF 56 4BA1D522",
        "FFFFFFFF 41 4BA1D522",
        "FFFFFFFF 6A '00000000000000' 00",
        "FFFFFFFF 6C 'Banned by server' 00",
        "FFFFFFFF 6D 'a' 00 'n' 00 'm' 00 'f' 00 'g' 00 05 10 2F 'dl' 00 01 'l' 00 'd' 00 00 le32:1 le32:2 00 01 01 00",
        "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 05 10 00 'dl' 00 01 '1' 00 F1 le16:27015 le64:9 le16:27020 'tv' 00 'a' 00 le64:730",
        "FFFFFFFF 44 02 00 'Ann' 00 03000000 f32:61.5 01 'Bob' 00 00000000 f32:9 le32:1 le32:2 le32:3 le32:4",
        "FFFFFFFF 45 0200 'motd' 00 'hello' 00 'sv_cheats' 00 '0' 00",
        "FFFFFFFF 45 le16:9 'motd' 00 'x'*1200 00 'name' 00 'x'*35 00",
        "FEFFFFFF 01000000 02 FFFFFFFF 45 0100 'motd' 00 'he'",
        "FEFFFFFF 01000000 12 'llo' 00",
        "FEFFFFFF 02000000 02 00 FFFFFFFF 45 0100 'motd' 00 'he'",
        "FEFFFFFF 02000000 02 01 'llo' 00",
        split,
    ];
    let mut all: Vec<_> = texts.iter().map(|text| bytes(text)).collect();
    all.extend([whole(COUNTER_STRIKE), whole(THE_SHIP)]);
    all
}

/// The counts of every rule, and what each sink left in the conversation: shown by what follows.
fn run(packets: &[Packet]) {
    let play = |lab: &mut dyn FnMut(f64, bool, &[u8])| {
        let mut now = 0.0;
        for (pause, client, bytes) in packets {
            now += f64::from(*pause) / 1000.0;
            lab(now, *client, bytes);
        }
        now
    };
    macro_rules! play {
        ($sink:expr) => {{
            let mut lab = Lab::with($sink);
            let end = play(&mut |now, client, bytes| {
                if client {
                    lab.c(now, bytes)
                } else {
                    lab.s(now, bytes)
                };
            });
            lab.end(end + 9.0);
            lab
        }};
    }
    let ear = play!(super::lab::Ear::default());
    let judge = play!(Judge::default());
    play!(Tree::default());
    play!(Blind);
    for rule in crate::a2s::rules::ALL {
        assert_eq!(ear.counts(rule), judge.sink.counts(rule), "{rule:?}");
    }
}

#[test]
fn every_message_cut_at_every_length() {
    for sample in samples() {
        for length in 0..sample.len() {
            let cut = sample[..length].to_vec();
            run(&[
                (0, true, bytes("FFFFFFFF 56 FFFFFFFF")),
                (1, false, cut.clone()),
                (1, true, cut),
            ]);
        }
    }
}

#[test]
fn every_message_with_every_byte_changed() {
    for sample in samples() {
        for at in 0..sample.len().min(120) {
            for flip in [0x01, 0x80, 0xFF] {
                let mut changed = sample.clone();
                changed[at] ^= flip;
                run(&[
                    (0, true, bytes("FFFFFFFF 56 FFFFFFFF")),
                    (1, false, changed.clone()),
                    (1, true, changed),
                ]);
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
    let headed =
        (any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)).prop_map(|(split, rest)| {
            let mut packet = vec![if split { 0xFE } else { 0xFF }, 0xFF, 0xFF, 0xFF];
            packet.extend(rest);
            packet
        });
    let split = (0..3_u8, 0..4_u8, 0..4_u8, prop::collection::vec(any::<u8>(), 0..20)).prop_map(
        |(id, a, b, rest)| {
            let mut packet = vec![0xFE, 0xFF, 0xFF, 0xFF, id, 0, 0, (id & 1) << 7, a, b];
            packet.extend(rest);
            packet
        },
    );
    let noise = prop::collection::vec(any::<u8>(), 0..80);
    let bytes = prop_oneof![sample, changed, headed, split, noise];
    let pause = prop_oneof![Just(1), Just(500), Just(4000)];
    (pause, any::<bool>(), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in prop::collection::vec(packet(), 1..24)) {
        run(&packets);
    }

    #[test]
    fn claims_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut lab = Lab::new();
        lab.packet(0.0, C, S, &bytes, false).packet(0.1, S, C, &bytes, true).end(9.0);
    }
}
