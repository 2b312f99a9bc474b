//! What clients asked last: what a server sends without saying which request it answers belongs to that.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{RecentMap, Time};

use super::exchange_key;

/// Maximum number of kinds of requests that may wait at once.
const AT_ONCE: usize = 4;

/// A client's latest query to a server.
#[derive(Clone, Copy, Debug)]
pub(in crate::diagnose) struct LatestQuery {
    pub(in crate::diagnose) server: SocketAddr,
    pub(in crate::diagnose) frame: u64,
    pub(in crate::diagnose) time: Time,
    pub(in crate::diagnose) protocol: Id,
    /// The name of its message, and those of the client's other queries to the server, the latest first.
    kinds: [Option<&'static str>; AT_ONCE],
    /// The client also sends the server packets that are no messages.
    pub(in crate::diagnose) plays: bool,
    /// When the client last said something else to the server, which that has not answered.
    other: Option<Time>,
}

impl LatestQuery {
    pub(in crate::diagnose) fn new(
        server: SocketAddr,
        frame: u64,
        time: Time,
        protocol: Id,
        kind: &'static str,
    ) -> LatestQuery {
        let mut kinds = [None; AT_ONCE];
        kinds[0] = Some(kind);
        LatestQuery { server, frame, time, protocol, kinds, plays: false, other: None }
    }

    /// What may wait for a response: the kind of each query, and what tells its exchange from others; the latest first.
    pub(in crate::diagnose) fn kinds(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let protocol = self.protocol;
        self.kinds.into_iter().flatten().map(move |kind| (kind, exchange_key(protocol, kind)))
    }

    /// The client says something else to the server.
    pub(in crate::diagnose) fn says_other(&mut self, time: Time) {
        self.other = Some(time);
    }

    /// Whether what the server sends answers something else than a query, which it does once. `timeout`: how long that
    /// may take, in nanoseconds.
    pub(in crate::diagnose) fn is_for_other(&mut self, time: Time, timeout: i64) -> bool {
        self.other.take().is_some_and(|at| time.since(at) < timeout)
    }

    /// This query as the next one after `before`.
    fn after(mut self, before: &LatestQuery) -> LatestQuery {
        let mut places = self.kinds.iter_mut();
        let latest = places.next().and_then(|latest| *latest);
        let others = before.kinds.iter().filter(|kind| **kind != latest);
        places.zip(others).for_each(|(place, kind)| *place = *kind);
        LatestQuery { plays: before.plays, other: before.other, ..self }
    }
}

/// The latest queries of clients. Most sockets ask one server.
#[derive(Default)]
pub(in crate::diagnose) struct LatestQueries {
    /// That of each client.
    latest: RecentMap<SocketAddr, LatestQuery>,
    /// That to each other server, by client and server.
    before: RecentMap<[SocketAddr; 2], LatestQuery>,
    /// The server of each host that a client asked last, before its latest query.
    servers: RecentMap<(SocketAddr, IpAddr), SocketAddr>,
}

impl LatestQueries {
    /// A client asks. `most`: how many are kept.
    pub(in crate::diagnose) fn asks(
        &mut self,
        client: SocketAddr,
        query: LatestQuery,
        most: usize,
    ) {
        let latest = self.latest.get_or_insert_with(client, || query, most);
        if latest.server == query.server {
            *latest = query.after(latest);
            return;
        }
        let before = self.before.get_mut(&[client, query.server], most);
        let query = before.map_or(query, |before| query.after(before));
        let last = std::mem::replace(latest, query);
        self.before.insert([client, last.server], last, most);
        self.servers.insert((client, last.server.ip()), last.server, most);
    }

    /// A client's latest query to a server.
    pub(in crate::diagnose) fn of(
        &mut self,
        server: SocketAddr,
        client: SocketAddr,
        most: usize,
    ) -> Option<&mut LatestQuery> {
        let latest = self.latest.get_mut(&client, most)?;
        if latest.server == server {
            return Some(latest);
        }
        self.before.get_mut(&[client, server], most)
    }

    /// The server that a client asked last: of this host, if one is given.
    pub(in crate::diagnose) fn server(
        &mut self,
        client: SocketAddr,
        host: Option<IpAddr>,
        most: usize,
    ) -> Option<SocketAddr> {
        let latest = self.latest.get_mut(&client, most)?.server;
        match host {
            Some(host) if host != latest.ip() => {
                self.servers.get_mut(&(client, host), most).copied()
            }
            _ => Some(latest),
        }
    }
}
