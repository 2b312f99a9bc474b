//! Arbitrary bytes between a client and a server.

use proptest::prelude::*;

use crate::kit::{Hint, Protocol};

use super::{CLIENT, GameSpy4, SERVER, Stage, packet};
use crate::kit::robustness::{self, TestPacket, TestRoute};

const ROUTES: [TestRoute; 2] = [TestRoute::udp(CLIENT, SERVER), TestRoute::udp(SERVER, CLIENT)];

const REQUESTS: [&[u8]; 6] = [
    b"\xFE\xFD\x09\x10\x20\x30\x40",
    b"\xFE\xFD\x09\x10\x20\x30\x40\0\0\0\0",
    b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01",
    b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07",
    b"\xFE\xFD\x00\x10\x20\x30\x41\xFF\xFF\xFF",
    b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x02",
];

fn responses() -> Vec<Vec<u8>> {
    vec![
        b"\x09\x10\x20\x30\x40-9513307\0\0\0\0".to_vec(),
        packet(
            0x80,
            0,
            b"hostname\0a\0p1073741828\0A\x1cB\0p268435717\x0017\0\0\x01player_\0\0Ann\0\0\0\0\
              score_\0\x003\0\0\0\0\0\x02team_t\0\0Red\0\0\0",
        ),
        packet(0x80, 0, b"hostname\0a\0\0\0\x01Ann\0STEAM_0:0:1\0\0\x2A"),
        b"\0\x10\x20\x30\x41Motd\0SMP\0world\x002\x0020\0\xDD\x63127.0.0.1\0".to_vec(),
        b"\0\x10\x20\x30\x41hostname\0a\0\0\0\x01player_\0\0Ann\0\0\0\0".to_vec(),
    ]
}

fn samples() -> Vec<Vec<u8>> {
    REQUESTS.iter().map(|request| request.to_vec()).chain(responses()).collect()
}

fn run(packets: &[TestPacket]) {
    robustness::run::<GameSpy4>(&ROUTES, packets);
}

/// The first three packets of [`Stage::asks`].
fn asked() -> Vec<TestPacket> {
    let challenge = b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0";
    vec![
        (0, 0, false, REQUESTS[0].to_vec()),
        (20, 1, false, challenge.to_vec()),
        (10, 0, false, REQUESTS[2].to_vec()),
    ]
}

/// As a response to each request, twice, and as a request.
fn everywhere(bytes: &[u8]) {
    for request in REQUESTS {
        let response = (10, 1, false, bytes.to_vec());
        run(&[(0, 0, false, request.to_vec()), response.clone(), response]);
    }
    run(&[asked(), vec![(10, 0, false, bytes.to_vec())]].concat());
    for hint in [Hint::default(), Hint { known: true, ..Hint::default() }] {
        GameSpy4::claim(bytes, hint);
    }
}

#[test]
fn every_message_cut_at_every_length() {
    robustness::cut(&samples(), everywhere);
}

#[test]
fn every_message_with_every_byte_changed() {
    robustness::flip(&samples(), &[0x01, 0x80, 0xFF], usize::MAX, everywhere);
}

/// Mostly bytes that occur in the protocol.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"\0".to_vec()),
        2 => Just(b"\x01player_\0".to_vec()),
        1 => Just(b"\x02team_t\0".to_vec()),
        1 => Just(b"score_\0".to_vec()),
        1 => Just(b"hostport\0".to_vec()),
        1 => Just(b"p1073741828\0\x1c".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_conversation(packets in robustness::packets(samples(), likely())) {
        run(&packets);
    }

    #[test]
    fn random_responses(content in likely(), number: u8, section in 0u8..4) {
        everywhere(&packet(number, section, &content));
        everywhere(&[b"\0\x10\x20\x30\x41", content.as_slice()].concat());
    }

    #[test]
    fn random_packets(packets in prop::collection::vec((0u8..6, 0u8..3, likely()), 1..9)) {
        let last = packets.len() - 1;
        let packets = packets.iter().enumerate().map(|(at, (number, section, content))| {
            let number = number | if at == last { 0x80 } else { 0 };
            (20, 1, false, packet(number, *section, content))
        });
        run(&asked().into_iter().chain(packets).collect::<Vec<_>>());
    }

    #[test]
    fn complete_responses_of_random_packets(packets in prop::collection::vec((0u8..3, likely()), 2..6)) {
        let mut stage = Stage::default();
        stage.asks();
        for (at, (section, content)) in packets.iter().enumerate() {
            let last = if at + 1 == packets.len() { 0x80 } else { 0 };
            stage.server(50, &packet(at as u8 | last, *section, content));
        }
        let outcome = stage.ends(9000);
        prop_assert_eq!(outcome.names()[3..].to_vec(), vec!["info_response"]);
    }
}
