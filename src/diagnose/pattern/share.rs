//! Exchanges that have a property in common, such as their client, in the course of time.

use dissectors::kit::Time;

use super::divided::Divided;
use super::periods::SHORTEST;
use crate::session::ExchangeCounts;

/// Exchanges that have a property in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    pub(super) counts: ExchangeCounts,
    /// When the first and the latest answered one began.
    answered: Option<[Time; 2]>,
    /// The unanswered ones since then.
    pub(super) end: End,
    missing: Missing,
}

/// The unanswered ones, and the answered ones among them.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    /// When the first and the last one began.
    span: Option<[Time; 2]>,
    /// How many answered ones began between these.
    answered: u64,
    /// How many began after these, and the first one's time.
    later: u64,
    resumed: Time,
}

impl Missing {
    fn add(&mut self, time: Time, is_answered: bool) {
        let Some([first, last]) = &mut self.span else {
            self.span = (!is_answered).then_some([time; 2]);
            return;
        };
        match (is_answered, time > *last) {
            (true, true) => {
                self.resumed = if self.later == 0 { time } else { self.resumed.min(time) };
                self.later += 1;
            }
            (true, false) => self.answered += u64::from(time >= *first),
            (false, is_later) => {
                if is_later && self.resumed < time {
                    self.answered += std::mem::take(&mut self.later);
                }
                [*first, *last] = [time.min(*first), time.max(*last)];
            }
        }
    }
}

/// Unanswered exchanges after which none is answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub(super) count: u64,
    /// When the first and the last one began.
    pub(super) span: [Time; 2],
}

impl Share {
    /// Adds an exchange that began at this time. Unanswered ones come later than answered ones, because they end later.
    pub(super) fn add(&mut self, time: Time, is_answered: bool) {
        self.counts.add_one(is_answered);
        self.missing.add(time, is_answered);
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
    pub(super) fn ended<'s>(&self, mut others: impl Iterator<Item = &'s Share>) -> Option<End> {
        let [first, last] = self.end.span;
        let middle = Time(first.0 + last.since(first) / 2);
        let goes_on =
            |other: &Share| other.latest_answered().is_some_and(|answered| answered >= middle);
        let is_end = self.end.count > 0 && self.answered.is_some() && others.any(goes_on);
        is_end.then_some(self.end)
    }

    /// Nothing is answered for a while, and at other times nearly all: from when to when.
    pub(super) fn silence(&self) -> Option<([Time; 2], Divided)> {
        let span @ [first, last] = self.missing.span?;
        let answered = self.missing.answered;
        let suspects = ExchangeCounts { asked: self.counts.missing() + answered, answered };
        let (asked, answered) =
            (self.counts.asked - suspects.asked, self.counts.answered - suspects.answered);
        let divided = Divided { suspects, others: ExchangeCounts { asked, answered } };
        (last.since(first) >= SHORTEST && divided.is_sharp()).then_some((span, divided))
    }

    fn latest_answered(&self) -> Option<Time> {
        self.answered.map(|[_, latest]| latest)
    }

    /// Whether another one is answered while those at its end are not.
    pub(super) fn is_answered_while_ends(&self, other: &Share) -> bool {
        let [first, last] = self.end.span;
        other.answered.is_some_and(|[since, until]| since <= last && first <= until)
    }
}
