//! ICMP errors about the responses of a server: something on the way drops them, and clients get nothing.

use std::fmt::Display;
use std::net::IpAddr;

use dissectors::kit::causes;

use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Failure, are_over, is_too_much};
use crate::session::IcmpEvent;
use crate::text::{counted, grouped};

/// Maximum number of pairs of a host that refuses responses, and a client.
const PAIRS: usize = 64;

/// The responses of a server that were refused on their way.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct RefusedResponses {
    pub(in crate::diagnose) pairs: Vec<Pair>,
    /// The packet of the latest one.
    latest: u64,
    /// How many responses it had sent by then.
    sent: u64,
}

/// Responses to one client that one host refuses.
#[derive(Debug)]
pub(in crate::diagnose) struct Pair {
    pub(in crate::diagnose) by: IpAddr,
    pub(in crate::diagnose) client: IpAddr,
    pub(in crate::diagnose) times: u64,
    /// The first error: its packet, and what it means.
    pub(in crate::diagnose) frame: u64,
    pub(in crate::diagnose) meaning: &'static str,
}

impl RefusedResponses {
    /// An ICMP error quotes a response. `sent`: how many there are so far.
    pub(in crate::diagnose) fn add(&mut self, error: &IcmpEvent, sent: u64) {
        // Of a large response, each packet may draw an error.
        if error.message > 0 && error.message == self.latest {
            return;
        }
        (self.latest, self.sent) = (error.message, sent);
        let (by, client) = (error.from, error.ends[1].ip());
        let new = || Pair { by, client, times: 0, frame: error.frame, meaning: error.meaning };
        let is_it = |it: &Pair| (it.by, it.client) == (by, client);
        if let Some(pair) = find_or_add(&mut self.pairs, PAIRS, is_it, new) {
            pair.times += 1;
        }
    }

    fn by(&self, host: IpAddr) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| pair.by == host)
    }

    /// The host that refuses the responses to several clients, and the first error: it is on the server's side. Of one
    /// client, it may be on either.
    pub(in crate::diagnose) fn for_several(&self) -> Option<&Pair> {
        self.pairs.iter().find(|pair| self.by(pair.by).nth(1).is_some())
    }

    /// Whether one host refuses too many of so many responses, and still does. `first`: its first error.
    pub(in crate::diagnose) fn failure(&self, all: u64, first: &Pair) -> Option<Failure> {
        let refused = self.by(first.by).map(|pair| pair.times).sum::<u64>().min(all);
        let is_over = are_over(refused, all, all.saturating_sub(self.sent));
        (is_too_much(refused, all) && !is_over).then(|| first.failure(refused, all))
    }
}

impl Pair {
    pub(in crate::diagnose) fn failure(&self, refused: u64, all: u64) -> Failure {
        let responses = counted(all, "response");
        let values: [(_, &dyn Display); 4] = [
            ("refused", &grouped(refused)),
            ("responses", &responses),
            ("from", &self.by),
            ("meaning", &self.meaning),
        ];
        Failure::with(&causes::answers::RESPONSES_REFUSED, self.frame, &values)
    }
}
