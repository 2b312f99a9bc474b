//! The properties of a message that are kept after it has been decoded.

use serde::{Deserialize, Serialize};

use crate::kit::{Buffer, Payload, Piece, Side, Span, Time};

/// The properties of a message that are needed later, when its response is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The packet.
    pub frame: u64,
    /// Its time.
    pub time: Time,
    /// The message's length in bytes, with what the snap length cut off its packet.
    pub length: u32,
    /// Its sender.
    pub side: Side,
}

impl<'a> Payload<'a> {
    /// The span of the whole message.
    pub fn whole(&self) -> Span {
        Span::new(0, self.bytes.len())
    }

    /// The number of bytes that were sent: of decompressed messages the compressed ones, of parts
    /// with their headers, and with what the snap length cut off.
    pub fn sent(&self) -> u64 {
        let listed = match self.pieces {
            [] => self.bytes.len() as u64,
            pieces => recorded(pieces),
        };
        listed + u64::from(self.unlisted)
    }

    /// A payload joined from datagrams, or parts of a stream, with this many bytes in total.
    #[must_use]
    pub fn joined<'b>(&self, joined: &'b Buffer, sent: u64) -> Payload<'b>
    where
        'a: 'b,
    {
        let Buffer { bytes, pieces, .. } = joined;
        let unlisted = sent.saturating_sub(recorded(pieces)) as u32;
        Payload { bytes, pieces, unlisted, ..*self }
    }

    /// Collects the packets that carried it, in increasing order and without duplicates.
    pub fn frames(&self, frames: &mut Vec<u64>) {
        frames.clear();
        for frame in self.pieces.iter().map(|piece| piece.frame).chain([self.frame]) {
            if frames.last() != Some(&frame) {
                frames.push(frame);
            }
        }
        if !frames.is_sorted() {
            frames.sort_unstable();
            frames.dedup();
        }
    }

    /// Whether more than one packet carried it.
    pub fn has_parts(&self) -> bool {
        self.pieces.iter().any(|piece| piece.frame != self.frame)
    }

    /// The mark of this message.
    pub fn mark(&self) -> Mark {
        let is_cut = self.lost && self.pieces.len() == 1 && !self.inflated;
        let length = if is_cut { self.sent() } else { self.bytes.len() as u64 };
        let length = length.min(u32::MAX.into()) as u32;
        Mark { frame: self.frame, time: self.time, length, side: self.side }
    }
}

/// How many bytes are in these pieces.
fn recorded(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| u64::from(piece.length)).sum()
}

impl Mark {
    /// The span of the whole message.
    pub fn whole(&self) -> Span {
        Span { start: 0, end: self.length }
    }
}

/// A mark in two thirds of the space, for the requests that millions of flows keep. Lengths above 8
/// MiB and packet numbers above 2^40 are clamped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortMark {
    // Halves, so that structs with a mark need no padding.
    place: [u32; 2],
    time: [u32; 2],
}

impl ShortMark {
    const LENGTH_BITS: u32 = 23;
    const MOST_FRAME: u64 = (1 << 40) - 1;
    const MOST_LENGTH: u64 = (1 << ShortMark::LENGTH_BITS) - 1;

    /// The mark.
    #[inline]
    pub fn get(self) -> Mark {
        let place = whole(self.place);
        Mark {
            frame: place >> (ShortMark::LENGTH_BITS + 1),
            time: Time(whole(self.time) as i64),
            length: (place >> 1 & ShortMark::MOST_LENGTH) as u32,
            side: if place & 1 == 0 { Side::First } else { Side::Second },
        }
    }
}

impl From<Mark> for ShortMark {
    #[inline]
    fn from(mark: Mark) -> ShortMark {
        let length = u64::from(mark.length).min(ShortMark::MOST_LENGTH);
        let frame = mark.frame.min(ShortMark::MOST_FRAME);
        let place = frame << (ShortMark::LENGTH_BITS + 1) | length << 1 | mark.side.index() as u64;
        ShortMark { place: halves(place), time: halves(mark.time.0 as u64) }
    }
}

impl std::fmt::Debug for ShortMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// The lower and the upper half: structs with these need no padding.
#[inline]
fn halves(whole: u64) -> [u32; 2] {
    [whole as u32, (whole >> 32) as u32]
}

/// The inverse of [`halves`].
#[inline]
fn whole([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_mark_equals_the_mark() {
        let mark = Mark { frame: 7_000_000_001, time: Time(-5), length: 1400, side: Side::Second };
        for mark in [
            mark,
            Mark { frame: 0, time: Time(i64::MIN), length: 0, side: Side::First },
            Mark { frame: (1 << 40) - 1, time: Time(i64::MAX), length: (1 << 23) - 1, ..mark },
        ] {
            assert_eq!(ShortMark::from(mark).get(), mark);
        }
        let most = ShortMark::from(Mark { frame: u64::MAX, length: u32::MAX, ..mark }).get();
        assert_eq!(most, Mark { frame: (1 << 40) - 1, length: (1 << 23) - 1, ..mark });
        assert_eq!((size_of::<ShortMark>(), align_of::<ShortMark>()), (16, 4));
    }
}
