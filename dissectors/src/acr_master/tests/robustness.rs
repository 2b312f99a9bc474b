//! Arbitrary bytes between clients, servers and a master.

use proptest::prelude::*;

use crate::acr_master::AcrMaster;
use crate::kit::robustness::{self, TestPacket, TestRoute};

use super::lab::{C, M, S};

const ROUTES: [TestRoute; 6] = [
    TestRoute::tcp(C, M, C),
    TestRoute::tcp(M, C, C),
    TestRoute::tcp(S, M, S),
    TestRoute::tcp(M, S, S),
    TestRoute::udp("10.0.0.9:41000", "10.0.0.2:28771"),
    TestRoute::udp("10.0.0.2:28771", "10.0.0.9:41000"),
];

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

fn run(packets: &[TestPacket]) {
    robustness::run::<AcrMaster>(&ROUTES, packets);
}

/// As a response to each endpoint, and as a request.
fn everywhere(bytes: &[u8]) {
    run(&[(0, 0, true, bytes.to_vec())]);
    for endpoint in ["c?build_defs=4", "r?v=1&p=28770", "a?a=::1&i=7&u=4", "v"] {
        let request = format!("GET /{endpoint} HTTP/1.1\r\n\r\n").into_bytes();
        run(&[(0, 0, false, request), (500, 1, true, bytes.to_vec())]);
    }
}

#[test]
fn every_message_cut_at_every_length() {
    robustness::cut(&samples(), everywhere);
}

#[test]
fn every_message_with_every_byte_changed() {
    robustness::flip(&samples(), &[0x01, 0x2A, 0xFF], usize::MAX, everywhere);
}

/// Pieces of requests and responses.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let words = r"(GET |/[craxv]|\?|&|=|HTTP/1\.[01]|\r?\n| |200|[*cabdfs]|Content-Length: |addserver |masterserver_flags ){0,24}";
    words.prop_map(String::into_bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_conversation(packets in robustness::packets(samples(), likely())) {
        run(&packets);
    }

    #[test]
    fn any_segments(cuts in prop::collection::vec(1..40_usize, 1..12), route in 0..4_u8) {
        run(&robustness::segments(&samples().concat(), &cuts, route));
    }
}
