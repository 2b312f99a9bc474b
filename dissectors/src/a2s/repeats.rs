//! Pending requests: repeats, continuations with a challenge, and responses that may belong to a
//! repeat of another request.

use super::A2s;
use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use super::overdue::give_up;
use super::pending::{GOES_ON, PendingRequest, REFUSED, ResponseDue};
use super::state::{GUARDED, issued};
use crate::kit::{Context, Limit, Payload, Read, Sending, Sink, Time};

/// Adds a pending request, or a repeat of one; if there are too many, the oldest is removed.
pub(super) fn wait<S: Sink>(
    cx: &mut Context<'_, A2s>,
    mut asked: PendingRequest,
    now: Time,
    sink: &mut S,
) {
    let timeout = cx.settings.answer_timeout;
    if let Some(at) = cx.conversation.place(|before| asked.is_again(before, timeout))
        && let Some(mut before) = cx.conversation.at(at)
    {
        before.sent_again(asked.mark);
        cx.conversation.put(at, before);
        sink.sent(Sending::Again);
        return;
    }
    if go_on(cx, &mut asked) {
        sink.sent(Sending::GoesOn);
    }
    if cx.conversation.waiting().count() >= cx.settings.limits.pending.max(1) {
        make_room(cx, now, sink);
    }
    cx.conversation.push(asked);
}

/// A client that repeats a request which was or may have been answered has not recognized the
/// response, wants a new one, or continues with the challenge from it. Returns whether the latter
/// is the case.
fn go_on(cx: &mut Context<'_, A2s>, asked: &mut PendingRequest) -> bool {
    let before = cx.conversation.place(|before| asked.goes_on_from(before));
    let before = before.or_else(|| trade(cx, asked));
    if let Some(at) = before
        && let Some(mut before) = cx.conversation.at(at)
    {
        asked.began = before.began;
        before.past &= !GOES_ON;
        cx.conversation.put(at, before);
    }
    let goes_on = before.is_some();
    while let Some(at) = cx.conversation.place(|before| asked.replaces(before))
        && let Some(before) = cx.conversation.take(at)
    {
        if before.owed == ResponseDue::Answered && asked.repeats(&before) {
            asked.left = asked.left.saturating_add(before.left);
        }
    }
    goes_on
}

/// A client that continues with a challenge shows which request it belongs to, or that it no longer
/// waits for one. If the challenge seemed to belong to another request, that one's response may
/// still come.
fn trade(cx: &mut Context<'_, A2s>, asked: &PendingRequest) -> Option<usize> {
    let is_mine = |other: &PendingRequest| other.mark.side == asked.mark.side && other.is_asking();
    let (now, timeout) = (asked.mark.time, cx.settings.answer_timeout);
    let drew = |other: &PendingRequest| {
        let waits = other.owed == ResponseDue::Yes && now.since(other.mark.time) < timeout;
        waits && other.request == asked.request && is_mine(other)
    };
    let seemed_to = |other: &PendingRequest| {
        other.is(GOES_ON) && other.request != asked.request && is_mine(other)
    };
    let at = cx.conversation.place(drew).filter(|_| asked.standing == ChallengeStatus::Issued)?;
    let mut mine = cx.conversation.at(at)?;
    mine.owed = ResponseDue::Answered;
    mine.past |= GOES_ON;
    if mine.request == RequestKind::Info {
        cx.conversation.flags |= GUARDED;
    }
    if let Some(place) = cx.conversation.place(seemed_to)
        && let Some(mut other) = cx.conversation.at(place)
    {
        mine.answered();
        other.left = other.left.saturating_add(1);
        cx.conversation.put(place, other);
    }
    cx.conversation.put(at, mine);
    Some(cx.conversation.join_alike(at, now, timeout))
}

/// Removes the oldest request, answered ones first; it is checked only if it is overdue.
fn make_room<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    if let Some(at) = cx.conversation.place(|asked| asked.owed == ResponseDue::Answered) {
        cx.conversation.take(at);
        return;
    }
    let is_due = |asked: &PendingRequest| {
        asked.is(REFUSED) || now.since(asked.mark.time) >= cx.settings.answer_timeout
    };
    if cx.conversation.at(0).is_some_and(|asked| is_due(&asked)) {
        give_up(cx, now, sink);
    } else {
        cx.budget.meet(Limit::Pending);
        cx.conversation.evict_oldest();
    }
}

/// The request that was answered, in its state before that. It no longer waits, unless its repeats
/// may be answered, or the client may continue with the challenge. A challenge that was given
/// before may be a late copy, even if a request with it is pending: that request keeps waiting, but
/// a missing response is not a fault.
pub(super) fn take_answered(
    cx: &mut Context<'_, A2s>,
    at: usize,
    response: ResponseKind,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Option<PendingRequest> {
    let asked = cx.conversation.at(at)?;
    let is_known = |challenge: Read<i32>| {
        let fact = issued(payload.to.ip(), payload.from, challenge.value);
        cx.shared.issued.contains(&fact) == Some(true)
    };
    let is_copy = asked.standing == ChallengeStatus::Issued && challenge.is_some_and(is_known);
    let mut after = asked;
    after.answered();
    if !asked.is_complete(response) {
        after.past |= GOES_ON;
        lend(cx, &mut after, payload);
    }
    if asked.owed == ResponseDue::Answered {
        after.past = asked.past;
        if response == ResponseKind::Challenge {
            let other =
                |asked: &PendingRequest| challenge.is_some_and(|it| it.value != asked.challenge);
            excuse(cx, &asked, other, payload.time);
        }
    } else if is_copy {
        after.owed = ResponseDue::NoMore;
    } else {
        after.owed = ResponseDue::Answered;
    }
    cx.conversation.put(at, after);
    let at = cx.conversation.join_alike(at, payload.time, cx.settings.answer_timeout);
    let after = cx.conversation.at(at)?;
    // Other forms follow the obsolete info.
    if after.left == 0 && !after.is(GOES_ON) && response != ResponseKind::ObsoleteInfo {
        cx.conversation.take(at);
    }
    Some(asked)
}

/// A challenge that seems to answer a repeat of a request may belong to the request that continues
/// it: a client that waits with one challenge may have been given another.
fn excuse(
    cx: &mut Context<'_, A2s>,
    before: &PendingRequest,
    is_other: impl Fn(&PendingRequest) -> bool,
    now: Time,
) {
    let timeout = cx.settings.answer_timeout;
    let may_have_drawn = |asked: &PendingRequest| {
        asked.owed == ResponseDue::Yes
            && asked.standing == ChallengeStatus::Issued
            && is_other(asked)
            && (asked.request, asked.mark.side) == (before.request, before.mark.side)
            && now.since(asked.mark.time) < timeout
    };
    if let Some(at) = cx.conversation.place(may_have_drawn)
        && let Some(mut asked) = cx.conversation.at(at)
    {
        asked.owed = ResponseDue::NoMore;
        cx.conversation.put(at, asked);
    }
}

/// A challenge that answers one request may belong to a repeat of another; then the next challenge
/// belongs to this one.
fn lend(cx: &mut Context<'_, A2s>, to: &mut PendingRequest, payload: &Payload<'_>) {
    let (now, timeout) = (payload.time, cx.settings.answer_timeout);
    let may_lend = |asked: &PendingRequest| {
        asked.owed == ResponseDue::Answered
            && asked.mark.side != payload.side
            && asked.is_asking()
            && asked.may_be_answered(now, timeout)
    };
    if to.owed != ResponseDue::Answered
        && let Some(at) = cx.conversation.place(may_lend)
        && let Some(mut from) = cx.conversation.at(at)
    {
        from.answered();
        cx.conversation.put(at, from);
        to.left = to.left.saturating_add(1);
    }
}
