//! The latest complete split responses of a flow, to recognize late copies of their packets.

use super::layout::{self, Layout, SplitHeader};
use super::split::{Repeat, SplitResponse};
use crate::kit::{PartSpan, Side, keyed_hash, room};

/// Limit: split responses of one flow that a later one with the same ID is compared with | {} | an ID reused after more
/// than that is not noticed
const MOST: usize = 8;

/// The latest one is last.
#[derive(Default)]
pub(super) struct RecentResponses(Vec<RecentResponse>);

/// A complete response.
struct RecentResponse {
    id: u32,
    side: Side,
    layout: Layout,
    /// Its message byte.
    kind: u8,
    packets: Box<[RecentPacket]>,
}

/// A packet of it.
struct RecentPacket {
    number: u8,
    /// The keyed hash of its bytes; `None` if it was cut, so that copies cannot be compared.
    hash: Option<u64>,
}

/// What a packet repeats: a response that is complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RepeatedPacket {
    pub(super) layout: Layout,
    pub(super) repeat: Repeat,
    /// The message byte of the response.
    pub(super) kind: u8,
}

impl RecentResponse {
    /// Whether this is its ID. Bit 31 belongs to the ID only in the GoldSrc layout.
    fn has(&self, id: u32) -> bool {
        match self.layout {
            Layout::GoldSrc => self.id == id,
            Layout::Source | Layout::OrangeBox => layout::plain(self.id) == layout::plain(id),
        }
    }
}

impl RecentResponses {
    fn find(&self, side: Side, id: u32) -> Option<&RecentResponse> {
        self.0.iter().rev().find(|done| done.side == side && done.has(id))
    }

    /// Whether it is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its memory in bytes.
    pub(super) fn held(&self) -> usize {
        room(&self.0) + self.0.iter().map(|done| size_of_val(&*done.packets)).sum::<usize>()
    }

    /// Whether a response of this side had the ID.
    pub(super) fn has(&self, side: Side, id: u32) -> bool {
        self.find(side, id).is_some()
    }

    /// Adds a complete response, with its ID and its message byte.
    pub(super) fn remember(&mut self, set: &SplitResponse, id: u32, layout: Layout, kind: u8) {
        let known = |part: &PartSpan| {
            let bytes = set.bytes_of(part);
            let number = SplitHeader::read(bytes, layout)?.number;
            Some(RecentPacket { number, hash: (!part.lost).then(|| keyed_hash(bytes)) })
        };
        let packets = set.parts().iter().filter_map(known).collect();
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        // Many flows keep a single one for a long time.
        self.0.reserve_exact(1);
        self.0.push(RecentResponse { id, side: set.side, layout, kind, packets });
    }

    /// Whether all packets are copies of those of one response.
    pub(super) fn repeats(&self, set: &SplitResponse) -> bool {
        let mut packets = set.each();
        let id = packets.clone().next().and_then(layout::id);
        let Some(done) = id.and_then(|id| self.find(set.side, id)) else { return false };
        packets.all(|bytes| {
            let hash = Some(keyed_hash(bytes));
            done.packets.iter().any(|packet| packet.hash == hash)
        })
    }

    /// Which response with this ID a packet repeats. One of two copies may be cut: `lost`, if this one is.
    pub(super) fn repeated(
        &self,
        side: Side,
        id: u32,
        bytes: &[u8],
        lost: bool,
    ) -> Option<RepeatedPacket> {
        let done = self.find(side, id)?;
        let number = SplitHeader::read(bytes, done.layout)?.number;
        let known = done.packets.iter().find(|packet| packet.number == number)?;
        let is_copy = lost || known.hash.is_none_or(|hash| hash == keyed_hash(bytes));
        let repeat = if is_copy { Repeat::Same } else { Repeat::Differs(number) };
        Some(RepeatedPacket { layout: done.layout, repeat, kind: done.kind })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::split::{AddResult, LayoutReadings};
    use super::*;
    use crate::kit::{Budget, FlowFacts, Transport};

    /// A packet in this layout.
    fn bytes(layout: Layout, id: u32, number: u8, text: u8) -> Vec<u8> {
        let head = match layout {
            Layout::GoldSrc => vec![number << 4 | 4],
            Layout::Source => vec![4, number],
            Layout::OrangeBox => vec![4, number, 0xE0, 4],
        };
        [&[0xFE, 255, 255, 255][..], &id.to_le_bytes(), &head, &[text; 9]].concat()
    }

    fn set(side: Side, packets: &[Vec<u8>]) -> SplitResponse {
        let ends = ["10.0.0.2:27015", "10.0.0.1:50000"].map(|end| end.parse().unwrap());
        let (began, seen, silence, lossy) = (true, [true; 2], 0, false);
        let (number, transport) = (1, Transport::Udp);
        let flow = FlowFacts { ends, began, seen, silence, lossy, number, transport };
        let mut set = SplitResponse::new(0, side, true, LayoutReadings::default());
        let mut budget = Budget::new(1 << 20);
        for bytes in packets {
            let added = set.add(&flow.payload(side, bytes, &[]), 1, 1 << 20, &mut budget);
            assert_eq!(added, AddResult::Kept);
        }
        set
    }

    proptest! {
        /// The last eight are kept, and the latest of several with one ID.
        #[test]
        fn the_last_responses_are_known(
            responses in prop::collection::vec(
                (0..4u32, any::<bool>(), any::<bool>(), 0..3usize, 0..5u8, any::<u8>()), 0..20),
        ) {
            let mut done = RecentResponses::default();
            let mut model = Vec::new();
            for (id, bit, second, layout, count, text) in responses {
                let layout = Layout::ALL[layout];
                let side = if second { Side::Second } else { Side::First };
                let id = id | u32::from(bit) << 31;
                let packets = Vec::from_iter((0..count).map(|n| bytes(layout, id, n, text)));
                let all = set(side, &packets);
                done.remember(&all, id, layout, text);
                model.push((id, side, layout, count, text));
                model.drain(..model.len().saturating_sub(MOST));
                prop_assert_eq!(done.0.len(), model.len());
                prop_assert_eq!(done.repeats(&all), count > 0);
                let ids = (0..4).chain((0..4).map(|id| id | 1 << 31));
                for (id, side) in ids.flat_map(|id| [(id, Side::First), (id, Side::Second)]) {
                    let is_it = |known: u32, layout| {
                        known == id || layout != Layout::GoldSrc && known << 1 == id << 1
                    };
                    let known = model.iter().rev().find(|it| it.1 == side && is_it(it.0, it.2));
                    prop_assert_eq!(done.has(side, id), known.is_some());
                    let Some(&(known, _, layout, count, text)) = known else { continue };
                    for number in 0..6 {
                        let repeated = done.repeated(side, id, &bytes(layout, known, number, text), false);
                        let copy = RepeatedPacket { layout, repeat: Repeat::Same, kind: text };
                        prop_assert_eq!(repeated, (number < count).then_some(copy));
                    }
                }
            }
            let Some(&(id, side, layout, 1.., text)) = model.last() else { return Ok(()) };
            let other = bytes(layout, id, 0, text ^ 1);
            let differs = RepeatedPacket { layout, repeat: Repeat::Differs(0), kind: text };
            prop_assert_eq!(done.repeated(side, id, &other, false), Some(differs));
            prop_assert!(!done.repeats(&set(side, &[other])));
        }
    }
}
