//! The segments of a TCP connection.

use std::net::SocketAddr;

use super::packets::{Flags, PacketMaker, SegmentHeader};

/// Maximum payload of a segment: what fits into a packet of Ethernet.
const SEGMENT: usize = 1460;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that opens it.
    Opener,
    /// The one that listens.
    Listener,
}

impl End {
    /// The other end.
    pub const fn other(self) -> End {
        match self {
            End::Opener => End::Listener,
            End::Listener => End::Opener,
        }
    }
}

/// A TCP connection: which numbers its ends have reached. Each segment acknowledges all that was sent before it.
#[derive(Clone, Debug)]
pub struct Connection {
    ends: [SocketAddr; 2],
    next: [u32; 2],
    is_done: [bool; 2],
}

impl Connection {
    /// A new one, with numbers other than those of its maker's other connections: two of the same port are told
    /// apart.
    pub fn new(maker: &mut PacketMaker, opener: SocketAddr, listener: SocketAddr) -> Connection {
        let initial = maker.next_connection().wrapping_mul(0x0100_0193);
        Connection { ends: [opener, listener], next: [initial, 0], is_done: [false; 2] }
    }

    /// Its opener and its listener.
    pub const fn ends(&self) -> [SocketAddr; 2] {
        self.ends
    }

    /// Whether both ends have said that they have nothing more to say.
    pub fn is_done(&self) -> bool {
        self.is_done == [true; 2]
    }

    /// SYN: the opener's attempt.
    pub fn attempt(&mut self, maker: &mut PacketMaker) -> Option<Vec<u8>> {
        let flags = Flags { syn: true, ..Flags::default() };
        self.segment(maker, End::Opener, flags, &[])
    }

    /// The rest of the handshake: SYN and ACK, ACK.
    pub fn accept(&mut self, maker: &mut PacketMaker) -> Vec<Vec<u8>> {
        // From the middle of the numbers after the opener's: the two are not mixed up when a capture is read.
        let [opener, listener] = &mut self.next;
        *listener = opener.wrapping_add(1 << 31);
        let both = Flags { syn: true, ack: true, ..Flags::default() };
        let steps = [(End::Listener, both), (End::Opener, ACK)];
        steps.into_iter().filter_map(|(end, flags)| self.segment(maker, end, flags, &[])).collect()
    }

    /// SYN, SYN and ACK, ACK.
    pub fn handshake(&mut self, maker: &mut PacketMaker) -> Vec<Vec<u8>> {
        let first = self.attempt(maker);
        first.into_iter().chain(self.accept(maker)).collect()
    }

    /// Bytes of one end, in as many segments as they need.
    pub fn send(&mut self, maker: &mut PacketMaker, from: End, bytes: &[u8]) -> Vec<Vec<u8>> {
        let parts = bytes.chunks(SEGMENT);
        let last = parts.len().saturating_sub(1);
        let segment =
            |(nth, part)| self.segment(maker, from, Flags { push: nth == last, ..ACK }, part);
        parts.enumerate().filter_map(segment).collect()
    }

    /// One end sends no more.
    pub fn close(&mut self, maker: &mut PacketMaker, from: End) -> Option<Vec<u8>> {
        self.segment(maker, from, Flags { fin: true, ..ACK }, &[])
    }

    /// One end acknowledges what the other one has sent.
    pub fn acknowledge(&mut self, maker: &mut PacketMaker, from: End) -> Option<Vec<u8>> {
        self.segment(maker, from, ACK, &[])
    }

    /// One end sends no more; the other one acknowledges.
    pub fn finish(&mut self, maker: &mut PacketMaker, from: End) -> Vec<Vec<u8>> {
        let closed = self.close(maker, from);
        closed.into_iter().chain(self.acknowledge(maker, from.other())).collect()
    }

    /// One end resets the connection, or refuses it.
    pub fn reset(&mut self, maker: &mut PacketMaker, from: End) -> Option<Vec<u8>> {
        self.segment(maker, from, Flags { rst: true, ..ACK }, &[])
    }

    fn segment(
        &mut self,
        maker: &mut PacketMaker,
        from: End,
        flags: Flags,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let (here, there) = (from as usize, from.other() as usize);
        let (sequence, acknowledgment) = (self.next[here], self.next[there]);
        let takes = payload.len() as u32 + u32::from(flags.syn) + u32::from(flags.fin);
        self.next[here] = sequence.wrapping_add(takes);
        self.is_done[here] |= flags.fin;
        let header = SegmentHeader { sequence, acknowledgment, flags };
        maker.segment([self.ends[here], self.ends[there]], header, payload)
    }
}

/// A segment after the first one.
const ACK: Flags = Flags { syn: false, ack: true, push: false, fin: false, rst: false };

#[cfg(test)]
mod tests {
    use super::*;

    fn sockets() -> [SocketAddr; 2] {
        ["10.0.0.1:50000", "10.0.0.2:80"].map(|socket| socket.parse().unwrap())
    }

    /// Flags, sequence and acknowledgment number after the first ones, length of the payload.
    fn read(packet: &[u8], initial: [u32; 2]) -> (u8, u32, u32, usize) {
        let number = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().unwrap());
        let [here, there] = match packet[12..16] == [10, 0, 0, 1] {
            true => initial,
            false => [initial[1], initial[0]],
        };
        let acknowledged = if packet[33] & 0x10 == 0 { 0 } else { number(28).wrapping_sub(there) };
        (packet[33], number(24).wrapping_sub(here), acknowledged, packet.len() - 40)
    }

    #[test]
    fn a_connection_has_right_numbers() {
        let mut maker = PacketMaker::default();
        let [opener, listener] = sockets();
        let mut connection = Connection::new(&mut maker, opener, listener);
        let first = connection.next[0];
        let mut packets = connection.handshake(&mut maker);
        packets.extend(connection.send(&mut maker, End::Opener, &[b'x'; 1500]));
        packets.extend(connection.finish(&mut maker, End::Listener));
        let initial = [first, first.wrapping_add(1).wrapping_add(1 << 31)];
        let read: Vec<_> = packets.iter().map(|packet| read(packet, initial)).collect();
        let expected = [
            (0x02, 0, 0, 0),
            (0x12, 0, 1, 0),
            (0x10, 1, 1, 0),
            (0x10, 1, 1, 1460),
            (0x18, 1461, 1, 40),
            (0x11, 1, 1501, 0),
            (0x10, 1501, 2, 0),
        ];
        assert_eq!(read, expected);
        assert!(!connection.is_done());
    }

    #[test]
    fn a_refusal_acknowledges_the_attempt() {
        let mut maker = PacketMaker::default();
        let [opener, listener] = sockets();
        let mut connection = Connection::new(&mut maker, opener, listener);
        let first = connection.next[0];
        connection.attempt(&mut maker).unwrap();
        let refused = connection.reset(&mut maker, End::Listener).unwrap();
        assert_eq!(read(&refused, [first, 0]), (0x14, 0, 1, 0));
    }
}
