//! An unordered pair of hosts.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// Two hosts, regardless of the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts([IpAddr; 2]);

impl Hosts {
    /// These two.
    #[inline]
    pub fn of(a: IpAddr, b: IpAddr) -> Self {
        let in_order = match (a, b) {
            (IpAddr::V4(a), IpAddr::V4(b)) => a.to_bits() <= b.to_bits(),
            _ => a <= b,
        };
        Self(if in_order { [a, b] } else { [b, a] })
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

/// Hashes two addresses in as few words as possible.
#[inline(always)]
pub(super) fn hash_addresses<H: Hasher>(a: &IpAddr, b: &IpAddr, state: &mut H) {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            state.write_u64(u64::from(a.to_bits()) << 32 | u64::from(b.to_bits()));
        }
        _ => (a, b).hash(state),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_order_of_hosts_does_not_count() {
        let addresses = ["10.0.0.2", "9.0.0.255", "::ffff:10.0.0.2", "2001:db8::1", "::"];
        let addresses = addresses.map(|address| address.parse::<IpAddr>().unwrap());
        let mut all = HashSet::new();
        for a in addresses {
            for b in addresses {
                assert_eq!(Hosts::of(a, b), Hosts::of(b, a));
                all.insert(Hosts::of(a, b));
            }
        }
        assert_eq!(all.len(), 15);
    }
}
