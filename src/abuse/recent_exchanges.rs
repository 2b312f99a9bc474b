//! Recent requests of clients and responses of servers: enough to see that a client receives
//! packets at its address, and that a response had no request.
//!
//! A source with a single packet has only an entry here. If there are too many, the one whose client
//! has been silent longest is forgotten, whatever its hash; from then on, a response without an entry
//! proves nothing until no forgotten request can be answered any more.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Host, Outline, Purpose, Socket, TextChallenge, Time};

use super::clients::Proof;
use super::latest::{HashedKey, Latest};
use super::packet::SampledPacket;

/// Bytes of memory per exchange.
const BYTES: usize = 1 << 9;

/// Minimum number of exchanges.
const FEWEST: usize = 1 << 12;

/// Maximum number of stored packets of a source until it is known to be real, or forgotten.
const FIRST: usize = 2;

/// Maximum number of challenges that are kept for an address.
const GIVEN: usize = 4;

/// Maximum number of ports of a client that are kept.
const PORTS: usize = 4;

/// Maximum time of a response to a request.
const PATIENCE: i64 = 30_000_000_000;

/// The time within which a client returns a challenge.
const RETURNED: i64 = 1_000_000_000;

/// The requests of a client to a server.
#[derive(Clone, Default)]
pub(super) struct RecentExchange {
    /// When the client sent the latest request.
    last: Time,
    /// The latest challenges that the server gave: clients that share an address get different ones.
    given: [Option<u32>; GIVEN],
    given_texts: [Option<TextChallenge>; GIVEN],
    /// A hash of the latest request, and its source port.
    asked: u64,
    port: u16,
    /// Whether the latest request returned a challenge.
    returned: ReturnedChallenge,
    /// The ports whose latest requests did: a client may use several at a time. 0: none.
    returning: [u16; PORTS],
    /// More ports than are kept returned a challenge at a time, or more challenges were given: many clients share the
    /// address.
    is_crowded: bool,
    response: ResponseState,
    /// The latest packet asked for something, but is no message.
    pub(super) is_other: bool,
    /// Requests that no response was counted for: further packets of a response answer none.
    open: u8,
    /// The name and the length of the latest request.
    pub(super) length: u32,
    pub(super) what: &'static str,
}

/// Maximum number of requests whose responses may still come.
const MOST_OPEN: u8 = 64;

/// Who asks whom.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ExchangeEnds {
    client: IpAddr,
    server: IpAddr,
    port: u16,
}

impl ExchangeEnds {
    fn of(client: IpAddr, server: SocketAddr) -> ExchangeEnds {
        ExchangeEnds { client, server: server.ip(), port: server.port() }
    }
}

impl Hash for ExchangeEnds {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match (self.client, self.server) {
            // They fit in one number.
            (IpAddr::V4(client), IpAddr::V4(server)) => {
                let hosts = u128::from(client.to_bits()) << 64 | u128::from(server.to_bits());
                state.write_u128(hosts << 16 | u128::from(self.port));
            }
            (client, server) => {
                (Host(client), Socket(SocketAddr::new(server, self.port))).hash(state)
            }
        }
    }
}

/// The requests of a client to a server, and the first packets of these.
pub(super) struct Asking<'e> {
    pub(super) exchange: &'e mut RecentExchange,
    first: &'e mut FirstPackets,
}

/// The first packets of exchanges, at the same places. They lie apart because they are seldom read.
#[derive(Default)]
#[repr(align(64))]
struct FirstPackets([Option<SampledPacket>; FIRST]);

/// Whether a request returned a challenge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReturnedChallenge {
    /// It had none, or another one than the server gave.
    #[default]
    No,
    /// It returned the server's.
    Yes,
    /// What the server gave may have been forgotten.
    Unknown,
}

/// The response to the latest request, except for challenges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ResponseState {
    #[default]
    No,
    Yes,
    /// All parts of a split response, or its last one.
    Split,
}

/// The latest exchanges.
pub(super) struct RecentExchanges {
    kept: Latest<ExchangeEnds, RecentExchange>,
    first: Vec<FirstPackets>,
    /// Until then, a response may belong to a request that was forgotten.
    doubtful_until: Time,
    /// The shortest time that an exchange was kept after its latest request.
    shortest: i64,
}

impl RecentExchanges {
    /// With this memory limit in bytes.
    pub(super) fn new(bytes: usize) -> RecentExchanges {
        RecentExchanges {
            kept: Latest::new((bytes / BYTES).max(FEWEST)),
            first: Vec::new(),
            doubtful_until: Time(i64::MIN),
            shortest: i64::MAX,
        }
    }

    /// A new interval begins: the exchanges remain.
    pub(super) fn begin_anew(self) -> RecentExchanges {
        RecentExchanges { shortest: i64::MAX, ..self }
    }

    /// A client's recent requests to a server, if any.
    pub(super) fn find(
        &mut self,
        client: IpAddr,
        server: SocketAddr,
        now: Time,
    ) -> Option<&mut RecentExchange> {
        // A response does not make the client's requests later.
        let at = self.kept.find(&self.kept.hashed(ExchangeEnds::of(client, server)))?;
        self.kept.value(at).filter(|exchange| now.since(exchange.last) <= PATIENCE)
    }

    /// The same, or a new one. The client sends a request now.
    pub(super) fn entry(
        &mut self,
        client: IpAddr,
        server: SocketAddr,
        now: Time,
    ) -> Option<Asking<'_>> {
        let ends = self.kept.hashed(ExchangeEnds::of(client, server));
        let at = match self.kept.find(&ends) {
            Some(at) => {
                self.kept.touch(at);
                at
            }
            None => self.begin(ends, now),
        };
        let (exchange, first) = (self.kept.value(at)?, self.first.get_mut(at)?);
        if now.since(exchange.last) > PATIENCE {
            (*exchange, *first) = (RecentExchange::default(), FirstPackets::default());
        }
        exchange.last = now;
        Some(Asking { exchange, first })
    }

    /// A new exchange, in the place of the oldest if there is no room for both. Returns its place.
    fn begin(&mut self, ends: HashedKey<ExchangeEnds>, now: Time) -> usize {
        if let Some((_, oldest)) = self.kept.replaced() {
            let until = oldest.last.after(PATIENCE);
            self.doubtful_until = self.doubtful_until.max(until);
            self.shortest = self.shortest.min(now.since(oldest.last));
        }
        let at = self.kept.insert(ends);
        self.kept.value(at).into_iter().for_each(|exchange| exchange.last = now);
        match self.first.get_mut(at) {
            Some(first) => *first = FirstPackets::default(),
            None => self.first.push(FirstPackets::default()),
        }
        // In a flood, what the next one replaces is in no cache: the processor can wait for it meanwhile.
        if let Some((next, exchange)) = self.kept.replaced() {
            let packet = self.first.get(next).and_then(|first| first.0[0].as_ref());
            std::hint::black_box((exchange.last, packet.map(SampledPacket::ends)));
        }
        at
    }

    /// Whether a response that comes now may belong to a request that was forgotten.
    pub(super) fn is_doubtful(&self, now: Time) -> bool {
        now <= self.doubtful_until
    }

    /// Whether each client had time to return a challenge before that was forgotten.
    pub(super) fn waits_for_challenges(&self) -> bool {
        self.shortest >= RETURNED
    }
}

impl Asking<'_> {
    /// Stores a packet of it until the source is known to be real.
    pub(super) fn keep(&mut self, packet: &SampledPacket) {
        if let Some(place) = self.first.0.iter_mut().find(|place| place.is_none()) {
            *place = Some(*packet);
        }
    }

    /// Its stored packets.
    pub(super) fn take(&mut self) -> impl Iterator<Item = SampledPacket> + use<> {
        std::mem::take(&mut self.first.0).into_iter().flatten()
    }
}

impl RecentExchange {
    /// The client sends a request. Returns what it proves, if anything: forged sources cannot know
    /// what a server sent. `is_doubtful`: earlier requests and challenges may have been forgotten, or the
    /// challenge in this request was cut off.
    pub(super) fn asks(
        &mut self,
        outline: &Outline,
        packet: &SampledPacket,
        asked: u64,
        is_doubtful: bool,
    ) -> Option<Proof> {
        let has_given = self.given[0].is_some();
        self.returned = match outline.challenge {
            Some(_) if self.given.contains(&outline.challenge) => ReturnedChallenge::Yes,
            // It may have been given before the capture began.
            Some(1..) => ReturnedChallenge::Unknown,
            returned if is_doubtful && returned.is_some() != has_given => {
                ReturnedChallenge::Unknown
            }
            _ if outline.goes_on => ReturnedChallenge::Unknown,
            _ => ReturnedChallenge::No,
        };
        self.returning.iter_mut().filter(|port| **port == packet.port).for_each(|port| *port = 0);
        // What was cut off may be the challenge.
        let may_return = self.returned == ReturnedChallenge::Unknown && outline.challenge.is_none();
        if self.returned == ReturnedChallenge::Yes || may_return && !outline.goes_on {
            self.is_crowded |= self.returning[PORTS - 1] != 0;
            self.returning.rotate_right(1);
            self.returning[0] = packet.port;
        }
        // An attacker repeats the same request; another kind of request after a response comes from
        // a client.
        let goes_on = self.asked != asked && self.port == packet.port;
        let proof = match self.response {
            _ if self.returned == ReturnedChallenge::Yes => Some(Proof::Challenge),
            ResponseState::Split if goes_on => Some(Proof::Split),
            ResponseState::Yes if goes_on => Some(Proof::WentOn),
            _ => None,
        };
        (self.asked, self.port) = (asked, packet.port);
        (self.what, self.length) = (outline.asks_for(), packet.length.into());
        (self.response, self.is_other) = (ResponseState::No, false);
        self.open = self.open.saturating_add(1).min(MOST_OPEN);
        proof
    }

    /// Whether the latest request came from this port.
    pub(super) fn asked_from(&self, port: u16) -> bool {
        self.port == port
    }

    /// Takes one of the requests that no response was counted for. `false`: this is a further packet of a response.
    pub(super) fn is_answered(&mut self) -> bool {
        let is_open = self.open > 0;
        self.open = self.open.saturating_sub(1);
        is_open
    }

    /// Whether the latest request from this port certainly returned no challenge.
    pub(super) fn is_unchallenged(&self, port: u16) -> bool {
        let is_shown = self.returned == ReturnedChallenge::No && !self.is_crowded;
        is_shown && !self.returning.contains(&port)
    }

    /// A server sends a code that may return a challenge in text. Returns what it proves. `is_code`: whether the code
    /// returns this one, or `None` if that is unknown.
    pub(super) fn returns(&self, is_code: impl Fn(TextChallenge) -> Option<bool>) -> Option<Proof> {
        let codes = self.given_texts.iter().flatten().map(|challenge| is_code(*challenge));
        let best = codes.max_by_key(|is_code| match is_code {
            Some(is_right) => 2 * u8::from(*is_right),
            None => 1,
        })?;
        match best {
            Some(is_right) => is_right.then_some(Proof::Challenge),
            // It sends what only a challenge draws.
            None => Some(Proof::WentOn),
        }
    }

    /// The server, or the master, responds.
    pub(super) fn responds(&mut self, outline: &Outline) {
        if let Some(challenge) = outline.text_challenge {
            self.given_texts.rotate_right(1);
            self.given_texts[0] = Some(challenge);
            return;
        }
        if matches!(outline.message.purpose, Purpose::ClientChallenge | Purpose::Challenge) {
            if outline.challenge.is_some() && !self.given.contains(&outline.challenge) {
                // Which of those that asked it was for is unknown now.
                self.is_crowded |= self.given[GIVEN - 1].is_some();
                self.given.rotate_right(1);
                self.given[0] = outline.challenge;
            }
            return;
        }
        self.response = match outline.last_part {
            Some(true) => ResponseState::Split,
            Some(false) => self.response,
            None => ResponseState::Yes,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const SERVER: SocketAddr =
        SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 27015);

    fn client(n: u32) -> IpAddr {
        IpAddr::from((0x0B00_0000 + n).to_be_bytes())
    }

    #[test]
    fn recent_requests_are_known_and_old_ones_are_not() {
        let mut recent = RecentExchanges::new(0);
        let at = |seconds: i64| Time((1_700_000_000 + seconds) * SECOND);
        let mut is_known = |client, server, now| recent.find(client, server, now).is_some();
        assert!(!is_known(client(1), SERVER, at(0)));
        recent.entry(client(1), SERVER, at(0)).unwrap().exchange.length = 7;
        let mut is_known = |client, server, now| recent.find(client, server, now).is_some();
        assert!(is_known(client(1), SERVER, at(20)) && !is_known(client(1), SERVER, at(40)));
        assert!(!is_known(client(1), ([10, 0, 0, 2], 27016).into(), at(1)));
        // It lasts as long as the client sends requests; earlier times count as now.
        let mut length =
            |seconds| recent.entry(client(1), SERVER, at(seconds)).unwrap().exchange.length;
        assert_eq!(length(25), 7);
        let mut is_known = |client, server, now| recent.find(client, server, now).is_some();
        assert!(is_known(client(1), SERVER, at(40)) && is_known(client(1), SERVER, at(10)));
        let again = recent.entry(client(1), SERVER, at(90)).unwrap();
        assert_eq!(again.exchange.length, 0, "a new one");
    }

    #[test]
    fn the_client_that_has_been_silent_longest_is_forgotten_and_what_follows_is_doubtful() {
        let most = FEWEST as u32;
        let mut recent = RecentExchanges::new(0);
        let at = |n: u32| Time(i64::from(n) * 1_000_000);
        for n in 0..most {
            recent.entry(client(n), SERVER, at(n));
        }
        recent.entry(client(0), SERVER, at(most));
        assert!(!recent.is_doubtful(at(most)) && recent.waits_for_challenges());
        // A response is not a request.
        assert!(recent.find(client(1), SERVER, at(most)).is_some());
        recent.entry(client(most), SERVER, at(most + 1));
        let known =
            |recent: &mut RecentExchanges, n| recent.find(client(n), SERVER, at(most)).is_some();
        assert!(!known(&mut recent, 1));
        assert!((0..=most).filter(|&n| known(&mut recent, n)).count() == FEWEST);
        assert!(recent.is_doubtful(Time(at(1).0 + PATIENCE)));
        assert!(!recent.is_doubtful(Time(at(1).0 + PATIENCE + 1)), "too late for a response");
        assert!(recent.waits_for_challenges(), "it was kept for four seconds");
        for n in 0..most {
            recent.entry(client(most + n), SERVER, at(most + 2));
        }
        recent.entry(client(0), SERVER, at(most + 3));
        assert!(!recent.waits_for_challenges(), "some only for a millisecond");
        assert!(recent.begin_anew().waits_for_challenges());
    }
}
