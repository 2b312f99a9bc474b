//! Queues of the entries of a table: each entry is in the queue of all datagrams and in that of its
//! source, and can be removed from both in constant time.
//!
//! It handles numbers and links only.

use std::hash::Hash;

use super::table::NumberedTable;

/// Which queue: each entry is in both.
#[derive(Clone, Copy, Debug)]
pub(super) enum QueueKind {
    All,
    Source,
}

impl QueueKind {
    pub(super) const COUNT: usize = 2;
}

/// An entry's neighbours in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueLinks {
    older: Option<u32>,
    newer: Option<u32>,
}

/// An entry that can be in queues.
pub(super) trait InQueues {
    /// Its neighbours in each queue.
    fn links(&mut self) -> &mut [QueueLinks; QueueKind::COUNT];
}

/// Entries in the order they were pushed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AgeQueue {
    oldest: Option<u32>,
    newest: Option<u32>,
}

impl AgeQueue {
    #[inline]
    pub(super) fn oldest(&self) -> Option<u32> {
        self.oldest
    }

    pub(super) fn push<K: Eq + Hash, E: InQueues>(
        &mut self,
        kind: QueueKind,
        entries: &mut NumberedTable<K, E>,
        number: u32,
    ) {
        *links(entries, number, kind) = QueueLinks { older: self.newest, newer: None };
        match self.newest {
            Some(newest) => links(entries, newest, kind).newer = Some(number),
            None => self.oldest = Some(number),
        }
        self.newest = Some(number);
    }

    pub(super) fn remove<K: Eq + Hash, E: InQueues>(
        &mut self,
        kind: QueueKind,
        entries: &mut NumberedTable<K, E>,
        number: u32,
    ) {
        let QueueLinks { older, newer } = *links(entries, number, kind);
        match older {
            Some(older) => links(entries, older, kind).newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => links(entries, newer, kind).older = older,
            None => self.newest = older,
        }
    }
}

fn links<K: Eq + Hash, E: InQueues>(
    entries: &mut NumberedTable<K, E>,
    number: u32,
    kind: QueueKind,
) -> &mut QueueLinks {
    let [all, source] = entries.at_mut(number).links();
    match kind {
        QueueKind::All => all,
        QueueKind::Source => source,
    }
}
