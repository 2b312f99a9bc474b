//! One flow: its ends, its state and its counts.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use dissectors::Conversation;
use dissectors::kit::{FlowFacts, Info, Role, Rounds, Side, Time, Transport};

use super::findings::{FindingCounts, FoundInFlows};
use super::per_flow::{PerFlow, RoundsOfFlows};
use super::{Asked, ExchangeCounts, FlowDetail, FlowKey, OpenExchanges, Stream};

/// The state of a flow.
pub enum FlowState {
    /// Its protocol is not identified yet.
    New,
    /// Datagrams of a supported protocol.
    Conversation(Conversation),
    /// A stream whose protocol is supported, or not identified yet.
    Stream(Box<Stream>),
    /// Other traffic, which is only counted.
    Ignored,
}

/// One flow. A flood has millions of them: with its entry in the table it takes at most 160 bytes,
/// besides the heap memory of its state.
pub struct Flow {
    /// Its ends and what carries it: the key of its first packet.
    pub(super) key: FlowKey,
    /// Its number in this run, from 1, given when its protocol is identified; 0 before.
    pub number: u32,
    /// When it was first recorded.
    pub first: Time,
    /// When it was last recorded.
    last: Time,
    /// Its state.
    pub state: FlowState,
    /// Packets recorded.
    packets: u64,
    /// Its exchanges that may still be answered.
    pub exchanges: OpenExchanges,
    /// Heap memory of its state in bytes.
    held: u32,
    /// Whether each end sent something, by [`Side::index`].
    seen: [bool; 2],
    /// Whether its first packet opens a conversation, or answers the one that does.
    pub has_begun: bool,
    /// Whether the recording lost some of it.
    pub is_lossy: bool,
    /// Whether it is a connection older than the capture, whose bytes so far may all be repeats of some that were received
    /// before: their effects are not in the capture.
    pub is_midway: bool,
    /// Whether its conversation has a planned timeout.
    pub is_planned: bool,
    /// The role of each end, if it has sent messages, by [`Side::index`].
    pub roles: [Option<Role>; 2],
}

/// A flow in its table, with its details.
pub struct FlowMut<'t> {
    pub(super) flow: &'t mut Flow,
    /// Its index.
    pub(super) at: u32,
    pub(super) asked: &'t mut PerFlow<Asked>,
    pub(super) findings: &'t mut FoundInFlows,
    pub(super) details: &'t mut PerFlow<FlowDetail>,
    pub(super) rounds: &'t mut RoundsOfFlows,
}

impl Deref for FlowMut<'_> {
    type Target = Flow;

    #[inline]
    fn deref(&self) -> &Flow {
        self.flow
    }
}

impl DerefMut for FlowMut<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Flow {
        self.flow
    }
}

impl Flow {
    /// A flow that begins with a packet of this key, which is not counted yet.
    pub(super) fn new(key: &FlowKey, now: Time) -> Flow {
        Flow {
            key: *key,
            number: 0,
            first: now,
            last: now,
            state: FlowState::New,
            packets: 0,
            exchanges: OpenExchanges::default(),
            held: 0,
            seen: [false; 2],
            has_begun: false,
            is_lossy: false,
            is_midway: false,
            is_planned: false,
            roles: [None; 2],
        }
    }

    /// Both ends, the sender of the first packet first.
    fn ends(&self) -> [SocketAddr; 2] {
        [self.key.from(), self.key.to()]
    }

    /// The end that sent a packet of this key, if it belongs to this flow.
    #[inline]
    pub(super) fn side(&self, key: &FlowKey) -> Option<Side> {
        if *key == self.key {
            return Some(Side::First);
        }
        (key.reversed() == self.key).then_some(Side::Second)
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        self.key.transport
    }

    /// When it was last recorded.
    #[inline]
    pub fn last(&self) -> Time {
        self.last
    }

    /// For how many nanoseconds it may be silent before it ends.
    #[inline]
    fn idle(&self) -> i64 {
        match &self.state {
            FlowState::Conversation(conversation) => conversation.id().info().idle,
            FlowState::New | FlowState::Stream(_) | FlowState::Ignored => Info::UNKNOWN,
        }
    }

    /// When it ends if it stays silent: after `idle`, or else after its own limit.
    #[inline]
    pub(super) fn lasts(&self, idle: Option<i64>) -> Time {
        let idle = idle.unwrap_or_else(|| self.idle());
        self.last.after(idle)
    }

    /// An entry in the table, and its share of an index that is half full.
    const PLACE: usize = size_of::<Option<Flow>>() + 8;

    /// Memory of the flow in bytes, with its entry and its share of the index.
    pub fn memory(&self) -> usize {
        Flow::PLACE + self.held as usize
    }
}

impl FlowMut<'_> {
    /// The facts for its protocol.
    pub fn facts(&self) -> FlowFacts {
        FlowFacts {
            ends: self.ends(),
            began: self.has_begun,
            seen: self.seen,
            silence: 0,
            lossy: self.is_lossy,
            number: self.number,
            transport: self.transport(),
        }
    }

    /// Its row in a listing of flows.
    pub fn row(&self, digits: u8) -> FlowRow {
        let protocol = match &self.state {
            FlowState::Conversation(conversation) => Some(conversation.id()),
            FlowState::Stream(stream) => stream.protocol(),
            FlowState::New | FlowState::Ignored => None,
        };
        let none = FlowDetail::default();
        let detail = self.details.get(self.at).unwrap_or(&none);
        let asked = self.asked();
        FlowRow {
            flow: self.number,
            frame: detail.frame,
            transport: self.transport(),
            ends: self.ends(),
            protocol: protocol.map_or("", |id| id.info().id),
            first: self.first,
            last: self.last(),
            roles: self.roles,
            packets: [self.packets.saturating_sub(detail.packets), detail.packets],
            bytes: detail.bytes,
            messages: detail.messages.map(u64::from),
            exchanges: asked.counts(),
            asks_for_lists: asked.for_lists,
            asks_for_others: asked.for_others,
            response_times: detail.response_times(),
            findings: self.findings.get(self.at),
            digits,
        }
    }

    /// This packet is its first.
    pub fn begins_with(&mut self, frame: u64) {
        self.details.change(self.at, |detail| detail.frame = frame);
    }

    /// Counts packets of one side, with this many payload bytes in total. Returns for how many
    /// nanoseconds the flow was silent before.
    #[inline]
    pub fn count(&mut self, side: Side, time: Time, packets: u64, bytes: u64) -> u64 {
        self.details.change(self.at, |detail| detail.count(side, packets, bytes));
        self.packets += packets;
        self.touch(side, time)
    }

    /// A packet of one side was recorded that only shows that the flow continues. Returns for how
    /// many nanoseconds the flow was silent before.
    #[inline]
    pub fn touch(&mut self, side: Side, time: Time) -> u64 {
        self.seen[side.index()] = true;
        if time <= self.last {
            return 0;
        }
        let silence = time.0.abs_diff(self.last.0);
        self.last = time;
        silence
    }

    /// Sets the heap memory of the flow's state in bytes.
    #[inline]
    pub fn set_held(&mut self, held: usize) {
        self.held = u32::try_from(held).unwrap_or(u32::MAX);
    }

    /// Counts what was reported.
    pub fn count_reported(&mut self, counts: MessageCounts) {
        if let Some((side, who)) = counts.spoke {
            self.roles[side.index()] = Some(who);
        }
        self.findings.add(self.at, counts.findings);
    }

    /// The counts of its requests so far; empty if they are not kept.
    #[inline]
    pub fn asked(&self) -> Asked {
        self.asked.get(self.at).copied().unwrap_or_default()
    }

    /// Sets the counts of its requests.
    #[inline]
    pub fn set_asked(&mut self, asked: Asked) {
        self.asked.change(self.at, |it| *it = asked);
    }

    /// Takes out the rules that it has broken in its latest rounds.
    #[inline]
    pub fn take_rounds(&mut self) -> Rounds {
        self.rounds.take(self.at)
    }

    /// Sets the rules that it has broken in its latest rounds.
    #[inline]
    pub fn set_rounds(&mut self, rounds: Rounds) {
        self.rounds.set(self.at, rounds);
    }

    /// Changes its details, if they are kept.
    #[inline]
    pub fn count_details(&mut self, count: impl FnOnce(&mut FlowDetail)) {
        self.details.change(self.at, count);
    }

    /// The ports are reused: another conversation begins, from its start. It has no number yet;
    /// recorded sides stay recorded.
    pub fn begin_again(&mut self, now: Time) {
        let state = std::mem::replace(&mut self.state, FlowState::New);
        let Flow { key, seen, held, .. } = *self.flow;
        *self.flow = Flow { state, seen, held, has_begun: true, ..Flow::new(&key, now) };
        self.asked.forget(self.at);
        self.findings.forget(self.at);
        self.details.forget(self.at);
        self.rounds.take(self.at);
    }
}

/// The counts of reported events since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Findings.
    pub findings: FindingCounts,
    /// The end that sent a message, and its role.
    pub spoke: Option<(Side, Role)>,
}

impl FlowRow {
    /// The index of the end with this role.
    pub fn end_of(&self, role: Role) -> Option<usize> {
        self.roles.iter().position(|it| *it == Some(role))
    }

    /// The index of the end that asks: the client, or else a server that asks its master.
    pub fn asking(&self) -> Option<usize> {
        self.end_of(Role::Client).or(self.end_of(Role::Server))
    }

    /// Whether its client asks a master.
    pub fn is_of_master(&self) -> bool {
        self.asks_for_lists || self.end_of(Role::Master).is_some()
    }

    /// The game server that is asked, if any. Some servers send requests to their master that clients send to
    /// servers.
    pub fn asked_server(&self) -> Option<SocketAddr> {
        let asking = self.asking()?;
        let has_client = self.end_of(Role::Client).is_some();
        let is_of_server = self.asks_for_others || has_client && !self.is_of_master();
        is_of_server.then(|| self.ends[1 - asking])
    }
}

/// One row of a listing of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// The flow's number in this run.
    pub flow: u32,
    /// Its first packet, by its number in the capture.
    pub frame: u64,
    /// What carries it.
    pub transport: Transport,
    /// Its ends, the sender of the first packet first.
    pub ends: [std::net::SocketAddr; 2],
    /// The name of its protocol; empty if unknown.
    pub protocol: &'static str,
    /// When it was first recorded.
    pub first: Time,
    /// When it was last recorded.
    pub last: Time,
    /// The role of each end, if it has sent messages.
    pub roles: [Option<Role>; 2],
    /// Packets recorded of each end; without details, those of both are the first one's.
    pub packets: [u64; 2],
    /// Bytes of payload recorded of each end; 0 without details, as are the following counts of messages.
    pub bytes: [u64; 2],
    /// Messages reported of each end.
    pub messages: [u64; 2],
    /// Requests with their repeats and challenge rounds, and those that received the requested data.
    pub exchanges: ExchangeCounts,
    /// Its client requested a list.
    pub asks_for_lists: bool,
    /// Its client sent other requests.
    pub asks_for_others: bool,
    /// Nanoseconds from a request to its response, those that half of all, nineteen of twenty, and
    /// all are not above.
    pub response_times: Option<[u64; 3]>,
    /// Findings reported.
    pub findings: FindingCounts,
    /// Number of digits of a second in the capture's times: 6 or 9.
    pub digits: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(from: &str, to: &str) -> FlowKey {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        FlowKey {
            source: from.ip(),
            destination: to.ip(),
            ports: [from.port(), to.port()],
            transport: Transport::Udp,
        }
    }

    fn reported(proven: u64) -> MessageCounts {
        let findings = FindingCounts { proven, ..FindingCounts::default() };
        MessageCounts { findings, spoke: Some((Side::First, Role::Client)) }
    }

    #[test]
    fn a_flow_of_one_packet_is_small() {
        const { assert!(Flow::PLACE <= 160) };
    }

    #[test]
    fn unneeded_counts_take_no_memory() {
        let (asked, details) = (&mut PerFlow::default(), &mut PerFlow::default());
        let findings = &mut FoundInFlows::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5));
        let rounds = &mut RoundsOfFlows::default();
        let mut flow = FlowMut { flow, asked, findings, details, rounds, at: 0 };
        flow.count(Side::First, Time(5), 1, 100);
        for at in (0..1000).map(|nth| 7 + nth % 100) {
            flow.touch(Side::Second, Time(at));
        }
        let row = flow.row(6);
        assert_eq!((row.packets, row.bytes, row.last), ([1, 0], [0, 0], Time(106)));
        assert_eq!(flow.facts().seen, [true; 2]);
    }

    #[test]
    fn counts_continue_after_the_first_packet() {
        for ends in
            [("10.0.0.1:1", "10.0.0.2:2"), ("[::1]:1", "[::2]:2"), ("10.0.0.1:1", "[::2]:2")]
        {
            let (asked, details) = (&mut PerFlow::kept(true), &mut PerFlow::kept(true));
            let findings = &mut FoundInFlows::kept(true);
            asked.begin(0);
            details.begin(0);
            let (empty, rounds) = (details.memory(), &mut RoundsOfFlows::default());
            let flow = &mut Flow::new(&key(ends.0, ends.1), Time(5));
            let mut flow = FlowMut { flow, asked, findings, details, rounds, at: 0 };
            assert_eq!(flow.count(Side::First, Time(5), 1, 100), 0);
            flow.count_reported(reported(0));
            assert_eq!(flow.count(Side::Second, Time(4), 3, 70_000), 0);
            flow.count_reported(reported(300));
            flow.count_details(|detail| {
                detail.messages = [1, 1];
                detail.response(20);
            });
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes), ([1, 3], [100, 70_000]));
            assert_eq!((row.messages, row.findings.proven), ([1, 1], 300));
            assert_eq!(row.response_times, Some([20; 3]));
            assert_eq!(row.roles, [Some(Role::Client), None]);
            assert!(flow.details.memory() > empty);
            assert_eq!((row.first, row.last), (Time(5), Time(5)));
            assert_eq!(row.ends.map(|end| end.to_string()), [ends.0, ends.1]);
            assert_eq!(flow.facts().seen, [true; 2]);
            flow.is_lossy = true;
            flow.begin_again(Time(9));
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes), ([0; 2], [0; 2]));
            assert_eq!((row.messages, row.findings.proven), ([0; 2], 0));
            assert_eq!((row.response_times, flow.details.memory()), (None, empty));
            assert_eq!((row.first, row.last), (Time(9), Time(9)));
            assert_eq!(row.ends.map(|end| end.to_string()), [ends.0, ends.1]);
            let facts = flow.facts();
            assert!(facts.began && !facts.lossy && facts.seen == [true; 2]);
            let silences = [11, 13, 12, 20].map(|at| flow.count(Side::First, Time(at), 1, 1));
            assert_eq!(silences, [2, 2, 0, 7]);
        }
    }

    #[test]
    fn many_packets_of_one_message_are_many() {
        let (asked, details) = (&mut PerFlow::default(), &mut PerFlow::kept(true));
        let findings = &mut FoundInFlows::default();
        details.begin(0);
        let rounds = &mut RoundsOfFlows::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5));
        let mut flow = FlowMut { flow, asked, findings, details, rounds, at: 0 };
        flow.count(Side::First, Time(5), 3, 4000);
        assert_eq!((flow.row(6).packets, flow.row(6).bytes), ([3, 0], [4000, 0]));
    }
}
