//! Summarizes a capture in tables: protocols, servers, masters, clients, and ports of other traffic.
//!
//! Messages have names and response times of servers; ended flows have the numbers of packets and requests.
//! Tables are bounded: rows that do not fit are counted.
//!
//! The amount that a pair of hosts adds to a row does not depend on other pairs, so the tables of partitions
//! of all pairs add up to those of the complete capture ([`Summary::merge`]).

mod changes;
pub mod described;
mod latest;
mod merge;
mod rows;
mod selection;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Host, Map, Purpose, Role, Socket, Transport};
use serde::{Deserialize, Serialize};

use crate::check::ReviewedFlows;
use crate::flows::{FindingCounts, FlowRow};
use crate::session::{
    Event, FieldLimits, Findings, MessageEvent, Needs, Port, PortPackets, Totals,
};

use selection::Selection;

pub use changes::{Changes, NameChanges};
pub use latest::Latest;
pub use rows::{Bounded, Client, Kind, Master, Protocol, SeenTimes, Server};

/// Memory for a server of a master's list in bytes.
const BYTES_OF_LISTED: usize = 1 << 7;

/// The tables of one capture.
#[derive(Clone, Serialize, Deserialize)]
pub struct Summary {
    /// By protocol, in the order of [`Id::ALL`].
    pub protocols: Vec<Protocol>,
    /// Servers: hosts that received queries or registered with a master.
    pub servers: Bounded<Socket, Server>,
    /// Master servers.
    pub masters: Bounded<Socket, Master>,
    /// Hosts that sent requests.
    pub clients: Bounded<Host, Client>,
    /// What counts, if not all messages do.
    #[serde(skip)]
    selection: Option<Selection>,
    /// The names of servers, if other partitions have messages of the same servers.
    #[serde(skip)]
    names: Option<NameChanges>,
    /// Maximum memory of the tables in bytes.
    #[serde(skip)]
    bytes: usize,
    /// Number of further servers of lists that fit.
    #[serde(skip)]
    room_for_lists: usize,
    /// Packets of TCP flows with a supported protocol, by lower port.
    ours: PortPackets,
    /// The servers that announced another port than they sent from, by the number of the open flow.
    #[serde(skip)]
    announced: Map<u32, Socket>,
}

impl Summary {
    /// Empty tables with this memory limit in bytes. `filtered`: only selected messages count, and the exchanges that
    /// begin with them.
    pub fn new(bytes: usize, filtered: bool) -> Summary {
        let protocol = |&id: &Id| Protocol::new(id);
        Summary {
            protocols: Id::ALL.iter().map(protocol).collect(),
            servers: Bounded::new(bytes / 2),
            masters: Bounded::new(bytes / 8),
            clients: Bounded::new(bytes / 4),
            selection: filtered.then(Selection::default),
            names: None,
            bytes,
            room_for_lists: bytes / 8 / BYTES_OF_LISTED,
            ours: PortPackets::default(),
            announced: Map::default(),
        }
    }

    /// The same for a partition of all pairs of hosts: other partitions also have names of its servers.
    pub fn of_partition(bytes: usize, filtered: bool) -> Summary {
        Summary { names: Some(NameChanges::default()), ..Summary::new(bytes, filtered) }
    }

    /// Which events it needs. `filtered`: as in [`Summary::new`].
    pub fn needs(filtered: bool) -> Needs {
        // A filter may need any field.
        let (fields, findings) = match filtered {
            true => (FieldLimits::default(), Findings::All { in_words: true }),
            false => (FieldLimits::of_servers(), Findings::OfMessages),
        };
        Needs {
            findings,
            flows: true,
            ports: true,
            pairs: true,
            servers: true,
            fields: Some(fields),
            ..Needs::messages_with_fields()
        }
    }

    /// The next event, in the order of the capture. `is_selected`: a message counts.
    pub fn event(&mut self, event: &Event<'_>, is_selected: bool) {
        match event {
            Event::Message(message) => {
                if let Some(selection) = &mut self.selection {
                    selection.message(message, is_selected);
                }
                if is_selected {
                    self.message(message);
                }
            }
            Event::FlowEnded(row) => self.flow(row),
            Event::Checked(checked) => {
                self.selection.iter_mut().for_each(|selection| selection.checked(checked));
            }
            Event::CrossFlow(it) => {
                self.selection.iter_mut().for_each(|selection| selection.cross_flow(it));
            }
            Event::Icmp(_) | Event::Unanswered(_) => {}
            Event::Datagram(_) | Event::File(_) => {}
        }
    }

    /// The ports of packets of other flows, those with the most packets first: the lower one of two, unless the other
    /// one is a known server's.
    pub fn foreign(&self, read: &Totals) -> Vec<Port> {
        let mut others = read.foreign.clone().without(&self.ours);
        let is_known = |end: SocketAddr| self.servers.has(&Socket(end));
        let ends = read.pairs.ends();
        for &(end, other, traffic) in &ends {
            if end.port() > other.port() && is_known(end) && !is_known(other) {
                let packets = traffic.packets[0] + traffic.packets[1];
                others.move_packets(traffic.transport, [other, end].map(|it| it.port()), packets);
            }
        }
        let mut named: BTreeMap<(&str, u16, &str), u64> = BTreeMap::new();
        for (end, other, traffic) in &ends {
            if let Some(protocol) = traffic.protocol(|| is_known(*end) || is_known(*other)) {
                let [sent, got] = traffic.packets;
                *named.entry((traffic.transport.name(), end.port(), protocol)).or_default() +=
                    sent + got;
            }
        }
        let mut ports = others.ports();
        for port in ports.iter_mut().filter(|port| port.protocol.is_none()) {
            let transport = port.transport;
            let of_port = (transport, port.port, "")..(transport, port.port, "\u{10FFFF}");
            let most = named.range(of_port).max_by_key(|(_, packets)| **packets);
            port.protocol = most.map(|((.., protocol), _)| *protocol);
        }
        ports
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let context = event.context();
        // Duplicated datagrams do not count.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        let [from, to] = event.ends();
        let response_time =
            event.reply().map(|reply| event.time().since(reply.sent).max(0).unsigned_abs());
        if let Some(protocol) = self.protocols.get_mut(id as usize) {
            protocol.messages += 1;
            response_time.into_iter().for_each(|time| protocol.times.add(time));
        }
        let (speaker, purpose) = (event.message().speaker, event.message().purpose);
        match speaker {
            Role::Client => {
                self.clients.update(Host(from.ip()), |client, _| {
                    client.request(id, event, from.port());
                    client.asks_for_lists |= purpose == Purpose::ListRequest;
                });
                if purpose == Purpose::ListRequest {
                    let room = &mut self.room_for_lists;
                    self.masters
                        .update(Socket(to), |master, _| master.asked(id, event, from, room));
                } else {
                    self.servers.update(Socket(to), |server, _| server.sent(id, event));
                }
            }
            Role::Server if announces(purpose) => self.registers(id, event),
            // A server's response to a check of its master has no properties of the server.
            Role::Server if purpose == Purpose::CheckResponse => {}
            Role::Server => {
                let has_room = self.servers.update(Socket(from), |server, has_room| {
                    server.responded(id, event, response_time, has_room)
                });
                if let Some(has_room) = has_room {
                    self.servers.is_cut |= !has_room;
                    self.names.iter_mut().for_each(|names| names.note(from, event));
                }
            }
            // A master may check servers from another port, which receives no requests.
            Role::Master if purpose == Purpose::Check => {
                self.clients.update(Host(from.ip()), |client, _| client.checks_servers = true);
                self.masters.update(Socket(from), |master, _| master.checked(id, event));
            }
            Role::Master => {
                let room = &mut self.room_for_lists;
                let has_room = self.masters.update(Socket(from), |master, has_room| {
                    master.responded(id, event, to, response_time, room, has_room)
                });
                self.masters.is_cut |= has_room == Some(false);
            }
            Role::Any | Role::Capture => {}
        }
    }

    /// A server registers with a master.
    fn registers(&mut self, id: Id, event: &MessageEvent<'_>) {
        let [from, to] = event.ends();
        self.masters.update(Socket(to), |master, _| master.joined(id, event));
        let is_known_by_it = event.message().purpose != Purpose::Authentication;
        let end = is_known_by_it.then(|| described::own_endpoint(event, from)).flatten();
        if let Some(end) = end.filter(|end| *end != from) {
            self.announced.insert(event.context().flow.number, Socket(end));
        }
        if let Some(end) = end
            && let Some(()) = self.servers.update(Socket(end), |it, _| it.sent_by_itself(id, event))
        {
            self.names.iter_mut().for_each(|names| names.note(end, event));
        }
    }

    /// Adds the counts of a flow that has ended.
    pub fn flow(&mut self, row: &FlowRow) {
        let announced = self.announced.remove(&row.flow);
        if row.transport == Transport::Tcp {
            let packets = row.packets[0].saturating_add(row.packets[1]);
            self.ours.add_packets(row.transport, row.ends.map(|end| end.port()), packets);
        }
        match &mut self.selection {
            None => self.flow_of_messages(row, announced),
            Some(selection) => {
                if let Some(row) = selection.of_flow(row) {
                    self.flow_of_messages(&row, announced);
                }
            }
        }
    }

    /// Adds the counts of a flow with messages that count. `announced`: the server's own socket, if it is another one.
    fn flow_of_messages(&mut self, row: &FlowRow, announced: Option<Socket>) {
        let Some(id) = Id::named(row.protocol) else { return };
        if let Some(protocol) = self.protocols.get_mut(id as usize) {
            protocol.exchanges.add(row.exchanges);
            protocol.findings.add(row.findings);
            protocol.flows += 1;
        }
        // The flow's own messages determine the row. Rows of other parties in these messages exist already, or are
        // not shown before they do.
        let client = row.end_of(Role::Client);
        let Some(asks) = row.asking() else {
            let master = row.end_of(Role::Master).map(|master| Socket(row.ends[master]));
            if let Some(master) = master {
                self.masters.update(master, |it, _| it.findings.add(row.findings));
            }
            return;
        };
        let [asking, asked] = [row.ends[asks], row.ends[1 - asks]].map(Socket);
        let server = row.asked_server();
        if client.is_some() || server.is_some() {
            let asking = Host(asking.0.ip());
            self.clients.update(asking, |client, _| client.exchanges.add(row.exchanges));
        }
        // Findings in a flow between a server and its master are shown with the server.
        let is_about_asked = client.is_some() && !row.is_of_master();
        if let Some(server) = server {
            self.servers.update(Socket(server), |server, _| {
                server.exchanges.add(row.exchanges);
                if is_about_asked {
                    server.findings.add(row.findings);
                }
            });
        }
        match client {
            Some(_) if is_about_asked => None,
            Some(_) => self.masters.update(asked, |it, _| it.findings.add(row.findings)),
            None => {
                let server = announced.unwrap_or(asking);
                self.servers.update(server, |it, _| it.findings.add(row.findings))
            }
        };
    }
}

impl Summary {
    /// The whole capture is known: settles which findings are proven, and adds those that only several flows together
    /// show.
    pub fn settle(&mut self, reviewed: &ReviewedFlows) {
        for (_, flow) in reviewed.flows() {
            self.found(flow.protocol, flow.ends, flow.findings);
        }
        if !reviewed.dropped() {
            for (server, id, times) in reviewed.heard() {
                let proven = FindingCounts { proven: times, ..FindingCounts::default() };
                self.found(Some(id), [server; 2], proven);
            }
        }
        // Those of servers that are heard were added.
        let settle = |findings: &mut FindingCounts| findings.settle(reviewed.dropped(), false);
        self.protocols.iter_mut().for_each(|it| settle(&mut it.findings));
        self.servers.all_mut().for_each(|it| settle(&mut it.findings));
        self.masters.all_mut().for_each(|it| settle(&mut it.findings));
        self.join_ports();
    }

    /// Adds findings of a flow that has ended.
    fn found(&mut self, protocol: Option<Id>, ends: [SocketAddr; 2], findings: FindingCounts) {
        if let Some(protocol) = protocol.and_then(|id| self.protocols.get_mut(id as usize)) {
            protocol.findings.add(findings);
        }
        let ends = ends.map(Socket);
        if let Some(server) = ends.iter().find(|end| self.servers.has(end)) {
            self.servers.update(*server, |it, _| it.findings.add(findings));
        } else if let Some(master) = ends.iter().find(|end| self.masters.has(end)) {
            self.masters.update(*master, |it, _| it.findings.add(findings));
        }
    }
}

/// Whether a server announces itself to a master with such a message.
fn announces(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::Join
            | Purpose::ChallengeResponse
            | Purpose::Heartbeat
            | Purpose::Quit
            | Purpose::Authentication
    )
}
