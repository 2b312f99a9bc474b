//! What belongs to one host: its addresses and ports, requests to all hosts of a network, and probes of several ports.

mod addresses;
pub(in crate::diagnose) mod game_ports;
pub(in crate::diagnose) mod nat;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{
    AddressRole, Item, Time, causes, is_of_several, is_private, may_be_of_several,
};

use super::{Diagnosis, Shown};
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::diagnose::registration::{HEARTBEAT, LONGEST};
use crate::diagnose::server::Server;
use crate::session::{MessageEvent, PROBE};
use crate::text::grouped;

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

impl Diagnosis {
    /// Joins what belongs to one server: the port from which it joins, if another one is asked, and ports from which it
    /// joins one after another.
    pub(super) fn one_server_each(&mut self, end_of_capture: Time) {
        let mut hosts: BTreeMap<IpAddr, [Vec<SocketAddr>; 3]> = BTreeMap::new();
        let outside = self.hosts_behind_nat();
        self.servers.iter().for_each(|(address, server)| {
            let of_host = match (server.fact(Item::FromAsked).good > 0, server.registers) {
                (true, Some(_)) => return,
                (true, None) => 0,
                (false, Some(_)) => 1,
                (false, None) => 2,
            };
            let host = outside.get(&address.ip()).copied().unwrap_or(address.ip());
            hosts.entry(host).or_default()[of_host].push(*address);
        });
        for [answering, joining, silent] in hosts.into_values() {
            match (&answering[..], &joining[..]) {
                ([answers], [joins]) => self.joins_from(*answers, *joins),
                ([], [joins]) => self.silent_port_joins(silent, *joins),
                ([], [_, _, ..]) => _ = self.joins_one_after_another(joining, end_of_capture),
                ([answers], [_, _, ..]) => {
                    let answers = *answers;
                    let latest = self.joins_one_after_another(joining, end_of_capture);
                    latest.into_iter().for_each(|joins| self.joins_from(answers, joins));
                }
                _ => {}
            }
        }
    }

    /// The addresses behind NAT of servers that answer, with the lowest one before it under which each is known.
    fn hosts_behind_nat(&self) -> BTreeMap<IpAddr, IpAddr> {
        let answering = self.servers.iter().filter(|(_, it)| it.fact(Item::FromAsked).good > 0);
        let sides = answering.flat_map(|(address, server)| {
            let inside = server.addresses.iter();
            let inside = inside.filter(|(_, role)| *role == AddressRole::BehindNat);
            inside.map(|(inside, _)| (inside.ip(), address.ip()))
        });
        let mut hosts = BTreeMap::new();
        sides.filter(|(inside, outside)| inside != outside).for_each(|(inside, outside)| {
            let least: &mut IpAddr = hosts.entry(inside).or_insert(outside);
            *least = outside.min(*least);
        });
        hosts
    }

    /// Players ask a port that does not answer, or look for one that does, and never the one from which the host joins.
    fn silent_port_joins(&mut self, mut silent: Vec<SocketAddr>, joins: SocketAddr) {
        self.sort_by_first_request(&mut silent);
        let Some((first, others)) = silent.split_first() else { return };
        let [Some(asked), Some(joining)] = [first, &joins].map(|it| self.servers.get(it)) else {
            return;
        };
        let is_one = asked.lists_in() == joining.registers && joining.first_asked.is_none();
        if is_one && others.iter().all(|other| self.is_probed_with(*first, *other)) {
            self.joins_from(*first, joins);
        }
    }

    /// A host that no longer joins from one port, and then does from another one, is behind NAT that forgets its port: one
    /// server, which is at the latest one. `None`: these are several servers.
    fn joins_one_after_another(
        &mut self,
        mut ports: Vec<SocketAddr>,
        end_of_capture: Time,
    ) -> Option<SocketAddr> {
        let span = |port: &SocketAddr| self.servers.get(port).and_then(|it| it.joins_span());
        ports.sort_by_key(|port| (span(port), *port));
        let is_next = |pair: &[SocketAddr]| {
            let [before, after] = pair else { return false };
            let (Some([_, last]), Some([next, _])) = (span(before), span(after)) else {
                return false;
            };
            // The next one comes when a heartbeat is due, or none comes later.
            let is_over = next.since(last) >= HEARTBEAT
                || last < next && end_of_capture.since(last) > LONGEST;
            let (Some(one), Some(other)) = (self.servers.get(before), self.servers.get(after))
            else {
                return false;
            };
            let are_asked = one.first_asked.is_some() || other.first_asked.is_some();
            is_over && !are_asked && one.program() == other.program()
        };
        if !ports.windows(2).all(is_next) {
            return None;
        }
        for pair in ports.windows(2) {
            let [before, next] = pair else { continue };
            let joined = self.servers.remove(before);
            if let (Some(joined), Some(server)) = (joined, self.servers.get_mut(next)) {
                server.joined_from(*before, &joined);
            }
        }
        ports.pop()
    }

    /// A server that is asked at one port joins from another one, or names that one.
    fn joins_from(&mut self, answers: SocketAddr, joins: SocketAddr) {
        let Some(joining) = self.servers.get(&joins) else { return };
        let masters = joining.registers.and_then(|id| id.info().masters);
        let is_named = joining.names_port && masters.is_some_and(|it| it.query_port.is_some());
        // A port that nobody asked may be another server's.
        if is_named && joining.first_asked.is_none() {
            return;
        }
        let (Some(joining), Some(server)) =
            (self.servers.remove(&joins), self.servers.get_mut(&answers))
        else {
            return;
        };
        // What a heartbeat names is for queries.
        server.is_at(joins, if is_named { AddressRole::Query } else { AddressRole::Join });
        joining.addresses.iter().for_each(|(address, role)| server.is_at(*address, *role));
        let asked = joining.fact(Item::Asked).good;
        server.joins_in_vain = joining.first_asked.map(|_| (joins, asked));
        server.sends_from = joining.sends_from;
        server.registers_as(*joining);
        if is_named {
            let values: [(_, &dyn Display); 2] =
                [("named", &joins.port()), ("answers", &answers.port())];
            let why = Failure::with(&causes::HEARTBEAT_NAMES_OTHER_PORT, 0, &values);
            for registration in &mut server.registrations {
                registration.fact_mut(Item::Address).fails(why.clone());
            }
        }
    }

    /// A client asks all hosts of a network, so many times.
    pub(super) fn broadcast(&mut self, id: Id, client: SocketAddr, to: SocketAddr, times: u64) {
        let new = || Broadcast { to, asked: 0, answered_by: Vec::new(), protocol: id };
        let all = &mut self.broadcasts;
        if let Some(broadcast) = find_or_add(all, BROADCASTS, |it| it.to == to, new) {
            broadcast.asked += times;
            for port in [None, Some(to.port())] {
                self.broadcast_by.insert((client, port), to, self.remembered);
            }
        }
    }

    /// A server answers a request to all hosts of its network.
    pub(super) fn answers_broadcast(
        &mut self,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        let [from, to] = event.ends();
        // What was asked at several ports is answered from the same one.
        let mut latest =
            |port| self.broadcast_by.get_mut(&(to, port), self.remembered).map(|asked| *asked);
        let asked = match latest(Some(from.port())).or_else(|| latest(None)) {
            Some(asked) => asked,
            None => self.last_of_network(from, to)?,
        };
        let broadcast = self.broadcasts.iter_mut().find(|it| it.to == asked)?;
        let protocol = broadcast.protocol;
        if broadcast.answered_by.len() < ANSWERS && !broadcast.answered_by.contains(&from) {
            broadcast.answered_by.push(from);
        }
        let server = self.server(from)?;
        server.query = Some(protocol);
        server.asked_by(to.ip());
        server.good(Item::Asked, event.frame());
        server.by_broadcast = true;
        shown.items.extend([Item::Answered, Item::FromAsked, Item::Readable]);
        match event.payload().has_parts() {
            true => shown.items.insert(Item::Whole),
            false => server.comes_in_one_packet(event.frame()),
        }
        Some(from)
    }

    /// The client's latest request went to the last address of the network of a host that answers: that is no server, but
    /// all of the network.
    fn last_of_network(&mut self, from: SocketAddr, client: SocketAddr) -> Option<SocketAddr> {
        let asked = self.asked.server(client, None, self.remembered)?;
        let protocol = self.servers.get(&asked)?.query?;
        if !is_of_several(asked.ip(), from.ip()) {
            return None;
        }
        let times = self.servers.remove(&asked)?.fact(Item::Asked).good;
        self.broadcast(protocol, client, asked, times);
        Some(asked)
    }

    /// The last addresses of their clients' networks, which never send anything: all hosts there are asked. One that
    /// the user asks about is looked up like a server.
    pub(super) fn silent_broadcasts(&mut self) {
        let is_broadcast = |address: &SocketAddr, server: &Server| {
            let host = address.ip();
            is_private(host)
                && !self.is_wanted(address)
                && !self.speakers.contains(&host)
                && !server.clients.is_empty()
                && server.clients.iter().all(|client| may_be_of_several(host, *client))
        };
        let servers = self.servers.iter();
        let mut all: Vec<_> = servers
            .filter(|(address, server)| is_broadcast(address, server))
            .filter_map(|(address, server)| Some((*address, server.query?)))
            .collect();
        all.sort_unstable_by_key(|(address, _)| *address);
        for (address, protocol) in all {
            let Some(server) = self.servers.remove(&address) else { continue };
            let asked = server.fact(Item::Asked).good;
            let clients = server.clients.into_iter().map(|client| SocketAddr::new(client, 0));
            if let Some(client) = clients.min() {
                self.broadcast(protocol, client, address, asked);
            }
        }
    }

    /// The ports of hosts that are no servers of their own: clients probed them to find the one that answers, or took
    /// the game port for the query port. By the server to which they belong.
    pub(super) fn other_ports(&mut self) -> BTreeMap<SocketAddr, Vec<SocketAddr>> {
        let mut ports: BTreeMap<IpAddr, Vec<SocketAddr>> = BTreeMap::new();
        self.servers
            .iter()
            .filter(|(_, server)| server.first_asked.is_some())
            .for_each(|(address, _)| ports.entry(address.ip()).or_default().push(*address));
        // Ports from which a server sends to masters.
        let asked = ports.values().flatten().copied();
        let senders: Vec<_> = asked
            .filter_map(|port| Some((port, *self.aliases.get_mut(&port, self.remembered)?)))
            .collect();
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
            // One that joins is a server of its own.
            silent.retain(|address| !self.servers.get(address).is_some_and(|it| it.has_joined()));
            // So is one that is listed beside those that answer.
            let is_listed = |address: &SocketAddr| self.lists.sighting(address, None).is_some();
            let are_listed = owners.iter().any(is_listed);
            silent.retain(|address| !(are_listed && is_listed(address)));
            self.sort_by_first_request(&mut silent);
            for address in silent {
                let owner = owners.iter().find(|owner| {
                    self.is_game_port(**owner, address)
                        || self.is_probed_with(**owner, address)
                        || self.is_listed_instead(**owner, address)
                        || senders.contains(&(address, **owner))
                });
                match owner.copied() {
                    Some(owner) => {
                        self.asked_at_game_port(owner, address);
                        others.entry(owner).or_default().push(address);
                    }
                    // Where none of several ports answers, they are one server with the name of the first.
                    None => owners.push(address),
                }
            }
        }
        for address in others.values().flatten() {
            self.servers.remove(address);
        }
        others
    }

    /// Sorts ports in the order in which clients first asked them.
    fn sort_by_first_request(&self, ports: &mut [SocketAddr]) {
        let first_asked = |port: &SocketAddr| self.servers.get(port).and_then(|it| it.first_asked);
        ports.sort_by_key(|port| (first_asked(port), *port));
    }

    /// Whether a server announces a port as its game port.
    fn is_game_port(&self, owner: SocketAddr, address: SocketAddr) -> bool {
        self.servers.get(&owner).is_some_and(|server| server.game_port == Some(address.port()))
    }

    /// Whether clients asked both ports, one shortly after the other: the first time, or most times that they asked either.
    fn is_probed_with(&self, owner: SocketAddr, address: SocketAddr) -> bool {
        let [Some(one), Some(other)] = [owner, address].map(|it| self.servers.get(&it)) else {
            return false;
        };
        let is_first = one
            .first_asked
            .zip(other.first_asked)
            .is_some_and(|(one, other)| one.since(other).max(other.since(one)) <= PROBE);
        let is_mostly_near = |port, server: &Server| {
            self.near_others.is_probed(port, server.requests_of(&other.clients))
        };
        let is_near = is_first || is_mostly_near(owner, one) && is_mostly_near(address, other);
        is_near && one.has_clients_of(other)
    }

    /// Whether a port of the host is listed in place of a server's own: that one joined a master, its clients found that
    /// out, or others ask the listed one in vain.
    pub(super) fn is_listed_instead(&self, owner: SocketAddr, address: SocketAddr) -> bool {
        let Some(own) = self.servers.get(&owner).filter(|_| owner.ip() == address.ip()) else {
            return false;
        };
        let other = self.servers.get(&address);
        let is_silent = |other: &Server| other.pattern.all.asked >= NO_ACCIDENT;
        let is_own = own.has_joined()
            || other.is_some_and(|other| own.has_clients_of(other) || is_silent(other));
        let is_listed = own.lists_in().is_some_and(|id| self.lists.is_in_whole_list(id, &address));
        is_own && is_listed && self.lists.sighting(&owner, None).is_none()
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
            server.fact_mut(Item::PlayPort).open_by(why);
        }
    }
}
