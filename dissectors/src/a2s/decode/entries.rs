//! The entries of lists.

use crate::a2s::fields as f;
use crate::kit::{Cut, Read, Reader, Sink};

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

/// What rules check of a player.
pub(super) struct Player<'a> {
    pub(super) index: Read<u8>,
    pub(super) name: &'a [u8],
    pub(super) duration: Read<f32>,
}

/// A player.
#[inline(always)]
pub(super) fn player<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    ship: TheShipPlace,
) -> Result<Player<'a>, Cut> {
    r.open(&f::PLAYER);
    let index = r.u8(&f::INDEX)?;
    let name = r.text(&f::PLAYER_NAME)?.value;
    r.i32_le(&f::SCORE)?;
    let duration = r.f32_le(&f::DURATION)?;
    if ship == TheShipPlace::Inside {
        r.i32_le(&f::DEATHS)?;
        r.i32_le(&f::MONEY)?;
    }
    r.close();
    Ok(Player { index, name, duration })
}

/// A rule: its name and its value, which need not be UTF-8.
#[inline(always)]
pub(super) fn rule<'a, S: Sink>(r: &mut Reader<'a, S>) -> Result<[Read<&'a [u8]>; 2], Cut> {
    r.open(&f::RULE);
    let name = r.text_as_is(&f::RULE_NAME)?;
    let value = r.text_as_is(&f::RULE_VALUE)?;
    r.close();
    Ok([name, value])
}
