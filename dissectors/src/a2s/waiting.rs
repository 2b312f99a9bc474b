//! Who waits for an answer of which host: so that an answer from another port of it is told from
//! one that nobody asked for.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::kit::{FlowFacts, Payload, Settings, Side, Time};

use super::talk::{Answer, Request};

/// The endpoint that asked, and the host it asked.
type Key = (SocketAddr, IpAddr);

#[derive(Clone, Copy)]
struct Asked {
    /// The endpoint that was asked.
    of: SocketAddr,
    time: Time,
    request: Request,
    elsewhere: bool,
}

/// The latest request of each endpoint to each host, while its answer may come.
#[derive(Default)]
pub(super) struct Waiting {
    young: HashMap<Key, Asked>,
    old: HashMap<Key, Asked>,
    since: Time,
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
        let asked = Asked { of: payload.to, time: payload.time, request, elsewhere: false };
        self.young.insert((payload.from, payload.to.ip()), asked);
    }

    /// The request was answered, by whom it asked.
    pub(super) fn remove(&mut self, payload: &Payload<'_>) {
        let key = (payload.to, payload.from.ip());
        for map in [&mut self.young, &mut self.old] {
            if map.get(&key).is_some_and(|asked| asked.of == payload.from) {
                map.remove(&key);
            }
        }
    }

    fn find(&self, client: SocketAddr, host: IpAddr) -> Option<&Asked> {
        let key = (client, host);
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// Whether somebody waits for an answer from this host, at another port of it.
    pub(super) fn expects(&self, payload: &Payload<'_>) -> bool {
        self.find(payload.to, payload.from.ip())
            .is_some_and(|asked| asked.of != payload.from && !asked.elsewhere)
    }

    /// The endpoint that was asked for what another of its host answers.
    pub(super) fn elsewhere(
        &mut self,
        payload: &Payload<'_>,
        answer: Answer,
        timeout: i64,
    ) -> Option<SocketAddr> {
        let key = (payload.to, payload.from.ip());
        let asked = self.young.get_mut(&key).or_else(|| self.old.get_mut(&key))?;
        let fits = matches!(
            (answer, asked.request),
            (Answer::Info | Answer::ObsoleteInfo | Answer::Challenge, Request::Info)
                | (Answer::Challenge, Request::Challenge | Request::Player | Request::Rules)
                | (Answer::Players, Request::Player)
                | (Answer::Rules, Request::Rules)
                | (Answer::Ping, Request::Ping)
        );
        let late = payload.time.since(asked.time) >= timeout;
        if asked.of == payload.from || asked.elsewhere || !fits || late {
            return None;
        }
        asked.elsewhere = true;
        Some(asked.of)
    }

    /// Whether what this flow's server was asked has been answered from another port.
    pub(super) fn was_answered_elsewhere(&self, flow: &FlowFacts, server: Side) -> bool {
        let end = |side: Side| flow.ends.get(side.index()).copied();
        let (Some(server), Some(client)) = (end(server), end(server.other())) else { return false };
        self.find(client, server.ip()).is_some_and(|asked| asked.of == server && asked.elsewhere)
    }
}
