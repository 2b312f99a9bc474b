//! Clients and masters as parties of their own, and what exchanges with a server show together.

mod masters;
mod other_traffic;
mod queries;
mod undelivered_responses;

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Item, Map, Purpose, Role, Set, Time, Transport, causes};

use super::{
    CapturePosition, Diagnosis, FACTS_OF_EXCHANGE, ServerPacketKind, is_clients_fault, is_error,
};
use crate::diagnose::client::{self, Client};
use crate::diagnose::exchanges::latest_queries::LatestQuery;
use crate::diagnose::exchanges::{Exchange, Request, asks_for_data, exchange_key};
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::diagnose::server::{self, ChallengeLoops, Server};
use crate::diagnose::verdicts::{DiagnosedParty, ItemVerdict, Met};
use crate::session::{MessageEvent, Totals, Value};
use crate::summary::described;
use crate::text::grouped;

impl Diagnosis {
    /// A message, as far as it is about a client or a master.
    pub(super) fn parties(&mut self, id: Id, event: &MessageEvent<'_>) {
        let message = event.message();
        let [from, to] = event.ends();
        match (message.purpose, message.speaker) {
            (Purpose::Query | Purpose::ChallengeRequest, _) => self.request(id, event),
            // A text in place of a response.
            (Purpose::Response, _)
                if event.reply().is_none()
                    && event.field("text").is_some()
                    && self.may_be_asked(from, to) =>
            {
                self.odd(event);
            }
            (Purpose::Response | Purpose::ClientChallenge, _)
                if event.reply().is_none() && self.is_asked_otherwise(id, from, to) =>
            {
                self.odd(event);
            }
            (Purpose::Response | Purpose::ClientChallenge, _) => {
                let is_challenge = message.purpose == Purpose::ClientChallenge;
                let kind = self.answered(event, is_challenge);
                if is_challenge {
                    let client = self.client(to.ip());
                    client.into_iter().for_each(|client| client.is_challenged(event, kind));
                }
            }
            (Purpose::ListRequest, _) => {
                let client = self.client(from.ip());
                client.into_iter().for_each(|client| client.asks_for_list(event));
                self.master(id, to).into_iter().for_each(|master| master.hears(event));
            }
            // In a connection, only clients answer a master's challenge.
            (Purpose::CheckResponse, _) if event.payload().transport == Transport::Tcp => {
                let client = self.client(from.ip());
                client.into_iter().for_each(|client| client.answers_challenge(event));
                self.master(id, to).into_iter().for_each(|master| master.hears(event));
            }
            (Purpose::Challenge | Purpose::Check | Purpose::List, _)
                if event.payload().transport == Transport::Tcp =>
            {
                self.master(id, from).into_iter().for_each(|master| master.says(event));
            }
            (Purpose::Other, Role::Server | Role::Any) if self.may_be_asked(from, to) => {
                self.odd(event);
            }
            (Purpose::Other, Role::Client | Role::Any) if self.latest_query(to, from).is_some() => {
                self.says_other(event);
            }
            (Purpose::List, _) if self.comes_from_elsewhere(event) => {}
            (Purpose::List | Purpose::Other, _) => {
                let master = self.service_of(id, from.ip());
                master.into_iter().for_each(|master| master.says(event));
            }
            _ => {}
        }
        // What a master says to each connection answers no request.
        let is_greeting = matches!(message.purpose, Purpose::Challenge | Purpose::Check);
        if message.speaker == Role::Master
            && !is_greeting
            && let Some(client) = self.clients.get_mut(&to.ip())
        {
            let is_list = message.purpose == Purpose::List;
            client.masters.gets(from, is_list, event.exchange());
        }
        self.exchanges_ended();
    }

    /// A client sends a server a request.
    fn request(&mut self, id: Id, event: &MessageEvent<'_>) {
        let [client, server] = event.ends();
        self.log.turn(event.time());
        if !self.keeps_client(client.ip()) && !self.keeps_server(server) {
            self.parties_are_cut = true;
            return;
        }
        let challenge = event.field("challenge");
        let number = challenge.and_then(described::signed);
        let challenge_age = self.challenge_age(event, || number);
        let request = Request {
            client,
            server,
            kind: described::request_kind(event),
            protocol: id,
            frame: event.frame(),
            time: event.time(),
            challenge: number,
            challenge_age,
            length: event.length() as usize,
            is_query: asks_for_data(id, event.message().purpose),
            is_cut: event.payload().lost,
            is_wrong: event.checked().findings.iter().any(|it| is_clients_fault(&it)),
            is_optional: event.is_optional(),
        };
        let timeout = self.ledger_settings.answer_timeout;
        let key = request.key();
        self.parties_are_cut |= !self.log.request(request, timeout, self.remembered);
        self.exchanges_ended();
        // A text is none that is returned.
        let challenge = challenge.filter(|value| !matches!(value, Value::Text(_)));
        let challenge = challenge.map(|value| value.to_string());
        let client = self.client(client.ip());
        client.into_iter().for_each(|it| it.asks(event, challenge.as_deref(), key));
    }

    /// A server answers a request, at least in part. Returns the key of its exchange, if that is known.
    fn answered(&mut self, event: &MessageEvent<'_>, is_challenge: bool) -> Option<&'static str> {
        let [from, client] = event.ends();
        let (request, server, waited) = match event.reply() {
            Some(reply) => (reply.request, from, 0),
            None => {
                let query = self.query_of(event)?;
                (query.frame, query.server, event.time().since(query.time))
            }
        };
        if server != from
            && let Some(asked) = self.servers.get_mut(&server)
        {
            asked.fails_beside(client.ip(), Item::FromAsked, event.frame());
        }
        let sent = self.sent.get_mut(request, self.remembered)?.what;
        let ServerPacketKind::Request { message, protocol, kind, .. } = sent else { return None };
        // To a request for a challenge, that is the answer; and nobody can return one that is no number.
        let is_step = is_challenge
            && asks_for_data(protocol, message.purpose)
            && !event.checked().findings.iter().any(|it| is_error(&it));
        let challenge = event.field("challenge").filter(|_| is_step).and_then(described::signed);
        let key = exchange_key(protocol, kind);
        let challenge = challenge.map(|challenge| (challenge, server != from));
        let has_waited = self.log.response([client, server], key, event.time(), challenge);
        // Of one in time, a rule says so.
        if has_waited
            && waited > self.ledger_settings.answer_timeout
            && server != from
            && let Some(asked) = self.servers.get_mut(&server)
        {
            asked.responds_from(server, from, event.frame());
            asked.answers_elsewhere += u64::from(!is_challenge);
            asked.late_elsewhere = Some((waited, event.frame()));
            asked.good_of(Some(kind), Item::Answered, event.frame());
        }
        Some(key)
    }

    /// The query that a response answers, which does not say so: the client's latest one, maybe to another port of the host,
    /// or so long ago to another host that no rule connects them.
    fn query_of(&mut self, event: &MessageEvent<'_>) -> Option<LatestQuery> {
        let ([from, client], most) = (event.ends(), self.remembered);
        if let Some(query) = self.latest_query(from, client) {
            return Some(query);
        }
        if let Some(other) = self.asked.server(client, Some(from.ip()), most) {
            return self.latest_query(other, client);
        }
        let other = self.asked.server(client, None, most)?;
        let timeout = self.ledger_settings.answer_timeout;
        let query = self.latest_query(other, client);
        query.filter(|query| event.time().since(query.time) > timeout)
    }

    /// Whether a client is kept, or would be.
    fn keeps_client(&self, host: IpAddr) -> bool {
        self.clients.len() < self.most_parties || self.clients.contains_key(&host)
    }

    pub(super) fn client(&mut self, host: IpAddr) -> Option<&mut Client> {
        if self.clients.len() < self.most_parties {
            return Some(self.clients.entry(host).or_default());
        }
        let known = self.clients.get_mut(&host).map(Box::as_mut);
        self.parties_are_cut |= known.is_none();
        known
    }

    /// Counts the exchanges that have ended.
    fn exchanges_ended(&mut self) {
        for mut exchange in self.log.take() {
            if exchange.is_answered || !exchange.is_owed_nothing() {
                self.silences.add(exchange.request.time, exchange.is_answered);
            }
            let client = self.clients.get_mut(&exchange.request.client.ip());
            let may_return = client.is_some_and(|client| client.exchange(&mut exchange));
            if let Some(server) = self.servers.get_mut(&exchange.request.server)
                && server.exchange(&exchange, may_return)
            {
                let most = self.remembered / FACTS_OF_EXCHANGE;
                let ended = self.unanswered.keep(exchange, most);
                ended.into_iter().for_each(|exchange| server.pattern.add(&exchange));
            }
        }
    }

    /// No exchange goes on after the end of the capture.
    pub(super) fn end_exchanges(&mut self, end: Time) {
        self.log.finish(end, self.ledger_settings.answer_timeout, self.complete);
        self.exchanges_ended();
        let clients = &self.clients;
        self.unanswered.take().into_iter().for_each(|(address, exchanges)| {
            let asks_wrongly =
                |host: IpAddr| clients.get(&host).is_some_and(|it| it.may_ask_wrongly(address));
            if let Some(server) = self.servers.get_mut(&address) {
                server.disputed = server.pattern.with_disputed(exchanges, asks_wrongly);
            }
        });
    }

    /// Judges whether the recorder lost packets, though nothing says so.
    pub(super) fn seek_losses(&mut self, read: &Totals) {
        let ends = read.pairs.ends().into_iter();
        let connected = ends.filter(|(.., traffic)| traffic.transport == Transport::Tcp);
        connected.for_each(|(end, ..)| self.identifications.other(end.ip(), self.remembered));
        let mut servers = self.servers.iter();
        let identifications = &mut self.identifications;
        self.seems_lossy |= servers.any(|(address, server)| {
            identifications.explain(address.ip(), server.pattern.all, self.remembered)
        });
    }

    /// The results for clients and masters. `is_named`: only some servers are asked for.
    pub(super) fn other_parties(
        &mut self,
        read: &Totals,
        is_named: bool,
    ) -> (Vec<DiagnosedParty>, Vec<DiagnosedParty>) {
        let end = read.end();
        let is_lossy = self.is_lossy(read);
        let mut clients = std::mem::take(&mut self.clients);
        // A master that queries its servers is no client.
        let masters: Set<IpAddr> =
            self.servers.values().flat_map(|it| it.masters()).map(|master| master.ip()).collect();
        clients.retain(|host, _| !masters.contains(host) && !self.masters.contains_key(host));
        let filtered = self.filtered(&clients);
        let serves = |master: SocketAddr, span: [Time; 2]| {
            let services = self.masters.get(&master.ip()).into_iter().flatten();
            services.into_iter().any(|it| it.serves(master.port(), span))
        };
        clients.iter_mut().for_each(|(host, client)| {
            let pattern = |server: &SocketAddr| self.servers.get(server).map(|it| &it.pattern);
            client.doubt_only(|server| self.complete || self.is_heard(server.ip(), read));
            let is_filtered = |server: &SocketAddr| filtered.contains(server);
            let explains = |server: &SocketAddr| {
                let server = self.servers.get(server);
                server.is_some_and(|server| {
                    let readable = server.fact(Item::Readable);
                    server.fact(Item::NotAttacked).run > 0
                        || server.responses_elsewhere > 0
                        || readable.good == 0 && readable.run > 0
                })
            };
            client.conclude(*host, pattern, is_filtered, explains, is_lossy);
            client.masters.finish(end, self.ledger_settings.answer_timeout, self.complete);
            client.conclude_lists(*host, serves, is_lossy);
        });
        self.without_responses(&mut clients);
        let mut hosts: Vec<_> = clients.iter_mut().collect();
        hosts.sort_by_key(|(host, _)| **host);
        let mut found = Vec::new();
        for (host, client) in hosts {
            let mut items = client.items.verdicts(&client::ITEMS);
            let answers = items.iter_mut().find(|it| it.item == Item::GetsAnswers);
            answers.into_iter().for_each(|it| it.span = client.silence);
            let party = DiagnosedParty {
                address: host.to_string(),
                role: Role::Client,
                protocol: None,
                library: client.library,
                items,
            };
            // That others are answered, and it is not, is no fault of its requests.
            let is_no = |it: &ItemVerdict| it.met == Met::No && it.item != Item::GetsAnswers;
            if let Some(no) = party.items.iter().find(|it| is_no(it)) {
                self.faulty.insert(*host, client.faults(no.cause));
            } else if client.is_mended {
                self.faulty.insert(*host, client.faults(None));
            }
            found.push(party);
        }
        let mut masters = self.diagnosed_masters(read, is_lossy);
        if is_named {
            (found, masters) = (Vec::new(), Vec::new());
        }
        found.sort_by_cached_key(DiagnosedParty::outcome);
        masters.sort_by_cached_key(DiagnosedParty::outcome);
        (found, masters)
    }

    /// The servers whose challenges come to several clients, none of which returns one.
    fn filtered(&mut self, clients: &Map<IpAddr, Box<Client>>) -> Vec<SocketAddr> {
        let mut filtered = Vec::new();
        let everywhere = &self.everywhere;
        self.servers.iter_mut().for_each(|(address, server)| {
            let left = server.left_by.iter();
            let never = left.filter(|host| {
                clients.get(*host).is_some_and(|client| !client.returns_challenges())
            });
            let count = never.count() as u64;
            let is_filtered = count >= NO_ACCIDENT
                && count == server.left_by.len() as u64
                && server.returned == 0
                // Nothing in front of the server hides what is recorded where it is sent.
                && server.position(address.ip(), everywhere) != CapturePosition::Client;
            if is_filtered {
                let challenges = server.left;
                let values: [(_, &dyn Display); 2] =
                    [("clients", &grouped(count)), ("challenges", &grouped(challenges))];
                let why =
                    Failure::with(&causes::answers::CHALLENGE_FILTERED, server.left_frame, &values);
                server.fact_mut(Item::Verified).fails_by(vec![why]);
                filtered.push(*address);
            }
        });
        filtered
    }
}

impl Server {
    /// An exchange with it has ended. `may_return`: the client may have returned the challenge in a request that was cut.
    /// Returns whether it counts.
    fn exchange(&mut self, exchange: &Exchange, may_return: bool) -> bool {
        self.astray += u64::from(exchange.goes_astray());
        self.owed_nothing += u64::from(exchange.is_owed_nothing() && !exchange.goes_astray());
        let frame = exchange.request.frame;
        if exchange.is_challenged_again && !exchange.is_answered {
            let kind = exchange.request.kind;
            let new = || ChallengeLoops { kind, times: 0, frame };
            let loops = find_or_add(&mut self.loops, server::KINDS, |it| it.kind == kind, new);
            if let Some(loops) = loops {
                (loops.times, loops.frame) = (loops.times + 1, frame);
            }
        }
        if exchange.is_challenged_twice {
            self.doubly_challenged = (self.doubly_challenged.0 + 1, frame);
        }
        if exchange.goes_astray() {
            for item in [Item::Verified, Item::Answered] {
                let fact = self.fact_mut(item);
                if fact.good == 0 && fact.run == 0 {
                    fact.open_by(Failure::with(&causes::clients::CHALLENGE_ASTRAY, frame, &[]));
                }
            }
            return false;
        }
        if exchange.is_left_by_client() {
            self.left += 1;
            self.left_frame = exchange.request.frame;
            if may_return {
                self.left_perhaps += 1;
            } else if self.left_by.len() < Server::LEFT_BY {
                self.left_by.insert(exchange.request.client.ip());
            }
            return false;
        }
        self.returned += u64::from(exchange.is_challenged());
        // Who answers queries may not know requests for a challenge; a rule says where it must.
        let is_optional = !exchange.request.is_query && self.pattern.all.answered > 0
            || exchange.request.is_optional;
        if exchange.is_answered || !is_optional && !exchange.is_owed_nothing() {
            return true;
        }
        if is_optional && let Some(kind) = self.kind(exchange.request.kind) {
            kind.optional += 1;
        }
        false
    }
}
