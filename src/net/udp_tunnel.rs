//! Packets inside of UDP: VXLAN, Geneve, GTP-U, L2TP, Teredo, TZSP.
//!
//! Ports prove nothing, because any program may use them. Therefore the header must be valid up to
//! the last reserved bit, and the payload must look like a packet; otherwise the bytes are an
//! ordinary UDP payload.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::outcome::Outcome;
use super::packet::Fragment;
use super::tunnels::Tunnel;
use super::walk::{Walk, u16_be, u32_be};
use super::{ether_type, limits, looks_like, protocol};

mod port {
    pub(super) const GTP_U: u16 = 2152;
    pub(super) const VXLAN: u16 = 4789;
    pub(super) const GENEVE: u16 = 6081;
    /// Linux used this port before 4789 was assigned, and still does unless configured otherwise.
    pub(super) const VXLAN_LINUX: u16 = 8472;
    pub(super) const VXLAN_GPE: u16 = 4790;
    pub(super) const L2TP: u16 = 1701;
    pub(super) const TEREDO: u16 = 3544;
    pub(super) const MPLS: u16 = 6635;
    pub(super) const TZSP: u16 = 37008;
}

/// A packet found in a UDP payload.
struct Inner<'a> {
    tunnel: Tunnel,
    identifier: Option<u32>,
    packet: InnerPacket<'a>,
}

enum InnerPacket<'a> {
    Ethernet(&'a [u8]),
    Ip(&'a [u8]),
    /// A label stack, which is a tunnel itself.
    Mpls(&'a [u8]),
}

/// Whether packets to this UDP port may contain others.
#[inline]
pub(super) fn is_port(port: u16) -> bool {
    matches!(
        port,
        port::VXLAN
            | port::VXLAN_LINUX
            | port::VXLAN_GPE
            | port::GENEVE
            | port::GTP_U
            | port::L2TP
            | port::TEREDO
            | port::MPLS
            | port::TZSP
    )
}

impl Fragment<'_> {
    /// Whether its datagram may contain another packet, as far as this part shows.
    pub fn may_be_tunnel(&self) -> bool {
        match self.protocol {
            protocol::ICMP | protocol::ICMP6 | protocol::TCP => false,
            protocol::UDP => {
                let port = self.payload.bytes.get(2..4).and_then(<[u8]>::first_chunk);
                self.at == 0 && port.is_none_or(|port| is_port(u16::from_be_bytes(*port)))
            }
            _ => true,
        }
    }
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
            port::VXLAN_GPE => vxlan_gpe(payload)?,
            port::L2TP => l2tp(payload)?,
            port::TEREDO => teredo(payload)?,
            port::TZSP => tzsp(payload)?,
            port::MPLS if looks_like::mpls(payload, cut) => return Some(self.mpls(payload)),
            _ => return None,
        };
        let likely = match inner.packet {
            InnerPacket::Ethernet(frame) => looks_like::ethernet(frame, cut),
            InnerPacket::Ip(packet) => looks_like::ip(packet, cut),
            InnerPacket::Mpls(packet) => looks_like::mpls(packet, cut),
        };
        if !likely {
            return None;
        }
        if let Err(malformed) = self.enter(inner.tunnel, inner.identifier) {
            return Some(Outcome::Malformed(malformed));
        }
        Some(match inner.packet {
            InnerPacket::Ethernet(frame) => self.ethernet(frame),
            InnerPacket::Ip(packet) => self.ip(packet),
            InnerPacket::Mpls(packet) => self.mpls(packet),
        })
    }
}

/// RFC 7348, section 5: the I flag set; all else is reserved.
fn vxlan(payload: &[u8]) -> Option<Inner<'_>> {
    let (&[flags, policy, _, _, a, b, c, _], frame) = payload.split_first_chunk()?;
    // Besides the I bit, only those of the group policy extension (G; D and A) are used in
    // practice.
    if flags & !0x80 != 0x08 || policy & !0x48 != 0 {
        return None;
    }
    let identifier = u32::from_be_bytes([0, a, b, c]);
    let (tunnel, identifier) = (Tunnel::Vxlan, Some(identifier));
    Some(Inner { tunnel, identifier, packet: InnerPacket::Ethernet(frame) })
}

/// draft-ietf-nvo3-vxlan-gpe, section 3: the I flag, and the P flag with what follows.
fn vxlan_gpe(payload: &[u8]) -> Option<Inner<'_>> {
    let (&[flags, 0, 0, next, a, b, c, _], rest) = payload.split_first_chunk()? else {
        return None;
    };
    if flags & 0x3c != 0x0c {
        return None;
    }
    let packet = match next {
        1 | 2 => InnerPacket::Ip(rest),
        3 => InnerPacket::Ethernet(rest),
        5 => InnerPacket::Mpls(rest),
        _ => return None,
    };
    let identifier = Some(u32::from_be_bytes([0, a, b, c]));
    Some(Inner { tunnel: Tunnel::VxlanGpe, identifier, packet })
}

/// RFC 4380, section 5.1.1: authentication and the origin's address may come before the IPv6 packet.
fn teredo(payload: &[u8]) -> Option<Inner<'_>> {
    let mut rest = payload;
    if let [0x00, 0x01, client, authentication, after @ ..] = rest {
        let lengths = usize::from(*client).saturating_add(usize::from(*authentication));
        // A nonce of eight bytes and a byte of confirmation.
        rest = after.get(lengths.saturating_add(9)..)?;
    }
    if let [0x00, 0x00, _, _, _, _, _, _, after @ ..] = rest {
        rest = after;
    }
    let is_ipv6 = matches!(rest, [0x60..=0x6f, ..]);
    let packet = InnerPacket::Ip(rest);
    is_ipv6.then_some(Inner { tunnel: Tunnel::Teredo, identifier: None, packet })
}

/// RFC 2661, section 3.1: a data message of version 2, with IP in PPP.
fn l2tp(payload: &[u8]) -> Option<Inner<'_>> {
    let (flags, mut rest) = u16_be(payload)?;
    let has = |bit: u16| flags & bit != 0;
    // A control message, or bits that are reserved.
    if flags & 0x000f != 2 || has(0x8000) || has(0x34f0) {
        return None;
    }
    if has(0x4000) {
        let (length, after) = u16_be(rest)?;
        (usize::from(length) >= 8).then_some(())?;
        rest = after;
    }
    let (identifier, after) = u32_be(rest)?;
    rest = after;
    if has(0x0800) {
        rest = rest.get(4..)?;
    }
    if has(0x0200) {
        let (offset, after) = u16_be(rest)?;
        rest = after.get(usize::from(offset)..)?;
    }
    let rest = rest.strip_prefix(&[0xff, 0x03]).unwrap_or(rest);
    let packet = match rest {
        [0x00, 0x21 | 0x57, packet @ ..] | [0x21 | 0x57, packet @ ..] => InnerPacket::Ip(packet),
        _ => return None,
    };
    Some(Inner { tunnel: Tunnel::L2tp, identifier: Some(identifier), packet })
}

/// TZSP, version 1: a received frame of Ethernet, after fields that end with one of type 1.
fn tzsp(payload: &[u8]) -> Option<Inner<'_>> {
    let (&[1, 0, 0, 1], mut rest) = payload.split_first_chunk()? else { return None };
    for _ in 0..limits::LAYERS {
        match rest {
            [0, after @ ..] => rest = after,
            [1, frame @ ..] => {
                let packet = InnerPacket::Ethernet(frame);
                return Some(Inner { tunnel: Tunnel::Tzsp, identifier: None, packet });
            }
            [_, length, after @ ..] => rest = after.get(usize::from(*length)..)?,
            _ => return None,
        }
    }
    None
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
    Some(Inner { tunnel: Tunnel::Geneve, identifier: Some(identifier), packet })
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
    let (tunnel, identifier) = (Tunnel::GtpU, Some(identifier));
    Some(Inner { tunnel, identifier, packet: InnerPacket::Ip(packet) })
}

/// Each extension header begins with its length in words and ends with the type of the next one.
fn gtp_extensions(mut next: u8, mut rest: &[u8]) -> Option<&[u8]> {
    for _ in 0..limits::GTP_EXTENSIONS {
        if next == 0 {
            return Some(rest);
        }
        let length = usize::from(*rest.first()?).checked_mul(4).filter(|length| *length > 0)?;
        let (header, after) = rest.split_at_checked(length)?;
        next = *header.last()?;
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::test_packets::*;

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
    fn other_traffic_on_tunnel_ports_is_not_a_tunnel() {
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
    fn vxlan_with_another_protocol() {
        let header = |next: u8| [0x0c, 0, 0, next, 0, 0, 7, 0];
        let tunnel = [Tunnel::VxlanGpe];
        through(&outer_udp(4790, &cat(&[&header(3), &frame()])), &tunnel, Some(7));
        through(&outer_udp(4790, &cat(&[&header(1), &inner()])), &tunnel, Some(7));
        let labelled = cat(&[&header(5), &[0, 1, 0x41, 64], &inner()]);
        through(&outer_udp(4790, &labelled), &[Tunnel::VxlanGpe, Tunnel::Mpls], Some(20));
    }

    #[test]
    fn labels_in_udp() {
        let packet = outer_udp(6635, &cat(&[&[0, 1, 0x40, 64, 0, 2, 0x41, 64], &inner()[..]]));
        through(&packet, &[Tunnel::Mpls], Some(36));
    }

    #[test]
    fn ppp_in_l2tp() {
        let tunnel = [Tunnel::L2tp];
        let ppp = cat(&[b"\xff\x03\0\x21", &inner()]);
        let least = cat(&[b"\0\x02\0\x05\0\x09", &ppp]);
        through(&outer_udp(1701, &least), &tunnel, Some(0x0005_0009));
        let all = cat(&[b"\x4a\x02\0\x60\0\x05\0\x09\0\0\0\0\0\x02\0\0", &ppp]);
        through(&outer_udp(1701, &all), &tunnel, Some(0x0005_0009));
        let control = outer_udp(1701, &cat(&[b"\xc8\x02\0\x0c\0\0\0\0\0\0\0\0", &ppp]));
        assert_eq!(datagram(uncut(&control)).destination_port, 1701);
    }

    #[test]
    fn ipv6_in_teredo() {
        let origin = b"\0\0\x63\xbf\x3f\xff\xfd\x36";
        let authentication = b"\0\x01\0\0NONCE678\0";
        let packet = ipv6(17, &query());
        for before in [&b""[..], origin, authentication, &cat(&[authentication, origin])] {
            let packet = outer_udp(3544, &cat(&[before, &packet]));
            is_query6(&packet, uncut(&packet));
            assert_eq!(
                datagram(uncut(&packet)).ip.tunnels.iter().collect::<Vec<_>>(),
                [Tunnel::Teredo]
            );
        }
        let packet = outer_udp(3544, &inner());
        assert_eq!(datagram(uncut(&packet)).destination_port, 3544);
    }

    #[test]
    fn mirrored_frames() {
        let packet = outer_udp(37008, &cat(&[b"\x01\0\0\x01\x0a\x01\xc4\0\x01", &frame()]));
        through(&packet, &[Tunnel::Tzsp], None);
    }
}
