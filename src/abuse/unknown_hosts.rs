//! Hosts whose ports that nothing shows to be a game server's get many packets.

use std::net::IpAddr;

use dissectors::kit::{Map, Set, Time};

use super::busiest::Busiest;

/// Maximum number of hosts that got as many as a flood has within a window.
const HOSTS: usize = 1 << 10;

/// Packets to and from such ports, by host.
pub(super) struct UnknownHosts {
    /// Those of earlier windows.
    before: Busiest,
    /// The window of a flood, in nanoseconds, and how many packets are one within it.
    window: i64,
    least: u64,
    /// When the current window began, and what each host has got and sent since then.
    begun: Option<Time>,
    got: Busiest,
    sent: Busiest,
    /// The most that a host got within an earlier window, if it may be a flood.
    most: Map<IpAddr, u64>,
}

impl UnknownHosts {
    /// None yet. `window`: that of a flood, in nanoseconds; `least`: how many packets are one within it.
    pub(super) fn new(window: i64, least: u64) -> UnknownHosts {
        UnknownHosts {
            before: Busiest::default(),
            window,
            least,
            begun: None,
            got: Busiest::default(),
            sent: Busiest::default(),
            most: Map::default(),
        }
    }

    /// A packet from one host to another.
    pub(super) fn see(&mut self, [from, to]: [IpAddr; 2], time: Time) {
        if time.since(*self.begun.get_or_insert(time)) >= self.window {
            self.begun = Some(time);
            for (host, packets) in self.one_way() {
                if self.most.len() < HOSTS || self.most.contains_key(&host) {
                    let most = self.most.entry(host).or_default();
                    *most = packets.max(*most);
                }
            }
            self.before.add(&std::mem::take(&mut self.got));
            self.sent = Busiest::default();
        }
        self.got.see(to, 1);
        self.sent.see(from, 1);
    }

    /// The hosts that got as many as a flood has within the current window, and sent far less: a download goes both ways.
    fn one_way(&self) -> Vec<(IpAddr, u64)> {
        let mut many = self.got.all();
        many.retain(|(_, packets)| *packets >= self.least);
        if !many.is_empty() {
            let sent = Map::from_iter(self.sent.all());
            many.retain(|(host, got)| sent.get(host).copied().unwrap_or_default() <= got / 10);
        }
        many
    }

    /// How many packets each of the busiest hosts got.
    pub(super) fn all(&self) -> Vec<(IpAddr, u64)> {
        let mut all = self.before.clone();
        all.add(&self.got);
        all.all()
    }

    /// The most that each of these hosts got within a window, if it may be a flood.
    pub(super) fn within_window(&self, hosts: &Set<IpAddr>) -> Vec<(IpAddr, u64)> {
        let earlier = self.most.iter().map(|(host, packets)| (*host, *packets));
        earlier.chain(self.one_way()).filter(|(host, _)| hosts.contains(host)).collect()
    }
}
