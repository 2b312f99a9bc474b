//! IP defragmentation: fragments in any order, overlapping, contradictory, incomplete; the result is the same
//! with copied and with borrowed bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::Arc;

use dissectors::kit::Piece;
use gamewire::net::limits::FragmentLimits;
use gamewire::net::{
    Defragmenter, Fragment, FrameRef, Headers, Ip, TransportPayload, Tunnels, WholeDatagram,
};

use crate::input::Input;

/// Records of nine bytes, each followed by up to 255 bytes of payload.
pub(crate) fn run(bytes: &[u8]) {
    let (records, memory) = read(Input(bytes));
    let memory = Arc::new(memory);
    let limits = FragmentLimits { source: 1 << 20, total: 2 << 20, ..FragmentLimits::default() };
    let (mut copier, mut lender) = (Defragmenter::new(limits), Defragmenter::new(limits));
    lender.lend(Arc::clone(&memory) as _);
    let (mut events, mut other_events) = (Vec::new(), Vec::new());
    for record in &records {
        let fragment = fragment(record, memory.get(record.bytes.clone()).unwrap_or_default());
        let whole = copier.add(&fragment, record.at, &mut events, |_| true);
        let other = lender.add(&fragment, record.at, &mut other_events, |_| true);
        match (whole, other) {
            (None, None) => {}
            (Some(whole), Some(other)) => {
                examine(&whole, record.at.frame);
                assert_eq!(pieces(&whole), pieces(&other));
                assert_eq!(whole.bytes, other.bytes);
                assert_eq!(whole.overlapped, other.overlapped);
                copier.recycle(whole);
                lender.recycle(other);
            }
            (whole, other) => panic!("only one is complete: {whole:?}, {other:?}"),
        }
        assert_eq!(events, other_events);
        assert_eq!((copier.used(), copier.pending()), (lender.used(), lender.pending()));
        assert!(copier.used() <= limits.total, "{} bytes are held", copier.used());
    }
    copier.finish(&mut events);
    lender.finish(&mut other_events);
    assert_eq!(events, other_events);
    assert_eq!((copier.used(), copier.pending()), (0, 0));
    assert_eq!((lender.used(), lender.pending()), (0, 0));
    let frames = 1..=records.len() as u64;
    assert!(events.iter().all(|event| frames.contains(&event.at.frame)));
}

/// The properties of a fragment.
struct Record {
    at: FrameRef,
    flags: u8,
    which: u8,
    start: u16,
    beyond: u32,
    /// The range of its bytes.
    bytes: Range<usize>,
}

/// All records, and the buffer with their bytes.
fn read(mut input: Input<'_>) -> (Vec<Record>, Vec<u8>) {
    let (mut records, mut memory, mut time) = (Vec::new(), Vec::new(), 0_i64);
    while !input.is_empty() {
        let (flags, which, start) = (input.u8(), input.u8(), input.u16());
        time = time.saturating_add(Input::step(input.u8()));
        let (repeat, beyond) = (usize::from(input.u8()), u32::from(input.u8()));
        let count = usize::from(input.u8());
        let begin = memory.len();
        memory.extend(input.bytes(count).repeat(1 + repeat));
        let at = FrameRef { frame: records.len() as u64 + 1, time };
        records.push(Record { at, flags, which, start, beyond, bytes: begin..memory.len() });
    }
    (records, memory)
}

fn fragment<'a>(record: &Record, bytes: &'a [u8]) -> Fragment<'a> {
    let &Record { flags, which, start, beyond, .. } = record;
    let host = which >> 4 & 3;
    let source = match flags & 1 {
        0 => IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        _ => IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, u16::from(host))),
    };
    let ip = Ip {
        source,
        destination: source,
        hop_limit: 64,
        direction: Default::default(),
        vlan: None,
        tags: Default::default(),
        tunnels: Tunnels::default(),
    };
    let snapped = flags & 2 != 0;
    Fragment {
        ip,
        identification: u32::from(which & 15),
        protocol: 17,
        at: u32::from(start) * 8,
        more: flags & 4 != 0,
        payload: TransportPayload {
            bytes,
            offset: 34,
            announced: bytes.len() as u32 + if snapped { beyond } else { 0 },
            snapped,
        },
        note: None,
        headers: Headers { ipv4: &[], transport: &[] },
    }
}

fn pieces(whole: &WholeDatagram) -> Vec<(u32, u32, u32, u64)> {
    let piece = |piece: &Piece| (piece.at, piece.length, piece.offset, piece.frame);
    whole.pieces.iter().map(piece).collect()
}

/// The pieces cover the datagram once, in order.
fn examine(whole: &WholeDatagram, frame: u64) {
    let mut at = 0;
    for piece in &whole.pieces {
        assert_eq!(piece.at, at, "a hole or an overlap");
        assert!((1..=frame).contains(&piece.frame));
        at += piece.length;
    }
    assert_eq!(at as usize, whole.bytes.len());
}
