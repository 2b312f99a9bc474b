//! State that spans flows: where clients' listings are, and what is asked for.

use std::net::{IpAddr, SocketAddr};

use super::endpoint::Endpoint;
use super::filter::WantedAddresses;
use super::pending::FilterHash;
use crate::kit::{LatestRequests, Recent, RecentMap, Time};

/// State that spans the flows between two hosts.
#[derive(Default)]
pub struct SharedState {
    /// The positions of all clients' listings: the client's host, the master, the last address of a
    /// reply, and what happened to the listing there.
    stops: Recent,
    /// What the reply to a client's latest query must be, by client and master, if anything.
    pub(super) wanted: RecentMap<[SocketAddr; 2], WantedReply>,
    /// The first server of the latest first page of each list: when, and which.
    pub(super) first_pages: RecentMap<(IpAddr, SocketAddr, FilterHash), (Time, Endpoint)>,
    /// Endpoints that wait for a list or a challenge, by the host that was asked.
    pub(super) waiting: LatestRequests<WaitsFor>,
}

/// What a client or a server waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    List,
    Challenge,
}

/// What a reply must be, beside a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedReply {
    pub(super) addresses: WantedAddresses,
    /// The first page, because the socket is new, although the query asks for a later one.
    pub(super) first_page: bool,
    /// The socket is new for certain: another one of its host has received the address that it asks from.
    pub(super) is_new: bool,
}

/// Nanoseconds within which two first pages of a list begin with the same server.
pub(super) const FIRST_PAGE: i64 = 60_000_000_000;

/// What happened to a listing at the last address of a reply.
#[derive(Clone, Copy, Hash)]
pub(super) enum ListingOutcome {
    /// It stopped there, on a socket of the client's host.
    Stopped,
    /// It continued on its socket.
    WentOn,
    /// Its flow ended there: the port.
    Left(u16),
}

impl SharedState {
    pub(super) fn note(
        &mut self,
        [client, master]: [SocketAddr; 2],
        last: Endpoint,
        stop: ListingOutcome,
        most: usize,
    ) {
        self.stops.insert(&(client.ip(), master, last, stop), most);
    }

    pub(super) fn was(
        &self,
        [client, master]: [SocketAddr; 2],
        last: Endpoint,
        stop: ListingOutcome,
    ) -> bool {
        self.stops.contains(&(client.ip(), master, last, stop)) == Some(true)
    }

    pub(super) fn forgot(&self) -> bool {
        self.stops.forgot() || self.waiting.forgot()
    }

    /// Whether a listing of this client's host stopped at an address and has not continued.
    pub(super) fn stands_at(&self, ends: [SocketAddr; 2], seed: Endpoint) -> bool {
        self.was(ends, seed, ListingOutcome::Stopped)
            && !self.was(ends, seed, ListingOutcome::WentOn)
    }
}
