//! Clients: whether they ask as the protocol demands.

mod challenge_rounds;
mod challenge_text;
mod challenges;
mod cut_requests;
pub(in crate::diagnose) mod faults;
mod lists;
mod unproven;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Cause, Finding, Item, Purpose, Time, causes};

use self::challenges::GivenChallenge;
use super::{is_clients_fault, is_error};
use crate::diagnose::exchanges::Exchange;
use crate::diagnose::exchanges::pattern::{Pattern, client_unanswered, in_words};
use crate::diagnose::facts::find_or_add::{find_or_add, keep_latest};
use crate::diagnose::facts::{ENOUGH, Failure, NO_ACCIDENT, NOT_WHOLE, is_too_much};
use crate::diagnose::signs::symptom;
use crate::diagnose::verdicts::checklist::Checklist;
use crate::session::{ExchangeCounts, MessageEvent};
use crate::text::{counted, grouped};
use challenge_rounds::ChallengeRounds;
use challenge_text::shown_tail;
use cut_requests::CutRequests;
use faults::{ClientFaults, SERVERS};
use lists::AskedMasters;
use unproven::{SettledFault, UnprovenFaults, is_unproven};

/// Maximum number of kinds of requests, and of challenges that are kept of a client.
const KINDS: usize = 8;
const CHALLENGES: usize = 8;

/// As many challenges that are not returned are no accident.
const AGAIN: u64 = 2;

/// The conditions of a client.
pub(super) const ITEMS: [Item; 4] =
    [Item::WellFormed, Item::ReturnsChallenge, Item::RightProtocol, Item::GetsAnswers];

/// A host that asks servers.
#[derive(Debug, Default)]
pub(super) struct Client {
    pub(super) items: Checklist,
    pub(super) library: Option<&'static str>,
    /// Its exchanges, by server and protocol.
    servers: Vec<ServerExchanges>,
    rounds: ChallengeRounds,
    pub(super) masters: AskedMasters,
    /// It returned wrong challenges, and returns right ones since.
    pub(super) is_mended: bool,
    /// How many challenges it has returned rightly since it last returned a wrong one.
    rightly: u64,
    /// Its latest wrong answer to the challenge of a master.
    wrong_answer: Option<Failure>,
    /// Exchanges by key in which it got a challenge: those in which it returned it, and the others.
    kinds: Vec<(&'static str, u64, u64)>,
    /// The latest challenges, and how many requests it has sent.
    given: Vec<GivenChallenge>,
    asked: u64,
    /// The number of its session in the latest request for a challenge, by server and port.
    session: Option<([SocketAddr; 2], String)>,
    /// What may be wrong with its requests, if these are not answered.
    doubts: Vec<Doubt>,
    /// The latest challenge that it returned from another port than got it.
    moved: Option<Failure>,
    /// The latest request whose challenge did not reach it where it waits.
    astray: Option<u64>,
    /// Its requests that may have had a challenge.
    cut: CutRequests,
    unproven: UnprovenFaults,
    faults: ClientFaults,
    /// From when to when it got no answer, and others did.
    pub(super) silence: Option<[Time; 2]>,
}

/// Its exchanges with one server in one protocol.
#[derive(Debug)]
struct ServerExchanges {
    server: SocketAddr,
    protocol: Id,
    counts: ExchangeCounts,
    /// Those that are answered with something else than a response.
    odd: u64,
    /// The latest request, and the latest one to which a response came.
    asked_at: u64,
    answered_at: u64,
}

/// What may be wrong with the requests to a server.
#[derive(Debug)]
struct Doubt {
    server: SocketAddr,
    item: Item,
    why: Failure,
}

/// Why a request is wrong.
fn cause_of(finding: &Finding) -> &'static Cause {
    let symptom = symptom(finding.rule, &finding.detail);
    let symptom = symptom.filter(|symptom| symptom.item == Item::WellFormed);
    symptom.map_or(&causes::clients::REQUEST_MALFORMED, |symptom| symptom.cause)
}

impl Client {
    /// It sends a request with this challenge.
    pub(super) fn asks(
        &mut self,
        event: &MessageEvent<'_>,
        challenge: Option<&str>,
        key: &'static str,
    ) {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        self.library = event.library().or(self.library);
        let is_given = |given: &GivenChallenge| (given.server, given.port) == (to, from.port());
        if !self.given.iter().any(is_given) {
            let is_cut = payload.lost && challenge.is_none();
            self.cut.sent((to, key), event.length() as usize, is_cut);
        }
        self.asked += 1;
        let changed = self.changed_session(event);
        match self.wrong_challenge(event, challenge, key) {
            Some(why) => {
                self.rightly = 0;
                self.faults.add(to, 1);
                self.items.fact(Item::WellFormed).fails(why);
            }
            None => self.sends(event, Some(key)),
        }
        if let Some(why) =
            changed.filter(|_| !event.checked().findings.iter().any(|it| is_clients_fault(&it)))
        {
            self.rightly = 0;
            self.unproven.seen([from, to], key, why, false);
        }
    }

    /// That the number of its session is another one than in its request for a challenge.
    fn changed_session(&mut self, event: &MessageEvent<'_>) -> Option<Failure> {
        let ends = event.ends();
        let session = event.field("timestamp").map(|value| value.to_string());
        if event.message().purpose == Purpose::ChallengeRequest {
            self.session = session.map(|session| (ends, session));
            return None;
        }
        let (_, before) = self.session.as_ref().filter(|(begun, _)| *begun == ends)?;
        let session = session.filter(|session| session != before)?;
        let values: [(_, &dyn Display); 2] = [("first", before), ("second", &session)];
        Some(Failure::with(&causes::clients::SESSION_CHANGED, event.frame(), &values))
    }

    /// It sends a request, which may be wrong, in an exchange with this key.
    fn sends(&mut self, event: &MessageEvent<'_>, key: Option<&'static str>) {
        let payload = event.payload();
        let faults = event.checked().findings.iter().filter(is_clients_fault);
        let faults = faults.map(|finding| (finding, cause_of(finding)));
        // One with a name of its own says more.
        let malformed = &causes::clients::REQUEST_MALFORMED;
        match faults.min_by_key(|(it, cause)| (is_unproven(it), *cause == malformed)) {
            Some((finding, cause)) => {
                let words = match shown_tail(payload.bytes) {
                    Some(tail) => format!("{}: \"{tail}\"", finding.detail),
                    None => finding.detail.to_string(),
                };
                let why = Failure::new(cause, payload.frame, words);
                if let Some(key) = key.filter(|_| is_unproven(finding)) {
                    self.rightly = 0;
                    self.unproven.seen([payload.from, payload.to], key, why, false);
                } else {
                    self.faults.add(payload.to, 1);
                    self.items.fact(Item::WellFormed).fails(why);
                }
            }
            None => self.items.good(Item::WellFormed, payload.frame),
        }
    }

    /// It answers the challenge of a master in a connection.
    pub(super) fn answers_challenge(&mut self, event: &MessageEvent<'_>) {
        if let Some(finding) = event.checked().findings.iter().find(is_error) {
            let cause = &causes::clients::REQUEST_MALFORMED;
            self.wrong_answer = Some(Failure::new(cause, event.frame(), &*finding.detail));
        }
    }

    /// It asks a master for a list.
    pub(super) fn asks_for_list(&mut self, event: &MessageEvent<'_>) {
        self.library = event.library().or(self.library);
        self.masters.asks(event);
        self.sends(event, None);
    }

    /// What masters answer. `serves`: whether a master answers anybody between these times.
    pub(super) fn conclude_lists(
        &mut self,
        own: IpAddr,
        serves: impl Fn(SocketAddr, [Time; 2]) -> bool,
        is_lossy: bool,
    ) {
        let any_answers = self.masters.any_answers();
        if any_answers {
            self.items.good(Item::GetsAnswers, 0);
        }
        // Where the master gives it a list all the same, it accepts the answer.
        if let Some(why) = self.wrong_answer.take().filter(|_| !any_answers) {
            self.items.fact(Item::WellFormed).fails_by(vec![why]);
        }
        let is_excused = is_lossy || self.items.fact(Item::WellFormed).run > 0;
        if let Some((asked, refusal)) = self.masters.only_others(serves).filter(|_| !is_excused) {
            let mut why = client_unanswered(own, None, ExchangeCounts { asked, answered: 0 }, 0);
            why.text.extend(refusal.map(|refusal| format!("; {refusal}")));
            self.items.fact(Item::GetsAnswers).fails(why);
        }
    }

    /// This is a fault only if none of its requests to the server is answered. The latest are kept: what is well-formed
    /// before them does not count against them.
    fn doubt(&mut self, server: SocketAddr, item: Item, why: Failure) {
        keep_latest(&mut self.doubts, CHALLENGES, Doubt { server, item, why });
    }

    /// Toward which servers its requests are wrong, and the first reason.
    pub(super) fn faults(&mut self, cause: Option<&'static Cause>) -> ClientFaults {
        self.faults.cause = cause;
        std::mem::take(&mut self.faults)
    }

    /// Only what these servers may not have answered is doubtful: of others, no answer was recorded, whatever they did.
    pub(super) fn doubt_only(&mut self, is_heard: impl Fn(&SocketAddr) -> bool) {
        self.doubts.retain(|doubt| is_heard(&doubt.server));
        self.unproven.doubt_only(is_heard);
    }

    /// Whether its requests to a server may be wrong.
    pub(super) fn may_ask_wrongly(&self, server: SocketAddr) -> bool {
        self.faults.toward(server) > 0 || self.doubts.iter().any(|doubt| doubt.server == server)
    }

    /// An exchange has ended. Returns whether the client returned its challenge, for all that was recorded.
    pub(super) fn exchange(&mut self, exchange: &mut Exchange) -> bool {
        let (server, frame) = (exchange.request.server, exchange.request.frame);
        let wrong = self.unproven.ended(exchange);
        if wrong > 0 {
            self.faults.add(server, wrong);
        }
        let is_query = exchange.request.is_query;
        self.rounds.ended(exchange);
        if !is_query || exchange.request.is_optional && !exchange.is_answered {
            return false;
        }
        if exchange.is_answered {
            self.items.good(Item::GetsAnswers, exchange.request.frame);
        }
        let protocol = exchange.request.protocol;
        let counts = ExchangeCounts::default();
        let new =
            || ServerExchanges { server, protocol, counts, odd: 0, asked_at: 0, answered_at: 0 };
        let is_it = |it: &ServerExchanges| (it.server, it.protocol) == (server, protocol);
        if let Some(of) = find_or_add(&mut self.servers, SERVERS, is_it, new)
            && !exchange.is_owed_nothing()
        {
            of.counts.add_one(exchange.is_answered);
            of.odd += u64::from(exchange.is_odd);
            of.asked_at = of.asked_at.max(frame);
            if exchange.is_answered && !exchange.is_odd {
                of.answered_at = of.answered_at.max(frame);
            }
        }
        if !exchange.is_challenged() {
            return false;
        }
        if exchange.is_left_by_client() && self.cut.may_return(&exchange.request) {
            let why = Failure::new(&causes::CAPTURE_DROPS, frame, NOT_WHOLE);
            self.items.fact(Item::ReturnsChallenge).open_by(why);
            return true;
        }
        if exchange.goes_astray() {
            self.astray = Some(frame);
            return false;
        }
        let kind = exchange.request.key();
        let new = || (kind, 0, 0);
        if let Some((_, returned, left)) =
            find_or_add(&mut self.kinds, KINDS, |it| it.0 == kind, new)
        {
            match exchange.is_left_by_client() {
                true => *left += exchange.challenges_left(),
                false => *returned += 1,
            }
        }
        if exchange.is_left_by_client() {
            self.faults.add(exchange.request.server, 1);
            let challenges = self.kinds.iter().map(|it| it.2).sum::<u64>();
            let values: [(_, &dyn Display); 2] =
                [("challenges", &challenges), ("server", &exchange.request.server)];
            let cause = &causes::clients::CHALLENGE_NOT_RETURNED;
            let why = Failure::with(cause, exchange.request.frame, &values);
            self.items.fact(Item::ReturnsChallenge).open_by(why);
        } else {
            self.items.good(Item::ReturnsChallenge, exchange.request.frame);
        }
        false
    }

    /// Whether it never returns the challenges of a kind of request.
    fn never_returns(&self) -> bool {
        self.kinds.iter().any(|(_, returned, left)| *returned == 0 && *left >= AGAIN)
    }

    /// Whether it returned any challenge.
    pub(super) fn returns_challenges(&self) -> bool {
        self.kinds.iter().any(|(_, returned, _)| *returned > 0)
    }

    /// Requests are wrong that may be, if the server answers none of them.
    fn settle_doubts(&mut self) {
        let is_answered_at_all = self.servers.iter().any(|it| it.counts.answered > 0);
        let answers = |server: &SocketAddr| {
            self.servers.iter().any(|it| it.server == *server && it.counts.answered > 0)
        };
        let doubts = std::mem::take(&mut self.doubts);
        let is_of_challenge = |why: &Failure| why.cause == &causes::clients::CHALLENGE_WRONG;
        let wrong = doubts.iter().filter(|doubt| is_of_challenge(&doubt.why)).count() as u64;
        // Of one case among many, the challenge may be one that was not recorded.
        let right = self.items.fact(Item::ReturnsChallenge).good;
        let is_rare = !is_too_much(wrong, wrong + right);
        for Doubt { server, item, why } in doubts {
            let is_excused = is_rare && is_of_challenge(&why);
            if !is_excused && !answers(&server) {
                self.faults.add(server, u64::MAX);
                // What a client that other servers answer asks right later mends it.
                match is_answered_at_all {
                    true => self.items.fact(item).fails(why),
                    false => self.items.fact(item).fails_at_the_end(why),
                }
            }
        }
    }

    /// Requests were wrong by what came before them, if that was recorded.
    fn settle_unproven(&mut self, answers_any: impl Fn(&SocketAddr) -> bool, is_lossy: bool) {
        // What is wrong for certain says more.
        let is_known = self.items.fact(Item::WellFormed).run > 0;
        let is_of_port = |why: &Failure| why.cause == &causes::clients::CHALLENGE_OTHER_PORT;
        let settled = Vec::from_iter(self.unproven.take(answers_any));
        let of_port = settled.iter().filter(|it| !it.is_mended && is_of_port(&it.why)).count();
        for SettledFault { why, is_mended, is_guess } in settled {
            self.is_mended |= is_mended;
            // One or two may be lost on the way.
            let is_accident = is_of_port(&why) && (of_port as u64) < NO_ACCIDENT;
            if is_mended || is_guess && is_known || is_accident {
                continue;
            }
            let item = if is_of_port(&why) { Item::ReturnsChallenge } else { Item::WellFormed };
            let fact = self.items.fact(item);
            if !is_lossy {
                fact.fails_at_the_end(why);
            } else if fact.run == 0 {
                let why = Failure { cause: &causes::CAPTURE_DROPS, ..why };
                fact.doubt(vec![why.frame], why);
            }
        }
    }

    /// It asks a server for challenges, and never for anything with one.
    fn only_asks_for_challenges(&mut self) {
        for (server, answered, frame) in self.rounds.take_alone() {
            let values: [(_, &dyn Display); 2] = [("challenges", &answered), ("server", &server)];
            let cause = &causes::clients::CHALLENGE_NOT_RETURNED;
            self.faults.add(server, u64::MAX);
            let why = Failure::with(cause, frame, &values);
            self.items.fact(Item::ReturnsChallenge).fails(why);
        }
    }

    /// Conclusions at the end. `patterns`: the exchanges with a server; `is_filtered`: something in front of the server
    /// drops challenges that are returned; `explains`: what is known of a server explains why a client gets no answer: it
    /// is under attack, so that its clients may be attackers, or answers from another address; `is_lossy`: what is missing
    /// proves nothing.
    pub(super) fn conclude<'p>(
        &mut self,
        own: IpAddr,
        patterns: impl Fn(&SocketAddr) -> Option<&'p Pattern>,
        is_filtered: impl Fn(&SocketAddr) -> bool,
        explains: impl Fn(&SocketAddr) -> bool,
        is_lossy: bool,
    ) {
        self.settle_doubts();
        self.settle_unproven(
            |server| !explains(server) && patterns(server).is_some_and(|it| it.all.answered > 0),
            is_lossy,
        );
        if !is_lossy {
            self.only_asks_for_challenges();
        }
        let never_returns = self.never_returns();
        let zero = &causes::clients::CHALLENGE_ZERO_SENT;
        let well_formed = self.items.fact(Item::WellFormed);
        let sends_zero = well_formed.failure(true).is_some_and(|why| why.cause == zero);
        let challenge = self.items.fact(Item::ReturnsChallenge);
        if let Some(open) = challenge.open.take() {
            let servers = || self.servers.iter().map(|it| it.server);
            let (filtered, frame) = (servers().find(|server| is_filtered(server)), open.frame);
            match filtered {
                Some(_) => {
                    let text = "something in front of the server may drop the returned challenge";
                    challenge.open(&causes::answers::CHALLENGE_FILTERED, frame, text);
                }
                // Another port is the reason.
                None if challenge.run > 0 || sends_zero => {}
                None if self.moved.is_some() => challenge.open = self.moved.take().map(Box::new),
                None if never_returns && !is_lossy && !servers().all(|it| explains(&it)) => {
                    challenge.fails_by(vec![*open])
                }
                None if open.cause == &causes::CAPTURE_DROPS => challenge.open = Some(open),
                None if challenge.good == 0 => {
                    challenge.open(&causes::CAPTURE_TOO_SHORT, frame, open.text);
                }
                None => {}
            }
        }
        let challenge = self.items.fact(Item::ReturnsChallenge);
        if let Some(frame) = self.astray.filter(|_| !challenge.is_known()) {
            challenge.open_by(Failure::with(&causes::clients::CHALLENGE_ASTRAY, frame, &[]));
        }
        let servers = std::mem::take(&mut self.servers);
        for of @ ServerExchanges { server, protocol: id, counts, .. } in &servers {
            let Some(pattern) = patterns(server) else { continue };
            let answers = pattern.responds_in();
            match answers.first() {
                Some(other) if counts.answered == of.odd && !answers.contains(id) => {
                    let right = servers.iter().filter(|it| it.server == *server);
                    let right = right.filter(|it| answers.contains(&it.protocol));
                    let found = right.map(|it| it.answered_at).max();
                    self.asks_in_another_protocol(of, *other, found.unwrap_or(0));
                }
                Some(_) if counts.answered > 0 => self.items.good(Item::RightProtocol, 0),
                _ => {}
            }
            if let Some(why) = pattern.has_expired(own).filter(|_| !is_lossy) {
                self.faults.add(*server, pattern.of_client(own).missing());
                self.items.fact(Item::ReturnsChallenge).fails_by(vec![why]);
            }
            let is_judged = answers.contains(id) && !is_lossy && !explains(server);
            if is_judged {
                self.gets_answers(own, *server, *counts, pattern);
            }
        }
    }

    /// It asks a server in another protocol than the server answers in. `found`: its latest request that the server
    /// answers in its own; where that is the last one, it has found out.
    fn asks_in_another_protocol(&mut self, of: &ServerExchanges, other: Id, found: u64) {
        let ServerExchanges { server, protocol, counts, asked_at, .. } = of;
        self.faults.add(*server, u64::MAX);
        self.faults.asks_in_vain(*server, counts.asked);
        if found > *asked_at {
            self.is_mended = true;
            return;
        }
        let values: [(_, &dyn Display); 3] = [
            ("server", server),
            ("asked", &protocol.info().title),
            ("answers", &other.info().title),
        ];
        let cause = &causes::clients::WRONG_PROTOCOL;
        self.items.fact(Item::RightProtocol).fails(Failure::with(cause, 0, &values));
    }

    /// Whether a server answers it as it does others.
    fn gets_answers(
        &mut self,
        own: IpAddr,
        server: SocketAddr,
        counts: ExchangeCounts,
        pattern: &Pattern,
    ) {
        // What is owed nothing says nothing.
        if self.faults.toward(server).saturating_mul(2) >= counts.missing() {
            return;
        }
        let others = pattern.all.answered.saturating_sub(pattern.of_client(own).answered);
        let is_silent = counts.asked >= NO_ACCIDENT && counts.answered == 0 && others > 0;
        // Where it is what tells the unanswered requests of all, a few answers are no excuse.
        let is_singled_out = || {
            let is_it = |by: (_, String)| by == ("client", own.to_string());
            counts.asked >= ENOUGH
                && (counts.answered * 10 <= counts.asked || pattern.breaks_off_with(own))
                && match pattern.failure() {
                    Some(found) => found.by.is_some_and(is_it),
                    None => pattern.breaks_off_with(own),
                }
        };
        let gets_answers = self.items.fact(Item::GetsAnswers);
        if is_silent && let Some(why) = pattern.other_reason(own) {
            let asked = counted(counts.asked, "request");
            let text = format!("none of {asked} to {server} is answered: {}", why.text);
            gets_answers.open_by(Failure { text, ..why });
        } else if is_silent || is_singled_out() {
            let mut why = client_unanswered(own, Some(server), counts, 0);
            why.text.extend(pattern.refusal_of(own).map(|refusal| format!("; {refusal}")));
            gets_answers.fails_by(vec![why]);
        } else if let Some((span, missing)) = pattern.is_left_out(own) {
            let mut why = client_unanswered(own, Some(server), counts, 0);
            why.text +=
                &format!("; none of {} {}", grouped(missing), in_words(span, pattern.has_dates()));
            gets_answers.fails_by(vec![why]);
            self.silence = Some(span);
        }
    }
}
