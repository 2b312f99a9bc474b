//! One flow: who conversations to whom, and what it came to so far.
//!
//! In a flood there are millions of flows of a few packets each: such a flow takes 88 bytes, and room
//! in the index. What only longer ones have is kept apart.

use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::{Deref, DerefMut};

use dissectors::Conversation;
use dissectors::kit::{FlowFacts, Info, Side, Time, Transport, Who};

use super::counts::{Counts, Totals};
use super::key::{hash_words, word};
use super::places::Places;
use super::{Detail, Key, Stream};

/// What a flow is up to.
pub enum State {
    /// Nothing that was said tells its protocol yet.
    New,
    /// Datagrams of a protocol of ours.
    Conversation(Conversation),
    /// A stream whose protocol is ours, or is not reported yet.
    Stream(Box<Stream>),
    /// None of ours: only counted.
    Ignored,
}

/// One flow.
pub struct Flow {
    /// Its ends, the sender of the first packet first. Where they are not IPv4 both, the first address
    /// is the number of the place where they are.
    addresses: [Ipv4Addr; 2],
    ports: [u16; 2],
    /// Its number in this run, from 1, given when its protocol is identified; 0 before.
    pub number: u32,
    /// When it was first recorded.
    pub first: Time,
    /// What it is up to.
    pub state: State,
    counts: Counts,
    /// What carries it.
    pub transport: Transport,
    marks: u8,
    /// Which part each end plays, as far as it has spoken, by [`Side::index`].
    pub roles: [Option<Who>; 2],
}

/// A flow in its table, with what it has beside its place there.
pub struct FlowMut<'t> {
    pub(super) flow: &'t mut Flow,
    /// Its place.
    pub(super) at: u32,
    pub(super) apart: &'t mut Apart,
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

/// The addresses of a flow that are not IPv4 both.
type Wide = Option<[IpAddr; 2]>;

/// What flows have beside their own places.
#[derive(Default)]
pub(super) struct Apart {
    many: Places<Totals>,
    wide: Places<Wide>,
    /// What a listing asks for of each flow, by its place, where there is to be one.
    details: Option<Details>,
}

/// What a listing asks for of each flow, by its place.
#[derive(Default)]
struct Details {
    each: Vec<Detail>,
    /// Bytes that they hold beside themselves.
    held: usize,
}

impl Apart {
    /// A flow is over: what it had is nobody's any more.
    pub(super) fn forget(&mut self, flow: &Flow) {
        flow.counts.forget(&mut self.many);
        if flow.is(WIDE) {
            self.wide.free(flow.wide_at());
        }
    }

    /// What a listing asks for is kept from now on.
    pub(super) fn keep_details(&mut self) {
        self.details = Some(Details::default());
    }

    /// Nothing is known yet of the flow in this place.
    pub(super) fn forget_detail(&mut self, at: u32) {
        let Some(details) = &mut self.details else { return };
        if details.each.len() <= at as usize {
            details.each.resize(at as usize + 1, Detail::default());
        }
        self.with_detail(at, |detail| *detail = Detail::default());
    }

    fn detail(&self, at: u32) -> Option<&Detail> {
        self.details.as_ref()?.each.get(at as usize)
    }

    #[inline]
    fn with_detail(&mut self, at: u32, change: impl FnOnce(&mut Detail)) {
        if let Some(details) = &mut self.details
            && let Some(detail) = details.each.get_mut(at as usize)
        {
            let before = detail.held();
            change(detail);
            details.held = (details.held + detail.held()).saturating_sub(before);
        }
    }

    /// Bytes of memory that what a listing asks for takes.
    #[inline]
    pub(super) fn details(&self) -> usize {
        let bytes = |it: &Details| it.held + it.each.len() * size_of::<Detail>();
        self.details.as_ref().map_or(0, bytes)
    }
}

// The bits of `Flow::marks`. The next one after SEEN says so of the other side.
const SEEN: u8 = 1;
const BEGAN: u8 = 4;
const LOSSY: u8 = 8;
const PLANNED: u8 = 16;
/// The addresses are not IPv4 both.
const WIDE: u8 = 32;

impl Flow {
    /// A flow that begins with a packet of this key, which is not counted yet.
    pub(super) fn new(key: &Key, now: Time, apart: &mut Apart) -> Flow {
        let (addresses, marks) = match (key.source, key.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => ([source, destination], 0),
            (source, destination) => {
                let at = apart.wide.put(Some([source, destination]));
                ([Ipv4Addr::from_bits(at), Ipv4Addr::UNSPECIFIED], WIDE)
            }
        };
        Flow {
            addresses,
            ports: key.ports,
            number: 0,
            first: now,
            state: State::New,
            counts: Counts::default(),
            transport: key.transport,
            marks,
            roles: [None; 2],
        }
    }

    /// The key of a packet from its first end to the other.
    pub(super) fn key(&self, apart: &Apart) -> Key {
        let [source, destination] = self.addresses(apart);
        Key { source, destination, ports: self.ports, transport: self.transport }
    }

    /// The words of its key, where its addresses are IPv4 both.
    #[inline]
    fn words(&self) -> [u64; 2] {
        let ([a, b], [p, q]) = (self.addresses, self.ports);
        [word(a, p), word(b, q)]
    }

    /// The hash of its key.
    #[inline]
    pub(super) fn hash(&self, apart: &Apart, hasher: &impl BuildHasher) -> u64 {
        if self.is(WIDE) {
            return self.key(apart).hash(hasher);
        }
        hash_words(self.words(), self.transport, hasher)
    }

    #[inline]
    fn addresses(&self, apart: &Apart) -> [IpAddr; 2] {
        if self.is(WIDE) { self.wide(apart) } else { self.addresses.map(IpAddr::V4) }
    }

    #[cold]
    fn wide(&self, apart: &Apart) -> [IpAddr; 2] {
        let wide = apart.wide.get(self.wide_at()).copied().flatten();
        wide.unwrap_or(self.addresses.map(IpAddr::V4))
    }

    /// Where its addresses are that are not IPv4 both.
    fn wide_at(&self) -> u32 {
        self.addresses[0].to_bits()
    }

    /// Both ends, the sender of the first packet first.
    fn ends(&self, apart: &Apart) -> [SocketAddr; 2] {
        let ([a, b], [p, q]) = (self.addresses(apart), self.ports);
        [SocketAddr::new(a, p), SocketAddr::new(b, q)]
    }

    /// Which end sent a packet of this key, whose words these are, if it belongs to this flow.
    #[inline]
    pub(super) fn side(&self, key: &Key, words: Option<[u64; 2]>, apart: &Apart) -> Option<Side> {
        if key.transport != self.transport {
            return None;
        }
        let Some([from, to]) = words else { return self.side_of_any(key, apart) };
        let ends = self.words();
        let side = if ends == [from, to] {
            Side::First
        } else if ends == [to, from] {
            Side::Second
        } else {
            return None;
        };
        // What is in the place of wide addresses may look like others.
        (!self.is(WIDE)).then_some(side)
    }

    #[inline(never)]
    fn side_of_any(&self, key: &Key, apart: &Apart) -> Option<Side> {
        let (ends, key) = (self.ends(apart), [key.from(), key.to()]);
        if ends == key {
            return Some(Side::First);
        }
        (ends == [key[1], key[0]]).then_some(Side::Second)
    }

    #[inline]
    fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    #[inline]
    fn set(&mut self, mark: u8, on: bool) {
        self.marks = if on { self.marks | mark } else { self.marks & !mark };
    }

    /// Its first packet opens a conversation.
    pub fn set_began(&mut self, began: bool) {
        self.set(BEGAN, began);
    }

    /// The recording lost something of it.
    pub fn set_lossy(&mut self) {
        self.set(LOSSY, true);
    }

    /// Whether its first packet opens a conversation.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.is(BEGAN)
    }

    /// Whether the recording lost something of it.
    #[inline]
    pub fn is_lossy(&self) -> bool {
        self.is(LOSSY)
    }

    /// Whether its conversation is going to be asked again.
    pub fn is_planned(&self) -> bool {
        self.is(PLANNED)
    }

    /// Its conversation is going to be asked again, or no longer.
    pub fn set_planned(&mut self, planned: bool) {
        self.set(PLANNED, planned);
    }

    /// When it was last recorded.
    #[inline]
    pub(super) fn last(&self, apart: &Apart) -> Time {
        Time(self.first.0.wrapping_add_unsigned(self.counts.totals(&apart.many).lasted))
    }

    /// For how long it may be silent and go on after it, in nanoseconds.
    #[inline]
    fn idle(&self) -> i64 {
        match &self.state {
            State::Conversation(conversation) => conversation.id().info().idle,
            State::New | State::Stream(_) | State::Ignored => Info::HEARTBEATS,
        }
    }

    /// Behind which time it has ended: with `idle` for the longest silence, or else its own.
    #[inline]
    pub(super) fn lasts(&self, apart: &Apart, idle: Option<i64>) -> Time {
        let idle = idle.unwrap_or_else(|| self.idle());
        Time(self.last(apart).0.saturating_add(idle))
    }

    /// The unit that held memory is counted in, in bytes.
    const UNIT: usize = 64;

    /// A place, and its share of an index that is as full as may be, or half as full.
    const PLACE: usize = size_of::<Option<Flow>>() + 8;

    /// Bytes of memory that the flow takes, its place and the index included.
    pub(super) fn memory(&self) -> usize {
        let wide = if self.is(WIDE) { size_of::<Wide>() } else { 0 };
        Flow::PLACE + wide + self.counts.apart() + self.counts.held() * Flow::UNIT
    }
}

impl FlowMut<'_> {
    /// When it was last recorded.
    pub fn last(&self) -> Time {
        self.flow.last(self.apart)
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.flow.memory()
    }

    /// What a protocol may know of it.
    pub fn facts(&self) -> FlowFacts {
        FlowFacts {
            ends: self.ends(self.apart),
            began: self.has_begun(),
            seen: [self.is(SEEN), self.is(SEEN << 1)],
            silence: 0,
            lossy: self.is_lossy(),
            number: self.number,
            transport: self.transport,
        }
    }

    /// What a listing of flows shows of it.
    pub fn row(&self, digits: u8) -> FlowRow {
        let protocol = match &self.state {
            State::Conversation(conversation) => Some(conversation.id()),
            State::Stream(stream) => stream.protocol(),
            State::New | State::Ignored => None,
        };
        let Totals { packets, bytes, messages, findings, .. } = self.totals();
        let none = Detail::default();
        let detail = self.apart.detail(self.at).unwrap_or(&none);
        let split = |all: u64, second: u64| [all.saturating_sub(second), second];
        FlowRow {
            flow: self.number,
            transport: self.transport,
            ends: self.ends(self.apart),
            protocol: protocol.map_or("", |id| id.info().id),
            first: self.first,
            last: self.last(),
            roles: self.roles,
            packets: split(packets, detail.packets),
            bytes: split(bytes, detail.bytes),
            messages: split(messages.into(), detail.messages.into()),
            requests: detail.requests.into(),
            answered: detail.answered.into(),
            response_times: detail.response_times(),
            findings: findings.into(),
            digits,
        }
    }

    fn totals(&self) -> Totals {
        self.counts.totals(&self.apart.many)
    }

    fn set_totals(&mut self, totals: Totals) {
        self.flow.counts.set(totals, &mut self.apart.many);
    }

    /// Counts so many packets of one side, with so many bytes of payload in all. Says for how many
    /// nanoseconds the flow was silent before.
    #[inline]
    pub fn count(&mut self, side: Side, time: Time, packets: u64, bytes: usize) -> u64 {
        self.set(SEEN << side.index(), true);
        let age = self.age(time);
        self.apart.with_detail(self.at, |detail| detail.count(side, packets, bytes));
        self.flow.counts.recorded(age, packets, bytes, &mut self.apart.many)
    }

    /// A packet of one side was recorded for which nobody will ask: it counts for nothing but that the
    /// flow goes on.
    #[inline]
    pub fn touch(&mut self, side: Side, time: Time) {
        self.set(SEEN << side.index(), true);
        let age = self.age(time);
        self.flow.counts.lasts(age, &mut self.apart.many);
    }

    /// How many nanoseconds there are from its first packet to this time; 0 before it.
    #[inline]
    fn age(&self, time: Time) -> u64 {
        if time > self.first { time.0.wrapping_sub(self.first.0) as u64 } else { 0 }
    }

    /// The flow's state holds so many bytes beside itself.
    #[inline]
    pub fn set_held(&mut self, held: usize) {
        self.flow.counts.set_held(held.div_ceil(Flow::UNIT), &mut self.apart.many);
    }

    /// Counts what a view was told.
    pub fn count_told(&mut self, told: MessageCounts) {
        if let Some((side, who)) = told.spoke {
            self.roles[side.index()] = Some(who);
        }
        self.flow.counts.told(told.messages, told.findings, &mut self.apart.many);
    }

    /// Tells what a listing asks for of it, where there is to be one.
    #[inline]
    pub fn count_exchanges(&mut self, count: impl FnOnce(&mut Detail)) {
        self.apart.with_detail(self.at, count);
    }

    /// The ports are used again: what follows is another conversation, from its beginning on. It has
    /// no number yet; what was seen stays seen.
    pub fn begin_again(&mut self, now: Time) {
        self.number = 0;
        self.first = now;
        self.marks = self.marks & (SEEN | SEEN << 1 | WIDE) | BEGAN;
        self.roles = [None; 2];
        self.set_totals(Totals::default());
        self.apart.forget_detail(self.at);
    }
}

/// How much was reported since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Messages.
    pub messages: u32,
    /// Findings, inconclusive ones left out.
    pub findings: u32,
    /// Which end spoke, and the part that this shows it to play.
    pub spoke: Option<(Side, Who)>,
}

/// One row of a listing of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// The flow's number in this run.
    pub flow: u32,
    /// What carries it.
    pub transport: Transport,
    /// Its ends, the sender of the first packet first.
    pub ends: [std::net::SocketAddr; 2],
    /// The name of its protocol; empty if none is known.
    pub protocol: &'static str,
    /// When it was first recorded.
    pub first: Time,
    /// When it was last recorded.
    pub last: Time,
    /// The part each end plays, as far as it has spoken.
    pub roles: [Option<Who>; 2],
    /// Packets recorded of each end.
    pub packets: [u64; 2],
    /// Bytes of payload recorded of each end.
    pub bytes: [u64; 2],
    /// Messages reported of each end.
    pub messages: [u64; 2],
    /// Requests that were judged: answered, or given up.
    pub requests: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Nanoseconds from a request to its response, those that half of all, nineteen of twenty, and all
    /// are not above.
    pub response_times: Option<[u64; 3]>,
    /// Findings reported.
    pub findings: u64,
    /// Digits of a second that the capture has: 6 or 9.
    pub digits: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(from: &str, to: &str) -> Key {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        Key {
            source: from.ip(),
            destination: to.ip(),
            ports: [from.port(), to.port()],
            transport: Transport::Udp,
        }
    }

    fn told(messages: u32, findings: u32) -> MessageCounts {
        MessageCounts { messages, findings, spoke: Some((Side::First, Who::Client)) }
    }

    #[test]
    fn a_flow_of_one_packet_is_small() {
        assert_eq!(size_of::<Option<Flow>>(), 88);
        let apart = &mut Apart::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5), apart);
        let mut flow = FlowMut { flow, apart, at: 0 };
        flow.count(Side::First, Time(5), 1, 65_507);
        flow.count_told(told(1, 3));
        flow.set_planned(true);
        assert_eq!(flow.counts.apart(), 0);
        let row = flow.row(6);
        assert_eq!(
            (row.packets, row.bytes, row.messages, row.findings),
            ([1, 0], [65_507, 0], [1, 0], 3)
        );
        assert_eq!((row.first, row.last), (Time(5), Time(5)));
    }

    #[test]
    fn what_nobody_asks_for_keeps_a_flow_going_and_takes_no_room() {
        let apart = &mut Apart::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5), apart);
        let mut flow = FlowMut { flow, apart, at: 0 };
        flow.count(Side::First, Time(5), 1, 100);
        for at in (0..1000).map(|nth| 7 + nth % 100) {
            flow.touch(Side::Second, Time(at));
        }
        let row = flow.row(6);
        assert_eq!((row.packets, row.bytes, row.last), ([1, 0], [100, 0], Time(106)));
        assert_eq!((flow.facts().seen, flow.counts.apart()), ([true; 2], 0));
    }

    #[test]
    fn counts_go_on_where_the_first_packet_left_them() {
        for ends in
            [("10.0.0.1:1", "10.0.0.2:2"), ("[::1]:1", "[::2]:2"), ("10.0.0.1:1", "[::2]:2")]
        {
            let apart = &mut Apart::default();
            apart.keep_details();
            apart.forget_detail(0);
            let flow = &mut Flow::new(&key(ends.0, ends.1), Time(5), apart);
            let mut flow = FlowMut { flow, apart, at: 0 };
            assert_eq!(flow.count(Side::First, Time(5), 1, 100), 0);
            flow.count_told(told(1, 0));
            assert_eq!(flow.count(Side::Second, Time(4), 3, 70_000), 0);
            flow.count_told(told(1, 300));
            flow.count_exchanges(|detail| {
                (detail.messages, detail.requests, detail.answered) = (1, 2, 1);
                detail.response(20);
            });
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes), ([1, 3], [100, 70_000]));
            assert_eq!((row.messages, row.findings), ([1, 1], 300));
            assert_eq!((row.requests, row.answered, row.response_times), (2, 1, Some([20; 3])));
            assert_eq!(row.roles, [Some(Who::Client), None]);
            assert!(flow.apart.details() > size_of::<Detail>());
            assert_eq!((row.first, row.last), (Time(5), Time(5)));
            assert_eq!(row.ends.map(|end| end.to_string()), [ends.0, ends.1]);
            assert_eq!(flow.facts().seen, [true; 2]);
            flow.set_lossy();
            flow.begin_again(Time(9));
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes), ([0; 2], [0; 2]));
            assert_eq!((row.messages, row.findings, row.requests), ([0; 2], 0, 0));
            assert_eq!((row.response_times, flow.apart.details()), (None, size_of::<Detail>()));
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
        let apart = &mut Apart::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5), apart);
        let mut flow = FlowMut { flow, apart, at: 0 };
        flow.count(Side::First, Time(5), 3, 4000);
        assert_eq!((flow.row(6).packets, flow.row(6).bytes), ([3, 0], [4000, 0]));
    }
}
