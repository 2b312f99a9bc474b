//! A map of bounded size that forgets the key that was used longest ago.
//!
//! Everything is in one vector, in the order of insertion: under a flood, nearly every packet has a key of its own, and
//! the time is that of waiting for memory.

use std::hash::{BuildHasher, Hash};

use dissectors::kit::Seed;
use hashbrown::HashTable;

/// No entry.
const NONE: u32 = u32::MAX;

/// Keys with their values, and the order in which they were used.
pub(super) struct Latest<K, V> {
    /// Hashed with another seed in every run, so that nobody can construct collisions.
    seed: Seed,
    /// The places of entries, by the hashes of their keys.
    index: HashTable<u32>,
    entries: Vec<Entry<K, V>>,
    most: usize,
    newest: u32,
    oldest: u32,
}

/// What finds an entry is in one cache line, its value in another.
#[repr(C, align(64))]
struct Entry<K, V> {
    /// The hash of the key.
    hash: u64,
    /// The entries that were used just after this one and just before it.
    newer: u32,
    older: u32,
    key: K,
    value: Aligned<V>,
}

#[repr(align(64))]
struct Aligned<V>(V);

/// A key, hashed once for all that is done with it.
#[derive(Clone, Copy)]
pub(super) struct HashedKey<K> {
    hash: u64,
    key: K,
}

impl<K: Copy + Eq + Hash, V: Default> Latest<K, V> {
    /// Empty, for this many keys, at least one. Memory is allocated as they come.
    pub(super) fn new(most: usize) -> Latest<K, V> {
        Latest {
            seed: Seed::default(),
            index: HashTable::new(),
            entries: Vec::new(),
            most: most.clamp(1, NONE as usize),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// A key with its hash.
    pub(super) fn hashed(&self, key: K) -> HashedKey<K> {
        HashedKey { hash: self.seed.hash_one(key), key }
    }

    /// The place of a key, if it is there.
    pub(super) fn find(&self, HashedKey { hash, key }: &HashedKey<K>) -> Option<usize> {
        let is_same = |at: &u32| self.entry(*at).is_some_and(|entry| entry.key == *key);
        self.index.find(*hash, is_same).map(|at| *at as usize)
    }

    /// The value at a place.
    pub(super) fn value(&mut self, at: usize) -> Option<&mut V> {
        self.entries.get_mut(at).map(|entry| &mut entry.value.0)
    }

    /// The key that the next new one replaces, if there is no room for both: its place, and its value.
    pub(super) fn replaced(&self) -> Option<(usize, &V)> {
        let oldest = self.entry(self.oldest).filter(|_| self.entries.len() >= self.most);
        oldest.map(|entry| (self.oldest as usize, &entry.value.0))
    }

    /// The key at this place is used.
    pub(super) fn touch(&mut self, at: usize) {
        let at = at as u32;
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
    }

    /// Adds a key that is not there, with a new value, in place of the one that was used longest ago if there is no
    /// room for both. Returns its place.
    pub(super) fn insert(&mut self, HashedKey { hash, key }: HashedKey<K>) -> usize {
        let (value, newer, older) = (Aligned(V::default()), NONE, NONE);
        let entry = Entry { hash, newer, older, key, value };
        let at = match self.entries.len() < self.most {
            true => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            false => {
                let at = self.oldest;
                self.forget(at);
                if let Some(place) = self.entries.get_mut(at as usize) {
                    *place = entry;
                }
                at
            }
        };
        let Latest { index, entries, .. } = self;
        let known = |at: &u32| entries.get(*at as usize).map_or(0, |entry| entry.hash);
        index.insert_unique(hash, at, known);
        self.link(at);
        at as usize
    }

    fn entry(&self, at: u32) -> Option<&Entry<K, V>> {
        self.entries.get(at as usize)
    }

    /// The key at this place is no longer there.
    fn forget(&mut self, at: u32) {
        self.unlink(at);
        let Some(hash) = self.entry(at).map(|entry| entry.hash) else { return };
        if let Ok(known) = self.index.find_entry(hash, |it| *it == at) {
            known.remove();
        }
    }

    /// Takes an entry out of the order of use.
    fn unlink(&mut self, at: u32) {
        let Some((newer, older)) = self.entry(at).map(|entry| (entry.newer, entry.older)) else {
            return;
        };
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Puts an entry in front of all others.
    fn link(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.newest, at);
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.newer = at,
            None => self.oldest = at,
        }
        if let Some(entry) = self.entries.get_mut(at as usize) {
            (entry.newer, entry.older) = (NONE, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The value of a key, new or not; what it replaces.
    fn used(latest: &mut Latest<u8, u32>, key: u8) -> (u32, Option<u32>) {
        let key = latest.hashed(key);
        let known = latest.find(&key);
        known.into_iter().for_each(|at| latest.touch(at));
        let replaced = latest.replaced().map(|it| *it.1).filter(|_| known.is_none());
        let at = known.unwrap_or_else(|| latest.insert(key));
        let value = latest.value(at).unwrap();
        *value += 1;
        (*value, replaced)
    }

    proptest! {
        /// As a list of keys of which the latest is in front.
        #[test]
        fn the_key_that_was_used_longest_ago_is_forgotten(
            keys in proptest::collection::vec(0..12_u8, 0..400),
            most in 1..10_usize,
        ) {
            let (mut latest, mut list) = (Latest::new(most), Vec::<(u8, u32)>::new());
            for key in keys {
                let known = list.iter().position(|it| it.0 == key).map(|at| list.remove(at));
                let replaced = if known.is_none() && list.len() == most { list.pop() } else { None };
                list.insert(0, (key, known.map_or(0, |it| it.1) + 1));
                prop_assert_eq!(used(&mut latest, key), (list[0].1, replaced.map(|it| it.1)));
                let is_kept = |it| latest.find(&latest.hashed(it)).is_some();
                prop_assert!((0..12).all(|it| is_kept(it) == list.iter().any(|known| known.0 == it)));
            }
        }
    }
}
