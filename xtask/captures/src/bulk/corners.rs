//! Captures for which algorithms of quadratic complexity would take too long.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use crate::bulk::flood::source;
use crate::bulk::stage::Stage;
use crate::wire::{Connection, End, Ip, Segment, protocol};

const VICTIM: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(23, 17, 34, 51), 28900);

/// Size of a fragment in bytes, the minimum for all but the last one.
const FRAGMENT: u64 = 8;

/// Maximum number of fragments of a datagram; further ones are copies.
const FRAGMENTS: u64 = 8188;

/// A prime number as the stride through all numbers, so that each occurs and no two neighbours are in order.
const STRIDE: u64 = 7919;

/// The next fragment of a datagram whose first one is missing.
pub(super) fn fragment(stage: &mut Stage, time: u64, number: u64) {
    let place = 1 + number * STRIDE % (FRAGMENTS - 1);
    let ip = Ip { id: 0x4747, ..Ip::new([10, 0, 0, 1].into(), (*VICTIM.ip()).into()) };
    let part = [place as u8; FRAGMENT as usize];
    let packet = ip.fragment(protocol::UDP, (place * FRAGMENT) as usize, true, &part);
    stage.packet(time, &packet);
}

/// The next packet of a connection whose server sends `packets` bytes, each in its own segment and all out
/// of order.
pub(super) fn one_byte_segment(stage: &mut Stage, time: u64, number: u64, packets: u64) {
    let client = SocketAddr::from(([10, 0, 0, 1], 50_000));
    let mut connection = Connection::new(client, VICTIM.into(), [1000, u32::MAX - 5000]);
    let handshake = connection.handshake();
    if let Some(segment) = usize::try_from(number).ok().and_then(|number| handshake.get(number)) {
        return stage.segment(time, segment);
    }
    let challenge = br"\basic\\secure\XDWAOR";
    if number == 3 {
        return stage.segment(time, &connection.send_at(End::Listener, 0, challenge));
    }
    // The byte right after the challenge is missing.
    let bytes = packets.max(5) - 4;
    let bytes = if bytes.is_multiple_of(STRIDE) { bytes + 1 } else { bytes };
    let offset = challenge.len() as u64 + 1 + (number - 4) * STRIDE % bytes;
    let letter = br"\ip\10.0.0.1:7777"[(offset % 17) as usize];
    stage.segment(time, &connection.send_at(End::Listener, offset as u32, &[letter]));
}

/// The next connection attempt without a response.
pub(super) fn half_open(stage: &mut Stage, time: u64, number: u64) {
    let initial = [number as u32, 0];
    let mut connection = Connection::new(source(number).into(), VICTIM.into(), initial);
    let [syn, ..]: [Segment; 3] = connection.handshake();
    stage.segment(time, &syn);
}
