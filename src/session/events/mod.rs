//! What a session yields: events, in the order of the capture, and the batch that holds them.

mod batch;
mod datagram_event;
mod event_order;
mod fields;
mod files;
mod flow_context;
mod icmp_event;
mod listed;
mod unanswered_request;

pub(super) use batch::StoredParts;
pub use batch::{Batch, CheckedEvent, Event, MessageEvent};
pub use datagram_event::{DatagramEvent, DatagramHeaders};
pub use dissectors::ledger::CrossFlow;
pub use event_order::{EventOrder, Numbers};
pub(super) use files::{Change, MOST_FILES};
pub use files::{FileEvent, FilePlace, Files};
pub use flow_context::FlowContext;
pub(super) use flow_context::NOWHERE;
pub use icmp_event::IcmpEvent;
pub use listed::ListedServers;
pub use unanswered_request::UnansweredRequest;

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
