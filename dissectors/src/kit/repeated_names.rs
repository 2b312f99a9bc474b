//! Names that occur more than once in a list of rules.

use crate::kit::{Read, Span, scan};

/// Finds the names that occur more than once in a list of rules. For each name, a part of its hash and
/// its position are kept; if two parts are equal, the names are compared. If there are very many, all are sorted
/// at the end.
pub(crate) struct SeenNames<'a> {
    /// The list.
    bytes: &'a [u8],
    /// Its offset in the message.
    start: usize,
    /// Hash and position; positions count from 1, and 0 is an empty slot.
    slots: [u32; SLOTS],
    /// Whether the name in a slot has come again, a bit each, and where each did.
    has_come_again: [u64; SLOTS / 64],
    again: Vec<Read<&'a [u8]>>,
    count: usize,
    /// Where the latest name ends.
    end: usize,
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
        let has_come_again = [0; SLOTS / 64];
        let (slots, again) = ([0; SLOTS], Vec::new());
        SeenNames { bytes, start, slots, has_come_again, again, count: 0, end: start }
    }

    /// Adds a name.
    #[inline(always)]
    pub(crate) fn add(&mut self, name: Read<&'a [u8]>) {
        self.end = name.at.end as usize;
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
                return self.comes_again(slot, name, at);
            }
            slot = (slot + 1) % SLOTS;
        }
        self.count += 1;
    }

    /// The name in this slot comes again.
    #[cold]
    fn comes_again(&mut self, slot: usize, name: &'a [u8], at: Span) {
        let Some(flags) = self.has_come_again.get_mut(slot / 64) else { return };
        let flag = 1 << (slot % 64);
        if *flags & flag == 0 {
            *flags |= flag;
            let start = at.start as usize;
            self.again.push(Read { value: name, at: Span::new(start, start + name.len()) });
        }
    }

    /// The repeated names, each where it comes again.
    pub(crate) fn repeated(&mut self) -> Vec<Read<&'a [u8]>> {
        if self.count <= MOST {
            return std::mem::take(&mut self.again);
        }
        let (mut names, mut rest) = (Vec::new(), self.bytes);
        while let Some(name) = scan::terminated(rest) {
            let at = self.start + self.bytes.len() - rest.len();
            if at >= self.end {
                break;
            }
            names.push(Read { value: name.text, at: Span::new(at, at + name.text.len()) });
            let Some(value) = scan::terminated(name.after) else { break };
            rest = value.after;
        }
        repeated(&mut names)
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

    fn repeated(names: &[String]) -> Vec<(String, usize)> {
        let bytes: Vec<u8> =
            names.iter().flat_map(|name| [name.as_bytes(), b"\0v\0"].concat()).collect();
        let mut found = SeenNames::new(&bytes, 7);
        let mut at = 7;
        for name in names {
            let place = Span::new(at, at + name.len() + 1);
            found.add(Read { value: &bytes[at - 7..at - 7 + name.len()], at: place });
            at += name.len() + 3;
        }
        let name = |it: &Read<&[u8]>| {
            (String::from_utf8_lossy(it.value).into_owned(), it.at.start as usize)
        };
        found.repeated().iter().map(name).collect()
    }

    /// Short lists use hashes, long ones sorting: both must find the same name.
    #[test]
    fn all_names_that_come_again_are_named_once() {
        for length in [0, 1, 2, 100, MOST, MOST + 1, MOST + 2, 3 * SLOTS] {
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
