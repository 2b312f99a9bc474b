//! Who waits for an answer of which host: so that an answer from another port of it is distinguished from
//! one that nobody asked for.

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use super::kinds::{Answer, Request};
use crate::kit::{AT_ONCE, HashedMap, Host, Payload, Recent, Seed, Settings, Socket, Time};

/// Stands for the endpoint that asked, and the host it asked: under a flood there are as many as
/// packets.
type Key = u64;

/// A request, or that it was answered, in sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingRequest {
    /// From the highest bit on: the packet, in 44 bits; whether another port waits as well; what was
    /// asked for, in three, or that it was answered; and of which port, or from which.
    what: u64,
    time: Time,
}

// What was answered is none of all requests.
const _: () = assert!(Request::ALL.len() <= PendingRequest::ANSWERED as usize);

impl PendingRequest {
    const MOST_FRAME: u64 = (1 << 44) - 1;
    const SEVERAL: u64 = 1 << 19;
    const ANSWERED: u64 = 7;

    fn new(port: u16, frame: u64, time: Time, request: Request) -> PendingRequest {
        let what =
            frame.min(PendingRequest::MOST_FRAME) << 20 | (request as u64) << 16 | u64::from(port);
        PendingRequest { what, time }
    }

    fn answered(port: u16, time: Time) -> PendingRequest {
        PendingRequest { what: PendingRequest::ANSWERED << 16 | u64::from(port), time }
    }

    fn port(self) -> u16 {
        self.what as u16
    }

    fn frame(self) -> u64 {
        self.what >> 20
    }

    /// Another port of the host was asked before, and may have to answer yet.
    fn is_one_of_several(self) -> bool {
        self.what & PendingRequest::SEVERAL != 0
    }

    fn behind(mut self, before: Option<PendingRequest>, timeout: i64) -> PendingRequest {
        let waits = |before: &PendingRequest| {
            before.request().is_some()
                && (before.port() != self.port() || before.is_one_of_several())
                && self.time.since(before.time) < timeout
        };
        if before.is_some_and(|before| waits(&before)) {
            self.what |= PendingRequest::SEVERAL;
        }
        self
    }

    /// What was asked for; `None`: it was answered.
    fn request(self) -> Option<Request> {
        Request::ALL.get((self.what >> 16 & 7) as usize).copied()
    }
}

/// The latest request of each endpoint to each host, while its answer may come. In a flood there are
/// many that nobody asks for before they are forgotten: those are only written down.
#[derive(Default)]
pub(super) struct Waiting {
    /// Since `since`.
    young: Requests,
    /// Of the answer timeout before: what is older still waits for nothing.
    old: Requests,
    since: Time,
    seed: Seed,
    /// How many are remembered of each, and for how long an answer may take.
    most: usize,
    timeout: i64,
    /// Requests that another port answered.
    pub(super) elsewhere: Recent,
}

/// The requests of a while.
#[derive(Default)]
struct Requests {
    map: HashedMap<PendingRequest>,
    /// What was said lately, in its order, and is not in the map yet.
    lately: Vec<(Key, PendingRequest)>,
    /// How much of it are answers.
    answers: usize,
}

impl Requests {
    fn len(&self) -> usize {
        self.map.len() + self.lately.len()
    }

    fn push(&mut self, key: Key, said: PendingRequest) {
        self.answers += usize::from(said.request().is_none());
        self.lately.push((key, said));
    }

    /// Whether little would be left of what was said lately.
    fn is_answered(&self) -> bool {
        self.lately.len() >= AT_ONCE + self.map.len() && self.answers >= self.lately.len() / 3
    }

    /// Puts what was said lately into the map. What was answered and is not in it is told `before`.
    fn settle(&mut self, timeout: i64, mut before: impl FnMut(Key, PendingRequest)) {
        self.answers = 0;
        for (key, said) in self.lately.drain(..) {
            if said.request().is_some() {
                let known = self.map.entry(key);
                known
                    .and_modify(|asked| *asked = said.behind(Some(*asked), timeout))
                    .or_insert(said);
                continue;
            }
            match self.map.entry(key) {
                Entry::Occupied(asked) if asked.get().port() == said.port() => _ = asked.remove(),
                _ => before(key, said),
            }
        }
    }

    fn clear(&mut self) {
        self.map.clear();
        self.lately.clear();
        self.answers = 0;
    }
}

impl Waiting {
    fn key(&self, asker: SocketAddr, host: IpAddr) -> Key {
        self.seed.hash_one((Socket(asker), Host(host)))
    }

    /// A request was sent.
    pub(super) fn insert(&mut self, payload: &Payload<'_>, request: Request, settings: &Settings) {
        (self.most, self.timeout) = (settings.limits.remembered, settings.answer_timeout);
        let asked = PendingRequest::new(payload.to.port(), payload.frame, payload.time, request);
        if self.young.len() >= self.most || asked.time.since(self.since) >= self.timeout {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = asked.time;
        }
        self.said(self.key(payload.from, payload.to.ip()), asked);
    }

    /// The request was answered, by whom it asked.
    pub(super) fn remove(&mut self, payload: &Payload<'_>) {
        let key = self.key(payload.to, payload.from.ip());
        self.said(key, PendingRequest::answered(payload.from.port(), payload.time));
    }

    #[inline]
    fn said(&mut self, key: Key, said: PendingRequest) {
        self.young.push(key, said);
        if self.young.is_answered() || self.young.len() > self.most {
            self.settle();
        }
    }

    /// Puts into its map what was said lately, but for what it says of the time before.
    fn settle(&mut self) {
        let Waiting { young, old, timeout, .. } = self;
        let is_there = old.len() > 0;
        young.settle(*timeout, |key, said| {
            if is_there {
                old.push(key, said);
            }
        });
        if old.lately.len() > self.most {
            old.settle(*timeout, |_, _| ());
        }
    }

    fn find(&mut self, payload: &Payload<'_>) -> Option<&PendingRequest> {
        self.settle();
        self.old.settle(self.timeout, |_, _| ());
        let (young, old) = (&self.young.map, &self.old.map);
        if young.is_empty() && old.is_empty() {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        let asked = young.get(&key).or_else(|| old.get(&key))?;
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
        if asked.is_one_of_several()
            || !asked.request().is_some_and(|request| answer.is_for(request))
        {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        self.young.map.remove(&key);
        self.old.map.remove(&key);
        let of = SocketAddr::new(payload.from.ip(), asked.port());
        self.elsewhere.insert(&moved(payload.to, of, asked.frame()), settings.limits.remembered);
        Some(of)
    }

    /// Whether what a client asked a server in this packet was answered from another port.
    #[inline]
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
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::kit::{Limits, Side, Transport};

    fn payload(from: (u8, u16), to: (u8, u16), frame: u64, time: Time) -> Payload<'static> {
        let [from, to] = [from, to].map(|(host, port)| ([10, 0, 0, host], port).into());
        Payload {
            bytes: &[],
            pieces: &[],
            inflated: false,
            headers: 0,
            frame,
            time,
            side: Side::First,
            from,
            to,
            flow: 0,
            transport: Transport::Udp,
            lost: false,
            hash: None,
        }
    }

    fn settings(remembered: usize) -> Settings {
        let limits = Limits { remembered, ..Limits::default() };
        Settings { limits, ..Settings::default() }
    }

    /// A client asks a server, is answered, or an answer comes that it may wait for.
    #[derive(Clone, Debug)]
    enum Step {
        Asks,
        Answered,
        Expects,
    }

    proptest! {
        /// What is only written down is found as if it had been put into maps at once.
        #[test]
        fn requests_are_remembered_at_once(
            steps in prop::collection::vec(
                (
                    prop_oneof![
                        9 => Just(Step::Asks),
                        4 => Just(Step::Answered),
                        1 => Just(Step::Expects),
                    ],
                    0u8..40,
                    0u8..2,
                    1u16..3,
                    0i64..60,
                ),
                0..900,
            ),
        ) {
            let settings = settings(1 << 20);
            let mut waiting = Waiting::default();
            let (mut young, mut old) = (HashMap::new(), HashMap::new());
            let (mut now, mut since) = (Time(0), Time(0));
            for (frame, (step, client, server, port, later)) in (1..).zip(steps) {
                now = Time(now.0 + later * settings.answer_timeout / 1000);
                let (client, server) = ((client, 7), (100 + server, port));
                let asks = payload(client, server, frame, now);
                let answers = payload(server, client, frame, now);
                let key = (client, server.0);
                match step {
                    Step::Asks => {
                        waiting.insert(&asks, Request::Info, &settings);
                        if now.since(since) >= settings.answer_timeout {
                            old = std::mem::take(&mut young);
                            since = now;
                        }
                        young.insert(key, (port, frame, now));
                    }
                    Step::Answered => {
                        waiting.remove(&answers);
                        let is_it = |map: &HashMap<_, (u16, u64, Time)>| {
                            map.get(&key).is_some_and(|asked| asked.0 == port)
                        };
                        if is_it(&young) {
                            young.remove(&key);
                        } else if is_it(&old) {
                            old.remove(&key);
                        }
                    }
                    Step::Expects => {
                        let asked = young.get(&key).or_else(|| old.get(&key)).filter(|asked| {
                            asked.0 != port && now.since(asked.2) < settings.answer_timeout
                        });
                        let found = waiting.find(&answers);
                        let found = found.map(|it| (it.port(), it.frame(), it.time));
                        prop_assert_eq!(found, asked.copied());
                    }
                }
            }
        }
    }

    #[test]
    fn a_flood_takes_no_more_room_than_it_may() {
        const MOST: usize = 1000;
        let settings = settings(MOST);
        let mut waiting = Waiting::default();
        let ends = |nth: u64| ((nth as u8, nth as u16), (200, 27015));
        for nth in 1..20_000 {
            let (client, server) = ends(nth);
            waiting.insert(
                &payload(client, server, nth, Time(nth as i64)),
                Request::Info,
                &settings,
            );
            if nth % 3 == 0 {
                // Of another one than asked: it takes nobody out.
                waiting.remove(&payload(server, (1, 60_000), nth, Time(nth as i64)));
            }
            assert!(waiting.young.len() <= MOST && waiting.old.len() <= 2 * MOST, "{nth}");
        }
        let expects = |waiting: &mut Waiting, nth| {
            let (client, (host, _)) = ends(nth);
            waiting.expects(&payload((host, 1), client, nth, Time(20_000)))
        };
        assert!((19_500..20_000).all(|nth| expects(&mut waiting, nth)));
        assert!(!(1..15_000).any(|nth| expects(&mut waiting, nth)));
    }

    #[test]
    fn a_request_is_kept_as_it_was() {
        for request in Request::ALL {
            for (port, frame) in [(0, 0), (27015, 7_000_000_001), (u16::MAX, (1 << 44) - 1)] {
                let asked = PendingRequest::new(port, frame, Time(-5), request);
                let read = (asked.port(), asked.frame(), asked.time, asked.request());
                assert_eq!(read, (port, frame, Time(-5), Some(request)));
            }
        }
        assert_eq!(PendingRequest::new(1, u64::MAX, Time(0), Request::Ping).frame(), (1 << 44) - 1);
        assert_eq!(size_of::<(Key, PendingRequest)>(), 24);
    }
}
