//! What is wrong with recordings, for people: of each kind the first few, the rest counted.

use std::io::Write;

use crate::capture::Notice;

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

    /// Writes those of `more` that are among the first of their kind in this run.
    pub(super) fn write(&mut self, more: Notices, err: &mut dyn Write) {
        let mut room: Vec<_> = more
            .kinds
            .iter()
            .map(|&(kind, count)| (kind, MOST.saturating_sub(self.count(kind, count))))
            .collect();
        for notice in &more.first {
            let kind = notice.kind();
            if let Some((_, room)) =
                room.iter_mut().find(|(known, room)| *known == kind && *room > 0)
            {
                *room -= 1;
                writeln!(err, "gamewire: warning: {notice}").ok();
            }
        }
    }

    /// Says how many there were beside those that were written.
    pub(super) fn end(&self, err: &mut dyn Write) {
        for (kind, count) in &self.kinds {
            if let Some(more) = count.checked_sub(MOST).filter(|&more| more > 0) {
                writeln!(err, "gamewire: warning: {more} more {kind}, {count} in all").ok();
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
