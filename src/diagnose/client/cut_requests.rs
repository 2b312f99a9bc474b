//! Requests that were not recorded whole: what was cut off may be a challenge.

use std::net::SocketAddr;

use super::faults::SERVERS;
use crate::diagnose::exchanges::Request;
use crate::diagnose::facts::find_or_add::find_or_add;

/// The requests of one client from sockets that got no challenge before.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct CutRequests {
    /// Those of the first kind to the first server: most clients send no others, and there may be very many.
    first: Option<Lengths>,
    others: Vec<Lengths>,
}

/// How long those to a server are, by the key of their exchanges.
#[derive(Debug)]
struct Lengths {
    to: (SocketAddr, &'static str),
    least: usize,
    /// The longest of those that were cut.
    longest_cut: usize,
}

impl CutRequests {
    /// It sends a request of this length. `is_cut`: a challenge in it would be cut off.
    pub(in crate::diagnose) fn sent(
        &mut self,
        to: (SocketAddr, &'static str),
        length: usize,
        is_cut: bool,
    ) {
        let new = || Lengths { to, least: length, longest_cut: 0 };
        let first = self.first.get_or_insert_with(new);
        let lengths = match first.to == to {
            true => Some(first),
            false => find_or_add(&mut self.others, SERVERS, |it| it.to == to, new),
        };
        if let Some(lengths) = lengths {
            lengths.least = lengths.least.min(length);
            if is_cut {
                lengths.longest_cut = lengths.longest_cut.max(length);
            }
        }
    }

    /// Whether the challenge that answered this request may be in a longer one, from another socket; or this request may
    /// be the longer one.
    pub(in crate::diagnose) fn may_return(&self, request: &Request) -> bool {
        let mut all = self.first.iter().chain(&self.others);
        let of = all.find(|it| it.to == (request.server, request.key()));
        of.is_some_and(|it| {
            it.longest_cut > request.length
                || it.longest_cut == request.length && it.least < request.length
        })
    }
}
