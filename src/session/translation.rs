//! Datagrams that were recorded before and behind NAT, such as that of a container: each counts once.
//!
//! A request that was recorded again, with another address of one of its hosts, shows that its flow is a copy of that of the
//! first recording, with the addresses that the client sees. From then on, all datagrams of that flow are copies: requests as
//! long as they were recorded in the other flow, too, and responses, which are recorded in the other order, as long as requests
//! are. If only responses are there, the flow of the later recording counts.
//!
//! What is decided depends on nothing but the single datagrams of a capture, in their order: all threads decide the same.

mod recording;

#[cfg(feature = "partition")]
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Info, RecentMap, Time, sorted};

use crate::flows::{FlowKey, Identifier};
pub(crate) use recording::Recording;
use recording::{Sameness, Spoken};

/// More do not come within the milliseconds that translation takes.
/// Limit: datagrams compared with later ones, before or behind NAT | {} | an older one is not recognized: both count
const RECENT: usize = 1 << 10;

/// Limit: flows that are known to be copies of others, before or behind NAT, and pairs of addresses that may be of one
/// host | {} to {2 * REMEMBERED} each | they are recognized anew
const REMEMBERED: usize = 1 << 14;

/// Limit: how often a flow is translated on its way | {} | what is recorded behind further NAT counts for itself
const TIMES: usize = 4;

/// So many datagrams with different identifications are no accident.
const NO_ACCIDENT: u8 = 3;

/// How long a flow is a copy after the latest of its datagrams that were recorded in the other flow, too.
const LASTS: i64 = Info::QUERIES;

/// The recording of a datagram that counts, of which another one is a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Original {
    /// Its packet; of a response, which is recorded after its copy, that of the latest datagram before it which both flows have.
    pub(crate) frame: u64,
    /// Its ends, from the sender to the receiver.
    pub(crate) key: FlowKey,
}

/// A flow that is a copy of another one.
#[derive(Clone, Copy)]
struct Link {
    /// Who sends what is recorded after its original.
    later: SocketAddr,
    /// The ends of such an original.
    key: FlowKey,
    /// When the latest datagram was recorded in both flows, and its packet in the other flow.
    seen: Time,
    frame: u64,
}

impl Link {
    fn lasts(&self, now: Time) -> bool {
        now.since(self.seen) <= LASTS
    }
}

/// A flow, and what it is a copy of, or what is a copy of it.
#[derive(Clone, Copy, Default)]
struct TranslatedFlow {
    original: Option<Link>,
    copy: Option<FlowKey>,
}

/// What was shown of two addresses that may be of one host.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// They are of one server.
    is_server: bool,
    /// How many datagrams show it, each with another identification than the one before: senders to many hosts may give all
    /// packets one number.
    identified: u8,
    latest: u16,
    /// Datagrams of the server, and of others, show it.
    of_server: bool,
    of_others: bool,
}

impl Shown {
    /// Whether this is no accident. Packets that one host sends to two have passed as many routers: those of both
    /// directions have not.
    fn is_proof(self) -> bool {
        self.of_server && self.of_others || self.identified >= NO_ACCIDENT
    }
}

/// Finds datagrams that were recorded before and behind NAT.
#[derive(Default)]
pub(crate) struct Translations {
    recent: Box<[Recording]>,
    flows: RecentMap<FlowKey, TranslatedFlow>,
    hosts: RecentMap<[IpAddr; 2], Shown>,
    /// Whether there are such flows.
    has_flows: bool,
    /// See [`Translations::into_candidates`].
    #[cfg(feature = "partition")]
    candidates: Option<BTreeSet<IpAddr>>,
}

/// The same key for both directions.
fn flow(key: &FlowKey) -> FlowKey {
    if key.from() <= key.to() { *key } else { key.reversed() }
}

#[cfg(feature = "partition")]
impl Translations {
    /// Maximum number of candidates.
    pub(crate) const CANDIDATES: usize = 1 << 10;

    /// Those of a survey, which needs addresses of hosts.
    pub(crate) fn of_survey() -> Translations {
        Translations { candidates: Some(BTreeSet::new()), ..Translations::default() }
    }

    /// The addresses of hosts with datagrams that were recorded with several addresses, or may have been.
    pub(crate) fn into_candidates(self) -> BTreeSet<IpAddr> {
        self.candidates.unwrap_or_default()
    }
}

impl Translations {
    /// Whether the next datagram is like no recent one, as nearly all are, and of no flow that may be a copy.
    #[inline(always)]
    pub(crate) fn is_new(&mut self, now: Recording, length: usize) -> bool {
        let place = usize::from(now.identification) % RECENT;
        let is_ordinary = now.identification > 0 && !self.has_flows && length > 0;
        let Some(recent) = self.recent.get_mut(place).filter(|_| is_ordinary) else {
            return false;
        };
        let is_new = now.hash != recent.hash || now.identification != recent.identification;
        if is_new {
            *recent = now;
        }
        is_new
    }

    /// The next datagram. Returns its original, if it is a copy.
    #[inline(never)]
    pub(crate) fn see(
        &mut self,
        now: &Recording,
        bytes: &[u8],
        identifier: &Identifier,
    ) -> Option<Original> {
        if self.recent.is_empty() {
            self.recent = vec![Recording::NONE; RECENT].into();
        }
        let places = now.places(bytes.len());
        let alike = places.map(|place| {
            let before = self.recent.get(place).filter(|before| now.is_like(before));
            before.copied().filter(|before| before.frame > 0 && !bytes.is_empty())
        });
        let mut alike = alike.into_iter().flatten();
        let Some(before) = alike.clone().find(|it| it.key != now.key).or_else(|| alike.next())
        else {
            self.keep(places, *now);
            return self.goes_on(now);
        };
        // Another interface recorded it.
        if now.key == before.key {
            return match before.original {
                0 => self.goes_on(now),
                frame => self.original(&now.key).map(|key| Original { frame, key }),
            };
        }
        let spoken = Spoken::of(bytes, now.key.ports, identifier);
        let sameness = now.sameness(&before, spoken);
        let original = self.compare(now, &before, spoken, sameness);
        let frame = original.map_or(0, |original| original.frame);
        self.keep(places, Recording { original: frame, is_repeated: sameness.is_none(), ..*now });
        original
    }

    fn keep(&mut self, places: [usize; 2], now: Recording) {
        for place in places {
            if let Some(recent) = self.recent.get_mut(place) {
                *recent = now;
            }
        }
    }

    /// The original of a datagram of a flow that is known to be a copy.
    fn goes_on(&mut self, now: &Recording) -> Option<Original> {
        let flow = flow(&now.key);
        let link = self.flows.get_mut(&flow, REMEMBERED)?.original?;
        // What was recorded only here is no copy.
        if link.later == now.key.from() || !link.lasts(now.time) {
            self.forget(&flow);
            return None;
        }
        Some(Original { frame: link.frame, key: self.original(&now.key)? })
    }

    /// Whether a datagram that came in fragments, which not all threads join, is of a flow that is a copy.
    pub(crate) fn is_of_copy(&self, key: &FlowKey, now: Time) -> bool {
        self.has_flows && self.link(&flow(key)).is_some_and(|link| link.lasts(now))
    }

    fn link(&self, flow: &FlowKey) -> Option<Link> {
        self.flows.get(flow)?.original
    }

    /// A flow is a copy no longer.
    fn forget(&mut self, copy: &FlowKey) {
        let link = self.flows.get_mut(copy, REMEMBERED).and_then(|it| it.original.take());
        if let Some(original) = link
            && let Some(of) = self.flows.get_mut(&flow(&original.key), REMEMBERED)
        {
            of.copy = None;
        }
    }

    /// The ends of the original of a datagram with these, which may have been translated several times.
    fn original(&self, key: &FlowKey) -> Option<FlowKey> {
        let step = |key: &FlowKey| {
            let link = self.link(&flow(key))?;
            Some(if link.later == key.from() { link.key } else { link.key.reversed() })
        };
        std::iter::successors(step(key), step).take(TIMES).last()
    }

    /// The original of a datagram with the same bytes as an earlier one, between other ends.
    fn compare(
        &mut self,
        now: &Recording,
        before: &Recording,
        spoken: Spoken,
        sameness: Option<Sameness>,
    ) -> Option<Original> {
        let [later, earlier] = [now, before].map(|it| flow(&it.key));
        let frame = if before.original > 0 { before.original } else { before.frame };
        if self.confirms(&later, &earlier, now.time, frame) {
            return Some(Original { frame, key: self.original(&now.key)? });
        }
        if self.confirms(&earlier, &later, now.time, now.frame) {
            return self.goes_on(now);
        }
        if sameness.is_none_or(|sameness| !self.is_one(now, before, spoken, sameness)) {
            return self.goes_on(now);
        }
        let seen = now.time;
        // Responses come first where the server is.
        if spoken.is_response {
            let (later, key) = (before.key.to(), now.key.reversed());
            self.is_copy(&earlier, Link { later, key, seen, frame: now.frame });
            return self.goes_on(now);
        }
        let link = Link { later: now.key.from(), key: before.key, seen, frame };
        if !self.is_copy(&later, link) {
            return self.goes_on(now);
        }
        Some(Original { frame, key: self.original(&now.key)? })
    }

    /// If one flow is a copy of the other: a datagram was recorded in both.
    fn confirms(&mut self, copy: &FlowKey, of: &FlowKey, now: Time, frame: u64) -> bool {
        let known = self.flows.get_mut(copy, REMEMBERED).and_then(|it| it.original.as_mut());
        let Some(link) = known.filter(|link| flow(&link.key) == *of) else { return false };
        (link.seen, link.frame) = (now, frame);
        true
    }

    /// From now on, a flow is a copy of another one, of which no other is.
    fn is_copy(&mut self, copy: &FlowKey, link: Link) -> bool {
        let of = flow(&link.key);
        let lasts = |flow: &FlowKey| self.link(flow).is_some_and(|it| it.lasts(link.seen));
        let has_other = |of: &TranslatedFlow| of.copy.is_some_and(|it| it != *copy && lasts(&it));
        // The original of a copy is none of its copies.
        let next = |flow_of: &FlowKey| Some(flow(&self.link(flow_of)?.key));
        let mut above = std::iter::successors(Some(of), next).take(TIMES);
        if lasts(copy) || self.flows.get(&of).is_some_and(has_other) || above.any(|it| it == *copy)
        {
            return false;
        }
        self.forget(copy);
        let default = TranslatedFlow::default;
        self.flows.get_or_insert_with(*copy, default, REMEMBERED).original = Some(link);
        self.flows.get_or_insert_with(of, default, REMEMBERED).copy = Some(*copy);
        self.has_flows = true;
        true
    }

    /// Whether two recordings of the same bytes are of one datagram.
    fn is_one(
        &mut self,
        now: &Recording,
        before: &Recording,
        spoken: Spoken,
        sameness: Sameness,
    ) -> bool {
        let [sender, receiver] = now.addresses(before);
        #[cfg(feature = "partition")]
        if let Some(candidates) = &mut self.candidates {
            let others = [sender, receiver].into_iter().filter(|[a, b]| a != b).flatten();
            candidates
                .extend(others.take(Translations::CANDIDATES.saturating_sub(candidates.len())));
        }
        let (of_server, of_other) =
            if spoken.is_of_server { (sender, receiver) } else { (receiver, sender) };
        let is_server = of_server[0] != of_server[1];
        let hosts = sorted(if is_server { of_server } else { of_other });
        if sameness == Sameness::Possible {
            let shown = self.hosts.get_mut(&hosts, REMEMBERED);
            return is_server && shown.is_some_and(|shown| shown.is_server);
        }
        let shown = self.hosts.get_or_insert_with(hosts, Shown::default, REMEMBERED);
        match spoken.is_of_server {
            true => shown.of_server = true,
            false => shown.of_others = true,
        }
        let is_one_host = of_server[0] == of_server[1] || of_other[0] == of_other[1];
        if now.identification != shown.latest && is_one_host {
            shown.latest = now.identification;
            shown.identified = shown.identified.saturating_add(1);
        }
        let is_certain = sameness == Sameness::Certain || shown.is_proof();
        shown.is_server |= is_certain && is_server;
        is_certain
    }
}

#[cfg(test)]
mod tests {
    use dissectors::kit::{TRANSLATED_WITHIN, Transport, keyed_hash};

    use super::*;

    const QUERY: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\0";
    const CLIENT: &str = "198.51.100.9:50000";
    const OUTSIDE: &str = "203.0.113.7:27015";
    const BETWEEN: &str = "100.64.0.2:27015";
    const INSIDE: &str = "172.17.0.2:27015";

    /// What single packets show.
    #[derive(Default)]
    struct Capture {
        translations: Translations,
        frame: u64,
    }

    impl Capture {
        /// The packet of the original of a datagram that was recorded at this many microseconds; 0: it is no copy.
        fn see(
            &mut self,
            us: i64,
            ends: [&str; 2],
            (identification, hop_limit): (u16, u8),
            bytes: &[u8],
        ) -> u64 {
            let [from, to] = ends.map(|end| end.parse::<SocketAddr>().unwrap());
            self.frame += 1;
            let (source, destination, transport) = (from.ip(), to.ip(), Transport::Udp);
            let key = FlowKey { source, destination, ports: [from.port(), to.port()], transport };
            let now = Recording {
                key,
                time: Time(us * 1000),
                frame: self.frame,
                original: 0,
                hash: keyed_hash(bytes),
                identification,
                hop_limit,
                is_repeated: false,
            };
            if self.translations.is_new(now, bytes.len()) {
                return 0;
            }
            let original = self.translations.see(&now, bytes, &Identifier::default());
            original.map_or(0, |original| original.frame)
        }

        /// A request at two places.
        fn twice(&mut self, us: i64, [outside, inside]: [[&str; 2]; 2], number: u16) -> u64 {
            self.see(us, outside, (number, 60), QUERY);
            self.see(us + 40, inside, (number, 59), QUERY)
        }
    }

    #[test]
    fn what_is_translated_several_times_is_a_copy_of_what_the_client_sees() {
        let mut capture = Capture::default();
        let request = [OUTSIDE, BETWEEN, INSIDE, INSIDE].map(|server| [CLIENT, server]);
        let response = [INSIDE, INSIDE, BETWEEN, OUTSIDE].map(|server| [server, CLIENT]);
        // Between two private networks, the third datagram proves it.
        for round in 0..3 {
            let first = capture.frame + 1;
            let mut originals = Vec::new();
            for (ends, hops) in request.into_iter().zip([60, 59, 58, 58]) {
                originals.push(capture.see(round * 8000, ends, (7 + round as u16, hops), QUERY));
            }
            for (ends, hops) in response.into_iter().zip([64, 64, 63, 62]) {
                let us = round * 8000 + 500;
                originals.push(capture.see(us, ends, (700 + round as u16, hops), PLAYERS));
            }
            if round == 2 {
                assert_eq!(originals, [0, first, first, first, first, first, first, 0]);
            }
        }
    }

    #[test]
    fn recordings_that_are_far_from_one_another_are_of_two_datagrams() {
        for (us, expected) in [(TRANSLATED_WITHIN / 1000, 1), (TRANSLATED_WITHIN / 1000 + 1, 0)] {
            let mut capture = Capture::default();
            capture.see(0, [CLIENT, OUTSIDE], (7, 60), QUERY);
            assert_eq!(capture.see(us, [CLIENT, INSIDE], (7, 59), QUERY), expected);
        }
    }

    #[test]
    fn what_is_sent_to_two_servers_is_no_copy() {
        for second in [(8, 59), (7, 60), (7, 61), (7, 55)] {
            let mut capture = Capture::default();
            capture.see(0, [CLIENT, OUTSIDE], (7, 60), QUERY);
            assert_eq!(capture.see(10, [CLIENT, INSIDE], second, QUERY), 0, "{second:?}");
        }
    }

    /// A sender that chooses all of its packets hides at most one flow behind one.
    #[test]
    fn one_flow_has_one_copy() {
        let mut capture = Capture::default();
        let mut copies = 0;
        for nth in 0..20_000_u32 {
            capture.see(0, [CLIENT, OUTSIDE], (7, 60), QUERY);
            let inside = format!("10.0.{}.{}:27015", nth / 250, nth % 250);
            copies += u64::from(capture.see(1, [CLIENT, &inside], (7, 59), QUERY) > 0);
        }
        assert_eq!(copies, 1);
    }

    #[test]
    fn a_flow_is_a_copy_as_long_as_both_are_recorded() {
        let mut capture = Capture::default();
        let (outside, inside) = ([CLIENT, OUTSIDE], [CLIENT, INSIDE]);
        let answer = [INSIDE, CLIENT];
        assert_eq!(capture.twice(0, [outside, inside], 7), 1);
        assert_eq!(capture.see(500, answer, (70, 64), PLAYERS), 1);
        // Alone, it is none, and neither is what answers it.
        assert_eq!(capture.see(9000, inside, (8, 59), QUERY), 0);
        assert_eq!(capture.see(9500, answer, (71, 64), PLAYERS), 0);
        assert_eq!(capture.twice(20_000, [outside, inside], 9), 6);
        let late = LASTS / 1000 + 30_000;
        assert_eq!(capture.see(late, answer, (72, 64), PLAYERS), 0);
    }

    #[test]
    fn of_responses_alone_those_that_the_client_gets_count() {
        let mut capture = Capture::default();
        let both = [[INSIDE, CLIENT], [OUTSIDE, CLIENT]];
        let seen = (0..3).map(|nth| {
            both.map(|ends| {
                let hops = if ends[0] == INSIDE { 64 } else { 63 };
                capture.see(nth * 8000, ends, (nth as u16 + 1, hops), PLAYERS)
            })
        });
        assert_eq!(Vec::from_iter(seen), [[0, 0], [2, 0], [4, 0]]);
    }
}
