//! What spans the connections between a game server and a master: registrations, the ids of
//! requests, and socket checks that are due.

use std::net::{IpAddr, SocketAddr};

use crate::kit::{Map, Mark, Payload, RecentMap, Time};

use super::digest::CHALLENGE;
use super::params::ApiPath;
use super::request::{DEFAULT_PORT, Request};

/// Socket checks that may be due at the same time.
const CHECKS: usize = 4096;

/// Where a server is checked that gives no port of its own.
const CHECKED_PORT: u16 = DEFAULT_PORT as u16 + 1;

/// How often, in nanoseconds, those that are over make room for others.
const SWEEP: i64 = CHECKED_WITHIN / 16;

/// How long after a registration its socket check is looked for, in nanoseconds.
const CHECKED_WITHIN: i64 = 10_000_000_000;

/// A game server as a master knows it: by its address and the port that it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListedServer {
    pub(super) address: IpAddr,
    pub(super) port: u64,
    pub(super) master: SocketAddr,
}

/// What is known of a request id: mostly that a challenge was handed out for it.
#[derive(Clone, Default)]
pub(super) struct Challenged {
    /// None was.
    pub(super) refused: bool,
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
pub(super) struct SocketCheck {
    /// The registration.
    pub(super) mark: Mark,
    /// Where the probe came from.
    pub(super) prober: Option<SocketAddr>,
    /// The probe's byte was a zero.
    pub(super) zero: bool,
    /// Something came back.
    pub(super) answered: bool,
    /// Something came back from this port, which was not probed.
    pub(super) elsewhere: Option<u16>,
    /// The registration was reported later than it came: datagrams before that were not looked at.
    pub(super) late: bool,
    /// The probe was reported as a message: the check is checked where its flow ends.
    pub(super) reported: bool,
}

/// A probe to the default port that was not known as one when it came: the registration before it
/// may be identified as ours later, by its response.
#[derive(Clone, Copy, Debug)]
struct Early {
    prober: SocketAddr,
    time: Time,
    zero: bool,
    answered: bool,
}

/// What spans connections.
#[derive(Default)]
pub struct SharedState {
    /// The servers that asked to be registered, and whether they are.
    pub(super) registered: RecentMap<ListedServer, bool>,
    pub(super) ids: RecentMap<(ListedServer, u64), Challenged>,
    checks: Map<CheckKey, SocketCheck>,
    /// What was probed last from these sockets, by the server's host.
    probed: RecentMap<(SocketAddr, IpAddr), CheckKey>,
    early: RecentMap<CheckKey, Early>,
    /// When those that are over are looked for again.
    sweep: Time,
}

impl SharedState {
    /// A master refuses what a server asks for: to be registered, or a challenge for a request id.
    /// What it granted before stays.
    pub(super) fn refuse(&mut self, server: ListedServer, request: &Request, most: usize) {
        match (request.endpoint, request.id) {
            (Some(ApiPath::Register), _) if self.registered.get_mut(&server, most).is_none() => {
                self.registered.insert(server, false, most);
            }
            (Some(ApiPath::Auth), Some(id)) if self.ids.get_mut(&(server, id), most).is_none() => {
                let refused = Challenged { refused: true, ..Challenged::default() };
                self.ids.insert((server, id), refused, most);
            }
            _ => {}
        }
    }

    /// A server asks for it again: that may be granted, even if the response is not recorded.
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

    /// A registration calls for a check. Returns the one that an earlier registration called for
    /// and that is not checked yet.
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

    /// Makes room by what is over, now and then: each time all are looked at. Says whether there is
    /// room.
    fn sweep(&mut self, now: Time) -> bool {
        if now < self.sweep && now.since(self.sweep) >= -SWEEP {
            return false;
        }
        self.sweep = Time(now.0.saturating_add(SWEEP));
        self.checks.retain(|_, check| is_in_time(check, now));
        self.checks.len() < CHECKS
    }

    /// The check that the registration of this mark called for, to be checked.
    pub(super) fn take_check(&mut self, key: &CheckKey, mark: &Mark) -> Option<SocketCheck> {
        self.checks.get(key).filter(|check| check.mark == *mark)?;
        self.checks.remove(key)
    }

    /// The same, unless a flow of its own tells of it and it may go on there.
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

    /// The check that a datagram answers from a port of the server that was not probed.
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

    /// Whether a datagram belongs to a check. What may turn out later to have been one is noted.
    pub(super) fn expects(&mut self, payload: &Payload<'_>) -> bool {
        let is_expected = self.is_of_check(payload);
        if !is_expected && [payload.from, payload.to].iter().any(|end| end.port() == CHECKED_PORT) {
            self.note_early(payload);
        }
        is_expected
    }

    /// A datagram from or to the port at which a server is checked that gives none.
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
