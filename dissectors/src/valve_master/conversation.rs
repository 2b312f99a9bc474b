//! The state of one flow. It passes messages to the listing and the registration, and their results to
//! the rules.

use crate::kit::{
    Answer, Clock, Context, CrossFlowEvent, Evidence, Exchanges, FlowState, ListRules, Mark,
    NewFor, OnDemand, Payload, Protocol, Request, RequestFlags, ResponseDue, SeenMessage, Sending,
    Sink, Span, Time, is_private,
};

use super::ValveMaster;
use super::claim::has_broken_header;
use super::decode::{self, DecodeContext, MessageSummary};
use super::endpoint::{Endpoint, ZERO};
use super::filter::WantedAddresses;
use super::info_keys::{Engine, InfoSummary};
use super::listing::{Listing, QueryPosition, ReplyMatch, first_query};
use super::messages::{CHALLENGE_RESPONSE, JOIN, QUERY};
use super::pending::{Asked, Query, ServerChallenge};
use super::registration::{ChallengeReason, Claimed, JoinResult, Registration, first_join};
use super::reply::{BLOCK, ReplySummary};
use super::rules;
use super::shared::{FIRST_PAGE, ListingOutcome, WaitsFor, WantedReply};

/// The state of one flow. Most flows of a flood have one message, which is stored inline.
#[derive(Default)]
pub struct Conversation {
    /// What waits for a response.
    requests: Exchanges<Asked>,
    roles: OnDemand<Roles>,
}

/// What the sender of more than one message is: a client that lists servers, a server that registers, or both.
#[derive(Default)]
struct Roles {
    listing: OnDemand<Listing>,
    registration: OnDemand<Registration>,
}

impl FlowState for Conversation {
    fn held(&self) -> usize {
        let roles = |roles: &Roles| {
            roles.listing.held(Listing::held) + roles.registration.held(Registration::held)
        };
        self.requests.held() + self.roles.held(roles)
    }

    fn refused(&mut self, frame: u64) {
        self.requests.refused(frame);
    }
}

impl Conversation {
    fn is_silent(&self) -> bool {
        self.requests.is_empty() && self.roles.is_none()
    }

    fn listing_so_far(&self) -> Option<&Listing> {
        self.roles.get()?.listing.get()
    }

    /// The listing, and what waits.
    fn listing(&mut self) -> (&mut Listing, &mut Exchanges<Asked>) {
        let Conversation { requests, roles } = self;
        let listing = &mut roles.get_or_default().listing;
        (listing.get_or_insert_with(|| Listing::of(requests)), requests)
    }

    /// The registration, and what waits.
    fn registration(&mut self) -> (&mut Registration, &mut Exchanges<Asked>) {
        let Conversation { requests, roles } = self;
        let registration = &mut roles.get_or_default().registration;
        (registration.get_or_insert_with(|| Registration::of(requests)), requests)
    }

    /// The latest query, and its packet.
    fn latest_query(&self) -> Option<(Query, Mark)> {
        self.listing_so_far().map_or_else(|| first_query(&self.requests), Listing::latest)
    }

    fn known(&self, payload: &Payload<'_>) -> DecodeContext {
        // The reply may repeat the challenge of an earlier join that still waits.
        let repeated = payload.bytes.get(10..14).and_then(|bytes| bytes.first_chunk().copied());
        let registration = self.roles.get().and_then(|roles| roles.registration.get());
        let server_challenge = match (registration, repeated) {
            (Some(joined), Some(repeated)) if joined.has_sent(repeated) => Some(Some(repeated)),
            (Some(joined), _) => joined.server_challenge(),
            (None, _) => first_join(&self.requests).and_then(|(sent, _)| sent),
        };
        let key = self.latest_query().and_then(|(query, _)| query.key);
        let [key, server_challenge] =
            [key, server_challenge].map(|sent| sent.map(|sent| sent.map(u32::from_ne_bytes)));
        DecodeContext {
            key,
            server_challenge,
            ipv6: payload.from.is_ipv6(),
            is_public: !is_private(payload.from.ip()),
            lost: payload.lost,
        }
    }
}

type Cx<'c> = Context<'c, ValveMaster>;

pub(super) fn message<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    if is_nothing(cx, payload) {
        return;
    }
    let known = cx.conversation.known(payload);
    let summary = decode::message(payload.bytes, known, sink);
    let message = summary.message();
    match summary {
        MessageSummary::Query(summary) => query(cx, payload, &summary, sink),
        MessageSummary::Reply(summary) => reply(cx, payload, &summary, sink),
        MessageSummary::Join { server_challenge, is_valid } => {
            let server_challenge =
                (!payload.lost).then_some(server_challenge.map(u32::to_ne_bytes));
            join(cx, payload, server_challenge, is_valid && !payload.lost, sink);
        }
        MessageSummary::Challenge { value } => challenge(cx, payload, value, sink),
        MessageSummary::Info(summary) => {
            sink.joins(CHALLENGE_RESPONSE.label, payload);
            info(cx, payload, &summary, sink);
        }
        MessageSummary::Quit { form } => quit(cx, payload, form, sink),
        MessageSummary::Other(_) => {}
    }
    sink.end(message, payload);
}

/// A message with a wrong header is a reply only if a reply is due.
fn is_nothing(cx: &Cx<'_>, payload: &Payload<'_>) -> bool {
    let clock = cx.settings.clock(payload.time);
    let is_due = |asked: Request<Asked>| {
        let is_query = asked.what.query().is_some() && asked.mark.side != payload.side;
        is_query && asked.is_open() && !asked.is_overdue(clock)
    };
    has_broken_header(payload.bytes) && !cx.conversation.requests.iter().any(is_due)
}

/// Decodes a duplicate datagram, only to show it.
pub(super) fn again<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, sink: &mut S) {
    let summary = decode::message(payload.bytes, cx.conversation.known(payload), sink);
    sink.end(summary.message(), payload);
}

fn query<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    summary: &decode::QuerySummary<'_>,
    sink: &mut S,
) {
    let query = Query {
        key: (!payload.lost).then_some(summary.key.map(u32::to_ne_bytes)),
        filter: Query::hash(summary.region, summary.filter),
        region: summary.region,
        seed: summary.seed,
        is_dialect: summary.xash3d,
    };
    sink.asks(QUERY.label, payload);
    let (mark, clock) = (payload.mark(), cx.settings.clock(payload.time));
    let mut asked = if cx.conversation.is_silent() {
        QueryPosition::First { elsewhere: false }
    } else {
        let (listing, requests) = cx.conversation.listing();
        listing.ask(query, mark, requests, clock)
    };
    let mut request = Request::new(Asked::List(query), mark, summary.is_valid || payload.lost);
    request.flags.set(RequestFlags::LOST, payload.lost);
    let sending = wait(cx, request, sink);
    sink.sent(sending);
    cx.shared.waiting.insert(payload, WaitsFor::List, cx.settings);
    keep_filter(cx, summary, payload);

    let Some(seed) = summary.seed else { return };
    let ends = [payload.from, payload.to];
    if seed != ZERO && matches!(asked, QueryPosition::First { .. }) {
        // If the master has sent something before, the listing may have begun here before the
        // capture.
        let silent = cx.flow.seen.get(payload.side.other().index()) == Some(&false);
        asked = if cx.shared.was(ends, seed, ListingOutcome::Left(payload.from.port())) {
            QueryPosition::Resumed
        } else {
            QueryPosition::First { elsewhere: silent && cx.shared.stands_at(ends, seed) }
        };
    }
    let goes_on = matches!(asked, QueryPosition::On { last, .. } if last == Some(seed));
    if goes_on || asked == QueryPosition::Resumed {
        cx.shared.note(ends, seed, ListingOutcome::WentOn, cx.settings.limits.remembered);
    }
    let most = cx.settings.limits.remembered;
    let first_page = matches!(asked, QueryPosition::First { .. }) && seed != ZERO;
    let is_new = asked == QueryPosition::First { elsewhere: true };
    let wanted = WantedReply { addresses: summary.addresses, first_page, is_new };
    // The end of a cut filter may be the end of an address.
    if wanted == WantedReply::default() || payload.lost {
        cx.shared.wanted.remove(&ends);
    } else {
        cx.shared.wanted.insert(ends, wanted, most);
    }
    if matches!(asked, QueryPosition::On { last: None, lost: true, .. }) {
        sink.evidence(Evidence { lost: true, ..cx.flow.evidence() });
    }
    rules::asked(asked, seed, summary.places, sink);
}

/// Keeps the filter of the latest query of the flow if its reply can be compared with it.
fn keep_filter(cx: &mut Cx<'_>, summary: &decode::QuerySummary<'_>, payload: &Payload<'_>) {
    let filter =
        (summary.is_comparable && summary.is_valid && !payload.lost).then_some(summary.filter);
    if filter.is_some() || cx.conversation.listing_so_far().is_some_and(|it| it.filter.is_some()) {
        cx.conversation.listing().0.filter = filter.map(Box::from);
    }
}

/// The servers of a reply were listed; `filter`: what the query asked for, if it can be compared.
fn hand_out<S: Sink>(filter: Option<&[u8]>, payload: &Payload<'_>, sink: &mut S) {
    let filtered = filter.map(|_| &rules::VM015);
    let rules = ListRules { queried: &rules::VM028, registered: None, filtered };
    let (event, text) = (CrossFlowEvent::Listed(rules), filter.unwrap_or_default());
    sink.cross_flow_with(event, payload.seen(), text);
}

/// Checks whether a reply lists what its query asks for.
fn listed<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    summary: &ReplySummary<'_>,
    query: &Query,
    sink: &mut S,
) {
    let (ends, most) = ([payload.to, payload.from], cx.settings.limits.remembered);
    let wanted = cx.shared.wanted.get_mut(&ends, most).copied().unwrap_or_default();
    let WantedAddresses { one_each, only } = wanted.addresses;
    if one_each && let Ok(twice) = cx.conversation.listing().0.repeated_host(summary, cx.budget) {
        rules::one_each(summary, twice, sink);
    }
    if let Some(only) = only {
        rules::only_address(summary, only, sink);
    }
    let key = (payload.to.ip(), payload.from, query.filter);
    let first: Option<Endpoint> = summary.blocks.first_chunk().copied();
    let first = first.filter(|_| summary.block == BLOCK);
    if query.seed == Some(ZERO) {
        if let Some(first) = first {
            cx.shared.first_pages.insert(key, (payload.time, first), most);
        }
    } else if wanted.first_page
        && let Some((time, page)) = cx.shared.first_pages.get_mut(&key, most)
        && payload.time.since(*time) <= FIRST_PAGE
    {
        let evidence = Evidence { lost: payload.lost, ..cx.flow.evidence() };
        sink.evidence(Evidence { began: wanted.is_new, ..evidence });
        rules::first_page(first, *page, summary.at, sink);
        sink.evidence(evidence);
    }
}

fn reply<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    summary: &ReplySummary<'_>,
    sink: &mut S,
) {
    let clock = cx.settings.clock(payload.time);
    let known = summary.is_valid && !payload.lost;
    let header = Span::new(0, payload.bytes.len().min(6));
    let is_unasked = cx.conversation.is_silent();
    if known
        && !summary.ended
        && let Some(last) = summary.last()
    {
        let (ends, most) = ([payload.to, payload.from], cx.settings.limits.remembered);
        cx.shared.note(ends, last, ListingOutcome::Stopped, most);
        if is_unasked {
            // The query is missing, but its socket is known.
            cx.shared.note(ends, last, ListingOutcome::Left(payload.to.port()), most);
        }
    }
    // Replies without a query are typical of floods: the flow keeps no state for them.
    if is_unasked {
        let is_for = |waits| waits == WaitsFor::List;
        let asked = cx.shared.waiting.elsewhere(payload, is_for, cx.settings);
        rules::unasked(header, cx.flow.evidence(), payload, asked, sink);
        return;
    }
    cx.shared.waiting.remove(payload);
    let (listing, requests) = cx.conversation.listing();
    let answers = listing.reply(summary, known, payload, requests, clock);
    let belongs = matches!(answers, ReplyMatch::Query { .. } | ReplyMatch::More { dialect: true });
    let repeated = belongs.then(|| listing.repeated(summary, cx.budget));
    let query = listing.latest().filter(|_| belongs);
    if answers != ReplyMatch::Copy {
        let filter = query.and_then(|_| listing.answered_filter(requests, clock));
        hand_out(filter, payload, sink);
    }
    if let Some((query, _)) = query.filter(|_| known) {
        listed(cx, payload, summary, &query, sink);
    }
    // A client that requests a further page has received the one before.
    if let Some((Query { seed: Some(ZERO), .. }, mark)) = query {
        sink.reflects(QUERY.label, mark.length, payload);
    }
    if matches!(answers, ReplyMatch::More { dialect: false } | ReplyMatch::Late) {
        cx.flow.response_alone(payload, sink);
    }
    rules::replied(answers, header, sink);
    if let Some(Ok(repeated)) = repeated {
        let block = repeated.map(|at| summary.block_at(at));
        rules::repeats(block, summary.at, sink);
    }
}

/// Adds a message that waits for a response, or a repeat of one.
fn wait<S: Sink>(cx: &mut Cx<'_>, asked: Request<Asked>, sink: &mut S) -> Sending {
    let clock = cx.settings.clock(asked.mark.time);
    let sent = cx.conversation.requests.send(asked, cx.settings, cx.budget);
    if let Some(overdue) = sent.overdue {
        unanswered(cx, &overdue, clock, sink);
    }
    sent.sending
}

fn join<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    server_challenge: ServerChallenge,
    is_due: bool,
    sink: &mut S,
) {
    sink.joins(JOIN.label, payload);
    let join = Request::new(Asked::Challenge(server_challenge), payload.mark(), is_due);
    let joined = if cx.conversation.is_silent() {
        JoinResult::default()
    } else {
        let (registration, requests) = cx.conversation.registration();
        let waits = requests.iter().any(|asked| asked.is_open() && join.repeats(&asked));
        registration.join(&join, waits, cx.settings.answer_timeout)
    };
    let sending = wait(cx, join, sink);
    sink.sent(sending);
    cx.shared.waiting.insert(payload, WaitsFor::Challenge, cx.settings);
    unchallenged(cx, joined.early, false, sink);
    sink.cross_flow(CrossFlowEvent::Joined(&rules::VM046), payload.seen());
    let at = payload.whole();
    if joined.after_quit {
        rules::after_quit(true, at, sink);
    }
    if let Some(interval) = joined.interval {
        rules::rejoined(interval, cx.settings, at, sink);
    }
}

fn challenge<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, value: Option<u32>, sink: &mut S) {
    let value = value.filter(|_| !payload.lost);
    let clock = cx.settings.clock(payload.time);
    // A join of one byte is recognized by its port only, unless the flow is known.
    let is_unasked = cx.conversation.is_silent();
    let join_unseen = is_unasked && !ValveMaster::INFO.ports.contains(&payload.from.port());
    let is_for = |waits| waits == WaitsFor::Challenge;
    let is_elsewhere =
        is_unasked && cx.shared.waiting.elsewhere(payload, is_for, cx.settings).is_some();
    cx.shared.waiting.remove(payload);
    let (registration, requests) = cx.conversation.registration();
    if join_unseen || is_elsewhere {
        registration.expect_any();
    }
    let early = registration.take_early();
    // One challenge answers one request, and joins come first. Where an info string followed an old join, the challenge for it
    // is only missing from the capture.
    let is_served = |asked: &Request<Asked>| {
        early.is_none() && asked.is_overdue(clock) && registration.claimed_since(asked.mark.time)
    };
    let fits = |asked: &Request<Asked>| match asked.what {
        _ if is_served(asked) => None,
        Asked::Challenge(_) => Some(0),
        Asked::NewChallenge => Some(1),
        Asked::List(_) | Asked::Info => None,
    };
    let best = requests.best(fits, false, payload.side, clock);
    let asked = best.and_then(|(_, at)| requests.answer(at, Answer::ONLY, |_| false, clock));
    let again = value.is_some_and(|value| registration.is_mistaken(value));
    let mut why = registration.challenge(value, asked);
    let is_near = |interval| rules::is_heartbeat(interval, cx.settings);
    if why == ChallengeReason::Nothing && registration.joins_unseen(payload.time, is_near) {
        why = ChallengeReason::Unseen;
    }
    // A server answers where it joined.
    if why != ChallengeReason::Nothing && value.is_some() && !is_elsewhere {
        // A newer challenge takes the place of the older.
        requests.retain(|asked| asked.what != Asked::Info);
        wait(cx, Request::new(Asked::Info, payload.mark(), true), sink);
    }
    if let Some(value) = value {
        let (given, new_for) = (value.to_le_bytes(), NewFor::OtherSockets);
        sink.cross_flow(CrossFlowEvent::handed_out(&given, &rules::VM048, new_for), payload.seen());
    }
    unchallenged(cx, early, true, sink);
    // Where the server has never joined, another address of the master may challenge it.
    let has_joined = cx.conversation.registration().0.joined().is_some();
    if has_joined && matches!(why, ChallengeReason::Nothing | ChallengeReason::Unseen) {
        cx.flow.response_alone(payload, sink);
    }
    let evidence = Evidence { waited: true, asked_party_seen: true, ..cx.flow.evidence() };
    rules::challenged(why, again.then_some(evidence), payload, sink);
}

fn info<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, summary: &InfoSummary, sink: &mut S) {
    let clock = cx.settings.clock(payload.time);
    let at = payload.whole();
    let (registration, requests) = cx.conversation.registration();
    let mut take = |what| requests.take(requests.position(|asked| asked.what == what)?);
    if take(Asked::Info).is_some() {
        rules::challenge_answered(at, sink);
    }
    if registration.speaks() {
        rules::after_quit(false, at, sink);
        return;
    }
    let before = take(Asked::NewChallenge).filter(|asked| asked.is_overdue(clock));
    let is_elsewhere = |asked: Request<Asked>| {
        let join = SeenMessage { mark: asked.mark, ..payload.seen() };
        matches!(asked.what, Asked::Challenge(_)) && cx.shared.waiting.was_answered_elsewhere(&join)
    };
    if requests.iter().any(is_elsewhere) {
        registration.expect_unreadable();
    }
    let claimed = registration.info(summary, payload.time, clock.timeout);
    let is_wrong = claimed.is_certain() && !payload.lost && summary.is_valid;
    match claimed {
        Claimed::Given => {
            let joined = registration.joined().unwrap_or(payload.time);
            sink.returns_challenge([payload.time, joined], payload);
        }
        _ if !is_wrong => registration.expect_any(),
        _ => {}
    }
    if is_wrong {
        wait(cx, Request::new(Asked::NewChallenge, payload.mark(), true), sink);
    }
    if claimed.is_certain() {
        sink.evidence(Evidence { began: true, lost: payload.lost, ..cx.flow.evidence() });
    } else if matches!(claimed, Claimed::Other { .. }) {
        // It answers another challenge, which the capture lacks.
        if cx.conversation.registration().0.awaits_challenge() {
            sink.cross_flow(CrossFlowEvent::RequestMissing, payload.seen());
        }
        sink.evidence(Evidence { lossy: true, lost: payload.lost, ..cx.flow.evidence() });
    }
    let master_seen = cx.flow.seen.get(payload.side.other().index()) == Some(&true);
    if claimed == Claimed::Unchallenged && cx.flow.began && !master_seen && !payload.lost {
        let mark = payload.mark();
        let early = cx.conversation.registration().0.reported_early(mark);
        unchallenged(cx, early, false, sink);
    } else {
        let echo = summary.challenge.map(|echo| echo.at);
        // What was cut off behind it changes nothing about it.
        sink.whole_elements(echo.is_some_and(|at| (at.end as usize) < payload.bytes.len()));
        rules::claimed(claimed, echo.unwrap_or(at), sink);
        sink.whole_elements(false);
    }
    if let Some(before) = before {
        unanswered(cx, &before, clock, sink);
    }
}

fn quit<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, form: Option<Engine>, sink: &mut S) {
    let (registration, requests) = cx.conversation.registration();
    requests.retain(|asked| asked.what != Asked::Info);
    let (again, engine) = (registration.quit(payload.time), registration.engine());
    let at = payload.whole();
    if again {
        rules::after_quit(false, at, sink);
    } else if let (Some(form), Some(engine)) = (form, engine) {
        rules::quit_form(form, engine, at, sink);
    }
}

/// Checks what is pending when the flow ends.
pub(super) fn elapse<S: Sink>(cx: &mut Cx<'_>, now: Time, end: bool, sink: &mut S) {
    if !end {
        return;
    }
    let Conversation { mut requests, mut roles } = std::mem::take(cx.conversation);
    let Roles { mut listing, mut registration } = roles.take().unwrap_or_default();
    if let Some(listing) = listing.get_mut() {
        listing.release(cx.budget);
        // The client may continue it on this socket, after a silence.
        if let Some((side, last)) = listing.stands_at() {
            let (ends, most) = (cx.flow.ends_from(side), cx.settings.limits.remembered);
            cx.shared.note(ends, last, ListingOutcome::Left(ends[0].port()), most);
        }
    }
    let early = registration.get_mut().and_then(Registration::take_early);
    unchallenged(cx, early, false, sink);
    let clock = cx.settings.clock(now);
    requests.take_all().for_each(|asked| unanswered(cx, &asked, clock, sink));
}

/// Checks an info string before any challenge. If it was not followed at once by a challenge, an
/// earlier one may be missing from the capture.
fn unchallenged<S: Sink>(cx: &Cx<'_>, early: Option<Mark>, followed: bool, sink: &mut S) {
    match early {
        Some(mark) if followed => {
            let (began, asked_party_seen) = (cx.flow.began, true);
            let evidence = Evidence { began, asked_party_seen, ..Evidence::default() };
            rules::challenged_late(evidence, &mark, sink);
        }
        Some(mark) => {
            let evidence = Evidence { began: false, ..cx.flow.evidence() };
            rules::never_challenged(evidence, cx.flow.seen_in(mark), sink);
        }
        None => {}
    }
}

/// A message is no longer waited for.
fn unanswered<S: Sink>(cx: &Cx<'_>, asked: &Request<Asked>, clock: Clock, sink: &mut S) {
    if asked.due != ResponseDue::Yes {
        return;
    }
    if cx.shared.waiting.was_answered_elsewhere(&cx.flow.seen_in(asked.mark)) {
        rules::answered_elsewhere(asked, sink);
    } else {
        rules::unanswered(asked, cx.flow.missing(asked, clock), sink);
    }
}
