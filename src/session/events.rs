//! A batch, read event by event.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Time;

use super::batch::{Batch, Event};

/// The events of a batch, one after the other; they are forgotten with this.
pub struct Events<'d> {
    batch: &'d mut Batch,
    at: usize,
}

impl<'d> Events<'d> {
    pub(super) fn new(batch: &'d mut Batch) -> Events<'d> {
        Events { batch, at: 0 }
    }

    /// The next event. It borrows from the batch, so that this is no `Iterator`.
    #[allow(clippy::should_implement_trait, reason = "an event borrows from what is iterated over")]
    #[inline]
    pub fn next(&mut self) -> Option<Event<'_>> {
        self.at += 1;
        self.batch.event(self.at - 1)
    }
}

impl Drop for Events<'_> {
    fn drop(&mut self) {
        self.batch.clear();
    }
}

/// A message that did not arrive, as an ICMP error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpEvent {
    /// The packet that carried the message; 0 where it is not known.
    pub message: u64,
    /// Who sent the message to whom.
    pub ends: [SocketAddr; 2],
    /// The packet of the error.
    pub frame: u64,
    /// When it came.
    pub time: Time,
    /// How many digits of a second the capture has: 6 or 9.
    pub digits: u8,
    /// Who sent it.
    pub from: IpAddr,
    /// Its type and its code.
    pub kind: [u8; 2],
    /// What these say.
    pub meaning: &'static str,
    /// The largest packet that passes, in bytes, where it says so.
    pub mtu: Option<u32>,
}
