//! What a direction keeps, and how it forgets.

use crate::net::packet::FrameRef;
use crate::net::tcp::GapCause;
use crate::net::tcp::budget::StreamBudget;
use crate::net::tcp::buffered::Buffered;
use crate::net::tcp::out_of_order::OutOfOrder;

/// How long a hole is waited for, in nanoseconds, if nobody is there to acknowledge it, or more is
/// acknowledged than was seen.
pub(super) const WAIT: i64 = 3_000_000_000;
/// How much of what was used up is remembered to compare repeats with, in bytes and pieces.
pub(super) const HISTORY: usize = 2048;
const HISTORY_PIECES: usize = 64;

/// What a direction keeps.
#[derive(Debug, Default)]
pub(super) struct HeldBytes {
    /// Consumed bytes (for comparison), then unread ones, up to `Stream::next`.
    pub(super) buffer: Buffered,
    /// How many bytes of the buffer are consumed.
    pub(super) read: usize,
    /// How many of the unread bytes the reader has been shown.
    pub(super) shown: usize,
    /// How many bytes are missing before the first unread one.
    pub(super) missing: u64,
    /// A gap that only grew since it was reported; said when there is more to say.
    pub(super) growth: Option<Growth>,
    /// The reader lets what is unread wait.
    pub(super) later: bool,
    /// Missing bytes that are not waited for any more; but what is unread before them waits.
    pub(super) jump: Option<Jump>,
    pub(super) ahead: OutOfOrder,
    /// Position and packet of a FIN that is not reached yet.
    pub(super) fin: Option<(u64, FrameRef)>,
    /// Position up to which the stream is said to exist, and the packet that says so.
    pub(super) acked: (u64, FrameRef),
    /// For how long an acknowledged hole has been waited for.
    pub(super) wait: Option<GapWait>,
    pub(super) rewinds: u8,
    /// What the budget believes that this takes.
    pub(super) charged: usize,
}

/// Where to go on after missing bytes, and what shows that they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) to: u64,
    pub(super) cause: GapCause,
    pub(super) witness: FrameRef,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) sequence: u32,
    pub(super) missing: u64,
    pub(super) cause: GapCause,
    pub(super) witness: FrameRef,
}

/// How the wait for the bytes of a hole goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct GapWait {
    /// Where the hole begins: what comes there begins another wait.
    at: u64,
    since: i64,
    /// How many more segments of the connection are waited for.
    patience: u8,
}

impl HeldBytes {
    /// Bytes of memory that it takes itself, beside what is charged: an allocator gives out blocks of
    /// sixteen bytes and keeps eight of them, for this and for the two lists of the buffer.
    pub(super) const OWN: usize = size_of::<HeldBytes>() + 3 * 24;

    /// Up to where the direction has shown itself that it reaches, a FIN included.
    pub(super) fn end(&self, next: u64) -> u64 {
        let fin = self.fin.map_or(0, |(position, _)| position.saturating_add(1));
        next.max(self.ahead.end()).max(fin)
    }

    /// Whether an acknowledged hole at the expected position has been waited for long enough, as
    /// seen at a segment of the connection.
    ///
    /// Segments are counted once the direction has come as far as it is acknowledged. Before that,
    /// the acknowledgments may have been recorded ahead of what they acknowledge, by any number of
    /// segments: time tells.
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

    /// Takes the buffer away; its memory is the caller's to drop.
    pub(super) fn take_buffer(&mut self) -> (Buffered, usize, usize) {
        let buffer = std::mem::take(&mut self.buffer);
        (buffer, std::mem::take(&mut self.read), std::mem::take(&mut self.shown))
    }

    /// Forgets consumed bytes once they outweigh what would have to be moved.
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
