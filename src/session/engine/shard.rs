//! The flows between some of the hosts, with all their state.
//!
//! A conversation involves two hosts, and the traffic of one pair of hosts does not affect others.
//! A session therefore divides its flows into shards by pairs of hosts, each with its own shared
//! state, budgets and deadlines: threads can own shards, and the results do not depend on which
//! thread owns which. Rules that span pairs of hosts get events, and are checked at the end of the
//! capture.

use std::net::IpAddr;
use std::num::NonZeroU64;

use dissectors::kit::{Budget, Evidence, Limit, Payload, Piece, Side, Sink, Transport, Unchecked};
use dissectors::net_rules::{NET001, NET002, NET008, NET011, NET013};
use dissectors::{ContextParts, Id, SharedStates};

use super::PacketContext;
use super::Recorded;
use super::busy_pairs::BusyPairs;
use super::memory::Deadlines;
use super::memory::Incomplete;
use super::packet_context::HeaderResult;
use super::recent::RecentDatagrams;
use super::recent::SentDatagram;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use super::recording::SNAPPED;
use crate::flows::table::FlowSlot;
use crate::flows::{FlowKey, FlowMut, FlowState, FlowTable, Ports, is_usual};
use crate::net::icmp::identification;
use crate::net::packet::TcpFlags;
use crate::net::tcp;
use crate::net::{Datagram, Hosts, IcmpError, Outcome, Quote};
use crate::session::totals::may_be_ours;
use crate::session::{CutPackets, FlowContext, IcmpEvent, Options, OtherHosts, OtherPairs};

/// State that all connections share.
pub(super) struct Streams {
    pub(super) budget: tcp::StreamBudget,
    /// A reusable buffer for the pieces of a message.
    pub(super) pieces: Vec<Piece>,
}

impl Streams {
    fn new(limits: tcp::StreamLimits) -> Streams {
        Streams { budget: tcp::StreamBudget::new(limits), pieces: Vec::new() }
    }
}

/// The flows of a part of all pairs of hosts.
pub(super) struct Shard {
    pub(super) table: FlowTable,
    pub(super) streams: Streams,
    pub(super) shared: SharedStates,
    pub(super) budget: Budget,
    pub(super) deadlines: Deadlines,
    pub(super) incomplete: Incomplete,
    /// The ports that its flows use: a datagram between other ports needs no lookup.
    ports: Box<Ports>,
    pub(super) recent: RecentDatagrams,
    /// Those that were passed on as single datagrams, of any protocol.
    pub(super) passed: RecentDatagrams,
    /// Those without a message that may be of a flood.
    others: RecentDatagrams,
    /// The hosts that it has seen.
    pub(super) heard: OtherHosts,
    /// Packets without a message.
    pub(super) pairs: OtherPairs,
    busy_pairs: BusyPairs,
    /// Packets that were cut before their protocol could be identified.
    pub(super) cut: CutPackets,
    /// Number of packets since the last check for idle flows.
    pub(super) unlooked: u32,
    /// It was reported that the shared state has forgotten something.
    pub(super) forgot: bool,
}

impl Shard {
    /// One of this many.
    pub(super) fn new(options: &Options, shards: usize) -> Shard {
        let mut streams = options.streams;
        streams.total /= shards;
        Shard {
            table: FlowTable::new(
                options.flows.div_ceil(shards),
                options.flow_bytes / shards,
                options.idle,
            )
            .keeping(options.needs.flows, options.needs.flow_details),
            streams: Streams::new(streams),
            shared: SharedStates::default(),
            budget: Budget::new(options.settings.limits.unfinished_bytes),
            deadlines: Deadlines::default(),
            incomplete: Incomplete::default(),
            ports: Box::default(),
            recent: RecentDatagrams::default(),
            passed: RecentDatagrams::default(),
            others: RecentDatagrams::default(),
            heard: OtherHosts::default(),
            pairs: OtherPairs::default(),
            busy_pairs: BusyPairs::default(),
            cut: CutPackets::default(),
            unlooked: 0,
            forgot: false,
        }
    }

    /// A packet of the first of these hosts to the other one was recorded, with this hop limit.
    #[inline]
    pub(super) fn see_host(
        &mut self,
        context: &PacketContext,
        [host, to]: [IpAddr; 2],
        hop_limit: u8,
    ) {
        if context.options.needs.hosts {
            self.heard.insert(host, to, hop_limit);
        }
    }

    /// A packet of TCP, or one without a message of a supported protocol.
    #[inline]
    pub(super) fn see_pair(
        &mut self,
        context: &PacketContext,
        key: &FlowKey,
        bytes: &[u8],
        flags: TcpFlags,
    ) {
        if context.options.needs.pairs {
            self.pairs.see(key, bytes, flags, context.frame, context.now);
        }
    }

    /// An ICMP error quotes such a packet.
    pub(super) fn refuse_pair(&mut self, context: &PacketContext, key: &FlowKey) {
        if context.options.needs.pairs {
            self.pairs.refuse(key, context.frame);
        }
    }

    /// Reports the limits of protocols that the current packet reached.
    #[inline]
    pub(super) fn limits_met<F: FieldSink>(
        &mut self,
        context: &PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        if self.budget.is_met() {
            self.report_limits(context, recorder);
        }
    }

    #[cold]
    fn report_limits<F: FieldSink>(&mut self, context: &PacketContext, recorder: &mut Recorder<F>) {
        for limit in self.budget.take_met() {
            limit_met(limit, context, recorder);
        }
    }

    /// A UDP datagram. Returns whether it belongs to a flow of a supported protocol.
    pub(super) fn datagram<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        recorded: Recorded<'_>,
        recorder: &mut Recorder<F>,
    ) -> bool {
        let (bytes, lost) = (datagram.payload.bytes, !datagram.payload.is_whole());
        let mut payload = Payload {
            unlisted: datagram.payload.cut_off(),
            frame: context.frame,
            time: context.now,
            lost,
            ..Payload::of(bytes, [key.from(), key.to()])
        };
        let Some(slot) = self.flow_of(context, key, &mut payload, recorder) else {
            self.other_datagram(context, key, datagram, &payload, recorder);
            return false;
        };
        // The pieces of a single packet need no list.
        let (here, mut joined) = (context.piece(datagram.payload.offset, bytes.len()), Vec::new());
        payload.pieces = match recorded {
            Recorded::Here => std::slice::from_ref(&here),
            Recorded::Joined(_) => {
                joined = std::mem::take(&mut context.pieces);
                context.locate(datagram.payload.offset, bytes.len(), recorded, &mut joined);
                &joined
            }
        };
        let hash = if lost { 0 } else { context.hash };
        payload.hash = NonZeroU64::new(hash);
        let sent = SentDatagram {
            key,
            bytes,
            hash,
            identification: recorded.identification(datagram),
            frame: payload.frame,
            time: context.now,
        };
        match if lost { None } else { self.recent.note(&sent) } {
            None => self.message(context, slot, &mut payload, datagram, recorder),
            Some(first) => self.copy(context, slot, &mut payload, datagram, first, recorder),
        }
        if let Recorded::Joined(_) = recorded {
            context.pieces = joined;
        }
        true
    }

    /// A datagram of no supported protocol.
    #[inline]
    fn other_datagram<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        payload: &Payload<'_>,
        recorder: &mut Recorder<F>,
    ) {
        self.see_host(context, [key.source, key.destination], datagram.ip.hop_limit);
        if key.ports.into_iter().any(is_usual) {
            self.busy_pairs.see(key);
        }
        if !self.is_other_copy(context.hash, key, datagram, payload, recorder) {
            recorder.other_packet(payload);
        }
        // A cut datagram may have been a message of a supported protocol.
        if payload.lost {
            let has_known_port = self.has_known_port(key);
            if has_known_port {
                self.incomplete.insert(Hosts::of(key.source, key.destination));
            }
            if may_be_ours(&datagram.payload, has_known_port) {
                context.count_cut(&mut self.cut);
            }
        }
    }

    /// Whether a packet without a message was recorded before. Only those that may be of a flood are compared.
    #[inline]
    fn is_other_copy<F: FieldSink>(
        &mut self,
        hash: u64,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        payload: &Payload<'_>,
        recorder: &Recorder<F>,
    ) -> bool {
        if payload.lost || !recorder.looks_at(payload) {
            return false;
        }
        let &Payload { bytes, frame, time, .. } = payload;
        let identification = identification(datagram.headers.ipv4);
        self.others.is_copy(&SentDatagram { key, bytes, hash, identification, frame, time })
    }

    /// Whether a supported flow uses one of these ports, or one is a usual port of servers.
    pub(super) fn has_known_port(&self, key: &FlowKey) -> bool {
        key.ports.iter().any(|&port| self.ports.contains(port) || is_usual(port))
    }

    /// The flow of a datagram of a supported protocol: an existing or a new one. Records the
    /// sender.
    #[inline]
    fn flow_of<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        payload: &mut Payload<'_>,
        recorder: &mut Recorder<F>,
    ) -> Option<FlowSlot> {
        let mut found = self.goes_on(context, key, recorder);
        let known = found.and_then(|(slot, _)| match &self.table.flow(slot)?.state {
            FlowState::Conversation(conversation) => Some(conversation.id()),
            _ => None,
        });
        if let Some((_, side)) = found {
            payload.side = side;
        }
        let is_among_others = || self.busy_pairs.is_between(key);
        let identifier = &context.options.identifier;
        let reported = identifier.datagram_unless(payload.bytes, key.ports, known, is_among_others);
        let id = reported.or_else(|| self.shared.expects(payload))?;
        if let (Some((slot, _)), Some(known)) = (found, known)
            && known != id
        {
            self.end_flow(context, slot, recorder);
            found = None;
        }
        if let Some((slot, _)) = found {
            return Some(slot);
        }
        payload.side = Side::First;
        let began = id.opens(payload.bytes);
        Some(self.begin_flow(context, key, id, began, recorder))
    }

    /// The flow of a datagram, and its side; ends a flow that is over.
    #[inline]
    fn goes_on<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        recorder: &mut Recorder<F>,
    ) -> Option<(FlowSlot, Side)> {
        let [from, to] = key.ports;
        if !self.ports.contains(from) || !self.ports.contains(to) {
            return None;
        }
        let (slot, side) = self.table.find(key)?;
        if self.table.has_ended(slot, context.now) {
            self.end_flow(context, slot, recorder);
            return None;
        }
        Some((slot, side))
    }

    fn begin_flow<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        id: Id,
        began: bool,
        recorder: &mut Recorder<F>,
    ) -> FlowSlot {
        self.make_room(context, recorder);
        let slot = self.table.insert(key, context.now);
        for port in key.ports {
            self.ports.insert(port);
        }
        if let Some(mut flow) = self.table.flow(slot) {
            flow.number = context.numbers.next(context.moment);
            flow.begins_with(context.frame);
            flow.has_begun = began;
            flow.state = FlowState::Conversation(id.conversation());
        }
        slot
    }

    pub(super) fn make_room<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        while self.table.is_full() {
            let Some(slot) = self.table.longest_silent() else { return };
            if self.table.flow(slot).is_some_and(|flow| flow.number > 0) {
                let (flows, bytes) = (context.options.flows, context.options.flow_bytes);
                let too_large = self.table.is_too_large();
                let detail = || {
                    let (name, most) =
                        if too_large { ("flow-bytes", bytes) } else { ("flows", flows) };
                    format!("the limit {name}, {most}, was met: a flow ends early")
                };
                context.about_packet(&NET011, false, recorder, detail);
            }
            self.end_flow(context, slot, recorder);
        }
    }

    /// Passes one message to its flow's conversation.
    fn message<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        payload: &mut Payload<'_>,
        datagram: &Datagram<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let before = flow.memory();
        let silence = count_packet(&mut flow, payload);
        recorder.count_in(&mut flow);
        if payload.lost && hides_more(&flow, payload) {
            flow.is_lossy = true;
        }
        let facts = context.facts(&flow, silence, &self.incomplete);
        let (roles, tunnels) = (flow.roles, datagram.ip.tunnels);
        let FlowState::Conversation(conversation) = &mut flow.state else { return };
        recorder.flow_context(FlowContext {
            protocol: Some(conversation.id()),
            roles,
            tunnels,
            ..context.flow_context(&facts)
        });
        let whole = payload.whole();
        let complete = context.options.complete;
        recorder.evidence(Evidence { complete, ..Evidence::default() });
        let snapped = datagram.payload.snapped;
        recorder.checked(&NET001, !snapped, whole, || SNAPPED.to_owned());
        context.header_checksum(&datagram.headers, |ok, detail| {
            recorder.checked(&NET002, ok, whole, detail);
        });
        let is_sound = !context.headers.iter().any(|it| it.rule == &NET008);
        if !payload.lost {
            recorder.checked(&NET013, true, whole, String::new);
        }
        if is_sound {
            recorder.checked(&NET008, true, whole, String::new);
        }
        for HeaderResult { rule, ok, detail } in context.headers.drain(..) {
            recorder.checked(rule, ok, whole, || detail);
        }
        recorder.evidence(Evidence { complete, lost: payload.lost, ..facts.evidence() });
        payload.flow = facts.number;
        let parts = ContextParts {
            shared: &mut self.shared,
            flow: &facts,
            settings: &context.options.settings,
            budget: &mut self.budget,
        };
        conversation.message(parts, payload, recorder);
        let (deadline, held) = (conversation.deadline(), conversation.held());
        recorder.without_message(payload);
        recorder.settle_in(&mut flow);
        flow.set_held(held);
        let now = flow.memory();
        self.deadlines.plan(&mut flow, slot, deadline);
        self.table.weigh(before, now);
        self.keep_within(context, recorder);
    }

    /// A duplicate datagram, which is only shown.
    #[inline(never)]
    pub(super) fn copy<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        payload: &mut Payload<'_>,
        datagram: &Datagram<'_>,
        first: u64,
        recorder: &mut Recorder<F>,
    ) {
        context.headers.clear();
        let Some(mut flow) = self.table.flow(slot) else { return };
        let mut facts = context.facts(&flow, 0, &self.incomplete);
        let ends = [payload.from, payload.to];
        if facts.ends_from(payload.side) == ends {
            flow.touch(payload.side, payload.time);
        } else {
            // It was recorded on the other side of NAT, which says nothing of this one.
            facts.ends = if payload.side == Side::First { ends } else { [ends[1], ends[0]] };
        }
        let (roles, tunnels) = (flow.roles, datagram.ip.tunnels);
        let FlowState::Conversation(conversation) = &mut flow.state else { return };
        let protocol = Some(conversation.id());
        let copy_of = Some(first);
        recorder.flow_context(FlowContext {
            protocol,
            roles,
            tunnels,
            copy_of,
            ..context.flow_context(&facts)
        });
        recorder.evidence(Evidence::default());
        recorder.checked(&NET013, false, payload.whole(), || format!("a copy of packet {first}"));
        payload.flow = facts.number;
        let parts = ContextParts {
            shared: &mut self.shared,
            flow: &facts,
            settings: &context.options.settings,
            budget: &mut self.budget,
        };
        conversation.again(parts, payload, &mut Unchecked(&mut *recorder));
        recorder.without_message(payload);
        recorder.settle();
    }

    /// An ICMP error about a packet between these hosts.
    pub(super) fn icmp<F: FieldSink>(
        &mut self,
        context: &PacketContext,
        key: &FlowKey,
        error: &IcmpError<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let message = match key.transport {
            Transport::Udp => self.recent.quoted(key, &error.quote),
            Transport::Tcp => recorder.wants_refusals().then_some(0),
        };
        let Some(message) = message else { return };
        let Some((slot, side)) = self.table.find(key) else { return };
        let Some(mut flow) = self.table.flow(slot) else { return };
        let (facts, roles) = (flow.facts(), flow.roles);
        let protocol = match &mut flow.state {
            FlowState::Conversation(conversation) => {
                conversation.refused(message);
                Some(conversation.id())
            }
            // An established connection goes on, whatever a router says.
            FlowState::Stream(_) if side == Side::First && facts.began && !facts.seen[1] => None,
            _ => return,
        };
        recorder.flow_context(FlowContext { protocol, roles, ..context.flow_context(&facts) });
        recorder.icmp(context.moment, || IcmpEvent {
            message,
            transport: key.transport,
            ends: [key.from(), key.to()],
            frame: context.frame,
            time: context.now,
            digits: context.digits,
            from: error.ip.source,
            hop_limit: error.ip.hop_limit,
            kind: [error.kind, error.code],
            meaning: error.meaning(),
            mtu: error.mtu,
        });
        recorder.settle();
    }

    /// Evicts flows if they take too much memory.
    #[inline]
    pub(super) fn keep_within<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        recorder: &mut Recorder<F>,
    ) {
        if self.table.is_too_large() {
            self.make_room(context, recorder);
        }
    }
}

#[cold]
fn limit_met<F: FieldSink>(limit: Limit, context: &PacketContext, recorder: &mut Recorder<F>) {
    let detail = || format!("the limit {} was met", limit.name());
    context.about_packet(&NET011, false, recorder, detail);
}

/// The key of a datagram or a segment.
pub(super) fn key_of(outcome: &Outcome<'_>) -> Option<FlowKey> {
    let (ip, source, destination, transport) = match outcome {
        // Whoever sent it, it is about the quoted hosts' packet.
        Outcome::Icmp(IcmpError { quote, .. }) => {
            let &Quote { source, destination, transport, ports, .. } = quote;
            return Some(FlowKey { source, destination, ports, transport });
        }
        Outcome::Udp(it) => (&it.ip, it.source_port, it.destination_port, Transport::Udp),
        Outcome::Tcp(it) => (&it.ip, it.source_port, it.destination_port, Transport::Tcp),
        _ => return None,
    };
    let ports = [source, destination];
    Some(FlowKey { source: ip.source, destination: ip.destination, ports, transport })
}

/// Counts the packets of a message; see [`FlowMut::count`].
fn count_packet(flow: &mut FlowMut<'_>, payload: &Payload<'_>) -> u64 {
    let packets = payload.pieces.len().max(1) as u64;
    flow.count(payload.side, payload.time, packets, payload.sent())
}

/// Whether what a recording cut off from a datagram may hide more than its fields.
#[cold]
fn hides_more(flow: &FlowMut<'_>, payload: &Payload<'_>) -> bool {
    let FlowState::Conversation(conversation) = &flow.state else { return true };
    !(conversation.id().info().identifies_part)(payload.bytes)
}
