//! What the unanswered exchanges with a server have in common.

use std::fmt::Display;
use std::net::IpAddr;

use dissectors::Id;
use dissectors::kit::{Map, Time, causes};

use super::exchange_log::Exchange;
use super::fact::{Failure, NO_ACCIDENT};
use super::find_or_add::find_or_add;
use crate::session::ExchangeCounts;
use crate::text::{brief_span, counted, grouped, second_of_day};

/// Maximum number of kinds of requests.
const KINDS: usize = 16;

/// Maximum number of clients that are told apart.
const CLIENTS: usize = 256;

/// Number of spans of time that are told apart.
const SPANS: usize = 128;

/// Classes of gaps between a client's requests: each is a quarter of a power of two, from one millisecond.
const GAPS: usize = 64;

/// Packets that are named.
const NAMED: usize = 3;

/// As many exchanges show a share.
const ENOUGH: u64 = 10;

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

/// The exchanges in a span of time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    share: ExchangeCounts,
    /// The first and the last unanswered request.
    missing: Option<[Time; 2]>,
}

/// Exchanges by the time since an earlier one, and those without an earlier one.
#[derive(Debug, Default)]
struct Gaps {
    classes: Vec<ExchangeCounts>,
    first: ExchangeCounts,
}

impl Gaps {
    fn of(&mut self, gap: Option<i64>) -> &mut ExchangeCounts {
        match gap {
            Some(gap) => item_at(&mut self.classes, gap_class(gap)),
            None => &mut self.first,
        }
    }
}

/// The exchanges with one server.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    /// By protocol and kind of request.
    kinds: Vec<(Id, &'static str, ExchangeCounts)>,
    clients: Map<IpAddr, ExchangeCounts>,
    /// Kinds of requests that some clients send with an appended -1: without and with it.
    appended: [ExchangeCounts; 2],
    /// By the time since the same client's latest request, and since anybody's.
    gaps: [Gaps; 2],
    spans: Vec<Span>,
    /// When the first span begins, and how long each is.
    begun: Option<(Time, i64)>,
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
        self.appended[usize::from(exchange.request.asks_for_challenge())].add_one(is_answered);
        for (gaps, gap) in self.gaps.iter_mut().zip(exchange.gaps) {
            gaps.of(gap).add_one(is_answered);
        }
        self.at(exchange.request.time, is_answered);
        if !is_answered && self.missing.len() < NAMED {
            self.missing.push(exchange.request.frame);
        }
    }

    fn at(&mut self, time: Time, is_answered: bool) {
        const FIRST_WIDTH: i64 = 1_000_000_000;
        let (begun, width) = self.begun.get_or_insert((time, FIRST_WIDTH));
        let since = time.since(*begun).max(0);
        while since / *width >= SPANS as i64 {
            *width *= 2;
            self.spans = self.spans.chunks(2).map(Span::of_two).collect();
        }
        let span = item_at(&mut self.spans, (since / *width) as usize);
        span.share.add_one(is_answered);
        if !is_answered {
            let [first, last] = span.missing.unwrap_or([time; 2]);
            span.missing = Some([first.min(time), last.max(time)]);
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
        self.of_one_kind().or_else(|| self.of_appended()).or_else(|| self.of_one_client()).or_else(
            || {
                let is_few = self.all.asked < ENOUGH;
                let period = self.period();
                if is_few || self.is_rare() {
                    return period;
                }
                self.rate().or(period).or_else(|| Some(self.sometimes()))
            },
        )
    }

    /// Whether at most one of ten requests is not answered.
    fn is_rare(&self) -> bool {
        self.all.missing() * 10 <= self.all.asked
    }

    /// One kind of request is never answered.
    fn of_one_kind(&self) -> Option<PatternFailure> {
        let answers = |id: Id| self.answers_in().any(|other| other == id);
        let (_, kind, share) =
            *self.kinds.iter().find(|(id, _, share)| is_silent(share) && answers(*id))?;
        let values: [(_, &dyn Display); 2] = [("asked", &grouped(share.asked)), ("kind", &kind)];
        let cause = &causes::answers::ONLY_SOME_KINDS;
        Some(PatternFailure::new(
            Failure::with(cause, self.frame(), &values),
            Some(("kind", kind.to_owned())),
        ))
    }

    /// Requests with an appended -1 are never answered.
    fn of_appended(&self) -> Option<PatternFailure> {
        let [plain, appended] = self.appended;
        if !is_silent(&appended) || plain.answered < NO_ACCIDENT {
            return None;
        }
        let values: [(_, &dyn Display); 3] = [
            ("asked", &grouped(appended.asked)),
            ("answered", &grouped(plain.answered)),
            ("plain", &grouped(plain.asked)),
        ];
        let cause = &causes::answers::APPENDED_CHALLENGE_IGNORED;
        Some(PatternFailure::new(Failure::with(cause, self.frame(), &values), None))
    }

    /// One client is never answered, and no other is missing anything. Of a server that answers nearly all requests, that
    /// is a matter of the client.
    fn of_one_client(&self) -> Option<PatternFailure> {
        if self.is_rare() {
            return None;
        }
        let mut silent = self.clients.iter().filter(|(_, share)| is_silent(share));
        let (client, share) = silent.next()?;
        if silent.next().is_some() || share.missing() * 10 < self.all.missing() * 9 {
            return None;
        }
        let values: [(_, &dyn Display); 2] = [("asked", &grouped(share.asked)), ("client", client)];
        let cause = &causes::answers::ONE_CLIENT_UNANSWERED;
        let by = Some(("client", client.to_string()));
        Some(PatternFailure::new(Failure::with(cause, self.frame(), &values), by))
    }

    /// Only requests that come fast after others are unanswered.
    fn rate(&self) -> Option<PatternFailure> {
        let others = ["the same client's last one", "any other one"];
        self.gaps.iter().zip(others).find_map(|(gaps, other)| self.rate_by(gaps, other))
    }

    fn rate_by(&self, gaps: &Gaps, other: &str) -> Option<PatternFailure> {
        (1..=gaps.classes.len()).find_map(|at| {
            let (fast, slow) = gaps.classes.split_at(at);
            let fast = sum(fast.iter().copied());
            let slow = sum(slow.iter().copied().chain([gaps.first]));
            let is_apart = 2 * fast.missing() >= fast.asked && 20 * slow.missing() <= slow.asked;
            let is_all = 10 * fast.missing() >= 9 * self.all.missing();
            if fast.asked < ENOUGH / 2 || slow.asked < ENOUGH / 2 || !is_apart || !is_all {
                return None;
            }
            let values: [(_, &dyn Display); 6] = [
                ("other", &other),
                ("gap", &brief_span(class_gap(at))),
                ("missing", &grouped(fast.missing())),
                ("fast", &grouped(fast.asked)),
                ("slow_missing", &grouped(slow.missing())),
                ("slow", &grouped(slow.asked)),
            ];
            let cause = &causes::answers::RATE_LIMITED;
            let by = Some(("gap", brief_span(class_gap(at))));
            Some(PatternFailure::new(Failure::with(cause, self.frame(), &values), by))
        })
    }

    /// Nothing was answered for a while, once or several times, and before and after it was.
    fn period(&self) -> Option<PatternFailure> {
        let periods = self.periods();
        let (_, [from, to]) = periods.iter().max_by_key(|(count, _)| *count)?;
        let count = periods.iter().map(|(count, _)| count).sum::<u64>();
        if 10 * count < 8 * self.all.missing() {
            return None;
        }
        let again = match periods.len() as u64 - 1 {
            0 => String::new(),
            more => format!(" and {} more", counted(more, "time")),
        };
        let values: [(_, &dyn Display); 4] = [
            ("missing", &grouped(count)),
            ("from", &second_of_day(from.0)),
            ("to", &second_of_day(to.0)),
            ("again", &again),
        ];
        let failure = Failure::with(&causes::answers::SILENT_PERIOD, self.frame(), &values);
        Some(PatternFailure { span: Some([*from, *to]), ..PatternFailure::new(failure, None) })
    }

    /// The periods in which nothing was answered: how many requests, from when to when.
    fn periods(&self) -> Vec<(u64, [Time; 2])> {
        let mut periods = Vec::new();
        let mut run: Option<(u64, [Time; 2])> = None;
        for span in self.spans.iter().filter(|span| span.share.asked > 0) {
            if span.share.answered > 0 {
                // Only what ends is a period.
                periods.extend(run.take().filter(|(count, _)| *count >= NO_ACCIDENT));
            } else if let Some([first, last]) = span.missing {
                let (count, [begun, _]) = run.unwrap_or((0, [first, last]));
                run = Some((count + span.share.missing(), [begun, last]));
            }
        }
        periods
    }

    fn sometimes(&self) -> PatternFailure {
        let values: [(_, &dyn Display); 3] = [
            ("answered", &grouped(self.all.answered)),
            ("asked", &grouped(self.all.asked)),
            ("missing", &grouped(self.all.missing())),
        ];
        PatternFailure::new(
            Failure::with(&causes::answers::SOMETIMES_UNANSWERED, self.frame(), &values),
            None,
        )
    }

    /// The first unanswered request.
    pub(super) fn frame(&self) -> u64 {
        self.missing.first().copied().unwrap_or_default()
    }
}

/// The item of a list at a place, with empty ones before it if it is longer than the list. Most servers are asked so
/// little that their lists stay short.
fn item_at<T: Clone + Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize(place + 1, T::default());
    }
    &mut list[place]
}

impl Span {
    /// Two successive ones, or one, as one.
    fn of_two(two: &[Span]) -> Span {
        let [one, other] = [0, 1].map(|at| two.get(at).cloned().unwrap_or_default());
        one.and(&other)
    }

    fn and(&self, other: &Span) -> Span {
        let missing = match (self.missing, other.missing) {
            (Some([first, _]), Some([_, last])) => Some([first, last]),
            (one, other) => one.or(other),
        };
        Span { share: sum([self.share, other.share]), missing }
    }
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

/// The class of a gap in nanoseconds.
fn gap_class(gap: i64) -> usize {
    let quarters = ((gap.max(1) as f64 / 1e6).log2() * 4.0).floor();
    (quarters.max(0.0) as usize).min(GAPS - 1)
}

/// The least gap of a class, in nanoseconds.
fn class_gap(class: usize) -> u64 {
    ((class as f64 / 4.0).exp2() * 1e6) as u64
}

#[cfg(test)]
mod tests {
    use super::super::exchange_log::Request;
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
            is_query: true,
            is_wrong: false,
        };
        let mut exchange = Exchange::new(request, [Some(SECOND); 2]);
        exchange.is_answered = is_answered;
        exchange
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
        assert_eq!(cause(of(&|at| at < 50)), Some("sometimes_unanswered"), "it may come back");
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
            fast.gaps = [Some(SECOND / 20); 2];
            fast
        });
        assert_eq!(cause(of(&|_| true).into_iter().chain(fast)), Some("rate_limited"));
    }

    #[test]
    fn a_long_capture_has_long_spans() {
        let silent = 400_000..500_000;
        let all = (0..10_000).map(|n| 100 * n);
        let exchanges = all.map(|at| exchange(1, "info", at, !silent.contains(&at)));
        let mut pattern = Pattern::default();
        exchanges.for_each(|exchange| pattern.add(&exchange));
        let found = pattern.failure().unwrap();
        assert_eq!(found.failure.cause.name, "silent_period");
        let [from, to] = found.span.unwrap().map(|time| time.0 / SECOND);
        assert!(
            (400_000..405_000).contains(&from) && (495_000..500_000).contains(&to),
            "{from} {to}"
        );
    }

    #[test]
    fn classes_of_gaps_are_ordered() {
        for gap in [1, 1_000_000, 3_000_000, SECOND, 100 * SECOND, i64::MAX] {
            let class = gap_class(gap);
            assert!(class == 0 || class_gap(class) <= gap as u64, "{gap}");
        }
    }
}
