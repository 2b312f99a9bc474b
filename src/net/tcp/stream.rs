//! One direction of a connection: orders its bytes, compares repeats, skips gaps.

mod beginning;
mod deliver;
mod held;
mod other_syn;

use self::beginning::REPORTED;
use self::held::{HeldBytes, WAIT};
use super::budget::StreamBudget;
use super::buffered::{Chunk, Origin};
use super::{ArrivingSegment, GapCause, StreamEnd, StreamEventKind, StreamLimit, StreamReader};
use crate::net::packet::{FrameRef, Segment};

pub(super) use self::deliver::ReaderContext;

/// Maximum distance of a segment from the expected position.
const FAR: u64 = 1 << 30;
/// Maximum distance of a segment whose acknowledgment is accepted, and of a reset where the window is unknown.
const NEAR: u64 = 1 << 20;
/// Maximum number of bytes in a SYN.
const MOST_WITH_SYN: u32 = u16::MAX as u32;
/// Maximum distance of the stream's beginning before the first segment of a capture.
const START_REACH: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Unseen,
    /// Segments were seen, but none with a position.
    Silent,
    Open,
    /// All bytes have arrived, with a FIN, but the reader left the last of them for later.
    Closing,
    /// Its sender has reset the connection; if it continues, the reset came from another host.
    Reset,
    /// The other side has reset it; segments wait until the other side continues.
    Cut,
    Ended,
}

/// One direction. It takes 24 bytes until something must be stored.
#[derive(Debug, Default)]
pub(super) struct Direction {
    held: Option<Box<HeldBytes>>,
    /// The position of the byte expected next. Its lower 32 bits are the sequence number.
    next: u64,
    /// The sequence number before the first byte's: that of the SYN, if it was seen.
    initial: u32,
    phase: Phase,
    began: bool,
    /// Bytes were consumed or lost: the beginning is fixed.
    touched: bool,
    ignored: bool,
}

impl Direction {
    pub(super) fn is_known(&self) -> bool {
        !matches!(self.phase, Phase::Unseen | Phase::Silent)
    }

    pub(super) fn is_seen(&self) -> bool {
        self.phase != Phase::Unseen
    }

    pub(super) fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether its end has arrived, even if the reader has not seen it.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closing | Phase::Reset | Phase::Cut | Phase::Ended)
    }

    pub(super) fn is_ignored(&self) -> bool {
        self.ignored
    }

    pub(super) fn has_begun(&self) -> bool {
        self.began
    }

    pub(super) fn initial(&self) -> u32 {
        self.initial
    }

    /// Whether nothing but its SYN has arrived.
    pub(super) fn is_fresh(&self) -> bool {
        self.began && self.phase == Phase::Open && self.next as u32 == self.initial.wrapping_add(1)
    }

    /// Whether this number is that behind the SYN, or behind a part of the bytes that may have come with it (RFC 7413).
    pub(super) fn is_opened_up_to(&self, sequence: u32) -> bool {
        let first = self.initial.wrapping_add(1);
        let bytes = if self.began { (self.next as u32).wrapping_sub(first) } else { 0 };
        sequence.wrapping_sub(first) <= bytes.min(MOST_WITH_SYN)
    }

    /// Whether bytes are known to be missing before others, or before the end.
    pub(super) fn has_hole(&self) -> bool {
        self.phase == Phase::Open
            && self.held.as_ref().is_some_and(|held| {
                // A gap that was given up does not count.
                let is_known = held.jump.is_some();
                !is_known
                    && (self.next < held.acked.0 || !held.ahead.is_empty() || held.fin.is_some())
            })
    }

    /// Whether nothing is missing before this sequence number; how far the expected one is after
    /// it.
    pub(super) fn beyond(&self, sequence: u32) -> Option<u64> {
        let is_whole = self.phase == Phase::Open && !self.has_hole();
        self.position(sequence).and_then(|p| self.next.checked_sub(p)).filter(|_| is_whole)
    }

    /// Whether a sequence number is plausible.
    pub(super) fn is_near(&self, sequence: u32) -> bool {
        !self.is_known() || self.position(sequence).is_some_and(|p| p.abs_diff(self.next) <= NEAR)
    }

    /// Whether a RST with this number is accepted: it is in the receiver's window (RFC 9293, section 3.10.7.4), as far as
    /// that is known.
    pub(super) fn accepts_reset(&self, sequence: u32, window: Option<u64>) -> bool {
        let window =
            window.filter(|_| self.began && !self.has_hole()).map_or(NEAR, |it| it.min(NEAR));
        self.position(sequence).is_some_and(|p| p >= self.next && p - self.next <= window)
    }

    /// Whether no bytes were recorded, and this is no number of any that the other side has acknowledged or will.
    pub(super) fn is_not_at(&self, sequence: u32) -> bool {
        let position = self.position(sequence);
        self.next > REPORTED && position.is_none_or(|p| p.abs_diff(self.next) > NEAR)
    }

    /// Unwraps a sequence number near the expected one (serial number arithmetic, RFC 1982).
    fn position(&self, sequence: u32) -> Option<u64> {
        let distance = sequence.wrapping_sub(self.next as u32) as i32;
        let position = self.next.checked_add_signed(i64::from(distance))?;
        (position.abs_diff(self.next) <= FAR).then_some(position)
    }

    /// Ends it without events, as for an ignored connection.
    pub(super) fn close(&mut self) {
        self.phase = Phase::Ended;
    }

    /// Stores nothing from now on.
    pub(super) fn ignore(&mut self, budget: &mut StreamBudget) {
        self.ignored = true;
        self.release(budget);
    }

    pub(super) fn heed(&mut self) {
        self.ignored = false;
    }

    /// Memory in bytes that is not charged to the budget.
    pub(super) fn uncharged(&self) -> usize {
        self.held.as_ref().map_or(0, |_| HeldBytes::OWN)
    }

    /// Returns all memory.
    pub(super) fn release(&mut self, budget: &mut StreamBudget) {
        if let Some(held) = self.held.take() {
            budget.exchange(held.charged, 0);
        }
    }

    /// Whether a segment with this sequence number was sent after all others: it is neither a
    /// repeat nor reordered.
    pub(super) fn is_latest(&self, sequence: u32) -> bool {
        let end = self.held.as_ref().map_or(self.next, |held| held.end(self.next));
        !self.is_known() || self.position(sequence).is_some_and(|position| position >= end)
    }

    /// The stream extends to a sequence number. If that is after all seen bytes, it holds until the
    /// next statement, because a false acknowledgment is not repeated. `is_latest`: this is the
    /// latest segment.
    pub(super) fn reaches(&mut self, sequence: u32, at: FrameRef, is_latest: bool) {
        if self.phase != Phase::Open {
            return;
        }
        let Some(position) = self.position(sequence) else { return };
        if position.max(self.acked()) <= self.next {
            return;
        }
        let held = self.held.get_or_insert_default();
        let acked = held.acked.0;
        if position > acked || is_latest && position < acked && acked > held.end(self.next) {
            held.acked = (position, at);
        }
    }

    /// Handles a segment of this direction that is not a RST and whose SYN was handled.
    pub(super) fn data<R: StreamReader>(
        &mut self,
        arrival: &ArrivingSegment<'_>,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let &ArrivingSegment { segment, at, pieces } = arrival;
        let payload = &segment.payload;
        let flags = segment.flags;
        let sequence = segment.sequence.wrapping_add(u32::from(flags.syn()));
        let announced = u64::from(payload.announced).max(payload.bytes.len() as u64).min(FAR);
        if !self.is_known() {
            if announced == 0 && !flags.fin() {
                self.phase = Phase::Silent;
                return;
            }
            self.begin_by(sequence);
        }
        let Some(start) = self.position(sequence) else {
            cx.budget.counts.out_of_window += 1;
            return;
        };
        // A segment without ACK answers nothing.
        let acknowledgment =
            if flags.ack() { segment.acknowledgment } else { cx.other.from.unwrap_or_default() };
        let FrameRef { frame, time } = at;
        let (alone, several): (_, Vec<_>);
        let origins = if let [_, _, ..] = pieces {
            let of = |piece| Origin::of(piece, start, time, acknowledgment);
            several = pieces.iter().map(of).collect();
            &several[..]
        } else {
            let offset = pieces.first().map_or(payload.offset, |piece| piece.offset);
            alone = [Origin { start, frame, time, offset, acknowledgment }];
            &alone
        };
        let chunk = Chunk { start, bytes: payload.bytes, origins };
        if self.phase == Phase::Cut && start >= self.next && !chunk.bytes.is_empty() {
            let cut = announced.saturating_sub(chunk.bytes.len() as u64);
            self.store(chunk, cut, &mut false, cx);
            return;
        }
        if self.phase != Phase::Open {
            self.after_end(chunk, cx);
            return;
        }
        if announced == 0 && !flags.fin() {
            let probes = !flags.syn() && start.saturating_add(1) == self.next;
            cx.budget.counts.keep_alives += u64::from(probes);
            return;
        }
        self.rewind(start, cx.budget);
        let sent_end = start.saturating_add(announced);
        if sent_end == chunk.end() && self.awaits_only(start) {
            self.fresh(chunk, flags.fin().then_some(StreamEnd::Fin), cx);
            return;
        }
        if flags.fin() && sent_end >= self.next {
            let held = self.held.get_or_insert_default();
            held.fin = held.fin.or(Some((sent_end, at)));
        }
        self.place(chunk, sent_end, cx);
    }

    /// Checks at a segment of the connection whether the wait for its gap is over.
    pub(super) fn tick<R: StreamReader>(
        &mut self,
        now: i64,
        other_seen: bool,
        cx: &mut ReaderContext<'_, R>,
    ) {
        if self.phase != Phase::Open {
            return;
        }
        let Some(held) = &mut self.held else { return };
        if self.next < held.acked.0 {
            if held.is_overdue(self.next, now, cx.budget.limits().patience) {
                self.give_up(GapCause::Acknowledged, cx);
            }
            return;
        }
        held.wait = None;
        if !other_seen && held.ahead.waits_since(now.saturating_sub(WAIT)) {
            self.give_up(GapCause::Late, cx);
        }
    }

    /// Whether it continues after missing bytes once the unread bytes before them have been read.
    fn waits_to_jump(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.jump.is_some())
    }

    /// Skips all gaps. `is_reset`: its sender has reset the connection, which shows how far the stream extends, but not that
    /// it arrived.
    pub(super) fn give_up_all<R: StreamReader>(
        &mut self,
        is_reset: bool,
        cx: &mut ReaderContext<'_, R>,
    ) {
        while !self.ignored && (self.has_hole() || self.waits_to_jump()) {
            let (next, waited) = (self.next, self.waits_to_jump());
            let is_acknowledged = self.held.as_ref().is_some_and(|held| next < held.acked.0);
            let cause =
                if is_acknowledged && !is_reset { GapCause::Acknowledged } else { GapCause::End };
            self.give_up(cause, cx);
            if self.next == next && !waited {
                return;
            }
        }
    }

    /// Ends it after a RST, and stores nothing.
    pub(super) fn reset(&mut self, is_sender: bool, budget: &mut StreamBudget) {
        self.end(budget);
        self.phase = if is_sender { Phase::Reset } else { Phase::Cut };
    }

    /// Whether its sender has reset the connection.
    pub(super) fn is_reset(&self) -> bool {
        self.phase == Phase::Reset
    }

    /// Whether more bytes may arrive.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open && !self.ignored
    }

    /// Whether a segment shows that the reset did not come from its sender: the stream continues,
    /// or acknowledges what `other` sent since then.
    pub(super) fn resumes(&self, segment: &Segment<'_>, other: &Direction) -> bool {
        let (flags, stash) =
            (segment.flags, other.held.as_ref().map_or(0, |held| held.ahead.end()));
        let is_new =
            segment.payload.announced > 0 || !segment.payload.bytes.is_empty() || flags.fin();
        let has_more = || {
            let position = other.position(segment.acknowledgment).filter(|_| flags.ack());
            position.is_some_and(|position| position > other.next && position <= stash)
        };
        self.phase == Phase::Reset
            && self.accepts_reset(segment.sequence, None)
            && (is_new || has_more())
    }

    /// Continues after a RST that was not the end.
    pub(super) fn resume<R: StreamReader>(&mut self, cx: &mut ReaderContext<'_, R>) {
        if matches!(self.phase, Phase::Reset | Phase::Cut) {
            self.phase = Phase::Open;
            self.absorb(cx);
            if !self.ignored {
                self.show_or_end(cx);
            }
        }
    }

    /// Ends it, and stores nothing.
    pub(super) fn end(&mut self, budget: &mut StreamBudget) {
        self.phase = Phase::Ended;
        self.release(budget);
    }

    /// Whether nothing is stored, and this position is next.
    fn awaits_only(&self, start: u64) -> bool {
        start == self.next
            && self.held.as_ref().is_none_or(|held| {
                held.unread() == 0 && held.ahead.is_empty() && held.fin.is_none()
            })
    }

    /// Handles a segment's bytes. The payload was sent up to `sent_end`.
    fn place<R: StreamReader>(
        &mut self,
        chunk: Chunk<'_>,
        sent_end: u64,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let recorded_end = chunk.end();
        let at = chunk.at(chunk.start);
        let cut = sent_end.saturating_sub(recorded_end);
        let mut chunk = chunk.until(self.fin().unwrap_or(u64::MAX));
        let mut differed = false;
        loop {
            chunk = self.skip_repeated(chunk, &mut differed, cx);
            if chunk.bytes.is_empty() {
                break;
            }
            if chunk.start == self.next {
                let head = chunk.until(self.first_ahead().unwrap_or(u64::MAX));
                self.take(head, cx);
                self.absorb(cx);
                chunk = chunk.from(head.end());
            } else {
                let cut = if chunk.end() == recorded_end { cut } else { 0 };
                let Some(at) = self.store(chunk, cut, &mut differed, cx) else { break };
                chunk = chunk.from(at);
                self.make_way(chunk, cx);
            }
            if self.ignored {
                return;
            }
        }
        if cut > 0 && recorded_end <= self.next && self.next < sent_end {
            let to = self.hole_end().map_or(sent_end, |(end, _)| end.min(sent_end));
            self.jump(to, GapCause::Snapped, at, cx);
            self.absorb(cx);
        }
        self.show_or_end(cx);
    }

    /// Compares and drops bytes before the expected position.
    fn skip_repeated<'a, R: StreamReader>(
        &mut self,
        chunk: Chunk<'a>,
        differed: &mut bool,
        cx: &mut ReaderContext<'_, R>,
    ) -> Chunk<'a> {
        if chunk.start >= self.next {
            return chunk;
        }
        let old = chunk.until(self.next);
        if chunk.bytes.len() == 1 && chunk.end() == self.next {
            cx.budget.counts.keep_alives += 1;
            return chunk.from(self.next);
        }
        let mut compared = 0;
        if let Some(held) = &self.held {
            let there = held.buffer.chunk(self.next.saturating_sub(held.buffer.len() as u64));
            let (len, differs) = old.compare(&there);
            let differs = differs.map(|position| (position, there.frame_at(position)));
            compared = len;
            report_difference(differs, &chunk, differed, cx);
        }
        cx.budget.counts.repeated += compared as u64;
        cx.budget.counts.uncompared += old.bytes.len().saturating_sub(compared) as u64;
        chunk.from(self.next)
    }

    /// Handles payload after the end: a repeat, or ignored.
    fn after_end<R: StreamReader>(&mut self, chunk: Chunk<'_>, cx: &mut ReaderContext<'_, R>) {
        if !self.skip_repeated(chunk, &mut false, cx).bytes.is_empty() {
            cx.budget.counts.after_end += 1;
        }
    }

    /// Stores a chunk after a gap; returns where it stopped, if there was no room.
    fn store<R: StreamReader>(
        &mut self,
        chunk: Chunk<'_>,
        cut: u64,
        differed: &mut bool,
        cx: &mut ReaderContext<'_, R>,
    ) -> Option<u64> {
        let held = self.held.get_or_insert_default();
        let room = cx.budget.room(held.charged);
        let stored = held.ahead.store(chunk, cut, room, cx.budget.limits().ranges);
        held.settle(cx.budget);
        cx.budget.counts.repeated += stored.repeated as u64;
        report_difference(stored.differs, &chunk, differed, cx);
        stored.full_at
    }

    /// Skips a gap because there is no room for a chunk after it.
    fn make_way<R: StreamReader>(&mut self, chunk: Chunk<'_>, cx: &mut ReaderContext<'_, R>) {
        let at = chunk.at(chunk.start);
        self.jump_at_last(cx);
        let (ranges, charged) =
            self.held.as_ref().map_or((0, 0), |held| (held.ahead.len(), held.charged));
        let limit = if ranges >= cx.budget.limits().ranges {
            StreamLimit::Ranges
        } else {
            cx.budget.tighter(charged)
        };
        cx.event(at, StreamEventKind::Limit { limit, dropped: 0 });
        let (to, basis) =
            self.hole_end().filter(|(end, _)| *end < chunk.start).unwrap_or((chunk.start, at));
        self.jump(to, GapCause::Limit, basis, cx);
        self.absorb(cx);
        if !self.ignored {
            self.show(None, cx);
        }
    }

    /// Moves bytes after the gap that are now in order to the unread bytes.
    fn absorb<R: StreamReader>(&mut self, cx: &mut ReaderContext<'_, R>) {
        while let Some(held) = &mut self.held {
            let Some((start, range)) = held.ahead.take_first(self.next) else { return };
            held.settle(cx.budget);
            let chunk = range.kept.chunk(start).until(self.fin().unwrap_or(u64::MAX));
            self.take(chunk.from(self.next), cx);
            if range.cut > 0 && !self.ignored && self.next == chunk.end() {
                let cut_end = self.next.saturating_add(range.cut);
                let to = self.hole_end().map_or(cut_end, |(end, _)| end.min(cut_end));
                let at = chunk.at(chunk.end().saturating_sub(1));
                self.jump(to, GapCause::Snapped, at, cx);
            }
        }
    }

    /// Skips the gap at the expected position.
    fn give_up<R: StreamReader>(&mut self, cause: GapCause, cx: &mut ReaderContext<'_, R>) {
        if self.waits_to_jump() {
            self.jump_at_last(cx);
            if !self.ignored {
                self.show_or_end(cx);
            }
            return;
        }
        let acked = self.held.as_ref().map_or_else(Default::default, |held| held.acked);
        let (to, basis) = self
            .hole_end()
            .filter(|(end, _)| cause != GapCause::Acknowledged || *end <= acked.0)
            .unwrap_or(acked);
        self.jump(to, cause, basis, cx);
        self.absorb(cx);
        if !self.ignored {
            self.show_or_end(cx);
        }
    }

    fn first_ahead(&self) -> Option<u64> {
        self.held.as_ref()?.ahead.first().map(|(start, _)| start)
    }

    fn acked(&self) -> u64 {
        self.held.as_ref().map_or(0, |held| held.acked.0)
    }

    fn fin(&self) -> Option<u64> {
        self.held.as_ref()?.fin.map(|(position, _)| position)
    }

    /// The end of the gap at the expected position, as far as this direction shows: position and
    /// packet of the next bytes.
    fn hole_end(&self) -> Option<(u64, FrameRef)> {
        let held = self.held.as_ref()?;
        match (held.ahead.first(), held.fin) {
            (Some(range), Some(fin)) => Some(if range.0 < fin.0 { range } else { fin }),
            (range, fin) => range.or(fin),
        }
    }
}

/// Reports once per segment that it differs from earlier bytes.
fn report_difference<R: StreamReader>(
    differs: Option<(u64, u64)>,
    repeat: &Chunk<'_>,
    differed: &mut bool,
    cx: &mut ReaderContext<'_, R>,
) {
    if let Some((position, original)) = differs
        && !std::mem::replace(differed, true)
    {
        let kind = StreamEventKind::OverlapDiffers { sequence: position as u32, original };
        cx.event(repeat.at(position), kind);
    }
}
