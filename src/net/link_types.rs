//! Link types: their names, and the readers of supported ones.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::outcome::{Outcome, malformed};
use super::packet::Layer;
use super::walk::Walk;
use crate::capture::LinkType;

type LinkReader = for<'w, 'a> fn(&'w mut Walk<'a>, &'a [u8]) -> Outcome<'a>;

/// A link type: its number, its name, and its reader, if supported.
type LinkRow = (u16, &'static str, Option<LinkReader>);

const fn read(number: u16, name: &'static str, reader: LinkReader) -> LinkRow {
    (number, name, Some(reader))
}

const fn named(number: u16, name: &'static str) -> LinkRow {
    (number, name, None)
}

/// By number. The registry is at <https://www.tcpdump.org/linktypes.html>.
static LINK_TYPES: &[LinkRow] = &[
    read(0, "BSD loopback", |walk, bytes| walk.loopback(bytes)),
    read(1, "Ethernet", |walk, bytes| walk.ethernet(bytes)),
    named(3, "AX.25"),
    named(6, "IEEE 802.5 Token Ring"),
    named(7, "ARCNET"),
    read(8, "SLIP", |walk, bytes| walk.after(16, bytes, Walk::slip)),
    read(9, "PPP", |walk, bytes| walk.serial(bytes)),
    named(10, "FDDI"),
    read(12, "raw IP", |walk, bytes| walk.ip(bytes)),
    read(14, "raw IP", |walk, bytes| walk.ip(bytes)),
    read(50, "PPP in HDLC-like framing", |walk, bytes| walk.serial(bytes)),
    read(51, "PPPoE", |walk, bytes| walk.pppoe(bytes)),
    named(99, "Symantec Enterprise Firewall"),
    named(100, "ATM, RFC 1483"),
    read(101, "raw IP", |walk, bytes| walk.ip(bytes)),
    read(104, "Cisco HDLC", |walk, bytes| walk.cisco_hdlc(bytes)),
    read(105, "IEEE 802.11", |walk, bytes| walk.wireless(bytes, false)),
    read(107, "Frame Relay", |walk, bytes| walk.frame_relay(bytes)),
    read(108, "OpenBSD loopback", |walk, bytes| walk.loopback(bytes)),
    read(113, "Linux cooked capture", |walk, bytes| walk.cooked(bytes)),
    named(114, "Apple LocalTalk"),
    named(117, "OpenBSD pflog"),
    read(119, "IEEE 802.11 with a Prism header", |walk, bytes| walk.prism(bytes)),
    named(122, "IP over Fibre Channel"),
    named(123, "SunATM"),
    read(127, "IEEE 802.11 with radiotap", |walk, bytes| walk.radiotap(bytes)),
    named(129, "ARCNET, Linux"),
    named(138, "Apple IP over IEEE 1394"),
    named(139, "SS7 MTP2 with a pseudo-header"),
    named(140, "SS7 MTP2"),
    named(141, "SS7 MTP3"),
    named(142, "SS7 SCCP"),
    named(143, "DOCSIS"),
    named(144, "Linux IrDA"),
    named(147, "private use 0"),
    named(148, "private use 1"),
    read(149, "PKTAP", |walk, bytes| walk.packet_tap(bytes)),
    named(150, "private use 3"),
    named(151, "private use 4"),
    named(152, "private use 5"),
    named(153, "private use 6"),
    named(154, "private use 7"),
    named(155, "private use 8"),
    named(156, "private use 9"),
    named(157, "private use 10"),
    named(158, "private use 11"),
    named(159, "private use 12"),
    named(160, "private use 13"),
    named(161, "private use 14"),
    named(162, "private use 15"),
    read(163, "IEEE 802.11 with an AVS header", |walk, bytes| walk.avs(bytes)),
    named(165, "BACnet MS/TP"),
    named(166, "PPP of pppd"),
    named(169, "GPRS LLC"),
    named(177, "Linux LAPD"),
    named(187, "Bluetooth HCI H4"),
    named(189, "USB, Linux"),
    read(192, "PPI", |walk, bytes| walk.per_packet_information(bytes)),
    named(195, "IEEE 802.15.4"),
    named(197, "ERF"),
    named(201, "Bluetooth HCI H4 with a pseudo-header"),
    named(202, "AX.25 KISS"),
    named(203, "LAPD"),
    read(204, "PPP with direction", |walk, bytes| walk.after(1, bytes, Walk::serial)),
    read(205, "Cisco HDLC with direction", |walk, bytes| walk.after(1, bytes, Walk::cisco_hdlc)),
    read(206, "Frame Relay with direction", |walk, bytes| walk.after(1, bytes, Walk::frame_relay)),
    named(209, "IPMB, Linux"),
    named(215, "IEEE 802.15.4 with PHY header"),
    named(220, "USB, Linux, padded"),
    named(224, "Fibre Channel FC-2"),
    named(225, "Fibre Channel FC-2 with delimiters"),
    named(226, "Solaris ipnet"),
    named(227, "CAN of SocketCAN"),
    read(228, "raw IPv4", |walk, bytes| walk.ipv4(bytes)),
    read(229, "raw IPv6", |walk, bytes| walk.ipv6(bytes)),
    named(230, "IEEE 802.15.4 without checksum"),
    named(231, "D-Bus"),
    named(235, "DVB-CI"),
    named(236, "MUX27010"),
    read(239, "NFLOG", |walk, bytes| walk.netfilter_log(bytes)),
    named(240, "netANALYZER"),
    named(241, "netANALYZER, transparent"),
    named(242, "IP over InfiniBand"),
    named(243, "MPEG-2 transport stream"),
    named(245, "NFC LLCP"),
    named(247, "InfiniBand"),
    named(248, "SCTP"),
    named(249, "USB of USBPcap"),
    named(251, "Bluetooth Low Energy"),
    named(253, "Linux netlink"),
    named(254, "Bluetooth of the Linux monitor"),
    named(256, "Bluetooth Low Energy with a pseudo-header"),
    named(257, "PROFIBUS"),
    read(258, "PKTAP", |walk, bytes| walk.packet_tap(bytes)),
    named(259, "EPON"),
    named(264, "ISO 14443"),
    named(266, "USB, macOS"),
    named(268, "SDLC"),
    named(270, "LoRaTap"),
    named(271, "Linux vsock"),
    named(272, "Nordic Bluetooth Low Energy"),
    read(276, "Linux cooked capture 2", |walk, bytes| walk.cooked2(bytes)),
    named(280, "VPP graph dispatch"),
    read(281, "Broadcom switch tag", |walk, bytes| walk.switch_tag(4, bytes)),
    read(282, "Broadcom switch tag in front", |walk, bytes| walk.after(4, bytes, Walk::ethernet)),
    named(283, "IEEE 802.15.4 with TAP header"),
    read(284, "Marvell DSA", |walk, bytes| walk.switch_tag(4, bytes)),
    read(285, "Marvell EDSA", |walk, bytes| walk.switch_tag(8, bytes)),
    named(287, "Z-Wave"),
    named(288, "USB 2.0"),
    named(289, "ATSC Link-Layer Protocol"),
    named(290, "Event Tracing for Windows"),
];

fn row(link: LinkType) -> Option<&'static LinkRow> {
    let at = LINK_TYPES.binary_search_by_key(&link.0, |row| row.0).ok()?;
    LINK_TYPES.get(at)
}

/// The supported link types.
pub fn read_links() -> impl Iterator<Item = LinkType> {
    LINK_TYPES.iter().filter(|row| row.2.is_some()).map(|row| LinkType(row.0))
}

/// The name of a link type, if known.
pub fn link_name(link: LinkType) -> Option<&'static str> {
    row(link).map(|row| row.1)
}

impl<'a> Walk<'a> {
    /// Decodes the whole packet, by its link type.
    #[inline]
    pub(super) fn link(&mut self, link: LinkType) -> Outcome<'a> {
        let data = self.whole();
        match link {
            LinkType::ETHERNET => self.ethernet(data),
            _ => self.link_of(link, data),
        }
    }

    /// Decodes bytes by a link type.
    pub(super) fn link_of(&mut self, link: LinkType, bytes: &'a [u8]) -> Outcome<'a> {
        match row(link).and_then(|row| row.2) {
            Some(reader) => reader(self, bytes),
            None => Outcome::UnknownLink(link),
        }
    }

    /// Decodes the bytes after a header of this length without useful information.
    fn after(
        &mut self,
        length: usize,
        bytes: &'a [u8],
        read: impl FnOnce(&mut Self, &'a [u8]) -> Outcome<'a>,
    ) -> Outcome<'a> {
        match bytes.get(length..) {
            Some(rest) => read(self, rest),
            None => self.short(Layer::Link),
        }
    }

    /// Ethernet with a switch tag of this length between the addresses and the EtherType.
    fn switch_tag(&mut self, length: usize, bytes: &'a [u8]) -> Outcome<'a> {
        let at = length.saturating_add(12);
        match bytes.get(at..).and_then(|rest| rest.split_first_chunk()) {
            Some((&ether_type, rest)) => self.ether_type(u16::from_be_bytes(ether_type), rest),
            None => self.short(Layer::Link),
        }
    }

    /// A packet of SLIP; anything but IP is a compressed segment of TCP (RFC 1144).
    fn slip(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        match bytes {
            [0x40..=0x6f, ..] | [] => self.ip(bytes),
            _ => Outcome::Other,
        }
    }

    /// Frame Relay, RFC 2427: an address, a control byte, and the type of the protocol.
    fn frame_relay(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        // The last byte of the address is odd; there are two to four.
        let Some(last) = bytes.iter().take(4).position(|byte| byte & 1 == 1) else {
            return if bytes.len() < 4 { self.short(Layer::Link) } else { Outcome::Other };
        };
        let rest = bytes.get(last.saturating_add(1)..).unwrap_or_default();
        match rest {
            [0x03, 0x00] => self.short(Layer::Link),
            [0x03, 0xCC, rest @ ..] => self.ipv4(rest),
            [0x03, 0x8E, rest @ ..] => self.ipv6(rest),
            [0x03, 0x00, 0x80, rest @ ..] | [0x03, 0x80, rest @ ..] => match rest {
                [0, 0, 0, high, low, rest @ ..] => {
                    self.ether_type(u16::from_be_bytes([*high, *low]), rest)
                }
                [_, _, _, _, _, ..] => Outcome::Other,
                _ => self.short(Layer::Link),
            },
            // Cisco's format: an EtherType after the address.
            [high, low, rest @ ..]
                if [*high, *low] == [0x08, 0x00] || [*high, *low] == [0x86, 0xDD] =>
            {
                self.ether_type(u16::from_be_bytes([*high, *low]), rest)
            }
            [_, _, ..] => Outcome::Other,
            _ => self.short(Layer::Link),
        }
    }

    /// Linux netfilter's log: a family, then attributes, one of which is the packet.
    fn netfilter_log(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        const PAYLOAD: u16 = 9;
        let Some((&[_, version, _, _], mut rest)) = bytes.split_first_chunk() else {
            return self.short(Layer::Link);
        };
        if version != 0 {
            return malformed(Layer::Link, "the version of the NFLOG header is not 0");
        }
        while let Some((&[l0, l1, k0, k1], _)) = rest.split_first_chunk() {
            // In the byte order of the recording host: no attribute header has 256 bytes or more.
            let (little, big) = (u16::from_le_bytes([l0, l1]), u16::from_be_bytes([l0, l1]));
            let is_little = k1 & 0x7F == 0;
            let kind = if is_little { u16::from(k0) } else { u16::from(k1) };
            let length = usize::from(if is_little { little } else { big });
            let Some(value) = rest.get(4..length.min(rest.len())) else {
                return malformed(Layer::Link, "an attribute of the NFLOG header is too short");
            };
            if kind == PAYLOAD {
                return self.ip(value);
            }
            let next = length.next_multiple_of(4);
            match rest.get(next..) {
                Some(after) => rest = after,
                None => return self.short(Layer::Link),
            }
        }
        self.short(Layer::Link)
    }

    /// PKTAP of macOS: a header with its length, and the link type of the packet after it.
    fn packet_tap(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(&[l0, l1, l2, l3, _, _, _, _, k0, k1, k2, k3]) = bytes.first_chunk::<12>() else {
            return self.short(Layer::Link);
        };
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        self.another_link(u32::from_le_bytes([k0, k1, k2, k3]), length, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::test_packets::*;
    use crate::net::{UnreadLayer, decode};

    #[test]
    fn the_table_is_by_number() {
        assert!(LINK_TYPES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(link_name(LinkType(195)), Some("IEEE 802.15.4"));
        assert_eq!(link_name(LinkType(4000)), None);
    }

    #[track_caller]
    fn query_over(link: u16, packet: &[u8]) {
        let link = LinkType(link);
        is_query(packet, decode(link, packet, packet.len() as u32));
        survives_cuts(link, packet);
    }

    fn inner() -> Vec<u8> {
        ipv4(17, &query())
    }

    fn snap() -> Vec<u8> {
        cat(&[b"\xaa\xaa\x03\x00\x00\x00\x08\x00", &inner()])
    }

    /// A data frame: the first two bytes, the sequence's low byte, then the bytes after the addresses.
    fn frame(kind: u8, flags: u8, sequence: u8, body: &[u8]) -> Vec<u8> {
        cat(&[&[kind, flags, 0, 0], &[2; 18], &[sequence, 0], body])
    }

    #[test]
    fn data_frames_of_802_11() {
        query_over(105, &frame(0x08, 0x01, 0, &snap()));
        query_over(105, &frame(0x08, 0x02, 0x10, &snap()));
        let quality = cat(&[&[0, 0], &snap()[..]]);
        query_over(105, &frame(0x88, 0x02, 0, &quality));
        let four = cat(&[&[2; 6], &[0, 0], &snap()[..]]);
        query_over(105, &frame(0x88, 0x03, 0, &four));
        let high_throughput = cat(&[&[0, 0, 1, 2, 3, 4], &snap()[..]]);
        query_over(105, &frame(0x88, 0x82, 0, &high_throughput));
    }

    /// Frames in one (A-MSDU), each padded as if another followed.
    fn aggregate(bodies: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![0x80, 0];
        for inner in bodies {
            body.extend(cat(&[&[2; 12], &(inner.len() as u16).to_be_bytes(), inner]));
            body.resize((body.len() - 2).next_multiple_of(4) + 2, 0);
        }
        frame(0x88, 0x02, 0, &body)
    }

    fn frames_of(packet: &[u8], original_length: usize) -> Vec<Outcome<'_>> {
        let mut frames = Vec::new();
        decode(LinkType(105), packet, original_length as u32).each(&mut |it| frames.push(it));
        frames
    }

    #[test]
    fn frames_in_one_frame_of_802_11() {
        let spanning_tree = cat(&[b"\x42\x42\x03", &[0; 36]]);
        let packet = aggregate(&[snap(), spanning_tree, snap()]);
        for packet in [packet.clone(), cat(&[&packet, &[7; 4]])] {
            let frames = frames_of(&packet, packet.len());
            assert_eq!((frames.len(), frames[1]), (3, Outcome::Other), "{frames:?}");
            is_query(&packet, frames[0]);
            is_query(&packet, frames[2]);
            let [first, last] = [frames[0], frames[2]].map(|it| datagram(it).payload.offset);
            assert!(last as usize > first as usize + snap().len());
        }
        for length in 26..packet.len() {
            let cut = frames_of(&packet[..length], packet.len());
            let snapped = |outcome: &&Outcome<'_>| match outcome {
                Outcome::Snapped => true,
                Outcome::Udp(datagram) => datagram.payload.snapped,
                _ => false,
            };
            let is_lost = cut.iter().any(|it| snapped(&it));
            assert!(
                is_lost || cut.len() == 3 || cut.ends_with(&[Outcome::Other]),
                "{length}: {cut:?}"
            );
        }
        assert!(frames_of(&aggregate(&[]), 0).is_empty());
    }

    #[test]
    fn frames_of_802_11_that_hold_nothing_to_read() {
        for (what, packet) in [
            ("a beacon", frame(0x80, 0, 0, &[0; 40])),
            ("no data", frame(0x48, 0x01, 0, &[])),
            ("the first of several fragments", frame(0x08, 0x05, 0, &snap())),
            ("a later fragment", frame(0x08, 0x01, 1, &snap())),
        ] {
            let outcome = decode(LinkType(105), &packet, packet.len() as u32);
            assert_eq!(outcome, Outcome::Other, "{what}");
        }
        let encrypted = frame(0x08, 0x41, 0, &snap());
        let outcome = decode(LinkType(105), &encrypted, encrypted.len() as u32);
        assert_eq!(outcome, Outcome::Unread(UnreadLayer::EncryptedWireless));
    }

    #[test]
    fn headers_before_a_frame_of_802_11() {
        let plain = frame(0x08, 0x01, 0, &snap());
        query_over(127, &cat(&[b"\0\0\x08\0\0\0\0\0", &plain]));
        // A time stamp, then flags, which say that the header is padded to four bytes.
        let padded = cat(&[&frame(0x88, 0x01, 0, &[0, 0]), &[0, 0], &snap()]);
        let flags = b"\0\0\x11\0\x03\0\0\0TIMEOFIT\x20";
        query_over(127, &cat(&[flags, &padded]));
        // A second word of fields: the time stamp is aligned after it.
        let more = b"\0\0\x19\0\x03\0\0\x80\0\0\0\0\0\0\0\0TIMEOFIT\x20";
        query_over(127, &cat(&[more, &padded]));
        query_over(119, &cat(&[&[0x44, 0, 0, 0], &[0; 140], &plain]));
        let avs = cat(&[b"\x80\x21\x10\x01\0\0\0\x40", &[0; 56], &plain]);
        query_over(119, &avs);
        query_over(163, &avs);
        let information = |link: u8, packet: &[u8]| cat(&[&[0, 0, 8, 0, link, 0, 0, 0], packet]);
        query_over(192, &information(105, &plain));
        query_over(192, &information(1, &ethernet(0x0800, &inner())));
        let endless = information(192, &[]).repeat(100);
        let outcome = decode(LinkType(192), &endless, endless.len() as u32);
        assert!(matches!(outcome, Outcome::Malformed(_)), "{outcome:?}");
    }

    #[test]
    fn headers_of_operating_systems_and_switches() {
        let attribute = |kind: u16, value: &[u8]| {
            let length = 4 + value.len();
            let padding = vec![0; length.next_multiple_of(4) - length];
            cat(&[&(length as u16).to_le_bytes(), &kind.to_le_bytes(), value, &padding])
        };
        let hardware = attribute(10, b"prefix\0");
        query_over(239, &cat(&[&[2, 0, 0, 0], &hardware, &attribute(9, &inner())]));
        let big = cat(&[&((inner().len() + 4) as u16).to_be_bytes(), &[0, 9], &inner()]);
        let packet = cat(&[&[2, 0, 0, 0], &big]);
        is_query(&packet, decode(LinkType(239), &packet, packet.len() as u32));
        for link in [149, 258] {
            let tap =
                cat(&[b"\x10\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0", &ethernet(0x0800, &inner())]);
            query_over(link, &tap);
        }
        let tagged = |tag: &[u8]| {
            let plain = ethernet(0x0800, &inner());
            cat(&[&plain[..12], tag, &plain[12..]])
        };
        query_over(281, &tagged(&[0x20, 0, 0, 1]));
        query_over(284, &tagged(&[0xC0, 0, 0, 0]));
        query_over(285, &tagged(&[0xDA, 0xDA, 0, 0, 0xC0, 0, 0, 0]));
        query_over(282, &cat(&[&[0x20, 0, 0, 1], &ethernet(0x0800, &inner())]));
    }

    #[test]
    fn serial_lines() {
        query_over(107, &cat(&[b"\x18\x41\x03\xCC", &inner()]));
        query_over(107, &cat(&[b"\x18\x41\x03\x00\x80\0\0\0\x08\0", &inner()]));
        query_over(107, &cat(&[b"\x18\x41\x08\x00", &inner()]));
        query_over(206, &cat(&[b"\x01\x18\x41\x03\xCC", &inner()]));
        query_over(8, &cat(&[&[0; 16], &inner()[..]]));
        query_over(9, &cat(&[b"\x0F\x00\x08\x00", &inner()]));
        query_over(204, &cat(&[b"\x01\xFF\x03\x00\x21", &inner()]));
        query_over(205, &cat(&[b"\x00\x0F\x00\x08\x00", &inner()]));
    }
}
