//! What belongs to one host: requests to all hosts of a network, probes of several ports, and game ports.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Item, causes};

use super::Diagnosis;
use super::fact::Failure;
use super::find_or_add::find_or_add;
use crate::session::MessageEvent;
use crate::text::grouped;

/// Nanoseconds within which a client asks several ports of a host to find the one that answers.
const PROBE: i64 = 10_000_000_000;

/// Maximum number of ports of a host that answer and may have other ports.
const OWNERS: usize = 16;

/// Maximum number of broadcast addresses, and of servers that answer each.
const BROADCASTS: usize = 64;
const ANSWERS: usize = 256;

/// An address of several hosts, which clients ask.
#[derive(Clone, Debug)]
pub struct Broadcast {
    /// The address.
    pub to: SocketAddr,
    /// Requests to it.
    pub asked: u64,
    /// The servers that answered.
    pub answered_by: Vec<SocketAddr>,
    /// The protocol of the requests.
    protocol: Id,
}

/// Whether an address is one of several hosts.
pub(super) fn is_broadcast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    }
}

impl Diagnosis {
    /// A client asks all hosts of a network.
    pub(super) fn broadcast(&mut self, id: Id, client: SocketAddr, to: SocketAddr) {
        let new = || Broadcast { to, asked: 0, answered_by: Vec::new(), protocol: id };
        let all = &mut self.broadcasts;
        if let Some(broadcast) = find_or_add(all, BROADCASTS, |it| it.to == to, new) {
            broadcast.asked += 1;
            self.broadcast_by.insert(client, to, self.remembered);
        }
    }

    /// A server answers a request to all hosts of its network.
    pub(super) fn answers_broadcast(
        &mut self,
        event: &MessageEvent<'_>,
        shown: &mut Vec<Item>,
    ) -> Option<SocketAddr> {
        let [from, to] = event.ends();
        let asked = *self.broadcast_by.get_mut(&to, self.remembered)?;
        let broadcast = self.broadcasts.iter_mut().find(|it| it.to == asked)?;
        let protocol = broadcast.protocol;
        if broadcast.answered_by.len() < ANSWERS && !broadcast.answered_by.contains(&from) {
            broadcast.answered_by.push(from);
        }
        let server = self.server(from)?;
        server.query = Some(protocol);
        server.asked_by(to.ip());
        server.good(Item::Asked, event.frame());
        shown.extend([Item::Answered, Item::FromAsked, Item::Readable]);
        Some(from)
    }

    /// The ports of hosts that are no servers of their own: clients probed them to find the one that answers, or took
    /// the game port for the query port. By the server to which they belong.
    pub(super) fn other_ports(&mut self) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
        let mut ports: BTreeMap<IpAddr, Vec<SocketAddr>> = BTreeMap::new();
        self.servers
            .iter()
            .filter(|(_, server)| server.first_asked.is_some() && server.joins.is_none())
            .for_each(|(address, _)| ports.entry(address.ip()).or_default().push(*address));
        let mut others: BTreeMap<SocketAddr, Vec<SocketAddr>> = BTreeMap::new();
        for mut addresses in ports.into_values().filter(|ports| ports.len() > 1) {
            addresses.sort_unstable();
            let responds = |address: &SocketAddr| {
                let server = self.servers.get(address);
                server.is_some_and(|server| server.fact(Item::FromAsked).good > 0)
            };
            let (mut owners, mut silent): (Vec<_>, Vec<_>) =
                addresses.into_iter().partition(responds);
            owners.truncate(OWNERS);
            // None answers: they are one server.
            if owners.is_empty() {
                owners.push(silent.remove(0));
            }
            for address in silent {
                let owner = owners.iter().find(|owner| {
                    self.is_game_port(**owner, address) || self.is_probed_with(**owner, address)
                });
                if let Some(owner) = owner {
                    self.asked_at_game_port(*owner, address);
                    others.entry(*owner).or_default().push(address);
                }
            }
        }
        for address in others.values().flatten() {
            self.servers.remove(address);
        }
        others
    }

    /// Whether a server announces a port as its game port.
    fn is_game_port(&self, owner: SocketAddr, address: SocketAddr) -> bool {
        self.servers.get(&owner).is_some_and(|server| server.game_port == Some(address.port()))
    }

    /// Whether one client asked both ports, one shortly after the other.
    fn is_probed_with(&self, owner: SocketAddr, address: SocketAddr) -> bool {
        let [Some(one), Some(other)] = [owner, address].map(|it| self.servers.get(&it)) else {
            return false;
        };
        let (Some(first), Some(second)) = (one.first_asked, other.first_asked) else {
            return false;
        };
        let is_near = first.since(second).max(second.since(first)) <= PROBE;
        is_near && other.clients.iter().all(|client| one.clients.contains(client))
    }

    /// Clients ask a server at its game port.
    fn asked_at_game_port(&mut self, owner: SocketAddr, address: SocketAddr) {
        if !self.is_game_port(owner, address) {
            return;
        }
        let times = self.servers.get(&address).map_or(0, |server| server.fact(Item::Asked).good);
        let (port, query) = (address.port(), owner.port());
        let times = grouped(times);
        let values: [(_, &dyn Display); 3] = [("times", &times), ("port", &port), ("own", &query)];
        let why = Failure::with(&causes::answers::ASKED_AT_GAME_PORT, 0, &values);
        if let Some(server) = self.servers.get_mut(&owner) {
            server.fact_mut(Item::PlayPort).open = Some(why);
        }
    }
}
