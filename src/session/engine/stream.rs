//! The segments of TCP connections: finds their flow, and keeps the state of a connection.

use dissectors::kit::{CrossFlowEvent, FlowFacts, Mark, SeenMessage, Side, Sink, Time};

use super::PacketContext;
use super::Recorded;
use super::reading::Reading;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use super::shard::Shard;
use crate::flows::table::FlowSlot;
use crate::flows::{FlowKey, FlowState};
use crate::net::tcp::{ArrivingSegment, Connection, StreamBudget};
use crate::net::{FrameRef, Segment, TcpFlags, Tunnels};
use crate::session::totals::may_be_ours;

/// Maximum capacity that is kept for the next message's pieces.
const PIECES: usize = 1 << 10;

/// The flow of a segment.
pub(super) enum SegmentPlace {
    /// An existing flow, and the side that sent the segment.
    GoesOn(FlowSlot, Side),
    /// None that is open. There may be a closed one between the same ends.
    Begins(Option<FlowSlot>),
}

impl Shard {
    /// The place of a segment that has an effect. A segment without effect is only counted.
    #[inline]
    pub(super) fn place(
        &mut self,
        key: &FlowKey,
        segment: &Segment<'_>,
        time: Time,
    ) -> Option<SegmentPlace> {
        let Some((slot, side)) = self.table.find(key) else {
            return Some(SegmentPlace::Begins(None));
        };
        if self.table.has_ended(slot, time) {
            return Some(SegmentPlace::Begins(Some(slot)));
        }
        if let Some(mut flow) = self.table.flow(slot)
            && let FlowState::Stream(stream) = &mut flow.state
        {
            if segment.flags.0 & TcpFlags::CHANGING == 0 {
                if stream.connection.is_ignored() {
                    flow.touch(side, time);
                    return None;
                }
                if acknowledges(&stream.connection, side, segment) {
                    stream.connection.note_window(side, segment, time.0);
                    flow.count(side, time, 1, segment.payload.sent().into());
                    return None;
                }
            }
            if stream.connection.sends_new(side, segment) && flow.is_midway {
                flow.is_midway = false;
            }
        }
        Some(SegmentPlace::GoesOn(slot, side))
    }

    /// A TCP segment at this [`place`](Shard::place).
    pub(super) fn segment<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        key: &FlowKey,
        place: SegmentPlace,
        segment: &Segment<'_>,
        recorded: Recorded<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let (slot, side) = match place {
            SegmentPlace::GoesOn(slot, side) => (slot, side),
            SegmentPlace::Begins(ended) if segment.flags.syn() || segment.payload.announced > 0 => {
                if let Some(slot) = ended {
                    self.end_flow(context, slot, recorder);
                }
                self.make_room(context, recorder);
                self.begin_connection(context, key, segment.flags)
            }
            SegmentPlace::Begins(_) => return,
        };
        let now = context.now;
        let mut pieces = std::mem::take(&mut context.pieces);
        let (offset, length) = (segment.payload.offset, segment.payload.bytes.len());
        context.locate(offset, length, recorded, &mut pieces);
        let mut is_unreported = false;
        let refuses = segment.flags.rst() && side == Side::Second && recorder.wants_refusals();
        let mut refused = None;
        self.with_stream(
            context,
            slot,
            segment.ip.tunnels,
            recorder,
            |connection, budget, reading| {
                refused =
                    refuses.then(|| reading.flow.facts()).filter(|it| it.began && !it.seen[1]);
                reading.flow.count(side, now, 1, segment.payload.sent().into());
                let was_ignored = connection.is_ignored();
                let frame = pieces.first().map_or(0, |piece| piece.frame);
                let at = FrameRef { frame, time: now.0 };
                let arrival = ArrivingSegment { segment, at, pieces: &pieces };
                connection.segment(side, &arrival, budget, reading);
                refused = refused.filter(|_| connection.is_over());
                let was_undecided = reading.cut_short || !connection.is_ignored();
                is_unreported =
                    reading.stream.conversation.is_none() && !was_ignored && was_undecided;
            },
        );
        context.pieces = pieces;
        if let Some(flow) = refused {
            report_refusal(context, &flow, side, recorder);
        }
        if is_unreported && may_be_ours(&segment.payload, self.has_known_port(key)) {
            context.count_cut(&mut self.cut);
        }
        self.keep_within(context, recorder);
    }

    /// A connection that begins with a segment with these flags. Returns it, and the side of the segment: who opens it is
    /// its first side, also where only the answer to its SYN was recorded.
    fn begin_connection(
        &mut self,
        context: &PacketContext,
        key: &FlowKey,
        flags: TcpFlags,
    ) -> (FlowSlot, Side) {
        let (key, side) = match flags.syn() && flags.ack() {
            true => (key.reversed(), Side::Second),
            false => (*key, Side::First),
        };
        let slot = self.table.insert(&key, context.now);
        if let Some(mut flow) = self.table.flow(slot) {
            flow.begins_with(context.frame);
            flow.has_begun = flags.syn();
            flow.is_midway = !flags.syn();
            flow.state = FlowState::Stream(Box::default());
        }
        (slot, side)
    }

    /// No more segments of this connection will come: reads bytes after gaps.
    pub(super) fn drain_stream<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        recorder: &mut Recorder<F>,
    ) {
        self.with_stream(
            context,
            slot,
            Tunnels::default(),
            recorder,
            |connection, budget, reading| {
                std::mem::take(connection).finish(budget, reading);
            },
        );
    }

    /// Calls `work` with a flow's connection and a reader for it.
    fn with_stream<F: FieldSink>(
        &mut self,
        context: &mut PacketContext,
        slot: FlowSlot,
        tunnels: Tunnels,
        recorder: &mut Recorder<F>,
        work: impl FnOnce(&mut Connection, &mut StreamBudget, &mut Reading<'_, F>),
    ) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let state = &mut flow.state;
        // Flows that are not streams are ignored.
        if !matches!(state, FlowState::Stream(_)) {
            return;
        }
        let FlowState::Stream(mut stream) = std::mem::replace(state, FlowState::New) else {
            return;
        };
        let lossy = context.facts(&flow, 0, &self.incomplete).lossy;
        let before = flow.memory();
        let now = context.now.0;
        let window_closed = Side::BOTH.map(|side| {
            let closed = stream.connection.window_closed(side, now) / 1_000_000;
            u32::try_from(closed).unwrap_or(u32::MAX)
        });
        let mut reading = Reading {
            stream: std::mem::take(&mut stream.stream),
            flow,
            context: &mut *context,
            shared: &mut self.shared,
            unfinished: &mut self.budget,
            pieces: std::mem::take(&mut self.streams.pieces),
            lossy,
            tunnels,
            window_closed,
            rereads: false,
            cut_short: false,
            recorder: &mut *recorder,
        };
        let (connection, budget) = (&mut stream.connection, &mut self.streams.budget);
        work(connection, budget, &mut reading);
        reading.catch_up(connection, budget);
        stream.stream = reading.stream;
        if reading.pieces.capacity() <= PIECES {
            self.streams.pieces = reading.pieces;
        }
        let deadline =
            stream.stream.conversation.as_ref().and_then(|conversation| conversation.deadline());
        if let Some(mut flow) = self.table.flow(slot) {
            flow.set_held(stream.memory());
            flow.state = FlowState::Stream(stream);
            let now = flow.memory();
            self.deadlines.plan(&mut flow, slot, deadline);
            self.table.weigh(before, now);
        }
    }
}

/// Whether a segment only acknowledges received bytes.
fn acknowledges(connection: &Connection, side: Side, segment: &Segment<'_>) -> bool {
    let &Segment { sequence, acknowledgment, flags, payload, .. } = segment;
    payload.announced == 0 && flags.ack() && connection.is_settled(side, sequence, acknowledgment)
}

/// Reports that this side refused the connection.
fn report_refusal<F: FieldSink>(
    context: &PacketContext,
    flow: &FlowFacts,
    side: Side,
    recorder: &mut Recorder<F>,
) {
    let mark = Mark { frame: context.frame, time: context.now, length: 0, side };
    let [from, to] = flow.ends_from(side);
    recorder.flow_context(context.flow_context(flow));
    recorder.cross_flow(CrossFlowEvent::Refused, SeenMessage { mark, from, to });
    recorder.settle();
}
