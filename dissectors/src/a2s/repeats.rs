//! Requests that wait: sent again they are the same; behind a challenge they go on; and an answer to one
//! may be meant for another's further sending.

use super::A2s;
use super::asked::{Asked, GOES_ON, Owed, REFUSED};
use super::facts::{Answer, Request, Standing};
use super::state::GUARDED;
use super::talk::{give_up, issued};
use crate::kit::{Context, Limit, Payload, Read, Sink, Time};

/// One more request waits, or one that does was sent once more; with too many, the oldest is given up.
pub(super) fn wait<S: Sink>(cx: &mut Context<'_, A2s>, mut asked: Asked, now: Time, sink: &mut S) {
    let timeout = cx.settings.answer_timeout;
    if let Some(at) = cx.talk.place(|before| asked.is_again(before, timeout))
        && let Some(mut before) = cx.talk.at(at)
    {
        before.sent_again(asked.mark);
        cx.talk.put(at, before);
        return;
    }
    go_on(cx, &mut asked);
    if cx.talk.waiting().count() >= cx.settings.limits.pending.max(1) {
        make_room(cx, now, sink);
    }
    cx.talk.push(asked);
}

/// Who asks again for what was answered, or may have been, has seen no answer in what came, wants a
/// new one, or goes on with the challenge that came.
fn go_on(cx: &mut Context<'_, A2s>, asked: &mut Asked) {
    let before = cx.talk.place(|before| asked.goes_on_from(before));
    if let Some(at) = before.or_else(|| trade(cx, asked))
        && let Some(mut before) = cx.talk.at(at)
    {
        asked.began = before.began;
        before.past &= !GOES_ON;
        cx.talk.put(at, before);
    }
    while let Some(at) = cx.talk.place(|before| asked.replaces(before))
        && let Some(before) = cx.talk.take(at)
    {
        if before.owed == Owed::Answered && asked.repeats(&before) {
            asked.left = asked.left.saturating_add(before.left);
        }
    }
}

/// Who goes on with a challenge shows which request drew it, or waits for it no more. Where another
/// seemed to draw it, that one's own may come yet.
fn trade(cx: &mut Context<'_, A2s>, asked: &Asked) -> Option<usize> {
    let is_mine = |other: &Asked| other.mark.side == asked.mark.side && other.is_asking();
    let (now, timeout) = (asked.mark.time, cx.settings.answer_timeout);
    let drew = |other: &Asked| {
        let waits = other.owed == Owed::Yes && now.since(other.mark.time) < timeout;
        waits && other.request == asked.request && is_mine(other)
    };
    let seemed_to =
        |other: &Asked| other.is(GOES_ON) && other.request != asked.request && is_mine(other);
    let at = cx.talk.place(drew).filter(|_| asked.standing == Standing::Issued)?;
    let mut mine = cx.talk.at(at)?;
    mine.owed = Owed::Answered;
    mine.past |= GOES_ON;
    if mine.request == Request::Info {
        cx.talk.flags |= GUARDED;
    }
    if let Some(place) = cx.talk.place(seemed_to)
        && let Some(mut other) = cx.talk.at(place)
    {
        mine.answered();
        other.left = other.left.saturating_add(1);
        cx.talk.put(place, other);
    }
    cx.talk.put(at, mine);
    Some(cx.talk.join_alike(at, now, timeout))
}

/// The oldest request is given up: what is not overdue by now is not judged. What was answered goes first.
fn make_room<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    if let Some(at) = cx.talk.place(|asked| asked.owed == Owed::Answered) {
        cx.talk.take(at);
        return;
    }
    let is_due = |asked: &Asked| {
        asked.is(REFUSED) || now.since(asked.mark.time) >= cx.settings.answer_timeout
    };
    if cx.talk.at(0).is_some_and(|asked| is_due(&asked)) {
        give_up(cx, now, sink);
    } else {
        cx.budget.meet(Limit::Pending);
        cx.talk.spill();
    }
}

/// The request that was answered, as it was before: it waits no more, unless its further sendings may
/// be answered, or its asker go on with the challenge that came. A challenge that was given before may
/// be a late copy, even where a request with it waits: that one waits on, but is owed nothing more.
pub(super) fn take_answered(
    cx: &mut Context<'_, A2s>,
    at: usize,
    answer: Answer,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Option<Asked> {
    let asked = cx.talk.at(at)?;
    let is_known = |challenge: Read<i32>| {
        let fact = issued(payload.to.ip(), payload.from, challenge.value);
        cx.book.issued.contains(&fact) == Some(true)
    };
    let is_copy = asked.standing == Standing::Issued && challenge.is_some_and(is_known);
    let mut after = asked;
    after.answered();
    if !asked.is_complete(answer) {
        after.past |= GOES_ON;
        lend(cx, &mut after, payload);
    }
    if asked.owed == Owed::Answered {
        after.past = asked.past;
        if answer == Answer::Challenge {
            let other = |asked: &Asked| challenge.is_some_and(|it| it.value != asked.challenge);
            excuse(cx, &asked, other, payload.time);
        }
    } else if is_copy {
        after.owed = Owed::NoMore;
    } else {
        after.owed = Owed::Answered;
    }
    cx.talk.put(at, after);
    let at = cx.talk.join_alike(at, payload.time, cx.settings.answer_timeout);
    let after = cx.talk.at(at)?;
    // Behind the obsolete info come other forms.
    if after.left == 0 && !after.is(GOES_ON) && answer != Answer::ObsoleteInfo {
        cx.talk.take(at);
    }
    Some(asked)
}

/// A challenge that is taken for the answer to one more sending of a request may be meant for the one
/// that goes on from it: who waits with a challenge may have been given another.
fn excuse(cx: &mut Context<'_, A2s>, before: &Asked, is_other: impl Fn(&Asked) -> bool, now: Time) {
    let timeout = cx.settings.answer_timeout;
    let may_have_drawn = |asked: &Asked| {
        asked.owed == Owed::Yes
            && asked.standing == Standing::Issued
            && is_other(asked)
            && (asked.request, asked.mark.side) == (before.request, before.mark.side)
            && now.since(asked.mark.time) < timeout
    };
    if let Some(at) = cx.talk.place(may_have_drawn)
        && let Some(mut asked) = cx.talk.at(at)
    {
        asked.owed = Owed::NoMore;
        cx.talk.put(at, asked);
    }
}

/// A challenge that answers a request may be meant for another one's further sending: then what comes for
/// that is this one's.
fn lend(cx: &mut Context<'_, A2s>, to: &mut Asked, payload: &Payload<'_>) {
    let (now, timeout) = (payload.time, cx.settings.answer_timeout);
    let may_lend = |asked: &Asked| {
        asked.owed == Owed::Answered
            && asked.mark.side != payload.side
            && asked.is_asking()
            && asked.may_be_answered(now, timeout)
    };
    if to.owed != Owed::Answered
        && let Some(at) = cx.talk.place(may_lend)
        && let Some(mut from) = cx.talk.at(at)
    {
        from.answered();
        cx.talk.put(at, from);
        to.left = to.left.saturating_add(1);
    }
}
