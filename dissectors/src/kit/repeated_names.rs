//! Names that occur more than once in a list of rules.

use crate::kit::{Read, Span, scan};

/// Finds the first name that occurs twice in a list of rules. For each name, a part of its hash and
/// its position are kept; if two parts are equal, the names are compared.
pub(crate) struct SeenNames<'a> {
    /// The list.
    bytes: &'a [u8],
    /// Its offset in the message.
    start: usize,
    /// Hash and position; positions count from 1, and 0 is an empty slot.
    slots: [u32; SLOTS],
    count: usize,
    twice: Option<Read<&'a [u8]>>,
}

const SLOTS: usize = 512;

/// Maximum number of names: in a fuller table, finding a slot takes long.
const MOST: usize = SLOTS / 4 * 3;

/// The bits of a slot with the position.
const PLACE: u32 = (1 << 20) - 1;

impl<'a> SeenNames<'a> {
    /// An empty table for the list at the start of `bytes`.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], start: usize) -> SeenNames<'a> {
        SeenNames { bytes, start, slots: [0; SLOTS], count: 0, twice: None }
    }

    /// Adds a name. Names after the first repeated one are ignored.
    #[inline(always)]
    pub(crate) fn add(&mut self, name: Read<&'a [u8]>) {
        if self.count <= MOST {
            self.keep(name.value, name.at);
        }
    }

    fn keep(&mut self, name: &'a [u8], at: Span) {
        let place = (at.start as usize).saturating_sub(self.start) + 1;
        if place > PLACE as usize {
            self.count = MOST + 1;
            return;
        }
        let hash = mixed(self.bytes.get(place - 1..).unwrap_or_default(), name.len());
        let entry = (hash >> 32) as u32 & !PLACE | place as u32;
        let mut slot = hash as usize % SLOTS;
        while let Some(known) = self.slots.get_mut(slot) {
            if *known == 0 {
                *known = entry;
                break;
            }
            let (same_hash, place) = ((*known ^ entry) & !PLACE == 0, (*known & PLACE) as usize);
            if same_hash && stands_at(name, self.bytes, place - 1) {
                self.twice = Some(Read { value: name, at });
                self.count = MOST;
                break;
            }
            slot = (slot + 1) % SLOTS;
        }
        self.count += 1;
    }

    /// The first repeated name, if any.
    pub(crate) fn twice(&self) -> Option<(&'a [u8], Span)> {
        if let Some(name) = self.twice {
            return Some((name.value, Span::new(name.at.start as usize, name.at.end as usize - 1)));
        }
        if self.count <= MOST {
            return None;
        }
        let (mut names, mut rest) = (Vec::new(), self.bytes);
        while let Some(name) = scan::terminated(rest)
            && let Some(value) = scan::terminated(name.after)
        {
            let at = self.start + self.bytes.len() - rest.len();
            names.push(Read { value: name.text, at: Span::new(at, at + name.text.len()) });
            rest = value.after;
        }
        first_repeated(&mut names).map(|name| (name.value, name.at))
    }
}

/// The first one that has come before, in the order of their places. Sorts them.
pub(crate) fn first_repeated<T: Copy + Ord>(all: &mut [Read<T>]) -> Option<Read<T>> {
    all.sort_unstable_by_key(|it| (it.value, it.at.start));
    let twice = all.windows(2).filter_map(|pair| match pair {
        [first, second] if first.value == second.value => Some(*second),
        _ => None,
    });
    twice.min_by_key(|it| it.at.start)
}

/// Whether a name with its zero is at this position.
fn stands_at(name: &[u8], bytes: &[u8], place: usize) -> bool {
    let there = bytes.get(place..).unwrap_or_default();
    there.starts_with(name) && there.get(name.len()) == Some(&0)
}

/// A hash of the name at the start of `bytes`. It is not collision-resistant, so equal hashes are
/// followed by a comparison.
#[inline(always)]
fn mixed(bytes: &[u8], length: usize) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = length as u64;
    for at in (0..length).step_by(8) {
        let after = 64 - 8 * (length - at).min(8) as u32;
        let word = scan::word_at(bytes, at) << after;
        hash = (hash ^ word).wrapping_mul(MIX).rotate_left(29);
    }
    (hash ^ hash >> 32).wrapping_mul(MIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twice(names: &[String]) -> Option<(String, usize)> {
        let bytes: Vec<u8> =
            names.iter().flat_map(|name| [name.as_bytes(), b"\0v\0"].concat()).collect();
        let mut found = SeenNames::new(&bytes, 7);
        let mut at = 7;
        for name in names {
            let place = Span::new(at, at + name.len() + 1);
            found.add(Read { value: &bytes[at - 7..at - 7 + name.len()], at: place });
            at += name.len() + 3;
        }
        found
            .twice()
            .map(|(name, at)| (String::from_utf8_lossy(name).into_owned(), at.start as usize))
    }

    /// Short lists use hashes, long ones sorting: both must find the same name.
    #[test]
    fn the_first_name_that_comes_again_is_named() {
        for length in [0, 1, 2, 100, MOST, MOST + 1, MOST + 2, 3 * SLOTS] {
            let names: Vec<String> = (0..length).map(|n| format!("name{n:05}")).collect();
            assert_eq!(twice(&names), None, "{length}");
            for again in [0, length / 2] {
                let mut names = names.clone();
                let Some(name) = names.get(again).cloned() else { continue };
                let at = 7 + 12 * names.len();
                names.extend([name.clone(), "other".to_owned(), name.clone()]);
                assert_eq!(twice(&names), Some((name, at)), "{again} of {length}");
            }
        }
    }
}
