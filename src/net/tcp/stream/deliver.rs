//! Hands bytes to the reader: shows what is unread, keeps what is left, tells of gaps and limits.

use super::held::{Growth, HISTORY};
use super::{Phase, Stream};
use crate::net::tcp::budget::Budget;
use crate::net::tcp::kept::{Chunk, Kept};
use crate::net::tcp::run::Run;
use crate::net::tcp::{Cause, End, Event, Kind, Limit, Next, Reader, Way};

/// What the code below needs from outside while it works on one direction.
pub(in crate::net::tcp) struct Context<'c, R> {
    pub(in crate::net::tcp) way: Way,
    pub(in crate::net::tcp) budget: &'c mut Budget,
    pub(in crate::net::tcp) reader: &'c mut R,
    pub(in crate::net::tcp) other_has_hole: bool,
}

impl<R: Reader> Context<'_, R> {
    pub(super) fn event(&mut self, frame: u64, kind: Kind) {
        self.reader.event(Event { way: self.way, frame, kind });
    }

    /// Shows a run until the reader takes no more of it; None if it will have none of it.
    fn offer(&mut self, mut run: Run<'_>) -> Option<usize> {
        let start = run.chunk.start;
        loop {
            match self.reader.read(self.way, &run) {
                Next::Ignore => return None,
                Next::Consumed(0) => break,
                Next::Consumed(count) => {
                    run.chunk = run.chunk.from(run.chunk.start.saturating_add(count as u64));
                    run.seen = run.seen.saturating_sub(count);
                    run.missing_before = 0;
                }
            }
            if run.chunk.bytes.is_empty() {
                break;
            }
        }
        Some((run.chunk.start - start) as usize)
    }
}

impl Stream {
    /// Hands on a chunk that is next while nothing is unread.
    pub(super) fn fresh<R: Reader>(
        &mut self,
        chunk: Chunk<'_>,
        end: Option<End>,
        cx: &mut Context<'_, R>,
    ) {
        self.report_growth(cx);
        let run = self.run(chunk, 0, end, cx.other_has_hole);
        self.next = chunk.end();
        let Some(consumed) = cx.offer(run) else { return self.ignore(cx.budget) };
        self.consumed(consumed);
        if end.is_some() {
            self.phase = Phase::Ended;
            self.remember(chunk, chunk.bytes.len(), cx);
        } else {
            self.remember(chunk, consumed, cx);
        }
    }

    /// Keeps what was not consumed of a fresh chunk, and some of what was.
    fn remember<R: Reader>(&mut self, chunk: Chunk<'_>, consumed: usize, cx: &mut Context<'_, R>) {
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
            held.buffer = Kept::default();
            held.settle(cx.budget);
            kept = held.buffer.append(rest, cx.budget.room(held.charged));
        }
        if kept {
            held.read = held.buffer.len().saturating_sub(rest.bytes.len());
            held.shown = rest.bytes.len();
        } else {
            held.clear_buffer();
        }
        held.compact(self.next, cx.budget);
        held.settle(cx.budget);
        if !kept {
            let limit = cx.budget.tighter(held.charged);
            self.drop_at_limit(rest, rest.bytes.len(), (limit, rest.frame_at(rest.start)), cx);
        }
    }

    /// Adds a chunk that is next to the unread bytes.
    pub(super) fn take<R: Reader>(&mut self, chunk: Chunk<'_>, cx: &mut Context<'_, R>) {
        if chunk.bytes.is_empty() || self.keep(chunk, cx.budget) {
            return;
        }
        let Some(held) = &mut self.held else { return };
        let start = self.next.saturating_sub(held.unread() as u64);
        let first = self.next.saturating_sub(held.buffer.len() as u64);
        let limit = cx.budget.tighter(held.charged);
        let (buffer, _, shown) = held.take_buffer();
        let leftover = buffer.chunk(first).from(start);
        held.settle(cx.budget);
        if !leftover.bytes.is_empty() {
            self.drop_at_limit(leftover, shown, (limit, chunk.frame_at(chunk.start)), cx);
        }
        drop(buffer);
        if !self.ignored && !self.keep(chunk, cx.budget) {
            self.fresh(chunk, None, cx);
        }
    }

    /// Appends a chunk that is next to the buffer, if there is room.
    fn keep(&mut self, chunk: Chunk<'_>, budget: &mut Budget) -> bool {
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

    /// Goes on behind missing bytes. The reader sees what it left before them once more, and then
    /// that is dropped.
    pub(super) fn jump<R: Reader>(
        &mut self,
        to: u64,
        cause: Cause,
        witness: u64,
        cx: &mut Context<'_, R>,
    ) {
        let missing = to.saturating_sub(self.next);
        if missing == 0 {
            return;
        }
        self.show(None, cx);
        if self.ignored {
            return;
        }
        let sequence = self.next as u32;
        let held = self.held.get_or_insert_default();
        let mut missing_in_all = missing;
        if held.missing > 0 && held.unread() == 0 {
            missing_in_all = held.missing.saturating_add(missing);
            let before = held.growth.unwrap_or(Growth { sequence, missing: 0, cause, witness });
            let missing = before.missing.saturating_add(missing);
            held.growth = Some(Growth { missing, witness, ..before });
        } else {
            cx.event(witness, Kind::Gap { sequence, missing, cause });
            self.show(Some(End::Gap), cx);
        }
        if self.ignored {
            return;
        }
        self.next = to;
        self.touched = true;
        let held = self.held.get_or_insert_default();
        held.clear_buffer();
        held.missing = missing_in_all;
        held.settle(cx.budget);
    }

    pub(super) fn show_or_end<R: Reader>(&mut self, cx: &mut Context<'_, R>) {
        if self.fin() != Some(self.next) {
            return self.show(None, cx);
        }
        self.show(Some(End::Fin), cx);
        self.phase = Phase::Ended;
        if let Some(held) = &mut self.held {
            held.ahead.clear();
            held.settle(cx.budget);
        }
    }

    /// Shows the reader what is unread, if there is anything new about it.
    pub(super) fn show<R: Reader>(&mut self, end: Option<End>, cx: &mut Context<'_, R>) {
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
        let run = self.run(chunk, shown, end, cx.other_has_hole);
        let Some(consumed) = cx.offer(run) else { return self.ignore(cx.budget) };
        self.consumed(consumed);
        let Some(held) = &mut self.held else { return };
        let gone = if end.is_some() { unread } else { consumed };
        held.buffer = buffer;
        held.read = read.saturating_add(gone);
        held.shown = unread.saturating_sub(gone);
        held.compact(self.next, cx.budget);
        held.settle(cx.budget);
    }

    /// Shows the reader what is unread, as if it had not seen it.
    pub(in crate::net::tcp) fn show_again<R: Reader>(&mut self, cx: &mut Context<'_, R>) {
        if let Some(held) = &mut self.held {
            held.shown = 0;
        }
        self.show(None, cx);
    }

    /// Shows unread bytes for the last time, for want of room. They are no longer in the buffer.
    fn drop_at_limit<R: Reader>(
        &mut self,
        leftover: Chunk<'_>,
        seen: usize,
        (limit, frame): (Limit, u64),
        cx: &mut Context<'_, R>,
    ) {
        let len = leftover.bytes.len();
        self.report_growth(cx);
        cx.event(frame, Kind::Limit { limit, dropped: len as u64 });
        let run = self.run(leftover, seen, Some(End::Limit), cx.other_has_hole);
        let Some(consumed) = cx.offer(run) else { return self.ignore(cx.budget) };
        self.consumed(consumed);
        self.touched = true;
        let held = self.held.get_or_insert_default();
        held.missing = len.saturating_sub(consumed) as u64;
    }

    fn run<'a>(&self, chunk: Chunk<'a>, seen: usize, end: Option<End>, hole: bool) -> Run<'a> {
        let missing_before = self.held.as_ref().map_or(0, |held| held.missing);
        Run { chunk, seen, missing_before, end, began: self.began, other_has_hole: hole }
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

    fn report_growth<R: Reader>(&mut self, cx: &mut Context<'_, R>) {
        if let Some(growth) = self.held.as_mut().and_then(|held| held.growth.take()) {
            let Growth { sequence, missing, cause, witness } = growth;
            cx.event(witness, Kind::Gap { sequence, missing, cause });
        }
    }
}
