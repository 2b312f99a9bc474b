//! From the bytes of one whole message to its fields: a function per message, in the document's
//! order.

use super::fields as f;
use super::messages as m;
use super::rules::{self, A2S001, A2S004, A2S005, A2S006, A2S007};
use super::split::{self, Header, Layout, Reason, SINGLE};
use super::walk;
use crate::kit::{Cut, Endings, Message, Read, Reader, Sink, Span, decode};

/// The rules that the reader judges on every message.
static ENDINGS: Endings = Endings {
    whole: Some(&A2S007),
    terminated: Some(&A2S004),
    utf8: Some(&A2S005),
    behind: Some(&A2S006),
};

/// For rule values, which some games fill with binary data: whether that is a fault is judged
/// beside the field.
static BINARY: Endings = Endings { utf8: None, ..ENDINGS };

/// For a list that is cut off, which is one fault and judged as such.
static CUT_OFF: Endings = Endings { whole: None, terminated: None, utf8: None, behind: None };

/// For split packets, which hold a part of a message.
static PART: Endings = Endings { terminated: None, utf8: None, behind: None, ..ENDINGS };

/// Steam Application ID of The Ship, whose answers have fields of their own.
const THE_SHIP: u16 = 2400;

/// The text that an info request carries.
const QUERY: &[u8] = b"Source Engine Query";

/// What is known before a message is decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The game that this server said it runs.
    pub(super) app_id: Option<u16>,
    /// The message was put together from split packets.
    pub(super) split: bool,
    /// It travels toward a server.
    pub(super) toward_server: bool,
}

/// What the conversation needs to know of a message.
#[derive(Clone, Copy)]
pub(super) struct Said {
    /// Which message.
    pub(super) message: &'static Message,
    /// Its message byte; 0 where it has none that tells.
    pub(super) kind: u8,
    /// It was whole, and the text it asks with right.
    pub(super) whole: bool,
    /// The challenge it asks with or hands out, and where.
    pub(super) challenge: Option<Read<i32>>,
    /// The game, in an info answer.
    pub(super) app_id: Option<u16>,
    /// The engine's protocol version, in an info answer.
    pub(super) protocol: Option<u8>,
}

impl Said {
    const UNKNOWN: Said = Said {
        message: &m::UNKNOWN,
        kind: 0,
        whole: false,
        challenge: None,
        app_id: None,
        protocol: None,
    };
}

/// Decodes one message that is not a split packet.
pub(super) fn message<S: Sink>(bytes: &[u8], known: Known, sink: &mut S) -> Said {
    let mut said = Said::UNKNOWN;
    let cut_off = !known.split && walk::is_cut_off(bytes);
    let endings = match walk::kind(bytes) {
        _ if cut_off => &CUT_OFF,
        Some(b'E') => &BINARY,
        _ => &ENDINGS,
    };
    let mut right = true;
    let whole = decode(bytes, endings, sink, |r| {
        headers(r, known)?;
        let kind = r.u8(&f::TYPE)?;
        said.kind = kind.value;
        rules::known_message(kind, rules::is_named(kind.value), r.sink);
        said.message = match kind.value {
            b'i' => &m::PING_REQUEST,
            b'j' => &m::PING_RESPONSE,
            b'T' => &m::INFO_REQUEST,
            b'I' => &m::INFO_RESPONSE,
            b'm' => &m::INFO_RESPONSE_GOLDSRC,
            b'W' => &m::CHALLENGE_REQUEST,
            b'A' => &m::CHALLENGE_RESPONSE,
            b'U' => &m::PLAYER_REQUEST,
            b'D' => &m::PLAYER_RESPONSE,
            b'V' => &m::RULES_REQUEST,
            b'E' => &m::RULES_RESPONSE,
            b'l' => &m::PRINT,
            _ => &m::UNKNOWN,
        };
        if matches!(kind.value, b'i' | b'T' | b'W' | b'U' | b'V') {
            rules::ping_deprecated(kind.value == b'i', kind.at, r.sink);
        }
        match kind.value {
            b'i' => Ok(()),
            b'j' => ping_response(r),
            b'T' => info_request(r, &mut said, &mut right),
            b'I' => info_response(r, &mut said),
            b'm' => info_response_goldsrc(r, &mut said),
            b'W' => {
                rules::challenge_asked(true, kind.at, r.sink);
                Ok(())
            }
            b'A' => challenge_response(r, &mut said),
            b'U' | b'V' => list_request(r, &mut said),
            b'D' => player_response(r, known, cut_off),
            b'E' => rules_response(r, known, cut_off),
            b'l' => print(r),
            _ => {
                r.bytes(&f::BODY, r.rest());
                Ok(())
            }
        }
    });
    said.whole = whole && right;
    said
}

/// The four bytes FF before the message byte. Inside a split answer some servers leave them out or
/// write them twice.
fn headers<S: Sink>(r: &mut Reader<'_, S>, known: Known) -> Result<(), Cut> {
    let there = r.peek().starts_with(&SINGLE);
    if known.split {
        rules::inner_header(there, r.here(), r.sink);
        if !there {
            return Ok(());
        }
    } else if known.toward_server && r.rest() <= SINGLE.len() {
        rules::runt_query(r.rest(), Span::new(0, r.rest()), r.sink);
        r.bytes(&f::BODY, r.rest());
        return Err(Cut::Told);
    }
    let header = r.i32_le(&f::HEADER)?;
    if !known.split {
        rules::packet_header(header, r.sink);
    }
    if r.peek().starts_with(&SINGLE) {
        let second = r.i32_le(&f::SECOND_HEADER)?;
        if known.split {
            rules::doubled_inner_header(second.at, r.sink);
        } else {
            rules::doubled_header(&A2S001, second.at, r.sink);
        }
    }
    Ok(())
}

/// Bytes that are no packet of the document: judged where an answer was due.
pub(super) fn stray<S: Sink>(bytes: &[u8], sink: &mut S) -> Said {
    rules::no_header(bytes, sink);
    decode(bytes, &PART, sink, |r| {
        r.bytes(&f::BODY, r.rest());
        Err(Cut::Told)
    });
    Said::UNKNOWN
}

/// A split packet on its own: "Multi-packet Response".
pub(super) fn fragment<S: Sink>(bytes: &[u8], layout: Layout, sink: &mut S) {
    decode(bytes, &PART, sink, |r| {
        r.i32_le(&f::HEADER)?;
        r.sink.leaf(&f::LAYOUT, r.here(), layout as u64);
        let id = r.u32_le(&f::ID)?;
        let header = Header::read(bytes, layout);
        if layout == Layout::GoldSrc {
            r.u8(&f::PACKET_NUMBER)?;
            let header = header.ok_or(Cut::Short)?;
            r.sink.leaf(&f::TOTAL, r.here(), header.total.into());
            r.sink.leaf(&f::NUMBER, r.here(), header.number.into());
        } else {
            r.u8(&f::TOTAL)?;
            r.u8(&f::NUMBER)?;
            if layout == Layout::OrangeBox {
                r.u16_le(&f::SIZE)?;
            }
            let compressed = split::is_compressed(id.value, layout);
            let first = header.is_some_and(|header| header.number == 0);
            if compressed && first && split::announced(r.peek()).is_some() {
                r.u32_le(&f::DECOMPRESSED_SIZE)?;
                r.u32_le(&f::CRC32)?;
            }
        }
        r.bytes(&f::SPLIT_PAYLOAD, r.rest());
        Ok(())
    });
}

/// What was learnt of a split answer while it was put together: no bytes of its payload.
pub(super) fn split_group<S: Sink>(
    joined: &split::Joined,
    shape: &split::Shape,
    reason: Reason,
    sink: &mut S,
) {
    sink.open(&f::SPLIT, 0, 0);
    let mut leaf = |field, value| sink.leaf(field, Span::default(), value);
    leaf(&f::LAYOUT, shape.layout as u64);
    leaf(&f::ID, joined.id.into());
    leaf(&f::TOTAL, shape.total.into());
    if let Some(size) = shape.size {
        leaf(&f::SIZE, size.into());
    }
    leaf(&f::COMPRESSED, joined.compressed.into());
    if let Some((size, sum)) = joined.announced {
        leaf(&f::DECOMPRESSED_SIZE, size.into());
        leaf(&f::CRC32, sum.into());
    }
    leaf(&f::CHOSEN_BY, reason as u64);
    sink.close(0);
}

/// A split answer whose bytes do not decompress.
pub(super) fn compressed<S: Sink>(bytes: &[u8], sink: &mut S) -> Said {
    let at = Span::new(0, bytes.len());
    if !bytes.is_empty() {
        sink.leaf(&f::COMPRESSED_BYTES, at, 0);
    }
    Said::UNKNOWN
}

/// A2A_PING, response format.
fn ping_response<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    let start = r.at();
    if r.is_empty() {
        rules::bare_ping(r.here(), r.sink);
        return Ok(());
    }
    let payload = r.text(&f::PING_PAYLOAD)?;
    rules::ping_payload(payload.value, r.since(start), r.sink);
    Ok(())
}

/// A2S_INFO, request format; with the challenge that later servers ask for.
fn info_request<S: Sink>(
    r: &mut Reader<'_, S>,
    said: &mut Said,
    right: &mut bool,
) -> Result<(), Cut> {
    let start = r.at();
    let length = r.peek().iter().position(|&byte| byte == 0);
    let Some(length) = length else {
        r.text_of(&f::QUERY, r.rest());
        rules::info_request(false, r.since(start), r.sink);
        return Err(Cut::Told);
    };
    *right = r.peek().get(..length) == Some(QUERY);
    r.text(&f::QUERY)?;
    let stray = matches!(r.rest(), 1..=3) && !is_zero(r.peek());
    *right &= !stray;
    rules::info_request(*right, r.since(start), r.sink);
    if stray {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
    }
    if r.rest() == 4 || r.rest() > 4 && !is_zero(r.peek()) {
        said.challenge = Some(r.i32_le(&f::CHALLENGE)?);
    }
    padding(r);
    Ok(())
}

/// Zeros behind a request: what a beta client of 2020 sent to make its request as long as the
/// answer.
fn padding<S: Sink>(r: &mut Reader<'_, S>) {
    if !r.is_empty() && is_zero(r.peek()) {
        let padding = r.bytes(&f::PADDING, r.rest());
        rules::padding(padding.at, r.sink);
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// A2S_INFO, response format.
fn info_response<S: Sink>(r: &mut Reader<'_, S>, said: &mut Said) -> Result<(), Cut> {
    rules::obsolete_info(false, Span::new(r.at() - 1, r.at()), r.sink);
    said.protocol = Some(r.u8(&f::PROTOCOL)?.value);
    r.text(&f::NAME)?;
    r.text(&f::MAP)?;
    r.text(&f::FOLDER)?;
    r.text(&f::GAME)?;
    let app_id = r.u16_le(&f::APP_ID)?;
    said.app_id = Some(app_id.value);
    let players = r.u8(&f::PLAYERS_COUNT)?;
    let max_players = r.u8(&f::MAX_PLAYERS)?;
    let bots = r.u8(&f::BOTS)?;
    rules::player_limits(players, max_players, bots, r.sink);
    let server_type = r.u8(&f::SERVER_TYPE)?;
    rules::server_type(server_type, Some(app_id.value), r.sink);
    let rest = info_rest(r, app_id);
    hltv(rest, max_players, server_type, r)
}

/// A relay whose slots are 255 may answer with less than all fields.
fn hltv<S: Sink>(
    rest: Result<(), Cut>,
    max_players: Read<u8>,
    server_type: Read<u8>,
    r: &mut Reader<'_, S>,
) -> Result<(), Cut> {
    let relay = max_players.value == 255 && matches!(server_type.value, b'p' | b'P');
    if rest == Err(Cut::Short) && relay {
        rules::hltv_incomplete(r.here(), r.sink);
        return Err(Cut::Told);
    }
    rest
}

fn info_rest<S: Sink>(r: &mut Reader<'_, S>, app_id: Read<u16>) -> Result<(), Cut> {
    let environment = r.u8(&f::ENVIRONMENT)?;
    rules::environment(environment, r.sink);
    let visibility = r.u8(&f::VISIBILITY)?;
    rules::flag(&f::VISIBILITY, visibility, r.sink);
    let vac = r.u8(&f::VAC)?;
    rules::flag(&f::VAC, vac, r.sink);
    if app_id.value == THE_SHIP {
        the_ship(r)?;
    }
    r.text(&f::VERSION)?;
    if r.is_empty() {
        return Ok(());
    }
    let edf = r.u8(&f::EDF)?;
    rules::edf_bits(edf, r.sink);
    if edf.value & 0x80 != 0 {
        r.u16_le(&f::PORT)?;
    }
    if edf.value & 0x10 != 0 {
        r.u64_le(&f::STEAM_ID)?;
    }
    if edf.value & 0x40 != 0 {
        r.u16_le(&f::SOURCETV_PORT)?;
        r.text(&f::SOURCETV_NAME)?;
    }
    if edf.value & 0x20 != 0 {
        r.text(&f::KEYWORDS)?;
    }
    if edf.value & 0x01 != 0 {
        let game_id = r.u64_le(&f::GAME_ID)?;
        rules::game_id(game_id, app_id, r.sink);
    }
    Ok(())
}

/// "These fields only exist in a response if the server is running The Ship". A version text
/// begins with a printable character, a mode never is one: so their absence is told.
fn the_ship<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    let start = r.at();
    if r.peek().first().is_some_and(u8::is_ascii_graphic) {
        rules::ship_fields(None, r.here(), r.sink);
        return Ok(());
    }
    let mode = r.u8(&f::MODE)?;
    r.u8(&f::WITNESSES)?;
    r.u8(&f::DURATION_ARREST)?;
    rules::ship_fields(Some(mode.value), r.since(start), r.sink);
    Ok(())
}

/// A2S_INFO, the obsolete response format of GoldSource servers.
fn info_response_goldsrc<S: Sink>(r: &mut Reader<'_, S>, said: &mut Said) -> Result<(), Cut> {
    rules::obsolete_info(true, Span::new(r.at() - 1, r.at()), r.sink);
    r.text(&f::ADDRESS)?;
    r.text(&f::NAME)?;
    r.text(&f::MAP)?;
    r.text(&f::FOLDER)?;
    r.text(&f::GAME)?;
    let players = r.u8(&f::PLAYERS_COUNT)?;
    let max_players = r.u8(&f::MAX_PLAYERS)?;
    said.protocol = Some(r.u8(&f::PROTOCOL)?.value);
    let server_type = r.u8(&f::SERVER_TYPE)?;
    rules::server_type(server_type, None, r.sink);
    let rest = goldsrc_rest(r, players, max_players);
    hltv(rest, max_players, server_type, r)
}

fn goldsrc_rest<S: Sink>(
    r: &mut Reader<'_, S>,
    players: Read<u8>,
    max_players: Read<u8>,
) -> Result<(), Cut> {
    let environment = r.u8(&f::ENVIRONMENT)?;
    rules::environment(environment, r.sink);
    let visibility = r.u8(&f::VISIBILITY)?;
    rules::flag(&f::VISIBILITY, visibility, r.sink);
    let is_mod = r.u8(&f::MOD)?;
    rules::flag(&f::MOD, is_mod, r.sink);
    mod_section(r, is_mod)?;
    let vac = r.u8(&f::VAC)?;
    rules::flag(&f::VAC, vac, r.sink);
    let bots = r.u8(&f::BOTS)?;
    rules::player_limits(players, max_players, bots, r.sink);
    Ok(())
}

/// "These fields are only present in the response if "Mod" is 1". Behind them stand two bytes:
/// where just these are left, or a whole section too many, the bytes decide and the rule is broken.
fn mod_section<S: Sink>(r: &mut Reader<'_, S>, is_mod: Read<u8>) -> Result<(), Cut> {
    let present = if is_mod.value == 1 { r.rest() > 2 } else { mod_length(r.peek()) == r.rest() };
    rules::mod_section(present, is_mod, r.sink);
    if !present {
        return Ok(());
    }
    r.text(&f::LINK)?;
    r.text(&f::DOWNLOAD_LINK)?;
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

/// How long a message's end is that consists of a mod section and the two bytes behind it.
fn mod_length(bytes: &[u8]) -> usize {
    let texts = bytes.iter().enumerate().filter(|&(_, &byte)| byte == 0).map(|(at, _)| at + 1);
    texts.take(2).last().map_or(usize::MAX, |texts| texts + 1 + 4 + 4 + 1 + 1 + 2)
}

/// A2S_SERVERQUERY_GETCHALLENGE, response format.
fn challenge_response<S: Sink>(r: &mut Reader<'_, S>, said: &mut Said) -> Result<(), Cut> {
    let at = Span::new(r.at(), r.at() + r.rest());
    rules::challenge_layout(r.rest(), at, r.sink);
    if r.rest() < 4 {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
        return Err(Cut::Told);
    }
    said.challenge = Some(r.i32_le(&f::CHALLENGE)?);
    if !r.is_empty() {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
    }
    Ok(())
}

/// A2S_PLAYER and A2S_RULES, request format.
fn list_request<S: Sink>(r: &mut Reader<'_, S>, said: &mut Said) -> Result<(), Cut> {
    let at = Span::new(r.at(), r.at() + r.rest());
    let padded = r.peek().get(4..).is_some_and(is_zero);
    rules::challenge_present(padded, r.rest(), at, r.sink);
    if !padded {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
        return Err(Cut::Told);
    }
    let challenge = r.i32_le(&f::CHALLENGE)?;
    said.challenge = Some(challenge);
    if challenge.value == -1 {
        rules::challenge_asked(false, challenge.at, r.sink);
    }
    padding(r);
    Ok(())
}

/// A2S_PLAYER, response format.
fn player_response<S: Sink>(r: &mut Reader<'_, S>, known: Known, cut_off: bool) -> Result<(), Cut> {
    let said = r.u8(&f::NUM_PLAYERS)?;
    let mut list = rules::List::new(said.value.into(), said.at);
    let shape = match known.app_id {
        Some(THE_SHIP) => walk::ship(r.peek(), list.said),
        Some(_) => walk::Ship::No,
        None => walk::Ship::Behind,
    };
    r.open(&f::PLAYERS);
    let read = players(r, &mut list, shape);
    r.close();
    if end_of_list(r, &list, known, cut_off, read)? {
        rules::player_count(&list, r.sink);
    }
    rules::player_indices(&list, r.sink);
    if !r.is_empty() && shape == walk::Ship::Behind && r.rest() == 8 * list.said as usize {
        ship_players(r)?;
    }
    Ok(())
}

/// Whether the count in front of the list remains to be judged.
fn end_of_list<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &rules::List,
    known: Known,
    cut_off: bool,
    read: Result<(), Cut>,
) -> Result<bool, Cut> {
    if !known.split && (cut_off || read.is_ok()) {
        rules::cut_off_list(cut_off, list, r.at() + r.rest(), r.sink);
    }
    read.map(|()| !cut_off)
}

fn players<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &mut rules::List,
    shape: walk::Ship,
) -> Result<(), Cut> {
    while !r.is_empty() {
        if list.found >= list.said && !walk::more_players(r.peek(), list.said, shape) {
            break;
        }
        r.open(&f::PLAYER);
        let index = r.u8(&f::INDEX)?;
        r.text(&f::PLAYER_NAME)?;
        r.i32_le(&f::SCORE)?;
        let duration = r.f32_le(&f::DURATION)?;
        if shape == walk::Ship::Inside {
            r.u32_le(&f::DEATHS)?;
            r.u32_le(&f::MONEY)?;
        }
        r.close();
        rules::player_duration(duration, r.sink);
        list.player(index);
    }
    Ok(())
}

/// Behind the list The Ship tells what it counts besides, player by player. Not in the document.
fn ship_players<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    rules::ship_players(Span::new(r.at(), r.at() + r.rest()), r.sink);
    r.open(&f::SHIP_PLAYERS);
    while !r.is_empty() {
        r.open(&f::SHIP_PLAYER);
        r.u32_le(&f::DEATHS)?;
        r.u32_le(&f::MONEY)?;
        r.close();
    }
    r.close();
    Ok(())
}

/// A2S_RULES, response format.
fn rules_response<S: Sink>(r: &mut Reader<'_, S>, known: Known, cut_off: bool) -> Result<(), Cut> {
    let said = r.u16_le(&f::NUM_RULES)?;
    let mut list = rules::List::new(said.value.into(), said.at);
    let (start, bytes) = (r.at(), r.peek());
    let mut names = walk::Names::default();
    r.open(&f::RULES);
    let read = rule_pairs(r, &mut list, &mut names);
    r.close();
    rules::rule_names(names.twice(bytes, start), said.at, r.sink);
    if end_of_list(r, &list, known, cut_off, read)? {
        rules::rules_count(&list, r.sink);
    }
    Ok(())
}

fn rule_pairs<S: Sink>(
    r: &mut Reader<'_, S>,
    list: &mut rules::List,
    names: &mut walk::Names,
) -> Result<(), Cut> {
    while !r.is_empty() {
        if list.found >= list.said && !walk::is_pair(r.peek()) {
            break;
        }
        r.open(&f::RULE);
        let name = r.text(&f::RULE_NAME)?;
        let value = r.text(&f::RULE_VALUE)?;
        r.close();
        rules::rule_text(name, value, r.sink);
        names.add(name.value);
        list.found += 1;
    }
    Ok(())
}

/// Text that a server shows on the asker's console: "Banned by server", "Bad challenge".
fn print<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    if r.peek().contains(&0) {
        r.text(&f::TEXT)?;
    } else {
        r.text_of(&f::TEXT, r.rest());
    }
    Ok(())
}
