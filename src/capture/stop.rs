//! Whether to stop reading.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether to stop: set by a signal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop(pub Option<&'static AtomicBool>);

impl Stop {
    /// Whether to stop.
    #[inline]
    pub fn is_asked(self) -> bool {
        self.0.is_some_and(|asked| asked.load(Ordering::Relaxed))
    }
}
