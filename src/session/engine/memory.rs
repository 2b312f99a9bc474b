//! State of a session besides its flows: deadlines, and pairs of hosts between which the recording
//! lost something.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use dissectors::kit::Time;
use foldhash::quality::RandomState;

use crate::flows::Flow;
use crate::flows::table::FlowSlot;
use crate::net::Hosts;

/// Pairs of hosts between which the recording lost something, which may include messages that seem
/// to be missing.
#[derive(Default)]
pub(super) struct Incomplete {
    /// The hosts of fragmented datagrams that never became whole, and of packets that were cut.
    hosts: HashSet<Hosts, RandomState>,
    /// There are too many pairs: all pairs count as incomplete.
    all: bool,
}

impl Incomplete {
    /// Limit: pairs of hosts with losses in the recording, by group of hosts | {} | all pairs count as such:
    /// inconclusive
    const MOST: usize = 1 << 13;

    pub(super) fn insert(&mut self, hosts: Hosts) {
        if self.hosts.len() >= Incomplete::MOST {
            self.all = true;
        } else {
            self.hosts.insert(hosts);
        }
    }

    /// Whether nothing was lost between any hosts.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.all && self.hosts.is_empty()
    }

    /// Whether something was lost between these hosts.
    pub(super) fn contains(&self, hosts: &Hosts) -> bool {
        self.all || self.hosts.contains(hosts)
    }
}

/// The deadlines of flows, the earliest first.
pub(super) struct Deadlines {
    plans: BinaryHeap<Reverse<(Time, u32, FlowSlot)>>,
    /// The first deadline, stored outside the heap because every packet compares with it.
    first: Time,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines { plans: BinaryHeap::new(), first: Time(i64::MAX) }
    }
}

impl Deadlines {
    /// Adds a deadline for a flow, unless an earlier one exists: at most one per flow.
    pub(super) fn plan(&mut self, flow: &mut Flow, slot: FlowSlot, deadline: Option<Time>) {
        if let Some(deadline) = deadline
            && !flow.is_planned
        {
            flow.is_planned = true;
            self.plans.push(Reverse((deadline, flow.number, slot)));
            self.first = self.first.min(deadline);
        }
    }

    /// Removes deadlines of flows that have ended, if they are the majority; `lives` tests whether
    /// a flow exists.
    pub(super) fn tidy(&mut self, flows: usize, lives: impl Fn(FlowSlot, u32) -> bool) {
        /// Fewer are not worth removing.
        const FEW: usize = 1 << 12;
        if self.plans.len() > FEW + 2 * flows {
            self.plans.retain(|&Reverse((_, number, slot))| lives(slot, number));
            self.plans.shrink_to_fit();
            self.see_first();
        }
    }

    /// Whether a deadline may have passed.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.first <= now
    }

    /// The next flow whose deadline has passed: its number, and its slot.
    pub(super) fn due(&mut self, now: Time) -> Option<(u32, FlowSlot)> {
        if !self.is_due(now) {
            return None;
        }
        let Reverse((_, number, slot)) = self.plans.pop()?;
        self.see_first();
        Some((number, slot))
    }

    fn see_first(&mut self) {
        self.first = self.plans.peek().map_or(Time(i64::MAX), |&Reverse((first, ..))| first);
    }
}
