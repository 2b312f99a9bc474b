//! Names that occur more than once in a list of rules.

use std::collections::hash_map::Entry;

use crate::kit::hash::{HashedMap, keyed_hash};
use crate::kit::{Read, Span};

/// Finds the names that occur more than once in a list of rules.
pub(crate) struct SeenNames<'a> {
    /// The hash of each name, and whether it has come again.
    names: HashedMap<bool>,
    /// The names that came again, each where it did first.
    again: Vec<Read<&'a [u8]>>,
}

/// Length of a rule, name and value, that most lists exceed on average.
const USUAL_LENGTH: usize = 20;

impl<'a> SeenNames<'a> {
    /// No names yet, with room for those of a list of usual names.
    pub(crate) fn new(list: &[u8]) -> SeenNames<'a> {
        let room = list.len() / USUAL_LENGTH;
        let names = HashedMap::with_capacity_and_hasher(room, Default::default());
        SeenNames { names, again: Vec::new() }
    }

    /// Adds a name.
    #[inline]
    pub(crate) fn add(&mut self, name: Read<&'a [u8]>) {
        match self.names.entry(keyed_hash(name.value)) {
            Entry::Vacant(new) => {
                new.insert(false);
            }
            Entry::Occupied(mut known) => {
                if !known.insert(true) {
                    let start = name.at.start as usize;
                    let at = Span::new(start, start + name.value.len());
                    self.again.push(Read { value: name.value, at });
                }
            }
        }
    }

    /// The names that occur more than once, each where it comes again.
    pub(crate) fn repeated(self) -> Vec<Read<&'a [u8]>> {
        self.again
    }
}

/// Those that occur more than once, each where it comes again, in the order of these places. Sorts all.
pub(crate) fn repeated<T: Copy + Ord>(all: &mut [Read<T>]) -> Vec<Read<T>> {
    all.sort_unstable_by_key(|it| (it.value, it.at.start));
    let alike = all.chunk_by(|one, other| one.value == other.value);
    let mut again = Vec::from_iter(alike.filter_map(|of_one| of_one.get(1).copied()));
    again.sort_unstable_by_key(|it| it.at.start);
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repeated(names: &[String]) -> Vec<(String, usize)> {
        let mut found = SeenNames::new(&[]);
        let mut at = 7;
        for name in names {
            found.add(Read { value: name.as_bytes(), at: Span::new(at, at + name.len() + 1) });
            at += name.len() + 3;
        }
        let name = |it: &Read<&[u8]>| {
            (String::from_utf8_lossy(it.value).into_owned(), it.at.start as usize)
        };
        found.repeated().iter().map(name).collect()
    }

    #[test]
    fn all_names_that_come_again_are_named_once() {
        for length in [0, 1, 2, 100, 1_500] {
            let names: Vec<String> = (0..length).map(|n| format!("name{n:05}")).collect();
            assert_eq!(repeated(&names), [], "{length}");
            for again in [0, length / 2] {
                let mut names = names.clone();
                let Some(name) = names.get(again).cloned() else { continue };
                let at = 7 + 12 * names.len();
                let other = "other".to_owned();
                names.extend([name.clone(), other.clone(), name.clone(), other.clone()]);
                let of_other = (other, at + 12 + 8 + 12);
                assert_eq!(repeated(&names), [(name, at), of_other], "{again} of {length}");
            }
        }
    }
}
