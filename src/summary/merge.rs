//! Merges the tables of partitions into those of the complete capture.

use std::hash::Hash;
use std::mem;
use std::net::IpAddr;

use super::changes::{NameChanges, part_of};
use super::rows::{Bounded, Client, Master, SeenTimes, Server, widen};
use super::{Protocol, Summary};

impl Summary {
    /// Takes the names and maps in messages since the last call; empty for a complete capture, which counts
    /// changes itself.
    pub fn take_said(&mut self) -> NameChanges {
        self.said.as_mut().map(mem::take).unwrap_or_default()
    }

    /// The number of messages with names since then.
    pub fn said(&self) -> usize {
        self.said.as_ref().map_or(0, NameChanges::len)
    }

    /// Divides it by host into this number of parts: rows of the same host in other partitions are in the same part.
    pub fn split(mut self, parts: usize) -> Vec<Summary> {
        let (bytes, filtered) = (self.bytes, self.filtered);
        let mut split = Vec::from_iter((0..parts).map(|_| Summary::new(bytes, filtered)));
        for part in &mut split {
            part.servers.is_cut = self.servers.is_cut;
            part.masters.is_cut = self.masters.is_cut;
            part.clients.is_cut = self.clients.is_cut;
        }
        let place = |host: IpAddr| part_of(host, parts);
        mem::take(&mut self.servers.rows).into_iter().for_each(|(end, row)| {
            split.get_mut(place(end.0.ip())).and_then(|it| it.servers.rows.insert(end, row));
        });
        mem::take(&mut self.masters.rows).into_iter().for_each(|(end, row)| {
            split.get_mut(place(end.0.ip())).and_then(|it| it.masters.rows.insert(end, row));
        });
        mem::take(&mut self.clients.rows).into_iter().for_each(|(host, row)| {
            split.get_mut(place(host.0)).and_then(|it| it.clients.rows.insert(host, row));
        });
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
        let (room, mut has_room) = (&mut self.room_for_lists, true);
        self.masters.merge(other.masters, |all, more| has_room &= all.merge(more, room));
        self.masters.is_cut |= !has_room;
        self.clients.merge(other.clients, Client::merge);
        self.ours.add(&other.ours);
    }
}

impl<K: Copy + Eq + Hash + Ord, V: Default> Bounded<K, V> {
    fn merge(&mut self, other: Bounded<K, V>, mut merge: impl FnMut(&mut V, V)) {
        self.is_cut |= other.is_cut;
        let mut rows = Vec::from_iter(other.rows);
        // If not all rows fit, the same ones are left out each time.
        rows.sort_unstable_by_key(|(key, _)| *key);
        for (key, row) in rows {
            if let Some(all) = self.get(key) {
                merge(all, *row);
            }
        }
    }
}

fn widen_by(seen: &mut Option<SeenTimes>, other: Option<SeenTimes>) {
    other.iter().flat_map(|it| [it.first, it.last]).for_each(|time| widen(seen, time));
}

impl Protocol {
    fn merge(&mut self, other: &Protocol) {
        let Protocol { id: _, messages, flows, requests, answered, findings, times } = other;
        self.messages += messages;
        self.flows += flows;
        self.requests += requests;
        self.answered += answered;
        self.findings += findings;
        self.times.merge(times);
    }
}

impl Server {
    fn merge(&mut self, other: Server) {
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
        self.exchanges += other.exchanges;
        self.answered += other.answered;
        self.challenged += other.challenged;
        self.largest = self.largest.max(other.largest);
        self.findings += other.findings;
        self.times.merge(&other.times);
    }
}

impl Master {
    /// `room`: number of further servers of lists that fit. Returns whether it was sufficient.
    fn merge(&mut self, other: Master, room: &mut usize) -> bool {
        self.protocol.merge(other.protocol);
        widen_by(&mut self.seen, other.seen);
        widen_by(&mut self.checks, other.checks);
        self.lists_asked += other.lists_asked;
        self.lists_whole += other.lists_whole;
        self.lists_enciphered += other.lists_enciphered;
        self.joins += other.joins;
        self.heartbeats += other.heartbeats;
        self.rejected += other.rejected;
        self.findings += other.findings;
        self.times.merge(&other.times);
        let mut listed = Vec::from_iter(other.listed);
        // If not all servers fit, the same ones are left out each time.
        listed.sort_unstable();
        self.lists(listed.into_iter(), room)
    }
}

impl Client {
    fn merge(&mut self, other: Client) {
        other.sockets.into_iter().for_each(|port| self.sends_from(port));
        widen_by(&mut self.seen, other.seen);
        self.sent += other.sent;
        self.requests += other.requests;
        self.exchanges += other.exchanges;
        self.answered += other.answered;
        self.asks_for_lists |= other.asks_for_lists;
        self.checks_servers |= other.checks_servers;
        other.kinds.into_iter().for_each(|kind| self.sends(kind));
        other.libraries.into_iter().for_each(|(at, library)| self.uses(at, library));
    }
}
