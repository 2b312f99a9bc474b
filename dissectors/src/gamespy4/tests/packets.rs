//! Responses in several packets.

use crate::kit::*;

use super::{Outcome, Reported, Stage, packet};

/// A response of three packets, divided like the GameSpy SDK does: inside a variable's value, and
/// inside a player's name.
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

fn reported(outcome: &Outcome) -> &Reported {
    outcome.reported.last().unwrap()
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
        assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
        let reported = reported(&outcome);
        assert_eq!(reported.name, "info_response");
        assert_eq!(reported.fields, FIELDS);
        assert_eq!(reported.bytes, packet(0x00, 0, WHOLE));
    }
}

#[test]
fn every_joined_byte_has_its_recorded_position() {
    let packets = three();
    let mut stage = Stage::default();
    stage.asks();
    for packet in [&packets[2], &packets[0], &packets[1]] {
        stage.server(50, packet);
    }
    let outcome = stage.ends(60);
    let reported = reported(&outcome);
    let frames = [(4, &packets[2]), (5, &packets[0]), (6, &packets[1])];
    for piece in &reported.pieces {
        let packet = frames.iter().find(|(frame, _)| *frame == piece.frame).unwrap().1;
        let (at, from, length) =
            (piece.at as usize, piece.offset as usize - 42, piece.length as usize);
        assert_eq!(reported.bytes[at..at + length], packet[from..from + length]);
    }
    assert_eq!(reported.pieces.iter().map(|piece| piece.frame).collect::<Vec<_>>(), [5, 6, 4]);
}

/// If byte 16 is only a number, the text continues in the next packet.
#[test]
fn text_that_continues_without_a_repeated_name() {
    for at in 1..WHOLE.len() {
        for byte in [0, 1] {
            let (first, second) = WHOLE.split_at(at);
            let mut stage = Stage::default();
            stage.asks().server(50, &packet(0x00, 0, first));
            let outcome = stage.server(51, &packet(0x81, byte, second)).ends(60);
            assert_eq!(reported(&outcome).bytes, packet(0x00, 0, WHOLE), "cut at {at}");
            assert!(outcome.failed().is_empty());
        }
    }
}

#[test]
fn a_value_that_begins_with_its_name_is_not_a_repeated_name() {
    let whole = b"hostname\0hostname of mine\0hostport\x007777\0\0";
    for at in 1..whole.len() {
        let (first, second) = whole.split_at(at);
        let outcome = cut_in_two(first, 0, second);
        assert_eq!(reported(&outcome).bytes, packet(0x00, 0, whole), "cut at {at}");
        assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    }
}

/// Divided like the GameSpy SDK does: a value that did not fit is repeated as a whole.
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
                reported(&outcome).fields,
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

/// Two packets: the second begins with the section and the name that the first one cut.
fn cut_in_two(first: &[u8], section: u8, second: &[u8]) -> Outcome {
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x00, 0, first));
    stage.server(51, &packet(0x81, section, second)).ends(60)
}

/// The GameSpy SDK zero-terminates cut texts; the next packet has the whole name.
#[test]
fn cuts_at_every_byte_of_a_columns_name() {
    for values in [&b"Ann\0Bob\0"[..], b"Ann\0\0", b""] {
        let text = [
            b"hostport\x007777\0\0\x01player_\0\0",
            values,
            b"\0score_\0\x003\x004\0\0\0\x02team_t\0\0Red\0\0score_t\0\x005\0\0\0",
        ]
        .concat();
        let whole = packet(0x00, 0, &text);
        let find = |name: &[u8]| text.windows(name.len()).position(|bytes| bytes == name).unwrap();
        for (section, name) in
            [(1, &b"player_"[..]), (1, b"score_"), (2, b"team_t"), (2, b"score_t")]
        {
            let at = find(name);
            for length in 0..=name.len() {
                for zero in [&b""[..], b"\0"] {
                    if length == 0 && !zero.is_empty() {
                        continue;
                    }
                    let first = [&text[..at + length], zero].concat();
                    let outcome = cut_in_two(&first, section, &text[at..]);
                    let reported = reported(&outcome);
                    assert_eq!(reported.bytes, whole, "{:?}", String::from_utf8_lossy(&first));
                    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
                }
            }
        }
    }
}

/// The packet is full after the section's byte.
#[test]
fn a_cut_after_the_byte_of_a_section() {
    let players = b"hostport\x007777\0\0\x01player_\0\0Ann\0\0\0";
    let teams = b"team_t\0\0Red\0\0\0";
    let outcome = cut_in_two(&[&players[..], b"\x02"].concat(), 2, teams);
    assert_eq!(reported(&outcome).bytes, packet(0x00, 0, &[players, &b"\x02"[..], teams].concat()));
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
}

/// The next packet begins with a section that has no column.
#[test]
fn a_cut_before_a_section_without_a_column() {
    let teams = b"team_t\0\0Red\0\0\0";
    for (first, section, second) in [
        (&b"hostport\x007777\0\0"[..], 1, [&b"\0\x02"[..], teams].concat()),
        (b"hostport\x007777\0\0\x01player_\0\0Ann\0\0\0", 2, b"\0".to_vec()),
        (b"hostport\x007777\0\0\x01\0", 2, b"\0".to_vec()),
    ] {
        let outcome = cut_in_two(first, section, &second);
        let whole = [first, &[section], &second].concat();
        assert_eq!(reported(&outcome).bytes, packet(0x00, 0, &whole));
        assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    }
}

/// An empty name before a name that another column begins with.
#[test]
fn a_value_that_a_column_begins_with_is_repeated_as_a_value() {
    let first = b"hostport\x007777\0\0\x01player_\0\0Ann\0\0s\0";
    let outcome = cut_in_two(first, 1, b"player_\0\x02s\0\0score_\0\x003\0\0\0");
    assert!(
        reported(&outcome).fields.contains("player{player_=s}"),
        "{}",
        reported(&outcome).fields
    );
}

#[test]
fn a_copy_of_a_packet_is_a_note_and_another_packet_in_its_place_an_error() {
    let [first, second, third] = three();
    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &first).server(52, &second);
    let outcome = stage.server(53, &third).server(54, &second).ends(9000);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.found(Verdict::Note), ["GS4021", "GS4021"]);
    assert_eq!(outcome.names()[3..], ["info_fragment", "info_response", "info_fragment"]);

    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &packet(0x00, 0, b"hostname\0other\0"));
    let outcome = stage.ends(9000);
    assert_eq!(outcome.failed(), ["GS4021"]);
    assert_eq!(outcome.names()[3..], ["info_fragment", "info_fragment"]);
    assert_eq!(
        reported(&outcome).fields,
        "timestamp=270544961 index=0 last=0 properties{hostname=other}"
    );
}

#[test]
fn a_packet_with_another_timestamp_is_of_the_same_response() {
    for other in 0..3 {
        let mut packets = three();
        packets[other][4] = 0x42;
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let mut stage = Stage::default();
            stage.asks();
            for at in order {
                stage.server(50, &packets[at]);
            }
            let outcome = stage.ends(9000);
            assert_eq!(outcome.failed(), ["GS4004"], "{:?}", outcome.results.findings);
            assert_eq!(outcome.names()[3..], ["info_response"]);
            let at = order.iter().position(|&at| at == other).unwrap() as u64;
            let mark = outcome.results.findings[0].mark;
            assert_eq!(mark.map(|mark| mark.frame), Some(4 + at));
        }
    }
}

#[test]
fn last_bits_that_contradict_each_other() {
    let [first, _, third] = three();
    let early = packet(0x81, 1, b"player_\0\0Ann\0\0\0");
    for packets in [[&early, &third], [&third, &early]] {
        let mut stage = Stage::default();
        stage.asks().server(50, packets[0]).server(51, packets[1]);
        let outcome = stage.ends(9000);
        assert_eq!(outcome.failed(), ["GS4022"], "{:?}", outcome.results.findings);
    }
    let mut stage = Stage::default();
    stage.asks().server(50, &packet(0x80, 0, b"hostport\x007777\0\0"));
    let outcome = stage.server(51, &packet(0x01, 1, b"player_\0\0\0\0")).ends(9000);
    assert_eq!(outcome.failed(), ["GS4022"]);
    let outcome = Stage::default().asks().server(50, &first).ends(9000);
    assert_eq!(outcome.failed(), ["GS4021"], "it breaks off: the next packet is missing");
    let all = packet(0x00, 0, b"hostport\x007777\0\0");
    let outcome = Stage::default().asks().server(50, &all).ends(9000);
    assert_eq!(outcome.failed(), ["GS4022"], "it is whole, and no packet has the bit");
}

#[test]
fn a_missing_packet_is_a_fault_only_after_the_timeout() {
    let [first, _, third] = three();
    let mut stage = Stage::default();
    let outcome = stage.asks().server(50, &first).server(51, &third).ends(1000);
    assert!(outcome.failed().is_empty());
    assert_eq!(outcome.found(Verdict::Inconclusive), ["GS4021"]);

    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &third);
    for (time, reported) in [(3.049, 3), (3.05, 5)] {
        stage.lab.elapse(time);
        assert_eq!(stage.lab.sink.heard.len(), reported);
    }
    let outcome = stage.ends(9000);
    assert_eq!(outcome.failed(), ["GS4021"]);
    assert!(outcome.details()[0].contains("packet 1 of 0 to 2 is missing"));
}

#[test]
fn a_repeated_request_begins_another_response() {
    let [first, _, _] = three();
    let again = packet(0x00, 0, b"hostname\0Bob's\0");
    let mut stage = Stage::default();
    stage.asks().server(50, &first);
    stage.client(1000, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01");
    stage.server(1050, &again);
    let outcome = stage.server(1051, &packet(0x81, 0, b"hostport\x007777\0\0")).ends(2000);
    assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
    assert_eq!(outcome.names()[4..], ["info_fragment", "info_response"]);
    assert!(reported(&outcome).fields.ends_with("properties{hostname=Bob's hostport=7777}"));
}

/// The request of [`Stage::asks`].
const AGAIN: &[u8] = b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01";

/// Two packets of a response: `numplayers` distinguishes it from another.
fn two(players: u8) -> [Vec<u8>; 2] {
    let first = [b"numplayers\0", &[players][..], b"\0"].concat();
    let second = [b"maxplayers\x009\0gametype\0", &[players][..], b"\0\0"].concat();
    [packet(0x00, 0, &first), packet(0x81, 0, &second)]
}

fn whole(players: char) -> String {
    format!(
        "timestamp=270544961 properties{{numplayers={players} maxplayers=9 gametype={players}}}"
    )
}

/// The request twice, then packets of its responses, `0a` to `1b` each.
fn asked_twice(packets: &str, end: i64) -> Outcome {
    let mut stage = Stage::default();
    stage.asks().client(500, AGAIN);
    for (number, packet) in packets.split(' ').enumerate() {
        let response = two(if packet.ends_with('a') { b'3' } else { b'4' });
        let index = usize::from(packet.starts_with('1'));
        stage.server(600 + number as i64, &response[index]);
    }
    stage.ends(end)
}

#[test]
fn two_responses_to_a_repeated_request_may_be_interleaved() {
    for packets in ["0a 1a 0b 1b", "0a 0b 1a 1b"] {
        let outcome = asked_twice(packets, 9000);
        assert!(outcome.results.findings.is_empty(), "{packets}: {:?}", outcome.results.findings);
        let reported: Vec<_> =
            outcome.reported[4..].iter().map(|reported| reported.fields.as_str()).collect();
        assert_eq!(reported, [whole('3'), whole('4')], "{packets}");
    }
}

#[test]
fn a_lost_packet_of_one_response_does_not_affect_the_other() {
    for (packets, left) in [("0a 0b 1b", "0"), ("0a 1a 0b", "0"), ("1a 0b 1b", "1")] {
        for end in [700, 9000] {
            let outcome = asked_twice(packets, end);
            assert!(outcome.failed().is_empty(), "{packets}: {:?}", outcome.results.findings);
            assert_eq!(outcome.found(Verdict::Inconclusive).len(), 1, "{packets}");
            let names = outcome.names();
            let whole = names.iter().filter(|name| **name == "info_response").count();
            assert_eq!((whole, names.len()), (1, 6), "{packets}");
            let fragment =
                outcome.reported.iter().find(|reported| reported.name == "info_fragment").unwrap();
            assert!(fragment.fields.contains(&format!("index={left}")), "{packets}");
        }
    }
    let outcome = asked_twice("0a 0b 1b", 9000);
    assert_eq!(reported(&outcome).fields, whole('4'), "the latest packets belong together");
}

/// A response may be inconsistent because its packets belong to two.
#[test]
fn ambiguous_packets_of_two_responses_prove_nothing_about_their_content() {
    for (times, verdict) in [(1, Verdict::Fail), (2, Verdict::Inconclusive)] {
        let mut stage = Stage::default();
        stage.asks();
        if times == 2 {
            stage.client(500, AGAIN);
            stage.server(600, &packet(0x00, 0, b"numplayers\x001\0"));
        }
        stage.server(601, &packet(0x00, 0, b"numplayers\x002\0"));
        let outcome = stage.server(602, &packet(0x81, 0, b"maxplayers\x001\0\0")).ends(9000);
        let about = outcome.results.findings.iter().find(|f| f.rule.slug == "player-limits");
        assert_eq!(about.unwrap().verdict, verdict);
    }
}

#[test]
fn neither_of_two_responses_became_complete() {
    let outcome = asked_twice("0a 0b", 9000);
    assert_eq!(outcome.failed(), ["GS4021"]);
    assert_eq!(outcome.names()[4..], ["info_fragment", "info_fragment"]);
}

#[test]
fn more_responses_than_requests_are_an_error() {
    let mut stage = Stage::default();
    stage.asks().client(500, AGAIN);
    for players in [b'3', b'4', b'5'] {
        stage.server(600, &two(players)[0]);
    }
    assert_eq!(stage.ends(700).failed(), ["GS4021"]);

    // A new request with the same timestamp, and a response that begins as the one before it.
    let ([first, second], other) = (two(b'3'), two(b'4'));
    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &second).client(5000, AGAIN);
    let outcome = stage.server(5050, &first).server(5051, &other[0]).ends(5060);
    assert_eq!(outcome.failed(), ["GS4021"]);
}

/// Clients that poll may always use the same timestamp.
#[test]
fn a_response_that_equals_the_start_of_the_previous_one() {
    let [first, second] = two(b'3');
    let mut stage = Stage::default();
    stage.asks().server(50, &first).server(51, &second).client(5000, AGAIN).server(5050, &first);
    assert_eq!(stage.ends(15_000).failed(), ["GS4021"]);
}

#[test]
fn responses_of_different_lengths_may_be_interleaved() {
    let [first, second] = two(b'3');
    let alone = packet(0x80, 0, b"numplayers\x004\0\0");
    for packets in [[&first, &alone, &second], [&alone, &first, &second]] {
        let mut stage = Stage::default();
        stage.asks().client(500, AGAIN);
        for packet in packets {
            stage.server(600, packet);
        }
        let outcome = stage.ends(9000);
        assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
        assert_eq!(outcome.names()[4..], ["info_response", "info_response"]);
        assert!(outcome.reported.iter().any(|reported| reported.fields == whole('3')));
    }
}

/// A capture on all interfaces of a host has packets of one of them once or twice.
#[test]
fn copies_are_not_faults() {
    for packets in [
        "0a 0a 1a 1a", // both requests are the same one
        "0a 1a 0a 1a",
        "0a 1a 1a 0b 1b", // in a row with another response
        "0a 1a 0a 0b 1b",
        "0a 0a 1a 0b 1b",
        "0a 1a 0b 1b 0a 1a 0b 1b",
    ] {
        for end in [700, 9000] {
            let outcome = asked_twice(packets, end);
            assert!(outcome.failed().is_empty(), "{packets}: {:?}", outcome.results.findings);
            let found = outcome.found(Verdict::Inconclusive);
            assert!(found.is_empty(), "{packets}: {:?}", outcome.results.findings);
            let whole = outcome.names().iter().filter(|name| **name == "info_response").count();
            assert!(whole > usize::from(packets.contains('b')), "{packets}");
        }
    }
}

/// A capture on all interfaces of a host that bridges has everything twice.
#[test]
fn a_capture_with_every_packet_twice() {
    let mut stage = Stage::default();
    let challenge = b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0";
    let request = b"\xFE\xFD\x09\x10\x20\x30\x40";
    stage.client(0, request).client(0, request).server(20, challenge).server(20, challenge);
    for responses in ["0a 1a", "0b 0a 1b 1a"] {
        for _ in responses.split(' ').step_by(2) {
            stage.client(30, AGAIN).client(30, AGAIN);
        }
        for packet in responses.split(' ') {
            let response = two(if packet.ends_with('a') { b'3' } else { b'4' });
            let packet = &response[usize::from(packet.starts_with('1'))];
            stage.server(50, packet).server(50, packet);
        }
    }
    let outcome = stage.ends(9000);
    assert!(outcome.results.findings.is_empty(), "{:?}", outcome.results.findings);
    let reported = |players| {
        outcome.reported.iter().filter(|reported| reported.fields == whole(players)).count()
    };
    assert_eq!((reported('3'), reported('4')), (4, 2));
}

/// How often the request was sent before the capture began is unknown.
#[test]
fn packets_are_not_contradictory_if_requests_may_be_missing() {
    for asked in [false, true] {
        for packets in [["0a", "0b", "1a", "1b"], ["0a", "1a", "0b", "1b"]] {
            let mut stage = Stage::default();
            if asked {
                stage.client(0, AGAIN);
            }
            for packet in packets {
                let response = two(if packet.ends_with('a') { b'3' } else { b'4' });
                stage.server(50, &response[usize::from(packet.starts_with('1'))]);
            }
            let outcome = stage.ends(9000);
            assert!(outcome.failed().is_empty(), "{:?}", outcome.results.findings);
            assert!(outcome.found(Verdict::Inconclusive).contains(&"GS4021".to_owned()));
        }
    }
}

#[test]
fn packets_of_many_responses_take_little_time() {
    let mut stage = Stage::default();
    stage.asks();
    for _ in 0..300 {
        stage.client(40, AGAIN);
    }
    for number in 0..4000_u32 {
        let number = number.to_be_bytes();
        stage.server(50, &packet(if number[3] < 200 { 0x7F } else { 0xFF }, 0, &number));
        assert!(stage.lab.budget.held() <= 1 << 20);
    }
    stage.ends(9000);
}

#[test]
fn many_unfinished_responses_are_bounded() {
    let mut stage = Stage::default();
    stage.asks();
    let content = vec![b'x'; 1000];
    for number in 0..3000_u32 {
        let mut packet = packet(number as u8 & 0x7F, 0, &content);
        packet[1..5].copy_from_slice(&(number / 100).to_be_bytes());
        stage.server(50, &packet);
        assert!(stage.lab.budget.held() <= 1 << 20);
    }
    assert!(stage.ends(60).reported.len() >= 2900);
}
