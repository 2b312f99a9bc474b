//! A TCP connection on its way to a protocol: which one it speaks, and where its messages end.

use dissectors::kit::{
    Closed, Evidence, FlowFacts, Framed, Mark, Payload, Piece, Side, Span, StreamView, Time, Unread,
};
use dissectors::net_rules::{NET006, NET007, NET011};
use dissectors::{Books, Id, Talk};

use super::lane::Lane;
use super::recording::tell;
use super::{Around, Options, Recorded, Scene, View};
use crate::flows::identify::Undecided;
use crate::flows::stream::Speech;
use crate::flows::table::Slot;
use crate::flows::{Flow, FlowRow, Followed, Key, State};
use crate::net::tcp::{
    self, Budget, Connection, End, Event, Flags, Kind, Limit, Limits, Next, Reader, Run, Way,
};
use crate::net::{Segment, TcpFlags, Tunnels};

/// Bytes of each direction that may wait for the other to tell the protocol.
const UNDECIDED: usize = 4096;

/// Room for so many pieces of a message is kept for the next one.
const PIECES: usize = 1 << 10;

/// What all connections share.
pub(super) struct Streams {
    budget: Budget,
    /// Room for the pieces of a message, to be used again.
    pieces: Vec<Piece>,
}

impl Streams {
    pub(super) fn new(limits: Limits) -> Streams {
        Streams { budget: Budget::new(limits), pieces: Vec::new() }
    }
}

impl Lane {
    /// A TCP segment.
    pub(super) fn segment<V: View>(
        &mut self,
        around: &mut Around,
        key: &Key,
        segment: &Segment<'_>,
        time: Time,
        recorded: Recorded<'_>,
        view: &mut V,
    ) {
        let found = self.table.find(key);
        let found = found.filter(|&(slot, _)| !self.table.has_ended(slot, time));
        if let Some((slot, side)) = found
            && let Some(mut flow) = self.table.flow(slot)
            && is_passed_over(&flow, side, segment)
        {
            count(&mut flow, side, segment, time);
            return;
        }
        let (slot, side) = match found {
            Some(found) => found,
            None if segment.flags.syn() || segment.payload.announced > 0 => {
                if let Some((slot, _)) = self.table.find(key) {
                    self.end_flow(around, slot, view);
                }
                self.make_room(around, view);
                let slot = self.table.insert(key, time);
                if let Some(mut flow) = self.table.flow(slot) {
                    flow.set_began(segment.flags.syn() && !segment.flags.ack());
                    flow.state = State::Stream(Box::default());
                }
                (slot, Side::First)
            }
            None => return,
        };
        let mut pieces = std::mem::take(&mut around.pieces);
        let (offset, length) = (segment.payload.offset, segment.payload.bytes.len());
        around.locate(offset, length, recorded, &mut pieces);
        self.with_stream(around, slot, segment.ip.tunnels, view, |connection, budget, reading| {
            count(&mut reading.flow, side, segment, time);
            let recorded = recorded_in(&pieces, time);
            let segment = read(segment, &pieces, &recorded, time);
            connection.segment(way(side), &segment, budget, reading);
        });
        around.pieces = pieces;
        self.keep_within(around, view);
    }

    /// Nothing more comes of this connection: what waits for missing bytes is read without them.
    pub(super) fn drain_stream<V: View>(&mut self, around: &mut Around, slot: Slot, view: &mut V) {
        self.with_stream(around, slot, Tunnels::default(), view, |connection, budget, reading| {
            std::mem::take(connection).finish(budget, reading);
        });
    }

    /// Lets `work` use a flow's connection and a reader for it.
    fn with_stream<V: View>(
        &mut self,
        around: &mut Around,
        slot: Slot,
        tunnels: Tunnels,
        view: &mut V,
        work: impl FnOnce(&mut Connection, &mut Budget, &mut Reading<'_, V>),
    ) {
        let Some(mut flow) = self.table.flow(slot) else { return };
        let mut stream = match std::mem::replace(&mut flow.state, State::New) {
            State::Stream(stream) => stream,
            other => {
                flow.state = other;
                return;
            }
        };
        let lossy = around.facts(&flow, &self.incomplete).lossy;
        let before = flow.memory();
        let mut reading = Reading {
            speech: std::mem::take(&mut stream.speech),
            flow,
            around: &mut *around,
            books: &mut self.books,
            unfinished: &mut self.budget,
            pieces: std::mem::take(&mut self.streams.pieces),
            lossy,
            tunnels,
            view: &mut *view,
        };
        let (connection, budget) = (&mut stream.connection, &mut self.streams.budget);
        work(connection, budget, &mut reading);
        if let Some(held) = reading.speech.held.take() {
            connection.read_again(way(held), budget, &mut reading);
            connection.read_again(way(held.other()), budget, &mut reading);
        }
        stream.speech = reading.speech;
        if reading.pieces.capacity() <= PIECES {
            self.streams.pieces = reading.pieces;
        }
        let deadline = stream.speech.talk.as_ref().and_then(|talk| talk.deadline());
        if let Some(mut flow) = self.table.flow(slot) {
            flow.set_held(stream.memory());
            flow.state = State::Stream(stream);
            let now = flow.memory();
            self.deadlines.plan(&mut flow, slot, deadline);
            self.table.weigh(before, now);
        }
    }
}

/// Whether a segment does nothing to a connection: it only counts.
fn is_passed_over(flow: &Flow, side: Side, segment: &Segment<'_>) -> bool {
    let TcpFlags(flags) = segment.flags;
    let State::Stream(stream) = &flow.state else { return false };
    if flags & TcpFlags::CHANGING != 0 {
        return false;
    }
    let acknowledges = || {
        let (sequence, acknowledgment) = (segment.sequence, segment.acknowledgment);
        segment.payload.announced == 0
            && segment.flags.ack()
            && stream.connection.is_settled(way(side), sequence, acknowledgment)
    };
    stream.connection.is_ignored() || acknowledges()
}

fn count(flow: &mut Followed<'_>, side: Side, segment: &Segment<'_>, time: Time) {
    flow.count(side, time, 1, segment.payload.bytes.len());
}

/// Where the bytes of a segment were recorded, if IP fragments carried it.
fn recorded_in(pieces: &[Piece], time: Time) -> Vec<tcp::Piece> {
    let several = if pieces.len() > 1 { pieces } else { &[] };
    let piece = |piece: &Piece| {
        let (start, length) = (piece.at as usize, piece.length as usize);
        let bytes = start..start.saturating_add(length);
        tcp::Piece { bytes, frame: piece.frame, time: time.0, offset: piece.offset }
    };
    several.iter().map(piece).collect()
}

/// A segment as reassembly reads it.
fn read<'s>(
    segment: &Segment<'s>,
    pieces: &[Piece],
    recorded: &'s [tcp::Piece],
    time: Time,
) -> tcp::Segment<'s> {
    let flags = segment.flags;
    let (frame, offset) = pieces.first().map_or((0, 0), |piece| (piece.frame, piece.offset));
    tcp::Segment {
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        flags: Flags { syn: flags.syn(), fin: flags.fin(), rst: flags.rst(), ack: flags.ack() },
        payload: segment.payload.bytes,
        announced: segment.payload.announced as usize,
        frame,
        time: time.0,
        offset,
        pieces: recorded,
    }
}

/// Reads a connection's bytes, finds its messages and hands them to its talk.
struct Reading<'s, V> {
    speech: Speech,
    flow: Followed<'s>,
    around: &'s mut Around,
    books: &'s mut Books,
    unfinished: &'s mut dissectors::kit::Budget,
    pieces: Vec<Piece>,
    lossy: bool,
    tunnels: Tunnels,
    view: &'s mut V,
}

impl<V: View> Reader for Reading<'_, V> {
    fn read(&mut self, way: Way, run: &Run<'_>) -> Next {
        let side = side(way);
        if self.speech.talk.is_none() {
            match self.identify(side, run) {
                Ok(id) => self.begin(id),
                Err(Undecided::More) => return Next::Consumed(0),
                Err(Undecided::None) => return Next::Ignore,
            }
            if self.waits(side.other()) {
                self.speech.held = self.speech.first;
            }
            self.speech.beginnings = None;
        }
        if self.speech.held.is_some_and(|held| held != side) && run.end().is_none() {
            return Next::Consumed(0);
        }
        let used = self.next(side, run);
        let is_last = used == 0 || used >= run.bytes().len();
        if let Some(end) = run.end().filter(|_| is_last) {
            self.closed(side, end, run.other_has_hole());
        }
        Next::Consumed(used)
    }

    fn event(&mut self, event: Event) {
        if event.kind == Kind::NewConnection {
            self.end_talk();
            return;
        }
        if let Kind::Gap { .. } | Kind::Limit { .. } = event.kind {
            self.flow.set_lossy();
        }
        let Some(id) = self.speech.talk.as_ref().map(|talk| talk.id()) else { return };
        let (rule, detail) = match event.kind {
            Kind::Gap { sequence, missing, .. } => {
                (&NET006, format!("{missing} bytes are missing at sequence number {sequence}"))
            }
            Kind::Limit { limit, dropped } => {
                let name = match limit {
                    Limit::Stream => "the limit stream-bytes was met",
                    Limit::Total => "the limit streams-bytes was met",
                    Limit::Ranges => "a stream is in too many pieces",
                };
                (&NET011, format!("{name}: {dropped} bytes were dropped"))
            }
            Kind::OverlapDiffers { sequence, original } => {
                let at = format!("from sequence number {sequence} on");
                (&NET007, format!("other bytes than frame {original} has {at}"))
            }
            Kind::NewConnection => return,
        };
        let mark =
            Mark { frame: event.frame, time: self.around.now, length: 0, side: side(event.way) };
        let scene = self.scene(id);
        let told = tell(self.view, scene, rule, false, &mark, || detail);
        self.flow.count_told(told);
    }
}

impl<V: View> Reading<'_, V> {
    fn identify(&mut self, side: Side, run: &Run<'_>) -> Result<Id, Undecided> {
        if run.bytes().is_empty() {
            return Err(Undecided::More);
        }
        let ends = self.flow.facts().ends;
        let other =
            self.speech.beginnings.as_ref().map(|both| both[side.other().index()].as_slice());
        let mut view = StreamView {
            bytes: [run.bytes(), other.unwrap_or_default()],
            began: [run.began() && !run.after_gap(), true],
            ended: [run.end().is_some(), false],
        };
        let mut ports = [ends[side.index()].port(), ends[side.other().index()].port()];
        if side == Side::Second {
            view.bytes.swap(0, 1);
            view.began.swap(0, 1);
            view.ended.swap(0, 1);
            ports.swap(0, 1);
        }
        let told = self.around.options.identifier.stream(&view, ports);
        if told != Err(Undecided::More) {
            return told;
        }
        self.speech.first.get_or_insert(side);
        let beginnings = self.speech.beginnings.get_or_insert_default();
        let own = &mut beginnings[side.index()];
        if run.bytes().len() > UNDECIDED {
            return Err(Undecided::None);
        }
        own.extend_from_slice(run.bytes().get(own.len()..).unwrap_or_default());
        Err(Undecided::More)
    }

    /// Whether a direction has unread bytes from before the protocol was told.
    fn waits(&self, side: Side) -> bool {
        self.speech.beginnings.as_ref().is_some_and(|both| !both[side.index()].is_empty())
    }

    fn begin(&mut self, id: Id) {
        self.flow.number = self.around.numbers.next(self.around.moment);
        self.speech.talk = Some(Box::new(id.talk()));
    }

    /// Reads one message, or passes over what is none. Returns how many bytes it took.
    fn next(&mut self, side: Side, run: &Run<'_>) -> usize {
        let bytes = run.bytes();
        let facts = self.flow.facts();
        let Some(talk) = &mut self.speech.talk else { return 0 };
        if bytes.is_empty() {
            return 0;
        }
        let ended = run.end().is_some();
        // A direction whose beginning is not in the capture begins in the middle of something.
        let heard = std::mem::replace(&mut self.speech.heard[side.index()], true);
        let mid = self.speech.cut[side.index()];
        let after_gap = run.after_gap() || mid || !heard && !run.began();
        let unread = Unread { bytes, seen: run.seen(), ended, after_gap };
        let (books, settings, budget) =
            (&mut *self.books, &self.around.options.settings, &mut *self.unfinished);
        let length = match talk.frame(books, &facts, settings, budget, side, &unread) {
            Framed::Message(length) => length.clamp(1, bytes.len()),
            Framed::Junk(length) => {
                self.speech.cut[side.index()] = false;
                return length.clamp(1, bytes.len());
            }
            Framed::More => {
                self.speech.heard[side.index()] = heard;
                return 0;
            }
        };
        let cut = matches!(run.end(), Some(End::Gap | End::Limit | End::Abandoned));
        let lost = run.after_gap() || mid || cut && length == bytes.len();
        // What is due is told before the next message.
        if talk.deadline().is_some_and(|due| due <= self.around.now) {
            self.elapse(run.other_has_hole(), false);
        }
        self.speech.cut[side.index()] = run.end() == Some(End::Limit) && length == bytes.len();
        self.message(side, run, length, lost);
        length
    }

    fn message(&mut self, side: Side, run: &Run<'_>, length: usize, lost: bool) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        // The packet that completed it: where one came late, not the last of the bytes.
        let (mut frame, mut time) = (0, self.around.now);
        for piece in run.pieces_of(0..length) {
            if piece.frame > frame {
                (frame, time) = (piece.frame, Time(piece.time));
            }
            pieces.push(Piece {
                at: piece.bytes.start as u32,
                length: piece.bytes.len() as u32,
                frame: piece.frame,
                offset: piece.offset,
            });
        }
        let bytes = run.bytes().get(..length).unwrap_or_default();
        let payload = Payload { pieces: &pieces, frame, time, lost, ..self.payload(side, bytes) };
        self.talk(lost, run.other_has_hole(), |talk, books, cx| {
            cx.view.judged(&NET006, !lost, Span::new(0, length), || {
                "the recording lost bytes of this message".to_owned()
            });
            cx.view.judged(&NET007, true, Span::new(0, length), String::new);
            cx.view.evidence(cx.evidence(lost));
            let settings = &cx.options.settings;
            talk.message(books, &cx.facts, settings, cx.unfinished, &payload, cx.view);
        });
        self.pieces = pieces;
    }

    /// Lets the talk judge what time has decided; with `end`, all that is open.
    fn elapse(&mut self, other_has_hole: bool, end: bool) {
        let now = self.around.now;
        self.talk(false, other_has_hole, |talk, books, cx| {
            let settings = &cx.options.settings;
            talk.elapse(books, &cx.facts, settings, cx.unfinished, now, end, cx.view);
        });
    }

    fn closed(&mut self, side: Side, end: End, other_has_hole: bool) {
        let how = match end {
            End::Fin => Closed::Orderly,
            End::Reset => Closed::Reset,
            End::Gap | End::Limit | End::Abandoned => return,
        };
        let payload = self.payload(side, &[]);
        self.talk(false, other_has_hole, |talk, books, cx| {
            cx.view.evidence(cx.evidence(false));
            let settings = &cx.options.settings;
            talk.closed(books, &cx.facts, settings, cx.unfinished, how, &payload, cx.view);
        });
    }

    /// The ports are used again: what was said so far is judged as it stands.
    fn end_talk(&mut self) {
        self.elapse(false, true);
        if let Some(talk) = self.speech.talk.take() {
            let protocol = talk.id().info().id;
            let row = || FlowRow { protocol, ..self.flow.row(self.around.digits) };
            self.view.flow_ended(row);
        }
        self.speech = Speech::default();
        self.flow.begin_again(self.around.now);
    }

    fn payload<'p>(&self, side: Side, bytes: &'p [u8]) -> Payload<'p> {
        let (frame, time) = (self.around.frame, self.around.now);
        Payload { frame, time, ..self.flow.facts().payload(side, bytes, &[]) }
    }

    /// Lets the talk work, in the scene of this flow, and counts what was told. `other_has_hole`:
    /// of the other direction, bytes that were sent before are not here.
    fn talk(
        &mut self,
        lost: bool,
        other_has_hole: bool,
        work: impl FnOnce(&mut Talk, &mut Books, Working<'_, V>),
    ) {
        let Some(mut talk) = self.speech.talk.take() else { return };
        self.view.scene(self.scene(talk.id()));
        let mut facts = self.flow.facts();
        facts.lossy |= self.lossy || other_has_hole;
        let working = Working {
            facts,
            options: &self.around.options,
            unfinished: self.unfinished,
            view: self.view,
        };
        working.view.evidence(Evidence { lost: false, ..working.evidence(lost) });
        work(&mut talk, self.books, working);
        self.speech.talk = Some(talk);
        self.settle();
    }

    fn scene(&self, id: Id) -> Scene {
        let (roles, tunnels) = (self.flow.roles, self.tunnels);
        Scene { protocol: Some(id), roles, tunnels, ..self.around.scene(&self.flow.facts()) }
    }

    fn settle(&mut self) {
        self.flow.count_told(self.view.settle());
    }
}

/// What a talk works with.
struct Working<'w, V> {
    facts: FlowFacts,
    options: &'w Options,
    unfinished: &'w mut dissectors::kit::Budget,
    view: &'w mut V,
}

impl<V> Working<'_, V> {
    fn evidence(&self, lost: bool) -> Evidence {
        Evidence { vouched: self.options.complete, lost, ..self.facts.evidence() }
    }
}

fn way(side: Side) -> Way {
    match side {
        Side::First => Way::AToB,
        Side::Second => Way::BToA,
    }
}

fn side(way: Way) -> Side {
    match way {
        Way::AToB => Side::First,
        Way::BToA => Side::Second,
    }
}
