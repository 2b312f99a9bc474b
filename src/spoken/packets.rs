//! Builds packets: raw IP, with correct lengths and checksums.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder, PacketBuilderStep, TcpHeader,
};

/// The usual first value, as if no router were between the two.
const HOP_LIMIT: u8 = 64;

/// A window that never closes, because the real one is not known.
const WINDOW: u16 = u16::MAX;

/// The flags of a TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the protocol has a bit for each")]
pub struct Flags {
    /// A new connection.
    pub syn: bool,
    /// The segment acknowledges what came before.
    pub ack: bool,
    /// The last segment of what was written at once.
    pub push: bool,
    /// The sender has nothing more to say.
    pub fin: bool,
    /// The connection is reset.
    pub rst: bool,
}

/// The numbers of a TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentHeader {
    pub(super) sequence: u32,
    pub(super) acknowledgment: u32,
    pub(super) flags: Flags,
}

/// Makes packets. No two of one maker have the same identification, unless there are 65,535 between them, so that a
/// request that is repeated is no copy that the network made.
#[derive(Debug, Default)]
pub struct PacketMaker {
    identification: u16,
    connections: u32,
}

impl PacketMaker {
    /// The packet of a UDP datagram. `None`: the addresses are of different versions of IP, or the payload is
    /// too long for one packet, which no socket delivers.
    pub fn datagram(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let builder = self.ip([from, to])?.udp(from.port(), to.port());
        let mut packet = Vec::with_capacity(builder.size(payload.len()));
        builder.write_to_vec(&mut packet, payload).ok()?;
        Some(packet)
    }

    /// The packet of a TCP segment; `None` as for datagrams.
    pub(super) fn segment(
        &mut self,
        [from, to]: [SocketAddr; 2],
        header: SegmentHeader,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let Flags { syn, ack, push: psh, fin, rst } = header.flags;
        let acknowledgment_number = if ack { header.acknowledgment } else { 0 };
        let tcp =
            TcpHeader { syn, ack, psh, fin, rst, acknowledgment_number, ..TcpHeader::default() };
        let tcp = TcpHeader {
            source_port: from.port(),
            destination_port: to.port(),
            sequence_number: header.sequence,
            window_size: WINDOW,
            ..tcp
        };
        let builder = self.ip([from, to])?.tcp_header(tcp);
        let mut packet = Vec::with_capacity(builder.size(payload.len()));
        builder.write_to_vec(&mut packet, payload).ok()?;
        Some(packet)
    }

    /// The ICMP error of a host that has nobody at the port which this packet was sent to. `None`: it is no IP packet.
    pub fn port_unreachable(&mut self, from: IpAddr, to: IpAddr, sent: &[u8]) -> Option<Vec<u8>> {
        let ends = [from, to].map(|ip| SocketAddr::new(ip, 0));
        let (builder, mut packet) = (self.ip(ends)?, Vec::new());
        // RFC 792 and RFC 4443: type, code, and as much of the packet as fits.
        let most = |bytes: usize| sent.get(..bytes).unwrap_or(sent);
        match from {
            IpAddr::V4(_) => {
                builder.icmpv4_raw(3, 3, [0; 4]).write_to_vec(&mut packet, most(548)).ok()?;
            }
            IpAddr::V6(_) => {
                builder.icmpv6_raw(1, 4, [0; 4]).write_to_vec(&mut packet, most(1192)).ok()?;
            }
        }
        Some(packet)
    }

    /// The number of a new connection.
    pub(super) fn next_connection(&mut self) -> u32 {
        self.connections = self.connections.wrapping_add(1);
        self.connections
    }

    /// The IP header.
    fn ip(&mut self, [from, to]: [SocketAddr; 2]) -> Option<PacketBuilderStep<IpHeaders>> {
        // 0 identifies nothing.
        self.identification = self.identification.wrapping_add(1).max(1);
        let header = match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let header =
                    Ipv4Header::new(0, HOP_LIMIT, IpNumber::UDP, from.octets(), to.octets());
                let identification = self.identification;
                let header = Ipv4Header { identification, ..header.ok()? };
                IpHeaders::Ipv4(header, Default::default())
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
            let packet = PacketMaker::default().datagram(ends[0], ends[1], b"abc").unwrap();
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
        let made = |[from, to]: [SocketAddr; 2], payload: &[u8]| {
            PacketMaker::default().datagram(from, to, payload).is_some()
        };
        assert!(made(ends("10.0.0.1:5", "10.0.0.2:6"), &[0; 65_507]));
        assert!(!made(ends("10.0.0.1:5", "10.0.0.2:6"), &[0; 65_508]));
        assert!(!made(ends("10.0.0.1:5", "[::1]:6"), b""));
    }

    #[test]
    fn a_repeated_datagram_is_no_copy() {
        let mut maker = PacketMaker::default();
        let [from, to] = ends("10.0.0.1:5", "10.0.0.2:6");
        let packets = [(); 2].map(|()| maker.datagram(from, to, b"abc").unwrap());
        assert_eq!([&packets[0][4..6], &packets[1][4..6]], [[0, 1], [0, 2]]);
    }
}
