//! The conversation of one flow: who asks, what waits for an answer, which challenges were given.
//! It makes [`Fact`]s and knows no rules.

use std::net::{IpAddr, SocketAddr};

use super::decode::{self, Said};
use super::facts::{
    Answer, Asked, BEHIND_INFO, FOREIGN, Fact, Owed, PASSED_OVER, Request, Standing, Told,
};
use super::layout::{SINGLE, SPLIT};
use super::parts;
use super::state::{FOLLOWED, FORCED, GUARDED, Stray, Talk};
use super::tally::{Count, Quarter, Tally};
use super::{A2s, rules};
use crate::kit::{self, Context, Evidence, Host, Limit, Payload, Read, Sink, Socket, Span, Time};

/// One datagram of the flow.
pub(super) fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    cx.talk.forget_forms(payload.time, cx.flow.silence, cx.settings.answer_timeout);
    let toward_server = cx.talk.is_toward_server(payload);
    let bytes = payload.bytes;
    if bytes.starts_with(&SPLIT) {
        cx.talk.began = true;
        parts::message(cx, payload, toward_server, sink);
        return;
    }
    let runt = toward_server && !bytes.is_empty() && SINGLE.starts_with(bytes);
    let said = if bytes.starts_with(&SINGLE) || runt {
        let known = cx.talk.known(false, toward_server);
        let said = decode::message(bytes, known, sink);
        rules::packet_size(bytes.len(), sink);
        said
    } else {
        if !cx.talk.began {
            cx.talk.flags |= FORCED;
        }
        let due = cx.talk.is_due(payload.side, payload.time, cx.settings.answer_timeout);
        if !due && !cx.talk.has(FORCED) {
            return;
        }
        decode::stray(bytes, sink)
    };
    cx.talk.began = true;
    exchange(cx, &said, payload, sink);
    sink.end(said.message, payload);
}

/// What a message means for the conversation.
pub(super) fn exchange<S: Sink>(
    cx: &mut Context<'_, A2s>,
    said: &Said,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    match Request::of(said.kind) {
        Some(request) => ask(cx, request, said, payload, sink),
        None => answer(cx, Answer::of(said.kind), said, payload, sink),
    }
}

/// Where the message byte usually stands.
const KIND: Span = Span { start: 4, end: 5 };

fn ask<S: Sink>(
    cx: &mut Context<'_, A2s>,
    request: Request,
    said: &Said,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    expire(cx, payload.time, false, sink);
    cx.talk.flags |= Talk::asks(payload.side);
    let standing = standing(cx, said.challenge, payload);
    if standing == Standing::Issued {
        cx.talk.flags |= FOLLOWED;
    }
    let mark = payload.mark();
    let is_foreign = standing == Standing::NeverIssued && may_be_given_by_another(cx, payload);
    let value = said.challenge.map(|challenge| challenge.value);
    let foreign = is_foreign.then(|| Told::of(payload, cx.flow.evidence(), value));
    rules::exchange(&Fact::Sent { challenge: said.challenge, standing, mark, foreign }, KIND, sink);
    sink.asks(request.name(), payload);
    let ignored = matches!(request, Request::Challenge | Request::Ping);
    let owed = said.whole && standing != Standing::NeverIssued && !ignored;
    let asked = Asked {
        mark: mark.into(),
        challenge: said.challenge.map_or(-1, |challenge| challenge.value),
        request,
        standing,
        owed: if owed { Owed::Yes } else { Owed::No },
        past: if cx.talk.has_forms() { BEHIND_INFO } else { 0 }
            | if is_foreign { FOREIGN } else { 0 },
    };
    cx.book.waiting.insert(payload, asked.request, cx.settings);
    wait(cx, asked, payload.time, sink);
}

/// Whether another may have given a challenge in the asked one's stead: that one has said nothing so
/// far, or owes an answer that may be a challenge.
fn may_be_given_by_another(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let open = |request| Answer::Challenge.is_for(request);
    let waits = |asked: &Asked| asked.mark.get().side == payload.side && open(asked.request);
    !cx.flow.seen[payload.side.other().index()]
        || cx.talk.waiting().any(waits)
        || cx.talk.missed().is_some_and(open)
}

fn standing(
    cx: &Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Standing {
    let Some(challenge) = challenge else { return Standing::Absent };
    if challenge.value == -1 {
        return Standing::Asking;
    }
    let client = payload.from.ip();
    let known = cx.book.issued.contains(&issued(client, payload.to, challenge.value));
    match known {
        Some(true) => Standing::Issued,
        _ if challenge.value == 0 => Standing::Zero,
        None => Standing::Unknown,
        Some(false) => match cx.book.blurred.contains(&between(client, payload.to)) {
            Some(false) => Standing::NeverIssued,
            _ => Standing::Unknown,
        },
    }
}

/// A client and a server.
fn between(client: IpAddr, server: SocketAddr) -> (Host, Socket) {
    (Host(client), Socket(server))
}

/// That a server gave a challenge to an address. Challenges are bound to addresses, not to ports.
fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
}

/// One more request waits; with too many, the oldest is given up. Who asks again for what may have
/// been answered has seen no answer in what came, or wants a new one.
fn wait<S: Sink>(cx: &mut Context<'_, A2s>, asked: Asked, now: Time, sink: &mut S) {
    let same = |other: &Asked| {
        other.owed == Owed::NoMore
            && other.request == asked.request
            && other.mark.get().side == asked.mark.get().side
    };
    let repeated = cx.talk.waiting().position(same);
    if let Some(at) = repeated {
        cx.talk.take(at);
    }
    if cx.talk.waiting().count() >= cx.settings.limits.pending.max(1) {
        cx.budget.meet(Limit::Pending);
        // What is given up before its time is not judged.
        let is_due = |asked: &Asked| now.since(asked.mark.get().time) >= cx.settings.answer_timeout;
        if cx.talk.asked.as_ref().is_some_and(is_due) {
            give_up(cx, now, sink);
        } else {
            cx.talk.spill();
        }
    }
    cx.talk.push(asked);
}

fn answer<S: Sink>(
    cx: &mut Context<'_, A2s>,
    answer: Answer,
    said: &Said,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let (from, now, timeout) = (payload.side, payload.time, cx.settings.answer_timeout);
    cx.talk.learn(said);
    if answer == Answer::Other {
        cx.talk.answered_somehow(from, now, timeout);
        expire(cx, now, false, sink);
        return;
    }
    let copy = cx.talk.repeats(payload);
    let best = cx.talk.best(|asked| answer.fits(asked), from, now, timeout);
    let mut server = payload.from;
    match best {
        Some((1.., at))
            if answer == Answer::Players
                && cx.talk.tally.get(Count::Players) > 0
                && may_be_info(cx, at) =>
        {
            unexpected(cx, (answer, said.challenge), copy, payload, sink);
        }
        // The first one came while this request waited, and was another's.
        Some((1.., at)) if copy && cx.talk.at(at).is_some_and(|asked| asked.is(PASSED_OVER)) => {
            unexpected(cx, (answer, said.challenge), copy, payload, sink);
        }
        Some((_, at)) => {
            cx.book.waiting.remove(payload);
            if let Some(asked) = take_answered(cx, at, said.challenge, payload) {
                heard(cx, &asked, answer, payload, sink);
            }
        }
        None => {
            server = unexpected(cx, (answer, said.challenge), copy, payload, sink).unwrap_or(server)
        }
    }
    if answer == Answer::Challenge {
        remember(cx, said.challenge, payload, server, sink);
    }
    expire(cx, now, false, sink);
}

/// Whether a list may be a hybrid server's answer to info, though this request for one waits without
/// a good challenge: then that waits on. Where the capture lacks the beginning, a challenge may be
/// good that was not seen.
fn may_be_info(cx: &mut Context<'_, A2s>, at: usize) -> bool {
    let began = cx.flow.began;
    match cx.talk.at(at) {
        Some(asked) if began || asked.standing != Standing::NeverIssued => {
            asked.owed = Owed::NoMore;
            true
        }
        _ => false,
    }
}

/// Takes the request that was answered. A challenge that was given before may be a late copy, even
/// where a request with it waits: that one waits on, but is owed nothing more.
fn take_answered(
    cx: &mut Context<'_, A2s>,
    at: usize,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Option<Asked> {
    let known = |challenge: Read<i32>| {
        let fact = issued(payload.to.ip(), payload.from, challenge.value);
        cx.book.issued.contains(&fact) == Some(true)
    };
    let asked = cx.talk.at(at)?;
    if asked.standing == Standing::Issued && challenge.is_some_and(known) {
        asked.owed = Owed::NoMore;
        return Some(*asked);
    }
    cx.talk.take(at)
}

/// A challenge was given: by an endpoint, and, if that is another, in the name of the one asked.
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
                cx.book.issued.insert(&issued(client, server, challenge.value), most);
            }
            None => cx.book.blurred.insert(&between(client, server), most),
        }
    }
    if let Some(challenge) = challenge {
        sink.fact(kit::Fact::Challenged(challenge.value as u32), payload.seen());
    }
}

/// A request was answered.
fn heard<S: Sink>(
    cx: &mut Context<'_, A2s>,
    asked: &Asked,
    answer: Answer,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let talk = &mut *cx.talk;
    talk.flags |= FOLLOWED;
    let rounds = rounds(&mut talk.tally, asked, answer);
    if matches!(answer, Answer::Players | Answer::Rules) && answer.fits(asked) == Some(0) {
        talk.pass_over(answer);
    }
    let explained = matches!(answer, Answer::Info | Answer::ObsoleteInfo)
        && talk.informed(answer, Quarter::of(payload.time, cx.settings.answer_timeout));
    if asked.request != Request::Info && asked.is(BEHIND_INFO) {
        talk.tally.clear(&Count::FORMS);
    }
    let guarded = asked.request != Request::Info || talk.has(GUARDED);
    rules::exchange(&Fact::Answered { asked, answer, rounds, guarded }, KIND, sink);
    if (asked.request, answer) == (Request::Info, Answer::Challenge) {
        cx.talk.flags |= GUARDED;
    }
    if explained {
        rules::exchange(&Fact::Again { answer: Answer::Players }, KIND, sink);
    }
    match asked.standing {
        _ if answer == Answer::Challenge => {}
        Standing::Issued => rules::own_challenge(KIND, sink),
        Standing::NeverIssued | Standing::Unknown => {
            let told = Told::of(payload, cx.flow.evidence(), None);
            rules::accepted(asked, &told, guarded, KIND, sink);
        }
        Standing::Absent | Standing::Asking | Standing::Zero => {
            sink.reflects(asked.request.name(), asked.mark.get().length, payload);
        }
    }
}

/// How often in a row a valid challenge was answered by another, this answer included.
fn rounds(tally: &mut Tally, asked: &Asked, answer: Answer) -> u8 {
    let Some(count) = Count::rounds(asked.request) else { return 0 };
    let before = tally.get(count);
    if answer != Answer::Challenge {
        tally.clear(&[count]);
        return 0;
    }
    if asked.standing != Standing::Issued {
        return before;
    }
    tally.add(count);
    before + 1
}

/// An answer came that fits no request of the flow. `Some`: another endpoint was asked.
fn unexpected<S: Sink>(
    cx: &mut Context<'_, A2s>,
    (answer, challenge): (Answer, Option<Read<i32>>),
    copy: bool,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<SocketAddr> {
    let talk = &mut *cx.talk;
    if Count::form(answer).is_some_and(|form| talk.tally.spend(form)) {
        rules::exchange(&Fact::Again { answer }, KIND, sink);
        if answer == Answer::ObsoleteInfo && talk.explain() {
            rules::exchange(&Fact::Again { answer: Answer::Players }, KIND, sink);
        }
        return None;
    }
    if talk.missed().is_some_and(|request| answer.is_for(request)) {
        talk.set_missed(None);
        return None;
    }
    if talk.take_given_up() {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
        rules::exchange(&Fact::Unasked { answer, elsewhere: None }, KIND, sink);
        return None;
    }
    if !copy && answered_wrongly(cx, answer, payload, sink) {
        return None;
    }
    if !cx.talk.was_asked(payload.side)
        && let Some(asked) = cx.book.waiting.elsewhere(payload, answer, cx.settings)
    {
        let from = payload.from;
        rules::exchange(&Fact::Elsewhere { answer, asked, from }, KIND, sink);
        return Some(asked);
    }
    let elsewhere = (!cx.talk.was_asked(payload.side))
        .then(|| Told::of(payload, cx.flow.evidence(), challenge.map(|it| it.value)));
    rules::exchange(&Fact::Unasked { answer, elsewhere }, KIND, sink);
    None
}

/// Whether an answer came instead of what was asked for; or a player list of which the rest of the
/// exchange will tell what it is.
fn answered_wrongly<S: Sink>(
    cx: &mut Context<'_, A2s>,
    answer: Answer,
    payload: &Payload<'_>,
    sink: &mut S,
) -> bool {
    let talk = &mut *cx.talk;
    let at = talk.first_due(payload.side, payload.time, cx.settings.answer_timeout);
    let due = at.and_then(|at| talk.at(at)).map(|asked| asked.request);
    let hybrid = match due {
        Some(request) => request == Request::Info,
        None => talk.tally.get(Count::ObsoleteInfo) > 0,
    };
    if answer == Answer::Players && hybrid && talk.stray().is_none() {
        if let Some(asked) = at.and_then(|at| talk.at(at)) {
            asked.owed = Owed::NoMore;
        }
        let stray = Stray { mark: payload.mark().into(), instead: due.is_some() };
        *talk.stray() = Some(stray);
        return true;
    }
    let Some(asked) = at.and_then(|at| talk.take(at)) else { return false };
    cx.book.waiting.remove(payload);
    rules::exchange(&Fact::Other { asked: &asked, answer }, KIND, sink);
    true
}

/// Gives the oldest request up.
fn give_up<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    let Some(asked) = cx.talk.take(0) else { return };
    let server = asked.mark.get().side.other();
    let [client_end, server_end] = cx.flow.ends_from(server.other());
    let frame = asked.mark.get().frame;
    if asked.owed == Owed::NoMore {
        return;
    }
    if cx.book.waiting.was_answered_elsewhere(client_end, server_end, frame) {
        rules::exchange(&Fact::Moved { asked: &asked }, KIND, sink);
        return;
    }
    cx.talk.set_missed(Some(asked.request));
    let mark = asked.mark.get();
    let evidence = Evidence {
        began: cx.flow.began,
        lossy: cx.flow.lossy,
        asked_party_seen: cx.flow.seen[server.index()],
        waited: now.since(mark.time) >= cx.settings.answer_timeout,
        ..Evidence::default()
    };
    let challenge = asked.is(FOREIGN).then_some(asked.challenge as u32);
    let seen = kit::Seen { mark, from: client_end, to: server_end };
    let told = Told { seen, evidence, challenge };
    rules::exchange(&Fact::Overdue { asked: &asked, told }, KIND, sink);
}

/// Gives up what is overdue, or with `end` all. What is owed waits on while its answer is on its
/// way, and while nothing of the asked party is in the capture: it may turn up yet.
pub(super) fn expire<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    while let Some(asked) = &cx.talk.asked {
        let server = asked.mark.get().side.other();
        let seen = cx.flow.seen[server.index()];
        let coming = cx.talk.parts_so_far().is_some_and(|parts| parts.is_coming(server));
        let overdue = now.since(asked.mark.get().time) >= cx.settings.answer_timeout;
        if !end && (!overdue || asked.owed == Owed::Yes && (!seen || coming)) {
            break;
        }
        give_up(cx, now, sink);
    }
    let timeout = cx.settings.answer_timeout;
    let is_over = |stray: &Stray| end || now.since(stray.mark.get().time) >= timeout;
    if let Some(stray) = cx.talk.take_stray(is_over) {
        let (mark, evidence) = (stray.mark.get(), cx.flow.evidence());
        rules::exchange(&Fact::Stray { mark, instead: stray.instead, evidence }, KIND, sink);
    }
}
