//! Sets of conditions.

use dissectors::kit::Item;

/// A set of conditions, a bit each: nearly every message shows some.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::diagnose) struct ItemSet(u64);

const _: () = assert!(Item::ALL.len() <= u64::BITS as usize);

impl ItemSet {
    fn bit(item: Item) -> u64 {
        1 << item as u32
    }

    pub(in crate::diagnose) fn insert(&mut self, item: Item) {
        self.0 |= ItemSet::bit(item);
    }

    pub(in crate::diagnose) fn has(self, item: Item) -> bool {
        self.0 & ItemSet::bit(item) != 0
    }

    pub(in crate::diagnose) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(in crate::diagnose) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Those that are not in another set.
    pub(in crate::diagnose) fn without(self, other: ItemSet) -> ItemSet {
        ItemSet(self.0 & !other.0)
    }

    /// Its conditions, in the order in which they must be met.
    pub(in crate::diagnose) fn iter(self) -> impl Iterator<Item = Item> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let first = Item::ALL.get(rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(*first)
        })
    }
}

impl Extend<Item> for ItemSet {
    fn extend<I: IntoIterator<Item = Item>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.insert(item));
    }
}

impl FromIterator<Item> for ItemSet {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> ItemSet {
        let mut set = ItemSet::default();
        set.extend(items);
        set
    }
}
