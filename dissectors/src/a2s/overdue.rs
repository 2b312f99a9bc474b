//! Requests that have timed out.

use super::observation::{Observation, Occasion};
use super::pending::{FOREIGN, REFUSED, ResponseDue};
use super::state::UnmatchedList;
use super::{A2s, rules};
use crate::kit::{Context, Evidence, SeenMessage, Sink, Span, Time};

/// The usual position of the message byte.
pub(super) const KIND: Span = Span { start: 4, end: 5 };

/// Removes the oldest request.
pub(super) fn give_up<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    let Some(asked) = cx.conversation.take(0) else { return };
    let server = asked.mark.side.other();
    let [client_end, server_end] = cx.flow.ends_from(server.other());
    let frame = asked.mark.frame;
    if matches!(asked.owed, ResponseDue::NoMore | ResponseDue::Answered) {
        return;
    }
    if cx.shared.waiting.was_answered_elsewhere(client_end, server_end, frame) {
        rules::exchange(&Observation::Moved { asked: &asked }, KIND, sink);
        return;
    }
    cx.conversation.set_missed(Some(asked.request));
    let mark = asked.mark;
    let evidence = Evidence {
        lossy: cx.flow.lossy,
        refused: asked.is(REFUSED),
        ..cx.flow.unanswered(server, mark.time, now, cx.settings.answer_timeout)
    };
    let challenge = asked.is(FOREIGN).then_some(asked.challenge as u32);
    let seen = SeenMessage { mark, from: client_end, to: server_end };
    let occasion = Occasion { seen, evidence, challenge };
    rules::exchange(&Observation::Overdue { asked: &asked, occasion }, KIND, sink);
}

/// Removes overdue requests; with `end`, all. A request keeps waiting while parts of its response
/// have arrived, and while the capture has no packet of the asked party, which may still appear.
pub(super) fn expire<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    while let Some(asked) = cx.conversation.at(0) {
        let server = asked.mark.side.other();
        let seen = cx.flow.seen[server.index()];
        let coming = cx.conversation.parts_so_far().is_some_and(|parts| parts.is_coming(server));
        let overdue = now.since(asked.mark.time) >= cx.settings.answer_timeout;
        if !end && (!overdue || asked.owed == ResponseDue::Yes && (!seen || coming)) {
            break;
        }
        give_up(cx, now, sink);
    }
    let timeout = cx.settings.answer_timeout;
    let is_over = |stray: &UnmatchedList| end || now.since(stray.mark.get().time) >= timeout;
    if let Some(stray) = cx.conversation.take_stray(is_over) {
        let (mark, evidence) = (stray.mark.get(), cx.flow.evidence());
        rules::exchange(
            &Observation::UnmatchedList { mark, instead: stray.instead, evidence },
            KIND,
            sink,
        );
    }
}
