//! Looks ahead in a list: decodes its entries without reporting anything.

use super::CUT_OFF;
use super::entries::{TheShipPlace, player, rule};
use crate::a2s::fields as f;
use crate::a2s::layout::message_byte;
use crate::kit::{Blind, Cut, Reader, decode};

/// Where lists are cut off, plus or minus headers: Team Fortress 2 does it "after 1260 bytes", other servers at the size
/// of a split packet, of a packet, or of an Ethernet frame.
const CUT_OFF_AT: [std::ops::RangeInclusive<usize>; 4] =
    [1196..=1204, 1240..=1264, 1388..=1404, 1456..=1472];

/// The result of `read` for the bytes; false if they end too early.
fn ahead(bytes: &[u8], read: impl FnOnce(&mut Reader<'_, Blind>) -> Result<bool, Cut>) -> bool {
    let mut is_so = false;
    decode(bytes, &CUT_OFF, &mut Blind, |r| {
        is_so = read(r)?;
        Ok(())
    });
    is_so
}

/// Whether a list in a single packet is cut off: it has about such a length, and ends inside of an entry.
pub(super) fn is_cut_off(bytes: &[u8]) -> bool {
    if !CUT_OFF_AT.iter().any(|about| about.contains(&bytes.len())) {
        return false;
    }
    ahead(bytes.get(message_byte(bytes)..).unwrap_or_default(), |r| {
        let kind = r.u8(&f::TYPE)?.value;
        let announced = match kind {
            b'D' => r.u8(&f::NUM_PLAYERS)?.value.into(),
            b'E' => r.u16_le(&f::NUM_RULES)?.value,
            _ => return Ok(false),
        };
        let mut found = 0;
        while found < announced && !r.is_empty() {
            let entry = if kind == b'D' {
                player(r, TheShipPlace::No).map(drop)
            } else {
                rule(r).map(drop)
            };
            if entry.is_err() {
                return Ok(true);
            }
            found += 1;
        }
        Ok(false)
    })
}

/// The format of a player list from The Ship, after its count.
pub(super) fn ship(bytes: &[u8], announced: u32) -> TheShipPlace {
    let players = |r: &mut Reader<'_, Blind>, ship| {
        (0..announced).try_for_each(|_| player(r, ship).map(drop))
    };
    let is_plain = ahead(bytes, |r| {
        players(r, TheShipPlace::After)?;
        Ok(r.is_empty() || r.rest() == 8 * announced as usize)
    });
    let are_inside = || {
        ahead(bytes, |r| {
            players(r, TheShipPlace::Inside)?;
            Ok(r.is_empty())
        })
    };
    if !is_plain && are_inside() { TheShipPlace::Inside } else { TheShipPlace::After }
}

/// Whether there are more players after the announced number.
pub(super) fn more_players(bytes: &[u8], announced: u32, ship: TheShipPlace) -> bool {
    if ship == TheShipPlace::After && bytes.len() == 8 * announced as usize {
        // 8 bytes a player, unless all bytes form entries with names.
        return ahead(bytes, |r| {
            while !r.is_empty() {
                if player(r, TheShipPlace::No)?.name.is_empty() {
                    return Ok(false);
                }
            }
            Ok(true)
        });
    }
    ahead(bytes, |r| player(r, ship).map(|_| true))
}

/// Whether there is one more rule, a complete one.
pub(super) fn more_rules(bytes: &[u8]) -> bool {
    ahead(bytes, |r| rule(r).map(|_| true))
}
