//! Slots with stable numbers, and queues that run through them: each entry stands in the queue of
//! all datagrams and in that of its source, and leaves both from any place in constant time.
//!
//! Knows numbers and links, not what the entries are about.

#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "slot numbers are made here, and none outlives its entry; no outside bytes are involved"
)]

use super::Entry;

/// A queue that entries stand in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    All,
    Source,
}

impl Lane {
    pub(super) const COUNT: usize = 2;
}

/// An entry's neighbours in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    older: Option<u32>,
    newer: Option<u32>,
}

/// Entries in the order they were pushed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    oldest: Option<u32>,
    newest: Option<u32>,
}

impl Queue {
    pub(super) fn oldest(&self) -> Option<u32> {
        self.oldest
    }

    pub(super) fn push(&mut self, lane: Lane, slots: &mut Slots<Entry>, index: u32) {
        let lane = lane as usize;
        slots.at_mut(index).links[lane] = Links { older: self.newest, newer: None };
        match self.newest {
            Some(newest) => slots.at_mut(newest).links[lane].newer = Some(index),
            None => self.oldest = Some(index),
        }
        self.newest = Some(index);
    }

    pub(super) fn remove(&mut self, lane: Lane, slots: &mut Slots<Entry>, index: u32) {
        let lane = lane as usize;
        let Links { older, newer } = slots.at(index).links[lane];
        match older {
            Some(older) => slots.at_mut(older).links[lane].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => slots.at_mut(newer).links[lane].older = older,
            None => self.newest = older,
        }
    }
}

/// A vector whose places are used again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(value);
            return index;
        }
        self.slots.push(Some(value));
        u32::try_from(self.slots.len() - 1).expect("the memory limit allows far fewer entries")
    }

    pub(super) fn at(&self, index: u32) -> &T {
        self.slots[index as usize].as_ref().expect("slot numbers do not outlive their entries")
    }

    pub(super) fn at_mut(&mut self, index: u32) -> &mut T {
        self.slots[index as usize].as_mut().expect("slot numbers do not outlive their entries")
    }

    pub(super) fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.slots[index as usize].take().expect("slot numbers do not outlive their entries")
    }
}
