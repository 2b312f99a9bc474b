//! What is to be said, and when.

use std::collections::BTreeMap;
use std::time::Instant;

use super::part::Line;

/// Maximum number of lines that wait.
const MOST: usize = 1 << 12;

/// What is due.
pub(super) enum Due {
    /// A line, and how often it arrives.
    Line(Line, usize),
    /// The script has been played to its end.
    End,
}

/// Lines for clients, in the order of their times.
pub(super) struct Schedule<K> {
    due: BTreeMap<(Instant, u64), (K, Due)>,
    count: u64,
}

impl<K> Default for Schedule<K> {
    fn default() -> Schedule<K> {
        Schedule { due: BTreeMap::new(), count: 0 }
    }
}

impl<K> Schedule<K> {
    /// Adds what is due to a client; too much is left out.
    pub(super) fn add(&mut self, at: Instant, client: K, due: Due) {
        if self.due.len() < MOST {
            self.count += 1;
            self.due.insert((at, self.count), (client, due));
        }
    }

    /// The next time at which something is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// What is due now.
    pub(super) fn take(&mut self, now: Instant) -> Option<(K, Due)> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// Whether something is due to this client, now or later.
    pub(super) fn has(&self, client: &K) -> bool
    where
        K: PartialEq,
    {
        self.due.values().any(|(it, _)| it == client)
    }
}
