//! Times in which no server answers anybody. Servers of several hosts do not fail together: the network of those who ask
//! does, or the recorder's.

use std::net::IpAddr;

use dissectors::kit::{Set, Time};

use super::periods::Periods;
use super::{Pattern, PatternFailure};
use crate::diagnose::facts::{Failure, NO_ACCIDENT};

/// All exchanges of a capture by their time.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct CommonSilences {
    periods: Periods,
    /// From when to when servers of several hosts are silent, and nobody else answers.
    found: Vec<[Time; 2]>,
}

impl CommonSilences {
    /// Adds an exchange in which an answer is owed.
    pub(in crate::diagnose) fn add(&mut self, time: Time, is_answered: bool) {
        self.periods.add(time, is_answered);
    }

    /// All exchanges are known: finds the times in which several of these servers, by their hosts, are silent.
    pub(in crate::diagnose) fn conclude<'p>(
        &mut self,
        servers: impl Iterator<Item = (IpAddr, &'p Pattern)>,
    ) {
        let mut silent = Vec::from_iter(self.periods.silent_spans().map(|it| (it, Set::default())));
        if silent.is_empty() {
            return;
        }
        for (host, pattern) in servers {
            for span in pattern.periods.silent_spans() {
                let common = silent.iter_mut().find(|(common, _)| is_within(span, *common));
                common.into_iter().for_each(|(_, hosts)| _ = hosts.insert(host));
            }
        }
        silent.retain(|(_, hosts)| hosts.len() as u64 >= NO_ACCIDENT);
        self.found = silent.into_iter().map(|(span, _)| span).collect();
    }

    /// Whether a server is silent because nobody answers.
    pub(in crate::diagnose) fn explain(&self, silence: &PatternFailure) -> bool {
        let is_it = |span| self.found.iter().any(|found| is_within(span, *found));
        silence.span.is_some_and(is_it)
    }
}

/// Whether a span lies in another one.
fn is_within(span: [Time; 2], [from, to]: [Time; 2]) -> bool {
    span.iter().all(|time| (from..=to).contains(time))
}

impl PatternFailure {
    /// No other server answers in that time, either.
    pub(in crate::diagnose) fn is_of_all(&mut self) -> &Failure {
        self.is_of_all = true;
        self.failure.text += "; no server of another host answers in that time, either";
        &self.failure
    }
}
