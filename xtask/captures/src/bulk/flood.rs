//! A flood of requests from millions of forged sources.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::bulk::a2s;
use crate::bulk::stage::Stage;

const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(23, 17, 34, 51), 27015);

/// The state of the flood: of five packets, three are from new sources, up to a number of sources, one is from
/// a known source, and one is a response to a recent source.
#[derive(Debug)]
pub(super) struct Flood {
    response: Vec<u8>,
    seen: u64,
    sources: u64,
}

impl Flood {
    pub(super) fn new(sources: u64, stage: &mut Stage) -> Self {
        let responses = a2s::Responses::new(&mut stage.prng);
        Self { response: responses.info(&mut stage.prng).to_vec(), seen: 0, sources }
    }

    /// Sends one packet.
    pub(super) fn go_on(&mut self, stage: &mut Stage, time: u64) {
        let kind = stage.prng.below(5);
        if kind < 3 && self.seen < self.sources || self.seen == 0 {
            stage.say(time, source(self.seen), SERVER, a2s::INFO_REQUEST);
            self.seen += 1;
            return;
        }
        if kind == 3 || self.seen < 10 {
            let again = source(stage.prng.below(self.seen));
            return stage.say(time, again, SERVER, a2s::INFO_REQUEST);
        }
        let of_late = source(self.seen - 1 - stage.prng.below(self.seen.min(1000)));
        if stage.prng.per_mille(900) {
            let challenge = (stage.prng.next() as u32).to_le_bytes();
            let challenge = a2s::with_challenge(0x41, challenge);
            return stage.say(time, SERVER, of_late, &challenge);
        }
        stage.say(time, SERVER, of_late, &self.response);
    }
}

/// The unique address and port of a source, spread over the address space.
pub(super) fn source(number: u64) -> SocketAddrV4 {
    let host = (number as u32).wrapping_mul(0x9E37_79B1) ^ 0x5A5A_0000;
    let port = 1024 + (number.wrapping_mul(0xD134_2543_DE82_EF95) >> 40) % 60_000;
    SocketAddrV4::new(host.into(), port as u16)
}
