//! Servers that never respond, for NET012 and NET014.
//!
//! The requests that count are those that rules require a response to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Evidence, Map, Mark, Rule, Set, Time};
use dissectors::ledger::NO_ACCIDENT;
use dissectors::net_rules::{NET012, NET014};
use serde::{Deserialize, Serialize};

use crate::session::{FlowContext, OtherHosts, PROBE, ProbedPorts};

/// Requests by server.
#[derive(Clone, Serialize, Deserialize)]
pub struct Requests {
    servers: Map<SocketAddr, AskedServer>,
    /// The server that responded last, which most likely responds next, too.
    latest: Option<(SocketAddr, Option<Id>)>,
    /// Hosts that sent masters messages: they are in the recording.
    heard: Set<IpAddr>,
    /// Results that are proven if the server is heard in any flow: by server and rule.
    unheard: Map<SocketAddr, Vec<UnheardResults>>,
    /// Maximum number of servers.
    most: usize,
    /// There were more servers.
    pub is_full: bool,
    /// There were more requests without a response.
    pub is_cut: bool,
}

/// The requests to one server.
#[derive(Clone, Serialize, Deserialize)]
enum AskedServer {
    /// `only`: in no other protocol.
    Responds { only: Option<Id> },
    /// Without a response. Boxed, because most servers respond.
    Silent(Box<UnansweredRequests>),
}

/// Broken rules, if the server is heard.
#[derive(Clone, Serialize, Deserialize)]
struct UnheardResults {
    rule: &'static Rule,
    /// The protocol of the requests.
    asked: Option<Id>,
    /// One of the clients.
    client: IpAddr,
    times: u64,
}

/// Requests that were not answered.
#[derive(Clone, Serialize, Deserialize)]
struct UnansweredRequests {
    requests: u64,
    /// The number of them with an ICMP error.
    refused: u64,
    /// The number of them after which the capture continues for long enough.
    waited: u64,
    /// The number of them to which no response can come any more, for either reason.
    settled: u64,
    /// The recording lost packets near one of them.
    lossy: bool,
    /// The server sent other packets to one of the clients.
    heard: bool,
    /// The hosts that sent them, up to one more than [`Requests::CLIENTS`], each with the time of its first one.
    clients: Vec<(IpAddr, Time)>,
    /// The latest one, with sender, receiver and protocol.
    mark: Mark,
    client: SocketAddr,
    server: SocketAddr,
    protocol: Option<Id>,
    digits: u8,
}

/// A server, or all servers, that did not respond although a rule requires it.
pub struct Unanswered {
    /// The rule.
    pub rule: &'static Rule,
    /// The server.
    pub server: SocketAddr,
    /// The sender of the latest request.
    pub client: SocketAddr,
    /// That request.
    pub mark: Mark,
    /// Its protocol.
    pub protocol: Option<Id>,
    /// Number of digits of a second in the capture's times: 6 or 9.
    pub digits: u8,
    /// The evidence.
    pub evidence: Evidence,
    /// The number of requests, as text.
    pub detail: String,
}

/// A server that did not answer, and is heard in other flows.
pub struct HeardServer {
    /// The server.
    pub server: SocketAddr,
    /// The rules that require responses, and how many results of each are proven by that.
    pub rules: Vec<(&'static Rule, u64)>,
}

/// The results for all requests.
#[derive(Default)]
pub struct RequestReview {
    /// Servers, or all of them together, that never responded.
    pub unanswered: Vec<Unanswered>,
    /// Servers that responded, in no order: each passes NET014, all together pass NET012.
    pub answering: Vec<SocketAddr>,
    /// Servers that are heard elsewhere than where they do not answer, in no order.
    pub heard: Vec<HeardServer>,
}

impl Requests {
    /// Limit: servers whose answered requests are counted | {}, if `remembered` is not less | NET011 as `remembered`;
    /// NET012 and NET014 are not checked
    const MOST: usize = 1 << 16;
    /// Maximum number of clients of a port that is no server: so many do not look for one in the same place.
    const CLIENTS: usize = 8;

    /// Empty, with this maximum number of servers.
    pub fn new(most: usize) -> Requests {
        Requests {
            servers: Map::default(),
            latest: None,
            heard: Set::default(),
            unheard: Map::default(),
            most: most.min(Requests::MOST),
            is_full: false,
            is_cut: false,
        }
    }

    /// A server responded to a request in this protocol.
    #[inline]
    pub fn responds(&mut self, server: SocketAddr, protocol: Option<Id>) {
        let latest = Some((server, protocol));
        if self.latest != latest {
            self.latest = latest;
            self.put(server, AskedServer::Responds { only: protocol });
        }
    }

    /// A server sent a master a message.
    pub fn hears(&mut self, server: IpAddr) {
        if self.heard.len() < self.most {
            self.heard.insert(server);
        }
    }

    /// Whether messages of this host to masters were recorded, as far as that was kept.
    pub fn is_heard(&self, host: IpAddr) -> bool {
        self.is_full || self.heard.contains(&host)
    }

    /// The hosts that responded.
    pub fn responding(&self) -> Set<IpAddr> {
        let responds = |it: &AskedServer| matches!(it, AskedServer::Responds { .. });
        let servers = self.servers.iter().filter(|(_, it)| responds(it));
        servers.map(|(server, _)| server.ip()).collect()
    }

    /// A request, which the mark identifies, has no response in the capture. `if_heard`: this rule is broken for certain
    /// if the server is heard in any flow.
    pub fn unanswered(
        &mut self,
        flow_context: &FlowContext,
        evidence: Evidence,
        mark: &Mark,
        if_heard: Option<&'static Rule>,
    ) {
        let [client, server] = flow_context.flow.ends_from(mark.side);
        if let Some(rule) = if_heard {
            let asked = flow_context.protocol;
            self.unheard(server, UnheardResults { rule, asked, client: client.ip(), times: 1 });
        }
        let silence = UnansweredRequests {
            requests: 1,
            refused: u64::from(evidence.refused),
            waited: u64::from(evidence.waited),
            settled: u64::from(evidence.refused || evidence.waited),
            heard: evidence.asked_party_seen,
            lossy: evidence.lossy || evidence.lost || flow_context.flow.lossy,
            clients: vec![(client.ip(), mark.time)],
            mark: *mark,
            client,
            server,
            protocol: flow_context.protocol,
            digits: flow_context.digits,
        };
        match self.servers.get_mut(&server) {
            Some(AskedServer::Silent(before)) => **before = before.and(&silence),
            Some(AskedServer::Responds { .. }) => {}
            None => self.put(server, AskedServer::Silent(Box::new(silence))),
        }
    }

    fn unheard(&mut self, server: SocketAddr, more: UnheardResults) {
        if self.unheard.len() >= self.most && !self.unheard.contains_key(&server) {
            return;
        }
        let results = self.unheard.entry(server).or_default();
        match results.iter_mut().find(|known| known.rule == more.rule) {
            Some(known) => {
                known.times += more.times;
                known.client = known.client.min(more.client);
            }
            None => results.push(more),
        }
    }

    fn put(&mut self, server: SocketAddr, more: AskedServer) {
        if let Some(known) = self.servers.get_mut(&server) {
            known.add(more);
        } else if self.servers.len() < self.most {
            self.servers.insert(server, more);
        } else {
            self.is_full = true;
        }
    }

    /// Adds the counts of other flows.
    pub(in crate::session) fn join(&mut self, other: Requests) {
        self.is_full |= other.is_full;
        self.is_cut |= other.is_cut;
        self.heard.extend(other.heard);
        for (server, more) in BTreeMap::from_iter(other.servers) {
            self.put(server, more);
        }
        for (server, results) in BTreeMap::from_iter(other.unheard) {
            results.into_iter().for_each(|results| self.unheard(server, results));
        }
    }

    /// Who answers in another protocol than it is asked in owes nothing.
    fn excuse(&mut self) {
        let servers = &self.servers;
        self.unheard.retain(|server, results| {
            if let Some(AskedServer::Responds { only: Some(only) }) = servers.get(server) {
                results.retain(|results| results.asked.is_none_or(|asked| asked == *only));
            }
            !results.is_empty()
        });
    }

    /// The results, if these hosts are in the recording; empty if there were too many servers. With
    /// `lossy`, packets between unknown hosts are missing.
    pub fn review(
        &mut self,
        heard: &OtherHosts,
        probed: &ProbedPorts,
        complete: bool,
        lossy: bool,
    ) -> RequestReview {
        let (count, mut review) = (self.servers.len(), RequestReview::default());
        if self.is_full {
            return review;
        }
        self.excuse();
        // Most servers respond and need not be sorted.
        let mut silent = BTreeMap::new();
        review.answering = std::mem::take(&mut self.servers)
            .into_iter()
            .filter_map(|(server, it)| match it {
                AskedServer::Responds { .. } => Some(server),
                AskedServer::Silent(silence) => {
                    silent.insert(server, silence);
                    None
                }
            })
            .collect();
        let is_needed = !silent.is_empty() || !self.unheard.is_empty();
        let hosts = if is_needed { &review.answering[..] } else { &[] };
        let hosts: Set<_> = hosts.iter().map(SocketAddr::ip).collect();
        let of_requests = &self.heard;
        let is_heard =
            |host| hosts.contains(&host) || heard.contains(host) || of_requests.contains(&host);
        if !lossy {
            // Where nothing goes both ways, the recorder may see one direction alone: one or two requests prove nothing then.
            let asked = self.unheard.iter().flat_map(|(server, results)| {
                results.iter().map(|results| [results.client, server.ip()])
            });
            let sees_both_ways = !hosts.is_empty() || heard.has_both_ways(asked);
            let unheard = std::mem::take(&mut self.unheard).into_iter();
            let of_heard = unheard.filter(|(server, results)| {
                let times: u64 = results.iter().map(|results| results.times).sum();
                (sees_both_ways || times >= NO_ACCIDENT) && is_heard(server.ip())
            });
            review.heard.extend(of_heard.map(|(server, results)| HeardServer {
                server,
                rules: results.into_iter().map(|results| (results.rule, results.times)).collect(),
            }));
        }
        leave_out_probes(&mut silent, &hosts, probed);
        let mut all: Option<UnansweredRequests> = None;
        let mut any_is_proven = false;
        let least = if self.is_cut { "at least " } else { "" };
        for (server, silence) in silent {
            let is_heard = silence.heard || is_heard(server.ip());
            let is_proven = silence.is_proven(is_heard, complete, lossy);
            any_is_proven |= is_proven;
            review.unanswered.push(silence.broken(&NET014, is_proven, 1, least));
            all = Some(all.map_or_else(|| *silence.clone(), |all| all.and(&silence)));
        }
        if let Some(all) = all.filter(|_| review.answering.is_empty()) {
            // One proven missing response shows that responses would be in the recording.
            let is_proven = any_is_proven && (complete || all.is_settled());
            let nothing = all.broken(&NET012, is_proven, count, least);
            review.unanswered.insert(0, nothing);
        }
        review
    }
}

impl AskedServer {
    fn add(&mut self, more: AskedServer) {
        match (&mut *self, more) {
            (AskedServer::Silent(silence), AskedServer::Silent(more)) => {
                **silence = silence.and(&more)
            }
            (AskedServer::Responds { only }, AskedServer::Responds { only: more }) => {
                *only = only.filter(|known| more == Some(*known));
            }
            (_, responds @ AskedServer::Responds { .. }) => *self = responds,
            (AskedServer::Responds { .. }, AskedServer::Silent(_)) => {}
        }
    }
}

impl UnansweredRequests {
    /// The sum of both, independent of the order.
    fn and(&self, other: &UnansweredRequests) -> UnansweredRequests {
        let latest = [self, other].into_iter().max_by_key(|it| (it.mark.time, it.mark.frame));
        UnansweredRequests {
            requests: self.requests + other.requests,
            refused: self.refused + other.refused,
            waited: self.waited + other.waited,
            settled: self.settled + other.settled,
            lossy: self.lossy || other.lossy,
            heard: self.heard || other.heard,
            clients: self.clients_with(other),
            ..*latest.unwrap_or(self)
        }
    }

    fn clients_with(&self, other: &UnansweredRequests) -> Vec<(IpAddr, Time)> {
        let mut clients = self.clients.clone();
        for &(client, first) in &other.clients {
            let has_room = clients.len() <= Requests::CLIENTS;
            match clients.iter_mut().find(|known| known.0 == client) {
                Some(known) => known.1 = known.1.min(first),
                None if has_room => clients.push((client, first)),
                None => {}
            }
        }
        clients
    }

    /// Whether no response can come any more: to all of them, or to so many that the others are no accident either.
    fn is_settled(&self) -> bool {
        self.settled == self.requests || self.settled >= NO_ACCIDENT
    }

    /// Whether nothing that is missing from the capture may explain it.
    fn is_proven(&self, is_heard: bool, complete: bool, lossy: bool) -> bool {
        let has_waited = self.waited >= NO_ACCIDENT && is_heard;
        let is_refused = self.refused > 0 && self.is_settled();
        is_refused || !self.lossy && !lossy && (complete || has_waited)
    }

    fn broken(
        &self,
        rule: &'static Rule,
        is_proven: bool,
        servers: usize,
        least: &str,
    ) -> Unanswered {
        let of = |count: u64, what: &str| {
            let (plural, verb) = if count == 1 { ("", "was") } else { ("s", "were") };
            format!("{count} {what}{plural} {verb}")
        };
        let to = if servers == 1 { String::new() } else { format!(" to {servers} servers") };
        let mut detail = match self.requests {
            1 if least.is_empty() => "the only request was not answered".to_owned(),
            requests => format!("none of {least}{requests} requests{to} was answered"),
        };
        if self.refused > 0 {
            detail += &format!("; {} refused by an ICMP error", of(self.refused, "request"));
        }
        let evidence = Evidence {
            lossy: !is_proven,
            waited: is_proven,
            asked_party_seen: is_proven,
            refused: is_proven && self.refused > 0,
            ..Evidence::default()
        };
        let UnansweredRequests { client, server, mark, protocol, digits, .. } = *self;
        Unanswered { rule, server, client, mark, protocol, digits, evidence, detail }
    }
}

/// Ports that each of their clients probes are no servers if another port of the host answers. `answering`: the hosts that
/// answer.
fn leave_out_probes(
    silent: &mut BTreeMap<SocketAddr, Box<UnansweredRequests>>,
    answering: &Set<IpAddr>,
    probed: &ProbedPorts,
) {
    let may_be_probed = |server: &SocketAddr, silence: &UnansweredRequests| {
        silence.clients.len() <= Requests::CLIENTS && answering.contains(&server.ip())
    };
    silent.retain(|server, silence| {
        !(may_be_probed(server, silence) && probed.is_probed(*server, silence.requests))
    });
    let mut asked: Map<_, Vec<_>> = Map::default();
    for (server, silence) in silent.iter() {
        if may_be_probed(server, silence) {
            for &(client, first) in &silence.clients {
                asked.entry((client, server.ip())).or_default().push((first, *server));
            }
        }
    }
    // The number of clients that probe a port.
    let mut probing: Map<SocketAddr, usize> = Map::default();
    for mut ports in asked.into_values() {
        ports.sort_unstable();
        for near in ports.chunk_by(|(one, _), (next, _)| next.since(*one) <= PROBE) {
            if near.len() > 1 {
                near.iter().for_each(|(_, server)| *probing.entry(*server).or_default() += 1);
            }
        }
    }
    silent.retain(|server, silence| probing.get(server) != Some(&silence.clients.len()));
}

#[cfg(test)]
mod tests;
