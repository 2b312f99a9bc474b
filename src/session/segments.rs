//! Segments as they come from the network, in the words of reassembly.

use dissectors::kit::{Piece, Side, Time};

use crate::net::Segment;
use crate::net::tcp::{self, Connection, Way};

/// Whether a segment says nothing but that it has what was sent.
pub(super) fn acknowledges(connection: &Connection, side: Side, segment: &Segment<'_>) -> bool {
    let &Segment { sequence, acknowledgment, flags, payload, .. } = segment;
    payload.announced == 0
        && flags.ack()
        && connection.is_settled(way(side), sequence, acknowledgment)
}

/// Where the bytes of a segment were recorded, if IP fragments carried it.
pub(super) fn recorded_in(pieces: &[Piece], time: Time) -> Vec<tcp::Piece> {
    let several = if pieces.len() > 1 { pieces } else { &[] };
    let piece = |piece: &Piece| {
        let (start, length) = (piece.at as usize, piece.length as usize);
        let bytes = start..start.saturating_add(length);
        tcp::Piece { bytes, frame: piece.frame, time: time.0, offset: piece.offset }
    };
    several.iter().map(piece).collect()
}

/// A segment as reassembly reads it.
pub(super) fn read<'s>(
    segment: &Segment<'s>,
    pieces: &[Piece],
    recorded: &'s [tcp::Piece],
    time: Time,
) -> tcp::Segment<'s> {
    let (frame, offset) = pieces.first().map_or((0, 0), |piece| (piece.frame, piece.offset));
    tcp::Segment {
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        flags: segment.flags,
        payload: segment.payload.bytes,
        announced: segment.payload.announced as usize,
        frame,
        time: time.0,
        offset,
        pieces: recorded,
    }
}

/// The direction of what this side sends.
pub(super) fn way(side: Side) -> Way {
    match side {
        Side::First => Way::AToB,
        Side::Second => Way::BToA,
    }
}

/// Who sends in this direction.
pub(super) fn side(way: Way) -> Side {
    match way {
        Way::AToB => Side::First,
        Way::BToA => Side::Second,
    }
}
