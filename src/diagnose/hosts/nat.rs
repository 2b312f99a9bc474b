//! Servers before and behind NAT: what the session knows as copies of datagrams with other addresses shows which belong to
//! one host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{AddressRole, Item, Purpose, Role, is_private};
use dissectors::ledger::Basis;

use crate::diagnose::Diagnosis;
use crate::diagnose::server::Server;
use crate::session::{Event, MessageEvent};

/// Maximum number of servers behind NAT.
const SERVERS: usize = 64;

/// What shows which addresses belong to one host.
#[derive(Default)]
pub(in crate::diagnose) struct Translations {
    /// The packet of the latest copy, and the ends of its original.
    latest: Option<(u64, [SocketAddr; 2])>,
    /// Servers behind NAT, with their addresses before it.
    servers: BTreeSet<(SocketAddr, SocketAddr)>,
    /// Responses of servers behind NAT to requests that came through it.
    answers: BTreeMap<SocketAddr, u64>,
    /// Those to clients in the network of the server, which get them from its inner address: how many, and the first
    /// packet.
    direct: BTreeMap<(SocketAddr, IpAddr), (u64, u64)>,
}

impl Translations {
    /// A datagram is a copy of one between these ends. Its message, if there is one, comes after it.
    pub(in crate::diagnose) fn see(&mut self, copy: &Basis, original: [SocketAddr; 2]) {
        self.latest = Some((copy.seen.mark.frame, original));
    }

    /// Whether an event is about a copy of a datagram that was recorded before or behind NAT, and counts there.
    pub(in crate::diagnose) fn is_copy(&mut self, event: &Event<'_>) -> bool {
        let context = match event {
            Event::Message(message) => message.context(),
            Event::Checked(it) => it.context(),
            _ => return false,
        };
        let Some((frame, original)) = self.latest else { return false };
        if context.copy_of.is_none() || context.packet.0 != frame {
            return false;
        }
        if let Event::Message(copy) = event {
            self.see_message(copy, original);
            self.count(copy);
        }
        true
    }

    /// The message in a copy shows whose addresses these are.
    fn see_message(&mut self, copy: &MessageEvent<'_>, original: [SocketAddr; 2]) {
        let message = copy.message();
        // Of a client and a master, the master is the server.
        let is_of_server = message.speaker == Role::Server || message.purpose == Purpose::List;
        let of_server = usize::from(!is_of_server);
        let (copied, counted) = (copy.ends()[of_server], original[of_server]);
        let is_inside = match [copied, counted].map(|end| is_private(end.ip())) {
            [true, false] => true,
            [false, true] => false,
            // The side of who asks counts.
            _ => !is_of_server || !message.purpose.is_request(),
        };
        let pair = if is_inside { (copied, counted) } else { (counted, copied) };
        if copied.ip() != counted.ip() && self.servers.len() < SERVERS {
            self.servers.insert(pair);
        }
    }

    /// Counts a response on the other side of NAT.
    fn count(&mut self, copy: &MessageEvent<'_>) {
        let [from, to] = copy.ends();
        if copy.message().purpose != Purpose::Response {
            return;
        }
        if self.answers.len() < SERVERS || self.answers.contains_key(&from) {
            *self.answers.entry(from).or_default() += 1;
        }
        let direct = (from, to.ip());
        if is_private(from.ip())
            && is_private(to.ip())
            && (self.direct.len() < SERVERS || self.direct.contains_key(&direct))
        {
            self.direct.entry(direct).or_insert((0, copy.frame())).0 += 1;
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
    pub(in crate::diagnose) fn answers_behind(&self, host: IpAddr) -> Option<(SocketAddr, u64)> {
        let behind = |(inside, outside): &(SocketAddr, SocketAddr)| {
            let answers = self.answers.get(inside).filter(|_| outside.ip() == host);
            answers.map(|count| (*inside, *count))
        };
        self.servers.iter().find_map(behind)
    }

    /// An address behind NAT as the one before it at which the same host is asked, unless its port is that, too.
    pub(in crate::diagnose) fn as_asked(&self, asked: SocketAddr, from: SocketAddr) -> SocketAddr {
        let is_of_host = self.sides(asked.ip()).any(|side| side == from.ip());
        let seen = if is_of_host { SocketAddr::new(asked.ip(), from.port()) } else { from };
        if seen == asked { from } else { seen }
    }

    /// The other addresses of a host, before or behind NAT.
    pub(in crate::diagnose) fn sides(&self, host: IpAddr) -> impl Iterator<Item = IpAddr> {
        let pairs = self.servers.iter().map(|(inside, outside)| [inside.ip(), outside.ip()]);
        pairs.filter_map(move |[inside, outside]| match host {
            _ if host == inside => Some(outside),
            _ if host == outside => Some(inside),
            _ => None,
        })
    }
}

impl Diagnosis {
    /// Clients in the network of a server that ask its public address: where no router translates the responses, these come
    /// from the inner one.
    pub(in crate::diagnose) fn answered_from_inside(&mut self) {
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
    pub(in crate::diagnose) fn one_side_of_nat(&mut self) {
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
