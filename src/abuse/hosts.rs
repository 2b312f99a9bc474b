//! Floods of several ports of one host, which are one attack.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Set, Socket};
use dissectors::ledger::is_one_way;

use super::Abuse;
use super::target::Target;

/// Minimum number of ports, where none is flooded by itself.
const PORTS: usize = 4;

impl Abuse {
    /// The ports of hosts with several that are flooded, or with many that are flooded together. `ruled`: the
    /// servers that requests flood, by the rules.
    pub(super) fn hosts(&self, ruled: &Set<SocketAddr>) -> Vec<(Vec<SocketAddr>, Target)> {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<SocketAddr>> = BTreeMap::new();
        for Socket(at) in self.ports.keys().chain(self.servers.keys()) {
            hosts.entry(at.ip()).or_default().insert(*at);
        }
        let several = hosts.into_values().filter(|ports| ports.len() > 1);
        several.filter_map(|ports| self.host(&ports, ruled)).collect()
    }

    fn host(
        &self,
        ports: &BTreeSet<SocketAddr>,
        ruled: &Set<SocketAddr>,
    ) -> Option<(Vec<SocketAddr>, Target)> {
        let flooded = |at: &SocketAddr| {
            let port = self.ports.get(&Socket(*at)).is_some_and(|port| self.is_flooded(*at, port));
            port || ruled.contains(at)
        };
        let alone = Vec::from_iter(ports.iter().copied().filter(flooded));
        match alone.len() {
            0 => self.together(ports),
            1 => None,
            _ => {
                let mut all = Target::default();
                for at in &alone {
                    self.ports.get(&Socket(*at)).into_iter().for_each(|port| all.add(&port.target));
                    match self.servers.get(&Socket(*at)) {
                        Some(server) if ruled.contains(at) => all.add(server),
                        Some(server) => all.has_players_of(server),
                        None => {}
                    }
                }
                Some((alone, all))
            }
        }
    }

    /// Ports of which none is flooded by itself: their packets of other content, together.
    fn together(&self, ports: &BTreeSet<SocketAddr>) -> Option<(Vec<SocketAddr>, Target)> {
        let each = ports.iter().filter_map(|at| Some((*at, self.ports.get(&Socket(*at))?)));
        let each: Vec<_> = each
            .filter(|(at, port)| port.is_one_way() && !self.may_be_players(*at, port))
            .collect();
        if each.len() < PORTS {
            return None;
        }
        let mut all = Target::default();
        each.iter().for_each(|(_, port)| all.add(&port.target));
        let is_flood = self.most_of_flood(&all) >= self.thresholds().flood()
            && is_one_way(all.kinds.iter().copied(), all.packets[1]);
        let targets: Vec<_> = each.iter().map(|(at, _)| *at).collect();
        let servers = targets.iter().filter_map(|at| self.servers.get(&Socket(*at)));
        servers.for_each(|server| all.has_players_of(server));
        is_flood.then_some((targets, all))
    }
}
