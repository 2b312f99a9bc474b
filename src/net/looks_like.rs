//! Guesses the kind of a packet if no header shows it reliably.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::walk::u16_be;
use super::{ether_type, limits};

/// An IP header with consistent lengths; `cut`: bytes may be missing at the end.
pub(super) fn ip(bytes: &[u8], cut: bool) -> bool {
    let fits = |length: usize| length <= bytes.len() || cut;
    match bytes {
        [first @ 0x45..=0x4f, _, high, low, ..] if bytes.len() >= 20 => {
            let header = usize::from(first & 0x0f).saturating_mul(4);
            let total = usize::from(u16::from_be_bytes([*high, *low]));
            fits(header) && header <= total && fits(total)
        }
        [0x60..=0x6f, _, _, _, high, low, ..] if bytes.len() >= 40 => {
            fits(usize::from(u16::from_be_bytes([*high, *low])).saturating_add(40))
        }
        _ => false,
    }
}

/// A label stack over IP.
pub(super) fn mpls(bytes: &[u8], cut: bool) -> bool {
    let labels = bytes.chunks_exact(4).take(limits::LABELS);
    let last =
        labels.map(|label| label.get(2).copied()).position(|it| it.is_some_and(|it| it & 1 == 1));
    let rest = last.and_then(|last| bytes.get(last.saturating_add(1).saturating_mul(4)..));
    rest.is_some_and(|rest| ip(rest, cut))
}

/// An Ethernet frame that carries IP.
pub(super) fn ethernet(bytes: &[u8], cut: bool) -> bool {
    match ethernet_payload(bytes) {
        Some((ether_type::IPV4, rest)) => {
            rest.first().is_some_and(|byte| byte >> 4 == 4) && ip(rest, cut)
        }
        Some((ether_type::IPV6, rest)) => {
            rest.first().is_some_and(|byte| byte >> 4 == 6) && ip(rest, cut)
        }
        _ => false,
    }
}

/// The EtherType of an Ethernet frame and its payload, after VLAN tags.
fn ethernet_payload(frame: &[u8]) -> Option<(u16, &[u8])> {
    let (mut ether_type, mut rest) = u16_be(frame.get(12..)?)?;
    for _ in 0..limits::LAYERS {
        match ether_type {
            ether_type::VLAN | ether_type::PROVIDER_VLAN | ether_type::OLD_QINQ => {
                (ether_type, rest) = u16_be(rest.get(2..)?)?;
            }
            _ => break,
        }
    }
    Some((ether_type, rest))
}
