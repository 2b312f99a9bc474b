//! Stores datagrams until the rest of their response has arrived, and joins them into one payload.

use crate::kit::{Budget, Limit, Payload, Piece, Time, room};

/// One stored datagram.
#[derive(Clone, Copy, Debug)]
pub struct PartSpan {
    start: u32,
    end: u32,
    pieces_start: u32,
    pieces_end: u32,
    /// Bytes of the datagram that the snap length cut off.
    pub unlisted: u32,
    /// The packet that completed the datagram.
    pub frame: u64,
    /// That packet's time.
    pub time: Time,
    /// The recording lost some of its bytes.
    pub lost: bool,
}

impl PartSpan {
    /// Its number of bytes as sent.
    pub fn sent(&self) -> u64 {
        u64::from(self.end.saturating_sub(self.start)) + u64::from(self.unlisted)
    }
}

/// Bytes joined from several places, and where each was recorded.
#[derive(Default, Debug)]
pub struct Buffer {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where they were recorded.
    pub pieces: Vec<Piece>,
    parts: Vec<PartSpan>,
}

impl Buffer {
    /// Stores a whole datagram as the next part. Returns `false` and stores nothing if that would
    /// exceed the budget or `most` bytes.
    #[must_use]
    pub fn keep(&mut self, payload: &Payload<'_>, most: usize, budget: &mut Budget) -> bool {
        let before = self.cost();
        let cost = payload.bytes.len() + size_of_val(payload.pieces) + size_of::<PartSpan>();
        if before.saturating_add(cost) > most {
            budget.meet(Limit::PartsBytes);
            return false;
        }
        if !budget.take(cost) {
            return false;
        }
        let (start, pieces_start) = (self.bytes.len() as u32, self.pieces.len() as u32);
        self.append(payload.bytes, 0, payload.pieces);
        self.parts.push(PartSpan {
            start,
            end: self.bytes.len() as u32,
            pieces_start,
            pieces_end: self.pieces.len() as u32,
            unlisted: payload.unlisted,
            frame: payload.frame,
            time: payload.time,
            lost: payload.lost,
        });
        // Pieces without bytes are not stored.
        budget.give((before + cost).saturating_sub(self.cost()));
        true
    }

    /// An empty buffer with capacity for all stored `parts`.
    pub fn for_parts_of(parts: &Buffer) -> Buffer {
        Buffer::default().joining(parts)
    }

    /// Empties this buffer and reserves capacity for all stored `parts`.
    #[must_use]
    pub fn joining(mut self, parts: &Buffer) -> Buffer {
        self.clear();
        self.bytes.reserve_exact(parts.bytes.len());
        self.pieces.reserve_exact(parts.pieces.len());
        self
    }

    /// Empties it and keeps its capacity.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pieces.clear();
        self.parts.clear();
    }

    /// Its capacity in bytes.
    pub fn room(&self) -> usize {
        room(&self.bytes) + room(&self.pieces) + room(&self.parts)
    }

    /// Appends a part of another buffer without its first `skip` bytes.
    pub fn append_part(&mut self, from: &Buffer, part: &PartSpan, skip: usize) {
        let bytes = from.bytes_of(part).get(skip..).unwrap_or_default();
        self.append_pieces(bytes, skip, from.pieces_in(part));
    }

    /// Appends `bytes`, which begin `skip` bytes into the range that `pieces` describes.
    pub fn append(&mut self, bytes: &[u8], skip: usize, pieces: &[Piece]) {
        let end = skip + bytes.len();
        let first =
            pieces.partition_point(|piece| piece.at.saturating_add(piece.length) as usize <= skip);
        let last = pieces.partition_point(|piece| (piece.at as usize) < end);
        let of = pieces.get(first..last).unwrap_or_default();
        self.append_pieces(bytes, skip, of.iter().copied());
    }

    fn append_pieces(&mut self, bytes: &[u8], skip: usize, pieces: impl Iterator<Item = Piece>) {
        let base = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let (from, to) = (skip as u64, (skip + bytes.len()) as u64);
        for piece in pieces {
            let start = u64::from(piece.at).max(from);
            let end = (u64::from(piece.at) + u64::from(piece.length)).min(to);
            if start < end {
                let into = (start - u64::from(piece.at)) as u32;
                self.pieces.push(Piece {
                    at: (base as u64 + start - from) as u32,
                    length: (end - start) as u32,
                    frame: piece.frame,
                    offset: piece.offset.saturating_add(into),
                });
            }
        }
    }

    /// The stored parts, in the order of arrival.
    pub fn parts(&self) -> &[PartSpan] {
        &self.parts
    }

    /// A part's bytes.
    pub fn bytes_of(&self, part: &PartSpan) -> &[u8] {
        self.bytes.get(part.start as usize..part.end as usize).unwrap_or_default()
    }

    /// A part's pieces; their `at` counts from the start of the part.
    pub fn pieces_of(&self, part: &PartSpan) -> Vec<Piece> {
        self.pieces_in(part).collect()
    }

    fn pieces_in(&self, part: &PartSpan) -> impl Iterator<Item = Piece> {
        let pieces = self.pieces.get(part.pieces_start as usize..part.pieces_end as usize);
        let (pieces, start) = (pieces.unwrap_or_default().iter(), part.start);
        pieces.map(move |piece| Piece { at: piece.at.saturating_sub(start), ..*piece })
    }

    /// Empties it and returns the memory to the budget.
    pub fn release(&mut self, budget: &mut Budget) {
        budget.give(self.cost());
        *self = Buffer::default();
    }

    /// The memory of the stored parts.
    pub fn cost(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.pieces) + size_of_val(&*self.parts)
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::{FlowFacts, Side, Transport};

    use super::*;

    /// A datagram may have been joined from fragments of eight bytes.
    #[test]
    fn origins_of_parts_count_as_memory() {
        let ends = ["10.0.0.2:27015", "10.0.0.1:50000"].map(|end| end.parse().unwrap());
        let (began, seen, silence, lossy) = (true, [true; 2], 0, false);
        let (number, transport) = (1, Transport::Udp);
        let flow = FlowFacts { ends, began, seen, silence, lossy, number, transport };
        let bytes = [7; 800];
        let piece = |at: u32| Piece { at: 8 * at, length: 8, frame: 1 + u64::from(at), offset: 34 };
        let fragments = Vec::from_iter((0..100).map(piece));
        let one = [Piece { length: 800, ..piece(0) }];
        let empty = [Piece { length: 0, ..piece(0) }];
        for (pieces, fit) in [(&fragments[..], 3), (&one, 11), (&empty, 11)] {
            let (mut parts, mut budget) = (Buffer::default(), Budget::new(1 << 20));
            let payload = flow.payload(Side::First, &bytes, pieces);
            let kept = (0..20).filter(|_| parts.keep(&payload, 10_000, &mut budget)).count();
            assert_eq!((kept, budget.held()), (fit, parts.cost()));
            assert!(parts.room() < 30_000);
            parts.release(&mut budget);
            assert_eq!(budget.held(), 0);
        }
    }
}
