//! TCP segments, and the bookkeeping of a connection.

use std::net::SocketAddr;

use crate::bytes::Bytes;
use crate::wire::{Checksum, Ip, checksum, protocol, transport_checksum};

/// The bits of a segment's flags.
pub mod flags {
    /// The sender sends no more.
    pub const FIN: u8 = 0x01;
    /// The connection opens.
    pub const SYN: u8 = 0x02;
    /// The connection is broken off.
    pub const RST: u8 = 0x04;
    /// The receiver should hand on what it has.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
}

/// A TCP segment; its checksum needs the addresses it travels between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Who sends.
    pub source: SocketAddr,
    /// Who is to receive.
    pub destination: SocketAddr,
    /// The number of the payload's first byte.
    pub sequence: u32,
    /// The number of the byte the sender expects next.
    pub acknowledgement: u32,
    /// The [`flags`].
    pub flags: u8,
    /// How many bytes more the sender would take.
    pub window: u16,
    /// The options; filled up with zeros to a multiple of 4, at most 40 bytes.
    pub options: Vec<u8>,
    /// The bytes of the stream.
    pub payload: Vec<u8>,
    /// The checksum field.
    pub checksum: Checksum,
}

impl Segment {
    /// TCP header and payload.
    ///
    /// # Panics
    /// If there are more than 40 bytes of options, or the endpoints are of two families.
    pub fn bytes(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        assert!(options.len() <= 40, "{} bytes of TCP options", options.len());
        let mut bytes = Bytes::new()
            .be16(self.source.port())
            .be16(self.destination.port())
            .be32(self.sequence)
            .be32(self.acknowledgement)
            .u8((((20 + options.len()) / 4) as u8) << 4)
            .u8(self.flags)
            .be16(self.window)
            .be32(0)
            .raw(&options)
            .raw(&self.payload)
            .done();
        let (from, to) = (self.source.ip(), self.destination.ip());
        let sum = transport_checksum(from, to, protocol::TCP, &bytes);
        bytes[16..18].copy_from_slice(&checksum::field(self.checksum, sum).to_be_bytes());
        bytes
    }

    /// The segment in a plain IP packet.
    pub fn packet(&self) -> Vec<u8> {
        Ip::new(self.source.ip(), self.destination.ip()).packet(protocol::TCP, &self.bytes())
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
    /// The other end.
    pub const fn other(self) -> End {
        match self {
            End::Opener => End::Listener,
            End::Listener => End::Opener,
        }
    }
}

/// A connection: who has sent how much. Every segment it makes acknowledges all that the other end
/// has sent so far, recorded or not.
#[derive(Clone, Debug)]
pub struct Connection {
    ends: [Sender; 2],
}

#[derive(Clone, Copy, Debug)]
struct Sender {
    address: SocketAddr,
    initial: u32,
    next: u32,
}

impl Connection {
    /// A connection between two endpoints whose ends begin to count where they are set.
    pub fn new(opener: SocketAddr, listener: SocketAddr, initial: [u32; 2]) -> Self {
        let sender = |address, initial| Sender { address, initial, next: initial };
        Self { ends: [sender(opener, initial[0]), sender(listener, initial[1])] }
    }

    /// SYN, SYN and ACK, ACK. The SYNs announce segments of 1460 bytes.
    pub fn handshake(&mut self) -> [Segment; 3] {
        let syn = Segment {
            acknowledgement: 0,
            options: MAXIMUM_SEGMENT_SIZE.to_vec(),
            ..self.segment(End::Opener, flags::SYN)
        };
        self.sender(End::Opener).next = syn.sequence.wrapping_add(1);
        let syn_ack = Segment {
            options: MAXIMUM_SEGMENT_SIZE.to_vec(),
            ..self.segment(End::Listener, flags::SYN | flags::ACK)
        };
        self.sender(End::Listener).next = syn_ack.sequence.wrapping_add(1);
        [syn, syn_ack, self.acknowledge(End::Opener)]
    }

    /// Counts the SYNs without making them: for a capture that begins after the handshake.
    pub fn skip_handshake(&mut self) {
        for sender in &mut self.ends {
            sender.next = sender.initial.wrapping_add(1);
        }
    }

    /// Sends bytes in segments of at most `size`.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn send(&mut self, from: End, payload: &[u8], size: usize) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        for part in payload.chunks(size) {
            let segment = self.segment(from, flags::ACK);
            self.sender(from).next = segment.sequence.wrapping_add(part.len() as u32);
            segments.push(Segment { payload: part.to_vec(), ..segment });
        }
        if let Some(last) = segments.last_mut() {
            last.flags |= flags::PSH;
        }
        segments
    }

    /// Sends bytes as those that begin `offset` bytes into this end's stream: a retransmission, an
    /// overlap, something far ahead. Nothing is counted.
    pub fn send_at(&self, from: End, offset: u32, payload: &[u8]) -> Segment {
        let sequence = self.ends[from as usize].initial.wrapping_add(1).wrapping_add(offset);
        let segment = self.segment(from, flags::ACK | flags::PSH);
        Segment { sequence, payload: payload.to_vec(), ..segment }
    }

    /// Acknowledges what the other end has sent.
    pub fn acknowledge(&self, from: End) -> Segment {
        self.segment(from, flags::ACK)
    }

    /// Says that this end sends no more.
    pub fn finish(&mut self, from: End) -> Segment {
        let segment = self.segment(from, flags::FIN | flags::ACK);
        self.sender(from).next = segment.sequence.wrapping_add(1);
        segment
    }

    /// Breaks the connection off.
    pub fn reset(&self, from: End) -> Segment {
        Segment { window: 0, ..self.segment(from, flags::RST | flags::ACK) }
    }

    fn segment(&self, from: End, flags: u8) -> Segment {
        let (sender, receiver) = (self.ends[from as usize], self.ends[from.other() as usize]);
        Segment {
            source: sender.address,
            destination: receiver.address,
            sequence: sender.next,
            acknowledgement: receiver.next,
            flags,
            window: 0xFFFF,
            options: Vec::new(),
            payload: Vec::new(),
            checksum: Checksum::Right,
        }
    }

    const fn sender(&mut self, end: End) -> &mut Sender {
        &mut self.ends[end as usize]
    }
}

/// The option "maximum segment size": 1460.
const MAXIMUM_SEGMENT_SIZE: [u8; 4] = [0x02, 0x04, 0x05, 0xB4];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;

    fn connection(initial: [u32; 2]) -> Connection {
        let (opener, listener) = ("10.0.0.1:50000", "10.0.0.2:80");
        Connection::new(opener.parse().unwrap(), listener.parse().unwrap(), initial)
    }

    #[test]
    fn a_segment_by_hand() {
        let mut connection = connection([0x0000_0FFF, 0x0000_1FFF]);
        connection.skip_handshake();
        let segments = connection.send(End::Opener, b"GET", 1460);
        // IP: 4500+002B+4006+0A00+0001+0A00+0002 = 9934, its complement is 66CB.
        // TCP: the pseudo-header 0A00+0001+0A00+0002+0006+0017, the header C350+0050+1000+2000+
        // 5018+FFFF and the payload 4745+5400 add up to 2F31C, folded F31E, its complement is
        // 0CE1.
        let expected = [
            "4500002B", "00000000", "400666CB", "0A000001", "0A000002", // IP
            "C3500050", "00001000", "00002000", "5018FFFF", "0CE10000", "474554", // TCP
        ];
        assert_eq!(hex(&segments[0].packet()), expected.concat());
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut connection = connection([u32::MAX - 1, 0]);
        let [syn, _, ack] = connection.handshake();
        assert_eq!((syn.sequence, ack.sequence), (u32::MAX - 1, u32::MAX));
        let segments = connection.send(End::Opener, &[0; 5], 3);
        let numbers: Vec<_> = segments.iter().map(|segment| segment.sequence).collect();
        assert_eq!(numbers, [u32::MAX, 2]);
        assert_eq!(connection.acknowledge(End::Listener).acknowledgement, 4);
    }

    #[test]
    fn a_connection_from_syn_to_the_last_ack() {
        let mut connection = connection([100, 500]);
        let [syn, syn_ack, ack] = connection.handshake();
        assert_eq!((syn.flags, syn.sequence, syn.acknowledgement), (flags::SYN, 100, 0));
        assert_eq!((syn_ack.sequence, syn_ack.acknowledgement), (500, 101));
        assert_eq!((ack.sequence, ack.acknowledgement), (101, 501));
        assert_eq!(syn.bytes()[12] >> 4, 6);

        let said = connection.send(End::Opener, b"abcdef", 4);
        assert_eq!(said[0].flags, flags::ACK);
        assert_eq!(said[1].flags, flags::ACK | flags::PSH);
        assert_eq!(connection.send_at(End::Opener, 4, b"ef"), said[1]);

        let finish = connection.finish(End::Listener);
        assert_eq!((finish.sequence, finish.acknowledgement), (501, 107));
        assert_eq!(connection.acknowledge(End::Opener).acknowledgement, 502);
        assert_eq!(connection.reset(End::Opener).sequence, 107);
    }
}
