//! Out-of-order bytes of one direction: ranges that never overlap, by position.
//!
//! Adjacent ranges are joined while they are small, so that tiny segments do not cost a range each;
//! large ones stay separate, so that joining never moves many bytes.

use std::collections::BTreeMap;

use super::buffered::{Buffered, Chunk};
use crate::net::packet::FrameRef;

/// Maximum length of a range that is extended at its end.
const FULL: usize = 64 << 10;
/// Maximum number of bytes and of pieces of a range that is extended at its beginning, which moves
/// all of it.
const SMALL: usize = 512;
const FEW: usize = 32;
/// Memory of the entry itself; the nodes of the map may be half empty, except for the first one,
/// which has room for eleven entries.
const RANGE_COST: usize = 2 * size_of::<(u64, Range)>() + 16;
const FIRST_COST: usize = 11 * size_of::<(u64, Range)>() + 32;

/// Bytes after a gap.
#[derive(Debug, Default)]
pub(super) struct Range {
    pub(super) kept: Buffered,
    /// Number of bytes after the last one that the snap length cut off.
    pub(super) cut: u64,
}

impl Range {
    fn cost(&self) -> usize {
        RANGE_COST + self.kept.cost()
    }
}

/// The result of storing a chunk.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// Number of bytes that were stored already, and compared.
    pub(super) repeated: usize,
    /// The first byte that differs from the stored copy, and that copy's frame.
    pub(super) differs: Option<(u64, u64)>,
    /// Where storing stopped because there was no room. Earlier bytes are stored.
    pub(super) full_at: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct OutOfOrder {
    ranges: BTreeMap<u64, Range>,
    /// Bytes of memory that the ranges take.
    cost: usize,
}

impl OutOfOrder {
    /// The cost of [`put_back`](Self::put_back) without the bytes.
    pub(super) const PUT_BACK_COST: usize = FIRST_COST + RANGE_COST;

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn cost(&self) -> usize {
        if self.is_empty() { 0 } else { FIRST_COST + self.cost }
    }

    /// Position and packet of the first byte.
    pub(super) fn first(&self) -> Option<(u64, FrameRef)> {
        let (&start, range) = self.ranges.first_key_value()?;
        Some((start, range.kept.chunk(start).at(start)))
    }

    /// The position after all bytes that were sent; 0 if there are none.
    pub(super) fn end(&self) -> u64 {
        self.ranges
            .last_key_value()
            .map_or(0, |(&start, range)| range.kept.chunk(start).end().saturating_add(range.cut))
    }

    /// Whether the first byte was recorded at or before a time.
    pub(super) fn waits_since(&self, time: i64) -> bool {
        self.ranges.first_key_value().is_some_and(|(&start, range)| {
            range.kept.chunk(start).origins.first().is_some_and(|origin| origin.time <= time)
        })
    }

    /// Removes the first range if it begins at or before a position.
    pub(super) fn take_first(&mut self, position: u64) -> Option<(u64, Range)> {
        let entry = self.ranges.first_entry()?;
        if *entry.key() > position {
            return None;
        }
        let (start, range) = entry.remove_entry();
        self.cost = self.cost.saturating_sub(range.cost());
        Some((start, range))
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        self.cost = 0;
    }

    /// Puts back bytes that were in order before the stream turned out to begin earlier. They
    /// precede all ranges.
    pub(super) fn put_back(&mut self, start: u64, kept: Buffered) {
        let range = Range { kept, cut: 0 };
        self.cost += range.cost();
        self.ranges.insert(start, range);
    }

    /// Stores the bytes of a chunk that are not stored yet.
    pub(super) fn store(&mut self, chunk: Chunk<'_>, cut: u64, room: usize, most: usize) -> Stored {
        let before = self.cost();
        let mut stored = Stored::default();
        let mut at = chunk.start;
        while at < chunk.end() {
            if let Some((&start, range)) = self.ranges.range(..=at).next_back() {
                let there = range.kept.chunk(start);
                if there.end() > at {
                    let (len, differs) = chunk.from(at).compare(&there);
                    stored.repeated += len;
                    let differs = differs.map(|position| (position, there.frame_at(position)));
                    stored.differs = stored.differs.or(differs);
                    at = there.end();
                    continue;
                }
            }
            let next = self.ranges.range(at..).next().map(|(&start, _)| start);
            let part = chunk.from(at).until(next.unwrap_or(u64::MAX));
            let room = room.saturating_sub(self.cost().saturating_sub(before));
            if !self.add(part, room, most) {
                stored.full_at = Some(at);
                return stored;
            }
            at = part.end();
        }
        self.mark_cut(&chunk, cut);
        stored
    }

    /// Adds bytes that no range holds.
    fn add(&mut self, part: Chunk<'_>, room: usize, most: usize) -> bool {
        if let Some((&start, range)) = self.ranges.range_mut(..part.start).next_back() {
            let touches = range.kept.chunk(start).end() == part.start;
            if touches && range.cut == 0 && range.kept.len() + part.bytes.len() <= FULL {
                let before = range.cost();
                let added = range.kept.append(part, room);
                self.cost = self.cost - before + range.cost();
                return added;
            }
        }
        let small = |range: &Range| range.kept.len() <= SMALL && range.kept.pieces() <= FEW;
        if part.bytes.len() <= SMALL && self.ranges.get(&part.end()).is_some_and(small) {
            return self.add_before(part, room);
        }
        let cost = if self.is_empty() { FIRST_COST + RANGE_COST } else { RANGE_COST };
        let Some(room) = room.checked_sub(cost) else { return false };
        let mut range = Range::default();
        if self.ranges.len() >= most || !range.kept.append(part, room) {
            return false;
        }
        self.cost += range.cost();
        self.ranges.insert(part.start, range);
        true
    }

    /// Adds bytes at the beginning of the range that follows them.
    fn add_before(&mut self, part: Chunk<'_>, room: usize) -> bool {
        let Some(mut range) = self.ranges.remove(&part.end()) else { return false };
        self.cost -= range.cost();
        let added = range.kept.prepend(part, room);
        self.cost += range.cost();
        self.ranges.insert(if added { part.start } else { part.end() }, range);
        added
    }

    fn mark_cut(&mut self, chunk: &Chunk<'_>, cut: u64) {
        if cut == 0 || chunk.bytes.is_empty() {
            return;
        }
        if let Some((&start, range)) = self.ranges.range_mut(..chunk.end()).next_back()
            && range.kept.chunk(start).end() == chunk.end()
        {
            range.cut = range.cut.max(cut);
        }
    }
}
