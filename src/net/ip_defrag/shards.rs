//! Queues that run through the entries of a table: each entry is in the queue of all datagrams
//! and in that of its source, and leaves both from any place in constant time.
//!
//! Knows numbers and links, not what the entries are about.

use super::Entry;
use super::entry::Key;
use super::table::Table;

/// A queue of entries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shard {
    All,
    Source,
}

impl Shard {
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

    pub(super) fn push(&mut self, shard: Shard, entries: &mut Table<Key, Entry>, number: u32) {
        *links(entries, number, shard) = Links { older: self.newest, newer: None };
        match self.newest {
            Some(newest) => links(entries, newest, shard).newer = Some(number),
            None => self.oldest = Some(number),
        }
        self.newest = Some(number);
    }

    pub(super) fn remove(&mut self, shard: Shard, entries: &mut Table<Key, Entry>, number: u32) {
        let Links { older, newer } = *links(entries, number, shard);
        match older {
            Some(older) => links(entries, older, shard).newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => links(entries, newer, shard).older = older,
            None => self.newest = older,
        }
    }
}

fn links(entries: &mut Table<Key, Entry>, number: u32, shard: Shard) -> &mut Links {
    let [all, source] = &mut entries.at_mut(number).links;
    match shard {
        Shard::All => all,
        Shard::Source => source,
    }
}
