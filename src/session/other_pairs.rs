//! Packets between two ends that carry no message of a supported protocol: game traffic, connections that nobody
//! uses, other services of the same hosts.

use std::collections::HashMap;
use std::net::SocketAddr;

use dissectors::kit::{Time, Transport};
use foldhash::quality::RandomState;
use serde::{Deserialize, Serialize};

use crate::flows::FlowKey;

/// How packets of Steam's own protocol between servers and Valve begin.
const STEAM: &[u8] = b"VS01";

/// The packets between two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairTraffic {
    /// UDP or TCP.
    pub transport: Transport,
    /// Packets of each end, in the order of the pair.
    pub packets: [u64; 2],
    /// Bytes of their payloads.
    pub bytes: [u64; 2],
    /// The first packet.
    pub frame: u64,
    /// When the first and the last one were recorded.
    pub span: [Time; 2],
    /// An ICMP error about one of them: its packet.
    pub refused: Option<u64>,
    /// Some are of Steam's own protocol.
    pub is_steam: bool,
}

/// The traffic of pairs of ends, up to a maximum number of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPairs {
    pairs: HashMap<[SocketAddr; 2], PairTraffic, RandomState>,
}

impl OtherPairs {
    /// Maximum number of pairs per shard; further ones are not counted.
    const MOST: usize = 1 << 12;

    /// A packet. `bytes`: its payload.
    pub fn see(&mut self, key: &FlowKey, bytes: &[u8], (frame, time): (u64, Time)) {
        let (from, to) = (key.from(), key.to());
        let (pair, sender) = if from <= to { ([from, to], 0) } else { ([to, from], 1) };
        if self.pairs.len() >= OtherPairs::MOST && !self.pairs.contains_key(&pair) {
            return;
        }
        let traffic = self.pairs.entry(pair).or_insert_with(|| PairTraffic {
            transport: key.transport,
            packets: [0; 2],
            bytes: [0; 2],
            frame,
            span: [time; 2],
            refused: None,
            is_steam: false,
        });
        traffic.packets[sender] += 1;
        traffic.bytes[sender] += bytes.len() as u64;
        traffic.span[1] = time.max(traffic.span[1]);
        traffic.is_steam |= bytes.starts_with(STEAM);
    }

    /// An ICMP error quotes a packet.
    pub fn refuse(&mut self, key: &FlowKey, frame: u64) {
        let (from, to) = (key.from(), key.to());
        let pair = if from <= to { [from, to] } else { [to, from] };
        if let Some(traffic) = self.pairs.get_mut(&pair) {
            traffic.refused.get_or_insert(frame);
        }
    }

    /// The pairs, in the order of their first packets: for each end, the other one and the packets that it sent and
    /// got.
    pub fn ends(&self) -> Vec<(SocketAddr, SocketAddr, PairTraffic)> {
        let mut ends = Vec::new();
        for ([one, other], traffic) in &self.pairs {
            ends.push((*one, *other, *traffic));
            let ([sent, got], [said, heard]) = (traffic.packets, traffic.bytes);
            let back = PairTraffic { packets: [got, sent], bytes: [heard, said], ..*traffic };
            ends.push((*other, *one, back));
        }
        ends.sort_by_key(|(end, other, traffic)| (traffic.frame, *end, *other));
        ends
    }

    /// Adds the pairs of another part of the session.
    pub fn add(&mut self, other: &OtherPairs) {
        for (pair, traffic) in &other.pairs {
            let known = self.pairs.entry(*pair).or_insert(*traffic);
            if known != traffic {
                let [begin, end] = traffic.span;
                known.packets = [0, 1].map(|at| known.packets[at] + traffic.packets[at]);
                known.bytes = [0, 1].map(|at| known.bytes[at] + traffic.bytes[at]);
                known.frame = known.frame.min(traffic.frame);
                known.span = [begin.min(known.span[0]), end.max(known.span[1])];
                known.refused = known.refused.or(traffic.refused);
                known.is_steam |= traffic.is_steam;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_for_both_ends_up_to_a_bound() {
        let key = |from: u16, to: u16| FlowKey {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            ports: [from, to],
            transport: Transport::Udp,
        };
        let back = FlowKey {
            source: [10, 0, 0, 2].into(),
            destination: [10, 0, 0, 1].into(),
            ports: [27_015, 1],
            transport: Transport::Udp,
        };
        let mut pairs = OtherPairs::default();
        pairs.see(&key(1, 27_015), b"x", (1, Time(10)));
        pairs.see(&back, b"VS01", (2, Time(20)));
        pairs.see(&key(1, 27_015), b"x", (3, Time(30)));
        pairs.refuse(&key(1, 27_015), 4);
        let ends = pairs.ends();
        let (_, other, traffic) =
            ends.iter().find(|(end, ..)| end.port() == 27_015).expect("an end of the pair");
        assert_eq!((other.port(), traffic.packets), (1, [1, 2]));
        assert_eq!((traffic.refused, traffic.is_steam), (Some(4), true));
        assert_eq!(traffic.span, [Time(10), Time(30)]);
        (2..u16::MAX).for_each(|port| pairs.see(&key(port, 1), b"", (9, Time(9))));
        assert_eq!(pairs.pairs.len(), OtherPairs::MOST);
    }
}
