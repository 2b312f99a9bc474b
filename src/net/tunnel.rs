//! Headers between two packets: GRE, NSH, EtherIP.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::ether_type;
use super::outcome::Outcome;
use super::packet::Layer;
use super::tunnels::Tunnel;
use super::walk::{Walk, u16_be, u32_be};

/// GRE header bits (RFC 2784, RFC 2890; acknowledgment: RFC 2637).
mod gre {
    pub(super) const CHECKSUM: u16 = 0x8000;
    pub(super) const ROUTING: u16 = 0x4000;
    pub(super) const KEY: u16 = 0x2000;
    pub(super) const SEQUENCE: u16 = 0x1000;
    pub(super) const ACKNOWLEDGMENT: u16 = 0x0080;
    pub(super) const VERSION: u16 = 0x0007;
}

impl<'a> Walk<'a> {
    /// NSH, RFC 8300: a path through a service chain, and the type of the packet in it.
    pub(super) fn service_chain(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(&[_, length, _, next, a, b, c, _]) = bytes.first_chunk::<8>() else {
            return self.short(Layer::Tunnel);
        };
        let length = usize::from(length & 0x3f).saturating_mul(4);
        let Some(rest) = bytes.get(length.max(8)..) else { return self.short(Layer::Tunnel) };
        let path = u32::from_be_bytes([0, a, b, c]);
        if let Err(malformed) = self.enter(Tunnel::ServiceChain, Some(path)) {
            return Outcome::Malformed(malformed);
        }
        match next {
            1 => self.ipv4(rest),
            2 => self.ipv6(rest),
            3 => self.ethernet(rest),
            5 => self.mpls(rest),
            _ => Outcome::Other,
        }
    }

    /// Ethernet inside IP, RFC 3378.
    pub(super) fn ether_ip(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes {
            [0x30, 0x00, frame @ ..] => self.inner_ethernet(Tunnel::EtherIp, None, frame),
            [_, _, ..] => Outcome::Other,
            _ => self.short(Layer::Tunnel),
        }
    }

    pub(super) fn gre(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(header) = GreHeader::parse(bytes) else {
            return self.short(Layer::Tunnel);
        };
        match (header.version, header.protocol) {
            _ if header.routed => Outcome::Other,
            // A keepalive: protocol 0, and nothing more.
            (0, 0) if header.payload.is_empty() => Outcome::Other,
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
        self.inner_ethernet(Tunnel::Erspan, session, frame)
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
            let (word, after) = u32_be(rest)?;
            rest = after;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::limits;
    use crate::net::test_packets::*;

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
    fn ethernet_in_ip() {
        through(&outer(97, &cat(&[b"\x30\0", &frame()])), &[Tunnel::EtherIp], None);
        assert_eq!(uncut(&outer(97, &cat(&[b"\x40\0", &frame()]))), Outcome::Other);
    }

    #[test]
    fn keepalives_of_gre_are_in_order() {
        assert_eq!(uncut(&outer(47, &[0, 0, 0, 0])), Outcome::Other);
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
