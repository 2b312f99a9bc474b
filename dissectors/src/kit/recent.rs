//! A bounded set and a bounded map, which record whether they have forgotten entries.

use std::hash::{BuildHasher, Hash};

use crate::kit::{AT_ONCE, HashedSet, Map, Seed, ShortHash};

/// A set of the latest items, by their keyed hashes: between `most` and twice as many.
#[derive(Default)]
pub struct Recent {
    /// The latest items, not inserted into the set yet.
    fresh: Vec<ShortHash>,
    young: HashedSet,
    old: HashedSet,
    seed: Seed,
    forgot: bool,
}

impl Recent {
    /// Adds an item; after more than `most` new ones the oldest are forgotten.
    pub fn insert(&mut self, item: &impl Hash, most: usize) {
        self.fresh.push(self.seed.hash_one(item).into());
        if self.fresh.len() >= AT_ONCE || self.young.len() + self.fresh.len() > most {
            self.settle(most.max(1));
        }
    }

    /// Inserts the latest items into the set.
    fn settle(&mut self, most: usize) {
        for hash in self.fresh.drain(..) {
            if self.young.len() >= most {
                self.forgot |= !self.old.is_empty();
                self.old = std::mem::take(&mut self.young);
            }
            self.young.insert(hash);
        }
    }

    /// Whether an item is in the set. `None`: it is not, but items have been forgotten.
    #[inline]
    pub fn contains(&self, item: &impl Hash) -> Option<bool> {
        if self.young.is_empty() && self.fresh.is_empty() {
            return Some(false);
        }
        self.look_for(item)
    }

    #[inline(never)]
    fn look_for(&self, item: &impl Hash) -> Option<bool> {
        let hash = self.seed.hash_one(item).into();
        if self.fresh.contains(&hash) || self.young.contains(&hash) || self.old.contains(&hash) {
            return Some(true);
        }
        if self.forgot { None } else { Some(false) }
    }

    /// Whether items have been forgotten.
    pub fn forgot(&self) -> bool {
        self.forgot
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
    /// Replaces the value of the key; after more than `most` new keys the oldest are forgotten.
    pub fn insert(&mut self, key: K, value: V, most: usize) {
        self.make_room(&key, most);
        self.take_old(&key);
        self.young.insert(key, value);
    }

    /// The value of the key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// The value of the key, which becomes one of the latest.
    pub fn get_mut(&mut self, key: &K, most: usize) -> Option<&mut V> {
        if !self.old.is_empty()
            && let Some((key, value)) = self.old.remove_entry(key)
        {
            self.insert(key, value, most);
        }
        self.young.get_mut(key)
    }

    /// The value of the key, which is inserted if it is unknown.
    pub fn get_or_insert_with(&mut self, key: K, new: impl FnOnce() -> V, most: usize) -> &mut V {
        let known = self.take_old(&key);
        self.make_room(&key, most);
        self.young.entry(key).or_insert_with(|| known.unwrap_or_else(new))
    }

    /// Makes room for a key among the young ones.
    fn make_room(&mut self, key: &K, most: usize) {
        if self.young.len() >= most.max(1) && !self.young.contains_key(key) {
            self.forgot |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
    }

    /// Removes the value of a key from the old ones. Looking for a key takes a hash, also if there is none.
    fn take_old(&mut self, key: &K) -> Option<V> {
        if self.old.is_empty() { None } else { self.old.remove(key) }
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Whether keys have been forgotten, so that a missing key may have been among them.
    pub fn forgot(&self) -> bool {
        self.forgot
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Items in the batch behave like items in the set.
        #[test]
        fn facts_are_remembered_at_once(
            items in prop::collection::vec(0u8..200, 0..400),
            most in 0usize..150,
        ) {
            let mut recent = Recent::default();
            let (mut young, mut old, mut forgot) = (HashSet::new(), HashSet::new(), false);
            for item in items {
                recent.insert(&item, most);
                if young.len() >= most.max(1) {
                    forgot |= !old.is_empty();
                    old = std::mem::take(&mut young);
                }
                young.insert(item);
                for asked in [item, item.wrapping_sub(1), 7, 250] {
                    let there = young.contains(&asked) || old.contains(&asked);
                    let known = if there { Some(true) } else { (!forgot).then_some(false) };
                    prop_assert_eq!(recent.contains(&asked), known);
                }
            }
        }
    }

    #[test]
    fn absence_is_certain_only_before_an_eviction() {
        let mut recent = Recent::default();
        recent.insert(&1, 2);
        assert_eq!(recent.contains(&1), Some(true));
        assert_eq!(recent.contains(&2), Some(false));
        assert!(!recent.forgot());
        for item in 2..=7 {
            recent.insert(&item, 2);
        }
        assert_eq!(recent.contains(&7), Some(true));
        assert_eq!(recent.contains(&1), None);
        assert!(recent.forgot());
    }

    #[test]
    fn a_map_keeps_the_latest_values() {
        let mut recent = RecentMap::default();
        for key in 0..6 {
            recent.insert(key, key * 10, 2);
        }
        assert_eq!(recent.get_mut(&5, 2), Some(&mut 50));
        assert_eq!(recent.get_mut(&0, 2), None);
        assert!(recent.forgot());
        recent.insert(5, 51, 2);
        assert_eq!(recent.get_mut(&5, 2), Some(&mut 51));
    }

    #[test]
    fn an_unknown_key_is_inserted_and_a_known_one_becomes_young() {
        let (mut recent, mut twin) = (RecentMap::default(), RecentMap::default());
        for key in [0, 1, 2, 0, 3, 1, 4, 5, 0, 0, 6, 4] {
            let value = *recent.get_or_insert_with(key, || key * 10, 2);
            let known = twin.get_mut(&key, 2).copied();
            if known.is_none() {
                twin.insert(key, key * 10, 2);
            }
            assert_eq!((value, recent.forgot()), (key * 10, twin.forgot()), "{key}");
            let places = |map: &RecentMap<i32, i32>| {
                [&map.young, &map.old].map(|it| it.keys().copied().collect::<BTreeSet<_>>())
            };
            assert_eq!(places(&recent), places(&twin), "{key}");
        }
        *recent.get_or_insert_with(4, || 0, 2) = 7;
        assert_eq!(recent.get_mut(&4, 2), Some(&mut 7));
    }

    #[test]
    fn only_new_keys_make_a_map_forget() {
        let mut recent = RecentMap::default();
        for value in 0..9 {
            recent.insert(0, value, 1);
        }
        recent.insert(1, 1, 1);
        assert!(!recent.forgot());
        assert_eq!(recent.get_mut(&0, 1), Some(&mut 8));
    }

    #[test]
    fn recently_used_entries_stay() {
        let mut recent = RecentMap::default();
        recent.insert(0, "zero", 2);
        for key in 1..20 {
            recent.insert(key, "other", 2);
            assert_eq!(recent.get_mut(&0, 2), Some(&mut "zero"), "{key}");
        }
        assert!(recent.young.len() <= 2 && recent.old.len() <= 2);
        recent.remove(&0);
        assert_eq!(recent.get_mut(&0, 2), None);
    }
}
