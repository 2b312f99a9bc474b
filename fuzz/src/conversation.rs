//! The dissector of a protocol: conversations of any bytes on up to four flows between two hosts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dissectors::kit::{
    Blind, Budget, Closed, CrossFlowEvent, Evidence, FlowFacts, Framed, Hint, Limits, Mark,
    Message, Payload, Piece, Rule, RuleResults, Secret, SeenMessage, Settings, Side, Sink, Span,
    StreamView, Time, Transport, Tree, Unread,
};
use dissectors::{ContextParts, Conversation, Id, SharedStates};

use crate::input::Input;

/// Flows of a conversation.
pub(crate) const FLOWS: usize = 4;

/// In the first byte of the input: low limits, which are reached.
const TIGHT: u8 = 0x10;
/// The user states that the capture is complete.
const COMPLETE: u8 = 0x20;

/// The recording lost packets between the flows' ends.
const LOSSY: u8 = 0x40;

/// In the first byte of a record: the sender, the flow, and losses.
pub(crate) mod kind {
    pub(crate) const SECOND: u8 = 0x01;
    pub(crate) const FLOW_SHIFT: u8 = 1;
    pub(crate) const LOST: u8 = 0x08;
    pub(crate) const CLOSES: u8 = 0x10;
    pub(crate) const RESETS: u8 = 0x20;
}

/// Input: one byte (which flows are streams, then flags) and records: kind, time step, length, bytes.
pub(crate) fn run(id: Id, bytes: &[u8]) {
    let mut basis = Basis::default();
    play(id, bytes, &mut basis);
    let mut again = Basis::default();
    play(id, bytes, &mut again);
    assert_eq!(basis.said, again.said, "the same conversation has the same result");
    let mut results = RuleResults::default();
    play(id, bytes, &mut results);
    for rule in id.info().rules {
        assert_eq!(basis.results.counts(rule), results.counts(rule), "{rule:?}: sinks differ");
    }
    play(id, bytes, &mut Blind);
}

/// A sink that knows which packet is the current one.
trait Watch: Sink {
    fn arrives(&mut self, _: u64) {}
}

impl Watch for Blind {}
impl Watch for RuleResults {}

fn play<S: Watch>(id: Id, bytes: &[u8], sink: &mut S) {
    let mut input = Input(bytes);
    let mut lab = Lab::new(id, input.u8());
    while !input.is_empty() {
        let (kind, step) = (input.u8(), input.u8());
        let length = usize::from(input.u16());
        let bytes = input.bytes(length);
        lab.frame += 1;
        lab.now = Time(lab.now.0.saturating_add(Input::step(step)));
        sink.arrives(lab.frame);
        lab.elapse(false, sink);
        lab.record(kind, bytes, sink);
    }
    lab.elapse(true, sink);
    assert_eq!(lab.budget.held(), 0, "memory was not released");
}

struct Lab {
    id: Id,
    flows: Vec<Flow>,
    shared: SharedStates,
    settings: Settings,
    budget: Budget,
    complete: bool,
    frame: u64,
    now: Time,
}

struct Flow {
    conversation: Conversation,
    facts: FlowFacts,
    sides: [Direction; 2],
}

#[derive(Default)]
struct Direction {
    unread: Vec<u8>,
    seen: usize,
    ended: bool,
}

impl Lab {
    fn new(id: Id, flags: u8) -> Lab {
        let is_tight = flags & TIGHT != 0;
        let tight = Limits {
            inflated: 512,
            inflated_ratio: 1,
            inflated_rate: 600,
            parts_bytes: 600,
            unfinished_bytes: 4 << 10,
            unfinished: 2,
            pending: 2,
            http_header: 128,
            http_body: 256,
            list_bytes: 256,
            remembered: 2,
        };
        let limits = if is_tight { tight } else { Limits::default() };
        let port = id.info().ports.first().copied().unwrap_or(1);
        let flows = (0..FLOWS as u16).map(|number| {
            let transport = if flags >> number & 1 == 1 { Transport::Tcp } else { Transport::Udp };
            Flow::new(id, number, port, transport, flags & LOSSY != 0)
        });
        let mut settings = Settings { limits, ..Settings::default() };
        settings.protocols.gamespy1.keys = vec![("ut".to_owned(), Secret::new(*b"Z5Nfb0"))];
        Lab {
            id,
            flows: flows.collect(),
            shared: SharedStates::default(),
            settings,
            budget: Budget::new(limits.unfinished_bytes),
            complete: flags & COMPLETE != 0,
            frame: 0,
            now: Time(0),
        }
    }

    fn record<S: Sink>(&mut self, kind: u8, bytes: &[u8], sink: &mut S) {
        let side = if kind & kind::SECOND == 0 { Side::First } else { Side::Second };
        let lost = kind & kind::LOST != 0;
        let number = usize::from(kind >> kind::FLOW_SHIFT) % FLOWS;
        let Some(flow) = self.flows.get_mut(number) else { return };
        flow.facts.seen[side.index()] = true;
        if flow.facts.transport == Transport::Udp {
            flow.facts.began |= self.frame == 1 && self.id.opens(bytes);
            let hint = Hint { known: true, ..Hint::default() };
            self.id.claim(bytes, Hint::default());
            self.id.claim(bytes, hint);
            self.message(number, side, bytes, lost, sink);
            return;
        }
        let direction = &mut flow.sides[side.index()];
        if direction.ended {
            return;
        }
        direction.unread.extend_from_slice(bytes);
        let closes = kind & (kind::CLOSES | kind::RESETS) != 0;
        direction.ended = closes;
        self.read(number, side, lost, sink);
        if closes {
            let is_orderly = kind & kind::RESETS == 0;
            let how = if is_orderly { Closed::Orderly } else { Closed::Reset };
            self.closed(number, side, how, sink);
        }
    }

    /// Passes on the complete messages of a stream.
    fn read<S: Sink>(&mut self, number: usize, side: Side, lost: bool, sink: &mut S) {
        loop {
            let Some(flow) = self.flows.get_mut(number) else { return };
            let view = flow.view();
            self.id.claim_stream(&view, Hint::default());
            let direction = &mut flow.sides[side.index()];
            if direction.unread.is_empty() {
                return;
            }
            let (bytes, seen, ended) = (&direction.unread, direction.seen, direction.ended);
            let unread = Unread { bytes, seen, ended, after_gap: lost, ..Unread::default() };
            let (shared, settings, budget) = (&mut self.shared, &self.settings, &mut self.budget);
            let parts = ContextParts { shared, flow: &flow.facts, settings, budget };
            let framed = flow.conversation.frame(parts, side, &unread);
            let (length, is_message) = match framed {
                Framed::Message(length) => (length, true),
                Framed::Junk(length) => (length, false),
                Framed::More => {
                    direction.seen = direction.unread.len();
                    assert!(!direction.ended, "an ended stream keeps nothing");
                    return;
                }
            };
            assert!(0 < length && length <= direction.unread.len(), "{length} bytes are a frame");
            let rest = direction.unread.split_off(length);
            let bytes = std::mem::replace(&mut direction.unread, rest);
            direction.seen = 0;
            if is_message {
                self.message(number, side, &bytes, lost, sink);
            }
        }
    }

    fn message<S: Sink>(
        &mut self,
        flow: usize,
        side: Side,
        bytes: &[u8],
        lost: bool,
        sink: &mut S,
    ) {
        let length = bytes.len() as u32;
        let pieces = [Piece { at: 0, length, frame: self.frame, offset: 42 }];
        let Some(flow) = self.flows.get_mut(flow) else { return };
        let payload = Payload { lost, ..payload(flow, side, bytes, &pieces, self.frame, self.now) };
        self.shared.expects(&payload);
        sink.evidence(Evidence {
            complete: self.complete,
            began: flow.facts.began,
            lost,
            ..Evidence::default()
        });
        let (shared, settings, budget) = (&mut self.shared, &self.settings, &mut self.budget);
        let parts = ContextParts { shared, flow: &flow.facts, settings, budget };
        flow.conversation.message(parts, &payload, sink);
    }

    fn closed<S: Sink>(&mut self, flow: usize, side: Side, how: Closed, sink: &mut S) {
        let Some(flow) = self.flows.get_mut(flow) else { return };
        let payload = payload(flow, side, &[], &[], self.frame, self.now);
        let (shared, settings, budget) = (&mut self.shared, &self.settings, &mut self.budget);
        let parts = ContextParts { shared, flow: &flow.facts, settings, budget };
        flow.conversation.closed(parts, how, &payload, sink);
    }

    /// Calls `elapse` of conversations: of those that are due, or of all at the end.
    fn elapse<S: Sink>(&mut self, end: bool, sink: &mut S) {
        for flow in &mut self.flows {
            if end || flow.conversation.deadline().is_some_and(|deadline| deadline <= self.now) {
                let (shared, settings, budget) =
                    (&mut self.shared, &self.settings, &mut self.budget);
                let parts = ContextParts { shared, flow: &flow.facts, settings, budget };
                flow.conversation.elapse(parts, self.now, end, sink);
            }
        }
    }
}

impl Flow {
    fn new(id: Id, number: u16, port: u16, transport: Transport, lossy: bool) -> Flow {
        let client = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let server = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
        let ends = [(client, 50_000 + number).into(), SocketAddr::new(server, port)];
        let number = u32::from(number) + 1;
        Flow {
            conversation: id.conversation(),
            facts: FlowFacts {
                ends,
                began: true,
                seen: [false; 2],
                silence: 0,
                lossy,
                number,
                transport,
            },
            sides: Default::default(),
        }
    }

    fn view(&self) -> StreamView<'_> {
        let [first, second] = &self.sides;
        StreamView {
            bytes: [&first.unread, &second.unread],
            began: [true; 2],
            ended: [first.ended, second.ended],
        }
    }
}

fn payload<'a>(
    flow: &Flow,
    side: Side,
    bytes: &'a [u8],
    pieces: &'a [Piece],
    frame: u64,
    time: Time,
) -> Payload<'a> {
    Payload { frame, time, ..flow.facts.payload(side, bytes, pieces) }
}

/// Checks the properties that are guaranteed for all messages.
#[derive(Default)]
struct Basis {
    tree: Tree,
    results: RuleResults,
    frame: u64,
    /// All results, for comparison.
    said: Vec<String>,
}

impl Watch for Basis {
    fn arrives(&mut self, frame: u64) {
        self.frame = frame;
    }
}

impl Basis {
    /// No finding is about a later packet.
    fn take(&mut self) {
        for finding in self.results.findings.drain(..) {
            if let Some(mark) = finding.mark {
                assert!(mark.frame <= self.frame, "a finding is about packet {}", mark.frame);
            }
            assert!(finding.span.start <= finding.span.end);
            self.said.push(format!("{finding:?}"));
        }
        self.results.clear();
    }
}

impl Sink for Basis {
    dissectors::forward_fields!(tree);
    fn checked(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        at: Span,
        detail: impl FnOnce() -> String,
    ) {
        self.results.checked(rule, ok, at, detail);
    }
    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        self.results.noted(rule, at, detail);
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        assert!(mark.frame <= self.frame);
        self.results.recalled(rule, ok, evidence, mark, detail);
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.results.evidence(evidence);
    }
    fn listed(&mut self, server: SocketAddr) {
        self.said.push(server.to_string());
    }
    fn cross_flow(&mut self, event: CrossFlowEvent, seen: SeenMessage) {
        assert!(seen.mark.frame <= self.frame);
        self.said.push(format!("{event:?} {seen:?}"));
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        covers(&self.tree, payload.bytes.len());
        let nodes = self.tree.nodes().iter();
        let nodes: Vec<_> = nodes.map(|node| (node.field.name, node.span, node.value)).collect();
        self.said.push(format!("{} {nodes:?}", message.name));
        self.take();
        self.tree.clear();
    }
}

/// The leaves cover the message's bytes, each once.
fn covers(tree: &Tree, length: usize) {
    let mut leaves: Vec<(u32, u32)> = Vec::new();
    for node in tree.nodes() {
        assert!(node.span.end as usize <= length, "{} runs past the end", node.field.name);
        if node.descendants == 0 && !node.span.is_empty() {
            leaves.push((node.span.start, node.span.end));
        }
    }
    leaves.sort_unstable();
    let mut next = 0;
    for (start, end) in leaves {
        assert_eq!(start, next, "a hole or an overlap");
        next = end;
    }
    assert_eq!(next as usize, length, "the last bytes are in no leaf");
}
