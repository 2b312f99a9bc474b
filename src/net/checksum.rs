//! IPv4, UDP and TCP checksums.
//!
//! They are not part of decoding, because summing a payload costs more than all other work, and
//! because a sending host leaves checksums to the network card, so that they are wrong in its own
//! captures. By default only the IPv4 header's is checked, which is rarely left to the card and is
//! 0 then; the others on request. Only complete bytes are checked.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;

use super::outcome::Outcome;
use super::packet::{Headers, Ip, Malformed, TransportPayload};
use super::protocol;

/// The results for the checksums of a packet's innermost headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksums {
    /// The IPv4 header's.
    pub ipv4: ChecksumResult,
    /// The UDP or TCP checksum.
    pub transport: ChecksumResult,
}

/// The result for one checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumResult {
    /// There is none, or not all covered bytes are available.
    NotChecked,
    /// It is correct.
    Right,
    /// It is wrong.
    Wrong {
        /// The value in the packet.
        found: u16,
        /// The computed value.
        expected: u16,
    },
}

/// Verifies the checksums of a decoded packet or reassembled datagram.
pub fn verify(outcome: &Outcome<'_>) -> Checksums {
    match outcome {
        Outcome::Udp(datagram) => Checksums {
            ipv4: ipv4(datagram.headers.ipv4),
            transport: udp(&datagram.ip, &datagram.headers, &datagram.payload, datagram.note),
        },
        Outcome::Tcp(segment) => Checksums {
            ipv4: ipv4(segment.headers.ipv4),
            transport: tcp(&segment.ip, &segment.headers, &segment.payload, segment.note),
        },
        Outcome::Fragment(fragment) => {
            Checksums { ipv4: ipv4(fragment.headers.ipv4), transport: ChecksumResult::NotChecked }
        }
        _ => Checksums { ipv4: ChecksumResult::NotChecked, transport: ChecksumResult::NotChecked },
    }
}

/// Verifies the checksum of a packet's innermost IPv4 header, unless that was left to the network
/// card.
#[inline]
pub fn header(headers: &Headers<'_>) -> ChecksumResult {
    // Most headers have no options: a fixed size is summed faster.
    let is_right = match <&[u8; 20]>::try_from(headers.ipv4) {
        Ok(usual) => is_right(usual),
        Err(_) => is_right(headers.ipv4),
    };
    if is_right {
        return ChecksumResult::Right;
    }
    match ipv4(headers.ipv4) {
        ChecksumResult::Wrong { found: 0, .. } => ChecksumResult::NotChecked,
        verdict => verdict,
    }
}

/// Whether a header with its checksum sums to the value of a correct one.
#[inline(always)]
fn is_right(header: &[u8]) -> bool {
    let (words, rest) = header.as_chunks();
    let sum =
        words.iter().fold(0, |sum: u64, word| sum.saturating_add(u32::from_ne_bytes(*word).into()));
    // Carries are added to the low 16 bits.
    let sum = (0..3).fold(sum, |sum, _| (sum & 0xffff).saturating_add(sum >> 16));
    sum == 0xffff && rest.is_empty()
}

fn ipv4(header: &[u8]) -> ChecksumResult {
    compare(Sum16BitWords::new(), header, 10).unwrap_or(ChecksumResult::NotChecked)
}

fn udp(
    ip: &Ip,
    headers: &Headers<'_>,
    payload: &TransportPayload<'_>,
    note: Option<Malformed>,
) -> ChecksumResult {
    // Over IPv4, zero means that the sender computed none.
    let absent = matches!(headers.transport, [_, _, _, _, _, _, 0, 0, ..]) && ip.source.is_ipv4();
    if absent || !payload.is_whole() || note.is_some() {
        return ChecksumResult::NotChecked;
    }
    let sum = pseudo_header(ip, protocol::UDP, headers.transport.len());
    compare(sum, headers.transport, 6).unwrap_or(ChecksumResult::NotChecked)
}

fn tcp(
    ip: &Ip,
    headers: &Headers<'_>,
    payload: &TransportPayload<'_>,
    note: Option<Malformed>,
) -> ChecksumResult {
    if !payload.is_whole() || note.is_some() {
        return ChecksumResult::NotChecked;
    }
    let sum = pseudo_header(ip, protocol::TCP, headers.transport.len());
    compare(sum, headers.transport, 16).unwrap_or(ChecksumResult::NotChecked)
}

/// Addresses, protocol and length, which transport checksums cover too.
fn pseudo_header(ip: &Ip, protocol: u8, length: usize) -> Sum16BitWords {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    let mut sum = Sum16BitWords::new();
    for address in [ip.source, ip.destination] {
        sum = match address {
            IpAddr::V4(address) => sum.add_4bytes(address.octets()),
            IpAddr::V6(address) => sum.add_16bytes(address.octets()),
        };
    }
    sum.add_2bytes([0, protocol]).add_4bytes(length.to_be_bytes())
}

/// Sums `bytes` without the checksum that is `at` an even place in them.
fn compare(sum: Sum16BitWords, bytes: &[u8], at: usize) -> Option<ChecksumResult> {
    let (before, rest) = bytes.split_at_checked(at)?;
    let (found, after) = rest.split_first_chunk()?;
    let found = u16::from_be_bytes(*found);
    // etherparse sums in native byte order and converts the result.
    let expected = sum.add_slice(before).add_slice(after).ones_complement().to_be();
    // Both are zero in ones' complement; UDP always writes the second.
    let zero = |checksum: u16| matches!(checksum, 0x0000 | 0xffff);
    if found == expected || (zero(found) && zero(expected)) {
        return Some(ChecksumResult::Right);
    }
    Some(ChecksumResult::Wrong { found, expected })
}

#[cfg(test)]
mod tests {
    use super::{ChecksumResult, Outcome, header, verify};
    use crate::capture::LinkType;
    use crate::net::decode;
    use crate::net::test_packets::*;

    fn verdicts(packet: &[u8], original_length: usize) -> (ChecksumResult, ChecksumResult) {
        let checksums = verify(&decode(LinkType::RAW, packet, original_length as u32));
        (checksums.ipv4, checksums.transport)
    }

    #[test]
    fn a_header_alone_is_checked_unless_it_was_left_to_the_network_card() {
        let checked = |packet: &[u8]| match decode(LinkType::RAW, packet, packet.len() as u32) {
            Outcome::Udp(datagram) => header(&datagram.headers),
            _ => panic!("no datagram"),
        };
        for length in 0..40 {
            let packet = ipv4(17, &udp(7, 9, &vec![length; length.into()]));
            assert_eq!(checked(&packet), ChecksumResult::Right);
            assert_eq!(checked(&flip(&packet, 8)), verdicts(&flip(&packet, 8), packet.len()).0);
            let mut offloaded = packet.clone();
            offloaded[10..12].fill(0);
            assert_eq!(checked(&offloaded), ChecksumResult::NotChecked);
        }
        assert_eq!(checked(&ipv6(17, &query())), ChecksumResult::NotChecked);
    }

    fn flip(packet: &[u8], at: usize) -> Vec<u8> {
        let mut packet = packet.to_vec();
        packet[at] ^= 0x40;
        packet
    }

    #[test]
    fn right_and_wrong_over_ipv4() {
        // Odd and even lengths, and one that is not a multiple of four.
        for payload in [QUERY, &QUERY[..22], b"", b"x"] {
            for packet in [ipv4(17, &udp(7, 9, payload)), ipv4(6, &tcp(7, 9, 0x18, payload))] {
                let length = packet.len();
                assert_eq!(
                    verdicts(&packet, length),
                    (ChecksumResult::Right, ChecksumResult::Right)
                );
                let (ipv4, transport) = verdicts(&flip(&packet, 8), length);
                assert!(matches!(ipv4, ChecksumResult::Wrong { .. }));
                assert_eq!(transport, ChecksumResult::Right, "the time to live is not covered");
                let (ipv4, transport) = verdicts(&flip(&packet, 21), length);
                assert_eq!(ipv4, ChecksumResult::Right);
                assert!(matches!(transport, ChecksumResult::Wrong { .. }));
            }
        }
    }

    #[test]
    fn expected_is_the_right_checksum() {
        let packet = ipv4(17, &query());
        let sent = u16::from_be_bytes([packet[26], packet[27]]);
        let mut wrong = packet.clone();
        wrong[26..28].copy_from_slice(&[0xab, 0xcd]);
        let (_, transport) = verdicts(&wrong, wrong.len());
        assert_eq!(transport, ChecksumResult::Wrong { found: 0xabcd, expected: sent });
    }

    #[test]
    fn right_and_wrong_over_ipv6() {
        let mut datagram = query();
        datagram[6..8].fill(0);
        let length = (datagram.len() as u32).to_be_bytes();
        let sum =
            checksum(&[&CLIENT6.octets(), &SERVER6.octets(), &length, &[0, 0, 0, 17], &datagram]);
        let missing = ipv6(17, &datagram);
        assert!(matches!(verdicts(&missing, 0).1, ChecksumResult::Wrong { found: 0, .. }));
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(
            verdicts(&ipv6(17, &datagram), 0),
            (ChecksumResult::NotChecked, ChecksumResult::Right)
        );
    }

    #[test]
    fn no_checksum_over_ipv4_is_allowed() {
        let mut packet = ipv4(17, &query());
        packet[26..28].fill(0);
        assert_eq!(verdicts(&packet, 0), (ChecksumResult::Right, ChecksumResult::NotChecked));
    }

    #[test]
    fn incomplete_payloads_are_not_checked() {
        let packet = ipv4(17, &query());
        let cut = &packet[..packet.len() - 1];
        assert_eq!(
            verdicts(cut, packet.len()),
            (ChecksumResult::Right, ChecksumResult::NotChecked)
        );
        assert_eq!(verdicts(cut, cut.len()), (ChecksumResult::Right, ChecksumResult::NotChecked));
        let fragment = ipv4_with(17, &[], 1, 0x2000, &[0; 8]);
        assert_eq!(verdicts(&fragment, 28), (ChecksumResult::Right, ChecksumResult::NotChecked));
    }
}
