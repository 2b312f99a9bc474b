//! Synthesizes the packets of what two sockets say to each other, for recordings of it: raw IP, with right
//! lengths, checksums and sequence numbers.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder, PacketBuilderStep,
};

/// Maximum payload of a segment.
const SEGMENT: usize = 1460;

/// Time to live, or hop limit.
const HOPS: u8 = 64;

/// Makes packets; no two IPv4 packets of one maker have the same identification, unless there are 65,536 between
/// them, so that a repeated datagram is no copy of the first one.
#[derive(Debug, Default)]
pub struct PacketMaker {
    id: u16,
    connections: u32,
}

impl PacketMaker {
    /// A UDP datagram in its packet. `None`: it is too long for one, or the addresses are of two families.
    pub fn datagram(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let mut packet = Vec::new();
        let builder = self.ip(from.ip(), to.ip())?.udp(from.port(), to.port());
        builder.write(&mut packet, payload).ok()?;
        Some(packet)
    }

    /// A new connection between its opener and its listener.
    pub fn connection(&mut self, opener: SocketAddr, listener: SocketAddr) -> Connection {
        self.connections = self.connections.wrapping_add(1);
        let base = self.connections.wrapping_mul(1_000_000);
        Connection { ends: [opener, listener], next: [base, base.wrapping_add(500_000)] }
    }

    fn ip(&mut self, from: IpAddr, to: IpAddr) -> Option<PacketBuilderStep<IpHeaders>> {
        let headers = match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                self.id = self.id.wrapping_add(1);
                // The builder sets length and protocol.
                let header = Ipv4Header::new(0, HOPS, IpNumber::UDP, from.octets(), to.octets());
                let header = Ipv4Header { identification: self.id, ..header.ok()? };
                IpHeaders::Ipv4(header, Default::default())
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let header = Ipv6Header {
                    traffic_class: 0,
                    flow_label: Ipv6FlowLabel::ZERO,
                    payload_length: 0,
                    next_header: IpNumber::UDP,
                    hop_limit: HOPS,
                    source: from.octets(),
                    destination: to.octets(),
                };
                IpHeaders::Ipv6(header, Default::default())
            }
            _ => return None,
        };
        Some(PacketBuilder::ip(headers))
    }
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that opens it.
    Opener,
    /// The one that listens.
    Listener,
}

impl End {
    const fn other(self) -> End {
        match self {
            End::Opener => End::Listener,
            End::Listener => End::Opener,
        }
    }
}

/// The flags of a segment, besides ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flag {
    Syn,
    None,
    Push,
    Fin,
    Rst,
}

/// A TCP connection: which numbers its ends have reached. Each segment acknowledges all that was sent before it.
#[derive(Clone, Debug)]
pub struct Connection {
    ends: [SocketAddr; 2],
    next: [u32; 2],
}

impl Connection {
    /// Its opener and its listener.
    pub const fn ends(&self) -> [SocketAddr; 2] {
        self.ends
    }

    /// SYN, SYN and ACK, ACK.
    pub fn handshake(&mut self, maker: &mut PacketMaker) -> Vec<Vec<u8>> {
        let steps =
            [(End::Opener, Flag::Syn), (End::Listener, Flag::Syn), (End::Opener, Flag::None)];
        steps.into_iter().filter_map(|(end, flag)| self.segment(maker, end, flag, &[])).collect()
    }

    /// Bytes of one end, in as many segments as they need.
    pub fn send(&mut self, maker: &mut PacketMaker, from: End, bytes: &[u8]) -> Vec<Vec<u8>> {
        let parts = bytes.chunks(SEGMENT);
        parts.filter_map(|part| self.segment(maker, from, Flag::Push, part)).collect()
    }

    /// One end sends no more; the other one acknowledges.
    pub fn finish(&mut self, maker: &mut PacketMaker, from: End) -> Vec<Vec<u8>> {
        let steps = [(from, Flag::Fin), (from.other(), Flag::None)];
        steps.into_iter().filter_map(|(end, flag)| self.segment(maker, end, flag, &[])).collect()
    }

    /// One end resets the connection.
    pub fn reset(&mut self, maker: &mut PacketMaker, from: End) -> Vec<Vec<u8>> {
        self.segment(maker, from, Flag::Rst, &[]).into_iter().collect()
    }

    fn segment(
        &mut self,
        maker: &mut PacketMaker,
        from: End,
        flag: Flag,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        /// Bytes more that the sender would take.
        const WINDOW: u16 = u16::MAX;
        let [source, destination] = [from, from.other()].map(|end| self.ends[end as usize]);
        let (sequence, acknowledged) = (self.next[from as usize], self.next[from.other() as usize]);
        let ip = maker.ip(source.ip(), destination.ip())?;
        let mut step = ip.tcp(source.port(), destination.port(), sequence, WINDOW);
        let is_first = flag == Flag::Syn && from == End::Opener;
        if !is_first {
            step = step.ack(acknowledged);
        }
        step = match flag {
            Flag::Syn => step.syn(),
            Flag::None => step,
            Flag::Push => step.psh(),
            Flag::Fin => step.fin(),
            Flag::Rst => step.rst(),
        };
        let counts = payload.len() as u32 + u32::from(matches!(flag, Flag::Syn | Flag::Fin));
        self.next[from as usize] = sequence.wrapping_add(counts);
        let mut packet = Vec::new();
        step.write(&mut packet, payload).ok()?;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sockets() -> [SocketAddr; 2] {
        ["10.0.0.1:50000", "10.0.0.2:80"].map(|socket| socket.parse().unwrap())
    }

    /// Flags, sequence and acknowledgement number, length of the payload.
    fn read(packet: &[u8]) -> (u8, u32, u32, usize) {
        let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
        (packet[33], number(24) % 500_000, number(28) % 500_000, packet.len() - 40)
    }

    #[test]
    fn a_connection_has_right_numbers() {
        let mut maker = PacketMaker::default();
        let [opener, listener] = sockets();
        let mut connection = maker.connection(opener, listener);
        let mut packets = connection.handshake(&mut maker);
        packets.extend(connection.send(&mut maker, End::Opener, &[b'x'; 1500]));
        packets.extend(connection.finish(&mut maker, End::Listener));
        let read: Vec<_> = packets.iter().map(|packet| read(packet)).collect();
        let expected = [
            (0x02, 0, 0, 0),
            (0x12, 0, 1, 0),
            (0x10, 1, 1, 0),
            (0x18, 1, 1, 1460),
            (0x18, 1461, 1, 40),
            (0x11, 1, 1501, 0),
            (0x10, 1501, 2, 0),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn datagrams_of_both_families() {
        let mut maker = PacketMaker::default();
        let [from, to] = sockets();
        let packets = [(); 2].map(|()| maker.datagram(from, to, b"abc").unwrap());
        assert_eq!(
            (packets[0].len(), &packets[0][4..6], &packets[1][4..6]),
            (31, &[0, 1][..], &[0, 2][..])
        );
        let [from6, to6] = ["[::1]:5", "[::1]:6"].map(|socket| socket.parse().unwrap());
        assert_eq!(maker.datagram(from6, to6, b"abc").unwrap().len(), 51);
        assert_eq!(maker.datagram(from, to6, b"abc"), None);
        assert_eq!(maker.datagram(from, to, &[0; 65_508]), None);
    }
}
