//! What all connections of one table share: the limits, the memory in use, and counts of ignored
//! segments.

use super::StreamLimit;

/// Limit: pieces of one stream that are out of order | {} | NET011
const RANGES: usize = 4096;

/// The limits of buffering and of waiting for gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Maximum memory of one direction of one connection in bytes, with bookkeeping.
    pub stream: usize,
    /// Separate ranges of out-of-order bytes in one direction.
    pub ranges: usize,
    /// Maximum memory of all connections together in bytes, with bookkeeping. The fixed size of a
    /// connection is not counted: 64 bytes, and
    /// [`Connection::uncharged`](super::Connection::uncharged) once something is buffered.
    pub total: usize,
    /// The number of further segments of the connection that are waited for after a gap was
    /// acknowledged, once its direction has reached the acknowledged position.
    pub patience: u8,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { stream: 1 << 20, ranges: RANGES, total: 128 << 20, patience: 8 }
    }
}

/// Counts of segments that are ignored without an event, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Payload bytes that repeated earlier ones and were compared with the first copy.
    pub repeated: u64,
    /// Payload bytes before the expected ones that could not be compared with a first copy: no
    /// longer held, or from a gap that was skipped.
    pub uncompared: u64,
    /// Segments that look like a keep-alive: at most one byte, at the position before the expected
    /// one.
    pub keep_alives: u64,
    /// Segments (a RST included) too far from what is expected.
    pub out_of_window: u64,
    /// Segments with payload after the end of their direction.
    pub after_end: u64,
}

/// The memory of all connections of one table, and its limits.
///
/// Every connection must be passed the same budget in all calls, and finally to
/// [`finish`](super::Connection::finish), which returns its memory.
#[derive(Debug)]
pub struct StreamBudget {
    /// The counts so far.
    pub counts: StreamCounts,
    limits: StreamLimits,
    used: usize,
}

impl StreamBudget {
    /// An unused budget.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        Self { counts: StreamCounts::default(), limits, used: 0 }
    }

    /// The limits it was made with.
    #[must_use]
    pub fn limits(&self) -> &StreamLimits {
        &self.limits
    }

    /// Bytes of memory in use; never more than [`StreamLimits::total`].
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// How much a direction that has taken `taken` bytes may still take.
    pub(super) fn room(&self, taken: usize) -> usize {
        let stream = self.limits.stream.saturating_sub(taken);
        stream.min(self.limits.total.saturating_sub(self.used))
    }

    /// The memory limit that leaves the direction less room.
    pub(super) fn tighter(&self, taken: usize) -> StreamLimit {
        let total = self.limits.total.saturating_sub(self.used);
        if total < self.limits.stream.saturating_sub(taken) {
            StreamLimit::Total
        } else {
            StreamLimit::Stream
        }
    }

    /// Whether consumed bytes may be kept: unread bytes have priority.
    pub(super) fn spares_memory(&self) -> bool {
        self.used < self.limits.total / 2
    }

    pub(super) fn exchange(&mut self, before: usize, after: usize) {
        self.used = self.used.saturating_sub(before).saturating_add(after);
    }
}
