//! All flows that are being followed: found in constant time, bounded in number.

use dissectors::Talk;
use dissectors::kit::{FlowFacts, Side, Time, Transport, Who};
use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::flows::{Ends, Key};
use crate::session::{Stream, Told};

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
    /// Its ends.
    pub ends: Ends,
    /// What carries it.
    pub transport: Transport,
    /// Its number in this run, from 1, given when its protocol is told; 0 before.
    pub number: u32,
    /// A packet of this side was recorded, by [`Side::index`].
    pub seen: [bool; 2],
    /// Its first packet opens a conversation.
    pub began: bool,
    /// The recording lost something of it.
    pub lossy: bool,
    /// When it was first recorded.
    pub first: Time,
    /// When it was last recorded.
    pub last: Time,
    /// Packets recorded.
    pub packets: u64,
    /// Bytes of payload recorded.
    pub bytes: u64,
    /// Messages told.
    pub messages: u32,
    /// Findings told.
    pub findings: u32,
    /// Which part each end plays, as far as it has spoken, by [`Side::index`].
    pub roles: [Option<Who>; 2],
    /// When its talk wants to be asked again, as far as that is planned.
    pub due: Option<Time>,
    /// What it is up to.
    pub state: State,
}

impl Flow {
    /// What a protocol may know of it.
    pub fn facts(&self) -> FlowFacts {
        FlowFacts {
            ends: [self.ends.end(Side::First), self.ends.end(Side::Second)],
            began: self.began,
            seen: self.seen,
            lossy: self.lossy,
            number: self.number,
            transport: self.transport,
        }
    }

    /// Counts what a view was told.
    pub fn count_told(&mut self, told: Told) {
        self.messages = self.messages.saturating_add(told.messages);
        self.findings = self.findings.saturating_add(told.findings);
        if let Some((side, who)) = told.spoke {
            self.roles[side.index()] = Some(who);
        }
    }

    /// What a listing of flows shows of it.
    pub fn row(&self, digits: u8) -> FlowRow {
        let protocol = match &self.state {
            State::Talk(talk) => Some(talk.id()),
            State::Stream(stream) => stream.protocol(),
            State::New | State::Ignored => None,
        };
        FlowRow {
            flow: self.number,
            transport: self.transport,
            ends: [self.ends.end(Side::First), self.ends.end(Side::Second)],
            protocol: protocol.map_or("", |id| id.info().id),
            first: self.first,
            last: self.last,
            packets: self.packets,
            bytes: self.bytes,
            messages: u64::from(self.messages),
            findings: u64::from(self.findings),
            digits,
        }
    }
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

/// A flow's place in the table, valid until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u32);

/// How many flows are looked at to find one that may go.
const SAMPLE: usize = 32;

/// The flows, by their ends.
pub struct Table {
    index: HashTable<u32>,
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// The seed differs in every run: whoever made the capture cannot choose what collides.
    hasher: RandomState,
    hand: usize,
    most: usize,
}

impl Table {
    /// A table of at most `most` flows.
    pub fn new(most: usize) -> Table {
        let most = most.clamp(1, u32::MAX as usize);
        let hasher = RandomState::default();
        Table { index: HashTable::new(), slots: vec![], free: vec![], hasher, hand: 0, most }
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Whether one more flow needs another to go first.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// The flow that a packet belongs to, and which end sent the packet.
    pub fn find(&self, key: &Key) -> Option<(Slot, Side)> {
        let hash = key.hash(&self.hasher);
        let mut side = None;
        let slot = self.index.find(hash, |&slot| {
            let flow = self.slots.get(slot as usize).and_then(Option::as_ref);
            side = flow.filter(|f| f.transport == key.transport).and_then(|f| f.ends.side(key));
            side.is_some()
        })?;
        Some((Slot(*slot), side?))
    }

    /// A flow that begins with a packet of this key, which no flow in the table has.
    pub fn insert(&mut self, key: &Key, now: Time) -> Slot {
        let flow = Flow {
            ends: Ends::of(key),
            transport: key.transport,
            number: 0,
            seen: [false; 2],
            began: false,
            lossy: false,
            first: now,
            last: now,
            packets: 0,
            bytes: 0,
            messages: 0,
            findings: 0,
            roles: [None; 2],
            due: None,
            state: State::New,
        };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                (self.slots.len() - 1) as u32
            }
        };
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = Some(flow);
        }
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.index.insert_unique(key.hash(hasher), slot, |&slot| {
            let flow = slots.get(slot as usize).and_then(Option::as_ref);
            flow.map_or(0, |flow| key_of(flow).hash(hasher))
        });
        Slot(slot)
    }

    /// A flow.
    #[inline]
    pub fn flow(&mut self, slot: Slot) -> Option<&mut Flow> {
        self.slots.get_mut(slot.0 as usize).and_then(Option::as_mut)
    }

    /// Takes a flow out.
    pub fn remove(&mut self, slot: Slot) -> Option<Flow> {
        let flow = self.slots.get_mut(slot.0 as usize)?.take()?;
        let hash = key_of(&flow).hash(&self.hasher);
        if let Ok(entry) = self.index.find_entry(hash, |&other| other == slot.0) {
            entry.remove();
        }
        self.free.push(slot.0);
        Some(flow)
    }

    /// The flow that has been silent longest among the next few: the one to go when there is no room.
    pub fn stalest(&mut self) -> Option<Slot> {
        let mut stalest: Option<(Time, usize)> = None;
        let mut seen = 0;
        for _ in 0..self.slots.len() {
            self.hand = (self.hand + 1) % self.slots.len();
            let Some(Some(flow)) = self.slots.get(self.hand) else { continue };
            if stalest.is_none_or(|(last, _)| flow.last < last) {
                stalest = Some((flow.last, self.hand));
            }
            seen += 1;
            if seen == SAMPLE {
                break;
            }
        }
        stalest.map(|(_, at)| Slot(at as u32))
    }

    /// The next flow in turn, if it has been silent since before `then`.
    pub fn idle(&mut self, then: Time) -> Option<Slot> {
        if self.slots.is_empty() {
            return None;
        }
        self.hand = if self.hand + 1 < self.slots.len() { self.hand + 1 } else { 0 };
        let flow = self.slots.get(self.hand)?.as_ref()?;
        (flow.last < then).then_some(Slot(self.hand as u32))
    }

    /// All flows, by place.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Flow)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(at, flow)| Some((Slot(at as u32), flow.as_ref()?)))
    }
}

fn key_of(flow: &Flow) -> Key {
    let (first, second) = (flow.ends.end(Side::First), flow.ends.end(Side::Second));
    Key {
        source: first.ip(),
        destination: second.ip(),
        ports: [first.port(), second.port()],
        transport: flow.transport,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(from: &str, to: &str) -> Key {
        let (from, to): (std::net::SocketAddr, std::net::SocketAddr) =
            (from.parse().unwrap(), to.parse().unwrap());
        Key {
            source: from.ip(),
            destination: to.ip(),
            ports: [from.port(), to.port()],
            transport: Transport::Udp,
        }
    }

    #[test]
    fn both_directions_are_one_flow() {
        for (a, b) in [("10.0.0.1:50000", "10.0.0.2:27015"), ("[::1]:5", "[::1]:6")] {
            let mut table = Table::new(10);
            let slot = table.insert(&key(a, b), Time(0));
            assert_eq!(table.find(&key(a, b)), Some((slot, Side::First)));
            assert_eq!(table.find(&key(b, a)), Some((slot, Side::Second)));
            assert_eq!(table.find(&Key { transport: Transport::Tcp, ..key(a, b) }), None);
            assert!(table.remove(slot).is_some());
            assert_eq!(table.find(&key(a, b)), None);
        }
    }

    #[test]
    fn a_socket_that_talks_to_itself_is_found() {
        let mut table = Table::new(10);
        let slot = table.insert(&key("[::1]:5", "[::1]:5"), Time(0));
        assert_eq!(table.find(&key("[::1]:5", "[::1]:5")), Some((slot, Side::First)));
    }

    #[test]
    fn many_flows_come_and_go() {
        let mut table = Table::new(100);
        for port in 1..=5000u16 {
            if table.is_full() {
                let slot = table.stalest().unwrap();
                table.remove(slot);
            }
            let from = format!("10.0.0.1:{port}");
            table.insert(&key(&from, "10.0.0.2:27015"), Time(i64::from(port)));
        }
        assert_eq!(table.len(), 100);
        assert!(table.find(&key("10.0.0.1:5000", "10.0.0.2:27015")).is_some());
        assert!(table.find(&key("10.0.0.1:1", "10.0.0.2:27015")).is_none());
    }
}
