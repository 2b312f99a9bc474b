//! Headers between two packets: GRE, VXLAN, Geneve, GTP-U.
//!
//! UDP ports are no proof: any program may use the ports of VXLAN, Geneve and GTP-U. So the header
//! must be right to the last reserved bit, and what follows must look like a packet; otherwise the
//! bytes stay a UDP payload.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::decode::{Walk, u16_be, u32_be};
use super::limits;
use super::link::ethernet_payload;
use super::packet::{Layer, Outcome, Tunnel};

mod port {
    pub(super) const GTP_U: u16 = 2152;
    pub(super) const VXLAN: u16 = 4789;
    pub(super) const GENEVE: u16 = 6081;
    /// Linux used this port before 4789 was assigned, and still does unless told otherwise.
    pub(super) const VXLAN_LINUX: u16 = 8472;
}

mod ether_type {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const ERSPAN_3: u16 = 0x22eb;
    pub(super) const ETHERNET: u16 = 0x6558;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const PPP: u16 = 0x880b;
    pub(super) const ERSPAN_2: u16 = 0x88be;
}

/// GRE header bits (RFC 2784, RFC 2890; acknowledgment: RFC 2637).
mod gre {
    pub(super) const CHECKSUM: u16 = 0x8000;
    pub(super) const ROUTING: u16 = 0x4000;
    pub(super) const KEY: u16 = 0x2000;
    pub(super) const SEQUENCE: u16 = 0x1000;
    pub(super) const ACKNOWLEDGMENT: u16 = 0x0080;
    pub(super) const VERSION: u16 = 0x0007;
}

/// A packet found in a UDP payload.
struct Inner<'a> {
    tunnel: Tunnel,
    identifier: u32,
    packet: InnerPacket<'a>,
}

enum InnerPacket<'a> {
    Ethernet(&'a [u8]),
    Ip(&'a [u8]),
}

/// Whether packets to this UDP port may hold others.
#[inline]
pub(super) fn is_port(port: u16) -> bool {
    matches!(port, port::VXLAN | port::VXLAN_LINUX | port::GENEVE | port::GTP_U)
}

impl<'a> Walk<'a> {
    /// The outcome of the packet inside a UDP payload, if there is one.
    #[inline]
    pub(super) fn inside_udp(&mut self, port: u16, payload: &'a [u8]) -> Option<Outcome<'a>> {
        if is_port(port) { self.inside_tunnel(port, payload) } else { None }
    }

    fn inside_tunnel(&mut self, port: u16, payload: &'a [u8]) -> Option<Outcome<'a>> {
        let cut = self.cut > 0;
        let inner = match port {
            port::VXLAN | port::VXLAN_LINUX => vxlan(payload)?,
            port::GENEVE => geneve(payload)?,
            port::GTP_U => gtp_u(payload, cut)?,
            _ => return None,
        };
        let likely = match inner.packet {
            InnerPacket::Ethernet(frame) => looks_like_ethernet(frame, cut),
            InnerPacket::Ip(packet) => looks_like_ip(packet, cut),
        };
        if !likely {
            return None;
        }
        if let Err(malformed) = self.enter(inner.tunnel, Some(inner.identifier)) {
            return Some(Outcome::Malformed(malformed));
        }
        Some(match inner.packet {
            InnerPacket::Ethernet(frame) => self.ethernet(frame),
            InnerPacket::Ip(packet) => self.ip(packet),
        })
    }

    pub(super) fn gre(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(header) = GreHeader::parse(bytes) else {
            return self.short(Layer::Tunnel);
        };
        match (header.version, header.protocol) {
            _ if header.routed => Outcome::Other,
            (0, ether_type::ERSPAN_2 | ether_type::ERSPAN_3) => self.erspan(&header),
            (0, protocol) => match self.enter(Tunnel::Gre, header.key) {
                Err(malformed) => Outcome::Malformed(malformed),
                Ok(()) if protocol == ether_type::ETHERNET => self.ethernet(header.payload),
                Ok(()) => self.ether_type(protocol, header.payload),
            },
            // PPTP (RFC 2637): the low half of the key is the call; a mere acknowledgment has no
            // sequence number and no payload.
            (1, ether_type::PPP) if header.sequence.is_some() => {
                match self.enter(Tunnel::Gre, header.key.map(|key| key & 0xffff)) {
                    Err(malformed) => Outcome::Malformed(malformed),
                    Ok(()) => self.ppp(header.payload),
                }
            }
            _ => Outcome::Other,
        }
    }

    /// Type I has neither sequence number nor header, type II and III have both.
    fn erspan(&mut self, gre: &GreHeader<'a>) -> Outcome<'a> {
        let (session, frame) = match (gre.protocol, gre.sequence) {
            (ether_type::ERSPAN_2, None) => (None, Some(gre.payload)),
            (ether_type::ERSPAN_2, Some(_)) => {
                (u32_be(gre.payload).map(|(word, _)| word & 0x3ff), gre.payload.get(8..))
            }
            _ => {
                let platform = gre.payload.get(11).is_some_and(|byte| byte & 1 == 1);
                let length = if platform { 20 } else { 12 };
                (u32_be(gre.payload).map(|(word, _)| word & 0x3ff), gre.payload.get(length..))
            }
        };
        let Some(frame) = frame else {
            return self.short(Layer::Tunnel);
        };
        match self.enter(Tunnel::Erspan, session) {
            Err(malformed) => Outcome::Malformed(malformed),
            Ok(()) => self.ethernet(frame),
        }
    }
}

struct GreHeader<'a> {
    version: u16,
    routed: bool,
    protocol: u16,
    key: Option<u32>,
    sequence: Option<u32>,
    payload: &'a [u8],
}

impl<'a> GreHeader<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (flags, rest) = u16_be(bytes)?;
        let (protocol, mut rest) = u16_be(rest)?;
        let mut word = |present: u16| -> Option<Option<u32>> {
            if flags & present == 0 {
                return Some(None);
            }
            let (word, behind) = u32_be(rest)?;
            rest = behind;
            Some(Some(word))
        };
        word(gre::CHECKSUM | gre::ROUTING)?;
        let key = word(gre::KEY)?;
        let sequence = word(gre::SEQUENCE)?;
        let version = flags & gre::VERSION;
        if version == 1 {
            word(gre::ACKNOWLEDGMENT)?;
        }
        let routed = flags & gre::ROUTING != 0;
        Some(Self { version, routed, protocol, key, sequence, payload: rest })
    }
}

/// RFC 7348, section 5: the I flag set; all else is reserved.
fn vxlan(payload: &[u8]) -> Option<Inner<'_>> {
    let (&[flags, policy, _, _, a, b, c, _], frame) = payload.split_first_chunk()?;
    // Beside the I bit only those of the group policy extension (G; D and A) are set by anybody.
    if flags & !0x80 != 0x08 || policy & !0x48 != 0 {
        return None;
    }
    let identifier = u32::from_be_bytes([0, a, b, c]);
    Some(Inner { tunnel: Tunnel::Vxlan, identifier, packet: InnerPacket::Ethernet(frame) })
}

/// RFC 8926, section 3.4; control packets (the O bit) carry no traffic.
fn geneve(payload: &[u8]) -> Option<Inner<'_>> {
    let (&[version_length, flags, high, low, a, b, c, 0], rest) = payload.split_first_chunk()?
    else {
        return None;
    };
    let (version, words) = (version_length >> 6, version_length & 0x3f);
    // Of the flags only C (critical options are present) may be set.
    if version != 0 || flags & !0x40 != 0 {
        return None;
    }
    let rest = rest.get(usize::from(words).saturating_mul(4)..)?;
    let packet = match u16::from_be_bytes([high, low]) {
        ether_type::ETHERNET => InnerPacket::Ethernet(rest),
        ether_type::IPV4 | ether_type::IPV6 => InnerPacket::Ip(rest),
        _ => return None,
    };
    let identifier = u32::from_be_bytes([0, a, b, c]);
    Some(Inner { tunnel: Tunnel::Geneve, identifier, packet })
}

/// 3GPP TS 29.281, section 5.1: version 1, protocol type GTP, message type G-PDU.
fn gtp_u(payload: &[u8], cut: bool) -> Option<Inner<'_>> {
    let (&[flags, 0xff, high, low, a, b, c, d], rest) = payload.split_first_chunk()? else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let fits = length == rest.len() || (cut && length > rest.len());
    if flags & 0xf8 != 0x30 || !fits {
        return None;
    }
    let packet = match flags & 0x07 {
        0 => rest,
        // Any of the three flags brings all three fields; they count only if their flag is set.
        optional => {
            let (&[_, _, _, next], rest) = rest.split_first_chunk()?;
            if optional & 0x04 != 0 { gtp_extensions(next, rest)? } else { rest }
        }
    };
    let identifier = u32::from_be_bytes([a, b, c, d]);
    Some(Inner { tunnel: Tunnel::GtpU, identifier, packet: InnerPacket::Ip(packet) })
}

/// Each extension header begins with its length in words and ends with the type of the next one.
fn gtp_extensions(mut next: u8, mut rest: &[u8]) -> Option<&[u8]> {
    for _ in 0..limits::GTP_EXTENSIONS {
        if next == 0 {
            return Some(rest);
        }
        let length = usize::from(*rest.first()?).checked_mul(4).filter(|length| *length > 0)?;
        let (header, behind) = rest.split_at_checked(length)?;
        next = *header.last()?;
        rest = behind;
    }
    None
}

/// An IP header with lengths that fit; `cut` says that bytes may be missing at the end.
pub(super) fn looks_like_ip(bytes: &[u8], cut: bool) -> bool {
    let fits = |length: usize| length <= bytes.len() || cut;
    match bytes {
        [first @ 0x45..=0x4f, _, high, low, ..] if bytes.len() >= 20 => {
            let header = usize::from(first & 0x0f).saturating_mul(4);
            let total = usize::from(u16::from_be_bytes([*high, *low]));
            fits(header) && header <= total && fits(total)
        }
        [0x60..=0x6f, _, _, _, high, low, ..] if bytes.len() >= 40 => {
            fits(usize::from(u16::from_be_bytes([*high, *low])).saturating_add(40))
        }
        _ => false,
    }
}

/// An Ethernet frame that carries IP.
pub(super) fn looks_like_ethernet(bytes: &[u8], cut: bool) -> bool {
    match ethernet_payload(bytes) {
        Some((ether_type::IPV4, rest)) => {
            rest.first().is_some_and(|byte| byte >> 4 == 4) && looks_like_ip(rest, cut)
        }
        Some((ether_type::IPV6, rest)) => {
            rest.first().is_some_and(|byte| byte >> 4 == 6) && looks_like_ip(rest, cut)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::decode;
    use crate::net::test_packets::*;

    fn uncut(packet: &[u8]) -> Outcome<'_> {
        decode(LinkType::RAW, packet, packet.len() as u32)
    }

    #[track_caller]
    fn through(packet: &[u8], kinds: &[Tunnel], identifier: Option<u32>) {
        is_query(packet, uncut(packet));
        let tunnels = datagram(uncut(packet)).ip.tunnels;
        assert_eq!(tunnels.iter().collect::<Vec<_>>(), kinds);
        assert_eq!(tunnels.identifier(), identifier);
        survives_cuts(LinkType::RAW, packet);
    }

    fn inner() -> Vec<u8> {
        ipv4(17, &query())
    }

    fn frame() -> Vec<u8> {
        ethernet(0x0800, &inner())
    }

    /// Outer addresses are those of the inner packet turned round, so that a test would notice.
    fn turned(mut packet: Vec<u8>) -> Vec<u8> {
        let (source, destination) = packet[12..20].split_at_mut(4);
        source.swap_with_slice(destination);
        packet
    }

    fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
        turned(ipv4(protocol, payload))
    }

    fn outer_udp(port: u16, payload: &[u8]) -> Vec<u8> {
        outer(17, &udp(40_000, port, payload))
    }

    #[test]
    fn ip_in_ip() {
        through(&outer(4, &inner()), &[Tunnel::Ipv4InIp], None);
        let packet = ipv6(4, &inner());
        through(&packet, &[Tunnel::Ipv4InIp], None);
        let packet = outer(41, &ipv6(17, &query()));
        is_query6(&packet, uncut(&packet));
        survives_cuts(LinkType::RAW, &packet);
    }

    #[test]
    fn gre_with_every_set_of_fields() {
        for bits in 0..8u16 {
            let (mut checksum, mut key, mut sequence) = (vec![], vec![], vec![]);
            if bits & 1 != 0 {
                checksum = vec![0x12, 0x34, 0, 0];
            }
            if bits & 2 != 0 {
                key = vec![0, 0, 0, 42];
            }
            if bits & 4 != 0 {
                sequence = vec![0, 0, 0, 9];
            }
            let flags = (bits & 1) << 15 | (bits & 2) << 12 | (bits & 4) << 10;
            let header = cat(&[&flags.to_be_bytes(), b"\x08\x00", &checksum, &key, &sequence]);
            let packet = outer(47, &cat(&[&header, &inner()]));
            through(&packet, &[Tunnel::Gre], (bits & 2 != 0).then_some(42));
        }
    }

    #[test]
    fn gre_payload_types() {
        through(&outer(47, &cat(&[b"\0\0\x65\x58", &frame()])), &[Tunnel::Gre], None);
        let packet = outer(47, &cat(&[b"\0\0\x86\xdd", &ipv6(17, &query())]));
        is_query6(&packet, uncut(&packet));
        let packet = outer(47, &cat(&[b"\0\0\x88\x47\0\x01\x41\x40", &inner()]));
        through(&packet, &[Tunnel::Gre, Tunnel::Mpls], Some(20));
        let routed = outer(47, &cat(&[b"\x40\0\x08\0\0\0\0\0", &inner()]));
        assert_eq!(uncut(&routed), Outcome::Other);
        let unknown = outer(47, &cat(&[b"\0\0\x99\x99", &inner()]));
        assert_eq!(uncut(&unknown), Outcome::Other);
    }

    #[test]
    fn pptp() {
        let header = b"\x30\x81\x88\x0b\0\x40\0\x07\0\0\0\x01\0\0\0\x02\xff\x03\0\x21";
        through(&outer(47, &cat(&[header, &inner()])), &[Tunnel::Gre], Some(7));
        let acknowledgment = outer(47, b"\x20\x81\x88\x0b\0\0\0\x07\0\0\0\x02");
        assert_eq!(uncut(&acknowledgment), Outcome::Other);
    }

    #[test]
    fn erspan_of_three_types() {
        through(&outer(47, &cat(&[b"\0\0\x88\xbe", &frame()])), &[Tunnel::Erspan], None);
        let second = cat(&[b"\x10\0\x88\xbe\0\0\0\x05\x10\x01\x00\x21\0\0\0\0", &frame()]);
        through(&outer(47, &second), &[Tunnel::Erspan], Some(0x21));
        for (options, platform) in [(0u8, 0), (1, 8)] {
            let header = cat(&[
                b"\x10\0\x22\xeb\0\0\0\x05\x20\x01\x00\x22\0\0\0\0\0\0\0",
                &[options],
                &vec![0; platform],
            ]);
            through(&outer(47, &cat(&[&header, &frame()])), &[Tunnel::Erspan], Some(0x22));
        }
    }

    #[test]
    fn vxlan_on_both_ports() {
        for port in [4789, 8472] {
            let packet = outer_udp(port, &cat(&[b"\x08\0\0\0\x01\x02\x03\0", &frame()]));
            through(&packet, &[Tunnel::Vxlan], Some(0x010203));
        }
        // With a group policy, and with a reserved byte that is to be ignored.
        for header in [b"\x88\x48\0\x07\x01\x02\x03\0", b"\x08\0\0\0\x01\x02\x03\x01"] {
            let packet = outer_udp(4789, &cat(&[header, &frame()]));
            through(&packet, &[Tunnel::Vxlan], Some(0x010203));
        }
        let tagged = ethernet(0x8100, &vlan(9, 0x0800, &inner()));
        let packet = outer_udp(4789, &cat(&[b"\x08\0\0\0\0\0\x03\0", &tagged]));
        through(&packet, &[Tunnel::Vxlan], Some(3));
    }

    #[test]
    fn geneve_with_options() {
        for (words, protocol, payload) in
            [(0u8, [0x65, 0x58], frame()), (3, [0x65, 0x58], frame()), (1, [0x08, 0x00], inner())]
        {
            let options = vec![0x80; usize::from(words) * 4];
            let header = cat(&[&[words, 0x40], &protocol, b"\0\0\x77\0", &options]);
            let packet = outer_udp(6081, &cat(&[&header, &payload]));
            through(&packet, &[Tunnel::Geneve], Some(0x77));
        }
    }

    fn gtp(flags: u8, optional: &[u8], payload: &[u8]) -> Vec<u8> {
        let length = ((optional.len() + payload.len()) as u16).to_be_bytes();
        cat(&[&[flags, 0xff], &length, b"\0\0\x12\x34", optional, payload])
    }

    #[test]
    fn gtp_with_optional_fields_and_extensions() {
        let kinds = [Tunnel::GtpU];
        through(&outer_udp(2152, &gtp(0x30, &[], &inner())), &kinds, Some(0x1234));
        through(&outer_udp(2152, &gtp(0x32, &[0, 1, 0, 0x85], &inner())), &kinds, Some(0x1234));
        let session = b"\0\0\0\x85\x01\x00\x09\xc0\x02\0\0\0\0\0\0\0";
        through(&outer_udp(2152, &gtp(0x34, session, &inner())), &kinds, Some(0x1234));
        let endless = b"\0\0\0\x85\x00\x00\x09\x85";
        let packet = outer_udp(2152, &gtp(0x34, endless, &inner()));
        assert_eq!(datagram(uncut(&packet)).destination_port, 2152);
    }

    #[test]
    fn other_traffic_on_tunnel_ports_stays_what_it_is() {
        let payloads: [(u16, Vec<u8>); 15] = [
            (4789, QUERY.to_vec()),
            (8472, b"\\status\\".to_vec()),
            (6081, b"\xfe\xfd\x09\0\0\0\0".to_vec()),
            (2152, QUERY.to_vec()),
            (4789, vec![]),
            // Each is a tunnel's packet but for one bit.
            (4789, cat(&[b"\x00\0\0\0\x01\x02\x03\0", &frame()])),
            (4789, cat(&[b"\x0C\0\0\0\x01\x02\x03\0", &frame()])),
            (4789, cat(&[b"\x08\x01\0\0\x01\x02\x03\0", &frame()])),
            (4789, cat(&[b"\x08\0\0\0\x01\x02\x03\0", &ethernet(0x0806, &inner())])),
            (4789, cat(&[b"\x08\0\0\0\x01\x02\x03\0", &frame()[..50]])),
            (6081, cat(&[b"\x40\0\x65\x58\0\0\x01\0", &frame()])),
            (6081, cat(&[b"\x00\x80\x65\x58\0\0\x01\0", &frame()])),
            (6081, cat(&[b"\x3f\0\x65\x58\0\0\x01\0", &frame()])),
            (2152, gtp(0x38, &[], &inner())),
            (2152, cat(&[&gtp(0x30, &[], &inner()), b"\0"])),
        ];
        for (port, payload) in payloads {
            let packet = outer_udp(port, &payload);
            let datagram = datagram(uncut(&packet));
            assert_eq!(datagram.destination_port, port);
            assert_eq!(datagram.payload.bytes, payload);
            assert!(datagram.ip.tunnels.is_empty());
        }
    }

    #[test]
    fn too_many_tunnels_are_malformed() {
        let mut packet = inner();
        for _ in 0..limits::TUNNELS {
            packet = ipv4(4, &packet);
        }
        through(&packet, &[Tunnel::Ipv4InIp; limits::TUNNELS], None);
        let packet = ipv4(4, &packet);
        assert!(matches!(uncut(&packet), Outcome::Malformed(_)));
    }

    #[test]
    fn a_fragment_of_the_outer_packet_comes_first() {
        let mut packet = outer(4, &inner());
        packet[6] = 0x20;
        assert!(matches!(uncut(&packet), Outcome::Fragment(_)));
    }
}
