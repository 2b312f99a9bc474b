//! Whether the unanswered exchanges are those of one kind, or of one client.

use std::fmt::Display;
use std::net::IpAddr;

use dissectors::kit::Time;

use super::divided::{Candidate, Divide, Divided};
use super::history::{End, History};
use super::within::Within;
use super::{OfClient, Pattern, requests, shown};
use crate::diagnose::facts::{ENOUGH, NO_ACCIDENT};
use crate::session::ExchangeCounts;
use crate::text::moment;

impl Pattern {
    /// Nearly all unanswered requests are of one client, which was answered before.
    pub(super) fn end_of_a_client(&self) -> Option<Candidate> {
        let clients = self.clients.iter().map(|(client, it)| (*client, it.history));
        self.end_of_a("client", Vec::from_iter(clients), ENOUGH / 2)
    }

    /// Nearly all unanswered requests are of one client while it gets no answer, and others do.
    pub(super) fn silence_of_a_client(&self) -> Option<Candidate> {
        let missing = |(client, of): &(&IpAddr, &OfClient)| (of.history.counts.missing(), **client);
        let (client, of) = self.clients.iter().max_by_key(missing)?;
        self.silence_of(of)?;
        let within = Within::a_time(&of.history, self.periods.has_dates)?;
        let (suspects, all) = (of.history.counts, self.all);
        let (asked, answered) = (all.asked - suspects.asked, all.answered - suspects.answered);
        let divided = Divided { suspects, others: ExchangeCounts { asked, answered } };
        if !divided.is_apart(all.missing()) {
            return None;
        }
        let (also, by) = (within.in_words(), ("client", client.to_string()));
        let mut candidate = self.of_these(&client.to_string(), &divided, &also, by);
        // In that time, none is answered.
        candidate.errors = divided.others.missing();
        candidate.failure.span = within.span;
        Some(candidate)
    }

    /// A time in which a client gets no answer, and others do.
    fn silence_of(&self, client: &OfClient) -> Option<([Time; 2], Divided)> {
        let (span, divided) = client.history.silence()?;
        let are_others = self.all.answered > client.history.counts.answered;
        let is_other = are_others && self.periods.answered_within(span) >= NO_ACCIDENT;
        is_other.then_some((span, divided))
    }

    /// A time in which a client gets no answer though others do, and how many requests that are, unless what it asks, or
    /// how fast, is the reason.
    pub(in crate::diagnose) fn is_left_out(&self, client: IpAddr) -> Option<([Time; 2], u64)> {
        let (span, Divided { suspects, .. }) = self.silence_of(self.clients.get(&client)?)?;
        if self.misses_what_all_miss(client) {
            return None;
        }
        let all = [self.of_whom_and_what(), self.limited()];
        let best = all.into_iter().flatten().min_by_key(|candidate| candidate.errors);
        let is_of_client = |by: (&str, String)| matches!(by.0, "client" | "all_but" | "network");
        best.is_none_or(|it| it.failure.by.is_some_and(is_of_client))
            .then_some((span, suspects.asked))
    }

    /// Nearly all unanswered requests, and at least so many, are of one kind, which was answered before.
    pub(super) fn end_of_a_kind(&self, least: u64) -> Option<Candidate> {
        let kinds = self.kinds.iter().map(|kind| (kind.name, kind.history));
        self.end_of_a("kind", Vec::from_iter(kinds), least)
    }

    /// Nearly all unanswered requests, and at least so many, are of one of these, which was answered before.
    fn end_of_a<T: Copy + Ord + Display>(
        &self,
        by: &'static str,
        mut histories: Vec<(T, History)>,
        least: u64,
    ) -> Option<Candidate> {
        let most = histories.iter().max_by_key(|(one, history)| (history.end.count, *one))?.0;
        let at = histories.iter().position(|(one, _)| *one == most)?;
        let (one, history) = histories.swap_remove(at);
        let End { count, span } = history.ended(histories.iter().map(|(_, other)| other))?;
        let ExchangeCounts { asked, answered } = self.all;
        let suspects = ExchangeCounts { asked: count, answered: 0 };
        let others = ExchangeCounts { asked: asked - count, answered };
        let divided = Divided { suspects, others };
        if count < least || !divided.is_apart(self.all.missing()) {
            return None;
        }
        let these =
            format!("{} since {}", shown(by, &one), moment(span[0], self.periods.has_dates));
        let mut candidate = self.of_these(&these, &divided, "", (by, one.to_string()));
        candidate.failure.span = Some(span);
        Some(candidate)
    }

    /// Nearly all unanswered requests are of one kind.
    pub(super) fn of_a_kind(&self, divide: Divide<'_>) -> Option<Candidate> {
        let kinds = self.kinds.iter().map(|kind| (kind.name, &kind.history));
        let of_some_clients = |kind: &str| {
            let place = self.kinds.iter().position(|it| it.name == kind)?;
            let clients = self.clients.iter();
            let counts = clients.filter_map(|(client, it)| Some((*client, *it.kinds.get(place)?)));
            Within::some(counts, "of other clients")
        };
        self.of_a("kind", kinds.collect(), divide, &|kind| of_some_clients(kind))
    }

    /// Nearly all unanswered requests are of one client.
    pub(super) fn of_a_client(&self, divide: Divide<'_>) -> Option<Candidate> {
        let clients = self.clients.iter().map(|(client, it)| (*client, &it.history));
        let of_some_kinds = |client: &IpAddr| {
            let counts = &self.clients.get(client)?.kinds;
            let names = self.kinds.iter().map(|kind| requests(kind.name));
            Within::some(names.zip(counts.iter().copied()), "of its others")
        };
        self.of_a("client", clients.collect(), divide, &of_some_kinds)
    }

    /// Nobody but one client gets an answer, and that one gets all: others may be too many to be told apart.
    pub(super) fn of_all_but_one(&self) -> Option<Candidate> {
        let mut answered = self.clients.iter().filter(|(_, it)| it.history.counts.answered > 0);
        let (client, counts) = answered.next().map(|(client, it)| (*client, it.history.counts))?;
        if answered.next().is_some() || counts.answered < self.all.answered {
            return None;
        }
        let others = ExchangeCounts { asked: self.all.asked - counts.asked, answered: 0 };
        let divided = Divided::of([others], [counts], self.all.missing())?;
        let these = format!("all clients but {client}");
        Some(self.of_these(&these, &divided, "", ("all_but", client.to_string())))
    }

    /// Nearly all unanswered requests are of one of these. `some`: only some of those, if so.
    fn of_a<T: Copy + Display>(
        &self,
        by: &'static str,
        mut histories: Vec<(T, &History)>,
        divide: Divide<'_>,
        some: &dyn Fn(&T) -> Option<Within>,
    ) -> Option<Candidate> {
        let missing = |history: &History| history.counts.missing();
        let most = histories.iter().map(|(_, history)| missing(history)).max()?;
        let at = histories.iter().position(|(_, history)| missing(history) == most)?;
        let (one, history) = histories.swap_remove(at);
        let others = Vec::from_iter(histories.iter().map(|(_, history)| history.counts));
        let divided = divide(history.counts, &others)?;
        let within = some(&one).or_else(|| Within::a_time(history, self.periods.has_dates));
        let also = within.as_ref().map(Within::in_words).unwrap_or_default();
        let by = (by, one.to_string());
        let mut candidate = self.of_these(&shown(by.0, &one), &divided, &also, by);
        candidate.failure.span = within.and_then(|within| within.span);
        Some(candidate)
    }
}
