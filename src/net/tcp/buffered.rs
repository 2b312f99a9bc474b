//! Bytes of a stream together with where each of them was recorded: borrowed as a [`Chunk`], or
//! stored as [`Buffered`].
//!
//! Positions are sequence numbers unwrapped to 64 bits: the lower 32 bits are the sequence number.

use dissectors::kit::Piece;

use crate::net::packet::FrameRef;

/// The origin of bytes from a position up to the next origin's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) start: u64,
    pub(super) frame: u64,
    pub(super) time: i64,
    pub(super) offset: u32,
    /// What its segment acknowledges.
    pub(super) acknowledgment: u32,
}

impl Origin {
    /// The origin of a piece of what begins at a position.
    pub(super) fn of(piece: &Piece, start: u64, time: i64, acknowledgment: u32) -> Self {
        let start = start.saturating_add(piece.at.into());
        Self { start, frame: piece.frame, time, offset: piece.offset, acknowledgment }
    }

    /// The same origin for bytes that begin later.
    pub(super) fn from(self, position: u64) -> Self {
        let ahead = position.saturating_sub(self.start);
        let offset = self.offset.saturating_add(u32::try_from(ahead).unwrap_or(u32::MAX));
        Self { start: self.start.max(position), offset, ..self }
    }
}

/// Borrowed bytes of a stream. The first origin may begin before them, the last ones after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a> {
    pub(super) start: u64,
    pub(super) bytes: &'a [u8],
    pub(super) origins: &'a [Origin],
}

impl<'a> Chunk<'a> {
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// The bytes from a position on.
    pub(super) fn from(&self, position: u64) -> Self {
        let skipped = clamp(position.saturating_sub(self.start), self.bytes.len());
        Self {
            start: self.start.saturating_add(skipped as u64),
            bytes: self.bytes.get(skipped..).unwrap_or_default(),
            origins: self.origins,
        }
    }

    /// The bytes before a position.
    pub(super) fn until(&self, position: u64) -> Self {
        let len = clamp(position.saturating_sub(self.start), self.bytes.len());
        Self { bytes: self.bytes.get(..len).unwrap_or_default(), ..*self }
    }

    /// The origins of exactly these bytes; the first may begin before them.
    pub(super) fn own_origins(&self) -> &'a [Origin] {
        let first = self.origins.partition_point(|o| o.start <= self.start).saturating_sub(1);
        let end = self.end();
        let rest = self.origins.get(first..).unwrap_or_default();
        rest.get(..rest.partition_point(|o| o.start < end)).unwrap_or_default()
    }

    /// The frame that holds the byte at a position.
    pub(super) fn frame_at(&self, position: u64) -> u64 {
        self.at(position).frame
    }

    /// The same, and when it was recorded.
    pub(super) fn at(&self, position: u64) -> FrameRef {
        let index = self.origins.partition_point(|o| o.start <= position).saturating_sub(1);
        self.origins
            .get(index)
            .map_or_else(FrameRef::default, |&Origin { frame, time, .. }| FrameRef { frame, time })
    }

    /// Compares the bytes that both have: returns their number, and the position of the first
    /// difference.
    pub(super) fn compare(&self, other: &Chunk<'_>) -> (usize, Option<u64>) {
        let start = self.start.max(other.start);
        let end = self.end().min(other.end());
        let (ours, theirs) =
            (self.from(start).until(end).bytes, other.from(start).until(end).bytes);
        if ours == theirs {
            return (ours.len(), None);
        }
        let same = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        (ours.len(), Some(start.saturating_add(same as u64)))
    }
}

/// Stored bytes of a stream without a gap.
#[derive(Debug, Default)]
pub(super) struct Buffered {
    bytes: Vec<u8>,
    origins: Vec<Origin>,
}

impl Buffered {
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn pieces(&self) -> usize {
        self.origins.len()
    }

    /// Bytes of memory taken.
    pub(super) fn cost(&self) -> usize {
        self.bytes.capacity() + self.origins.capacity() * size_of::<Origin>()
    }

    pub(super) fn chunk(&self, start: u64) -> Chunk<'_> {
        Chunk { start, bytes: &self.bytes, origins: &self.origins }
    }

    /// Adds the bytes that follow its last; false, and nothing is changed but the capacity, if that
    /// would take more than `room` bytes of memory.
    pub(super) fn append(&mut self, chunk: Chunk<'_>, mut room: usize) -> bool {
        let origins = chunk.own_origins();
        if !make_room(&mut self.bytes, chunk.bytes.len(), &mut room)
            || !make_room(&mut self.origins, origins.len(), &mut room)
        {
            return false;
        }
        self.bytes.extend_from_slice(chunk.bytes);
        self.origins.extend(origins.iter().map(|origin| origin.from(chunk.start)));
        true
    }

    /// Adds the bytes that precede its first, as [`append`](Self::append) does. Moves all it holds.
    pub(super) fn prepend(&mut self, chunk: Chunk<'_>, mut room: usize) -> bool {
        let origins = chunk.own_origins();
        if !make_room(&mut self.bytes, chunk.bytes.len(), &mut room)
            || !make_room(&mut self.origins, origins.len(), &mut room)
        {
            return false;
        }
        self.bytes.splice(..0, chunk.bytes.iter().copied());
        self.origins.splice(..0, origins.iter().map(|origin| origin.from(chunk.start)));
        true
    }

    /// Drops the first bytes; `position` is that of the first byte that stays. Moves all that stays.
    pub(super) fn drop_front(&mut self, count: usize, position: u64) {
        self.bytes.drain(..count.min(self.bytes.len()));
        let gone = if self.bytes.is_empty() {
            self.origins.len()
        } else {
            self.origins.partition_point(|o| o.start <= position).saturating_sub(1)
        };
        self.origins.drain(..gone);
        if let Some(first) = self.origins.first_mut() {
            *first = first.from(position);
        }
        shrink(&mut self.bytes);
        shrink(&mut self.origins);
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.origins.clear();
        shrink(&mut self.bytes);
        shrink(&mut self.origins);
    }
}

/// Grows by at least a quarter, so that appending moves each byte a bounded number of times; by
/// more if there is plenty of room.
fn make_room<T>(list: &mut Vec<T>, more: usize, room: &mut usize) -> bool {
    /// The fraction of the room that may be used generously.
    const PLENTY: usize = 64;
    let (len, capacity) = (list.len(), list.capacity());
    let needed = len.saturating_add(more);
    if needed <= capacity {
        return true;
    }
    let much = capacity.saturating_mul(4);
    let (some, least) = (capacity.saturating_mul(2), capacity.saturating_add(capacity / 4));
    for (target, room_for) in [(much, *room / PLENTY), (some, *room), (least, *room)] {
        let target = target.max(needed);
        let cost = target.saturating_sub(capacity).saturating_mul(size_of::<T>());
        if cost <= room_for {
            list.reserve_exact(target - len);
            *room -= cost;
            return true;
        }
    }
    false
}

/// Frees memory once three quarters are unused.
fn shrink<T>(list: &mut Vec<T>) {
    const IDLE: usize = 8192;
    let wanted = list.len().saturating_mul(4).saturating_add(IDLE / size_of::<T>().max(1));
    if list.capacity() > wanted {
        list.shrink_to(list.len().saturating_mul(2));
    }
}

fn clamp(distance: u64, len: usize) -> usize {
    usize::try_from(distance).unwrap_or(usize::MAX).min(len)
}
