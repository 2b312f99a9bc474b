//! The walk down a packet: what is shared by all layers, and the two ways in.
//!
//! Each layer is a method of [`Walk`] in the file of its kind; it takes the bytes from its header
//! on and ends by calling the next layer. Calls nest no deeper than [`limits::LAYERS`] and
//! [`limits::TUNNELS`] allow.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::limits;
use super::packet::{Ip, Layer, Malformed, Outcome, Payload, Tunnel, Tunnels};
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
        vlan: None,
        tunnels: Tunnels::default(),
    };
    walk.link(link)
}

/// Goes on with the payload of an IP datagram that was joined from fragments.
///
/// `protocol` and `ip` are those of its first fragment. The outcome may be a fragment again, of a
/// datagram inside a tunnel. Payload offsets count from the beginning of `bytes`.
pub fn decode_ip_payload(ip: Ip, protocol: u8, bytes: &[u8]) -> Outcome<'_> {
    let mut walk = Walk { data: bytes, cut: 0, layers: 0, vlan: ip.vlan, tunnels: ip.tunnels };
    let carried =
        Carried { ip, ipv4: &[], protocol, bytes, missing: 0, snapped: false, note: None };
    walk.ip_payload(carried)
}

/// A packet on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk<'a> {
    /// What is decoded; offsets count from here.
    data: &'a [u8],
    /// Bytes of the wire that the capture does not hold at the end of the current layer.
    pub(super) cut: u32,
    layers: u8,
    pub(super) vlan: Option<u16>,
    pub(super) tunnels: Tunnels,
}

/// What an IP header carries, on its way to the transport.
#[derive(Clone, Copy)]
pub(super) struct Carried<'a> {
    pub(super) ip: Ip,
    pub(super) ipv4: &'a [u8],
    pub(super) protocol: u8,
    pub(super) bytes: &'a [u8],
    /// How many more bytes the IP header announces than `bytes` holds.
    pub(super) missing: u32,
    /// They are missing because the capture cut the packet.
    pub(super) snapped: bool,
    pub(super) note: Option<Malformed>,
}

impl<'a> Walk<'a> {
    /// All that is decoded.
    pub(super) fn whole(&self) -> &'a [u8] {
        self.data
    }

    /// The end of a packet whose header is not all there.
    pub(super) fn short(&self, layer: Layer) -> Outcome<'a> {
        if self.cut > 0 { Outcome::Snapped } else { malformed(layer, "the packet ends in it") }
    }

    /// Counts a layer; `Err` when they are too many.
    pub(super) fn deeper(&mut self, layer: Layer) -> Result<(), Malformed> {
        self.layers = self.layers.saturating_add(1);
        if self.layers > limits::LAYERS {
            return Err(Malformed { layer, what: "too many headers are stacked" });
        }
        Ok(())
    }

    /// Notes a tunnel; `Err` when they are too many.
    pub(super) fn enter(&mut self, kind: Tunnel, identifier: Option<u32>) -> Result<(), Malformed> {
        if self.tunnels.enter(kind, identifier) {
            return Ok(());
        }
        Err(Malformed { layer: Layer::Tunnel, what: "too many tunnels are stacked" })
    }

    /// A payload that lies in the packet, with its place.
    pub(super) fn payload(&self, bytes: &'a [u8], missing: u32, snapped: bool) -> Payload<'a> {
        let offset = bytes.as_ptr().addr().wrapping_sub(self.data.as_ptr().addr());
        let held = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Payload {
            bytes,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            announced: held.saturating_add(missing),
            snapped,
        }
    }
}

pub(super) fn malformed<'a>(layer: Layer, what: &'static str) -> Outcome<'a> {
    Outcome::Malformed(Malformed { layer, what })
}

/// The first two bytes as a number, and what follows them.
pub(super) fn u16_be(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*head), rest))
}

/// The first four bytes as a number, and what follows them.
pub(super) fn u32_be(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*head), rest))
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

    /// Everything that is claimed lies in the packet.
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
