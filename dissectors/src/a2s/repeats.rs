//! Requests that wait: sent again they are the same; after a challenge they go on; and a response
//! to one may be meant for another's further sending.

use super::A2s;
use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use super::overdue::give_up;
use super::pending::{GOES_ON, PendingRequest, REFUSED, ResponseDue};
use super::state::{GUARDED, issued};
use crate::kit::{Context, Limit, Payload, Read, Sending, Sink, Time};

/// One more request waits, or one that does was sent once more; with too many, the oldest is given
/// up.
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

/// Who asks again for what was answered, or may have been, has seen no response in what came, wants
/// a new one, or goes on with the challenge that came. Says whether it is the latter.
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

/// Who goes on with a challenge shows which request drew it, or waits for it no more. Where another
/// seemed to draw it, that one's own may come yet.
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

/// The oldest request is given up: what is not overdue by now is not checked. What was answered
/// goes first.
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

/// The request that was answered, as it was before: it waits no more, unless its further sendings
/// may be answered, or its asker go on with the challenge that came. A challenge that was given
/// before may be a late copy, even where a request with it waits: that one waits on, but is owed
/// nothing more.
pub(super) fn take_answered(
    cx: &mut Context<'_, A2s>,
    at: usize,
    answer: ResponseKind,
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
    if !asked.is_complete(answer) {
        after.past |= GOES_ON;
        lend(cx, &mut after, payload);
    }
    if asked.owed == ResponseDue::Answered {
        after.past = asked.past;
        if answer == ResponseKind::Challenge {
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
    // After the obsolete info come other forms.
    if after.left == 0 && !after.is(GOES_ON) && answer != ResponseKind::ObsoleteInfo {
        cx.conversation.take(at);
    }
    Some(asked)
}

/// A challenge that is taken for the response to one more sending of a request may be meant for the
/// one that goes on from it: who waits with a challenge may have been given another.
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

/// A challenge that answers a request may be meant for another one's further sending: then what
/// comes for that is this one's.
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
