//! Requests that have timed out.

use super::observation::{Observation, Occasion};
use super::pending::{Notes, PendingRequest};
use super::state::UnmatchedList;
use super::{A2s, rules};
use crate::kit::{Clock, Context, ResponseDue, Sink, Span, Time};

/// The usual position of the message byte.
pub(super) const KIND: Span = Span { start: 4, end: 5 };

/// A request is no longer waited for.
pub(super) fn give_up<S: Sink>(
    cx: &mut Context<'_, A2s>,
    asked: &PendingRequest,
    clock: Clock,
    sink: &mut S,
) {
    if !asked.is_open() {
        return;
    }
    let seen = cx.flow.seen_in(asked.mark);
    if cx.shared.waiting.was_answered_elsewhere(seen.from, seen.to, asked.mark.frame) {
        rules::exchange(&Observation::Moved { asked }, KIND, sink);
        return;
    }
    cx.conversation.missed = Some(asked.what.kind);
    let evidence = cx.flow.missing(asked, clock);
    let challenge = asked.what.has(Notes::FOREIGN).then(|| asked.what.challenge() as u32);
    let occasion = Occasion { seen, evidence, challenge };
    rules::exchange(&Observation::Overdue { asked, occasion }, KIND, sink);
}

/// Removes overdue requests; with `end`, all. A request keeps waiting while parts of its response
/// have arrived, and while the capture has no packet of the asked party, which may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    let clock = cx.settings.clock(now);
    loop {
        let (flow, split) = (cx.flow, cx.conversation.split_so_far());
        let waits = |asked: &PendingRequest| {
            let server = asked.mark.side.other();
            let coming = || split.is_some_and(|split| split.is_coming(server));
            asked.due == ResponseDue::Yes && (!flow.seen[server.index()] || coming())
        };
        let is_over = cx.conversation.requests.is_overdue(end, waits, clock);
        let Some(asked) = is_over.then(|| cx.conversation.requests.take(0)).flatten() else {
            break;
        };
        give_up(cx, &asked, clock, sink);
    }
    let is_over = |stray: &UnmatchedList| {
        end || now.since(stray.mark.get().time) >= cx.settings.answer_timeout
    };
    if let Some(stray) = cx.conversation.take_stray(is_over) {
        let (mark, evidence) = (stray.mark.get(), cx.flow.evidence());
        let stray = Observation::UnmatchedList { mark, instead: stray.instead, evidence };
        rules::exchange(&stray, KIND, sink);
    }
}
