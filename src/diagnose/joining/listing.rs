//! Conclusions about a server's registrations, and about the lists of masters that may contain it.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Item, NeededEvidence, causes, is_private};

use super::heartbeats::{ceased, unjudged_heartbeats};
use super::lists::{Listing, Lists, MasterLists, Sighting};
use super::symptoms;
use crate::diagnose::facts::{Fact, Failure, NO_ACCIDENT};
use crate::diagnose::registration::missing_steps::{
    accepted_since, not_recorded, proves_nothing, queried_by_master,
};
use crate::diagnose::registration::{HEARTBEAT, Registration};
use crate::diagnose::server::Server;
use crate::diagnose::{CapturePosition, Diagnosis};
use crate::session::Totals;
use crate::text::long_span;

impl Diagnosis {
    /// What became of a server's registrations. Where it addressed no master, lists may contain it all the same.
    pub(in crate::diagnose) fn registrations(
        &mut self,
        address: SocketAddr,
        server: &mut Server,
        read: &Totals,
        position: CapturePosition,
    ) {
        let mut all = std::mem::take(&mut server.registrations);
        if server.game.is_empty()
            && let Some(game) = server.lists_in().and_then(|id| self.lists.game_of(id, &address))
        {
            server.game = game.to_vec();
        }
        if all.is_empty() {
            all = self.only_listed(address, server);
        }
        let masters: Vec<_> = all.iter().filter_map(|it| it.master).map(|it| it.ip()).collect();
        let span = read.span.map_or(0, |[begin, end]| end.since(begin));
        let may_show_joins =
            position != CapturePosition::Client && self.is_heard(address.ip(), read);
        self.joins(server, &mut all, may_show_joins);
        for registration in &mut all {
            if self.is_lossy(read) {
                proves_nothing(registration);
            }
            rechallenged(server, registration);
            unseen_challenge(registration);
            self.unanswered_challenges(server, registration, read);
            self.ignored_by_master(server, registration, read);
            not_recorded(registration, self.gets_nothing(address, server));
            challenged_elsewhere(registration);
            queried_by_master(registration, |host| server.clients.contains(host));
            let place = Place { address, masters: &masters };
            self.listing(server, registration, &place);
            not_known(registration, self.complete);
            accepted_since(registration);
            unjudged_heartbeats(registration);
            let heard = server.last_answered.filter(|_| !self.is_lossy(read));
            ceased(server, registration, read.end(), heard);
            self.refused_connections(address, server, registration);
            if span >= HEARTBEAT && server.first_asked.is_none() {
                unreachable(address, span, registration);
            }
        }
        server.registrations = all;
    }

    /// Whether a server never joins, or only for its own network. `may_show_joins`: what it sends to masters passes the
    /// recorder, as far as is known.
    fn joins(&self, server: &Server, all: &mut [Registration], may_show_joins: bool) {
        let own = server.query.filter(|id| id.info().diagnosis.items.contains(&Item::Heartbeats));
        let never_joins = own.is_some()
            && !self.of_probe
            && self.complete
            && may_show_joins
            && all.iter().all(|registration| registration.joins.is_none());
        let lan_only =
            server.lan_only.zip(server.registers.and_then(|id| id.info().diagnosis.lan_only));
        let lan_only = lan_only.map(|(frame, cause)| Failure::with(cause, frame, &[]));
        for registration in all {
            if never_joins {
                let why = Failure::new(&causes::NEVER_JOINED, 0, "no heartbeat to any master");
                registration.fact_mut(Item::Join).fails(why);
            }
            if let (Some(why), Some(_)) = (&lan_only, registration.master) {
                registration.fact_mut(Item::Join).fails_by(vec![why.clone()]);
            } else if registration.unchallenged >= NO_ACCIDENT {
                let text = "it sends info strings that no master asks for, and never joins";
                registration.fact_mut(Item::Join).bad(&causes::NEVER_JOINED, 0, text);
            }
        }
    }

    /// With which masters a server may be registered that addressed none in the capture: those that have lists, if they
    /// disagree.
    fn only_listed(&self, address: SocketAddr, server: &Server) -> Vec<Registration> {
        let own = Vec::from_iter(server.own_addresses(address));
        let protocol = server.lists_in();
        let masters = protocol.map_or(Vec::new(), |id| self.lists.disagreeing(id, &own));
        match masters.is_empty() {
            true => vec![Registration::default()],
            false => masters.into_iter().map(Registration::with).collect(),
        }
    }

    /// The latest challenge of a master, at each of its ports, may still wait for its answer.
    fn unanswered_challenges(
        &self,
        server: &Server,
        registration: &mut Registration,
        read: &Totals,
    ) {
        let waiting = registration.ports.iter_mut();
        let waiting = waiting.filter_map(|it| Some((it.port, it.challenged.take()?)));
        let waiting = Vec::from_iter(waiting);
        if has_rule_about_silence(server) {
            return;
        }
        for (port, (frame, time)) in waiting {
            let since = read.end().since(time);
            let fact = registration.fact_mut(Item::Echo);
            if since < self.ledger_settings.answer_timeout && !self.complete {
                let text = "the capture ends before an answer is due";
                fact.open(&causes::CAPTURE_TOO_SHORT, frame, text);
            } else if self.is_lossy(read) {
                fact.open(&causes::CAPTURE_DROPS, frame, "no answer is in the capture");
            } else if fact.run == 0 {
                let text = "the master's challenge gets no response";
                let why = Failure::new(&causes::CHALLENGE_UNANSWERED, frame, text);
                registration.fails_at(port, Item::Echo, why);
            }
        }
    }

    /// The master refused the connection of this server, or of a client that requests its list.
    fn refused_connections(
        &mut self,
        address: SocketAddr,
        server: &Server,
        registration: &mut Registration,
    ) {
        let Some(known) = registration.master else { return };
        let ports = server.registers.map_or(&[][..], |id| id.info().ports);
        for port in ports {
            let master = SocketAddr::new(known.ip(), *port);
            let Some((from, why)) = self.refused.get_mut(&master, self.remembered) else {
                continue;
            };
            let is_own = *from == address.ip() && known == master;
            let is_served = |item| registration.fact(item).good > 0;
            // What others meet says nothing against a server that the master knows, or a list of it.
            if !is_own && (is_served(Item::Accepted) || is_served(Item::ListWhole)) {
                continue;
            }
            let item = if is_own { Item::Accepted } else { Item::ListWhole };
            registration.fact_mut(item).fails(why.clone());
        }
    }

    /// A master that challenges others does not challenge this one.
    fn ignored_by_master(&self, server: &Server, registration: &mut Registration, read: &Totals) {
        let challenges = registration.master.is_some_and(|it| self.challengers.contains(&it));
        let is_heard = registration.master.is_some_and(|it| self.is_heard(it.ip(), read));
        let fact = registration.fact(Item::Challenged);
        let is_open = fact.good == 0 && fact.run == 0 && registration.cut.is_none();
        // Some masters challenge a server only until they have accepted it, which may have been before the capture.
        let may_be_accepted = !self.complete
            && server.registers.is_some_and(|id| id.info().diagnosis.rechallenged.is_some());
        if let Some(frame) = fact.open.as_ref().map(|why| why.frame)
            && is_open
            && (challenges || is_heard)
            && registration.joined() >= NO_ACCIDENT
            && !self.is_lossy(read)
        {
            if may_be_accepted {
                let text = "the master may have accepted it before the capture";
                let fact = registration.fact_mut(Item::Challenged);
                fact.open(&causes::CAPTURE_STARTS_LATE, frame, text);
                return;
            }
            let text = match challenges {
                true => "the master challenges others, and not this one",
                false => "the master is heard, and does not challenge this server",
            };
            let symptom = symptoms(server).iter().find(|it| it.item == Item::Challenged);
            let cause = symptom.map_or(&causes::JOIN_UNANSWERED, |it| it.cause);
            registration.fact_mut(Item::Challenged).bad(cause, frame, text);
        }
    }

    /// Whether and how the master's lists contain the server.
    fn listing(&self, server: &Server, registration: &mut Registration, place: &Place<'_>) {
        let master = registration.master.map(|it| it.ip());
        let given = self.lists.of(master, server.lists_in());
        let own = server.own_addresses(place.address);
        let in_lists = |of: Option<IpAddr>| {
            own.clone().find_map(|own| Some((own, self.lists.sighting(&own, of)?)))
        };
        let own_sighting = in_lists(master);
        let of_others = in_lists(None).filter(|(_, it)| !place.masters.contains(&it.master));
        let sighting = own_sighting.or(of_others);
        let seen = sighting.map(|(_, sighting)| sighting);
        let whole = list_whole(place.address, server, registration, &given, seen);
        let joined_at = registration.joins.map(|(first, ..)| first);
        let timeout = self.ledger_settings.answer_timeout;
        let could_hold = whole.filter(|it| joined_at.is_none_or(|at| it.could_hold(at, timeout)));
        let is_late = |(_, sighting): &(SocketAddr, &Sighting)| {
            could_hold.is_none_or(|whole| !Lists::is_later(whole, Some(sighting)))
        };
        if sighting.is_none() {
            joins_in_vain(server, registration);
            if self.is_listed_in_vain(registration, place) {
                return;
            }
        }
        match (sighting.filter(is_late), could_hold) {
            (Some((as_address, sighting)), _) => {
                listed(as_address, registration, sighting);
                usually_rechallenged(server, registration, sighting.frame);
                if server.joins_in_vain.is_some_and(|(joins, _)| joins == as_address) {
                    listed_elsewhere([place.address, as_address], registration, sighting.frame);
                } else if as_address != place.address {
                    may_not_respond(registration, sighting.frame);
                }
            }
            // One of the servers that were not kept may be this one.
            (None, Some(whole)) if self.lists.is_cut => {
                let text = "lists have more servers than fit into memory; see --memory";
                registration.fact_mut(Item::Listed).open(&causes::NOT_IN_CAPTURE, whole.last, text);
            }
            (None, Some(whole)) => {
                // It was accepted all the same, if an earlier list has it.
                if let Some((_, sighting)) = own_sighting
                    && registration.fact(Item::Join).shown.first() < Some(&sighting.frame)
                {
                    registration.good(Item::Accepted, sighting.frame);
                }
                self.not_listed(registration, whole, place);
            }
            (None, None) => no_list(registration, &given, self.lists.is_empty()),
        }
    }

    /// Another port of the host is listed, and clients ask that one in vain.
    fn is_listed_in_vain(&self, registration: &mut Registration, place: &Place<'_>) -> bool {
        let asked = self.probed.get(&place.address).into_iter().flatten();
        let mut listed = asked.filter_map(|other| Some((other, self.lists.sighting(other, None)?)));
        let Some((other, sighting)) = listed.next() else { return false };
        listed_elsewhere([place.address, *other], registration, sighting.frame);
        true
    }

    /// The latest whole list does not have the server.
    fn not_listed(&self, registration: &mut Registration, whole: &Listing, place: &Place<'_>) {
        let address = place.address;
        // What is listed may be another server of the host.
        let is_stranger = |(other, _): &(SocketAddr, Sighting)| {
            other.port() != address.port() && !self.taken.contains(other)
        };
        let stranger = self.lists.of_host(address.ip(), whole.master).find(is_stranger);
        if let Some((other, sighting)) = stranger {
            // From where it joins is in the capture, or where it is; else that may be the port from which it joins.
            let is_known = registration.joins.is_some() || self.is_wanted(&address);
            if is_known || is_swapped(address, other) {
                listed_elsewhere([address, other], registration, sighting.frame);
            } else if self.challenged_unseen.contains(&other) {
                listed(other, registration, &sighting);
                may_not_respond(registration, sighting.frame);
            } else {
                let text = format!("only another port of its host, {other}");
                let why = Failure::new(&causes::NOT_IN_CAPTURE, sighting.frame, text);
                registration.fact_mut(Item::Listed).open_by(why);
            }
        } else if is_private(address.ip()) && !is_private(whole.master) {
            let text = "it has a private address, and is listed, if so, with its public one: name that \
                        with --server";
            registration.fact_mut(Item::Listed).open(&causes::NOT_IN_CAPTURE, whole.last, text);
        } else if address.is_ipv6() && !self.lists.have_ipv6(whole.master) {
            let text = "it joins by IPv6, and the master lists only IPv4 addresses";
            registration.fact_mut(Item::Listed).open(&causes::NOT_IN_CAPTURE, whole.last, text);
        } else {
            let listed = registration.fact_mut(Item::Listed);
            let Some((hidden, sighting)) = self.hidden_in(whole, address) else {
                return listed.fails(Failure::with(&causes::NOT_IN_LIST, whole.last, &[]));
            };
            let text = format!("only {hidden}, which has its port");
            listed.open(&causes::NOT_IN_CAPTURE, sighting.frame, text);
            listed_at(hidden, registration, sighting);
        }
    }

    /// With which address of its own network or host a list may have a server, if no other one is known to have that.
    fn hidden_in(&self, list: &Listing, own: SocketAddr) -> Option<(SocketAddr, &Sighting)> {
        let mut all = self.lists.hidden_in(list, own.port());
        all.find(|(other, _)| !is_private(list.master) && !self.taken.contains(other))
    }
}

/// The server is in a list with another port, as this packet shows.
fn listed_elsewhere([own, other]: [SocketAddr; 2], registration: &mut Registration, frame: u64) {
    registration.good(Item::Listed, frame);
    registration.listed_as = Some(other);
    let mut why = Failure::with(&causes::LISTED_OTHER_PORT, frame, &[("address", &other)]);
    if is_swapped(own, other) {
        why.text.push_str(", the two bytes of the port exchanged by the master");
    }
    registration.fact_mut(Item::Address).fails(why);
}

/// The server is listed with the port from which it joins.
fn may_not_respond(registration: &mut Registration, frame: u64) {
    let text = "it is the port that it joins from: whether that responds is not in the capture";
    let why = Failure::new(&causes::NOT_IN_CAPTURE, frame, text);
    registration.fact_mut(Item::Address).doubt(Vec::new(), why);
}

/// Whether a port has the bytes of another one in the other order.
fn is_swapped(own: SocketAddr, other: SocketAddr) -> bool {
    own.port().swap_bytes() == other.port()
}

/// Clients ask a server in vain at the port from which it joins: where no heartbeat names a port, masters list that one.
fn joins_in_vain(server: &Server, registration: &mut Registration) {
    let masters = server.registers.and_then(|id| id.info().masters);
    let Some((address, NO_ACCIDENT..)) = server.joins_in_vain else { return };
    if masters.is_some_and(|it| it.query_port.is_none()) {
        let frame = registration.fact(Item::Join).shown.last().copied().unwrap_or(0);
        let mut why = Failure::with(&causes::LISTED_OTHER_PORT, frame, &[("address", &address)]);
        why.text = format!("it joins from {address}, where clients ask it in vain");
        registration.fact_mut(Item::Address).fails(why);
    }
}

/// Where a server is, and where it registers.
struct Place<'p> {
    address: SocketAddr,
    /// All masters that it addressed.
    masters: &'p [IpAddr],
}

/// Another address than the server has asked sends the challenges for its joins.
fn challenged_elsewhere(registration: &mut Registration) {
    let Some((from, frame)) = registration.challenged_by else { return };
    if let Some(asked) = registration.master
        && registration.fact(Item::Challenged).good == 0
    {
        let values: [(_, &dyn Display); 2] = [("asked", &asked), ("from", &from)];
        let why = Failure::with(&causes::masters::CHALLENGED_ELSEWHERE, frame, &values);
        let challenged = registration.fact_mut(Item::Challenged);
        challenged.fails_by(Vec::new());
        challenged.open_by(why);
    }
}

/// A few challenges after some that the server has passed: the master may have been restarted.
fn rechallenged(server: &Server, registration: &mut Registration) {
    let accepted = registration.fact_mut(Item::Accepted);
    if is_rechallenged(server, accepted) && accepted.good > 0 && accepted.run < NO_ACCIDENT {
        accepted.fails_by(Vec::new());
    }
}

/// Whether what speaks against a server is only that the master challenges it again.
fn is_rechallenged(server: &Server, accepted: &Fact) -> bool {
    let cause = server.registers.and_then(|id| id.info().diagnosis.rechallenged);
    accepted.failure(false).is_some_and(|it| cause == Some(it.cause))
}

/// This list holds the server after such challenges: they do not mean that the master refuses it.
fn usually_rechallenged(server: &Server, registration: &mut Registration, listed: u64) {
    let is_usual = registration.rechallenged.are_usual(listed);
    let accepted = registration.fact_mut(Item::Accepted);
    if is_usual && is_rechallenged(server, accepted) {
        accepted.fails_by(Vec::new());
    }
}

/// Nobody asks a server for long that registers from a private address with a master elsewhere.
fn unreachable(address: SocketAddr, span: i64, registration: &mut Registration) {
    let is_elsewhere = registration.master.is_some_and(|master| !is_private(master.ip()));
    let fact = registration.fact(Item::Address);
    if is_elsewhere && is_private(address.ip()) && fact.good == 0 && fact.run == 0 {
        let time = long_span(span.unsigned_abs());
        let why = Failure::with(&causes::masters::PRIVATE_ADDRESS, 0, &[("time", &time)]);
        registration.fact_mut(Item::Address).open_by(why);
    }
}

/// What answers a challenge that is not in the capture may be wrong.
fn unseen_challenge(registration: &mut Registration) {
    let is_unseen = registration.fact(Item::Challenged).good == 0;
    if is_unseen && registration.fact(Item::Echo).good > 0 {
        let text = "the challenge is not in the capture";
        let why = Failure::new(&causes::NOT_IN_CAPTURE, 0, text);
        registration.fact_mut(Item::Echo).doubt(Vec::new(), why);
    }
}

/// The master may have said that it does not know the server.
fn not_known(registration: &mut Registration, complete: bool) {
    let Some(frame) = registration.stranger else { return };
    let accepted = registration.fact(Item::Accepted);
    if accepted.good > 0 || accepted.run > 0 {
        return;
    }
    let why = Failure::with(&causes::NOT_REGISTERED, frame, &[]);
    let is_listed = registration.fact(Item::Listed).run == 0 && !complete;
    let fact = registration.fact_mut(Item::Accepted);
    match is_listed {
        true => fact.open_by(why),
        false => fact.fails(why),
    }
}

/// Whether the latest list that could contain a server is complete: that list.
fn list_whole<'g>(
    address: SocketAddr,
    server: &Server,
    registration: &mut Registration,
    given: &[&'g MasterLists],
    sighting: Option<&Sighting>,
) -> Option<&'g Listing> {
    let selects = |asked: &[Vec<u8>]| server.is_selected(address, asked) == Some(true);
    let wholes = given.iter().filter_map(|given| given.whole(&server.game, selects));
    let whole = wholes.max_by_key(|listing| listing.last);
    let is_narrowed = given.iter().any(|given| given.narrowed.is_some());
    let begun = given.iter().filter_map(|given| given.begun.as_ref()).map(|it| it.last).max();
    let cut = given.iter().filter_map(|given| given.cut.clone()).max();
    match (whole, sighting, cut) {
        (Some(whole), ..) => registration.good(Item::ListWhole, whole.last),
        // That is the master's fault, and shows nothing of the server.
        (None, None, Some((frame, why))) => {
            registration.fact_mut(Item::ListWhole).open(&causes::LIST_CUT, frame, why);
        }
        (None, Some(sighting), _) if is_narrowed => {
            registration.good(Item::ListWhole, sighting.frame)
        }
        _ => {
            if let Some(frame) = begun {
                let text = "no list is complete";
                registration.fact_mut(Item::ListWhole).open(&causes::LIST_CUT, frame, text);
            }
        }
    }
    whole
}

/// The server is in a list.
fn listed(address: SocketAddr, registration: &mut Registration, sighting: &Sighting) {
    registration.listed_as = Some(address);
    registration.good(Item::Listed, sighting.frame);
    registration.good(Item::Accepted, sighting.frame);
    // Whatever the specification requires, this master accepted it.
    for item in [Item::Challenged, Item::Info, Item::ProbeBack, Item::Stays] {
        let fact = registration.fact_mut(item);
        // It signed off: a list may have it for some time more.
        let has_quit = fact.failure(false).is_some_and(|why| why.cause == &causes::QUIT_SENT);
        if fact.run > 0 && !has_quit {
            fact.mend(sighting.frame);
            // What comes after the list, that does not show.
            if fact.run == 0 {
                fact.good(sighting.frame);
            }
        }
    }
    registration.reported.get_or_insert_with(|| "it is in the list".to_owned());
    listed_at(address, registration, sighting);
}

/// Whether the address with which it is listed can be reached.
fn listed_at(address: SocketAddr, registration: &mut Registration, sighting: &Sighting) {
    let client = sighting.client.ip();
    let master = registration.master.map_or(client, |master| master.ip());
    let fact = registration.fact_mut(Item::Address);
    match address.ip() {
        ip if ip.is_loopback() && !client.is_loopback() => {
            let values: [(_, &dyn Display); 1] = [("address", &address)];
            fact.fails(Failure::with(&causes::LISTED_LOOPBACK, sighting.frame, &values));
        }
        // A public master lists it for players everywhere, whoever asks.
        ip if is_private(ip) && !(is_private(client) && is_private(master)) => {
            let values: [(_, &dyn Display); 2] = [("address", &address), ("client", &client)];
            fact.fails(Failure::with(&causes::LISTED_PRIVATE, sighting.frame, &values));
        }
        _ => fact.good(sighting.frame),
    }
}

/// No list in the capture shows whether the server is listed. `none`: there is none at all.
fn no_list(registration: &mut Registration, given: &[&MasterLists], none: bool) {
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
    registration.fact_mut(Item::Listed).open_by(why);
}

/// Whether a rule of the protocol in which a server registers reports unanswered challenges.
pub(in crate::diagnose) fn has_rule_about_silence(server: &Server) -> bool {
    symptoms(server)
        .iter()
        .any(|it| it.item == Item::Echo && it.rule.needs == NeededEvidence::Response)
}

#[cfg(test)]
mod tests {
    use dissectors::Id;
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
            lists.asked(client, master, 1, Time(0), None, id, Vec::new());
            lists.listed(id, client, master, 2, true, [end(server)]);
            let mut known = Registration::default();
            listed(end(server), &mut known, lists.sighting(&end(server), None).unwrap());
            known.fact(Item::Address).failure(false).map(|failure| failure.cause)
        };
        let (inside, outside) = ("192.168.0.7:50000", "203.0.113.7:50000");
        assert_eq!(cause("192.168.0.2:27015", outside), Some(&causes::LISTED_PRIVATE));
        assert_eq!(cause("192.168.0.2:27015", inside), None);
        assert_eq!(cause("127.0.0.1:27015", outside), Some(&causes::LISTED_LOOPBACK));
        assert_eq!(cause("127.0.0.1:27015", "127.0.0.1:50000"), None);
        assert_eq!(cause("203.0.113.2:27015", outside), None);
    }
}
