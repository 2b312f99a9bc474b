//! Merges the tables of partitions into those of the complete capture.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::mem;
use std::net::IpAddr;

use dissectors::kit::Socket;

use super::changes::{NameChanges, part_of};
use super::rows::{Bounded, Client, Master, Row, SeenTimes, Server, widen};
use super::{Protocol, Summary};

impl Summary {
    /// Takes the names and maps in messages since the last call; empty for a complete capture, which counts
    /// changes itself.
    pub fn take_names(&mut self) -> NameChanges {
        self.names.as_mut().map(mem::take).unwrap_or_default()
    }

    /// The number of messages with names since then.
    pub fn names(&self) -> usize {
        self.names.as_ref().map_or(0, NameChanges::len)
    }

    /// Divides it by host into this number of parts: rows of the same host in other partitions are in the same part.
    pub fn split(self, parts: usize) -> Vec<Summary> {
        let mut split = Vec::from_iter((0..parts).map(|_| Summary::new(self.bytes, false)));
        for part in &mut split {
            part.servers.is_cut = self.servers.is_cut;
            part.masters.is_cut = self.masters.is_cut;
            part.clients.is_cut = self.clients.is_cut;
        }
        let place = |host: IpAddr| part_of(host, parts);
        for (end, row) in self.servers.into_rows() {
            if let Some(part) = split.get_mut(place(end.0.ip())) {
                part.servers.put(end, row);
            }
        }
        for (end, row) in self.masters.into_rows() {
            if let Some(part) = split.get_mut(place(end.0.ip())) {
                part.masters.put(end, row);
            }
        }
        for (host, row) in self.clients.into_rows() {
            if let Some(part) = split.get_mut(place(host.0)) {
                part.clients.put(host, row);
            }
        }
        if let Some(first) = split.first_mut() {
            (first.protocols, first.ours) = (self.protocols, self.ours);
        }
        split
    }

    /// Adds the tables of another partition. [`Changes`](super::Changes) counts changes of names.
    pub fn merge(&mut self, other: Summary) {
        for (all, more) in self.protocols.iter_mut().zip(&other.protocols) {
            all.merge(more);
        }
        self.servers.merge(other.servers, Server::merge);
        let room = &mut self.room_for_lists;
        self.masters.merge(other.masters, |all, more, has_room| all.merge(more, room, has_room));
        self.clients.merge(other.clients, |all, more, _| {
            all.merge(more);
            true
        });
        self.ours.add(&other.ours);
    }

    /// The whole capture is known: a server that joins from another port than it answers at has one row.
    pub fn join_ports(&mut self) {
        let mut hosts: BTreeMap<IpAddr, [Vec<Socket>; 2]> = BTreeMap::new();
        for (end, server) in self.servers.seen() {
            if server.answers() != server.joins() {
                let ports = hosts.entry(end.0.ip()).or_default();
                ports[usize::from(server.joins())].push(end);
            }
        }
        for [answering, joining] in hosts.into_values() {
            if let ([answers], [joins]) = (&answering[..], &joining[..])
                && self.servers.get_mut(joins).is_some_and(|it| it.joins_from_any_port())
                && let Some(row) = self.servers.remove(joins)
            {
                self.servers.update(*answers, |server, has_room| server.merge(*row, has_room));
            }
        }
    }
}

impl<K: Copy + Eq + Hash + Ord, V: Default + Row> Bounded<K, V> {
    /// `merge`: merges two rows of a key. It is told whether there is room to grow, and says whether there was enough.
    fn merge(&mut self, other: Bounded<K, V>, mut merge: impl FnMut(&mut V, V, bool) -> bool) {
        self.is_cut |= other.is_cut;
        let mut rows = Vec::from_iter(other.into_rows());
        // If not all rows fit, the same ones are left out each time.
        rows.sort_unstable_by_key(|(key, _)| *key);
        for (key, row) in rows {
            let has_room = self.update(key, |all, has_room| merge(all, *row, has_room));
            self.is_cut |= has_room == Some(false);
        }
    }
}

fn widen_by(seen: &mut Option<SeenTimes>, other: Option<SeenTimes>) {
    other.iter().flat_map(|it| [it.first, it.last]).for_each(|time| widen(seen, time));
}

impl Protocol {
    fn merge(&mut self, other: &Protocol) {
        let Protocol { id: _, messages, flows, exchanges, findings, times } = other;
        self.messages += messages;
        self.flows += flows;
        self.exchanges.add(*exchanges);
        self.findings.add(*findings);
        self.times.merge(times);
    }
}

impl Server {
    fn merge(&mut self, other: Server, has_room: bool) -> bool {
        self.spoken.merge(other.spoken);
        self.known_in.merge(other.known_in);
        self.name.merge(other.name);
        self.map.merge(other.map);
        self.version.merge(other.version);
        self.players.merge(other.players);
        self.max_players.merge(other.max_players);
        widen_by(&mut self.seen, other.seen);
        self.sent += other.sent;
        self.requests += other.requests;
        self.exchanges.add(other.exchanges);
        self.challenged += other.challenged;
        self.largest = self.largest.max(other.largest);
        self.is_host |= other.is_host;
        self.findings.add(other.findings);
        self.times.merge_within(&other.times, has_room)
    }
}

impl Master {
    /// `room`: number of further servers of lists that fit. Returns whether there was enough room.
    fn merge(&mut self, other: Master, room: &mut usize, has_room: bool) -> bool {
        self.protocol.merge(other.protocol);
        widen_by(&mut self.seen, other.seen);
        widen_by(&mut self.checks, other.checks);
        self.lists_asked += other.lists_asked;
        self.lists_whole += other.lists_whole;
        self.lists_enciphered += other.lists_enciphered;
        self.joins += other.joins;
        self.heartbeats += other.heartbeats;
        self.rejected += other.rejected;
        self.findings.add(other.findings);
        let is_timed = self.times.merge_within(&other.times, has_room);
        let mut listed = Vec::from_iter(other.listed);
        // If not all servers fit, the same ones are left out each time.
        listed.sort_unstable();
        self.lists(listed.into_iter(), room) && is_timed
    }
}

impl Client {
    fn merge(&mut self, other: Client) {
        other.sockets.into_iter().for_each(|port| self.sends_from(port));
        widen_by(&mut self.seen, other.seen);
        self.sent += other.sent;
        self.requests += other.requests;
        self.exchanges.add(other.exchanges);
        self.asks_for_lists |= other.asks_for_lists;
        self.checks_servers |= other.checks_servers;
        other.kinds.into_iter().for_each(|kind| self.sends(kind));
        other.libraries.into_iter().for_each(|(at, library)| self.uses(at, library));
    }
}
