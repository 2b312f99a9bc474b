//! The path of a conversation's packets from its hosts to the capture.

use std::net::{IpAddr, SocketAddr};

use crate::wire::{Checksum, Ip, Link, Prng, Segment, Tag, TimedPacket, flags, protocol};

/// The first IP identification, far above those of fragments in scripts.
const FIRST_ID: u32 = 0x4000;

/// How the packets of one conversation travel.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) ipv6: bool,
    pub(super) tags: Vec<Tag>,
    /// Size of IP fragments in bytes.
    fragment: Option<usize>,
    /// Size of TCP segments in bytes.
    segment: Option<usize>,
    /// Adjacent fragments of a datagram, and segments of a direction, are reordered.
    reorders: bool,
    /// Segments are retransmitted although they have arrived.
    repeats: bool,
    /// Some datagrams are duplicated by the network.
    doubles: bool,
    /// Clients repeat some datagrams before the response arrives.
    resends: bool,
}

/// An IP packet at the end of its path.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) packet: TimedPacket,
    /// Source and destination.
    pub(super) ends: [IpAddr; 2],
    /// If it is a fragment: the datagram, the fragment's index, and the number of fragments.
    pub(super) fragment: Option<(u32, usize, usize)>,
    /// The sequence number of a segment with data.
    pub(super) sequence: Option<u32>,
}

impl Way {
    pub(super) fn random(link: Link, prng: &mut Prng) -> Self {
        let mut one_in = |n| prng.below(n) == 0;
        let tags = match (link.has_tags() && one_in(2), one_in(3)) {
            (false, _) => Vec::new(),
            (true, false) => vec![Tag::vlan(77)],
            (true, true) => vec![Tag::provider(5), Tag::vlan(300)],
        };
        let (ipv6, fragments, segments) = (one_in(3), one_in(2), one_in(2));
        let (reorders, repeats) = (one_in(2), one_in(2));
        let (doubles, resends) = (one_in(3), one_in(3));
        let fragment = fragments.then(|| 8 << prng.below(6));
        let segment = segments.then(|| 4 + prng.below(60) as usize);
        Self { ipv6, tags, fragment, segment, reorders, repeats, doubles, resends }
    }

    /// Sends packets, which are raw IP and in order, along the path.
    pub(super) fn travel(&self, packets: Vec<TimedPacket>, prng: &mut Prng) -> Vec<Hop> {
        let mut hops = Vec::new();
        let mut run: Vec<(TimedPacket, Parts)> = Vec::new();
        for packet in packets {
            let Some(parts) = Parts::of(&packet.bytes) else {
                // It is a fragment already, or cannot be taken apart.
                self.flush(&mut run, &mut hops, prng);
                hops.extend(Hop::as_it_is(packet));
                continue;
            };
            let goes_on = run.last().is_some_and(|(last, before)| {
                last.time == packet.time && before.ends() == parts.ends()
            });
            if !parts.is_data() || !goes_on {
                self.flush(&mut run, &mut hops, prng);
            }
            if parts.is_data() {
                run.push((packet, parts));
            } else {
                let first = hops.len();
                self.send(&packet, &parts, &mut hops);
                if parts.is_udp() {
                    self.again(&packet, &parts, first, &mut hops, prng);
                }
            }
        }
        self.flush(&mut run, &mut hops, prng);
        hops
    }

    /// Duplicates the datagram that starts here, or sends it again.
    fn again(
        &self,
        packet: &TimedPacket,
        parts: &Parts,
        first: usize,
        hops: &mut Vec<Hop>,
        prng: &mut Prng,
    ) {
        let mut one_in_two = || prng.below(2) == 0;
        if self.doubles && one_in_two() {
            hops.extend_from_within(first..);
        }
        if self.resends && parts.is_of_client() && one_in_two() {
            let time = super::later(packet, 1);
            self.send(&TimedPacket { time, ..packet.clone() }, parts, hops);
        }
    }

    /// Sends the segments with data of one end that are adjacent.
    fn flush(&self, run: &mut Vec<(TimedPacket, Parts)>, hops: &mut Vec<Hop>, prng: &mut Prng) {
        let mut packets: Vec<(TimedPacket, Parts)> = Vec::new();
        for (packet, parts) in run.drain(..) {
            let Carried::Tcp(segment) = &parts.carried else { continue };
            let size = self.segment.unwrap_or(usize::MAX).min(segment.payload.len());
            for (number, part) in (0..).zip(segment.payload.chunks(size)) {
                let offset = number * size as u32;
                let sequence = segment.sequence.wrapping_add(offset);
                let piece = Segment { sequence, payload: part.to_vec(), ..segment.clone() };
                let parts = Parts { carried: Carried::Tcp(piece), ..parts.clone() };
                packets.push((packet.clone(), parts));
            }
        }
        if self.reorders {
            packets.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        if self.repeats && !packets.is_empty() {
            let (packet, parts) = packets[prng.below(packets.len() as u64) as usize].clone();
            let time = super::later(&packet, 200);
            packets.push((TimedPacket { time, ..packet }, parts));
        }
        for (packet, parts) in &packets {
            self.send(packet, parts, hops);
        }
    }

    /// A packet, or its fragments.
    fn send(&self, packet: &TimedPacket, parts: &Parts, hops: &mut Vec<Hop>) {
        let id = FIRST_ID + hops.len() as u32;
        let ip = Ip { id, ..parts.ip.clone() };
        let (number, payload) = parts.payload();
        let whole = self.fragment.is_none_or(|size| payload.len() <= size);
        let mut packets = match self.fragment {
            Some(size) if !whole => ip.fragments(number, size, &payload),
            _ => vec![ip.packet(number, &payload)],
        };
        if self.reorders {
            packets.reverse();
        }
        let sequence = match &parts.carried {
            Carried::Tcp(segment) if parts.is_data() => Some(segment.sequence),
            _ => None,
        };
        let count = packets.len();
        let hop = |(number, bytes)| Hop {
            packet: TimedPacket::new(packet.time, bytes),
            ends: parts.ends(),
            fragment: (!whole).then_some((id, number, count)),
            sequence,
        };
        hops.extend(packets.into_iter().enumerate().map(hop));
    }
}

impl Hop {
    fn as_it_is(packet: TimedPacket) -> Option<Self> {
        let ends = ends(&packet.bytes)?;
        Some(Self { packet, ends, fragment: None, sequence: None })
    }
}

/// The parts of an IP packet.
#[derive(Clone, Debug)]
struct Parts {
    ip: Ip,
    carried: Carried,
}

#[derive(Clone, Debug)]
enum Carried {
    Tcp(Segment),
    Other(u8, Vec<u8>),
}

impl Parts {
    /// The parts of an unfragmented packet without options and extension headers.
    fn of(packet: &[u8]) -> Option<Self> {
        let [source, destination] = ends(packet)?;
        let big = |at: usize| Some(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
        let (number, ttl, payload) = if source.is_ipv4() {
            let is_fragment = big(6)? & 0x3FFF != 0;
            let whole = packet[0] == 0x45 && !is_fragment && usize::from(big(2)?) == packet.len();
            whole.then_some((packet[9], packet[8], &packet[20..]))?
        } else {
            let whole = usize::from(big(4)?) + 40 == packet.len();
            let known = matches!(packet[6], protocol::TCP | protocol::UDP);
            (whole && known).then_some((packet[6], packet[7], &packet[40..]))?
        };
        let ip = Ip { ttl, ..Ip::new(source, destination) };
        let carried = match number {
            protocol::TCP => Carried::Tcp(segment(source, destination, payload)?),
            other => Carried::Other(other, payload.to_vec()),
        };
        Some(Self { ip, carried })
    }

    fn ends(&self) -> [IpAddr; 2] {
        [self.ip.source, self.ip.destination]
    }

    fn is_udp(&self) -> bool {
        matches!(self.carried, Carried::Other(protocol::UDP, _))
    }

    /// Whether a client sent it: hosts that end in 1 are clients.
    fn is_of_client(&self) -> bool {
        match self.ip.source {
            IpAddr::V4(host) => host.octets()[3] == 1,
            IpAddr::V6(host) => host.octets()[15] == 1,
        }
    }

    /// Whether it is a segment with data, and without SYN, FIN and RST.
    fn is_data(&self) -> bool {
        let Carried::Tcp(segment) = &self.carried else { return false };
        segment.flags & (flags::SYN | flags::FIN | flags::RST) == 0 && !segment.payload.is_empty()
    }

    /// The protocol number and payload.
    fn payload(&self) -> (u8, Vec<u8>) {
        match &self.carried {
            Carried::Tcp(segment) => (protocol::TCP, segment.bytes()),
            Carried::Other(number, payload) => (*number, payload.clone()),
        }
    }
}

fn ends(packet: &[u8]) -> Option<[IpAddr; 2]> {
    let v4 = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let v6 = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
    match packet.first()? >> 4 {
        4 => Some([v4(12)?, v4(16)?]),
        _ => Some([v6(8)?, v6(24)?]),
    }
}

fn segment(source: IpAddr, destination: IpAddr, bytes: &[u8]) -> Option<Segment> {
    let short = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let header = usize::from(*bytes.get(12)? >> 4) * 4;
    Some(Segment {
        source: SocketAddr::new(source, short(0)?),
        destination: SocketAddr::new(destination, short(2)?),
        sequence: long(4)?,
        acknowledgement: long(8)?,
        flags: *bytes.get(13)?,
        window: short(14)?,
        options: bytes.get(20..header)?.to_vec(),
        payload: bytes.get(header..)?.to_vec(),
        checksum: Checksum::Right,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Setting, capture};

    const PLAIN: Way = Way {
        ipv6: false,
        tags: Vec::new(),
        fragment: None,
        segment: None,
        reorders: false,
        repeats: false,
        doubles: false,
        resends: false,
    };

    fn played(script: &str, ipv6: bool) -> Vec<TimedPacket> {
        let setting = Setting { link: Link::Raw, ipv6, ..Setting::udp(27015) };
        capture(script, &setting).unwrap().packets
    }

    const SCRIPT: &str = "0 c > s tcp 'abcdefgh'\n0 s > c tcp 'xy' fin\n1 c > s 'datagram'";

    #[test]
    fn a_plain_path_changes_nothing() {
        let packets = played(SCRIPT, false);
        let hops = PLAIN.travel(packets.clone(), &mut Prng::new(0));
        assert_eq!(hops.len(), packets.len());
        for (hop, packet) in hops.iter().zip(&packets) {
            // Except for the identification and the checksum.
            assert_eq!(hop.packet.bytes[..4], packet.bytes[..4]);
            assert_eq!(hop.packet.bytes[12..], packet.bytes[12..]);
        }
        let ipv6 = PLAIN.travel(played(SCRIPT, true), &mut Prng::new(0));
        assert_eq!(ipv6.len(), hops.len());
    }

    #[test]
    fn segments_are_cut_swapped_and_sent_again() {
        let way = Way { segment: Some(4), reorders: true, repeats: true, ..PLAIN };
        let hops = way.travel(played("0 c > s tcp 'abcdefgh'", false), &mut Prng::new(1));
        let data: Vec<_> = hops.iter().filter(|hop| hop.sequence.is_some()).collect();
        let said = |hop: &Hop| hop.packet.bytes[40..].to_vec();
        assert_eq!(said(data[0]), b"efgh");
        assert_eq!(said(data[1]), b"abcd");
        assert_eq!(data.len(), 3);
        assert_eq!(data[2].packet.time, data[0].packet.time.after_ms(200));
        assert!(data[2].sequence == data[0].sequence || data[2].sequence == data[1].sequence);
    }

    #[test]
    fn datagrams_are_doubled_and_sent_again() {
        let way = Way { doubles: true, resends: true, ..PLAIN };
        let script = "0 c > s 'asked'\n1 s > c 'answered'";
        let (mut doubled, mut resent) = (0, 0);
        for seed in 0..32 {
            let hops = way.travel(played(script, false), &mut Prng::new(seed));
            let asked: Vec<_> =
                hops.iter().filter(|hop| hop.packet.bytes.ends_with(b"asked")).collect();
            doubled += asked.windows(2).filter(|two| two[0].packet == two[1].packet).count();
            let at = |hop: &&&Hop| hop.packet.time == asked[0].packet.time.after_ms(1);
            resent += asked.iter().filter(at).count();
            let answered = hops.iter().filter(|hop| hop.packet.bytes.ends_with(b"answered"));
            assert!(answered.count() < 3, "only clients send again");
        }
        assert!(doubled > 5 && resent > 5, "{doubled} {resent}");
    }

    #[test]
    fn datagrams_are_fragmented() {
        for ipv6 in [false, true] {
            let way = Way { fragment: Some(8), reorders: true, ..PLAIN };
            let hops = way.travel(played("0 c > s 'sixteen bytes---'", ipv6), &mut Prng::new(1));
            assert_eq!(hops.len(), 3);
            assert!(hops.iter().all(|hop| hop.fragment.is_some()));
            assert!(hops[0].packet.bytes.ends_with(b"bytes---"));
        }
    }
}
