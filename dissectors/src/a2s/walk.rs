//! Walks over a message without telling anybody: to see whether it is one, and of which form.

use crate::kit::{Read, Span, scan};

use super::layout::SINGLE;

/// Where Team Fortress 2 cuts lists off: "after 1260 bytes", give or take the headers.
const CUT_OFF: std::ops::RangeInclusive<usize> = 1240..=1264;

/// The message byte, after one header or two.
pub(super) fn kind(bytes: &[u8]) -> Option<u8> {
    bytes.get(start(bytes)).copied()
}

/// Where the message byte is.
fn start(bytes: &[u8]) -> usize {
    let headers = bytes.chunks_exact(4).take(2).take_while(|&chunk| chunk == SINGLE).count();
    headers * 4
}

/// A place in a message.
#[derive(Clone, Copy)]
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn skip(&mut self, length: usize) -> Option<()> {
        self.0 = self.0.get(length..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let found = scan::terminated(self.0)?;
        self.0 = found.behind;
        Some(found.text)
    }

    fn texts(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.text().map(|_| ()))
    }

    fn player(&mut self, more: usize) -> Option<&'a [u8]> {
        self.skip(1)?;
        let name = self.text()?;
        self.skip(8 + more)?;
        Some(name)
    }

    /// Whole entries from here on, each walked by `entry`; the rest stays.
    fn count(&mut self, entry: impl Fn(&mut Walk<'a>) -> Option<()>) -> u32 {
        let mut count = 0;
        while !self.0.is_empty() {
            let mut next = *self;
            if entry(&mut next).is_none() {
                break;
            }
            *self = next;
            count += 1;
        }
        count
    }
}

/// Whether the bytes are a whole answer: one that ends where its fields do.
pub(super) fn is_whole_answer(bytes: &[u8]) -> bool {
    let mut walk = Walk(bytes.get(start(bytes)..).unwrap_or_default());
    let whole = match walk.byte() {
        Some(b'I') => info(&mut walk),
        Some(b'm') => info_goldsrc(&mut walk),
        Some(b'D') => list(&mut walk, 1, |walk| walk.player(0).map(|_| ())),
        Some(b'E') => list(&mut walk, 2, |walk| walk.texts(2)),
        _ => None,
    };
    whole.is_some() && walk.0.is_empty()
}

fn info(walk: &mut Walk<'_>) -> Option<()> {
    walk.skip(1)?;
    walk.texts(4)?;
    let ship = walk.0.starts_with(&2400_u16.to_le_bytes());
    walk.skip(9)?;
    if ship {
        walk.skip(3)?;
    }
    walk.text()?;
    let Some(edf) = walk.byte() else { return Some(()) };
    walk.skip(usize::from(edf >> 7) * 2 + usize::from(edf >> 4 & 1) * 8)?;
    if edf & 0x40 != 0 {
        walk.skip(2)?;
        walk.text()?;
    }
    if edf & 0x20 != 0 {
        walk.text()?;
    }
    walk.skip(usize::from(edf & 1) * 8)
}

fn info_goldsrc(walk: &mut Walk<'_>) -> Option<()> {
    walk.texts(5)?;
    walk.skip(6)?;
    if walk.byte()? == 1 {
        walk.texts(2)?;
        walk.skip(11)?;
    }
    walk.skip(2)
}

/// A list that holds as many entries as it says, and some.
fn list(
    walk: &mut Walk<'_>,
    width: usize,
    entry: impl Fn(&mut Walk<'_>) -> Option<()>,
) -> Option<()> {
    let said = said(walk, width)?;
    let found = walk.count(entry);
    (found > 0 && found == said).then_some(())
}

fn said(walk: &mut Walk<'_>, width: usize) -> Option<u32> {
    let said = walk.0.get(..width)?.iter().rev().fold(0, |said, &byte| said << 8 | u32::from(byte));
    walk.skip(width)?;
    Some(said)
}

/// Whether a list in a single packet is cut off where Team Fortress 2 does it: it is about that
/// long, and holds fewer whole entries than it says.
pub(super) fn is_cut_off(bytes: &[u8]) -> bool {
    if !CUT_OFF.contains(&bytes.len()) {
        return false;
    }
    let mut walk = Walk(bytes.get(start(bytes)..).unwrap_or_default());
    let short = match walk.byte() {
        Some(b'D') => said(&mut walk, 1).map(|said| walk.count(|w| w.player(0).map(|_| ())) < said),
        Some(b'E') => said(&mut walk, 2).map(|said| walk.count(|w| w.texts(2)) < said),
        _ => None,
    };
    short.unwrap_or(false)
}

/// Where the deaths and the money of The Ship's players are, if anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ship {
    /// Another game.
    No,
    /// Behind the list.
    Behind,
    /// In each entry: some readers expect it so.
    Inside,
}

/// The form of a player list that The Ship sent, after its count.
pub(super) fn ship(bytes: &[u8], said: u32) -> Ship {
    let mut plain = Walk(bytes);
    let mut found = 0;
    while found < said && plain.player(0).is_some() {
        found += 1;
    }
    if found == said && (plain.0.is_empty() || plain.0.len() == 8 * said as usize) {
        return Ship::Behind;
    }
    let mut inside = Walk(bytes);
    let found = inside.count(|walk| walk.player(8).map(|_| ()));
    if found == said && inside.0.is_empty() { Ship::Inside } else { Ship::Behind }
}

/// Whether what follows as many entries as were announced are more of them.
pub(super) fn more_players(bytes: &[u8], said: u32, ship: Ship) -> bool {
    if ship == Ship::Behind && bytes.len() == 8 * said as usize {
        // 8 bytes a player, unless they read as entries to the last byte, with names.
        let mut walk = Walk(bytes);
        let mut named = true;
        while let Some(name) = walk.player(0) {
            named &= !name.is_empty();
        }
        return named && walk.0.is_empty();
    }
    Walk(bytes).player(if ship == Ship::Inside { 8 } else { 0 }).is_some()
}

/// Whether a whole rule is here: its name and its value.
pub(super) fn is_pair(bytes: &[u8]) -> bool {
    Walk(bytes).texts(2).is_some()
}

/// The first name that is twice in a list of rules. Of each name a part of a hash and its place
/// are kept; where both parts are the same, the names themselves are compared.
pub(super) struct Names<'a> {
    /// The list.
    bytes: &'a [u8],
    /// Where it begins in the message.
    start: usize,
    /// Hash and place; the place counts from 1, so that 0 is an empty slot.
    slots: [u32; SLOTS],
    count: usize,
    twice: Option<Read<&'a [u8]>>,
}

const SLOTS: usize = 512;

/// Names that are kept: with more of them the search for a slot takes long.
const MOST: usize = SLOTS / 4 * 3;

/// The bits of a slot that hold a place.
const PLACE: u32 = (1 << 20) - 1;

impl<'a> Names<'a> {
    /// None yet of the list that `bytes` begin with.
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Names<'a> {
        Names { bytes, start, slots: [0; SLOTS], count: 0, twice: None }
    }

    /// A name was read. Behind the first that came again none matters.
    #[inline(always)]
    pub(super) fn add(&mut self, name: Read<&'a [u8]>) {
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

    /// The first name that came again, where it did.
    pub(super) fn twice(&self) -> Option<(&'a [u8], Span)> {
        if let Some(name) = self.twice {
            return Some((name.value, Span::new(name.at.start as usize, name.at.end as usize - 1)));
        }
        if self.count <= MOST {
            return None;
        }
        let mut walk = Walk(self.bytes);
        let mut names = Vec::new();
        loop {
            let at = self.start + self.bytes.len() - walk.0.len();
            let Some(name) = walk.text() else { break };
            let whole = walk.text().is_some();
            if whole {
                names.push((name, at));
            }
        }
        names.sort_unstable();
        let twice = names.windows(2).filter_map(|pair| match pair {
            [first, second] if first.0 == second.0 => Some(*second),
            _ => None,
        });
        let (name, at) = twice.min_by_key(|name| name.1)?;
        Some((name, Span::new(at, at + name.len())))
    }
}

/// Whether a name with its zero is at this place.
fn stands_at(name: &[u8], bytes: &[u8], place: usize) -> bool {
    let there = bytes.get(place..).unwrap_or_default();
    there.starts_with(name) && there.get(name.len()) == Some(&0)
}

/// A hash of the name that `bytes` begin with: good enough to tell names apart, not against those
/// who want them to collide.
#[inline(always)]
fn mixed(bytes: &[u8], length: usize) -> u64 {
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = length as u64;
    for at in (0..length).step_by(8) {
        let behind = 64 - 8 * (length - at).min(8) as u32;
        let word = scan::word_at(bytes, at) << behind;
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
        let mut found = Names::new(&bytes, 7);
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

    /// A short list is recognized by hashes, a long one by sorting: both name the first that comes again.
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
