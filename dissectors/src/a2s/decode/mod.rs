//! Decodes the fields of one whole message: a function per message, in the specification's order.

mod entries;
mod info;
mod lists;
mod lookahead;
mod split;

pub(super) use split::{compressed, fragment, split_group};

use super::fields as f;
use super::layout::{SINGLE, message_byte};
use super::messages as m;
use super::rules::{self, A2S001, A2S004, A2S005, A2S006, A2S007};
use super::words;
use crate::kit::{Cut, Endings, Message, Read, Reader, Sink, Span, decode};

/// The rules that the reader checks on every message.
static ENDINGS: Endings = Endings {
    whole: Some(&A2S007),
    terminated: Some(&A2S004),
    utf8: Some(&A2S005),
    after: Some(&A2S006),
};

/// For rule values, which some games fill with binary data: the function that reads the field
/// checks its text.
static BINARY: Endings = Endings { utf8: None, ..ENDINGS };

/// For a cut-off list, or a packet that is an attack: other rules report that as one fault.
static CUT_OFF: Endings = Endings { whole: None, terminated: None, utf8: None, after: None };

/// For split packets, which hold a part of a message.
static PART: Endings = Endings { terminated: None, utf8: None, after: None, ..ENDINGS };

/// Steam Application ID of The Ship, whose responses have additional fields.
pub(in crate::a2s) const THE_SHIP: u16 = 2400;

/// "No longer supported on Counter Strike: Source and Team Fortress 2 servers": their IDs.
pub(in crate::a2s) const WITHOUT_PING: [u16; 2] = [240, 440];

/// A2S_SERVERQUERY_GETCHALLENGE "does not function in Goldsource nor Left4Dead2 servers": Steam Application ID of
/// the latter, the last one of GoldSource's games, and the protocol versions of GoldSource.
const LEFT_4_DEAD_2: u16 = 550;
const LAST_OF_GOLDSRC: u16 = 130;
const GOLDSRC: [u8; 2] = [47, 48];

/// Whether servers of a game answer A2S_SERVERQUERY_GETCHALLENGE.
pub(in crate::a2s) fn gives_challenges(app_id: u16, protocol: u8) -> bool {
    app_id > LAST_OF_GOLDSRC && app_id != LEFT_4_DEAD_2 && !GOLDSRC.contains(&protocol)
}

/// The text of an info request, with its zero.
const QUERY: &[u8] = b"Source Engine Query\0";

/// What is known before a message is decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::a2s) struct DecodeContext {
    /// Whether this server runs The Ship, if known.
    pub(in crate::a2s) ship: Option<bool>,
    /// The message was joined from split packets.
    pub(in crate::a2s) split: bool,
    /// It travels toward a server.
    pub(in crate::a2s) toward_server: bool,
    /// The recording lost its end, or a part of it.
    pub(in crate::a2s) lost: bool,
    /// Where the first lost part of a split response is: what follows may begin anywhere.
    pub(in crate::a2s) gap: Option<usize>,
    /// No request waits for it.
    pub(in crate::a2s) unasked: bool,
}

impl DecodeContext {
    /// Whether the recording lost entries of a list: if the list is split, they may be missing between others, whatever
    /// their number.
    fn loses(&self, list: &rules::ListCount) -> bool {
        self.lost && (self.split || list.found < list.announced)
    }

    /// Whether what ends here was recorded without a gap before it.
    fn is_before_gap(&self, end: usize) -> bool {
        self.gap.is_none_or(|gap| end <= gap)
    }
}

/// The properties of a message that the conversation needs.
#[derive(Clone, Copy)]
pub(in crate::a2s) struct MessageSummary {
    /// The message.
    pub(in crate::a2s) message: &'static Message,
    /// Its message byte; 0 if there is none that identifies the message.
    pub(in crate::a2s) kind: u8,
    /// It was complete, and the text of a request was correct.
    pub(in crate::a2s) whole: bool,
    /// The challenge in it, and its position.
    pub(in crate::a2s) challenge: Option<Read<i32>>,
    /// The game, in an info response.
    pub(in crate::a2s) app_id: Option<u16>,
    /// The engine's protocol version, in an info response.
    pub(in crate::a2s) protocol: Option<u8>,
    /// How many players it counts.
    pub(in crate::a2s) counted: Option<Counted>,
    /// The port for players, in an info response.
    pub(in crate::a2s) game_port: Option<u16>,
}

/// How many players a response counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::a2s) enum Counted {
    /// An info response.
    Info { players: u8, bots: u8 },
    /// A whole list of players: the number of entries, and of those without a name.
    List { listed: u32, unnamed: u32 },
}

impl MessageSummary {
    const UNKNOWN: MessageSummary = MessageSummary {
        message: &m::UNKNOWN,
        kind: 0,
        whole: false,
        challenge: None,
        app_id: None,
        protocol: None,
        counted: None,
        game_port: None,
    };
}

/// Decodes one message that is not a split packet.
pub(in crate::a2s) fn message<S: Sink>(
    bytes: &[u8],
    known: DecodeContext,
    sink: &mut S,
) -> MessageSummary {
    let mut summary = MessageSummary::UNKNOWN;
    let cut_off = !known.split && lookahead::is_cut_off(bytes);
    let endings = match bytes.get(message_byte(bytes)) {
        _ if cut_off => &CUT_OFF,
        Some(b'E') => &BINARY,
        _ => &ENDINGS,
    };
    let mut right = true;
    let whole = decode(bytes, endings, sink, |r| {
        headers(r, known)?;
        if let Some(command) = words::command(r.peek()) {
            in_words(r, command);
            return Ok(());
        }
        let kind = r.u8(&f::TYPE)?;
        // A server answers a player who joins with a longer `A`.
        if kind.value == b'A' && known.unasked && r.rest() != 4 {
            summary.message = &m::GAME_CONNECTION;
            if !r.sink.begins(summary.message) {
                return Err(Cut::Reported);
            }
            text_or_bytes(r);
            return Ok(());
        }
        summary.kind = kind.value;
        rules::known_message(kind, rules::is_named(kind.value), r.sink);
        summary.message = message_of(kind.value);
        let is_wanted = r.sink.begins(summary.message);
        if matches!(kind.value, b'i' | b'T' | b'W' | b'U' | b'V') {
            rules::ping_deprecated(kind.value == b'i', kind.at, r.sink);
        }
        match kind.value {
            // The conversation needs no fields of these.
            b'j' | b'D' | b'E' | b'l' if !is_wanted => Err(Cut::Reported),
            b'i' => Ok(()),
            b'j' => ping_response(r),
            b'T' => info_request(r, &mut summary, &mut right),
            b'I' => info::info_response(r, &mut summary, is_wanted),
            b'm' => info::info_response_goldsrc(r, &mut summary),
            b'W' => {
                rules::challenge_asked(true, kind.at, r.sink);
                Ok(())
            }
            b'A' => challenge_response(r, &mut summary),
            b'U' | b'V' => list_request(r, &mut summary),
            b'D' => lists::player_response(r, known, cut_off, &mut summary),
            b'E' => lists::rules_response(r, known, cut_off),
            b'l' => print(r),
            _ => {
                text_or_bytes(r);
                Ok(())
            }
        }
    });
    summary.whole = whole && right;
    summary
}

/// The message with this message byte.
const fn message_of(kind: u8) -> &'static Message {
    match kind {
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
    }
}

/// The four bytes FF before the message byte. Inside a split response some servers leave them out
/// or send them twice.
fn headers<S: Sink>(r: &mut Reader<'_, S>, known: DecodeContext) -> Result<(), Cut> {
    let there = r.peek().starts_with(&SINGLE);
    if known.split {
        rules::inner_header(there, r.here(), r.sink);
        if !there {
            return Ok(());
        }
    } else if known.toward_server && r.rest() <= SINGLE.len() {
        rules::runt_query(r.rest(), Span::new(0, r.rest()), r.sink);
        r.bytes(&f::BODY, r.rest());
        return Err(Cut::Reported);
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

/// Bytes that are not a packet of the specification: reported if a response was due.
pub(in crate::a2s) fn stray<S: Sink>(bytes: &[u8], sink: &mut S) -> MessageSummary {
    rules::no_header(bytes, sink);
    decode(bytes, &PART, sink, |r| {
        r.bytes(&f::BODY, r.rest());
        Err(Cut::Reported)
    });
    MessageSummary::UNKNOWN
}

/// A message of the game in words: the command, the text after it, and what is no text, such as a player's Steam ticket.
/// Blanks and zeros at the end belong to the last of them.
#[cold]
fn in_words<S: Sink>(r: &mut Reader<'_, S>, command: &'static [u8]) {
    let at = Span::new(r.at(), r.at() + command.len());
    let after = r.peek().get(command.len()..).unwrap_or_default();
    let is_all = after.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
    r.text_in(&f::COMMAND, if is_all { r.rest() } else { command.len() }, at);
    rules::game_message(command, at, r.sink);
    r.sink.begins(&m::UNKNOWN);
    text(r, words::text_length(r.peek()));
    if !r.is_empty() {
        r.bytes(&f::BODY, r.rest());
    }
}

/// The next bytes as text, without the blanks around it.
fn text<S: Sink>(r: &mut Reader<'_, S>, length: usize) {
    let Some(text) = r.peek().get(..length).filter(|text| !text.is_empty()) else { return };
    let start = r.at() + (length - text.trim_ascii_start().len());
    let end = start + text.trim_ascii().len();
    let zeros = r.peek().get(length..).filter(|rest| is_zero(rest)).map_or(0, <[u8]>::len);
    r.text_in(&f::TEXT, length + zeros, Span::new(start, end));
}

/// What follows a message byte that the specification does not name.
#[cold]
fn text_or_bytes<S: Sink>(r: &mut Reader<'_, S>) {
    if words::is_text(r.peek()) {
        text(r, words::text_length(r.peek()));
    } else {
        r.bytes(&f::BODY, r.rest());
    }
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
    summary: &mut MessageSummary,
    right: &mut bool,
) -> Result<(), Cut> {
    let start = r.at();
    *right = r.usual_text(&f::QUERY, QUERY);
    if !*right {
        other_query(r)?;
    }
    if matches!(r.rest(), 1..=3) && !is_zero(r.peek()) {
        let cut = r.bytes(&f::CHALLENGE_BYTES, r.rest());
        if *right {
            rules::info_challenge_cut(cut.at, r.sink);
            *right = false;
            return Ok(());
        }
    }
    let is_doubled = start > SINGLE.len() + 1;
    if *right && is_doubled {
        rules::info_header_doubled(Span::new(SINGLE.len(), 2 * SINGLE.len()), r.sink);
        *right = false;
    } else {
        rules::info_request(*right, r.since(start), r.sink);
    }
    if r.rest() == 4 || r.rest() > 4 && !is_zero(r.peek()) {
        summary.challenge = Some(r.i32_le(&f::CHALLENGE)?);
    }
    padding(r);
    Ok(())
}

/// A request with another text than the specified one.
#[cold]
fn other_query<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    if r.peek().contains(&0) {
        r.text(&f::QUERY)?;
        return Ok(());
    }
    let start = r.at();
    r.text_of(&f::QUERY, r.rest());
    rules::info_request(false, r.since(start), r.sink);
    Err(Cut::Reported)
}

/// Zeros after a request: a beta client of 2020 sent them to make its request as long as the
/// response.
fn padding<S: Sink>(r: &mut Reader<'_, S>) {
    if !r.is_empty() && is_zero(r.peek()) {
        let padding = r.bytes(&f::PADDING, r.rest());
        rules::padding(padding.at, r.sink);
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// A2S_SERVERQUERY_GETCHALLENGE, response format.
fn challenge_response<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut MessageSummary,
) -> Result<(), Cut> {
    let at = Span::new(r.at(), r.at() + r.rest());
    rules::challenge_layout(r.rest(), at, r.sink);
    if r.rest() < 4 {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
        return Err(Cut::Reported);
    }
    summary.challenge = Some(r.i32_le(&f::CHALLENGE)?);
    if !r.is_empty() {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
    }
    Ok(())
}

/// A2S_PLAYER and A2S_RULES, request format.
fn list_request<S: Sink>(r: &mut Reader<'_, S>, summary: &mut MessageSummary) -> Result<(), Cut> {
    let at = Span::new(r.at(), r.at() + r.rest());
    let present = r.rest() >= 4;
    rules::challenge_present(present, r.rest(), at, r.sink);
    if !present {
        r.bytes(&f::CHALLENGE_BYTES, r.rest());
        return Err(Cut::Reported);
    }
    let challenge = r.i32_le(&f::CHALLENGE)?;
    summary.challenge = Some(challenge);
    if challenge.value == -1 {
        rules::challenge_asked(false, challenge.at, r.sink);
    }
    padding(r);
    Ok(())
}

/// Text that a server shows on the client's console: "Banned by server", "Bad challenge".
fn print<S: Sink>(r: &mut Reader<'_, S>) -> Result<(), Cut> {
    if r.peek().contains(&0) {
        r.text(&f::TEXT)?;
    } else {
        r.text_of(&f::TEXT, r.rest());
    }
    Ok(())
}
