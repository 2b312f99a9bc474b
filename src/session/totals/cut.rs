//! Packets that the snap length cut before their protocol could be identified.

use dissectors::kit::{Mark, Side, Time};
use serde::{Deserialize, Serialize};

use crate::net::TransportPayload;
use crate::session::FlowContext;

/// With fewer bytes than this no protocol can be identified: the shortest header has four.
const TELLING: usize = 4;

/// Packets that may be of a supported protocol, but were cut too short to identify it. They are
/// only counted: if one packet is cut so, nearly all are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutPackets {
    /// How many.
    pub packets: u64,
    first: Option<FirstCut>,
}

/// The first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FirstCut {
    frame: u64,
    offset: u64,
    time: Time,
    digits: u8,
}

impl CutPackets {
    /// Counts a packet. `packet`: its number and the offset of its bytes in the capture file; `digits`: of a second in
    /// its time.
    #[cold]
    pub fn see(&mut self, packet: (u64, u64), time: Time, digits: u8) {
        let (frame, offset) = packet;
        self.packets += 1;
        self.first.get_or_insert(FirstCut { frame, offset, time, digits });
    }

    /// Adds the counts of another part of the capture.
    pub fn add(&mut self, other: &CutPackets) {
        self.packets += other.packets;
        let firsts = [self.first, other.first].into_iter().flatten();
        self.first = firsts.min_by_key(|first| first.frame);
    }

    /// The first of them, and the context for its event, without a flow.
    pub fn first(&self) -> Option<(FlowContext, Mark)> {
        let FirstCut { frame, offset, time, digits } = self.first?;
        let flow_context = FlowContext { packet: (frame, offset), ..FlowContext::outside(digits) };
        Some((flow_context, Mark { frame, time, length: 0, side: Side::First }))
    }
}

/// Whether an unidentified packet may be of a supported protocol. `known`: one of its ports is that
/// of a supported flow, or a usual one.
pub(in crate::session) fn may_be_ours(payload: &TransportPayload<'_>, known: bool) -> bool {
    payload.snapped && (known || payload.bytes.len() < TELLING)
}
