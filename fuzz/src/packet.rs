//! Link, network and transport headers, and tunnels.

use gamewire::capture::LinkType;
use gamewire::net::{Outcome, TransportPayload, checksum, decode, decode_ip_payload};

use crate::input::Input;

/// Input: link type, number of bytes beyond the snap length, then the packet.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let link = LinkType(input.u16());
    let missing = u32::from(input.u8());
    let data = input.0;
    let length = (data.len() as u32).saturating_add(missing);
    let outcome = decode(link, data, length);
    examine(&outcome, data);
    assert_eq!(outcome, decode(link, data, length), "the same packet has the same result");
    if let Outcome::Fragment(fragment) = outcome {
        // The fragment as the payload of a complete datagram.
        let bytes = fragment.payload.bytes;
        examine(&decode_ip_payload(fragment.ip, fragment.protocol, bytes), bytes);
    }
}

fn examine(outcome: &Outcome<'_>, data: &[u8]) {
    checksum::verify(outcome);
    match outcome {
        Outcome::Udp(datagram) => is_there(&datagram.payload, data),
        Outcome::Tcp(segment) => is_there(&segment.payload, data),
        Outcome::Fragment(fragment) => is_there(&fragment.payload, data),
        Outcome::Malformed(malformed) => assert!(!malformed.to_string().is_empty()),
        Outcome::Aggregate(aggregate) => aggregate.frames().for_each(|it| examine(&it, data)),
        Outcome::Icmp(error) => assert!(error.quote.bytes.len() <= error.quote.length),
        Outcome::OtherIcmp(_) => {}
        Outcome::Other | Outcome::Unread(_) | Outcome::Snapped | Outcome::UnknownLink(_) => {}
    }
}

/// A payload's bytes are at its offset in the packet.
fn is_there(payload: &TransportPayload<'_>, data: &[u8]) {
    let there = data.get(payload.offset as usize..);
    let is_there = there.is_some_and(|there| there.starts_with(payload.bytes));
    assert!(is_there, "a payload of {} bytes at {}", payload.bytes.len(), payload.offset);
}
