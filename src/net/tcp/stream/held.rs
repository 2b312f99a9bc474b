//! The stored bytes of a direction.

use super::other_syn::OtherSyn;
use crate::net::packet::FrameRef;
use crate::net::tcp::GapCause;
use crate::net::tcp::budget::StreamBudget;
use crate::net::tcp::buffered::Buffered;
use crate::net::tcp::out_of_order::OutOfOrder;

/// How long to wait for a gap, in nanoseconds, if the other side is not recorded, or has
/// acknowledged more than was seen.
pub(super) const WAIT: i64 = 3_000_000_000;
/// How many consumed bytes and pieces are kept to compare repeats with.
pub(super) const HISTORY: usize = 2048;
const HISTORY_PIECES: usize = 64;

/// The stored state of a direction.
#[derive(Debug, Default)]
pub(super) struct HeldBytes {
    /// Consumed bytes (for comparison), then unread ones, up to `Stream::next`.
    pub(super) buffer: Buffered,
    /// How many bytes of the buffer are consumed.
    pub(super) read: usize,
    /// How many of the unread bytes the reader has seen.
    pub(super) shown: usize,
    /// How many bytes are missing before the first unread one.
    pub(super) missing: u64,
    /// A gap that only grew since it was reported; reported with the next event.
    pub(super) growth: Option<Growth>,
    /// The reader left the unread bytes for later.
    pub(super) later: bool,
    /// A gap that was given up; but unread bytes before it are waiting.
    pub(super) jump: Option<Jump>,
    pub(super) ahead: OutOfOrder,
    /// Position and packet of a FIN that is not reached yet.
    pub(super) fin: Option<(u64, FrameRef)>,
    /// The acknowledged end of the stream, and the packet that acknowledges it.
    pub(super) acked: (u64, FrameRef),
    /// The wait for an acknowledged gap.
    pub(super) wait: Option<GapWait>,
    pub(super) rewinds: u8,
    /// A SYN that may begin another connection.
    pub(super) other_syn: Option<OtherSyn>,
    /// The memory charged to the budget.
    pub(super) charged: usize,
}

/// Where to continue after missing bytes, and the packet that shows they are missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) to: u64,
    pub(super) cause: GapCause,
    pub(super) basis: FrameRef,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) sequence: u32,
    pub(super) missing: u64,
    pub(super) cause: GapCause,
    pub(super) basis: FrameRef,
}

/// The progress of waiting for the bytes of a gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapWait {
    /// The start of the gap: if it changes, another wait begins.
    at: u64,
    since: i64,
    /// How many more segments of the connection to wait for.
    patience: u8,
}

impl HeldBytes {
    /// The memory of the struct itself, not charged: an allocator returns blocks of sixteen bytes
    /// and uses eight of them, for this and for the two lists of the buffer.
    pub(super) const OWN: usize = size_of::<HeldBytes>() + 3 * 24;

    /// The end of the direction's own bytes, with a FIN.
    pub(super) fn end(&self, next: u64) -> u64 {
        let fin = self.fin.map_or(0, |(position, _)| position.saturating_add(1));
        next.max(self.ahead.end()).max(fin)
    }

    /// Whether the wait for an acknowledged gap at the expected position is over, checked at a
    /// segment of the connection.
    ///
    /// Segments are counted once the direction has reached the acknowledged position. Before that,
    /// the acknowledgments may have been recorded ahead of the bytes, by any number of segments, so
    /// that time decides.
    pub(super) fn is_overdue(&mut self, next: u64, now: i64, patience: u8) -> bool {
        let may_be_early = self.acked.0 > self.end(next);
        let begun = self.wait.filter(|wait| wait.at == next);
        let wait = self.wait.insert(begun.unwrap_or(GapWait { at: next, since: now, patience }));
        if may_be_early {
            let long_ago = now.saturating_sub(WAIT);
            return self.ahead.waits_since(long_ago)
                || self.ahead.is_empty() && wait.since <= long_ago;
        }
        let is_overdue = wait.patience == 0;
        wait.patience = wait.patience.saturating_sub(1);
        is_overdue
    }

    pub(super) fn unread(&self) -> usize {
        self.buffer.len().saturating_sub(self.read)
    }

    pub(super) fn settle(&mut self, budget: &mut StreamBudget) {
        let cost = self.buffer.cost() + self.ahead.cost();
        budget.exchange(self.charged, cost);
        self.charged = cost;
    }

    pub(super) fn clear_buffer(&mut self) {
        self.buffer.clear();
        (self.read, self.shown) = (0, 0);
    }

    /// Takes the buffer; the caller drops its memory.
    pub(super) fn take_buffer(&mut self) -> Buffered {
        (self.read, self.shown) = (0, 0);
        std::mem::take(&mut self.buffer)
    }

    /// Drops consumed bytes once there are more of them than bytes to move.
    pub(super) fn compact(&mut self, next: u64, budget: &StreamBudget) {
        let start = next.saturating_sub(self.buffer.len() as u64);
        if self.unread() == 0 && !budget.spares_memory() {
            self.buffer = Buffered::default();
            self.read = 0;
            return;
        }
        let by_bytes = self.read > HISTORY + self.unread().max(HISTORY);
        if !by_bytes && self.buffer.pieces() <= 2 * HISTORY_PIECES {
            return;
        }
        let chunk = self.buffer.chunk(start);
        let unread_from = start.saturating_add(self.read as u64);
        let old = chunk.until(unread_from).own_origins();
        let unread_pieces = chunk.origins.len().saturating_sub(old.len());
        let by_pieces = old.len() > HISTORY_PIECES + unread_pieces.max(HISTORY_PIECES);
        if !by_bytes && !by_pieces {
            return;
        }
        let mut from = unread_from.saturating_sub(HISTORY as u64).max(start);
        if let Some(origin) = old.get(old.len().saturating_sub(HISTORY_PIECES)) {
            from = from.max(origin.start);
        }
        let count = (from.saturating_sub(start) as usize).min(self.read);
        self.buffer.drop_front(count, start.saturating_add(count as u64));
        self.read -= count;
    }
}
