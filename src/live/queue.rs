//! The queue from the thread that takes packets from the device to the one that reads them. When it
//! is full, packets are dropped and counted: the writer never waits.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::device::Stats;

/// The position of a packet in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuedEntry {
    /// Nanoseconds since 1970.
    pub(super) time: i64,
    /// Its length on the wire.
    pub(super) length: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Packets in the order of capture.
#[derive(Default)]
pub(super) struct QueuedBatch {
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<QueuedEntry>,
}

impl QueuedBatch {
    /// Memory that a packet takes in addition to its bytes.
    const COST: usize = size_of::<QueuedEntry>();

    fn cost(&self) -> usize {
        self.bytes.len() + self.entries.len() * QueuedBatch::COST
    }

    fn clear(&mut self) {
        // Release the memory of a burst.
        if self.bytes.capacity() > 1 << 20 {
            *self = QueuedBatch::default();
        }
        self.bytes.clear();
        self.entries.clear();
    }
}

/// Counters of a live capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Packets that were delivered.
    pub captured: u64,
    /// Packets that the kernel dropped.
    pub dropped: u64,
    /// Packets that the interface dropped.
    pub dropped_by_interface: u64,
    /// Packets that did not fit into the queue.
    pub missed: u64,
    /// How often the interface went down.
    pub downs: u64,
}

impl QueueCounts {
    /// All lost packets.
    pub fn lost(&self) -> u64 {
        self.dropped + self.dropped_by_interface + self.missed
    }

    /// Adds the device's counters, whose 32 bits may have overflowed since the last time.
    fn take(&mut self, before: Stats, now: Stats) {
        let more = |now: u32, before: u32| u64::from(now.wrapping_sub(before));
        self.dropped += more(now.dropped, before.dropped);
        self.dropped_by_interface += more(now.dropped_by_interface, before.dropped_by_interface);
    }
}

#[derive(Default)]
struct QueueState {
    batch: QueuedBatch,
    counts: QueueCounts,
    stats: Stats,
    /// The reading thread has ended, perhaps because of this.
    ended: Option<Option<String>>,
}

/// A bounded queue for one writer and one reader.
pub(super) struct PacketQueue {
    state: Mutex<QueueState>,
    filled: Condvar,
    /// Capacity in bytes.
    most: usize,
}

impl PacketQueue {
    pub(super) fn new(most: usize) -> PacketQueue {
        PacketQueue { state: Mutex::default(), filled: Condvar::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        // The lock is never poisoned: nothing that could panic runs while it is held.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a packet, unless the queue is full.
    pub(super) fn push(&self, time: i64, length: u32, data: &[u8]) {
        let mut state = self.state();
        if state.batch.cost() + data.len() + QueuedBatch::COST > self.most {
            state.counts.missed += 1;
            return;
        }
        let start = state.batch.bytes.len();
        state.batch.bytes.extend_from_slice(data);
        let end = state.batch.bytes.len();
        state.batch.entries.push(QueuedEntry { time, length, start, end });
        state.counts.captured += 1;
        if state.batch.entries.len() == 1 {
            self.filled.notify_one();
        }
    }

    /// Adds the device's counters.
    pub(super) fn stats(&self, now: Stats) {
        let mut state = self.state();
        let before = std::mem::replace(&mut state.stats, now);
        state.counts.take(before, now);
    }

    /// The interface was down for a while.
    pub(super) fn went_down(&self) {
        self.state().counts.downs += 1;
    }

    /// There are no more packets, perhaps because of this error.
    pub(super) fn end(&self, why: Option<String>) {
        self.state().ended.get_or_insert(why);
        self.filled.notify_one();
    }

    /// Moves the queue's packets into `batch`; waits up to `wait` for the first one. `Err`: there will
    /// be no more.
    pub(super) fn take(
        &self,
        batch: &mut QueuedBatch,
        wait: Duration,
    ) -> Result<(), Option<String>> {
        batch.clear();
        let mut state = self.state();
        if state.batch.entries.is_empty() && state.ended.is_none() {
            state = match self.filled.wait_timeout(state, wait) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        std::mem::swap(batch, &mut state.batch);
        match &state.ended {
            Some(why) if batch.entries.is_empty() => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// The number of packets in the queue.
    pub(super) fn waiting(&self) -> u64 {
        self.state().batch.entries.len() as u64
    }

    /// The counters so far.
    pub(super) fn counts(&self) -> QueueCounts {
        self.state().counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn packets_keep_their_order() {
        let queue = PacketQueue::new(1 << 20);
        queue.push(1, 60, b"abc");
        queue.push(2, 3, b"def");
        let mut batch = QueuedBatch::default();
        assert_eq!(queue.take(&mut batch, NOW), Ok(()));
        let packets =
            batch.entries.iter().map(|e| (e.time, e.length, &batch.bytes[e.start..e.end]));
        let packets: Vec<_> = packets.collect();
        assert_eq!(packets, [(1, 60, &b"abc"[..]), (2, 3, b"def")]);
        assert_eq!(queue.take(&mut batch, NOW), Ok(()));
        assert!(batch.entries.is_empty());
    }

    #[test]
    fn packets_beyond_the_capacity_are_counted() {
        let queue = PacketQueue::new(1000);
        for _ in 0..50 {
            queue.push(0, 100, &[0; 100]);
        }
        let counts = queue.counts();
        assert_eq!(counts.captured + counts.missed, 50);
        assert!(counts.captured > 0 && counts.missed > 0, "{counts:?}");
        let mut batch = QueuedBatch::default();
        assert_eq!(queue.take(&mut batch, NOW), Ok(()));
        queue.push(0, 100, &[0; 100]);
        assert_eq!(queue.counts().captured, counts.captured + 1);
    }

    #[test]
    fn the_end_is_reported_after_the_last_packet() {
        let queue = PacketQueue::new(1000);
        queue.push(0, 1, b"a");
        queue.end(Some("the interface went away".to_owned()));
        let mut batch = QueuedBatch::default();
        assert_eq!(queue.take(&mut batch, NOW), Ok(()));
        assert_eq!(batch.entries.len(), 1);
        assert_eq!(queue.take(&mut batch, NOW), Err(Some("the interface went away".to_owned())));
    }

    #[test]
    fn counters_of_32_bits_may_overflow() {
        let queue = PacketQueue::new(0);
        queue.stats(Stats { received: 0, dropped: u32::MAX, dropped_by_interface: 1 });
        queue.stats(Stats { received: 9, dropped: 4, dropped_by_interface: 1 });
        let counts = queue.counts();
        assert_eq!(counts.dropped, u64::from(u32::MAX) + 5);
        assert_eq!((counts.dropped_by_interface, counts.lost()), (1, counts.dropped + 1));
    }
}
