//! The rows of the tables.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Habits, Map, Purpose, Sending, Set, Time};
use dissectors::ledger::listed;

use super::described;
use crate::flows::ResponseTimes;
use crate::session::MessageEvent;

/// Ports of a client that are counted: further ones are not distinguished.
const PORTS: usize = 256;

/// A table with a bound.
#[derive(Clone)]
pub struct Bounded<K, V> {
    rows: Map<K, V>,
    most: usize,
    /// Something did not fit.
    pub is_cut: bool,
}

impl<K: Copy + Eq + Hash + Ord, V: Default> Bounded<K, V> {
    pub(super) fn new(most: usize) -> Bounded<K, V> {
        Bounded { rows: Map::default(), most: most.max(1), is_cut: false }
    }

    /// The row of this key, a new one where there is none; `None`: no more fit.
    pub(super) fn get(&mut self, key: K) -> Option<&mut V> {
        let is_full = self.rows.len() >= self.most;
        match self.rows.entry(key) {
            Entry::Occupied(row) => Some(row.into_mut()),
            Entry::Vacant(_) if is_full => {
                self.is_cut = true;
                None
            }
            Entry::Vacant(row) => Some(row.insert(V::default())),
        }
    }

    pub(super) fn known(&mut self, key: &K) -> Option<&mut V> {
        self.rows.get_mut(key)
    }

    pub(super) fn has(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    /// How many rows there are.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows, in the order of their keys.
    pub fn rows(&self) -> Vec<(K, &V)> {
        let mut rows: Vec<_> = self.rows.iter().map(|(key, row)| (*key, row)).collect();
        rows.sort_by_key(|(key, _)| *key);
        rows
    }
}

/// When somebody was seen first and last.
#[derive(Clone, Copy)]
pub struct Seen {
    /// The first message's time.
    pub first: Time,
    /// The last one's.
    pub last: Time,
}

/// The span of what was seen of somebody.
fn widen(seen: &mut Option<Seen>, time: Time) {
    let seen = seen.get_or_insert(Seen { first: time, last: time });
    seen.first = seen.first.min(time);
    seen.last = seen.last.max(time);
}

/// The messages of one protocol.
#[derive(Clone)]
pub struct Protocol {
    /// Which protocol.
    pub id: Id,
    /// Messages.
    pub messages: u64,
    /// Flows.
    pub flows: u64,
    /// Exchanges: requests, with their repeats and challenges counted as one.
    pub requests: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Certain findings.
    pub findings: u64,
    /// The times between requests and their responses.
    pub times: ResponseTimes,
}

impl Protocol {
    pub(super) fn new(id: Id) -> Protocol {
        let times = ResponseTimes::default();
        Protocol { id, messages: 0, flows: 0, requests: 0, answered: 0, findings: 0, times }
    }
}

/// A game server.
#[derive(Clone, Default)]
pub struct Server {
    /// The protocol that it spoke, or was asked in, last.
    pub protocol: Option<Id>,
    /// Its latest name.
    pub name: Option<String>,
    /// Its latest map.
    pub map: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Players, as it says.
    pub players: Option<u64>,
    /// How many players it has room for.
    pub max_players: Option<u64>,
    /// How often its name or its map changed.
    pub changes: u64,
    /// When it was asked, answered or made itself known.
    pub seen: Option<Seen>,
    /// Requests that were sent to it, repeats too.
    pub sent: u64,
    /// The same without repeats of what still waited.
    pub requests: u64,
    /// Exchanges: requests, with their repeats and challenges counted as one.
    pub exchanges: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Responses that only asked for a challenge.
    pub challenged: u64,
    /// Its largest response, in bytes as sent.
    pub largest: u64,
    /// Certain findings in its flows.
    pub findings: u64,
    /// The times between requests and its responses.
    pub times: ResponseTimes,
}

impl Server {
    /// A request was sent to it.
    pub(super) fn sent(&mut self, id: Id, repeats: bool, time: Time) {
        self.protocol = Some(id);
        self.sent += 1;
        self.requests += u64::from(!repeats);
        widen(&mut self.seen, time);
    }

    /// It sent a message to a master.
    pub(super) fn sent_by_itself(&mut self, id: Id, event: &MessageEvent<'_>, time: Time) {
        self.protocol.get_or_insert(id);
        widen(&mut self.seen, time);
        described::describe(self, event);
    }

    /// It sent a message to a client.
    pub(super) fn responded(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        response_time: Option<u64>,
        bytes: u64,
        time: Time,
    ) {
        self.protocol = Some(id);
        widen(&mut self.seen, time);
        self.largest = self.largest.max(bytes);
        self.challenged += u64::from(event.reply().is_some_and(|reply| !reply.complete));
        response_time.into_iter().for_each(|time| self.times.add(time));
        described::describe(self, event);
    }
}

/// A master server.
#[derive(Clone, Default)]
pub struct Master {
    /// Its protocol.
    pub protocol: Option<Id>,
    /// When something was sent to it or by it.
    pub seen: Option<Seen>,
    /// Lists that clients asked for; further pages of one are not counted.
    pub lists_asked: u64,
    /// Lists that were given to their end.
    pub lists_whole: u64,
    /// Lists that are enciphered: whether they were given to their end is unknown.
    pub lists_enciphered: u64,
    /// Clients that have asked for a list and not got all of it.
    waiting: Set<SocketAddr>,
    /// The servers on its lists, each as a number.
    pub listed: Set<u64>,
    /// Joins and registrations.
    pub joins: u64,
    /// Heartbeats.
    pub heartbeats: u64,
    /// Registrations that it refused.
    pub rejected: u64,
    /// Certain findings in its flows with clients.
    pub findings: u64,
    /// The times between requests and its responses.
    pub times: ResponseTimes,
}

impl Master {
    /// A client sent it a message.
    pub(super) fn asked(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        client: SocketAddr,
        time: Time,
        room: &mut usize,
    ) {
        self.protocol = Some(id);
        widen(&mut self.seen, time);
        if described::begins_list(event) {
            self.lists_asked += 1;
            if *room > 0 {
                *room -= usize::from(self.waiting.insert(client));
            }
        }
    }

    /// A server sent it a message.
    pub(super) fn joined(&mut self, id: Id, event: &MessageEvent<'_>, time: Time) {
        self.protocol = Some(id);
        widen(&mut self.seen, time);
        match event.message().purpose {
            Purpose::Join => self.joins += 1,
            Purpose::Heartbeat => self.heartbeats += 1,
            _ => {}
        }
    }

    /// It sent a message. `room`: for this many more servers of lists; returns whether that was enough.
    pub(super) fn responded(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        to: SocketAddr,
        response_time: Option<u64>,
        room: &mut usize,
    ) -> bool {
        let mut has_room = true;
        self.protocol = Some(id);
        widen(&mut self.seen, event.payload().time);
        response_time.into_iter().for_each(|time| self.times.add(time));
        if described::is_enciphered(event) && self.waiting.remove(&to) {
            *room += 1;
            self.lists_enciphered += 1;
        }
        // Some masters end each packet of a list as if it were the last: a list is whole once.
        if described::ends_list(event) && self.waiting.remove(&to) {
            *room += 1;
            self.lists_whole += 1;
        }
        self.rejected += u64::from(described::refuses(event));
        let words = described::each_listed(event).map(|server| u64::from_ne_bytes(listed(server)));
        let before = self.listed.len();
        if event.listed().len() <= *room {
            // All of them fit, as they nearly always do.
            self.listed.extend(words);
        } else {
            for server in words {
                let is_full = self.listed.len() - before >= *room;
                has_room &= !is_full || self.listed.contains(&server);
                if !is_full {
                    self.listed.insert(server);
                }
            }
        }
        *room = room.saturating_sub(self.listed.len() - before);
        has_room
    }
}

/// Sockets of a client whose first messages are watched at a time.
const WATCHED: usize = 4;

/// Libraries of a client that are named.
const LIBRARIES: usize = 8;

/// A socket of a client, whom it asks, and what it has sent so far.
type Watched = (u16, SocketAddr, Habits);

/// A host that asks.
#[derive(Clone, Default)]
pub struct Client {
    /// Its ports, the first 256 of them.
    pub sockets: Set<u16>,
    /// When its requests were sent.
    pub seen: Option<Seen>,
    /// Requests by kind, repeats too.
    pub kinds: Vec<(Id, &'static str, u64)>,
    /// All of them.
    pub sent: u64,
    /// The same without repeats of what still waited.
    pub requests: u64,
    /// Exchanges: requests, with their repeats and challenges counted as one.
    pub exchanges: u64,
    /// Those that were answered.
    pub answered: u64,
    /// Its libraries or programs, as far as what they send shows that.
    pub libraries: Vec<&'static str>,
    /// The latest sockets, the last one last.
    watched: [Option<Watched>; WATCHED],
    /// It asked a master for a list.
    pub(super) asks_for_lists: bool,
    /// It checks servers as masters do.
    pub(super) checks_servers: bool,
}

impl Client {
    /// Whether it is a client: a master that queries the servers that it lists is none.
    pub fn is_one(&self) -> bool {
        self.sent > 0 && (self.asks_for_lists || !self.checks_servers)
    }

    /// It sent a request.
    pub(super) fn request(&mut self, id: Id, event: &MessageEvent<'_>, port: u16, time: Time) {
        let kind = event.message().name;
        self.sent += 1;
        self.requests += u64::from(event.sending() != Sending::Again);
        widen(&mut self.seen, time);
        if event.sending() != Sending::Again {
            self.recognize(id, port, event);
        }
        if self.sockets.len() < PORTS {
            self.sockets.insert(port);
        }
        match self.kinds.iter_mut().find(|it| (it.0, it.1) == (id, kind)) {
            Some((_, _, count)) => *count += 1,
            None => self.kinds.push((id, kind, 1)),
        }
    }

    /// Looks at what one of its sockets sends for whose habit that is.
    fn recognize(&mut self, id: Id, port: u16, event: &MessageEvent<'_>) {
        let (payload, habits) = (event.payload(), id.info().habits);
        let is_same =
            |it: &Option<Watched>| it.is_some_and(|it| (it.0, it.1) == (port, payload.to));
        let at = self.watched.iter().position(is_same).unwrap_or_else(|| {
            self.watched.rotate_left(1);
            self.watched[WATCHED - 1] = Some((port, payload.to, Habits::default()));
            WATCHED - 1
        });
        let Some((.., sent)) = self.watched.get_mut(at).and_then(Option::as_mut) else { return };
        if !sent.is_open() {
            return;
        }
        if let Some(library) = sent.sends(habits, payload.bytes)
            && !self.libraries.contains(&library)
            && self.libraries.len() < LIBRARIES
        {
            self.libraries.push(library);
        }
    }

    /// Requests a second; `None` of one request, or of many at once.
    pub fn rate(&self) -> Option<f64> {
        let seen = self.seen.filter(|seen| seen.last > seen.first)?;
        let seconds = seen.last.since(seen.first) as f64 / 1e9;
        Some((self.sent.saturating_sub(1)) as f64 / seconds)
    }
}
