//! IPv4 and IPv6 headers, options, extension headers, fragments.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::Bytes;
use crate::wire::{Checksum, checksum, internet_checksum};

/// The numbers of what IP carries.
pub mod protocol {
    /// Hop-by-hop options, an IPv6 extension header.
    pub const HOP_BY_HOP: u8 = 0;
    /// IPv4 in IP.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP.
    pub const IPV6: u8 = 41;
    /// A fragment, an IPv6 extension header.
    pub const FRAGMENT: u8 = 44;
    /// Generic routing encapsulation.
    pub const GRE: u8 = 47;
    /// Destination options, an IPv6 extension header.
    pub const DESTINATION_OPTIONS: u8 = 60;
}

/// An IP header; the version follows from the addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Who sends.
    pub source: IpAddr,
    /// Who is to receive; of the same family as `source`.
    pub destination: IpAddr,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The identification of a datagram's fragments; IPv4 has its low 16 bits.
    pub id: u32,
    /// IPv4's "don't fragment".
    pub dont_fragment: bool,
    /// IPv4 options; filled up with zeros to a multiple of 4, at most 40 bytes.
    pub options: Vec<u8>,
    /// IPv6 extension headers in front of a fragment header: the number of each, and its bytes
    /// after the next header and length bytes; filled up to a multiple of 8.
    pub extensions: Vec<(u8, Vec<u8>)>,
    /// IPv4's header checksum.
    pub checksum: Checksum,
}

impl Ip {
    /// A plain header: time to live 64, id 0, no options.
    ///
    /// # Panics
    /// If one address is IPv4 and the other IPv6.
    pub fn new(source: IpAddr, destination: IpAddr) -> Self {
        assert_eq!(source.is_ipv4(), destination.is_ipv4(), "the addresses are of two families");
        Self {
            source,
            destination,
            ttl: 64,
            id: 0,
            dont_fragment: false,
            options: Vec::new(),
            extensions: Vec::new(),
            checksum: Checksum::Right,
        }
    }

    /// A packet with a whole payload.
    pub fn packet(&self, protocol: u8, payload: &[u8]) -> Vec<u8> {
        match (self.source, self.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.v4(from, to, protocol, 0, false, payload),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.v6(from, to, protocol, payload),
            _ => panic!("the addresses are of two families"),
        }
    }

    /// A packet with a part of a payload that begins `offset` bytes into it.
    ///
    /// # Panics
    /// If the offset is not a multiple of 8 or above 65528. (A part that is not the last and not a
    /// multiple of 8 long is malformed, and made all the same.)
    pub fn fragment(&self, protocol: u8, offset: usize, more: bool, part: &[u8]) -> Vec<u8> {
        assert!(offset.is_multiple_of(8) && offset <= 65_528, "no fragment can begin at {offset}");
        let offset = offset as u16;
        match (self.source, self.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.v4(from, to, protocol, offset, more, part),
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let fragment = Bytes::new()
                    .u8(protocol)
                    .u8(0)
                    .be16(offset | u16::from(more))
                    .be32(self.id)
                    .raw(part)
                    .done();
                self.v6(from, to, protocol::FRAGMENT, &fragment)
            }
            _ => panic!("the addresses are of two families"),
        }
    }

    /// The packets that carry a payload in fragments of `size` bytes, in order.
    ///
    /// # Panics
    /// If the size is 0 or not a multiple of 8.
    pub fn fragments(&self, protocol: u8, size: usize, payload: &[u8]) -> Vec<Vec<u8>> {
        assert!(size > 0 && size.is_multiple_of(8), "fragments of {size} bytes cannot be");
        let last = payload.len().saturating_sub(1) / size;
        let part = |(n, part)| self.fragment(protocol, n * size, n < last, part);
        payload.chunks(size).enumerate().map(part).collect()
    }

    fn v4(
        &self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        offset: u16,
        more: bool,
        payload: &[u8],
    ) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        assert!(options.len() <= 40, "{} bytes of IPv4 options", options.len());
        let header_length = 20 + options.len();
        let length = u16::try_from(header_length + payload.len()).expect("fits an IPv4 packet");
        let flags = u16::from(self.dont_fragment) << 14 | u16::from(more) << 13;
        let mut header = Bytes::new()
            .u8(0x40 | (header_length / 4) as u8)
            .u8(0)
            .be16(length)
            .be16(self.id as u16)
            .be16(flags | (offset / 8))
            .u8(self.ttl)
            .u8(protocol)
            .be16(0)
            .raw(&source.octets())
            .raw(&destination.octets())
            .raw(&options)
            .done();
        let sum = checksum::field(self.checksum, internet_checksum(&[&header]));
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header.extend_from_slice(payload);
        header
    }

    fn v6(&self, source: Ipv6Addr, destination: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
        let mut next = next;
        let mut payload = payload.to_vec();
        for (number, content) in self.extensions.iter().rev() {
            payload = extension(next, content, &payload);
            next = *number;
        }
        let length = u16::try_from(payload.len()).expect("fits an IPv6 packet");
        Bytes::new()
            .be32(0x6000_0000)
            .be16(length)
            .u8(next)
            .u8(self.ttl)
            .raw(&source.octets())
            .raw(&destination.octets())
            .raw(&payload)
            .done()
    }
}

/// An IPv6 extension header (RFC 8200, 4.2) and what follows it. It is for extension headers
/// after a fragment header; those in front of it are in [`Ip::extensions`].
///
/// # Panics
/// If the header would be longer than 2048 bytes.
pub fn extension(next: u8, content: &[u8], payload: &[u8]) -> Vec<u8> {
    let length = (2 + content.len()).next_multiple_of(8);
    let units = u8::try_from(length / 8 - 1).expect("an extension header of at most 2048 bytes");
    let mut header = Bytes::new().u8(next).u8(units).raw(content).done();
    header.resize(length, 0);
    header.extend_from_slice(payload);
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4() -> Ip {
        Ip::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
    }

    fn v6() -> Ip {
        Ip::new(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into())
    }

    #[test]
    fn options_are_padded_and_summed() {
        let packet = Ip { options: vec![0x94, 0x04, 0x00, 0x00, 0x01], ..v4() }.packet(17, b"xy");
        assert_eq!(packet[0], 0x47);
        assert_eq!(packet.len(), 20 + 8 + 2);
        assert_eq!(internet_checksum(&[&packet[..28]]), 0);
    }

    #[test]
    fn a_wrong_header_checksum_is_wrong() {
        let packet = Ip { checksum: Checksum::Wrong, ..v4() }.packet(17, b"");
        assert_ne!(internet_checksum(&[&packet]), 0);
    }

    #[test]
    fn v4_fragments_tile_the_payload() {
        let payload: Vec<u8> = (0..40).collect();
        let parts = Ip { id: 7, ..v4() }.fragments(17, 16, &payload);
        let words: Vec<_> = parts.iter().map(|part| [part[6], part[7]]).collect();
        assert_eq!(words, [[0x20, 0], [0x20, 2], [0x00, 4]]);
        let joined: Vec<u8> = parts.iter().flat_map(|part| part[20..].to_vec()).collect();
        assert_eq!(joined, payload);
    }

    #[test]
    fn v6_fragments_stand_after_the_other_extensions() {
        let ip = Ip { id: 0xABCD, extensions: vec![(protocol::HOP_BY_HOP, vec![1, 4])], ..v6() };
        let parts = ip.fragments(17, 8, &[0xEE; 12]);
        assert_eq!(parts[1][4..8], [0, 20, 0, 64]);
        assert_eq!(parts[1][40..48], [44, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(parts[1][48..], [17, 0, 0, 8, 0, 0, 0xAB, 0xCD, 0xEE, 0xEE, 0xEE, 0xEE]);
        assert_eq!(parts[0][50..52], [0, 1]);
    }

    #[test]
    fn a_payload_of_one_fragment_says_that_it_is_the_last() {
        let parts = v4().fragments(17, 8, &[1; 8]);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0][6..8], [0, 0]);
    }
}
