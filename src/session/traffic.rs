//! Counts of all messages: by protocol, and requests to servers.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Evidence, Mark};
use dissectors::ledger::Loads;
use serde::{Deserialize, Serialize};

use super::{Answered, FlowContext, Requests};

/// Counts of messages.
#[derive(Serialize, Deserialize)]
pub struct Traffic {
    /// Their number.
    pub messages: u64,
    /// Their protocols: a bit each, in the order of [`Id::ALL`].
    protocols: u32,
    /// Requests, and whether they were answered.
    pub requests: Requests,
    /// Requests and answered ones of each protocol, in the order of [`Id::ALL`].
    count_answered: [Answered; Id::ALL.len()],
    /// The load on servers.
    pub loads: Loads,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic::new(Requests::new(0), Loads::default())
    }
}

impl Traffic {
    pub(super) fn new(requests: Requests, loads: Loads) -> Traffic {
        let count_answered = [Answered::default(); Id::ALL.len()];
        Traffic { messages: 0, protocols: 0, requests, count_answered, loads }
    }

    #[inline]
    pub(super) fn message(&mut self, protocol: Option<Id>) {
        self.messages += 1;
        if let Some(id) = protocol {
            self.protocols |= 1 << id as u32;
        }
    }

    /// Their protocols.
    pub fn protocols(&self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(|&id| self.protocols & 1 << id as u32 != 0)
    }

    /// A server responded to this many requests of a protocol.
    #[inline]
    pub(super) fn answered(&mut self, protocol: Option<Id>, server: SocketAddr, times: u64) {
        self.count_answered(protocol, Answered { asked: times, answered: times });
        self.requests.answered(server, times);
    }

    /// See [`Requests::unanswered`].
    pub(super) fn unanswered(&mut self, context: &FlowContext, evidence: Evidence, mark: &Mark) {
        self.count_answered(context.protocol, Answered { asked: 1, answered: 0 });
        self.requests.unanswered(context, evidence, mark);
    }

    fn count_answered(&mut self, protocol: Option<Id>, more: Answered) {
        let count_answered = protocol.and_then(|id| self.count_answered.get_mut(id as usize));
        count_answered.into_iter().for_each(|count_answered| count_answered.add(more));
    }

    /// Requests and answered ones so far, by protocol.
    pub fn by_protocol(&self) -> impl Iterator<Item = (Id, Answered)> {
        Id::ALL.iter().copied().zip(self.count_answered)
    }

    /// Adds the counts of another share of the same capture.
    pub(super) fn add(&mut self, other: Traffic) {
        self.messages += other.messages;
        self.protocols |= other.protocols;
        self.requests.join(other.requests);
        self.count_answered
            .iter_mut()
            .zip(other.count_answered)
            .for_each(|(count_answered, more)| count_answered.add(more));
        self.loads.add(other.loads);
    }
}

impl std::fmt::Debug for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traffic").field("messages", &self.messages).finish_non_exhaustive()
    }
}
