//! What the unanswered exchanges with a server have in common.

mod ages;
mod apart;
mod beside;
mod common_silence;
mod disputed;
mod divided;
mod history;
mod lengths;
mod list_requests;
mod networks;
mod of_one;
mod paces;
mod periods;
mod timeline;
mod within;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, Time, causes};

use self::ages::Ages;
pub(in crate::diagnose) use self::common_silence::CommonSilences;
pub(in crate::diagnose) use self::disputed::{Disputed, Unanswered};
use self::divided::{Candidate, Divided};
use self::history::History;
use self::lengths::Lengths;
pub(in crate::diagnose) use self::list_requests::{CommonOfLists, ListRequests};
use self::paces::Paces;
use self::periods::Periods;
pub(in crate::diagnose) use self::periods::in_words;
use super::Exchange;
use super::kind_words::requests;
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{ENOUGH, Failure, NO_ACCIDENT, are_over, is_too_much};
use crate::session::ExchangeCounts;
use crate::text::{brief_span, counted, grouped};

/// Maximum number of kinds of requests.
const KINDS: usize = 16;

/// Maximum number of clients that are told apart.
const CLIENTS: usize = 256;

/// Packets that are named.
const NAMED: usize = 3;

/// Nothing tells the unanswered exchanges from others.
const NONE: &str = ", without a pattern in kind, client, time, rate or length";

/// None of enough was answered.
fn is_silent(counts: &ExchangeCounts) -> bool {
    counts.asked >= NO_ACCIDENT && counts.answered == 0
}

/// All of these together.
fn sum(counts: impl IntoIterator<Item = ExchangeCounts>) -> ExchangeCounts {
    let mut sum = ExchangeCounts::default();
    counts.into_iter().for_each(|counts| sum.add(counts));
    sum
}

/// The item of a list at a place, with empty ones before it if it is longer than the list. Most servers are asked so
/// little that their lists stay short.
fn item_at<T: Clone + Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize(place + 1, T::default());
    }
    &mut list[place]
}

/// Whether so many are nearly all of the unanswered ones.
fn is_nearly_all(count: u64, missing: u64) -> bool {
    10 * count >= 9 * missing
}

/// ICMP errors in place of answers.
#[derive(Clone, Debug)]
struct Refusals {
    count: u64,
    first: Failure,
}

/// The exchanges of one kind of request.
#[derive(Clone, Debug)]
struct Kind {
    protocol: Id,
    name: &'static str,
    history: History,
    ages: Ages,
    /// Who asks, if only one client does.
    client: Option<IpAddr>,
}

/// The exchanges of a client.
#[derive(Clone, Debug, Default)]
struct OfClient {
    history: History,
    /// Those of each kind, at its place; of an unknown one at the last place.
    kinds: Vec<ExchangeCounts>,
    /// The age of the oldest challenge of an unanswered one, in nanoseconds.
    oldest: i64,
    /// What the first ICMP error about one says.
    refused: Option<Box<str>>,
}

/// The exchanges with one server.
#[derive(Clone, Debug, Default)]
pub(in crate::diagnose) struct Pattern {
    kinds: Vec<Kind>,
    clients: Map<IpAddr, OfClient>,
    /// Kinds of requests that some clients send with an appended number that is no challenge: without and with it.
    appended: [ExchangeCounts; 2],
    /// The first such number.
    appendix: Option<i64>,
    lengths: Lengths,
    /// How fast they follow the same client's, and anybody's.
    paces: [Paces; 2],
    periods: Periods,
    refusals: Option<Refusals>,
    missing: Vec<u64>,
    pub(in crate::diagnose) all: ExchangeCounts,
    /// The protocols of its responses to requests in the same protocol.
    responds_in: Vec<Id>,
}

impl Pattern {
    /// Times are shown with their day.
    pub(in crate::diagnose) fn shows_dates(&mut self, has_dates: bool) {
        self.periods.has_dates = has_dates;
    }

    /// None is answered behind the last one that is not.
    pub(in crate::diagnose) fn answers_none_since(&self) -> bool {
        self.periods.answered_since() == 0
    }

    pub(in crate::diagnose) fn has_dates(&self) -> bool {
        self.periods.has_dates
    }

    /// Adds an exchange that the server owed an answer.
    pub(in crate::diagnose) fn add(&mut self, exchange: &Exchange) {
        let (is_answered, time) = (exchange.is_answered, exchange.request.time);
        self.all.add_one(is_answered);
        let age = exchange.request.challenge_age.unwrap_or(0);
        let id = exchange.request.protocol;
        if is_answered && !exchange.is_odd && !self.responds_in.contains(&id) {
            self.responds_in.push(id);
        }
        let client = exchange.request.client.ip();
        let kind = exchange.kind().and_then(|kind| {
            let protocol = exchange.request.protocol;
            let is_it = |it: &Kind| (it.protocol, it.name) == (protocol, kind);
            let new = || Kind {
                protocol,
                name: kind,
                history: History::default(),
                ages: Ages::default(),
                client: Some(client),
            };
            let known = find_or_add(&mut self.kinds, KINDS, is_it, new)?;
            known.client = known.client.filter(|known| *known == client);
            known.history.add(time, is_answered);
            known.ages.add(age, time, is_answered);
            self.kinds.iter().position(is_it)
        });
        if self.clients.len() < CLIENTS || self.clients.contains_key(&client) {
            let client = self.clients.entry(client).or_default();
            client.history.add(time, is_answered);
            item_at(&mut client.kinds, kind.unwrap_or(KINDS - 1)).add_one(is_answered);
            if !is_answered {
                client.oldest = client.oldest.max(age);
                if client.refused.is_none() {
                    client.refused = exchange.refusal.as_ref().map(|it| it.text.clone().into());
                }
            }
        }
        let appendix = exchange.request.appendix();
        self.appended[usize::from(appendix.is_some())].add_one(is_answered);
        self.appendix = self.appendix.or(appendix);
        self.lengths.add(exchange);
        for (paces, pace) in self.paces.iter_mut().zip(&exchange.paces) {
            paces.add(pace, time, is_answered);
        }
        self.periods.add(time, is_answered);
        if let Some(refusal) = exchange.refusal.as_deref().filter(|_| !is_answered) {
            let new = || Refusals { count: 0, first: refusal.clone() };
            self.refusals.get_or_insert_with(new).count += 1;
        }
        if !is_answered && self.missing.len() < NAMED {
            self.missing.push(exchange.request.frame);
        }
    }

    /// The protocols in which its responses can be read.
    pub(in crate::diagnose) fn responds_in(&self) -> &[Id] {
        &self.responds_in
    }

    /// The protocols in which it is asked, and answers somehow.
    fn answers_in(&self) -> impl Iterator<Item = Id> + '_ {
        let answered = self.kinds.iter().filter(|kind| kind.history.counts.answered > 0);
        answered.map(|kind| kind.protocol)
    }

    /// Whether it is asked this kind of request so many times, and never answers it.
    pub(in crate::diagnose) fn never_answers(&self, kind: &str, times: u64) -> bool {
        let is_silent = |it: &ExchangeCounts| it.asked >= times && it.answered == 0;
        self.kinds.iter().any(|it| it.name == kind && is_silent(&it.history.counts))
    }

    /// Why a client gets no answer at all, if it is not who it is.
    pub(in crate::diagnose) fn other_reason(&self, client: IpAddr) -> Option<Failure> {
        let history = self.clients.get(&client)?.history;
        let mut others = self.clients.iter().filter(|(other, _)| **other != client);
        let are_others_answered =
            others.any(|(_, other)| history.is_answered_while_ends(&other.history));
        // What nobody gets, or at a time when nobody gets anything, is the server's matter.
        if self.misses_what_all_miss(client) || !are_others_answered {
            let text = "others get none at that time, either";
            let unanswered = || Failure::new(&causes::QUERIES_UNANSWERED, self.frame(), text);
            let found = self.of_some_kinds();
            let found = found.or_else(|| self.periods.silent(&self.all, true, self.frame()));
            return Some(found.map_or_else(unanswered, |found| found.failure.failure));
        }
        let found = self.failure()?;
        let is_other = match &found.by {
            Some((by, _)) => !matches!(*by, "client" | "all_but" | "network" | "kind"),
            None => found.failure.cause != &causes::answers::SOMETIMES_UNANSWERED,
        };
        is_other.then_some(found.failure)
    }

    /// Why a client's requests are unanswered, if their challenges are too old: it keeps one for longer than the server.
    pub(in crate::diagnose) fn has_expired(&self, client: IpAddr) -> Option<Failure> {
        let missing = |kind: &&Kind| kind.history.counts.missing();
        let kind = self.kinds.iter().max_by_key(missing)?;
        let is_this = is_nearly_all(missing(&kind), self.all.missing());
        let (limit, divided) = kind.ages.limit().filter(|_| is_this)?;
        self.clients.get(&client).filter(|it| it.oldest >= limit)?;
        let [old, others] = divided.in_words();
        let age = brief_span(limit.unsigned_abs());
        let values: [(_, &dyn Display); 3] = [("age", &age), ("old", &old), ("others", &others)];
        Some(Failure::with(&causes::clients::CHALLENGE_EXPIRED, self.frame(), &values))
    }

    /// Whether all that a client misses is of kinds that nobody gets, though others ask for them, too.
    fn misses_what_all_miss(&self, client: IpAddr) -> bool {
        let Some(client) = self.clients.get(&client) else { return false };
        let nobody_gets = |kind: &Kind| kind.client.is_none() && is_silent(&kind.history.counts);
        let missed = (0..).zip(&client.kinds).filter(|(_, counts)| counts.missing() > 0);
        let mut missed = missed.map(|(place, _)| self.kinds.get(place));
        client.history.counts.missing() > 0 && missed.all(|it| it.is_some_and(nobody_gets))
    }

    /// Whether it no longer answers a kind of request that it answered before, and still answers others.
    pub(in crate::diagnose) fn ends_a_kind(&self) -> bool {
        self.end_of_a_kind(NO_ACCIDENT).is_some()
    }

    /// Whether a client was answered, and no longer is, while others are.
    pub(in crate::diagnose) fn breaks_off_with(&self, client: IpAddr) -> bool {
        let others = self.clients.iter().filter(|(other, _)| **other != client);
        let others = others.map(|(_, other)| &other.history);
        let end = self.clients.get(&client).and_then(|client| client.history.ended(others));
        end.is_some_and(|end| end.count >= ENOUGH / 2)
    }

    /// Whether so many are nearly all that are unanswered, and too many for an accident.
    pub(in crate::diagnose) fn is_explained_by(&self, count: u64) -> bool {
        is_nearly_all(count, self.all.missing()) && !self.is_accident()
    }

    /// Whether so many explain those that are unanswered, and all are answered since.
    pub(in crate::diagnose) fn was_explained_by(&self, count: u64) -> bool {
        self.is_over() && self.is_explained_by(count)
    }

    /// Whether some are unanswered, and all are answered since, to each client that misses some.
    pub(in crate::diagnose) fn is_over(&self) -> bool {
        let is_answered = |client: &OfClient| {
            client.history.counts.missing() == 0 || client.history.end.count == 0
        };
        self.are_others_answered_since() && self.clients.values().all(is_answered)
    }

    /// Whether some are unanswered, and all are answered since, whoever asks.
    fn are_others_answered_since(&self) -> bool {
        are_over(self.all.missing(), self.all.asked, self.periods.answered_since())
    }

    /// The exchanges of one client.
    pub(in crate::diagnose) fn of_client(&self, client: IpAddr) -> ExchangeCounts {
        self.clients.get(&client).map(|client| client.history.counts).unwrap_or_default()
    }

    /// The clients.
    pub(in crate::diagnose) fn clients(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.clients.keys().copied()
    }

    /// Whether nearly all of its clients ask it once only.
    pub(in crate::diagnose) fn is_asked_once_by_each(&self) -> bool {
        let once = self.clients.values().filter(|it| it.history.counts.asked == 1).count();
        is_nearly_all(once as u64, self.clients.len() as u64)
    }

    /// The clients with unanswered requests.
    pub(in crate::diagnose) fn clients_missing(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.clients
            .iter()
            .filter(|(_, it)| it.history.counts.missing() > 0)
            .map(|(client, _)| *client)
    }

    /// What is wrong with its answers, if anything is: the reason, and what all unanswered exchanges have in common.
    pub(in crate::diagnose) fn failure(&self) -> Option<PatternFailure> {
        if self.all.answered == 0 || self.all.missing() == 0 {
            return None;
        }
        if let Some(refused) = self.refused() {
            return Some(refused).filter(|_| !self.is_accident() && !self.periods.is_mended());
        }
        let never = self.of_some_kinds().or_else(|| self.of_appended());
        let never = never.or_else(|| self.of_silent_clients());
        if self.is_accident() {
            let period = || self.periods.silent(&self.all, false, self.frame());
            let is_of_one = self.clients.keys().any(|client| self.breaks_off_with(*client));
            let period = never.or_else(|| period().filter(|_| !is_of_one));
            return period.map(|found| found.failure);
        }
        // What never is answered may be only some of what is not.
        let is_all = |never: &Candidate| 10 * never.errors <= self.all.missing();
        let found = match never {
            Some(never) if is_all(&never) => Some(never),
            never => [never, self.apart()].into_iter().flatten().min_by_key(|it| it.errors),
        };
        let mut found = found.map_or_else(|| self.sometimes(NONE, None), |found| found.failure);
        found.failure.text.extend(self.refused_in_part());
        // It starts within the capture.
        let has_started = found.failure.cause == &causes::answers::SILENT_PERIOD
            && self.periods.is_mended()
            && self.are_others_answered_since();
        (!has_started).then_some(found)
    }

    /// Why it is at fault although it answers nearly all requests: it no longer answers some, or any.
    pub(in crate::diagnose) fn no_longer(&self) -> PatternFailure {
        let kind = || self.end_of_a_kind(NO_ACCIDENT);
        let period = || self.periods.silent(&self.all, true, self.frame());
        let found = kind().or_else(period).map(|found| found.failure);
        found.unwrap_or_else(|| self.sometimes(NONE, None))
    }

    /// The ICMP errors, if they answer what is unanswered.
    fn refusals(&self) -> Option<&Refusals> {
        let missing = self.all.missing();
        self.refusals.as_ref().filter(|it| is_nearly_all(it.count, missing))
    }

    /// ICMP errors answer what is unanswered. A port that is closed is closed to all; where others are answered at the same
    /// time, who these are says more. A rate is only a guess beside what the errors say.
    pub(in crate::diagnose) fn refused(&self) -> Option<PatternFailure> {
        let Refusals { count, first } = self.refusals()?;
        let is_closed = self.periods.silent(&self.all, true, first.frame).is_some();
        let of_clients = || self.of_silent_clients().or_else(|| self.apart_but_for_rate());
        let of_some = (!is_closed).then(of_clients);
        if let Some(Candidate { failure: mut found, .. }) = of_some.flatten() {
            found.failure.text = format!("{}; {}", found.failure.text, first.text);
            return Some(found);
        }
        let (span, when) = self.periods.longest().unzip();
        let (when, requests) = (when.unwrap_or_default(), counted(*count, "request"));
        let rate = self.limited().filter(|_| !is_closed);
        let rate = rate.map_or(String::new(), |it| format!("; {}", it.failure.failure.text));
        let text = format!("{requests}{when}: {}{rate}", first.text);
        let failure = PatternFailure::new(Failure { text, ..first.clone() }, None);
        Some(PatternFailure { span, ..failure })
    }

    /// Whether too few are unanswered, or asked, to call it a share.
    pub(in crate::diagnose) fn is_accident(&self) -> bool {
        self.all.asked < ENOUGH || self.is_rare()
    }

    /// Whether so many of a few requests are unanswered that others may be, too.
    pub(in crate::diagnose) fn may_be_more(&self) -> bool {
        self.all.asked < ENOUGH && is_too_much(self.all.missing(), self.all.asked)
    }

    /// How many are unanswered, without what they have in common.
    pub(in crate::diagnose) fn some_unanswered(&self) -> Failure {
        self.sometimes("", None).failure
    }

    /// Whether at most one of ten requests is not answered.
    fn is_rare(&self) -> bool {
        self.all.missing() * 10 <= self.all.asked
    }

    /// The kinds of requests that are never answered, while others are.
    pub(in crate::diagnose) fn silent_kinds(
        &self,
    ) -> impl Iterator<Item = (&'static str, ExchangeCounts)> {
        let answers = |id: Id| self.answers_in().any(|other| other == id);
        let kinds = self.kinds.iter().map(|kind| (kind.protocol, kind.name, kind.history.counts));
        let silent = kinds.filter(move |(id, _, counts)| is_silent(counts) && answers(*id));
        silent.map(|(_, kind, counts)| (kind, counts))
    }

    /// Some kinds of requests are never answered.
    fn of_some_kinds(&self) -> Option<Candidate> {
        let silent = Vec::from_iter(self.silent_kinds());
        let kinds = Vec::from_iter(silent.iter().map(|(kind, _)| requests(kind))).join(" and ");
        let asked: u64 = silent.iter().map(|(_, counts)| counts.asked).sum();
        let values: [(_, &dyn Display); 2] = [("asked", &grouped(asked)), ("kind", &kinds)];
        let (first, _) = silent.first()?;
        let cause = &causes::answers::ONLY_SOME_KINDS;
        let mut failure = Failure::with(cause, self.frame(), &values);
        failure.text.extend(self.beside_silent_kinds());
        let failure = PatternFailure::new(failure, Some(("kind", (*first).to_owned())));
        Some(Candidate { failure, errors: self.all.missing() - asked })
    }

    /// Requests with an appended number that is no challenge are never answered.
    fn of_appended(&self) -> Option<Candidate> {
        let [plain, appended] = self.appended;
        if !is_silent(&appended) || plain.answered < NO_ACCIDENT {
            return None;
        }
        let values: [(_, &dyn Display); 4] = [
            ("appendix", &self.appendix.unwrap_or(-1)),
            ("asked", &grouped(appended.asked)),
            ("answered", &grouped(plain.answered)),
            ("plain", &grouped(plain.asked)),
        ];
        let cause = &causes::answers::APPENDED_CHALLENGE_IGNORED;
        let by = ("appended", self.appendix.unwrap_or(-1).to_string());
        let failure = PatternFailure::new(Failure::with(cause, self.frame(), &values), Some(by));
        Some(Candidate { failure, errors: plain.missing() })
    }

    /// Some clients are never answered, and no other is missing anything. Of a server that answers nearly all requests, that
    /// is a matter of the client.
    fn of_silent_clients(&self) -> Option<Candidate> {
        if self.is_rare() {
            return None;
        }
        let clients = self.clients.iter().map(|(client, it)| (*client, it.history.counts));
        let (mut silent, others): (Vec<_>, Vec<_>) =
            clients.partition(|(_, counts)| is_silent(counts));
        silent.sort_unstable_by_key(|(client, _)| *client);
        let counts = sum(silent.iter().map(|(_, counts)| *counts));
        let divided = Divided { suspects: counts, others: sum(others.iter().map(|it| it.1)) };
        if !divided.is_apart(self.all.missing()) {
            return None;
        }
        match &silent[..] {
            [] => None,
            // Those that come while nobody is answered are not what makes the difference.
            _ if self.periods.are_one() => None,
            [(client, counts)] => {
                let why = client_unanswered(*client, None, *counts, self.frame());
                let failure = PatternFailure::new(why, Some(("client", client.to_string())));
                Some(Candidate { failure, errors: self.all.missing() - counts.missing() })
            }
            clients => {
                let divided = divided.if_enough()?;
                let names = first_names(clients.iter().map(|(client, _)| client));
                let of_clients = self.of_these(&names, &divided, "", ("client", names.clone()));
                // One limit says more than a long list of clients, of which each is always late: a client in the list is
                // worth an exchange for which the limit is wrong.
                let limited = (clients.len() > NAMED).then(|| self.limited_in_sum()).flatten();
                let listed = of_clients.errors + clients.len() as u64;
                limited.filter(|it| it.errors < listed).or(Some(of_clients))
            }
        }
    }

    /// Requests of these are often unanswered. `also`: what else these have in common.
    fn of_these(
        &self,
        these: &str,
        divided: &Divided,
        also: &str,
        by: (&'static str, String),
    ) -> Candidate {
        let [suspects, others] = divided.in_words();
        let pattern = format!(": of {these}, {suspects}{also}; of others, {others}");
        Candidate { failure: self.sometimes(&pattern, Some(by)), errors: divided.errors() }
    }

    fn sometimes(&self, pattern: &str, by: Option<(&'static str, String)>) -> PatternFailure {
        let values: [(_, &dyn Display); 4] = [
            ("answered", &grouped(self.all.answered)),
            ("asked", &grouped(self.all.asked)),
            ("missing", &grouped(self.all.missing())),
            ("pattern", &pattern),
        ];
        let cause = &causes::answers::SOMETIMES_UNANSWERED;
        PatternFailure::new(Failure::with(cause, self.frame(), &values), by)
    }

    /// The first unanswered request.
    pub(in crate::diagnose) fn frame(&self) -> u64 {
        self.missing.first().copied().unwrap_or_default()
    }
}

/// What unanswered requests have in common, for people.
fn shown(by: &str, one: &impl Display) -> String {
    if by == "kind" { requests(&one.to_string()) } else { one.to_string() }
}

/// The first of several, and how many more there are.
pub(in crate::diagnose) fn first_names(all: impl ExactSizeIterator<Item = impl Display>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let names = Vec::from_iter(all.take(NAMED).map(|one| one.to_string())).join(", ");
    if more > 0 { format!("{names} and {} more", grouped(more as u64)) } else { names }
}

/// Requests of one client are not answered, and those of others are. `server`: which one does not, if others may be meant.
pub(in crate::diagnose) fn client_unanswered(
    client: IpAddr,
    server: Option<SocketAddr>,
    counts: ExchangeCounts,
    frame: u64,
) -> Failure {
    let toward = server.map_or(String::new(), |server| format!(" to {server}"));
    let values: [(_, &dyn Display); 4] = [
        ("answered", &grouped(counts.answered)),
        ("asked", &grouped(counts.asked)),
        ("client", &client),
        ("toward", &toward),
    ];
    Failure::with(&causes::answers::ONE_CLIENT_UNANSWERED, frame, &values)
}

/// A pattern of unanswered exchanges.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct PatternFailure {
    pub(in crate::diagnose) failure: Failure,
    /// What all of them have in common.
    pub(in crate::diagnose) by: Option<(&'static str, String)>,
    /// From when to when.
    pub(in crate::diagnose) span: Option<[Time; 2]>,
    /// No other server answers in that time, either.
    pub(in crate::diagnose) is_of_all: bool,
}

impl PatternFailure {
    fn new(failure: Failure, by: Option<(&'static str, String)>) -> PatternFailure {
        PatternFailure { failure, by, span: None, is_of_all: false }
    }
}
