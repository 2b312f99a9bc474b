//! Which property tells the unanswered exchanges best from the answered ones.

use super::Pattern;
use super::divided::{Candidate, Divided};
use super::paces::{SLOW, SLOW_OF_ALL};
use crate::diagnose::facts::ENOUGH;

/// How often nothing is answered for a while.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    One,
    Several,
}

impl Pattern {
    /// The property that tells the unanswered exchanges best from the others; of those that do so as well, the first.
    pub(super) fn apart(&self) -> Option<Candidate> {
        self.best([self.of_whom_and_what(), self.limited(), self.silent(Times::Several)])
    }

    /// The same, without their rate.
    pub(super) fn apart_but_for_rate(&self) -> Option<Candidate> {
        self.best([self.of_whom_and_what(), self.silent(Times::Several)])
    }

    /// The best of these; if there is none, what is unanswered now and then.
    fn best(&self, all: impl IntoIterator<Item = Option<Candidate>>) -> Option<Candidate> {
        let best = all.into_iter().flatten().min_by_key(|candidate| candidate.errors);
        best.or_else(|| self.now_and_then())
    }

    /// Nothing is answered for a while, once or several times. Once, that may look like a limit of a rate if it is never
    /// over; such limits look like several silences.
    fn silent(&self, times: Times) -> Option<Candidate> {
        let silent = self.periods.silent(&self.all, true, self.frame());
        silent.filter(|_| self.periods.are_one() == (times == Times::One))
    }

    /// Who sends the unanswered ones, when, and what they are. Who and when come first.
    pub(super) fn of_whom_and_what(&self) -> Option<Candidate> {
        let missing = self.all.missing();
        let divide =
            |suspects, others: &[_]| Divided::of([suspects], others.iter().copied(), missing);
        let all = [
            self.end_of_a_client(),
            self.silence_of_a_client(),
            self.end_of_a_kind(ENOUGH / 2),
            self.silent(Times::One),
            self.of_a_kind(&divide),
            self.of_a_client(&divide),
            self.of_networks(),
            self.of_all_but_one(),
            self.of_long_ones(),
            self.of_short_ones(),
        ];
        all.into_iter().flatten().min_by_key(|candidate| candidate.errors)
    }

    /// They come too fast.
    pub(super) fn limited(&self) -> Option<Candidate> {
        let (missing, frame, [client, anybody]) = (self.all.missing(), self.frame(), &self.paces);
        let all = [
            client.by_gap("the same client's last one", SLOW, missing, frame),
            anybody.by_gap("any other one", SLOW_OF_ALL, missing, frame),
            client.by_rank("of a client ", missing, frame),
            anybody.by_rank("", missing, frame),
            client.by_burst("of a client ", missing, frame),
            anybody.by_burst("", missing, frame),
        ];
        all.into_iter().flatten().min_by_key(|candidate| candidate.errors)
    }

    /// Those of a kind, or of a client, are unanswered now and then.
    fn now_and_then(&self) -> Option<Candidate> {
        let missing = self.all.missing();
        let divide = |suspects, others: &[_]| {
            Divided::now_and_then(suspects, others.iter().copied(), missing)
        };
        self.of_a_kind(&divide).or_else(|| self.of_a_client(&divide))
    }

    /// Requests are unanswered that come after many others, whoever sends them.
    pub(super) fn limited_in_sum(&self) -> Option<Candidate> {
        let (missing, frame, [_, anybody]) = (self.all.missing(), self.frame(), &self.paces);
        let ways = [anybody.by_rank("", missing, frame), anybody.by_burst("", missing, frame)];
        ways.into_iter().flatten().min_by_key(|candidate| candidate.errors)
    }
}
