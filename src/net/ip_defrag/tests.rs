//! Defragmentation case by case; against a plain model in [`model`].

mod memory;
mod model;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::*;
use crate::capture::LinkType;
use crate::net::test_packets::*;
use crate::net::{Headers, Ip, Outcome, TransportPayload, Tunnels};
use crate::net::{decode, decode_ip_payload};

const SECOND: i64 = 1_000_000_000;

fn addresses(version6: bool, source: u32) -> Ip {
    let (source, destination): (IpAddr, IpAddr) = if version6 {
        (Ipv6Addr::from_bits(u128::from(source)).into(), SERVER6.into())
    } else {
        (Ipv4Addr::from_bits(source).into(), SERVER.into())
    };
    Ip {
        source,
        destination,
        hop_limit: 64,
        direction: Default::default(),
        vlan: None,
        tags: Default::default(),
        tunnels: Tunnels::default(),
    }
}

/// One fragment of datagram 1, not cut by the capture.
fn fragment(at: u32, more: bool, bytes: &[u8]) -> Fragment<'_> {
    let payload =
        TransportPayload { bytes, offset: 34, announced: bytes.len() as u32, snapped: false };
    let headers = Headers { ipv4: &[], transport: &[] };
    let ip = addresses(false, 1);
    Fragment { ip, identification: 1, protocol: 17, at, more, payload, note: None, headers }
}

/// A defragmenter with its events, fed in order of frames, one per microsecond.
struct Bench {
    defragmenter: Defragmenter,
    events: Vec<FragmentEvent>,
    frame: u64,
    time: i64,
    /// Another one, which leaves bytes in memory, and must have the same results.
    lender: Option<Box<Bench>>,
}

impl Bench {
    fn new() -> Self {
        Self::with(FragmentLimits::default())
    }

    fn with(limits: FragmentLimits) -> Self {
        let defragmenter = Defragmenter::new(limits);
        Self { defragmenter, events: vec![], frame: 0, time: 0, lender: None }
    }

    /// A bench whose twin leaves the bytes of fragments in this memory.
    fn over(memory: &Arc<Vec<u8>>) -> Self {
        let mut lender = Box::new(Self::new());
        lender.defragmenter.lend(Arc::clone(memory) as _);
        Self { lender: Some(lender), ..Self::new() }
    }

    fn add(&mut self, fragment: &Fragment<'_>) -> Option<WholeDatagram> {
        self.frame += 1;
        self.time += SECOND / 1_000_000;
        let packet = FrameRef { frame: self.frame, time: self.time };
        let whole = self.defragmenter.add(fragment, packet, &mut self.events, |joined| {
            assert!(joined.head.len() == 8.min(joined.length as usize));
            true
        });
        if let Some(lender) = &mut self.lender {
            let borrowed = lender.add(fragment);
            assert_eq!(borrowed.as_ref().map(seen), whole.as_ref().map(seen));
            assert_eq!(lender.events, self.events);
            assert_eq!(lender.defragmenter.used(), self.defragmenter.used());
            borrowed.into_iter().for_each(|borrowed| lender.defragmenter.recycle(borrowed));
        }
        whole
    }

    /// The memory of a source's datagrams.
    fn source(&self, address: IpAddr) -> usize {
        let sources = &self.defragmenter.sources;
        sources.find(&address).map_or(0, |number| sources.at(number).used)
    }

    fn finish(mut self) -> Vec<FragmentEventKind> {
        self.defragmenter.finish(&mut self.events);
        assert_eq!((self.defragmenter.used(), self.defragmenter.pending()), (0, 0));
        if let Some(lender) = self.lender.take() {
            assert_eq!(
                lender.finish(),
                self.events.iter().map(|event| event.kind.clone()).collect::<Vec<_>>()
            );
        }
        self.kinds()
    }

    fn kinds(self) -> Vec<FragmentEventKind> {
        self.events.into_iter().map(|event| event.kind).collect()
    }
}

/// All observable properties of a datagram.
#[allow(clippy::type_complexity, reason = "it is only compared")]
fn seen(whole: &WholeDatagram) -> (Ip, u8, bool, &[u8], Vec<(u32, u32, u32, u64)>) {
    let piece = |piece: &Piece| (piece.at, piece.length, piece.offset, piece.frame);
    let pieces = whole.pieces.iter().map(piece).collect();
    (whole.ip, whole.protocol, whole.overlapped, &whole.bytes, pieces)
}

/// The bytes 0, 1, 2, ..., which show their positions.
fn count(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[track_caller]
fn consistent(whole: &WholeDatagram) {
    let mut at = 0;
    for piece in &whole.pieces {
        assert_eq!(piece.at, at);
        assert!(piece.length > 0);
        at += piece.length;
    }
    assert_eq!(at as usize, whole.bytes.len());
}

#[test]
fn in_order_and_in_reverse() {
    let bytes = Arc::new(count(3001));
    let parts = [
        (0, true, &bytes[..1480]),
        (1480, true, &bytes[1480..2960]),
        (2960, false, &bytes[2960..]),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let mut bench = Bench::over(&bytes);
        let mut wholes = order.map(|part| {
            let (at, more, bytes) = parts[part];
            bench.add(&fragment(at, more, bytes))
        });
        let whole = wholes[2].take().unwrap();
        assert!(wholes[0].is_none() && wholes[1].is_none());
        assert_eq!(whole.bytes, *bytes);
        assert_eq!((whole.protocol, whole.overlapped), (17, false));
        consistent(&whole);
        let frames: Vec<u64> = whole.pieces.iter().map(|piece| piece.frame).collect();
        let position = |part| order.iter().position(|p| *p == part).unwrap() as u64 + 1;
        assert_eq!(frames, [position(0), position(1), position(2)]);
        assert_eq!(whole.locate(1479), Some((position(0), 34 + 1479)));
        assert_eq!(whole.locate(1480), Some((position(1), 34)));
        assert_eq!(whole.locate(3000), Some((position(2), 34 + 40)));
        assert_eq!(whole.locate(3001), None);
        assert_eq!(bench.finish(), []);
    }
}

#[test]
fn a_real_answer_in_ipv4_fragments() {
    let bytes = udp(27_015, 50_000, &count(4000));
    let mut bench = Bench::new();
    let mut whole = None;
    for (index, part) in bytes.chunks(1480).enumerate() {
        let more = if (index + 1) * 1480 < bytes.len() { 0x2000 } else { 0 };
        let packet = ipv4_with(17, &[], 77, more | (index * 185) as u16, part);
        let packet = ethernet(0x0800, &packet);
        let Outcome::Fragment(fragment) = decode(LinkType::ETHERNET, &packet, 0) else { panic!() };
        whole = bench.add(&fragment);
    }
    let whole = whole.unwrap();
    let datagram = datagram(decode_ip_payload(whole.ip, whole.protocol, &whole.bytes));
    assert_eq!(datagram.payload.bytes, count(4000));
    assert_eq!((datagram.source_port, datagram.payload.offset), (27_015, 8));
    assert_eq!(datagram.ip.source, IpAddr::V4(CLIENT));
    let checksums = crate::net::checksum::verify(&Outcome::Udp(datagram));
    assert_eq!(checksums.transport, crate::net::checksum::ChecksumResult::Right);
}

#[test]
fn ipv6_extension_headers_after_the_fragment_header() {
    // Destination options of 16 bytes; the first fragment has only half of them.
    let bytes = cat(&[&[17, 1], &[0; 14], &query()]);
    let (first, last) = bytes.split_at(8);
    let mut bench = Bench::new();
    let mut whole = None;
    // Only the first fragment's next header counts.
    for (next, at, more, part) in [(255, 8, false, last), (60, 0, true, first)] {
        let packet = ipv6(44, &fragment6(next, at, more, 5, part));
        let Outcome::Fragment(fragment) = decode(LinkType::RAW, &packet, 0) else { panic!() };
        whole = bench.add(&fragment);
    }
    let whole = whole.unwrap();
    is_query6(&whole.bytes, decode_ip_payload(whole.ip, whole.protocol, &whole.bytes));
    assert_eq!(bench.finish(), []);
}

#[test]
fn datagrams_do_not_mix() {
    let (head, tail) = (count(16), count(8));
    let first = fragment(0, true, &head);
    let last = fragment(16, false, &tail);
    let others = [
        Fragment { identification: 2, ..last },
        Fragment { protocol: 6, ..last },
        Fragment { ip: addresses(false, 9), ..last },
        Fragment { ip: Ip { vlan: Some(3), ..last.ip }, ..last },
        Fragment { ip: Ip { destination: CLIENT.into(), ..last.ip }, ..last },
    ];
    let mut bench = Bench::new();
    assert!(bench.add(&first).is_none());
    for other in &others {
        assert!(bench.add(other).is_none());
    }
    assert_eq!(bench.defragmenter.pending(), 6);
    assert_eq!(bench.add(&last).unwrap().bytes.len(), 24);
    assert_eq!(bench.finish().len(), 5);
}

#[test]
fn copies_are_not_overlaps() {
    let bytes = count(6000);
    let mut bench = Bench::new();
    let middle = fragment(1480, true, &bytes[1480..4440]);
    for _ in 0..3 {
        assert!(bench.add(&middle).is_none());
        assert!(bench.add(&fragment(4440, false, &bytes[4440..5555])).is_none());
    }
    let whole = bench.add(&fragment(0, true, &bytes[..1480])).unwrap();
    assert_eq!(whole.bytes, &bytes[..5555]);
    assert!(!whole.overlapped);
    assert_eq!(bench.finish(), []);
}

#[test]
fn copies_after_a_whole_datagram_are_not_missing() {
    let bytes = count(24);
    let (first, last) = (fragment(0, true, &bytes[..16]), fragment(16, false, &bytes[16..]));
    let mut bench = Bench::new();
    for fragment in [&first, &first, &last] {
        bench.add(fragment);
    }
    assert!(bench.add(&last).is_none());
    assert_eq!(bench.finish(), []);
    // Later it is another datagram with the same number.
    let mut bench = Bench::new();
    bench.add(&first);
    assert!(bench.add(&last).is_some());
    bench.time += limits::ECHO;
    bench.add(&last);
    assert!(matches!(bench.finish()[..], [FragmentEventKind::Missing { .. }]));
}

#[test]
fn the_first_copy_wins_and_overlaps_are_reported_once() {
    for (second, differs) in [(1u8, false), (2, true)] {
        let mut bench = Bench::new();
        assert!(bench.add(&fragment(8, true, &[1; 16])).is_none());
        assert!(bench.add(&fragment(0, true, &[second; 16])).is_none());
        assert!(bench.add(&fragment(16, true, &[1; 16])).is_none());
        let whole = bench.add(&fragment(32, false, &[3; 4])).unwrap();
        let expected = cat(&[&[second; 8], &[1; 24], &[3; 4]]);
        assert_eq!(whole.bytes, expected);
        assert!(whole.overlapped);
        consistent(&whole);
        let [event] = &bench.events[..] else { panic!("{:?}", bench.events) };
        assert_eq!(event.kind, FragmentEventKind::Overlap { differs });
        assert_eq!(event.at.frame, 2);
    }
}

#[test]
fn overlaps_of_every_shape() {
    // Held: [16, 32) and [48, 64). The second value says whether it meets them.
    let cases = [
        ((0, 16), false),
        ((32, 48), false),
        ((64, 80), false),
        ((16, 32), false), // a copy
        ((16, 24), true),
        ((24, 32), true),
        ((8, 24), true),
        ((24, 40), true),
        ((8, 40), true),
        ((16, 64), true),
        ((0, 80), true),
        ((16, 40), true),
    ];
    for ((from, to), overlaps) in cases {
        let mut bench = Bench::new();
        bench.add(&fragment(16, true, &[5; 16]));
        bench.add(&fragment(48, true, &[5; 16]));
        bench.add(&fragment(from, true, &vec![5; (to - from) as usize]));
        let reported = bench.finish().contains(&FragmentEventKind::Overlap { differs: false });
        assert_eq!(reported, overlaps, "{from}..{to}");
    }
}

#[test]
fn adjacent_fragments_are_one_boundary_not_one_run() {
    let mut bench = Bench::new();
    bench.add(&fragment(0, true, &[5; 8]));
    bench.add(&fragment(8, true, &[5; 8]));
    bench.add(&fragment(0, true, &[5; 16]));
    assert!(bench.finish().contains(&FragmentEventKind::Overlap { differs: false }));
}

/// A duplicate fragment with one copy cut by the snap length is not an overlap.
#[test]
fn copies_with_other_boundaries_are_not_overlaps() {
    for [first, second] in [[16, 8], [8, 16]] {
        let mut bench = Bench::new();
        for length in [first, second] {
            let bytes = [5; 16];
            let mut cut = fragment(0, true, &bytes[..length]);
            cut.payload.announced = 16;
            bench.add(&cut);
        }
        let overlaps = |kind: &FragmentEventKind| matches!(kind, FragmentEventKind::Overlap { .. });
        assert!(!bench.finish().iter().any(overlaps), "{first} {second}");
    }
}

#[test]
fn the_same_fragment_with_other_bytes_differs() {
    let mut bench = Bench::new();
    bench.add(&fragment(0, true, &[5; 16]));
    bench.add(&fragment(0, true, &[6; 16]));
    assert!(bench.finish().contains(&FragmentEventKind::Overlap { differs: true }));
}

#[test]
fn contradictions_are_left_out() {
    let long = vec![0; 65_528];
    let beyond = fragment(8, true, &long);
    let farthest = fragment(65_528, false, &long[..8]);
    let crooked = fragment(0, true, &long[..9]);
    let empty = fragment(8, true, &[]);
    for refused in [&beyond, &farthest, &crooked, &empty] {
        let mut bench = Bench::new();
        assert!(bench.add(refused).is_none());
        assert!(matches!(bench.finish()[..], [FragmentEventKind::Malformed(_)]));
    }

    let mut bench = Bench::new();
    bench.add(&fragment(24, true, &[1; 16]));
    bench.add(&fragment(16, false, &[2; 4]));
    bench.add(&fragment(40, false, &[3; 4]));
    bench.add(&fragment(40, false, &[3; 5]));
    bench.add(&fragment(40, true, &[3; 8]));
    let whole = bench.add(&fragment(0, true, &[4; 24])).unwrap();
    assert_eq!(whole.bytes, cat(&[&[4; 24], &[1; 16], &[3; 4]]));
    let kinds = bench.finish();
    assert_eq!(kinds.len(), 3);
    assert!(kinds.iter().all(|kind| matches!(kind, FragmentEventKind::Malformed(_))));
}

#[test]
fn the_longest_datagram() {
    let bytes = Arc::new(count(65_535));
    let mut bench = Bench::over(&bytes);
    bench.add(&fragment(65_528, false, &bytes[65_528..]));
    let whole = bench.add(&fragment(0, true, &bytes[..65_528])).unwrap();
    assert_eq!(whole.bytes, *bytes);
}

#[test]
fn an_empty_last_fragment_ends_a_datagram() {
    let mut bench = Bench::new();
    bench.add(&fragment(0, true, &[1; 16]));
    assert_eq!(bench.add(&fragment(16, false, &[])).unwrap().bytes, [1; 16]);
}

#[test]
fn truncated_fragments_never_form_a_datagram() {
    let bytes = count(24);
    let payload =
        TransportPayload { bytes: &bytes[..13], offset: 34, announced: 16, snapped: true };
    let mut bench = Bench::new();
    bench.add(&Fragment { payload, ..fragment(0, true, &[]) });
    assert!(bench.add(&fragment(16, false, &bytes[16..])).is_none());
    let kinds = bench.finish();
    let [FragmentEventKind::Missing { cause, frames, held, length, snapped }] = &kinds[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!((*cause, &frames[..]), (GiveUpCause::End, &[1, 2][..]));
    assert_eq!((*held, *length, *snapped), (16, Some(24), true));
}

#[test]
fn time_is_up_after_the_first_fragment() {
    let mut bench = Bench::new();
    bench.add(&fragment(0, true, &[1; 8]));
    bench.time += 20 * SECOND;
    bench.add(&fragment(8, true, &[1; 8]));
    // An earlier time does not set the clock back.
    bench.defragmenter.expire(0, &mut bench.events);
    bench.defragmenter.expire(30 * SECOND, &mut bench.events);
    assert_eq!(bench.events, []);
    bench.defragmenter.expire(31 * SECOND, &mut bench.events);
    let [FragmentEvent { kind: FragmentEventKind::Missing { cause, frames, .. }, at, .. }] =
        &bench.events[..]
    else {
        panic!("{:?}", bench.events)
    };
    assert_eq!((*cause, &frames[..], at.frame), (GiveUpCause::Timeout, &[1, 2][..], 1));
    assert_eq!(bench.defragmenter.used(), 0);
    assert!(bench.add(&fragment(16, false, &[1; 8])).is_none());
}

#[test]
fn any_capture_time_is_survived() {
    let mut bench = Bench::new();
    for time in [i64::MAX, i64::MIN, 0, i64::MAX, -1] {
        let packet = FrameRef { frame: 1, time };
        bench.defragmenter.add(&fragment(0, true, &[1; 8]), packet, &mut bench.events, |_| true);
    }
    assert_eq!(bench.defragmenter.pending(), 1);
}

#[test]
fn fragments_inside_a_tunnel_are_traced_to_packets() {
    let inner = ipv4_with(17, &[], 5, 0x2000, &count(32));
    let mut bench = Bench::new();
    let (a, b) = inner.split_at(32);
    bench.add(&Fragment { protocol: 4, ..fragment(0, true, a) });
    let outer = bench.add(&Fragment { protocol: 4, ..fragment(32, false, b) }).unwrap();
    let Outcome::Fragment(first) = decode_ip_payload(outer.ip, outer.protocol, &outer.bytes) else {
        panic!()
    };
    let packet = FrameRef { frame: 2, time: bench.time };
    let joined = bench.defragmenter.add_inside(&first, &outer, packet, &mut bench.events, |_| true);
    assert!(joined.is_none());
    let last =
        Fragment { at: 32, more: false, payload: fragment(0, true, &[7; 3]).payload, ..first };
    let whole = bench.add(&last).unwrap();
    consistent(&whole);
    // The inner header takes 20 bytes of the first packet.
    assert_eq!(whole.locate(0), Some((1, 34 + 20)));
    assert_eq!(whole.locate(11), Some((1, 34 + 31)));
    assert_eq!(whole.locate(12), Some((2, 34)));
    assert_eq!(whole.locate(32), Some((3, 34)));
}
