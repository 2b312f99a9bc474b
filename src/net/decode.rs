//! The two entry points for decoding a packet.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::outcome::Outcome;
use super::packet::{Ip, LinkTags, PacketDirection};
use super::tunnels::Tunnels;
use super::walk::{IpPayload, Walk};
use crate::capture::LinkType;

/// Decodes a recorded packet.
///
/// `original_length` is the packet's length on the wire; if it is more than `data` holds, the
/// capture cut the packet. Payload offsets of the outcome count from the beginning of `data`.
pub fn decode(link: LinkType, data: &[u8], original_length: u32) -> Outcome<'_> {
    let recorded = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut walk = Walk {
        data,
        cut: original_length.saturating_sub(recorded),
        layers: 0,
        direction: PacketDirection::Unknown,
        vlan: None,
        tags: LinkTags::default(),
        tunnels: Tunnels::default(),
    };
    walk.link(link)
}

/// Decodes the payload of an IP datagram that was joined from fragments.
///
/// `protocol` and `ip` are those of its first fragment. The outcome may be a fragment again, of a
/// datagram inside a tunnel. Payload offsets count from the beginning of `bytes`.
pub fn decode_ip_payload(ip: Ip, protocol: u8, bytes: &[u8]) -> Outcome<'_> {
    let mut walk = Walk {
        data: bytes,
        cut: 0,
        layers: 0,
        direction: ip.direction,
        vlan: ip.vlan,
        tags: ip.tags,
        tunnels: ip.tunnels,
    };
    let carried =
        IpPayload { ip, ipv4: &[], protocol, bytes, missing: 0, snapped: false, note: None };
    walk.ip_payload(carried)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::net::checksum;
    use crate::net::test_packets::*;

    const LINKS: [u16; 30] = [
        0, 1, 8, 9, 12, 14, 50, 51, 101, 104, 105, 107, 108, 113, 119, 127, 163, 192, 204, 205,
        206, 228, 229, 239, 258, 276, 281, 284, 285, 147,
    ];

    /// All spans of the outcome are within the packet.
    fn consistent(outcome: &Outcome<'_>, data: &[u8]) {
        let payload = match outcome {
            Outcome::Udp(datagram) => &datagram.payload,
            Outcome::Tcp(segment) => &segment.payload,
            Outcome::Fragment(fragment) => &fragment.payload,
            _ => return,
        };
        let offset = payload.offset as usize;
        assert_eq!(data.get(offset..offset + payload.bytes.len()), Some(payload.bytes));
        assert!(payload.announced as usize >= payload.bytes.len());
        assert!(!payload.snapped || !payload.is_whole());
        checksum::verify(outcome);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn arbitrary_bytes(
            link in prop::sample::select(&LINKS[..]),
            data in prop::collection::vec(any::<u8>(), 0..200),
            more in 0u32..3,
        ) {
            let outcome = decode(LinkType(link), &data, data.len() as u32 + more);
            consistent(&outcome, &data);
        }

        #[test]
        fn damaged_packets(
            which in 0usize..6,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            length in any::<prop::sample::Index>(),
        ) {
            let inner = ipv4(17, &query());
            let frame = ethernet(0x0800, &inner);
            let mut packet = match which {
                0 => frame,
                1 => ethernet(0x8100, &vlan(1, 0x86dd, &ipv6(0, &[17, 0, 0, 0, 0, 0, 0, 0]))),
                2 => ethernet(0x0800, &ipv4(47, &cat(&[b"\xb0\0\x65\x58", &[0; 12], &frame]))),
                3 => {
                    let vxlan = cat(&[b"\x08\0\0\0\0\0\x01\0", &frame]);
                    ethernet(0x0800, &ipv4(17, &udp(1, 4789, &vxlan)))
                }
                4 => ethernet(0x8847, &cat(&[b"\0\x01\x41\x40\0\0\0\0", &frame])),
                _ => ethernet(0x86dd, &ipv6(44, &fragment6(6, 0, true, 1, &[0; 32]))),
            };
            for (at, byte) in damage {
                let at = at.index(packet.len());
                packet[at] = byte;
            }
            let cut = &packet[..length.index(packet.len() + 1)];
            let outcome = decode(LinkType::ETHERNET, cut, packet.len() as u32);
            consistent(&outcome, cut);
        }

        #[test]
        fn arbitrary_reassembled_bytes(
            protocol: u8,
            version6: bool,
            data in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let first = if version6 { ipv6(17, &query()) } else { ipv4(17, &query()) };
            let ip = datagram(decode(LinkType::RAW, &first, 0)).ip;
            consistent(&decode_ip_payload(ip, protocol, &data), &data);
        }
    }
}
