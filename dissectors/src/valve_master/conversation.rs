//! The state of one flow, and of other flows between its two hosts. It passes messages to the
//! listing and the registration, and their results to the rules.

use std::net::{IpAddr, SocketAddr};

use crate::kit::{
    Context, CrossFlowEvent, Evidence, Limit, ListRules, Mark, NewFor, Payload, Protocol, Recent,
    RecentMap, Refused, Sending, Sink, Span, Time, is_private,
};

use super::ValveMaster;
use super::claim::is_foreign_reply;
use super::decode::{self, DecodeContext, MessageSummary};
use super::endpoint::{Endpoint, ZERO};
use super::filter::WantedAddresses;
use super::info_keys::{Engine, InfoSummary};
use super::listing::{Listing, Query, QueryPosition, QueryStatus, Question, ReplyMatch};
use super::messages::{CHALLENGE_RESPONSE, JOIN, QUERY};
use super::registration::{Claimed, Join, JoinResult, Registration};
use super::reply::{BLOCK, ReplySummary};
use super::rules::{self, DueResponse};

/// The state of one flow. Most flows of a flood have one message, which is stored inline.
#[derive(Default)]
pub struct Conversation(State);

enum State {
    Query(Query),
    Join(Join),
    Long(MultiMessageState),
}

/// The state of a flow without messages, or with more than one.
#[derive(Default)]
struct MultiMessageState {
    listing: Option<Box<Listing>>,
    registration: Option<Box<Registration>>,
    refused: Option<Box<Refused>>,
}

impl Default for State {
    fn default() -> State {
        State::Long(MultiMessageState::default())
    }
}

impl MultiMessageState {
    fn listing(&mut self) -> &mut Listing {
        self.listing.get_or_insert_default()
    }

    fn registration(&mut self) -> &mut Registration {
        self.registration.get_or_insert_default()
    }
}

impl Conversation {
    fn is_silent(&self) -> bool {
        matches!(self.0, State::Long(MultiMessageState { listing: None, registration: None, .. }))
    }

    /// Runs on the full state, after moving the inline message into it.
    fn long<T>(&mut self, timeout: i64, run: impl FnOnce(&mut MultiMessageState) -> T) -> T {
        let mut long = MultiMessageState::default();
        match std::mem::take(&mut self.0) {
            State::Query(query) => {
                long.listing().ask(query, timeout, usize::MAX);
            }
            State::Join(join) => {
                long.registration().join(join, timeout, usize::MAX);
            }
            State::Long(whole) => long = whole,
        }
        let result = run(&mut long);
        self.0 = State::Long(long);
        result
    }

    pub(super) fn held(&self) -> usize {
        let State::Long(MultiMessageState { listing, registration, refused }) = &self.0 else {
            return 0;
        };
        refused.as_ref().map_or(0, |refused| size_of_val(&**refused))
            + listing.as_ref().map_or(0, |listing| listing.held())
            + registration.as_ref().map_or(0, |registration| registration.held())
    }

    /// This packet did not arrive.
    pub(super) fn refused(&mut self, frame: u64) {
        self.long(i64::MAX, |long| long.refused.get_or_insert_default().insert(frame));
    }

    fn refused_packets(&self) -> Option<Refused> {
        match &self.0 {
            State::Long(MultiMessageState { refused, .. }) => refused.as_deref().copied(),
            State::Query(_) | State::Join(_) => None,
        }
    }

    fn known(&self, payload: &Payload<'_>) -> DecodeContext {
        // The reply may repeat the challenge of an earlier join that still waits.
        let repeated = payload.bytes.get(10..14).and_then(|bytes| bytes.first_chunk().copied());
        let (key, server_challenge) = match &self.0 {
            State::Query(query) => (query.key, None),
            State::Join(join) => (None, join.server_challenge),
            State::Long(MultiMessageState { listing, registration, .. }) => {
                let query = listing.as_ref().and_then(|listing| listing.query());
                let joined = registration.as_ref();
                (
                    query.and_then(|query| query.key),
                    joined.and_then(|joined| match repeated {
                        Some(repeated) if joined.has_sent(repeated) => Some(Some(repeated)),
                        _ => joined.server_challenge(),
                    }),
                )
            }
        };
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

/// The positions of all clients' listings: the client's host, the master, the last address of a
/// reply, and what happened to the listing there.
#[derive(Default)]
pub struct SharedState {
    pub(super) stops: Recent,
    /// What the reply to a client's latest query must be, by client and master, if anything.
    wanted: RecentMap<[SocketAddr; 2], WantedReply>,
    /// The first server of the latest first page of each list: when, and which.
    first_pages: RecentMap<(IpAddr, SocketAddr, Question), (Time, Endpoint)>,
}

/// What a reply must be, beside a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WantedReply {
    addresses: WantedAddresses,
    /// The first page, because the socket is new, although the query asks for a later one.
    first_page: bool,
}

/// Nanoseconds within which two first pages of a list begin with the same server.
const FIRST_PAGE: i64 = 60_000_000_000;

/// What happened to a listing at the last address of a reply.
#[derive(Clone, Copy, Hash)]
enum ListingOutcome {
    /// It stopped there, on a socket of the client's host.
    Stopped,
    /// It continued on its socket.
    WentOn,
    /// Its flow ended there: the port.
    Left(u16),
}

impl SharedState {
    fn note(
        &mut self,
        [client, master]: [SocketAddr; 2],
        last: Endpoint,
        stop: ListingOutcome,
        most: usize,
    ) {
        self.stops.insert(&(client.ip(), master, last, stop), most);
    }

    fn was(&self, [client, master]: [SocketAddr; 2], last: Endpoint, stop: ListingOutcome) -> bool {
        self.stops.contains(&(client.ip(), master, last, stop)) == Some(true)
    }

    /// Whether a listing of this client's host stopped at an address and has not continued.
    fn stands_at(&self, ends: [SocketAddr; 2], seed: Endpoint) -> bool {
        self.was(ends, seed, ListingOutcome::Stopped)
            && !self.was(ends, seed, ListingOutcome::WentOn)
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
            let due = is_valid && !payload.lost;
            let server_challenge =
                (!payload.lost).then_some(server_challenge.map(u32::to_ne_bytes));
            join(cx, payload, Join { mark: payload.mark().into(), server_challenge, due }, sink);
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
    let is_due = || {
        let due = |query: &Query| {
            let mark = query.mark.get();
            let waited = payload.time.since(mark.time);
            mark.side != payload.side && waited < cx.settings.answer_timeout
        };
        match &cx.conversation.0 {
            State::Query(query) => due(query),
            State::Long(MultiMessageState { listing: Some(listing), .. }) => {
                listing.awaited().is_some_and(due)
            }
            State::Join(_) | State::Long(_) => false,
        }
    };
    is_foreign_reply(payload.bytes) && !is_due()
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
        mark: payload.mark().into(),
        key: (!payload.lost).then_some(summary.key.map(u32::to_ne_bytes)),
        question: Query::question(summary.region, summary.filter),
        seed: summary.seed,
        status: QueryStatus::of(summary.is_valid && !payload.lost, summary.xash3d),
    };
    sink.asks(QUERY.label, payload);
    let (timeout, pending) = (cx.settings.answer_timeout, cx.settings.limits.pending);
    let (mut asked, given_up) = if cx.conversation.is_silent() {
        cx.conversation.0 = State::Query(query);
        (QueryPosition::First { elsewhere: false }, None)
    } else {
        cx.conversation.long(timeout, |long| long.listing().ask(query, timeout, pending))
    };
    keep_filter(cx, summary, payload);
    give_up(cx, DueResponse::Query, given_up, payload.time, sink);
    if asked == (QueryPosition::Again { waits: true }) {
        sink.sent(Sending::Again);
    }

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
    let wanted = WantedReply { addresses: summary.addresses, first_page };
    // The end of a cut filter may be the end of an address.
    if wanted == WantedReply::default() || payload.lost {
        cx.shared.wanted.remove(&ends);
    } else {
        cx.shared.wanted.insert(ends, wanted, most);
    }
    rules::asked(asked, seed, summary.seed_at, sink);
}

/// Keeps the filter of the latest query of the flow if its reply can be compared with it.
fn keep_filter(cx: &mut Cx<'_>, summary: &decode::QuerySummary<'_>, payload: &Payload<'_>) {
    let filter =
        (summary.is_comparable && summary.is_valid && !payload.lost).then_some(summary.filter);
    let is_kept = match &cx.conversation.0 {
        State::Long(MultiMessageState { listing: Some(listing), .. }) => listing.filter.is_some(),
        _ => false,
    };
    if filter.is_some() || is_kept {
        let timeout = cx.settings.answer_timeout;
        cx.conversation.long(timeout, |long| long.listing().filter = filter.map(Box::from));
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
    if one_each {
        rules::one_each(summary, sink);
    }
    if let Some(only) = only {
        rules::only_address(summary, only, sink);
    }
    let key = (payload.to.ip(), payload.from, query.question);
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
        rules::first_page(first, *page, summary.at, sink);
    }
}

fn reply<S: Sink>(
    cx: &mut Cx<'_>,
    payload: &Payload<'_>,
    summary: &ReplySummary<'_>,
    sink: &mut S,
) {
    let timeout = cx.settings.answer_timeout;
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
        rules::replied(ReplyMatch::Nothing, header, sink);
        return;
    }
    let budget = &mut *cx.budget;
    let (answers, repeated, asked, query) = cx.conversation.long(timeout, |long| {
        let listing = long.listing();
        let answers = listing.reply(summary, known, payload, timeout);
        let belongs =
            matches!(answers, ReplyMatch::Query { .. } | ReplyMatch::More { dialect: true });
        let asked = listing.query().filter(|query| query.seed == Some(ZERO) && belongs);
        let asked = asked.map(|query| query.mark.get().length);
        let repeated = belongs.then(|| listing.repeated(summary, budget));
        (answers, repeated, asked, listing.query().copied().filter(|_| belongs))
    });
    if answers != ReplyMatch::Copy {
        let filter = match &cx.conversation.0 {
            State::Long(MultiMessageState { listing: Some(listing), .. }) if query.is_some() => {
                listing.answered_filter(payload.time, timeout)
            }
            _ => None,
        };
        hand_out(filter, payload, sink);
    }
    if let Some(query) = query.filter(|_| known) {
        listed(cx, payload, summary, &query, sink);
    }
    // A client that requests a further page has received the one before.
    if let Some(asked) = asked {
        sink.reflects(QUERY.label, asked, payload);
    }
    rules::replied(answers, header, sink);
    if let Some(Ok(repeated)) = repeated {
        let block = repeated.map(|at| summary.block_at(at));
        rules::repeats(block, summary.at, sink);
    }
}

/// A request was removed to make room for another. If it was not overdue, it is not checked.
fn give_up<S: Sink>(
    cx: &mut Cx<'_>,
    due: DueResponse,
    given_up: Option<Mark>,
    now: Time,
    sink: &mut S,
) {
    let Some(mark) = given_up else { return };
    cx.budget.meet(Limit::Pending);
    if now.since(mark.time) >= cx.settings.answer_timeout {
        let refused = cx.conversation.refused_packets();
        unanswered(cx, due, given_up.map(sent_once), refused.as_ref(), now, sink);
    }
}

fn join<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, join: Join, sink: &mut S) {
    sink.joins(JOIN.label, payload);
    let (timeout, pending) = (cx.settings.answer_timeout, cx.settings.limits.pending);
    let joined = if cx.conversation.is_silent() {
        cx.conversation.0 = State::Join(join);
        JoinResult::default()
    } else {
        cx.conversation.long(timeout, |long| long.registration().join(join, timeout, pending))
    };
    give_up(cx, DueResponse::Join, joined.given_up, payload.time, sink);
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
    let timeout = cx.settings.answer_timeout;
    // A join of one byte is recognized by its port only, unless the flow is known.
    let join_unseen =
        cx.conversation.is_silent() && !ValveMaster::INFO.ports.contains(&payload.from.port());
    let (early, why) = cx.conversation.long(timeout, |long| {
        let registration = long.registration();
        if join_unseen {
            registration.expect_any();
        }
        (registration.take_early(), registration.challenge(value, payload.mark()))
    });
    if let Some(value) = value {
        let (given, new_for) = (value.to_le_bytes(), NewFor::OtherSockets);
        sink.cross_flow(CrossFlowEvent::handed_out(&given, &rules::VM048, new_for), payload.seen());
    }
    unchallenged(cx, early, true, sink);
    rules::challenged(why, payload.whole(), sink);
}

fn info<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, summary: &InfoSummary, sink: &mut S) {
    let timeout = cx.settings.answer_timeout;
    let claimed = cx.conversation.long(timeout, |long| {
        let registration = long.registration();
        if registration.speaks() {
            return None;
        }
        if registration.take_due_info().is_some() {
            rules::challenge_answered(payload.whole(), sink);
        }
        Some(registration.info(summary, !payload.lost, payload.mark(), timeout))
    });
    let at = payload.whole();
    let Some((claimed, given_up)) = claimed else {
        rules::after_quit(false, at, sink);
        return;
    };
    if claimed.is_certain() {
        sink.evidence(Evidence { began: true, lost: payload.lost, ..cx.flow.evidence() });
    }
    let master_seen = cx.flow.seen.get(payload.side.other().index()) == Some(&true);
    if claimed == Claimed::Unchallenged && cx.flow.began && !master_seen && !payload.lost {
        let mark = payload.mark();
        let early = cx.conversation.long(timeout, |long| long.registration().reported_early(mark));
        unchallenged(cx, early, false, sink);
    } else {
        let at = summary.challenge.map_or(at, |echo| echo.at);
        rules::claimed(claimed, at, sink);
    }
    let refused = cx.conversation.refused_packets();
    let given_up = given_up.map(sent_once);
    unanswered(cx, DueResponse::WrongChallenge, given_up, refused.as_ref(), payload.time, sink);
}

fn quit<S: Sink>(cx: &mut Cx<'_>, payload: &Payload<'_>, form: Option<Engine>, sink: &mut S) {
    let (again, engine) = cx.conversation.long(cx.settings.answer_timeout, |long| {
        let registration = long.registration();
        (registration.quit(payload.time), registration.engine())
    });
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
    match std::mem::take(&mut cx.conversation.0) {
        State::Query(query) => {
            let mark = query.status.is_due().then_some(query.mark.get());
            unanswered(cx, DueResponse::Query, mark.map(sent_once), None, now, sink);
        }
        State::Join(join) => {
            let mark = join.due.then_some(join.mark.get());
            unanswered(cx, DueResponse::Join, mark.map(sent_once), None, now, sink);
        }
        State::Long(MultiMessageState { listing, registration, refused }) => {
            let refused = refused.as_deref();
            if let Some(mut listing) = listing {
                unanswered(cx, DueResponse::Query, listing.unanswered(), refused, now, sink);
                listing.release(cx.budget);
                // The client may continue it on this socket, after a silence.
                if let Some((side, last)) = listing.stands_at() {
                    let (ends, most) = (cx.flow.ends_from(side), cx.settings.limits.remembered);
                    cx.shared.note(ends, last, ListingOutcome::Left(ends[0].port()), most);
                }
            }
            if let Some(mut registration) = registration {
                unchallenged(cx, registration.take_early(), false, sink);
                let (joins, wrong) = registration.unanswered();
                unanswered(cx, DueResponse::Join, joins, refused, now, sink);
                unanswered(cx, DueResponse::WrongChallenge, wrong, refused, now, sink);
                let info = registration.take_due_info().map(sent_once);
                unanswered(cx, DueResponse::Challenge, info, refused, now, sink);
            }
        }
    }
}

/// A message that was sent once: the latest packet is its own.
fn sent_once(mark: Mark) -> (Mark, u64) {
    (mark, mark.frame)
}

/// Checks an info string before any challenge. If it was not followed at once by a challenge, an
/// earlier one may be missing from the capture.
fn unchallenged<S: Sink>(cx: &Cx<'_>, early: Option<Mark>, followed: bool, sink: &mut S) {
    if let Some(mark) = early {
        let evidence =
            Evidence { began: cx.flow.began, asked_party_seen: followed, ..Evidence::default() };
        rules::unchallenged(evidence, &mark, sink);
    }
}

/// Checks messages that timed out without a response, each with the packet of its latest repeat.
/// Those that were `refused` cannot have one.
fn unanswered<S: Sink>(
    cx: &Cx<'_>,
    due: DueResponse,
    messages: impl IntoIterator<Item = (Mark, u64)>,
    refused: Option<&Refused>,
    now: Time,
    sink: &mut S,
) {
    for (mark, sent) in messages {
        let (to, timeout) = (mark.side.other(), cx.settings.answer_timeout);
        let evidence = Evidence {
            refused: refused.is_some_and(|refused| refused.has(sent)),
            ..cx.flow.unanswered(to, mark.time, now, timeout)
        };
        rules::unanswered(due, evidence, &mark, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_with_one_message_is_small() {
        assert!(size_of::<Conversation>() <= 32, "{}", size_of::<Conversation>());
    }
}
