//! Hosts that are known to be in the recording because of packets outside of decoded flows.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use foldhash::quality::RandomState;
use serde::{Deserialize, Serialize};

use super::hop_limits::HopLimitKinds;

/// Hosts that sent packets outside of decoded flows, up to a maximum.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OtherHosts {
    /// The hosts, with the hop limits of their packets.
    hosts: HashMap<IpAddr, HopLimitKinds, RandomState>,
    /// A cache of the latest hosts with their hop limits, indexed by address, which covers most packets.
    #[serde(skip)]
    latest: Box<[Option<(IpAddr, u8)>]>,
    /// Senders and receivers, until a receiver sends something back.
    ways: HashSet<[IpAddr; 2], RandomState>,
    has_both_ways: bool,
}

impl OtherHosts {
    /// Limit: hosts known to be in the recording, by group of hosts | {} | a missing response of another is
    /// inconclusive
    const MOST: usize = 1 << 13;
    /// Entries of the cache.
    const LATEST: usize = 1 << 8;

    /// A packet of this host to that one was recorded, with this hop limit; 0: unknown.
    #[inline]
    pub fn insert(&mut self, host: IpAddr, to: IpAddr, hop_limit: u8) {
        if !self.has_both_ways {
            self.insert_way(host, to);
        }
        let bits = match host {
            IpAddr::V4(host) => host.to_bits(),
            IpAddr::V6(host) => host.to_bits() as u32,
        };
        let place = (bits ^ bits >> 16) as usize % OtherHosts::LATEST;
        if self.latest.get(place) != Some(&Some((host, hop_limit))) {
            self.insert_other((host, hop_limit), place);
        }
    }

    #[inline(never)]
    fn insert_way(&mut self, from: IpAddr, to: IpAddr) {
        if self.ways.contains(&[to, from]) {
            self.has_both_ways = true;
            self.ways = HashSet::default();
        } else if self.ways.len() < OtherHosts::MOST {
            self.ways.insert([from, to]);
        }
    }

    #[inline(never)]
    fn insert_other(&mut self, (host, hop_limit): (IpAddr, u8), place: usize) {
        if self.latest.is_empty() {
            self.latest = vec![None; OtherHosts::LATEST].into();
        }
        if let Some(latest) = self.latest.get_mut(place) {
            *latest = Some((host, hop_limit));
        }
        if self.hosts.len() < OtherHosts::MOST || self.hosts.contains_key(&host) {
            self.hosts.entry(host).or_default().see(hop_limit);
        }
    }

    /// Whether a packet of this host was recorded; also `false` if there was no room for it.
    pub fn contains(&self, host: IpAddr) -> bool {
        self.hosts.contains_key(&host)
    }

    /// The hop limits of each host's packets.
    pub fn hops(&self) -> impl Iterator<Item = (IpAddr, HopLimitKinds)> {
        self.hosts.iter().map(|(host, hops)| (*host, *hops))
    }

    /// Whether the recorder saw packets of both directions between two hosts, of which these packets are known
    /// otherwise.
    pub fn has_both_ways(&self, mut known: impl Iterator<Item = [IpAddr; 2]>) -> bool {
        self.has_both_ways || known.any(|[from, to]| self.ways.contains(&[to, from]))
    }

    /// Adds the hosts of another part of the session.
    pub fn add(&mut self, other: &OtherHosts) {
        for (host, hops) in other.hops() {
            self.hosts.entry(host).or_default().add(hops);
        }
        self.has_both_ways |= other.has_both_ways;
        self.ways.extend(&other.ways);
    }
}

impl PartialEq for OtherHosts {
    fn eq(&self, other: &OtherHosts) -> bool {
        let has_both_ways = self.has_both_ways == other.has_both_ways;
        has_both_ways && self.hosts == other.hosts && self.ways == other.ways
    }
}

impl Eq for OtherHosts {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_heard_up_to_a_bound() {
        let mut heard = OtherHosts::default();
        let host = |n: u32| IpAddr::from(n.to_be_bytes());
        let other = host(u32::MAX);
        (0..100_000).for_each(|n| heard.insert(host(n), other, 64));
        assert_eq!(heard.hosts.len(), OtherHosts::MOST);
        assert!(heard.contains(host(0)) && !heard.contains(host(99_999)));
        let known = |from: IpAddr, to: IpAddr| std::iter::once([from, to]);
        assert!(!heard.has_both_ways(known(host(0), other)));
        assert!(heard.has_both_ways(known(other, host(0))));
        let mut more = OtherHosts::default();
        more.insert(host(99_999), other, 64);
        more.insert(other, host(99_999), 51);
        more.insert(other, host(99_999), 0);
        more.add(&heard);
        let hops = |wanted: IpAddr| more.hops().find(|(host, _)| *host == wanted).map(|(_, it)| it);
        let [fresh, routed] =
            [[true, false], [false, true]].map(|[fresh, routed]| HopLimitKinds { fresh, routed });
        assert_eq!([host(0), other].map(hops), [Some(fresh), Some(routed)]);
        assert!(
            more.contains(host(0))
                && more.contains(host(99_999))
                && more.has_both_ways(std::iter::empty())
        );
    }
}
