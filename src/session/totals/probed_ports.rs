//! Ports that clients probe: they ask several ports of a host, one after the other, to find the one that answers.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Host, Map, RecentMap, Time};
use serde::{Deserialize, Serialize};

/// Nanoseconds within which a client that looks for a server asks one port of a host after the other.
pub const PROBE: i64 = 10_000_000_000;

/// Maximum number of pairs of client and host whose latest request is kept: more than ask within [`PROBE`], except in a
/// flood.
const PAIRS: usize = 1 << 10;

/// How often each port was asked shortly before or after another port of its host, by the same client.
#[derive(Default, Serialize, Deserialize)]
pub struct ProbedPorts {
    /// What a client asked a host last. Packets of two hosts are all in one part of a capture.
    #[serde(skip)]
    latest: RecentMap<[Host; 2], LatestRequests>,
    near: Map<SocketAddr, u64>,
}

/// Maximum number of requests before one to another port that are near it.
const RECENT: usize = 8;

/// A client's latest requests to a host, which are to one port.
#[derive(Default)]
struct LatestRequests {
    port: u16,
    /// The times of those that are not near one to another port, or not yet; the latest one first.
    recent: [Option<Time>; RECENT],
    /// When the latest one was sent.
    time: Time,
    /// Those until this time are near one to another port before them.
    near_until: Option<Time>,
}

impl LatestRequests {
    /// How many of them are near a request at this time.
    fn near(&self, time: Time) -> u64 {
        self.recent.iter().flatten().filter(|sent| time.since(**sent) <= PROBE).count() as u64
    }

    /// Whether one at this time is near a request to another port before it.
    fn is_near(&self, time: Time) -> bool {
        self.near_until.is_some_and(|until| time <= until)
    }
}

impl Clone for ProbedPorts {
    /// Of the counts.
    fn clone(&self) -> ProbedPorts {
        ProbedPorts { latest: RecentMap::default(), near: self.near.clone() }
    }
}

impl ProbedPorts {
    /// Maximum number of ports.
    const MOST: usize = 1 << 12;

    /// A client sends a request.
    #[inline]
    pub(in crate::session) fn asks(&mut self, client: IpAddr, server: SocketAddr, time: Time) {
        let (pair, port) = ([client, server.ip()].map(Host), server.port());
        let first = || LatestRequests { port, ..LatestRequests::default() };
        let latest = self.latest.get_or_insert_with(pair, first, PAIRS);
        let mut before = (latest.port, 0);
        if latest.port != port {
            before.1 = latest.near(time);
            let is_near = time.since(latest.time) <= PROBE;
            *latest = first();
            latest.near_until = is_near.then(|| time.after(PROBE));
        }
        latest.time = time;
        if latest.is_near(time) {
            self.count(server, 1);
            self.count(SocketAddr::new(server.ip(), before.0), before.1);
        } else {
            latest.recent.rotate_right(1);
            latest.recent[0] = Some(time);
        }
    }

    /// So many requests to a port are near one to another port.
    #[cold]
    fn count(&mut self, port: SocketAddr, times: u64) {
        if times > 0 && (self.near.len() < ProbedPorts::MOST || self.near.contains_key(&port)) {
            *self.near.entry(port).or_default() += times;
        }
    }

    /// Whether most of the requests to a port, of which there are so many, were near requests to other ports.
    pub fn is_probed(&self, port: SocketAddr, requests: u64) -> bool {
        let near = self.near.get(&port).copied().unwrap_or_default();
        near.saturating_mul(2) > requests
    }

    /// Adds the counts of other pairs of hosts.
    pub(in crate::session) fn add(&mut self, other: ProbedPorts) {
        for (port, times) in BTreeMap::from_iter(other.near) {
            *self.near.entry(port).or_default() += times;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of two ports is probed, if a client asks them at these seconds.
    fn near(requests: &[(u16, i64)]) -> [u64; 2] {
        let mut ports = ProbedPorts::default();
        let client = "10.0.0.1".parse().unwrap();
        let at = |port| SocketAddr::new("10.0.0.2".parse().unwrap(), port);
        requests.iter().for_each(|&(port, second)| {
            ports.asks(client, at(port), Time(second * 1_000_000_000));
        });
        [1, 2].map(|port| ports.near.get(&at(port)).copied().unwrap_or_default())
    }

    #[test]
    fn requests_within_ten_seconds_of_another_ports_are_near() {
        assert_eq!(near(&[(1, 0), (2, 2)]), [1, 1]);
        assert_eq!(near(&[(1, 0), (2, 11)]), [0, 0]);
        // Repeats before and after count, too.
        assert_eq!(near(&[(1, 0), (1, 2), (1, 4), (2, 6), (2, 8)]), [3, 2]);
        assert_eq!(near(&[(1, 0), (1, 3), (1, 6), (1, 9), (1, 12), (2, 15), (1, 24)]), [4, 1]);
        // What a monitor asked before does not.
        let monitor = (0..60).map(|nth| (1, nth * 5)).chain([(2, 300)]);
        let [of_monitor, other] = near(&Vec::from_iter(monitor));
        assert!(of_monitor <= 3 && other == 1, "{of_monitor}");
        // Once in a minute, two seconds apart.
        let polls = Vec::from_iter((0..5).flat_map(|nth| [(1, nth * 60), (2, nth * 60 + 2)]));
        assert_eq!(near(&polls), [5, 5]);
    }

    #[test]
    fn most_requests_to_a_probed_port_are_near() {
        let port = "10.0.0.2:27016".parse().unwrap();
        let mut ports = ProbedPorts::default();
        ports.count(port, 10);
        assert!(ports.is_probed(port, 19) && !ports.is_probed(port, 20));
        assert!(!ProbedPorts::default().is_probed(port, 0));
    }
}
