//! What all connections of one table share: the limits, how much memory is taken, and counts of
//! what was passed over without an event.

use super::StreamLimit;

/// How much may be kept, and how long a hole is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Bytes of memory that one direction of one connection may take, bookkeeping included.
    pub stream: usize,
    /// Separate ranges of out-of-order bytes in one direction.
    pub ranges: usize,
    /// Bytes of memory that all connections together may take, bookkeeping included. Not counted
    /// is the fixed size of a connection: 48 bytes, and what
    /// [`Connection::uncharged`](super::Connection::uncharged) tells once something waits there.
    pub total: usize,
    /// How many further segments of the connection an acknowledged hole is waited for, once its
    /// direction has come as far as it is acknowledged.
    pub patience: u8,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { stream: 1 << 20, ranges: 4096, total: 128 << 20, patience: 8 }
    }
}

/// How often something was passed over that deserves no event, over all connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Payload bytes that had been seen before and were compared with the first copy.
    pub repeated: u64,
    /// Payload bytes before the expected ones that could not be compared with a first copy: no
    /// longer held, or belonging to a hole already given up.
    pub uncompared: u64,
    /// Segments that look like a keep-alive: no or one byte, one before the expected one.
    pub keep_alives: u64,
    /// Segments (a RST included) too far from what is expected.
    pub out_of_window: u64,
    /// Segments with payload after the end of their direction.
    pub after_end: u64,
}

/// The memory shared by all connections of one table, and its limits.
///
/// Every connection must be handed to the same budget again and again, and to
/// [`finish`](super::Connection::finish) at last, which gives back what it took.
#[derive(Debug)]
pub struct StreamBudget {
    /// What was passed over so far.
    pub counts: StreamCounts,
    limits: StreamLimits,
    used: usize,
}

impl StreamBudget {
    /// An untouched budget.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        Self { counts: StreamCounts::default(), limits, used: 0 }
    }

    /// The limits it was made with.
    #[must_use]
    pub fn limits(&self) -> &StreamLimits {
        &self.limits
    }

    /// Bytes of memory taken at the moment; never more than [`StreamLimits::total`].
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// How much a direction that has taken `taken` bytes may still take.
    pub(super) fn room(&self, taken: usize) -> usize {
        let stream = self.limits.stream.saturating_sub(taken);
        stream.min(self.limits.total.saturating_sub(self.used))
    }

    /// Which of the two memory limits leaves the direction less room.
    pub(super) fn tighter(&self, taken: usize) -> StreamLimit {
        let total = self.limits.total.saturating_sub(self.used);
        if total < self.limits.stream.saturating_sub(taken) {
            StreamLimit::Total
        } else {
            StreamLimit::Stream
        }
    }

    /// Whether bytes already used up may be remembered: bytes that wait go first.
    pub(super) fn spares_memory(&self) -> bool {
        self.used < self.limits.total / 2
    }

    pub(super) fn exchange(&mut self, before: usize, after: usize) {
        self.used = self.used.saturating_sub(before).saturating_add(after);
    }
}
