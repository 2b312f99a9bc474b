//! Servers that answer one request many times.

use std::net::SocketAddr;

use dissectors::kit::{RecentMap, Time, keyed_hash};

use super::usual_hops::UsualHops;
use crate::session::MessageEvent;
use crate::summary::described;

/// As many answers to one request as there may be by accident: a network, or a second request that is not in the capture,
/// may double one.
const DOUBLED: u64 = 2;

/// The latest responses of servers to clients, by sender, receiver and kind of response.
#[derive(Default)]
pub(in crate::diagnose) struct RepeatedAnswers {
    latest: RecentMap<([SocketAddr; 2], &'static str), Answers>,
}

/// The answers to one request.
#[derive(Clone, Copy)]
struct Answers {
    times: u64,
    /// When the latest one came.
    latest: Time,
    /// What the first one says.
    content: Content,
}

/// What an answer says, and from how far away it comes.
#[derive(Clone, Copy)]
struct Content {
    /// A hash of its bytes, by [`keyed_hash`].
    hash: u64,
    players: Option<u64>,
    hops: u8,
}

impl Content {
    fn of(event: &MessageEvent<'_>) -> Content {
        let players = event.message().describes;
        let players = players.and_then(|it| described::first(event, it.players));
        Content {
            hash: keyed_hash(event.payload().bytes),
            players: players.and_then(described::number),
            hops: event.context().hop_limit,
        }
    }

    /// Whether another program says this. A server may number its answers, so that these differ; the same answer may come
    /// along two paths.
    fn is_of_another(&self, other: &Content) -> bool {
        let are_others = self.players.zip(other.players).is_some_and(|(one, other)| one != other);
        are_others || self.hash != other.hash && self.hops != other.hops
    }
}

/// A further answer to a request.
pub(in crate::diagnose) struct FurtherAnswer {
    /// How often the request is answered so far.
    times: u64,
    /// The hop limits of the first answer and of this one, if another program sent it.
    of_another: Option<[u8; 2]>,
}

impl RepeatedAnswers {
    /// A request is answered. `most`: how much is remembered.
    pub(in crate::diagnose) fn answers(&mut self, event: &MessageEvent<'_>, most: usize) {
        let key = (event.ends(), event.message().name);
        let answers = Answers { times: 1, latest: event.time(), content: Content::of(event) };
        self.latest.insert(key, answers, most);
    }

    /// A response comes for which no request waits. Returns what it is, if the request before it is answered
    /// again: `since` is when that was sent, and its answers follow each other.
    pub(in crate::diagnose) fn answers_again(
        &mut self,
        event: &MessageEvent<'_>,
        since: Time,
        most: usize,
    ) -> Option<FurtherAnswer> {
        let key = (event.ends(), event.message().name);
        let answers = self.latest.get_mut(&key, most)?;
        if answers.latest < since || event.time().since(answers.latest) > Time::SOON {
            return None;
        }
        (answers.times, answers.latest) = (answers.times + 1, event.time());
        let (first, content) = (answers.content, Content::of(event));
        let of_another = content.is_of_another(&first).then_some([first.hops, content.hops]);
        Some(FurtherAnswer { times: answers.times, of_another })
    }
}

/// What a server sends beyond one answer to each request.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct Surplus {
    /// Answers after the first one.
    pub(in crate::diagnose) further: u64,
    /// Those that are no accident.
    pub(in crate::diagnose) many: u64,
    /// The most answers to one request.
    pub(in crate::diagnose) most: u64,
    /// The packet of the first one that is no accident.
    pub(in crate::diagnose) first: u64,
    /// Those of another program than the first answer, and the hop limits of both.
    pub(in crate::diagnose) of_another: u64,
    pub(in crate::diagnose) hops: [UsualHops; 2],
}

impl Surplus {
    /// A request is answered again.
    pub(in crate::diagnose) fn add(&mut self, answer: &FurtherAnswer, frame: u64) {
        let FurtherAnswer { times, of_another } = *answer;
        self.further += 1;
        self.most = self.most.max(times);
        if let Some(hops) = of_another {
            self.of_another += 1;
            self.hops.iter_mut().zip(hops).for_each(|(known, hops)| known.see(hops));
        }
        if times > DOUBLED || of_another.is_some() {
            self.many += 1;
            if self.first == 0 {
                self.first = frame;
            }
        }
    }
}
