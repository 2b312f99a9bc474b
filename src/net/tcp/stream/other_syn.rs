//! SYNs of an open connection that have other numbers: the connection may be over, its end not recorded, and its ports
//! reused; or somebody else has sent them (RFC 5961, section 4). What follows shows which.

use super::{Direction, START_REACH};
use crate::net::packet::{FrameRef, Segment};

/// A SYN that may begin another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net::tcp) struct OtherSyn {
    pub(in crate::net::tcp) sequence: u32,
    pub(in crate::net::tcp) at: FrameRef,
}

impl OtherSyn {
    /// The number of the first byte after it.
    fn first(self) -> u32 {
        self.sequence.wrapping_add(1)
    }
}

impl Direction {
    /// Remembers a SYN, unless it repeats a number of this connection, as an old duplicate does.
    pub(in crate::net::tcp) fn doubt(&mut self, segment: &Segment<'_>, at: FrameRef) {
        let sent = |number: u32| number.wrapping_sub(self.initial);
        let is_old = self.is_known() && sent(segment.sequence) < sent(self.next as u32);
        if !is_old && self.other_syn().is_none_or(|syn| syn.sequence != segment.sequence) {
            let sequence = segment.sequence;
            self.held.get_or_insert_default().other_syn = Some(OtherSyn { sequence, at });
        }
    }

    pub(in crate::net::tcp) fn other_syn(&self) -> Option<OtherSyn> {
        self.held.as_ref()?.other_syn
    }

    /// Whether a number of this direction follows the other SYN: the connection that it begins exists.
    pub(in crate::net::tcp) fn begins_other(&self, number: u32) -> bool {
        self.other_syn().is_some_and(|syn| {
            let ahead = u64::from(number.wrapping_sub(syn.first()));
            ahead == 0 || ahead <= START_REACH && !self.is_near(number)
        })
    }

    /// The connection goes on: the SYN did not come from its sender.
    pub(in crate::net::tcp) fn forget_other_syn(&mut self) {
        if let Some(held) = &mut self.held {
            held.other_syn = None;
        }
    }
}
