//! Packets between two ends that carry no message of a supported protocol: game traffic, connections that nobody
//! uses, other services of the same hosts.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use dissectors::Id;
use dissectors::kit::{Time, Transport, sorted};
use foldhash::quality::RandomState;
use serde::{Deserialize, Serialize};

use super::siblings;
use crate::flows::FlowKey;
use crate::net::packet::TcpFlags;

/// How packets of Steam's own protocol between servers and Valve begin.
const STEAM: &[u8] = b"VS01";

/// The ports of Steam's connection managers.
pub const STEAM_PORTS: RangeInclusive<u16> = 27_015..=27_050;

/// The ports of masters that speak first, and of near protocols over TCP.
static TELLING_PORTS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let masters = Id::ALL.iter().filter_map(|id| id.info().masters?.greets_at);
    masters.chain(siblings::tcp_ports()).collect()
});

/// The number of packets of a pair that may show its protocol.
const LOOKED_AT: u64 = 8;

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
    /// Which end accepted a connection over TCP.
    pub accepts: [bool; 2],
    /// Which end was the first to close or reset a connection.
    pub closes: [bool; 2],
    /// Some are of Steam's own protocol.
    pub is_steam: bool,
    /// The number of the near protocol that one of the first packets shows.
    pub sibling: Option<u8>,
}

impl PairTraffic {
    /// Adds packets between the same ends.
    fn add(&mut self, other: &PairTraffic) {
        let [begin, end] = other.span;
        self.packets = [0, 1].map(|at| self.packets[at] + other.packets[at]);
        self.bytes = [0, 1].map(|at| self.bytes[at] + other.bytes[at]);
        self.frame = self.frame.min(other.frame);
        self.span = [begin.min(self.span[0]), end.max(self.span[1])];
        self.refused = self.refused.or(other.refused);
        self.accepts = [0, 1].map(|at| self.accepts[at] || other.accepts[at]);
        if self.closes == [false; 2] {
            self.closes = other.closes;
        }
        self.is_steam |= other.is_steam;
        self.sibling = self.sibling.or(other.sibling);
    }

    /// This traffic with its ends in the other order.
    fn reversed(&self) -> PairTraffic {
        let mut reversed = *self;
        reversed.packets.reverse();
        reversed.bytes.reverse();
        reversed.accepts.reverse();
        reversed.closes.reverse();
        reversed
    }

    /// The name of the protocol, if it is a known one that is not decoded. `is_served`: whether one end is a server of a
    /// supported protocol.
    pub fn protocol(&self, is_served: impl FnOnce() -> bool) -> Option<&'static str> {
        let shown = self.sibling.filter(|it| !(siblings::is_weak(*it) && is_served()));
        shown.and_then(siblings::name)
    }
}

/// Packets of a near protocol, to and from one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedTraffic {
    /// The protocol's name.
    pub protocol: &'static str,
    /// UDP or TCP.
    pub transport: Transport,
    /// The lower port of its pairs: the server's.
    pub port: u16,
    /// The number of packets.
    pub packets: u64,
}

/// The traffic of pairs of ends, up to a maximum number of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPairs {
    pairs: HashMap<[SocketAddr; 2], PairTraffic, RandomState>,
}

impl OtherPairs {
    /// Maximum number of pairs per shard; further ones are not counted.
    const MOST: usize = 1 << 12;

    /// Whether a connection over TCP shows something: it is to a port of masters, of Steam's servers, or of a near protocol.
    fn is_telling(key: &FlowKey) -> bool {
        key.ports.iter().any(|port| STEAM_PORTS.contains(port) || TELLING_PORTS.contains(port))
    }

    /// A packet. `bytes`: its payload; `flags`: none over UDP.
    pub fn see(&mut self, key: &FlowKey, bytes: &[u8], flags: TcpFlags, frame: u64, time: Time) {
        if key.transport == Transport::Tcp && !OtherPairs::is_telling(key) {
            return;
        }
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
            accepts: [false; 2],
            closes: [false; 2],
            is_steam: false,
            sibling: None,
        });
        if traffic.sibling.is_none() && traffic.packets[0] + traffic.packets[1] < LOOKED_AT {
            traffic.sibling = siblings::number(key.transport, key.ports, bytes);
        }
        traffic.packets[sender] += 1;
        traffic.bytes[sender] += bytes.len() as u64;
        traffic.span[1] = time.max(traffic.span[1]);
        traffic.accepts[sender] |= flags.syn() && flags.ack();
        traffic.closes[sender] |= traffic.closes == [false; 2] && (flags.fin() || flags.rst());
        traffic.is_steam |= bytes.starts_with(STEAM);
    }

    /// An ICMP error quotes a packet.
    pub fn refuse(&mut self, key: &FlowKey, frame: u64) {
        if let Some(traffic) = self.pairs.get_mut(&sorted([key.from(), key.to()])) {
            traffic.refused.get_or_insert(frame);
        }
    }

    /// The pairs, in the order of their first packets: for each end, the other one and the packets that it sent and
    /// got.
    pub fn ends(&self) -> Vec<(SocketAddr, SocketAddr, PairTraffic)> {
        let both = |([one, other], traffic): (&[SocketAddr; 2], &PairTraffic)| {
            [(*one, *other, *traffic), (*other, *one, traffic.reversed())]
        };
        let mut ends: Vec<_> = self.pairs.iter().flat_map(both).collect();
        ends.sort_by_key(|(end, other, traffic)| (traffic.frame, *end, *other));
        ends
    }

    /// The hosts that got packets.
    pub fn receivers(&self) -> impl Iterator<Item = IpAddr> {
        self.pairs.iter().flat_map(|([one, other], traffic)| {
            let [to_other, to_one] = traffic.packets.map(|packets| packets > 0);
            [(one, to_one), (other, to_other)]
                .into_iter()
                .filter_map(|(end, is_reached)| is_reached.then_some(end.ip()))
        })
    }

    /// The packets of near protocols by port, most packets first. `is_server`: whether a server of a supported protocol is
    /// there.
    pub fn named(&self, is_server: impl Fn(&SocketAddr) -> bool) -> Vec<NamedTraffic> {
        let mut packets: BTreeMap<(&str, &str, u16), (Transport, u64)> = BTreeMap::new();
        self.pairs.iter().for_each(|([one, other], traffic)| {
            let is_served = || is_server(one) || is_server(other);
            let Some(protocol) = traffic.protocol(is_served) else { return };
            let (transport, port) = (traffic.transport, one.port().min(other.port()));
            let known = packets.entry((protocol, transport.name(), port)).or_insert((transport, 0));
            known.1 += traffic.packets.iter().sum::<u64>();
        });
        let each = packets.into_iter().map(|((protocol, _, port), (transport, packets))| {
            NamedTraffic { protocol, transport, port, packets }
        });
        let mut named = Vec::from_iter(each);
        named.sort_by_key(|it| std::cmp::Reverse(it.packets));
        named
    }

    /// Adds the pairs of another part of the session.
    pub fn add(&mut self, other: &OtherPairs) {
        other.pairs.iter().for_each(|(pair, traffic)| {
            self.pairs.entry(*pair).and_modify(|known| known.add(traffic)).or_insert(*traffic);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: TcpFlags = TcpFlags(0);

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
        pairs.see(&key(1, 27_015), b"x", NONE, 1, Time(10));
        pairs.see(&back, b"VS01", NONE, 2, Time(20));
        pairs.see(&key(1, 27_015), b"x", NONE, 3, Time(30));
        pairs.refuse(&key(1, 27_015), 4);
        let ends = pairs.ends();
        let (_, other, traffic) =
            ends.iter().find(|(end, ..)| end.port() == 27_015).expect("an end of the pair");
        assert_eq!((other.port(), traffic.packets), (1, [1, 2]));
        assert_eq!((traffic.refused, traffic.is_steam), (Some(4), true));
        assert_eq!(traffic.span, [Time(10), Time(30)]);
        (2..u16::MAX).for_each(|port| pairs.see(&key(port, 1), b"", NONE, 9, Time(9)));
        assert_eq!(pairs.pairs.len(), OtherPairs::MOST);
    }
}
