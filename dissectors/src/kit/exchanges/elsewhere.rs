//! Which endpoint waits for a response from which host, so that a response from another port of the
//! host is distinguished from an unsolicited one.

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use crate::kit::{HashedMap, Host, Payload, Recent, Seed, SeenMessage, Settings, Socket, Time};

/// A keyed hash of the asking endpoint and the asked host. Only the hash is kept: a flood has as many
/// pairs as packets.
type PairHash = u64;

/// The latest request of an endpoint to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LatestRequest<K> {
    kind: K,
    /// The port of the host that was asked.
    port: u16,
    frame: u64,
    time: Time,
    /// Another port of the host was asked before and may still respond.
    is_one_of_several: bool,
}

/// The latest request of each endpoint to each host, while its response may come.
pub struct LatestRequests<K> {
    /// Those since `since`.
    young: HashedMap<LatestRequest<K>>,
    /// Those of the response timeout before that; older ones have timed out.
    old: HashedMap<LatestRequest<K>>,
    since: Time,
    seed: Seed,
    /// How long a response may take.
    timeout: i64,
    /// Requests to which another port responded.
    elsewhere: Recent,
}

impl<K> Default for LatestRequests<K> {
    fn default() -> LatestRequests<K> {
        let (young, old) = (HashedMap::default(), HashedMap::default());
        let (since, seed, elsewhere) = (Time::default(), Seed::default(), Recent::default());
        LatestRequests { young, old, since, seed, timeout: 0, elsewhere }
    }
}

impl<K: Copy> LatestRequests<K> {
    fn key(&self, asker: SocketAddr, host: IpAddr) -> PairHash {
        self.seed.hash_one((Socket(asker), Host(host)))
    }

    /// A request was sent.
    pub fn insert(&mut self, payload: &Payload<'_>, kind: K, settings: &Settings) {
        let (time, port, most) = (payload.time, payload.to.port(), settings.limits.remembered);
        self.timeout = settings.answer_timeout;
        if self.young.len() >= most || time.since(self.since) >= self.timeout {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            self.since = time;
        }
        let key = self.key(payload.from, payload.to.ip());
        let is_another = |before: &LatestRequest<K>| {
            (before.port != port || before.is_one_of_several)
                && time.since(before.time) < self.timeout
        };
        let is_one_of_several = self.young.get(&key).is_some_and(is_another);
        let frame = payload.frame;
        self.young.insert(key, LatestRequest { kind, port, frame, time, is_one_of_several });
    }

    /// The port that was asked has responded.
    pub fn remove(&mut self, payload: &Payload<'_>) {
        let key = self.key(payload.to, payload.from.ip());
        for requests in [&mut self.young, &mut self.old] {
            if let Entry::Occupied(asked) = requests.entry(key)
                && asked.get().port == payload.from.port()
            {
                asked.remove();
                return;
            }
        }
    }

    /// The request that waits for a response from this host, at another port of it.
    fn find(&self, payload: &Payload<'_>) -> Option<&LatestRequest<K>> {
        if self.young.is_empty() && self.old.is_empty() {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        let asked = self.young.get(&key).or_else(|| self.old.get(&key))?;
        let waits = payload.time.since(asked.time) < self.timeout;
        (waits && asked.port != payload.from.port()).then_some(asked)
    }

    /// Whether a request waits for a response from this host, at another port of it.
    pub fn expects(&self, payload: &Payload<'_>) -> bool {
        self.expects_for(payload, |_| true)
    }

    /// Whether such a request waits for one.
    pub fn expects_for(&self, payload: &Payload<'_>, is_it: impl FnOnce(K) -> bool) -> bool {
        self.find(payload).is_some_and(|asked| is_it(asked.kind))
    }

    /// The endpoint that was asked, when another endpoint of its host responds. `is_for`: whether the
    /// response may answer such a request.
    pub fn elsewhere(
        &mut self,
        payload: &Payload<'_>,
        is_for: impl FnOnce(K) -> bool,
        settings: &Settings,
    ) -> Option<SocketAddr> {
        let asked = *self.find(payload)?;
        if asked.is_one_of_several || !is_for(asked.kind) {
            return None;
        }
        let key = self.key(payload.to, payload.from.ip());
        self.young.remove(&key);
        self.old.remove(&key);
        let of = SocketAddr::new(payload.from.ip(), asked.port);
        self.elsewhere.insert(&moved(payload.to, of, asked.frame), settings.limits.remembered);
        Some(of)
    }

    /// Whether requests that were answered from another port have been forgotten.
    pub fn forgot(&self) -> bool {
        self.elsewhere.forgot()
    }

    /// Whether this request was answered from another port.
    #[inline]
    pub fn was_answered_elsewhere(&self, asked: &SeenMessage) -> bool {
        self.elsewhere.contains(&moved(asked.from, asked.to, asked.mark.frame)) == Some(true)
    }
}

/// That the request in this packet was answered from another port.
fn moved(client: SocketAddr, server: SocketAddr, frame: u64) -> (Socket, Socket, u64) {
    (Socket(client), Socket(server), frame)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::kit::Limits;

    fn payload(from: (u8, u16), to: (u8, u16), frame: u64, time: Time) -> Payload<'static> {
        let ends = [from, to].map(|(host, port)| ([10, 0, 0, host], port).into());
        Payload { frame, time, ..Payload::of(&[], ends) }
    }

    fn settings(remembered: usize) -> Settings {
        let limits = Limits { remembered, ..Limits::default() };
        Settings { limits, ..Settings::default() }
    }

    /// A client asks a server, is answered, or a response comes that it may wait for.
    #[derive(Clone, Debug)]
    enum WaitingStep {
        Asks,
        Answered,
        Expects,
    }

    proptest! {
        /// It waits until its port has responded or the timeout has passed.
        #[test]
        fn the_latest_request_is_found(
            steps in prop::collection::vec(
                (
                    prop_oneof![
                        9 => Just(WaitingStep::Asks),
                        4 => Just(WaitingStep::Answered),
                        1 => Just(WaitingStep::Expects),
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
            let mut waiting = LatestRequests::default();
            let (mut young, mut old) = (HashMap::new(), HashMap::new());
            let (mut now, mut since) = (Time(0), Time(0));
            for (frame, (step, client, server, port, later)) in (1..).zip(steps) {
                now = Time(now.0 + later * settings.answer_timeout / 1000);
                let (client, server) = ((client, 7), (100 + server, port));
                let asks = payload(client, server, frame, now);
                let responses = payload(server, client, frame, now);
                let key = (client, server.0);
                match step {
                    WaitingStep::Asks => {
                        waiting.insert(&asks, (), &settings);
                        if now.since(since) >= settings.answer_timeout {
                            old = std::mem::take(&mut young);
                            since = now;
                        }
                        young.insert(key, (port, frame, now));
                    }
                    WaitingStep::Answered => {
                        waiting.remove(&responses);
                        let is_it = |map: &HashMap<_, (u16, u64, Time)>| {
                            map.get(&key).is_some_and(|asked| asked.0 == port)
                        };
                        if is_it(&young) {
                            young.remove(&key);
                        } else if is_it(&old) {
                            old.remove(&key);
                        }
                    }
                    WaitingStep::Expects => {
                        let asked = young.get(&key).or_else(|| old.get(&key)).filter(|asked| {
                            asked.0 != port && now.since(asked.2) < settings.answer_timeout
                        });
                        let found = waiting.find(&responses);
                        let found = found.map(|it| (it.port, it.frame, it.time));
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
        let mut waiting = LatestRequests::default();
        let ends = |nth: u64| ((nth as u8, nth as u16), (200, 27015));
        for nth in 1..20_000 {
            let (client, server) = ends(nth);
            waiting.insert(&payload(client, server, nth, Time(nth as i64)), (), &settings);
            if nth % 3 == 0 {
                // Not from the asked port: the request keeps waiting.
                waiting.remove(&payload(server, (1, 60_000), nth, Time(nth as i64)));
            }
            assert!(waiting.young.len() <= MOST && waiting.old.len() <= MOST, "{nth}");
        }
        let expects = |waiting: &mut LatestRequests<()>, nth| {
            let (client, (host, _)) = ends(nth);
            waiting.expects(&payload((host, 1), client, nth, Time(20_000)))
        };
        assert!((19_500..20_000).all(|nth| expects(&mut waiting, nth)));
        assert!(!(1..15_000).any(|nth| expects(&mut waiting, nth)));
    }
}
