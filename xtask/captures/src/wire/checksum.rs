//! The Internet checksum (RFC 1071) and the pseudo-headers it covers.

use std::net::IpAddr;

pub use dissectors::script::Checksum;

/// What is in a header's checksum field where `right` is the sum.
pub(crate) const fn field(checksum: Checksum, right: u16) -> u16 {
    match checksum {
        Checksum::Right => right,
        Checksum::Wrong if right == 0x0101 => 0x0202,
        Checksum::Wrong => right ^ 0x0101,
        Checksum::Absent => 0,
    }
}

/// The checksum of the parts as if they stood one after the other.
pub fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for (at, byte) in parts.iter().copied().flatten().enumerate() {
        sum += if at % 2 == 0 { u64::from(*byte) << 8 } else { u64::from(*byte) };
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum of a UDP datagram or TCP segment whose own checksum field holds 0, with the
/// pseudo-header of IPv4 (RFC 9293, 3.1) or IPv6 (RFC 8200, 8.1).
///
/// # Panics
/// If one address is IPv4 and the other IPv6.
pub fn transport_checksum(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    segment: &[u8],
) -> u16 {
    let length = (segment.len() as u32).to_be_bytes();
    let end = [0, 0, 0, protocol];
    match (source, destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            internet_checksum(&[&from.octets(), &to.octets(), &end, &length, segment])
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            internet_checksum(&[&from.octets(), &to.octets(), &length, &end, segment])
        }
        _ => panic!("{source} and {destination} are of two families"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // Section 3 gives the sum DDF2, whose complement is the checksum.
        let bytes = [0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7];
        assert_eq!(internet_checksum(&[&bytes]), !0xDDF2);
        assert_eq!(internet_checksum(&[&bytes[..3], &bytes[3..]]), !0xDDF2);
    }

    #[test]
    fn wrong_is_neither_right_nor_absent() {
        for right in 0..=u16::MAX {
            assert_ne!(field(Checksum::Wrong, right), right);
            assert_ne!(field(Checksum::Wrong, right), 0);
        }
    }
}
