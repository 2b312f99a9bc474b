//! ICMP errors, of IPv4 and IPv6, with the packet that they quote.

use std::net::IpAddr;

use crate::bytes::Bytes;
use crate::wire::{internet_checksum, transport_checksum};

/// Bytes of a packet that are quoted at most: as many as every link carries with the error.
const QUOTED: usize = 500;

/// The number of ICMP among what IP carries, by the version that this address is of.
pub fn protocol(address: IpAddr) -> u8 {
    if address.is_ipv4() { 1 } else { 58 }
}

/// Whether this type and code are those of a ping or of its answer, which quote nothing.
pub fn is_echo([kind, code]: [u8; 2], from: IpAddr) -> bool {
    let kinds = if from.is_ipv4() { [8, 0] } else { [128, 129] };
    kinds.contains(&kind) && code == 0
}

/// An error of this type and code, from one host to another, about a packet. `mtu`: the largest packet that
/// passes, where the error says so (RFC 1191, RFC 4443).
///
/// # Panics
/// If the addresses are of two families.
pub fn error([kind, code]: [u8; 2], mtu: u16, [from, to]: [IpAddr; 2], packet: &[u8]) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(QUOTED)];
    let mut bytes = Bytes::new().raw(&[kind, code]).be16(0).be32(u32::from(mtu)).raw(quoted).done();
    let sum = match from {
        IpAddr::V4(_) => internet_checksum(&[&bytes]),
        IpAddr::V6(_) => transport_checksum(from, to, protocol(from), &bytes),
    };
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}
