//! One flow: who talks to whom, and what it came to so far.
//!
//! In a flood there are millions of flows of one packet each: such a flow takes 88 bytes, and room in
//! the index. What only longer ones have is kept apart.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};

use dissectors::Talk;
use dissectors::kit::{FlowFacts, Info, Side, Time, Transport, Who};

use super::key::word;
use super::places::Places;
use super::{Key, Stream};

/// What a flow is up to.
pub enum State {
    /// Nothing that was said tells its protocol yet.
    New,
    /// Datagrams of a protocol of ours.
    Talk(Talk),
    /// A stream whose protocol is ours, or is not told yet.
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
    /// Its number in this run, from 1, given when its protocol is told; 0 before.
    pub number: u32,
    /// When it was first recorded.
    pub first: Time,
    /// What it is up to.
    pub state: State,
    /// What a flow of one packet does not have.
    rest: Option<RestAt>,
    /// What carries it.
    pub transport: Transport,
    marks: u8,
    /// Which part each end plays, as far as it has spoken, by [`Side::index`].
    pub roles: [Option<Who>; 2],
    /// Bytes of the first packet, which further ones are added to in the rest. Where there is a
    /// rest: what the flow's state holds beside itself, in units of [`Flow::UNIT`].
    bytes: u16,
    messages: u8,
    findings: u8,
}

/// A flow in its table, with what it has beside its place there.
pub struct Followed<'t> {
    pub(super) flow: &'t mut Flow,
    pub(super) rests: &'t mut Rests,
}

impl Deref for Followed<'_> {
    type Target = Flow;

    #[inline]
    fn deref(&self) -> &Flow {
        self.flow
    }
}

impl DerefMut for Followed<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Flow {
        self.flow
    }
}

/// What a flow has that is more than one packet.
#[derive(Default)]
struct Rest {
    last: Time,
    packets: u64,
    bytes: u64,
    messages: u32,
    findings: u32,
}

/// Where a flow's rest is: its place and one.
#[derive(Clone, Copy)]
pub(super) struct RestAt(NonZeroU32);

/// The addresses of a flow that are not IPv4 both.
type Wide = Option<[IpAddr; 2]>;

/// What flows have beside their own places.
#[derive(Default)]
pub(super) struct Rests {
    rests: Places<Rest>,
    wide: Places<Wide>,
}

impl Rests {
    fn put(&mut self, rest: Rest) -> RestAt {
        RestAt(NonZeroU32::MIN.saturating_add(self.rests.put(rest)))
    }

    /// What a flow has here, if it has anything.
    #[inline]
    fn of(&self, flow: &Flow) -> Option<&Rest> {
        let RestAt(at) = flow.rest?;
        self.rests.get(at.get() - 1)
    }

    #[inline]
    fn get_mut(&mut self, RestAt(at): RestAt) -> Option<&mut Rest> {
        self.rests.get_mut(at.get() - 1)
    }

    /// A flow is over: what it had is nobody's any more.
    pub(super) fn forget(&mut self, flow: &Flow) {
        if let Some(RestAt(at)) = flow.rest {
            self.rests.free(at.get() - 1);
        }
        if flow.is(WIDE) {
            self.wide.free(flow.wide_at());
        }
    }
}

// The bits of `Flow::marks`. The next one behind SEEN says so of the other side.
const SEEN: u8 = 1;
const BEGAN: u8 = 4;
const LOSSY: u8 = 8;
const PLANNED: u8 = 16;
/// The addresses are not IPv4 both.
const WIDE: u8 = 32;

impl Flow {
    /// A flow that begins with a packet of this key, which is not counted yet.
    pub(super) fn new(key: &Key, now: Time, rests: &mut Rests) -> Flow {
        let (addresses, marks) = match (key.source, key.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => ([source, destination], 0),
            (source, destination) => {
                let at = rests.wide.put(Some([source, destination]));
                ([Ipv4Addr::from_bits(at), Ipv4Addr::UNSPECIFIED], WIDE)
            }
        };
        Flow {
            addresses,
            ports: key.ports,
            number: 0,
            first: now,
            state: State::New,
            rest: None,
            transport: key.transport,
            marks,
            roles: [None; 2],
            bytes: 0,
            messages: 0,
            findings: 0,
        }
    }

    /// The key of a packet from its first end to the other.
    pub(super) fn key(&self, rests: &Rests) -> Key {
        let [source, destination] = self.addresses(rests);
        Key { source, destination, ports: self.ports, transport: self.transport }
    }

    fn addresses(&self, rests: &Rests) -> [IpAddr; 2] {
        let wide = if self.is(WIDE) { rests.wide.get(self.wide_at()) } else { None };
        match wide {
            Some(Some(wide)) => *wide,
            _ => self.addresses.map(IpAddr::V4),
        }
    }

    /// Where its addresses are that are not IPv4 both.
    fn wide_at(&self) -> u32 {
        self.addresses[0].to_bits()
    }

    /// Both ends, the sender of the first packet first.
    fn ends(&self, rests: &Rests) -> [SocketAddr; 2] {
        let ([a, b], [p, q]) = (self.addresses(rests), self.ports);
        [SocketAddr::new(a, p), SocketAddr::new(b, q)]
    }

    /// Which end sent a packet of this key, if it belongs to this flow.
    #[inline]
    pub(super) fn side(&self, key: &Key, rests: &Rests) -> Option<Side> {
        if key.transport != self.transport {
            return None;
        }
        let Some([from, to]) = key.words() else { return self.side_of_any(key, rests) };
        let ([a, b], [p, q]) = (self.addresses, self.ports);
        let ends = [word(a, p), word(b, q)];
        let side = if ends == [from, to] {
            Side::First
        } else if ends == [to, from] {
            Side::Second
        } else {
            return None;
        };
        // What stands in the place of wide addresses may look like others.
        (!self.is(WIDE)).then_some(side)
    }

    #[inline(never)]
    fn side_of_any(&self, key: &Key, rests: &Rests) -> Option<Side> {
        let (ends, key) = (self.ends(rests), [key.from(), key.to()]);
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

    /// Whether a packet of it was counted.
    #[inline]
    fn is_seen(&self) -> bool {
        self.is(SEEN | SEEN << 1)
    }

    /// Its first packet opens a conversation.
    pub fn set_began(&mut self, began: bool) {
        self.set(BEGAN, began);
    }

    /// The recording lost something of it.
    pub fn set_lossy(&mut self) {
        self.set(LOSSY, true);
    }

    /// Whether its talk is going to be asked again.
    pub fn is_planned(&self) -> bool {
        self.is(PLANNED)
    }

    /// Its talk is going to be asked again, or no longer.
    pub fn set_planned(&mut self, planned: bool) {
        self.set(PLANNED, planned);
    }

    /// When it was last recorded.
    #[inline]
    pub(super) fn last(&self, rests: &Rests) -> Time {
        rests.of(self).map_or(self.first, |rest| rest.last)
    }

    /// For how long it may be silent and go on after it, in nanoseconds.
    #[inline]
    fn idle(&self) -> i64 {
        match &self.state {
            State::Talk(talk) => talk.id().info().idle,
            State::New | State::Stream(_) | State::Ignored => Info::HEARTBEATS,
        }
    }

    /// It has not ended by then, whenever it was last recorded.
    #[inline]
    pub(super) fn lasts_at_least(&self, idle: Option<i64>) -> Time {
        let idle = idle.unwrap_or_else(|| self.idle());
        Time(self.first.0.saturating_add(idle))
    }

    /// Behind which time it has ended: with `idle` for the longest silence, or else its own.
    #[inline]
    pub(super) fn lasts(&self, rests: &Rests, idle: Option<i64>) -> Time {
        let idle = idle.unwrap_or_else(|| self.idle());
        Time(self.last(rests).0.saturating_add(idle))
    }

    /// The unit that held memory is counted in, in bytes.
    const UNIT: usize = 64;

    /// A place, and its share of an index that is as full as may be, or half as full.
    const PLACE: usize = size_of::<Option<Flow>>() + 8;

    /// Bytes of memory that the flow takes, its place and the index included.
    pub(super) fn memory(&self, rests: &Rests) -> usize {
        let wide = if self.is(WIDE) { size_of::<Wide>() } else { 0 };
        if rests.of(self).is_none() {
            return Flow::PLACE + wide;
        }
        let held = usize::from(self.bytes) * Flow::UNIT;
        Flow::PLACE + wide + size_of::<Rest>() + held
    }
}

impl Followed<'_> {
    /// When it was last recorded.
    pub fn last(&self) -> Time {
        self.flow.last(self.rests)
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.flow.memory(self.rests)
    }

    /// What a protocol may know of it.
    pub fn facts(&self) -> FlowFacts {
        FlowFacts {
            ends: self.ends(self.rests),
            began: self.is(BEGAN),
            seen: [self.is(SEEN), self.is(SEEN << 1)],
            lossy: self.is(LOSSY),
            number: self.number,
            transport: self.transport,
        }
    }

    /// What a listing of flows shows of it.
    pub fn row(&self, digits: u8) -> FlowRow {
        let protocol = match &self.state {
            State::Talk(talk) => Some(talk.id()),
            State::Stream(stream) => stream.protocol(),
            State::New | State::Ignored => None,
        };
        let counted = self.is_seen();
        let first =
            (u64::from(counted), self.bytes.into(), self.messages.into(), self.findings.into());
        let (packets, bytes, messages, findings) = self.rests.of(self).map_or(first, |rest| {
            (rest.packets, rest.bytes, rest.messages.into(), rest.findings.into())
        });
        FlowRow {
            flow: self.number,
            transport: self.transport,
            ends: self.ends(self.rests),
            protocol: protocol.map_or("", |id| id.info().id),
            first: self.first,
            last: self.last(),
            packets,
            bytes,
            messages,
            findings,
            digits,
        }
    }

    /// Counts so many packets of one side, with so many bytes of payload in all.
    #[inline]
    pub fn count(&mut self, side: Side, time: Time, packets: u64, bytes: usize) {
        let is_first = !self.is_seen() && self.rest.is_none();
        if is_first
            && packets == 1
            && time == self.first
            && let Ok(bytes) = u16::try_from(bytes)
        {
            self.set(SEEN << side.index(), true);
            self.bytes = bytes;
            return;
        }
        let Some(rest) = self.rest() else { return };
        rest.packets += packets;
        rest.bytes = rest.bytes.saturating_add(bytes as u64);
        rest.last = rest.last.max(time);
        self.set(SEEN << side.index(), true);
    }

    /// The flow's state holds so many bytes beside itself.
    #[inline]
    pub fn set_held(&mut self, held: usize) {
        if held > 0 || self.rest.is_some() {
            self.rest();
            self.bytes = u16::try_from(held.div_ceil(Flow::UNIT)).unwrap_or(u16::MAX);
        }
    }

    /// What the first packet left no room for; from now on all is counted there.
    fn rest(&mut self) -> Option<&mut Rest> {
        let Followed { flow, rests } = self;
        let at = match flow.rest {
            Some(at) => at,
            None => *flow.rest.insert(rests.put(Rest {
                last: flow.first,
                packets: flow.is_seen().into(),
                bytes: std::mem::take(&mut flow.bytes).into(),
                messages: flow.messages.into(),
                findings: flow.findings.into(),
            })),
        };
        rests.get_mut(at)
    }

    /// Counts what a view was told.
    pub fn count_told(&mut self, told: Told) {
        if let Some((side, who)) = told.spoke {
            self.roles[side.index()] = Some(who);
        }
        let add = |count: u8, more: u32| u8::try_from(u32::from(count).checked_add(more)?).ok();
        if self.rest.is_none()
            && let Some(messages) = add(self.messages, told.messages)
            && let Some(findings) = add(self.findings, told.findings)
        {
            (self.messages, self.findings) = (messages, findings);
            return;
        }
        let Some(rest) = self.rest() else { return };
        rest.messages = rest.messages.saturating_add(told.messages);
        rest.findings = rest.findings.saturating_add(told.findings);
    }

    /// The ports are used again: what follows is another conversation, from its beginning on. It has
    /// no number yet; what was seen stays seen.
    pub fn begin_again(&mut self, now: Time) {
        self.number = 0;
        self.first = now;
        self.marks = self.marks & (SEEN | SEEN << 1 | WIDE) | BEGAN;
        self.roles = [None; 2];
        let Some(rest) = self.rest() else { return };
        *rest = Rest { last: now, ..Rest::default() };
    }
}

/// How much was told since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
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
    /// The name of its protocol; empty if none is told.
    pub protocol: &'static str,
    /// When it was first recorded.
    pub first: Time,
    /// When it was last recorded.
    pub last: Time,
    /// Packets recorded.
    pub packets: u64,
    /// Bytes of payload recorded.
    pub bytes: u64,
    /// Messages told.
    pub messages: u64,
    /// Findings told.
    pub findings: u64,
    /// Digits behind the second that the capture has: 6 or 9.
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

    fn told(messages: u32, findings: u32) -> Told {
        Told { messages, findings, spoke: Some((Side::First, Who::Client)) }
    }

    #[test]
    fn a_flow_of_one_packet_is_small() {
        assert_eq!(size_of::<Option<Flow>>(), 88);
        let rests = &mut Rests::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5), rests);
        let mut flow = Followed { flow, rests };
        flow.count(Side::First, Time(5), 1, 65_507);
        flow.count_told(told(1, 3));
        flow.set_planned(true);
        assert!(flow.rest.is_none());
        let row = flow.row(6);
        assert_eq!((row.packets, row.bytes, row.messages, row.findings), (1, 65_507, 1, 3));
        assert_eq!((row.first, row.last), (Time(5), Time(5)));
    }

    #[test]
    fn counts_go_on_where_the_first_packet_left_them() {
        for ends in
            [("10.0.0.1:1", "10.0.0.2:2"), ("[::1]:1", "[::2]:2"), ("10.0.0.1:1", "[::2]:2")]
        {
            let rests = &mut Rests::default();
            let flow = &mut Flow::new(&key(ends.0, ends.1), Time(5), rests);
            let mut flow = Followed { flow, rests };
            flow.count(Side::First, Time(5), 1, 100);
            flow.count_told(told(1, 0));
            flow.count(Side::Second, Time(4), 3, 70_000);
            flow.count_told(told(1, 300));
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes, row.messages, row.findings), (4, 70_100, 2, 300));
            assert_eq!((row.first, row.last), (Time(5), Time(5)));
            assert_eq!(row.ends.map(|end| end.to_string()), [ends.0, ends.1]);
            assert_eq!(flow.facts().seen, [true; 2]);
            flow.set_lossy();
            flow.begin_again(Time(9));
            let row = flow.row(6);
            assert_eq!((row.packets, row.bytes, row.messages, row.findings), (0, 0, 0, 0));
            assert_eq!((row.first, row.last), (Time(9), Time(9)));
            assert_eq!(row.ends.map(|end| end.to_string()), [ends.0, ends.1]);
            let facts = flow.facts();
            assert!(facts.began && !facts.lossy && facts.seen == [true; 2]);
        }
    }

    #[test]
    fn many_packets_of_one_message_are_many() {
        let rests = &mut Rests::default();
        let flow = &mut Flow::new(&key("10.0.0.1:1", "10.0.0.2:2"), Time(5), rests);
        let mut flow = Followed { flow, rests };
        flow.count(Side::First, Time(5), 3, 4000);
        assert_eq!((flow.row(6).packets, flow.row(6).bytes), (3, 4000));
    }
}
