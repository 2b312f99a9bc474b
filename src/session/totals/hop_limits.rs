//! Whether packets have passed routers.

use serde::{Deserialize, Serialize};

/// What hop limits of packets show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HopLimitKinds {
    /// Some have the sender's initial value.
    pub fresh: bool,
    /// Some have passed routers.
    pub routed: bool,
}

impl HopLimitKinds {
    /// Adds a packet's hop limit, 0 if unknown.
    pub fn see(&mut self, hop_limit: u8) {
        match hop_limit {
            0 => {}
            // Initial values of operating systems.
            32 | 64 | 128 | 255 => self.fresh = true,
            _ => self.routed = true,
        }
    }

    /// Adds those of other packets.
    pub fn add(&mut self, other: HopLimitKinds) {
        self.fresh |= other.fresh;
        self.routed |= other.routed;
    }

    /// All have the sender's initial value.
    pub fn all_fresh(self) -> bool {
        self.fresh && !self.routed
    }

    /// All have passed routers.
    pub fn all_routed(self) -> bool {
        self.routed && !self.fresh
    }
}
