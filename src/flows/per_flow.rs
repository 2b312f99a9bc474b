//! Optional data of flows, which is stored outside of the table, by slot.

use dissectors::kit::{Map, Rounds};

/// Optional data of a flow.
pub(super) trait PerFlowValue: Clone + Default {
    /// Bytes of heap memory.
    #[inline]
    fn held(&self) -> usize {
        0
    }
}

/// Number of slots that are added at a time: reading a slot directly after it was written in units of
/// another size stalls the processor.
const AT_ONCE: usize = 64;

/// The optional data of all flows; empty if it is not needed.
#[derive(Default)]
pub(super) struct PerFlow<T> {
    is_kept: bool,
    each: Vec<T>,
    /// Bytes of heap memory of all items.
    held: usize,
}

impl<T: PerFlowValue> PerFlow<T> {
    /// `is_kept`: the data is needed.
    pub(super) fn kept(is_kept: bool) -> PerFlow<T> {
        PerFlow { is_kept, each: Vec::new(), held: 0 }
    }

    /// Adds the slot of a new flow.
    #[inline]
    pub(super) fn begin(&mut self, at: u32) {
        if self.is_kept && self.each.len() <= at as usize {
            self.each.resize(at as usize + AT_ONCE, T::default());
        }
    }

    /// Resets the data of a flow that has ended.
    #[inline]
    pub(super) fn forget(&mut self, at: u32) {
        self.change(at, |it| *it = T::default());
    }

    /// Reads the data of this slot early: in a flood it is in no cache, and the processor can wait for it and for the
    /// flow at the same time.
    #[inline]
    pub(super) fn load(&self, at: u32) {
        std::hint::black_box(self.each.get(at as usize).cloned());
    }

    /// The data of the flow in this slot.
    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        self.each.get(at as usize)
    }

    /// Changes the data of the flow in this slot, if it is stored.
    #[inline]
    pub(super) fn change(&mut self, at: u32, change: impl FnOnce(&mut T)) {
        if let Some(it) = self.each.get_mut(at as usize) {
            let before = it.held();
            change(it);
            self.held = (self.held + it.held()).saturating_sub(before);
        }
    }

    /// Memory of all data in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.held + self.each.len() * size_of::<T>()
    }
}

/// The rules that flows have broken in their latest rounds: very few flows have.
#[derive(Default)]
pub(super) struct RoundsOfFlows {
    each: Map<u32, Rounds>,
    held: usize,
}

impl RoundsOfFlows {
    /// Takes out those of the flow in this slot.
    #[inline]
    pub(super) fn take(&mut self, at: u32) -> Rounds {
        if self.each.is_empty() {
            return Rounds::default();
        }
        let rounds = self.each.remove(&at).unwrap_or_default();
        self.held = self.held.saturating_sub(rounds.held());
        rounds
    }

    /// Sets those of the flow in this slot.
    #[inline]
    pub(super) fn set(&mut self, at: u32, rounds: Rounds) {
        if !rounds.is_empty() {
            self.held += rounds.held();
            self.each.insert(at, rounds);
        }
    }

    /// Memory of all of them in bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.held + self.each.capacity() * size_of::<(u32, Rounds)>()
    }
}
