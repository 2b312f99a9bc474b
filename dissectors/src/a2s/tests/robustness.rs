//! Arbitrary bytes between a client and a server.

use proptest::prelude::*;

use crate::a2s::A2s;
use crate::kit::robustness::{self, TestPacket, TestRoute};

use super::lab::{C, Lab, S, bytes};
use super::messages::{COUNTER_STRIKE, THE_SHIP};

const ROUTES: [TestRoute; 2] = [TestRoute::udp(C, S), TestRoute::udp(S, C)];
const CLIENT: u8 = 0;
const SERVER: u8 = 1;

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

fn run(packets: &[TestPacket]) {
    robustness::run::<A2s>(&ROUTES, packets);
}

/// From a server that was asked, and from its client.
fn everywhere(bytes: &[u8]) {
    let request = (0, CLIENT, false, super::lab::bytes("FFFFFFFF 56 FFFFFFFF"));
    run(&[request, (1, SERVER, false, bytes.to_vec()), (1, CLIENT, false, bytes.to_vec())]);
}

#[test]
fn every_message_cut_at_every_length() {
    robustness::cut(&samples(), everywhere);
}

#[test]
fn every_message_with_every_byte_changed() {
    robustness::flip(&samples(), &[0x01, 0x80, 0xFF], 120, everywhere);
}

/// Bytes with the beginning of a packet.
fn likely() -> impl Strategy<Value = Vec<u8>> {
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
    prop_oneof![headed, split]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in robustness::packets(samples(), likely())) {
        run(&packets);
    }

    #[test]
    fn claims_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut lab = Lab::new();
        lab.packet(0.0, C, S, &bytes, false).packet(0.1, S, C, &bytes, true).end(9.0);
    }
}
