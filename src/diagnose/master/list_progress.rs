//! A list that a master sends a client, page by page.

use std::net::SocketAddr;

use dissectors::kit::Time;

use crate::diagnose::facts::{NO_ACCIDENT, is_too_much};

/// What a request and its response take on any path, in nanoseconds.
const ON_THE_WAY: i64 = 1_000_000_000;

/// A list in progress.
#[derive(Clone, Copy, Debug)]
pub(in crate::diagnose) struct List {
    pub(in crate::diagnose) client: SocketAddr,
    pub(in crate::diagnose) begun: Time,
    /// Packets of it, and servers in them.
    pub(in crate::diagnose) pages: u64,
    pub(in crate::diagnose) servers: u64,
    /// The request that waits: its packet, when it was first sent, and how often.
    pub(in crate::diagnose) waits: Option<(u64, Time, u64)>,
    pub(in crate::diagnose) pace: Pace,
}

/// How long a client waited for the pages of a list, each of which it asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct Pace {
    /// In all, and beyond what any path takes: many pages take their time from a quick master, too.
    pub(in crate::diagnose) taken: i64,
    pub(in crate::diagnose) beyond: i64,
    /// A page was asked for again, or never: how long the master took is unknown.
    pub(in crate::diagnose) is_unknown: bool,
}

impl List {
    /// Its next page. Returns how long the client waited for it, if that is known.
    pub(in crate::diagnose) fn goes_on(&mut self, now: Time, servers: u64) -> Option<i64> {
        let waited = self.waits.take().filter(|(.., times)| *times == 1);
        let waited = waited.map(|(_, sent, _)| now.since(sent));
        (self.pages, self.servers) = (self.pages + 1, self.servers + servers);
        self.pace.is_unknown |= waited.is_none();
        self.pace.taken += waited.unwrap_or(0);
        self.pace.beyond += (waited.unwrap_or(0) - ON_THE_WAY).max(0);
        waited
    }
}

/// Whether it is no accident that clients wait for the next part of these lists: one request may be lost. Beside `whole`
/// lists, of so many requests, a client must have asked again, or too many must have stopped.
pub(in crate::diagnose) fn is_no_accident(waiting: &[List], whole: u64, requests: u64) -> bool {
    let stopped = waiting.iter().filter(|list| list.pages > 0);
    let times = || stopped.clone().filter_map(|list| list.waits).map(|(.., times)| times);
    if whole == 0 {
        return times().sum::<u64>() > 1;
    }
    let count = stopped.clone().count() as u64;
    let are_many = is_too_much(count, requests) || count > whole;
    times().any(|times| times > 1) || count >= NO_ACCIDENT && are_many
}
