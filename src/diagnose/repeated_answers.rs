//! Servers that answer one request many times.

use std::net::SocketAddr;

use dissectors::kit::{RecentMap, Time};

use crate::session::MessageEvent;

/// As many answers to one request as there may be by accident: a network, or a second request that is not in the capture,
/// may double one.
const DOUBLED: u64 = 2;

/// The latest responses of servers to clients, by sender, receiver and kind of response.
#[derive(Default)]
pub(super) struct RepeatedAnswers {
    latest: RecentMap<([SocketAddr; 2], &'static str), Answers>,
}

/// The answers to one request.
#[derive(Clone, Copy)]
struct Answers {
    times: u64,
    /// When the latest one came.
    latest: Time,
}

impl RepeatedAnswers {
    /// A request is answered. `most`: how much is remembered.
    pub(super) fn answers(&mut self, event: &MessageEvent<'_>, most: usize) {
        let key = (event.ends(), event.message().name);
        self.latest.insert(key, Answers { times: 1, latest: event.time() }, most);
    }

    /// A response comes for which no request waits. Returns how often the request before it was answered, if it is so
    /// again: `since` is when that was sent, and its answers follow each other.
    pub(super) fn answers_again(
        &mut self,
        event: &MessageEvent<'_>,
        since: Time,
        most: usize,
    ) -> Option<u64> {
        let key = (event.ends(), event.message().name);
        let answers = self.latest.get_mut(&key, most)?;
        if answers.latest < since || event.time().since(answers.latest) > Time::SOON {
            return None;
        }
        *answers = Answers { times: answers.times + 1, latest: event.time() };
        Some(answers.times)
    }
}

/// What a server sends beyond one answer to each request.
#[derive(Debug, Default)]
pub(super) struct Surplus {
    /// Answers after the first one.
    pub(super) further: u64,
    /// Those that are no accident.
    pub(super) many: u64,
    /// The most answers to one request.
    pub(super) most: u64,
    /// The packet of the first one that is no accident.
    pub(super) first: u64,
}

impl Surplus {
    /// A request is answered again, so often in all.
    pub(super) fn add(&mut self, times: u64, frame: u64) {
        self.further += 1;
        self.most = self.most.max(times);
        if times > DOUBLED {
            self.many += 1;
            if self.first == 0 {
                self.first = frame;
            }
        }
    }
}
