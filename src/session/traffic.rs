//! What a session counts of all messages: how many, of which protocols, and what servers are asked.

use dissectors::Id;
use dissectors::ledger::Loads;

use super::Requests;

/// What messages there were.
pub struct Traffic {
    /// How many.
    pub messages: u64,
    /// Of which protocols: a bit each, in the order of [`Id::ALL`].
    protocols: u32,
    /// Requests, and whether servers answered them.
    pub requests: Requests,
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
        Traffic { messages: 0, protocols: 0, requests, loads }
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

    /// Adds what another share of the same capture holds.
    pub(super) fn add(&mut self, other: Traffic) {
        self.messages += other.messages;
        self.protocols |= other.protocols;
        self.requests.join(other.requests);
        self.loads.add(other.loads);
    }
}

impl std::fmt::Debug for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traffic").field("messages", &self.messages).finish_non_exhaustive()
    }
}
