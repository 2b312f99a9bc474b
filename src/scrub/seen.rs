//! Sets of hosts and flows of a limited size.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;

/// A set that forgets the oldest of its items when it has become too large.
pub struct Seen {
    hasher: RandomState,
    young: HashSet<u64, RandomState>,
    old: HashSet<u64, RandomState>,
    /// Maximum number of young ones.
    most: usize,
}

impl Seen {
    /// Memory per item, in bytes: a hash, and room for growth.
    const COST: usize = 20;

    /// An empty set that takes this many bytes at most.
    pub fn within(bytes: usize) -> Seen {
        let most = (bytes / Seen::COST / 2).max(64);
        Seen {
            hasher: RandomState::default(),
            young: HashSet::default(),
            old: HashSet::default(),
            most,
        }
    }

    /// Adds an item. Returns whether it is new.
    pub fn insert(&mut self, item: impl Hash) -> bool {
        let hash = self.hasher.hash_one(item);
        if self.young.contains(&hash) {
            return false;
        }
        let is_new = !self.old.contains(&hash);
        if self.young.len() >= self.most {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(hash);
        is_new
    }

    /// Whether it has an item.
    pub fn contains(&self, item: impl Hash) -> bool {
        let hash = self.hasher.hash_one(item);
        self.young.contains(&hash) || self.old.contains(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_items_are_kept() {
        let mut seen = Seen::within(40_000);
        for item in 0..100_000 {
            assert!(seen.insert(item));
            assert!(!seen.insert(item) && seen.contains(item));
            assert!(seen.young.len() <= 1000 && seen.old.len() <= 1000);
        }
        assert!((99_000..100_000).all(|item| seen.contains(item)) && !seen.contains(1));
    }
}
