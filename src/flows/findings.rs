//! The findings of a flow, and what the rest of the capture must show for them to be proven.

use dissectors::kit::{Map, NeededEvidence, Role, Rule, Verdict};
use serde::{Deserialize, Serialize};

/// Counts of findings, without those that are inconclusive in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingCounts {
    /// Proven.
    pub proven: u64,
    /// Proven unless the recorder dropped packets.
    pub unless_dropped: u64,
    /// The same, and only if packets of the asked party are in other flows.
    pub if_heard: u64,
}

/// The findings of open flows by their slots: most flows have none.
#[derive(Default)]
pub(super) struct FoundInFlows {
    is_kept: bool,
    flows: Map<u32, FindingCounts>,
}

impl FoundInFlows {
    /// Bytes of memory of an entry, with its share of the free ones.
    const ENTRY: usize = 2 * (size_of::<u32>() + size_of::<FindingCounts>());

    /// `is_kept`: they are needed.
    pub(super) fn kept(is_kept: bool) -> FoundInFlows {
        FoundInFlows { is_kept, flows: Map::default() }
    }

    /// Adds findings of the flow in this slot.
    #[inline]
    pub(super) fn add(&mut self, at: u32, more: FindingCounts) {
        if self.is_kept && more != FindingCounts::default() {
            self.flows.entry(at).or_default().add(more);
        }
    }

    /// Those of the flow in this slot.
    pub(super) fn get(&self, at: u32) -> FindingCounts {
        self.flows.get(&at).copied().unwrap_or_default()
    }

    /// The flow in this slot has ended.
    pub(super) fn forget(&mut self, at: u32) {
        if !self.flows.is_empty() {
            self.flows.remove(&at);
        }
    }

    /// Their memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.flows.len() * FoundInFlows::ENTRY
    }
}

impl FindingCounts {
    /// Counts one. `if_heard`: it is inconclusive, and proven if packets of the asked party are in other flows.
    pub fn count(&mut self, rule: &Rule, verdict: Verdict, if_heard: bool) {
        match verdict {
            Verdict::Fail if is_excused_by_drops(rule) => self.unless_dropped += 1,
            Verdict::Fail | Verdict::Note => self.proven += 1,
            Verdict::Inconclusive => self.if_heard += u64::from(if_heard),
        }
    }

    /// Adds those of another part.
    pub fn add(&mut self, other: FindingCounts) {
        self.proven += other.proven;
        self.unless_dropped += other.unless_dropped;
        self.if_heard += other.if_heard;
    }

    /// The number of those that are proven, as far as the flow itself shows.
    pub fn certain(self) -> u64 {
        self.proven + self.unless_dropped
    }

    /// The whole capture is known: decides what is proven.
    pub fn settle(&mut self, dropped: bool, heard: bool) {
        let unless_dropped = if dropped { 0 } else { self.unless_dropped };
        let if_heard = if heard && !dropped { self.if_heard } else { 0 };
        *self =
            FindingCounts { proven: self.proven + unless_dropped + if_heard, ..Default::default() };
    }
}

/// Whether packets that the recorder dropped could explain every breach: not faults within a
/// message, nor results about the recording.
pub fn is_excused_by_drops(rule: &Rule) -> bool {
    rule.needs != NeededEvidence::Message && rule.who != Role::Capture
}
