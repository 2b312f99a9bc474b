//! Any bytes whatever: no panic, every byte in one leaf, and every sink sees the same conversation.

use proptest::prelude::*;

use crate::acr_master::rules;
use crate::kit::{Blind, Judge, Sink, Tree};

use super::lab::{C, Ear, Lab, M, S, Segment};

/// One packet: who speaks to whom, whether it closes, the bytes.
type Packet = (u8, bool, Vec<u8>);

fn samples() -> Vec<Vec<u8>> {
    let verify = format!("GET /v?i=7&c={}&a={} HTTP/1.0\r\n\r\n", "5f".repeat(48), "0a".repeat(32));
    let auth = format!("HTTP/1.0 200 OK\r\n\r\n*c{}\n*a\n", "ab".repeat(128));
    let texts: [&[u8]; 16] = [
        b"GET /c?build_defs=4&guid32=1 HTTP/1.1\r\nHost: m\r\nUser-Agent: ACR-Client/20700\r\n\r\n",
        b"GET /ms/r?v=140&g=180300&p=28770&x=%41+ HTTP/1.0\n\n",
        b"GET /a?p=28770&a=::ffff:192.0.2.1&i=7&u=42 HTTP/1.0\r\n\r\n",
        b"HEAD /a?a=1&&=& HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
        b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        verify.as_bytes(),
        b"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\ncurrent_version 1 2\naddserver 10.0.0.1 1 -1\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nmasterserver_flags 0\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n*a\n\r\n0\r\nT: x\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.0 200 OK\r\n\r\naddserver\nmasterserver_flags x y\r\necho hi\n\naddserver ::1 99999",
        b"HTTP/1.0 200 OK\r\n\r\n*s3Name\n*d",
        b"HTTP/1.0 200 OK\r\n\r\nserver registered",
        auth.as_bytes(),
        b"\x01",
    ];
    texts.iter().map(|text| text.to_vec()).collect()
}

fn play<K: Sink>(packets: &[Packet], sink: K) -> Lab<K> {
    let mut lab = Lab::with(sink);
    let mut now = 0.0;
    for (way, fin, bytes) in packets {
        now += 0.5;
        let segment = Segment { fin: *fin };
        match way % 6 {
            0 => lab.tcp(now, (C, M), C, bytes, segment),
            1 => lab.tcp(now, (M, C), C, bytes, segment),
            2 => lab.tcp(now, (S, M), S, bytes, segment),
            3 => lab.tcp(now, (M, S), S, bytes, segment),
            4 => lab.udp(now, "10.0.0.9:41000", "10.0.0.2:28771", bytes),
            _ => lab.udp(now, "10.0.0.2:28771", "10.0.0.9:41000", bytes),
        };
    }
    lab.end(now + 9.0);
    lab
}

fn run(packets: &[Packet]) {
    let ear = play(packets, Ear::default());
    let judge = play(packets, Judge::default());
    play(packets, Tree::default());
    play(packets, Blind);
    for rule in rules::ALL {
        assert_eq!(ear.counts(rule), judge.sink.counts(rule), "{rule:?}");
    }
}

/// As an answer to each endpoint, and as a request.
fn everywhere(bytes: &[u8]) {
    run(&[(0, true, bytes.to_vec())]);
    for endpoint in ["c?build_defs=4", "r?v=1&p=28770", "a?a=::1&i=7&u=4", "v"] {
        let request = format!("GET /{endpoint} HTTP/1.1\r\n\r\n").into_bytes();
        run(&[(0, false, request), (1, true, bytes.to_vec())]);
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
            for flip in [0x01, 0x2A, 0xFF] {
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
    let words = r"(GET |/[craxv]|\?|&|=|HTTP/1\.[01]|\r?\n| |200|[*cabdfs]|Content-Length: |addserver |masterserver_flags ){0,24}";
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    let bytes = prop_oneof![sample, changed, words.prop_map(String::into_bytes), noise];
    (any::<u8>(), prop::bool::weighted(0.1), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in prop::collection::vec(packet(), 1..24)) {
        run(&packets);
    }

    #[test]
    fn any_segments(cuts in prop::collection::vec(1..40_usize, 1..12), way in 0..4_u8) {
        let text: Vec<u8> = samples().concat();
        let (mut packets, mut rest) = (Vec::new(), &text[..]);
        for cut in cuts.iter().cycle() {
            let (segment, left) = rest.split_at((*cut).min(rest.len()));
            packets.push((way, left.is_empty(), segment.to_vec()));
            if left.is_empty() {
                break;
            }
            rest = left;
        }
        run(&packets);
    }
}
