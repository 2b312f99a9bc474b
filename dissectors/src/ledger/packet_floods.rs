//! Packets of any content that flood a game server's port, or several ports of its host.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::load::DetailedLoad;
use super::loads::{CHECKED_FROM, FLOODED, Loads};
use super::other_packets::PortLoad;
use super::{AttackOn, Basis, CrossFlowBreach, Detail, KeptRule};
use crate::abuse_rules::SEC007;
use crate::kit::{Evidence, Map, Role, Socket, counted};

/// Minimum number of ports of a host that are flooded together, where none is by itself: one server has two, for players and
/// for queries.
pub const TOGETHER: usize = 3;

/// A flood.
struct PacketFlood {
    /// One of the ports.
    server: SocketAddr,
    first: Basis,
    attack: AttackOn,
    /// The text of the finding.
    detail: String,
    /// Players may send as much.
    may_be_players: bool,
}

impl Loads {
    /// The results of SEC007. `ports`: what servers get beside messages; `servers`: those with many requests; `asked`: the
    /// number of requests to those that get some.
    pub(super) fn review_others(
        &self,
        ports: Map<Socket, PortLoad>,
        servers: &mut [(Socket, DetailedLoad)],
        asked: &Map<Socket, u64>,
        breaches: &mut Vec<CrossFlowBreach>,
        kept: &mut Vec<KeptRule>,
    ) {
        let mut hosts: BTreeMap<IpAddr, BTreeMap<SocketAddr, PortLoad>> = BTreeMap::new();
        ports.into_iter().for_each(|(port, load)| {
            hosts.entry(port.0.ip()).or_default().insert(port.0, load);
        });
        let servers = servers.chunk_by_mut(|(a, _), (b, _)| a.0.ip() == b.0.ip());
        let mut requests: BTreeMap<IpAddr, &mut [(Socket, DetailedLoad)]> = BTreeMap::new();
        for servers in servers.filter(|servers| servers.len() > 1) {
            let host = servers.first().map(|(server, _)| server.0.ip());
            host.into_iter().for_each(|host| _ = hosts.entry(host).or_default());
            requests.extend(host.map(|host| (host, servers)));
        }
        let mut flooded = Vec::new();
        for (host, mut ports) in hosts {
            let alone = ports.iter_mut().filter_map(|(port, load)| self.flood(*port, load));
            let before = flooded.len();
            flooded.extend(alone);
            if flooded.len() == before {
                let servers = requests.remove(&host).unwrap_or_default();
                let has_requests = self.adds_requests(&mut ports, servers);
                flooded.extend(self.flood_of_host(host, ports, has_requests));
            }
        }
        // They are sorted by host and port.
        let is_flooded = |server: &Socket| {
            flooded.binary_search_by_key(&server.0, |flood: &PacketFlood| flood.server).is_ok()
        };
        let checked = asked.iter().filter(|(_, asked)| **asked >= CHECKED_FROM);
        let times = checked.filter(|(server, _)| !is_flooded(server)).count() as u64;
        kept.extend((times > 0).then_some(KeptRule { rule: &SEC007, server: None, times }));
        breaches.extend(flooded.into_iter().map(|flood| {
            // Otherwise, it is traffic in one direction, of players or of an attack.
            let is_proven = !flood.may_be_players;
            let evidence = Evidence { lost: !is_proven, ..Evidence::default() };
            let detail = Detail::Text(flood.detail);
            CrossFlowBreach {
                attack: is_proven.then_some(flood.attack),
                ..CrossFlowBreach::of(&SEC007, evidence, flood.first, Role::Client, detail)
            }
        }));
    }

    /// A port that is flooded by itself.
    fn flood(&self, server: SocketAddr, load: &mut PortLoad) -> Option<PacketFlood> {
        self.flood_of(server, load, server.to_string(), FLOODED, Some("it sends"))
    }

    /// Requests to several servers of a host are of one flood with other packets, unless they flood one of them. Returns
    /// whether there may be one.
    fn adds_requests(
        &self,
        ports: &mut BTreeMap<SocketAddr, PortLoad>,
        servers: &mut [(Socket, DetailedLoad)],
    ) -> bool {
        let asked = servers.iter_mut().map(|(_, load)| load.rate.most_unproven()).sum::<u64>();
        let others = ports.values_mut().map(|port| port.rate.most()).sum::<u64>();
        let flood = self.floods_at().packets;
        let is_flooded = |(_, load): &mut (Socket, DetailedLoad)| load.rate.most() >= flood;
        if asked == 0 || asked + others < flood || servers.iter_mut().any(is_flooded) {
            return false;
        }
        for (server, load) in servers {
            ports.entry(server.0).or_default().add(PortLoad::of_requests(load), self.thresholds());
        }
        true
    }

    /// Ports of which none is flooded by itself, together.
    fn flood_of_host(
        &self,
        host: IpAddr,
        ports: BTreeMap<SocketAddr, PortLoad>,
        has_requests: bool,
    ) -> Option<PacketFlood> {
        let mut each = ports.into_iter().filter(|(_, load)| load.is_one_way());
        let (server, mut all) = each.next()?;
        let mut count = 1;
        for (_, load) in each {
            all.add(load, self.thresholds());
            count += 1;
        }
        if count < TOGETHER {
            return None;
        }
        // What answers requests is not counted here.
        let sends = (!has_requests).then_some("they send");
        self.flood_of(server, &mut all, format!("{count} ports of {host}"), "are flooded", sends)
    }

    fn flood_of(
        &self,
        server: SocketAddr,
        load: &mut PortLoad,
        target: String,
        suffers: &'static str,
        sends: Option<&str>,
    ) -> Option<PacketFlood> {
        let [rate, seconds] = self.rate_of_flood(&mut load.rate).filter(|_| load.is_one_way())?;
        let kinds =
            load.kinds.iter().map(|(name, count)| counted(*count as usize, &plural(name.0)));
        let packets = load.kinds.iter().map(|(_, count)| count).sum();
        let (sources, kinds) = (load.sources.count(packets), Vec::from_iter(kinds).join(", "));
        let sent = sends.map(|sends| {
            let sent = counted(load.sent as usize, "packet");
            format!("; {sends} {sent} beside answers to queries and those to players")
        });
        let sent = sent.unwrap_or_default();
        let detail = format!(
            "up to {rate} packets a second over {seconds} s to {target}, from {sources}: {kinds}{sent}"
        );
        let may_be_players = load.may_be_players(rate, self.floods_at().window);
        let attack = AttackOn { sources, target, suffers: Some(suffers) };
        Some(PacketFlood { server, first: load.first?, attack, detail, may_be_players })
    }
}

/// Both forms of the name of a packet, for [`counted`]; those of requests have one.
fn plural(name: &str) -> String {
    match name.split_once(" of ") {
        Some((name, of)) => format!("{name} of {of}/{name}s of {of}"),
        None if name.ends_with("packet") => format!("{name}/{name}s"),
        None => format!("{name}/{name}"),
    }
}
