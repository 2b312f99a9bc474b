//! What is wrong with recordings, for people: of each kind the first few, the rest counted.

use std::io::Write;

use crate::capture::{Notice, Stop};

/// Notices of a kind that are written out in a run.
const MOST: u64 = 20;

/// Some notices: the first of each kind, and how many there were.
#[derive(Default)]
pub(super) struct Notices {
    kinds: Vec<(&'static str, u64)>,
    first: Vec<Notice>,
}

impl Notices {
    /// One more.
    pub(super) fn push(&mut self, notice: Notice) {
        if self.count(notice.kind(), 1) < MOST {
            self.first.push(notice);
        }
    }

    /// Counts some more of a kind. How many there were before.
    fn count(&mut self, kind: &'static str, more: u64) -> u64 {
        if let Some((_, count)) = self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            let before = *count;
            *count += more;
            return before;
        }
        self.kinds.push((kind, more));
        0
    }
}

/// What goes along with reading: whether to stop, and where warnings go.
pub(super) struct Monitor<'e> {
    /// Whether to stop.
    pub(super) stop: Stop,
    /// Where warnings go.
    pub(super) err: &'e mut dyn Write,
    /// How many notices there were in this run.
    notices: Notices,
}

impl<'e> Monitor<'e> {
    pub(super) fn new(stop: Stop, err: &'e mut dyn Write) -> Monitor<'e> {
        Monitor { stop, err, notices: Notices::default() }
    }

    /// Writes those notices that are among the first of their kind in this run.
    pub(super) fn warn(&mut self, more: Notices) {
        let mut room: Vec<_> = Vec::new();
        for &(kind, count) in &more.kinds {
            room.push((kind, MOST.saturating_sub(self.notices.count(kind, count))));
        }
        for notice in &more.first {
            let kind = notice.kind();
            let room = room.iter_mut().find(|(known, room)| *known == kind && *room > 0);
            if let Some((_, room)) = room {
                *room -= 1;
                writeln!(self.err, "gamewire: warning: {notice}").ok();
            }
        }
    }

    /// Says how many there were beside those that were written.
    pub(super) fn end(&mut self) {
        for (kind, count) in &self.notices.kinds {
            if let Some(more) = count.checked_sub(MOST).filter(|&more| more > 0) {
                writeln!(self.err, "gamewire: warning: {more} more {kind}, {count} in all").ok();
            }
        }
    }
}

impl From<Notice> for Notices {
    fn from(notice: Notice) -> Notices {
        let mut one = Notices::default();
        one.push(notice);
        one
    }
}
