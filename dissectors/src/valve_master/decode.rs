//! Decodes the fields of a datagram: a function per message, in the specification's order.

use crate::kit::{Cut, Endings, Message, Reader, Sink, Span, TextPlace, decode};

use super::claim::{self, has_broken_header};
use super::endpoint::{self, Endpoint};
use super::filter::{self, FilterSummary, WantedAddresses};
use super::info::{self, InfoEnd};
use super::info_keys::{Engine, InfoSummary, region as region_name};
use super::reply::{BLOCK, ReplySummary};
use super::rules::{self, Blocks, InfoFrame, QueryLayout, QueryPlaces};
use super::{fields as f, messages as m};

/// The specification has no rule for all messages that the reader could check.
static ENDINGS: Endings = Endings { whole: None, terminated: None, utf8: None, after: None };

/// Xash3D's address block for IPv6.
const BLOCK6: usize = 18;

/// What is known before a message is decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DecodeContext {
    /// The key of the previous query, if there was a query and it had one.
    pub(super) key: Option<Option<u32>>,
    /// What the previous join contained, if there was a join and it had a challenge.
    pub(super) server_challenge: Option<Option<u32>>,
    /// It travels over IPv6.
    pub(super) ipv6: bool,
    /// Its sender's address is one of the Internet.
    pub(super) is_public: bool,
    /// The recording lost its end.
    pub(super) lost: bool,
}

/// The properties of a message that the conversation needs.
pub(super) enum MessageSummary<'a> {
    Query(QuerySummary<'a>),
    Reply(ReplySummary<'a>),
    Join { server_challenge: Option<u32>, is_valid: bool },
    Challenge { value: Option<u32> },
    Info(InfoSummary),
    Quit { form: Option<Engine> },
    Other(&'static Message),
}

impl MessageSummary<'_> {
    /// Which message it is.
    pub(super) fn message(&self) -> &'static Message {
        match self {
            MessageSummary::Query(_) => &m::QUERY,
            MessageSummary::Reply(_) => &m::REPLY,
            MessageSummary::Join { .. } => &m::JOIN,
            MessageSummary::Challenge { .. } => &m::CHALLENGE,
            MessageSummary::Info(_) => &m::CHALLENGE_RESPONSE,
            MessageSummary::Quit { .. } => &m::QUIT,
            MessageSummary::Other(message) => message,
        }
    }
}

/// A query for a list.
#[derive(Default)]
pub(super) struct QuerySummary<'a> {
    pub(super) region: u8,
    /// IP:Port, if it is one.
    pub(super) seed: Option<Endpoint>,
    pub(super) places: QueryPlaces,
    pub(super) filter: &'a [u8],
    /// What the addresses of the reply must be.
    pub(super) addresses: WantedAddresses,
    /// A server's description of itself may contradict the filter.
    pub(super) is_comparable: bool,
    /// The key that Xash3D's master must repeat.
    pub(super) key: Option<u32>,
    /// It has a key that only Xash3D's clients send.
    pub(super) xash3d: bool,
    /// It is valid, so that a master can answer it.
    pub(super) is_valid: bool,
}

/// Decodes one datagram.
pub(super) fn message<'a, S: Sink>(
    bytes: &'a [u8],
    known: DecodeContext,
    sink: &mut S,
) -> MessageSummary<'a> {
    let mut summary = MessageSummary::Other(&m::UNKNOWN);
    decode(bytes, &ENDINGS, sink, |r| {
        summary = match bytes {
            _ if has_broken_header(bytes) => MessageSummary::Reply(broken_reply(r)),
            [b'1', ..] => MessageSummary::Query(query(r, bytes, known.lost)?),
            [b'q', ..] => join(r)?,
            [b'0', ..] => MessageSummary::Info(challenge_response(r, known.lost)?),
            [b'b', ..] => quit(r)?,
            [0xFF, 0xFF, 0xFF, 0xFF, b'f', ..] => MessageSummary::Reply(reply(r, bytes, known)?),
            [0xFF, 0xFF, 0xFF, 0xFF, b's', ..] => challenge(r, known)?,
            [0xFF, 0xFF, 0xFF, 0xFF, b'c', b' ', ..] => nat_notice(r)?,
            _ => {
                r.bytes(&f::BODY, r.rest());
                MessageSummary::Other(&m::UNKNOWN)
            }
        };
        Ok(())
    });
    summary
}

/// "Send the following UDP query to a master server".
fn query<'a, S: Sink>(
    r: &mut Reader<'_, S>,
    bytes: &'a [u8],
    lost: bool,
) -> Result<QuerySummary<'a>, Cut> {
    let mut query = QuerySummary::default();
    r.u8(&f::TYPE)?;
    let layout = query_fields(r, bytes, lost, &mut query)?;
    let rest = Span::new(r.at(), bytes.len());
    let layout = if layout == QueryLayout::Right && !rest.is_empty() {
        QueryLayout::Trailing
    } else {
        layout
    };
    let at = if layout == QueryLayout::Right { Span::new(0, bytes.len()) } else { rest };
    rules::query_layout(layout, at, r.sink);
    query.is_valid &= layout == QueryLayout::Right;
    Ok(query)
}

fn query_fields<'a, S: Sink>(
    r: &mut Reader<'_, S>,
    bytes: &'a [u8],
    lost: bool,
    query: &mut QuerySummary<'a>,
) -> Result<QueryLayout, Cut> {
    if r.is_empty() {
        return Ok(QueryLayout::NoRegion);
    }
    let region = r.u8(&f::REGION)?;
    (query.region, query.places.region) = (region.value, region.at);
    rules::region_known(region, r.sink);
    let start = r.at();
    let Some(length) = r.peek().iter().position(|&byte| byte == 0) else {
        query.places.seed = r.here();
        if !r.is_empty() {
            query.places.seed = r.text_of(&f::SEED, r.rest()).at;
        }
        return Ok(QueryLayout::SeedOpen);
    };
    let seed = bytes.get(start..start + length).unwrap_or_default();
    query.places.seed = r.text(&f::SEED)?.at;
    query.seed = endpoint::parse(seed);
    rules::seed_syntax(query.seed.is_some(), seed, query.places.seed, r.sink);

    let start = r.at();
    let length = r.peek().iter().position(|&byte| byte == 0);
    let terminated = length.is_some();
    let length = length.unwrap_or(r.rest());
    query.places.filter = Span::new(start, start + length);
    query.filter = bytes.get(start..start + length).unwrap_or_default();
    let filter = if length == 0 {
        if terminated {
            let place = TextPlace::at(r.here()).value();
            r.leaf(&f::FILTER, 1, place);
            rules::filter_grammar(None, Span::new(start, start), r.sink);
        } else if lost {
            rules::filter_lost(r.here(), r.sink);
        }
        FilterSummary { is_valid: true, ..FilterSummary::default() }
    } else {
        filter::read(r, length, terminated, lost)
    };
    if filter.xash3d {
        r.leaf(&f::DIALECT, 0, f::XASH3D);
    }
    (query.key, query.xash3d) = (filter.key, filter.xash3d || filter.key.is_some());
    query.addresses = filter.addresses;
    query.is_comparable = filter.is_comparable;
    query.is_valid =
        region_name(region.value.into()).is_some() && query.seed.is_some() && filter.is_valid;
    Ok(if terminated { QueryLayout::Right } else { QueryLayout::FilterOpen { length } })
}

/// "The reply always starts with FF FF FF FF 66 0A."
fn reply<'a, S: Sink>(
    r: &mut Reader<'_, S>,
    bytes: &'a [u8],
    known: DecodeContext,
) -> Result<ReplySummary<'a>, Cut> {
    r.i32_le(&f::HEADER)?;
    let kind = r.u8(&f::TYPE)?;
    let fed = r.peek().first() == Some(&b'\n');
    let at = Span::new(0, kind.at.end as usize + usize::from(fed));
    rules::reply_header(fed, r.peek().first().copied(), at, r.sink);
    // If the line feed is replaced or missing, the length of the blocks shows it.
    if fed || r.rest() % BLOCK == 1 {
        r.u8(&f::LINE_FEED)?;
    }
    let keyed = repeated_key(r, known)?;

    let (block, end) = block_length(r.peek(), known.ipv6);
    if keyed || block == BLOCK6 {
        r.leaf(&f::DIALECT, 0, f::XASH3D);
    }
    let whole = r.rest() - r.rest() % BLOCK;
    let listed = whole - end;
    let start = r.at();
    let blocks = bytes.get(start..start + listed).unwrap_or_default();
    let mut found = Blocks::default();
    r.open(&f::SERVERS);
    for _ in 0..listed / block {
        if block == BLOCK {
            let server = r.endpoint(&f::SERVER)?;
            found.block(&server.value, known.is_public, server.at);
            let [a, b, c, d, high, low] = server.value;
            r.sink.listed(([a, b, c, d], u16::from_be_bytes([high, low])).into());
        } else {
            let server = r.bytes(&f::SERVER6, BLOCK6);
            found.block(server.value, known.is_public, server.at);
            if let Some((address, [high, low])) = server.value.split_first_chunk::<16>() {
                r.sink.listed((*address, u16::from_be_bytes([*high, *low])).into());
            }
        }
    }
    r.close();
    r.leaf(&f::SERVER_COUNT, 0, (listed / block) as u64);
    let ended = end > 0;
    r.leaf(&f::END, end, ended.into());

    let at = Span::new(start, start + whole);
    if block == BLOCK6 {
        rules::blocks_ipv6(at, r.sink);
    } else if known.lost {
        rules::blocks_lost(at, r.sink);
    } else if fed {
        rules::reply_blocks(r.rest(), Span::new(r.at(), bytes.len()), r.sink);
    }
    rules::blocks(&found, ended, known.lost, at, r.sink);
    let is_valid = fed && r.is_empty() && found.is_valid();
    Ok(ReplySummary { blocks, block, at, ended, keyed, is_valid })
}

/// A reply that clients drop: the bytes after a wrong header need not be blocks.
fn broken_reply<'a, S: Sink>(r: &mut Reader<'_, S>) -> ReplySummary<'a> {
    let (found, at) = (r.peek(), r.since(r.at()));
    rules::broken_header(found, Span { end: r.rest().min(6) as u32, ..at }, r.sink);
    r.bytes(&f::BODY, r.rest());
    ReplySummary::default()
}

/// Xash3D's masters repeat the key of the query before the blocks: a mark, the key and a reserved
/// byte, together as long as a block. If the query is not known or has none, it is recognized by a
/// loopback address that no host uses for itself, and no other block shares.
fn repeated_key<S: Sink>(r: &mut Reader<'_, S>, known: DecodeContext) -> Result<bool, Cut> {
    let Some(&[mark, a, b, c, d, reserved]) = r.peek().first_chunk() else { return Ok(false) };
    let key = u32::from_le_bytes([a, b, c, d]);
    let there = match known.key {
        Some(Some(asked)) => matches!(mark, 0x7F | 0xFF) && asked == key,
        Some(None) | None => {
            let is_localhost = matches!([a, b, c], [0, 0, _] | [0, 1, 1]);
            let is_alone = r.peek().get(BLOCK) != Some(&0x7F);
            mark == 0x7F && reserved == 0x08 && !is_localhost && is_alone
        }
    };
    if there {
        r.u8(&f::KEY_MARK)?;
        r.u32_le(&f::REPLY_KEY)?;
        r.u8(&f::RESERVED)?;
    }
    Ok(there)
}

/// The length of each block, and of the one that ends the list, or 0 if none does. Over IPv6, three
/// blocks of the specification are as long as one of Xash3D's: their contents decide.
fn block_length(blocks: &[u8], ipv6: bool) -> (usize, usize) {
    let whole = blocks.get(..blocks.len() - blocks.len() % BLOCK).unwrap_or_default();
    let ends = |length: usize| {
        let last = whole.len().checked_sub(length).and_then(|start| whole.get(start..));
        last.is_some_and(|last| last.iter().all(|&byte| byte == 0))
    };
    let end = if ends(BLOCK) { BLOCK } else { 0 };
    let end6 = if ends(BLOCK6) { BLOCK6 } else { end };
    let listed = blocks.len().checked_sub(end6).and_then(|listed| blocks.get(..listed));
    match listed {
        Some(listed) if ipv6 && is_ipv6(listed, end6) => (BLOCK6, end6),
        _ => (BLOCK, end),
    }
}

/// Whether these are Xash3D's blocks, before an end of this length: the length fits, and the
/// addresses are valid, or at least not valid as the specification's. Either kind may have an end.
fn is_ipv6(listed: &[u8], end: usize) -> bool {
    let (blocks, rest) = listed.as_chunks::<BLOCK6>();
    if !rest.is_empty() || blocks.is_empty() {
        return rest.is_empty() && end == BLOCK6;
    }
    // Global, local, mapped and loopback addresses; no IPv4 address begins with 0.
    let begins = |first: u8| matches!(first, 0x00 | 0x20..=0x3F | 0xFC..=0xFE);
    let possible6 = |block: &[u8; BLOCK6]| begins(block[0]) && block[16..] != [0, 0];
    let possible = |block: &[u8; BLOCK]| matches!(block[0], 1..224) && block[4..] != [0, 0];
    blocks.iter().all(|block| possible6(block) || *block == [0; BLOCK6])
        || !listed.as_chunks().0.iter().all(|block| possible(block) || *block == [0; BLOCK])
}

/// "The game server sends each master server "q" (71)."
fn join<'a, S: Sink>(r: &mut Reader<'_, S>) -> Result<MessageSummary<'a>, Cut> {
    r.u8(&f::TYPE)?;
    let at = Span::new(r.at(), r.at() + r.rest());
    let (mut server_challenge, mut is_valid) = (None, true);
    match r.peek() {
        [] => rules::join_layout(at, r.sink),
        [0] => {
            r.u8(&f::TERMINATOR)?;
            rules::join_with_zero(at, r.sink);
        }
        [0xFF, _, _, _, _] => {
            r.leaf(&f::DIALECT, 0, f::XASH3D);
            r.u8(&f::SERVER_CHALLENGE_MARK)?;
            server_challenge = Some(r.u32_le(&f::SERVER_CHALLENGE)?.value);
            rules::join_of_xash3d(at, r.sink);
        }
        _ => {
            rules::join_layout(at, r.sink);
            is_valid = false;
        }
    }
    Ok(MessageSummary::Join { server_challenge, is_valid })
}

/// "FF FF FF FF 73 0A followed by a (relatively) unique 4-byte "challenge" number".
fn challenge<'a, S: Sink>(
    r: &mut Reader<'_, S>,
    known: DecodeContext,
) -> Result<MessageSummary<'a>, Cut> {
    r.i32_le(&f::HEADER)?;
    let kind = r.u8(&f::TYPE)?;
    let fed = r.peek().first() == Some(&b'\n');
    if fed || r.rest() % 4 == 1 {
        r.u8(&f::LINE_FEED)?;
    }
    let length = r.rest();
    let at = Span::new(kind.at.start as usize, r.at() + length);
    if length < 4 {
        if length > 0 {
            r.bytes(&f::CHALLENGE_BYTES, length);
        }
        rules::challenge_layout(fed, length, at, r.sink);
        return Ok(MessageSummary::Challenge { value: None });
    }
    let value = r.i32_le(&f::CHALLENGE)?.value.cast_unsigned();
    if fed && length == 8 {
        r.leaf(&f::DIALECT, 0, f::XASH3D);
        let repeated = r.u32_le(&f::SERVER_CHALLENGE)?;
        rules::challenge_of_xash3d(repeated, known.server_challenge, r.sink);
    } else {
        rules::challenge_layout(fed, length, at, r.sink);
    }
    Ok(MessageSummary::Challenge { value: Some(value) })
}

/// "the game server then sends its challenge information".
fn challenge_response<S: Sink>(r: &mut Reader<'_, S>, lost: bool) -> Result<InfoSummary, Cut> {
    r.u8(&f::TYPE)?;
    let before = claim::before_info(r.peek());
    let fed = r.peek().get(..before) == Some(b"\n");
    for _ in 0..before {
        r.u8(&f::LINE_FEED)?;
    }
    // Zeros after the last line feed do not belong to the last value.
    let text = r.peek();
    let zeros = text.iter().rev().take_while(|&&byte| byte == 0).count();
    let closed = text.len().checked_sub(zeros + 1).filter(|&last| text.get(last) == Some(&b'\n'));
    let frame = InfoFrame { fed, closed: closed.is_some(), after: closed.map_or(0, |_| zeros) };
    let end = match closed {
        Some(_) => InfoEnd::Closed,
        None if lost => InfoEnd::Lost,
        None => InfoEnd::Open,
    };
    let mut info = info::read(r, closed.unwrap_or(text.len()), end);
    if closed.is_some() {
        r.u8(&f::LINE_FEED)?;
    }
    if let Some(engine) = info.engine {
        r.leaf(&f::ORDER, 0, engine as u64);
    }
    if info.xash3d {
        r.leaf(&f::DIALECT, 0, f::XASH3D);
    }
    info.is_valid &= frame.is_right();
    rules::info_frame(frame, Span::new(0, r.at() + r.rest()), r.sink);
    Ok(info)
}

/// "to signal that the game server has shut down".
fn quit<'a, S: Sink>(r: &mut Reader<'_, S>) -> Result<MessageSummary<'a>, Cut> {
    r.u8(&f::TYPE)?;
    let at = Span::new(0, r.at() + r.rest());
    let form = match r.peek() {
        [b'\n'] => Some(Engine::GoldSrc),
        [b'\n', 0] => Some(Engine::Source),
        _ => None,
    };
    if let Some(form) = form {
        r.u8(&f::LINE_FEED)?;
        if form == Engine::Source {
            r.u8(&f::TERMINATOR)?;
        }
        r.leaf(&f::FORM, 0, form as u64);
    }
    rules::quit_layout(form.is_some(), at, r.sink);
    Ok(MessageSummary::Quit { form })
}

/// The announcement of Xash3D's masters to a game server behind NAT that a client will connect. It
/// is not in the specification.
fn nat_notice<'a, S: Sink>(r: &mut Reader<'_, S>) -> Result<MessageSummary<'a>, Cut> {
    r.i32_le(&f::HEADER)?;
    r.u8(&f::TYPE)?;
    r.u8(&f::SEPARATOR)?;
    r.text_of(&f::CLIENT, r.rest());
    r.leaf(&f::DIALECT, 0, f::XASH3D);
    Ok(MessageSummary::Other(&m::NAT_NOTICE))
}
