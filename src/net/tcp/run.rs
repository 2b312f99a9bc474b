//! What a reader is shown: unread bytes in order, and where they were recorded.

use std::ops::Range;

use super::End;
use super::kept::Chunk;

/// All unread bytes of one direction, in order and without a hole.
#[derive(Debug)]
pub struct Run<'a> {
    pub(super) chunk: Chunk<'a>,
    pub(super) seen: usize,
    pub(super) missing_before: u64,
    pub(super) end: Option<End>,
    pub(super) began: bool,
    pub(super) other_has_hole: bool,
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
    /// Where in the packet's data the first of them stands.
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

    /// Whether the direction's SYN is in the capture.
    #[must_use]
    pub fn began(&self) -> bool {
        self.began
    }

    /// Whether bytes of the other direction are known to be missing at this moment, though they may
    /// still come: what these bytes answer to may be among them.
    #[must_use]
    pub fn other_has_hole(&self) -> bool {
        self.other_has_hole
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
