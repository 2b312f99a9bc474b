//! Whether nothing is answered for a while.

use std::fmt::Display;

use dissectors::kit::{Time, causes};

use super::{Candidate, PatternFailure, item_at, sum};
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::session::ExchangeCounts;
use crate::text::{counted, grouped, moment};

/// Number of spans of time that are told apart.
const SPANS: usize = 128;

/// Nanoseconds for which nothing is answered at least: less may be one query of all kinds.
pub(super) const SHORTEST: i64 = 1_000_000_000;

/// The exchanges in a span of time.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    counts: ExchangeCounts,
    /// The first and the last answered request.
    answered: Option<[Time; 2]>,
    /// The same of the unanswered ones.
    missing: Option<[Time; 2]>,
}

/// Exchanges by their time.
#[derive(Clone, Debug, Default)]
pub(super) struct Periods {
    spans: Vec<Span>,
    /// When the first span begins, and how long each is.
    begun: Option<(Time, i64)>,
    /// Times are shown with their day.
    pub(super) has_dates: bool,
}

/// A time in which nothing is answered.
struct Silence {
    /// How many requests.
    count: u64,
    /// From when to when.
    span: [Time; 2],
    /// Something is answered before and after it.
    is_within: bool,
    /// Nothing is answered before it, but after it.
    is_first: bool,
}

impl Periods {
    /// Adds an exchange. They come in the order in which they end: an earlier one may come later.
    pub(super) fn add(&mut self, time: Time, is_answered: bool) {
        const FIRST_WIDTH: i64 = 1_000_000_000;
        let (begun, width) = self.begun.get_or_insert((time, FIRST_WIDTH));
        let (since, before) = (time.since(*begun), begun.since(time));
        let beyond = |spans: &[Span], width: i64| {
            since / width >= SPANS as i64 || spans.len() as i64 + before / width >= SPANS as i64
        };
        while beyond(&self.spans, *width) {
            let Some(wider) = width.checked_mul(2) else { break };
            *width = wider;
            self.spans = self.spans.chunks(2).map(Span::of_two).collect();
        }
        if before > 0 {
            let more = before / *width + 1;
            *begun = Time(begun.0.saturating_sub(more.saturating_mul(*width)));
            let empty = (0..more).map(|_| Span::default());
            self.spans.splice(..0, empty);
        }
        let span = item_at(&mut self.spans, (time.since(*begun) / *width) as usize);
        span.counts.add_one(is_answered);
        let times = if is_answered { &mut span.answered } else { &mut span.missing };
        let [first, last] = times.unwrap_or([time; 2]);
        *times = Some([first.min(time), last.max(time)]);
    }

    /// Nothing was answered for a while, once or several times, and at other times it was. `is_proven`: also what begins
    /// or ends with the capture counts.
    pub(super) fn silent(
        &self,
        all: &ExchangeCounts,
        is_proven: bool,
        frame: u64,
    ) -> Option<Candidate> {
        let mut periods = self.silences();
        periods.retain(|it| it.is_within || is_proven);
        let ([from, to], again) = longest(&periods)?;
        let count = periods.iter().map(|it| it.count).sum::<u64>();
        if !are_silences(periods.len() as u64, count, all) {
            return None;
        }
        let values: [(_, &dyn Display); 4] = [
            ("missing", &grouped(count)),
            ("from", &moment(from, self.has_dates)),
            ("to", &moment(to, self.has_dates)),
            ("again", &again),
        ];
        let failure = Failure::with(&causes::answers::SILENT_PERIOD, frame, &values);
        let failure =
            PatternFailure { span: Some([from, to]), ..PatternFailure::new(failure, None) };
        Some(Candidate { failure, errors: all.missing() - count })
    }

    /// From when to when nothing is answered.
    pub(super) fn silent_spans(&self) -> impl Iterator<Item = [Time; 2]> + use<> {
        self.silences().into_iter().map(|silence| silence.span)
    }

    /// Nothing is answered for a while, once.
    pub(super) fn are_one(&self) -> bool {
        self.silences().len() == 1
    }

    /// From when to when that was, in words, too: the time with the most requests, and how many more there are.
    pub(super) fn longest(&self) -> Option<([Time; 2], String)> {
        let (span, again) = longest(&self.silences())?;
        Some((span, format!(" {}{again}", in_words(span, self.has_dates))))
    }

    /// That was only until the first answer, as of a server that starts within the capture.
    pub(super) fn is_mended(&self) -> bool {
        matches!(&self.silences()[..], [only] if only.is_first)
    }

    /// How many are answered that began between these times, at least.
    pub(super) fn answered_within(&self, [from, to]: [Time; 2]) -> u64 {
        let is_within = |time: &Time| (from..=to).contains(time);
        let of_span = |span: &Span| match span.answered {
            Some(ends) if ends.iter().all(is_within) => span.counts.answered,
            Some(ends) => u64::from(ends.iter().any(is_within)),
            None => 0,
        };
        self.spans.iter().map(of_span).sum()
    }

    /// How many are answered since the last one that is not, at least.
    pub(super) fn answered_since(&self) -> u64 {
        let mut count = 0;
        for span in self.spans.iter().rev() {
            let is_after = match (span.missing, span.answered) {
                (Some([_, last]), Some([first, _])) => last < first,
                (missing, _) => missing.is_none(),
            };
            count += if is_after { span.counts.answered } else { 0 };
            if span.missing.is_some() {
                break;
            }
        }
        count
    }

    fn silences(&self) -> Vec<Silence> {
        let mut periods = Vec::new();
        let mut run: Option<Silence> = None;
        let mut has_answered = false;
        for span in &self.spans {
            let Some([first_answered, last_answered]) = span.answered else {
                span.continues(&mut run, has_answered);
                continue;
            };
            // The silence may end, or begin, within a span.
            if span.missing.is_some_and(|[_, last]| last < first_answered) {
                span.continues(&mut run, has_answered);
            }
            periods.extend(run.take());
            has_answered = true;
            if span.missing.is_some_and(|[first, _]| first > last_answered) {
                span.continues(&mut run, has_answered);
            }
        }
        periods.extend(run.map(|run| Silence { is_within: false, is_first: false, ..run }));
        periods.retain(|it| it.count >= NO_ACCIDENT && it.span[1].since(it.span[0]) >= SHORTEST);
        periods
    }
}

/// Whether runs of so many unanswered exchanges, of all, are silences: at other times, nearly all are answered, and chance
/// would have divided them into more runs.
fn are_silences(runs: u64, count: u64, all: &ExchangeCounts) -> bool {
    let others = all.missing() - count;
    let is_most = 2 * count > all.missing() && 10 * others <= all.answered + others;
    // So many runs are to be expected of them in any order.
    let by_chance = count.saturating_mul(all.answered + 1) / (count + all.answered).max(1);
    is_most && 3 * runs <= 2 * by_chance
}

/// The time with the most requests, and how many more there are.
fn longest(silences: &[Silence]) -> Option<([Time; 2], String)> {
    let longest = silences.iter().max_by_key(|it| it.count)?;
    // Where nothing is answered after it, it may go on.
    let is_last = !longest.is_within && !longest.is_first;
    let end = if is_last { ", the last request that was due" } else { "" };
    let again = match silences.len() as u64 - 1 {
        0 => String::new(),
        more => format!(" and {} more", counted(more, "time")),
    };
    Some((longest.span, format!("{end}{again}")))
}

/// A span of time, with its days if the capture has several.
pub(in crate::diagnose) fn in_words([from, to]: [Time; 2], has_dates: bool) -> String {
    format!("from {} to {}", moment(from, has_dates), moment(to, has_dates))
}

impl Span {
    /// All unanswered requests of it belong to one silence.
    fn continues(&self, run: &mut Option<Silence>, is_within: bool) {
        let Some(span @ [_, last]) = self.missing else { return };
        let run = run.get_or_insert(Silence { count: 0, span, is_within, is_first: !is_within });
        run.count += self.counts.missing();
        run.span[1] = last;
    }

    /// Two successive ones, or one, as one.
    fn of_two(two: &[Span]) -> Span {
        let [one, other] = [0, 1].map(|at| two.get(at).cloned().unwrap_or_default());
        one.and(&other)
    }

    fn and(&self, other: &Span) -> Span {
        let (answered, missing) = (
            times_of_both(self.answered, other.answered),
            times_of_both(self.missing, other.missing),
        );
        Span { counts: sum([self.counts, other.counts]), answered, missing }
    }
}

/// The first and the last of two successive spans.
fn times_of_both(one: Option<[Time; 2]>, other: Option<[Time; 2]>) -> Option<[Time; 2]> {
    match (one, other) {
        (Some([first, _]), Some([_, last])) => Some([first, last]),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// The silence that is found, in seconds, if these are unanswered, and end in this order.
    fn silence(
        order: impl Iterator<Item = i64>,
        is_silent: impl Fn(i64) -> bool,
    ) -> Option<[i64; 2]> {
        let (mut periods, mut all) = (Periods::default(), ExchangeCounts::default());
        for at in order {
            periods.add(Time(at * SECOND), !is_silent(at));
            all.add_one(!is_silent(at));
        }
        let found = periods.silent(&all, true, 1)?.failure;
        found.span.map(|span| span.map(|time| time.0 / SECOND))
    }

    #[test]
    fn a_long_capture_has_long_spans() {
        let silent = 400_000..500_000;
        let all = (0..10_000).map(|n| 100 * n);
        let [from, to] = silence(all, |at| silent.contains(&at)).unwrap();
        assert!(
            (400_000..405_000).contains(&from) && (495_000..500_000).contains(&to),
            "{from} {to}"
        );
    }

    #[test]
    fn what_begins_or_ends_the_capture_may_end_late() {
        let late = (100..1_000).step_by(10).chain((0..100).step_by(10));
        assert_eq!(silence(late, |at| at < 100), Some([0, 90]));
        let last = (0..1_000).step_by(10);
        assert_eq!(silence(last, |at| at >= 900), Some([900, 990]));
        let far = (0..50).map(|n| (1 << 33) - 100 * n).chain([0]);
        assert_eq!(silence(far, |_| false), None, "times far apart take no memory");
    }
}
