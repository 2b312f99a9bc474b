//! The conversation of one flow: who asks, what waits for an answer, which challenges were given.
//! It makes [`Fact`]s and knows no rules.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;

use super::decode::{self, Known, Said};
use super::facts::{Answer, Asked, Fact, Request, Standing};
use super::layout::{Layout, SINGLE, SPLIT};
use super::parts::{self, Parts};
use super::split::Spare;
use super::waiting::Waiting;
use super::{A2s, rules};
use crate::kit::{
    self, Context, Evidence, Host, Limit, Payload, Read, Recent, Side, Sink, Socket, Span, Time,
    room,
};

/// What one flow is up to.
#[derive(Default)]
pub struct Talk {
    /// The oldest request that waits.
    asked: Option<Asked>,
    /// What most flows never have.
    more: Option<Box<More>>,
    /// The game that the server said it runs. 0 names none.
    app_id: Option<NonZeroU16>,
    /// The layout that the server's info speaks for.
    expected: Option<Layout>,
    /// The layout of its last split answer.
    used: Option<Layout>,
    /// How often in a row a valid challenge was answered by another.
    rounds: u8,
    /// Bits: see [`Talk::has`].
    flags: u16,
}

#[derive(Default)]
struct More {
    waiting: Vec<Asked>,
    parts: Parts,
}

/// [`Side::First`] has asked; the next bit says so of the other.
const ASKED: u16 = 1;
/// The last info request was answered by 'I'.
const INFO: u16 = 4;
/// By 'm'.
const OBSOLETE_INFO: u16 = 8;
/// By 'D', as some hybrid servers do.
const PLAYERS: u16 = 16;
/// A challenge was given that the recording lost.
const BLURRED: u16 = 32;
/// A message was seen.
const BEGAN: u16 = 64;
/// The first datagram was no packet of the document: only the user's word makes it A2S.
const FORCED: u16 = 128;
/// The client has sent one request.
const ONCE: u16 = 256;
/// And more.
const MORE: u16 = 512;
/// The last answer was a challenge.
const CHALLENGED: u16 = 1024;

/// What spans the flows between two hosts.
#[derive(Default)]
pub struct Book {
    /// Challenges given: to which address, by which server.
    issued: Recent,
    /// Who waits for an answer of which host.
    pub(super) waiting: Waiting,
    /// For the next split answer.
    pub(super) spare: Spare,
}

impl Talk {
    const fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    const fn asks(side: Side) -> u16 {
        match side {
            Side::First => ASKED,
            Side::Second => ASKED << 1,
        }
    }

    /// Whether a message travels toward a server: from who asks to who does not. Before anybody
    /// has asked, the ports tell.
    fn is_toward_server(&self, payload: &Payload<'_>) -> bool {
        let asked = |side| self.has(Talk::asks(side));
        match (asked(payload.side), asked(payload.side.other())) {
            (false, false) => {
                !super::is_usual(payload.from.port()) && super::is_usual(payload.to.port())
            }
            (from, to) => from && !to,
        }
    }

    /// What the server's packets are known to look like.
    pub(super) fn layout(&self) -> Option<Layout> {
        self.used.or(self.expected)
    }

    /// The layout of the last split answer; it is this one from now on.
    pub(super) fn split_in(&mut self, layout: Layout) -> Option<Layout> {
        self.used.replace(layout)
    }

    pub(super) fn known(&self, split: bool, toward_server: bool) -> Known {
        Known { app_id: self.app_id.map(NonZeroU16::get), split, toward_server }
    }

    /// The split answers of the flow.
    pub(super) fn parts(&mut self) -> &mut Parts {
        &mut self.more.get_or_insert_default().parts
    }

    /// The split answers of the flow, if there ever was one.
    pub(super) fn parts_so_far(&self) -> Option<&Parts> {
        self.more.as_ref().map(|more| &more.parts)
    }

    pub(super) fn held(&self) -> usize {
        let held = |more: &More| size_of::<More>() + room(&more.waiting) + more.parts.held();
        self.more.as_deref().map_or(0, held)
    }

    fn waiting(&self) -> impl Iterator<Item = &Asked> {
        self.asked.iter().chain(self.more.iter().flat_map(|more| &more.waiting))
    }

    /// Whether this side was ever seen to be asked.
    pub(super) const fn was_asked(&self, side: Side) -> bool {
        self.has(Talk::asks(side.other()))
    }

    /// Whether somebody waits for an answer from this side, or nobody was ever seen to ask.
    pub(super) fn awaits(&self, from: Side) -> bool {
        !self.was_asked(from) || self.waiting().any(|asked| asked.mark.get().side != from)
    }

    fn take(&mut self, at: usize) -> Option<Asked> {
        let more = self.more.as_mut().map(|more| &mut more.waiting);
        match (at, more) {
            (0, more) => {
                let next = more.filter(|more| !more.is_empty()).map(|more| remove(more, 0));
                std::mem::replace(&mut self.asked, next)
            }
            (at, Some(more)) if at <= more.len() => Some(remove(more, at - 1)),
            _ => None,
        }
    }

    /// Takes the request that this answers best: of those that are not overdue the oldest, else
    /// the latest.
    fn answered(&mut self, answer: Answer, from: Side, now: Time, timeout: i64) -> Option<Asked> {
        let fits = |(at, asked): (usize, &Asked)| {
            if asked.mark.get().side == from {
                return None;
            }
            let late = now.since(asked.mark.get().time) >= timeout;
            let place = if late { usize::MAX - at } else { at };
            answer.fits(asked).map(|fit| ((late, fit, place), at))
        };
        let (_, at) = self.waiting().enumerate().filter_map(fits).min_by_key(|fit| fit.0)?;
        self.take(at)
    }

    /// Takes the oldest request that is not overdue, whatever it asked for.
    fn answered_wrongly(&mut self, from: Side, now: Time, timeout: i64) -> Option<Asked> {
        let at = self.waiting().position(|asked| {
            asked.mark.get().side != from && now.since(asked.mark.get().time) < timeout
        })?;
        self.take(at)
    }

    /// An answer came of which too little can be read to say what it answers.
    pub(super) fn answered_somehow(&mut self, from: Side, now: Time, timeout: i64) {
        let _ = self.answered(Answer::Other, from, now, timeout);
    }

    /// What info says of the server's split packets: engines before Orange Box have no Size.
    fn learn(&mut self, said: &Said) {
        let Some(protocol) = said.protocol else { return };
        self.app_id = said.app_id.and_then(NonZeroU16::new).or(self.app_id);
        self.expected = match (said.kind, said.app_id, protocol) {
            (b'm', ..) | (_, _, 48) => Some(Layout::GoldSrc),
            (_, Some(215 | 17550 | 17700 | 240), 7) => Some(Layout::Source),
            _ => self.expected,
        };
    }
}

/// One datagram of the flow.
pub(super) fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
    let toward_server = cx.talk.is_toward_server(payload);
    let bytes = payload.bytes;
    if bytes.starts_with(&SPLIT) {
        cx.talk.flags |= BEGAN;
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
        if !cx.talk.has(BEGAN) {
            cx.talk.flags |= FORCED;
        }
        let due = cx.talk.waiting().any(|asked| {
            asked.mark.get().side != payload.side
                && payload.time.since(asked.mark.get().time) < cx.settings.answer_timeout
        });
        if !due && !cx.talk.has(FORCED) {
            return;
        }
        decode::stray(bytes, sink)
    };
    cx.talk.flags |= BEGAN;
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
    cx.talk.flags &= !(INFO | OBSOLETE_INFO | PLAYERS | CHALLENGED);
    cx.talk.flags |= if cx.talk.has(ONCE) { MORE } else { ONCE };
    let standing = standing(cx, said.challenge, payload);
    let mark = payload.mark();
    rules::exchange(&Fact::Sent { challenge: said.challenge, standing, mark }, KIND, sink);
    let ignored = matches!(request, Request::Challenge | Request::Ping);
    let asked = Asked {
        mark: mark.into(),
        challenge: said.challenge.map_or(-1, |challenge| challenge.value),
        request,
        standing,
        owed: said.whole && standing != Standing::NeverIssued && !ignored,
    };
    cx.book.waiting.insert(payload, asked.request, cx.settings);
    wait(cx, asked, payload.time, sink);
}

fn standing(
    cx: &Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
) -> Standing {
    let Some(challenge) = challenge else { return Standing::Absent };
    match challenge.value {
        -1 => return Standing::Asking,
        0 => return Standing::Zero,
        _ => {}
    }
    let fact = issued(payload.from.ip(), payload.to, challenge.value);
    match cx.book.issued.contains(&fact) {
        Some(true) => Standing::Issued,
        Some(false) if !cx.talk.has(BLURRED) => Standing::NeverIssued,
        _ => Standing::Unknown,
    }
}

/// That a server gave a challenge to an address. Challenges are bound to addresses, not to ports.
fn issued(client: IpAddr, server: SocketAddr, challenge: i32) -> (Host, Socket, i32) {
    (Host(client), Socket(server), challenge)
}

/// Takes a request out of a list, which holds no memory when it is empty.
fn remove(waiting: &mut Vec<Asked>, at: usize) -> Asked {
    let asked = waiting.remove(at);
    if waiting.is_empty() {
        *waiting = Vec::new();
    }
    asked
}

/// One more request waits; with too many, the oldest is given up.
fn wait<S: Sink>(cx: &mut Context<'_, A2s>, asked: Asked, now: Time, sink: &mut S) {
    if cx.talk.asked.is_none() {
        cx.talk.asked = Some(asked);
        return;
    }
    if cx.talk.waiting().count() >= cx.settings.limits.pending.max(1) {
        cx.budget.meet(Limit::Pending);
        give_up(cx, now, sink);
    }
    cx.talk.more.get_or_insert_default().waiting.push(asked);
}

fn answer<S: Sink>(
    cx: &mut Context<'_, A2s>,
    answer: Answer,
    said: &Said,
    payload: &Payload<'_>,
    sink: &mut S,
) {
    let timeout = cx.settings.answer_timeout;
    cx.talk.learn(said);
    let asked = cx.talk.answered(answer, payload.side, payload.time, timeout);
    let mut server = payload.from;
    if let Some(asked) = &asked {
        cx.book.waiting.remove(payload);
        heard(cx, asked, answer, payload, sink);
    } else if answer != Answer::Other {
        server = unexpected(cx, answer, payload, sink).unwrap_or(server);
    }
    if answer == Answer::Challenge {
        remember(cx, said.challenge, payload, server, sink);
    }
    expire(cx, payload.time, false, sink);
}

/// A challenge was given: by an endpoint, and, if that is another, in the name of the one asked.
fn remember<S: Sink>(
    cx: &mut Context<'_, A2s>,
    challenge: Option<Read<i32>>,
    payload: &Payload<'_>,
    asked: SocketAddr,
    sink: &mut S,
) {
    cx.talk.flags |= CHALLENGED;
    let Some(challenge) = challenge else {
        cx.talk.flags |= BLURRED;
        return;
    };
    sink.fact(kit::Fact::Challenged(challenge.value as u32), payload.seen());
    let (client, most) = (payload.to.ip(), cx.settings.limits.remembered);
    cx.book.issued.insert(&issued(client, payload.from, challenge.value), most);
    if asked != payload.from {
        cx.book.issued.insert(&issued(client, asked, challenge.value), most);
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
    if answer == Answer::Other {
        return;
    }
    let talk = &mut *cx.talk;
    if answer != Answer::Challenge {
        talk.rounds = 0;
    } else if asked.standing == Standing::Issued {
        talk.rounds = talk.rounds.saturating_add(1);
    }
    match answer {
        Answer::Info => talk.flags |= INFO,
        Answer::ObsoleteInfo => talk.flags |= OBSOLETE_INFO,
        _ => {}
    }
    rules::exchange(&Fact::Answered { asked, answer, rounds: talk.rounds }, KIND, sink);
    rules::answered_asker(KIND, sink);
    match asked.standing {
        _ if answer == Answer::Challenge => {}
        Standing::Issued => rules::own_challenge(KIND, sink),
        Standing::NeverIssued | Standing::Unknown => {
            sink.fact(kit::Fact::Accepted(asked.challenge as u32), payload.seen());
        }
        Standing::Absent | Standing::Asking | Standing::Zero => {}
    }
}

/// An answer came that fits no request of the flow. `Some`: another endpoint was asked.
fn unexpected<S: Sink>(
    cx: &mut Context<'_, A2s>,
    answer: Answer,
    payload: &Payload<'_>,
    sink: &mut S,
) -> Option<SocketAddr> {
    let talk = &mut *cx.talk;
    let again: u16 = match answer {
        Answer::Info if talk.has(OBSOLETE_INFO) => INFO,
        Answer::ObsoleteInfo if talk.has(INFO) => OBSOLETE_INFO,
        Answer::Players if talk.has(OBSOLETE_INFO) => PLAYERS,
        _ => 0,
    };
    if again != 0 && !talk.has(again) {
        talk.flags |= again;
        rules::exchange(&Fact::Again { answer }, KIND, sink);
        return None;
    }
    let (now, timeout) = (payload.time, cx.settings.answer_timeout);
    if let Some(asked) = talk.answered_wrongly(payload.side, now, timeout) {
        cx.book.waiting.remove(payload);
        rules::exchange(&Fact::Other { asked: &asked, answer }, KIND, sink);
        return None;
    }
    if !talk.was_asked(payload.side)
        && let Some(asked) = cx.book.waiting.elsewhere(payload, answer, cx.settings)
    {
        let from = payload.from;
        rules::exchange(&Fact::Elsewhere { answer, asked, from }, KIND, sink);
        return Some(asked);
    }
    if !cx.talk.was_asked(payload.side) {
        sink.fact(kit::Fact::Unasked, payload.seen());
    }
    rules::exchange(&Fact::Unasked { answer }, KIND, sink);
    None
}

/// Gives the oldest request up.
fn give_up<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, sink: &mut S) {
    let Some(asked) = cx.talk.take(0) else { return };
    let server = asked.mark.get().side.other();
    let [client_end, server_end] = match server {
        Side::First => [cx.flow.ends[1], cx.flow.ends[0]],
        Side::Second => cx.flow.ends,
    };
    let frame = asked.mark.get().frame;
    if !asked.owed || cx.book.waiting.was_answered_elsewhere(client_end, server_end, frame) {
        return;
    }
    let evidence = Evidence {
        began: cx.flow.began,
        asked_party_seen: cx.flow.seen[server.index()],
        waited: now.since(asked.mark.get().time) >= cx.settings.answer_timeout,
        ..Evidence::default()
    };
    rules::exchange(&Fact::Overdue { asked: &asked, evidence }, KIND, sink);
}

/// Gives up what is overdue, or with `end` all. What is owed waits on while its answer is on its
/// way, and while nothing of the asked party is in the capture: it may turn up yet.
pub(super) fn expire<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
    while let Some(asked) = &cx.talk.asked {
        let server = asked.mark.get().side.other();
        let seen = cx.flow.seen[server.index()];
        let coming = cx.talk.parts_so_far().is_some_and(|parts| parts.is_coming(server));
        let overdue = now.since(asked.mark.get().time) >= cx.settings.answer_timeout;
        if !end && (!overdue || asked.owed && (!seen || coming)) {
            return;
        }
        give_up(cx, now, sink);
    }
}

/// The flow has ended. A client that was given a challenge after its only packet, and went away,
/// may be nobody: its address was forged.
pub(super) fn ended<S: Sink>(cx: &Context<'_, A2s>, now: Time, sink: &mut S) {
    let talk = &*cx.talk;
    if !talk.has(ONCE) || talk.has(MORE) || !talk.has(CHALLENGED) {
        return;
    }
    let [client, server] =
        if talk.has(ASKED) { cx.flow.ends } else { [cx.flow.ends[1], cx.flow.ends[0]] };
    let side = if talk.has(ASKED) { Side::Second } else { Side::First };
    let mark = kit::Mark { frame: 0, time: now, length: 0, side };
    sink.fact(kit::Fact::Unused, kit::Seen { mark, from: server, to: client });
}
