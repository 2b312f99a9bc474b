//! The requests of clients for a master's list: which of them stay unanswered, and what these have in common.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Masters, Role, Time, Verdict};

use super::periods::{Periods, in_words};
use super::{item_at, sum};
use crate::diagnose::facts::NO_ACCIDENT;
use crate::session::{ExchangeCounts, MessageEvent};
use crate::text::grouped;

/// Maximum number of requests that wait at a time.
const WAITING: usize = 64;

/// Nanoseconds after which no program waits for an answer.
const LONG: i64 = 10_000_000_000;

/// Maximum number of values of a property that are told apart.
const VALUES: usize = 32;

/// Maximum length of a value.
const LONGEST: usize = 60;

/// The names of properties: the port that is asked, and who asks.
const PORT: &str = "port";
const CLIENT: &str = "client";

/// The requests for a master's list, or for a part of it, each with its repeats while it waits.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct ListRequests {
    /// All that have begun, and those that have ended.
    begun: u64,
    all: ExchangeCounts,
    waiting: Vec<WaitingRequest>,
    properties: Vec<Property>,
    periods: Periods,
    /// The first one that is not answered.
    missing: Option<u64>,
}

/// A request that waits.
#[derive(Debug)]
struct WaitingRequest {
    client: SocketAddr,
    frame: u64,
    time: Time,
    /// When it was sent last.
    latest: Time,
    /// The places of its values, by property.
    values: Vec<usize>,
}

/// Something in which requests differ, such as the port that they go to.
#[derive(Clone, Debug, Default)]
struct Property {
    name: &'static str,
    /// How many have each value; the last one, all for which there was no room.
    values: Vec<(String, ExchangeCounts)>,
}

/// What all unanswered requests have in common.
#[derive(Debug)]
pub(in crate::diagnose) struct CommonOfLists {
    /// For people: how many of these are not answered, and how many of others.
    pub(in crate::diagnose) text: String,
    /// A name and a value.
    pub(in crate::diagnose) by: Option<(&'static str, String)>,
    /// They are those of a span of time.
    pub(in crate::diagnose) span: Option<[Time; 2]>,
}

impl CommonOfLists {
    /// They are those of one client.
    pub(in crate::diagnose) fn is_of_client(&self) -> bool {
        self.by.as_ref().is_some_and(|(name, _)| *name == CLIENT)
    }
}

impl ListRequests {
    /// A client asks.
    pub(in crate::diagnose) fn asked(&mut self, event: &MessageEvent<'_>, masters: &Masters) {
        let [client, _] = event.ends();
        let at = self.waiting.iter().position(|it| it.client == client);
        if !event.exchange().begins {
            if let Some(again) = at.and_then(|at| self.waiting.get_mut(at)) {
                again.latest = event.time();
            }
            return;
        }
        if let Some(at) = at {
            let before = self.waiting.remove(at);
            self.ended(&before, false);
        }
        self.begun += 1;
        let properties = properties(event, masters).into_iter().enumerate();
        let values = properties.map(|(at, (name, value))| {
            let property = item_at(&mut self.properties, at);
            property.name = name;
            property.place(value)
        });
        let (frame, time, values) = (event.frame(), event.time(), Vec::from_iter(values));
        // If there are too many, what became of the first one is unknown, unless it has waited for long.
        if self.waiting.len() >= WAITING {
            let first = self.waiting.remove(0);
            if time.since(first.latest) >= LONG {
                self.ended(&first, false);
            }
        }
        self.waiting.push(WaitingRequest { client, frame, time, latest: time, values });
    }

    /// The master says something to this client, which is an answer, whatever it says.
    pub(in crate::diagnose) fn answered(&mut self, client: SocketAddr) {
        if let Some(at) = self.waiting.iter().position(|it| it.client == client) {
            let request = self.waiting.remove(at);
            self.ended(&request, true);
        }
    }

    /// The capture ends: what has not waited for long enough may still be answered. `has_dates`: times are shown with
    /// their day.
    pub(in crate::diagnose) fn finish(
        &mut self,
        end: Time,
        timeout: i64,
        is_complete: bool,
        has_dates: bool,
    ) {
        self.periods.has_dates = has_dates;
        for request in std::mem::take(&mut self.waiting) {
            if is_complete || end.since(request.latest) >= timeout {
                self.ended(&request, false);
            }
        }
    }

    /// How many there were.
    pub(in crate::diagnose) fn begun(&self) -> u64 {
        self.begun
    }

    /// How many of them have ended.
    pub(in crate::diagnose) fn counts(&self) -> ExchangeCounts {
        self.all
    }

    /// Whether some to this port are answered, and some that began between these times.
    pub(in crate::diagnose) fn are_answered(&self, port: u16, span: [Time; 2]) -> bool {
        self.are_answered_of(PORT, &port.to_string()) && self.periods.answered_within(span) > 0
    }

    /// Whether some of this client are answered.
    pub(in crate::diagnose) fn are_answered_to(&self, client: IpAddr) -> bool {
        self.are_answered_of(CLIENT, &client.to_string())
    }

    /// Whether some with this value of a property are answered.
    fn are_answered_of(&self, name: &str, value: &str) -> bool {
        let property = self.properties.iter().find(|property| property.name == name);
        let mut values = property.into_iter().flat_map(|it| &it.values);
        values.any(|(other, counts)| other == value && counts.answered > 0)
    }

    /// The first one that is not answered.
    pub(in crate::diagnose) fn first_missing(&self) -> Option<u64> {
        self.missing
    }

    /// What all unanswered ones have in common, and no answered ones, or hardly any.
    pub(in crate::diagnose) fn common(&self) -> Option<CommonOfLists> {
        let found = self.properties.iter().filter_map(|it| Some((it, it.divides(&self.all)?)));
        let found = Vec::from_iter(found);
        let best = found.iter().map(|(_, found)| found.errors).min();
        let silence = self.periods.silent(&self.all, true, 0);
        // Who asks while nobody is answered is not what makes the difference.
        let are_clients = found.iter().all(|(it, of)| it.name == CLIENT || Some(of.errors) > best);
        let least = best.map(|best| best + u64::from(are_clients));
        if let Some(silence) = silence.filter(|it| least.is_none_or(|least| it.errors < least)) {
            let span = silence.failure.span?;
            let is_all = silence.errors == 0 && self.periods.are_one();
            let how_many = if is_all { "all" } else { "nearly all" };
            let text = format!(", {how_many} {}", in_words(span, self.periods.has_dates));
            return Some(CommonOfLists { text, by: None, span: Some(span) });
        }
        // Where several divide them as well, any may be the reason.
        let best = found.into_iter().filter(|(_, found)| Some(found.errors) == best);
        let (mut names, mut counts, mut by, mut rest) = (Vec::new(), None, None, None);
        for (property, found) in best {
            names.push(property.in_words(found.value));
            counts.get_or_insert([found.suspects, found.others]);
            by.get_or_insert((property.name, found.value.to_owned()));
            rest.get_or_insert(property.rest_in_words(found.value));
        }
        let [suspects, others] = counts?.map(|it| {
            let (missing, asked) = (grouped(it.missing()), grouped(it.asked));
            format!("{missing} of {asked}")
        });
        let (names, rest) = (names.join(", "), rest.unwrap_or_default());
        let text = format!(": of those {names}, {suspects}; of {rest}, {others}");
        Some(CommonOfLists { text, by, span: None })
    }

    fn ended(&mut self, request: &WaitingRequest, is_answered: bool) {
        self.all.add_one(is_answered);
        self.periods.add(request.time, is_answered);
        if !is_answered {
            self.missing = Some(self.missing.map_or(request.frame, |it| it.min(request.frame)));
        }
        for (property, place) in self.properties.iter_mut().zip(&request.values) {
            if let Some((_, counts)) = property.values.get_mut(*place) {
                counts.add_one(is_answered);
            }
        }
    }
}

/// A value of a property that divides the requests into the unanswered and the answered ones.
struct Dividing<'p> {
    value: &'p str,
    suspects: ExchangeCounts,
    others: ExchangeCounts,
    /// For how many requests the value says the contrary of what happened.
    errors: u64,
}

impl Property {
    /// The place of a value.
    fn place(&mut self, value: String) -> usize {
        if let Some(at) = self.values.iter().position(|(known, _)| *known == value) {
            return at;
        }
        if self.values.len() < VALUES {
            self.values.push((value, ExchangeCounts::default()));
        }
        self.values.len() - 1
    }

    /// The value that all unanswered ones of these have, and hardly any of the answered ones.
    fn divides(&self, all: &ExchangeCounts) -> Option<Dividing<'_>> {
        let told_apart = self.values.iter().take(VALUES - 1);
        let (value, suspects) = told_apart.max_by_key(|(_, counts)| counts.missing())?;
        let rest = self.values.iter().filter(|(other, _)| other != value);
        let (suspects, others) = (*suspects, sum(rest.map(|(_, counts)| *counts)));
        let is_all = suspects.missing() == all.missing() && others.answered >= NO_ACCIDENT;
        let is_most = suspects.missing() >= NO_ACCIDENT && 10 * suspects.answered <= suspects.asked;
        (is_all && is_most).then_some(Dividing {
            value,
            suspects,
            others,
            errors: suspects.answered,
        })
    }

    /// Requests with another value: where the only other one is a port, that is the one to ask.
    fn rest_in_words(&self, value: &str) -> String {
        let mut rest = self.values.iter().filter(|(other, _)| other != value);
        match (self.name, rest.next(), rest.next()) {
            (PORT, Some((other, _)), None) => format!("those to port {other}"),
            _ => "others".to_owned(),
        }
    }

    /// Requests with this value.
    fn in_words(&self, value: &str) -> String {
        match (self.name, value) {
            (name, "") => format!("without {name}"),
            (PORT, _) => format!("to port {value}"),
            (CLIENT, _) => format!("of {value}"),
            ("game", _) => format!("for {value}"),
            ("finding", _) => format!("that check finds wrong ({value})"),
            (name, _) => format!("with {name} {value}"),
        }
    }
}

/// What may be why a request is not answered.
fn properties(event: &MessageEvent<'_>, masters: &Masters) -> Vec<(&'static str, String)> {
    let [client, master] = event.ends();
    let shown = |path: &str| {
        let value = event.field(path).map(|value| value.to_string()).unwrap_or_default();
        value.chars().take(LONGEST).collect::<String>()
    };
    let wrong =
        event.checked().findings.iter().find(|it| {
            it.rule.who == Role::Client && it.verdict == Verdict::Fail && it.mark.is_none()
        });
    let mut all = vec![
        ("finding", wrong.map(|it| it.detail.chars().take(LONGEST).collect()).unwrap_or_default()),
        (PORT, master.port().to_string()),
    ];
    all.extend(masters.narrowed.iter().map(|(path, _)| (*path, shown(path))));
    all.extend(masters.game.map(|path| ("game", shown(path))));
    all.push((CLIENT, client.ip().to_string()));
    all
}
