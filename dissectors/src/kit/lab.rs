//! A small flow tracker for tests of dissectors.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::kit::*;

mod test_recorder;

pub(crate) use test_recorder::{HeardMessage, TestRecorder, code};

/// The transport of a flow, and its ends in order.
type FlowKey = (u8, [SocketAddr; 2]);

/// One direction of a stream.
#[derive(Default)]
struct LabDirection {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    seen: usize,
    ended: bool,
}

struct LabFlow<P: Protocol> {
    conversation: P::Conversation,
    facts: FlowFacts,
    /// When its latest datagram came.
    last: Time,
    directions: [LabDirection; 2],
    /// The stream is claimed.
    ours: bool,
}

/// A capture under construction.
pub(crate) struct Lab<P: Protocol, S> {
    flows: BTreeMap<FlowKey, LabFlow<P>>,
    shared: P::SharedState,
    pub(crate) settings: Settings,
    pub(crate) budget: Budget,
    pub(crate) complete: bool,
    /// Only datagrams that are claimed by their content are taken.
    pub(crate) claims: bool,
    pub(crate) frame: u64,
    now: Time,
    /// The rest of the current stream is missing from the recording.
    loses: bool,
    pub(crate) sink: S,
}

/// Properties of a segment other than its bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LabSegment {
    pub(crate) fin: bool,
}

impl<P: Protocol> Lab<P, TestRecorder> {
    pub(crate) fn new() -> Lab<P, TestRecorder> {
        Lab::with(TestRecorder::default())
    }

    /// The results of a rule.
    pub(crate) fn counts(&self, rule: &Rule) -> Counts {
        self.sink.results.counts(rule)
    }

    /// All findings' codes, as [`code`] writes them.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.sink.results.findings.iter().map(code).collect()
    }

    /// The texts of all findings.
    pub(crate) fn details(&self) -> Vec<&str> {
        self.sink.results.findings.iter().map(|finding| finding.detail.as_str()).collect()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.sink.heard.iter().map(|heard| heard.name).collect()
    }

    pub(crate) fn last(&self) -> &HeardMessage {
        self.sink.heard.last().expect("a message was reported")
    }
}

/// The key of the flow between these ends, in either order.
fn key(transport: Transport, one: SocketAddr, other: SocketAddr) -> FlowKey {
    (transport as u8, [one.min(other), one.max(other)])
}

/// Seconds from the start, as a time.
pub(crate) fn seconds(time: f64) -> Time {
    Time((time * 1e9).round() as i64)
}

impl<P: Protocol, S: Sink> Lab<P, S> {
    pub(crate) fn with(sink: S) -> Lab<P, S> {
        Lab {
            flows: BTreeMap::new(),
            shared: P::SharedState::default(),
            settings: Settings::default(),
            budget: Budget::new(64 << 20),
            complete: false,
            claims: false,
            frame: 0,
            now: Time::default(),
            loses: false,
            sink,
        }
    }

    fn arrives(&mut self, time: f64) {
        self.frame += 1;
        self.elapse(time);
    }

    /// The capture reaches this time.
    pub(crate) fn elapse(&mut self, time: f64) {
        self.now = self.now.max(seconds(time));
        let due =
            |flow: &LabFlow<P>| flow.conversation.deadline().is_some_and(|due| due <= self.now);
        let keys: Vec<_> = self.flows.iter().filter(|(_, f)| due(f)).map(|(key, _)| *key).collect();
        for key in keys {
            self.elapse_flow(key, false);
        }
    }

    fn elapse_flow(&mut self, key: FlowKey, end: bool) {
        let flow = self.flows.get_mut(&key).unwrap();
        if end {
            flow.facts.silence = self.now.since(flow.last).unsigned_abs();
        }
        let now = self.now;
        self.sink.evidence(Evidence { complete: self.complete, ..Evidence::default() });
        self.within(key, |cx, sink| P::elapse(cx, now, end, sink));
    }

    /// An ICMP error quotes the datagram of this packet.
    pub(crate) fn refused(&mut self, frame: u64) -> &mut Lab<P, S> {
        self.flows.values_mut().for_each(|flow| flow.conversation.refused(frame));
        self
    }

    /// A copy of a datagram that the network duplicated, at the time of the last packet, on an
    /// existing flow.
    pub(crate) fn again(&mut self, from: &str, to: &str, bytes: &[u8]) -> &mut Lab<P, S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        self.frame += 1;
        let (frame, time) = (self.frame, self.now);
        let pieces = [Piece { at: 0, length: bytes.len() as u32, frame, offset: 42 }];
        self.within(key(Transport::Udp, from, to), |cx, sink| {
            let side = if cx.flow.ends[0] == from { Side::First } else { Side::Second };
            let payload = Payload { frame, time, ..cx.flow.payload(side, bytes, &pieces) };
            P::again(cx, &payload, &mut Unchecked(sink));
        });
        self
    }

    fn flow(
        &mut self,
        transport: Transport,
        opener: SocketAddr,
        other: SocketAddr,
        began: bool,
    ) -> &mut LabFlow<P> {
        self.flows.entry(key(transport, opener, other)).or_insert_with(|| LabFlow {
            conversation: P::Conversation::default(),
            facts: FlowFacts {
                ends: [opener, other],
                began,
                seen: [false; 2],
                silence: 0,
                lossy: false,
                number: 1,
                transport,
            },
            last: self.now,
            directions: Default::default(),
            ours: false,
        })
    }

    /// A datagram.
    pub(crate) fn udp(&mut self, time: f64, from: &str, to: &str, bytes: &[u8]) -> &mut Lab<P, S> {
        self.datagram(time, from, to, bytes, false)
    }

    /// A datagram; `lost`: the recording cut it.
    pub(crate) fn datagram(
        &mut self,
        time: f64,
        from: &str,
        to: &str,
        bytes: &[u8],
        lost: bool,
    ) -> &mut Lab<P, S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        self.arrives(time);
        let (frame, now, complete) = (self.frame, self.now, self.complete);
        let usual = |end: SocketAddr| P::INFO.ports.contains(&end.port());
        let known = self.flows.contains_key(&key(Transport::Udp, from, to));
        let hint = Hint { from_port: usual(from), to_port: usual(to), known, forced: false };
        let pieces = [Piece { at: 0, length: bytes.len() as u32, frame, offset: 42 }];
        let of = Payload::of(bytes, [from, to]);
        let mut payload = Payload { pieces: &pieces, frame, time: now, flow: 1, lost, ..of };
        let is_claimed = match P::claim(bytes, hint) {
            Claim::Sure => true,
            Claim::Weak => hint.any(),
            _ => false,
        };
        if self.claims && !is_claimed && !P::expects(&mut self.shared, &payload) {
            return self;
        }
        let flow = self.flow(Transport::Udp, from, to, P::opens(bytes));
        payload.side = if flow.facts.ends[0] == from { Side::First } else { Side::Second };
        flow.facts.seen[payload.side.index()] = true;
        flow.facts.silence = now.since(std::mem::replace(&mut flow.last, now)).unsigned_abs();
        let facts = flow.facts;
        self.sink.evidence(Evidence { complete, lost, ..facts.evidence() });
        self.within(key(Transport::Udp, from, to), |cx, sink| P::message(cx, &payload, sink));
        self
    }

    /// A segment of a connection that `opener` has opened.
    pub(crate) fn tcp(
        &mut self,
        time: f64,
        (from, to): (&str, &str),
        opener: &str,
        bytes: &[u8],
        segment: LabSegment,
    ) -> &mut Lab<P, S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        let opener: SocketAddr = opener.parse().unwrap();
        self.arrives(time);
        let frame = self.frame;
        let other = if opener == from { to } else { from };
        let flow = self.flow(Transport::Tcp, opener, other, true);
        let side = if flow.facts.ends[0] == from { Side::First } else { Side::Second };
        // A bare SYN is also a packet from its sender.
        flow.facts.seen = [true; 2];
        let direction = &mut flow.directions[side.index()];
        let at = direction.bytes.len() as u32;
        direction.bytes.extend_from_slice(bytes);
        direction.pieces.push(Piece { at, length: bytes.len() as u32, frame, offset: 54 });
        direction.ended |= segment.fin;
        if self.claims && !self.is_ours(from, to) {
            return self;
        }
        self.read(from, to, side);
        if segment.fin {
            let pieces = [];
            let payload = self.payload(&[], &pieces, from, to, side);
            self.run(key(Transport::Tcp, from, to), |cx, sink| {
                P::closed(cx, Closed::Orderly, &payload, sink)
            });
        }
        self
    }

    /// `from` resets the connection.
    pub(crate) fn reset(&mut self, time: f64, (from, to): (&str, &str)) -> &mut Lab<P, S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        self.arrives(time);
        let flow = self.flow(Transport::Tcp, from, to, true);
        let side = if flow.facts.ends[0] == from { Side::First } else { Side::Second };
        let payload = self.payload(&[], &[], from, to, side);
        self.run(key(Transport::Tcp, from, to), |cx, sink| {
            P::closed(cx, Closed::Reset, &payload, sink)
        });
        self
    }

    /// The first bytes of a connection's direction; the following ones are missing from the
    /// recording.
    pub(crate) fn lost_after(
        &mut self,
        time: f64,
        (from, to): (&str, &str),
        opener: &str,
        bytes: &[u8],
    ) -> &mut Lab<P, S> {
        self.loses = true;
        self.tcp(time, (from, to), opener, bytes, LabSegment::default());
        self.loses = false;
        self
    }

    /// Calls `work` with the conversation of every flow.
    pub(crate) fn each_conversation(&mut self, mut work: impl FnMut(&mut P::Conversation)) {
        self.flows.values_mut().for_each(|flow| work(&mut flow.conversation));
    }

    /// Whether a stream's content claims it.
    fn is_ours(&mut self, from: SocketAddr, to: SocketAddr) -> bool {
        let Some(flow) = self.flows.get_mut(&key(Transport::Tcp, from, to)) else { return false };
        let [first, second] = &flow.directions;
        let view = StreamView {
            bytes: [&first.bytes, &second.bytes],
            began: [true; 2],
            ended: [first.ended, second.ended],
        };
        flow.ours |= P::claim_stream(&view, Hint::default()) == Claim::Sure;
        flow.ours
    }

    fn payload<'a>(
        &self,
        bytes: &'a [u8],
        pieces: &'a [Piece],
        from: SocketAddr,
        to: SocketAddr,
        side: Side,
    ) -> Payload<'a> {
        Payload {
            pieces,
            frame: self.frame,
            time: self.now,
            side,
            flow: 1,
            transport: Transport::Tcp,
            lost: self.loses,
            ..Payload::of(bytes, [from, to])
        }
    }

    /// Calls `work` in the context of a flow.
    fn within<T>(
        &mut self,
        key: FlowKey,
        work: impl FnOnce(&mut Context<'_, P>, &mut S) -> T,
    ) -> T {
        let flow = self.flows.get_mut(&key).unwrap();
        let mut cx = Context {
            conversation: &mut flow.conversation,
            shared: &mut self.shared,
            flow: &flow.facts,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        work(&mut cx, &mut self.sink)
    }

    /// Calls `work` in the context of a connection, with the evidence that there is.
    fn run(&mut self, key: FlowKey, work: impl FnOnce(&mut Context<'_, P>, &mut S)) {
        let (complete, lost) = (self.complete, self.loses);
        self.within(key, |cx, sink| {
            sink.evidence(Evidence { complete, lost, ..cx.flow.evidence() });
            work(cx, sink);
        });
    }

    /// Takes the messages that a direction holds.
    fn read(&mut self, from: SocketAddr, to: SocketAddr, side: Side) {
        let key = key(Transport::Tcp, from, to);
        loop {
            let flow = self.flows.get_mut(&key).unwrap();
            let direction = &mut flow.directions[side.index()];
            if direction.bytes.is_empty() {
                return;
            }
            let (seen, ended) = (direction.seen, direction.ended || self.loses);
            let bytes = direction.bytes.clone();
            let unread = Unread { bytes: &bytes, seen, ended, ..Unread::default() };
            let framed = self.within(key, |cx, _| P::frame(cx, side, &unread));
            let direction = &mut self.flows.get_mut(&key).unwrap().directions[side.index()];
            let used = match framed {
                Framed::More => {
                    direction.seen = bytes.len();
                    return;
                }
                Framed::Message(length) | Framed::Junk(length) => length,
            };
            assert!(used > 0 && used <= bytes.len(), "{framed:?}");
            let mut rest = Buffer::default();
            let mut taken = Buffer::default();
            taken.append(&bytes[..used], 0, &direction.pieces);
            rest.append(&bytes[used..], used, &direction.pieces);
            direction.bytes = rest.bytes;
            direction.pieces = rest.pieces;
            direction.seen = 0;
            if matches!(framed, Framed::Message(_)) {
                let payload = self.payload(&taken.bytes, &taken.pieces, from, to, side);
                self.run(key, |cx, sink| P::message(cx, &payload, sink));
            }
        }
    }

    /// The capture ends at this time. No memory may be held after that.
    pub(crate) fn end(&mut self, time: f64) -> &mut Lab<P, S> {
        self.elapse(time);
        let keys: Vec<_> = self.flows.keys().copied().collect();
        for key in keys {
            self.elapse_flow(key, true);
        }
        self.flows.clear();
        assert_eq!(self.budget.held(), 0);
        self
    }
}
