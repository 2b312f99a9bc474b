//! The layers below IP: Ethernet and similar link layers, VLAN tags, MPLS labels, PPP.
//!
//! Finds the end of each and the type of the next layer. Unknown types are other traffic, not
//! errors.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use etherparse::SingleVlanSlice;

use super::outcome::{Outcome, malformed};
use super::packet::{Layer, PacketDirection, UnreadLayer};
use super::tunnels::Tunnel;
use super::walk::{Walk, u16_be, u32_be};
use super::{ether_type, limits, looks_like};

/// ARP hardware types of interfaces whose cooked packets have no EtherType.
mod hardware {
    pub(super) const FRAD: u16 = 770;
    pub(super) const IEEE80211: u16 = 801;
    pub(super) const IEEE80211_RADIOTAP: u16 = 803;
    pub(super) const NETLINK: u16 = 824;
}

impl<'a> Walk<'a> {
    #[inline]
    pub(super) fn ethernet(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes.split_first_chunk::<14>() {
            Some((&[.., high, low], rest)) => {
                self.ether_type(u16::from_be_bytes([high, low]), rest)
            }
            None => self.short(Layer::Link),
        }
    }

    /// The layer of an EtherType.
    pub(super) fn ether_type(&mut self, ether_type: u16, bytes: &'a [u8]) -> Outcome<'a> {
        if let Err(malformed) = self.deeper(Layer::Link) {
            return Outcome::Malformed(malformed);
        }
        match ether_type {
            // Some senders use IPv4's EtherType for IPv6.
            ether_type::IPV4 if matches!(bytes, [0x60..=0x6f, ..]) => self.ipv6(bytes),
            ether_type::IPV4 => self.ipv4(bytes),
            ether_type::IPV6 => self.ipv6(bytes),
            ether_type::VLAN | ether_type::PROVIDER_VLAN | ether_type::OLD_QINQ => self.vlan(bytes),
            ether_type::MPLS | ether_type::MPLS_UPSTREAM => self.mpls(bytes),
            ether_type::PPPOE_SESSION => self.pppoe(bytes),
            ether_type::METADATA | ether_type::E_TAG => self.tag(6, bytes),
            ether_type::VN_TAG | ether_type::REDUNDANCY => self.tag(4, bytes),
            ether_type::MAC_SEC => Outcome::Unread(UnreadLayer::MacSec),
            ether_type::TRILL => Outcome::Unread(UnreadLayer::Trill),
            ether_type::SERVICE_CHAIN => self.service_chain(bytes),
            ether_type::PROVIDER_BACKBONE => match bytes.split_first_chunk() {
                Some((&[_, a, b, c], frame)) => {
                    let service = u32::from_be_bytes([0, a, b, c]);
                    self.inner_ethernet(Tunnel::ProviderBackbone, Some(service), frame)
                }
                None => self.short(Layer::Tunnel),
            },
            ether_type::FABRIC_PATH => match u16_be(bytes) {
                Some((tag, frame)) => {
                    self.inner_ethernet(Tunnel::FabricPath, Some(u32::from(tag >> 6)), frame)
                }
                None => self.short(Layer::Tunnel),
            },
            ..=ether_type::LONGEST_FRAME => self.logical_link_control(bytes),
            _ => Outcome::Other,
        }
    }

    /// A tag of this many bytes, and the EtherType after it.
    fn tag(&mut self, length: usize, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes.get(length..).and_then(u16_be) {
            Some((ether_type, rest)) => self.ether_type(ether_type, rest),
            None => self.short(Layer::Link),
        }
    }

    /// The Ethernet frame in a tunnel.
    pub(super) fn inner_ethernet(
        &mut self,
        tunnel: Tunnel,
        identifier: Option<u32>,
        frame: &'a [u8],
    ) -> Outcome<'a> {
        match self.enter(tunnel, identifier) {
            Err(malformed) => Outcome::Malformed(malformed),
            Ok(()) => self.ethernet(frame),
        }
    }

    fn vlan(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Ok(tag) = SingleVlanSlice::from_slice(bytes) else {
            return self.short(Layer::Vlan);
        };
        self.vlan = Some(tag.vlan_identifier().value());
        self.tags.vlans = self.tags.vlans.saturating_add(1);
        self.ether_type(tag.ether_type().0, tag.payload_slice())
    }

    /// IEEE 802.2 LLC; of interest only if IP follows, directly or after a SNAP header.
    pub(super) fn logical_link_control(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes {
            // SNAP: organization 0 (or bridged, 0x0000f8), then an EtherType.
            [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x00 | 0xf8, high, low, rest @ ..] => {
                self.ether_type(u16::from_be_bytes([*high, *low]), rest)
            }
            [0xaa, 0xaa, 0x03, rest @ ..] if rest.len() < 5 => self.short(Layer::Link),
            [0x06, 0x06, 0x03, rest @ ..] => self.ipv4(rest),
            [_, _, _, ..] => Outcome::Other,
            _ => self.short(Layer::Link),
        }
    }

    /// The address family of the recording system, in either byte order, because files are moved
    /// between machines.
    pub(super) fn loopback(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some((family, rest)) = u32_be(bytes) else {
            return self.short(Layer::Link);
        };
        let family = if family > 0xffff { family.swap_bytes() } else { family };
        match family {
            2 => self.ipv4(rest),
            // Linux, NetBSD and OpenBSD, FreeBSD, macOS.
            10 | 24 | 28 | 30 => self.ipv6(rest),
            _ => Outcome::Other,
        }
    }

    pub(super) fn cooked(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some((header, rest)) = bytes.split_first_chunk::<16>() else {
            return self.short(Layer::Link);
        };
        let [_, packet_type, hardware_high, hardware_low, .., high, low] = *header;
        self.direction = PacketDirection::of_cooked(packet_type);
        let hardware = u16::from_be_bytes([hardware_high, hardware_low]);
        self.cooked_protocol(hardware, u16::from_be_bytes([high, low]), rest)
    }

    pub(super) fn cooked2(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some((header, rest)) = bytes.split_first_chunk::<20>() else {
            return self.short(Layer::Link);
        };
        let [high, low, _, _, _, _, _, _, hardware_high, hardware_low, packet_type, ..] = *header;
        self.direction = PacketDirection::of_cooked(packet_type);
        let hardware = u16::from_be_bytes([hardware_high, hardware_low]);
        self.cooked_protocol(hardware, u16::from_be_bytes([high, low]), rest)
    }

    fn cooked_protocol(&mut self, hardware: u16, protocol: u16, rest: &'a [u8]) -> Outcome<'a> {
        match (hardware, protocol) {
            (hardware::FRAD | hardware::NETLINK, _) => Outcome::Other,
            (hardware::IEEE80211..=hardware::IEEE80211_RADIOTAP, _) => Outcome::Other,
            (_, 0x0004) => self.logical_link_control(rest),
            (_, ..=ether_type::LONGEST_FRAME) => Outcome::Other,
            _ => self.ether_type(protocol, rest),
        }
    }

    /// PPP in HDLC-like framing and Cisco HDLC share a link type and differ in the first byte.
    pub(super) fn serial(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes {
            [0x0f | 0x8f, ..] => self.cisco_hdlc(bytes),
            _ => self.ppp(bytes),
        }
    }

    pub(super) fn cisco_hdlc(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes {
            [0x0f | 0x8f, _, high, low, rest @ ..] => {
                self.ether_type(u16::from_be_bytes([*high, *low]), rest)
            }
            [_, _, _, _, ..] => Outcome::Other,
            _ => self.short(Layer::Link),
        }
    }

    pub(super) fn pppoe(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some((&[version_type, code, high, low, _, _], rest)) = bytes.split_first_chunk() else {
            return self.short(Layer::Ppp);
        };
        if version_type != 0x11 {
            return malformed(Layer::Ppp, "the PPPoE version and type are not 1");
        }
        if code != 0 {
            return Outcome::Other;
        }
        let session = u32::from(u16::from_be_bytes([high, low]));
        if let Err(malformed) = self.enter(Tunnel::PppOverEthernet, Some(session)) {
            return Outcome::Malformed(malformed);
        }
        self.ppp(rest)
    }

    /// PPP: address and control bytes may be left out, and so may the protocol's zero high byte.
    pub(super) fn ppp(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let bytes = bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes);
        let (protocol, rest) = match bytes {
            // The first half of address and control.
            [0xff] => return self.short(Layer::Ppp),
            [low, rest @ ..] if low & 1 == 1 => (u16::from(*low), rest),
            [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
            _ => return self.short(Layer::Ppp),
        };
        match protocol {
            0x0021 => self.ipv4(rest),
            0x0057 => self.ipv6(rest),
            0x0281 | 0x0283 => self.mpls(rest),
            _ => Outcome::Other,
        }
    }

    /// A label stack. It does not contain the type of its payload: the first nibble of the payload
    /// decides.
    pub(super) fn mpls(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        if let Err(malformed) = self.deeper(Layer::Mpls) {
            return Outcome::Malformed(malformed);
        }
        let mut rest = bytes;
        for _ in 0..limits::LABELS {
            let Some((entry, after)) = u32_be(rest) else {
                return self.short(Layer::Mpls);
            };
            rest = after;
            self.tags.labels = self.tags.labels.saturating_add(1);
            if entry & 0x0100 != 0 {
                if let Err(malformed) = self.enter(Tunnel::Mpls, Some(entry >> 12)) {
                    return Outcome::Malformed(malformed);
                }
                return self.labelled(rest);
            }
        }
        malformed(Layer::Mpls, "too many labels are stacked")
    }

    /// IP, or Ethernet with (RFC 4385) or without a control word.
    fn labelled(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        if looks_like::ip(bytes, self.cut > 0) {
            return self.ip(bytes);
        }
        if let [0x00..=0x0f, _, _, _, frame @ ..] = bytes
            && looks_like::ethernet(frame, self.cut > 0)
        {
            return self.ethernet(frame);
        }
        if looks_like::ethernet(bytes, self.cut > 0) {
            return self.ethernet(bytes);
        }
        match bytes.first() {
            // The IP decoder reports what is wrong with it.
            Some(0x40..=0x4f | 0x60..=0x6f) => self.ip(bytes),
            Some(_) => Outcome::Other,
            None => self.short(Layer::Mpls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::decode;
    use crate::net::test_packets::*;

    const UDP: u8 = 17;

    #[track_caller]
    fn query_over(link: LinkType, packet: &[u8]) {
        is_query(packet, decode(link, packet, packet.len() as u32));
        survives_cuts(link, packet);
    }

    #[track_caller]
    fn query6_over(link: LinkType, packet: &[u8]) {
        is_query6(packet, decode(link, packet, packet.len() as u32));
        survives_cuts(link, packet);
    }

    fn ipv4_query() -> Vec<u8> {
        ipv4(UDP, &query())
    }

    fn ipv6_query() -> Vec<u8> {
        ipv6(UDP, &query())
    }

    #[test]
    fn ethernet_carries_both_versions() {
        query_over(LinkType::ETHERNET, &ethernet(0x0800, &ipv4_query()));
        query6_over(LinkType::ETHERNET, &ethernet(0x86dd, &ipv6_query()));
    }

    #[test]
    fn padding_and_frame_check_sequence_are_not_payload() {
        let packet = cat(&[&ethernet(0x0800, &ipv4_query()), &[0xee; 17]]);
        query_over(LinkType::ETHERNET, &packet);
        let packet = cat(&[&ethernet(0x86dd, &ipv6_query()), &[0xee; 4]]);
        query6_over(LinkType::ETHERNET, &packet);
    }

    #[test]
    fn other_ether_types_are_other_traffic() {
        for ether_type in [0x0806, 0x88cc, 0x888e, 0x8863, 0xffff, 0x05dd] {
            let packet = ethernet(ether_type, &[0; 46]);
            assert_eq!(decode(LinkType::ETHERNET, &packet, 60), Outcome::Other);
        }
    }

    #[test]
    fn vlan_tags_of_any_kind_and_depth() {
        for outer in [0x8100, 0x88a8, 0x9100] {
            let packet = ethernet(outer, &vlan(7, 0x0800, &ipv4_query()));
            query_over(LinkType::ETHERNET, &packet);
            assert_eq!(datagram(decode(LinkType::ETHERNET, &packet, 0)).ip.vlan, Some(7));
        }
        let inner = vlan(0xf123, 0x86dd, &ipv6_query());
        let packet = ethernet(0x88a8, &vlan(100, 0x8100, &vlan(200, 0x8100, &inner)));
        query6_over(LinkType::ETHERNET, &packet);
        let vlan = datagram(decode(LinkType::ETHERNET, &packet, 0)).ip.vlan;
        assert_eq!(vlan, Some(0x123), "priority bits are no part of the identifier");
    }

    #[test]
    fn tags_of_vendors() {
        query_over(
            LinkType::ETHERNET,
            &ethernet(0x8909, &cat(&[&[1, 1, 0, 1, 0, 9, 8, 0], &ipv4_query()])),
        );
        query_over(
            LinkType::ETHERNET,
            &ethernet(0x8926, &cat(&[&[0, 1, 0, 2, 8, 0], &ipv4_query()])),
        );
        for (ether_type, tag) in
            [(0x892f, &[0x10, 0x34, 0, 7, 8, 0][..]), (0x893f, &[0, 1, 0, 2, 0, 0, 8, 0])]
        {
            let packet = ethernet(ether_type, &cat(&[tag, &ipv4_query()]));
            query_over(LinkType::ETHERNET, &packet);
        }
        query6_over(LinkType::ETHERNET, &ethernet(0x0800, &ipv6_query()));
        let inner = ethernet(0x0800, &ipv4_query());
        let backbone = ethernet(0x88e7, &cat(&[&[0, 0, 1, 2], &inner]));
        let fabric = ethernet(0x8903, &cat(&[&[0x00, 0x60], &inner]));
        let chain = ethernet(0x894f, &cat(&[&[0x0f, 0xc2, 0x02, 0x03, 0, 0, 7, 255], &inner]));
        for (packet, tunnel, identifier) in [
            (backbone, Tunnel::ProviderBackbone, 0x102),
            (fabric, Tunnel::FabricPath, 1),
            (chain, Tunnel::ServiceChain, 7),
        ] {
            query_over(LinkType::ETHERNET, &packet);
            let tunnels = datagram(decode(LinkType::ETHERNET, &packet, 0)).ip.tunnels;
            assert_eq!(tunnels.iter().collect::<Vec<_>>(), [tunnel]);
            assert_eq!(tunnels.identifier(), Some(identifier));
        }
    }

    #[test]
    fn endless_tags_are_malformed() {
        let packet = ethernet(0x8100, &vlan(1, 0x8100, &[]).repeat(400));
        let outcome = decode(LinkType::ETHERNET, &packet, packet.len() as u32);
        assert!(matches!(outcome, Outcome::Malformed(_)), "{outcome:?}");
    }

    #[test]
    fn llc_and_snap() {
        let snap = cat(&[b"\xaa\xaa\x03\x00\x00\x00\x08\x00", &ipv4_query()]);
        query_over(LinkType::ETHERNET, &ethernet(snap.len() as u16, &snap));
        let direct = cat(&[b"\x06\x06\x03", &ipv4_query()]);
        query_over(LinkType::ETHERNET, &ethernet(direct.len() as u16, &direct));
        let tagged = vlan(3, snap.len() as u16, &snap);
        query_over(LinkType::ETHERNET, &ethernet(0x8100, &tagged));
        let spanning_tree = ethernet(38, &cat(&[b"\x42\x42\x03", &[0; 43]]));
        assert_eq!(decode(LinkType::ETHERNET, &spanning_tree, 60), Outcome::Other);
    }

    #[test]
    fn raw_ip_of_every_number() {
        for link in [LinkType::RAW, LinkType::RAW_12, LinkType::RAW_14] {
            query_over(link, &ipv4_query());
            query6_over(link, &ipv6_query());
        }
        query_over(LinkType::IPV4, &ipv4_query());
        query6_over(LinkType::IPV6, &ipv6_query());
        assert!(matches!(decode(LinkType::IPV4, &ipv6_query(), 0), Outcome::Malformed(_)));
    }

    #[test]
    fn loopback_families_in_both_byte_orders() {
        for link in [LinkType::NULL, LinkType::LOOP] {
            for family in [2u32.to_be_bytes(), 2u32.to_le_bytes()] {
                query_over(link, &cat(&[&family, &ipv4_query()]));
            }
            for family in [10u32, 24, 28, 30] {
                query6_over(link, &cat(&[&family.to_be_bytes(), &ipv6_query()]));
                query6_over(link, &cat(&[&family.to_le_bytes(), &ipv6_query()]));
            }
            let appletalk = cat(&[&16u32.to_le_bytes(), &ipv4_query()]);
            assert_eq!(decode(link, &appletalk, 0), Outcome::Other);
        }
    }

    fn cooked(hardware: u16, protocol: u16, payload: &[u8]) -> Vec<u8> {
        let address = b"\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00";
        cat(&[b"\x00\x00", &hardware.to_be_bytes(), address, &protocol.to_be_bytes(), payload])
    }

    fn cooked2(hardware: u16, protocol: u16, payload: &[u8]) -> Vec<u8> {
        let (interface, hardware) = ([0, 0, 0, 0, 0, 2], hardware.to_be_bytes());
        let address = b"\x00\x06\x02\x00\x00\x00\x00\x01\x00\x00";
        cat(&[&protocol.to_be_bytes(), &interface, &hardware, address, payload])
    }

    #[test]
    fn linux_cooked_captures() {
        let snap = cat(&[b"\xaa\xaa\x03\x00\x00\x00\x08\x00", &ipv4_query()]);
        type Header = fn(u16, u16, &[u8]) -> Vec<u8>;
        let kinds: [(LinkType, Header); 2] =
            [(LinkType::LINUX_SLL, cooked), (LinkType::LINUX_SLL2, cooked2)];
        for (link, header) in kinds {
            query_over(link, &header(1, 0x0800, &ipv4_query()));
            // An interface without a link layer (tun).
            query6_over(link, &header(0xfffe, 0x86dd, &ipv6_query()));
            query_over(link, &header(1, 0x8100, &vlan(5, 0x0800, &ipv4_query())));
            query_over(link, &header(1, 0x0004, &snap));
            assert_eq!(decode(link, &header(824, 0x0800, &ipv4_query()), 0), Outcome::Other);
            assert_eq!(decode(link, &header(1, 0x000c, &ipv4_query()), 0), Outcome::Other);
        }
    }

    #[test]
    fn linux_cooked_captures_tell_the_direction() {
        let direction = |link: LinkType, packet: &[u8]| {
            let Outcome::Udp(datagram) = decode(link, packet, 0) else { panic!("a datagram") };
            datagram.ip.direction
        };
        for (packet_type, expected) in [
            (0, PacketDirection::Incoming),
            (3, PacketDirection::Unknown),
            (4, PacketDirection::Outgoing),
        ] {
            let mut first = cooked(1, 0x0800, &ipv4_query());
            first[1] = packet_type;
            assert_eq!(direction(LinkType::LINUX_SLL, &first), expected);
            let mut second = cooked2(1, 0x0800, &ipv4_query());
            second[10] = packet_type;
            assert_eq!(direction(LinkType::LINUX_SLL2, &second), expected);
        }
    }

    #[test]
    fn ppp_with_and_without_optional_fields() {
        for prefix in [&b"\xff\x03\x00\x21"[..], b"\xff\x03\x21", b"\x00\x21", b"\x21"] {
            for link in [LinkType::PPP, LinkType::PPP_HDLC] {
                query_over(link, &cat(&[prefix, &ipv4_query()]));
            }
        }
        query6_over(LinkType::PPP, &cat(&[b"\xff\x03\x00\x57", &ipv6_query()]));
        assert_eq!(decode(LinkType::PPP, b"\xff\x03\xc0\x21\x01\x01", 0), Outcome::Other);
    }

    #[test]
    fn cisco_hdlc() {
        for link in [LinkType::CISCO_HDLC, LinkType::PPP_HDLC] {
            query_over(link, &cat(&[b"\x0f\x00\x08\x00", &ipv4_query()]));
            query6_over(link, &cat(&[b"\x8f\x00\x86\xdd", &ipv6_query()]));
        }
    }

    #[test]
    fn pppoe_sessions() {
        let session = cat(&[b"\x11\x00\x12\x34\x00\x00\x00\x21", &ipv4_query()]);
        query_over(LinkType::PPP_ETHER, &session);
        let packet = ethernet(0x8864, &session);
        query_over(LinkType::ETHERNET, &packet);
        let tunnels = datagram(decode(LinkType::ETHERNET, &packet, 0)).ip.tunnels;
        assert_eq!(tunnels.iter().collect::<Vec<_>>(), [Tunnel::PppOverEthernet]);
        assert_eq!(tunnels.identifier(), Some(0x1234));
        let wrong = ethernet(0x8864, &cat(&[b"\x21", session.get(1..).unwrap()]));
        assert!(matches!(decode(LinkType::ETHERNET, &wrong, 0), Outcome::Malformed(_)));
    }

    fn label(label: u32, bottom: bool) -> [u8; 4] {
        (label << 12 | u32::from(bottom) << 8 | 64).to_be_bytes()
    }

    #[test]
    fn label_stacks() {
        let stack = cat(&[&label(100, false), &label(0x12345, true)]);
        for ether_type in [0x8847, 0x8848] {
            let packet = ethernet(ether_type, &cat(&[&stack, &ipv4_query()]));
            query_over(LinkType::ETHERNET, &packet);
            let tunnels = datagram(decode(LinkType::ETHERNET, &packet, 0)).ip.tunnels;
            assert_eq!(tunnels.iter().collect::<Vec<_>>(), [Tunnel::Mpls]);
            assert_eq!(tunnels.identifier(), Some(0x12345));
        }
        let packet = ethernet(0x8847, &cat(&[&label(2, true), &ipv6_query()]));
        query6_over(LinkType::ETHERNET, &packet);
        let endless = ethernet(0x8847, &label(7, false).repeat(300));
        let outcome = decode(LinkType::ETHERNET, &endless, endless.len() as u32);
        assert!(matches!(outcome, Outcome::Malformed(_)), "{outcome:?}");
    }

    #[test]
    fn pseudowires_with_and_without_control_word() {
        let frame = ethernet(0x0800, &ipv4_query());
        // A destination address that looks like the first byte of an IPv4 header.
        let ambiguous = cat(&[b"\x45", frame.get(1..).unwrap()]);
        for frame in [frame, ambiguous] {
            let plain = ethernet(0x8847, &cat(&[&label(30, true), &frame]));
            is_query(&plain, decode(LinkType::ETHERNET, &plain, 0));
            let controlled = cat(&[&label(30, true), b"\x00\x00\x00\x09", &frame]);
            let controlled = ethernet(0x8847, &controlled);
            is_query(&controlled, decode(LinkType::ETHERNET, &controlled, 0));
        }
        let channel = ethernet(0x8847, &cat(&[&label(30, true), b"\x10\x00\x00\x21", &[0; 40]]));
        assert_eq!(decode(LinkType::ETHERNET, &channel, 0), Outcome::Other);
    }

    #[test]
    fn unknown_link_types_are_reported() {
        for number in [2, 147, 195, 277, 0xffff] {
            let link = LinkType(number);
            assert_eq!(decode(link, &ipv4_query(), 0), Outcome::UnknownLink(link));
        }
    }
}
