//! The rows of the tables.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{
    Map, Message, Name, Purpose, Set, Time, is_broadcast, is_private, may_be_of_several,
};
use serde::{Deserialize, Serialize};

use super::described::{self, put};
use super::latest::{First, Latest, Moment, moment};
use crate::flows::{FindingCounts, ResponseTimes};
use crate::session::{ExchangeCounts, MessageEvent};
use crate::text::grouped;

/// Maximum number of ports that are counted for a client.
const PORTS: usize = 256;

/// A row of a table.
pub trait Row {
    /// Whether a message shows that it belongs into the table. Until then, it only counts.
    fn is_seen(&self) -> bool;

    /// Bytes of memory that it takes outside of itself.
    fn held(&self) -> usize;
}

/// A table of bounded memory.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Eq + Hash + Deserialize<'de>, V: Deserialize<'de>"))]
pub struct Bounded<K, V> {
    /// Boxed: where most of those that are looked up have none, as in a flood, that leaves fewer lines of the
    /// cache to look at.
    rows: Map<K, Box<V>>,
    /// Maximum bytes of memory of all rows.
    pub(super) most: usize,
    /// Bytes of memory that they take.
    held: usize,
    /// Some rows, or some of their values, did not fit.
    pub is_cut: bool,
}

impl<K: Copy + Eq + Hash + Ord, V: Default + Row> Bounded<K, V> {
    /// Bytes of memory of a row whose values take none outside of it: with the entries of the table that are free.
    const ROW: usize = size_of::<V>() + 2 * (size_of::<K>() + size_of::<Box<V>>() + 1);

    /// An empty table of this many bytes.
    pub(super) fn new(most: usize) -> Bounded<K, V> {
        Bounded { rows: Map::default(), most, held: 0, is_cut: false }
    }

    /// Changes the row with this key, which is added if it does not exist; `None` if it does not fit. The row is
    /// told whether there is room for it to grow.
    pub(super) fn update<R>(
        &mut self,
        key: K,
        change: impl FnOnce(&mut V, bool) -> R,
    ) -> Option<R> {
        let has_room = self.held < self.most;
        let row = match self.rows.entry(key) {
            Entry::Occupied(row) => row.into_mut(),
            // There is always room for one.
            Entry::Vacant(_) if !has_room && self.held > 0 => {
                self.is_cut = true;
                return None;
            }
            Entry::Vacant(row) => {
                self.held += Self::ROW;
                row.insert(Box::default())
            }
        };
        let before = row.held();
        let result = change(row, has_room);
        self.held = (self.held + row.held()).saturating_sub(before);
        Some(result)
    }

    /// The row with this key, if it exists.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.rows.get_mut(key).map(|row| &mut **row)
    }

    /// All rows, in any order, to change what takes no memory outside of them.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.rows.values_mut().map(|row| &mut **row)
    }

    /// Removes a row.
    pub(super) fn remove(&mut self, key: &K) -> Option<Box<V>> {
        let row = self.rows.remove(key)?;
        self.held = self.held.saturating_sub(Self::ROW + row.held());
        Some(row)
    }

    /// Adds a row whose key is new.
    pub(super) fn put(&mut self, key: K, row: Box<V>) {
        self.held += Self::ROW + row.held();
        self.rows.insert(key, row);
    }

    /// All rows, in any order.
    pub(super) fn into_rows(self) -> impl Iterator<Item = (K, Box<V>)> {
        self.rows.into_iter()
    }
}

impl<K: Copy + Ord, V: Row> Bounded<K, V> {
    /// The number of rows.
    #[allow(clippy::len_without_is_empty, reason = "not needed")]
    pub fn len(&self) -> usize {
        self.seen().count()
    }

    /// Whether the table has a row with this key.
    pub(super) fn has(&self, key: &K) -> bool
    where
        K: Hash,
    {
        self.rows.get(key).is_some_and(|row| row.is_seen())
    }

    /// The rows, in any order.
    pub fn seen(&self) -> impl Iterator<Item = (K, &V)> {
        self.rows.iter().filter(|(_, row)| row.is_seen()).map(|(key, row)| (*key, &**row))
    }

    /// The rows, in the order of their keys.
    pub fn rows(&self) -> Vec<(K, &V)> {
        let mut rows: Vec<_> = self.seen().collect();
        rows.sort_by_key(|(key, _)| *key);
        rows
    }
}

/// The times of the first and the last message.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct SeenTimes {
    /// The time of the first message.
    pub first: Time,
    /// The time of the last message.
    pub last: Time,
}

/// Extends the times by another message.
pub(super) fn widen(seen: &mut Option<SeenTimes>, time: Time) {
    let seen = seen.get_or_insert(SeenTimes { first: time, last: time });
    seen.first = seen.first.min(time);
    seen.last = seen.last.max(time);
}

/// The messages of one protocol.
#[derive(Clone, Serialize, Deserialize)]
pub struct Protocol {
    /// The protocol.
    pub id: Id,
    /// Messages.
    pub messages: u64,
    /// Flows.
    pub flows: u64,
    /// Requests, with their repeats and challenges counted as one, and those that were answered.
    pub exchanges: ExchangeCounts,
    /// Certain findings.
    pub findings: FindingCounts,
    /// The times between requests and their responses.
    pub times: ResponseTimes,
}

impl Protocol {
    pub(super) fn new(id: Id) -> Protocol {
        let (findings, times) = (FindingCounts::default(), ResponseTimes::default());
        Protocol {
            id,
            messages: 0,
            flows: 0,
            exchanges: ExchangeCounts::default(),
            findings,
            times,
        }
    }
}

/// A game server.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Server {
    /// The latest protocol of messages with clients.
    pub(super) spoken: Latest<Id>,
    /// The first protocol in which it registered.
    pub(super) known_in: First<Id>,
    /// Its latest name.
    pub name: Latest<String>,
    /// Its latest map.
    pub map: Latest<String>,
    /// Its version.
    pub version: Latest<String>,
    /// The number of players that it reports.
    pub players: Latest<u64>,
    /// Its maximum number of players.
    pub max_players: Latest<u64>,
    /// How often its name or its map changed.
    pub changes: u64,
    /// The times of requests, responses and registrations.
    pub seen: Option<SeenTimes>,
    /// Requests that were sent to it, including repeats.
    pub sent: u64,
    /// The same without repeats of requests that were still waiting.
    pub requests: u64,
    /// Requests, with their repeats and challenges counted as one, and those that were answered.
    pub exchanges: ExchangeCounts,
    /// Responses that only contained a challenge.
    pub challenged: u64,
    /// Its largest response, in bytes as sent.
    pub largest: u64,
    /// Certain findings in its flows.
    pub findings: FindingCounts,
    /// The times between requests and its responses.
    pub times: ResponseTimes,
    /// It sent something, or a client asked it by an address that is not all hosts' of a network.
    pub(super) is_host: bool,
}

impl Row for Server {
    fn is_seen(&self) -> bool {
        self.seen.is_some() && self.is_host
    }

    fn held(&self) -> usize {
        let text = |text: &Latest<String>| text.get().map_or(0, String::capacity);
        text(&self.name) + text(&self.map) + text(&self.version) + self.times.held()
    }
}

impl Server {
    /// The latest protocol of its messages.
    pub fn protocol(&self) -> Option<Id> {
        self.spoken.get().or(self.known_in.get()).copied()
    }

    /// Whether it sent a message to a client.
    pub(super) fn answers(&self) -> bool {
        self.largest > 0
    }

    /// Whether it sent a message to a master.
    pub(super) fn joins(&self) -> bool {
        self.known_in.get().is_some()
    }

    /// Whether it may be the port from which a server joins that is asked at another one: nobody asks it, and its messages
    /// to masters name no port.
    pub(super) fn joins_from_any_port(&self) -> bool {
        let masters = self.known_in.get().and_then(|id| id.info().masters);
        self.sent == 0 && masters.is_some_and(|it| it.query_port.is_none())
    }

    /// A request was sent to it.
    pub(super) fn sent(&mut self, id: Id, event: &MessageEvent<'_>) {
        self.spoken.set(moment(event), id);
        self.sent += 1;
        let [from, to] = event.ends().map(|end| end.ip());
        let may_be_several = is_private(to) && may_be_of_several(to, from);
        self.is_host |= !(is_broadcast(to) || may_be_several);
        self.requests += u64::from(!event.sending().is_again());
        widen(&mut self.seen, event.time());
    }

    /// It sent a message to a master.
    pub(super) fn sent_by_itself(&mut self, id: Id, event: &MessageEvent<'_>) {
        self.known_in.set(moment(event), id);
        self.is_host = true;
        widen(&mut self.seen, event.time());
        self.describe(event);
    }

    /// It sent a message to a client. Returns whether there was enough room.
    pub(super) fn responded(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        response_time: Option<u64>,
        has_room: bool,
    ) -> bool {
        self.spoken.set(moment(event), id);
        self.is_host = true;
        widen(&mut self.seen, event.time());
        self.largest = self.largest.max(event.length());
        self.challenged += u64::from(event.reply().is_some_and(|reply| !reply.complete));
        self.describe(event);
        response_time.is_none_or(|time| self.times.add_within(time, has_room))
    }

    /// Stores its properties in a message.
    fn describe(&mut self, event: &MessageEvent<'_>) {
        let Some(paths) = event.message().describes else { return };
        let at = moment(event);
        let first = |paths: &[&str]| described::first(event, paths);
        let renamed = put(&mut self.name, at, first(paths.name));
        let moved = put(&mut self.map, at, first(paths.map));
        self.changes += u64::from(renamed || moved);
        put(&mut self.version, at, first(paths.version));
        for (known, paths) in
            [(&mut self.players, paths.players), (&mut self.max_players, paths.max_players)]
        {
            let number = first(paths).and_then(described::number);
            number.into_iter().for_each(|number| known.set(at, number));
        }
    }
}

/// A master server.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Master {
    /// Its protocol.
    pub protocol: Latest<Id>,
    /// The times of messages to it and from it.
    pub seen: Option<SeenTimes>,
    /// The times of its checks of servers: not all hosts that check servers have a list.
    pub(super) checks: Option<SeenTimes>,
    /// Lists that clients requested; further pages of one are not counted.
    pub lists_asked: u64,
    /// Complete lists.
    pub lists_whole: u64,
    /// Enciphered lists: it is unknown whether they were complete.
    pub lists_enciphered: u64,
    /// Clients that have requested a list and not yet received all of it.
    waiting: Set<SocketAddr>,
    /// The servers in its lists, each as a number.
    pub listed: Set<u64>,
    /// Joins and registrations.
    pub joins: u64,
    /// Heartbeats.
    pub heartbeats: u64,
    /// Registrations that it refused.
    pub rejected: u64,
    /// Certain findings in its flows with clients.
    pub findings: FindingCounts,
    /// The times between requests and its responses.
    pub times: ResponseTimes,
}

impl Row for Master {
    fn is_seen(&self) -> bool {
        self.seen.is_some()
    }

    /// Without its lists and the clients that wait for them, which have a limit of their own.
    fn held(&self) -> usize {
        self.times.held()
    }
}

impl Master {
    /// The times of messages to it and from it, including checks of servers.
    pub fn seen(&self) -> Option<SeenTimes> {
        let mut seen = self.seen;
        self.checks.iter().flat_map(|it| [it.first, it.last]).for_each(|it| widen(&mut seen, it));
        seen
    }

    /// It, where servers and masters are in one table: the lists are its requests.
    pub fn as_server(&self) -> Server {
        let (listed, joins) = (grouped(self.listed.len() as u64), grouped(self.joins));
        let heartbeats = grouped(self.heartbeats);
        let mut name = Latest::default();
        name.set(
            Moment::default(),
            format!("master: {listed} listed, {joins} joins, {heartbeats} heartbeats"),
        );
        Server {
            spoken: self.protocol,
            name,
            seen: self.seen(),
            exchanges: ExchangeCounts { asked: self.lists_asked, answered: self.lists_whole },
            findings: self.findings,
            times: self.times.clone(),
            ..Server::default()
        }
    }

    /// A message to it or from it.
    fn speaks(&mut self, id: Id, event: &MessageEvent<'_>) {
        self.protocol.set(moment(event), id);
        widen(&mut self.seen, event.time());
    }

    /// It checks a server.
    pub(super) fn checked(&mut self, id: Id, event: &MessageEvent<'_>) {
        self.protocol.set(moment(event), id);
        widen(&mut self.checks, event.time());
    }

    /// A client sent it a message.
    pub(super) fn asked(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        client: SocketAddr,
        room: &mut usize,
    ) {
        self.speaks(id, event);
        if described::begins_list(event) {
            self.lists_asked += 1;
            if *room > 0 {
                *room -= usize::from(self.waiting.insert(client));
            }
        }
    }

    /// A server sent it a message.
    pub(super) fn joined(&mut self, id: Id, event: &MessageEvent<'_>) {
        self.speaks(id, event);
        match event.message().purpose {
            Purpose::Join => self.joins += 1,
            Purpose::Heartbeat => self.heartbeats += 1,
            _ => {}
        }
    }

    /// It sent a message. `room`: number of further servers of lists that fit; `has_room`: whether it may grow
    /// otherwise. Returns whether there was enough room.
    pub(super) fn responded(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        to: SocketAddr,
        response_time: Option<u64>,
        room: &mut usize,
        has_room: bool,
    ) -> bool {
        self.speaks(id, event);
        let is_timed = response_time.is_none_or(|time| self.times.add_within(time, has_room));
        if described::is_enciphered(event) && self.waiting.remove(&to) {
            *room += 1;
            self.lists_enciphered += 1;
        }
        // Some masters mark each packet of a list as the last one; a list is counted only once.
        if described::ends_list(event) && self.waiting.remove(&to) {
            *room += 1;
            self.lists_whole += 1;
        }
        self.rejected += u64::from(described::refuses(event));
        self.lists(described::each_listed(event).numbers(), room) && is_timed
    }

    /// Adds servers of its lists. Returns whether they fit.
    pub(super) fn lists(&mut self, servers: impl Iterator<Item = u64>, room: &mut usize) -> bool {
        let mut has_room = true;
        for server in servers {
            // Most servers were in earlier lists, and a lookup is faster than an insertion.
            if self.listed.contains(&server) {
                continue;
            }
            has_room &= *room > 0;
            if *room > 0 {
                *room -= 1;
                self.listed.insert(server);
            }
        }
        has_room
    }
}

/// Requests of one kind.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Kind {
    /// Their protocol.
    pub id: Id,
    /// Their message.
    pub message: &'static Message,
    /// Their number.
    pub count: u64,
    /// The moment of the first one.
    pub(super) first: Moment,
}

impl Kind {
    pub(super) fn is(&self, id: Id, message: &Message) -> bool {
        (self.id, self.message.name) == (id, message.name)
    }
}

/// A host that sends requests.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Client {
    /// Its ports, the first 256 of them.
    pub sockets: Set<u16>,
    /// The times of its requests.
    pub seen: Option<SeenTimes>,
    /// Requests by kind, including repeats.
    pub(super) kinds: Vec<Kind>,
    /// All requests.
    pub sent: u64,
    /// The same without repeats of requests that were still waiting.
    pub requests: u64,
    /// Requests, with their repeats and challenges counted as one, and those that were answered.
    pub exchanges: ExchangeCounts,
    /// Its libraries or programs that were identified, with the moment.
    pub(super) libraries: Vec<(Moment, Name)>,
    /// It requested a list from a master.
    pub(super) asks_for_lists: bool,
    /// It checks servers as masters do.
    pub(super) checks_servers: bool,
}

impl Row for Client {
    /// A master that queries the servers in its list is not a client.
    fn is_seen(&self) -> bool {
        self.sent > 0 && (self.asks_for_lists || !self.checks_servers)
    }

    fn held(&self) -> usize {
        // A set has up to twice as many places as values, each with a byte of its own.
        self.sockets.capacity() * 2 * (size_of::<u16>() + 1)
            + self.kinds.capacity() * size_of::<Kind>()
            + self.libraries.capacity() * size_of::<(Moment, Name)>()
    }
}

impl Client {
    /// It sent a request, which shows that it uses this library.
    pub(super) fn request(&mut self, id: Id, event: &MessageEvent<'_>, port: u16) {
        let (message, first) = (event.message(), moment(event));
        self.sent += 1;
        self.requests += u64::from(!event.sending().is_again());
        widen(&mut self.seen, event.time());
        event.library().into_iter().for_each(|library| self.uses(first, Name(library)));
        self.sends_from(port);
        self.sends(Kind { id, message, count: 1, first });
    }

    pub(super) fn sends(&mut self, kind: Kind) {
        match self.kinds.iter_mut().find(|it| it.is(kind.id, kind.message)) {
            Some(known) => {
                known.count += kind.count;
                known.first = known.first.min(kind.first);
            }
            None => self.kinds.push(kind),
        }
    }

    pub(super) fn sends_from(&mut self, port: u16) {
        if self.sockets.len() < PORTS {
            self.sockets.insert(port);
        }
    }

    pub(super) fn uses(&mut self, at: Moment, library: Name) {
        match self.libraries.iter_mut().find(|(_, known)| *known == library) {
            Some((first, _)) => *first = at.min(*first),
            None => self.libraries.push((at, library)),
        }
    }

    /// Requests by kind, in the order of their first ones; repeats count, too.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = self.kinds.clone();
        kinds.sort_by_key(|kind| kind.first);
        kinds
    }

    /// Its libraries or programs that were identified.
    pub fn libraries(&self) -> Vec<&'static str> {
        let mut libraries = self.libraries.clone();
        libraries.sort_by_key(|(at, _)| *at);
        libraries.iter().map(|(_, library)| library.0).collect()
    }

    /// Requests per second; `None` for one request, however it is sent, or for several at the same time.
    pub fn rate(&self) -> Option<f64> {
        let seen = self.seen.filter(|seen| seen.last > seen.first && self.exchanges.asked != 1)?;
        let seconds = seen.last.since(seen.first) as f64 / 1e9;
        Some((self.sent.saturating_sub(1)) as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_lists_take_memory_once() {
        let (mut master, mut room) = (Master::default(), 3);
        assert!(master.lists([1, 2, 1].into_iter(), &mut room));
        assert_eq!((master.listed.len(), room), (2, 1));
        assert!(!master.lists([2, 3, 4, 1].into_iter(), &mut room), "there is no room for the 4");
        assert_eq!((master.listed.len(), room), (3, 0));
        assert!(master.lists([3, 1].into_iter(), &mut room), "what is known needs none");
    }
}
