//! Requests that have timed out.

use super::occasion::Occasion;
use super::pending::{Asked, Notes};
use super::state::{Known, UnmatchedList};
use super::{A2s, rules};
use crate::kit::{Clock, Context, CrossFlowEvent, Request, ResponseDue, Side, Sink, Time};

/// A request is no longer waited for.
pub(super) fn give_up<S: Sink>(
    cx: &mut Context<'_, A2s>,
    asked: &Request<Asked>,
    clock: Clock,
    sink: &mut S,
) {
    if !asked.is_open() {
        return;
    }
    let seen = cx.flow.seen_in(asked.mark);
    if cx.shared.waiting.was_answered_elsewhere(&seen) {
        rules::was_answered_elsewhere(asked, sink);
        return;
    }
    cx.conversation.missed = Some(asked.what.kind);
    let evidence = cx.flow.missing(asked, clock);
    if evidence.waited {
        cx.conversation.known |= Known::OUTLASTED;
    }
    let challenge = asked.what.has(Notes::NOT_GIVEN).then(|| asked.what.challenge() as u32);
    rules::overdue(asked, &Occasion { seen, evidence, challenge }, sink);
}

/// Removes overdue requests; with `end`, all. A request keeps waiting while parts of its response
/// have arrived, and while the capture has no packet of the asked party, which may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    let clock = cx.settings.clock(now);
    let (seen, split) = (cx.flow.seen, cx.conversation.split_so_far());
    let may_come = [Side::First, Side::Second]
        .map(|server| !seen[server.index()] || split.is_some_and(|split| split.is_coming(server)));
    let waits = |asked: &Request<Asked>| {
        asked.due == ResponseDue::Yes && may_come[asked.mark.side.other().index()]
    };
    while let Some(asked) = cx.conversation.requests.take_overdue(end, waits, clock) {
        give_up(cx, &asked, clock, sink);
    }
    let is_over = |stray: &UnmatchedList| {
        end || now.since(stray.mark.get().time) >= cx.settings.answer_timeout
    };
    if let Some(stray) = cx.conversation.take_stray(is_over) {
        let (mark, evidence) = (stray.mark.get(), cx.flow.evidence());
        if stray.alone && !stray.instead {
            sink.cross_flow(CrossFlowEvent::RequestMissing, cx.flow.seen_in(mark));
        }
        rules::unmatched_list(stray.instead, evidence, &mark, sink);
    }
}
