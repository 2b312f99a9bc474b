//! What is unanswered beside what explains most of it.

use std::net::IpAddr;

use super::{Pattern, in_words, is_silent, sum};
use crate::diagnose::facts::is_too_much;
use crate::text::{counted, grouped};

impl Pattern {
    /// What an ICMP error about a request of this client says.
    pub(in crate::diagnose) fn refusal_of(&self, client: IpAddr) -> Option<&str> {
        self.clients.get(&client)?.refused.as_deref()
    }

    /// ICMP errors answer a part of what is unanswered: what they say.
    pub(super) fn refused_in_part(&self) -> Option<String> {
        let refused = self.refusals.as_ref()?;
        let requests = counted(refused.count, "request");
        Some(format!("; to {requests}, {}", refused.first.text))
    }

    /// What else is unanswered where some kinds of requests always are: how many, and when, if that is one time in which
    /// nothing is answered.
    pub(in crate::diagnose) fn beside_silent_kinds(&self) -> Option<String> {
        let others = self.kinds.iter().map(|kind| &kind.history);
        let others = Vec::from_iter(others.filter(|history| !is_silent(&history.counts)));
        let counts = sum(others.iter().map(|history| history.counts));
        if !is_too_much(counts.missing(), counts.asked) {
            return None;
        }
        let spans = || others.iter().filter_map(|history| history.missing());
        let first = spans().map(|[first, _]| first).min()?;
        let last = spans().map(|[_, last]| last).max()?;
        let is_one = self.periods.answered_within([first, last]) == 0;
        let when = is_one.then(|| in_words([first, last], self.has_dates()));
        let when = when.map_or(String::new(), |when| format!(", {when}"));
        let [missing, asked] = [counts.missing(), counts.asked].map(grouped);
        Some(format!("; of {asked} others, {missing} stay unanswered{when}"))
    }
}
