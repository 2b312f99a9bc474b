//! Which flow is where: places in the table, by the hashes of the flows' keys.
//!
//! A number of 32 bits for each flow: its place, and above it as much of the hash as there is room
//! for, so that hardly ever a flow is looked at that is another. Those that may stand for a hash are
//! side by side: to find a flow is to wait for memory once here.

/// Nothing is here, and what is sought is not after it.
const FREE: u32 = u32::MAX;
/// What was here is gone; what is sought may be after it.
const GONE: u32 = u32::MAX - 1;

/// Places by hashes.
#[derive(Default)]
pub(super) struct Index {
    /// As many as a power of two, at most seven eighths of them taken; or none.
    entries: Vec<u32>,
    /// How many are not [`FREE`].
    taken: usize,
}

impl Index {
    /// The least that has room.
    const SMALLEST: usize = 16;

    /// An index of so many flows, with room for three quarters as many more, or for as many as there
    /// are `places`: those that flows have are less.
    pub(super) fn of(flows: usize, places: usize, each: impl Iterator<Item = (u64, u32)>) -> Index {
        // One that is taken must differ from `FREE` and `GONE`, the two highest numbers, in the bits
        // of its place: all places must be less than what these have there.
        let entries = (2 * flows).max(places + 3).next_power_of_two().max(Index::SMALLEST);
        let mut index = Index { entries: vec![FREE; entries], taken: 0 };
        each.for_each(|(hash, place)| index.insert(hash, place));
        index
    }

    /// Whether there is room for one more.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.taken < self.entries.len() / 8 * 7
    }

    /// Whether there are no entries at all.
    pub(super) fn is_nothing(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries are not free.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Room for as many places as are in it, where they are no longer looked for.
    pub(super) fn into_room(mut self) -> Vec<u32> {
        self.entries.clear();
        self.entries
    }

    /// The bits that are a place.
    #[inline]
    fn mask(&self) -> usize {
        self.entries.len().wrapping_sub(1)
    }

    /// What an entry has above its place.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        (hash >> 32) as u32 & !(self.mask() as u32)
    }

    /// The entries that may stand for a hash, and where they are.
    #[inline]
    fn probe(&self, hash: u64) -> impl Iterator<Item = (usize, u32)> {
        let mask = self.mask();
        let places =
            (0..self.entries.len()).map(move |nth| (hash as usize).wrapping_add(nth) & mask);
        places.map_while(|at| Some((at, *self.entries.get(at).filter(|&&entry| entry != FREE)?)))
    }

    /// The first place of this hash that `is` it.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (tag, mask) = (self.tag(hash), self.mask());
        let places = self.probe(hash).map(|(_, entry)| entry ^ tag);
        places.into_iter().find(|&place| place as usize <= mask && is(place))
    }

    /// Puts a place in, where there is room.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, place: u32) {
        let behind = self.probe(hash).take_while(|&(_, entry)| entry != GONE).count();
        let (at, tag) = ((hash as usize).wrapping_add(behind) & self.mask(), self.tag(hash));
        if let Some(entry) = self.entries.get_mut(at) {
            self.taken += usize::from(*entry == FREE);
            *entry = tag | place;
        }
    }

    /// Takes a place out.
    pub(super) fn remove(&mut self, hash: u64, place: u32) {
        let wanted = self.tag(hash) | place;
        let Some((at, _)) = self.probe(hash).find(|&(_, entry)| entry == wanted) else { return };
        let mask = self.mask();
        if let Some(entry) = self.entries.get_mut(at) {
            *entry = GONE;
        }
        if self.entries.get((at + 1) & mask) != Some(&FREE) {
            return;
        }
        // Nothing is after it: it is free, and so are those in front that are gone.
        let mut last = at;
        while let Some(entry) = self.entries.get_mut(last).filter(|entry| **entry == GONE) {
            *entry = FREE;
            self.taken -= 1;
            last = last.wrapping_sub(1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// A hash that says little, so that many collide: a few low bits, a few high ones.
    fn hash(key: u8) -> u64 {
        u64::from(key & 0x33) | u64::from(key & 0xC0) << 56
    }

    proptest! {
        /// Finds what a map finds, whatever comes and goes, and grows when it is full.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((any::<u8>(), any::<bool>()), 0..600)) {
            let (mut index, mut map) = (Index::default(), HashMap::new());
            // Keys by their places; places that are free are used again.
            let (mut keys, mut spare): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
            for (key, comes) in steps {
                let found = index.find(hash(key), |place| keys.get(place as usize) == Some(&key));
                prop_assert_eq!(found, map.get(&key).copied());
                match found {
                    None if comes => {
                        if !index.has_room() {
                            let each = map.iter().map(|(&key, &place)| (hash(key), place));
                            index = Index::of(map.len(), keys.len(), each);
                        }
                        let place = spare.pop().unwrap_or(keys.len() as u32);
                        keys.resize(keys.len().max(place as usize + 1), 0);
                        keys[place as usize] = key;
                        index.insert(hash(key), place);
                        map.insert(key, place);
                    }
                    Some(place) if !comes => {
                        index.remove(hash(key), place);
                        map.remove(&key);
                        spare.push(place);
                    }
                    _ => {}
                }
                let taken = index.entries.iter().filter(|&&entry| entry != FREE).count();
                prop_assert_eq!(taken, index.taken);
                prop_assert!(index.taken <= index.entries.len() / 8 * 7);
            }
            for key in 0..=u8::MAX {
                let found = index.find(hash(key), |place| keys.get(place as usize) == Some(&key));
                prop_assert_eq!(found, map.get(&key).copied());
            }
        }
    }

    #[test]
    fn the_last_of_many_are_found() {
        let random = std::hash::RandomState::new();
        let hash = |n: u32| std::hash::BuildHasher::hash_one(&random, n);
        let each = (997..1000).map(|n| (hash(n), n));
        let mut index = Index::of(3, 1000, each);
        for n in 0..500 {
            index.insert(hash(n), n);
        }
        for n in (0..500).chain(997..1000) {
            assert_eq!(index.find(hash(n), |place| place == n), Some(n));
        }
        assert_eq!(index.find(hash(600), |place| place == 600), None);
    }

    #[test]
    fn what_comes_and_goes_takes_no_more_room() {
        let mut index = Index::of(100, 100, std::iter::empty());
        let entries = index.entries.len();
        let (mut rebuilt, random) = (0, std::hash::RandomState::new());
        let hash = |n: u32| std::hash::BuildHasher::hash_one(&random, n);
        for n in 0..100_000u32 {
            if n >= 100 {
                index.remove(hash(n - 100), (n - 100) % 100);
            }
            if !index.has_room() {
                let left = n.saturating_sub(99)..n;
                index = Index::of(100, 100, left.map(|n| (hash(n), n % 100)));
                rebuilt += 1;
            }
            index.insert(hash(n), n % 100);
        }
        assert_eq!(index.entries.len(), entries);
        assert!(rebuilt < 1500, "rebuilt {rebuilt} times");
    }
}
