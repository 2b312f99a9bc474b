//! The way of a packet: headers, fragments, flow, protocol, view.
//!
//! ```text
//! Packet --net::decode--> Fragment --Defragmenter--+
//!                    \--> Datagram, Segment <------+
//! Datagram --Table, Identifier--> Talk::message --> View
//! Segment  --Table--> Stream (net::tcp) --frames--> Talk::message --> View
//! ```
//!
//! The session owns all state that outlives a packet and drives it by the capture's own clock. It
//! knows no output and no file.

mod memory;
mod recording;
mod stream;
mod view;

use dissectors::kit::{
    Budget, Evidence, FlowFacts, Payload, Piece, Rule, Settings, Side, Span, Time, Transport,
};
use dissectors::net_rules::{NET001, NET004, NET005, NET008, NET011};
use dissectors::{Books, Id};

use crate::capture::Packet;
use crate::flows::table::Slot;
use crate::flows::{Flow, Identifier, Key, State, Table};
use crate::net::ip_defrag::{Event, EventKind};
use crate::net::limits::{FragmentLimits, NESTED_DATAGRAMS};
use crate::net::tcp;
use crate::net::{
    Datagram, Defragmenter, FrameRef, Ip, Outcome, Tunnels, Whole, decode, decode_ip_payload,
};

use memory::{Deadlines, Incomplete, Ports};
use recording::told;
pub use stream::Stream;
pub use view::{Scene, Told, View};

/// What a session is told before it begins.
#[derive(Clone, Debug)]
pub struct Options {
    /// How protocols are told apart.
    pub identifier: Identifier,
    /// What the protocols may be told.
    pub settings: Settings,
    /// The user vouches that the capture is complete.
    pub complete: bool,
    /// Judge IP, UDP and TCP checksums.
    pub verify_checksums: bool,
    /// Flows that are followed at a time.
    pub flows: usize,
    /// Bytes that unfinished answers may hold, over all flows.
    pub unfinished_bytes: usize,
    /// What open IP fragments may hold, and for how long.
    pub fragments: FragmentLimits,
    /// What TCP connections may hold.
    pub streams: tcp::Limits,
    /// A flow that is silent for so long, in nanoseconds, has ended.
    pub idle: i64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            identifier: Identifier::default(),
            settings: Settings::default(),
            complete: false,
            verify_checksums: false,
            flows: 1 << 22,
            unfinished_bytes: 16 << 20,
            fragments: FragmentLimits::default(),
            streams: tcp::Limits::default(),
            // Three heartbeats of a game server: one that is overdue still finds its flow.
            idle: 900_000_000_000,
        }
    }
}

/// Reads a capture's packets, one after the other.
pub struct Session {
    options: Options,
    table: Table,
    defragmenter: Defragmenter,
    fragment_events: Vec<Event>,
    streams: stream::Streams,
    books: Books,
    budget: Budget,
    deadlines: Deadlines,
    incomplete: Incomplete,
    ports: Ports,
    pieces: Vec<Piece>,
    /// What its headers show of the packet at hand, for the message that it carries.
    headers: Vec<(&'static Rule, bool, String)>,
    frame: u64,
    /// Where the packet at hand begins in the capture file.
    offset: u64,
    now: Time,
    numbered: u32,
    /// Packets of a link type that cannot be read.
    unknown_links: u64,
    digits: u8,
}

/// Where the bytes of a payload were recorded.
#[derive(Clone, Copy)]
enum Recorded<'a> {
    /// In the packet at hand.
    Here,
    /// In the fragments that were joined.
    Joined(&'a Whole),
}

impl Session {
    /// A session that has seen nothing.
    pub fn new(options: Options) -> Session {
        let budget = Budget::new(options.unfinished_bytes);
        Session {
            table: Table::new(options.flows),
            defragmenter: Defragmenter::new(options.fragments),
            fragment_events: Vec::new(),
            streams: stream::Streams::new(options.streams),
            books: Books::default(),
            budget,
            deadlines: Deadlines::default(),
            incomplete: Incomplete::default(),
            ports: Ports::default(),
            pieces: Vec::new(),
            headers: Vec::new(),
            frame: 0,
            offset: 0,
            now: Time(i64::MIN),
            numbered: 0,
            unknown_links: 0,
            digits: 6,
            options,
        }
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.frame
    }

    /// Flows whose protocol was told so far.
    pub fn flows(&self) -> u32 {
        self.numbered
    }

    /// Whether the recording lost something of which nobody knows what.
    pub fn is_lossy(&self) -> bool {
        self.incomplete.anywhere
    }

    /// Packets whose link type cannot be read.
    pub fn unknown_links(&self) -> u64 {
        self.unknown_links
    }

    /// The next packet.
    pub fn packet<V: View>(&mut self, packet: &Packet<'_>, view: &mut V) {
        self.frame += 1;
        self.digits = packet.digits;
        self.offset = packet.offset;
        self.now = self.now.max(Time(packet.time));
        self.elapse(view);
        let outcome = decode(packet.link, packet.data, packet.original_length);
        let time = Time(packet.time);
        self.outcome(outcome, time, Recorded::Here, 0, view);
        self.limits_met(time, view);
        for (rule, ok, detail) in std::mem::take(&mut self.headers) {
            self.about_packet(rule, ok, time, view, detail);
        }
    }

    /// The next packet is not wanted: it only counts.
    pub fn pass_over(&mut self) {
        self.frame += 1;
    }

    /// No packet has come until now: what was due by then is judged, and what is idle ends.
    pub fn reach<V: View>(&mut self, now: Time, view: &mut V) {
        /// Flows that are looked at in one turn.
        const LOOKED_AT: usize = 1000;
        self.now = self.now.max(now);
        for _ in 0..LOOKED_AT.min(self.table.len()) {
            self.elapse(view);
        }
        self.elapse(view);
    }

    /// The capture is over: what is open is judged.
    pub fn finish<V: View>(&mut self, view: &mut V) {
        self.defragmenter.finish(&mut self.fragment_events);
        self.fragment_events(view);
        for slot in self.table.in_order() {
            self.end_flow(slot, view);
        }
        self.limits_met(self.now, view);
    }

    fn outcome<V: View>(
        &mut self,
        outcome: Outcome<'_>,
        time: Time,
        recorded: Recorded<'_>,
        depth: usize,
        view: &mut V,
    ) {
        if self.options.verify_checksums {
            self.checksums(&outcome);
        }
        let note = match &outcome {
            Outcome::Udp(datagram) => datagram.note,
            Outcome::Tcp(segment) => segment.note,
            Outcome::Fragment(fragment) => fragment.note,
            Outcome::Malformed(malformed) => Some(*malformed),
            _ => None,
        };
        if let Some(note) = note {
            self.headers.push((&NET008, false, note.to_string()));
        }
        match outcome {
            Outcome::Udp(datagram) => self.datagram(&datagram, time, recorded, view),
            Outcome::Tcp(segment) => self.segment(&segment, time, recorded, view),
            Outcome::Fragment(fragment) => {
                let at = FrameRef { frame: self.frame, time: time.0 };
                let events = &mut self.fragment_events;
                let whole = match recorded {
                    Recorded::Here => self.defragmenter.add(&fragment, at, events),
                    Recorded::Joined(outer) => {
                        self.defragmenter.add_inside(&fragment, outer, at, events)
                    }
                };
                if whole.as_ref().is_some_and(|whole| whole.overlapped) {
                    let overlaps =
                        |event: &mut Event| matches!(event.kind, EventKind::Overlap { .. });
                    for event in self.fragment_events.extract_if(.., overlaps) {
                        self.headers.push((&NET004, false, told(&event)));
                    }
                }
                self.fragment_events(view);
                if let Some(whole) = whole {
                    self.headers.push((&NET005, true, String::new()));
                    if !whole.overlapped {
                        self.headers.push((&NET004, true, String::new()));
                    }
                    if depth < NESTED_DATAGRAMS {
                        let outcome = decode_ip_payload(whole.ip, whole.protocol, &whole.bytes);
                        self.outcome(outcome, time, Recorded::Joined(&whole), depth + 1, view);
                    }
                    self.defragmenter.recycle(whole);
                }
            }
            Outcome::UnknownLink => self.unknown_links += 1,
            // It may have been anybody's.
            Outcome::Snapped => self.incomplete.anywhere = true,
            Outcome::Other | Outcome::Malformed(_) => {}
        }
    }

    fn datagram<V: View>(
        &mut self,
        datagram: &Datagram<'_>,
        time: Time,
        recorded: Recorded<'_>,
        view: &mut V,
    ) {
        let bytes = datagram.payload.bytes;
        let ports = [datagram.source_port, datagram.destination_port];
        let key = key(&datagram.ip, ports, Transport::Udp);
        let followed = self.ports.contains(ports[0]) && self.ports.contains(ports[1]);
        let mut found = if followed { self.table.find(&key) } else { None };
        if let Some((slot, _)) = found
            && self.has_ended(slot, time)
        {
            self.end_flow(slot, view);
            found = None;
        }
        let known = found.and_then(|(slot, _)| match &self.table.flow(slot)?.state {
            State::Talk(talk) => Some(talk.id()),
            _ => None,
        });
        let lost = !datagram.payload.is_whole();
        let mut payload = Payload {
            bytes,
            pieces: &[],
            inflated: false,
            frame: self.frame,
            time,
            side: found.map_or(Side::First, |(_, side)| side),
            from: key.from(),
            to: key.to(),
            flow: 0,
            transport: Transport::Udp,
            lost,
        };
        let told = self.options.identifier.datagram(bytes, ports, known);
        let Some(id) = told.or_else(|| self.books.expects(&payload)) else {
            // What was cut may have been a message of ours.
            if lost && ports.iter().any(|&port| self.ports.may_be_ours(port)) {
                self.incomplete.insert(key.source, key.destination);
            }
            return;
        };
        if let (Some((slot, _)), Some(known)) = (found, known)
            && known != id
        {
            self.end_flow(slot, view);
            found = None;
        }
        let (slot, side) = match found {
            Some(found) => found,
            None => (self.begin_flow(&key, time, id, id.opens(bytes), view), Side::First),
        };
        payload.side = side;
        let mut pieces = std::mem::take(&mut self.pieces);
        self.locate(datagram.payload.offset, bytes.len(), recorded, &mut pieces);
        payload.pieces = &pieces;
        self.message(slot, &payload, datagram.payload.snapped, datagram.ip.tunnels, view);
        self.pieces = pieces;
    }

    /// Where `length` bytes at `offset` of what was decoded were recorded.
    fn locate(&self, offset: u32, length: usize, from: Recorded<'_>, pieces: &mut Vec<Piece>) {
        pieces.clear();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        match from {
            Recorded::Here => pieces.push(Piece { at: 0, length, frame: self.frame, offset }),
            Recorded::Joined(whole) => {
                let end = offset.saturating_add(length);
                for piece in &whole.pieces {
                    let start = piece.at.max(offset);
                    let stop = piece.at.saturating_add(piece.length).min(end);
                    if start < stop {
                        pieces.push(Piece {
                            at: start - offset,
                            length: stop - start,
                            frame: piece.frame,
                            offset: piece.offset.saturating_add(start - piece.at),
                        });
                    }
                }
                if pieces.is_empty() {
                    pieces.push(Piece { at: 0, length: 0, frame: self.frame, offset: 0 });
                }
            }
        }
    }

    fn has_ended(&mut self, slot: Slot, time: Time) -> bool {
        let idle = self.options.idle;
        self.table.flow(slot).is_some_and(|flow| time.since(flow.last) > idle)
    }

    fn begin_flow<V: View>(
        &mut self,
        key: &Key,
        time: Time,
        id: Id,
        began: bool,
        view: &mut V,
    ) -> Slot {
        self.make_room(view);
        let slot = self.table.insert(key, time);
        self.numbered = self.numbered.saturating_add(1);
        for port in key.ports {
            self.ports.insert(port);
        }
        if let Some(flow) = self.table.flow(slot) {
            flow.number = self.numbered;
            flow.began = began;
            flow.state = State::Talk(id.talk());
        }
        slot
    }

    fn make_room<V: View>(&mut self, view: &mut V) {
        while self.table.is_full() {
            let Some(slot) = self.table.stalest() else { return };
            if self.table.flow(slot).is_some_and(|flow| flow.number > 0) {
                let detail =
                    format!("the limit flows, {}, was met: a flow ends early", self.options.flows);
                self.about_packet(&NET011, false, self.now, view, detail);
            }
            self.end_flow(slot, view);
        }
    }

    /// Hands one message to its flow's talk.
    fn message<V: View>(
        &mut self,
        slot: Slot,
        payload: &Payload<'_>,
        snapped: bool,
        tunnels: Tunnels,
        view: &mut V,
    ) {
        let Some(flow) = self.table.flow(slot) else { return };
        count(flow, payload);
        flow.lossy |= payload.lost;
        let complete = self.options.complete;
        let facts = self.incomplete.facts(flow, &self.defragmenter, complete);
        let State::Talk(talk) = &mut flow.state else { return };
        view.scene(&Scene {
            protocol: Some(talk.id()),
            flow: facts,
            roles: flow.roles,
            packet: (self.frame, self.offset),
            digits: self.digits,
            tunnels,
        });
        let whole = Span::new(0, payload.bytes.len());
        let vouched = self.options.complete;
        view.evidence(Evidence { vouched, ..Evidence::default() });
        view.judged(&NET001, !snapped, whole, || "cut by the snap length".to_owned());
        let is_sound = !self.headers.iter().any(|(rule, ..)| rule.code == NET008.code);
        if is_sound {
            view.judged(&NET008, true, whole, String::new);
        }
        for (rule, ok, detail) in self.headers.drain(..) {
            view.judged(rule, ok, whole, || detail);
        }
        view.evidence(Evidence { vouched, lost: payload.lost, ..facts.evidence() });
        let payload = Payload { flow: facts.number, ..*payload };
        let settings = &self.options.settings;
        talk.message(&mut self.books, facts, settings, &mut self.budget, &payload, view);
        let deadline = talk.deadline();
        let told = view.settle();
        flow.count_told(told);
        self.deadlines.plan(flow, slot, deadline);
    }

    /// What is due by now.
    fn elapse<V: View>(&mut self, view: &mut V) {
        self.defragmenter.expire(self.now.0, &mut self.fragment_events);
        if !self.fragment_events.is_empty() {
            self.fragment_events(view);
        }
        while let Some((number, slot)) = self.deadlines.due(self.now) {
            if let Some(flow) = self.table.flow(slot).filter(|flow| flow.number == number) {
                flow.due = None;
                self.ask(slot, false, view);
            }
        }
        if let Some(slot) = self.table.idle(Time(self.now.0.saturating_sub(self.options.idle))) {
            self.end_flow(slot, view);
        }
    }

    /// Lets a flow's talk judge what time has decided.
    fn ask<V: View>(&mut self, slot: Slot, end: bool, view: &mut V) {
        let Some(flow) = self.table.flow(slot) else { return };
        let complete = self.options.complete;
        let facts = self.incomplete.facts(flow, &self.defragmenter, complete);
        let talk = match &mut flow.state {
            State::Talk(talk) => talk,
            State::Stream(stream) => match stream.talk() {
                Some(talk) => talk,
                None => return,
            },
            State::New | State::Ignored => return,
        };
        let tunnels = Tunnels::default();
        view.scene(&Scene {
            protocol: Some(talk.id()),
            flow: facts,
            roles: flow.roles,
            packet: (self.frame, self.offset),
            digits: self.digits,
            tunnels,
        });
        let vouched = self.options.complete;
        view.evidence(Evidence { vouched, ..facts.evidence() });
        let (settings, now) = (&self.options.settings, self.now);
        talk.elapse(&mut self.books, facts, settings, &mut self.budget, now, end, view);
        let deadline = talk.deadline();
        let told = view.settle();
        flow.count_told(told);
        // A deadline that has passed and still stands would come back at once, for ever.
        let later = Time(now.0.saturating_add(1_000_000));
        self.deadlines.plan(flow, slot, deadline.filter(|_| !end).map(|due| due.max(later)));
    }

    fn end_flow<V: View>(&mut self, slot: Slot, view: &mut V) {
        self.drain_stream(slot, view);
        self.ask(slot, true, view);
        if let Some(flow) = self.table.remove(slot)
            && flow.number > 0
        {
            view.flow_ended(&flow.row(self.digits));
        }
    }
}

/// Stands for the flow of what belongs to none.
const NOWHERE: FlowFacts = FlowFacts {
    ends: [std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0); 2],
    began: false,
    seen: [false; 2],
    lossy: false,
    number: 0,
    transport: Transport::Udp,
};

fn key(ip: &Ip, ports: [u16; 2], transport: Transport) -> Key {
    Key { source: ip.source, destination: ip.destination, ports, transport }
}

fn count(flow: &mut Flow, payload: &Payload<'_>) {
    flow.seen[payload.side.index()] = true;
    flow.last = flow.last.max(payload.time);
    flow.packets += payload.pieces.len().max(1) as u64;
    flow.bytes = flow.bytes.saturating_add(payload.bytes.len() as u64);
}
