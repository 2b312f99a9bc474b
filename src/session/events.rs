//! Reads a batch event by event.

use super::batch::{Batch, Event};

/// The events of a batch in order; dropping this removes them.
pub struct Events<'d> {
    batch: &'d mut Batch,
    at: usize,
}

impl<'d> Events<'d> {
    pub(super) fn new(batch: &'d mut Batch) -> Events<'d> {
        Events { batch, at: 0 }
    }

    /// The next event. It borrows from the batch, so that this is not an `Iterator`.
    #[allow(clippy::should_implement_trait, reason = "an event borrows from what is iterated over")]
    #[inline]
    pub fn next(&mut self) -> Option<Event<'_>> {
        self.at += 1;
        self.batch.event(self.at - 1)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        self.batch.clear();
    }
}
