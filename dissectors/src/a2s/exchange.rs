//! The effect of messages on the conversation of a flow: who asks, which requests wait for a response,
//! which challenges were given. It makes [`Observation`]s and hands them to the rules.

use std::net::SocketAddr;

use super::counters::{CoarseTime, Count, Counters};
use super::decode::MessageSummary;
use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use super::layout::message_byte_span;
use super::observation::{Observation, Occasion};
use super::overdue::expire;
use super::pending::{BEHIND_INFO, FOREIGN, PASSED_OVER, PendingRequest, ResponseDue};
use super::repeats::{take_answered, wait};
use super::state::{Conversation, FOLLOWED, GUARDED, UnmatchedList, between, issued};
use super::{A2s, rules};
use crate::kit::{Context, CrossFlowEvent, Evidence, Payload, Read, Sink};

/// The effect of a message on the conversation.
pub(super) fn message<S: Sink>(
    cx: &mut Context<'_, A2s>,
    said: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    match RequestKind::of(said.kind) {
        Some(request) => ask(cx, request, said, payload, sink),
        None => response(cx, ResponseKind::of(said.kind), said, payload, sink),
    }
}

fn ask<S: Sink>(
    cx: &mut Context<'_, A2s>,
    request: RequestKind,
    said: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    expire(cx, payload.time, false, sink);
    cx.conversation.flags |= Conversation::asks(payload.side);
    let standing = standing(cx, said.challenge, payload);
    if standing == ChallengeStatus::Issued {
        cx.conversation.flags |= FOLLOWED;
    }
    let mark = payload.mark();
    let is_foreign =
        standing == ChallengeStatus::NeverIssued && may_be_given_by_another(cx, payload);
    let value = said.challenge.map(|challenge| challenge.value);
    let foreign = is_foreign.then(|| Occasion::of(payload, cx.flow.evidence(), value));
    rules::exchange(
        &Observation::Sent { challenge: said.challenge, standing, mark, foreign },
        message_byte_span(payload.bytes),
        sink,
    );
    sink.asks(request.name(), payload);
    let ignored = matches!(request, RequestKind::Challenge | RequestKind::Ping);
    let owed = said.whole && standing != ChallengeStatus::NeverIssued && !ignored;
    let asked = PendingRequest {
        mark,
        began: payload.time,
        challenge: said.challenge.map_or(-1, |challenge| challenge.value),
        request,
        standing,
        owed: if owed { ResponseDue::Yes } else { ResponseDue::No },
        past: if cx.conversation.has_forms() { BEHIND_INFO } else { 0 }
            | if is_foreign { FOREIGN } else { 0 },
        tries: 1,
        left: 1,
    };
    cx.shared.waiting.insert(payload, asked.request, cx.settings);
    wait(cx, asked, payload.time, sink);
}

/// Whether another endpoint may have given the challenge: if this one has sent nothing so far, or
/// if a response is due from it that may be a challenge.
fn may_be_given_by_another(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let open = |request| ResponseKind::Challenge.is_for(request);
    let waits = |asked: PendingRequest| {
        asked.mark.side == payload.side && !asked.was_answered() && open(asked.request)
    };
    !cx.flow.seen[payload.side.other().index()]
        || cx.conversation.waiting().any(waits)
        || cx.conversation.missed().is_some_and(open)
}

fn standing(
    cx: &Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> ChallengeStatus {
    let Some(challenge) = challenge else { return ChallengeStatus::Absent };
    if challenge.value == -1 {
        return ChallengeStatus::Asking;
    }
    let client = payload.from.ip();
    let known = cx.shared.issued.contains(&issued(client, payload.to, challenge.value));
    match known {
        Some(true) => ChallengeStatus::Issued,
        _ if challenge.value == 0 => ChallengeStatus::Zero,
        None => ChallengeStatus::Unknown,
        Some(false) => match cx.shared.blurred.contains(&between(client, payload.to)) {
            Some(false) => ChallengeStatus::NeverIssued,
            _ => ChallengeStatus::Unknown,
        },
    }
}

fn response<S: Sink>(
    cx: &mut Context<'_, A2s>,
    response: ResponseKind,
    said: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let (from, now, timeout) = (payload.side, payload.time, cx.settings.answer_timeout);
    cx.conversation.learn(said);
    if response == ResponseKind::Other {
        cx.conversation.answered_somehow(from, now, timeout);
        expire(cx, now, false, sink);
        return;
    }
    let copy = cx.conversation.repeats(payload, &cx.shared.seed);
    let guarded = cx.conversation.has(GUARDED);
    let challenge = response == ResponseKind::Challenge;
    let fits = |asked: &PendingRequest| asked.fits(response, guarded);
    let best = cx.conversation.best(fits, challenge, from, now, timeout);
    let mut server = payload.from;
    match best {
        Some((1.., at))
            if response == ResponseKind::Players
                && cx.conversation.tally.get(Count::Players) > 0
                && may_be_info(cx, at) =>
        {
            unexpected(cx, (response, said.challenge), copy, payload, sink);
        }
        // The first one answered another request while this one waited.
        Some((1.., at))
            if copy && cx.conversation.at(at).is_some_and(|asked| asked.is(PASSED_OVER)) =>
        {
            unexpected(cx, (response, said.challenge), copy, payload, sink);
        }
        Some((_, at)) => {
            if let Some(asked) = take_answered(cx, at, response, said.challenge, payload) {
                if !asked.was_answered() {
                    cx.shared.waiting.remove(payload);
                }
                heard(cx, &asked, response, payload, sink);
            }
        }
        None => {
            server =
                unexpected(cx, (response, said.challenge), copy, payload, sink).unwrap_or(server)
        }
    }
    if response == ResponseKind::Challenge {
        remember(cx, said.challenge, payload, server, sink);
    }
    expire(cx, now, false, sink);
}

/// Whether a list may be a hybrid server's response to info, although a list request without a valid
/// challenge is pending; that request then stays pending. If the beginning of the capture is missing, an
/// unknown challenge may be valid.
fn may_be_info(cx: &mut Context<'_, A2s>, at: usize) -> bool {
    let began = cx.flow.began;
    match cx.conversation.at(at) {
        Some(asked) if began || asked.standing != ChallengeStatus::NeverIssued => {
            cx.conversation.may_be_answered(at);
            true
        }
        _ => false,
    }
}

/// A challenge was given by an endpoint, perhaps instead of the one that was asked.
fn remember<S: Sink>(
    cx: &mut Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
    asked: SocketAddr,
    sink: &mut S,
) {
    let (client, most) = (payload.to.ip(), cx.settings.limits.remembered);
    let servers = [Some(payload.from), Some(asked).filter(|asked| *asked != payload.from)];
    for server in servers.into_iter().flatten() {
        match challenge {
            Some(challenge) => {
                cx.shared.issued.insert(&issued(client, server, challenge.value), most);
            }
            None => cx.shared.blurred.insert(&between(client, server), most),
        }
    }
    if let Some(challenge) = challenge {
        sink.fact(CrossFlowEvent::Challenged(challenge.value as u32), payload.seen());
    }
}

/// A request was answered.
fn heard<S: Sink>(
    cx: &mut Context<'_, A2s>,
    asked: &PendingRequest,
    response: ResponseKind,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let kind = message_byte_span(payload.bytes);
    sink.answers(asked.reply(asked.is_complete(response)));
    serve(cx, payload);
    let conversation = &mut *cx.conversation;
    conversation.flags |= FOLLOWED;
    let again = asked.was_answered();
    let rounds = if again { 0 } else { rounds(&mut conversation.tally, asked, response) };
    let list = matches!(response, ResponseKind::Players | ResponseKind::Rules);
    if list && asked.fits(response, conversation.has(GUARDED)) == Some(0) {
        conversation.pass_over(response);
    }
    let explained = matches!(response, ResponseKind::Info | ResponseKind::ObsoleteInfo)
        && conversation
            .informed(response, CoarseTime::of(payload.time, cx.settings.answer_timeout));
    if asked.request != RequestKind::Info && asked.is(BEHIND_INFO) {
        conversation.tally.clear(&Count::FORMS);
    }
    let guarded = asked.request != RequestKind::Info || conversation.has(GUARDED);
    rules::exchange(&Observation::Answered { asked, response, rounds, guarded, again }, kind, sink);
    if (asked.request, response) == (RequestKind::Info, ResponseKind::Challenge) {
        cx.conversation.flags |= GUARDED;
    }
    if explained {
        rules::exchange(&Observation::Again { response: ResponseKind::Players }, kind, sink);
    }
    match asked.standing {
        _ if response == ResponseKind::Challenge => {}
        ChallengeStatus::Issued => rules::own_challenge(kind, sink),
        ChallengeStatus::NeverIssued | ChallengeStatus::Unknown => {
            let occasion = Occasion::of(payload, cx.flow.evidence(), None);
            rules::accepted(asked, &occasion, guarded, kind, sink);
        }
        ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero => {
            sink.reflects(asked.request.name(), asked.mark.length, payload);
        }
    }
}

/// A server has responded: the same host's packets to it are addressed to a server.
fn serve(cx: &mut Context<'_, A2s>, payload: &Payload<'_>) {
    if !cx.conversation.has(FOLLOWED) {
        let most = cx.settings.limits.remembered;
        cx.shared.served.insert(&between(payload.to.ip(), payload.from), most);
    }
}

/// How often in a row a valid challenge was answered by another, this response included.
fn rounds(tally: &mut Counters, asked: &PendingRequest, response: ResponseKind) -> u8 {
    let Some(count) = Count::rounds(asked.request) else { return 0 };
    let before = tally.get(count);
    if response != ResponseKind::Challenge {
        tally.clear(&[count]);
        return 0;
    }
    if asked.standing != ChallengeStatus::Issued {
        return before;
    }
    tally.add(count);
    before + 1
}

/// A response matches no request of the flow. `Some`: another endpoint was asked.
fn unexpected<S: Sink>(
    cx: &mut Context<'_, A2s>,
    (response, challenge): (ResponseKind, Option<Read<i32>>),
    copy: bool,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<SocketAddr> {
    let kind = message_byte_span(payload.bytes);
    let conversation = &mut *cx.conversation;
    if Count::form(response).is_some_and(|form| conversation.tally.spend(form)) {
        if let Some(asked) = conversation.informed_of(payload.side) {
            sink.answers(asked.reply(true));
        }
        rules::exchange(&Observation::Again { response }, kind, sink);
        if response == ResponseKind::ObsoleteInfo && conversation.explain() {
            rules::exchange(&Observation::Again { response: ResponseKind::Players }, kind, sink);
        }
        return None;
    }
    if conversation.missed().is_some_and(|request| response.is_for(request)) {
        conversation.set_missed(None);
        return None;
    }
    if conversation.take_given_up() {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
        rules::exchange(&Observation::Unasked { response, elsewhere: None }, kind, sink);
        return None;
    }
    if !copy && answered_wrongly(cx, response, payload, sink) {
        return None;
    }
    if !cx.conversation.was_asked(payload.side)
        && let Some(asked) = cx.shared.waiting.elsewhere(payload, response, cx.settings)
    {
        let from = payload.from;
        rules::exchange(&Observation::Elsewhere { response, asked, from }, kind, sink);
        return Some(asked);
    }
    let elsewhere = (!cx.conversation.was_asked(payload.side))
        .then(|| Occasion::of(payload, cx.flow.evidence(), challenge.map(|it| it.value)));
    rules::exchange(&Observation::Unasked { response, elsewhere }, kind, sink);
    None
}

/// Whether another kind of response came than was asked for, or a player list whose purpose only the rest
/// of the exchange shows.
fn answered_wrongly<S: Sink>(
    cx: &mut Context<'_, A2s>,
    response: ResponseKind,
    payload: &Payload<'_>,
    sink: &mut S,
) -> bool {
    let conversation = &mut *cx.conversation;
    let at = conversation.first_due(payload.side, payload.time, cx.settings.answer_timeout);
    let due = at.and_then(|at| conversation.at(at)).map(|asked| asked.request);
    let hybrid = match due {
        Some(request) => request == RequestKind::Info,
        None => conversation.tally.get(Count::ObsoleteInfo) > 0,
    };
    if response == ResponseKind::Players && hybrid && conversation.stray().is_none() {
        if let Some(at) = at {
            conversation.may_be_answered(at);
        }
        let stray = UnmatchedList { mark: payload.mark().into(), instead: due.is_some() };
        *conversation.stray() = Some(stray);
        return true;
    }
    let Some(asked) = at.and_then(|at| conversation.take(at)) else { return false };
    cx.shared.waiting.remove(payload);
    sink.answers(asked.reply(false));
    rules::exchange(
        &Observation::Other { asked: &asked, response },
        message_byte_span(payload.bytes),
        sink,
    );
    true
}
