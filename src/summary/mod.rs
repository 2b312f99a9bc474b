//! What a capture holds, in tables: protocols, servers, masters, clients, and ports of other traffic.
//!
//! Messages say what a server is called and how fast it answers; flows that have ended say how many
//! packets and requests there were. Tables are bounded: what does not fit is counted.

pub mod described;
mod rows;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Purpose, Sending, Set, Who};

use crate::flows::FlowRow;
use crate::session::{Event, Foreign, MessageEvent, Port};

pub use rows::{Bounded, Client, Master, Protocol, Seen, Server};

/// Bytes of memory for which a server or a master is kept: what its response times take at most.
const BYTES_OF_SERVER: usize = 1 << 14;

/// Bytes of memory for which a client is kept.
const BYTES_OF_CLIENT: usize = 1 << 11;

/// Bytes of memory for which a server of a master's list is kept.
const BYTES_OF_LISTED: usize = 1 << 7;

/// The tables of one capture.
#[derive(Clone)]
pub struct Summary {
    /// By protocol, in the order of [`Id::ALL`].
    pub protocols: Vec<Protocol>,
    /// Servers: what was asked, or joined, beat or registered.
    pub servers: Bounded<SocketAddr, Server>,
    /// Master servers.
    pub masters: Bounded<SocketAddr, Master>,
    /// Hosts that asked.
    pub clients: Bounded<IpAddr, Client>,
    /// Only flows with a message that the user wants count: those of them that are open; `None`: all do.
    wanted: Option<Set<u32>>,
    /// Servers of lists for which there is room.
    room_for_lists: usize,
    /// Packets of flows of ours, by transport and lower port.
    ours: Foreign,
}

impl Summary {
    /// Empty tables that take this many bytes of memory at most. `filtered`: only some messages come, and
    /// only their flows count.
    pub fn new(bytes: usize, filtered: bool) -> Summary {
        let protocol = |&id: &Id| Protocol::new(id);
        Summary {
            protocols: Id::ALL.iter().map(protocol).collect(),
            servers: Bounded::new(bytes / 2 / BYTES_OF_SERVER),
            masters: Bounded::new(bytes / 8 / BYTES_OF_SERVER),
            clients: Bounded::new(bytes / 4 / BYTES_OF_CLIENT),
            wanted: filtered.then(Set::default),
            room_for_lists: bytes / 8 / BYTES_OF_LISTED,
            ours: Foreign::default(),
        }
    }

    /// The next event, in the order of the capture.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Message(message) => self.message(message),
            Event::FlowEnded(row) => self.flow(row),
            Event::Checked(_) | Event::CrossFlow(_) | Event::Icmp(_) => {}
            Event::Datagram(_) | Event::File(_) => {}
        }
    }

    /// The ports of packets that are of no flow of ours, those with most packets first. `all`: every
    /// packet of the capture.
    pub fn foreign(&self, all: &Foreign) -> Vec<Port> {
        all.clone().without(&self.ours).ports()
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let context = event.context();
        // A datagram that was doubled on the way counts nowhere.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        if let Some(wanted) = &mut self.wanted {
            wanted.insert(context.flow.number);
        }
        let payload = event.payload();
        let (from, to, time) = (payload.from, payload.to, payload.time);
        let response_time = event.reply().map(|reply| time.since(reply.sent).max(0).unsigned_abs());
        if let Some(protocol) = self.protocols.get_mut(id as usize) {
            protocol.messages += 1;
            response_time.into_iter().for_each(|time| protocol.times.add(time));
        }
        let purpose = event.message().purpose;
        match event.message().speaker {
            Who::Client => {
                if let Some(client) = self.clients.get(from.ip()) {
                    client.request(id, event, from.port(), time);
                    client.asks_for_lists |= purpose == Purpose::ListRequest;
                }
                if purpose == Purpose::ListRequest {
                    let master = self.masters.get(to);
                    let room = &mut self.room_for_lists;
                    master.into_iter().for_each(|it| it.asked(id, event, from, time, room));
                } else if let Some(server) = self.servers.get(to) {
                    server.sent(id, event.sending() == Sending::Again, time);
                }
            }
            Who::Server if announces(purpose) => {
                if let Some(master) = self.masters.get(to) {
                    master.joined(id, event, time);
                }
                let is_known_by_it = purpose != Purpose::Authentication;
                let server = is_known_by_it.then(|| described::own_endpoint(event, from)).flatten();
                if let Some(server) = server.and_then(|server| self.servers.get(server)) {
                    server.sent_by_itself(id, event, time);
                }
            }
            // What a server answers when its master checks it says nothing of itself.
            Who::Server if purpose == Purpose::CheckResponse => {}
            Who::Server => {
                if let Some(server) = self.servers.get(from) {
                    server.responded(id, event, response_time, event.length(), time);
                }
            }
            // A master may check servers from a port of its own, where nobody asks it.
            Who::Master if purpose == Purpose::Check => {
                if let Some(client) = self.clients.get(from.ip()) {
                    client.checks_servers = true;
                }
                if let Some(master) = self.masters.known(&from) {
                    let room = &mut self.room_for_lists;
                    master.responded(id, event, to, response_time, room);
                }
            }
            Who::Master => {
                if let Some(master) = self.masters.get(from) {
                    let room = &mut self.room_for_lists;
                    let has_room = master.responded(id, event, to, response_time, room);
                    self.masters.is_cut |= !has_room;
                }
            }
            Who::Any | Who::Capture => {}
        }
    }

    /// What was counted of a flow that has ended.
    pub fn flow(&mut self, row: &FlowRow) {
        let packets = row.packets[0].saturating_add(row.packets[1]);
        self.ours.add_packets(row.transport, row.ends.map(|end| end.port()), packets);
        if self.wanted.as_mut().is_some_and(|wanted| !wanted.remove(&row.flow)) {
            return;
        }
        let Some(id) = Id::named(row.protocol) else { return };
        if let Some(protocol) = self.protocols.get_mut(id as usize) {
            protocol.requests += row.exchanges;
            protocol.answered += row.exchanges_answered;
            protocol.findings += row.findings;
            protocol.flows += 1;
        }
        let client = client_of(row, &self.masters);
        // Of a server and its master, what was found is about one of them, and shown with the server.
        let server = || row.roles.iter().position(|role| *role == Some(Who::Server));
        let Some(asks) = client.or_else(server) else { return };
        let [asking, asked] = [row.ends[asks], row.ends[1 - asks]];
        let is_client = client.is_some() || self.servers.has(&asked);
        if let Some(client) = self.clients.known(&asking.ip()).filter(|_| is_client) {
            client.exchanges += row.exchanges;
            client.answered += row.exchanges_answered;
        }
        // Some servers ask their master what clients ask servers.
        if let Some(server) = self.servers.known(&asked) {
            server.exchanges += row.exchanges;
            server.answered += row.exchanges_answered;
        }
        let found = match (client, self.masters.known(&asked)) {
            (Some(_), Some(master)) => Some(&mut master.findings),
            (Some(_), None) => self.servers.known(&asked).map(|it| &mut it.findings),
            (None, _) => self.servers.known(&asking).map(|it| &mut it.findings),
        };
        if let Some(findings) = found {
            *findings += row.findings;
        }
    }
}

/// Which end of a flow asks as a client; `None`: a server and a master talk.
fn client_of(row: &FlowRow, masters: &Bounded<SocketAddr, Master>) -> Option<usize> {
    let client = row.roles.iter().position(|role| *role == Some(Who::Client));
    client.or_else(|| {
        // Only one end has spoken: the other one is the client, unless it is known for a master.
        let [a, b] = row.roles;
        let silent = match (a, b) {
            (Some(_), None) => 1,
            (None, Some(_)) => 0,
            _ => return None,
        };
        (!masters.has(&row.ends[silent])).then_some(silent)
    })
}

/// Whether it is a message by which a server makes itself known to a master.
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
