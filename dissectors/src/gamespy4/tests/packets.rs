//! Answers in several packets.

use crate::kit::*;

use super::{Outcome, Stage, Told, packet};

/// An answer of three packets as the GameSpy SDK cuts it: inside a variable's value, and inside a
/// player's name.
fn three() -> [Vec<u8>; 3] {
    [
        packet(0x00, 0, b"hostname\0Ann's\0hostport\x007777\0mapname\0DM-D\0"),
        packet(0x01, 0, b"mapname\0DM-Deck\0\0\x01player_\0\0Ann\0Bob\0Cha\0"),
        packet(0x82, 1, b"player_\0\x02Charlie\0\0score_\0\x003\0\0\0\0\0\x02team_t\0\0Red\0\0\0"),
    ]
}

const WHOLE: &[u8] =
    b"hostname\0Ann's\0hostport\x007777\0mapname\0DM-Deck\0\0\x01player_\0\0Ann\0Bob\0\
    Charlie\0\0score_\0\x003\0\0\0\0\0\x02team_t\0\0Red\0\0\0";

const FIELDS: &str = "timestamp=270544961 properties{hostname=Ann's hostport=7777 mapname=DM-Deck} \
    players[player{player_=Ann score_=3} player{player_=Bob score_=} player{player_=Charlie score_=}] \
    teams[team{team_t=Red}]";

fn told(outcome: &Outcome) -> &Told {
    outcome.told.last().unwrap()
}

#[test]
fn packets_in_any_order_are_one_message() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let packets = three();
        let mut stage = Stage::default();
        stage.asks();
        for (number, at) in order.into_iter().enumerate() {
            stage.server(50 + number as i64, &packets[at]);
        }
        let outcome = stage.ends(60);
        assert!(outcome.judge.findings.is_empty(), "{:?}", outcome.judge.findings);
        let told = told(&outcome);
        assert_eq!(told.name, "info_response");
        assert_eq!(told.fields, FIELDS);
        assert_eq!(told.bytes, packet(0x00, 0, WHOLE));
    }
}

#[test]
fn every_joined_byte_is_where_it_was_recorded() {
    let packets = three();
    let mut stage = Stage::default();
    stage.asks();
    for packet in [&packets[2], &packets[0], &packets[1]] {
        stage.server(50, packet);
    }
    let outcome = stage.ends(60);
    let told = told(&outcome);
    let frames = [(4, &packets[2]), (5, &packets[0]), (6, &packets[1])];
    for piece in &told.pieces {
        let packet = frames.iter().find(|(frame, _)| *frame == piece.frame).unwrap().1;
        let (at, from, length) =
            (piece.at as usize, piece.offset as usize - 42, piece.length as usize);
        assert_eq!(told.bytes[at..at + length], packet[from..from + length]);
    }
    assert_eq!(told.pieces.iter().map(|piece| piece.frame).collect::<Vec<_>>(), [5, 6, 4]);
}

/// Where byte 16 is only a number, the text simply goes on in the next packet.
#[test]
fn text_that_goes_on_without_being_repeated() {
    for at in 1..WHOLE.len() {
        for byte in [0, 1] {
            let (first, second) = WHOLE.split_at(at);
            let mut stage = Stage::default();
            stage.asks().server(50, &packet(0x00, 0, first));
            let outcome = stage.server(51, &packet(0x81, byte, second)).ends(60);
            assert_eq!(told(&outcome).bytes, packet(0x00, 0, WHOLE), "cut at {at}");
            assert!(outcome.failed().is_empty());
        }
    }
}

/// As the GameSpy SDK cuts: whatever did not fit whole is repeated, wherever the packet ends.
#[test]
fn cuts_at_every_byte_of_a_column() {
    let names: [&[u8]; 3] = [b"Ann", b"Bob", b"Charlie"];
    let head = b"hostport\x007777\0\0\x01player_\0\0";
    let mut full = head.to_vec();
    for (row, name) in names.iter().enumerate() {
        for length in 0..=name.len() {
            let mut first = full.clone();
            first.extend(&name[..length]);
            first.push(0);
            let mut second = b"player_\0".to_vec();
            second.push(row as u8);
            for name in &names[row..] {
                second.extend(*name);
                second.push(0);
            }
            second.extend(b"\0\0");
            let mut stage = Stage::default();
            stage.asks().server(50, &packet(0x00, 0, &first));
            let outcome = stage.server(51, &packet(0x81, 1, &second)).ends(60);
            assert_eq!(
                told(&outcome).fields,
                "timestamp=270544961 properties{hostport=7777} players[player{player_=Ann} \
                 player{player_=Bob} player{player_=Charlie}]",
                "row {row}, {length} bytes"
            );
            assert!(outcome.failed().is_empty());
        }
        full.extend(*name);
        full.push(0);
    }
}

#[test]
fn a_copy_of_a_packet_is_a_note_and_another_packet_in_its_place_an_error() {
    let [first, second, third] = three();
    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &first).server(52, &second);
    let outcome = stage.server(53, &third).server(54, &second).ends(9000);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.judge.findings);
    assert_eq!(outcome.found(Verdict::Note), ["GS4021", "GS4021"]);
    assert_eq!(outcome.names()[3..], ["info_fragment", "info_response", "info_fragment"]);

    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &packet(0x00, 0, b"hostname\0other\0"));
    let outcome = stage.ends(9000);
    assert_eq!(outcome.failed(), ["GS4021"]);
    assert_eq!(outcome.names()[3..], ["info_fragment", "info_fragment"]);
    assert_eq!(
        told(&outcome).fields,
        "timestamp=270544961 index=0 last=0 properties{hostname=other}"
    );
}

#[test]
fn last_bits_that_contradict_each_other() {
    let [first, _, third] = three();
    let early = packet(0x81, 1, b"player_\0\0Ann\0\0\0");
    for packets in [[&early, &third], [&third, &early]] {
        let mut stage = Stage::default();
        stage.asks().server(50, packets[0]).server(51, packets[1]);
        let outcome = stage.ends(9000);
        assert_eq!(outcome.failed(), ["GS4022"], "{:?}", outcome.judge.findings);
    }
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x80, 0, b"hostport\x007777\0\0"));
    let outcome = stage.server(51, &packet(0x01, 1, b"player_\0\0\0\0")).ends(9000);
    assert_eq!(outcome.failed(), ["GS4022"]);
    let outcome = Stage::default().asks().server(50, &first).ends(9000);
    assert_eq!(outcome.failed(), ["GS4022"], "no packet has the bit");
}

#[test]
fn what_is_missing_is_a_fault_only_when_there_was_time_for_it() {
    let [first, _, third] = three();
    let mut stage = Stage::default();
    let outcome = stage.asks().server(50, &first).server(51, &third).ends(1000);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4021"]);

    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &third);
    let deadline = <super::GameSpy4 as Protocol>::deadline(&stage.talk).unwrap();
    assert_eq!(deadline, Time(3_050_000_000));
    stage.elapse(deadline, false);
    assert_eq!(stage.watch.told.len(), 5);
    let outcome = stage.ends(9000);
    assert_eq!(outcome.failed(), ["GS4021"]);
    assert!(outcome.details()[0].contains("packet 1 of 0 to 2 is missing"));
}

#[test]
fn a_repeated_request_begins_another_answer() {
    let [first, _, _] = three();
    let again = packet(0x00, 0, b"hostname\0Bob's\0");
    let mut stage = Stage::default();
    stage.asks().server(50, &first);
    stage.client(1000, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01");
    stage.server(1050, &again);
    let outcome = stage.server(1051, &packet(0x81, 0, b"hostport\x007777\0\0")).ends(2000);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.judge.findings);
    assert_eq!(outcome.names()[4..], ["info_fragment", "info_response"]);
    assert!(told(&outcome).fields.ends_with("properties{hostname=Bob's hostport=7777}"));
}

#[test]
fn many_unfinished_answers_are_bounded() {
    let mut stage = Stage::default();
    stage.asks();
    let content = vec![b'x'; 1000];
    for number in 0..3000_u32 {
        let mut packet = packet(number as u8 & 0x7F, 0, &content);
        packet[1..5].copy_from_slice(&(number / 100).to_be_bytes());
        stage.server(50, &packet);
        assert!(stage.budget.held() <= 1 << 20);
    }
    assert!(stage.ends(60).told.len() >= 2900);
}
