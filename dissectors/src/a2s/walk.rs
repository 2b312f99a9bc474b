//! Walks over a message without telling anybody: to see whether it is one, and of which form.

use crate::kit::Span;

use super::layout::SINGLE;

/// Where Team Fortress 2 cuts lists off: "after 1260 bytes", give or take the headers.
const CUT_OFF: std::ops::RangeInclusive<usize> = 1240..=1264;

/// The message byte, behind one header or two.
pub(super) fn kind(bytes: &[u8]) -> Option<u8> {
    bytes.get(start(bytes)).copied()
}

/// Where the message byte stands.
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
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let (text, rest) = self.0.split_at_checked(end)?;
        self.0 = rest.get(1..)?;
        Some(text)
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

/// Where the deaths and the money of The Ship's players stand, if anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ship {
    /// Another game.
    No,
    /// Behind the list.
    Behind,
    /// In each entry: some readers expect it so.
    Inside,
}

/// The form of a player list that The Ship sent, behind its count.
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

/// Whether what stands behind as many entries as were announced are more of them.
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

/// Whether a whole rule stands here: its name and its value.
pub(super) fn is_pair(bytes: &[u8]) -> bool {
    Walk(bytes).texts(2).is_some()
}

/// Whether a name stands twice in a list of rules. Which names were there is kept in a few bits
/// each; only where these say "perhaps" is the list looked through again.
pub(super) struct Names {
    seen: [u64; Names::WORDS],
    perhaps: bool,
}

impl Default for Names {
    fn default() -> Names {
        Names { seen: [0; Names::WORDS], perhaps: false }
    }
}

impl Names {
    const WORDS: usize = 64;

    /// A name was read.
    pub(super) fn add(&mut self, name: &[u8]) {
        const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
        let hash = name.chunks(8).fold(name.len() as u64, |hash, chunk| {
            let word = match chunk.first_chunk() {
                Some(word) => u64::from_le_bytes(*word),
                None => chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
            };
            (hash ^ word).wrapping_mul(MIX).rotate_left(29)
        });
        let hash = (hash ^ hash >> 32).wrapping_mul(MIX);
        let mut known = true;
        for bits in [hash >> 52, hash >> 40] {
            if let Some(word) = self.seen.get_mut((bits / 64) as usize % Names::WORDS) {
                known &= *word >> (bits % 64) & 1 == 1;
                *word |= 1 << (bits % 64);
            }
        }
        self.perhaps |= known;
    }

    /// The second occurrence of a name, among the pairs in `bytes`, which begin at `start`.
    pub(super) fn twice<'a>(&self, bytes: &'a [u8], start: usize) -> Option<(&'a [u8], Span)> {
        if !self.perhaps {
            return None;
        }
        let mut walk = Walk(bytes);
        let mut names = Vec::new();
        loop {
            let at = start + bytes.len() - walk.0.len();
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
