//! Lists of players and of rules.

use super::entries::{Player, TheShipPlace, player, rule};
use super::{Counted, DecodeContext, MessageSummary, lookahead};
use crate::a2s::fields as f;
use crate::a2s::rules;
use crate::kit::repeated_names::SeenNames;
use crate::kit::scan;
use crate::kit::{Cut, Read, Reader, Sink, Span};

/// A2S_PLAYER, response format.
pub(super) fn player_response<S: Sink>(
    r: &mut Reader<'_, S>,
    known: DecodeContext,
    cut_off: bool,
    summary: &mut MessageSummary,
) -> Result<(), Cut> {
    if known.lost && r.is_empty() {
        rules::players_lost(r.here(), r.sink);
    }
    let announced = r.u8(&f::NUM_PLAYERS)?;
    let mut list = rules::ListCount::new(announced.value.into(), announced.at);
    let shape = match known.ship {
        Some(true) => lookahead::ship(r.peek(), list.announced),
        Some(false) => TheShipPlace::No,
        None => TheShipPlace::After,
    };
    r.open(&f::PLAYERS);
    let read = players(r, &mut list, shape, known);
    list.has_part = read.is_err();
    r.close();
    if shape == TheShipPlace::Inside && list.found > 0 {
        rules::ship_players_inside(announced.at, r.sink);
    }
    if list.unnamed > 0 {
        r.leaf(&f::UNNAMED, 0, list.unnamed.into());
    }
    let lost = known.loses(&list);
    if lost {
        rules::players_lost(r.here(), r.sink);
        rules::player_indices(&list, lost, r.sink);
        rules::player_count(&list, lost, r.sink);
    }
    if check_end(r, &list, known, cut_off, read.is_ok()) && !lost {
        rules::player_count(&list, lost, r.sink);
        let counted = Counted::List { listed: list.announced, unnamed: list.unnamed };
        summary.counted = (list.found == list.announced).then_some(counted);
    }
    if !lost {
        rules::player_indices(&list, lost, r.sink);
    }
    read?;
    if !r.is_empty() && shape == TheShipPlace::After && r.rest() == 8 * list.announced as usize {
        ship_players(r)?;
    }
    Ok(())
}

/// Checks the end of a list; `is_read`: its last entry is whole. Returns whether its count is still to be checked.
fn check_end<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &rules::ListCount,
    known: DecodeContext,
    cut_off: bool,
    is_read: bool,
) -> bool {
    if !known.split && (cut_off || is_read) {
        rules::cut_off_list(cut_off, list, r.at() + r.rest(), r.sink);
    }
    !cut_off
}

fn players<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &mut rules::ListCount,
    shape: TheShipPlace,
    known: DecodeContext,
) -> Result<(), Cut> {
    while !r.is_empty() {
        if list.found >= list.announced && !lookahead::more_players(r.peek(), list.announced, shape)
        {
            break;
        }
        let Player { index, name, duration } = player(r, shape)?;
        if !known.is_before_gap(r.at()) {
            list.found += 1;
            continue;
        }
        list.unnamed += u32::from(name.is_empty());
        r.sink.whole_elements(true);
        rules::player_duration(duration, r.sink);
        r.sink.whole_elements(false);
        list.player(index);
    }
    Ok(())
}

/// After the list, The Ship sends further values for each player. They are not in the
/// specification.
fn ship_players<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    rules::ship_players(Span::new(r.at(), r.at() + r.rest()), r.sink);
    r.open(&f::SHIP_PLAYERS);
    while !r.is_empty() {
        r.open(&f::SHIP_PLAYER);
        r.i32_le(&f::DEATHS)?;
        r.i32_le(&f::MONEY)?;
        r.close();
    }
    r.close();
    Ok(())
}

/// A2S_RULES, response format.
pub(super) fn rules_response<S: Sink>(
    r: &mut Reader<'_, S>,
    known: DecodeContext,
    cut_off: bool,
) -> Result<(), Cut> {
    if known.lost && r.rest() < 2 {
        rules::rules_lost(r.here(), r.sink);
    }
    let announced = r.u16_le(&f::NUM_RULES)?;
    let mut list = rules::ListCount::new(announced.value.into(), announced.at);
    let mut names = SeenNames::new(r.peek());
    r.open(&f::RULES);
    let read = rule_pairs(r, &mut list, |name| {
        if known.is_before_gap(name.at.end as usize) {
            names.add(name);
        }
    });
    list.has_part = read.is_err();
    r.close();
    rules::utf8_rules(&list, r.sink);
    let lost = known.loses(&list);
    if lost {
        rules::rules_lost(r.here(), r.sink);
        // Otherwise the reader reports the text that is cut.
        if read.is_ok() {
            rules::texts_lost(r.here(), r.sink);
        }
        rules::rules_count(&list, lost, r.sink);
    }
    rules::rule_names(&names.repeated(), lost, announced.at, r.sink);
    if check_end(r, &list, known, cut_off, read.is_ok()) && !lost {
        rules::rules_count(&list, lost, r.sink);
    }
    read
}

fn rule_pairs<'a, S: Sink>(
    r: &mut Reader<'a, S>,
    list: &mut rules::ListCount,
    mut is_named: impl FnMut(Read<&'a [u8]>),
) -> Result<(), Cut> {
    let utf8_end = r.at() + scan::utf8_up_to(r.peek());
    let texts = [&f::RULE_NAME, &f::RULE_VALUE];
    let usual = r.text_pairs(&f::RULE, texts, list.announced, utf8_end, &mut is_named);
    list.found += usual;
    list.utf8 += usual;
    while !r.is_empty() {
        if list.found >= list.announced && !lookahead::more_rules(r.peek()) {
            break;
        }
        let [name, value] = rule(r)?;
        if r.at() <= utf8_end {
            list.utf8 += 1;
        } else {
            let at = Span { start: name.at.start, end: value.at.end };
            rules::rule_text(name.value, value.value, list, at, r.sink);
        }
        is_named(name);
        list.found += 1;
    }
    Ok(())
}
