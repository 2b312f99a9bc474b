//! The conversation of one flow: who asks, what waits for an answer, which challenges were given.
//! It makes [`Fact`]s and knows no rules.

use std::net::{IpAddr, SocketAddr};

use super::asked::{Asked, BEHIND_INFO, FOREIGN, Owed, PASSED_OVER, REFUSED};
use super::decode::{self, Said};
use super::facts::{Answer, Fact, Request, Standing, Told};
use super::layout::{SINGLE, SPLIT};
use super::repeats::{take_answered, wait};
use super::state::{Book, FOLLOWED, FORCED, GUARDED, Stray, Talk};
use super::tally::{Count, Quarter, Tally};
use super::{A2s, rules};
use super::{claim, parts};
use crate::kit::{self, Context, Evidence, Host, Payload, Read, Sink, Socket, Span, Time};

/// One datagram of the flow.
pub(super) fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    cx.talk.forget_forms(payload.time, cx.flow.silence, cx.settings.answer_timeout);
    let toward_server = is_toward_server(cx, payload);
    let bytes = payload.bytes;
    if bytes.starts_with(&SPLIT) {
        cx.talk.began = true;
        parts::message(cx, payload, toward_server, sink);
        return;
    }
    let said = if is_message(cx.talk, payload, toward_server) {
        let known = decode::Known { lost: payload.lost, ..cx.talk.known(false, toward_server) };
        let mut said = decode::message(bytes, known, sink);
        rules::packet_size(bytes.len(), sink);
        if toward_server && bytes.len() <= SINGLE.len() {
            cx.talk.tally.add(Count::Runts);
        }
        said.whole &= bytes.starts_with(&SINGLE);
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

/// A datagram that was doubled on the way, only to be shown.
pub(super) fn again<S: Sink>(cx: &Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    let toward_server = is_toward_server(cx, payload);
    if payload.bytes.starts_with(&SPLIT) {
        parts::again(cx, payload, toward_server, sink);
        return;
    }
    let said = if is_message(cx.talk, payload, toward_server) {
        decode::message(payload.bytes, cx.talk.known(false, toward_server), sink)
    } else if cx.talk.has(FORCED) {
        decode::stray(payload.bytes, sink)
    } else {
        return;
    };
    sink.end(said.message, payload);
}

/// Whether a datagram travels toward a server. Where nobody asks on its flow, what was said on others
/// tells, of what no honest client sends.
fn is_toward_server(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let suspicious = payload.bytes.len() <= SINGLE.len() || payload.bytes.starts_with(&SPLIT);
    cx.talk.is_toward_server(payload)
        || suspicious && cx.talk.is_guessed() && is_served(cx.book, payload)
}

/// Whether a datagram is a single packet, in spite of its header say, or the beginning of one toward a
/// server. An empty one counts among such.
fn is_message(talk: &Talk, payload: &Payload<'_>, toward_server: bool) -> bool {
    let bytes = payload.bytes;
    let is_runt = || {
        claim::is_runt(bytes) || bytes.is_empty() && talk.began && talk.tally.get(Count::Runts) > 0
    };
    bytes.starts_with(&SINGLE)
        || toward_server && is_runt()
        || !talk.was_asked(payload.side) && talk.began && claim::is_request_behind(bytes)
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
        mark,
        began: payload.time,
        challenge: said.challenge.map_or(-1, |challenge| challenge.value),
        request,
        standing,
        owed: if owed { Owed::Yes } else { Owed::No },
        past: if cx.talk.has_forms() { BEHIND_INFO } else { 0 }
            | if is_foreign { FOREIGN } else { 0 },
        tries: 1,
        left: 1,
    };
    cx.book.waiting.insert(payload, asked.request, cx.settings);
    wait(cx, asked, payload.time, sink);
}

/// Whether another may have given a challenge in the asked one's stead: that one has said nothing so
/// far, or owes an answer that may be a challenge.
fn may_be_given_by_another(cx: &Context<'_, A2s>, payload: &Payload<'_>) -> bool {
    let open = |request| Answer::Challenge.is_for(request);
    let waits = |asked: Asked| {
        asked.mark.side == payload.side && !asked.was_answered() && open(asked.request)
    };
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
pub(super) fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
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
    let copy = cx.talk.repeats(payload, &cx.book.seed);
    let guarded = cx.talk.has(GUARDED);
    let challenge = answer == Answer::Challenge;
    let fits = |asked: &Asked| answer.fits(asked, guarded);
    let best = cx.talk.best(fits, challenge, from, now, timeout);
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
            if let Some(asked) = take_answered(cx, at, answer, said.challenge, payload) {
                if !asked.was_answered() {
                    cx.book.waiting.remove(payload);
                }
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
            cx.talk.may_be_answered(at);
            true
        }
        _ => false,
    }
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
    sink.answers(asked.reply(asked.is_complete(answer)));
    serve(cx, payload);
    let talk = &mut *cx.talk;
    talk.flags |= FOLLOWED;
    let again = asked.was_answered();
    let rounds = if again { 0 } else { rounds(&mut talk.tally, asked, answer) };
    let list = matches!(answer, Answer::Players | Answer::Rules);
    if list && answer.fits(asked, talk.has(GUARDED)) == Some(0) {
        talk.pass_over(answer);
    }
    let explained = matches!(answer, Answer::Info | Answer::ObsoleteInfo)
        && talk.informed(answer, Quarter::of(payload.time, cx.settings.answer_timeout));
    if asked.request != Request::Info && asked.is(BEHIND_INFO) {
        talk.tally.clear(&Count::FORMS);
    }
    let guarded = asked.request != Request::Info || talk.has(GUARDED);
    rules::exchange(&Fact::Answered { asked, answer, rounds, guarded, again }, KIND, sink);
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
            sink.reflects(asked.request.name(), asked.mark.length, payload);
        }
    }
}

/// A server has answered: what is sent there by the same host is for a server.
fn serve(cx: &mut Context<'_, A2s>, payload: &Payload<'_>) {
    if !cx.talk.has(FOLLOWED) {
        let most = cx.settings.limits.remembered;
        cx.book.served.insert(&between(payload.to.ip(), payload.from), most);
    }
}

/// Whether an endpoint is known to this host as a server.
pub(super) fn is_served(book: &Book, payload: &Payload<'_>) -> bool {
    book.served.contains(&between(payload.from.ip(), payload.to)) == Some(true)
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
        if let Some(asked) = talk.informed_of(payload.side) {
            sink.answers(asked.reply(true));
        }
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
        if let Some(at) = at {
            talk.may_be_answered(at);
        }
        let stray = Stray { mark: payload.mark().into(), instead: due.is_some() };
        *talk.stray() = Some(stray);
        return true;
    }
    let Some(asked) = at.and_then(|at| talk.take(at)) else { return false };
    cx.book.waiting.remove(payload);
    sink.answers(asked.reply(false));
    rules::exchange(&Fact::Other { asked: &asked, answer }, KIND, sink);
    true
}

/// Gives the oldest request up.
pub(super) fn give_up<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    let Some(asked) = cx.talk.take(0) else { return };
    let server = asked.mark.side.other();
    let [client_end, server_end] = cx.flow.ends_from(server.other());
    let frame = asked.mark.frame;
    if matches!(asked.owed, Owed::NoMore | Owed::Answered) {
        return;
    }
    if cx.book.waiting.was_answered_elsewhere(client_end, server_end, frame) {
        rules::exchange(&Fact::Moved { asked: &asked }, KIND, sink);
        return;
    }
    cx.talk.set_missed(Some(asked.request));
    let mark = asked.mark;
    let evidence = Evidence {
        began: cx.flow.began,
        lossy: cx.flow.lossy,
        asked_party_seen: cx.flow.seen[server.index()],
        waited: now.since(asked.mark.time) >= cx.settings.answer_timeout,
        refused: asked.is(REFUSED),
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
    while let Some(asked) = cx.talk.at(0) {
        let server = asked.mark.side.other();
        let seen = cx.flow.seen[server.index()];
        let coming = cx.talk.parts_so_far().is_some_and(|parts| parts.is_coming(server));
        let overdue = now.since(asked.mark.time) >= cx.settings.answer_timeout;
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
