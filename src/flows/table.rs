//! All flows: found in constant time, bounded in number.

use dissectors::kit::{Info, Side, Time};
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use slab::Slab;

use super::findings::FoundInFlows;
use super::per_flow::{PerFlow, RoundsOfFlows};
use crate::flows::{Asked, Flow, FlowDetail, FlowKey, FlowMut};

/// A flow's place in the table, valid until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowSlot(u32);

/// How many flows are compared to find one to evict.
const SAMPLE: usize = 8;

/// The flows, by their ends.
pub struct FlowTable {
    /// The flows' places, by the hashes of their keys.
    index: HashTable<u32>,
    flows: Slab<Flow>,
    /// One more than the highest index that was ever used.
    places: u32,
    asked: PerFlow<Asked>,
    findings: FoundInFlows,
    details: PerFlow<FlowDetail>,
    rounds: RoundsOfFlows,
    /// The seed differs in every run, so that the author of a capture cannot construct collisions.
    hasher: RandomState,
    /// The flow that was found last: many packets belong to the same flow as the previous one.
    latest: u32,
    /// Where the search for the next flow to evict begins.
    hand: u32,
    idle: IdleScan,
    /// For how long a flow may be silent, in nanoseconds, if not by its protocol.
    longest: Option<i64>,
    most: usize,
    /// Memory of the flows in bytes, and its maximum.
    memory: usize,
    most_memory: usize,
}

impl FlowTable {
    /// A table of at most `most` flows, with at most this many bytes of memory. A flow has ended if
    /// it has been silent for longer than `longest` nanoseconds, or than its protocol allows.
    pub fn new(most: usize, most_memory: usize, longest: Option<i64>) -> FlowTable {
        let most = most.clamp(1, u32::MAX as usize);
        let hasher = RandomState::default();
        FlowTable {
            index: HashTable::new(),
            flows: Slab::new(),
            places: 0,
            asked: PerFlow::default(),
            findings: FoundInFlows::default(),
            details: PerFlow::default(),
            rounds: RoundsOfFlows::default(),
            hasher,
            latest: 0,
            hand: 0,
            idle: IdleScan::default(),
            longest,
            most,
            memory: 0,
            most_memory,
        }
    }

    /// With or without counts of requests, and other details for a listing of flows.
    #[must_use]
    pub fn keeping(self, asked: bool, details: bool) -> FlowTable {
        FlowTable {
            asked: PerFlow::kept(asked),
            findings: FoundInFlows::kept(asked),
            details: PerFlow::kept(details),
            ..self
        }
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Whether another flow can only be added after evicting one.
    pub fn is_full(&self) -> bool {
        self.len() >= self.most || self.is_too_large()
    }

    /// Whether the flows take more memory than allowed.
    #[inline]
    pub fn is_too_large(&self) -> bool {
        self.memory() > self.most_memory
    }

    /// Bytes of memory that the flows take.
    #[inline]
    pub fn memory(&self) -> usize {
        let optional = self.asked.memory() + self.details.memory();
        self.memory + optional + self.findings.memory() + self.rounds.memory()
    }

    /// Updates the memory of a flow from `before` to `now`.
    #[inline]
    pub fn weigh(&mut self, before: usize, now: usize) {
        self.memory = (self.memory + now).saturating_sub(before);
    }

    /// The flow of a packet, and the end that sent it.
    pub fn find(&mut self, key: &FlowKey) -> Option<(FlowSlot, Side)> {
        let side = |slot| self.get(FlowSlot(slot))?.side(key);
        if let Some(side) = side(self.latest) {
            return Some((FlowSlot(self.latest), side));
        }
        let is_this = |slot: &u32| {
            self.asked.load(*slot);
            side(*slot).is_some()
        };
        let slot = *self.index.find(key.hash(&self.hasher), is_this)?;
        let side = side(slot)?;
        self.latest = slot;
        Some((FlowSlot(slot), side))
    }

    /// Adds a flow that begins with a packet of this new key.
    pub fn insert(&mut self, key: &FlowKey, now: Time) -> FlowSlot {
        let flow = Flow::new(key, now);
        self.memory += flow.memory();
        self.idle.is_there(now.after(self.longest.unwrap_or(Info::QUERIES)));
        let FlowTable { index, flows, hasher, .. } = self;
        let slot = flows.insert(flow) as u32;
        let hash = |slot: &u32| flows.get(*slot as usize).map_or(0, |flow| flow.key.hash(hasher));
        index.insert_unique(key.hash(hasher), slot, hash);
        self.places = self.places.max(slot + 1);
        self.asked.begin(slot);
        self.details.begin(slot);
        FlowSlot(slot)
    }

    /// A flow.
    #[inline]
    pub fn flow(&mut self, slot: FlowSlot) -> Option<FlowMut<'_>> {
        let FlowTable { flows, asked, findings, details, rounds, .. } = self;
        let flow = flows.get_mut(slot.0 as usize)?;
        Some(FlowMut { flow, at: slot.0, asked, findings, details, rounds })
    }

    /// A flow, read-only.
    #[inline]
    pub fn get(&self, slot: FlowSlot) -> Option<&Flow> {
        self.flows.get(slot.0 as usize)
    }

    /// All flows in the order of their numbers, those without one last. After this, flows are only
    /// removed.
    pub fn in_order(&mut self) -> InOrder {
        self.index = HashTable::new();
        let mut places = Vec::from_iter(self.iter().map(|(FlowSlot(slot), _)| slot));
        let place =
            |&slot: &u32| self.get(FlowSlot(slot)).map_or(0, |flow| flow.number).wrapping_sub(1);
        // Usually they are in order: sorting needs as much memory again.
        if !places.is_sorted_by_key(place) {
            places.sort_by_cached_key(place);
        }
        InOrder(places.into_iter())
    }

    /// Removes a flow. Returns whether it existed.
    pub fn remove(&mut self, slot: FlowSlot) -> bool {
        let Some(flow) = self.flows.try_remove(slot.0 as usize) else { return false };
        self.memory = self.memory.saturating_sub(flow.memory());
        let hash = flow.key.hash(&self.hasher);
        if let Ok(entry) = self.index.find_entry(hash, |at| *at == slot.0) {
            entry.remove();
        }
        // Also releases its optional data.
        self.asked.forget(slot.0);
        self.findings.forget(slot.0);
        self.details.forget(slot.0);
        self.rounds.take(slot.0);
        true
    }

    /// The flow that has been silent longest among the next few, to evict.
    pub fn longest_silent(&mut self) -> Option<FlowSlot> {
        let mut longest_silent: Option<(Time, u32)> = None;
        let mut seen = 0;
        for _ in 0..self.places {
            self.hand = if self.hand + 1 < self.places { self.hand + 1 } else { 0 };
            let at = self.hand;
            let Some(last) = self.get(FlowSlot(at)).map(Flow::last) else { continue };
            if longest_silent.is_none_or(|(longest_silent, _)| last < longest_silent) {
                longest_silent = Some((last, at));
            }
            seen += 1;
            if seen == SAMPLE {
                break;
            }
        }
        longest_silent.map(|(_, at)| FlowSlot(at))
    }

    /// Whether a flow has been silent for longer than its limit.
    #[inline]
    pub fn has_ended(&self, slot: FlowSlot, now: Time) -> bool {
        self.get(slot).is_some_and(|flow| flow.lasts(self.longest) < now)
    }

    /// Whether there may be a flow that has been silent for too long.
    #[inline]
    pub fn has_idle(&self, now: Time) -> bool {
        now > self.idle.earliest
    }

    /// A flow that has been silent for too long: the next one in turn, if it has. Repeated calls
    /// find them all.
    pub fn idle(&mut self, now: Time) -> Option<FlowSlot> {
        if !self.has_idle(now) {
            return None;
        }
        if self.idle.hand >= self.places {
            self.idle.begin_again();
            return None;
        }
        let at = self.idle.hand;
        self.idle.hand += 1;
        let flow = self.get(FlowSlot(at))?;
        let lasts = flow.lasts(self.longest);
        if lasts < now {
            return Some(FlowSlot(at));
        }
        self.idle.seen = self.idle.seen.min(lasts);
        None
    }

    /// All flows, by place.
    pub fn iter(&self) -> impl Iterator<Item = (FlowSlot, &Flow)> {
        self.flows.iter().map(|(at, flow)| (FlowSlot(at as u32), flow))
    }
}

/// Flows one after the other.
pub struct InOrder(std::vec::IntoIter<u32>);

impl Iterator for InOrder {
    type Item = FlowSlot;

    fn next(&mut self) -> Option<FlowSlot> {
        self.0.next().map(FlowSlot)
    }
}

/// The search for flows that have been silent for too long.
struct IdleScan {
    hand: u32,
    /// No flow has ended before this time.
    earliest: Time,
    /// The same for the flows that the search has passed in this turn, and for newer ones.
    seen: Time,
}

impl Default for IdleScan {
    fn default() -> IdleScan {
        IdleScan { hand: 0, earliest: Time(i64::MAX), seen: Time(i64::MAX) }
    }
}

impl IdleScan {
    /// There is a flow that lasts until then.
    fn is_there(&mut self, until: Time) {
        self.earliest = self.earliest.min(until);
        self.seen = self.seen.min(until);
    }

    /// The search has passed all flows.
    fn begin_again(&mut self) {
        *self = IdleScan { hand: 0, earliest: self.seen, seen: Time(i64::MAX) };
    }
}

#[cfg(test)]
mod tests {
    use dissectors::Id;
    use dissectors::kit::Transport;

    use super::*;
    use crate::flows::FlowState;
    use crate::session::Options;

    fn key(from: &str, to: &str) -> FlowKey {
        let (from, to): (std::net::SocketAddr, std::net::SocketAddr) =
            (from.parse().unwrap(), to.parse().unwrap());
        FlowKey {
            source: from.ip(),
            destination: to.ip(),
            ports: [from.port(), to.port()],
            transport: Transport::Udp,
        }
    }

    #[test]
    fn both_directions_are_one_flow() {
        for (a, b) in [("10.0.0.1:50000", "10.0.0.2:27015"), ("[::1]:5", "[::1]:6")] {
            let mut table = FlowTable::new(10, usize::MAX, None);
            let slot = table.insert(&key(a, b), Time(0));
            assert_eq!(table.find(&key(a, b)), Some((slot, Side::First)));
            assert_eq!(table.find(&key(b, a)), Some((slot, Side::Second)));
            assert_eq!(table.find(&FlowKey { transport: Transport::Tcp, ..key(a, b) }), None);
            assert!(table.remove(slot));
            assert_eq!(table.find(&key(a, b)), None);
        }
    }

    #[test]
    fn a_socket_that_talks_to_itself_is_found() {
        let mut table = FlowTable::new(10, usize::MAX, None);
        let slot = table.insert(&key("[::1]:5", "[::1]:5"), Time(0));
        assert_eq!(table.find(&key("[::1]:5", "[::1]:5")), Some((slot, Side::First)));
    }

    #[test]
    fn many_flows_come_and_go() {
        let mut table = FlowTable::new(100, usize::MAX, None);
        for port in 1..=5000u16 {
            if table.is_full() {
                let slot = table.longest_silent().unwrap();
                table.remove(slot);
            }
            let from = format!("10.0.0.1:{port}");
            table.insert(&key(&from, "10.0.0.2:27015"), Time(i64::from(port)));
        }
        assert_eq!(table.len(), 100);
        assert!(table.find(&key("10.0.0.1:5000", "10.0.0.2:27015")).is_some());
        assert!(table.find(&key("10.0.0.1:1", "10.0.0.2:27015")).is_none());
    }

    #[test]
    fn removed_flows_are_not_in_the_index() {
        for (from, to) in [("10.0.0.1", "10.0.0.2:9"), ("[::1]", "[::2]:9")] {
            let mut table = FlowTable::new(100, usize::MAX, None);
            for port in 1..=1000u16 {
                let slot = table.insert(&key(&format!("{from}:{port}"), to), Time(0));
                assert!(table.remove(slot));
            }
            assert!(table.index.is_empty(), "{from}");
        }
    }

    #[test]
    fn flows_end_in_the_order_of_their_numbers() {
        for numbers in [[1, 2, 3, 4, 0], [4, 0, 2, 1, 0]] {
            let mut table = FlowTable::new(100, usize::MAX, None);
            for (port, number) in (1..).zip(numbers) {
                let slot = table.insert(&key(&format!("10.0.0.1:{port}"), "10.0.0.2:9"), Time(0));
                table.flow(slot).unwrap().number = number;
            }
            let order = Vec::from_iter(table.in_order());
            let mut ended =
                Vec::from_iter(order.iter().map(|&slot| table.get(slot).unwrap().number));
            assert!(order.iter().all(|&slot| table.remove(slot)));
            assert!(table.is_empty());
            let without = ended.split_off(ended.iter().filter(|&&number| number > 0).count());
            assert!(ended.is_sorted() && without.iter().all(|&number| number == 0), "{ended:?}");
        }
    }

    #[test]
    fn the_memory_of_all_is_that_of_each() {
        let mut table = FlowTable::new(1000, usize::MAX, None);
        let mut slots = Vec::new();
        for port in 1..=300u16 {
            let from =
                if port % 3 == 0 { format!("[::1]:{port}") } else { format!("10.0.0.1:{port}") };
            let to = if port % 3 == 0 { "[::2]:27015" } else { "10.0.0.2:27015" };
            slots.push(table.insert(&key(&from, to), Time(0)));
        }
        for (held, &slot) in slots.iter().enumerate().filter(|(held, _)| held % 2 == 0) {
            let mut flow = table.flow(slot).unwrap();
            let before = flow.memory();
            flow.count(Side::Second, Time(1), 2, 9);
            flow.set_held(held * 10);
            let now = flow.memory();
            table.weigh(before, now);
        }
        for &slot in slots.iter().step_by(7) {
            table.remove(slot);
        }
        let sum: usize = table.iter().map(|(_, flow)| flow.memory()).sum();
        assert_eq!(table.memory(), sum);
        assert!(sum > table.len() * 96);
        slots.iter().for_each(|&slot| _ = table.remove(slot));
        assert_eq!(table.memory(), 0);
    }

    #[test]
    fn a_flood_of_three_million_sources_fits_into_the_memory_for_flows() {
        let (most, sources) = (Options::default().flow_bytes / 1000, 3000_u16);
        let mut table = FlowTable::new(usize::MAX, most, None).keeping(true, false);
        for port in 1..=sources {
            assert!(!table.is_full(), "{} flows of {sources}", table.len());
            table.insert(&key(&format!("10.0.0.1:{port}"), "10.0.0.2:27015"), Time(0));
        }
        assert!(!table.is_too_large());
    }

    #[test]
    fn a_flow_ends_after_the_limit_of_its_protocol() {
        let second = |second: i64| Time(second * 1_000_000_000);
        for (longest, lasts) in [(None, [120, 86_400]), (Some(second(3).0), [3, 3])] {
            let mut table = FlowTable::new(10, usize::MAX, longest);
            let flows = [Id::A2s, Id::ValveMaster].map(|id| {
                let ends = key(&format!("10.0.0.1:{}", id as u16), "10.0.0.2:9");
                let slot = table.insert(&ends, second(0));
                table.flow(slot).unwrap().state = FlowState::Conversation(id.conversation());
                slot
            });
            for (slot, lasts) in flows.into_iter().zip(lasts) {
                assert!(!table.has_ended(slot, second(lasts)));
                assert!(table.has_ended(slot, second(lasts + 1)));
            }
            let mut ended = Vec::new();
            let seconds = [0..4_000, 86_000..87_000];
            for now in seconds.into_iter().flatten() {
                for _ in 0..4 {
                    ended.extend(table.idle(second(now)).map(|slot| (slot, now)));
                    ended.iter().for_each(|(slot, _)| _ = table.remove(*slot));
                }
            }
            assert_eq!(ended, [(flows[0], lasts[0] + 1), (flows[1], lasts[1] + 1)]);
        }
    }

    #[test]
    fn no_protocol_is_in_more_of_a_hurry_than_queries() {
        assert!(Id::ALL.iter().all(|id| id.info().idle >= Info::QUERIES));
    }

    #[test]
    fn only_silent_flows_are_found() {
        let mut table = FlowTable::new(1000, usize::MAX, Some(0));
        let slots: Vec<_> = (0..50u16)
            .map(|n| table.insert(&key(&format!("10.0.0.1:{n}"), "10.0.0.2:9"), Time(i64::from(n))))
            .collect();
        // One continues; one that is older than all is added late.
        table.flow(slots[3]).unwrap().count(Side::First, Time(90), 1, 1);
        table.flow(slots[3]).unwrap().count(Side::First, Time(95), 1, 1);
        assert_eq!(table.idle(Time(0)), None);
        let late = table.insert(&key("10.0.0.3:1", "10.0.0.2:9"), Time(-5));
        let mut found = |then: i64| {
            let mut found = Vec::new();
            for _ in 0..200 {
                if let Some(slot) = table.idle(Time(then)) {
                    found.push(slot);
                    table.remove(slot);
                }
            }
            found
        };
        assert_eq!(found(0), [late]);
        assert_eq!(found(10).len(), 9);
        assert_eq!(found(10), []);
        assert_eq!(found(95).len(), 40);
        assert_eq!(found(95), []);
        assert_eq!(found(96), [slots[3]]);
        assert_eq!(found(i64::MAX), []);
        assert!(table.is_empty());
    }
}
