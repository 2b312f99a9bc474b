//! What tells the unanswered exchanges of one kind, or of one client, from the answered ones of the same.

use std::fmt::Display;

use dissectors::kit::Time;

use super::divided::Divided;
use super::history::History;
use super::{first_names, in_words, is_silent, sum};
use crate::session::ExchangeCounts;

/// A second property of exchanges that are unanswered.
pub(super) struct Within {
    /// Those that have it, and the others.
    divided: Divided,
    /// Which these are, and which the others are.
    names: [String; 2],
    /// From when to when.
    pub(super) span: Option<[Time; 2]>,
}

impl Within {
    /// They are unanswered for a while only.
    pub(super) fn a_time(history: &History, has_dates: bool) -> Option<Within> {
        let (span, divided) = history.silence()?;
        let names = [in_words(span, has_dates), "at other times".to_owned()];
        Some(Within { divided, names, span: Some(span) })
    }

    /// Some of these are never answered, and the rest are. `rest`: which that is, in words.
    pub(super) fn some<T: Display + Ord>(
        all: impl Iterator<Item = (T, ExchangeCounts)>,
        rest: &str,
    ) -> Option<Within> {
        let (mut silent, others): (Vec<_>, Vec<_>) = all.partition(|(_, it)| is_silent(it));
        silent.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let counts = |them: &[(T, ExchangeCounts)]| sum(them.iter().map(|(_, counts)| *counts));
        let divided = Divided { suspects: counts(&silent), others: counts(&others) };
        let these = format!("of {}", first_names(silent.iter().map(|(one, _)| one)));
        let names = [these, rest.to_owned()];
        divided.is_sharp().then_some(Within { divided, names, span: None })
    }

    /// For people: how many of these, and of the others.
    pub(super) fn in_words(&self) -> String {
        let ([name, rest], [these, others]) = (&self.names, self.divided.in_words());
        format!(" ({name}, {these}; {rest}, {others})")
    }
}
