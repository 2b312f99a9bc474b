//! The receive windows of both sides: how far ahead a segment may be, and for how long a side could take no bytes.

use dissectors::kit::Side;
use etherparse::{TcpOptionElement, TcpOptionsIterator};

use crate::net::packet::Segment;

/// Maximum shift of a window (RFC 7323).
const MOST_SHIFT: u8 = 14;
/// The length of a TCP header without options.
const HEADER: usize = 20;

/// What a side has reported of its receive window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiveWindow {
    /// The largest value in a header.
    largest: u16,
    /// By how many bits the values are shifted, if its SYN was recorded.
    shift: Option<u8>,
}

impl ReceiveWindow {
    fn note(&mut self, segment: &Segment<'_>) {
        self.largest = self.largest.max(segment.window);
        if segment.flags.syn() {
            self.shift = shift(segment.headers.transport);
        }
    }

    /// The largest window in bytes, if known.
    fn bytes(self) -> Option<u64> {
        Some(u64::from(self.largest) << self.shift?)
    }
}

/// The shift that a SYN announces; `None` if its options were not recorded. A shift counts even if the other side
/// announces none: the window is at most that large.
fn shift(tcp: &[u8]) -> Option<u8> {
    let length = usize::from(tcp.get(HEADER - 8)? >> 4) * 4;
    let mut options = TcpOptionsIterator::from_slice(tcp.get(HEADER..length)?);
    let announced = options.find_map(|option| match option {
        Ok(TcpOptionElement::WindowScale(shift)) => Some(shift.min(MOST_SHIFT)),
        _ => None,
    });
    Some(announced.unwrap_or(0))
}

/// When a side's window was closed, since that side last sent bytes. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ClosedTime {
    since: Option<i64>,
    before: i64,
}

impl ClosedTime {
    fn until(&self, now: i64) -> i64 {
        let open = self.since.map_or(0, |since| now.saturating_sub(since).max(0));
        self.before.saturating_add(open)
    }

    fn note(&mut self, segment: &Segment<'_>, now: i64) {
        if segment.payload.announced > 0 {
            *self = ClosedTime { since: self.since.map(|_| now), before: 0 };
        }
        let is_closed = segment.window == 0;
        if is_closed != self.since.is_some() {
            *self = ClosedTime { since: is_closed.then_some(now), before: self.until(now) };
        }
    }
}

/// The receive windows of both sides.
#[derive(Debug, Default)]
pub(super) struct Windows {
    sides: [ReceiveWindow; 2],
    /// Once a window was closed.
    closed: Option<Box<[ClosedTime; 2]>>,
}

impl Windows {
    /// A side sends a segment of the connection that is no RST.
    pub(super) fn note(&mut self, side: Side, segment: &Segment<'_>, now: i64) {
        self.sides[side.index()].note(segment);
        if segment.window == 0 || self.closed.is_some() {
            self.closed.get_or_insert_default()[side.index()].note(segment, now);
        }
    }

    /// The largest window of a side in bytes, if known.
    pub(super) fn bytes(&self, side: Side) -> Option<u64> {
        self.sides[side.index()].bytes()
    }

    /// For how many nanoseconds a side's window was closed since it last sent bytes.
    pub(super) fn closed(&self, side: Side, now: i64) -> i64 {
        self.closed.as_ref().map_or(0, |closed| closed[side.index()].until(now))
    }

    /// Bytes of heap memory.
    pub(super) fn held(&self) -> usize {
        self.closed.as_ref().map_or(0, |closed| size_of_val(&**closed))
    }
}
