//! Simultaneous conversations, and their packets that are not yet recorded.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use crate::wire::{Checksum, Datagram, Ip, Link, Prng, Segment, flags, protocol};

/// Number of game servers.
const SERVERS: u64 = 20_000;

/// The shortest frame of an Ethernet, without the four bytes of its check sequence.
const SHORTEST_FRAME: usize = 60;

/// A frame that was sent and is not yet recorded.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    time: u64,
    number: u64,
    frame: Vec<u8>,
}

impl Ord for Sent {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl PartialOrd for Sent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The network of all conversations of a capture. Times are in microseconds since the start of the capture.
#[derive(Debug)]
pub(super) struct Stage {
    /// The source of all random values.
    pub(super) prng: Prng,
    servers: Vec<SocketAddrV4>,
    waiting: BinaryHeap<Reverse<Sent>>,
    sent: u64,
    ip_id: u16,
}

impl Stage {
    /// A network without traffic.
    pub(super) fn new(seed: u64) -> Self {
        let mut prng = Prng::new(seed);
        let server = |prng: &mut Prng| {
            let host = Ipv4Addr::from(0x1700_0000 + prng.below(1 << 24) as u32);
            SocketAddrV4::new(host, 27015 + prng.below(20) as u16)
        };
        let servers = (0..SERVERS).map(|_| server(&mut prng)).collect();
        Self { prng, servers, waiting: BinaryHeap::new(), sent: 0, ip_id: 0 }
    }

    /// A client with an ephemeral port.
    pub(super) fn client(&mut self) -> SocketAddrV4 {
        let host = Ipv4Addr::from(0x0A00_0000 | self.prng.below(1 << 22) as u32);
        SocketAddrV4::new(host, self.prng.between(1024, 65_000) as u16)
    }

    /// One of the game servers.
    pub(super) fn server(&mut self) -> SocketAddrV4 {
        *self.prng.pick(&self.servers)
    }

    /// A host of a game server with another port.
    pub(super) fn server_on(&mut self, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(*self.server().ip(), port)
    }

    /// A round-trip time in microseconds.
    pub(super) fn round_trip(&mut self) -> u64 {
        self.prng.between(8_000, 180_000)
    }

    /// The number of packets sent so far.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends a datagram.
    pub(super) fn say(
        &mut self,
        time: u64,
        source: SocketAddrV4,
        destination: SocketAddrV4,
        payload: &[u8],
    ) {
        let ip = self.ip(source, destination);
        self.packet(time, &ip.packet(protocol::UDP, &datagram(source, destination, payload)));
    }

    /// Sends a datagram in fragments of at most `mtu` bytes; some are reordered, lost or duplicated.
    pub(super) fn say_in_fragments(
        &mut self,
        time: u64,
        [source, destination]: [SocketAddrV4; 2],
        payload: &[u8],
        mtu: usize,
    ) {
        let ip = self.ip(source, destination);
        let size = (mtu - 20) & !7;
        let whole = datagram(source, destination, payload);
        let mut fragments = ip.fragments(protocol::UDP, size, &whole);
        if fragments.len() > 1 && self.prng.per_mille(50) {
            let first = self.prng.below(fragments.len() as u64 - 1) as usize;
            fragments.swap(first, first + 1);
        }
        if self.prng.per_mille(10) {
            fragments.remove(self.prng.below(fragments.len() as u64) as usize);
        }
        if !fragments.is_empty() && self.prng.per_mille(10) {
            fragments.push(self.prng.pick(&fragments).clone());
        }
        for (number, fragment) in (0..).zip(&fragments) {
            self.packet(time + number * 3, fragment);
        }
    }

    /// Sends a segment; all but the SYNs carry a timestamp (RFC 7323, 3.2).
    pub(super) fn segment(&mut self, time: u64, segment: &Segment) {
        let mut segment = segment.clone();
        if segment.flags & flags::SYN == 0 {
            segment.options = vec![1, 1, 8, 10];
            segment.options.extend_from_slice(&((time / 1000) as u32).to_be_bytes());
            segment.options.extend_from_slice(&[0; 4]);
        }
        let mut ip = Ip::new(segment.source.ip(), segment.destination.ip());
        ip.id = self.next_id();
        ip.dont_fragment = true;
        self.packet(time, &ip.packet(protocol::TCP, &segment.bytes()));
    }

    /// Sends an IP packet.
    pub(super) fn packet(&mut self, time: u64, packet: &[u8]) {
        let mut frame = Link::Ethernet.frame(&[], packet);
        if frame.len() < SHORTEST_FRAME {
            frame.resize(SHORTEST_FRAME, 0);
        }
        self.sent += 1;
        self.waiting.push(Reverse(Sent { time, number: self.sent, frame }));
    }

    /// The next frame that was sent up to this time, with its own time.
    pub(super) fn next_until(&mut self, time: u64) -> Option<(u64, Vec<u8>)> {
        if self.waiting.peek()?.0.time > time {
            return None;
        }
        self.waiting.pop().map(|Reverse(sent)| (sent.time, sent.frame))
    }

    fn ip(&mut self, source: SocketAddrV4, destination: SocketAddrV4) -> Ip {
        let id = self.next_id();
        Ip { id, ..Ip::new((*source.ip()).into(), (*destination.ip()).into()) }
    }

    fn next_id(&mut self) -> u32 {
        self.ip_id = self.ip_id.wrapping_add(1);
        u32::from(self.ip_id)
    }
}

fn datagram(source: SocketAddrV4, destination: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    Datagram {
        source: SocketAddr::V4(source),
        destination: SocketAddr::V4(destination),
        payload: payload.to_vec(),
        checksum: Checksum::Right,
    }
    .bytes()
}
