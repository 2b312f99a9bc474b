//! Responses in several packets: adds packets, and reports whole responses and the packets of
//! incomplete ones.

use super::decode::{self, Header};
use super::response::DecodeContext;
use super::unfinished::{IncompleteResponses, PacketsByResponse, PartResult};
use super::{GameSpy4, join, messages as m, rules, whole};

use crate::kit::{Context, CrossFlowEvent, Evidence, IncompleteResponse, Payload, Sink, Time};

/// A packet of a response in several.
pub(super) fn part<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    header: Header,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    give_up_overdue(cx, payload.time, false, sink);
    let evidence = Evidence { lost: payload.lost, ..cx.flow.evidence() };
    sink.evidence(evidence);
    let header = match cx.conversation.stray(header, payload).filter(|_| cx.flow.began) {
        Some(timestamp) => {
            let mark = payload.mark();
            rules::packet_timestamp(timestamp, header.timestamp, evidence, &mark, sink);
            Header { timestamp, ..header }
        }
        None => header,
    };
    let (limits, timeout) = (&cx.settings.limits, cx.settings.answer_timeout);
    let mark = payload.mark();
    match cx.conversation.part(header, payload, limits, timeout, cx.budget) {
        PartResult::Kept => {
            if !cx.flow.seen[payload.side.other().index()] {
                let stray = CrossFlowEvent::StrayPart(rules::masked(header.timestamp));
                sink.cross_flow(stray, payload.seen());
            }
        }
        PartResult::Whole(open) => take_apart(cx, open, payload.time, sink),
        PartResult::Copy => {
            fragment_fields(payload, sink);
            rules::packet_copy(Some(header.index), sink);
            sink.end(&m::INFO_FRAGMENT, payload);
        }
        PartResult::Repeated => {
            let open = take_open(cx, payload, header);
            let evidence = contradiction(cx, open.as_deref(), payload.lost);
            rules::packet_repeated(header.index, evidence, &mark, sink);
            contradictory(cx, open, header.timestamp, payload, sink);
        }
        PartResult::LastMisplaced { highest, last } => {
            let open = take_open(cx, payload, header);
            let evidence = contradiction(cx, open.as_deref(), payload.lost);
            rules::last_bit_misplaced(highest, last, evidence, &mark, sink);
            contradictory(cx, open, header.timestamp, payload, sink);
        }
        PartResult::Full => {
            let open = take_open(cx, payload, header);
            contradictory(cx, open, header.timestamp, payload, sink);
        }
    }
}

/// Packets that contradict each other are reported without waiting. But if the beginning or the
/// request is not in the capture, the number of responses is unknown.
fn contradiction(
    cx: &Context<'_, GameSpy4>,
    open: Option<&IncompleteResponses>,
    lost: bool,
) -> Evidence {
    let asked = open.map_or_else(|| cx.conversation.done_was_asked(), |open| open.asked);
    let counted = asked && cx.flow.began;
    Evidence { lost, waited: true, asked_party_seen: counted, ..Evidence::default() }
}

/// Reports each whole response among packets as one message, and the others as fragments or copies.
fn take_apart<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    open: Box<IncompleteResponses>,
    now: Time,
    sink: &mut S,
) {
    let parts = open.divide();
    leftovers(cx, &open, &parts, now, sink);
    let mixed = parts.responses.len() + parts.left.len() > 1 && open.is_mixed();
    for response in &parts.responses {
        let packets = response.iter().map(|&at| (open.bytes(at), open.pieces(at)));
        let joined = join::join(packets);
        let latest = response.iter().max().copied().unwrap_or_default();
        let Some(latest) = open.part(latest) else { continue };
        let lost = response.iter().any(|&at| open.part(at).is_some_and(|part| part.lost));
        let sent = response.iter().filter_map(|&at| Some(open.part(at)?.sent())).sum();
        let payload = open.payload(cx.flow, latest, &[]);
        let payload = Payload { lost, ..payload.joined(&joined, sent) };
        // Packets may be inconsistent because they belong to several responses.
        sink.evidence(Evidence { lost: lost || mixed, ..cx.flow.evidence() });
        let asked = whole(cx, &payload, Some(open.id), sink);
        cx.conversation.done(open.id, asked, response.iter().map(|&at| open.bytes(at)));
    }
    open.release(cx.budget);
}

/// Packets of incomplete responses, and copies.
fn leftovers<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    open: &IncompleteResponses,
    parts: &PacketsByResponse,
    now: Time,
    sink: &mut S,
) {
    let answered = cx.conversation.is_answered(open.id);
    let copied = |at: usize| {
        // The response to a new request may begin like the previous one.
        let of_another = answered != Some(false) && cx.conversation.is_copy(open.bytes(at));
        of_another || open.is_copy(at, &parts.left)
    };
    let copies: Vec<bool> = parts.left.iter().map(|&at| copied(at)).collect();
    let left = || parts.left.iter().zip(&copies);
    let missed: Vec<usize> = left().filter(|(_, copy)| !**copy).map(|(&at, _)| at).collect();
    if let Some(mark) = missed.first().and_then(|&first| open.mark(first)) {
        let evidence = cx.flow.unanswered(open.side, mark.time, now, cx.settings.answer_timeout);
        // As for a request that was repeated and answered once.
        let answered = !parts.responses.is_empty() || answered == Some(true);
        // Which packets came stands in their headers, wherever the recording cut them.
        let evidence = Evidence {
            asked_party_seen: open.asked,
            waited: evidence.waited && !answered,
            lossy: cx.flow.lossy,
            ..evidence
        };
        let have = missed.iter().fold(0, |have, &at| have | 1 << open.index(at));
        let last = missed.iter().find(|&&at| open.ends(at)).map(|&at| open.index(at));
        // One packet alone may be all there is; several without a last one lack it.
        let is_ended = match missed[..] {
            [only] if open.part(only).is_some_and(|part| part.lost) => None,
            [only] => Some(open.bytes(only).ends_with(b"\0\0")),
            _ => Some(false),
        };
        let (rules_of, found) = rules::packets_found(have, last, is_ended, open.asked);
        let is_unknown = last.is_none() && is_ended.is_none();
        let evidence = Evidence { lost: evidence.lost || is_unknown, ..evidence };
        sink.evidence(evidence);
        let incomplete = IncompleteResponse {
            rules: rules_of,
            id: rules::masked(open.id),
            parts: found,
            is_asked: open.asked,
            first: cx.flow.seen_in(mark),
            evidence,
        };
        incomplete.report(cx.settings.answer_timeout, sink);
        if parts.responses.is_empty() {
            cx.conversation.settle(open.id);
        }
    }
    for (&at, &copy) in left() {
        fragment(cx, open, at, copy, sink);
    }
}

/// A response whose packets contradict each other, which has been reported.
fn contradictory<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    open: Option<Box<IncompleteResponses>>,
    timestamp: u32,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    if let Some(open) = open {
        (0..open.count()).for_each(|at| fragment(cx, &open, at, false, sink));
        open.release(cx.budget);
    }
    fragment_fields(payload, sink);
    sink.end(&m::INFO_FRAGMENT, payload);
    cx.conversation.settle(timestamp);
}

pub(super) fn give_up_overdue<S: Sink>(
    cx: &mut Context<'_, GameSpy4>,
    now: Time,
    all: bool,
    sink: &mut S,
) {
    let most = cx.settings.limits.unfinished;
    while let Some(open) = cx.conversation.open()
        && let Some(open) =
            open.take_overdue(now, all).or_else(|| open.take_beyond(most + 1, cx.budget))
    {
        take_apart(cx, open, now, sink);
    }
}

/// A packet that belongs to no whole response is reported as a message.
fn fragment<S: Sink>(
    cx: &Context<'_, GameSpy4>,
    open: &IncompleteResponses,
    at: usize,
    copy: bool,
    sink: &mut S,
) {
    let (Some(part), pieces) = (open.part(at), open.pieces(at)) else { return };
    let payload = open.payload(cx.flow, part, &pieces);
    fragment_fields(&payload, sink);
    if copy {
        rules::packet_copy(Some(open.index(at)), sink);
    }
    sink.end(&m::INFO_FRAGMENT, &payload);
}

/// Removes the incomplete response that a packet belongs to.
fn take_open(
    cx: &mut Context<'_, GameSpy4>,
    payload: &Payload<'_>,
    header: Header,
) -> Option<Box<IncompleteResponses>> {
    cx.conversation.open()?.take(payload.side, header.timestamp)
}

pub(super) fn fragment_fields<S: Sink>(payload: &Payload<'_>, sink: &mut S) {
    decode::info_response(payload.bytes, DecodeContext::default(), sink);
}
