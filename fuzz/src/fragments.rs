//! IP defragmentation: fragments in any order, overlapping, contradicting, unfinished.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gamewire::net::limits::FragmentLimits;
use gamewire::net::packet::{Fragment, Headers, Ip, Payload, Tunnels};
use gamewire::net::{Defragmenter, FrameRef, Whole};

use crate::input::Input;

/// Records of nine bytes, each followed by up to 255 bytes of payload.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let limits = FragmentLimits { source: 1 << 20, total: 2 << 20, ..FragmentLimits::default() };
    let mut defragmenter = Defragmenter::new(limits);
    let (mut events, mut frame, mut time) = (Vec::new(), 0, 0_i64);
    while !input.is_empty() {
        let (flags, which, at) = (input.u8(), input.u8(), input.u16());
        time = time.saturating_add(Input::step(input.u8()));
        let (repeat, beyond) = (usize::from(input.u8()), u32::from(input.u8()));
        let count = usize::from(input.u8());
        let piece = input.bytes(count).repeat(1 + repeat);
        frame += 1;
        let fragment = fragment(flags, which, at, beyond, &piece);
        let at = FrameRef { frame, time };
        if let Some(whole) = defragmenter.add(&fragment, at, &mut events) {
            examine(&whole, frame);
            defragmenter.recycle(whole);
        }
        assert!(defragmenter.used() <= limits.total, "{} bytes are held", defragmenter.used());
    }
    defragmenter.finish(&mut events);
    assert_eq!((defragmenter.used(), defragmenter.pending()), (0, 0));
    assert!(events.iter().all(|event| (1..=frame).contains(&event.at.frame)));
}

fn fragment(flags: u8, which: u8, at: u16, beyond: u32, bytes: &[u8]) -> Fragment<'_> {
    let host = which >> 4 & 3;
    let source = match flags & 1 {
        0 => IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        _ => IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, u16::from(host))),
    };
    let ip =
        Ip { source, destination: source, hop_limit: 64, vlan: None, tunnels: Tunnels::default() };
    let snapped = flags & 2 != 0;
    Fragment {
        ip,
        identification: u32::from(which & 15),
        protocol: 17,
        at: u32::from(at) * 8,
        more: flags & 4 != 0,
        payload: Payload {
            bytes,
            offset: 34,
            announced: bytes.len() as u32 + if snapped { beyond } else { 0 },
            snapped,
        },
        note: None,
        headers: Headers { ipv4: &[], transport: &[] },
    }
}

/// The pieces cover the datagram once, in order.
fn examine(whole: &Whole, frame: u64) {
    let mut at = 0;
    for piece in &whole.pieces {
        assert_eq!(piece.at, at, "a hole or an overlap");
        assert!((1..=frame).contains(&piece.frame));
        at += piece.length;
    }
    assert_eq!(at as usize, whole.bytes.len());
}
