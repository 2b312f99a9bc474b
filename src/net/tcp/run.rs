//! What a reader is shown: unread bytes in order, and where they were recorded.

use std::ops::Range;

use super::End;
use super::buffered::{Chunk, Origin};

/// All unread bytes of one direction, in order and without a hole.
#[derive(Debug)]
pub struct Run<'a> {
    pub(super) chunk: Chunk<'a>,
    pub(super) seen: usize,
    pub(super) missing_before: u64,
    pub(super) end: Option<End>,
    pub(super) fin_time: Option<i64>,
    pub(super) began: bool,
    pub(super) other: Unshown,
    /// More bytes follow that are not shown yet.
    pub(super) held_back: bool,
}

/// What the reader has not been shown of the other direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unshown {
    /// Bytes are known to be missing.
    pub(super) has_hole: bool,
    /// The sequence number of the first byte that was not shown, if there are any.
    pub(super) from: Option<u32>,
}

impl Unshown {
    fn is_answered_by(&self, origin: &Origin) -> bool {
        self.from.is_some_and(|from| origin.acknowledgment.wrapping_sub(from) as i32 > 0)
    }
}

/// Bytes of a run that lie side by side in one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which bytes of the run.
    pub bytes: Range<usize>,
    /// The packet's number in the capture.
    pub frame: u64,
    /// The packet's capture time in nanoseconds.
    pub time: i64,
    /// Where in the packet's data the first of them is.
    pub offset: u32,
}

impl<'a> Run<'a> {
    /// The unread bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.chunk.bytes
    }

    /// How many of them the reader was shown before: a search for a delimiter may go on there.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// How many bytes are missing right before the first unread one, because they are not in the
    /// capture or were dropped at a limit; 0 if it follows the byte that was consumed last, or is
    /// the first of all.
    #[must_use]
    pub fn missing_before(&self) -> u64 {
        self.missing_before
    }

    /// Whether bytes are missing right before the first unread one.
    #[must_use]
    pub fn after_gap(&self) -> bool {
        self.missing_before > 0
    }

    /// Set if nothing will ever be added to these bytes; what is not consumed now is dropped.
    #[must_use]
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// When a FIN was recorded that had to wait for bytes before it, in nanoseconds.
    #[must_use]
    pub fn fin_time(&self) -> Option<i64> {
        self.fin_time
    }

    /// Whether the direction's SYN is in the capture.
    #[must_use]
    pub fn began(&self) -> bool {
        self.began
    }

    /// Whether bytes of the other direction are known to be missing at this moment, though they may
    /// still come: what these bytes answer to may be among them.
    #[must_use]
    pub fn other_has_hole(&self) -> bool {
        self.other.has_hole
    }

    /// Whether the first unread byte was sent after bytes of the other direction that were not
    /// shown, for they are missing or the reader wants to see them [later](super::Next::Later).
    #[must_use]
    pub fn answers_unshown(&self) -> bool {
        self.chunk.own_origins().first().is_some_and(|first| self.other.is_answered_by(first))
    }

    /// Whether bytes follow that are not shown yet, for they [answer](Self::answers_unshown) some
    /// that were not.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.held_back
    }

    /// What comes before bytes that answer some that were not shown; all if they come first, if
    /// there are none, or if what is unread now will not be shown again.
    pub(super) fn up_to_unshown(&self) -> Run<'a> {
        let is_last = matches!(self.end, Some(End::Gap | End::Limit));
        if is_last || self.other.from.is_none() || self.answers_unshown() {
            return Run { ..*self };
        }
        // A direction acknowledges more and more.
        let origins = self.chunk.own_origins();
        let free = origins.partition_point(|origin| !self.other.is_answered_by(origin));
        let Some(answer) = origins.get(free) else { return Run { ..*self } };
        let chunk = self.chunk.until(answer.start);
        let seen = self.seen.min(chunk.bytes.len());
        Run { chunk, seen, end: None, held_back: true, ..*self }
    }

    /// The sequence number of the first unread byte.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        self.chunk.start as u32
    }

    /// Where the bytes were recorded, in order, each byte once.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + use<'a> {
        let (start, end) = (self.chunk.start, self.chunk.end());
        let origins = self.chunk.own_origins();
        let index = move |position: u64| position.saturating_sub(start) as usize;
        origins.iter().enumerate().map(move |(i, origin)| {
            let until = origins.get(i + 1).map_or(end, |next| next.start);
            let origin = origin.from(start);
            Piece {
                bytes: index(origin.start)..index(until),
                frame: origin.frame,
                time: origin.time,
                offset: origin.offset,
            }
        })
    }

    /// Where a part of the bytes was recorded; indices as in [`bytes`](Self::bytes).
    pub fn pieces_of(&self, part: Range<usize>) -> impl Iterator<Item = Piece> + use<'a> {
        let base = self.chunk.start;
        let from = base.saturating_add(part.start as u64);
        let chunk = self.chunk.until(base.saturating_add(part.end as u64)).from(from);
        let shift = (chunk.start - base) as usize;
        let run = Run { chunk, ..*self };
        run.pieces().map(move |piece| Piece {
            bytes: piece.bytes.start + shift..piece.bytes.end + shift,
            ..piece
        })
    }
}
