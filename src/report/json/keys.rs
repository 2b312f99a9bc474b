//! Keys from the wire, each written once, in linear time.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

/// The pairs of one object. Of several with one key, the first counts.
#[derive(Default)]
pub(super) struct Keys {
    table: HashTable<u32>,
    members: Vec<Member>,
    hasher: RandomState,
}

/// A pair, by its nodes in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The node whose text is the key.
    pub(super) key: usize,
    /// The node of the value, if there is one.
    pub(super) value: Option<usize>,
    /// Underscores after the key, which distinguish it from a field's name.
    pub(super) underscores: usize,
}

impl Keys {
    /// A larger table is not kept for the next message.
    const KEPT: usize = 4096;

    /// Takes the next pair. `text` gives the bytes of a key.
    pub(super) fn insert<'t>(&mut self, new: Member, text: impl Fn(usize) -> &'t [u8]) {
        let written = |member: &Member| written(text(member.key), member.underscores);
        let name = written(&new);
        let Keys { table, members, hasher } = self;
        let hash = |name: &str| hasher.hash_one(name);
        let at = |index: &u32| members.get(*index as usize);
        let is_it = |index: &u32| at(index).is_some_and(|member| written(member) == name);
        if table.find(hash(&name), is_it).is_some() {
            return;
        }
        let rehash = |index: &u32| at(index).map_or(0, |member| hash(&written(member)));
        table.insert_unique(hash(&name), members.len() as u32, rehash);
        members.push(new);
    }

    /// The pairs to write, in order.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Forgets the pairs, and keeps the memory unless it is a lot.
    pub(super) fn clear(&mut self) {
        if self.table.capacity() > Keys::KEPT {
            *self = Keys::default();
        }
        self.table.clear();
        self.members.clear();
    }
}

/// The key as it is written: two keys that are equal in this form are the same.
fn written(key: &[u8], underscores: usize) -> Cow<'_, str> {
    let utf8 = std::str::from_utf8(key).map(Cow::Borrowed);
    let mut key = utf8.unwrap_or_else(|_| String::from_utf8_lossy(key));
    for _ in 0..underscores {
        key.to_mut().push('_');
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keys: &[&'static [u8]]) -> Vec<(usize, Option<usize>)> {
        let mut found = Keys::default();
        for key in 0..keys.len() {
            let member = Member { key, value: Some(key), underscores: 0 };
            found.insert(member, |at| keys[at]);
        }
        found.members().iter().map(|member| (member.key, member.value)).collect()
    }

    #[test]
    fn the_first_value_counts() {
        assert_eq!(kept(&[b"a", b"b", b"a", b"c"]), [(0, Some(0)), (1, Some(1)), (3, Some(3))]);
    }

    #[test]
    fn keys_that_read_alike_are_one() {
        assert_eq!(kept(&[b"\xFF", b"\xFE", "\u{FFFD}".as_bytes()]), [(0, Some(0))]);
    }

    #[test]
    fn underscores_belong_to_the_key() {
        let text = |at: usize| if at == 0 { b"a".as_slice() } else { b"a_" };
        let mut keys = Keys::default();
        keys.insert(Member { key: 0, value: None, underscores: 1 }, text);
        keys.insert(Member { key: 1, value: Some(1), underscores: 0 }, text);
        assert_eq!(keys.members(), [Member { key: 0, value: None, underscores: 1 }]);
    }

    #[test]
    fn much_memory_is_given_back() {
        let mut keys = Keys::default();
        let texts: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        for key in 0..texts.len() {
            keys.insert(Member { key, value: None, underscores: 0 }, |at| texts[at].as_bytes());
        }
        assert_eq!(keys.members().len(), texts.len());
        keys.clear();
        assert!(keys.members().is_empty() && keys.table.capacity() <= Keys::KEPT);
    }
}
