//! Passes bytes to the reader, stores unread ones, and reports gaps and limits.

use super::held::{Growth, HISTORY, Jump};
use super::{Direction, Phase};
use crate::net::packet::FrameRef;
use crate::net::tcp::budget::StreamBudget;
use crate::net::tcp::buffered::{Buffered, Chunk};
use crate::net::tcp::run::{OtherUnread, Run};
use crate::net::tcp::{
    GapCause, Next, Side, StreamEnd, StreamEvent, StreamEventKind, StreamLimit, StreamReader,
};

/// The state outside of one direction that the functions below need.
pub(in crate::net::tcp) struct ReaderContext<'c, R> {
    pub(in crate::net::tcp) side: Side,
    pub(in crate::net::tcp) budget: &'c mut StreamBudget,
    pub(in crate::net::tcp) reader: &'c mut R,
    pub(in crate::net::tcp) other: OtherUnread,
}

/// The result of passing a run.
struct OfferResult {
    consumed: usize,
    /// How many of the remaining bytes the reader has seen.
    seen: usize,
    /// The reader left the rest for later.
    later: bool,
}

impl<R: StreamReader> ReaderContext<'_, R> {
    pub(super) fn event(&mut self, FrameRef { frame, time }: FrameRef, kind: StreamEventKind) {
        self.reader.event(StreamEvent { side: self.side, frame, time, kind });
    }

    /// Passes a run until the reader consumes no more of it; `None` if it ignores the connection.
    fn offer(&mut self, mut run: Run<'_>) -> Option<OfferResult> {
        let start = run.chunk.start;
        let offered = |run: &Run<'_>, seen, later| {
            Some(OfferResult { consumed: (run.chunk.start - start) as usize, seen, later })
        };
        loop {
            let part = run.up_to_unshown();
            match self.reader.read(self.side, &part) {
                Next::Ignore => return None,
                Next::Later => return offered(&run, run.seen, true),
                Next::Consumed(0) => {
                    return offered(&run, part.chunk.bytes.len(), part.held_back);
                }
                Next::Consumed(count) => {
                    run.chunk = run.chunk.from(run.chunk.start.saturating_add(count as u64));
                    run.seen = run.seen.saturating_sub(count);
                    run.missing_before = 0;
                }
            }
            if run.chunk.bytes.is_empty() {
                return offered(&run, 0, false);
            }
        }
    }
}

impl Direction {
    /// Passes on a chunk that is next while no bytes are unread.
    pub(super) fn fresh<R: StreamReader>(
        &mut self,
        chunk: Chunk<'_>,
        end: Option<StreamEnd>,
        cx: &mut ReaderContext<'_, R>,
    ) {
        self.report_growth(cx);
        let run = self.run(chunk, 0, end, cx.other);
        self.next = chunk.end();
        let Some(OfferResult { consumed, seen, later }) = cx.offer(run) else {
            return self.ignore(cx.budget);
        };
        self.consumed(consumed);
        if self.keeps(end, later) {
            self.remember(chunk, consumed, seen, cx);
            if let Some(held) = &mut self.held {
                held.later = later;
            }
        } else {
            self.remember(chunk, chunk.bytes.len(), 0, cx);
        }
    }

    /// A run was passed with its end. Whether the remaining bytes are kept.
    fn keeps(&mut self, end: Option<StreamEnd>, later: bool) -> bool {
        self.phase = match end {
            Some(StreamEnd::Fin) if later => Phase::Closing,
            Some(StreamEnd::Fin | StreamEnd::Reset | StreamEnd::Abandoned) if !later => {
                Phase::Ended
            }
            _ => self.phase,
        };
        match end {
            None => true,
            Some(StreamEnd::Gap | StreamEnd::Limit) => false,
            Some(StreamEnd::Fin | StreamEnd::Reset | StreamEnd::Abandoned) => later,
        }
    }

    /// Stores the bytes of a fresh chunk that were not consumed, and some consumed ones.
    fn remember<R: StreamReader>(
        &mut self,
        chunk: Chunk<'_>,
        consumed: usize,
        seen: usize,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let rest = chunk.from(chunk.start.saturating_add(consumed as u64));
        let spares = cx.budget.spares_memory();
        if self.held.is_none() && rest.bytes.is_empty() && (!spares || chunk.bytes.is_empty()) {
            return;
        }
        let held = self.held.get_or_insert_default();
        let skipped = if spares { consumed.saturating_sub(HISTORY) } else { consumed };
        if skipped > 0 {
            held.clear_buffer();
        }
        let part = chunk.from(chunk.start.saturating_add(skipped as u64));
        let room = cx.budget.room(held.charged);
        let mut kept = held.buffer.append(part, room);
        if !kept {
            held.buffer = Buffered::default();
            held.settle(cx.budget);
            kept = held.buffer.append(rest, cx.budget.room(held.charged));
        }
        if kept {
            held.read = held.buffer.len().saturating_sub(rest.bytes.len());
            held.shown = seen;
        } else {
            held.clear_buffer();
        }
        held.compact(self.next, cx.budget);
        held.settle(cx.budget);
        if !kept {
            let limit = cx.budget.tighter(held.charged);
            self.drop_at_limit(rest, rest.bytes.len(), limit, rest.at(rest.start), cx);
        }
    }

    /// Adds a chunk that is next to the unread bytes.
    pub(super) fn take<R: StreamReader>(
        &mut self,
        chunk: Chunk<'_>,
        cx: &mut ReaderContext<'_, R>,
    ) {
        if chunk.bytes.is_empty() || self.keep(chunk, cx.budget) {
            return;
        }
        let Some(held) = &mut self.held else { return };
        let start = self.next.saturating_sub(held.unread() as u64);
        let first = self.next.saturating_sub(held.buffer.len() as u64);
        let limit = cx.budget.tighter(held.charged);
        let (shown, buffer) = (held.shown, held.take_buffer());
        let leftover = buffer.chunk(first).from(start);
        held.settle(cx.budget);
        if !leftover.bytes.is_empty() {
            self.drop_at_limit(leftover, shown, limit, chunk.at(chunk.start), cx);
        }
        drop(buffer);
        if !self.ignored && !self.keep(chunk, cx.budget) {
            self.fresh(chunk, None, cx);
        }
    }

    /// Appends a chunk that is next to the buffer, if there is room.
    fn keep(&mut self, chunk: Chunk<'_>, budget: &mut StreamBudget) -> bool {
        let held = self.held.get_or_insert_default();
        let mut kept = held.buffer.append(chunk, budget.room(held.charged));
        held.settle(budget);
        if !kept && held.read > held.unread() / 4 {
            let unread_from = self.next.saturating_sub(held.unread() as u64);
            held.buffer.drop_front(std::mem::take(&mut held.read), unread_from);
            held.settle(budget);
            kept = held.buffer.append(chunk, budget.room(held.charged));
            held.settle(budget);
        }
        if kept {
            self.next = chunk.end();
        }
        kept
    }

    /// Continues after missing bytes. The reader gets the unread bytes before them once more; the
    /// rest is dropped. If the reader leaves these for the other direction, this waits until that
    /// has arrived, or until there is another gap.
    pub(super) fn jump<R: StreamReader>(
        &mut self,
        to: u64,
        cause: GapCause,
        basis: FrameRef,
        cx: &mut ReaderContext<'_, R>,
    ) {
        if to <= self.next {
            return;
        }
        self.show(None, cx);
        if let Some(held) = &mut self.held
            && held.later
            && held.unread() > 0
            && held.jump.is_none()
            && !matches!(cause, GapCause::End | GapCause::Limit)
        {
            held.jump = Some(Jump { to, cause, basis });
            return;
        }
        self.jump_now(Jump { to, cause, basis }, cx);
    }

    /// Continues after missing bytes that were given up, even if a reader waits.
    pub(super) fn jump_at_last<R: StreamReader>(&mut self, cx: &mut ReaderContext<'_, R>) {
        if let Some(jump) = self.held.as_mut().and_then(|held| held.jump.take()) {
            // Some of the missing bytes may have arrived meanwhile.
            let to = self.hole_end().map_or(jump.to, |(end, _)| end.min(jump.to));
            self.jump_now(Jump { to, ..jump }, cx);
            self.absorb(cx);
        }
    }

    fn jump_now<R: StreamReader>(
        &mut self,
        Jump { to, cause, basis }: Jump,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let missing = to.saturating_sub(self.next);
        if missing == 0 || self.ignored {
            return;
        }
        let sequence = self.next as u32;
        let held = self.held.get_or_insert_default();
        let mut missing_in_all = missing;
        if held.missing > 0 && held.unread() == 0 {
            missing_in_all = held.missing.saturating_add(missing);
            let before = held.growth.unwrap_or(Growth { sequence, missing: 0, cause, basis });
            let missing = before.missing.saturating_add(missing);
            held.growth = Some(Growth { missing, basis, ..before });
        } else {
            cx.event(basis, StreamEventKind::Gap { sequence, missing, cause });
            self.show(Some(StreamEnd::Gap), cx);
        }
        if self.ignored {
            return;
        }
        self.next = to;
        self.touched = true;
        let held = self.held.get_or_insert_default();
        held.clear_buffer();
        (held.later, held.jump) = (false, None);
        held.missing = missing_in_all;
        held.settle(cx.budget);
    }

    pub(super) fn show_or_end<R: StreamReader>(&mut self, cx: &mut ReaderContext<'_, R>) {
        if self.fin() != Some(self.next) {
            return self.show(None, cx);
        }
        self.show(Some(StreamEnd::Fin), cx);
        if let Some(held) = &mut self.held {
            held.ahead.clear();
            held.settle(cx.budget);
        }
    }

    /// Passes the unread bytes to the reader, if there is anything new.
    pub(super) fn show<R: StreamReader>(
        &mut self,
        end: Option<StreamEnd>,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let (unread, shown) = self.held.as_ref().map_or((0, 0), |held| (held.unread(), held.shown));
        if end.is_none() && unread == shown {
            return;
        }
        self.report_growth(cx);
        let (buffer, read) = self
            .held
            .as_mut()
            .map_or_else(Default::default, |held| (std::mem::take(&mut held.buffer), held.read));
        let start = self.next.saturating_sub(buffer.len() as u64);
        let chunk = buffer.chunk(start).from(start.saturating_add(read as u64));
        let run = self.run(chunk, shown, end, cx.other);
        let Some(OfferResult { consumed, seen, later }) = cx.offer(run) else {
            return self.ignore(cx.budget);
        };
        self.consumed(consumed);
        let is_kept = self.keeps(end, later);
        let Some(held) = &mut self.held else { return };
        let gone = if is_kept { consumed } else { unread };
        held.buffer = buffer;
        held.read = read.saturating_add(gone);
        held.shown = if is_kept { seen } else { 0 };
        held.later = is_kept && later;
        held.compact(self.next, cx.budget);
        held.settle(cx.budget);
    }

    /// Passes waiting bytes to the reader, and the FIN after them.
    pub(in crate::net::tcp) fn show_again<R: StreamReader>(
        &mut self,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let is_closing = self.phase == Phase::Closing;
        self.show(is_closing.then_some(StreamEnd::Fin), cx);
        if self.held.as_ref().is_some_and(|held| held.jump.is_some() && !held.later) {
            self.jump_at_last(cx);
            if !self.ignored {
                self.show_or_end(cx);
            }
        }
    }

    /// Passes the unread bytes to the reader for the last time.
    pub(in crate::net::tcp) fn show_last<R: StreamReader>(
        &mut self,
        end: StreamEnd,
        cx: &mut ReaderContext<'_, R>,
    ) {
        match self.phase {
            _ if self.ignored => {}
            Phase::Open => self.show(Some(end), cx),
            Phase::Closing => self.show(Some(StreamEnd::Fin), cx),
            Phase::Unseen | Phase::Silent | Phase::Reset | Phase::Cut | Phase::Ended => {}
        }
    }

    /// Passes unread bytes for the last time, because there is no room. They are no longer in the
    /// buffer.
    fn drop_at_limit<R: StreamReader>(
        &mut self,
        leftover: Chunk<'_>,
        seen: usize,
        limit: StreamLimit,
        at: FrameRef,
        cx: &mut ReaderContext<'_, R>,
    ) {
        let len = leftover.bytes.len();
        self.report_growth(cx);
        cx.event(at, StreamEventKind::Limit { limit, dropped: len as u64 });
        let run = self.run(leftover, seen, Some(StreamEnd::Limit), cx.other);
        let Some(OfferResult { consumed, .. }) = cx.offer(run) else {
            return self.ignore(cx.budget);
        };
        self.consumed(consumed);
        self.touched = true;
        let held = self.held.get_or_insert_default();
        held.missing = len.saturating_sub(consumed) as u64;
    }

    fn run<'a>(
        &self,
        chunk: Chunk<'a>,
        seen: usize,
        end: Option<StreamEnd>,
        other: OtherUnread,
    ) -> Run<'a> {
        let missing_before = self.held.as_ref().map_or(0, |held| held.missing);
        let fin = self.held.as_ref().and_then(|held| held.fin);
        let fin_time = fin.filter(|_| end == Some(StreamEnd::Fin)).map(|(_, at)| at.time);
        let began = self.began;
        Run { chunk, seen, missing_before, end, fin_time, began, other, held_back: false }
    }

    /// The unread bytes count as not passed to the reader.
    pub(in crate::net::tcp) fn forget_shown(&mut self) {
        if let Some(held) = &mut self.held {
            held.shown = 0;
        }
    }

    /// The bytes of this direction that the reader of the other one has not seen.
    pub(in crate::net::tcp) fn unshown(&self) -> OtherUnread {
        let unshown = self.held.as_ref().map_or(0, |held| held.unread().saturating_sub(held.shown));
        let has_hole = self.has_hole();
        let from = self.next.saturating_sub(unshown as u64) as u32;
        OtherUnread { has_hole, from: (has_hole || unshown > 0).then_some(from) }
    }

    fn consumed(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.touched = true;
        if let Some(held) = &mut self.held {
            held.missing = 0;
        }
    }

    fn report_growth<R: StreamReader>(&mut self, cx: &mut ReaderContext<'_, R>) {
        if let Some(growth) = self.held.as_mut().and_then(|held| held.growth.take()) {
            let Growth { sequence, missing, cause, basis } = growth;
            cx.event(basis, StreamEventKind::Gap { sequence, missing, cause });
        }
    }
}
