//! Clients that repeat requests while a response is slow, a server that answers each packet, and a
//! network that reorders packets and loses requests: none of it is a fault.

use proptest::prelude::*;

use super::lab::{C, Lab, S, bytes};
use crate::a2s::rules;

/// The request's bytes without a challenge, and with one; the response.
const KINDS: [[&str; 3]; 3] = [
    [
        "FFFFFFFF 54 'Source Engine Query' 00",
        "FFFFFFFF 54 'Source Engine Query' 00",
        "FFFFFFFF 49 11 'n' 00 'm' 00 'f' 00 'g' 00 le16:730 01 10 00 'dl' 00 01 '1' 00",
    ],
    ["FFFFFFFF 55 FFFFFFFF", "FFFFFFFF 55", "FFFFFFFF 44 01 00 'a' 00 00000000 f32:1"],
    ["FFFFFFFF 56 FFFFFFFF", "FFFFFFFF 56", "FFFFFFFF 45 0100 'motd' 00 'x' 00"],
];

/// A recorded packet: time in milliseconds, whether the client sent it, and the bytes.
type Packet = (u64, bool, String);

/// The packets with a request, about a second apart, and the responses to those that arrive: the
/// client repeats the request until the first response comes. Returns that time, and the packets.
fn ask(
    start: u64,
    request: &str,
    response: &str,
    ways: &mut impl Iterator<Item = u16>,
) -> (u64, Vec<Packet>) {
    let (mut time, mut packets, mut first) = (start, Vec::new(), u64::MAX);
    for sending in 0.. {
        if time >= first {
            break;
        }
        let way = u64::from(ways.next().unwrap_or(10));
        packets.push((time, true, request.to_owned()));
        // The third one arrives in any case.
        if way % 3 > 0 || sending == 2 {
            let back = time + 1 + way % 1500;
            packets.push((back, false, response.to_owned()));
            first = first.min(back);
        }
        time += 900 + u64::from(way % 7 == 0) * 500;
    }
    (first, packets)
}

proptest! {
    #[test]
    fn repeats_until_a_response_break_no_rule(
        ways in prop::collection::vec(any::<u16>(), 60),
        asked in prop::collection::vec((0..3_usize, 0..6_000_u64), 1..6),
    ) {
        let mut ways = ways.into_iter();
        let mut packets = Vec::new();
        // A client has one request of each kind at a time.
        let mut free = [0; 3];
        for (kind, wait) in asked {
            let [bare, start, response] = KINDS[kind];
            let challenge = "4BA1D522";
            let (given, first) =
                ask(free[kind] + wait, bare, &format!("FFFFFFFF 41 {challenge}"), &mut ways);
            let (done, then) = ask(given + 20, &format!("{start} {challenge}"), response, &mut ways);
            packets.extend(first.into_iter().chain(then));
            free[kind] = done + 3_100;
        }
        packets.sort_by_key(|packet| packet.0);
        let mut lab = Lab::new();
        for (time, asks, text) in &packets {
            let (from, to) = if *asks { (C, S) } else { (S, C) };
            lab.packet(*time as f64 / 1000.0, from, to, &bytes(text), false);
        }
        lab.end(200.0);
        let mut codes = lab.codes();
        codes.retain(|code| !code.starts_with('('));
        prop_assert_eq!(codes, Vec::<String>::new(), "{:#?}", packets);
        prop_assert_eq!(lab.counts(&rules::SEC003).failed, 0, "{:#?}", packets);
        // Every response answers a request.
        let responses = packets.iter().filter(|packet| !packet.1).count();
        prop_assert_eq!(lab.sink.replies.len(), responses);
        for reply in &lab.sink.replies {
            prop_assert!(reply.began <= reply.sent);
        }
    }
}

/// A client that sends a second info request while the first is pending, and then continues with a
/// challenge that seemed to belong to a rules request, waits for one response only.
#[test]
fn a_challenge_is_good_for_all_that_asked_for_it() {
    let mut lab = Lab::new();
    for (time, asks, text) in [
        (3.755, true, KINDS[0][0]),
        (5.155, true, KINDS[0][0]),
        (6.055, true, KINDS[0][0]),
        (6.955, true, KINDS[0][0]),
        (6.956, true, KINDS[2][0]),
        (6.956, false, "FFFFFFFF 41 4BA1D522"),
        (6.976, true, "FFFFFFFF 54 'Source Engine Query' 00 4BA1D522"),
        (7.077, false, KINDS[0][2]),
    ] {
        let (from, to) = if asks { (C, S) } else { (S, C) };
        lab.packet(time, from, to, &bytes(text), false);
    }
    lab.end(200.0);
    let mut codes = lab.codes();
    codes.retain(|code| !code.starts_with('('));
    assert_eq!(codes, Vec::<String>::new());
}
