//! Arbitrary bytes between clients, servers and a master.

use super::*;
use crate::kit::robustness::{self, TestPacket, TestRoute};

const ROUTES: [TestRoute; 4] = [
    TestRoute::udp(CLIENT, MASTER),
    TestRoute::udp(MASTER, CLIENT),
    TestRoute::udp(SERVER, MASTER),
    TestRoute::udp(MASTER, SERVER),
];

fn run(packets: &[TestPacket]) {
    robustness::run::<ValveMaster>(&ROUTES, packets);
}

fn everywhere(bytes: &[u8]) {
    run(&[(0, 0, false, bytes.to_vec()), (1, 1, false, bytes.to_vec())]);
}

/// The specification's messages, and some of the dialect's.
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
fn every_message_cut_at_every_length() {
    robustness::cut(&samples(), everywhere);
}

#[test]
fn every_message_with_every_byte_changed() {
    robustness::flip(&samples(), &[0x01, 0x20, 0x5C, 0x80, 0xFF], usize::MAX, everywhere);
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

/// Bytes with the beginning of a message.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'\\'), Just(0), Just(b'1'), any::<u8>()];
    let rest = prop::collection::vec(byte, 0..120);
    (prop::sample::select(KINDS), rest).prop_map(|(kind, rest)| [kind, &rest].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in robustness::packets(samples(), likely())) {
        run(&packets);
    }
}
