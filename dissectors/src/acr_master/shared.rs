//! State that spans the connections between a game server and a master: registrations, ids of
//! requests, and pending socket checks.

use std::net::{IpAddr, SocketAddr};

use crate::kit::{Map, Mark, Payload, RecentMap, Time};

use super::digest::CHALLENGE;
use super::params::ApiPath;
use super::request::{DEFAULT_PORT, Request};

/// Limit: socket checks that are due of AssaultCube Reloaded servers, by group of hosts | {} | ACR034 of later
/// registrations is not checked
/// Limit: datagrams of one byte to UDP port 28771 that may turn out to be socket checks, by group of hosts | {} to
/// {2 * CHECKS} | ACR034 is inconclusive if the response shows that there was a registration
const CHECKS: usize = 4096;

/// The checked port of a server that gives none.
const CHECKED_PORT: u16 = DEFAULT_PORT as u16 + 1;

/// The interval, in nanoseconds, at which expired checks are removed.
const SWEEP: i64 = CHECKED_WITHIN / 16;

/// How long after a registration its socket check may come, in nanoseconds.
const CHECKED_WITHIN: i64 = 10_000_000_000;

/// A game server as a master identifies it: by its address and the port that it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListedServer {
    pub(super) address: IpAddr,
    pub(super) port: u64,
    pub(super) master: SocketAddr,
}

/// What is known about a request id: usually that it has a challenge.
#[derive(Clone, Default)]
pub(super) struct RequestIdState {
    /// It has none.
    pub(super) refused: bool,
    /// It was verified already.
    pub(super) used: bool,
    /// The user, and the challenge if the user's key is known.
    pub(super) user: Option<Box<[u8]>>,
    pub(super) challenge: Option<Box<[u8; CHALLENGE]>>,
}

/// The destination of a socket check: the server's address and port, and the master's address.
pub(super) type CheckKey = (SocketAddr, IpAddr);

/// A pending socket check for a registration.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketCheck {
    /// The registration.
    pub(super) mark: Mark,
    /// The source of the probe.
    pub(super) prober: Option<SocketAddr>,
    /// The probe's byte was a zero.
    pub(super) zero: bool,
    /// A response came.
    pub(super) answered: bool,
    /// A response came from this port, which was not probed.
    pub(super) elsewhere: Option<u16>,
    /// The registration was reported after it was recorded: earlier datagrams were not checked.
    pub(super) late: bool,
    /// The probe was reported as a message: the check is completed when its flow ends.
    pub(super) reported: bool,
}

/// A probe to the default port that was not recognized when it came: the registration before it may
/// be identified later, by its response.
#[derive(Clone, Copy, Debug)]
struct Early {
    prober: SocketAddr,
    time: Time,
    zero: bool,
    answered: bool,
}

/// State that spans connections.
#[derive(Default)]
pub struct SharedState {
    /// Servers that requested a registration, and whether it was granted.
    pub(super) registered: RecentMap<ListedServer, bool>,
    pub(super) ids: RecentMap<(ListedServer, u64), RequestIdState>,
    checks: Map<CheckKey, SocketCheck>,
    /// The latest probe from these sockets, by the server's host.
    probed: RecentMap<(SocketAddr, IpAddr), CheckKey>,
    early: RecentMap<CheckKey, Early>,
    /// When expired entries are removed again.
    sweep: Time,
}

impl SharedState {
    /// A master refuses a registration, or a challenge for a request id. What it granted before
    /// remains valid.
    pub(super) fn refuse(&mut self, server: ListedServer, request: &Request, most: usize) {
        match (request.endpoint, request.id) {
            (Some(ApiPath::Register), _) if self.registered.get_mut(&server, most).is_none() => {
                self.registered.insert(server, false, most);
            }
            (Some(ApiPath::Auth), Some(id)) if self.ids.get_mut(&(server, id), most).is_none() => {
                let refused = RequestIdState { refused: true, ..RequestIdState::default() };
                self.ids.insert((server, id), refused, most);
            }
            _ => {}
        }
    }

    /// A server repeats the request: it may be granted even if the response is not recorded.
    pub(super) fn ask_again(&mut self, server: ListedServer, request: &Request, most: usize) {
        match (request.endpoint, request.id) {
            (Some(ApiPath::Register), _)
                if self.registered.get_mut(&server, most) == Some(&mut false) =>
            {
                self.registered.remove(&server);
            }
            (Some(ApiPath::Auth), Some(id))
                if self.ids.get_mut(&(server, id), most).is_some_and(|id| id.refused) =>
            {
                self.ids.remove(&(server, id));
            }
            _ => {}
        }
    }

    /// A check is due for a registration. Returns a pending one for an earlier registration.
    pub(super) fn call_for_check(
        &mut self,
        key: CheckKey,
        mark: Mark,
        late: bool,
    ) -> Option<SocketCheck> {
        let mut check = SocketCheck {
            mark,
            prober: None,
            zero: false,
            answered: false,
            elsewhere: None,
            late,
            reported: false,
        };
        let early = if late { self.early.get_mut(&key, CHECKS) } else { None };
        if let Some(early) = early.filter(|early| early.time >= mark.time) {
            check.prober = Some(early.prober);
            (check.zero, check.answered) = (early.zero, early.answered);
        }
        if self.checks.len() >= CHECKS && !self.checks.contains_key(&key) && !self.sweep(mark.time)
        {
            return None;
        }
        self.checks.insert(key, check)
    }

    /// Removes expired checks; not on every call, because each time all are inspected. Returns
    /// whether there is room.
    fn sweep(&mut self, now: Time) -> bool {
        if now < self.sweep && now.since(self.sweep) >= -SWEEP {
            return false;
        }
        self.sweep = now.after(SWEEP);
        self.checks.retain(|_, check| is_in_time(check, now));
        self.checks.len() < CHECKS
    }

    /// Removes and returns the check for the registration of this mark.
    pub(super) fn take_check(&mut self, key: &CheckKey, mark: &Mark) -> Option<SocketCheck> {
        self.checks.get(key).filter(|check| check.mark == *mark)?;
        self.checks.remove(key)
    }

    /// The same, unless the check has a flow of its own and may continue there.
    pub(super) fn take_unprobed(&mut self, key: &CheckKey, mark: &Mark) -> Option<SocketCheck> {
        self.checks.get(key).filter(|check| !check.reported || check.answered)?;
        self.take_check(key, mark)
    }

    /// The check that a datagram is the probe of.
    pub(super) fn probe(&mut self, payload: &Payload<'_>) -> Option<(CheckKey, &mut SocketCheck)> {
        let key = (payload.to, payload.from.ip());
        let check = self.checks.get_mut(&key)?;
        if !is_in_time(check, payload.time) {
            return None;
        }
        self.probed.insert((payload.from, payload.to.ip()), key, CHECKS);
        Some((key, check))
    }

    /// The check that a datagram is the response to.
    pub(super) fn reply(&mut self, payload: &Payload<'_>) -> Option<&mut SocketCheck> {
        self.checks
            .get_mut(&(payload.from, payload.to.ip()))
            .filter(|check| check.prober == Some(payload.to))
    }

    /// The check that a datagram answers from another port of the server.
    pub(super) fn reply_from_elsewhere(
        &mut self,
        payload: &Payload<'_>,
    ) -> Option<&mut SocketCheck> {
        let prober = (payload.to, payload.from.ip());
        let key = *self.probed.get_mut(&prober, CHECKS).filter(|key| key.0 != payload.from)?;
        let check = self.checks.get_mut(&key)?;
        let is_open = check.prober == Some(payload.to) && !check.answered;
        (is_open && is_in_time(check, payload.time)).then_some(check)
    }

    /// Whether a datagram belongs to a check. Datagrams that may later turn out to belong to one
    /// are stored.
    pub(super) fn expects(&mut self, payload: &Payload<'_>) -> bool {
        let is_expected = self.is_of_check(payload);
        if !is_expected && [payload.from, payload.to].iter().any(|end| end.port() == CHECKED_PORT) {
            self.note_early(payload);
        }
        is_expected
    }

    /// Stores a datagram from or to the port that is checked for servers without a port.
    fn note_early(&mut self, payload: &Payload<'_>) {
        if let Some(early) = self.early.get_mut(&(payload.from, payload.to.ip()), CHECKS)
            && early.prober == payload.to
        {
            early.answered |= !payload.bytes.is_empty();
        } else if let [byte] = payload.bytes
            && payload.to.port() == CHECKED_PORT
        {
            let (prober, time) = (payload.from, payload.time);
            let early = Early { prober, time, zero: *byte == 0, answered: false };
            self.early.insert((payload.to, prober.ip()), early, CHECKS);
        }
    }

    fn is_of_check(&mut self, payload: &Payload<'_>) -> bool {
        if self.checks.is_empty() {
            return false;
        }
        let probed = || self.checks.get(&(payload.to, payload.from.ip()));
        let answered = self.checks.get(&(payload.from, payload.to.ip()));
        answered.is_some_and(|check| check.prober == Some(payload.to))
            || payload.bytes.len() == 1
                && probed().is_some_and(|check| is_in_time(check, payload.time))
            || self.reply_from_elsewhere(payload).is_some()
    }
}

fn is_in_time(check: &SocketCheck, now: Time) -> bool {
    now.since(check.mark.time) <= CHECKED_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::Side;

    #[test]
    fn checks_that_are_over_make_room_for_others() {
        let (mut shared, second) = (SharedState::default(), 1_000_000_000);
        let mut call = |number: u32, time: i64| {
            let [_, a, b, c] = number.to_be_bytes();
            let key = (([10, a, b, c], 28764).into(), [10, 0, 0, 9].into());
            let mark = Mark { frame: 1, time: Time(time), length: 9, side: Side::First };
            shared.call_for_check(key, mark, false);
            shared
                .take_check(&key, &mark)
                .map(|_| shared.call_for_check(key, mark, false))
                .is_some()
        };
        for number in 0..CHECKS as u32 {
            assert!(call(number, 0));
        }
        assert!(!call(5000, second), "there is no room");
        assert!(!call(5001, 10 * second), "none is over");
        assert!(call(5002, 11 * second));
        assert!(call(5003, 11 * second));
        assert!(call(5004, -500 * second), "a clock that was set back");
    }
}
