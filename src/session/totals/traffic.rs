//! Counts of all messages, and of exchanges by protocol.

use dissectors::Id;
use dissectors::ledger::Loads;
use serde::{Deserialize, Serialize};

use crate::flows::{ExchangeCounts, ExchangeEffect};
use crate::session::{ProbedPorts, Requests};

/// Counts of messages.
#[derive(Clone, Serialize, Deserialize)]
pub struct Traffic {
    /// Their number.
    pub messages: u64,
    /// Their protocols: a bit each, in the order of [`Id::ALL`].
    protocols: u32,
    /// Servers that a rule requires to respond.
    pub requests: Requests,
    /// How often ports were asked shortly before or after others of their host.
    pub probed: ProbedPorts,
    /// The exchanges of each protocol, in the order of [`Id::ALL`].
    exchanges: [ExchangeCounts; Id::ALL.len()],
    /// The load on servers.
    pub loads: Loads,
    /// How often bytes of a stream are missing that its receiver has acknowledged: the recorder lost them.
    pub gaps: u64,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic::new(Requests::new(0), Loads::default())
    }
}

impl Traffic {
    pub(in crate::session) fn new(requests: Requests, loads: Loads) -> Traffic {
        let exchanges = [ExchangeCounts::default(); Id::ALL.len()];
        let probed = ProbedPorts::default();
        Traffic { messages: 0, protocols: 0, requests, probed, exchanges, loads, gaps: 0 }
    }

    /// A message with this effect on exchanges.
    #[inline]
    pub(in crate::session) fn message(&mut self, protocol: Option<Id>, effect: ExchangeEffect) {
        self.messages += 1;
        if let Some(id) = protocol {
            self.protocols |= 1 << id as u32;
            if let Some(exchanges) = self.exchanges.get_mut(id as usize) {
                exchanges.message(effect);
            }
        }
    }

    /// Their protocols.
    pub fn protocols(&self) -> impl Iterator<Item = Id> {
        Id::ALL.iter().copied().filter(|&id| self.protocols & 1 << id as u32 != 0)
    }

    /// The exchanges so far, by protocol.
    pub fn by_protocol(&self) -> impl Iterator<Item = (Id, ExchangeCounts)> {
        Id::ALL.iter().copied().zip(self.exchanges)
    }

    /// All exchanges so far.
    pub fn exchanges(&self) -> ExchangeCounts {
        let mut sum = ExchangeCounts::default();
        self.exchanges.iter().for_each(|it| sum.add(*it));
        sum
    }

    /// Adds the counts of another part of the same capture.
    pub(in crate::session) fn add(&mut self, other: Traffic) {
        self.messages += other.messages;
        self.protocols |= other.protocols;
        self.requests.join(other.requests);
        self.probed.add(other.probed);
        self.exchanges.iter_mut().zip(other.exchanges).for_each(|(all, more)| all.add(more));
        self.loads.add(other.loads);
        self.gaps += other.gaps;
    }
}

impl std::fmt::Debug for Traffic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Traffic").field("messages", &self.messages).finish_non_exhaustive()
    }
}
