//! What spans the connections between a game server and a master: registrations, the ids of
//! requests, and socket checks that are due.

use std::net::{IpAddr, SocketAddr};

use crate::kit::{Map, Mark, Payload, RecentMap, Time};

use super::digest::CHALLENGE;

/// Socket checks that may be due at the same time.
const CHECKS: usize = 4096;

/// How long after a registration its socket check is looked for, in nanoseconds.
const CHECKED_WITHIN: i64 = 10_000_000_000;

/// A game server as a master knows it: by its address and the port that it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Server {
    pub(super) address: IpAddr,
    pub(super) port: u64,
    pub(super) master: SocketAddr,
}

/// A request id for which a challenge was handed out.
#[derive(Clone, Default)]
pub(super) struct Challenged {
    /// It was verified already.
    pub(super) used: bool,
    /// The user, and the challenge where a key is known for them.
    pub(super) user: Option<Box<[u8]>>,
    pub(super) challenge: Option<Box<[u8; CHALLENGE]>>,
}

/// Where a socket check arrives: the server's address and port, and the master's address.
pub(super) type CheckKey = (SocketAddr, IpAddr);

/// A socket check that a registration calls for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    /// The registration.
    pub(super) mark: Mark,
    /// Where the probe came from.
    pub(super) prober: Option<SocketAddr>,
    /// The probe's byte was a zero.
    pub(super) zero: bool,
    /// Something came back.
    pub(super) answered: bool,
}

/// What spans connections.
#[derive(Default)]
pub struct Book {
    pub(super) registered: RecentMap<Server, ()>,
    pub(super) ids: RecentMap<(Server, u64), Challenged>,
    checks: Map<CheckKey, Check>,
}

impl Book {
    /// A registration calls for a check. Returns the one that an earlier registration called for
    /// and that is not judged yet.
    pub(super) fn call_for_check(&mut self, key: CheckKey, mark: Mark) -> Option<Check> {
        let check = Check { mark, prober: None, zero: false, answered: false };
        if self.checks.len() >= CHECKS && !self.checks.contains_key(&key) {
            self.checks.retain(|_, check| mark.time.since(check.mark.time) <= CHECKED_WITHIN);
            if self.checks.len() >= CHECKS {
                return None;
            }
        }
        self.checks.insert(key, check)
    }

    /// The check that the registration of this mark called for, to be judged.
    pub(super) fn take_check(&mut self, key: &CheckKey, mark: &Mark) -> Option<Check> {
        self.checks.get(key).filter(|check| check.mark == *mark)?;
        self.checks.remove(key)
    }

    /// The check that a datagram is the probe of.
    pub(super) fn probe(&mut self, payload: &Payload<'_>) -> Option<&mut Check> {
        let check = self.checks.get_mut(&(payload.to, payload.from.ip()))?;
        is_in_time(check, payload.time).then_some(check)
    }

    /// The check that a datagram is the answer to.
    pub(super) fn reply(&mut self, payload: &Payload<'_>) -> Option<&mut Check> {
        self.checks
            .get_mut(&(payload.from, payload.to.ip()))
            .filter(|check| check.prober == Some(payload.to))
    }

    /// Whether a datagram belongs to a check.
    pub(super) fn expects(&self, payload: &Payload<'_>) -> bool {
        if self.checks.is_empty() {
            return false;
        }
        let probed = || self.checks.get(&(payload.to, payload.from.ip()));
        let answered = self.checks.get(&(payload.from, payload.to.ip()));
        answered.is_some_and(|check| check.prober == Some(payload.to))
            || payload.bytes.len() == 1
                && probed().is_some_and(|check| is_in_time(check, payload.time))
    }
}

fn is_in_time(check: &Check, now: Time) -> bool {
    now.since(check.mark.time) <= CHECKED_WITHIN
}
