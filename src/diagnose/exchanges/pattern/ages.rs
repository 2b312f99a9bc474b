//! Whether exchanges are unanswered because their challenges are old: servers of GameSpy 4 forget one after 30 seconds.

use dissectors::kit::Time;

use super::divided::Divided;
use super::{is_nearly_all, item_at, sum};
use crate::diagnose::facts::{ENOUGH, NO_ACCIDENT};
use crate::session::ExchangeCounts;

/// Classes of ages: the first is below one second, each further one is a quarter of a power of two.
const CLASSES: usize = 64;

/// Exchanges of a kind by the age of the challenge in the client's request; without one they are in the first class.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages(Vec<OfAge>);

/// The exchanges of a class.
#[derive(Clone, Copy, Debug, Default)]
struct OfAge {
    counts: ExchangeCounts,
    first_missing: Option<Time>,
    last_answered: Option<Time>,
}

impl Ages {
    /// Adds an exchange that began at this time. `age`: nanoseconds.
    pub(super) fn add(&mut self, age: i64, time: Time, is_answered: bool) {
        let it = item_at(&mut self.0, class(age));
        it.counts.add_one(is_answered);
        if is_answered {
            it.last_answered = it.last_answered.max(Some(time));
        } else {
            it.first_missing = Some(it.first_missing.map_or(time, |first| first.min(time)));
        }
    }

    /// From which age on, in nanoseconds, challenges get no answer, while younger ones do, also later.
    pub(super) fn limit(&self) -> Option<(i64, Divided)> {
        let missing = self.0.iter().map(|it| it.counts.missing()).sum();
        let is_any = |at: &usize| self.0.get(*at).is_some_and(|it| it.counts.asked > 0);
        let (at, divided) = Divided::best((1..self.0.len()).filter(is_any), |at| {
            let [young, old] = <[_; 2]>::from(self.0.split_at(*at));
            let [others, suspects] = [young, old].map(|them| sum(them.iter().map(|it| it.counts)));
            let divided = Divided { suspects, others };
            let since = old.iter().filter_map(|it| it.first_missing).min()?;
            let goes_on = young.iter().any(|it| it.last_answered.is_some_and(|at| at > since));
            let is_enough = suspects.asked >= ENOUGH / 2 && others.answered >= NO_ACCIDENT;
            let is_sharp = is_nearly_all(suspects.missing(), suspects.asked);
            (goes_on && is_enough && is_sharp && divided.is_apart(missing)).then_some(divided)
        })?;
        Some((least_age(at), divided))
    }
}

/// The class of an age in nanoseconds.
fn class(age: i64) -> usize {
    let quarters = ((age.max(1) as f64 / 1e9).log2() * 4.0).floor();
    if quarters < 0.0 { 0 } else { (quarters as usize + 1).min(CLASSES - 1) }
}

/// The least age of a class but the first, in nanoseconds.
fn least_age(class: usize) -> i64 {
    (((class as f64 - 1.0) / 4.0).exp2() * 1e9) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn an_age_is_in_the_class_that_begins_below_it() {
        for age in [SECOND, 5 * SECOND, 31 * SECOND, 4_000 * SECOND] {
            let least = least_age(class(age));
            assert!(least <= age && 5 * age < 6 * least, "{age} {least}");
        }
        assert_eq!([class(0), class(SECOND - 1), class(i64::MAX)], [0, 0, CLASSES - 1]);
    }
}
