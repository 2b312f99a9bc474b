//! Floods of several ports of one host: those of one kind at a time are one attack.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Set, Socket};
use dissectors::ledger::{TOGETHER, is_one_way};

use super::Abuse;
use super::attackers::Received;
use super::game_ports::GamePort;
use super::phases::Phases;
use super::target::Target;
use super::timeline::Timeline;

/// Ports of one host that are flooded in one attack.
pub(super) struct FloodedPorts {
    pub(super) ports: Vec<SocketAddr>,
    /// What each of them gets, if that alone is a flood.
    pub(super) each: Vec<(SocketAddr, Received)>,
    /// All their traffic.
    pub(super) all: Target,
}

impl Abuse {
    /// The ports of hosts with several that are flooded, or with many that are flooded together. `ruled`: the
    /// servers that requests flood, by the rules.
    pub(super) fn hosts(&self, ruled: &Set<SocketAddr>) -> Vec<FloodedPorts> {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<SocketAddr>> = BTreeMap::new();
        for Socket(at) in self.ports.keys().chain(self.servers.keys()) {
            hosts.entry(at.ip()).or_default().insert(*at);
        }
        let several = hosts.into_values().filter(|ports| ports.len() > 1);
        several.flat_map(|ports| self.host(&ports, ruled)).collect()
    }

    fn host(&self, ports: &BTreeSet<SocketAddr>, ruled: &Set<SocketAddr>) -> Vec<FloodedPorts> {
        let alone = ports.iter().filter_map(|at| Some((*at, self.flood_of(*at, ruled)?)));
        let alone = Vec::from_iter(alone);
        if alone.is_empty() {
            return Vec::from_iter(self.together(ports));
        }
        let several = alike(alone).into_iter().filter(|ports| ports.len() > 1);
        several.map(|ports| self.one_flood(ports, ruled)).collect()
    }

    /// What floods a port by itself.
    fn flood_of(&self, at: SocketAddr, ruled: &Set<SocketAddr>) -> Option<Target> {
        let flooding = self.traffic_of(at, ruled).filter(|(_, is_flooded)| *is_flooded);
        flooding.map(|(target, _)| target.of_attack(&self.room).into_owned()).reduce(
            |mut all, other| {
                all.add(&other);
                all
            },
        )
    }

    /// What comes to a port, and whether that is a flood: packets of any content, and requests.
    fn traffic_of(
        &self,
        at: SocketAddr,
        ruled: &Set<SocketAddr>,
    ) -> impl Iterator<Item = (&Phases, bool)> {
        let (server, port) = (self.servers.get(&Socket(at)), self.ports.get(&Socket(at)));
        let server = server.map(|it| (&**it, ruled.contains(&at)));
        let port = port.map(|it| (&it.target, self.is_flooded(it)));
        port.into_iter().chain(server)
    }

    /// The flood of these ports, each of which is flooded by itself.
    fn one_flood(
        &self,
        flooded: Vec<(SocketAddr, Target)>,
        ruled: &Set<SocketAddr>,
    ) -> FloodedPorts {
        let mut all = Target::default();
        for (at, own) in &flooded {
            all.add(own);
            let beside = self.traffic_of(*at, ruled).filter(|(_, is_flooded)| !is_flooded);
            beside.for_each(|(target, _)| self.adds_players(&mut all, target));
        }
        let each = flooded.iter().filter_map(|(at, own)| Some((*at, self.received(own)?)));
        let each = each.collect();
        FloodedPorts { ports: flooded.into_iter().map(|(at, _)| at).collect(), each, all }
    }

    /// Ports of which none is flooded by itself: what comes to them, together.
    fn together(&self, ports: &BTreeSet<SocketAddr>) -> Option<FloodedPorts> {
        let gets = |at: &&SocketAddr| self.one_way_to(**at).next().is_some();
        let targets = Vec::from_iter(ports.iter().filter(gets).copied());
        if targets.len() < TOGETHER {
            return None;
        }
        let each = || targets.iter().flat_map(|at| self.one_way_to(*at));
        if self.most_together(each()) < self.flood().packets {
            return None;
        }
        let mut all = Target::default();
        each().for_each(|one| all.add(one));
        let is_flood = is_one_way(all.kinds.iter().copied(), all.packets[1]);
        targets.iter().for_each(|at| self.adds_players_beside(&mut all, *at));
        is_flood.then_some(FloodedPorts { ports: targets, each: Vec::new(), all })
    }

    /// The most packets to several targets within the window of a flood, without those of real clients.
    pub(super) fn most_together<'t>(&self, targets: impl Iterator<Item = &'t Target>) -> u64 {
        let mut timeline = Timeline::default();
        targets.for_each(|target| timeline.add(&target.timeline));
        timeline.most_unproven_within(self.flood_seconds())
    }

    /// What comes to a port, and may be a part of a flood of several: requests, unless not all clients are known, and
    /// packets of other content, unless they may be players'.
    pub(super) fn one_way_to(&self, at: SocketAddr) -> impl Iterator<Item = &Target> {
        let server = self.servers.get(&Socket(at)).filter(|it| !it.current.clients.is_cut);
        let port = self.ports.get(&Socket(at)).filter(|port| self.is_one_way(port));
        let server = server.map(Box::as_ref);
        server.into_iter().chain(port.map(|port| &port.target)).flat_map(Phases::each)
    }

    /// Whether what comes to a port beside messages may be a part of a flood of several.
    fn is_one_way(&self, port: &GamePort) -> bool {
        port.is_one_way() && !self.may_be_players(port)
    }

    /// The players of a port, where what comes to it beside messages is no part of the flood.
    pub(super) fn adds_players_beside(&self, all: &mut Target, at: SocketAddr) {
        let port = self.ports.get(&Socket(at)).filter(|port| !self.is_one_way(port));
        port.into_iter().for_each(|port| self.adds_players(all, &port.target));
    }

    /// The players of a port or a server that is no part of the flood by itself.
    pub(super) fn adds_players(&self, all: &mut Target, of: &Phases) {
        of.each().for_each(|it| all.has_players_of(it, self.thresholds().repeats));
    }
}

/// Flooded ports in groups: those of a group get the same kind of packets at the same time.
fn alike(flooded: Vec<(SocketAddr, Target)>) -> Vec<Vec<(SocketAddr, Target)>> {
    let mut groups: Vec<Vec<(SocketAddr, Target)>> = Vec::new();
    for (at, target) in flooded {
        let is_of = |group: &&mut Vec<(SocketAddr, Target)>| {
            group.first().is_some_and(|(_, of)| of.is_like(&target) && of.is_meanwhile(&target))
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push((at, target)),
            None => groups.push(vec![(at, target)]),
        }
    }
    groups
}
