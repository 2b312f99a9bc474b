//! Other traffic than that of games, as it is common at servers and in homes.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::bulk::stage::Stage;
use crate::bulk::streams::{Turn, connect};
use crate::bytes::Bytes;
use crate::wire::{End, Prng};

const RESOLVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(8, 8, 8, 8), 53);

/// Web hosts, and bytes that look encrypted.
#[derive(Debug)]
pub(super) struct Web {
    hosts: Vec<Ipv4Addr>,
    noise: Vec<u8>,
}

impl Web {
    pub(super) fn new(prng: &mut Prng) -> Self {
        let host = |prng: &mut Prng| Ipv4Addr::from(0x6800_0000 + prng.below(1 << 24) as u32);
        Self {
            hosts: (0..500).map(|_| host(prng)).collect(),
            noise: (0..1 << 18).flat_map(|_| prng.next().to_le_bytes()).collect(),
        }
    }

    /// A conversation: a download, a page, a call, or a DNS lookup.
    pub(super) fn converse(&self, stage: &mut Stage, time: u64) {
        match stage.prng.below(1000) {
            0..30 => self.over_tls(stage, time, true),
            30..260 => self.over_tls(stage, time, false),
            260..290 => self.download(stage, time),
            290..350 => self.over_quic(stage, time),
            _ => look_up(stage, time),
        }
    }

    fn ends(&self, stage: &mut Stage, port: u16) -> [SocketAddrV4; 2] {
        let client = stage.client();
        [client, SocketAddrV4::new(*stage.prng.pick(&self.hosts), port)]
    }

    fn noise(&self, length: u64, prng: &mut Prng) -> &[u8] {
        let from = prng.below(self.noise.len() as u64 - length) as usize;
        &self.noise[from..from + length as usize]
    }

    /// TLS records: a handshake, then requests and responses, in bulk or not.
    fn over_tls(&self, stage: &mut Stage, time: u64, in_bulk: bool) {
        let ends = self.ends(stage, 443);
        let record = |kind: u8, length: u64, prng: &mut Prng| {
            let head = Bytes::new().u8(kind).be16(0x0303).be16(length as u16);
            head.raw(self.noise(length, prng)).done()
        };
        let prng = &mut stage.prng;
        let mut turns: Vec<Turn> = vec![
            (End::Opener, record(22, 512, prng)),
            (End::Listener, [record(22, 122, prng), record(23, 2800, prng)].concat()),
        ];
        for _ in 0..prng.between(1, 8) {
            turns.push((End::Opener, record(23, prng.between(60, 900), prng)));
            let records = if in_bulk { prng.between(4, 60) } else { 1 };
            let response = (0..records).flat_map(|_| {
                let length = if in_bulk { 16_000 } else { prng.between(100, 4000) };
                record(23, length, prng)
            });
            turns.push((End::Listener, response.collect()));
        }
        connect(stage, time, ends, &turns);
    }

    /// A file over HTTP.
    fn download(&self, stage: &mut Stage, time: u64) {
        let ends = self.ends(stage, 8080);
        let length = stage.prng.between(20_000, 400_000);
        let mut response =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        response.extend_from_slice(self.noise(length, &mut stage.prng));
        let request = b"GET /file.bin HTTP/1.1\r\nHost: cdn.example\r\n\r\n".to_vec();
        connect(stage, time, ends, &[(End::Opener, request), (End::Listener, response)]);
    }

    /// Datagrams with QUIC's short header.
    fn over_quic(&self, stage: &mut Stage, time: u64) {
        let [client, server] = self.ends(stage, 443);
        for number in 0..stage.prng.between(5, 80) {
            let length = stage.prng.between(30, 1250);
            let mut payload = self.noise(length, &mut stage.prng).to_vec();
            payload[0] = 0x40 | payload[0] & 0x3F;
            let (from, to) = if number % 3 == 0 { (client, server) } else { (server, client) };
            stage.say(time + number * 500, from, to, &payload);
        }
    }
}

/// A DNS lookup with three addresses (RFC 1035, 4.1).
fn look_up(stage: &mut Stage, time: u64) {
    let client = stage.client();
    let id = stage.prng.next() as u16;
    let message = |flags: u16, answers: u16| {
        let head = Bytes::new().be16(id).be16(flags).be16(1).be16(answers).be16(0).be16(0);
        head.raw(b"\x03www\x07example\x03net\0").be16(1).be16(1)
    };
    stage.say(time, client, RESOLVER, &message(0x0100, 0).done());
    let response = (0..3).fold(message(0x8180, 3), |response, host| {
        let record = response.be16(0xC00C).be16(1).be16(1).be32(256).be16(4);
        record.raw(&[93, 184, 216, host])
    });
    stage.say(time + 9000, RESOLVER, client, &response.done());
}
