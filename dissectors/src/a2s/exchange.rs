//! The effect of messages on the conversation of a flow: who asks, which requests wait for a response,
//! which challenges were given. The rules judge each step.

use std::net::SocketAddr;

use super::counters::{CoarseTime, Count, Counters};
use super::decode::{Counted, MessageSummary};
use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use super::layout::message_byte_span;
use super::messages as m;
use super::occasion::Occasion;
use super::overdue::{expire, give_up};
use super::pending::{Asked, Notes};
use super::shared::{PlayerCount, between, issued};
use super::state::{Conversation, Known, UnmatchedList};
use super::values::values;
use super::{A2s, rules};
use crate::kit::{
    Answer, COUNTS_COMPARED_WITHIN, Context, CrossFlowEvent, Evidence, Message, Payload, Question,
    Read, Request, SeenMessage, Sending, Sink,
};

/// The effect of a message on the conversation.
pub(super) fn message<S: Sink>(
    cx: &mut Context<'_, A2s>,
    summary: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    if cx.flow.silence >= cx.settings.answer_timeout.unsigned_abs() {
        cx.conversation.known |= Known::OUTLASTED;
    }
    let was_challenged_alone = cx.conversation.has(Known::STRAY_CHALLENGE);
    cx.conversation.known.remove(Known::STRAY_CHALLENGE);
    match RequestKind::of(summary.kind) {
        Some(request) => {
            let returns = ask(cx, request, summary, payload, sink);
            if was_challenged_alone && returns {
                asked_for_challenge(payload, sink);
            }
        }
        None => response(cx, ResponseKind::of(summary.kind), summary, payload, sink),
    }
}

/// Who returns at once the challenge that no request waited for has asked for it.
fn asked_for_challenge<S: Sink>(payload: &Payload<'_>, sink: &mut S) {
    let seen = payload.seen();
    let challenge = SeenMessage { from: seen.to, to: seen.from, ..seen };
    sink.cross_flow(CrossFlowEvent::RequestMissing, challenge);
}

/// Returns whether the request begins an exchange, with a challenge from this server.
fn ask<S: Sink>(
    cx: &mut Context<'_, A2s>,
    request: RequestKind,
    summary: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) -> bool {
    expire(cx, payload.time, false, sink);
    cx.conversation.known |= Conversation::asks(payload.side);
    let status = status(cx, summary.challenge, payload);
    if status == ChallengeStatus::Issued {
        cx.conversation.known |= Known::FOLLOWED;
    }
    let mark = payload.mark();
    let is_unseen = may_be_unseen(cx, payload);
    let is_not_given = status == ChallengeStatus::NeverIssued && is_unseen;
    let value = summary.challenge.map(|challenge| challenge.value);
    let evidence = Evidence { began: false, ..cx.flow.evidence() };
    let not_given = is_not_given.then(|| Occasion::of(payload, evidence, value));
    if let Some(not_given) = &not_given {
        sink.evidence(not_given.evidence);
    }
    let at = message_byte_span(payload.bytes);
    rules::sent(summary.challenge, status, &mark, not_given.as_ref(), at, sink);
    sink.asks(request.name(), payload);
    let ignored = match request {
        RequestKind::Challenge => !answers(cx, Known::CHALLENGES, payload),
        RequestKind::Ping => !answers(cx, Known::PINGS, payload),
        _ => false,
    };
    if ignored {
        sink.optional();
    }
    let is_due = summary.whole && status != ChallengeStatus::NeverIssued && !ignored;
    let mut notes = Notes::empty();
    notes.set(Notes::AFTER_INFO, cx.conversation.has_forms());
    notes.set(Notes::NOT_GIVEN, is_not_given);
    notes.set(Notes::UNSEEN, is_unseen);
    let what = Asked::new(request, status, value.unwrap_or(-1), notes);
    cx.shared.waiting.insert(payload, request, cx.settings);
    let sending = wait(cx, Request::new(what, mark, is_due), sink);
    status == ChallengeStatus::Issued && sending == Sending::New
}

/// Whether the server said, in this flow or in another one of the client's host, that it runs a game whose servers answer
/// such requests.
fn answers(cx: &mut Context<'_, A2s>, what: Known, payload: &Payload<'_>) -> bool {
    let (key, most) = (between(payload.from.ip(), payload.to), cx.settings.limits.remembered);
    let mut of_host =
        || cx.shared.games.get_mut(&key, most).is_some_and(|known| known.contains(what));
    cx.conversation.has(what) || of_host()
}

/// Adds a pending request, or a repeat of one.
fn wait<S: Sink>(cx: &mut Context<'_, A2s>, asked: Request<Asked>, sink: &mut S) -> Sending {
    let clock = cx.settings.clock(asked.mark.time);
    let sent = cx.conversation.requests.send(asked, cx.settings, cx.budget);
    sink.sent(sent.sending);
    if sent.challenged.is_some_and(|what| what.kind == RequestKind::Info) {
        cx.conversation.known |= Known::GUARDED;
    }
    if let Some(overdue) = sent.overdue {
        give_up(cx, &overdue, clock, sink);
    }
    sent.sending
}

/// Whether another endpoint may have given the challenge, or this one in a packet that the capture lacks: if it has sent
/// nothing so far, or if a response is due from it that may be a challenge.
fn may_be_unseen(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let open = |request| ResponseKind::Challenge.is_for(request);
    let waits = |asked: Request<Asked>| {
        asked.mark.side == payload.side && !asked.was_answered() && open(asked.what.kind)
    };
    !cx.flow.seen[payload.side.other().index()]
        || cx.conversation.requests.iter().any(waits)
        || cx.conversation.missed.is_some_and(open)
}

fn status(
    cx: &Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> ChallengeStatus {
    let Some(challenge) = challenge else {
        // If the packet was cut, it may have had one.
        return if payload.lost { ChallengeStatus::Unknown } else { ChallengeStatus::Absent };
    };
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
    summary: &MessageSummary,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let (from, clock) = (payload.side, cx.settings.clock(payload.time));
    if cx.conversation.learn(summary) {
        let (key, known) = (between(payload.to.ip(), payload.from), cx.conversation.known);
        cx.shared.games.insert(key, known & Known::OF_GAME, cx.settings.limits.remembered);
    }
    if let Some(counted) = summary.counted {
        count_players(cx, counted, payload, sink);
    }
    sink.announces(summary.game_port, payload);
    if response == ResponseKind::Other {
        if summary.message.label == m::UNKNOWN.label {
            cx.conversation.says(from);
        }
        cx.conversation.answered_somehow(from, clock);
        expire(cx, payload.time, false, sink);
        return;
    }
    let copy = cx.conversation.repeats(payload, &cx.shared.seed);
    let guarded = cx.conversation.has(Known::GUARDED);
    let challenge = response == ResponseKind::Challenge;
    let fits = |asked: &Request<Asked>| asked.what.fits(response, guarded);
    let best = cx.conversation.requests.best(fits, challenge, from, clock);
    let mut server = payload.from;
    match best {
        Some((1.., at))
            if response == ResponseKind::Players
                && cx.conversation.tally.get(Count::Players) > 0
                && may_be_info(cx, at) =>
        {
            unexpected(cx, response, summary.challenge, copy, payload, sink);
        }
        // The first one answered another request while this one waited.
        Some((1.., at)) if copy && cx.conversation.requests.get(at).is_some_and(is_passed_over) => {
            unexpected(cx, response, summary.challenge, copy, payload, sink);
        }
        Some((_, at)) => {
            if let Some(asked) = answered(cx, at, response, summary.challenge, payload) {
                if !asked.was_answered() {
                    cx.shared.waiting.remove(payload);
                }
                heard(cx, &asked, response, payload, sink);
            }
        }
        None => match (!copy).then(|| beside_challenge(cx, response, payload)).flatten() {
            Some(asked) => heard(cx, &asked, response, payload, sink),
            None => {
                let unexpected = unexpected(cx, response, summary.challenge, copy, payload, sink);
                server = unexpected.unwrap_or(server);
            }
        },
    }
    if response == ResponseKind::Challenge {
        remember(cx, summary.challenge, payload, server, sink);
    }
    expire(cx, payload.time, false, sink);
}

/// The request that such data answers although it was answered by a challenge before, which the client has not returned.
fn beside_challenge(
    cx: &mut Context<'_, A2s>,
    response: ResponseKind,
    payload: &Payload<'_>,
) -> Option<Request<Asked>> {
    let clock = cx.settings.clock(payload.time);
    let at = cx.conversation.requests.position(|asked: &Request<Asked>| {
        asked.mark.side != payload.side
            && asked.is_challenged()
            && asked.what.is_complete(response)
            && response.is_for(asked.what.kind)
            && !asked.is_overdue(clock)
    })?;
    cx.conversation.requests.take(at)
}

/// A whole response that cannot be read, because it is compressed. If the recording lost bytes of it, and a
/// list request is the only one that waits, it is the list: returns the message byte, and the message.
pub(super) fn unread<S: Sink>(
    cx: &mut Context<'_, A2s>,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<(u8, &'static Message)> {
    let asked = list_due(cx, payload).and_then(|(at, list)| {
        let asked = answered(cx, at, ResponseKind::of(list.0), None, payload)?;
        Some((asked, list))
    });
    let Some((asked, list)) = asked else {
        cx.conversation.answered_somehow(payload.side, cx.settings.clock(payload.time));
        return None;
    };
    cx.shared.waiting.remove(payload);
    sink.answers(asked.reply(true));
    serve(cx, ResponseKind::of(list.0), payload, sink);
    cx.conversation.known |= Known::FOLLOWED;
    rules::answered_unread(payload.whole(), sink);
    if asked.what.status == ChallengeStatus::Issued {
        rules::own_challenge(payload.whole(), sink);
        sink.serves([asked.mark.time, asked.began], payload);
    }
    Some(list)
}

/// The place of the only request that waits for data, and the list that it asks for.
fn list_due(
    cx: &Context<'_, A2s>,
    payload: &Payload<'_>,
) -> Option<(usize, (u8, &'static Message))> {
    let waits = |asked: &Request<Asked>| {
        let wants_data = !matches!(asked.what.kind, RequestKind::Challenge | RequestKind::Ping);
        asked.mark.side != payload.side && asked.is_open() && wants_data
    };
    let requests = &cx.conversation.requests;
    let at = requests.position(waits).filter(|_| payload.lost)?;
    let list = match requests.get(at)?.what.kind {
        RequestKind::Player => (b'D', &m::PLAYER_RESPONSE),
        RequestKind::Rules => (b'E', &m::RULES_RESPONSE),
        _ => return None,
    };
    (requests.latest(waits) == Some(at)).then_some((at, list))
}

/// Compares the number of players in a list with that of the info before it, or after it, if there was none before.
fn count_players<S: Sink>(
    cx: &mut Context<'_, A2s>,
    counted: Counted,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let (key, most) = (between(payload.to.ip(), payload.from), cx.settings.limits.remembered);
    let before = cx.shared.counts.get_mut(&key, most).copied();
    let before = before.filter(|&(_, time)| payload.time.since(time) <= COUNTS_COMPARED_WITHIN);
    let (before, at) = (before.map(|(count, _)| count), message_byte_span(payload.bytes));
    match counted {
        Counted::Info { players, bots } => {
            if let Some(PlayerCount::Listed(listed)) = before {
                rules::counts_agree(players, bots, listed, at, sink);
            }
            let count = PlayerCount::Info { players, bots };
            cx.shared.counts.insert(key, (count, payload.time), most);
        }
        Counted::List { listed, unnamed } => {
            rules::names_present(listed, unnamed, at, sink);
            if let Some(PlayerCount::Info { players, bots }) = before {
                rules::counts_agree(players, bots, listed, at, sink);
            } else {
                cx.shared.counts.insert(key, (PlayerCount::Listed(listed), payload.time), most);
            }
        }
    }
}

fn is_passed_over(asked: Request<Asked>) -> bool {
    asked.what.has(Notes::PASSED_OVER)
}

/// The request that was answered, as it was before. A challenge that was given before may be a late
/// copy, even if a request with it is pending.
fn answered(
    cx: &mut Context<'_, A2s>,
    at: usize,
    response: ResponseKind,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Option<Request<Asked>> {
    let what = cx.conversation.requests.get(at)?.what;
    let is_known = |challenge: Read<i32>| {
        let given = issued(payload.to.ip(), payload.from, challenge.value);
        cx.shared.issued.contains(&given) == Some(true)
    };
    let answer = Answer {
        complete: what.is_complete(response),
        challenges: response == ResponseKind::Challenge,
        is_copy: what.has_challenge() && challenge.is_some_and(is_known),
        // Other forms follow the obsolete info.
        goes_on: response == ResponseKind::ObsoleteInfo,
    };
    let is_other = |other: &Asked| challenge.is_some_and(|it| it.value != other.challenge());
    let clock = cx.settings.clock(payload.time);
    cx.conversation.requests.answer(at, answer, is_other, clock)
}

/// Whether a list may be a hybrid server's response to info, although a list request without a valid
/// challenge is pending; that request then stays pending. If the beginning of the capture is missing, an
/// unknown challenge may be valid.
fn may_be_info(cx: &mut Context<'_, A2s>, at: usize) -> bool {
    let began = cx.flow.began;
    match cx.conversation.requests.get(at) {
        Some(asked) if began || asked.what.status != ChallengeStatus::NeverIssued => {
            cx.conversation.requests.may_be_answered(at);
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
        sink.cross_flow(CrossFlowEvent::Challenged(challenge.value as u32), payload.seen());
    }
}

/// A request was answered.
fn heard<S: Sink>(
    cx: &mut Context<'_, A2s>,
    asked: &Request<Asked>,
    response: ResponseKind,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let kind = message_byte_span(payload.bytes);
    sink.answers(asked.reply(asked.what.is_complete(response)));
    serve(cx, response, payload, sink);
    if matches!(response, ResponseKind::Info | ResponseKind::ObsoleteInfo) && !payload.lost {
        sink.describes(payload.seen(), || values(payload.bytes));
    }
    let conversation = &mut *cx.conversation;
    conversation.known |= Known::FOLLOWED;
    let again = asked.was_answered();
    let rounds = if again { 0 } else { rounds(&mut conversation.tally, &asked.what, response) };
    let list = matches!(response, ResponseKind::Players | ResponseKind::Rules);
    if list && asked.what.fits(response, conversation.has(Known::GUARDED)) == Some(0) {
        conversation.pass_over(response);
    }
    let explained = matches!(response, ResponseKind::Info | ResponseKind::ObsoleteInfo)
        && conversation.informed(response, CoarseTime::of(cx.settings.clock(payload.time)));
    if asked.what.kind != RequestKind::Info && asked.what.has(Notes::AFTER_INFO) {
        conversation.tally.clear(&Count::FORMS);
    }
    let guarded = asked.what.kind != RequestKind::Info || conversation.has(Known::GUARDED);
    rules::answered(asked, response, rounds, guarded, again, kind, sink);
    if (asked.what.kind, response) == (RequestKind::Info, ResponseKind::Challenge) {
        cx.conversation.known |= Known::GUARDED;
    }
    if explained {
        rules::answered_in_another_form(ResponseKind::Players, kind, sink);
    }
    match asked.what.status {
        _ if response == ResponseKind::Challenge => {}
        ChallengeStatus::Issued => {
            rules::own_challenge(kind, sink);
            if !again {
                sink.serves([asked.mark.time, asked.began], payload);
            }
        }
        ChallengeStatus::NeverIssued | ChallengeStatus::Unknown => {
            let began = cx.flow.began && !asked.what.has(Notes::UNSEEN);
            let evidence = Evidence { began, ..cx.flow.evidence() };
            let occasion = Occasion::of(payload, evidence, None);
            sink.evidence(occasion.evidence);
            rules::accepted(asked, &occasion, guarded, kind, sink);
        }
        ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero => {
            sink.reflects(asked.what.kind.name(), asked.mark.length, payload);
        }
    }
}

/// A server has responded: the same host's packets to it are addressed to a server. Of a challenge, or of a request
/// without a response, the ledger knows already.
fn serve<S: Sink>(
    cx: &mut Context<'_, A2s>,
    response: ResponseKind,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    if cx.conversation.has(Known::FOLLOWED) {
        return;
    }
    let most = cx.settings.limits.remembered;
    cx.shared.served.insert(&between(payload.to.ip(), payload.from), most);
    if response != ResponseKind::Challenge {
        let seen = payload.seen();
        sink.cross_flow(
            CrossFlowEvent::Queried,
            SeenMessage { from: seen.to, to: seen.from, ..seen },
        );
    }
}

/// How often in a row a valid challenge was answered by another, this response included.
fn rounds(tally: &mut Counters, asked: &Asked, response: ResponseKind) -> u8 {
    let Some(count) = Count::rounds(asked.kind) else { return 0 };
    let before = tally.get(count);
    if response != ResponseKind::Challenge {
        tally.clear(&[count]);
        return 0;
    }
    if asked.status != ChallengeStatus::Issued {
        return before;
    }
    tally.add(count);
    before + 1
}

/// A response matches no request of the flow. `Some`: another endpoint was asked.
fn unexpected<S: Sink>(
    cx: &mut Context<'_, A2s>,
    response: ResponseKind,
    challenge: Option<Read<i32>>,
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
        rules::answered_in_another_form(response, kind, sink);
        if response == ResponseKind::ObsoleteInfo && conversation.explain() {
            rules::answered_in_another_form(ResponseKind::Players, kind, sink);
        }
        return None;
    }
    if conversation.missed.is_some_and(|request| response.is_for(request)) {
        conversation.missed = None;
        return None;
    }
    if conversation.requests.take_given_up() {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
        rules::unasked(response, None, kind, sink);
        return None;
    }
    let is_older = may_be_older(cx);
    if !copy && !is_older && answered_wrongly(cx, response, payload, sink) {
        return None;
    }
    if cx.conversation.answers_words(payload.side) {
        return None;
    }
    if !cx.conversation.was_asked(payload.side)
        && let Some(asked) =
            cx.shared.waiting.elsewhere(payload, |asked| response.is_for(asked), cx.settings)
    {
        rules::answered_elsewhere(response, asked, payload.from, kind, sink);
        return Some(asked);
    }
    let elsewhere = (!cx.conversation.was_asked(payload.side))
        .then(|| Occasion::of(payload, cx.flow.evidence(), challenge.map(|it| it.value)));
    if elsewhere.is_none() && !is_older {
        cx.flow.response_alone(payload, sink);
    }
    let may_be_copy = cx.flow.goes_on() && response == ResponseKind::Challenge;
    cx.conversation.known.set(Known::STRAY_CHALLENGE, may_be_copy);
    rules::unasked(response, elsewhere.as_ref(), kind, sink);
    None
}

/// Whether a response that no request waits for may answer one from before the capture: then it says nothing of those that
/// wait.
fn may_be_older(cx: &Context<'_, A2s>) -> bool {
    !cx.flow.began && !cx.conversation.has(Known::OUTLASTED)
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
    let at = conversation.requests.first_due(payload.side, cx.settings.clock(payload.time));
    let due = at.and_then(|at| conversation.requests.get(at)).map(|asked| asked.what.kind);
    let hybrid = match due {
        Some(request) => request == RequestKind::Info,
        None => conversation.tally.get(Count::ObsoleteInfo) > 0,
    };
    if response == ResponseKind::Players && hybrid && conversation.stray().is_none() {
        if let Some(at) = at {
            conversation.requests.may_be_answered(at);
        }
        let (mark, alone) = (payload.mark().into(), !cx.flow.goes_on());
        let stray = UnmatchedList { mark, instead: due.is_some(), alone };
        *conversation.stray() = Some(stray);
        return true;
    }
    let Some(asked) = at.and_then(|at| conversation.requests.take(at)) else { return false };
    cx.shared.waiting.remove(payload);
    sink.answers(asked.reply(false));
    rules::answered_wrongly(&asked, response, message_byte_span(payload.bytes), sink);
    true
}
