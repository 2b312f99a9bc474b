//! A set of facts that is bounded, and that says when it has forgotten.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};

/// Remembers the latest facts, by their keyed hash: between `most` and twice as many.
pub struct Recent {
    young: HashSet<u64>,
    old: HashSet<u64>,
    state: RandomState,
    forgot: bool,
}

impl Default for Recent {
    fn default() -> Recent {
        let state = RandomState::new();
        Recent { young: HashSet::new(), old: HashSet::new(), state, forgot: false }
    }
}

impl Recent {
    /// Remembers a fact; with more than `most` new ones the oldest are forgotten.
    pub fn insert(&mut self, fact: &impl Hash, most: usize) {
        if self.young.len() >= most.max(1) {
            self.forgot |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(self.state.hash_one(fact));
    }

    /// Whether a fact is remembered. `None`: it is not, but something has been forgotten.
    pub fn contains(&self, fact: &impl Hash) -> Option<bool> {
        let hash = self.state.hash_one(fact);
        if self.young.contains(&hash) || self.old.contains(&hash) {
            return Some(true);
        }
        if self.forgot { None } else { Some(false) }
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
}
