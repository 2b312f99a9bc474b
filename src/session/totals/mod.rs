//! Totals of a session, and counts of other traffic.

mod cut;
mod hop_limits;
mod links;
mod other_hosts;
mod other_pairs;
mod probed_ports;
mod requests;
mod siblings;
mod traffic;
mod unknown_links;

use std::cmp::Reverse;
use std::fmt;

use dissectors::kit::{RuleCounts, Time, Transport};
use serde::{Deserialize, Serialize};

use super::{Files, Numbers};
use crate::capture::LinkType;
use crate::flows::FlowKey;
use crate::net::{Echo, UnreadLayer};
pub use cut::CutPackets;
pub(super) use cut::may_be_ours;
pub use hop_limits::HopLimitKinds;
pub use links::Links;
pub use other_hosts::OtherHosts;
pub use other_pairs::{NamedTraffic, OtherPairs, PairTraffic, STEAM_PORTS};
pub use probed_ports::{PROBE, ProbedPorts};
pub use requests::{HeardServer, RequestReview, Requests, Unanswered};
pub use traffic::Traffic;
pub use unknown_links::UnknownLinks;

/// Maximum number of ports that are listed.
const NAMED: usize = 8;

/// Number of ports.
const PORTS: usize = 1 << 16;

/// From the earlier beginning of two spans of time to the later end.
pub(crate) fn joined_spans(one: Option<[Time; 2]>, other: Option<[Time; 2]>) -> Option<[Time; 2]> {
    match (one, other) {
        (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
        (one, other) => one.or(other),
    }
}

/// Totals of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets, as they were on the wire.
    pub bytes: u64,
    /// Their link types.
    pub links: Links,
    /// The earliest and the latest time of a packet.
    pub span: Option<[Time; 2]>,
    /// Number of digits of a second in the times of its packets: 6 or 9.
    pub digits: u8,
    /// Flows whose protocol was identified.
    pub flows: u32,
    /// The recording lost unknown packets.
    pub lossy: bool,
    /// The recorder dropped packets before its notice: they may explain earlier breaches.
    pub dropped: bool,
    /// Packets with an unsupported link type.
    pub unknown_links: u64,
    /// The link type of the first of them.
    pub unknown_link: Option<LinkType>,
    /// Packets of unsupported layers that may carry IP, by [`UnreadLayer`].
    pub unread: [u64; UnreadLayer::ALL.len()],
    /// The files of packets.
    pub files: Files,
    /// The hosts in the recording, if needed.
    pub heard: OtherHosts,
    /// Packets that carry no message of a supported protocol, and those of TCP, by their ends, if needed.
    pub pairs: OtherPairs,
    /// Packets that were not wanted.
    pub passed_over: u64,
    /// Other traffic, by port, if no flow's protocol was identified.
    pub foreign: PortPackets,
    /// Packets that were cut before their protocol could be identified.
    pub cut: CutPackets,
    /// The results of rules, without passes that were reported individually.
    pub rules: RuleCounts,
    /// The counts of messages, if needed.
    pub traffic: Traffic,
    /// Messages that the display filter selected, or datagrams, if there is a filter.
    #[serde(skip)]
    pub selected: u64,
}

impl Totals {
    /// The earliest time of a packet; 0 without any.
    pub fn begin(&self) -> Time {
        self.span.map_or(Time(0), |[begin, _]| begin)
    }

    /// The latest time of a packet; 0 without any.
    pub fn end(&self) -> Time {
        self.span.map_or(Time(0), |[_, end]| end)
    }

    /// Whether the capture has packets of several days, in UTC.
    pub fn passes_midnight(&self) -> bool {
        self.span.is_some_and(|[begin, end]| begin.date() != end.date())
    }

    /// Adds the totals of another part of the same capture.
    pub fn add_share(&mut self, other: Totals) {
        self.flows = self.flows.saturating_add(other.flows);
        self.lossy |= other.lossy;
        self.dropped |= other.dropped;
        self.foreign.add(&other.foreign);
        self.heard.add(&other.heard);
        self.pairs.add(&other.pairs);
        self.cut.add(&other.cut);
        self.rules.add(&other.rules);
        self.traffic.add(other.traffic);
        self.selected += other.selected;
    }

    /// A text about the contents of a capture without supported traffic.
    pub fn no_traffic(&self) -> Option<String> {
        let packets = match self.packets {
            1 => "1 packet".to_owned(),
            packets => format!("{packets} packets"),
        };
        match (self.flows, self.packets) {
            (1.., _) => None,
            (0, 0) => Some("no packets".to_owned()),
            (0, all) if self.passed_over == all => {
                Some(format!("{packets}, none taken by the filter"))
            }
            (0, _) => Some(format!("{packets}, none of a supported protocol{}", self.foreign)),
        }
    }
}

/// The number of packets of a lower port, or of ICMP's echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// `udp`, `tcp` or `icmp`.
    pub transport: &'static str,
    /// The lower one of the two ports, usually the server's; 0 for ICMP, which has none.
    pub port: u16,
    /// Packets.
    pub packets: u64,
    /// The protocol of most of them, if it is known and not decoded.
    pub protocol: Option<&'static str>,
}

/// Packets by transport and port, such as those of other protocols. The lower of a packet's two ports counts,
/// because it is usually the server's. Packets are counted until the first flow's protocol is
/// identified, or to the end, if needed. Of which protocol a segment of TCP is, later ones may show: all
/// of them are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPackets {
    /// Packets are counted to the end.
    all: bool,
    /// By port; empty if there are none.
    #[serde(with = "by_port")]
    udp: Vec<u32>,
    #[serde(with = "by_port")]
    tcp: Vec<u32>,
    /// ICMP's echo requests and replies.
    echoes: [u64; 2],
}

/// The name of what is not carried by UDP or TCP.
const ICMP: &str = "icmp";

/// The names of its counted messages.
const ECHOES: [&str; 2] = ["ICMP echo request", "ICMP echo reply"];

/// Few ports have packets: only those are serialized.
mod by_port {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(counts: &[u32], to: S) -> Result<S::Ok, S::Error> {
        let counts = (0..=u16::MAX).zip(counts).filter(|(_, count)| **count > 0);
        to.collect_seq(Vec::from_iter(counts))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
        let counted = Vec::<(u16, u32)>::deserialize(from)?;
        let mut counts = vec![0; if counted.is_empty() { 0 } else { super::PORTS }];
        for (port, count) in counted {
            if let Some(place) = counts.get_mut(usize::from(port)) {
                *place = count;
            }
        }
        Ok(counts)
    }
}

impl PortPackets {
    /// Counts packets to the end, or those before the first supported flow.
    pub(super) fn counting(all: bool) -> PortPackets {
        PortPackets { all, ..PortPackets::default() }
    }

    /// The ports and echoes with their packets, most packets first.
    pub fn ports(&self) -> Vec<Port> {
        let of = |transport: Transport, counts: &[u32]| {
            let counted = (0..=u16::MAX).zip(counts).filter(|(_, count)| **count > 0);
            let transport = transport.name();
            let port = |(port, &count)| Port {
                transport,
                port,
                packets: u64::from(count),
                protocol: None,
            };
            Vec::from_iter(counted.map(port))
        };
        let mut ports = of(Transport::Udp, &self.udp);
        ports.extend(of(Transport::Tcp, &self.tcp));
        let echoes = ECHOES.iter().zip(self.echoes).filter(|(_, packets)| *packets > 0);
        ports.extend(echoes.map(|(name, packets)| Port {
            transport: ICMP,
            port: 0,
            packets,
            protocol: Some(*name),
        }));
        ports.sort_by_key(|it| Reverse(it.packets));
        ports
    }

    /// The number of packets of this transport.
    pub fn packets(&self, transport: Transport) -> u64 {
        let counts = match transport {
            Transport::Udp => &self.udp,
            Transport::Tcp => &self.tcp,
        };
        counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// Adds packets between two ports.
    #[inline]
    pub fn add_packets(&mut self, transport: Transport, ports: [u16; 2], packets: u64) {
        let port = ports[0].min(ports[1]);
        let counts = self.counts(transport);
        if counts.is_empty() {
            counts.resize(PORTS, 0);
        }
        if let Some(count) = counts.get_mut(usize::from(port)) {
            *count = count.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
        }
    }

    /// Counts packets for the second port that were counted for the first.
    pub fn move_packets(&mut self, transport: Transport, [from, to]: [u16; 2], packets: u64) {
        let counts = self.counts(transport);
        let Some(count) = counts.get_mut(usize::from(from)) else { return };
        let moved = (*count).min(u32::try_from(packets).unwrap_or(u32::MAX));
        *count -= moved;
        if let Some(count) = counts.get_mut(usize::from(to)) {
            *count = count.saturating_add(moved);
        }
    }

    /// The packets without those of `others`.
    #[must_use]
    pub fn without(mut self, others: &PortPackets) -> PortPackets {
        for (counts, others) in [(&mut self.udp, &others.udp), (&mut self.tcp, &others.tcp)] {
            for (count, other) in counts.iter_mut().zip(others) {
                *count = count.saturating_sub(*other);
            }
        }
        self
    }

    /// Adds a packet, unless a flow has a number and ends counting.
    #[inline]
    pub(super) fn see(&mut self, key: &FlowKey, numbers: &Numbers) {
        if self.all || numbers.given() == 0 {
            self.add_packets(key.transport, key.ports, 1);
        }
    }

    /// Adds a part of a ping, in the same way.
    pub(super) fn see_echo(&mut self, echo: Echo, numbers: &Numbers) {
        if self.all || numbers.given() == 0 {
            self.add_echo(echo);
        }
    }

    /// Adds a part of a ping.
    pub fn add_echo(&mut self, echo: Echo) {
        self.echoes[echo as usize] += 1;
    }

    fn counts(&mut self, transport: Transport) -> &mut Vec<u32> {
        match transport {
            Transport::Udp => &mut self.udp,
            Transport::Tcp => &mut self.tcp,
        }
    }

    /// Adds the packets of another part of the capture.
    pub fn add(&mut self, other: &PortPackets) {
        for (counts, more) in [(&mut self.udp, &other.udp), (&mut self.tcp, &other.tcp)] {
            counts.resize(counts.len().max(more.len()), 0);
            for (count, more) in counts.iter_mut().zip(more) {
                *count = count.saturating_add(*more);
            }
        }
        self.echoes.iter_mut().zip(other.echoes).for_each(|(count, more)| *count += more);
    }
}

impl fmt::Display for PortPackets {
    /// `; UDP ports 53, 27960; TCP port 80; ICMP echo`: those with most packets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.ports();
        for (name, transport) in [("UDP", Transport::Udp), ("TCP", Transport::Tcp)] {
            let most = all.iter().filter(|it| it.transport == transport.name());
            let more = most.clone().count().saturating_sub(NAMED);
            let mut ports: Vec<_> = most.take(NAMED).map(|it| it.port).collect();
            ports.sort_unstable();
            let mut ports: Vec<_> = ports.iter().map(u16::to_string).collect();
            if ports.is_empty() {
                continue;
            }
            let s = if ports.len() == 1 { "" } else { "s" };
            if more > 0 {
                ports.push(format!("{more} more"));
            }
            write!(f, "; {name} port{s} {}", ports.join(", "))?;
        }
        if self.echoes != [0; 2] {
            f.write_str("; ICMP echo")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_ports_are_named_those_with_most_packets_if_there_are_many() {
        let mut foreign = PortPackets::default();
        assert_eq!(foreign.to_string(), "");
        foreign.add_packets(Transport::Udp, [50_000, 27_960], 1);
        foreign.add_packets(Transport::Udp, [53, 50_001], 1);
        let mut tcp = PortPackets::default();
        tcp.add_packets(Transport::Tcp, [80, 50_000], 1);
        foreign.add(&tcp);
        assert_eq!(foreign.to_string(), "; UDP ports 53, 27960; TCP port 80");
        let mut echoes = PortPackets::default();
        for echo in [Echo::Request, Echo::Reply, Echo::Request] {
            echoes.add_echo(echo);
        }
        assert_eq!(echoes.to_string(), "; ICMP echo");
        let named = echoes.ports().iter().map(|it| (it.protocol, it.packets)).collect::<Vec<_>>();
        assert_eq!(named, [(Some(ECHOES[0]), 2), (Some(ECHOES[1]), 1)]);
        for port in 1..=10 {
            foreign.add_packets(Transport::Tcp, [100 + port, 50_000], port.into());
        }
        let many = "; TCP ports 103, 104, 105, 106, 107, 108, 109, 110, 3 more";
        assert!(foreign.to_string().ends_with(many), "{foreign}");
        let left = foreign.clone().without(&tcp).ports();
        assert_eq!(left.len(), foreign.ports().len() - 1, "TCP 80 had one packet");
        assert_eq!(left.first().map(|it| (it.port, it.packets)), Some((110, 10)));
    }
}
