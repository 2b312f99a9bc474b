//! Bytes of every kind: no panic, and the leaves cover each byte exactly once.

use super::*;

/// The document's messages, and some of the dialect's.
fn samples() -> Vec<Vec<u8>> {
    let mut samples = document::all();
    samples.extend([
        b"q\xFF\x19\x9eU!".to_vec(),
        b"\xff\xff\xff\xffs\nk]q\xe4\x19\x9eU!".to_vec(),
        b"\xff\xff\xff\xfff\n\x7fg\xc9x%\x08\nM\0\x02i\x87\0\0\0\0\0\0".to_vec(),
        b"\xff\xff\xff\xffc 127.0.0.1:33974".to_vec(),
        query("10.0.0.2:27015", r"\nor\2\map\a\nand\3\secure\1\full\1\nor\0\key\5ab7e1f0"),
    ]);
    samples
}

#[test]
fn every_cut_is_decoded() {
    for sample in samples() {
        for length in 0..=sample.len() {
            shown(&sample[..length]);
        }
    }
}

#[test]
fn every_flipped_byte_is_decoded() {
    for sample in samples() {
        for at in 0..sample.len() {
            for flip in [0x01, 0x20, 0x5C, 0x80, 0xFF] {
                let mut bytes = sample.clone();
                bytes[at] ^= flip;
                shown(&bytes);
            }
        }
    }
}

#[test]
fn groups_in_groups_without_end_are_decoded() {
    let filter = r"\nor\9\nand\1".repeat(5000);
    let (message, lines) = shown(&query("0.0.0.0:0", &filter));
    assert_eq!(message, "query");
    assert!(lines.len() > 30_000);
}

/// How messages begin.
const KINDS: &[&[u8]] = &[
    b"",
    b"1\xFF",
    b"1\x030.0.0.0:0\0",
    b"q",
    b"0\n\\",
    b"b",
    b"\xFF\xFF\xFF\xFFf\n",
    b"\xFF\xFF\xFF\xFFs\n",
    b"\xFF\xFF\xFF\xFFc ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_are_decoded(
        kind in prop::sample::select(KINDS),
        rest in prop::collection::vec(prop_oneof![Just(b'\\'), Just(0), Just(b'1'), any::<u8>()], 0..120),
    ) {
        shown(&[kind, &rest].concat());
    }

    #[test]
    fn conversations_of_every_order_are_judged(
        steps in prop::collection::vec((0..20_000_i64, 0..4_usize, any::<prop::sample::Index>()), 0..40),
    ) {
        let samples = samples();
        let ends = [(CLIENT, MASTER), (MASTER, CLIENT), (SERVER, MASTER), (MASTER, SERVER)];
        let mut now = 0;
        let steps: Vec<_> = steps.iter().map(|(pause, way, sample)| {
            now += pause;
            (now, ends[*way].0, ends[*way].1, &samples[sample.index(samples.len())][..])
        }).collect();
        converse(&steps, now + 10_000);
    }
}
