//! Who waits for an answer of which host: so that an answer from another port of it is told from
//! one that nobody asked for.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use super::facts::{Answer, Request};
use crate::kit::{AT_ONCE, HashedMap, Host, Payload, Recent, Seed, Settings, Socket, Time};

/// Stands for the endpoint that asked, and the host it asked: under a flood there are as many as
/// packets.
type Key = u64;

/// A request, in sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Asked {
    /// From the highest bit on: the packet, in 45 bits; what was asked for, in three; and of which
    /// port.
    what: u64,
    time: Time,
}

impl Asked {
    const MOST_FRAME: u64 = (1 << 45) - 1;

    fn new(port: u16, frame: u64, time: Time, request: Request) -> Asked {
        let what = frame.min(Asked::MOST_FRAME) << 19 | (request as u64) << 16 | u64::from(port);
        Asked { what, time }
    }

    fn port(self) -> u16 {
        self.what as u16
    }

    fn frame(self) -> u64 {
        self.what >> 19
    }

    fn request(self) -> Option<Request> {
        Request::ALL.get((self.what >> 16 & 7) as usize).copied()
    }
}

/// What changes who waits.
#[derive(Clone, Copy)]
enum Said {
    Asked(Key, Asked),
    /// From this port.
    Answered(Key, u16),
}

/// The latest request of each endpoint to each host, while its answer may come.
#[derive(Default)]
pub(super) struct Waiting {
    /// Since `since`.
    young: HashedMap<Asked>,
    /// Of the answer timeout before: what is older still waits for nothing.
    old: HashedMap<Asked>,
    since: Time,
    seed: Seed,
    /// What was said lately and is not in the maps yet.
    lately: Vec<Said>,
    /// How many a map holds at most, and for how long an answer may take.
    most: usize,
    timeout: i64,
    /// Requests that another port answered.
    pub(super) elsewhere: Recent,
}

impl Waiting {
    fn key(&self, asker: SocketAddr, host: IpAddr) -> Key {
        self.seed.hash_one((Socket(asker), Host(host)))
    }

    /// A request was sent.
    pub(super) fn insert(&mut self, payload: &Payload<'_>, request: Request, settings: &Settings) {
        (self.most, self.timeout) = (settings.limits.remembered, settings.answer_timeout);
        let asked = Asked::new(payload.to.port(), payload.frame, payload.time, request);
        self.said(Said::Asked(self.key(payload.from, payload.to.ip()), asked));
    }

    /// The request was answered, by whom it asked.
    pub(super) fn remove(&mut self, payload: &Payload<'_>) {
        let key = self.key(payload.to, payload.from.ip());
        self.said(Said::Answered(key, payload.from.port()));
    }

    #[inline]
    fn said(&mut self, said: Said) {
        self.lately.push(said);
        if self.lately.len() >= AT_ONCE {
            self.settle();
        }
    }

    /// Puts into the maps what was said lately.
    fn settle(&mut self) {
        let mut lately = std::mem::take(&mut self.lately);
        for said in lately.drain(..) {
            match said {
                Said::Asked(key, asked) => self.asked(key, asked),
                Said::Answered(key, port) => self.answered(key, port),
            }
        }
        self.lately = lately;
    }

    fn asked(&mut self, key: Key, asked: Asked) {
        let full = self.young.len() >= self.most;
        if full || asked.time.since(self.since) >= self.timeout {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = asked.time;
        }
        self.young.insert(key, asked);
    }

    fn answered(&mut self, key: Key, port: u16) {
        for map in [&mut self.young, &mut self.old] {
            match map.remove(&key) {
                Some(other) if other.port() != port => {
                    map.insert(key, other);
                }
                Some(_) => return,
                None => {}
            }
        }
    }

    fn find(&mut self, payload: &Payload<'_>) -> Option<&Asked> {
        self.settle();
        if self.young.is_empty() && self.old.is_empty() {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        let asked = self.young.get(&key).or_else(|| self.old.get(&key))?;
        let waits = payload.time.since(asked.time) < self.timeout;
        (waits && asked.port() != payload.from.port()).then_some(asked)
    }

    /// Whether somebody waits for an answer from this host, at another port of it.
    pub(super) fn expects(&mut self, payload: &Payload<'_>) -> bool {
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
        if !asked.request().is_some_and(|request| answer.is_for(request)) {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        self.young.remove(&key);
        self.old.remove(&key);
        let of = SocketAddr::new(payload.from.ip(), asked.port());
        self.elsewhere.insert(&moved(payload.to, of, asked.frame()), settings.limits.remembered);
        Some(of)
    }

    /// Whether what a client asked a server in this packet was answered from another port.
    pub(super) fn was_answered_elsewhere(
        &self,
        client: SocketAddr,
        server: SocketAddr,
        frame: u64,
    ) -> bool {
        self.elsewhere.contains(&moved(client, server, frame)) == Some(true)
    }
}

/// That what a client asked a server in this packet was answered from another port.
fn moved(client: SocketAddr, server: SocketAddr, frame: u64) -> (Socket, Socket, u64) {
    (Socket(client), Socket(server), frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_as_it_was() {
        for request in Request::ALL {
            for (port, frame) in [(0, 0), (27015, 7_000_000_001), (u16::MAX, (1 << 45) - 1)] {
                let asked = Asked::new(port, frame, Time(-5), request);
                let read = (asked.port(), asked.frame(), asked.time, asked.request());
                assert_eq!(read, (port, frame, Time(-5), Some(request)));
            }
        }
        assert_eq!(Asked::new(1, u64::MAX, Time(0), Request::Ping).frame(), (1 << 45) - 1);
        assert_eq!(size_of::<(Key, Asked)>(), 24);
    }
}
