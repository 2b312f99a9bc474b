//! Attacks: targets, kinds, and whether the sources are forged.
//!
//! The rules about abuse (SEC) define thresholds; the counts here show how large an attack is, what
//! it consists of, and which clients are real. Datagrams are handled individually: there are no
//! flows, and a source with a single packet takes no memory of its own.

mod across;
mod attack_kind;
mod attackers;
mod busiest;
mod clients;
mod filters;
mod flood;
mod forged;
mod game_ports;
mod hosts;
mod latest;
mod measure;
mod omitted;
mod packet;
mod phases;
mod recent_exchanges;
mod seen;
mod senders;
mod setting;
mod sources;
mod steady;
mod target;
mod timeline;
mod unknown_hosts;
mod unknown_ports;
mod verdict;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{CrossFlowEvent, Map, Outline, Purpose, Role, Rule, Socket, Time};
use dissectors::ledger::{GROUPS, Loads, asks_for_something};

use crate::flows::{Identifier, is_usual_of};
use crate::session::{DatagramEvent, Datagrams, Event, Needs};

use game_ports::{GamePort, SERVICES};
use packet::SampledPacket;
use phases::Phases;
use recent_exchanges::RecentExchanges;
use target::{Target, TargetRoom, count};
use unknown_hosts::UnknownHosts;
use unknown_ports::UnknownPorts;

pub use attack_kind::{AttackKind, plural};
pub use attackers::{Legitimate, Received, SourcesOf};
pub use clients::Proof;
pub use filters::{BOGONS, FirewallFilter, Match, RateLimit};
pub use forged::Forged;
pub use omitted::Omitted;
pub use seen::SeenTraffic;
pub use senders::{Sender, Senders, SentPacket};
pub use setting::AbuseSetting;
pub use sources::network_of;
pub use verdict::Attack;

/// Bytes of memory per target, without its sources and packets.
const BYTES_OF_TARGET: usize = 1 << 11;

const _: () = assert!(size_of::<Phases>() + size_of::<Target>() <= BYTES_OF_TARGET);

/// The part of the memory for ports that are not known to be servers'.
const UNKNOWN: usize = 16;

const SECOND: i64 = 1_000_000_000;

/// Reads the datagrams of a capture.
pub struct Abuse {
    setting: AbuseSetting,
    /// The memory limit in bytes.
    bytes: usize,
    identifier: Identifier,
    /// Servers that get requests. In boxes: they are large, and a map moves what it holds when it grows.
    servers: Map<Socket, Box<Phases>>,
    /// Their packets that are no messages of their protocols.
    ports: Map<Socket, GamePort>,
    unknown_ports: UnknownPorts,
    /// Ports that servers announce for players, with the servers' protocols; servers that join masters, or are listed.
    announced: Map<Socket, Option<Id>>,
    /// Masters that get joins and heartbeats.
    masters: Map<Socket, Box<Phases>>,
    /// Addresses that get responses without requests.
    victims: Map<IpAddr, Target>,
    /// Servers that got packets known to crash them.
    crashed: Map<SocketAddr, Target>,
    recent_exchanges: RecentExchanges,
    loads: Loads,
    most: usize,
    room: TargetRoom,
    /// Senders and their packets, if reports are requested.
    senders: Option<Senders>,
    omitted: Omitted,
    /// Packets of game servers, masters, and those that get responses.
    read: u64,
    /// Packets to ports that nothing shows to be a game server's, by host.
    unknown_hosts: UnknownHosts,
    /// When the capture began.
    began: Option<Time>,
    /// When it began and ended, once that is known.
    span: Option<[Time; 2]>,
}

impl Abuse {
    /// A new one with this memory limit in bytes.
    pub fn new(bytes: usize, setting: AbuseSetting, identifier: Identifier) -> Abuse {
        let window = setting.ledger_settings.abuse.flood_window;
        let most = (bytes / 8 / BYTES_OF_TARGET).max(16);
        let room = TargetRoom::new(bytes / UNKNOWN, &setting);
        Abuse {
            bytes,
            identifier,
            servers: Map::default(),
            ports: Map::default(),
            announced: Map::default(),
            masters: Map::default(),
            victims: Map::default(),
            crashed: Map::default(),
            recent_exchanges: RecentExchanges::new(bytes / 8),
            loads: Loads::new(
                setting.ledger_settings.most.saturating_mul(GROUPS),
                setting.ledger_settings.abuse,
            ),
            most,
            unknown_ports: UnknownPorts::new(most / UNKNOWN, window, room),
            room: TargetRoom::new(bytes, &setting),
            setting,
            senders: None,
            omitted: Omitted::default(),
            read: 0,
            unknown_hosts: UnknownHosts::new(window, setting.ledger_settings.abuse.flood()),
            began: None,
            span: None,
        }
    }

    /// Also keeps senders and their packets, for reports.
    pub fn with_senders(self) -> Abuse {
        Abuse { senders: Some(Senders::default()), ..self }
    }

    /// Senders and their packets, if kept.
    pub fn senders(&self) -> Option<&Senders> {
        self.senders.as_ref()
    }

    /// The events that it needs.
    pub fn needs() -> Needs {
        Needs { datagrams: Datagrams::Only, icmp: true, ..Needs::default() }
    }

    /// Resets the counts; recent requests of clients remain.
    pub fn begin_anew(&mut self) {
        let anew = Abuse::new(self.bytes, self.setting, self.identifier.clone());
        let before = std::mem::replace(self, anew);
        self.recent_exchanges = before.recent_exchanges.begin_anew();
        self.senders = before.senders.map(|_| Senders::default());
        self.began = before.began;
    }

    /// Whether there was no supported traffic.
    pub fn is_empty(&self) -> bool {
        let has_servers = !self.servers.is_empty() || !self.masters.is_empty();
        !has_servers && self.ports.is_empty() && self.victims.is_empty() && self.crashed.is_empty()
    }

    /// What was left out because of the memory limit.
    pub fn omitted(&self) -> Omitted {
        let mut targets = self.servers.values().chain(self.masters.values());
        let clients = targets.any(|target| target.current.clients.is_cut);
        let servers = self.omitted.servers || self.loads.is_cut();
        Omitted { clients, servers, ..self.omitted }
    }

    /// The capture has this beginning and this end.
    pub fn spans(&mut self, span: Option<[Time; 2]>) {
        self.span = span;
    }

    /// The next event of the capture.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Datagram(datagram) => _ = self.datagram(datagram),
            Event::Icmp(error) => {
                let [from, to] = error.ends;
                if let Some(server) = self.servers.get_mut(&Socket(from)) {
                    server.current.unreachable += 1;
                }
                if let Some(port) =
                    self.ports.get_mut(&Socket(to)).filter(|_| error.from == to.ip())
                {
                    port.is_refused = true;
                }
            }
            // Such as of a server that registers over TCP.
            Event::CrossFlow(it) => {
                if let CrossFlowEvent::Announced(port) = it.event {
                    let server = SocketAddr::new(it.basis.seen.from.ip(), port);
                    self.announces(server, None, self.most / 2);
                }
            }
            _ => {}
        }
    }

    /// A datagram. Returns its protocol, if it is of a supported one.
    pub(crate) fn datagram(&mut self, event: &DatagramEvent<'_>) -> Option<Id> {
        let (from, to) = (event.headers.from, event.headers.to);
        self.began.get_or_insert(event.headers.time);
        if event.headers.is_copy {
            let ports = [from.port(), to.port()];
            let is_read = self.is_known(from)
                || self.is_known(to)
                || self.identifier.datagram(event.bytes, ports, None).is_some();
            self.read += u64::from(is_read);
            return None;
        }
        if let Some(victim) = self.victim(from.ip()) {
            victim.is_heard = true;
        }
        let spoken = |end: SocketAddr| self.servers.get(&Socket(end))?.current.protocol;
        let known = spoken(to).or_else(|| spoken(from));
        let protocol = self.identifier.datagram(event.bytes, [from.port(), to.port()], known);
        let outline = protocol.and_then(|id| Some((id, id.outline(event.bytes)?)));
        let Some((id, outline)) = outline else {
            self.read += u64::from(self.other(event));
            return protocol;
        };
        self.read += 1;
        if outline.may_be_of_game && self.is_of_game(from, to, event.headers.time) {
            self.of_game(None, event);
            return protocol;
        }
        let message = outline.message;
        // Of a packet that was cut, only the header of a part is certain.
        let crashes = outline.crashes.filter(|_| !event.is_cut() || outline.last_part.is_some());
        match (message.speaker, message.purpose, crashes) {
            (_, _, Some(rule)) if self.is_toward_server(id, from, to) => {
                self.crashes(id, rule, &outline, event);
                // Many of them are a flood, whatever they do to a server.
                self.of_game(None, event);
            }
            (Role::Client, ..) => self.request(id, &outline, event),
            (_, Purpose::Response | Purpose::ClientChallenge | Purpose::List, _) => {
                self.response(id, &outline, event);
            }
            (
                Role::Server,
                Purpose::Join | Purpose::Heartbeat | Purpose::ChallengeResponse | Purpose::Quit,
                _,
            ) => self.registration(id, &outline, event),
            (Role::Master, Purpose::Challenge, _) => self.master_challenges(&outline, event),
            // Such a text is also a part of queries, and of responses to them.
            (_, Purpose::CheckResponse, _) if outline.game_port.is_some() => {
                self.registration(id, &outline, event);
            }
            (_, Purpose::Check, _) if self.masters.contains_key(&Socket(from)) => {
                self.master_challenges(&outline, event);
            }
            _ => {
                self.other(event);
            }
        }
        protocol
    }

    /// A packet that breaks this rule toward a server: such packets are known to crash servers.
    fn crashes(&mut self, id: Id, rule: &Rule, outline: &Outline, event: &DatagramEvent<'_>) {
        let (from, to) = (event.headers.from, event.headers.to);
        let mut packet = SampledPacket::of(event, false);
        if let Some(senders) = &mut self.senders {
            senders.crashes(id, SentPacket::of(event, outline.message.label));
        }
        let target = entry(&mut self.crashed, to, self.most, &mut self.omitted.victims);
        if let Some(target) = target {
            let what = (Some(id), rule.slug);
            target.is_sent(what, to, event.bytes, &mut packet, &mut self.room);
            if outline.may_be_of_game {
                count(&mut target.parts, (to, from), 1);
            }
        }
    }

    /// A server's join or heartbeat to a master, or what it says of itself.
    fn registration(&mut self, id: Id, outline: &Outline, event: &DatagramEvent<'_>) {
        let (from, to, now) = (event.headers.from, event.headers.to, event.headers.time);
        self.knows(to);
        let port = outline.game_port.unwrap_or(from.port());
        self.announces(SocketAddr::new(from.ip(), port), None, self.most / 2);
        let mut packet = SampledPacket::of(event, outline.challenge.is_some());
        let is_doubtful = self.recent_exchanges.is_doubtful(now);
        let Some(asking) = self.recent_exchanges.entry(from.ip(), to, now) else { return };
        let mut proof = asking.exchange.asks(outline, &packet, event.headers.hash, is_doubtful);
        if outline.message.purpose == Purpose::CheckResponse {
            proof = asking.exchange.returns(|challenge| id.returns(challenge, event.bytes));
        }
        let is_cut = &mut self.omitted.servers;
        let Some(master) = entry(&mut self.masters, Socket(to), self.most, is_cut) else { return };
        let what = (Some(id), outline.message.label);
        master.gets(what, to, event.bytes, &mut packet, &mut self.room);
        master.current.is_shown(&packet, proof, asking, &mut self.room, |_| {});
    }

    /// A master challenges a server that joins.
    fn master_challenges(&mut self, outline: &Outline, event: &DatagramEvent<'_>) {
        let headers = &event.headers;
        let exchange = self.recent_exchanges.find(headers.to.ip(), headers.from, headers.time);
        exchange.into_iter().for_each(|it| it.responds(outline));
        if let Some(master) = self.masters.get_mut(&Socket(headers.from)) {
            let is_challenge = outline.challenge.is_some() || outline.text_challenge.is_some();
            master.current.sends(
                headers.to.ip(),
                headers.length.into(),
                headers.hop_limit,
                is_challenge,
            );
        }
    }

    /// An address that gets responses without requests.
    fn victim(&mut self, address: IpAddr) -> Option<&mut Target> {
        if self.victims.is_empty() { None } else { self.victims.get_mut(&address) }
    }

    /// Whether packets of any content count toward this port, or from there: it is that of a server or a master.
    fn is_known(&self, end: SocketAddr) -> bool {
        let end = Socket(end);
        self.servers.contains_key(&end)
            || self.announced.contains_key(&end)
            || self.masters.contains_key(&end)
    }

    /// Whether a server and a player send each other packets of the game.
    fn play(&self, server: SocketAddr, player: SocketAddr) -> bool {
        self.ports.get(&Socket(server)).is_some_and(|port| port.peers.has(player))
    }

    /// Whether they do, and who gets this packet did not ask for it from the port that plays.
    fn is_of_game(&mut self, from: SocketAddr, to: SocketAddr, now: Time) -> bool {
        let (is_toward_server, is_from_server) = (self.play(to, from), self.play(from, to));
        is_toward_server
            || is_from_server
                && self
                    .recent_exchanges
                    .find(to.ip(), from, now)
                    .is_none_or(|exchange| !exchange.asked_from(to.port()))
    }

    /// A packet that is no message of a server's protocol, or a message that the server did not ask for, of this
    /// kind: toward the port of a server, or from there. Returns whether it is one.
    fn of_game(&mut self, name: Option<&'static str>, event: &DatagramEvent<'_>) -> bool {
        let (from, to) = (event.headers.from, event.headers.to);
        // A socket sends nothing to itself: that is forged.
        if from != to && self.is_known(from) {
            if let Some(port) = self.ports.get_mut(&Socket(from)) {
                let (bytes, hop_limit) = (event.headers.length.into(), event.headers.hop_limit);
                port.sends(to, bytes, hop_limit, &mut self.room);
            }
            return true;
        }
        if !self.is_known(to) {
            if name.is_none() {
                self.unknown_ports.see(event);
            }
            return false;
        }
        let targets = [self.servers.get(&Socket(to)), self.masters.get(&Socket(to))];
        let protocols = targets.into_iter().flatten().filter_map(|target| target.current.protocol);
        let announced = self.announced.get(&Socket(to)).copied().flatten();
        let id = protocols.chain(announced).next();
        if name.is_none() && asks_for_something(event.bytes) {
            // What the server answers is no response without a request.
            let asking = self.recent_exchanges.entry(from.ip(), to, event.headers.time);
            asking.into_iter().for_each(|asking| asking.exchange.is_other = true);
        }
        if self.ports.len() < self.most || self.ports.contains_key(&Socket(to)) {
            let port = self.ports.entry(Socket(to)).or_default();
            if port.is_sent(id, name, event, &mut self.room) {
                self.loads.begins_to_play(group(to), [from, to]);
            }
        }
        true
    }

    /// Whether the receiver is a server, as far as known, and the sender is not. If not all servers are
    /// known, the sender may be one.
    fn is_toward_server(&self, id: Id, from: SocketAddr, to: SocketAddr) -> bool {
        let is_server = |end: SocketAddr| {
            self.servers.contains_key(&Socket(end)) || is_usual_of(id, end.port())
        };
        is_server(to) && !is_server(from) && !self.omitted.servers
    }

    /// A client's request.
    fn request(&mut self, id: Id, outline: &Outline, event: &DatagramEvent<'_>) {
        let (from, to, now) = (event.headers.from, event.headers.to, event.headers.time);
        let label = outline.message.label;
        self.knows(to);
        if let Some(victim) = self.victim(from.ip()) {
            victim.asks = true;
        }
        let mut packet = SampledPacket::of(event, outline.challenge.is_some());
        let may_be_cut_off = event.is_cut() && outline.challenge.is_none();
        let is_doubtful = self.recent_exchanges.is_doubtful(now) || may_be_cut_off;
        // Kept even for a server that is not: otherwise, its responses would have no request.
        let Some(asking) = self.recent_exchanges.entry(from.ip(), to, now) else { return };
        let proof = asking.exchange.asks(outline, &packet, event.headers.hash, is_doubtful);
        let is_cut = &mut self.omitted.servers;
        let Some(server) = entry(&mut self.servers, Socket(to), self.most, is_cut) else { return };
        self.loads.asks(group(to), outline.asks_for(), &event.payload());
        packet.is_costly = outline.is_costly;
        server.gets((Some(id), label), to, event.bytes, &mut packet, &mut self.room);
        let server = &mut server.current;
        server.clients.lacks_challenges |= may_be_cut_off;
        server.lists += u64::from(outline.message.purpose == Purpose::ListRequest);
        if let Some(senders) = &mut self.senders {
            senders.asks(id, SentPacket::of(event, label), proof == Some(Proof::Challenge));
        }
        let loads = &mut self.loads;
        server.is_shown(&packet, proof, asking, &mut self.room, |time| {
            loads.proves(group(to), to, time);
        });
    }

    /// A server's response, with or without a request.
    fn response(&mut self, id: Id, outline: &Outline, event: &DatagramEvent<'_>) {
        let headers = &event.headers;
        let (from, to) = (headers.from, headers.to);
        let is_challenge = outline.message.purpose == Purpose::ClientChallenge;
        let Some(exchange) = self.recent_exchanges.find(to.ip(), from, headers.time) else {
            return self.unasked(Some((id, outline)), event);
        };
        exchange.responds(outline);
        if exchange.is_other {
            self.asked_for(None, event);
            if let Some(port) = self.ports.get_mut(&Socket(from)) {
                let bytes = headers.length.into();
                port.target.current.sends(to.ip(), bytes, headers.hop_limit, is_challenge);
            }
            return;
        }
        let is_unchallenged = !is_challenge && exchange.is_unchallenged(to.port());
        let (what, length) = (exchange.what, exchange.length);
        let reflects = exchange.is_answered() && is_unchallenged && !what.is_empty();
        if reflects {
            self.loads.reflects(group(from), what, length, &event.payload());
        }
        if let Some(port) = outline.game_port.filter(|port| *port != from.port()) {
            self.announces(SocketAddr::new(from.ip(), port), Some(id), self.most);
        }
        if let Some(entries) = outline.list.and_then(|at| event.bytes.get(at..)) {
            self.lists(entries);
        }
        self.asked_for(None, event);
        if let Some(server) = self.servers.get_mut(&Socket(from)) {
            let bytes = headers.length.into();
            let to = server.current.sends(to.ip(), bytes, headers.hop_limit, is_challenge);
            let drawn = to.filter(|_| reflects);
            drawn
                .into_iter()
                .for_each(|source| source.answers.see(headers.time, bytes, self.room.window));
        }
    }

    /// Players join at this port, or a server queries there: packets to it count. `most`: so many such ports are
    /// kept, because joins may be forged.
    fn announces(&mut self, server: SocketAddr, id: Option<Id>, most: usize) {
        if server.port() != 0 && self.announced.len() < most {
            self.announced.entry(Socket(server)).or_insert(id);
            self.knows(server);
        }
    }

    /// This port is a server's or a master's: what came to it before counts as well.
    fn knows(&mut self, at: SocketAddr) {
        let Some(port) = self.unknown_ports.take(at) else { return };
        self.read += port.target.packets()[0];
        if self.ports.len() < self.most {
            port.target.each().for_each(|it| self.room.is_taken_by(it));
            self.ports.insert(Socket(at), port);
        }
    }

    /// A list of servers.
    fn lists(&mut self, entries: &[u8]) {
        let (entries, _) = entries.as_chunks::<6>();
        for [a, b, c, d, port @ ..] in entries {
            let server = SocketAddr::from(([*a, *b, *c, *d], u16::from_be_bytes(*port)));
            self.announces(server, None, self.most / 2);
        }
    }

    /// A datagram of another protocol. Returns whether it is from or toward a game server.
    fn other(&mut self, event: &DatagramEvent<'_>) -> bool {
        let (from, to, now) = (event.headers.from, event.headers.to, event.headers.time);
        // Toward the port of a game server, it is not another service that answers.
        if self.of_game(None, event) {
            return true;
        }
        if SERVICES.contains(&to.port()) {
            self.recent_exchanges.entry(from.ip(), to, now);
        } else if SERVICES.contains(&from.port()) {
            match self.recent_exchanges.find(to.ip(), from, now) {
                Some(_) => self.asked_for(Some(from.port()), event),
                None => self.unasked(None, event),
            }
        }
        self.unknown_hosts.see([from.ip(), to.ip()], now);
        false
    }

    /// A requested response of another service, by its port. The cost of a filter for a victim is
    /// measured with these.
    fn asked_for(&mut self, port: Option<u16>, event: &DatagramEvent<'_>) {
        let Some(victim) = self.victims.get_mut(&event.headers.to.ip()) else { return };
        count(&mut victim.asked_for, port, 1);
        if port.is_none() {
            victim.answers.see(&SampledPacket::of(event, false), &mut self.room.packets);
        }
    }

    /// A response without a request, unless that was forgotten; without an outline, of another service.
    fn unasked(&mut self, message: Option<(Id, &Outline)>, event: &DatagramEvent<'_>) {
        let (from, to) = (event.headers.from, event.headers.to);
        // Whatever its bytes: a server is not asked for answers.
        if let Some((_, outline)) = message.filter(|_| self.is_known(to) && !self.is_known(from)) {
            // What crashes servers is named alike, whether or not its sender may be a server.
            let label = outline.crashes.is_none().then_some(outline.message.label);
            self.of_game(label, event);
            return;
        }
        let part = message.filter(|(_, outline)| outline.may_be_of_game);
        if let Some((id, _)) = part {
            // Its port may be a game's: who plays there will show.
            self.announces(from, Some(id), self.most / 2);
        }
        if self.recent_exchanges.is_doubtful(event.headers.time) {
            self.omitted.requests = true;
            return;
        }
        let victim = entry(&mut self.victims, to.ip(), self.most, &mut self.omitted.victims);
        let Some(victim) = victim else { return };
        let what = message.map_or((None, OTHER), |(id, it)| (Some(id), it.message.label));
        match (what, &mut self.senders) {
            ((None, _), _) => count(&mut victim.others, from.port(), 1),
            ((Some(id), label), Some(senders)) => {
                senders.responds_unasked(id, SentPacket::of(event, label));
            }
            _ => {}
        }
        if part.is_some() {
            count(&mut victim.parts, (from, to), 1);
        }
        let mut packet = SampledPacket::of(event, false);
        victim.is_sent(what, to, event.bytes, &mut packet, &mut self.room);
        let is_first = victim.sources.known(from.ip()).is_some_and(|source| source.packets == 1);
        let since = event.headers.time.since(self.began.unwrap_or_default());
        let is_early = is_first && since <= self.setting.ledger_settings.answer_timeout;
        victim.early += u64::from(is_early);
    }
}

/// The group of a server's load: all requests to it are in one.
fn group(server: SocketAddr) -> usize {
    let host = match server.ip() {
        IpAddr::V4(host) => host.to_bits(),
        IpAddr::V6(host) => host.to_bits() as u32,
    };
    (host ^ host >> 16 ^ u32::from(server.port())) as usize % GROUPS
}

/// The name of responses of other services.
const OTHER: &str = "response of another service";

/// The target at an address, a new one if there is room.
fn entry<'m, K: Copy + Eq + std::hash::Hash, T: Default>(
    targets: &'m mut Map<K, T>,
    key: K,
    most: usize,
    is_cut: &mut bool,
) -> Option<&'m mut T> {
    if targets.len() >= most && !targets.contains_key(&key) {
        *is_cut = true;
        return None;
    }
    Some(targets.entry(key).or_default())
}
