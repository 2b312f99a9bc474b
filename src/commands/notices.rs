//! Reports faults of recordings: the first few of each kind, the rest as counts.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use crate::capture::{Notice, Stop};

/// Maximum number of notices of a kind that are written in a run.
const MOST: u64 = 20;

/// The first notices of each kind, and counts.
#[derive(Default)]
pub(super) struct Notices {
    kinds: Vec<(&'static str, u64)>,
    first: Vec<Notice>,
    /// Files that could not be opened, and why. Threads that share a capture open files separately,
    /// so that only some may fail.
    unopened: BTreeMap<PathBuf, String>,
}

impl Notices {
    /// One more.
    pub(super) fn push(&mut self, notice: Notice) {
        if let Notice::Unopened { path, what } = notice {
            self.unopened.insert(path, what);
            return;
        }
        if self.count(notice.kind(), 1) < MOST {
            self.first.push(notice);
        }
    }

    /// Counts notices of a kind. Returns the previous count.
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

/// Interrupts and warnings while reading.
pub(super) struct Monitor<'e> {
    /// Whether to stop.
    pub(super) stop: Stop,
    /// Where warnings go.
    pub(super) err: &'e mut dyn Write,
    /// Counts of notices in this run.
    notices: Notices,
}

impl<'e> Monitor<'e> {
    pub(super) fn new(stop: Stop, err: &'e mut dyn Write) -> Monitor<'e> {
        Monitor { stop, err, notices: Notices::default() }
    }

    /// Writes the notices that are among the first of their kind in this run.
    pub(super) fn warn(&mut self, more: Notices) {
        for (path, what) in more.unopened {
            let notice = Notice::Unopened { path: path.clone(), what: what.clone() };
            if self.notices.unopened.insert(path, what).is_none()
                && self.notices.count(notice.kind(), 1) < MOST
            {
                writeln!(self.err, "gamewire: warning: {notice}").ok();
            }
        }
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

    /// Files that could not be opened, and why.
    pub(super) fn unopened(&self) -> impl ExactSizeIterator<Item = (&PathBuf, &String)> {
        self.notices.unopened.iter()
    }

    /// Reports how many more there were.
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
