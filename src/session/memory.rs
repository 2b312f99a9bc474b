//! What a session remembers beside its flows: whom to ask again and when, and between whom the
//! recording lost something.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use dissectors::kit::Time;
use foldhash::quality::RandomState;

use crate::flows::Flow;
use crate::flows::table::Slot;
use crate::net::Hosts;

/// Where the recording lost something: what seems to be missing there may have been in that.
#[derive(Default)]
pub(super) struct Incomplete {
    /// Between these hosts: fragmented datagrams that never became whole, packets cut short.
    hosts: HashSet<Hosts, RandomState>,
    /// There are too many pairs, and every one counts as one of them.
    all: bool,
}

impl Incomplete {
    /// With more pairs than this, every pair of the shard counts as one of them.
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

/// When flows want to be asked again. The earliest comes first.
pub(super) struct Deadlines {
    plans: BinaryHeap<Reverse<(Time, u32, Slot)>>,
    /// When the first is due: kept apart from the heap, since every packet asks for it.
    first: Time,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines { plans: BinaryHeap::new(), first: Time(i64::MAX) }
    }
}

impl Deadlines {
    /// Plans to ask a flow, unless it will be asked by then anyway: one plan a flow.
    pub(super) fn plan(&mut self, flow: &mut Flow, slot: Slot, deadline: Option<Time>) {
        if let Some(deadline) = deadline
            && !flow.is_planned()
        {
            flow.set_planned(true);
            self.plans.push(Reverse((deadline, flow.number, slot)));
            self.first = self.first.min(deadline);
        }
    }

    /// Forgets plans whose flows have ended, where those are most: `lives` tells.
    pub(super) fn tidy(&mut self, flows: usize, lives: impl Fn(Slot, u32) -> bool) {
        /// This many are not a burden.
        const FEW: usize = 1 << 12;
        if self.plans.len() > FEW + 2 * flows {
            self.plans.retain(|&Reverse((_, number, slot))| lives(slot, number));
            self.plans.shrink_to_fit();
            self.see_first();
        }
    }

    /// Whether some flow's time may have come.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.first <= now
    }

    /// The next flow whose time has come: its number, and where it was.
    pub(super) fn due(&mut self, now: Time) -> Option<(u32, Slot)> {
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
