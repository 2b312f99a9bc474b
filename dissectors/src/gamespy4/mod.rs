//! GameSpy query protocol 4, as used by Unreal Tournament 3.
//!
//! The specification is UnrealAdmin's "UT3 query protocol": a client requests a challenge, gets a
//! number as text, and sends it back in binary to get the server's variables, in one packet or
//! several.
//!
//! Other games use variants of the protocol, and some are more common than UT3. Minecraft masks the
//! timestamp, pads its full request with zeros and has a basic one without a tail, which is
//! answered with a plain list; GameSpy's own SDK (QR2) gives the challenge 0, which is then left
//! out; Just Cause 2 Multiplayer has its own format of players. All are decoded, and named in the
//! field `form`. Where the specification is silent - byte 16, players and teams - the SDK's format
//! is used.
//!
//! The SDK's messages between server and master, which also begin with FE FD, do not belong to this
//! protocol. One is identical to a challenge request with the timestamp 0: a message from a
//! master's port is not treated as a request.

mod accepted;
mod asking;
mod claim;
mod conversation;
mod coverage;
mod datagram_kind;
mod decode;
mod diagnosis;
mod fields;
mod habits;
mod join;
mod kept;
mod messages;
mod packet;
mod parts;
mod pending;
mod recent_packets;
mod response;
mod rules;
mod shared;
#[cfg(test)]
mod tests;
mod unfinished;
mod variables;

pub use conversation::Conversation;
pub use shared::SharedState;

use accepted::accepted;
use conversation::{EarlyRequest, ResponseMatch};
use datagram_kind::DatagramKind;
use decode::Header;
use messages as m;
use packet::{PacketKind, RequestForm, RequestSummary, ResponseSummary};
use parts::{fragment_fields, give_up_overdue, part};
use pending::Asked;
use response::DecodeContext;

use crate::kit::{
    Blind, Claim, Context, CrossFlowEvent, Description, Evidence, Group, Hint, Info, Message,
    Outline, Payload, Protocol, Read, Request, ResponseDue, Sink, Time, Treatment,
};

/// GameSpy query protocol 4.
pub struct GameSpy4;

/// The fields that describe a server. UT3 sends its owner's name as `hostname`, and its own under a
/// number; the numbered map name has the game mode's prefix.
static SERVER: Description = Description {
    name: &["properties.p1073741827", "properties.hostname"],
    map: &["properties.p1073741825", "properties.mapname", "properties.map"],
    version: &["properties.EngineVersion", "properties.version", "properties.gamever"],
    players: &["properties.numplayers"],
    max_players: &["properties.maxplayers"],
    game_port: &["properties.hostport"],
    error: &[],
};

impl Protocol for GameSpy4 {
    const GROUP: Group = Group {
        prefix: "GS4",
        about: "GameSpy query protocol 4",
        document: Some("UnrealAdmin Wiki, UT3 query protocol"),
    };
    const INFO: Info = Info {
        id: "gamespy4",
        title: "GameSpy query protocol 4",
        ports: &[6500, 6600, 6700, 6800, 6900, 25565, 29900],
        messages: m::ALL,
        forms: &[],
        rules: rules::ALL,
        idle: Info::STATEFUL,
        masters: None,
        diagnosis: &diagnosis::DIAGNOSIS,
        habits: habits::HABITS,
        coverage: &coverage::COVERAGE,
        asking: asking::ASKING,
        identifies_part: |bytes| bytes.len() >= 16,
        challenge_is_of_port: true,
    };
    type Settings = ();
    type Conversation = Conversation;
    type SharedState = SharedState;

    fn claim(bytes: &[u8], hint: Hint) -> Claim {
        claim::claim(bytes, hint)
    }

    fn expects(shared: &mut SharedState, payload: &Payload<'_>) -> bool {
        claim::asks_whether_up(payload) || shared.expects(payload)
    }

    fn outline(bytes: &[u8]) -> Option<Outline> {
        let number = |bytes: &[u8]| bytes.first_chunk().map(|it| u32::from_be_bytes(*it));
        Some(match *bytes {
            [0xFE, 0xFD, packet::CHALLENGE, ..] => Outline::of(&m::CHALLENGE_REQUEST),
            [0xFE, 0xFD, packet::INFO, _, _, _, _, ref rest @ ..] => {
                // Four bytes after the challenge request players, too.
                let is_costly = rest.len() >= 8;
                Outline { challenge: number(rest), is_costly, ..Outline::of(&m::INFO_REQUEST) }
            }
            [packet::CHALLENGE, _, _, _, _, ref text @ ..] => {
                let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
                let challenge = packet::decimal(text).map(|it| it as u32);
                Outline { challenge, ..Outline::of(&m::CHALLENGE_RESPONSE) }
            }
            [packet::INFO, _, _, _, _, ref rest @ ..] => {
                let number = rest.strip_prefix(b"splitnum\0").and_then(<[u8]>::first);
                let last_part = number.map(|number| number & 0x80 != 0);
                let summary = decode::info_response(bytes, DecodeContext::default(), &mut Blind);
                Outline {
                    last_part,
                    game_port: summary.game_port,
                    ..Outline::of(&m::INFO_RESPONSE)
                }
            }
            _ => return None,
        })
    }

    fn is_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text)
    }

    fn is_word(text: &[u8]) -> bool {
        kept::is_word(text)
    }

    fn part_header(bytes: &[u8]) -> Option<&'static [(usize, Treatment)]> {
        kept::part_header(bytes)
    }

    fn opens(bytes: &[u8]) -> bool {
        matches!(
            bytes,
            [0xFE, 0xFD, packet::CHALLENGE, _, _, _, _]
                | [0xFE, 0xFD, packet::CHALLENGE, _, _, _, _, 0, 0, 0, 0]
        )
    }

    fn message<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S) {
        if cx.conversation.client().is_some_and(|client| client != payload.side) {
            check_early(cx, Some(payload), sink);
        }
        match DatagramKind::of(cx.conversation, payload) {
            DatagramKind::Request => request(cx, payload, sink),
            DatagramKind::Response(PacketKind::Challenge) => {
                rules::response_type(packet::CHALLENGE, payload, cx.flow.evidence(), sink);
                challenge_response(cx, payload, sink);
            }
            DatagramKind::Response(PacketKind::Info) => {
                rules::response_type(packet::INFO, payload, cx.flow.evidence(), sink);
                info_packet(cx, payload, sink);
            }
            DatagramKind::Response(PacketKind::Unknown) if claim::is_words(payload.bytes) => {
                words(cx, payload, sink);
            }
            DatagramKind::Response(PacketKind::Unknown) => unknown(payload, sink),
        }
    }

    fn again<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S) {
        match DatagramKind::of(cx.conversation, payload) {
            DatagramKind::Request => {
                let latest = cx.conversation.given().first().copied();
                let summary = decode::request(payload.bytes, latest, sink);
                sink.end(request_message(summary.kind), payload);
            }
            DatagramKind::Response(PacketKind::Challenge) => {
                decode::challenge_response(payload.bytes, sink);
                sink.end(&m::CHALLENGE_RESPONSE, payload);
            }
            DatagramKind::Response(PacketKind::Info) => info_again(cx.conversation, payload, sink),
            DatagramKind::Response(PacketKind::Unknown) => unknown(payload, sink),
        }
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, Self>, now: Time, end: bool, sink: &mut S) {
        give_up_overdue(cx, now, end, sink);
        if end {
            check_early(cx, None, sink);
            for asked in cx.conversation.take_asked() {
                unanswered(cx, &asked, now, sink);
            }
        }
    }
}

/// A client's request.
fn request<S: Sink>(cx: &mut Context<'_, GameSpy4>, payload: &Payload<'_>, sink: &mut S) {
    let latest = cx.conversation.given().first().copied();
    let summary = decode::request(payload.bytes, latest, sink);
    let RequestSummary { sound, challenge, .. } = summary;
    let is_info = summary.kind == PacketKind::Info;
    if is_info && sound {
        challenge_first(cx, challenge, payload, sink);
    }
    // One whose end is wrong may hold the challenge as text.
    let is_verifiable = is_info && (sound || challenge.is_some());
    let verified = if is_verifiable { verified(cx, challenge, payload, sink) } else { None };
    // Nor is a response due if no challenge was given before.
    let proven = !is_info || verified.is_some();
    let asked = RequestSummary { sound: summary.sound && proven, ..summary };
    if let Some(challenge) = summary.challenge.filter(|_| verified != Some(true))
        && let Some(timestamp) = summary.timestamp
    {
        cx.conversation.claimed(timestamp, challenge.value);
    }
    let (sending, overdue) = cx.conversation.ask(&asked, verified, payload, cx.settings, cx.budget);
    sink.sent(sending);
    if let (PacketKind::Challenge, Some(timestamp)) = (summary.kind, summary.timestamp) {
        cx.shared.asks(timestamp, payload, cx.settings);
    }
    if let Some(overdue) = overdue {
        unanswered(cx, &overdue, payload.time, sink);
    }
    cx.conversation.set_client(payload.side);
    if summary.kind != PacketKind::Unknown {
        sink.asks(request_message(summary.kind).label, payload);
    }
    sink.end(request_message(summary.kind), payload);
}

/// Whether the challenge is correct, if known: it may be an older one than are stored, one that cannot be read, or one that
/// the client has asked for and that the capture lacks.
fn verified<S: Sink>(
    cx: &Context<'_, GameSpy4>,
    summary: Option<Read<i32>>,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<bool> {
    let given = cx.conversation.given();
    let has_more = cx.conversation.was_given_more()
        || cx.conversation.was_given_any() && cx.conversation.waits_for_challenge();
    let is_older = has_more && summary.is_some_and(|summary| !given.contains(&summary.value));
    sink.evidence(Evidence { lost: payload.lost || is_older, ..cx.flow.evidence() });
    let verified = rules::challenge(given, summary, cx.flow.began, sink);
    sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
    // A challenge that was never given is wrong, if the beginning of the conversation was recorded.
    let never_given =
        !cx.conversation.was_given_any() && summary.is_some() && cx.flow.began && !payload.lost;
    verified.filter(|_| !is_older).or(never_given.then_some(false))
}

/// A client requests information before it was given a challenge. That no challenge was given is
/// proven only when a packet from the server shows that its direction was recorded.
fn challenge_first<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    summary: Option<Read<i32>>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let given = cx.conversation.was_given_any();
    if given || !cx.flow.began || payload.lost {
        rules::challenge_first(given, summary, sink);
        return;
    }
    let challenge = summary.map_or(0, |summary| summary.value);
    let early = EarlyRequest { challenge, mark: payload.mark().into() };
    let server_seen = cx.flow.seen[payload.side.other().index()];
    let may_be_given = challenge != 0 && cx.conversation.may_be_challenged_elsewhere();
    if (!server_seen || may_be_given) && cx.conversation.came_early(early) {
        return;
    }
    if may_be_given {
        let evidence = cx.flow.evidence();
        rules::challenge_of_another(summary, challenge, evidence, payload.seen(), sink);
    } else {
        rules::challenge_first(given, summary, sink);
    }
}

/// Checks requests before any challenge, once the server has sent a packet or the flow has ended.
/// If the number in the request is given a moment later, the recording has the two in the wrong
/// order. If data comes to a client that has asked for a challenge, the recording may lack that challenge.
fn check_early<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    spoken: Option<&Payload<'_>>,
    sink: &mut S,
) {
    let early = cx.conversation.take_early();
    let is_asked = cx.conversation.may_be_challenged_elsewhere();
    let first = spoken.and_then(|payload| payload.bytes.first());
    let (is_challenge, is_data) = (first == Some(&packet::CHALLENGE), first == Some(&packet::INFO));
    let spoken = spoken.filter(|_| !early.is_empty()).map(|payload| {
        let summary = is_challenge.then(|| decode::challenge_response(payload.bytes, &mut Blind));
        (summary.and_then(|summary| summary.challenge), payload.time)
    });
    for EarlyRequest { challenge, mark } in early {
        let mark = mark.get();
        let given = spoken.is_some_and(|(given, time)| {
            given == Some(challenge) && time.since(mark.time) <= Time::MOMENT
        });
        let evidence = cx.flow.evidence();
        if is_asked && !is_challenge && challenge != 0 {
            let evidence = Evidence { began: evidence.began && !is_data, ..evidence };
            rules::challenge_of_another(None, challenge, evidence, cx.flow.seen_in(mark), sink);
        } else if spoken.is_none() && challenge == 0 {
            let evidence = Evidence { began: false, ..evidence };
            rules::never_challenged(evidence, cx.flow.seen_in(mark), sink);
        } else {
            rules::challenge_came_later(given, evidence, &mark, sink);
        }
    }
}

fn request_message(kind: PacketKind) -> &'static Message {
    match kind {
        PacketKind::Challenge => &m::CHALLENGE_REQUEST,
        PacketKind::Info => &m::INFO_REQUEST,
        PacketKind::Unknown => &m::UNKNOWN,
    }
}

/// A server gives a challenge.
fn challenge_response<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    cx.conversation.set_client(payload.side.other());
    cx.shared.is_answered(payload);
    let summary = decode::challenge_response(payload.bytes, sink);
    if answers(cx, PacketKind::Challenge, None, &summary, payload, sink) {
        cx.conversation.done_challenge(payload.bytes);
    }
    if summary.challenge.is_none() {
        cx.conversation.give_unreadable();
    }
    if let Some(challenge) = summary.challenge {
        cx.conversation.give(challenge);
        // The GameSpy SDK always gives 0.
        if challenge != 0 {
            sink.cross_flow(CrossFlowEvent::Challenged(challenge as u32), payload.seen());
        }
    }
    sink.end(&m::CHALLENGE_RESPONSE, payload);
}

/// A packet of a response with variables.
fn info_packet<S: Sink>(cx: &mut Context<'_, GameSpy4>, payload: &Payload<'_>, sink: &mut S) {
    let header = Header::of(payload.bytes);
    let form = header.and_then(|header| cx.conversation.form(header.timestamp));
    match header {
        Some(header) if form != Some(RequestForm::JustCause) && !is_alone(cx, header) => {
            cx.conversation.set_client(payload.side.other());
            part(cx, header, payload, sink);
        }
        None if !is_response(cx.conversation, payload.bytes) => {
            unknown(payload, sink);
        }
        _ => {
            cx.conversation.set_client(payload.side.other());
            let asked = whole(cx, payload, None, sink);
            if let Some(timestamp) = payload.bytes.get(1..).and_then(<[u8]>::first_chunk)
                && (asked || !cx.conversation.is_copy(payload.bytes))
            {
                let packets = std::iter::once(payload.bytes);
                cx.conversation.done(u32::from_be_bytes(*timestamp), asked, packets);
            }
        }
    }
}

/// Whether a packet without a header is a response: only a pending request distinguishes it from other traffic or, where
/// requests were not recorded, the challenge before it.
fn is_response(conversation: &Conversation, bytes: &[u8]) -> bool {
    let is_expected = conversation.waits_for_info() || conversation.is_copy(bytes);
    is_expected || conversation.was_given_any() && decode::is_basic_response(bytes)
}

/// A duplicate packet of a response.
fn info_again<S: Sink>(conversation: &mut Conversation, payload: &Payload<'_>, sink: &mut S) {
    let header = Header::of(payload.bytes);
    let form = header.and_then(|header| conversation.form(header.timestamp));
    match header {
        None if !is_response(conversation, payload.bytes) => unknown(payload, sink),
        Some(header)
            if form != Some(RequestForm::JustCause) && !(header.index == 0 && header.last) =>
        {
            fragment_fields(payload, sink);
            sink.end(&m::INFO_FRAGMENT, payload);
        }
        _ => {
            let known = DecodeContext { form, checks: true, ..DecodeContext::default() };
            decode::info_response(payload.bytes, known, sink);
            sink.end(&m::INFO_RESPONSE, payload);
        }
    }
}

/// Whether a packet is a whole response: it is the first and the last one, and there are no others.
fn is_alone(cx: &mut Context<'_, GameSpy4>, header: Header) -> bool {
    header.index == 0 && header.last && !cx.conversation.is_open(header.timestamp)
}

/// Reports a whole response, in one packet or joined; `timestamp` is common to its packets. Returns
/// whether there was a request.
fn whole<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    payload: &Payload<'_>,
    joined_by: Option<u32>,
    sink: &mut S,
) -> bool {
    let header = Header::of(payload.bytes);
    let summary = payload.bytes.get(1..).and_then(<[u8]>::first_chunk);
    let timestamp = joined_by.or(summary.map(|bytes| u32::from_be_bytes(*bytes)));
    let form = timestamp.and_then(|timestamp| cx.conversation.form(timestamp));
    let known = DecodeContext { form, checks: true, is_joined: payload.has_parts() };
    let summary = decode::info_response(payload.bytes, known, sink);
    if header.is_some() && form != Some(RequestForm::JustCause) {
        rules::packets_whole(sink);
    }
    if !summary.other_game && cx.conversation.checks_port() {
        rules::query_port(payload.from.port(), sink);
    }
    sink.announces(summary.game_port, payload);
    let asked = answers(cx, PacketKind::Info, joined_by, &summary, payload, sink);
    sink.end(&m::INFO_RESPONSE, payload);
    asked
}

/// Reports the request that a response answers. Returns whether there is one.
fn answers<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    kind: PacketKind,
    joined_by: Option<u32>,
    summary: &ResponseSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) -> bool {
    let Some(timestamp) = summary.timestamp else { return false };
    let repeated = joined_by.unwrap_or(timestamp.value);
    let asked = match cx.conversation.answer(kind, repeated, payload.bytes) {
        ResponseMatch::Asked(asked) => asked,
        other => {
            unasked(cx, &other, kind, timestamp.value, summary, payload, sink);
            return false;
        }
    };
    sink.answers(cx.conversation.reply_to(&asked));
    rules::asked_for(true, "", sink);
    // For a packet with a different timestamp that is reported already.
    if repeated == timestamp.value {
        rules::timestamp_echo(asked.what.timestamp(), timestamp, sink);
    }
    rules::answered(&asked.mark, sink);
    // Another challenge than 0 may have been given before the capture began.
    let is_zero = || cx.conversation.claim_of(asked.what.timestamp()) == Some(0);
    let has_challenge =
        asked.what.form.has_challenge() && (asked.what.verified == Some(true) || !is_zero());
    if kind == PacketKind::Info && !has_challenge {
        sink.reflects(kind_name(kind), asked.mark.length, payload);
    }
    match asked.what.verified {
        Some(true) => {
            rules::right_challenge_answered(sink);
            sink.serves([asked.mark.time, asked.began], payload);
        }
        _ if kind == PacketKind::Info => accepted(cx, &asked, payload, sink),
        _ => {}
    }
    true
}

/// A response of this kind and with this timestamp is to no request that waits.
fn unasked<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    why: &ResponseMatch,
    kind: PacketKind,
    timestamp: u32,
    summary: &ResponseSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let what = kind_name(kind);
    match why {
        ResponseMatch::Asked(_) => {}
        ResponseMatch::Copy if kind == PacketKind::Info => {
            rules::packet_copy(Header::of(payload.bytes).map(|header| header.index), sink);
        }
        ResponseMatch::Copy => rules::challenge_copy(sink),
        ResponseMatch::GivenUp => {
            if kind == PacketKind::Challenge {
                cx.conversation.done_challenge(payload.bytes);
            }
            sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
            rules::asked_for(false, what, sink);
        }
        ResponseMatch::Nothing if !cx.flow.seen[payload.side.other().index()] => {
            let evidence = Evidence { lost: payload.lost, ..cx.flow.evidence() };
            let challenge = summary.challenge.filter(|_| kind == PacketKind::Challenge);
            let response =
                rules::UnaskedResponse { name: what, kind: kind as u8, timestamp, challenge };
            rules::asked_of_another(response, evidence, payload.seen(), sink);
        }
        // One with another timestamp than those before is no copy, however soon it comes.
        ResponseMatch::Nothing if cx.conversation.is_of_another_request(kind, timestamp) => {
            sink.cross_flow(CrossFlowEvent::RequestMissing, payload.seen());
            rules::asked_for(false, what, sink);
        }
        ResponseMatch::Nothing => {
            cx.flow.response_alone(payload, sink);
            rules::asked_for(false, what, sink);
        }
    }
}

const fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Info => "info",
        _ => "challenge",
    }
}

/// A request that is no longer pending.
fn unanswered<S: Sink>(
    cx: &Context<'_, GameSpy4>,
    asked: &Request<Asked>,
    now: Time,
    sink: &mut S,
) {
    if !asked.is_open() {
        return;
    }
    let evidence = cx.flow.missing(asked, cx.settings.clock(now));
    rules::answered_by_another(
        request_message(asked.what.kind).name,
        asked,
        evidence,
        cx.flow,
        sink,
    );
    let refused = evidence.waited && evidence.asked_party_seen;
    if asked.due == ResponseDue::No && asked.what.verified == Some(false) && refused {
        rules::wrong_challenge_refused(&asked.mark, sink);
    }
}

/// Words in place of a response to the request that waits.
fn words<S: Sink>(cx: &mut Context<'_, GameSpy4>, payload: &Payload<'_>, sink: &mut S) {
    let clock = cx.settings.clock(payload.time);
    let asked = cx.conversation.answered_somehow(payload.side, clock);
    if let Some(asked) = asked.and_then(PacketKind::byte) {
        rules::response_type(asked, payload, cx.flow.evidence(), sink);
    }
    unknown(payload, sink);
}

/// A datagram that is not a message of the specification.
fn unknown<S: Sink>(payload: &Payload<'_>, sink: &mut S) {
    decode::unknown(payload.bytes, sink);
    sink.end(&m::UNKNOWN, payload);
}
