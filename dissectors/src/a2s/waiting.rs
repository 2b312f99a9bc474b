//! Who waits for an answer of which host: so that an answer from another port of it is told from
//! one that nobody asked for.

use std::net::{IpAddr, SocketAddr};

use super::facts::{Answer, Request};
use crate::kit::{Map, Payload, Recent, Settings, Time};

/// The endpoint that asked, and the host it asked.
type Key = (SocketAddr, IpAddr);

#[derive(Clone, Copy)]
struct Asked {
    /// The endpoint that was asked.
    of: SocketAddr,
    frame: u64,
    time: Time,
    request: Request,
}

/// The latest request of each endpoint to each host, while its answer may come.
#[derive(Default)]
pub(super) struct Waiting {
    /// Since `since`.
    young: Map<Key, Asked>,
    /// Of the answer timeout before: what is older still waits for nothing.
    old: Map<Key, Asked>,
    since: Time,
    /// Requests that another port answered.
    elsewhere: Recent,
}

impl Waiting {
    /// A request was sent.
    pub(super) fn insert(&mut self, payload: &Payload<'_>, request: Request, settings: &Settings) {
        let full = self.young.len() >= settings.limits.remembered;
        if full || payload.time.since(self.since) >= settings.answer_timeout {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = payload.time;
        }
        let (of, frame, time) = (payload.to, payload.frame, payload.time);
        let asked = Asked { of, frame, time, request };
        self.young.insert((payload.from, payload.to.ip()), asked);
    }

    /// The request was answered, by whom it asked.
    pub(super) fn remove(&mut self, payload: &Payload<'_>) {
        let key = (payload.to, payload.from.ip());
        for map in [&mut self.young, &mut self.old] {
            match map.remove(&key) {
                Some(other) if other.of != payload.from => {
                    map.insert(key, other);
                }
                Some(_) => return,
                None => {}
            }
        }
    }

    fn find(&self, payload: &Payload<'_>) -> Option<&Asked> {
        let key = (payload.to, payload.from.ip());
        let asked = self.young.get(&key).or_else(|| self.old.get(&key))?;
        (asked.of != payload.from).then_some(asked)
    }

    /// Whether somebody waits for an answer from this host, at another port of it.
    pub(super) fn expects(&self, payload: &Payload<'_>) -> bool {
        self.find(payload).is_some()
    }

    /// The endpoint that was asked for what another of its host answers.
    pub(super) fn elsewhere(
        &mut self,
        payload: &Payload<'_>,
        answer: Answer,
        settings: &Settings,
    ) -> Option<SocketAddr> {
        let asked = *self.find(payload)?;
        let fits = matches!(
            (answer, asked.request),
            (Answer::Info | Answer::ObsoleteInfo | Answer::Challenge, Request::Info)
                | (Answer::Challenge, Request::Challenge | Request::Player | Request::Rules)
                | (Answer::Players, Request::Player)
                | (Answer::Rules, Request::Rules)
                | (Answer::Ping, Request::Ping)
        );
        if !fits || payload.time.since(asked.time) >= settings.answer_timeout {
            return None;
        }
        let key = (payload.to, payload.from.ip());
        self.young.remove(&key);
        self.old.remove(&key);
        let fact = (payload.to, asked.of, asked.frame);
        self.elsewhere.insert(&fact, settings.limits.remembered);
        Some(asked.of)
    }

    /// Whether what a client asked a server in this packet was answered from another port.
    pub(super) fn was_answered_elsewhere(
        &self,
        client: SocketAddr,
        server: SocketAddr,
        frame: u64,
    ) -> bool {
        self.elsewhere.contains(&(client, server, frame)) == Some(true)
    }
}
