//! Exchanges that have a property in common, such as their client, in the course of time.

use dissectors::kit::Time;

use super::divided::Divided;
use super::periods::SHORTEST;
use super::timeline::Timeline;
use crate::session::ExchangeCounts;

/// Exchanges that have a property in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    pub(super) counts: ExchangeCounts,
    /// When the first and the latest answered one began.
    answered: Option<[Time; 2]>,
    /// The unanswered ones since then.
    pub(super) end: End,
    timeline: Timeline,
}

/// Unanswered exchanges after which none is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub(super) count: u64,
    /// When the first and the last one began.
    pub(super) span: [Time; 2],
}

impl History {
    /// Adds an exchange that began at this time. Unanswered ones come later than answered ones, because they end later.
    pub(super) fn add(&mut self, time: Time, is_answered: bool) {
        self.counts.add_one(is_answered);
        self.timeline.add(time, is_answered);
        let End { count, span: [first, last] } = &mut self.end;
        if is_answered {
            let [earliest, latest] = self.answered.unwrap_or([time; 2]);
            self.answered = Some([earliest.min(time), latest.max(time)]);
            if time >= *first {
                *count = 0;
            }
        } else if self.answered.is_none_or(|[_, latest]| latest < time) {
            [*first, *last] = match count {
                0 => [time; 2],
                _ => [time.min(*first), time.max(*last)],
            };
            *count += 1;
        }
    }

    /// The end of those that were answered before, and no longer are, while some of the `others` still were when half of
    /// that time had passed: the server was there.
    pub(super) fn ended<'s>(&self, mut others: impl Iterator<Item = &'s History>) -> Option<End> {
        let [first, last] = self.end.span;
        let middle = Time(first.0 + last.since(first) / 2);
        let goes_on =
            |other: &History| other.latest_answered().is_some_and(|answered| answered >= middle);
        let is_end = self.end.count > 0 && self.answered.is_some() && others.any(goes_on);
        is_end.then_some(self.end)
    }

    /// Nothing is answered for a while, and at other times all: from when to when.
    pub(super) fn silence(&self) -> Option<([Time; 2], Divided)> {
        let span @ [first, last] = self.timeline.silence()?;
        let ExchangeCounts { answered, .. } = self.counts;
        let suspects = ExchangeCounts { asked: self.counts.missing(), answered: 0 };
        let divided = Divided { suspects, others: ExchangeCounts { asked: answered, answered } };
        (last.since(first) >= SHORTEST && divided.is_sharp()).then_some((span, divided))
    }

    /// When the first and the last unanswered one began.
    pub(super) fn missing(&self) -> Option<[Time; 2]> {
        self.timeline.silent
    }

    fn latest_answered(&self) -> Option<Time> {
        self.answered.map(|[_, latest]| latest)
    }

    /// Whether another one is answered while those at its end are not.
    pub(super) fn is_answered_while_ends(&self, other: &History) -> bool {
        let [first, last] = self.end.span;
        other.answered.is_some_and(|[since, until]| since <= last && first <= until)
    }
}
