//! State that spans flows: challenges, and what servers said of themselves.

use std::net::{IpAddr, SocketAddr};

use super::kinds::RequestKind;
use super::split::BufferPool;
use super::state::Known;
use crate::kit::{Host, LatestRequests, Payload, Recent, RecentMap, Seed, Socket, Time};

/// State that spans the flows between two hosts.
#[derive(Default)]
pub struct SharedState {
    /// Issued challenges, with address and server.
    pub(super) issued: Recent,
    /// Pairs of client and server with a challenge that the recording lost.
    pub(super) blurred: Recent,
    /// Endpoints that wait for a response, by the host that was asked.
    pub(super) waiting: LatestRequests<RequestKind>,
    /// Pairs of hosts and servers that have responded to them: packets to these are for a server.
    pub(super) served: Recent,
    /// How many players the latest info of each server to a host counts, or a list without an info before; and when.
    pub(super) counts: RecentMap<(Host, Socket), (PlayerCount, Time)>,
    /// Which requests the game of each server answers, as it told a host.
    pub(super) games: RecentMap<(Host, Socket), Known>,
    /// Buffers for the next split response.
    pub(super) spare: BufferPool,
    /// The seed of the hashes that recognize copies.
    pub(super) seed: Seed,
}

/// How many players a server has, as it says.
#[derive(Clone, Copy)]
pub(super) enum PlayerCount {
    Info { players: u8, bots: u8 },
    Listed(u32),
}

/// A client and a server.
pub(super) fn between(client: IpAddr, server: SocketAddr) -> (Host, Socket) {
    (Host(client), Socket(server))
}

/// A challenge that a server gave to an address. Challenges are bound to addresses, not to ports.
pub(super) fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
}

impl SharedState {
    /// Whether an endpoint has responded to this host as a server.
    pub(super) fn is_served(&self, payload: &Payload<'_>) -> bool {
        self.served.contains(&between(payload.from.ip(), payload.to)) == Some(true)
    }
}
