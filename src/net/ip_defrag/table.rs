//! A table whose values have keys and numbers. A value keeps its number as long as it exists, so
//! that code with the number needs no lookup.

#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "numbers are made here, and none outlives its value; no outside bytes are involved"
)]

use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

/// Values by their keys.
#[derive(Debug)]
pub(super) struct NumberedTable<K, V> {
    index: HashTable<u32>,
    slots: Vec<Option<Slot<K, V>>>,
    free: Vec<u32>,
    /// The seed differs in every run, so that the author of a capture cannot construct collisions.
    hasher: RandomState,
}

#[derive(Debug)]
pub(super) struct Slot<K, V> {
    hash: u64,
    key: K,
    value: V,
}

impl<K, V> Default for NumberedTable<K, V> {
    fn default() -> Self {
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<K: Eq + Hash, V> NumberedTable<K, V> {
    /// The cost of a value: its slot, and its entries in the index and among free numbers, which
    /// may be half empty.
    pub(super) const COST: usize = size_of::<Option<Slot<K, V>>>() + 4 * size_of::<u32>();

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    #[inline]
    pub(super) fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The number of a key.
    #[inline]
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.find_hashed(self.hash(key), key)
    }

    /// The same with a known hash.
    #[inline]
    pub(super) fn find_hashed(&self, hash: u64, key: &K) -> Option<u32> {
        self.index.find(hash, |&number| self.slot(number).key == *key).copied()
    }

    /// Inserts a value with a new key.
    pub(super) fn insert(&mut self, key: K, value: V) -> u32 {
        self.insert_hashed(self.hash(&key), key, value)
    }

    /// The same with a known hash.
    pub(super) fn insert_hashed(&mut self, hash: u64, key: K, value: V) -> u32 {
        let slot = Some(Slot { hash, key, value });
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("memory limits allow far fewer values")
            }
        };
        let slots = &self.slots;
        let hash_of = |&number: &u32| slots[number as usize].as_ref().map_or(0, |slot| slot.hash);
        self.index.insert_unique(hash, number, hash_of);
        number
    }

    #[inline]
    pub(super) fn at(&self, number: u32) -> &V {
        &self.slot(number).value
    }

    #[inline]
    pub(super) fn at_mut(&mut self, number: u32) -> &mut V {
        &mut self.slots[number as usize].as_mut().expect(OUTLIVED).value
    }

    #[inline]
    pub(super) fn key(&self, number: u32) -> &K {
        &self.slot(number).key
    }

    /// The hash of a number's key.
    pub(super) fn hash_at(&self, number: u32) -> u64 {
        self.slot(number).hash
    }

    pub(super) fn remove(&mut self, number: u32) -> V {
        let slot = self.slots[number as usize].take().expect(OUTLIVED);
        if let Ok(place) = self.index.find_entry(slot.hash, |&other| other == number) {
            place.remove();
        }
        self.free.push(number);
        slot.value
    }

    fn slot(&self, number: u32) -> &Slot<K, V> {
        self.slots[number as usize].as_ref().expect(OUTLIVED)
    }
}

const OUTLIVED: &str = "numbers do not outlive their values";
