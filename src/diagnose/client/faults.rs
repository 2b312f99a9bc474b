//! Which of a client's requests need no answer, because they are wrong.

use std::net::SocketAddr;

use dissectors::kit::Cause;

use crate::diagnose::facts::find_or_add::find_or_add;

/// Maximum number of servers that are kept of a client.
pub(in crate::diagnose) const SERVERS: usize = 16;

/// Toward which servers a client's requests are wrong: these need no answer.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnose) struct ClientFaults {
    /// Each server, and the number of such requests, or the maximum if all may be.
    servers: Vec<(SocketAddr, u64)>,
    /// Servers that it asks in another protocol than theirs, and the number of its exchanges with each.
    in_vain: Vec<(SocketAddr, u64)>,
    /// There were too many servers.
    is_cut: bool,
    /// The first of the reasons.
    pub(in crate::diagnose) cause: Option<&'static Cause>,
}

impl ClientFaults {
    pub(in crate::diagnose) fn add(&mut self, server: SocketAddr, times: u64) {
        match find_or_add(&mut self.servers, SERVERS, |it| it.0 == server, || (server, 0)) {
            Some((_, all)) => *all = all.saturating_add(times),
            None => self.is_cut = true,
        }
    }

    pub(in crate::diagnose) fn asks_in_vain(&mut self, server: SocketAddr, exchanges: u64) {
        let new = || (server, 0);
        let of = find_or_add(&mut self.in_vain, SERVERS, |it| it.0 == server, new);
        of.into_iter().for_each(|(_, all)| *all += exchanges);
    }

    /// How many exchanges it began with a server in another protocol than the server's.
    pub(in crate::diagnose) fn in_vain(&self, server: SocketAddr) -> u64 {
        self.in_vain.iter().find(|(it, _)| *it == server).map_or(0, |(_, exchanges)| *exchanges)
    }

    /// Whether they explain why so many requests to a server are not answered: a few wrong ones do not explain many.
    pub(in crate::diagnose) fn explain(&self, server: SocketAddr, missing: u64) -> bool {
        let wrong = self.toward(server);
        wrong > 0 && wrong.saturating_mul(2) >= missing
    }

    /// The number of wrong requests to a server.
    pub(in crate::diagnose) fn toward(&self, server: SocketAddr) -> u64 {
        match self.servers.iter().find(|(it, _)| *it == server) {
            Some((_, times)) => *times,
            None if self.is_cut => u64::MAX,
            None => 0,
        }
    }
}
