//! Between which two hosts something is said.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// Two hosts, whichever of them sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts([IpAddr; 2]);

impl Hosts {
    /// These two.
    pub fn of(a: IpAddr, b: IpAddr) -> Self {
        Self([a.min(b), a.max(b)])
    }

    /// Those of two sockets.
    pub fn at(ends: [SocketAddr; 2]) -> Self {
        Self::of(ends[0].ip(), ends[1].ip())
    }
}

impl Hash for Hosts {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b] = &self.0;
        hash_addresses(a, b, state);
    }
}

/// Two addresses in as few words as they take.
#[inline(always)]
pub(super) fn hash_addresses<H: Hasher>(a: &IpAddr, b: &IpAddr, state: &mut H) {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            state.write_u64(u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()));
        }
        _ => (a, b).hash(state),
    }
}
