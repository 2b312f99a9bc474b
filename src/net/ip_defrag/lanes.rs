//! Queues that run through the entries of a table: each entry stands in the queue of all datagrams
//! and in that of its source, and leaves both from any place in constant time.
//!
//! Knows numbers and links, not what the entries are about.

use super::Entry;
use super::entry::Key;
use super::table::Table;

/// A queue that entries stand in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane {
    All,
    Source,
}

impl Lane {
    pub(super) const COUNT: usize = 2;
}

/// An entry's neighbours in a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    older: Option<u32>,
    newer: Option<u32>,
}

/// Entries in the order they were pushed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    oldest: Option<u32>,
    newest: Option<u32>,
}

impl Queue {
    #[inline]
    pub(super) fn oldest(&self) -> Option<u32> {
        self.oldest
    }

    pub(super) fn push(&mut self, lane: Lane, entries: &mut Table<Key, Entry>, number: u32) {
        *links(entries, number, lane) = Links { older: self.newest, newer: None };
        match self.newest {
            Some(newest) => links(entries, newest, lane).newer = Some(number),
            None => self.oldest = Some(number),
        }
        self.newest = Some(number);
    }

    pub(super) fn remove(&mut self, lane: Lane, entries: &mut Table<Key, Entry>, number: u32) {
        let Links { older, newer } = *links(entries, number, lane);
        match older {
            Some(older) => links(entries, older, lane).newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => links(entries, newer, lane).older = older,
            None => self.newest = older,
        }
    }
}

fn links(entries: &mut Table<Key, Entry>, number: u32, lane: Lane) -> &mut Links {
    let [all, source] = &mut entries.at_mut(number).links;
    match lane {
        Lane::All => all,
        Lane::Source => source,
    }
}
