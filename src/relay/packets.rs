//! Builds the packets that are written for what a relay forwards: raw IP, with correct checksums.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, PacketBuilderStep, TcpHeader,
};

/// The usual first value, as if no router were between the two.
const HOP_LIMIT: u8 = 64;

/// A window that never closes, because a relay does not know the real one.
const WINDOW: u16 = u16::MAX;

/// The flags of a TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) syn: bool,
    pub(super) ack: bool,
    pub(super) push: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
}

/// The numbers of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentHeader {
    pub(super) sequence: u32,
    pub(super) acknowledgment: u32,
    pub(super) flags: Flags,
}

/// The packet of a UDP datagram. `None`: the addresses are of different versions of IP, or the payload is
/// too long for one packet, which no socket delivers.
pub(super) fn datagram(
    [from, to]: [SocketAddr; 2],
    identification: u16,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let builder = ip([from, to], identification)?.udp(from.port(), to.port());
    let mut packet = Vec::with_capacity(builder.size(payload.len()));
    builder.write_to_vec(&mut packet, payload).ok()?;
    Some(packet)
}

/// The packet of a TCP segment; `None` as in [`datagram`].
pub(super) fn segment(
    [from, to]: [SocketAddr; 2],
    identification: u16,
    header: SegmentHeader,
    payload: &[u8],
) -> Option<Vec<u8>> {
    let Flags { syn, ack, push: psh, fin, rst } = header.flags;
    let acknowledgment_number = if ack { header.acknowledgment } else { 0 };
    let tcp = TcpHeader { syn, ack, psh, fin, rst, acknowledgment_number, ..TcpHeader::default() };
    let tcp = TcpHeader {
        source_port: from.port(),
        destination_port: to.port(),
        sequence_number: header.sequence,
        window_size: WINDOW,
        ..tcp
    };
    let builder = ip([from, to], identification)?.tcp_header(tcp);
    let mut packet = Vec::with_capacity(builder.size(payload.len()));
    builder.write_to_vec(&mut packet, payload).ok()?;
    Some(packet)
}

/// The IP header. The identification distinguishes equal datagrams, such as a request that is repeated, from
/// copies that the network made.
fn ip([from, to]: [SocketAddr; 2], identification: u16) -> Option<PacketBuilderStep<IpHeaders>> {
    let header = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header =
                Ipv4Header::new(0, HOP_LIMIT, IpNumber::UDP, from.octets(), to.octets()).ok()?;
            IpHeaders::Ipv4(Ipv4Header { identification, ..header }, Default::default())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = Ipv6Header {
                hop_limit: HOP_LIMIT,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv6Header::default()
            };
            IpHeaders::Ipv6(header, Default::default())
        }
        _ => return None,
    };
    Some(PacketBuilder::ip(header))
}

#[cfg(test)]
mod tests {
    use etherparse::{SlicedPacket, TransportSlice};

    use super::*;

    fn ends(from: &str, to: &str) -> [SocketAddr; 2] {
        [from.parse().unwrap(), to.parse().unwrap()]
    }

    #[test]
    fn a_datagram_has_the_addresses_that_it_is_given() {
        for ends in [ends("10.0.0.1:5", "10.0.0.2:6"), ends("[2001:db8::1]:5", "[::1]:6")] {
            let packet = datagram(ends, 7, b"abc").unwrap();
            let sliced = SlicedPacket::from_ip(&packet).unwrap();
            let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("UDP") };
            assert_eq!(
                (udp.source_port(), udp.destination_port(), udp.payload()),
                (5, 6, &b"abc"[..])
            );
            let sum = match ends.map(|end| end.ip()) {
                [IpAddr::V4(from), IpAddr::V4(to)] => {
                    udp.to_header().calc_checksum_ipv4_raw(from.octets(), to.octets(), b"abc")
                }
                [IpAddr::V6(from), IpAddr::V6(to)] => {
                    udp.to_header().calc_checksum_ipv6_raw(from.octets(), to.octets(), b"abc")
                }
                _ => panic!("one version"),
            };
            assert_eq!(sum.unwrap(), udp.checksum());
        }
    }

    #[test]
    fn what_does_not_fit_into_a_packet_is_none() {
        assert!(datagram(ends("10.0.0.1:5", "10.0.0.2:6"), 1, &[0; 65_507]).is_some());
        assert_eq!(datagram(ends("10.0.0.1:5", "10.0.0.2:6"), 1, &[0; 65_508]), None);
        assert_eq!(datagram(ends("10.0.0.1:5", "[::1]:6"), 1, b""), None);
    }
}
