//! What ICMP errors about responses mean for a server, and for its clients.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Cause, Item, Map, causes};

use crate::diagnose::Diagnosis;
use crate::diagnose::client::Client;
use crate::diagnose::exchanges::pattern::client_unanswered;
use crate::diagnose::facts::{Failure, NO_ACCIDENT, is_too_much};
use crate::diagnose::server::Server;
use crate::diagnose::server::refused_responses::Pair;
use crate::session::{ExchangeCounts, IcmpEvent};

impl Diagnosis {
    /// Whether what is sent between these ends is a response: a client has asked.
    pub(in crate::diagnose) fn is_response(&self, [from, to]: [SocketAddr; 2]) -> bool {
        self.servers.get(&from).is_some_and(|server| server.clients.contains(&to.ip()))
    }

    /// An ICMP error quotes a response. That a client has gone, or closed its port, is no fault of anybody.
    pub(in crate::diagnose) fn response_refused(
        &mut self,
        error: &IcmpEvent,
        cause: &'static Cause,
    ) {
        let is_clients_port = error.from == error.ends[1].ip() && cause == &causes::ICMP_PORT;
        if is_clients_port {
            return;
        }
        if let Some(server) = self.servers.get_mut(&error.ends[0]) {
            let sent = server.fact(Item::FromAsked).good;
            server.refused.add(error, sent);
        }
    }

    /// Clients to which responses are sent that do not get them.
    pub(in crate::diagnose) fn without_responses(&self, clients: &mut Map<IpAddr, Box<Client>>) {
        let servers = self.servers.iter().filter(|(_, server)| !server.refused.pairs.is_empty());
        let mut servers = Vec::from_iter(servers);
        servers.sort_unstable_by_key(|(address, _)| **address);
        for (address, server) in servers {
            let is_general = server.refused_to_all().is_some();
            for pair in &server.refused.pairs {
                if let Some(client) = clients.get_mut(&pair.client) {
                    client.gets_none(*address, pair, is_general || server.clients.len() < 2);
                }
            }
        }
    }
}

impl Client {
    /// Responses of a server to it are refused. `is_general`: those to others are, too.
    fn gets_none(&mut self, server: SocketAddr, pair: &Pair, is_general: bool) {
        let why = pair.failure(pair.times, pair.times);
        let challenge = self.items.fact(Item::ReturnsChallenge);
        let is_astray = challenge
            .open
            .as_ref()
            .is_some_and(|open| open.cause == &causes::clients::CHALLENGE_ASTRAY);
        if is_astray {
            challenge.open_by(why.clone());
        }
        let answered = self.items.fact(Item::GetsAnswers);
        if pair.times < NO_ACCIDENT || !is_too_much(pair.times, pair.times.max(answered.good)) {
            return;
        }
        if is_general {
            answered.doubt(vec![pair.frame], why);
            return;
        }
        let counts = ExchangeCounts { asked: pair.times, answered: 0 };
        let mut unanswered = client_unanswered(pair.client, Some(server), counts, pair.frame);
        unanswered.text += &format!("; {} says: {}", pair.by, pair.meaning);
        answered.fails_by(vec![unanswered]);
    }
}

impl Server {
    /// Who refuses its responses to its clients. Those to forged addresses of an attack are refused anywhere.
    fn refused_to_all(&self) -> Option<Failure> {
        if self.fact(Item::NotAttacked).run > 0 {
            return None;
        }
        let first = self.refused.for_several()?;
        self.refused.failure(self.fact(Item::FromAsked).good, first)
    }

    /// Whether its clients get what it sends them, as ICMP errors say. Returns whether that is known.
    pub(in crate::diagnose) fn reaches_nobody(&mut self) -> bool {
        if let Some(why) = self.refused_to_all() {
            self.fact_mut(Item::Answered).fails_by(vec![why.clone()]);
            self.is_not_verified(why);
            return true;
        }
        // Of its only client, the error may be that one's matter.
        let all = self.fact(Item::FromAsked).good;
        let only = self.refused.pairs.iter().find(|pair| pair.by != pair.client);
        let only = only.filter(|_| self.clients.len() == 1);
        let Some(why) = only.and_then(|pair| self.refused.failure(all, pair)) else { return false };
        self.fact_mut(Item::Answered).doubt(vec![why.frame], why.clone());
        self.is_not_verified(why);
        true
    }

    /// Whether it accepts its challenges is not known, unless it is.
    fn is_not_verified(&mut self, why: Failure) {
        let verified = self.fact_mut(Item::Verified);
        if verified.good == 0 {
            verified.open_by(why);
        }
    }
}
