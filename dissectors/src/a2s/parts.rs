//! The split responses of one flow: collects packets, and reports whole responses and the fragments
//! of incomplete ones.

use super::kinds::ResponseKind;
use super::layout::{self, Layout, Reason, SINGLE};
use super::pending::{Asked, Notes};
use super::recent_responses::RepeatedPacket;
use super::split::{
    self, AddResult, HeaderPlace, JoinedResponse, Repeat, SplitProperties, SplitResponse,
};
use super::state::Known;
use super::{A2s, claim, decode, exchange, messages as m, rules};
use crate::kit::inflate::{Inflated, inflate};
use crate::kit::{
    self, Context, CrossFlowEvent, Evidence, Message, Name, PartSpan, Payload, Request, Role, Sink,
    Span, Time,
};

/// A split packet.
pub(super) fn message<S: Sink>(
    cx: &mut Context<'_, A2s>,
    payload: &Payload<'_>,
    toward_server: bool,
    sink: &mut S,
) {
    let (side, now) = (payload.side, payload.time);
    let is_attack = toward_server && is_no_response(cx, payload) && !is_of_game(cx, payload);
    let id = match layout::id(payload.bytes) {
        Some(id) if !is_attack => id,
        _ => {
            if is_attack {
                rules::split_toward_server(Span::new(0, 4), sink);
                sink.other_packet(payload);
            }
            single_packet(cx, payload, one_way(is_attack), sink);
            return;
        }
    };
    give_up_due(cx, now, false, sink);
    sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
    let set = match cx.conversation.split().take(side, layout::plain(id)) {
        Some(set) => set,
        None => {
            if let Some((layout, repeat)) = late(cx, payload, id) {
                rules::split_repeat(repeat, layout.number(), sink);
                fragment(payload, layout, &m::SPLIT_FRAGMENT, sink);
                return;
            }
            let most = cx.settings.limits.unfinished;
            if let Some(oldest) = cx.conversation.split().take_beyond(most, cx.budget) {
                evict_oldest(cx, oldest, payload, sink);
            }
            let is_asked = cx.conversation.is_followed(side, cx.flow.began);
            let mut set = cx.shared.spare.set(side, id, is_asked);
            set.more.has_request = cx.conversation.was_asked(side);
            set.more.is_due = cx.conversation.requests.is_due(side, cx.settings.clock(now));
            set
        }
    };
    add(cx, set, payload, sink);
}

/// Whether a packet toward a server is not part of a response. If only the ports show which end is
/// the server, it may be one: a server may send from any port to a client on a usual port.
fn is_no_response(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    !cx.conversation.is_guessed()
        || split::carries_request(payload.bytes)
        || split::carries_nothing(payload.bytes)
        || cx.shared.is_served(payload)
}

/// Whether a packet toward a server is one of the game: of a player who asked for nothing on this flow. One that no engine
/// sends is not.
fn is_of_game(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    cx.conversation.has(Known::BOTH_PLAY)
        && cx.conversation.is_guessed()
        && claim::is_of_engine(payload.bytes)
}

/// Whether packets of the game go both ways, and these were sent although nothing was asked: the engine splits its own
/// large packets alike.
fn are_of_game(cx: &Context<'_, A2s>, set: &SplitResponse) -> bool {
    cx.conversation.has(Known::BOTH_PLAY) && !set.more.is_due && set.each().all(claim::is_of_engine)
}

const fn one_way(is_attack: bool) -> &'static Message {
    if is_attack { &m::SPLIT_TOWARD_SERVER } else { &m::SPLIT_FRAGMENT }
}

/// Decodes a duplicate packet, only to show it.
pub(super) fn again<S: Sink>(
    cx: &Context<'_, A2s>,
    payload: &Payload<'_>,
    toward_server: bool,
    sink: &mut S,
) {
    if is_of_game(cx, payload) {
        return;
    }
    let is_attack = toward_server && is_no_response(cx, payload);
    let layout = split::likeliest_alone(payload.bytes, cx.conversation.layout);
    fragment(payload, layout, one_way(is_attack), sink);
}

/// Adds a packet to its response, and reports the result.
fn add<S: Sink>(
    cx: &mut Context<'_, A2s>,
    mut set: Box<SplitResponse>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let (timeout, most) = (cx.settings.answer_timeout, cx.settings.limits.parts_bytes);
    match set.add(payload, timeout, most, cx.budget) {
        AddResult::Full => {
            evict_oldest(cx, set, payload, sink);
            single_packet(cx, payload, &m::SPLIT_FRAGMENT, sink);
        }
        AddResult::Copy => cx.conversation.split().push(set),
        AddResult::Kept => match set.whole(cx.conversation.layout) {
            Some((layout, _)) if !set.is_readable(layout) && are_of_game(cx, &set) => {
                cx.shared.spare.release(set, cx.budget);
            }
            // Whether who gets it plays, what follows may show.
            Some((layout, _))
                if !set.is_readable(layout) && !cx.conversation.was_asked(set.side) =>
            {
                cx.conversation.split().push(set);
            }
            Some((layout, reason)) => whole(cx, set, layout, reason, payload, sink),
            None => {
                if !set.asked && !are_of_game(cx, &set) {
                    sink.cross_flow(CrossFlowEvent::StrayPart(set.id), payload.seen());
                }
                cx.conversation.split().push(set);
            }
        },
    }
}

/// A response is evicted to make room, before the current packet is reported.
fn evict_oldest<S: Sink>(
    cx: &mut Context<'_, A2s>,
    set: Box<SplitResponse>,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    cx.conversation.spills(payload.time);
    give_up(cx, set, payload.time, sink);
    sink.evidence(Evidence { lost: payload.lost, ..cx.flow.evidence() });
}

/// A packet with the ID of a response that is complete already: its layout, and whether it is a
/// copy. If another response is pending, a reused ID begins that one. A copy begins a new response
/// only if it fits the pending request, and that request was sent after the first response; a
/// request that was waiting then may have got this copy, and no other response is due.
fn late(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, id: u32) -> Option<(Layout, Repeat)> {
    let RepeatedPacket { layout, repeat, kind } =
        cx.conversation.done()?.repeated(payload.side, id, payload.bytes, payload.lost)?;
    let side = payload.side;
    let guarded = cx.conversation.has(Known::GUARDED);
    let fits = |asked: &Request<Asked>| {
        asked.what.fits(ResponseKind::of(kind), guarded).filter(|&fit| fit == 0)
    };
    let is_copy = repeat == Repeat::Same;
    let begins = |asked: &Request<Asked>| {
        !is_copy || fits(asked).is_some() && !asked.what.has(Notes::PASSED_OVER)
    };
    if cx.conversation.awaits(side, begins) {
        return None;
    }
    if is_copy {
        cx.conversation.requests.answered_perhaps(fits, side, cx.settings.clock(payload.time));
    }
    Some((layout, repeat))
}

/// The packets form a whole response.
fn whole<S: Sink>(
    cx: &mut Context<'_, A2s>,
    set: Box<SplitResponse>,
    layout: Layout,
    reason: Reason,
    last: &Payload<'_>,
    sink: &mut S,
) {
    let (shape, joined) = (set.shape(layout), set.join(layout, cx.shared.spare.joined()));
    // Which packets came, and in which order, stands in their headers, wherever the recording cut them.
    sink.evidence(cx.flow.evidence());
    rules::split_complete(sink);
    if shape.total > 1 {
        rules::split_order(joined.in_order, sink);
    }
    if set.is_lost() {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
    }
    for part in set.parts() {
        let evidence = Evidence { lost: part.lost, ..cx.flow.evidence() };
        rules::part_size(evidence, &set.payload(cx.flow, part, &[]).mark(), sink);
    }
    check_packets(&shape, None, sink);
    check_whole(&shape, &joined, sink);
    // What the layout was recognized by was recorded.
    if matches!(reason, Reason::Header | Reason::Bzip2) {
        sink.evidence(cx.flow.evidence());
    }
    let before = cx.conversation.split_in(layout);
    if let Some(before) = before {
        rules::split_layout(layout, before, sink);
    } else {
        sink.cross_flow(CrossFlowEvent::Split(Name(layout.name()), &rules::A2S053), last.seen());
    }
    if set.is_lost() {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
    }
    let used = cx.conversation.done().is_some_and(|done| done.has(set.side, joined.id));
    rules::split_id_unique(!used, joined.id, sink);

    let sent = set.parts().iter().map(PartSpan::sent).sum();
    let payload = Payload { lost: set.is_lost(), ..last.joined(&joined.buffer, sent) };
    let kind = emit(cx, &shape, &joined, reason, payload, sink);
    cx.conversation.remember(&set, joined.id, layout, kind);
    cx.shared.spare.release(set, cx.budget);
    cx.shared.spare.done(joined);
}

/// Decodes a whole response, after decompression if needed. Returns its message byte.
fn emit<S: Sink>(
    cx: &mut Context<'_, A2s>,
    shape: &SplitProperties,
    joined: &JoinedResponse,
    reason: Reason,
    payload: Payload<'_>,
    sink: &mut S,
) -> u8 {
    decode::split_group(joined, shape, reason, sink);
    let known =
        decode::DecodeContext { lost: payload.lost, ..cx.conversation.decoding(true, false) };
    let bytes = payload.bytes;
    let stray = joined.compressed && joined.announced.is_none() && bytes.starts_with(&SINGLE);
    if !joined.compressed || stray {
        if stray {
            rules::bzip2_decodes(Some("the bytes are not compressed"), Span::new(0, 4), sink);
        }
        let known = decode::DecodeContext { gap: joined.gap, ..known };
        let summary = decode::message(bytes, known, sink);
        exchange::message(cx, &summary, &payload, sink);
        sink.end(summary.message, &payload);
        return summary.kind;
    }
    let limits = &cx.settings.limits;
    let (most, limit) = cx.budget.inflatable(bytes.len(), payload.time, limits);
    let inflated = (most > 0).then(|| inflate(bytes, most));
    // Damaged data took the same work.
    let taken = inflated.as_ref().map_or(0, |it| it.as_ref().map_or(most, |it| it.bytes.len()));
    cx.budget.inflated(bytes.len(), taken, limits);
    let met = |cx: &mut Context<'_, A2s>, sink: &mut S| {
        // The bytes after the limit were not read, which is not the server's fault.
        cx.budget.meet(limit);
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
    };
    let inflated = match inflated {
        Some(Ok(inflated)) => inflated,
        unread => {
            match unread {
                Some(Err(_)) if payload.lost => rules::bzip2_lost(payload.whole(), sink),
                Some(Err(why)) => rules::bzip2_decodes(Some(why), payload.whole(), sink),
                _ => met(cx, sink),
            }
            let summary = decode::compressed(bytes, sink);
            let list = exchange::unread(cx, &payload, sink);
            let (kind, message) = list.unwrap_or((summary.kind, summary.message));
            sink.end(message, &payload);
            return kind;
        }
    };
    let Inflated { bytes, more, after } = &*inflated;
    rules::bzip2_decodes(None, Span::default(), sink);
    if *more {
        met(cx, sink);
    }
    check_inflated(joined, bytes, *more, *after, sink);
    let lost = payload.lost || *more;
    let payload = Payload { bytes, inflated: true, lost, ..payload };
    let summary = decode::message(bytes, known, sink);
    exchange::message(cx, &summary, &payload, sink);
    sink.end(summary.message, &payload);
    summary.kind
}

/// Checks the size and the checksum. If the size is wrong, the following bytes may be the rest.
fn check_inflated<S: Sink>(
    joined: &JoinedResponse,
    inflated: &[u8],
    more: bool,
    after: usize,
    sink: &mut S,
) {
    let Some((size, sum)) = joined.announced else {
        rules::bzip2_size_missing(sink);
        return;
    };
    rules::bzip2_size(size, inflated.len(), more, sink);
    if more {
        return;
    }
    rules::bzip2_crc32(sum, crc32fast::hash(inflated), Span::new(0, inflated.len()), sink);
    if inflated.len() as u64 == u64::from(size) {
        rules::after_bzip2(after, sink);
    }
}

/// Checks the packets' headers of complete and incomplete responses. `part`: the current packet of
/// an incomplete response. Only its own faults are reported, and rules that pass only for the first
/// packet; `None` for a whole response.
fn check_packets<S: Sink>(shape: &SplitProperties, part: Option<usize>, sink: &mut S) {
    let here = |place: HeaderPlace| match part {
        Some(part) => (part == place.part).then_some(place.at),
        None => Some(Span::default()),
    };
    if let Some(at) = here(HeaderPlace { part: 0, at: layout::TOTAL }) {
        rules::split_total(shape.layout, shape.total, at, sink);
    }
    let (differs, place) = shape.differs.unzip();
    if let Some(at) = here(place.unwrap_or_default()) {
        rules::split_consistent(differs, at, sink);
    }
    let (beyond, place) = shape.beyond.unzip();
    if let Some(at) =
        here(place.unwrap_or_default()).filter(|_| beyond.is_some() || shape.total > 0)
    {
        rules::split_number(beyond, at, sink);
    }
    let (repeat, place) = shape.repeat;
    if let Some(at) = here(place) {
        rules::split_repeat(repeat, at, sink);
    }
}

fn check_whole<S: Sink>(shape: &SplitProperties, joined: &JoinedResponse, sink: &mut S) {
    if shape.differs.is_none() {
        if let Some(size) = shape.size {
            rules::split_size_limit(size, sink);
        }
        rules::split_size(shape.size, joined.longest, joined.uneven, sink);
    }
    let fits = match (shape.layout, shape.size) {
        (Layout::GoldSrc, _) => layout::PACKET_SIZE,
        // A larger Size is none of a packet.
        (_, Some(size)) => layout::PACKET_SIZE.min(size.into()),
        (_, None) => 1248,
    };
    rules::split_needless(joined.buffer.bytes.len(), fits, sink);
}

/// The rest of a response did not arrive: each of its packets becomes a message.
fn give_up<S: Sink>(cx: &mut Context<'_, A2s>, set: Box<SplitResponse>, now: Time, sink: &mut S) {
    if are_of_game(cx, &set) {
        return cx.shared.spare.release(set, cx.budget);
    }
    let whole_in = set.whole(cx.conversation.layout).filter(|&(layout, _)| {
        // Junk may look like the only packet of a response.
        set.is_readable(layout) || direction(cx, &set).speaker == Role::Server
    });
    if let (Some((layout, reason)), Some(&PartSpan { frame, time, lost, unlisted, .. })) =
        (whole_in, set.parts().last())
    {
        let last = Payload { frame, time, lost, unlisted, ..cx.flow.payload(set.side, &[], &[]) };
        return whole(cx, set, layout, reason, &last, sink);
    }
    let layout = set.likeliest(cx.conversation.layout);
    let timeout = cx.settings.answer_timeout;
    // Evicted packets may have belonged to this response.
    let spilled = cx.conversation.spilled();
    let spilled = spilled.is_some_and(|when| set.more.last.since(when) < timeout);
    // Which packets came stands in their headers, wherever the recording cut them.
    let evidence = Evidence {
        lost: spilled,
        asked_party_seen: set.asked,
        waited: now.since(set.more.last) >= timeout,
        ..cx.flow.evidence()
    };
    sink.evidence(Evidence { lost: set.is_lost() || spilled, ..evidence });
    if evidence.waited {
        cx.conversation.known |= Known::OUTLASTED;
    }
    let message = direction(cx, &set);
    judge_direction(cx, &set, message, sink);
    let shape = if message.speaker == Role::Client {
        None
    } else {
        check_rest(cx, &set, layout, evidence, sink)
    };
    for (at, part) in set.parts().iter().enumerate() {
        if let Some(shape) = &shape {
            check_packets(shape, Some(at), sink);
        }
        let pieces = set.buffer.pieces_of(part);
        fragment(&set.payload(cx.flow, part, &pieces), layout, message, sink);
    }
    cx.shared.spare.release(set, cx.budget);
}

/// Checks the packets of an incomplete response together. Other checks apply to each packet unless
/// it is a copy.
fn check_rest<S: Sink>(
    cx: &mut Context<'_, A2s>,
    set: &SplitResponse,
    layout: Layout,
    evidence: Evidence,
    sink: &mut S,
) -> Option<SplitProperties> {
    if cx.conversation.done().is_some_and(|done| done.repeats(set)) {
        rules::split_repeat(Repeat::Same, Span::default(), sink);
        return None;
    }
    let first = set.parts().first()?;
    cx.conversation.answered_somehow(set.side, cx.settings.clock(first.time));
    let shape = set.shape(layout);
    match shape.missing {
        _ if !shape.shows_missing() => {}
        None => rules::split_complete(sink),
        Some(missing) => {
            let parts = kit::PartsFound {
                found: shape.count,
                total: shape.total.into(),
                missing: missing.into(),
                highest: 0,
                has_request: set.more.has_request,
                says: rules::PARTS_MISSING,
            };
            let incomplete = kit::IncompleteResponse {
                rules: &rules::PARTS_FROM,
                id: set.id,
                parts,
                is_asked: set.asked,
                first: set.payload(cx.flow, first, &[]).seen(),
                evidence,
            };
            incomplete.report(cx.settings.answer_timeout, sink);
        }
    }
    Some(shape)
}

/// The direction of packets of an incomplete response, with what is known since. Toward a server
/// they are an attack; between two ports of servers, they may be.
fn direction(cx: &Context<'_, A2s>, set: &SplitResponse) -> &'static Message {
    let Some(first) = set.parts().first().map(|part| set.payload(cx.flow, part, &[])) else {
        return &m::SPLIT_FRAGMENT;
    };
    if cx.conversation.is_toward_server(&first) {
        &m::SPLIT_TOWARD_SERVER
    } else if cx.conversation.is_guessed() && super::is_usual(first.to.port()) {
        &m::SPLIT_EITHER_WAY
    } else {
        &m::SPLIT_FRAGMENT
    }
}

/// Reports packets that travel toward a server, or may.
fn judge_direction<S: Sink>(
    cx: &Context<'_, A2s>,
    set: &SplitResponse,
    message: &'static Message,
    sink: &mut S,
) {
    let Some(first) = set.parts().first().map(|part| set.payload(cx.flow, part, &[])) else {
        return;
    };
    match message.speaker {
        Role::Client => {
            let evidence = Evidence { lost: first.lost, ..cx.flow.evidence() };
            rules::was_toward_server(evidence, &first.mark(), sink);
            sink.other_packet(&first);
        }
        Role::Any => {
            let evidence = Evidence { lost: true, ..Evidence::default() };
            rules::was_toward_server(evidence, &first.mark(), sink);
        }
        _ => {}
    }
}

/// A packet whose other parts are not expected.
fn single_packet<S: Sink>(
    cx: &mut Context<'_, A2s>,
    payload: &Payload<'_>,
    message: &'static Message,
    sink: &mut S,
) {
    let layout = split::likeliest_alone(payload.bytes, cx.conversation.layout);
    fragment(payload, layout, message, sink);
}

fn fragment<S: Sink>(
    payload: &Payload<'_>,
    layout: Layout,
    message: &'static Message,
    sink: &mut S,
) {
    let is_attack = message.speaker == Role::Client;
    decode::fragment(payload.bytes, layout, is_attack, sink);
    rules::packet_size(payload.bytes.len(), sink);
    sink.end(message, payload);
}

/// Removes responses that have waited too long, or with `end` all.
pub(super) fn give_up_due<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    while cx.conversation.split_so_far().is_some_and(|split| !split.is_empty())
        && let Some(set) = cx.conversation.split().take_overdue(now, end)
    {
        give_up(cx, set, now, sink);
    }
}
