//! Reads messages from the ordered bytes of a TCP connection: identifies the protocol, and finds
//! where each message ends.

use dissectors::kit::{
    Closed, Evidence, Framed, Mark, Payload, Piece, Rule, Side, Sink, Span, StreamView, Time,
    Unread, counted,
};
use dissectors::net_rules::{NET001, NET006, NET007, NET011};
use dissectors::{ContextParts, Conversation, Id, SharedStates};

use super::PacketContext;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use super::recording::SNAPPED;
use super::recording::report;
use crate::flows::identify::Undecided;
use crate::flows::stream::{StreamProtocol, UnreadBytes};
use crate::flows::{FlowMut, FlowRow};
use crate::net::Tunnels;
use crate::net::tcp::{
    Connection, GapCause, Next, Run, StreamBudget, StreamEnd, StreamEvent, StreamEventKind,
    StreamLimit, StreamReader,
};
use crate::session::FlowContext;

/// Limit: bytes of a stream before its protocol is identified | {:bytes} each way | the stream counts as other traffic
const UNDECIDED: usize = 4096;

/// Reads a connection's bytes, finds its messages and passes them to its conversation.
pub(super) struct Reading<'s, F> {
    pub(super) stream: StreamProtocol,
    pub(super) flow: FlowMut<'s>,
    pub(super) context: &'s mut PacketContext,
    pub(super) shared: &'s mut SharedStates,
    pub(super) unfinished: &'s mut dissectors::kit::Budget,
    pub(super) pieces: Vec<Piece>,
    pub(super) lossy: bool,
    pub(super) tunnels: Tunnels,
    /// See [`FlowContext::window_closed`].
    pub(super) window_closed: [u32; 2],
    /// The protocol was identified when both directions had bytes: they are read again.
    pub(super) rereads: bool,
    /// More bytes might have identified the protocol, but are missing.
    pub(super) cut_short: bool,
    pub(super) recorder: &'s mut Recorder<F>,
}

impl<F: FieldSink> StreamReader for Reading<'_, F> {
    fn read(&mut self, side: Side, run: &Run<'_>) -> Next {
        if self.stream.conversation.is_none() {
            match self.identify(side, run) {
                Ok(id) => self.begin(id),
                Err(Undecided::None) => {
                    self.cut_short = run.end() == Some(StreamEnd::Gap);
                    return Next::Ignore;
                }
                Err(Undecided::More) if self.is_nothing(side, run) => return Next::Consumed(0),
                Err(Undecided::More) => {
                    self.wait(side, run);
                    // Bytes are read again together with later ones; after a FIN there are none.
                    let is_kept = run.end() == Some(StreamEnd::Fin);
                    return if is_kept { Next::Later } else { Next::Consumed(0) };
                }
            }
            self.stream.beginnings = None;
            if self.other_begins(side, run) {
                self.rereads = true;
                self.wait(side, run);
                return Next::Later;
            }
        }
        if self.has_to_wait(side, run) {
            self.wait(side, run);
            return Next::Later;
        }
        let used = self.next(side, run);
        if run.is_held_back() {
            self.wait(side, run);
        } else if used == 0 || used >= run.bytes().len() {
            let waited = self.stream.stop_waiting(side).and_then(|wait| wait.closed);
            if let Some((how, time)) = closing(run.end(), waited, self.ended(run)) {
                self.closed(side, how, time, run.other_has_hole());
            }
        }
        Next::Consumed(used)
    }

    fn event(&mut self, event: StreamEvent) {
        if event.kind == StreamEventKind::NewConnection {
            self.end_conversation(&event);
            return;
        }
        if let StreamEventKind::Gap { .. } | StreamEventKind::Limit { .. } = event.kind {
            self.flow.is_lossy = true;
        }
        let Some(id) = self.stream.conversation.as_ref().map(|conversation| conversation.id())
        else {
            return;
        };
        // Of a direction that was not recorded at all, the recorder lost nothing.
        let is_recorded = self.flow.facts().seen[event.side.index()];
        if let StreamEventKind::Gap { cause: GapCause::Acknowledged, .. } = event.kind
            && is_recorded
        {
            self.recorder.lacks_acknowledged();
        }
        if let StreamEventKind::Gap { cause: GapCause::Snapped, .. } = event.kind {
            self.report(id, &event, &NET001, SNAPPED.to_owned());
        }
        let (rule, detail) = match event.kind {
            StreamEventKind::Gap { sequence, missing, .. } => (
                &NET006,
                format!("{} missing at sequence number {sequence}", bytes(missing, "is/are")),
            ),
            StreamEventKind::Limit { limit, dropped } => {
                let name = match limit {
                    StreamLimit::Stream => "the limit stream-bytes was met",
                    StreamLimit::Total => "the limit streams-bytes was met",
                    StreamLimit::Ranges => "a stream is in too many pieces",
                };
                (&NET011, format!("{name}: {} dropped", bytes(dropped, "was/were")))
            }
            StreamEventKind::OverlapDiffers { sequence, original } => {
                let at = format!("from sequence number {sequence} on");
                (&NET007, format!("other bytes than frame {original} has {at}"))
            }
            StreamEventKind::NewConnection => return,
        };
        self.report(id, &event, rule, detail);
    }
}

impl<F: FieldSink> Reading<'_, F> {
    /// Reports a fault in the stream.
    fn report(&mut self, id: Id, event: &StreamEvent, rule: &'static Rule, detail: String) {
        let &StreamEvent { frame, time, side, .. } = event;
        let mark = Mark { frame, time: Time(time), length: 0, side };
        let flow_context = self.flow_context(id);
        let reported = report(self.recorder, flow_context, rule, false, &mark, || detail);
        self.flow.count_reported(reported);
    }

    fn identify(&mut self, side: Side, run: &Run<'_>) -> Result<Id, Undecided> {
        if run.bytes().is_empty() {
            return Err(Undecided::More);
        }
        let ends = self.flow.facts().ends;
        let other =
            self.stream.beginnings.as_ref().map(|both| both[side.other().index()].as_slice());
        let mut stream = StreamView {
            bytes: [run.bytes(), other.unwrap_or_default()],
            began: [run.began() && !run.after_gap(), true],
            ended: [run.end().is_some(), false],
        };
        let mut ports = [ends[side.index()].port(), ends[side.other().index()].port()];
        if side == Side::Second {
            stream.bytes.swap(0, 1);
            stream.began.swap(0, 1);
            stream.ended.swap(0, 1);
            ports.swap(0, 1);
        }
        let reported = self.context.options.identifier.stream(&stream, ports);
        // Earlier bytes may identify the protocol.
        let may_show_more = reported == Err(Undecided::None) && run.other_has_hole();
        if reported != Err(Undecided::More) && !may_show_more {
            return reported;
        }
        let beginnings = self.stream.beginnings.get_or_insert_default();
        let own = &mut beginnings[side.index()];
        if run.bytes().len() > UNDECIDED {
            return Err(Undecided::None);
        }
        own.extend_from_slice(run.bytes().get(own.len()..).unwrap_or_default());
        Err(Undecided::More)
    }

    /// Whether neither direction has bytes that are known.
    fn is_nothing(&self, side: Side, run: &Run<'_>) -> bool {
        let is_silent = run.bytes().is_empty() && !run.other_has_hole();
        is_silent && self.stream.wait(side.other()).is_none()
    }

    /// Whether, after the protocol was identified, the other direction has unread bytes that belong
    /// before or after these.
    fn other_begins(&self, side: Side, run: &Run<'_>) -> bool {
        let Some(other) = self.stream.wait(side.other()) else { return false };
        match run.end() {
            None | Some(StreamEnd::Fin) => true,
            Some(StreamEnd::Reset | StreamEnd::Abandoned) => {
                other.since < self.first_frame(side, run)
            }
            Some(StreamEnd::Gap | StreamEnd::Limit) => false,
        }
    }

    /// Whether earlier bytes of the other direction must be read first: they are missing, or
    /// waiting.
    fn has_to_wait(&self, side: Side, run: &Run<'_>) -> bool {
        match run.end() {
            Some(StreamEnd::Gap | StreamEnd::Limit) => false,
            Some(StreamEnd::Fin)
                if run.bytes().is_empty() && self.stream.wait(side.other()).is_some() =>
            {
                true
            }
            None | Some(StreamEnd::Fin | StreamEnd::Reset | StreamEnd::Abandoned) => {
                run.other_has_hole() || run.answers_unshown()
            }
        }
    }

    /// Reads waiting bytes that need not wait any longer, in the order in which they were sent.
    pub(super) fn catch_up(&mut self, connection: &mut Connection, budget: &mut StreamBudget) {
        if self.stream.conversation.is_none() {
            return;
        }
        if self.rereads {
            connection.forget_shown();
        }
        while self.stream.waits.is_some() {
            let mut sides = Side::BOTH;
            sides.sort_by_key(|&side| self.stream.wait(side).map(|wait| wait.since));
            let goes_on = sides.into_iter().any(|side| {
                let before = self.stream.wait(side);
                if before.is_some() {
                    connection.read_again(side, budget, self);
                }
                self.stream.wait(side) != before
            });
            if !goes_on {
                return;
            }
        }
    }

    /// The unread bytes of a direction must wait.
    fn wait(&mut self, side: Side, run: &Run<'_>) {
        let (since, ended) = (self.first_frame(side, run), self.ended(run));
        let wait = &mut self.stream.waits.get_or_insert_default()[side.index()];
        let wait = wait.get_or_insert(UnreadBytes { since, shown: 0, closed: None });
        (wait.since, wait.shown) = (since, run.bytes().len());
        if run.end() == Some(StreamEnd::Fin) {
            wait.closed.get_or_insert(ended);
        }
    }

    /// When a direction ended: a FIN may have waited for bytes before it.
    fn ended(&self, run: &Run<'_>) -> Time {
        run.fin_time().map_or(self.context.now, Time)
    }

    /// The packet of the first unread byte, or of the FIN.
    fn first_frame(&self, side: Side, run: &Run<'_>) -> u64 {
        let waits = || self.stream.wait(side).map(|wait| wait.since);
        let frame = run.pieces().next().map(|piece| piece.frame).or_else(waits);
        frame.unwrap_or(self.context.frame)
    }

    fn begin(&mut self, id: Id) {
        self.flow.number = self.context.numbers.next(self.context.moment);
        self.stream.conversation = Some(Box::new(id.conversation()));
    }

    /// Reads one message, or skips bytes that are not one. Returns how many bytes it took.
    fn next(&mut self, side: Side, run: &Run<'_>) -> usize {
        let bytes = run.bytes();
        let facts = self.flow.facts();
        let Some(conversation) = &mut self.stream.conversation else { return 0 };
        if bytes.is_empty() {
            return 0;
        }
        let ended = run.end().is_some();
        // A direction whose beginning is not in the capture begins in the middle of a message.
        let heard = std::mem::replace(&mut self.stream.heard[side.index()], true);
        let mid = self.stream.cut[side.index()];
        let is_after_loss = run.after_gap() || mid;
        let begins_late = !is_after_loss && !heard && !run.began();
        let after_gap = is_after_loss || begins_late;
        let is_reset = run.end() == Some(StreamEnd::Reset);
        let unread = Unread { bytes, seen: run.seen(), ended, after_gap, begins_late, is_reset };
        let parts = ContextParts {
            shared: self.shared,
            flow: &facts,
            settings: &self.context.options.settings,
            budget: self.unfinished,
        };
        let length = match conversation.frame(parts, side, &unread) {
            Framed::Message(length) => length.clamp(1, bytes.len()),
            Framed::Junk(length) => {
                self.stream.cut[side.index()] = false;
                return length.clamp(1, bytes.len());
            }
            Framed::More => {
                self.stream.heard[side.index()] = heard;
                return 0;
            }
        };
        let is_last = length == bytes.len();
        let has_gap = is_after_loss
            || is_last && matches!(run.end(), Some(StreamEnd::Gap | StreamEnd::Limit));
        // What ends with the capture is not whole either, but no bytes are missing between others.
        let lost = has_gap || is_last && run.end() == Some(StreamEnd::Abandoned);
        // Overdue requests are reported before the next message.
        if conversation.deadline().is_some_and(|due| due <= self.context.now) {
            self.elapse(run.other_has_hole(), false);
        }
        self.stream.cut[side.index()] = run.end() == Some(StreamEnd::Limit) && is_last;
        self.message(side, run, length, lost, has_gap);
        length
    }

    fn message(&mut self, side: Side, run: &Run<'_>, length: usize, lost: bool, has_gap: bool) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        pieces.extend(run.pieces_of(0..length));
        let (frame, time) = run
            .completed_by(0..length)
            .map_or((0, self.context.now), |packet| (packet.frame, Time(packet.time)));
        let bytes = run.bytes().get(..length).unwrap_or_default();
        let payload = Payload { pieces: &pieces, frame, time, lost, ..self.payload(side, bytes) };
        let complete = self.context.options.complete;
        self.conversation(run.other_has_hole(), |conversation, parts, recorder| {
            recorder.checked(&NET006, !has_gap, Span::new(0, length), || {
                "the recording lost bytes of this message".to_owned()
            });
            recorder.checked(&NET007, true, Span::new(0, length), String::new);
            recorder.evidence(Evidence { complete, lost, ..parts.flow.evidence() });
            conversation.message(parts, &payload, recorder);
        });
        self.pieces = pieces;
    }

    /// Calls the conversation to check timeouts; with `end`, everything that is open.
    fn elapse(&mut self, other_has_hole: bool, end: bool) {
        let now = self.context.now;
        self.conversation(other_has_hole, |conversation, parts, recorder| {
            conversation.elapse(parts, now, end, recorder);
        });
    }

    fn closed(&mut self, side: Side, how: Closed, time: Time, other_has_hole: bool) {
        let payload = Payload { time, ..self.payload(side, &[]) };
        self.conversation(other_has_hole, |conversation, parts, recorder| {
            conversation.closed(parts, how, &payload, recorder);
        });
    }

    /// The ports are reused from a packet on: checks the conversation so far.
    fn end_conversation(&mut self, reuse: &StreamEvent) {
        self.elapse(false, true);
        if let Some(conversation) = self.stream.conversation.take() {
            let protocol = conversation.id().info().id;
            let row = || FlowRow { protocol, ..self.flow.row(self.context.digits) };
            self.recorder.flow_ended(self.context.moment, row);
        }
        self.stream = StreamProtocol::default();
        self.flow.begin_again(Time(reuse.time));
        self.flow.begins_with(reuse.frame);
    }

    fn payload<'p>(&self, side: Side, bytes: &'p [u8]) -> Payload<'p> {
        let (frame, time) = (self.context.frame, self.context.now);
        Payload { frame, time, ..self.flow.facts().payload(side, bytes, &[]) }
    }

    /// Calls the conversation in the context of this flow, and counts what it reports.
    /// `other_has_hole`: earlier bytes of the other direction are missing.
    fn conversation(
        &mut self,
        other_has_hole: bool,
        work: impl FnOnce(&mut Conversation, ContextParts<'_>, &mut Recorder<F>),
    ) {
        let Some(mut conversation) = self.stream.conversation.take() else { return };
        self.recorder.count_in(&mut self.flow);
        self.recorder.flow_context(self.flow_context(conversation.id()));
        let mut facts = self.flow.facts();
        facts.lossy |= self.lossy || other_has_hole;
        let complete = self.context.options.complete;
        self.recorder.evidence(Evidence { complete, ..facts.evidence() });
        let parts = ContextParts {
            shared: self.shared,
            flow: &facts,
            settings: &self.context.options.settings,
            budget: self.unfinished,
        };
        work(&mut conversation, parts, self.recorder);
        self.stream.conversation = Some(conversation);
        self.recorder.settle_in(&mut self.flow);
    }

    fn flow_context(&self, id: Id) -> FlowContext {
        FlowContext {
            protocol: Some(id),
            roles: self.flow.roles,
            tunnels: self.tunnels,
            window_closed: self.window_closed,
            ..self.context.flow_context(&self.flow.facts())
        }
    }
}

/// How and when a direction was closed. `waited`: the time if it closed after waiting; `now`:
/// otherwise.
fn closing(end: Option<StreamEnd>, waited: Option<Time>, now: Time) -> Option<(Closed, Time)> {
    match end? {
        StreamEnd::Fin => Some((Closed::Orderly, waited.unwrap_or(now))),
        StreamEnd::Reset => Some((Closed::Reset, now)),
        StreamEnd::Gap | StreamEnd::Limit | StreamEnd::Abandoned => None,
    }
}

/// This many bytes, with the verb that agrees with them.
fn bytes(count: u64, verb: &str) -> String {
    let (one, many) = verb.split_once('/').unwrap_or((verb, verb));
    let noun = format!("byte {one}/bytes {many}");
    counted(usize::try_from(count).unwrap_or(usize::MAX), &noun)
}
