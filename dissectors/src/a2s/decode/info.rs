//! Info responses, in the form of Source and in GoldSource's obsolete one.

use super::{Counted, MessageSummary, THE_SHIP};
use crate::a2s::fields as f;
use crate::a2s::rules;
use crate::kit::{Cut, Field, Read, Reader, Sink, Span};

/// A2S_INFO, response format.
pub(super) fn info_response<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut MessageSummary,
    is_wanted: bool,
) -> Result<(), Cut> {
    rules::obsolete_info(false, Span::new(r.at() - 1, r.at()), r.sink);
    summary.protocol = Some(r.u8(&f::PROTOCOL)?.value);
    r.text(&f::NAME)?;
    r.text(&f::MAP)?;
    r.text(&f::FOLDER)?;
    r.text(&f::GAME)?;
    let app_id = r.u16_le(&f::APP_ID)?;
    summary.app_id = Some(app_id.value);
    let players = r.u8(&f::PLAYERS_COUNT)?;
    let max_players = r.u8(&f::MAX_PLAYERS)?;
    let bots = r.u8(&f::BOTS);
    summary.counted =
        bots.ok().map(|bots| Counted::Info { players: players.value, bots: bots.value });
    if !is_wanted {
        return Err(Cut::Reported);
    }
    rules::player_limits(players, max_players, bots.ok(), r.sink);
    bots?;
    let server_type = r.u8(&f::SERVER_TYPE)?;
    rules::server_type(server_type, Some(app_id.value), r.sink);
    let may_end = may_end(max_players, server_type);
    let rest = info_rest(r, summary, app_id, may_end);
    hltv(rest, may_end, r)
}

/// Whether it is an HLTV or SourceTV proxy.
const fn is_relay(server_type: Read<u8>) -> bool {
    matches!(server_type.value, b'p' | b'P')
}

/// Whether a response may end before its last field: that of a relay whose slots are 255 may.
const fn may_end(max_players: Read<u8>, server_type: Read<u8>) -> bool {
    max_players.value == 255 && is_relay(server_type)
}

/// The fields after those that show whether a response `may_end`.
fn hltv<S: Sink, T>(rest: Result<T, Cut>, may_end: bool, r: &mut Reader<'_, S>) -> Result<T, Cut> {
    if may_end && matches!(rest, Err(Cut::Short)) {
        rules::hltv_incomplete(r.here(), r.sink);
        return Err(Cut::Reported);
    }
    rest
}

/// A text of a response that `may_end` inside of it.
fn text<S: Sink>(r: &mut Reader<'_, S>, field: &'static Field, may_end: bool) -> Result<(), Cut> {
    if !may_end || r.peek().contains(&0) {
        return r.text(field).map(drop);
    }
    if !r.is_empty() {
        r.text_of(field, r.rest());
    }
    Err(Cut::Short)
}

fn info_rest<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut MessageSummary,
    app_id: Read<u16>,
    may_end: bool,
) -> Result<(), Cut> {
    let environment = r.u8(&f::ENVIRONMENT)?;
    rules::environment(environment, r.sink);
    let visibility = r.u8(&f::VISIBILITY)?;
    rules::flag(&f::VISIBILITY, visibility, r.sink);
    let vac = r.u8(&f::VAC)?;
    rules::flag(&f::VAC, vac, r.sink);
    if app_id.value == THE_SHIP {
        the_ship(r)?;
    }
    text(r, &f::VERSION, may_end)?;
    if r.is_empty() {
        return Ok(());
    }
    let edf = r.u8(&f::EDF)?;
    rules::edf_bits(edf, r.sink);
    if edf.value & 0x80 != 0 {
        let port = r.u16_le(&f::PORT)?;
        rules::port_announced(&f::PORT, port, r.sink);
        summary.game_port = Some(port.value);
    }
    if edf.value & 0x10 != 0 {
        r.u64_le(&f::STEAM_ID)?;
    }
    if edf.value & 0x40 != 0 {
        let port = r.u16_le(&f::SOURCETV_PORT)?;
        rules::port_announced(&f::SOURCETV_PORT, port, r.sink);
        text(r, &f::SOURCETV_NAME, may_end)?;
    }
    if edf.value & 0x20 != 0 {
        text(r, &f::KEYWORDS, may_end)?;
    }
    if edf.value & 0x01 != 0 {
        let game_id = r.u64_le(&f::GAME_ID)?;
        rules::game_id(game_id, app_id, r.sink);
        let app = game_id.value & 0x00FF_FFFF;
        if app > u64::from(u16::MAX) {
            r.leaf(&f::FULL_APP_ID, 0, app);
        }
    }
    Ok(())
}

/// "These fields only exist in a response if the server is running The Ship". A version text
/// begins with a printable character, a mode never is one: so their absence is noticed.
fn the_ship<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    if r.peek().first().is_some_and(u8::is_ascii_graphic) {
        rules::ship_fields(None, r.here(), r.sink);
        return Ok(());
    }
    let mode = r.u8(&f::MODE)?;
    r.u8(&f::WITNESSES)?;
    r.u8(&f::DURATION_ARREST)?;
    rules::ship_fields(Some(mode.value), mode.at, r.sink);
    Ok(())
}

/// A2S_INFO, the obsolete response format of GoldSource servers.
pub(super) fn info_response_goldsrc<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut MessageSummary,
) -> Result<(), Cut> {
    let message_byte = Span::new(r.at() - 1, r.at());
    r.text(&f::ADDRESS)?;
    r.text(&f::NAME)?;
    r.text(&f::MAP)?;
    r.text(&f::FOLDER)?;
    r.text(&f::GAME)?;
    let players = r.u8(&f::PLAYERS_COUNT)?;
    let max_players = r.u8(&f::MAX_PLAYERS)?;
    let bots = goldsrc_rest(r, summary, message_byte, max_players);
    rules::player_limits(players, max_players, bots.ok(), r.sink);
    bots.map(|_| ())
}

/// The fields after the players, of which the number of bots is the last.
fn goldsrc_rest<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut MessageSummary,
    message_byte: Span,
    max_players: Read<u8>,
) -> Result<Read<u8>, Cut> {
    summary.protocol = Some(r.u8(&f::PROTOCOL)?.value);
    let server_type = r.u8(&f::SERVER_TYPE)?;
    // "GoldSource servers (except for HLTV ones?)": an HLTV proxy may keep the old form.
    if !is_relay(server_type) {
        rules::obsolete_info(true, message_byte, r.sink);
    }
    rules::server_type(server_type, None, r.sink);
    let may_end = may_end(max_players, server_type);
    let bots = goldsrc_end(server_type, may_end, r);
    hltv(bots, may_end, r)
}

fn goldsrc_end<S: Sink>(
    server_type: Read<u8>,
    may_end: bool,
    r: &mut Reader<'_, S>,
) -> Result<Read<u8>, Cut> {
    let environment = r.u8(&f::ENVIRONMENT)?;
    rules::environment(environment, r.sink);
    let visibility = r.u8(&f::VISIBILITY)?;
    rules::flag(&f::VISIBILITY, visibility, r.sink);
    let is_mod = r.u8(&f::MOD)?;
    rules::flag(&f::MOD, is_mod, r.sink);
    mod_section(r, is_mod, may_end)?;
    let vac = r.u8(&f::VAC)?;
    rules::flag(&f::VAC, vac, r.sink);
    if r.is_empty() && is_relay(server_type) {
        rules::hltv_no_bots(r.here(), r.sink);
        return Err(Cut::Reported);
    }
    r.u8(&f::BOTS)
}

/// "These fields are only present in the response if "Mod" is 1". Two bytes follow them:
/// where just these are left, or a whole section too many, the bytes decide and the rule is broken.
fn mod_section<S: Sink>(r: &mut Reader<'_, S>, is_mod: Read<u8>, may_end: bool) -> Result<(), Cut> {
    let present = if is_mod.value == 1 { r.rest() > 2 } else { mod_length(r.peek()) == r.rest() };
    rules::mod_section(present, is_mod, r.sink);
    if !present {
        return Ok(());
    }
    text(r, &f::LINK, may_end)?;
    text(r, &f::DOWNLOAD_LINK, may_end)?;
    let null = r.u8(&f::MOD_NULL)?;
    if is_mod.value == 1 {
        rules::mod_null(null, r.sink);
    }
    r.u32_le(&f::MOD_VERSION)?;
    r.u32_le(&f::MOD_SIZE)?;
    let mod_type = r.u8(&f::MOD_TYPE)?;
    rules::flag(&f::MOD_TYPE, mod_type, r.sink);
    let dll = r.u8(&f::MOD_DLL)?;
    rules::flag(&f::MOD_DLL, dll, r.sink);
    Ok(())
}

/// The length of the rest of a message that consists of a mod section and the two bytes after it.
fn mod_length(bytes: &[u8]) -> usize {
    let texts = bytes.iter().enumerate().filter(|&(_, &byte)| byte == 0).map(|(at, _)| at + 1);
    texts.take(2).last().map_or(usize::MAX, |texts| texts + 1 + 4 + 4 + 1 + 1 + 2)
}
