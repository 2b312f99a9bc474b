//! Diagnoses why players see a server or not.
//!
//! The conditions are a list in the order in which they must be met; each protocol defines which of
//! them apply to its servers, and which rules show that one is not met. Messages show successes,
//! findings show failures; at the end the latest of both counts.

mod client;
mod exchanges;
mod facts;
mod hosts;
mod joining;
mod master;
mod parties;
mod recording;
mod registration;
mod results;
mod server;
mod signs;
mod verdicts;

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use dissectors::Id;
use dissectors::kit::{
    CrossFlowEvent, Finding, Item, Map, Masters, Message, Purpose, RecentMap, Role, Rule, RuleSet,
    Set, Severity, Time, Verdict, causes,
};
use dissectors::ledger::LedgerSettings;

use crate::abuse::Abuse;
use crate::check::{Checker, Selection};
use crate::session::{
    Datagrams, Event, FieldLimits, Findings, MessageEvent, Messages, Needs, Passes, ProbedPorts,
};
use crate::summary::described;

use client::Client;
use client::faults::ClientFaults;
use exchanges::ExchangeLog;
use exchanges::latest_queries::LatestQueries;
use exchanges::pattern::{CommonSilences, Unanswered};
use facts::Failure;
use facts::item_set::ItemSet;
use hosts::game_ports::GameMessages;
use hosts::nat::Translations;
use joining::lists::Lists;
use master::Master;
use recording::CommonHosts;
use recording::identifications::Identifications;
use recording::latest_packets::LatestPackets;
use registration::is_of_registration;
use server::Server;
use server::other_answers::UnreadDatagram;
use server::repeated_answers::RepeatedAnswers;
use server::sizes::Responded;
use signs::rules_of;

pub use facts::FirstFrames;
pub use hosts::Broadcast;
pub use recording::CapturePosition;
pub use signs::concerns;
pub use verdicts::{
    DiagnosedParty, DiagnosedServer, Diagnoses, ItemVerdict, LeftOut, Met, Outcome, Situation,
};

/// Bytes of memory per server.
const BYTES_OF_SERVER: usize = 1 << 14;

/// Bytes of memory per client, or per master.
const BYTES_OF_PARTY: usize = 1 << 12;

/// Bytes of memory per listed server, or per remembered packet.
const BYTES_OF_FACT: usize = 1 << 7;

/// As many facts take as much memory as an exchange.
const FACTS_OF_EXCHANGE: usize = 4;

/// Servers of the host that the user asks about, for which there is room when there is none for others.
const PORTS_OF_WANTED: usize = 64;

/// The rules that a heartbeat on time passes.
static ON_TIME: LazyLock<RuleSet> = LazyLock::new(|| rules_of(Item::Heartbeats).collect());

/// The rules that a master passes only with a server that it has accepted.
static ACCEPTING: LazyLock<RuleSet> = LazyLock::new(|| accepting().collect());

/// The rules that a master passes that probes a server and is answered.
static PROBING: LazyLock<RuleSet> = LazyLock::new(|| rules_of(Item::ProbeBack).collect());

/// All of these, and those that prove that a server's response to a challenge is right.
static SHOWN: LazyLock<RuleSet> = LazyLock::new(|| {
    let proofs = Id::ALL.iter().filter_map(|id| id.info().diagnosis.proof);
    let of_items = [Item::Heartbeats, Item::ProbeBack].into_iter().flat_map(rules_of);
    of_items.chain(accepting()).chain(proofs).collect()
});

/// The rules that a master passes only with a server that it has accepted.
fn accepting() -> impl Iterator<Item = &'static Rule> {
    Id::ALL.iter().filter_map(|id| id.info().diagnosis.accepts)
}

/// Reads the events of a capture, and diagnoses its servers.
pub struct Diagnosis {
    /// In boxes: they are large, and a map moves what it holds when it grows.
    servers: Map<SocketAddr, Box<Server>>,
    /// The servers of each host, for messages without a port.
    hosts: Map<IpAddr, Host>,
    most: usize,
    /// Addresses of servers for which there was no room, up to a maximum.
    left_out: Set<SocketAddr>,
    /// The server that the user asks about, for which there always is: its address, and its port if known.
    wanted: Option<(IpAddr, Option<u16>)>,
    /// The servers by the addresses from which they send to masters.
    aliases: RecentMap<SocketAddr, SocketAddr>,
    lists: Lists,
    game_messages: GameMessages,
    /// The senders and purposes of packets.
    sent: LatestPackets<ServerPacket>,
    asked: LatestQueries,
    /// The latest datagram, if it is no message so far.
    unread: Option<UnreadDatagram>,
    /// The challenges of clients by servers, with the kind of request; `None`: the client had
    /// requested the challenge itself, and any further request needs it.
    challenged: RecentMap<[SocketAddr; 2], Option<&'static str>>,
    /// The latest challenge that each server gave a client's host: it may come back from another port.
    given: RecentMap<(IpAddr, SocketAddr), (i64, Time)>,
    responded: Responded,
    repeated: RepeatedAnswers,
    /// The exchanges that have not ended.
    log: ExchangeLog,
    /// Those that have ended without an answer.
    unanswered: Unanswered,
    silences: CommonSilences,
    /// Hosts that ask servers, in boxes as servers are.
    clients: Map<IpAddr, Box<Client>>,
    /// Masters that clients ask for lists: by host, the service in each protocol.
    masters: Map<IpAddr, Vec<Master>>,
    /// Clients that ask several hosts, as is known at the end.
    ask_several: Set<IpAddr>,
    /// Clients whose requests are wrong.
    faulty: Map<IpAddr, ClientFaults>,
    /// Two servers of each host that answer, or twice the only one.
    answering: Map<IpAddr, [SocketAddr; 2]>,
    /// Addresses that certainly belong to a server: it answers there, or registers.
    taken: Set<SocketAddr>,
    /// Maximum number of clients, and of masters.
    most_parties: usize,
    /// There were too many, or too many requests waited at a time.
    parties_are_cut: bool,
    /// Ports of hosts that are no servers of their own, by the server to which they belong.
    probed: BTreeMap<SocketAddr, Vec<SocketAddr>>,
    /// Which ports were asked shortly before or after others of their host.
    near_others: ProbedPorts,
    /// Addresses of several hosts, with the requests to each and the servers that answered.
    broadcasts: Vec<Broadcast>,
    /// The broadcast that each client sent last: to this port, and to any.
    broadcast_by: RecentMap<(SocketAddr, Option<u16>), SocketAddr>,
    translations: Translations,
    identifications: Identifications,
    /// What is missing from exchanges, or from the numbers of datagrams, shows that the recorder lost packets.
    seems_lossy: bool,
    /// Maximum number of packets.
    remembered: usize,
    everywhere: CommonHosts,
    /// Hosts that sent messages, and those that got some.
    speakers: Set<IpAddr>,
    receivers: Set<IpAddr>,
    /// Masters that have challenged some server.
    challengers: Set<SocketAddr>,
    /// Where masters send challenges for joins that are not in the capture.
    challenged_unseen: Set<SocketAddr>,
    /// Whose latest TCP connection was refused at an address, and how.
    refused: RecentMap<SocketAddr, (IpAddr, Failure)>,
    /// Measures attacks.
    abuse: Option<Abuse>,
    /// Checks the rules that only all flows together can break.
    checker: Checker,
    ledger_settings: LedgerSettings,
    /// The user states that the capture is complete.
    complete: bool,
    /// The capture is of a probe.
    of_probe: bool,
}

/// The servers of one host.
struct Host {
    /// The first one.
    server: SocketAddr,
    /// There are more.
    has_more: bool,
    /// A packet of a response with a lost fragment, if the server that sent it is unknown.
    lost: Option<u64>,
}

/// A packet to a server, or of one.
#[derive(Clone, Copy)]
struct ServerPacket {
    server: SocketAddr,
    what: ServerPacketKind,
}

#[derive(Clone, Copy)]
enum ServerPacketKind {
    /// A client's request. `follows`: it uses a challenge from this server, and no ICMP error says that
    /// the request did not arrive.
    Request { message: &'static Message, protocol: Id, kind: &'static str, follows: bool },
    /// A message to this master.
    Join { master: IpAddr },
    /// A response to a request of this kind.
    Response { to: Option<&'static str> },
    /// What may be a part of a response to this packet.
    Part { request: u64 },
}

/// What a message shows of a server.
#[derive(Clone, Copy, Default)]
struct Shown {
    /// The conditions that are met.
    items: ItemSet,
    /// The kind of the request that it answers.
    kind: Option<&'static str>,
    /// It is a response that meets all conditions that can be known by it.
    is_right: bool,
}

impl Diagnosis {
    /// A new one with this memory limit in bytes.
    pub fn new(bytes: usize, ledger_settings: LedgerSettings, complete: bool) -> Diagnosis {
        Diagnosis {
            servers: Map::default(),
            hosts: Map::default(),
            most: (bytes / 2 / BYTES_OF_SERVER).max(16),
            left_out: Set::default(),
            wanted: None,
            aliases: RecentMap::default(),
            lists: Lists::new(bytes / 8 / BYTES_OF_FACT),
            game_messages: GameMessages::default(),
            sent: LatestPackets::default(),
            asked: LatestQueries::default(),
            unread: None,
            challenged: RecentMap::default(),
            given: RecentMap::default(),
            responded: Responded::default(),
            repeated: RepeatedAnswers::default(),
            log: ExchangeLog::default(),
            unanswered: Unanswered::default(),
            silences: CommonSilences::default(),
            clients: Map::default(),
            masters: Map::default(),
            ask_several: Set::default(),
            faulty: Map::default(),
            answering: Map::default(),
            taken: Set::default(),
            most_parties: (bytes / 8 / BYTES_OF_PARTY).max(16),
            parties_are_cut: false,
            probed: BTreeMap::new(),
            near_others: ProbedPorts::default(),
            broadcasts: Vec::new(),
            broadcast_by: RecentMap::default(),
            translations: Translations::default(),
            identifications: Identifications::default(),
            seems_lossy: false,
            remembered: (bytes / 16 / BYTES_OF_FACT).max(16),
            everywhere: CommonHosts::default(),
            speakers: Set::default(),
            receivers: Set::default(),
            challengers: Set::default(),
            challenged_unseen: Set::default(),
            refused: RecentMap::default(),
            abuse: None,
            checker: Checker::new(Selection::default(), ledger_settings, complete),
            ledger_settings,
            complete,
            of_probe: false,
        }
    }

    /// This diagnosis, with what attacks this finds.
    pub fn with_attacks(self, abuse: Abuse) -> Diagnosis {
        Diagnosis { abuse: Some(abuse), ..self }
    }

    /// This diagnosis, with results only for servers with this address and port, which are kept even if there are more servers
    /// than fit into memory. One that is named with its port has a result even if nothing is known about it.
    pub fn of_server(self, wanted: Option<(IpAddr, Option<u16>)>) -> Diagnosis {
        Diagnosis { wanted, ..self }
    }

    /// The capture is of a probe, which is the only client, and asks for no registration: neither is judged. A `master`
    /// that it asks is judged, whether it says anything or not.
    pub fn of_probe(self, master: Option<(Id, SocketAddr)>) -> Diagnosis {
        let mut diagnosis = Diagnosis { of_probe: true, ..self };
        if let Some((id, address)) = master {
            diagnosis.masters.insert(address.ip(), vec![Master::probed(id, address)]);
        }
        diagnosis
    }

    /// Whether the user asks about this address.
    fn is_wanted(&self, address: &SocketAddr) -> bool {
        self.wanted.is_some_and(|(ip, port)| {
            ip == address.ip() && port.is_none_or(|port| port == address.port())
        })
    }

    /// The events that it needs.
    pub fn needs(ledger_settings: &LedgerSettings) -> Needs {
        Needs {
            messages: Messages::All,
            findings: Findings::All { in_words: true },
            passes: Passes::Of(&SHOWN),
            icmp: true,
            servers: true,
            refusals: true,
            cross_flow: true,
            flows: true,
            hosts: true,
            pairs: true,
            datagrams: Datagrams::Beside,
            ..Needs {
                fields: Some(FieldLimits::of_parties()),
                ..Checker::needs(&Selection::default(), ledger_settings)
            }
        }
    }

    /// The next event of the capture.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Datagram(datagram) if datagram.headers.is_copy => {
                return self.abuse.iter_mut().for_each(|abuse| abuse.event(event));
            }
            Event::Datagram(datagram) => {
                if let Some(abuse) = &mut self.abuse {
                    let protocol = abuse.datagram(datagram);
                    self.datagram(datagram, protocol);
                }
            }
            Event::Icmp(_) | Event::CrossFlow(_) => {
                self.abuse.iter_mut().for_each(|abuse| abuse.event(event));
            }
            _ => {}
        }
        if let Event::CrossFlow(it) = event
            && let CrossFlowEvent::Translated(original) = it.event
        {
            return self.translations.see(&it.basis, original);
        }
        if self.translations.is_copy(event) {
            return;
        }
        match event {
            Event::Message(message) => self.message(message),
            Event::Checked(it) => {
                for finding in it.checked().findings {
                    self.finding(finding, it.context(), None);
                }
                self.probed_unseen(it.context(), it.checked().passes);
            }
            Event::CrossFlow(it) if it.event == CrossFlowEvent::Refused => {
                let seen = it.basis.seen;
                let values: [(_, &dyn Display); 2] =
                    [("master", &seen.from), ("from", &seen.to.ip())];
                let why = Failure::with(&causes::TCP_REFUSED, seen.mark.frame, &values);
                self.connection_fails([seen.to, seen.from], why);
            }
            Event::CrossFlow(_) => self.checker.event(event),
            Event::Icmp(error) => self.icmp(error),
            Event::FlowEnded(row) => {
                let server = row.asked_server().and_then(|server| self.servers.get_mut(&server));
                server.into_iter().for_each(|server| server.exchanges.add(row.exchanges));
            }
            Event::Datagram(datagram) => {
                let headers = &datagram.headers;
                self.game_messages.sends(headers.from);
                if self.hosts.contains_key(&headers.from.ip()) {
                    let (from, hop_limit) = (headers.from.ip(), headers.hop_limit);
                    self.everywhere.sends(from, hop_limit, headers.direction);
                    self.identifications.datagram(headers, self.remembered);
                }
            }
            Event::Unanswered(_) | Event::File(_) => {}
        }
    }

    /// The server at one of these addresses, or that sends to masters from one.
    fn resolve(&mut self, end: SocketAddr) -> Option<SocketAddr> {
        if self.servers.contains_key(&end) {
            return Some(end);
        }
        self.aliases.get_mut(&end, self.remembered).copied()
    }

    /// The server at an address, which is added if unknown.
    fn server(&mut self, address: SocketAddr) -> Option<&mut Server> {
        let has_room = self.has_room(address);
        match self.servers.entry(address) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) if has_room => {
                let host = Host { server: address, has_more: false, lost: None };
                self.hosts.entry(address.ip()).and_modify(|it| it.has_more = true).or_insert(host);
                Some(new.insert(Box::default()))
            }
            Entry::Vacant(_) => {
                if self.left_out.len() < self.remembered {
                    self.left_out.insert(address);
                }
                None
            }
        }
    }

    /// Whether a server is kept, or would be.
    fn keeps_server(&self, address: SocketAddr) -> bool {
        self.has_room(address) || self.servers.contains_key(&address)
    }

    /// Whether there is room for one more server. Servers of the host that the user asks about have some of their own.
    fn has_room(&self, address: SocketAddr) -> bool {
        let of_host = self.wanted.filter(|(ip, _)| *ip == address.ip());
        let reserved = of_host.map_or(0, |_| PORTS_OF_WANTED);
        let is_named = of_host.is_some_and(|(_, port)| port == Some(address.port()));
        is_named || self.servers.len() < self.most + reserved
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let context = event.context();
        // A duplicate datagram adds no information.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        let payload = event.payload();
        self.hosts_of(payload.from.ip(), payload.to.ip());
        // It may be the message in the latest datagram.
        self.unread.take_if(|unread| unread.frame == payload.frame);
        self.unread_datagram();
        if self.is_no_response(event) {
            return self.odd(event);
        }
        self.parties(id, event);
        self.game_messages.see(event, self.remembered);
        if event.message().purpose == Purpose::ListRequest {
            self.findings(event);
            return self.list_asked(id, event);
        }
        let mut shown = Shown::default();
        let server = self.server_of(id, event, &mut shown);
        let failed = self.findings(event);
        shown.items = shown.items.without(failed);
        shown.is_right = failed.is_empty() && shown.items.has(Item::Readable);
        if let Some(server) = server {
            self.shown(server, event, shown);
        }
    }

    /// Both hosts of a message take part, up to a maximum.
    fn hosts_of(&mut self, from: IpAddr, to: IpAddr) {
        self.everywhere.see(from, to);
        if self.speakers.len() < self.remembered {
            self.speakers.insert(from);
        }
        if self.receivers.len() < self.remembered {
            self.receivers.insert(to);
        }
    }

    /// Reads a message for its purpose, and returns the server that it is about. `shown`: what it shows of that, if no
    /// finding contradicts.
    fn server_of(
        &mut self,
        id: Id,
        event: &MessageEvent<'_>,
        shown: &mut Shown,
    ) -> Option<SocketAddr> {
        match (event.message().purpose, event.message().speaker) {
            (Purpose::ListRequest, _) => None,
            (Purpose::List, _) => self.list(event),
            (Purpose::Query | Purpose::ChallengeRequest, _) => self.query(id, event),
            (Purpose::Response | Purpose::ClientChallenge, _) => self.response(event, shown),
            (Purpose::Join | Purpose::Heartbeat, _) => self.join(id, event, shown),
            (Purpose::Challenge, _) => self.challenge(event, shown),
            (Purpose::Check, _) => self.probe(id, event, shown),
            (Purpose::ChallengeResponse, _) => {
                self.challenge_response(id, event, shown, &[Item::Echo, Item::Info])
            }
            (Purpose::CheckResponse, Role::Server) => {
                shown.items.insert(Item::ProbeBack);
                self.below(id, event.payload().from)
            }
            (Purpose::CheckResponse, _) => self.challenge_response(id, event, shown, &[Item::Echo]),
            (Purpose::JoinResponse, _) => self.join_response(id, event, shown),
            (Purpose::Quit, _) => self.quit(event),
            (Purpose::Authentication, _) => self.announced(id, event),
            (Purpose::AuthenticationResponse, _) => self.authenticated(id, event, shown),
            (Purpose::Other, _) => self.words_of_master(event),
        }
    }

    /// What a message shows of the server at `address`: this, its hop limit, its name and players.
    fn shown(&mut self, address: SocketAddr, event: &MessageEvent<'_>, shown: Shown) {
        let payload = event.payload();
        let (from, to, frame) = (payload.from, payload.to, payload.frame);
        let Some(server) = self.servers.get_mut(&address) else { return };
        if event.message().purpose == Purpose::Query
            && let Some(wrong) = event.checked().findings.iter().find(is_clients_fault)
        {
            server.wrong = Some((frame, wrong.detail.to_string()));
        }
        let own = from.ip() != to.ip() && matches!(event.message().speaker, Role::Server);
        let is_of_client = server.with(from.ip()).is_none();
        let senders = match event.message().speaker {
            Role::Server => own.then_some(&mut server.hops.server),
            Role::Client if is_of_client => Some(&mut server.hops.clients),
            Role::Client | Role::Master => Some(&mut server.hops.masters),
            _ => None,
        };
        if let Some(senders) = senders {
            let context = event.context();
            senders.see(context.hop_limit, context.direction);
        }
        if let Some(paths) = event.message().describes {
            let first = |paths: &[&str]| described::first(event, paths);
            if let Some(name) = first(paths.name) {
                server.is_named(&name);
            }
            server.players = server.players.max(first(paths.players).and_then(described::number));
        }
        let master = if event.message().speaker == Role::Master { from } else { to };
        for item in shown.items.iter() {
            match is_of_registration(item) {
                true => server.good_with(master.ip(), item, frame),
                false => server.good_of(shown.kind, item, frame),
            }
        }
        if shown.is_right {
            server.is_right_toward(to.ip(), frame);
        }
        for (item, rules) in [(Item::Heartbeats, &*ON_TIME), (Item::Accepted, &*ACCEPTING)] {
            let passes = &event.checked().passes;
            if passes.iter().any(|it| it.side.is_none() && rules.has(it.rule)) {
                server.good_with(to.ip(), item, frame);
            }
        }
    }
}

/// Whether a message is wrong for certain.
fn is_error(finding: &&Finding) -> bool {
    let is_error = finding.rule.severity == Severity::Error && finding.verdict == Verdict::Fail;
    is_error && finding.mark.is_none()
}

/// Whether a request is wrong, so that no response is due.
fn is_clients_fault(finding: &&Finding) -> bool {
    is_error(finding) && matches!(finding.rule.who, Role::Client | Role::Any)
}

fn masters(id: Id) -> Option<&'static Masters> {
    id.info().masters
}
