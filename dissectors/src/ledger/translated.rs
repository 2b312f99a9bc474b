//! Servers behind NAT, such as in a container, whose packets were recorded twice: before them, with the address that clients
//! ask, and at them. What is wrong with both is wrong once.

use std::net::{IpAddr, SocketAddr};

use super::load::DetailedLoad;
use super::other_packets::PortLoad;
use super::sources::SourceSample;
use super::{Basis, CrossFlowBreach};
use crate::kit::{Map, Role, Set, Socket, TRANSLATED_WITHIN, is_private};

/// Hosts whose addresses have as many first bytes in common may be in one network.
const NETWORK: usize = 2;

/// What came to a server.
pub(super) struct ReceivedLoad<'l> {
    server: SocketAddr,
    first: Basis,
    packets: u64,
    sources: &'l SourceSample,
}

impl<'l> ReceivedLoad<'l> {
    /// Requests to a server.
    pub(super) fn of_requests((server, load): &'l (Socket, DetailedLoad)) -> Option<Self> {
        let (packets, sources) = (load.requests, &load.sources);
        Some(ReceivedLoad { server: server.0, first: load.first?, packets, sources })
    }

    /// Other packets to a server's port.
    pub(super) fn of_others((server, load): (&Socket, &'l PortLoad)) -> Option<Self> {
        let packets = load.kinds.iter().map(|(_, packets)| packets).sum();
        Some(ReceivedLoad { server: server.0, first: load.first?, packets, sources: &load.sources })
    }

    /// Whether all of it came before to another address, from the same sender first, and at once.
    fn is_behind(&self, before: &ReceivedLoad<'_>) -> bool {
        let later = self.first.seen.mark.time.since(before.first.seen.mark.time);
        is_private(self.server.ip())
            && are_apart(self.server.ip(), before.server.ip())
            && (0..=TRANSLATED_WITHIN).contains(&later)
            && self.packets <= before.packets
            && self.sources.is_part_of(before.sources)
    }
}

/// Whether two hosts are in different networks.
fn are_apart(a: IpAddr, b: IpAddr) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => a.octets()[..NETWORK] != b.octets()[..NETWORK],
        (IpAddr::V6(a), IpAddr::V6(b)) => a.octets()[..NETWORK] != b.octets()[..NETWORK],
        _ => false,
    }
}

/// The addresses of servers behind NAT, each with that before it.
pub(super) fn behind_nat(mut loads: Vec<ReceivedLoad<'_>>) -> Map<Socket, Socket> {
    loads.sort_by_key(|load| (load.first.seen.mark.frame, load.server));
    let (mut before, mut behind) = (Map::default(), Map::default());
    for load in loads {
        match before.get(&Socket(load.first.seen.from)) {
            Some(outside) if load.is_behind(outside) => {
                behind.insert(Socket(load.server), Socket(outside.server));
            }
            _ => _ = before.insert(Socket(load.first.seen.from), load),
        }
    }
    behind
}

/// Removes what breaks a rule behind NAT where the address before it breaks the same.
pub(super) fn keep_one_of_two(breaches: &mut Vec<CrossFlowBreach>, behind: &Map<Socket, Socket>) {
    if behind.is_empty() {
        return;
    }
    let key = |breach: &CrossFlowBreach| {
        let seen = breach.basis.seen;
        let server = if breach.speaker == Role::Server { seen.from } else { seen.to };
        (breach.rule.code, Socket(server))
    };
    let all: Set<_> = breaches.iter().map(key).collect();
    breaches.retain(|breach| {
        let (code, server) = key(breach);
        behind.get(&server).is_none_or(|outside| !all.contains(&(code, *outside)))
    });
}
