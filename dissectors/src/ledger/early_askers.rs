//! Clients that ask host after host from one socket, soon after the capture begins: what comes then may answer a request
//! before it.

use std::net::SocketAddr;

use crate::kit::{Host, Map, Set, Socket, Time};

/// The sockets that ask something soon after the first event of any kind.
#[derive(Clone, Default)]
pub(super) struct EarlyAskers {
    since: Option<Time>,
    /// The first two hosts that each asks.
    first: Map<Socket, [Option<Host>; 2]>,
    /// Those that ask a third one, which is no accident.
    of_several: Set<Socket>,
    /// Sockets, and servers whose responses to requests before the capture they go on from.
    of_older: Set<[Socket; 2]>,
}

impl EarlyAskers {
    /// Something happens.
    pub(super) fn begin(&mut self, time: Time) {
        self.since.get_or_insert(time);
    }

    /// A client asks a server. `timeout`: only what comes so soon after the beginning may answer what was asked before it.
    pub(super) fn asks(
        &mut self,
        [client, server]: [SocketAddr; 2],
        time: Time,
        timeout: i64,
        most: usize,
    ) {
        let is_early = self.since.is_none_or(|since| time.since(since) < timeout.saturating_mul(2));
        let client = Socket(client);
        if !is_early || self.first.len() >= most && !self.first.contains_key(&client) {
            return;
        }
        let host = Some(Host(server.ip()));
        let hosts = self.first.entry(client).or_default();
        match hosts.iter_mut().find(|known| known.is_none() || **known == host) {
            Some(known) => *known = host,
            None => _ = self.of_several.insert(client),
        }
    }

    /// Nothing was asked before the capture.
    pub(super) fn forget(&mut self) {
        (self.first, self.of_several, self.of_older) = Default::default();
    }

    /// A server answers a request of this client that is not in the capture. Returns whether that may be because the request
    /// was sent before the beginning.
    pub(super) fn is_answered(
        &mut self,
        [client, server]: [SocketAddr; 2],
        time: Time,
        timeout: i64,
        most: usize,
    ) -> bool {
        let is_early = self.since.is_none_or(|since| time.since(since) < timeout);
        if is_early && self.of_older.len() < most {
            self.of_older.insert([Socket(client), Socket(server)]);
        }
        is_early
    }

    /// Whether a server has answered a request of this client from before the capture.
    pub(super) fn asked_before(&self, ends: [SocketAddr; 2]) -> bool {
        self.of_older.contains(&ends.map(Socket))
    }

    /// Whether a socket asks several hosts.
    pub(super) fn ask_several(&self, client: SocketAddr) -> bool {
        self.of_several.contains(&Socket(client))
    }
}
