//! A fast path for ordinary packets, which nearly all packets are: UDP, TCP and fragments over IPv4
//! without options and Ethernet without tags. It has the same results as
//! [`decode`](super::decode()), in a quarter of the time.

use std::net::Ipv4Addr;

use super::ip_defrag::Joined;
use super::outcome::Outcome;
use super::packet::{
    Datagram, Fragment, Headers, Ip, LinkTags, PacketDirection, Segment, TcpFlags, TransportPayload,
};
use super::protocol::{TCP, UDP};
use super::tunnels::Tunnels;
use super::udp_tunnel;
use crate::capture::LinkType;

const ETHERNET: usize = 14;
/// Where the transport's header begins.
const TRANSPORT: usize = ETHERNET + 20;
/// Minimum length of the headers before a datagram's payload.
const HEADERS: usize = TRANSPORT + 8;

/// An ordinary packet.
#[derive(Clone, Copy, Debug)]
pub struct Glance<'a> {
    head: &'a [u8; HEADERS],
    /// Up to the end of the IP packet.
    data: &'a [u8],
    /// Where the payload begins.
    payload: usize,
}

/// Recognizes an ordinary packet. `None` if [`decode`](super::decode()) might find anything other
/// than a whole UDP datagram, TCP segment or fragment.
#[inline]
pub fn glance(link: LinkType, data: &[u8]) -> Option<Glance<'_>> {
    let head: &[u8; HEADERS] = data.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let total = usize::from(word(16));
    let is_ordinary = link == LinkType::ETHERNET
        && word(12) == 0x0800
        && head[14] == 0x45
        && total >= HEADERS - ETHERNET;
    if !is_ordinary {
        return None;
    }
    let (data, carried) = (data.get(..ETHERNET + total)?, total - 20);
    let payload = match head[23] {
        _ if is_fragment(head) => TRANSPORT,
        UDP if usize::from(word(38)) == carried && !udp_tunnel::is_port(word(36)) => HEADERS,
        TCP => {
            let length = usize::from(data.get(46)? >> 4) * 4;
            if length < 20 || length > carried {
                return None;
            }
            TRANSPORT + length
        }
        _ => return None,
    };
    Some(Glance { head, data, payload })
}

/// Whether the IPv4 header has an offset, or says that more fragments follow.
#[inline]
fn is_fragment(head: &[u8; HEADERS]) -> bool {
    u16::from_be_bytes([head[20], head[21]]) & 0x3FFF != 0
}

/// The acknowledgment and the flags of a segment.
#[inline]
fn acknowledged(tcp: &[u8; 20]) -> (u32, TcpFlags) {
    (u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]), TcpFlags(tcp[13]))
}

impl<'a> Glance<'a> {
    /// The source and the destination.
    #[inline]
    pub fn hosts(&self) -> [Ipv4Addr; 2] {
        [Ipv4Addr::from(self.double(26)), Ipv4Addr::from(self.double(30))]
    }

    /// The source and the destination port, of what is not a fragment.
    #[inline]
    pub fn ports(&self) -> [u16; 2] {
        [self.word(34), self.word(36)]
    }

    /// The hop limit, and the IPv4 identification.
    #[inline]
    pub fn head(&self) -> (u8, u16) {
        (self.head[22], self.word(18))
    }

    /// The payload of the datagram or the segment.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.data.get(self.payload..).unwrap_or_default()
    }

    /// Whether a datagram of UDP is in it, not a segment of TCP.
    #[inline]
    pub fn is_udp(&self) -> bool {
        self.head[23] == UDP
    }

    /// Whether this is a part of a datagram only.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        is_fragment(self.head)
    }

    /// The datagram, the segment or the fragment.
    #[inline]
    pub fn outcome(&self) -> Outcome<'a> {
        let [source, destination] = self.hosts();
        let (source, destination) = (source.into(), destination.into());
        let (hop_limit, vlan) = (self.head[22], None);
        let (tags, tunnels) = (LinkTags::default(), Tunnels::default());
        let direction = PacketDirection::Unknown;
        let ip = Ip { source, destination, hop_limit, direction, vlan, tags, tunnels };
        let note = None;
        let [source_port, destination_port] = self.ports();
        let bytes = self.payload();
        let (offset, announced) = (self.payload as u32, bytes.len() as u32);
        let payload = TransportPayload { bytes, offset, announced, snapped: false };
        let ipv4 = self.data.get(ETHERNET..TRANSPORT).unwrap_or_default();
        if self.is_fragment() {
            let (flags, headers) = (self.word(20), Headers { ipv4, transport: &[] });
            return Outcome::Fragment(Fragment {
                ip,
                identification: self.word(18).into(),
                protocol: self.head[23],
                at: u32::from(flags & 0x1FFF) * 8,
                more: flags & 0x2000 != 0,
                payload,
                note,
                headers,
            });
        }
        let transport = self.data.get(TRANSPORT..).unwrap_or_default();
        let headers = Headers { ipv4, transport };
        if self.is_udp() {
            return Outcome::Udp(Datagram {
                ip,
                source_port,
                destination_port,
                payload,
                note,
                headers,
            });
        }
        let tcp = self.tcp();
        let (acknowledgment, flags) = acknowledged(tcp);
        Outcome::Tcp(Segment {
            ip,
            source_port,
            destination_port,
            sequence: self.double(38),
            acknowledgment,
            flags,
            window: u16::from_be_bytes([tcp[14], tcp[15]]),
            payload,
            note,
            headers,
        })
    }

    /// A segment's header, without its options.
    #[inline]
    fn tcp(&self) -> &'a [u8; 20] {
        let header = self.data.get(TRANSPORT..).and_then(<[u8]>::first_chunk);
        header.unwrap_or(&[0; 20])
    }

    #[inline]
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.head[at], self.head[at + 1]])
    }

    #[inline]
    fn double(&self, at: usize) -> u32 {
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
    }
}

impl Joined<'_> {
    /// Whether this is a UDP datagram between the hosts of its first fragment; `false` if
    /// [`decode_ip_payload`](super::decode_ip_payload) might find anything else.
    pub fn is_udp(&self) -> bool {
        let &[_, _, port_high, port_low, high, low, _, _] = self.head else { return false };
        let length = u16::from_be_bytes([high, low]);
        // A length of 0 means all remaining bytes.
        self.protocol == UDP
            && !(1..8).contains(&length)
            && !udp_tunnel::is_port(u16::from_be_bytes([port_high, port_low]))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::net::test_packets::*;
    use crate::net::{Datagram, Outcome, decode, decode_ip_payload};

    /// The fast path has the same result as decoding.
    fn agrees(packet: &[u8]) -> bool {
        let Some(glance) = glance(LinkType::ETHERNET, packet) else { return false };
        for cut in [0, 1] {
            let decoded = decode(LinkType::ETHERNET, packet, packet.len() as u32 + cut);
            assert_eq!(glance.outcome(), decoded);
            let ip = match decoded {
                Outcome::Udp(datagram) => datagram.ip,
                Outcome::Tcp(segment) => segment.ip,
                Outcome::Fragment(fragment) => fragment.ip,
                other => panic!("reported at a glance, but decoded as {other:?}"),
            };
            assert_eq!([ip.source, ip.destination], glance.hosts().map(IpAddr::V4));
        }
        true
    }

    fn ordinary() -> [Vec<u8>; 4] {
        let segment = ipv4(6, &tcp(80, 50_000, 0x18, b"HTTP/1.1"));
        let [first, last] = [(17, 0x2000), (4, 185)]
            .map(|(protocol, at)| ipv4_with(protocol, &[], 7, at, &query()));
        [ipv4(17, &query()), segment, first, last].map(|packet| ethernet(0x0800, &packet))
    }

    #[test]
    fn ordinary_packets_are_reported() {
        for mut packet in ordinary() {
            assert!(agrees(&packet));
            packet.extend([0; 18]);
            assert!(agrees(&packet), "with the padding of short frames");
        }
    }

    #[test]
    fn unusual_packets_are_not_handled_at_a_glance() {
        let inner = ipv4(17, &query());
        for packet in [
            ethernet(0x8100, &vlan(7, 0x0800, &inner)),
            ethernet(0x86DD, &ipv6(17, &query())),
            ethernet(0x0800, &ipv4_with(17, &[1; 4], 1, 0, &query())),
            ethernet(0x0800, &ipv4(17, &udp(9, 4789, &inner))),
            ethernet(0x0800, &ipv4(4, &inner)),
        ] {
            assert!(glance(LinkType::ETHERNET, &packet).is_none());
        }
        let [datagram, ..] = ordinary();
        assert!(glance(LinkType::RAW, &datagram).is_none());
        for length in 0..datagram.len() {
            let cut = &datagram[..length];
            assert!(glance(LinkType::ETHERNET, cut).is_none(), "cut at {length}");
        }
    }

    /// The fast path has the same result for a joined datagram as decoding.
    fn agrees_when_joined(protocol: u8, bytes: &[u8]) -> bool {
        let first = ipv4(17, &query());
        let Outcome::Udp(Datagram { ip, .. }) = decode(LinkType::RAW, &first, 0) else { panic!() };
        let head = bytes.get(..8).unwrap_or(bytes);
        let joined = Joined { ip: &ip, protocol, head, length: bytes.len() as u32 };
        if !joined.is_udp() {
            return false;
        }
        match decode_ip_payload(ip, protocol, bytes) {
            Outcome::Udp(datagram) => assert_eq!(datagram.ip, ip),
            other => panic!("reported at a glance, but decoded as {other:?}"),
        }
        true
    }

    #[test]
    fn joined_datagrams_are_reported() {
        assert!(agrees_when_joined(17, &query()));
        assert!(agrees_when_joined(17, &udp(1, 2, &[])));
        assert!(!agrees_when_joined(17, &query()[..7]));
        assert!(!agrees_when_joined(17, &udp(9, 4789, &query())));
        assert!(!agrees_when_joined(6, &tcp(80, 50_000, 0x18, b"HTTP/1.1")));
        assert!(!agrees_when_joined(4, &ipv4(17, &query())));
    }

    proptest! {
        #[test]
        fn nor_of_a_joined_datagram(
            protocol in prop_oneof![Just(17u8), any::<u8>()],
            changes in prop::collection::vec((0usize..8, any::<u8>()), 0..3),
            length in 0usize..40,
        ) {
            let mut bytes = query();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes.truncate(length);
            agrees_when_joined(protocol, &bytes);
        }

        #[test]
        fn a_glance_never_tells_what_decoding_does_not(
            which in 0usize..4,
            changes in prop::collection::vec((0usize..60, any::<u8>()), 0..4),
            length in 0usize..120,
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut packet = ordinary()[which].clone();
            packet.extend(tail);
            for (at, byte) in changes {
                if let Some(place) = packet.get_mut(at) {
                    *place = byte;
                }
            }
            packet.truncate(length.max(20));
            agrees(&packet);
        }

        #[test]
        fn nor_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let mut packet = ethernet(0x0800, &bytes);
            agrees(&packet);
            if let Some(place) = packet.get_mut(14) {
                *place = 0x45;
            }
            agrees(&packet);
        }
    }
}
