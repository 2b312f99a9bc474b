//! Both directions of a connection, and the effects of the flags.

use dissectors::kit::Side;

use super::budget::StreamBudget;
use super::run::OtherUnread;
use super::stream::{Direction, ReaderContext};
use super::window::Windows;
use super::{ArrivingSegment, GapCause, StreamEnd, StreamEvent, StreamEventKind, StreamReader};
use crate::net::packet::{FrameRef, Segment};

/// A TCP connection in a capture. It takes 64 bytes until bytes must be buffered, or a window is closed.
///
/// Pass it to [`finish`](Self::finish) at the end: dropping it leaves its memory charged to the
/// budget, and its last bytes unread.
#[derive(Debug, Default)]
pub struct Connection {
    streams: [Direction; 2],
    windows: Windows,
}

/// What a SYN does.
enum SynEffect {
    /// It opens a direction, or repeats the SYN that did.
    Opens,
    /// It begins another connection.
    BeginsOther,
    /// It may begin another connection if it is answered.
    MayBeginOther,
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
        self.decide_other_syns(side, segment, budget, reader);
        if flags.rst() {
            self.reset(side, arrival, budget, reader);
            return;
        }
        if flags.syn() && !self.opened(side, arrival, budget, reader) {
            return;
        }
        self.note_window(side, segment, arrival.at.time);
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
            self.with(side, budget, reader, |own, cx| own.give_up_all(false, cx));
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
    /// numbers and only the ACK flag shows nothing missing: only its [window](Self::note_window) has an effect.
    #[must_use]
    pub fn is_settled(&self, side: Side, sequence: u32, acknowledgment: u32) -> bool {
        let (own, other) = (self.stream(side), self.stream(side.other()));
        own.beyond(sequence) == Some(0)
            && other.beyond(acknowledgment).is_some()
            && own.other_syn().is_none()
            && other.other_syn().is_none()
    }

    /// A segment shows the receive window of its sender. `now`: in nanoseconds.
    pub fn note_window(&mut self, side: Side, segment: &Segment<'_>, now: i64) {
        self.windows.note(side, segment, now);
    }

    /// For how many nanoseconds a side could take no bytes, because its window was closed, since it last sent some.
    #[must_use]
    pub fn window_closed(&self, side: Side, now: i64) -> i64 {
        self.windows.closed(side, now)
    }

    /// Heap memory in bytes that is not charged to a [`StreamBudget`]: the fixed part of buffering,
    /// in each direction that buffers, and what is known of closed windows.
    #[must_use]
    pub fn uncharged(&self) -> usize {
        self.windows.held() + self.streams.iter().map(Direction::uncharged).sum::<usize>()
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

    /// Returns whether the SYN belongs to the connection, which may have begun with it.
    fn opened<R: StreamReader>(
        &mut self,
        side: Side,
        arrival: &ArrivingSegment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) -> bool {
        let &ArrivingSegment { segment, at, .. } = arrival;
        match self.syn_effect(side, segment) {
            SynEffect::Opens => {}
            SynEffect::BeginsOther => self.restart(side, arrival, budget, reader),
            SynEffect::MayBeginOther => {
                budget.counts.out_of_window += 1;
                self.stream_mut(side).doubt(segment, at);
                return false;
            }
        }
        self.stream_mut(side).opens(segment.sequence, budget);
        if segment.flags.ack() {
            let answered = segment.acknowledgment.wrapping_sub(1);
            self.stream_mut(side.other()).is_answered(answered, budget);
        }
        true
    }

    fn syn_effect(&self, side: Side, segment: &Segment<'_>) -> SynEffect {
        let (own, other) = (self.stream(side), self.stream(side.other()));
        let answers = answers(segment, other);
        if self.streams.iter().all(Direction::is_closed) {
            return SynEffect::BeginsOther;
        }
        if !own.is_known() {
            let is_first = answers || own.is_awaited_at(segment.sequence.wrapping_add(1));
            return match () {
                () if other.is_closed() && !answers => SynEffect::BeginsOther,
                () if !other.is_known() || other.is_fresh() || is_first => SynEffect::Opens,
                () => SynEffect::MayBeginOther,
            };
        }
        let is_same = own.initial() == segment.sequence && own.has_begun();
        if is_same || own.is_late_syn(segment.sequence) {
            return SynEffect::Opens;
        }
        // The connection was not established, or what it is at is unknown.
        let is_opening = own.is_fresh() && !other.is_known() || other.is_fresh() && answers;
        if is_opening || self.is_ignored() {
            SynEffect::BeginsOther
        } else {
            SynEffect::MayBeginOther
        }
    }

    /// Begins another connection if a segment follows the SYN of one, or acknowledges it; forgets that SYN if its sender
    /// goes on with this connection.
    fn decide_other_syns<R: StreamReader>(
        &mut self,
        side: Side,
        segment: &Segment<'_>,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        let flags = segment.flags;
        let (own, other) = (self.stream(side), self.stream(side.other()));
        let syns = [own.other_syn(), other.other_syn()];
        if syns == [None; 2] {
            return;
        }
        let speaks = !flags.syn() && !flags.rst();
        let is_answer = flags.ack() && other.begins_other(segment.acknowledgment);
        if !(is_answer || speaks && own.begins_other(segment.sequence)) {
            if speaks {
                self.stream_mut(side).forget_other_syn();
            }
            return;
        }
        let syns = [side, side.other()].into_iter().zip(syns);
        let mut syns = Vec::from_iter(syns.filter_map(|(side, syn)| Some((side, syn?))));
        syns.sort_by_key(|(_, syn)| syn.at.frame);
        if let [(side, first), ..] = syns[..] {
            self.begin_other(side, first.at, budget, reader);
        }
        for (side, syn) in syns {
            self.stream_mut(side).opens(syn.sequence, budget);
        }
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
        self.begin_other(side, arrival.at, budget, reader);
        if let Some(mut stream) = kept {
            stream.heed();
            *self.stream_mut(side.other()) = stream;
        }
    }

    /// Ends the old connection; a packet begins another one.
    fn begin_other<R: StreamReader>(
        &mut self,
        side: Side,
        FrameRef { frame, time }: FrameRef,
        budget: &mut StreamBudget,
        reader: &mut R,
    ) {
        self.end(Side::First, StreamEnd::Abandoned, budget, reader);
        *self = Self::default();
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
        let believed = self.believes_reset(side, segment);
        let own = self.stream_mut(side);
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

    fn believes_reset(&self, side: Side, segment: &Segment<'_>) -> bool {
        let (own, other) = (self.stream(side), self.stream(side.other()));
        match () {
            () if own.is_known() => {
                own.accepts_reset(segment.sequence, self.windows.bytes(side.other()))
            }
            // A SYN is refused by acknowledging it.
            () if other.is_fresh() && !own.is_seen() => answers(segment, other),
            () if segment.flags.ack() => other.is_near(segment.acknowledgment),
            () => !own.is_not_at(segment.sequence),
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
            let is_reset = side == first && end == StreamEnd::Reset;
            self.with(side, budget, reader, |own, cx| own.give_up_all(is_reset, cx));
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

/// Whether a SYN or a RST acknowledges the SYN of the other direction, and what came with it.
fn answers(segment: &Segment<'_>, other: &Direction) -> bool {
    segment.flags.ack() && other.is_opened_up_to(segment.acknowledgment)
}
