//! Pairs of hosts.

use std::net::IpAddr;

use crate::session::Partition;

/// A pair of hosts, in 32 bits. Two pairs that are the same by chance are kept together: that costs time, and
/// changes nothing.
pub(super) fn pair(a: IpAddr, b: IpAddr) -> u32 {
    Partition::of(a, b, 1 << 32) as u32
}
