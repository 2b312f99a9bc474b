//! What a session counts of all messages: how many, by protocol, and what servers are asked.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Evidence, Mark};
use dissectors::ledger::Loads;
use serde::{Deserialize, Serialize};

use super::{Answered, FlowContext, Requests};

/// What messages there were.
#[derive(Serialize, Deserialize)]
pub struct Traffic {
    /// How many.
    pub messages: u64,
    /// Of which protocols: a bit each, in the order of [`Id::ALL`].
    protocols: u32,
    /// Requests, and whether servers answered them.
    pub requests: Requests,
    /// How many of each protocol there were, in the order of [`Id::ALL`].
    fared: [Answered; Id::ALL.len()],
    /// What servers are asked, by how many, how fast.
    pub loads: Loads,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic::new(Requests::new(0), Loads::default())
    }
}

impl Traffic {
    pub(super) fn new(requests: Requests, loads: Loads) -> Traffic {
        let fared = [Answered::default(); Id::ALL.len()];
        Traffic { messages: 0, protocols: 0, requests, fared, loads }
    }

    #[inline]
    pub(super) fn message(&mut self, protocol: Option<Id>) {
        self.messages += 1;
        if let Some(id) = protocol {
            self.protocols |= 1 << id as u32;
        }
    }

    /// Of which protocols they are.
    pub fn protocols(&self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(|&id| self.protocols & 1 << id as u32 != 0)
    }

    /// A server answered this many requests of a protocol.
    #[inline]
    pub(super) fn answered(&mut self, protocol: Option<Id>, server: SocketAddr, times: u64) {
        self.fared(protocol, Answered { asked: times, answered: times });
        self.requests.answered(server, times);
    }

    /// See [`Requests::unanswered`].
    pub(super) fn unanswered(&mut self, context: &FlowContext, evidence: Evidence, mark: &Mark) {
        self.fared(context.protocol, Answered { asked: 1, answered: 0 });
        self.requests.unanswered(context, evidence, mark);
    }

    fn fared(&mut self, protocol: Option<Id>, more: Answered) {
        let fared = protocol.and_then(|id| self.fared.get_mut(id as usize));
        fared.into_iter().for_each(|fared| fared.add(more));
    }

    /// How requests fared so far, by protocol.
    pub fn by_protocol(&self) -> impl Iterator<Item = (Id, Answered)> {
        Id::ALL.iter().copied().zip(self.fared)
    }

    /// Adds what another share of the same capture holds.
    pub(super) fn add(&mut self, other: Traffic) {
        self.messages += other.messages;
        self.protocols |= other.protocols;
        self.requests.join(other.requests);
        self.fared.iter_mut().zip(other.fared).for_each(|(fared, more)| fared.add(more));
        self.loads.add(other.loads);
    }
}

impl std::fmt::Debug for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traffic").field("messages", &self.messages).finish_non_exhaustive()
    }
}
