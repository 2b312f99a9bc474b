//! A set and a map of facts that are bounded, and that say when they have forgotten.

use std::hash::{BuildHasher, Hash};

use crate::kit::{HashedSet, Map, Seed};

/// Remembers the latest facts, by their keyed hash: between `most` and twice as many.
#[derive(Default)]
pub struct Recent {
    young: HashedSet,
    old: HashedSet,
    seed: Seed,
    forgot: bool,
}

impl Recent {
    /// Remembers a fact; with more than `most` new ones the oldest are forgotten.
    pub fn insert(&mut self, fact: &impl Hash, most: usize) {
        if self.young.len() >= most.max(1) {
            self.forgot |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(self.seed.hash_one(fact));
    }

    /// Whether a fact is remembered. `None`: it is not, but something has been forgotten.
    pub fn contains(&self, fact: &impl Hash) -> Option<bool> {
        if self.young.is_empty() {
            return Some(false);
        }
        let hash = self.seed.hash_one(fact);
        if self.young.contains(&hash) || self.old.contains(&hash) {
            return Some(true);
        }
        if self.forgot { None } else { Some(false) }
    }
}

/// The latest values by their keys: between `most` and twice as many.
pub struct RecentMap<K, V> {
    young: Map<K, V>,
    old: Map<K, V>,
    forgot: bool,
}

impl<K, V> Default for RecentMap<K, V> {
    fn default() -> RecentMap<K, V> {
        RecentMap { young: Map::default(), old: Map::default(), forgot: false }
    }
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    /// Remembers a value in place of the key's last one; with more than `most` new keys the oldest
    /// are forgotten.
    pub fn insert(&mut self, key: K, value: V, most: usize) {
        if self.young.len() >= most.max(1) {
            self.forgot |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    /// The key's value.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self.young.get_mut(key) {
            Some(value) => Some(value),
            None => self.old.get_mut(key),
        }
    }

    /// Whether keys have been forgotten, so that one that is not there may have been.
    pub fn forgot(&self) -> bool {
        self.forgot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_no_only_while_nothing_was_forgotten() {
        let mut recent = Recent::default();
        recent.insert(&1, 2);
        assert_eq!(recent.contains(&1), Some(true));
        assert_eq!(recent.contains(&2), Some(false));
        for fact in 2..=7 {
            recent.insert(&fact, 2);
        }
        assert_eq!(recent.contains(&7), Some(true));
        assert_eq!(recent.contains(&1), None);
    }

    #[test]
    fn a_map_keeps_the_latest_values() {
        let mut recent = RecentMap::default();
        for key in 0..6 {
            recent.insert(key, key * 10, 2);
        }
        assert_eq!(recent.get_mut(&5), Some(&mut 50));
        assert_eq!(recent.get_mut(&0), None);
        assert!(recent.forgot());
        recent.insert(5, 51, 2);
        assert_eq!(recent.get_mut(&5), Some(&mut 51));
    }
}
