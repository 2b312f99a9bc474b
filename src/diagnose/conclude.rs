//! Conclusions at the end of a capture, from all flows together.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Item, NeededEvidence, Symptom, Time, Verdict as Ruled, causes};
use dissectors::net_rules::NET014;

use super::fact::{Fact, Failure, NO_ACCIDENT};
use super::lists::{Listing, Lists, MasterLists, Sighting};
use super::server::{Kind, Server};
use super::signs::{FindingSign, symptom};
use super::{CapturePosition, Diagnosis, ServerPacketKind, belief, path};
use crate::check::{Checker, Selection};
use crate::session::Totals;
use crate::text::grouped;

/// The usual interval of heartbeats, in nanoseconds: a server without one for twice that time sends
/// none.
const HEARTBEAT: i64 = 300_000_000_000;

impl Diagnosis {
    /// Results that only all flows together show.
    pub(super) fn across_flows(&mut self, read: &mut Totals) {
        let empty = Checker::new(Selection::default(), self.terms, self.vouched);
        let checker = std::mem::replace(&mut self.checker, empty);
        let findings = checker.outcome(Vec::new(), read).findings;
        for found in &findings {
            let sign = FindingSign {
                rule: found.rule,
                verdict: found.verdict,
                words: &found.detail,
                frame: found.frame(),
            };
            let silent = found.rule.code == NET014.code;
            let Some(party) = found.party else { continue };
            if silent {
                self.silent(party, &sign);
                continue;
            }
            let Some(symptom) = symptom(found.rule, &found.detail) else { continue };
            if symptom.item == Item::FromAsked {
                self.responds_elsewhere(party, &sign);
            } else if let Some(server) = self.resolve(party) {
                self.sign(server, symptom, &sign);
            }
        }
    }

    /// A server never responded, or a master never reacted to one.
    fn silent(&mut self, party: SocketAddr, sign: &FindingSign<'_>) {
        let sent = self.sent.get_mut(&sign.frame, self.remembered).copied();
        let joins = sent.filter(|sent| matches!(sent.what, ServerPacketKind::Join));
        let server = joins.map_or(party, |sent| sent.server);
        let registers = self.servers.get(&server).and_then(|server| server.registers);
        let challenges =
            registers.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Challenged));
        let cause = match (joins, challenges) {
            (None, _) => &causes::QUERIES_UNANSWERED,
            (Some(_), true) => &causes::JOIN_UNANSWERED,
            (Some(_), false) => &causes::REGISTRATION_UNANSWERED,
        };
        self.sign(server, &Symptom::of(&NET014, cause), sign);
    }

    /// A response came from an address that was not asked.
    pub(super) fn responds_elsewhere(&mut self, from: SocketAddr, sign: &FindingSign<'_>) {
        if sign.verdict != Ruled::Fail {
            return;
        }
        let Some(asked) = self.unasked.get_mut(&sign.frame, self.remembered).copied() else {
            return;
        };
        let Some(server) = self.servers.get_mut(&asked) else { return };
        let is_port = asked.ip() == from.ip();
        let cause = if is_port { &causes::OTHER_PORT } else { &causes::OTHER_ADDRESS };
        server.responds_from(from, cause, sign.frame);
        server.good(Item::Answered, sign.frame);
    }

    /// Results at the end of the capture.
    pub(super) fn late_facts(
        &mut self,
        address: SocketAddr,
        server: &mut Server,
        read: &Totals,
        position: CapturePosition,
        is_named: bool,
    ) {
        let end = read.span.map_or(Time(0), |[_, end]| end);
        if let Some((frame, time)) =
            server.challenged.take().filter(|_| !has_rule_about_silence(server))
        {
            let fact = server.fact_mut(Item::Echo);
            if end.since(time) < self.terms.answer_timeout && !self.vouched {
                fact.open(
                    &causes::CAPTURE_TOO_SHORT,
                    frame,
                    "the capture ends before an answer is due",
                );
            } else if read.lossy || read.dropped {
                fact.open(&causes::CAPTURE_DROPS, frame, "no answer is in the capture");
            } else if fact.run == 0 {
                fact.bad(
                    &causes::CHALLENGE_UNANSWERED,
                    frame,
                    "the master's challenge gets no response",
                );
            }
        }
        self.ignored_by_master(server, read);
        self.listing(address, server, position, is_named);
        if let Some(known) = server.known
            && server.fact(Item::Accepted).good == 0
        {
            let reported = "the master treats it as a registered server";
            server.reported.get_or_insert_with(|| reported.to_owned());
            server.good(Item::Accepted, known);
        }
        if let Some(frame) = server.stranger
            && server.fact(Item::Accepted).good == 0
            && server.fact(Item::Accepted).run == 0
        {
            let why = Failure::with(&causes::NOT_REGISTERED, frame, &[]);
            let is_listed = server.fact(Item::Listed).run == 0 && !self.vouched;
            let fact = server.fact_mut(Item::Accepted);
            match is_listed {
                true => fact.open = Some(why),
                false => fact.fails(why),
            }
        }
        let span = read.span.map_or(0, |[begin, end]| end.since(begin));
        let own = server.query.filter(|id| id.info().diagnosis.items.contains(&Item::Heartbeats));
        let is_long = position == CapturePosition::Server && span > 2 * HEARTBEAT;
        if own.is_some() && server.joins.is_none() && (is_long || self.vouched) {
            server.fact_mut(Item::Join).bad(&causes::NEVER_JOINED, 0, "no heartbeat to any master");
        }
        if server.joins.is_some() && server.fact(Item::Heartbeats).good == 0 {
            let text = "too short to see when it comes again";
            server.fact_mut(Item::Heartbeats).open(&causes::CAPTURE_TOO_SHORT, 0, text);
        }
        if let Some(frame) = server.in_one_packet
            && server.fact(Item::Whole).run == 0
        {
            server.good(Item::Whole, frame);
        }
        path::suspect(server, position, self.terms.answer_timeout);
        self.refused_connections(address, server);
        if let Some(frame) = self.hosts.get(&address.ip()).and_then(|host| host.lost) {
            let text = "a fragment of a response of this host is lost, and it has several servers";
            server.fact_mut(Item::Whole).open(&causes::FRAGMENT_LOST, frame, text);
        }
        if let Some((frame, what)) = server.wrong.take()
            && server.fact(Item::Answered).run == 0
        {
            server.fact_mut(Item::Answered).open(&causes::REQUEST_WRONG, frame, what);
        }
        elsewhere(server);
        only_info(server);
        self.patterns(address, server, read);
        belief::conclude(server);
        if let Some(frame) = server.fact(Item::FromAsked).shown.first().copied()
            && server.fact(Item::PlayPort).open.is_none()
        {
            server.good(Item::PlayPort, frame);
        }
        of_one_kind(server, Item::Readable, 1);
        of_one_kind(server, Item::InTime, NO_ACCIDENT);
    }

    /// A master refused the connection of this server, or of a client that requests its list.
    fn refused_connections(&mut self, address: SocketAddr, server: &mut Server) {
        let listing: Vec<_> = server.masters.iter().map(SocketAddr::ip).collect();
        let ports = server.registers.map_or(&[][..], |id| id.info().ports);
        for (master, port) in
            listing.iter().flat_map(|ip| ports.iter().map(move |port| (*ip, *port)))
        {
            let master = SocketAddr::new(master, port);
            let Some(&mut (from, frame)) = self.refused.get_mut(&master, self.remembered) else {
                continue;
            };
            let is_own = from == address.ip() && server.masters.contains(&master);
            let item = if is_own { Item::Accepted } else { Item::ListWhole };
            let values: [(_, &dyn Display); 2] = [("master", &master), ("from", &from)];
            server.fact_mut(item).fails(Failure::with(&causes::TCP_REFUSED, frame, &values));
        }
    }

    /// A master that challenges others does not challenge this one.
    fn ignored_by_master(&self, server: &mut Server, read: &Totals) {
        let joins = server.joins.map_or(0, |(.., joins)| joins);
        let challenges = server.masters.iter().any(|master| self.challengers.contains(master));
        let fact = server.fact(Item::Challenged);
        let is_open = fact.good == 0 && fact.run == 0;
        if let Some(Failure { frame, .. }) = fact.open
            && is_open
            && challenges
            && joins >= NO_ACCIDENT
            && !read.lossy
            && !read.dropped
        {
            let text = "the master challenges others, and not this one";
            let symptoms = server.registers.map_or(&[][..], |id| id.info().diagnosis.symptoms);
            let symptom = symptoms.iter().find(|it| it.item == Item::Challenged);
            let cause = symptom.map_or(&causes::JOIN_UNANSWERED, |it| it.cause);
            server.fact_mut(Item::Challenged).bad(cause, frame, text);
        }
    }

    /// Whether and how lists contain the server.
    fn listing(
        &self,
        address: SocketAddr,
        server: &mut Server,
        position: CapturePosition,
        is_named: bool,
    ) {
        let elsewhere = server.query.and_then(|id| id.info().diagnosis.registers);
        let protocol = server.registers.or(elsewhere.and_then(Id::named));
        let given = self.lists.of(&server.masters, protocol);
        let sighting = self.lists.sighting(&address);
        let whole = list_whole(server, &given, sighting);
        let joined_at = server.joins.map(|(first, ..)| first);
        let could_hold = whole.filter(|whole| joined_at.is_none_or(|joined| whole.begun >= joined));
        let is_late = |sighting: &&Sighting| {
            could_hold.is_none_or(|whole| !Lists::is_later(whole, Some(sighting)))
        };
        match (sighting.filter(is_late), could_hold) {
            (Some(sighting), _) => listed(address, server, sighting),
            (None, Some(whole)) => self.not_listed(address, server, whole, (position, is_named)),
            (None, None) => no_list(server, &given, self.lists.is_empty()),
        }
    }

    /// The latest whole list does not have the server.
    fn not_listed(
        &self,
        address: SocketAddr,
        server: &mut Server,
        whole: &Listing,
        (position, is_named): (CapturePosition, bool),
    ) {
        let joined = !server.masters.is_empty();
        let is_stranger = |other: &SocketAddr| {
            other.port() != address.port() && !self.servers.contains_key(other)
        };
        let stranger = self.lists.of_host(address.ip()).find(|(other, _)| is_stranger(other));
        let is_local = is_private(address.ip())
            && position == CapturePosition::Server
            && !server.masters.iter().all(|master| is_private(master.ip()));
        if let Some((other, sighting)) = stranger.filter(|_| joined || is_named) {
            server.good(Item::Listed, sighting.frame);
            let why =
                Failure::with(&causes::LISTED_OTHER_PORT, sighting.frame, &[("address", &other)]);
            server.fact_mut(Item::Address).fails(why);
        } else if is_local {
            let text = "it has a private address, and is listed, if so, with its public one: name that \
                        with --server";
            server.fact_mut(Item::Listed).open(&causes::NOT_IN_CAPTURE, whole.last, text);
        } else if joined || is_named || self.vouched {
            let why = Failure::with(&causes::NOT_IN_LIST, whole.last, &[]);
            server.fact_mut(Item::Listed).fails(why);
        } else {
            let text = "the list in the capture does not have it, and nothing shows that it should";
            server.fact_mut(Item::Listed).open(&causes::NOT_IN_CAPTURE, whole.last, text);
        }
    }
}

/// Whether the latest list that could contain a server is complete: that list.
fn list_whole<'g>(
    server: &mut Server,
    given: &[&'g MasterLists],
    sighting: Option<&Sighting>,
) -> Option<&'g Listing> {
    let selects = |asked: &[Vec<u8>]| server.is_selected(asked) == Some(true);
    let wholes = given.iter().filter_map(|given| given.whole(&server.game, selects));
    let whole = wholes.max_by_key(|listing| listing.last);
    let is_narrowed = given.iter().any(|given| given.narrowed.is_some());
    let begun = given.iter().filter_map(|given| given.begun.as_ref()).map(|it| it.last).max();
    let cut = given.iter().filter_map(|given| given.cut.clone()).max();
    match (whole, sighting, cut) {
        (Some(whole), ..) => server.good(Item::ListWhole, whole.last),
        (None, None, Some((frame, why))) => {
            server.fact_mut(Item::ListWhole).bad(&causes::LIST_CUT, frame, why);
        }
        (None, Some(sighting), _) if is_narrowed => server.good(Item::ListWhole, sighting.frame),
        _ => {
            if let Some(frame) = begun {
                let text = "no list is complete";
                server.fact_mut(Item::ListWhole).open(&causes::LIST_CUT, frame, text);
            }
        }
    }
    whole
}

/// The server is in a list.
fn listed(address: SocketAddr, server: &mut Server, sighting: &Sighting) {
    server.good(Item::Listed, sighting.frame);
    server.good(Item::Accepted, sighting.frame);
    // Whatever the specification requires, this master accepted it.
    for item in [Item::Challenged, Item::Echo, Item::Info, Item::ProbeBack, Item::Stays] {
        if server.fact(item).run > 0 {
            server.good(item, sighting.frame);
        }
    }
    server.reported.get_or_insert_with(|| "it is in the list".to_owned());
    let client = sighting.client.ip();
    let fact = server.fact_mut(Item::Address);
    match address.ip() {
        ip if ip.is_loopback() && !client.is_loopback() => {
            let values: [(_, &dyn Display); 1] = [("address", &address)];
            fact.fails(Failure::with(&causes::LISTED_LOOPBACK, sighting.frame, &values));
        }
        ip if is_private(ip) && !is_private(client) => {
            let values: [(_, &dyn Display); 2] = [("address", &address), ("client", &client)];
            fact.fails(Failure::with(&causes::LISTED_PRIVATE, sighting.frame, &values));
        }
        _ => fact.good(sighting.frame),
    }
}

/// No list in the capture shows whether the server is listed. `none`: there is none at all.
fn no_list(server: &mut Server, given: &[&MasterLists], none: bool) {
    let narrowed = given.iter().filter_map(|given| given.narrowed).max();
    let enciphered = given.iter().filter_map(|given| given.enciphered).max();
    let begun = given.iter().filter_map(|given| given.begun.as_ref()).map(|it| it.last).max();
    let cut = given.iter().filter_map(|given| given.cut.as_ref()).map(|(frame, _)| *frame).max();
    let why = match (narrowed, enciphered, begun.or(cut)) {
        (Some(frame), ..) => Failure::with(&causes::LIST_FILTERED, frame, &[]),
        (None, Some(frame), _) => Failure::with(&causes::LIST_ENCIPHERED, frame, &[]),
        (None, None, Some(frame)) => {
            Failure::new(&causes::LIST_CUT, frame, "no whole list is in the capture")
        }
        (None, None, None) => {
            let text = match none {
                true => "no list is in the capture",
                false => "no list in the capture is one that should have it",
            };
            Failure::new(&causes::NOT_IN_CAPTURE, 0, text)
        }
    };
    server.fact_mut(Item::Listed).open = Some(why);
}

/// Whether a rule of the protocol in which a server registers reports unanswered challenges.
pub(super) fn has_rule_about_silence(server: &Server) -> bool {
    let symptoms = server.registers.map_or(&[][..], |id| id.info().diagnosis.symptoms);
    symptoms.iter().any(|it| it.item == Item::Echo && it.rule.needs == NeededEvidence::Response)
}

/// Whether an address is valid only in its own network.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            // 100.64.0.0/10 is between providers and their customers.
            ip.is_private() || ip.is_link_local() || ip.is_loopback() || a == 100 && b & 0xC0 == 64
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local() || ip.is_loopback(),
    }
}

/// Whether most responses of a server came from another address or port: a wrong configuration
/// affects all of them, except those of other programs.
fn elsewhere(server: &mut Server) {
    let Some((from, cause, _)) = server.elsewhere.first().copied() else { return };
    let count = server.responses_elsewhere;
    let all = count + server.fact(Item::FromAsked).good;
    if 2 * count <= all {
        return;
    }
    let (count, all) = (grouped(count), grouped(all));
    let values: [(_, &dyn Display); 3] =
        [("elsewhere", &count), ("responses", &all), ("from", &from)];
    let failure = |(.., frame): &(_, _, u64)| Failure::with(cause, *frame, &values);
    let failures = server.elsewhere.iter().map(failure).collect();
    server.fact_mut(Item::FromAsked).fails_by(failures);
}

/// Whether a server answers some kinds of requests and never others.
fn only_info(server: &mut Server) {
    if server.fact(Item::Answered).good == 0 || server.kinds.is_empty() {
        return;
    }
    // If some requests with its challenge are answered, the challenge is not the reason for others.
    let verified = server.fact_mut(Item::Verified);
    let cause = verified.failure(true).map(|failure| failure.cause);
    if verified.good > 0 && cause == Some(&causes::CHALLENGED_REQUEST_UNANSWERED) {
        verified.fails_by(Vec::new());
    }
    let is_answered = |kind: &&Kind| kind.answered.good > 0;
    let fails = |kind: &Kind| kind.answered.failure(true).cloned();
    let silent = server.kinds.iter().find(|kind| kind.answered.good == 0 && kind.answered.run > 0);
    let mut answered = server.kinds.iter().filter(is_answered).peekable();
    let only_info = answered.peek().is_some() && answered.all(|kind| kind.describes);
    let is_elsewhere = !server.elsewhere.is_empty();
    let failure = match silent.filter(|_| only_info && !is_elsewhere) {
        Some(kind) => fails(kind).map(|it| {
            let only_info =
                Failure::with(&causes::ONLY_INFO_ANSWERED, it.frame, &[("kind", &kind.name)]);
            let is_silence = it.cause == &causes::QUERIES_UNANSWERED;
            Failure { cause: if is_silence { only_info.cause } else { it.cause }, ..only_info }
        }),
        // Answered before, but no longer.
        None => server.kinds.iter().filter(is_answered).find_map(fails),
    };
    server.fact_mut(Item::Answered).fails_by(failure.into_iter().collect());
}

/// Whether a server's responses to one kind of request are always wrong, while most are correct:
/// often enough that it is not a coincidence.
fn of_one_kind(server: &mut Server, item: Item, least: u64) {
    let fact = |kind: &Kind| kind.fact(item).cloned();
    let never = |fact: &Fact| fact.good == 0 && fact.run >= least;
    let mut kinds = server.kinds.iter().filter_map(|kind| Some((kind.name, fact(kind)?)));
    let Some((name, fact)) = kinds.find(|(_, fact)| never(fact)) else { return };
    if server.fact(item).failure(true).is_none() {
        let failures = fact.failures().iter().cloned();
        let failures = failures
            .map(|it| Failure { text: format!("{}, in each response to {name}", it.text), ..it });
        server.fact_mut(item).fails_by(failures.collect());
    }
}

#[cfg(test)]
mod tests {
    use dissectors::kit::Time;

    use super::*;

    fn end(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[test]
    fn an_address_that_clients_cannot_reach_is_a_fault() {
        let cause = |server: &str, client: &str| {
            let mut lists = Lists::new(10);
            let (client, master) = (end(client), end("198.51.100.9:27010"));
            let id = Id::ALL[0];
            lists.asked((client, master), (1, Time(0)), None, (id, Vec::new()));
            lists.listed(id, (client, master), 2, true, [end(server)]);
            let mut known = Server::default();
            listed(end(server), &mut known, lists.sighting(&end(server)).unwrap());
            known.fact(Item::Address).failure(false).map(|failure| failure.cause)
        };
        let (inside, outside) = ("192.168.0.7:50000", "203.0.113.7:50000");
        assert_eq!(cause("192.168.0.2:27015", outside), Some(&causes::LISTED_PRIVATE));
        assert_eq!(cause("192.168.0.2:27015", inside), None);
        assert_eq!(cause("127.0.0.1:27015", outside), Some(&causes::LISTED_LOOPBACK));
        assert_eq!(cause("127.0.0.1:27015", "127.0.0.1:50000"), None);
        assert_eq!(cause("203.0.113.2:27015", outside), None);
    }

    #[test]
    fn private_addresses_are_known() {
        for ip in [
            "10.1.2.3",
            "192.168.0.9",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(is_private(ip.parse().unwrap()), "{ip}");
        }
        for ip in ["203.0.113.5", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert!(!is_private(ip.parse().unwrap()), "{ip}");
        }
    }
}
