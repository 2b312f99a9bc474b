//! The flows between some of the hosts: everything that remembers a conversation.
//!
//! A conversation stays between two hosts, so that what one pair of hosts says changes nothing of
//! what another says. A session therefore keeps its flows in lanes, every pair of hosts in one of
//! them, each with its own books, budgets and deadlines: threads can own lanes, and what comes of it
//! all does not depend on who owns which. What does span pairs of hosts is told as facts, and judged
//! when the capture has been read.

use std::net::IpAddr;
use std::num::NonZeroU64;

use dissectors::kit::{Budget, Evidence, Limit, Payload, Side, Time, Transport, Unjudged};
use dissectors::net_rules::{NET001, NET002, NET008, NET011, NET013};
use dissectors::{Books, Id};

use super::cut::{self, Cut};
use super::memory::{Deadlines, Incomplete};
use super::recent::{Recent, Sent};
use super::stream::Streams;
use super::{Around, Heard, Options, Quoted, Recorded, Scene, View};
use crate::flows::table::Slot;
use crate::flows::{Followed, Key, Ports, State, Table, is_usual};
use crate::net::icmp::identification;
use crate::net::{Datagram, Hosts, IcmpError, Outcome, Quote};

/// Lanes of a session.
pub const LANES: usize = 8;

// Whose turn it is, is told by the lowest bits of a packet's number.
const _: () = assert!(LANES.is_power_of_two());

// What is counted by groups of hosts is counted by one thread each.
const _: () = assert!(dissectors::ledger::GROUPS == LANES);

/// With less than this for each lane, one lane has all.
const FEWEST_FLOWS: usize = 1 << 13;
const FEWEST_BYTES: usize = 1 << 20;

/// How many lanes a session has: bounds that are set low are not divided.
pub(super) fn count(options: &Options) -> usize {
    let bytes = options.unfinished_bytes.min(options.streams.total).min(options.flow_bytes);
    let flows = options.flows.min(options.settings.limits.remembered);
    let few = flows / LANES < FEWEST_FLOWS || bytes / LANES < FEWEST_BYTES;
    if few { 1 } else { LANES }
}

/// Which lane the traffic between two hosts belongs to, out of so many. The tables are indexed by
/// other, secret hashes.
pub fn of(a: IpAddr, b: IpAddr, lanes: usize) -> usize {
    let word = |address: IpAddr| match address {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            (bits >> 64) as u64 ^ (bits as u64).rotate_left(32)
        }
    };
    let (a, b) = (word(a), word(b));
    let mixed = (a.min(b).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .rotate_left(32)
        .wrapping_add(a.max(b))
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((u128::from(mixed) * lanes as u128) >> 64) as usize
}

/// The flows of a share of all pairs of hosts.
pub(super) struct Lane {
    pub(super) table: Table,
    pub(super) streams: Streams,
    pub(super) books: Books,
    pub(super) budget: Budget,
    pub(super) deadlines: Deadlines,
    pub(super) incomplete: Incomplete,
    /// Those that its flows use: a datagram between others need not be looked up.
    ports: Box<Ports>,
    recent: Recent,
    /// Whom it has heard.
    pub(super) heard: Heard,
    /// What was cut before its protocol could be told.
    pub(super) cut: Cut,
    /// Packets since flows were last looked at that may be idle.
    unlooked: u32,
    /// That the books have forgotten something was told.
    forgot: bool,
}

/// Flows that are looked at at a time: one by one, each would be waited for.
const LOOKED_AT: u32 = 64;

impl Lane {
    /// One of so many.
    pub(super) fn new(options: &Options, lanes: usize) -> Lane {
        let mut streams = options.streams;
        streams.total /= lanes;
        Lane {
            table: Table::new(
                options.flows.div_ceil(lanes),
                options.flow_bytes / lanes,
                options.idle,
            )
            .listed(options.lists),
            streams: Streams::new(streams),
            books: Books::default(),
            budget: Budget::new(options.unfinished_bytes / lanes),
            deadlines: Deadlines::default(),
            incomplete: Incomplete::default(),
            ports: Box::default(),
            recent: Recent::default(),
            heard: Heard::default(),
            cut: Cut::default(),
            unlooked: 0,
            forgot: false,
        }
    }

    /// A packet of this host was recorded.
    #[inline]
    pub(super) fn hear(&mut self, around: &Around, host: IpAddr) {
        if around.options.hears {
            self.heard.insert(host);
        }
    }

    /// Tells which of the protocols' limits were met by the packet at hand.
    #[inline]
    pub(super) fn limits_met<V: View>(&mut self, around: &Around, time: Time, view: &mut V) {
        if self.budget.is_met() {
            self.tell_limits(around, time, view);
        }
    }

    #[cold]
    fn tell_limits<V: View>(&mut self, around: &Around, time: Time, view: &mut V) {
        for limit in self.budget.take_met() {
            limit_met(limit, around, time, view);
        }
    }

    /// A UDP datagram.
    pub(super) fn datagram<V: View>(
        &mut self,
        around: &mut Around,
        key: &Key,
        datagram: &Datagram<'_>,
        time: Time,
        recorded: Recorded<'_>,
        view: &mut V,
    ) {
        let (bytes, lost) = (datagram.payload.bytes, !datagram.payload.is_whole());
        let mut payload = Payload {
            bytes,
            pieces: &[],
            inflated: false,
            frame: around.frame,
            time,
            side: Side::First,
            from: key.from(),
            to: key.to(),
            flow: 0,
            transport: Transport::Udp,
            lost,
            hash: None,
        };
        let Some(slot) = self.flow_of(around, key, &mut payload, view) else {
            self.hear(around, key.source);
            // What was cut may have been a message of ours.
            if lost {
                let has_known_port = self.has_known_port(key);
                if has_known_port {
                    self.incomplete.insert(Hosts::of(key.source, key.destination));
                }
                if cut::may_be_ours(&datagram.payload, has_known_port) {
                    self.cut.see(around);
                }
            }
            return;
        };
        // What is in one packet needs no list.
        let (here, mut joined) = (around.piece(datagram.payload.offset, bytes.len()), Vec::new());
        payload.pieces = match recorded {
            Recorded::Here => std::slice::from_ref(&here),
            Recorded::Joined(_) => {
                joined = std::mem::take(&mut around.pieces);
                around.locate(datagram.payload.offset, bytes.len(), recorded, &mut joined);
                &joined
            }
        };
        let hash = if lost { 0 } else { self.recent.hash(bytes) };
        payload.hash = NonZeroU64::new(hash);
        let sent = Sent {
            key,
            bytes,
            hash,
            identification: identification(datagram.headers.ipv4),
            frame: payload.frame,
            time,
        };
        match if lost { None } else { self.recent.note(&sent) } {
            None => self.message(around, slot, &mut payload, datagram, view),
            Some(first) => self.copy(around, slot, &mut payload, datagram, first, view),
        }
        if let Recorded::Joined(_) = recorded {
            around.pieces = joined;
        }
    }

    /// Whether a flow of ours uses one of these ports, or servers usually do.
    pub(super) fn has_known_port(&self, key: &Key) -> bool {
        key.ports.iter().any(|&port| self.ports.contains(port) || is_usual(port))
    }

    /// The flow of a datagram of ours: the one that goes on with it, or that it begins. Says in it who
    /// sends it.
    #[inline]
    fn flow_of<V: View>(
        &mut self,
        around: &mut Around,
        key: &Key,
        payload: &mut Payload<'_>,
        view: &mut V,
    ) -> Option<Slot> {
        let mut found = self.goes_on(around, key, payload.time, view);
        let known = found.and_then(|(slot, _)| match &self.table.flow(slot)?.state {
            State::Talk(talk) => Some(talk.id()),
            _ => None,
        });
        if let Some((_, side)) = found {
            payload.side = side;
        }
        let told = around.options.identifier.datagram(payload.bytes, key.ports, known);
        let id = told.or_else(|| self.books.expects(payload))?;
        if let (Some((slot, _)), Some(known)) = (found, known)
            && known != id
        {
            self.end_flow(around, slot, view);
            found = None;
        }
        if let Some((slot, _)) = found {
            return Some(slot);
        }
        payload.side = Side::First;
        let began = id.opens(payload.bytes);
        Some(self.begin_flow(around, key, payload.time, id, began, view))
    }

    /// The flow that a datagram belongs to, and who sends it; one that is over ends here.
    #[inline]
    fn goes_on<V: View>(
        &mut self,
        around: &mut Around,
        key: &Key,
        time: Time,
        view: &mut V,
    ) -> Option<(Slot, Side)> {
        let [from, to] = key.ports;
        if !self.ports.contains(from) || !self.ports.contains(to) {
            return None;
        }
        let (slot, side) = self.table.find(key)?;
        if self.table.has_ended(slot, time) {
            self.end_flow(around, slot, view);
            return None;
        }
        Some((slot, side))
    }

    fn begin_flow<V: View>(
        &mut self,
        around: &mut Around,
        key: &Key,
        time: Time,
        id: Id,
        began: bool,
        view: &mut V,
    ) -> Slot {
        self.make_room(around, view);
        let slot = self.table.insert(key, time);
        for port in key.ports {
            self.ports.insert(port);
        }
        if let Some(mut flow) = self.table.flow(slot) {
            flow.number = around.numbers.next(around.moment);
            flow.set_began(began);
            flow.state = State::Talk(id.talk());
        }
        slot
    }

    pub(super) fn make_room<V: View>(&mut self, around: &mut Around, view: &mut V) {
        while self.table.is_full() {
            let Some(slot) = self.table.stalest() else { return };
            if self.table.flow(slot).is_some_and(|flow| flow.number > 0) {
                let (flows, bytes) = (around.options.flows, around.options.flow_bytes);
                let too_large = self.table.is_too_large();
                let detail = || {
                    let (name, most) =
                        if too_large { ("flow-bytes", bytes) } else { ("flows", flows) };
                    format!("the limit {name}, {most}, was met: a flow ends early")
                };
                around.about_packet(&NET011, false, around.now, view, detail);
            }
            self.end_flow(around, slot, view);
        }
    }

    /// Hands one message to its flow's talk.
    fn message<V: View>(
        &mut self,
        around: &mut Around,
        slot: Slot,
        payload: &mut Payload<'_>,
        datagram: &Datagram<'_>,
        view: &mut V,
    ) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let before = flow.memory();
        let silence = count_packet(&mut flow, payload);
        if payload.lost {
            flow.set_lossy();
        }
        let facts = around.facts(&flow, silence, &self.incomplete);
        let (roles, tunnels) = (flow.roles, datagram.ip.tunnels);
        let State::Talk(talk) = &mut flow.state else { return };
        view.scene(Scene { protocol: Some(talk.id()), roles, tunnels, ..around.scene(&facts) });
        let whole = payload.whole();
        let vouched = around.options.complete;
        view.evidence(Evidence { vouched, ..Evidence::default() });
        let snapped = datagram.payload.snapped;
        view.judged(&NET001, !snapped, whole, || "cut by the snap length".to_owned());
        around.header_checksum(&datagram.headers, |ok, detail| {
            view.judged(&NET002, ok, whole, detail);
        });
        let is_sound = !around.headers.iter().any(|(rule, ..)| rule.code == NET008.code);
        if !payload.lost {
            view.judged(&NET013, true, whole, String::new);
        }
        if is_sound {
            view.judged(&NET008, true, whole, String::new);
        }
        for (rule, ok, detail) in around.headers.drain(..) {
            view.judged(rule, ok, whole, || detail);
        }
        view.evidence(Evidence { vouched, lost: payload.lost, ..facts.evidence() });
        payload.flow = facts.number;
        let settings = &around.options.settings;
        talk.message(&mut self.books, &facts, settings, &mut self.budget, payload, view);
        let (deadline, held) = (talk.deadline(), talk.held());
        let told = view.settle();
        flow.count_told(told);
        flow.count_exchanges(|detail| view.count_exchanges(detail));
        flow.set_held(held);
        let now = flow.memory();
        self.deadlines.plan(&mut flow, slot, deadline);
        self.table.weigh(before, now);
        self.keep_within(around, view);
    }

    /// A datagram that was doubled on the way: shown, and nothing else.
    #[inline(never)]
    fn copy<V: View>(
        &mut self,
        around: &mut Around,
        slot: Slot,
        payload: &mut Payload<'_>,
        datagram: &Datagram<'_>,
        first: u64,
        view: &mut V,
    ) {
        around.headers.clear();
        let Some(mut flow) = self.table.flow(slot) else { return };
        flow.touch(payload.side, payload.time);
        let facts = around.facts(&flow, 0, &self.incomplete);
        let (roles, tunnels) = (flow.roles, datagram.ip.tunnels);
        let State::Talk(talk) = &mut flow.state else { return };
        let protocol = Some(talk.id());
        let copy_of = Some(first);
        view.scene(Scene { protocol, roles, tunnels, copy_of, ..around.scene(&facts) });
        view.evidence(Evidence::default());
        view.judged(&NET013, false, payload.whole(), || format!("a copy of packet {first}"));
        payload.flow = facts.number;
        let (settings, sink) = (&around.options.settings, &mut Unjudged(&mut *view));
        talk.again(&mut self.books, &facts, settings, &mut self.budget, payload, sink);
        view.settle();
    }

    /// An ICMP error about a datagram between these hosts.
    pub(super) fn icmp<V: View>(
        &mut self,
        around: &Around,
        key: &Key,
        error: &IcmpError<'_>,
        view: &mut V,
    ) {
        let Some(message) = self.recent.quoted(key, &error.quote) else { return };
        let Some((slot, _)) = self.table.find(key) else { return };
        let Some(mut flow) = self.table.flow(slot) else { return };
        let (facts, roles) = (flow.facts(), flow.roles);
        let State::Talk(talk) = &mut flow.state else { return };
        talk.refused(message);
        view.scene(Scene { protocol: Some(talk.id()), roles, ..around.scene(&facts) });
        view.icmp(&Quoted { message, frame: around.frame, time: around.now, error });
        view.settle();
    }

    /// Where flows take too much memory now, some end.
    #[inline]
    pub(super) fn keep_within<V: View>(&mut self, around: &mut Around, view: &mut V) {
        if self.table.is_too_large() {
            self.make_room(around, view);
        }
    }

    /// What time has decided: of what is due all, of what may be idle some, now and then.
    #[inline]
    pub(super) fn elapse<V: View>(&mut self, around: &mut Around, view: &mut V) {
        self.ask_due(around, view);
        self.unlooked += 1;
        if self.unlooked >= LOOKED_AT {
            self.look(around, view);
        }
        self.limits_met(around, around.now, view);
    }

    /// Looks for what may be idle, or forgotten.
    #[inline(never)]
    fn look<V: View>(&mut self, around: &mut Around, view: &mut V) {
        self.unlooked = 0;
        self.end_idle(LOOKED_AT, around, view);
        self.see_forgotten();
    }

    /// Whether the books have forgotten something by now: told once, they never know it again.
    pub(super) fn see_forgotten(&mut self) {
        if !self.forgot && self.books.forgot() {
            self.forgot = true;
            self.budget.meet(Limit::Remembered);
        }
    }

    /// Looks at the next so many flows, side by side in memory, and ends those that are silent for
    /// too long.
    pub(super) fn end_idle<V: View>(&mut self, most: u32, around: &mut Around, view: &mut V) {
        for _ in 0..most {
            if !self.table.has_idle(around.now) {
                return;
            }
            if let Some(slot) = self.table.idle(around.now) {
                self.end_flow(around, slot, view);
            }
        }
    }

    /// What is due by now.
    #[inline]
    pub(super) fn ask_due<V: View>(&mut self, around: &mut Around, view: &mut V) {
        if self.deadlines.is_due(around.now) {
            self.ask_all_due(around, view);
        }
    }

    #[inline(never)]
    fn ask_all_due<V: View>(&mut self, around: &mut Around, view: &mut V) {
        while let Some((number, slot)) = self.deadlines.due(around.now) {
            if let Some(mut flow) = self.table.flow(slot).filter(|flow| flow.number == number) {
                flow.set_planned(false);
                self.ask(around, slot, false, view);
            }
        }
    }

    /// Lets a flow's talk judge what time has decided.
    fn ask<V: View>(&mut self, around: &mut Around, slot: Slot, end: bool, view: &mut V) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let silence = match end && around.options.complete {
            true => u64::MAX,
            false => around.now.since(flow.last()).unsigned_abs(),
        };
        let facts = around.facts(&flow, silence, &self.incomplete);
        let roles = flow.roles;
        let talk = match &mut flow.state {
            State::Talk(talk) => talk,
            State::Stream(stream) => {
                // What is missing yet may change what is due.
                if stream.has_hole() && !end {
                    return;
                }
                match stream.talk() {
                    Some(talk) => talk,
                    None => return,
                }
            }
            State::New | State::Ignored => return,
        };
        view.scene(Scene { protocol: Some(talk.id()), roles, ..around.scene(&facts) });
        let vouched = around.options.complete;
        view.evidence(Evidence { vouched, ..facts.evidence() });
        let (settings, now) = (&around.options.settings, around.now);
        talk.elapse(&mut self.books, &facts, settings, &mut self.budget, now, end, view);
        let deadline = talk.deadline();
        let told = view.settle();
        flow.count_told(told);
        flow.count_exchanges(|detail| view.count_exchanges(detail));
        // A deadline that has passed and still stands would come back at once, for ever.
        let later = Time(now.0.saturating_add(1_000_000));
        self.deadlines.plan(&mut flow, slot, deadline.filter(|_| !end).map(|due| due.max(later)));
    }

    /// A flow is over: what is open in it is judged.
    pub(super) fn end_flow<V: View>(&mut self, around: &mut Around, slot: Slot, view: &mut V) {
        self.drain_stream(around, slot, view);
        self.ask(around, slot, true, view);
        let table = &self.table;
        let lives = |slot, number| table.get(slot).is_some_and(|flow| flow.number == number);
        self.deadlines.tidy(table.len(), lives);
        if let Some(flow) = self.table.flow(slot)
            && flow.number > 0
        {
            view.flow_ended(|| flow.row(around.digits));
        }
        self.table.remove(slot);
    }
}

#[cold]
fn limit_met<V: View>(limit: Limit, around: &Around, time: Time, view: &mut V) {
    let detail = || format!("the limit {} was met", limit.name());
    around.about_packet(&NET011, false, time, view, detail);
}

/// The key of a datagram or a segment.
pub(super) fn key_of(outcome: &Outcome<'_>) -> Option<Key> {
    let (ip, source, destination, transport) = match outcome {
        // Whoever may have sent it, it is about what the quoted hosts said.
        Outcome::Icmp(IcmpError { quote, .. }) => {
            let &Quote { source, destination, ports, .. } = quote;
            return Some(Key { source, destination, ports, transport: Transport::Udp });
        }
        Outcome::Udp(it) => (&it.ip, it.source_port, it.destination_port, Transport::Udp),
        Outcome::Tcp(it) => (&it.ip, it.source_port, it.destination_port, Transport::Tcp),
        _ => return None,
    };
    let ports = [source, destination];
    Some(Key { source: ip.source, destination: ip.destination, ports, transport })
}

/// Counts the packets of a message; see [`Followed::count`].
fn count_packet(flow: &mut Followed<'_>, payload: &Payload<'_>) -> u64 {
    let packets = payload.pieces.len().max(1) as u64;
    flow.count(payload.side, payload.time, packets, payload.bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_share_a_lane_and_hosts_spread_over_all() {
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let server = address(0x0A00_0001);
        let mut seen = [0; LANES];
        for client in 0..8000 {
            let client = address(0x0B00_0000 + client * 256);
            let lane = of(client, server, LANES);
            assert_eq!(lane, of(server, client, LANES));
            seen[lane] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        assert_eq!(of(a, b, LANES), of(b, a, LANES));
        assert_eq!(of(a, b, 1), 0);
    }
}
