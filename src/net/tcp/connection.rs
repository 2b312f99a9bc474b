//! Both directions of a connection, and the effects of the flags.

use dissectors::kit::Side;

use super::budget::StreamBudget;
use super::run::OtherUnread;
use super::stream::{Direction, ReaderContext};
use super::{ArrivingSegment, GapCause, StreamEnd, StreamEvent, StreamEventKind, StreamReader};
use crate::net::packet::{FrameRef, Segment};

/// A TCP connection in a capture. It takes 48 bytes until bytes must be buffered.
///
/// Pass it to [`finish`](Self::finish) at the end: dropping it leaves its memory charged to the
/// budget, and its last bytes unread.
#[derive(Debug, Default)]
pub struct Connection {
    streams: [Direction; 2],
}

impl Connection {
    /// Adds the next segment with this connection's addresses and ports.
    pub fn segment<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let segment = arrival.segment;
        let flags = segment.flags;
        if flags.rst() {
            self.reset(side, arrival, budget, reader);
            return;
        }
        if flags.syn() {
            self.opened(side, arrival, budget, reader);
        }
        if self.is_ignored() {
            if flags.fin() {
                self.stream_mut(side).close();
            }
            return;
        }
        let (own, other) = self.pair(side);
        if own.resumes(segment, other) {
            for side in [side.other(), side] {
                self.with(side, budget, reader, |own, cx| own.resume(cx));
            }
        }
        self.carried(side, arrival, budget, reader);
        if self.is_ignored() {
            self.ignore(budget);
        } else if self.is_over() {
            self.release(budget);
        }
    }

    /// Stops buffering for good, because the connection is not needed. SYN, FIN and RST are still
    /// handled, and a new connection on the same ports is read again.
    pub fn ignore(&mut self, budget: &mut StreamBudget) {
        self.streams.iter_mut().for_each(|stream| stream.ignore(budget));
    }

    /// Skips all gaps, as if no missing bytes could arrive any more, for a connection that has been
    /// silent for long. Bytes after gaps are passed to the reader.
    pub fn give_up_gaps<R: StreamReader>(&mut self, budget: &mut StreamBudget, reader: &mut R) {
        for side in Side::BOTH {
            self.with(side, budget, reader, |own, cx| own.give_up_all(cx));
        }
    }

    /// Ends it: skips all gaps, passes unread bytes to the reader for the last time, and returns
    /// all memory to the budget.
    pub fn finish<R: StreamReader>(mut self, budget: &mut StreamBudget, reader: &mut R) {
        self.end(Side::First, StreamEnd::Abandoned, budget, reader);
    }

    /// Passes the bytes that the reader left for later: [`Next::Later`](super::Next::Later).
    pub fn read_again<R: StreamReader>(
        &mut self,
        side: Side,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        self.with(side, budget, reader, |own, cx| own.show_again(cx));
        if self.is_over() {
            self.release(budget);
        }
    }

    /// Unread bytes of both directions count as not passed to the reader yet.
    pub fn forget_shown(&mut self) {
        self.streams.iter_mut().for_each(Direction::forget_shown);
    }

    /// Whether both directions have ended. Further segments are repeats, or a new connection.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.streams.iter().all(Direction::is_ended)
    }

    /// Whether it is no longer read.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.streams.iter().any(Direction::is_ignored)
    }

    /// Whether nothing is missing in either direction, and a segment without payload that has these
    /// numbers and only the ACK flag shows nothing missing: it has no effect.
    #[must_use]
    pub fn is_settled(&self, side: Side, sequence: u32, acknowledgment: u32) -> bool {
        let (own, other) = (self.stream(side), self.stream(side.other()));
        own.beyond(sequence) == Some(0) && other.beyond(acknowledgment).is_some()
    }

    /// Heap memory in bytes that is not charged to a [`StreamBudget`]: the fixed part of buffering,
    /// in each direction that buffers.
    #[must_use]
    pub fn uncharged(&self) -> usize {
        self.streams.iter().map(Direction::uncharged).sum()
    }

    /// Whether the SYN of a direction is in the capture.
    #[must_use]
    pub fn began(&self, side: Side) -> bool {
        self.stream(side).has_begun()
    }

    /// Whether these are the first bytes of a direction, and the other side had certainly not received them before the
    /// capture: it has acknowledged what comes before them since.
    #[must_use]
    pub fn sends_new(&self, side: Side, segment: &Segment<'_>) -> bool {
        segment.payload.announced > 0 && self.stream(side).is_awaited_at(segment.sequence)
    }

    /// Whether bytes of a direction are known to be missing but may still arrive.
    #[must_use]
    pub fn has_hole(&self, side: Side) -> bool {
        self.stream(side).has_hole()
    }

    fn carried<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let &ArrivingSegment { segment, at, .. } = arrival;
        let (own, other) = self.pair(side);
        if segment.flags.ack() && own.is_near(segment.sequence) {
            let is_latest = own.is_latest(segment.sequence);
            other.reaches(segment.acknowledgment, at, is_latest);
            if let Some((sequence, missing)) = other.acknowledged_unseen(segment.acknowledgment) {
                let FrameRef { frame, time } = at;
                let kind =
                    StreamEventKind::Gap { sequence, missing, cause: GapCause::Acknowledged };
                reader.event(StreamEvent { side: side.other(), frame, time, kind });
            }
        }
        let other = other.unshown();
        own.data(arrival, &mut ReaderContext { side, budget, reader, other });
        for side in [side, side.other()] {
            if self.is_ignored() {
                return;
            }
            let (own, other) = self.pair(side);
            let other_seen = other.is_seen();
            let mut cx = ReaderContext { side, budget, reader, other: other.unshown() };
            own.tick(at.time, other_seen, &mut cx);
        }
    }

    fn opened<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let segment = arrival.segment;
        if self.is_anew(side, segment) {
            self.restart(side, arrival, budget, reader);
        }
        self.stream_mut(side).opens(segment.sequence, budget);
        if segment.flags.ack() {
            let answered = segment.acknowledgment.wrapping_sub(1);
            self.stream_mut(side.other()).is_answered(answered, budget);
        }
    }

    /// Whether a SYN begins another connection.
    fn is_anew(&self, side: Side, segment: &Segment<'_>) -> bool {
        let (own, other) = (self.stream(side), self.stream(side.other()));
        if !own.is_known() {
            return other.is_closed() && !answers(segment, other);
        }
        let same = own.initial() == segment.sequence && own.has_begun();
        let is_over = self.streams.iter().all(Direction::is_closed);
        is_over || !(same || own.is_late_syn(segment.sequence))
    }

    /// Ends the old connection and begins a new one with a SYN.
    fn restart<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        // The other side's SYN may have arrived already and been taken for the old connection's.
        let (_, other) = self.pair(side);
        let kept = other.is_fresh() && answers(arrival.segment, other);
        let kept = kept.then(|| std::mem::take(other));
        self.end(Side::First, StreamEnd::Abandoned, budget, reader);
        *self = Self::default();
        if let Some(mut stream) = kept {
            stream.heed();
            *self.stream_mut(side.other()) = stream;
        }
        let FrameRef { frame, time } = arrival.at;
        reader.event(StreamEvent { side, frame, time, kind: StreamEventKind::NewConnection });
    }

    fn reset<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let &ArrivingSegment { segment, at, .. } = arrival;
        let ignored = self.is_ignored();
        let (own, other) = self.pair(side);
        let believed = if own.is_known() {
            own.accepts_reset(segment.sequence)
        } else {
            !segment.flags.ack() || other.is_near(segment.acknowledgment)
        };
        if !believed && !ignored {
            budget.counts.out_of_window += 1;
            return;
        }
        if own.is_reset() {
            return;
        }
        if !ignored {
            own.reaches(segment.sequence, at, true);
        }
        let were_open = self.streams.iter().all(Direction::is_open);
        self.end(side, StreamEnd::Reset, budget, reader);
        if were_open && !self.is_ignored() {
            self.stream_mut(side).reset(true, budget);
            self.stream_mut(side.other()).reset(false, budget);
        }
    }

    /// Skips all gaps and ends both directions, one of them first. Bytes of it that wait for the
    /// other direction are passed to the reader again.
    fn end<R: StreamReader>(
        &mut self,
        first: Side,
        end: StreamEnd,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let other = first.other();
        for side in [first, other] {
            self.with(side, budget, reader, |own, cx| own.give_up_all(cx));
        }
        for side in [first, other] {
            self.with(side, budget, reader, |own, cx| own.show_last(end, cx));
        }
        for side in [first, other] {
            self.with(side, budget, reader, |own, cx| {
                cx.other = OtherUnread::default();
                own.show_last(end, cx);
            });
        }
        self.streams.iter_mut().for_each(|stream| stream.end(budget));
    }

    /// Calls `work` with the reader for a direction.
    fn with<R: StreamReader>(
        &mut self,
        side: Side,
        budget: &mut StreamBudget,
        reader: &mut R,
        work: impl FnOnce(&mut Direction, &mut ReaderContext<'_, R>),
    ) {
        let (own, other) = self.pair(side);
        let other = other.unshown();
        work(own, &mut ReaderContext { side, budget, reader, other });
        if self.is_ignored() {
            self.ignore(budget);
        }
    }

    fn release(&mut self, budget: &mut StreamBudget) {
        self.streams.iter_mut().for_each(|stream| stream.release(budget));
    }

    fn stream(&self, side: Side) -> &Direction {
        let [first, second] = &self.streams;
        match side {
            Side::First => first,
            Side::Second => second,
        }
    }

    fn stream_mut(&mut self, side: Side) -> &mut Direction {
        self.pair(side).0
    }

    /// The stream of a direction, and the other one.
    fn pair(&mut self, side: Side) -> (&mut Direction, &mut Direction) {
        let [first, second] = &mut self.streams;
        match side {
            Side::First => (first, second),
            Side::Second => (second, first),
        }
    }
}

/// Whether a SYN acknowledges the SYN of the other direction.
fn answers(segment: &Segment<'_>, other: &Direction) -> bool {
    segment.flags.ack() && segment.acknowledgment == other.initial().wrapping_add(1)
}
