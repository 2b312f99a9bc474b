//! The unread bytes that a reader gets, and where they were recorded.

use std::ops::Range;

use dissectors::kit::Piece;

use super::StreamEnd;
use super::buffered::{Chunk, Origin};
use crate::net::packet::FrameRef;

/// All unread bytes of one direction, in order and without a gap.
#[derive(Debug)]
pub struct Run<'a> {
    pub(super) chunk: Chunk<'a>,
    pub(super) seen: usize,
    pub(super) missing_before: u64,
    pub(super) end: Option<StreamEnd>,
    pub(super) fin_time: Option<i64>,
    pub(super) began: bool,
    pub(super) other: OtherUnread,
    /// More bytes follow that are held back.
    pub(super) held_back: bool,
}

/// The state of the other direction's unread bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OtherUnread {
    /// Bytes are known to be missing.
    pub(super) has_hole: bool,
    /// The sequence number of the first byte that was not passed to the reader, if any.
    pub(super) from: Option<u32>,
}

impl OtherUnread {
    fn is_answered_by(&self, origin: &Origin) -> bool {
        self.from.is_some_and(|from| origin.acknowledgment.wrapping_sub(from) as i32 > 0)
    }
}

impl<'a> Run<'a> {
    /// The unread bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.chunk.bytes
    }

    /// How many of them the reader has seen before: a search for a delimiter can continue there.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// How many bytes are missing right before the first unread one, because they are not in the
    /// capture or were dropped at a limit; 0 if it follows the last consumed byte, or is the first
    /// of all.
    #[must_use]
    pub fn missing_before(&self) -> u64 {
        self.missing_before
    }

    /// Whether bytes are missing right before the first unread one.
    #[must_use]
    pub fn after_gap(&self) -> bool {
        self.missing_before > 0
    }

    /// Set if no bytes will be added; bytes that are not consumed now are dropped.
    #[must_use]
    pub fn end(&self) -> Option<StreamEnd> {
        self.end
    }

    /// When a FIN was recorded that waited for bytes before it, in nanoseconds.
    #[must_use]
    pub fn fin_time(&self) -> Option<i64> {
        self.fin_time
    }

    /// Whether the direction's SYN is in the capture.
    #[must_use]
    pub fn began(&self) -> bool {
        self.began
    }

    /// Whether bytes of the other direction are known to be missing but may still arrive: the
    /// request for these bytes may be among them.
    #[must_use]
    pub fn other_has_hole(&self) -> bool {
        self.other.has_hole
    }

    /// Whether the first unread byte was sent after bytes of the other direction that the reader
    /// has not seen, because they are missing or left for [later](super::Next::Later).
    #[must_use]
    pub fn answers_unshown(&self) -> bool {
        self.chunk.own_origins().first().is_some_and(|first| self.other.is_answered_by(first))
    }

    /// Whether more bytes follow that are held back, because they [answer](Self::answers_unshown)
    /// unseen ones.
    #[must_use]
    pub fn is_held_back(&self) -> bool {
        self.held_back
    }

    /// The bytes before those that answer unseen ones; all, if those come first, if there are none,
    /// or if the unread bytes will not be passed again.
    pub(super) fn up_to_unshown(&self) -> Run<'a> {
        let is_last = matches!(self.end, Some(StreamEnd::Gap | StreamEnd::Limit));
        if is_last || self.other.from.is_none() || self.answers_unshown() {
            return Run { ..*self };
        }
        // The acknowledged position of a direction only increases.
        let origins = self.chunk.own_origins();
        let free = origins.partition_point(|origin| !self.other.is_answered_by(origin));
        let Some(response) = origins.get(free) else { return Run { ..*self } };
        let chunk = self.chunk.until(response.start);
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
        self.pieces_of(0..self.chunk.bytes.len())
    }

    /// Where a part of the bytes was recorded; indices as in [`bytes`](Self::bytes).
    pub fn pieces_of(&self, part: Range<usize>) -> impl Iterator<Item = Piece> + use<'a> {
        let (base, part) = (self.chunk.start, self.part(part));
        let (end, origins) = (part.end(), part.own_origins());
        let index =
            move |position: u64| u32::try_from(position.saturating_sub(base)).unwrap_or(u32::MAX);
        origins.iter().enumerate().map(move |(i, origin)| {
            let until = origins.get(i + 1).map_or(end, |next| next.start);
            let Origin { start, frame, offset, .. } = origin.from(part.start);
            let at = index(start);
            Piece { at, length: index(until).saturating_sub(at), frame, offset }
        })
    }

    /// The packet that completed a part of the bytes, which is not the last one if another arrived
    /// late.
    #[must_use]
    pub fn completed_by(&self, part: Range<usize>) -> Option<FrameRef> {
        let last = self.part(part).own_origins().iter().max_by_key(|origin| origin.frame)?;
        Some(FrameRef { frame: last.frame, time: last.time })
    }

    fn part(&self, part: Range<usize>) -> Chunk<'a> {
        let position = |index: usize| self.chunk.start.saturating_add(index as u64);
        self.chunk.until(position(part.end)).from(position(part.start))
    }
}
