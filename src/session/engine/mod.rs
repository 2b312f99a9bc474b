//! The way of a packet: headers, fragments, flow, protocol, events.
//!
//! ```text
//! Packet --net::decode--> Fragment --Defragmenter--+
//!                    \--> Datagram, Segment <------+
//! Datagram --Shard: Table, Identifier--> Conversation::message --> Recorder
//! Segment  --Shard: Table--> Stream (net::tcp) --frames--> Conversation::message --> Recorder
//! ```
//!
//! The session owns all state that outlives a packet and drives it by the capture's own clock.

mod busy_pairs;
mod decoder;
mod early_filter;
mod elapse;
mod filtered;
mod fragments;
mod gate;
mod listed_counts;
mod memory;

mod packet_context;
mod passing;
mod reading;
mod recent;
mod recorder;
mod recording;
mod shard;
mod shard_range;
mod stream;
mod translated;

use std::net::IpAddr;

use dissectors::kit::{Time, Transport};

use super::events::Change;
use super::{
    CutPackets, Datagrams, EventOrder, Numbers, Options, PortPackets, Totals, Translations,
};
use crate::capture::Packet;
use crate::flows::table::{FlowSlot, InOrder};
use crate::flows::{FlowKey, FlowRow};
use crate::net::icmp::identification;
use crate::net::packet::{Datagram, TcpFlags};
use crate::net::{OtherIcmp, Outcome, WholeDatagram, decode, glance, ip_defrag};
pub use decoder::Decoder;
use packet_context::{HeaderResult, PacketContext};
use recorder::{FieldSink, Recorder};
use shard::Shard;
pub use shard_range::Partition;
use shard_range::ShardRange;

/// Decodes the packets of a capture in order.
struct Session {
    context: PacketContext,
    /// The shards of this session's part.
    shards: Vec<Shard>,
    range: ShardRange,
    fragment_events: Vec<ip_defrag::FragmentEvent>,
    /// What is counted here, and not in the context or in the shards: of other traffic, until the first flow's protocol is
    /// identified; of cut packets, those without ports; of hosts, those that other parts have seen.
    totals: Totals,
    translations: Translations,
}

/// The flows that are open at the end of a capture: of each shard, in the order of their numbers,
/// those without a number last.
struct OpenFlows {
    shards: Vec<RemainingFlows>,
}

/// The remaining flows of a shard.
struct RemainingFlows {
    /// The rank of the next one: its number minus one, so that flows without a number come last.
    rank: u64,
    next: Option<FlowSlot>,
    after: InOrder,
}

impl RemainingFlows {
    /// Moves to the shard's next flow; a flow may have been evicted in the meantime.
    fn go_on(&mut self, shard: &Shard) {
        let next = self.after.find_map(|slot| Some((slot, shard.table.get(slot)?.number)));
        self.next = next.map(|(slot, _)| slot);
        self.rank = next.map_or(u64::MAX, |(_, number)| number.wrapping_sub(1).into());
    }
}

/// Where the bytes of a payload were recorded.
#[derive(Clone, Copy)]
enum Recorded<'a> {
    /// In the current packet.
    Here,
    /// In the joined fragments.
    Joined(&'a WholeDatagram),
}

impl Recorded<'_> {
    /// The IPv4 identification of a datagram, if it distinguishes datagrams: that of its header, or the one that its
    /// fragments have in common.
    fn identification(&self, datagram: &Datagram<'_>) -> Option<u16> {
        match self {
            Recorded::Joined(whole) if datagram.headers.ipv4.is_empty() => whole.identification,
            _ => identification(datagram.headers.ipv4),
        }
    }
}

impl Session {
    /// One of several sessions that each have a part of a capture. The first one reports events
    /// without a flow.
    fn of_range(mut options: Options, range: ShardRange) -> Session {
        let limits = &mut options.settings.limits;
        for whole in
            [&mut limits.remembered, &mut limits.inflated_rate, &mut limits.unfinished_bytes]
        {
            *whole /= range.all;
        }
        Session {
            shards: (0..range.shards).map(|_| Shard::new(&options, range.all)).collect(),
            range,
            fragment_events: Vec::new(),
            totals: Totals {
                foreign: PortPackets::counting(options.needs.ports),
                ..Totals::default()
            },
            translations: Translations::default(),
            context: PacketContext::new(options, Numbers::new(range.is_merged)),
        }
    }

    /// The totals, the hosts that were seen, and the packets that were cut.
    fn totals(&self) -> Totals {
        let PacketContext { frame: packets, bytes, span, digits, lossy, dropped, .. } =
            self.context;
        let mut totals = Totals {
            packets,
            bytes,
            links: self.context.links.clone(),
            span: (span[0] <= span[1]).then(|| span.map(Time)),
            digits,
            flows: self.context.numbers.given(),
            lossy,
            dropped,
            ..self.totals.clone()
        };
        if !self.is_first() {
            totals.cut = CutPackets::default();
        }
        for shard in &self.shards {
            totals.heard.add(&shard.heard);
            totals.pairs.add(&shard.pairs);
            totals.cut.add(&shard.cut);
        }
        totals
    }

    /// The rows of open flows, for a listing.
    fn open_rows(&mut self, mut each: impl FnMut(&FlowRow)) {
        let digits = self.context.digits;
        for shard in &mut self.shards {
            for slot in shard.table.in_order() {
                if let Some(flow) = shard.table.flow(slot).filter(|flow| flow.number > 0) {
                    each(&flow.row(digits));
                }
            }
        }
    }

    /// The next packet.
    fn packet<F: FieldSink>(&mut self, packet: &Packet<'_>, recorder: &mut Recorder<F>) {
        let context = &mut self.context;
        if context.broke_off {
            (context.lossy, context.broke_off) = (true, false);
        }
        context.frame += 1;
        let change = self.totals.files.go_on(context.frame, packet.file, packet.number);
        context.span = [context.span[0].min(packet.time), context.span[1].max(packet.time)];
        context.digits = packet.digits;
        context.bytes += packet.original_length as u64;
        context.links.see(packet.link);
        context.offset = packet.offset;
        context.now = Time(packet.time);
        context.moment = EventOrder::before(context.frame);
        let moment = context.moment;
        if let Change::File(event) | Change::End(event) = change
            && self.range.reports_files()
        {
            recorder.file(moment, event);
        }
        self.elapse(recorder);
        self.context.moment = EventOrder::at(self.context.frame);
        if matches!(change, Change::End(_)) && self.range.knows_files() {
            self.context.files_end(recorder);
        }
        let Some(glance) = glance(packet.link, packet.data) else {
            let outcome = decode(packet.link, packet.data, packet.original_length);
            return self.outcome(&outcome, Recorded::Here, 0, recorder);
        };
        if glance.is_fragment() {
            return self.outcome(&glance.outcome(), Recorded::Here, 0, recorder);
        }
        let [source, destination] = glance.hosts();
        let (source, destination) = (IpAddr::V4(source), IpAddr::V4(destination));
        let transport = if glance.is_udp() { Transport::Udp } else { Transport::Tcp };
        // The key is made from values in registers, not from the outcome that was just written:
        // reading that in other units than it was written stalls the processor until the stores
        // complete.
        let key = FlowKey { source, destination, ports: glance.ports(), transport };
        if glance.is_udp() && self.is_copy(key, &glance, recorder) {
            return;
        }
        if let Some(shard) = self.range.place_of(source, destination) {
            self.carried(shard, key, &glance.outcome(), Recorded::Here, recorder);
        } else if glance.is_udp() {
            self.pass_by(glance.payload(), recorder);
        }
    }

    /// No packet has come until now: checks what was due by then, and ends idle flows.
    fn reach<F: FieldSink>(&mut self, now: Time, recorder: &mut Recorder<F>) {
        /// Maximum number of flows that are checked per call.
        const MOST: u32 = 1000;
        self.context.now = self.context.now.max(now);
        self.expire(recorder);
        for shard in &mut self.shards {
            shard.elapse(&mut self.context, recorder);
            shard.end_idle(MOST, &mut self.context, recorder);
        }
    }

    /// The capture is over: open requests are checked, one flow at a time, each time the caller
    /// asks for the remaining flows.
    #[must_use]
    fn finish<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) -> OpenFlows {
        self.context.moment = EventOrder::END;
        // Timeouts that were due by now do not depend on later packets.
        self.ask_due(recorder);
        // What has not waited for long enough proves nothing, unless the capture is said to be complete.
        self.context.ended_early = self.context.broke_off && self.context.options.complete;
        self.context.defragmenter.finish(&mut self.fragment_events);
        self.fragment_events(recorder);
        let left = |shard: &mut Shard| {
            let mut left = RemainingFlows { rank: 0, next: None, after: shard.table.in_order() };
            left.go_on(shard);
            left
        };
        OpenFlows { shards: self.shards.iter_mut().map(left).collect() }
    }

    /// Ends the next open flow. Returns whether there was one.
    fn finish_next<F: FieldSink>(
        &mut self,
        open: &mut OpenFlows,
        recorder: &mut Recorder<F>,
    ) -> bool {
        // There are few shards: to look at each takes less than to keep them in order.
        let shards = open.shards.iter_mut().enumerate();
        if let Some((at, left)) = shards.min_by_key(|(_, left)| left.rank)
            && let (Some(slot), Some(shard)) = (left.next, self.shards.get_mut(at))
        {
            let number = (left.rank as u32).wrapping_add(1);
            left.go_on(shard);
            self.context.moment = EventOrder::end_of(number, self.range.number(at));
            shard.end_flow(&mut self.context, slot, recorder);
            return true;
        }
        for (at, shard) in self.shards.iter_mut().enumerate() {
            self.context.moment = EventOrder::end_of(0, self.range.number(at));
            shard.see_forgotten();
            shard.limits_met(&self.context, recorder);
        }
        false
    }

    /// Handles timeouts before the current packet.
    fn elapse<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        self.expire(recorder);
        // Shards take turns; the packet's own shard handles its timeouts itself.
        let turn = self.context.frame as usize & (self.range.all - 1);
        if let Some(shard) =
            turn.checked_sub(self.range.first).and_then(|at| self.shards.get_mut(at))
        {
            shard.elapse(&mut self.context, recorder);
        }
    }

    fn expire<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        self.context.defragmenter.expire(self.context.now.0, &mut self.fragment_events);
        if !self.fragment_events.is_empty() {
            self.fragment_events(recorder);
        }
    }

    fn outcome<F: FieldSink>(
        &mut self,
        outcome: &Outcome<'_>,
        recorded: Recorded<'_>,
        depth: usize,
        recorder: &mut Recorder<F>,
    ) {
        let Some(key) = shard::key_of(outcome) else {
            return self.no_message(outcome, recorded, depth, recorder);
        };
        if self.holds_copy(outcome, recorded, recorder) {
            return;
        }
        match self.range.place_of(key.source, key.destination) {
            Some(shard) => self.carried(shard, key, outcome, recorded, recorder),
            None => {
                if let Outcome::Udp(datagram) = outcome {
                    self.pass_by(datagram.payload.bytes, recorder);
                }
                self.context.headers.clear();
            }
        }
    }

    /// A datagram or a segment of this shard.
    #[inline]
    fn carried<F: FieldSink>(
        &mut self,
        shard: usize,
        key: FlowKey,
        outcome: &Outcome<'_>,
        recorded: Recorded<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let Some(shard) = self.shards.get_mut(shard) else { return };
        let context = &mut self.context;
        match context.options.needs.datagrams {
            Datagrams::None => {}
            Datagrams::Only => {
                if let Outcome::Tcp(_) = outcome {
                    self.totals.foreign.see(&key, &context.numbers);
                }
                return context.pass(shard, &key, outcome, recorder);
            }
            Datagrams::Beside => {
                if let Outcome::Udp(datagram) = outcome {
                    context.pass_datagram(shard, &key, datagram, false, recorder);
                }
            }
        }
        shard.ask_due(context, recorder);
        if context.options.verify_checksums {
            context.checksums(outcome);
        }
        let is_foreign = match outcome {
            Outcome::Udp(datagram) => {
                (context.hop_limit, context.direction) =
                    (datagram.ip.hop_limit, datagram.ip.direction);
                context.note(datagram.note.as_ref());
                let is_ours = shard.datagram(context, &key, datagram, recorded, recorder);
                if !is_ours {
                    shard.see_pair(context, &key, datagram.payload.bytes, TcpFlags::default());
                }
                !is_ours
            }
            // The datagram in an ICMP error is not a packet between these ports.
            Outcome::Icmp(error) => {
                let hosts = [error.ip.source, error.ip.destination];
                shard.see_host(context, hosts, error.ip.hop_limit);
                shard.icmp(context, &key, error, recorder);
                shard.refuse_pair(context, &key);
                false
            }
            Outcome::Tcp(segment) => {
                shard.see_host(context, [key.source, key.destination], segment.ip.hop_limit);
                (context.hop_limit, context.direction) =
                    (segment.ip.hop_limit, segment.ip.direction);
                context.note(segment.note.as_ref());
                shard.see_pair(context, &key, segment.payload.bytes, segment.flags);
                if let Some(place) = shard.place(&key, segment, context.now) {
                    shard.segment(context, &key, place, segment, recorded, recorder);
                }
                // Later segments show whose it is.
                true
            }
            _ => false,
        };
        shard.limits_met(context, recorder);
        self.headers(recorder);
        if is_foreign {
            self.totals.foreign.see(&key, &self.context.numbers);
        }
    }

    /// A packet that carries no message, or may turn out to carry one later.
    fn no_message<F: FieldSink>(
        &mut self,
        outcome: &Outcome<'_>,
        recorded: Recorded<'_>,
        depth: usize,
        recorder: &mut Recorder<F>,
    ) {
        if self.context.options.verify_checksums {
            self.context.checksums(outcome);
        }
        match outcome {
            Outcome::Fragment(fragment) => self.fragment(fragment, recorded, depth, recorder),
            Outcome::Malformed(malformed) => self.context.note(Some(malformed)),
            Outcome::UnknownLink(link) => {
                self.totals.unknown_links += 1;
                self.totals.unknown_link.get_or_insert(*link);
            }
            Outcome::Aggregate(aggregate) => {
                for frame in aggregate.frames() {
                    self.context.moment = self.context.moment.within();
                    self.outcome(&frame, recorded, depth, recorder);
                }
            }
            // Its hosts are unknown.
            Outcome::Snapped => {
                self.lose(recorder);
                self.context.count_cut(&mut self.totals.cut);
            }
            Outcome::Unread(layer) => self.totals.unread[*layer as usize] += 1,
            Outcome::OtherIcmp(icmp) => self.other_icmp(icmp),
            Outcome::Other | Outcome::Udp(_) | Outcome::Tcp(_) | Outcome::Icmp(_) => {}
        }
        // Each part reports the hosts of its own pairs.
        let reports = match (outcome, recorded) {
            (Outcome::Fragment(fragment), _) => self.range.has(&fragment.ip),
            (_, Recorded::Joined(whole)) => self.range.has(&whole.ip),
            (_, Recorded::Here) => self.is_first(),
        };
        if reports {
            self.headers(recorder);
        }
        self.context.headers.clear();
    }

    /// Packets between unknown hosts are missing from now on. Timeouts before that are checked
    /// first, because they are not affected.
    #[cold]
    fn lose<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        if !self.context.lossy {
            self.ask_due(recorder);
            self.context.moment = self.context.moment.within();
            self.context.lossy = true;
        }
    }

    /// The recording breaks off. If packets follow, some between them are missing; if not, only what still waits may have
    /// come later.
    #[cold]
    fn break_off<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        if !self.context.lossy && !self.context.broke_off {
            self.ask_due(recorder);
            self.context.moment = self.context.moment.within();
            self.context.broke_off = true;
        }
    }

    /// Checks the timeouts until now.
    fn ask_due<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        for shard in &mut self.shards {
            shard.ask_due(&mut self.context, recorder);
        }
    }

    /// ICMP that is about no datagram: its sender runs.
    fn other_icmp(&mut self, icmp: &OtherIcmp) {
        let OtherIcmp { ip, .. } = icmp;
        let place = self.range.place_of(ip.source, ip.destination);
        let Some(shard) = place.and_then(|at| self.shards.get_mut(at)) else { return };
        shard.see_host(&self.context, [ip.source, ip.destination], ip.hop_limit);
        if let Some(echo) = icmp.echo() {
            self.totals.foreign.see_echo(echo, &self.context.numbers);
        }
    }

    /// Reports the results about the packet's headers, if no message has.
    #[inline]
    fn headers<F: FieldSink>(&mut self, recorder: &mut Recorder<F>) {
        if self.context.headers.is_empty() {
            return;
        }
        for HeaderResult { rule, ok, detail } in std::mem::take(&mut self.context.headers) {
            self.context.about_packet(rule, ok, recorder, || detail);
        }
    }

    /// Whether this session reports events without a flow.
    fn is_first(&self) -> bool {
        self.range.is_first()
    }
}
