//! Both directions of a connection, and what the flags do to them.

use super::budget::Budget;
use super::buffered::At;
use super::run::Unshown;
use super::stream::{Context, Stream};
use super::{Cause, End, Event, Kind, Reader, Segment, Way};

/// A TCP connection as a capture shows it. 48 bytes, until bytes must be kept.
///
/// Hand it to [`finish`](Self::finish) at last: to drop it leaves what it keeps charged to the
/// budget, and its last bytes unread.
#[derive(Debug, Default)]
pub struct Connection {
    streams: [Stream; 2],
}

impl Connection {
    /// Takes the next segment of the capture that bears this connection's addresses and ports.
    pub fn segment<R: Reader>(
        &mut self,
        way: Way,
        segment: &Segment<'_>,
        budget: &mut Budget,
        reader: &mut R,
    ) {
        let flags = segment.flags;
        if flags.rst() {
            self.reset(way, segment, budget, reader);
            return;
        }
        if flags.syn() {
            self.opened(way, segment, budget, reader);
        }
        if self.is_ignored() {
            if flags.fin() {
                self.stream_mut(way).close();
            }
            return;
        }
        let (own, other) = self.pair(way);
        if own.resumes(segment, other) {
            for way in [way.other(), way] {
                self.with(way, budget, reader, |own, cx| own.resume(cx));
            }
        }
        self.carried(way, segment, budget, reader);
        if self.is_ignored() {
            self.ignore(budget);
        } else if self.is_over() {
            self.release(budget);
        }
    }

    /// Stops buffering for good: neither direction is of interest. SYN, FIN and RST are followed
    /// still, and a new connection on the same ports is read again.
    pub fn ignore(&mut self, budget: &mut Budget) {
        self.streams.iter_mut().for_each(|stream| stream.ignore(budget));
    }

    /// Gives up all holes, as if no missing byte could come any more: for a connection that has
    /// been silent for long. What comes after them is handed on.
    pub fn give_up_gaps<R: Reader>(&mut self, budget: &mut Budget, reader: &mut R) {
        for way in [Way::AToB, Way::BToA] {
            self.with(way, budget, reader, |own, cx| own.give_up_all(cx));
        }
    }

    /// Ends it: gives up all holes, shows the reader what is unread for the last time, and gives
    /// all memory back to the budget.
    pub fn finish<R: Reader>(mut self, budget: &mut Budget, reader: &mut R) {
        self.end(Way::AToB, End::Abandoned, budget, reader);
    }

    /// Shows the reader what it lets wait of a direction: [`Next::Later`](super::Next::Later).
    pub fn read_again<R: Reader>(&mut self, way: Way, budget: &mut Budget, reader: &mut R) {
        self.with(way, budget, reader, |own, cx| own.show_again(cx));
        if self.is_over() {
            self.release(budget);
        }
    }

    /// What is unread of both directions counts as if it had not been shown to the reader.
    pub fn forget_shown(&mut self) {
        self.streams.iter_mut().for_each(Stream::forget_shown);
    }

    /// Whether both directions have ended. What comes now is a repeat, or a new connection.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.streams.iter().all(Stream::is_ended)
    }

    /// Whether it is not read any more.
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.streams.iter().any(Stream::is_ignored)
    }

    /// Whether nothing is missing in either direction, and a segment without payload that bears
    /// these numbers and no flag but ACK tells of nothing that is: it has no effect.
    #[must_use]
    pub fn is_settled(&self, way: Way, sequence: u32, acknowledgment: u32) -> bool {
        let (own, other) = (self.stream(way), self.stream(way.other()));
        own.beyond(sequence) == Some(0) && other.beyond(acknowledgment).is_some()
    }

    /// Bytes of memory held beside itself that are not charged to a [`Budget`]: what it takes to
    /// keep something, in each direction that does.
    #[must_use]
    pub fn uncharged(&self) -> usize {
        self.streams.iter().map(Stream::uncharged).sum()
    }

    /// Whether the SYN of a direction is in the capture.
    #[must_use]
    pub fn began(&self, way: Way) -> bool {
        self.stream(way).has_begun()
    }

    /// Whether bytes of a direction are known to be missing, though they may still come.
    #[must_use]
    pub fn has_hole(&self, way: Way) -> bool {
        self.stream(way).has_hole()
    }

    fn carried<R: Reader>(
        &mut self,
        way: Way,
        segment: &Segment<'_>,
        budget: &mut Budget,
        reader: &mut R,
    ) {
        let (own, other) = self.pair(way);
        if segment.flags.ack() && own.is_near(segment.sequence) {
            let is_latest = own.is_latest(segment.sequence);
            other.reaches(segment.acknowledgment, segment.at(), is_latest);
            if let Some((sequence, missing)) = other.acknowledged_unseen(segment.acknowledgment) {
                let At { frame, time } = segment.at();
                let kind = Kind::Gap { sequence, missing, cause: Cause::Acknowledged };
                reader.event(Event { way: way.other(), frame, time, kind });
            }
        }
        let other = other.unshown();
        own.data(segment, &mut Context { way, budget, reader, other });
        for way in [way, way.other()] {
            if self.is_ignored() {
                return;
            }
            let (own, other) = self.pair(way);
            let other_seen = other.is_seen();
            let mut cx = Context { way, budget, reader, other: other.unshown() };
            own.tick(segment.time, other_seen, &mut cx);
        }
    }

    fn opened<R: Reader>(
        &mut self,
        way: Way,
        segment: &Segment<'_>,
        budget: &mut Budget,
        reader: &mut R,
    ) {
        if self.is_anew(way, segment) {
            self.restart(way, segment, budget, reader);
        }
        let own = self.stream_mut(way);
        if !own.is_known() {
            own.open(segment.sequence);
        } else if own.is_late_syn(segment.sequence) {
            own.open_late(segment.sequence, budget);
        }
    }

    /// Whether a SYN begins another connection than the one there is.
    fn is_anew(&self, way: Way, segment: &Segment<'_>) -> bool {
        let (own, other) = (self.stream(way), self.stream(way.other()));
        if !own.is_known() {
            return other.is_closed() && !answers(segment, other);
        }
        let same = own.initial() == segment.sequence && own.has_begun();
        let is_over = self.streams.iter().all(Stream::is_closed);
        is_over || !(same || own.is_late_syn(segment.sequence))
    }

    /// Ends the old connection and begins a new one with a SYN.
    fn restart<R: Reader>(
        &mut self,
        way: Way,
        segment: &Segment<'_>,
        budget: &mut Budget,
        reader: &mut R,
    ) {
        // The other side's SYN may be there already, taken for the old connection's.
        let (_, other) = self.pair(way);
        let kept = other.is_fresh() && answers(segment, other);
        let kept = kept.then(|| std::mem::take(other));
        self.end(Way::AToB, End::Abandoned, budget, reader);
        *self = Self::default();
        if let Some(mut stream) = kept {
            stream.heed();
            *self.stream_mut(way.other()) = stream;
        }
        let At { frame, time } = segment.at();
        reader.event(Event { way, frame, time, kind: Kind::NewConnection });
    }

    fn reset<R: Reader>(
        &mut self,
        way: Way,
        segment: &Segment<'_>,
        budget: &mut Budget,
        reader: &mut R,
    ) {
        let ignored = self.is_ignored();
        let (own, other) = self.pair(way);
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
            own.reaches(segment.sequence, segment.at(), true);
        }
        let were_open = self.streams.iter().all(Stream::is_open);
        self.end(way, End::Reset, budget, reader);
        if were_open && !self.is_ignored() {
            self.stream_mut(way).reset(true, budget);
            self.stream_mut(way.other()).reset(false, budget);
        }
    }

    /// Ends both directions, after all holes were given up, one of them first. What the reader lets
    /// wait for the other one is shown to it again.
    fn end<R: Reader>(&mut self, first: Way, end: End, budget: &mut Budget, reader: &mut R) {
        let other = first.other();
        for way in [first, other] {
            self.with(way, budget, reader, |own, cx| own.give_up_all(cx));
        }
        for way in [first, other] {
            self.with(way, budget, reader, |own, cx| own.show_last(end, cx));
        }
        for way in [first, other] {
            self.with(way, budget, reader, |own, cx| {
                cx.other = Unshown::default();
                own.show_last(end, cx);
            });
        }
        self.streams.iter_mut().for_each(|stream| stream.end(budget));
    }

    /// Lets `work` show the reader something of a direction.
    fn with<R: Reader>(
        &mut self,
        way: Way,
        budget: &mut Budget,
        reader: &mut R,
        work: impl FnOnce(&mut Stream, &mut Context<'_, R>),
    ) {
        let (own, other) = self.pair(way);
        let other = other.unshown();
        work(own, &mut Context { way, budget, reader, other });
        if self.is_ignored() {
            self.ignore(budget);
        }
    }

    fn release(&mut self, budget: &mut Budget) {
        self.streams.iter_mut().for_each(|stream| stream.release(budget));
    }

    fn stream(&self, way: Way) -> &Stream {
        let [a, b] = &self.streams;
        match way {
            Way::AToB => a,
            Way::BToA => b,
        }
    }

    fn stream_mut(&mut self, way: Way) -> &mut Stream {
        self.pair(way).0
    }

    /// The stream of a direction, and the other one.
    fn pair(&mut self, way: Way) -> (&mut Stream, &mut Stream) {
        let [a, b] = &mut self.streams;
        match way {
            Way::AToB => (a, b),
            Way::BToA => (b, a),
        }
    }
}

/// Whether a SYN acknowledges the SYN of the other direction.
fn answers(segment: &Segment<'_>, other: &Stream) -> bool {
    segment.flags.ack() && segment.acknowledgment == other.initial().wrapping_add(1)
}
