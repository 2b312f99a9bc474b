//! Link headers.

use crate::bytes::Bytes;

/// The numbers that say what an Ethernet frame carries.
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// A VLAN tag (802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// IPv6.
    pub const IPV6: u16 = 0x86DD;
    /// A whole Ethernet frame, in GRE.
    pub const BRIDGED: u16 = 0x6558;
    /// A provider's VLAN tag around a customer's (802.1ad, QinQ).
    pub const PROVIDER_VLAN: u16 = 0x88A8;
}

/// What kind of link a capture is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet.
    Ethernet,
    /// Linux "cooked" capture, version 1.
    Sll,
    /// Linux "cooked" capture, version 2.
    Sll2,
    /// IP without a link header, either version.
    Raw,
    /// IPv4 without a link header.
    Ipv4,
    /// IPv6 without a link header.
    Ipv6,
    /// BSD loopback: the address family as a little-endian machine writes it.
    Null,
    /// OpenBSD loopback: the address family in network order.
    Loop,
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// [`ethertype::VLAN`] or [`ethertype::PROVIDER_VLAN`].
    pub kind: u16,
    /// The VLAN: 12 bits, with the priority bits above them.
    pub id: u16,
}

impl Tag {
    /// A plain tag (802.1Q).
    pub const fn vlan(id: u16) -> Self {
        Self { kind: ethertype::VLAN, id }
    }

    /// A provider's tag (802.1ad), which is around a plain one.
    pub const fn provider(id: u16) -> Self {
        Self { kind: ethertype::PROVIDER_VLAN, id }
    }
}

impl Link {
    /// The number of the link type in pcap and pcapng files.
    pub const fn number(self) -> u16 {
        match self {
            Link::Null => 0,
            Link::Ethernet => 1,
            Link::Raw => 101,
            Link::Loop => 108,
            Link::Sll => 113,
            Link::Ipv4 => 228,
            Link::Ipv6 => 229,
            Link::Sll2 => 276,
        }
    }

    /// Whether there is room for VLAN tags.
    pub const fn has_tags(self) -> bool {
        matches!(self, Link::Ethernet | Link::Sll | Link::Sll2)
    }

    /// An IP packet after this link's header. The stations of an Ethernet are called after the IP
    /// addresses, `02:00` and the last four bytes.
    ///
    /// # Panics
    /// If there are tags and the link has no room for them, or `packet` is too short for IP.
    pub fn frame(self, tags: &[Tag], packet: &[u8]) -> Vec<u8> {
        assert!(tags.is_empty() || self.has_tags(), "{self:?} has no VLAN tags");
        let (kind, source, destination) = stations(packet);
        let v6 = kind == ethertype::IPV6;
        match self {
            Link::Ethernet => ethernet(destination, source, tags, kind, packet),
            Link::Sll => {
                let header = Bytes::new().be16(0).be16(1).be16(6).raw(&source).be16(0);
                tagged(header, tags, kind).raw(packet).done()
            }
            Link::Sll2 => {
                let outermost = tags.first().map_or(kind, |tag| tag.kind);
                let header = Bytes::new().be16(outermost).be16(0).be32(2).be16(1).u8(0).u8(6);
                let header = header.raw(&source).be16(0);
                match tags {
                    [] => header.raw(packet).done(),
                    [first, rest @ ..] => {
                        tagged(header.be16(first.id), rest, kind).raw(packet).done()
                    }
                }
            }
            Link::Raw | Link::Ipv4 | Link::Ipv6 => packet.to_vec(),
            Link::Null => Bytes::new().le32(if v6 { 30 } else { 2 }).raw(packet).done(),
            Link::Loop => Bytes::new().be32(if v6 { 24 } else { 2 }).raw(packet).done(),
        }
    }
}

/// An Ethernet frame with anything in it, the outermost tag first.
pub fn ethernet(
    destination: [u8; 6],
    source: [u8; 6],
    tags: &[Tag],
    kind: u16,
    payload: &[u8],
) -> Vec<u8> {
    tagged(Bytes::new().raw(&destination).raw(&source), tags, kind).raw(payload).done()
}

fn tagged(header: Bytes, tags: &[Tag], kind: u16) -> Bytes {
    tags.iter().fold(header, |header, tag| header.be16(tag.kind).be16(tag.id)).be16(kind)
}

/// EtherType, source and destination station of an IP packet.
fn stations(packet: &[u8]) -> (u16, [u8; 6], [u8; 6]) {
    let station = |at: usize| {
        let [a, b, c, d] = packet[at..at + 4] else { unreachable!("four bytes") };
        [0x02, 0x00, a, b, c, d]
    };
    match packet.first().map(|byte| byte >> 4) {
        Some(6) => (ethertype::IPV6, station(20), station(36)),
        _ => (ethertype::IPV4, station(12), station(16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;
    use crate::wire::Datagram;

    fn header(link: Link, tags: &[Tag]) -> String {
        let packet = Datagram::new("10.0.0.1:1", "10.0.0.2:2", b"x").packet();
        let frame = link.frame(tags, &packet);
        assert!(frame.ends_with(&packet));
        hex(&frame[..frame.len() - packet.len()])
    }

    #[test]
    fn headers_by_hand() {
        assert_eq!(header(Link::Ethernet, &[]), "02000A00000202000A0000010800");
        assert_eq!(
            header(Link::Ethernet, &[Tag::provider(5), Tag::vlan(77)]),
            "02000A00000202000A00000188A800058100004D0800"
        );
        assert_eq!(header(Link::Sll, &[]), "00000001000602000A00000100000800");
        assert_eq!(header(Link::Sll, &[Tag::vlan(1)]), "00000001000602000A0000010000810000010800");
        assert_eq!(
            header(Link::Sll2, &[]),
            "0800000000000002000100\
            0602000A0000010000"
        );
        assert_eq!(
            header(Link::Sll2, &[Tag::vlan(1)]),
            "8100000000000002000100\
            0602000A000001000000010800"
        );
        assert_eq!(header(Link::Raw, &[]), "");
        assert_eq!(header(Link::Null, &[]), "02000000");
        assert_eq!(header(Link::Loop, &[]), "00000002");
    }

    #[test]
    fn ipv6_is_reported_by_its_version() {
        let packet = Datagram::new("[::1]:1", "[fd00::a00:2]:2", b"x").packet();
        let frame = Link::Ethernet.frame(&[], &packet);
        assert_eq!(hex(&frame[..14]), "02000A00000202000000000186DD");
        assert_eq!(Link::Null.frame(&[], &packet)[0], 30);
    }
}
