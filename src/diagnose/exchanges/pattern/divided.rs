//! Exchanges that a property divides into the unanswered and the answered ones.

use super::{PatternFailure, is_nearly_all, sum};
use crate::diagnose::facts::ENOUGH;
use crate::session::ExchangeCounts;
use crate::text::grouped;

/// Exchanges that a property divides: those that have it, which may be why they are unanswered, and the others.
pub(super) struct Divided {
    pub(super) suspects: ExchangeCounts,
    pub(super) others: ExchangeCounts,
}

impl Divided {
    /// `None`: the property is not what makes the difference between the answered and the unanswered ones, of which there
    /// are so many.
    pub(super) fn of(
        suspects: impl IntoIterator<Item = ExchangeCounts>,
        others: impl IntoIterator<Item = ExchangeCounts>,
        missing: u64,
    ) -> Option<Divided> {
        let divided = Divided { suspects: sum(suspects), others: sum(others) };
        divided.if_enough().filter(|it| it.is_apart(missing))
    }

    /// These, if of neither there are few, and of those that have the property at least half are unanswered.
    pub(super) fn if_enough(self) -> Option<Divided> {
        let Divided { suspects, others } = &self;
        let is_half = 2 * suspects.missing() >= suspects.asked;
        let is_enough = suspects.asked.min(others.asked) >= ENOUGH / 2;
        (is_half && is_enough).then_some(self)
    }

    /// They are divided so, if those that have the property are unanswered now and then only: at least one of five, and if the others
    /// were, too, some would be.
    pub(super) fn now_and_then(
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

    /// Nearly all of the unanswered ones have the property; or most of them, and hardly any that has it is answered: of the
    /// others, some are lost as everywhere.
    pub(super) fn is_apart(&self, missing: u64) -> bool {
        let Divided { suspects, others } = self;
        let is_most = 2 * suspects.missing() > missing;
        let is_certain = is_most && is_nearly_all(suspects.missing(), suspects.asked);
        (is_nearly_all(suspects.missing(), missing) || is_certain)
            && 10 * others.missing() <= others.asked
    }

    /// Nearly all of those that have the property are unanswered, of others nearly none, and of neither there are few.
    pub(super) fn is_sharp(&self) -> bool {
        let Divided { suspects, others } = self;
        suspects.asked.min(others.asked) >= ENOUGH / 2
            && is_nearly_all(suspects.missing(), suspects.asked)
            && self.is_apart(suspects.missing() + others.missing())
    }

    /// How many are unanswered, of those that have the property, and of the others.
    pub(super) fn in_words(&self) -> [String; 2] {
        [self.suspects, self.others]
            .map(|it| format!("{} of {}", grouped(it.missing()), grouped(it.asked)))
    }

    /// Of several ways to divide them, the one that is wrong for the fewest.
    pub(super) fn best<W>(
        ways: impl Iterator<Item = W>,
        divide: impl Fn(&W) -> Option<Divided>,
    ) -> Option<(W, Divided)> {
        let found = ways.filter_map(|way| divide(&way).map(|divided| (way, divided)));
        found.min_by_key(|(_, divided)| divided.errors())
    }

    /// For how many exchanges the property says the contrary of what happened.
    pub(super) fn errors(&self) -> u64 {
        self.suspects.answered + self.others.missing()
    }
}

/// How to divide them into some and all others.
pub(super) type Divide<'d> = &'d dyn Fn(ExchangeCounts, &[ExchangeCounts]) -> Option<Divided>;

/// A pattern that may be the best one.
pub(super) struct Candidate {
    pub(super) failure: PatternFailure,
    /// See [`Divided::errors`].
    pub(super) errors: u64,
}
