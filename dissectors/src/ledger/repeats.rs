//! Whether senders repeat themselves. Packets of a game are numbered, and no two of a player are the same, but for the few by
//! which a connection is kept open; a flood may be one packet, again and again.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use crate::kit::Socket;

/// Number of senders whose latest packets are kept. Others take their places in turn: after so many comparisons, or once so
/// many packets of others came since.
const SENDERS: usize = 16;
const EACH: u32 = 4;
const SINCE: u32 = 1024;

/// Minimum number of packets that are compared.
const COMPARED: u64 = 16;

/// How many packets are the same as the one before them of their sender, among those that could be compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Repeats {
    #[serde(skip)]
    latest: [LatestPacket; SENDERS],
    compared: u64,
    same: u64,
}

/// The latest packet of a sender: hashes of both.
#[derive(Clone, Copy, Debug, Default)]
struct LatestPacket {
    sender: u32,
    bytes: u32,
    compared: u32,
    since: u32,
}

impl Repeats {
    /// A whole packet of this sender.
    pub fn see(&mut self, from: SocketAddr, bytes: &[u8]) {
        let seed = FixedState::with_seed(0x5EC0_0012);
        let (sender, bytes) = (seed.hash_one(Socket(from)), seed.hash_one(bytes) as u32);
        let Some(latest) = self.latest.get_mut(sender as usize % SENDERS) else { return };
        let sender = (sender >> 32) as u32;
        if latest.sender == sender {
            self.compared += 1;
            self.same += u64::from(latest.bytes == bytes);
            *latest = LatestPacket {
                sender,
                bytes,
                compared: latest.compared.saturating_add(1),
                since: 0,
            };
        } else if latest.sender == 0 || latest.compared >= EACH || latest.since >= SINCE {
            *latest = LatestPacket { sender, bytes, ..LatestPacket::default() };
        } else {
            latest.since += 1;
        }
    }

    /// Whether most packets are repeated, as a player's are not.
    pub fn are_most(&self) -> bool {
        self.compared >= COMPARED && self.same > self.compared / 2
    }

    /// Adds those of other hosts.
    pub(super) fn add(&mut self, other: &Repeats) {
        self.compared += other.compared;
        self.same += other.same;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether packets of so many senders in turn are mostly repeated.
    fn are_repeated(senders: u32, bytes: impl Fn(u32) -> [u8; 4]) -> bool {
        let mut repeats = Repeats::default();
        for nth in 0..5_000_u32 {
            let from = SocketAddr::from(((nth % senders).to_be_bytes(), 50_000));
            repeats.see(from, &bytes(nth));
        }
        repeats.are_most()
    }

    #[test]
    fn a_flood_of_one_packet_is_told_from_numbered_packets() {
        for senders in [1, 40, 256] {
            assert!(are_repeated(senders, |_| *b"junk"), "{senders}");
            assert!(!are_repeated(senders, u32::to_be_bytes), "{senders}");
            // Each sender has a packet of its own.
            assert!(are_repeated(senders, |nth| (nth % senders).to_be_bytes()), "{senders}");
        }
        let mut few = Repeats::default();
        (0..COMPARED).for_each(|_| few.see(([10, 0, 0, 1], 1).into(), b"again"));
        assert!(!few.are_most());
        // Who left gives way.
        let mut others = Repeats::default();
        (0..100_u32).for_each(|nth| others.see((nth.to_be_bytes(), 1).into(), b"once"));
        (0..2_000).for_each(|_| others.see(([10, 0, 0, 1], 1).into(), b"again"));
        assert!(others.are_most());
    }
}
