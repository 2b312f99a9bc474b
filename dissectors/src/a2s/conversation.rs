//! Handles one datagram of a flow: finds its direction and its kind, and passes it on.

use super::counters::Count;
use super::decode;
use super::kinds::RequestKind;
use super::layout::{SINGLE, SPLIT};
use super::state::{Conversation, Known};
use super::{A2s, claim, exchange, parts, rules, words};
use crate::kit::{Context, Payload, Sink};

/// One datagram of the flow.
pub(super) fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    let clock = cx.settings.clock(payload.time);
    cx.conversation.forget_forms(cx.flow.silence, clock);
    let toward_server = is_toward_server(cx, payload);
    let bytes = payload.bytes;
    if bytes.starts_with(&SPLIT) {
        cx.conversation.began = true;
        parts::message(cx, payload, toward_server, sink);
        return;
    }
    let summary = if is_message(cx.conversation, payload, toward_server) {
        let known = decode::DecodeContext {
            lost: payload.lost,
            unasked: !cx.conversation.requests.is_due(payload.side, clock),
            ..cx.conversation.decoding(false, toward_server)
        };
        let mut summary = decode::message(bytes, known, sink);
        rules::packet_size(bytes.len(), sink);
        if toward_server && bytes.len() <= SINGLE.len() {
            cx.conversation.tally.add(Count::Runts);
        }
        summary.whole &= bytes.starts_with(&SINGLE);
        summary
    } else {
        if !cx.conversation.began {
            cx.conversation.known |= Known::FORCED;
        }
        let plays = Conversation::plays;
        let play =
            [payload.side, payload.side.other()].map(|side| cx.conversation.has(plays(side)));
        if play == [false, true] {
            sink.begins_to_play(payload);
        }
        cx.conversation.known |= plays(payload.side);
        let due = cx.conversation.requests.is_due(payload.side, clock)
            && !cx.conversation.has(Conversation::plays(payload.side.other()));
        if !due && !cx.conversation.has(Known::FORCED) {
            return;
        }
        decode::stray(bytes, sink)
    };
    if toward_server && RequestKind::of(summary.kind).is_none() {
        sink.other_packet(payload);
    }
    cx.conversation.began = true;
    exchange::message(cx, &summary, payload, sink);
    sink.end(summary.message, payload);
}

/// Decodes a duplicate datagram, only to show it.
pub(super) fn again<S: Sink>(cx: &Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    let toward_server = is_toward_server(cx, payload);
    if payload.bytes.starts_with(&SPLIT) {
        parts::again(cx, payload, toward_server, sink);
        return;
    }
    let summary = if is_message(cx.conversation, payload, toward_server) {
        decode::message(payload.bytes, cx.conversation.decoding(false, toward_server), sink)
    } else if cx.conversation.has(Known::FORCED) {
        decode::stray(payload.bytes, sink)
    } else {
        return;
    };
    sink.end(summary.message, payload);
}

/// Whether a datagram travels toward a server. On a flow without a request, other flows tell the
/// direction of packets that only attackers send, and its words that of a game's message.
fn is_toward_server(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let suspicious = payload.bytes.len() <= SINGLE.len() || payload.bytes.starts_with(&SPLIT);
    let is_of_client = || {
        let message = payload.bytes.strip_prefix(&SINGLE);
        message.is_some_and(|message| words::command_of_client(message).is_some())
    };
    cx.conversation.is_toward_server(payload)
        || cx.conversation.is_guessed()
            && (suspicious && cx.shared.is_served(payload) || is_of_client())
}

/// Whether a datagram is a single packet, also with a damaged header, or the beginning of one
/// toward a server. An empty datagram counts as one, too.
fn is_message(conversation: &Conversation, payload: &Payload<'_>, toward_server: bool) -> bool {
    let bytes = payload.bytes;
    let is_runt = || {
        claim::is_runt(bytes)
            || bytes.is_empty() && conversation.began && conversation.tally.get(Count::Runts) > 0
    };
    bytes.starts_with(&SINGLE)
        || toward_server && is_runt()
        || !conversation.was_asked(payload.side)
            && conversation.began
            && claim::is_request_after(bytes)
}
