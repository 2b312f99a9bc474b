//! TCP connections with reordered, repeated and lost segments.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use crate::bulk::stage::Stage;
use crate::wire::{Connection, End, Segment};

const GAMESPY_MASTER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(92, 58, 17, 34), 28900);
const ACR_MASTER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(92, 58, 17, 35), 80);

/// Bytes of a full segment with a timestamp over Ethernet.
const SEGMENT: usize = 1448;

/// The data of one end until the other one sends.
pub(super) type Turn = (End, Vec<u8>);

/// A client fetches a list: GameSpy's over its own protocol, or AssaultCube Reloaded's over HTTP.
pub(super) fn fetch(stage: &mut Stage, time: u64) {
    let client = stage.client();
    if stage.prng.per_mille(500) {
        let turns = gamespy_list(stage);
        connect(stage, time, [client, GAMESPY_MASTER], &turns);
    } else {
        let turns = http_list(stage);
        connect(stage, time, [client, ACR_MASTER], &turns);
    }
}

/// "333networks MasterServer", over TCP.
fn gamespy_list(stage: &mut Stage) -> Vec<Turn> {
    let mut list = String::new();
    for _ in 0..stage.prng.between(20, 1500) {
        let server = stage.server();
        let _ = write!(list, r"\ip\{server}");
    }
    list += r"\final\";
    vec![
        (End::Listener, br"\basic\\secure\XDWAOR".to_vec()),
        (End::Opener, br"\gamename\ut\location\0\validate\3JOdDFU5\final\".to_vec()),
        (End::Opener, br"\list\\gamename\ut\final\".to_vec()),
        (End::Listener, list.into_bytes()),
    ]
}

/// "AssaultCube Reloaded master-server protocol v1.3", /c.
fn http_list(stage: &mut Stage) -> Vec<Turn> {
    let mut list = "masterserver_flags 0\ncurrent_version 20700 140\n".to_owned();
    for _ in 0..stage.prng.between(10, 700) {
        let server = stage.server();
        let _ = writeln!(list, "addserver {} {} 0", server.ip(), server.port());
    }
    let head = "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/plain\r\n";
    let length = list.len();
    let response = format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{list}");
    let request = b"GET /c?build_defs=4 HTTP/1.1\r\nHost: ms.example.net\r\n\
        User-Agent: ACR-Client/20700\r\nConnection: close\r\n\r\n";
    vec![(End::Opener, request.to_vec()), (End::Listener, response.into_bytes())]
}

/// A connection from its first SYN to its last ACK. Of a thousand segments with data, ten are reordered, ten
/// are duplicated, ten are lost and retransmitted, and ten are missing from the capture.
pub(super) fn connect(stage: &mut Stage, time: u64, ends: [SocketAddrV4; 2], turns: &[Turn]) {
    let round_trip = stage.prng.between(10_000, 90_000);
    let initial = [stage.prng.next() as u32, stage.prng.next() as u32];
    let [opener, listener] = ends.map(SocketAddr::V4);
    let mut connection = Connection::new(opener, listener, initial);
    let [syn, syn_ack, ack] = connection.handshake();
    stage.segment(time, &syn);
    let mut time = time + round_trip;
    stage.segment(time, &syn_ack);
    time += 60;
    stage.segment(time, &ack);
    for (from, bytes) in turns {
        time += if *from == End::Opener { 100 } else { round_trip };
        for (number, segment) in connection.send(*from, bytes, SEGMENT).into_iter().enumerate() {
            time += 15;
            record(stage, time, round_trip, &segment);
            if number % 2 == 1 {
                let length = segment.payload.len() as u32;
                let acknowledgement = segment.sequence.wrapping_add(length);
                let ack = Segment { acknowledgement, ..connection.acknowledge(from.other()) };
                stage.segment(time + round_trip / 2, &ack);
            }
        }
    }
    time += round_trip;
    stage.segment(time, &connection.finish(End::Listener));
    stage.segment(time + 100, &connection.finish(End::Opener));
    stage.segment(time + 100 + round_trip, &connection.acknowledge(End::Listener));
}

/// A segment with data, which may be reordered, duplicated, lost or missing.
fn record(stage: &mut Stage, time: u64, round_trip: u64, segment: &Segment) {
    let time = match stage.prng.below(1000) {
        0..10 => time + 40,
        10..20 => {
            stage.segment(time + 200, segment);
            time
        }
        20..30 => time + round_trip + 200,
        30..40 => return,
        _ => time,
    };
    stage.segment(time, segment);
}
