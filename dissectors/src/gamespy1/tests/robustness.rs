//! Arbitrary bytes between clients, servers and masters.

use proptest::prelude::*;

use crate::gamespy1::GameSpy1;
use crate::kit::robustness::{self, TestPacket, TestRoute};

use super::lab::{C, L, M, S};

const ROUTES: [TestRoute; 6] = [
    TestRoute::udp(S, M),
    TestRoute::udp(M, S),
    TestRoute::udp(C, S),
    TestRoute::udp(S, C),
    TestRoute::tcp(C, L, C),
    TestRoute::tcp(L, C, C),
];

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

fn run(packets: &[TestPacket]) {
    robustness::run::<GameSpy1>(&ROUTES, packets);
}

fn everywhere(bytes: &[u8]) {
    for route in 0..4 {
        run(&[(0, route, false, bytes.to_vec())]);
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
    robustness::cut(&samples(), everywhere);
}

#[test]
fn every_message_with_every_byte_changed() {
    robustness::flip(&samples(), &[0x01, 0x5C, 0xFF], usize::MAX, everywhere);
}

/// Pieces of responses and other messages.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let part = (0..3_u8, 0..5_u8, any::<bool>()).prop_map(|(response, part, closed)| {
        let closing = if closed { r"\final\" } else { "" };
        format!(r"\key_{part}\value\queryid\{response}.{part}{closing}").into_bytes()
    });
    let pieces = r"(\\|final|queryid|1\.1|list|ip|gamename|ut|secure|basic|validate|cmp){0,16}";
    prop_oneof![part, pieces.prop_map(String::into_bytes)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in robustness::packets(samples(), likely())) {
        run(&packets);
    }

    #[test]
    fn any_segments(cuts in prop::collection::vec(1..40_usize, 1..12), client in any::<bool>()) {
        run(&robustness::segments(&samples().concat(), &cuts, if client { 4 } else { 5 }));
    }
}
