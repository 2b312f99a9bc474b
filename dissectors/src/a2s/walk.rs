//! Looks ahead in a list without reporting anything: where it ends, and in which format it is.

use crate::kit::{Span, scan};

use super::layout::SINGLE;

/// Where Team Fortress 2 cuts lists off: "after 1260 bytes", plus or minus headers.
const CUT_OFF: std::ops::RangeInclusive<usize> = 1240..=1264;

/// The message byte, after one or two headers.
pub(super) fn kind(bytes: &[u8]) -> Option<u8> {
    bytes.get(start(bytes)).copied()
}

/// The position of the message byte; the end of a message without one.
pub(super) fn kind_at(bytes: &[u8]) -> Span {
    let start = start(bytes);
    Span::new(start, bytes.len().min(start + 1))
}

/// The bytes before the message byte.
fn start(bytes: &[u8]) -> usize {
    let headers = bytes.chunks_exact(4).take(2).take_while(|&chunk| chunk == SINGLE).count();
    headers * 4
}

/// A place in a message.
#[derive(Clone, Copy)]
struct ElementWalk<'a>(&'a [u8]);

impl<'a> ElementWalk<'a> {
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
        self.0 = found.after;
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

    /// Counts the complete entries from here on, each read by `entry`.
    fn count(&mut self, entry: impl Fn(&mut ElementWalk<'a>) -> Option<()>) -> u32 {
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

fn said(walk: &mut ElementWalk<'_>, width: usize) -> Option<u32> {
    let said = walk.0.get(..width)?.iter().rev().fold(0, |said, &byte| said << 8 | u32::from(byte));
    walk.skip(width)?;
    Some(said)
}

/// Whether a list in a single packet is cut off as Team Fortress 2 does it: it has about that
/// length, and fewer complete entries than announced.
pub(super) fn is_cut_off(bytes: &[u8]) -> bool {
    if !CUT_OFF.contains(&bytes.len()) {
        return false;
    }
    let mut walk = ElementWalk(bytes.get(start(bytes)..).unwrap_or_default());
    let short = match walk.byte() {
        Some(b'D') => said(&mut walk, 1).map(|said| walk.count(|w| w.player(0).map(|_| ())) < said),
        Some(b'E') => said(&mut walk, 2).map(|said| walk.count(|w| w.texts(2)) < said),
        _ => None,
    };
    short.unwrap_or(false)
}

/// Where the deaths and the money of The Ship's players are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TheShipPlace {
    /// Another game.
    No,
    /// After the list.
    After,
    /// In each entry, as some readers expect.
    Inside,
}

/// The format of a player list from The Ship, after its count.
pub(super) fn ship(bytes: &[u8], said: u32) -> TheShipPlace {
    let mut plain = ElementWalk(bytes);
    let mut found = 0;
    while found < said && plain.player(0).is_some() {
        found += 1;
    }
    if found == said && (plain.0.is_empty() || plain.0.len() == 8 * said as usize) {
        return TheShipPlace::After;
    }
    let mut inside = ElementWalk(bytes);
    let found = inside.count(|walk| walk.player(8).map(|_| ()));
    if found == said && inside.0.is_empty() { TheShipPlace::Inside } else { TheShipPlace::After }
}

/// Whether there are more entries after the announced number.
pub(super) fn more_players(bytes: &[u8], said: u32, ship: TheShipPlace) -> bool {
    if ship == TheShipPlace::After && bytes.len() == 8 * said as usize {
        // 8 bytes a player, unless all bytes form entries with names.
        let mut walk = ElementWalk(bytes);
        let mut named = true;
        while let Some(name) = walk.player(0) {
            named &= !name.is_empty();
        }
        return named && walk.0.is_empty();
    }
    ElementWalk(bytes).player(if ship == TheShipPlace::Inside { 8 } else { 0 }).is_some()
}

/// Whether there is a complete rule: its name and its value.
pub(super) fn is_pair(bytes: &[u8]) -> bool {
    ElementWalk(bytes).texts(2).is_some()
}
