//! Counts of messages for listings of flows.

use crate::flows::FlowDetail;

/// The counts of a flow's messages since `flow_context`.
#[derive(Default)]
pub(super) struct ListedCounts {
    /// Messages of each end.
    pub(super) messages: [u32; 2],
    /// Response times in nanoseconds.
    pub(super) times: Vec<u64>,
}

impl ListedCounts {
    /// Resets all counts.
    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.messages = [0; 2];
    }

    /// Adds it to what is known of the flow.
    pub(super) fn add_to(&mut self, detail: &mut FlowDetail) {
        for (all, more) in detail.messages.iter_mut().zip(self.messages) {
            *all = all.saturating_add(more);
        }
        self.times.drain(..).for_each(|time| detail.response(time));
    }
}
