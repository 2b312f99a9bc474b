//! Responses from another host or port than was asked: requests without a response and responses
//! without a request, matched at the end of the capture.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use super::{Basis, CrossFlowBreach, Detail, KeptRule, UncheckedCounts};
use crate::kit::{
    Code, Evidence, Map, Role, Rule, SeenMessage, Set, ShortMark, Time, Unmatched, is_of_several,
};

/// Maximum number of kinds of requests of a protocol.
const KINDS: usize = 8;

/// Maximum number of requests that are searched for the one that a challenge belongs to.
const LOOKED_THROUGH: usize = 64;

/// Requests and responses that may belong together, and the results that depend on it.
#[derive(Clone, Default)]
pub(super) struct Elsewhere {
    responses: Vec<UnmatchedEntry>,
    requests: Vec<UnmatchedEntry>,
    /// Challenges that clients used with servers that are not known to have given them.
    not_given: Vec<UsedChallenge>,
    /// Requests with such challenges that were answered with data.
    accepted: Vec<UsedChallenge>,
    /// Challenges that another server gave to a client.
    moved: MovedChallenges,
    /// What did not fit into these lists.
    beyond: BeyondLists,
}

/// What did not fit into the lists: it cannot be matched, and what it may belong to is not certain
/// either.
#[derive(Clone, Default)]
struct BeyondLists {
    responses: UncheckedCounts,
    requests: UncheckedCounts,
    challenges: UncheckedCounts,
    lacks_responses: bool,
    lacks_requests: bool,
}

/// A challenge that is not known to have been given, and was used or accepted.
#[derive(Clone)]
struct UsedChallenge {
    challenge: u32,
    /// The rule that this breaks, if no other server gave the challenge.
    rule: &'static Rule,
    evidence: Evidence,
    from: FlowEnd,
    to: FlowEnd,
    mark: ShortMark,
    flow: u32,
    began: bool,
    lossy: bool,
}

impl UsedChallenge {
    fn basis(&self) -> Basis {
        let seen = SeenMessage { mark: self.mark.get(), from: self.from.get(), to: self.to.get() };
        Basis { seen, flow: self.flow, began: self.began, lossy: self.lossy }
    }
}

/// Where the details of a breach are stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BreachPlace {
    /// Among the full entries.
    Breach(u32),
    Response(u32),
    Request(u32),
    NotGiven(u32),
    Accepted(u32),
}

/// One end of a flow, in compact form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FlowEnd {
    host: [u8; 16],
    port: u16,
    is_wide: bool,
}

impl From<SocketAddr> for FlowEnd {
    fn from(end: SocketAddr) -> FlowEnd {
        let (host, is_wide) = match end.ip() {
            IpAddr::V4(host) => (host.to_ipv6_compatible().octets(), false),
            IpAddr::V6(host) => (host.octets(), true),
        };
        FlowEnd { host, port: end.port(), is_wide }
    }
}

impl FlowEnd {
    fn get(self) -> SocketAddr {
        let [.., a, b, c, d] = self.host;
        let host = if self.is_wide { IpAddr::from(self.host) } else { IpAddr::from([a, b, c, d]) };
        SocketAddr::new(host, self.port)
    }
}

/// A response without a request, or a request without a response.
#[derive(Clone)]
struct UnmatchedEntry {
    client: FlowEnd,
    server: FlowEnd,
    mark: ShortMark,
    unmatched: Unmatched,
    flow: u32,
    /// For a response, what happened to it. For a request, whether it was answered, or may have
    /// been.
    fate: Fate,
    /// For a request, the number of responses.
    responses: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It matches nothing.
    Alone,
    /// A response comes from another endpoint than this request's; a request was answered so.
    Matched,
    /// There are several possible matches.
    Perhaps,
}

impl UnmatchedEntry {
    fn time(&self) -> Time {
        self.mark.get().time
    }

    /// Orders by the properties that a request and its response have in common.
    fn cmp(&self, other: &UnmatchedEntry) -> Ordering {
        let key =
            |it: &UnmatchedEntry| (it.unmatched.rules.from_asked.code, it.client, it.unmatched.id);
        key(self).cmp(&key(other))
    }

    /// Whether no part of it is known to be missing.
    fn is_whole(&self) -> bool {
        self.unmatched.parts.is_none_or(|parts| parts.are_all())
    }

    fn basis(&self, from: FlowEnd, to: FlowEnd) -> Basis {
        let Evidence { began, lossy, .. } = self.unmatched.evidence;
        let seen = SeenMessage { mark: self.mark.get(), from: from.get(), to: to.get() };
        Basis { seen, flow: self.flow, began, lossy }
    }
}

/// Pending requests of one kind, by their indices.
#[derive(Default)]
struct WaitingRequests {
    waiting: VecDeque<usize>,
    /// How often consecutive requests go to different servers.
    changes: usize,
    /// How many at the front are marked as possibly answered.
    marked: usize,
}

impl WaitingRequests {
    fn differs(requests: &[UnmatchedEntry], a: Option<&usize>, b: Option<&usize>) -> usize {
        let server = |at: &usize| requests.get(*at).map(|request| request.server);
        let pair = a.and_then(server).zip(b.and_then(server));
        usize::from(pair.is_some_and(|(a, b)| a != b))
    }

    fn push(&mut self, at: usize, requests: &[UnmatchedEntry]) {
        self.changes += WaitingRequests::differs(requests, self.waiting.back(), Some(&at));
        self.waiting.push_back(at);
    }

    fn remove(&mut self, place: usize, requests: &[UnmatchedEntry]) {
        let before = place.checked_sub(1).and_then(|before| self.waiting.get(before));
        let (here, after) = (self.waiting.get(place), self.waiting.get(place + 1));
        let gone = WaitingRequests::differs(requests, before, here)
            + WaitingRequests::differs(requests, here, after);
        let come = WaitingRequests::differs(requests, before, after);
        self.changes = (self.changes + come).saturating_sub(gone);
        self.waiting.remove(place);
        self.marked -= usize::from(place < self.marked);
    }

    /// Removes requests that are too old to be answered.
    fn forget(&mut self, now: Time, timeout: i64, requests: &[UnmatchedEntry]) {
        while let Some(request) = self.waiting.front().and_then(|&at| requests.get(at))
            && now.since(request.time()) >= timeout
        {
            self.remove(0, requests);
        }
    }
}

/// The results.
#[derive(Default)]
pub(super) struct UnmatchedReview {
    pub(super) breaches: Vec<CrossFlowBreach>,
    /// Other breaches: since there may be very many, their texts are made one by one.
    pub(super) places: Vec<(u64, Code, BreachPlace)>,
    pub(super) kept: Vec<KeptRule>,
    /// Unsolicited responses, in the order of their time.
    pub(super) unasked: Vec<SeenMessage>,
    /// Which clients wait for which servers' responses, if there are unsolicited ones.
    pub(super) waiting: Set<[SocketAddr; 2]>,
    /// Results that were not kept because of the limit.
    pub(super) beyond: Vec<(&'static Rule, Evidence, u64)>,
}

/// Challenges from another server: the receiver's address, and the server that accepts them.
type MovedChallenges = Set<(IpAddr, SocketAddr, u32)>;

impl Elsewhere {
    /// Adds a response or a request, unless the maximum is reached: then it is only counted.
    pub(super) fn open(
        &mut self,
        unmatched: Unmatched,
        is_response: bool,
        basis: &Basis,
        most: usize,
    ) -> bool {
        let SeenMessage { mark, from, to } = basis.seen;
        let (server, client) = if is_response { (from, to) } else { (to, from) };
        let beyond = &mut self.beyond;
        let (list, rule, counts, lacks) = match is_response {
            true => (
                &mut self.responses,
                unmatched.rules.asked_for,
                &mut beyond.responses,
                &mut beyond.lacks_responses,
            ),
            false => (
                &mut self.requests,
                Some(unmatched.rules.answered).filter(|_| unmatched.due),
                &mut beyond.requests,
                &mut beyond.lacks_requests,
            ),
        };
        if list.len() >= most {
            *lacks = true;
            if let Some(rule) = rule {
                counts.add(rule, unmatched.evidence);
            }
            return false;
        }
        let (client, server, mark) = (client.into(), server.into(), mark.into());
        let (flow, fate, responses) = (basis.flow, Fate::Alone, 0);
        crate::kit::append(
            list,
            UnmatchedEntry { client, server, mark, unmatched, flow, fate, responses },
        );
        true
    }

    /// Adds a challenge that the server is not known to have given: it was used, or accepted.
    pub(super) fn challenge(
        &mut self,
        challenge: u32,
        evidence: Evidence,
        is_accepted: bool,
        rule: &'static Rule,
        basis: &Basis,
        most: usize,
    ) -> bool {
        let list = if is_accepted { &mut self.accepted } else { &mut self.not_given };
        if list.len() >= most {
            self.beyond.challenges.add(rule, evidence);
            return false;
        }
        let Basis { seen: SeenMessage { mark, from, to }, flow, began, lossy } = *basis;
        let (from, to, mark) = (from.into(), to.into(), mark.into());
        let used = UsedChallenge { challenge, rule, evidence, from, to, mark, flow, began, lossy };
        crate::kit::append(list, used);
        true
    }

    /// Matches requests and responses, and checks the rules. `may_be_older`: whether what this client gets from this server
    /// at this time may answer a request before the capture.
    pub(super) fn review(
        &mut self,
        timeout: i64,
        may_be_older: impl Fn([SocketAddr; 2], Time) -> bool,
    ) -> UnmatchedReview {
        // What a response repeats of its request shows which one that is.
        let may_be_older = |response: &UnmatchedEntry| {
            let ends = [response.client.get(), response.server.get()];
            response.unmatched.id.is_none() && may_be_older(ends, response.time())
        };
        let order = |a: &UnmatchedEntry, b: &UnmatchedEntry| {
            let place = |it: &UnmatchedEntry| (it.unmatched.began, it.mark.get().frame);
            a.cmp(b).then_with(|| place(a).cmp(&place(b)))
        };
        // Usually no response came from another endpoint, so that no search is needed.
        if !self.responses.is_empty() {
            self.requests.sort_by(order);
            self.responses.sort_by(order);
        }
        let mut used: Map<(SocketAddr, u32), FlowEnd> = Map::default();
        for it in &self.not_given {
            used.insert((it.from.get(), it.challenge), it.to);
        }
        let mut review = UnmatchedReview::default();
        let (mut responses, mut requests) = (&mut *self.responses, &mut *self.requests);
        while let (Some(response), Some(request)) = (responses.first(), requests.first()) {
            let ahead = response.cmp(request);
            let same = |a: &[UnmatchedEntry]| {
                a.first().map_or(0, |first| a.partition_point(|it| first.cmp(it).is_ge()))
            };
            let few = if ahead.is_le() { same(responses) } else { 0 };
            let many = if ahead.is_ge() { same(requests) } else { 0 };
            let (some, rest) = responses.split_at_mut(few);
            let (waiting, after) = requests.split_at_mut(many);
            if ahead.is_eq() {
                let moved = &mut self.moved;
                matched(some, waiting, timeout, &may_be_older, &used, &mut review, moved);
            }
            (responses, requests) = (rest, after);
        }
        self.check(&mut review);
        self.doubt(&mut review);
        review
    }

    /// Makes inconclusive what something that did not fit may explain. What did not fit itself is
    /// certain only if there is nothing that it could belong to.
    fn doubt(&mut self, review: &mut UnmatchedReview) {
        let lacks = &self.beyond;
        if lacks.lacks_requests {
            // The response may belong to a request to its own sender.
            review.breaches.iter_mut().for_each(|breach| breach.evidence.lost = true);
            review.unasked.clear();
        }
        let any = lacks.lacks_requests || lacks.lacks_responses;
        let doubts = [
            (&lacks.responses, lacks.lacks_requests || !self.requests.is_empty()),
            (&lacks.requests, lacks.lacks_responses || !self.responses.is_empty()),
            (&lacks.challenges, any || !self.moved.is_empty()),
        ];
        for (counts, is_doubtful) in doubts {
            let counts = counts.0.iter().map(|&(rule, evidence, times)| {
                (rule, Evidence { lost: evidence.lost || is_doubtful, ..evidence }, times)
            });
            review.beyond.extend(counts);
        }
    }

    /// Whether an address may have sent a request that a response belongs to which did not fit.
    pub(super) fn may_have_asked(&self) -> impl Fn(IpAddr) -> bool + use<> {
        let all = self.beyond.lacks_requests;
        let asked: Set<IpAddr> = match self.beyond.lacks_responses {
            true => self.requests.iter().map(|request| request.client.get().ip()).collect(),
            false => Set::default(),
        };
        move |address| all || asked.contains(&address)
    }

    /// Checks unmatched entries and those with several possible matches.
    fn check(&self, review: &mut UnmatchedReview) {
        for (at, response) in (0..).zip(&self.responses).filter(|(_, it)| it.fate != Fate::Matched)
        {
            let seen = response.basis(response.server, response.client).seen;
            if let Some(rule) = response.unmatched.rules.asked_for {
                review.places.push((seen.mark.frame, rule.code, BreachPlace::Response(at)));
            }
            let has_request = response.unmatched.parts.is_some_and(|parts| parts.has_request);
            if response.fate == Fate::Alone && !has_request {
                review.unasked.push(seen);
            }
        }
        review.unasked.sort_by_key(|seen| (seen.mark.time, seen.mark.frame));
        if !review.unasked.is_empty() {
            let ends = |request: &UnmatchedEntry| [request.client.get(), request.server.get()];
            review.waiting = self.requests.iter().map(ends).collect();
        }
        for (at, request) in (0..).zip(&self.requests) {
            let Unmatched { rules, due, challenge, .. } = request.unmatched;
            let (client, server) = (request.client.get(), request.server.get());
            let is_good = |challenge| self.moved.contains(&(client.ip(), server, challenge));
            if !due && !challenge.is_some_and(is_good) {
                continue;
            }
            if request.fate == Fate::Matched && request.is_whole() {
                review.keep(rules.answered, Some(server), 1);
                continue;
            }
            let frame = request.mark.get().frame;
            review.places.push((frame, rules.answered.code, BreachPlace::Request(at)));
        }
        for (at, used) in (0..).zip(&self.not_given) {
            let to = used.to.get();
            if self.moved.contains(&(used.from.get().ip(), to, used.challenge)) {
                review.keep(used.rule, Some(to), 1);
            } else {
                review.places.push((
                    used.mark.get().frame,
                    used.rule.code,
                    BreachPlace::NotGiven(at),
                ));
            }
        }
        for (at, used) in (0..).zip(&self.accepted) {
            if !self.moved.contains(&(used.to.get().ip(), used.from.get(), used.challenge)) {
                review.places.push((
                    used.mark.get().frame,
                    used.rule.code,
                    BreachPlace::Accepted(at),
                ));
            }
        }
    }

    /// Whether another server gave this challenge to an address.
    pub(super) fn has_moved(&self, to: IpAddr, server: SocketAddr, challenge: u32) -> bool {
        self.moved.contains(&(to, server, challenge))
    }

    /// The full text of a breach.
    pub(super) fn breach(&self, place: BreachPlace) -> Option<CrossFlowBreach> {
        let at = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        let open = |open: &UnmatchedEntry, may_be_matched: bool| {
            let lost = open.unmatched.evidence.lost || open.fate == Fate::Perhaps || may_be_matched;
            Evidence { lost, ..open.unmatched.evidence }
        };
        let BeyondLists { lacks_responses, lacks_requests, .. } = self.beyond;
        let used = |used: &UsedChallenge| {
            let lost = used.evidence.lost || lacks_responses || lacks_requests;
            Evidence { lost, ..used.evidence }
        };
        let (rule, evidence, basis, speaker, detail) = match place {
            BreachPlace::Breach(_) => return None,
            BreachPlace::Response(place) => {
                let it = self.responses.get(at(place))?;
                let (rule, name) = (it.unmatched.rules.asked_for?, it.unmatched.name);
                let basis = it.basis(it.server, it.client);
                {
                    let detail =
                        it.unmatched.parts.map_or(Detail::Unasked(name.0), Detail::Incomplete);
                    (rule, open(it, lacks_requests), basis, Role::Server, detail)
                }
            }
            BreachPlace::Request(place) => {
                let it = self.requests.get(at(place))?;
                let (rule, name) = (it.unmatched.rules.answered, it.unmatched.name);
                let basis = it.basis(it.client, it.server);
                {
                    let detail =
                        it.unmatched.parts.map_or(Detail::Unanswered(name.0), Detail::Incomplete);
                    (rule, open(it, lacks_responses), basis, Role::Client, detail)
                }
            }
            BreachPlace::NotGiven(place) => {
                let it = self.not_given.get(at(place))?;
                let detail = Detail::NotGiven(it.challenge as i32);
                (it.rule, used(it), it.basis(), Role::Client, detail)
            }
            BreachPlace::Accepted(place) => {
                let it = self.accepted.get(at(place))?;
                let detail = Detail::Accepted(it.challenge as i32);
                (it.rule, used(it), it.basis(), Role::Server, detail)
            }
        };
        let breach = CrossFlowBreach::of(rule, evidence, basis, speaker, detail);
        Some(CrossFlowBreach { of_flow: true, ..breach })
    }
}

impl UnmatchedReview {
    fn keep(&mut self, rule: &'static Rule, server: Option<SocketAddr>, times: u64) {
        self.kept.push(KeptRule { rule, server, times });
    }
}

/// Matches responses to requests of one client, both in the order of time.
fn matched(
    responses: &mut [UnmatchedEntry],
    requests: &mut [UnmatchedEntry],
    timeout: i64,
    may_be_older: &impl Fn(&UnmatchedEntry) -> bool,
    used: &Map<(SocketAddr, u32), FlowEnd>,
    review: &mut UnmatchedReview,
    moved: &mut MovedChallenges,
) {
    let mut queues: [WaitingRequests; KINDS] = Default::default();
    let mut next = 0;
    for response in responses {
        let now = response.time();
        while let Some(request) = requests.get(next).filter(|it| it.unmatched.began <= now) {
            let kind = request.unmatched.kinds.trailing_zeros() as usize;
            if let Some(queue) = queues.get_mut(kind) {
                queue.push(next, requests);
            }
            next += 1;
        }
        let mask = response.unmatched.kinds;
        let fits = |kind: usize| mask >> kind & 1 == 1;
        let mut fitting: Vec<&mut WaitingRequests> = Vec::new();
        for (_, queue) in queues.iter_mut().enumerate().filter(|(kind, _)| fits(*kind)) {
            queue.forget(now, timeout, requests);
            if !queue.waiting.is_empty() {
                fitting.push(queue);
            }
        }
        let is_of_other = |queue: &WaitingRequests| {
            let asked = queue.waiting.front().and_then(|&at| requests.get(at));
            asked.is_some_and(|asked| asked.server.host != response.server.host)
        };
        let found = match &mut *fitting {
            [] => continue,
            [queue] if queue.changes == 0 && !(may_be_older(response) && is_of_other(queue)) => {
                Some((0, 0))
            }
            _ => by_challenge(response, &fitting, requests, used),
        };
        match found.and_then(|(nth, place)| Some((fitting.get_mut(nth)?, place))) {
            Some((queue, place)) => take(response, queue, place, requests, review, moved),
            None => {
                response.fate = Fate::Perhaps;
                fitting.into_iter().for_each(|queue| may_be_answered(queue, requests));
            }
        }
    }
}

/// The request that a challenge answers: the one to the server that the client used it with.
fn by_challenge(
    response: &UnmatchedEntry,
    queues: &[&mut WaitingRequests],
    requests: &[UnmatchedEntry],
    used: &Map<(SocketAddr, u32), FlowEnd>,
) -> Option<(usize, usize)> {
    let server = used.get(&(response.client.get(), response.unmatched.challenge?))?;
    let is_to = |&at: &usize| requests.get(at).is_some_and(|request| request.server == *server);
    let find = |queue: &WaitingRequests| queue.waiting.iter().take(LOOKED_THROUGH).position(is_to);
    queues.iter().enumerate().find_map(|(nth, queue)| Some((nth, find(queue)?)))
}

/// Marks these requests as possibly answered.
fn may_be_answered(queue: &mut WaitingRequests, requests: &mut [UnmatchedEntry]) {
    for &at in queue.waiting.range(queue.marked..) {
        if let Some(request) = requests.get_mut(at).filter(|it| it.fate == Fate::Alone) {
            request.fate = Fate::Perhaps;
        }
    }
    queue.marked = queue.waiting.len();
}

/// A response belongs to this request, which went to another endpoint. A response for each repeat
/// is not a fault.
fn take(
    response: &mut UnmatchedEntry,
    queue: &mut WaitingRequests,
    place: usize,
    requests: &mut [UnmatchedEntry],
    review: &mut UnmatchedReview,
    moved: &mut MovedChallenges,
) {
    let Some(&at) = queue.waiting.get(place) else { return };
    let Some(request) = requests.get_mut(at) else { return };
    // A flow that ended early may have its response in the next one between the same two endpoints.
    let is_first = request.fate != Fate::Matched && request.server != response.server;
    (request.fate, response.fate) = (Fate::Matched, Fate::Matched);
    request.responses = request.responses.saturating_add(1);
    let is_over = match (&mut request.unmatched.parts, response.unmatched.parts) {
        (Some(parts), Some(more)) => {
            parts.add(more);
            parts.are_all()
        }
        _ => request.responses >= request.unmatched.tries,
    };
    let asked = request.server.get();
    if let Some(challenge) = response.unmatched.challenge {
        moved.insert((response.client.get().ip(), asked, challenge));
    }
    if is_first && !is_of_several(asked.ip(), response.server.get().ip()) {
        let lossy = request.unmatched.evidence.lossy;
        let Unmatched { rules, name, evidence, .. } = response.unmatched;
        let evidence = Evidence { lossy: lossy || evidence.lossy, ..evidence };
        let basis = response.basis(response.server, response.client);
        let from = basis.seen.from;
        let detail = Detail::Elsewhere { name: name.0, from, asked };
        let (rule, speaker) = (rules.from_asked, Role::Server);
        let breach = CrossFlowBreach::of(rule, evidence, basis, speaker, detail);
        review.breaches.push(CrossFlowBreach { of_flow: true, ..breach });
    }
    if is_over {
        queue.remove(place, requests);
    }
}
