//! The context of a message: where its bytes were recorded, and what its flow's protocol may know.

use dissectors::Id;
use dissectors::kit::{FlowFacts, Piece, Role, Rule, Transport};
use dissectors::net_rules::NET008;
use serde::{Deserialize, Serialize};

use super::memory::Incomplete;
use super::{EventOrder, NOWHERE, PacketContext, Recorded};
use crate::flows::FlowMut;
use crate::net::{Hosts, Malformed, Tunnels};

/// The flow and the packet of an event.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowContext {
    /// The protocol; `None` if a packet is checked before its protocol is known.
    pub protocol: Option<Id>,
    /// The flow; its number is 0 if there is none.
    pub flow: FlowFacts,
    /// The role of each end, if it has sent messages, by
    /// [`Side::index`](dissectors::kit::Side::index).
    pub roles: [Option<Role>; 2],
    /// The packet, and the offset of its recorded bytes in the capture file.
    pub packet: (u64, u64),
    /// The order of the event.
    pub moment: EventOrder,
    /// Number of digits of a second in the capture's times: 6 or 9.
    pub digits: u8,
    /// The original packet, if the datagram is a duplicate.
    pub copy_of: Option<u64>,
    /// The tunnels of the packet.
    pub tunnels: Tunnels,
    /// The packet's IPv4 time to live or IPv6 hop limit; 0 if unknown.
    pub hop_limit: u8,
}

impl FlowContext {
    /// The context of an event without flow and packet.
    pub fn outside(digits: u8) -> FlowContext {
        FlowContext {
            protocol: None,
            flow: NOWHERE,
            roles: [None; 2],
            packet: (0, 0),
            moment: EventOrder::END,
            digits,
            copy_of: None,
            tunnels: Tunnels::default(),
            hop_limit: 0,
        }
    }
}

impl PacketContext {
    /// Records what is wrong with a packet's headers.
    #[inline]
    pub(super) fn note(&mut self, note: Option<&Malformed>) {
        #[cold]
        fn reported(note: &Malformed) -> (&'static Rule, bool, String) {
            (&NET008, false, note.to_string())
        }
        if let Some(note) = note {
            self.headers.push(reported(note));
        }
    }

    /// The flow of the following messages and findings; its protocol is not known yet.
    #[inline]
    pub(super) fn flow_context(&self, flow: &FlowFacts) -> FlowContext {
        FlowContext {
            protocol: None,
            flow: *flow,
            roles: [None; 2],
            packet: (self.frame, self.offset),
            moment: self.moment,
            digits: self.digits,
            copy_of: None,
            tunnels: Tunnels::default(),
            hop_limit: self.hop_limit,
        }
    }

    /// Where `length` bytes at `offset` of the decoded payload were recorded.
    pub(super) fn locate(
        &self,
        offset: u32,
        length: usize,
        from: Recorded<'_>,
        pieces: &mut Vec<Piece>,
    ) {
        pieces.clear();
        match from {
            Recorded::Here => pieces.push(self.piece(offset, length)),
            Recorded::Joined(whole) => {
                let end = offset.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
                for piece in &whole.pieces {
                    let start = piece.at.max(offset);
                    let stop = piece.at.saturating_add(piece.length).min(end);
                    if start < stop {
                        pieces.push(Piece {
                            at: start - offset,
                            length: stop - start,
                            frame: piece.frame,
                            offset: piece.offset.saturating_add(start - piece.at),
                        });
                    }
                }
                if pieces.is_empty() {
                    pieces.push(Piece { at: 0, length: 0, frame: self.frame, offset: 0 });
                }
            }
        }
    }

    /// The same for bytes in the current packet.
    pub(super) fn piece(&self, offset: u32, length: usize) -> Piece {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Piece { at: 0, length, frame: self.frame, offset }
    }

    /// The facts of a flow for its protocol, `silence` nanoseconds after its last packet.
    pub(super) fn facts(
        &self,
        flow: &FlowMut<'_>,
        silence: u64,
        incomplete: &Incomplete,
    ) -> FlowFacts {
        // In a connection that is older than the capture, the first bytes may be retransmitted: the
        // effects of the originals are not in the capture.
        let is_midway =
            flow.transport() == Transport::Tcp && !flow.has_begun() && !self.options.complete;
        let mut lossy = self.lossy || is_midway || flow.is_lossy();
        if !lossy && (!incomplete.is_empty() || self.defragmenter.waits()) {
            lossy = self.lacks_some(flow, incomplete);
        }
        FlowFacts { silence, lossy, ..flow.facts() }
    }

    /// Whether some message between the hosts of a flow is incomplete.
    #[inline(never)]
    fn lacks_some(&self, flow: &FlowMut<'_>, incomplete: &Incomplete) -> bool {
        let hosts = Hosts::at(flow.facts().ends);
        incomplete.contains(&hosts) || self.defragmenter.waits_between(&hosts)
    }
}
