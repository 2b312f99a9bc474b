//! The headers of a rewritten packet: made of the numbers that a reader needs. Options are left out
//! but for those that determine how a connection works, and a checksum is right, absent, or one
//! wrong number.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Transport;

use super::Addresses;
use super::numbers::is_small;
use super::secret::{Key, Purpose};
use crate::net::checksum::{ChecksumResult, verify};
use crate::net::{Fragment, IcmpError, Ip, Layer, Malformed, Outcome, Quote, Tunnels};

/// What is written in place of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    /// The right one.
    Right,
    /// Zero: there is none, or it was left to the network card.
    Absent,
    /// A wrong one, always the same: the difference from the right one could tell what was replaced.
    Wrong,
}

impl Checksum {
    /// Those of the IPv4 header and of the transport header of a packet. One that was not recorded
    /// completely is written like a wrong one.
    pub(super) fn of(outcome: &Outcome<'_>) -> [Checksum; 2] {
        let sums = verify(outcome);
        let of = |result| match result {
            ChecksumResult::Right => Checksum::Right,
            ChecksumResult::Wrong { found: 0, .. } => Checksum::Absent,
            ChecksumResult::Wrong { .. } | ChecksumResult::NotChecked => Checksum::Wrong,
        };
        let is_absent = match outcome {
            Outcome::Udp(it) => {
                it.ip.source.is_ipv4() && it.headers.transport.get(6..8) == Some(&[0; 2])
            }
            _ => false,
        };
        [of(sums.ipv4), if is_absent { Checksum::Absent } else { of(sums.transport) }]
    }

    /// The bytes in the field where `right` is the sum. UDP's zero means none.
    fn field(self, right: u16, is_udp: bool) -> [u8; 2] {
        const WRONG: [u16; 2] = [0x0BAD, 0x0BAE];
        match self {
            Checksum::Right if is_udp && right == 0 => [0xFF; 2],
            Checksum::Right => right.to_be_bytes(),
            Checksum::Absent => [0; 2],
            Checksum::Wrong => WRONG[usize::from(right == WRONG[0])].to_be_bytes(),
        }
    }
}

/// The sum of the 16-bit words.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    words + rest.first().map_or(0, |&byte| u64::from(byte) << 8)
}

fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// An address's bytes.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

/// The sum over the addresses, the protocol and the length, which transport checksums cover too.
fn pseudo_header(ends: &[IpAddr; 2], protocol: u8, length: usize) -> u64 {
    let addresses: u64 = ends.iter().map(|end| sum(&octets(*end))).sum();
    addresses + u64::from(protocol) + length as u64
}

/// Whether the transport checksum of a whole datagram between these hosts is right.
pub(super) fn is_right(ends: &[IpAddr; 2], protocol: u8, datagram: &[u8]) -> bool {
    fold(pseudo_header(ends, protocol, datagram.len()) + sum(datagram)) == 0xFFFF
}

/// The place of the checksum in a transport header.
pub(super) fn checksum_place(protocol: u8) -> usize {
    if protocol == TCP { 16 } else { 6 }
}

/// Writes the transport checksum of a whole datagram between these hosts.
pub(super) fn set_checksum(
    checksum: Checksum,
    ends: &[IpAddr; 2],
    protocol: u8,
    datagram: &mut [u8],
) {
    let at = checksum_place(protocol);
    let Some(field) = datagram.get_mut(at..at + 2) else { return };
    field.fill(0);
    let right = !fold(pseudo_header(ends, protocol, datagram.len()) + sum(datagram));
    if let Some(field) = datagram.get_mut(at..at + 2) {
        field.copy_from_slice(&checksum.field(right, protocol == UDP));
    }
}

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// The number of a transport in IP headers.
pub(super) fn protocol_of(transport: Transport) -> u8 {
    match transport {
        Transport::Udp => UDP,
        Transport::Tcp => TCP,
    }
}

/// What an IP header says about the packet after it.
pub(super) struct IpLengths<'a> {
    /// The original IPv4 header; empty for IPv6, or for a packet that is made up.
    pub(super) ipv4: &'a [u8],
    pub(super) protocol: u8,
    /// Bytes that the header announces.
    pub(super) announced: u32,
    /// Bytes that were recorded.
    pub(super) recorded: u32,
    pub(super) note: Option<Malformed>,
    pub(super) checksum: Checksum,
}

/// The identifications and sequence numbers of packets, which have no meaning of their own.
#[derive(Clone)]
pub(super) struct Numbering(pub(super) Key);

impl Numbering {
    fn half(&self, number: u16, round: u8, ends: &[u8]) -> u16 {
        let what = [ends, &number.to_be_bytes(), &[round]].concat();
        self.0.number(Purpose::Identification, &what) as u16
    }

    /// A permutation of the numbers of twice this many bits, with these rounds of a cipher.
    fn permuted(&self, number: u32, bits: u32, rounds: std::ops::Range<u8>, of: &[u8]) -> u32 {
        let mask = (1 << bits) - 1;
        let (mut a, mut b) = (number >> bits & mask, number & mask);
        for round in rounds {
            (a, b) = (b, a ^ u32::from(self.half(b as u16, round, of)) & mask);
        }
        a << bits | b
    }

    /// The replacement of a datagram's identification: the same for all hosts, because some may have recorded it with other
    /// addresses, before and behind NAT. Zero stays.
    fn identification(&self, number: u32, hosts: [IpAddr; 2]) -> u32 {
        if number == 0 {
            return 0;
        }
        let other = |number| match hosts[0] {
            IpAddr::V4(_) => self.permuted(number, 8, 0..4, &[]),
            IpAddr::V6(_) => self.permuted(number, 16, 4..8, &[]),
        };
        match other(number) {
            0 => other(0),
            other => other,
        }
    }

    /// What is added to the sequence numbers from one end to the other.
    fn shift(&self, from: SocketAddr, to: SocketAddr) -> u32 {
        let mut what = [octets(from.ip()), octets(to.ip())].concat();
        what.extend([from.port().to_be_bytes(), to.port().to_be_bytes()].concat());
        self.0.number(Purpose::Sequence, &what) as u32
    }

    /// The replacement of a VLAN identifier.
    fn vlan(&self, vlan: u16) -> u16 {
        self.permuted(vlan.into(), 6, 8..12, &[]) as u16
    }

    /// The label that stands for the tunnels of a packet.
    fn label(&self, tunnels: &Tunnels) -> u32 {
        let label =
            self.0.number(Purpose::Network, tunnels.to_string().as_bytes()) as u32 & 0xF_FFFF;
        // The first ones have a meaning.
        label.max(16)
    }
}

/// The IP header of a packet between these hosts, whose replacements are `ends`.
pub(super) fn ip_header(
    ip: &Ip,
    ends: [IpAddr; 2],
    lengths: &IpLengths<'_>,
    fragment: Option<&Fragment<'_>>,
    numbering: &Numbering,
) -> Vec<u8> {
    let hosts = [ip.source, ip.destination];
    let [IpAddr::V4(source), IpAddr::V4(destination)] = ends else {
        return ipv6_header(ip, ends, lengths, fragment, numbering);
    };
    let old = |at: usize| lengths.ipv4.get(at).copied().unwrap_or_default();
    let length = lengths.ipv4.len().clamp(20, 60);
    let mut header = vec![1; length];
    header[..20].fill(0);
    header[0] = 0x40 | (length / 4) as u8;
    let stated = u16::from_be_bytes([old(2), old(3)]);
    let total = match lengths.note {
        _ if !lengths.ipv4.is_empty() && stated == 0 => 0,
        Some(Malformed { layer: Layer::Ipv4, .. }) => stated,
        Some(_) => (length as u32 + lengths.recorded) as u16,
        None => (length as u32).saturating_add(lengths.announced).min(u16::MAX.into()) as u16,
    };
    header[2..4].copy_from_slice(&total.to_be_bytes());
    let identification = u32::from(u16::from_be_bytes([old(4), old(5)]));
    let identification = numbering.identification(identification, hosts) as u16;
    header[4..6].copy_from_slice(&identification.to_be_bytes());
    header[6..8].copy_from_slice(&[old(6) & 0x7F, old(7)]);
    header[8..10].copy_from_slice(&[ip.hop_limit, lengths.protocol]);
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let right = !fold(sum(&header));
    header[10..12].copy_from_slice(&lengths.checksum.field(right, false));
    header
}

fn ipv6_header(
    ip: &Ip,
    ends: [IpAddr; 2],
    lengths: &IpLengths<'_>,
    fragment: Option<&Fragment<'_>>,
    numbering: &Numbering,
) -> Vec<u8> {
    const FRAGMENT: u8 = 44;
    let inner = if fragment.is_some() { 8 } else { 0 };
    let length = match lengths.note {
        Some(Malformed { layer: Layer::Udp, .. }) => lengths.recorded,
        _ => lengths.announced,
    };
    // More than the field can hold: zero.
    let length = u16::try_from(length.saturating_add(inner)).unwrap_or_default();
    let next = if fragment.is_some() { FRAGMENT } else { lengths.protocol };
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length.to_be_bytes());
    header.extend([next, ip.hop_limit]);
    ends.iter().for_each(|end| header.extend(octets(*end)));
    if let Some(Fragment { ip, identification, at, more, .. }) = fragment {
        let hosts = [ip.source, ip.destination];
        header.extend([lengths.protocol, 0]);
        header.extend((*at as u16 | u16::from(*more)).to_be_bytes());
        header.extend(numbering.identification(*identification, hosts).to_be_bytes());
    }
    header
}

/// An Ethernet header that keeps fragments apart that were in several VLANs or tunnels: a tag for
/// the VLAN, and a label for the tunnels. `None`: the packet was in none.
pub(super) fn network(ip: &Ip, numbering: &Numbering) -> Option<Vec<u8>> {
    if ip.vlan.is_none() && ip.tunnels.is_empty() {
        return None;
    }
    let mut header = vec![0; 12];
    if let Some(vlan) = ip.vlan {
        header.extend([0x81, 0x00]);
        header.extend(numbering.vlan(vlan).to_be_bytes());
    }
    if ip.tunnels.is_empty() {
        let is_ipv4 = ip.source.is_ipv4();
        header.extend(if is_ipv4 { [0x08, 0x00] } else { [0x86, 0xDD] });
    } else {
        header.extend([0x88, 0x47]);
        header.extend((numbering.label(&ip.tunnels) << 12 | 0x0140).to_be_bytes());
    }
    Some(header)
}

/// The UDP header, without its checksum. A length of zero stays.
pub(super) fn udp_header(header: &[u8], announced: u32) -> Vec<u8> {
    let mut new = header.get(..8).unwrap_or_default().to_vec();
    if let Some(length) = new.get_mut(4..6).filter(|length| **length != [0; 2]) {
        length.copy_from_slice(&(announced.saturating_add(8) as u16).to_be_bytes());
    }
    if let Some(checksum) = new.get_mut(6..8) {
        checksum.fill(0);
    }
    new
}

/// The TCP header of a segment from one end to the other, without its checksum.
pub(super) fn tcp_header(
    header: &[u8],
    [from, to]: [SocketAddr; 2],
    numbering: &Numbering,
) -> Vec<u8> {
    const ACK: u8 = 0x10;
    let Some((&[p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags, w0, w1, ..], rest)) =
        header.split_first_chunk::<20>()
    else {
        return vec![0; header.len()];
    };
    let back = numbering.shift(to, from);
    let sequence = u32::from_be_bytes([s0, s1, s2, s3]).wrapping_add(numbering.shift(from, to));
    let acknowledged = match flags & ACK {
        0 => 0,
        _ => u32::from_be_bytes([a0, a1, a2, a3]).wrapping_add(back),
    };
    let mut new = vec![p0, p1, p2, p3];
    new.extend([sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat());
    // Without reserved bits and the urgent pointer.
    new.extend([offset & 0xF0, flags, w0, w1, 0, 0, 0, 0]);
    new.extend_from_slice(rest);
    options(new.get_mut(20..).unwrap_or_default(), back);
    new
}

/// Keeps the options of TCP that determine how a connection works; others become no-operations of
/// the same length. `back`: what is added to the numbers of the other direction.
fn options(options: &mut [u8], back: u32) {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const SEGMENT_SIZE: u8 = 2;
    const WINDOW_SCALE: u8 = 3;
    const SELECTIVE_PERMITTED: u8 = 4;
    const SELECTIVE: u8 = 5;
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        let length = match kind {
            END => break,
            NOTHING => 1,
            _ => options.get(at + 1).map_or(0, |&length| usize::from(length)),
        };
        let Some(option) = options.get_mut(at..at + length).filter(|option| !option.is_empty())
        else {
            break;
        };
        match (kind, length) {
            (NOTHING, _) | (SEGMENT_SIZE, 4) | (WINDOW_SCALE, 3) | (SELECTIVE_PERMITTED, 2) => {}
            (SELECTIVE, 10 | 18 | 26 | 34) => {
                for edge in option.get_mut(2..).unwrap_or_default().as_chunks_mut().0 {
                    *edge = u32::from_be_bytes(*edge).wrapping_add(back).to_be_bytes();
                }
            }
            _ => option.fill(NOTHING),
        }
        at += length;
    }
    // After the end, or where options cannot be read.
    options.get_mut(at..).unwrap_or_default().fill(END);
}

/// An ICMP error, with the quoted headers and these bytes of the quoted datagram.
pub(super) fn icmp(
    error: &IcmpError<'_>,
    quoted: &[u8],
    addresses: &mut Addresses,
    numbering: &Numbering,
) -> Vec<u8> {
    let IcmpError { ip, kind, code, mtu, quote, .. } = error;
    let mut message = vec![*kind, *code, 0, 0];
    let mtu = mtu.map_or(0, |mtu| if is_small(mtu.into()) { mtu } else { u16::MAX.into() });
    message.extend(mtu.to_be_bytes());
    message.extend(quoted_headers(ip, quote, addresses, numbering));
    message.extend(quoted);
    icmp_packet(ip, message, addresses, numbering)
}

/// Any other ICMP message: its type alone.
pub(super) fn other_icmp(
    ip: &Ip,
    kind: u8,
    addresses: &mut Addresses,
    numbering: &Numbering,
) -> Vec<u8> {
    icmp_packet(ip, vec![kind, 0, 0, 0, 0, 0, 0, 0], addresses, numbering)
}

/// The number of ICMP, by the version of this address.
pub(super) fn icmp_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 1 } else { 58 }
}

/// A packet of an ICMP message without its checksum.
fn icmp_packet(
    ip: &Ip,
    mut message: Vec<u8>,
    addresses: &mut Addresses,
    numbering: &Numbering,
) -> Vec<u8> {
    let ends = [ip.source, ip.destination].map(|end| addresses.of(end));
    let protocol = icmp_of(ends[0]);
    let pseudo = match ends[0] {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => pseudo_header(&ends, protocol, message.len()),
    };
    let right = !fold(sum(&message) + pseudo);
    message[2..4].copy_from_slice(&right.to_be_bytes());
    let lengths = IpLengths::made(protocol, message.len());
    let mut bytes = ip_header(ip, ends, &lengths, None, numbering);
    bytes.extend(message);
    bytes
}

/// The IP and UDP headers of a quoted datagram, or the IP header and the ports of a segment.
fn quoted_headers(
    ip: &Ip,
    quote: &Quote<'_>,
    addresses: &mut Addresses,
    numbering: &Numbering,
) -> Vec<u8> {
    let hosts = [quote.source, quote.destination];
    let inner = Ip { hop_limit: 64, source: hosts[0], destination: hosts[1], ..*ip };
    let length = 8 + quote.length;
    // An identification that tells nothing is zero under Don't Fragment.
    let mut old = [0; 20];
    match quote.identification {
        Some(identification) => old[4..6].copy_from_slice(&identification.to_be_bytes()),
        None => old[6] = 0x40,
    }
    old[2] = 1;
    let lengths = IpLengths { ipv4: &old, ..IpLengths::made(protocol_of(quote.transport), length) };
    let ends = hosts.map(|end| addresses.of(end));
    let mut header = ip_header(&inner, ends, &lengths, None, numbering);
    let length = match quote.transport {
        Transport::Udp => length.min(u16::MAX.into()) as u16,
        // The sequence number, which says nothing here.
        Transport::Tcp => 0,
    };
    for number in [quote.ports[0], quote.ports[1], length, 0] {
        header.extend(number.to_be_bytes());
    }
    header
}

impl IpLengths<'_> {
    /// Those of a packet that is made up.
    fn made(protocol: u8, length: usize) -> IpLengths<'static> {
        let length = length as u32;
        IpLengths {
            ipv4: &[],
            protocol,
            announced: length,
            recorded: length,
            note: None,
            checksum: Checksum::Right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbering() -> Numbering {
        Numbering(Key::new(b"k"))
    }

    #[test]
    fn only_options_that_matter_are_kept() {
        let kept = [2, 4, 5, 0xB4, 1, 3, 3, 7, 4, 2, 1, 1];
        let mut options = kept;
        self::options(&mut options, 9);
        assert_eq!(options, kept);
        let mut selective = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        self::options(&mut selective, 9);
        assert_eq!(selective, [1, 1, 5, 10, 0, 0, 0, 10, 0, 0, 0, 11]);
        for (old, new) in [
            (&[254, 8, 0x15, 0xB3, 198, 18, 77, 66][..], &[1; 8][..]),
            (&[8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 34, 4, 9, 9], &[1; 14]),
            (&[1, 0, 198, 18, 77, 66], &[1, 0, 0, 0, 0, 0]),
            (&[28, 40, 198, 18, 77, 66], &[0; 6]),
            (&[9, 0, 198, 18], &[0; 4]),
            (&[1, 254], &[1, 0]),
        ] {
            let mut options = old.to_vec();
            self::options(&mut options, 0);
            assert_eq!(options, new);
        }
    }

    #[test]
    fn identifications_are_permuted_and_zero_stays() {
        let numbering = numbering();
        let ends = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let all: std::collections::BTreeSet<_> =
            (0..=u16::MAX).map(|id| numbering.identification(id.into(), ends)).collect();
        assert_eq!((all.len(), all.first(), all.last()), (1 << 16, Some(&0), Some(&0xFFFF)));
        assert_eq!(numbering.identification(0, ends), 0);
        let vlans: std::collections::BTreeSet<_> = (0..4096).map(|id| numbering.vlan(id)).collect();
        assert_eq!((vlans.len(), vlans.last()), (4096, Some(&4095)));
    }

    #[test]
    fn a_wrong_checksum_is_always_the_same() {
        for right in 0..=u16::MAX {
            let wrong = u16::from_be_bytes(Checksum::Wrong.field(right, true));
            assert!(wrong != right && wrong != 0 && (wrong == 0x0BAD || right == 0x0BAD));
        }
        assert_eq!(Checksum::Right.field(0, true), [0xFF; 2]);
        assert_eq!(Checksum::Absent.field(7, true), [0; 2]);
    }
}
