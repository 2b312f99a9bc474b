//! Packets inside packets.

use std::net::SocketAddr;

use crate::bytes::Bytes;
use crate::wire::{Checksum, Datagram, Ip, ethertype, internet_checksum, protocol};

/// The UDP port of VXLAN.
pub const VXLAN_PORT: u16 = 4789;

/// An IP packet directly in another (RFC 2003, RFC 4213).
pub fn ip_in_ip(outer: &Ip, inner: &[u8]) -> Vec<u8> {
    let number = if is_v6(inner) { protocol::IPV6 } else { protocol::IPV4 };
    outer.packet(number, inner)
}

/// What GRE's header may hold beside the protocol (RFC 2890).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gre {
    /// Sends a checksum.
    pub checksum: bool,
    /// Tells the flows of a tunnel apart.
    pub key: Option<u32>,
    /// Counts the packets.
    pub sequence: Option<u32>,
}

impl Gre {
    /// An IP packet in GRE.
    pub fn packet(self, outer: &Ip, inner: &[u8]) -> Vec<u8> {
        let kind = if is_v6(inner) { ethertype::IPV6 } else { ethertype::IPV4 };
        self.packet_of(outer, kind, inner)
    }

    /// Anything that has an EtherType in GRE; whole Ethernet frames have [`ethertype::BRIDGED`].
    pub fn packet_of(self, outer: &Ip, kind: u16, inner: &[u8]) -> Vec<u8> {
        let flags = u16::from(self.checksum) << 15
            | u16::from(self.key.is_some()) << 13
            | u16::from(self.sequence.is_some()) << 12;
        let mut header = Bytes::new().be16(flags).be16(kind);
        if self.checksum {
            header = header.be32(0);
        }
        if let Some(key) = self.key {
            header = header.be32(key);
        }
        if let Some(sequence) = self.sequence {
            header = header.be32(sequence);
        }
        let mut bytes = header.raw(inner).done();
        if self.checksum {
            let sum = internet_checksum(&[&bytes]);
            bytes[4..6].copy_from_slice(&sum.to_be_bytes());
        }
        outer.packet(protocol::GRE, &bytes)
    }
}

/// An Ethernet frame in VXLAN (RFC 7348), from a port of the outer sender's choice.
///
/// # Panics
/// If the network's number has more than 24 bits.
pub fn vxlan(outer: &Ip, source_port: u16, network: u32, frame: &[u8]) -> Vec<u8> {
    assert!(network < 1 << 24, "{network} has more than 24 bits");
    let datagram = Datagram {
        source: SocketAddr::new(outer.source, source_port),
        destination: SocketAddr::new(outer.destination, VXLAN_PORT),
        payload: Bytes::new().be32(0x0800_0000).be32(network << 8).raw(frame).done(),
        checksum: Checksum::Right,
    };
    outer.packet(protocol::UDP, &datagram.bytes())
}

fn is_v6(packet: &[u8]) -> bool {
    packet.first().is_some_and(|byte| byte >> 4 == 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outer() -> Ip {
        Ip::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into())
    }

    #[test]
    fn the_outer_header_names_the_inner_protocol() {
        let inner = Datagram::new("10.0.0.1:1", "10.0.0.2:2", b"x").packet();
        assert_eq!(ip_in_ip(&outer(), &inner)[9], protocol::IPV4);
        assert_eq!(ip_in_ip(&outer(), &inner)[20..], inner);
        assert_eq!(ip_in_ip(&outer(), &[0x60])[9], protocol::IPV6);
    }

    #[test]
    fn gre_has_the_fields_its_flags_announce() {
        let inner = Datagram::new("10.0.0.1:1", "10.0.0.2:2", b"x").packet();
        let plain = Gre::default().packet(&outer(), &inner);
        assert_eq!(plain[20..24], [0x00, 0x00, 0x08, 0x00]);
        assert_eq!(plain[24..], inner);

        let full = Gre { checksum: true, key: Some(9), sequence: Some(2) };
        let packet = full.packet(&outer(), &inner);
        assert_eq!(packet[20..24], [0xB0, 0x00, 0x08, 0x00]);
        assert_eq!(packet[28..36], [0, 0, 0, 9, 0, 0, 0, 2]);
        assert_eq!(internet_checksum(&[&packet[20..]]), 0);
    }

    #[test]
    fn vxlan_carries_a_frame() {
        let packet = vxlan(&outer(), 40_000, 0x0A_0B_0C, &[0xFE; 14]);
        assert_eq!(packet[22..24], [0x12, 0xB5]);
        assert_eq!(packet[28..36], [0x08, 0, 0, 0, 0x0A, 0x0B, 0x0C, 0]);
        assert_eq!(packet[36..], [0xFE; 14]);
    }
}
