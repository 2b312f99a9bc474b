//! Datagrams that were recorded twice, before and behind NAT.
//!
//! Of two flows with the same datagrams, the one that was recorded first counts, and the other one is their copy.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{
    AddressRole, Item, Purpose, RecentMap, Role, TRANSLATED_ROUTERS, TRANSLATED_WITHIN, Time,
    is_private,
};
use foldhash::fast::FixedState;

use super::Diagnosis;
use super::fact::NO_ACCIDENT;
use super::server::Server;
use crate::session::{DatagramHeaders, Event, MessageEvent};

/// Messages that are compared with the next ones: more do not come within that time.
const RECENT: usize = 16;

/// Maximum number of bytes of messages that are compared.
const COMPARED: usize = 256;

/// Maximum number of servers behind NAT.
const SERVERS: usize = 64;

/// What shows which addresses belong to one host.
#[derive(Default)]
pub(super) struct Translations {
    recent: [Option<RecentMessage>; RECENT],
    /// The hashes of their first bytes.
    hashes: [u64; RECENT],
    /// The place of the next one.
    next: usize,
    /// The latest datagram, and its IPv4 identification.
    latest: (u64, Option<u16>),
    /// Servers behind NAT, with their addresses before it.
    servers: BTreeSet<(SocketAddr, SocketAddr)>,
    /// Responses of servers behind NAT to requests that came through it.
    answers: BTreeMap<SocketAddr, u64>,
    /// Those to clients in the network of the server, which get them from its inner address: how many, and the first
    /// packet.
    direct: BTreeMap<(SocketAddr, IpAddr), (u64, u64)>,
    /// Pairs of addresses that may be of one host.
    hosts: RecentMap<[IpAddr; 2], Shown>,
    /// Flows that are copies of others.
    copies: RecentMap<[SocketAddr; 2], ()>,
    has_copies: bool,
}

/// How many datagrams seem to have been recorded with both addresses of a host.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// Those of servers.
    of_servers: u64,
    /// Those of others.
    of_others: u64,
    /// Those whose identification shows it, too.
    identified: u64,
}

impl Shown {
    /// Whether this is no accident. Packets that one host sends to two have passed as many routers: those of both
    /// directions have not.
    fn is_proof(self) -> bool {
        self.of_servers > 0 && self.of_others > 0 || self.identified >= NO_ACCIDENT
    }
}

/// A message between a server and another host.
#[derive(Clone, Copy)]
struct RecentMessage {
    server: SocketAddr,
    other: SocketAddr,
    is_of_server: bool,
    is_response: bool,
    time: Time,
    hop_limit: u8,
    /// The IPv4 identification, if it distinguishes datagrams.
    identification: Option<u16>,
    /// Its length, and a hash of its first bytes.
    bytes: (u64, u64),
}

/// Two messages are one datagram.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sameness {
    /// For certain.
    Certain,
    /// If others show it, too.
    Likely,
}

impl RecentMessage {
    /// The addresses of the host that has others in these two messages: of the server, if both hosts have.
    fn translated(&self, before: &RecentMessage) -> Option<[SocketAddr; 2]> {
        match (self.server == before.server, self.other == before.other) {
            (false, _) => Some([before.server, self.server]),
            (true, false) => Some([before.other, self.other]),
            (true, true) => None,
        }
    }

    /// Whether both hosts have other addresses in these two messages.
    fn are_both_translated(&self, before: &RecentMessage) -> bool {
        self.server != before.server && self.other != before.other
    }

    /// Whether both are one datagram, before and behind NAT.
    fn sameness(&self, before: &RecentMessage) -> Option<Sameness> {
        let key = |it: &RecentMessage| (it.is_of_server, it.bytes);
        if key(self) != key(before) || self.time.since(before.time).abs() > TRANSLATED_WITHIN {
            return None;
        }
        let addresses = self.translated(before)?;
        let [one, another] = addresses.map(|address| address.ip());
        if one == another {
            return None;
        }
        let is_server = self.server != before.server;
        let is_both = self.are_both_translated(before);
        let routers = before.hop_limit.abs_diff(self.hop_limit);
        // A response by itself shows it: nobody else answers that client with the same bytes. Of a request that a client
        // sends to two servers, both packets have passed as many routers.
        let is_at_border = is_server
            && !is_both
            && is_private(one) != is_private(another)
            && !is_private(self.other.ip())
            && (self.is_response || routers == 1);
        if is_at_border {
            return Some(Sameness::Certain);
        }
        if self.identification != before.identification || !TRANSLATED_ROUTERS.contains(&routers) {
            return None;
        }
        // In a flood, two of many senders may choose the same number.
        let is_inside = is_server || is_private(one) || is_private(another);
        let is_certain = self.identification.is_some() && is_inside && !is_both;
        // Different clients may send different servers the same.
        if is_both && self.identification.is_none() {
            return None;
        }
        Some(if is_certain { Sameness::Certain } else { Sameness::Likely })
    }

    /// The address behind NAT, and the one before it. `before`: the same datagram, recorded before this one.
    fn inside_first(&self, before: &RecentMessage) -> (SocketAddr, SocketAddr) {
        let [earlier, later] = [before, self].map(|it| it.server);
        let is_later_inside = match [earlier, later].map(|it| is_private(it.ip())) {
            [false, true] => true,
            [true, false] => false,
            // A server's packet has passed more routers outside, others inside.
            _ => (self.hop_limit < before.hop_limit) != self.is_of_server,
        };
        if is_later_inside { (later, earlier) } else { (earlier, later) }
    }
}

/// The ends of a flow, in the same order for both directions.
fn flow([one, another]: [SocketAddr; 2]) -> [SocketAddr; 2] {
    if one <= another { [one, another] } else { [another, one] }
}

impl Translations {
    /// The next datagram. The message that it completes comes after it.
    pub(super) fn datagram(&mut self, headers: &DatagramHeaders) {
        // Many senders set 0.
        self.latest = (headers.frame, headers.identification.filter(|number| *number != 0));
    }

    /// Whether a flow between these is a copy of another one.
    fn is_copy(&mut self, ends: [SocketAddr; 2], most: usize) -> bool {
        self.has_copies && self.copies.get_mut(&flow(ends), most).is_some()
    }

    /// A message of a flow that is a copy of another one.
    fn copied(&mut self, event: &MessageEvent<'_>) {
        let [from, to] = event.ends();
        let is_response = event.message().purpose == Purpose::Response;
        if is_response && (self.answers.len() < SERVERS || self.answers.contains_key(&from)) {
            *self.answers.entry(from).or_default() += 1;
        }
        let direct = (from, to.ip());
        if is_response
            && is_private(from.ip())
            && is_private(to.ip())
            && (self.direct.len() < SERVERS || self.direct.contains_key(&direct))
        {
            self.direct.entry(direct).or_insert((0, event.frame())).0 += 1;
        }
    }

    /// The responses from inside to clients in the same network that asked a server outside: from where, to whom, how many,
    /// and the first packet.
    fn direct(&self) -> Vec<(SocketAddr, SocketAddr, IpAddr, (u64, u64))> {
        let outside = |inside: SocketAddr| {
            let of = move |(it, _): &&(SocketAddr, SocketAddr)| *it == inside;
            self.servers.iter().filter(of).map(|(_, outside)| *outside)
        };
        let direct = self.direct.iter();
        let all = direct.flat_map(|(&(inside, client), &sent)| {
            outside(inside).map(move |outside| (outside, inside, client, sent))
        });
        all.collect()
    }

    /// The address of a server's host behind NAT from which requests were answered, and how many.
    pub(super) fn answers_behind(&self, host: IpAddr) -> Option<(SocketAddr, u64)> {
        let behind = |(inside, outside): &(SocketAddr, SocketAddr)| {
            let answers = self.answers.get(inside).filter(|_| outside.ip() == host);
            answers.map(|count| (*inside, *count))
        };
        self.servers.iter().find_map(behind)
    }

    /// The other addresses of a host, before or behind NAT.
    pub(super) fn sides(&self, host: IpAddr) -> impl Iterator<Item = IpAddr> {
        let pairs = self.servers.iter().map(|(inside, outside)| [inside.ip(), outside.ip()]);
        pairs.filter_map(move |[inside, outside]| match host {
            _ if host == inside => Some(outside),
            _ if host == outside => Some(inside),
            _ => None,
        })
    }

    /// The next message; `begins`: its flow may begin with it, or goes on with a request. Returns whether its flow is a
    /// copy of another one. `most`: how much is remembered.
    fn see(&mut self, message: RecentMessage, begins: bool, most: usize) -> bool {
        let (_, hash) = message.bytes;
        // Most messages are like none.
        let is_like_some = self.hashes.contains(&hash);
        let mut recent = self.recent.iter().flatten().filter(|_| is_like_some);
        let same = recent.find_map(|before| Some((*before, message.sameness(before)?)));
        if let Some((before, sameness)) = same
            && (sameness == Sameness::Certain || self.is_proven(&message, &before, most))
        {
            if message.server != before.server && self.servers.len() < SERVERS {
                self.servers.insert(message.inside_first(&before));
            }
            if begins {
                self.copies.insert(flow([message.server, message.other]), (), most);
                self.has_copies = true;
                return true;
            }
        }
        (self.recent[self.next], self.hashes[self.next]) = (Some(message), hash);
        self.next = (self.next + 1) % RECENT;
        false
    }

    /// Whether others show, too, that these are one datagram.
    fn is_proven(&mut self, message: &RecentMessage, before: &RecentMessage, most: usize) -> bool {
        let Some(addresses) = message.translated(before) else { return false };
        let hosts = flow(addresses).map(|address| address.ip());
        let mut shown = self.hosts.get_mut(&hosts, most).copied().unwrap_or_default();
        match message.is_of_server {
            true => shown.of_servers += 1,
            false => shown.of_others += 1,
        }
        // Senders to many hosts may give all packets one number.
        let is_both = message.are_both_translated(before);
        shown.identified += u64::from(message.identification.is_some() && !is_both);
        self.hosts.insert(hosts, shown, most);
        shown.is_proof()
    }
}

impl Diagnosis {
    /// Whether an event is about a flow that was recorded before and behind NAT, and counts there.
    pub(super) fn is_translated(&mut self, event: &Event<'_>) -> bool {
        let ends = match event {
            Event::Message(message) => return self.is_translated_message(message),
            Event::Checked(it) => it.context().flow.ends,
            Event::CrossFlow(it) => [it.basis.seen.from, it.basis.seen.to],
            Event::Icmp(error) => error.ends,
            Event::FlowEnded(row) => row.ends,
            Event::Unanswered(_) | Event::Datagram(_) | Event::File(_) => return false,
        };
        self.translations.is_copy(ends, self.remembered)
    }

    fn is_translated_message(&mut self, event: &MessageEvent<'_>) -> bool {
        let [from, to] = event.ends();
        if self.translations.is_copy([from, to], self.remembered) {
            self.translations.copied(event);
            return true;
        }
        if event.context().copy_of.is_some() {
            return false;
        }
        let (frame, identification) = self.translations.latest;
        let message = event.message();
        let is_of_server = message.speaker == Role::Server;
        let (server, other) = if is_of_server { (from, to) } else { (to, from) };
        let facts = &event.context().flow;
        let is_seen = |end: SocketAddr| facts.seen[usize::from(facts.ends[0] != end)];
        let begins = message.purpose.is_request() || !is_seen(to);
        let bytes = event.payload().bytes;
        let compared = bytes.get(..COMPARED).unwrap_or(bytes);
        let message = RecentMessage {
            server,
            other,
            is_of_server,
            is_response: message.purpose == Purpose::Response,
            time: event.time(),
            hop_limit: event.context().hop_limit,
            identification: identification.filter(|_| frame == event.frame()),
            bytes: (event.length(), FixedState::with_seed(0).hash_one(compared)),
        };
        self.translations.see(message, begins, self.remembered)
    }

    /// Clients in the network of a server that ask its public address: where no router translates the responses, these come
    /// from the inner one.
    pub(super) fn answered_from_inside(&mut self) {
        for (outside, inside, client, (count, frame)) in self.translations.direct() {
            let asked = self.servers.get_mut(&outside).into_iter();
            let in_vain = asked.filter(|server| server.pattern.of_client(client).answered == 0);
            in_vain.for_each(|server| {
                server.responds_from(outside, inside, frame);
                server.responses_elsewhere += count - 1;
            });
        }
    }

    /// Joins the addresses of servers before and behind NAT.
    pub(super) fn one_side_of_nat(&mut self) {
        for (inside, outside) in self.translations.servers.clone() {
            let known = [inside, outside].map(|address| self.resolve(address));
            match known {
                [Some(inside), Some(outside)] if inside != outside => {
                    self.join_sides(inside, outside);
                }
                [Some(server), None] => match self.namesake(server, outside.ip()) {
                    Some(other) => self.join_sides(server, other),
                    // All that is known of the other address is known of this one, too.
                    None => self.is_also_at(server, outside),
                },
                [None, Some(server)] => match self.namesake(server, inside.ip()) {
                    Some(other) => self.join_sides(other, server),
                    None => self.is_also_at(server, inside),
                },
                _ => {}
            }
        }
    }

    /// A server's query port at another address of its host, where clients ask it in vain: the packets that show the
    /// address are of another port.
    fn namesake(&self, server: SocketAddr, host: IpAddr) -> Option<SocketAddr> {
        let other = SocketAddr::new(host, server.port());
        let is_mute = |it: &Server| it.registers.is_none() && it.fact(Item::FromAsked).good == 0;
        self.servers.get(&other).filter(|it| is_mute(it)).map(|_| other)
    }

    fn is_also_at(&mut self, server: SocketAddr, address: SocketAddr) {
        if let Some(server) = self.servers.get_mut(&server)
            && server.addresses.iter().all(|(known, _)| *known != address)
        {
            server.is_at(address, AddressRole::BehindNat);
        }
    }

    /// These are addresses of one server.
    fn join_sides(&mut self, inside: SocketAddr, outside: SocketAddr) {
        // What nobody asks from outside is known by its own address.
        let is_asked = |server: &SocketAddr| {
            self.servers.get(server).is_some_and(|server| server.first_asked.is_some())
        };
        let (kept, dropped) = match is_asked(&outside) {
            true => (outside, inside),
            false => (inside, outside),
        };
        let Some(mut copy) = self.servers.remove(&dropped) else { return };
        let Some(server) = self.servers.get_mut(&kept) else { return };
        server.is_at(dropped, AddressRole::BehindNat);
        let elsewhere = std::mem::take(&mut copy.elsewhere);
        if server.registers.is_none() && copy.registers.is_some() {
            server.registers_as(*copy);
        }
        // Its responses left from other addresses than that which was asked.
        if server.fact(Item::FromAsked).good == 0 {
            for (from, _, frame) in elsewhere {
                server.responds_from(kept, from, frame);
            }
        }
    }
}
