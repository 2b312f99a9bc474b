//! The capture's clock.

use serde::{Deserialize, Serialize};

/// A time in the capture, in nanoseconds since 1970. There is no other clock in this crate.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub i64);

/// Now, and how long a response may take.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Now.
    pub now: Time,
    /// How long a response, or the rest of one, may take, in nanoseconds.
    pub timeout: i64,
}

impl Clock {
    /// Whether the response to what was sent then is overdue.
    pub fn is_over(self, sent: Time) -> bool {
        self.now.since(sent) >= self.timeout
    }
}

impl Time {
    /// Nanoseconds: packets in opposite directions that are at most this far apart may have been
    /// recorded in the wrong order.
    pub const MOMENT: i64 = 5_000_000;

    /// Nanoseconds from `earlier` to this; 0 if the capture's clock went backwards.
    pub fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}
