//! What the unanswered exchanges with a server have in common.

mod paces;
mod periods;

use std::fmt::Display;
use std::net::IpAddr;

use dissectors::Id;
use dissectors::kit::{Map, Time, causes};

use self::paces::Paces;
use self::periods::Periods;
use super::exchange_log::Exchange;
use super::fact::{ENOUGH, Failure, NO_ACCIDENT};
use super::find_or_add::find_or_add;
use crate::session::ExchangeCounts;
use crate::text::grouped;

/// Maximum number of kinds of requests.
const KINDS: usize = 16;

/// Maximum number of clients that are told apart.
const CLIENTS: usize = 256;

/// Maximum number of lengths of requests.
const LENGTHS: usize = 32;

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

/// Exchanges that a property divides: those that have it, which may be why they are unanswered, and the others.
struct Divided {
    suspects: ExchangeCounts,
    others: ExchangeCounts,
}

impl Divided {
    /// `None`: the property is not what makes the difference between the answered and the unanswered ones, of which there
    /// are so many.
    fn of(
        suspects: impl IntoIterator<Item = ExchangeCounts>,
        others: impl IntoIterator<Item = ExchangeCounts>,
        missing: u64,
    ) -> Option<Divided> {
        let divided = Divided { suspects: sum(suspects), others: sum(others) };
        let is_half = 2 * divided.suspects.missing() >= divided.suspects.asked;
        let is_enough = divided.suspects.asked.min(divided.others.asked) >= ENOUGH / 2;
        (is_half && is_enough && divided.is_apart(missing)).then_some(divided)
    }

    /// The same, if those that have the property are unanswered now and then only: at least one of five, and if the others
    /// were, too, some would be.
    fn now_and_then(
        suspects: ExchangeCounts,
        others: impl IntoIterator<Item = ExchangeCounts>,
        missing: u64,
    ) -> Option<Divided> {
        let divided = Divided { suspects, others: sum(others) };
        let is_often = 5 * suspects.missing() >= suspects.asked;
        let would_be = suspects.missing().saturating_mul(divided.others.asked);
        let is_enough = would_be >= ENOUGH / 2 * suspects.asked;
        (is_often && is_enough && divided.is_apart(missing)).then_some(divided)
    }

    /// Nearly all of the unanswered ones have the property.
    fn is_apart(&self, missing: u64) -> bool {
        is_nearly_all(self.suspects.missing(), missing)
            && 20 * self.others.missing() <= self.others.asked
    }

    /// Of several ways to divide them, the one that is wrong for the fewest.
    fn best<W>(
        ways: impl Iterator<Item = W>,
        divide: impl Fn(&W) -> Option<Divided>,
    ) -> Option<(W, Divided)> {
        let found = ways.filter_map(|way| divide(&way).map(|divided| (way, divided)));
        found.min_by_key(|(_, divided)| divided.errors())
    }

    /// For how many exchanges the property says the contrary of what happened.
    fn errors(&self) -> u64 {
        self.suspects.answered + self.others.missing()
    }
}

/// How to divide them into some and all others.
type Divide<'d> = &'d dyn Fn(ExchangeCounts, &[ExchangeCounts]) -> Option<Divided>;

/// A pattern that may be the best one.
struct Candidate {
    failure: PatternFailure,
    /// See [`Divided::errors`].
    errors: u64,
}

/// ICMP errors in place of answers.
#[derive(Debug)]
struct Refusals {
    count: u64,
    first: Failure,
}

/// The exchanges with one server.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    /// By protocol and kind of request.
    kinds: Vec<(Id, &'static str, ExchangeCounts)>,
    clients: Map<IpAddr, ExchangeCounts>,
    /// Kinds of requests that some clients send with an appended number that is no challenge: without and with it.
    appended: [ExchangeCounts; 2],
    /// The first such number.
    appendix: Option<i64>,
    /// By the length of the request in bytes.
    lengths: Vec<(usize, ExchangeCounts)>,
    /// How fast they follow the same client's, and anybody's.
    paces: [Paces; 2],
    periods: Periods,
    refusals: Option<Refusals>,
    missing: Vec<u64>,
    pub(super) all: ExchangeCounts,
}

impl Pattern {
    /// Adds an exchange that the server owed an answer.
    pub(super) fn add(&mut self, exchange: &Exchange) {
        let is_answered = exchange.is_answered;
        self.all.add_one(is_answered);
        if let Some(kind) = exchange.kind() {
            let key = (exchange.request.protocol, kind);
            let new = || (key.0, key.1, ExchangeCounts::default());
            let kind = find_or_add(&mut self.kinds, KINDS, |it| (it.0, it.1) == key, new);
            kind.into_iter().for_each(|(.., share)| share.add_one(is_answered));
        }
        let client = exchange.request.client.ip();
        if self.clients.len() < CLIENTS || self.clients.contains_key(&client) {
            self.clients.entry(client).or_default().add_one(is_answered);
        }
        let appendix = exchange.request.appendix();
        self.appended[usize::from(appendix.is_some())].add_one(is_answered);
        self.appendix = self.appendix.or(appendix);
        let length = exchange.request.length;
        let new = || (length, ExchangeCounts::default());
        if let Some((_, share)) = find_or_add(&mut self.lengths, LENGTHS, |it| it.0 == length, new)
        {
            share.add_one(is_answered);
        }
        for (paces, pace) in self.paces.iter_mut().zip(&exchange.paces) {
            paces.add(pace, exchange.request.time, is_answered);
        }
        self.periods.add(exchange.request.time, is_answered);
        if let Some(refusal) = exchange.refusal.as_deref().filter(|_| !is_answered) {
            let new = || Refusals { count: 0, first: refusal.clone() };
            self.refusals.get_or_insert_with(new).count += 1;
        }
        if !is_answered && self.missing.len() < NAMED {
            self.missing.push(exchange.request.frame);
        }
    }

    /// The protocols in which it answered.
    pub(super) fn answers_in(&self) -> impl Iterator<Item = Id> + '_ {
        self.kinds.iter().filter(|(.., share)| share.answered > 0).map(|(id, ..)| *id)
    }

    /// Whether it is asked this kind of request, and never answers it.
    pub(super) fn never_answers(&self, kind: &str) -> bool {
        let mut kinds = self.kinds.iter();
        kinds.any(|(_, it, share)| *it == kind && is_silent(share))
    }

    /// Whether so many are nearly all that are unanswered, and too many for an accident.
    pub(super) fn is_explained_by(&self, count: u64) -> bool {
        is_nearly_all(count, self.all.missing()) && !self.is_accident()
    }

    /// The exchanges of one client.
    pub(super) fn of_client(&self, client: IpAddr) -> ExchangeCounts {
        self.clients.get(&client).copied().unwrap_or_default()
    }

    /// The clients.
    pub(super) fn clients(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.clients.keys().copied()
    }

    /// The clients with unanswered requests.
    pub(super) fn clients_missing(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.clients.iter().filter(|(_, share)| share.missing() > 0).map(|(client, _)| *client)
    }

    /// What is wrong with its answers, if anything is: the reason, and what all unanswered exchanges have in common.
    pub(super) fn failure(&self) -> Option<PatternFailure> {
        if self.all.answered == 0 || self.all.missing() == 0 {
            return None;
        }
        if let Some(refused) = self.refused() {
            return Some(refused).filter(|_| !self.is_accident());
        }
        let never = self.of_some_kinds().or_else(|| self.of_appended());
        let never = never.or_else(|| self.of_silent_clients());
        if never.is_some() || self.is_accident() {
            let period = || Some(self.periods.silent(&self.all, false, self.frame())?.failure);
            return never.or_else(period);
        }
        Some(self.apart().unwrap_or_else(|| self.sometimes(NONE, None)))
    }

    /// ICMP errors answer what is unanswered.
    fn refused(&self) -> Option<PatternFailure> {
        let Refusals { count, first } = self.refusals.as_ref()?;
        let text =
            format!("{} of {} requests: {}", grouped(*count), grouped(self.all.asked), first.text);
        let failure = Failure { text, ..first.clone() };
        is_nearly_all(*count, self.all.missing()).then(|| PatternFailure::new(failure, None))
    }

    /// The property that tells the unanswered exchanges best from the others.
    fn apart(&self) -> Option<PatternFailure> {
        let (missing, frame, [client, anybody]) = (self.all.missing(), self.frame(), &self.paces);
        let strong =
            |suspects, others: &[_]| Divided::of([suspects], others.iter().copied(), missing);
        let weak = |suspects, others: &[_]| {
            Divided::now_and_then(suspects, others.iter().copied(), missing)
        };
        let all = [
            self.of_a_kind(&strong),
            self.of_a_client(&strong),
            client.by_gap("the same client's last one", missing, frame),
            anybody.by_gap("any other one", missing, frame),
            client.by_rank("of a client ", missing, frame),
            anybody.by_rank("", missing, frame),
            client.by_burst("of a client ", missing, frame),
            anybody.by_burst("", missing, frame),
            self.periods.silent(&self.all, true, frame),
            self.of_long_ones(),
        ];
        let best = all.into_iter().flatten().min_by_key(|candidate| candidate.errors);
        let best = best.or_else(|| self.of_a_kind(&weak)).or_else(|| self.of_a_client(&weak));
        best.map(|candidate| candidate.failure)
    }

    /// Nearly all unanswered requests are of one kind.
    fn of_a_kind(&self, divide: Divide<'_>) -> Option<Candidate> {
        let kinds = self.kinds.iter().map(|(_, kind, share)| (*kind, *share));
        self.of_a("kind", kinds.collect(), divide)
    }

    /// Nearly all unanswered requests are of one client.
    fn of_a_client(&self, divide: Divide<'_>) -> Option<Candidate> {
        let clients = self.clients.iter().map(|(client, share)| (*client, *share));
        self.of_a("client", clients.collect(), divide)
    }

    fn of_a<T: Copy + Display>(
        &self,
        by: &'static str,
        mut counts: Vec<(T, ExchangeCounts)>,
        divide: Divide<'_>,
    ) -> Option<Candidate> {
        let most = counts.iter().map(|(_, share)| share.missing()).max()?;
        let at = counts.iter().position(|(_, share)| share.missing() == most)?;
        let (one, share) = counts.swap_remove(at);
        let others = Vec::from_iter(counts.iter().map(|(_, share)| *share));
        let divided = divide(share, &others)?;
        Some(self.of_these(&one.to_string(), &divided, (by, one.to_string())))
    }

    /// Long requests are unanswered.
    fn of_long_ones(&self) -> Option<Candidate> {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable_by_key(|(length, _)| *length);
        let (at, divided) = Divided::best(1..lengths.len(), |at| {
            let [short, long] = <[_; 2]>::from(lengths.split_at(*at))
                .map(|part| part.iter().map(|(_, share)| *share));
            Divided::of(long, short, self.all.missing())
        })?;
        let length = grouped(lengths.get(at)?.0 as u64);
        Some(self.of_these(&format!("{length} bytes or more"), &divided, ("length", length)))
    }

    /// Whether too few are unanswered, or asked, to call it a share.
    pub(super) fn is_accident(&self) -> bool {
        self.all.asked < ENOUGH || self.is_rare()
    }

    /// Whether at most one of ten requests is not answered.
    fn is_rare(&self) -> bool {
        self.all.missing() * 10 <= self.all.asked
    }

    /// The kinds of requests that are never answered, while others are.
    pub(super) fn silent_kinds(&self) -> impl Iterator<Item = (&'static str, ExchangeCounts)> {
        let answers = |id: Id| self.answers_in().any(|other| other == id);
        let silent =
            self.kinds.iter().filter(move |(id, _, share)| is_silent(share) && answers(*id));
        silent.map(|(_, kind, share)| (*kind, *share))
    }

    /// Some kinds of requests are never answered.
    fn of_some_kinds(&self) -> Option<PatternFailure> {
        let silent = Vec::from_iter(self.silent_kinds());
        let kinds = Vec::from_iter(silent.iter().map(|(kind, _)| *kind)).join(" and ");
        let asked: u64 = silent.iter().map(|(_, share)| share.asked).sum();
        let values: [(_, &dyn Display); 2] = [("asked", &grouped(asked)), ("kind", &kinds)];
        let (first, _) = silent.first()?;
        let cause = &causes::answers::ONLY_SOME_KINDS;
        Some(PatternFailure::new(
            Failure::with(cause, self.frame(), &values),
            Some(("kind", (*first).to_owned())),
        ))
    }

    /// Requests with an appended number that is no challenge are never answered.
    fn of_appended(&self) -> Option<PatternFailure> {
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
        Some(PatternFailure::new(Failure::with(cause, self.frame(), &values), Some(by)))
    }

    /// Some clients are never answered, and no other is missing anything. Of a server that answers nearly all requests, that
    /// is a matter of the client.
    fn of_silent_clients(&self) -> Option<PatternFailure> {
        if self.is_rare() {
            return None;
        }
        let clients = self.clients.iter().map(|(client, share)| (*client, *share));
        let (mut silent, others): (Vec<_>, Vec<_>) =
            clients.partition(|(_, share)| is_silent(share));
        silent.sort_unstable_by_key(|(client, _)| *client);
        let share = sum(silent.iter().map(|(_, share)| *share));
        if !is_nearly_all(share.missing(), self.all.missing()) {
            return None;
        }
        match &silent[..] {
            [] => None,
            [(client, share)] => {
                let why = client_unanswered(*client, *share, self.frame());
                Some(PatternFailure::new(why, Some(("client", client.to_string()))))
            }
            // Those that come while nobody is answered are not what makes the difference.
            _ if self.periods.are_one() => None,
            clients => {
                let others = others.iter().map(|(_, share)| *share);
                let divided = Divided::of([share], others, self.all.missing())?;
                let names = first_names(clients.iter().map(|(client, _)| client));
                Some(self.of_these(&names, &divided, ("client", names.clone())).failure)
            }
        }
    }

    /// Requests of these are often unanswered.
    fn of_these(&self, these: &str, divided: &Divided, by: (&'static str, String)) -> Candidate {
        let [suspects, others] = [divided.suspects, divided.others]
            .map(|it| format!("{} of {}", grouped(it.missing()), grouped(it.asked)));
        let pattern = format!(": of {these}, {suspects}; of others, {others}");
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
    pub(super) fn frame(&self) -> u64 {
        self.missing.first().copied().unwrap_or_default()
    }
}

/// The first of several, and how many more there are.
fn first_names(all: impl ExactSizeIterator<Item = impl Display>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let names = Vec::from_iter(all.take(NAMED).map(|one| one.to_string())).join(", ");
    if more > 0 { format!("{names} and {} more", grouped(more as u64)) } else { names }
}

/// Requests of one client are not answered, and those of others are.
pub(super) fn client_unanswered(client: IpAddr, share: ExchangeCounts, frame: u64) -> Failure {
    let values: [(_, &dyn Display); 3] = [
        ("answered", &grouped(share.answered)),
        ("asked", &grouped(share.asked)),
        ("client", &client),
    ];
    Failure::with(&causes::answers::ONE_CLIENT_UNANSWERED, frame, &values)
}

/// A pattern of unanswered exchanges.
#[derive(Clone, Debug)]
pub(super) struct PatternFailure {
    pub(super) failure: Failure,
    /// What all of them have in common.
    pub(super) by: Option<(&'static str, String)>,
    /// From when to when.
    pub(super) span: Option<[Time; 2]>,
}

impl PatternFailure {
    fn new(failure: Failure, by: Option<(&'static str, String)>) -> PatternFailure {
        PatternFailure { failure, by, span: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exchange_log::{Burst, Pace, Request, WINDOWS};
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// An exchange of a client every second, or with this gap, at this time.
    fn exchange(client: u8, kind: &'static str, at: i64, is_answered: bool) -> Exchange {
        let request = Request {
            client: std::net::SocketAddr::from(([10, 0, 0, client], 50_000)),
            server: "10.0.1.1:27015".parse().unwrap(),
            kind,
            protocol: Id::ALL[0],
            frame: at as u64 + 1,
            time: Time(at * SECOND),
            challenge: None,
            length: 25,
            is_query: true,
            is_wrong: false,
            is_optional: false,
        };
        let mut exchange = Exchange::new(request, pace(SECOND, 0));
        exchange.is_answered = is_answered;
        exchange
    }

    fn pace(gap: i64, before: u32) -> [Pace; 2] {
        let before = [before; WINDOWS.len()];
        [Pace { gap: Some(gap), before, ..Pace::default() }; 2]
    }

    fn cause(exchanges: impl IntoIterator<Item = Exchange>) -> Option<&'static str> {
        let mut pattern = Pattern::default();
        exchanges.into_iter().for_each(|exchange| pattern.add(&exchange));
        pattern.failure().map(|it| it.failure.cause.name)
    }

    #[test]
    fn patterns_are_named() {
        let of = |is_answered: &dyn Fn(i64) -> bool| {
            (0..100)
                .map(|at| exchange(at as u8 % 7, "info", at, is_answered(at)))
                .collect::<Vec<_>>()
        };
        assert_eq!(cause(of(&|_| true)), None);
        assert_eq!(cause(of(&|at| at % 20 != 3)), None, "5 % are lost anywhere");
        assert_eq!(cause(of(&|at| at % 6 != 3)), Some("sometimes_unanswered"));
        assert_eq!(cause(of(&|at| !(30..60).contains(&at))), Some("silent_period"));
        let twice = |at: i64| !(30..60).contains(&at) && !(70..80).contains(&at);
        assert_eq!(cause(of(&twice)), Some("silent_period"));
        assert_eq!(cause(of(&|at| at < 50)), Some("silent_period"));
        assert_eq!(cause(of(&|at| at as u8 % 7 != 2)), Some("one_client_unanswered"));
        let other = (0..5).map(|at| exchange(1, "rules", at, false));
        assert_eq!(cause(of(&|_| true).into_iter().chain(other)), Some("only_some_kinds_answered"));
        let other = (0..5).map(|at| {
            let mut appended = exchange(1, "info", at, false);
            appended.request.challenge = Some(-1);
            appended
        });
        assert_eq!(
            cause(of(&|_| true).into_iter().chain(other)),
            Some("appended_challenge_ignored")
        );
        let fast = (0..40).map(|at| {
            let mut fast = exchange(at as u8 % 7, "info", at, at % 5 == 0);
            fast.paces = pace(SECOND / 20, 0);
            fast
        });
        assert_eq!(cause(of(&|_| true).into_iter().chain(fast)), Some("rate_limited"));
        // Six in a burst, of which the first four are answered.
        let bursts = (0..60).map(|at| {
            let mut exchange = exchange(1, "info", at, at % 6 < 4);
            exchange.paces = pace(SECOND / 10, (at % 6) as u32);
            exchange
        });
        assert_eq!(cause(bursts), Some("rate_limited"));
    }

    #[test]
    fn what_follows_many_others_in_several_bursts_is_limited() {
        let bursts = |count: i64, is_answered: &dyn Fn(i64, i64) -> bool| {
            let length = 48 / count;
            cause((0..48).map(|at| {
                let (number, before) = (at / length, at % length);
                let mut exchange = exchange(1, "info", at, is_answered(number, before));
                let begun = Time((at - before) * SECOND);
                for pace in &mut exchange.paces {
                    pace.burst = Burst { begun, before: before as u32 };
                }
                exchange
            }))
        };
        assert_eq!(bursts(3, &|_, before| before < 10), Some("rate_limited"));
        assert_eq!(
            bursts(1, &|_, before| before < 30),
            Some("silent_period"),
            "it may have stopped"
        );
        // One burst breaks off, and of another one, a single request is lost.
        let stray = |number, before| (number != 1 || before < 4) && (number != 2 || before != 1);
        assert_ne!(bursts(3, &stray), Some("rate_limited"));
    }

    #[test]
    fn the_property_that_tells_best_is_named() {
        let by = |exchanges: Vec<Exchange>| {
            let mut pattern = Pattern::default();
            exchanges.iter().for_each(|exchange| pattern.add(exchange));
            let found = pattern.failure().unwrap();
            assert_eq!(found.failure.cause.name, "sometimes_unanswered");
            found.by.map(|(by, which)| format!("{by} {which}"))
        };
        let all = |of: &dyn Fn(i64) -> Exchange| (0..60).map(of).collect::<Vec<_>>();
        // Each second request of a kind, which always comes soon after another one.
        let kinds = all(&|at| match at % 3 {
            0 => exchange(1, "info", at, true),
            1 => exchange(1, "rules", at, true),
            _ => {
                let mut players = exchange(1, "players", at, at % 2 == 0);
                players.paces = pace(SECOND / 10, 0);
                players
            }
        });
        assert_eq!(by(kinds).as_deref(), Some("kind players"));
        let clients = all(&|at| exchange(at as u8 % 4, "info", at, at % 4 != 1 || at % 12 == 1));
        assert_eq!(by(clients).as_deref(), Some("client 10.0.0.1"));
        let lengths = all(&|at| {
            let mut request = exchange(1, "info", at, at % 2 == 0);
            request.request.length = if at % 2 == 0 { 25 } else { 1200 };
            request
        });
        assert_eq!(by(lengths).as_deref(), Some("length 1,200"));
    }

    #[test]
    fn errors_in_place_of_answers_come_first() {
        let refused = (0..60).map(|at| {
            let mut exchange = exchange(1, "info", at, at % 5 != 0);
            let why = Failure::new(&causes::ICMP_PORT, 7, "10.0.1.9 says: port unreachable");
            exchange.refusal = Some(Box::new(why)).filter(|_| at % 5 == 0);
            exchange
        });
        let mut pattern = Pattern::default();
        refused.for_each(|exchange| pattern.add(&exchange));
        let failure = pattern.failure().unwrap().failure;
        assert_eq!(failure.text, "12 of 60 requests: 10.0.1.9 says: port unreachable");
    }
}
