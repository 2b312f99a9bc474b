//! Who talks to whom in an ordinary packet, told without decoding it.
//!
//! Sessions that share a capture look at every packet, and decode those of their share.

use std::net::Ipv4Addr;

use super::link::LinkType;
use super::tunnel;

const UDP: u8 = 17;
const TCP: u8 = 6;

/// The source and the destination of a UDP datagram or a TCP segment, over IPv4 without options and
/// Ethernet without tags. `None` wherever [`decode`](super::decode()) might come to anything else
/// than that datagram or segment, between other hosts.
#[inline]
pub fn hosts(link: LinkType, data: &[u8]) -> Option<[Ipv4Addr; 2]> {
    /// Ethernet's header and IPv4's, and the smallest of UDP's.
    const HEADERS: usize = 14 + 20 + 8;
    let head: &[u8; HEADERS] = data.first_chunk()?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let total = usize::from(word(16));
    let is_ordinary = link == LinkType::ETHERNET
        && word(12) == 0x0800
        && head[14] == 0x45
        && total >= HEADERS - 14
        && data.len() >= 14 + total
        // Neither an offset nor more fragments.
        && word(20) & 0x3FFF == 0;
    if !is_ordinary {
        return None;
    }
    let carried = total - 20;
    match head[23] {
        UDP if usize::from(word(38)) == carried && !tunnel::is_port(word(36)) => {}
        TCP => {
            let length = usize::from(data.get(46)? >> 4) * 4;
            if length < 20 || length > carried {
                return None;
            }
        }
        _ => return None,
    }
    let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
    Some([address(26), address(30)])
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::net::test_packets::*;
    use crate::net::{Outcome, decode};

    /// What is told at a glance is what decoding comes to.
    fn agrees(packet: &[u8]) -> bool {
        let Some(hosts) = hosts(LinkType::ETHERNET, packet) else { return false };
        let ip = match decode(LinkType::ETHERNET, packet, packet.len() as u32) {
            Outcome::Udp(datagram) => datagram.ip,
            Outcome::Tcp(segment) => segment.ip,
            other => panic!("told at a glance, but decoded as {other:?}"),
        };
        assert_eq!([ip.source, ip.destination], hosts.map(IpAddr::V4));
        true
    }

    fn ordinary() -> [Vec<u8>; 2] {
        let segment = ipv4(6, &tcp(80, 50_000, 0x18, b"HTTP/1.1"));
        [ethernet(0x0800, &ipv4(17, &query())), ethernet(0x0800, &segment)]
    }

    #[test]
    fn ordinary_packets_are_told() {
        for mut packet in ordinary() {
            assert!(agrees(&packet));
            packet.extend([0; 18]);
            assert!(agrees(&packet), "with the padding of short frames");
        }
    }

    #[test]
    fn whatever_needs_a_second_look_is_not() {
        let inner = ipv4(17, &query());
        for packet in [
            ethernet(0x8100, &vlan(7, 0x0800, &inner)),
            ethernet(0x86DD, &ipv6(17, &query())),
            ethernet(0x0800, &ipv4_with(17, &[], 1, 0x2000, &query())),
            ethernet(0x0800, &ipv4_with(17, &[], 1, 3, &query())),
            ethernet(0x0800, &ipv4_with(17, &[1; 4], 1, 0, &query())),
            ethernet(0x0800, &ipv4(17, &udp(9, 4789, &inner))),
            ethernet(0x0800, &ipv4(4, &inner)),
        ] {
            assert_eq!(hosts(LinkType::ETHERNET, &packet), None);
        }
        let [datagram, _] = ordinary();
        assert_eq!(hosts(LinkType::RAW, &datagram), None);
        for length in 0..datagram.len() {
            assert_eq!(hosts(LinkType::ETHERNET, &datagram[..length]), None, "cut at {length}");
        }
    }

    proptest! {
        #[test]
        fn a_glance_never_tells_what_decoding_does_not(
            tcp in any::<bool>(),
            changes in prop::collection::vec((0usize..60, any::<u8>()), 0..4),
            length in 0usize..120,
            tail in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut packet = ordinary()[usize::from(tcp)].clone();
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
