//! The order of events, and of the numbering of flows.

use serde::{Deserialize, Serialize};

/// The position of an event in the order of a capture. Events of flows from sessions that share a
/// capture never have the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventOrder(u64);

impl EventOrder {
    /// The position after the last packet.
    pub const END: EventOrder = EventOrder(1 << 63);

    /// Maximum number of shards whose last events are distinguished.
    const SHARDS: u64 = 1 << 8;

    /// Bits for the steps of one phase: before a packet is decoded, while it is decoded, and at the
    /// end of the capture. Further steps share the last position.
    const STEPS: u32 = 20;

    /// Where the ends of flows begin, after the steps at the end of the capture.
    const FLOWS: u64 = EventOrder::END.0 + (1 << EventOrder::STEPS);

    /// Before a packet is decoded.
    pub const fn before(frame: u64) -> EventOrder {
        EventOrder(frame << (EventOrder::STEPS + 1))
    }

    /// While a packet is decoded.
    pub const fn at(frame: u64) -> EventOrder {
        EventOrder(EventOrder::before(frame).0 | 1 << EventOrder::STEPS)
    }

    /// The next step of the same phase. Sessions that share a capture take the same steps, whichever
    /// of them has events to report.
    pub const fn within(self) -> EventOrder {
        let next = self.0 + 1;
        if next.trailing_zeros() >= EventOrder::STEPS { self } else { EventOrder(next) }
    }

    /// The end of a flow at the end of the capture: of one with a number, or, after all of those,
    /// of one in this shard without a number, which is 0.
    pub const fn end_of(number: u32, shard: usize) -> EventOrder {
        let rank = number.wrapping_sub(1) as u64 + 1;
        EventOrder(
            EventOrder::FLOWS + rank * EventOrder::SHARDS + shard as u64 % EventOrder::SHARDS,
        )
    }

    /// As a number, increasing with time, with one bit unused.
    pub const fn rank(self) -> u64 {
        self.0 >> 1
    }

    /// The next position.
    pub const fn next(self) -> EventOrder {
        EventOrder(self.0.saturating_add(1))
    }

    /// The same position with the flow's number in the whole capture.
    pub fn renumbered(self, number: impl FnOnce(u32) -> u32) -> EventOrder {
        let Some(end) = self.0.checked_sub(EventOrder::FLOWS) else { return self };
        let (rank, shard) = (end / EventOrder::SHARDS, end % EventOrder::SHARDS);
        if rank == 0 || rank > u64::from(u32::MAX) {
            return self;
        }
        EventOrder::end_of(number(rank as u32), shard as usize)
    }
}

/// Numbers flows, from 1, in the order in which their protocols are identified.
pub struct Numbers {
    given: u32,
    /// When each was assigned, if requested.
    begun: Option<Vec<EventOrder>>,
}

impl Numbers {
    pub(in crate::session) fn new(remembered: bool) -> Numbers {
        Numbers { given: 0, begun: remembered.then(Vec::new) }
    }

    /// Assigns the next number.
    pub(in crate::session) fn next(&mut self, moment: EventOrder) -> u32 {
        self.given = self.given.saturating_add(1);
        if let Some(begun) = &mut self.begun {
            begun.push(moment);
        }
        self.given
    }

    /// The number of assigned numbers.
    pub(in crate::session) fn given(&self) -> u32 {
        self.given
    }

    pub(in crate::session) fn take_begun(&mut self) -> Vec<EventOrder> {
        self.begun.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_at_the_end_are_last_and_in_the_order_of_flows() {
        let last = |order: EventOrder| {
            let last = EventOrder(order.0 | ((1 << EventOrder::STEPS) - 1));
            assert_eq!(last.within(), last, "there is no further step");
            last
        };
        let moments = [
            EventOrder::default(),
            EventOrder::before(1),
            EventOrder::at(1),
            EventOrder::at(1).within(),
            last(EventOrder::at(1)),
            EventOrder::before(2),
            last(EventOrder::before(2)),
            EventOrder::at(2),
            EventOrder::before(u64::from(u32::MAX) * 1000),
            EventOrder::END,
            last(EventOrder::END),
            EventOrder::end_of(1, 7),
            EventOrder::end_of(2, 0),
            EventOrder::end_of(u32::MAX, 7),
            EventOrder::end_of(0, 0),
            EventOrder::end_of(0, 7),
        ];
        assert!(moments.is_sorted_by(|a, b| a < b), "{moments:?}");
        let renumbered = moments.map(|moment| moment.renumbered(|number| number.min(9) + 10));
        assert_eq!(renumbered[..11], moments[..11]);
        assert_eq!(renumbered[11], EventOrder::end_of(11, 7));
        assert_eq!(renumbered[13], EventOrder::end_of(19, 7));
        assert_eq!(renumbered[14..], moments[14..]);
    }
}
