//! Nothing interrupts reading: a page that cancels a command ends its worker.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether to stop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop(pub Option<&'static AtomicBool>);

impl Stop {
    /// Whether to stop.
    #[inline]
    pub fn is_asked(self) -> bool {
        self.0.is_some_and(|asked| asked.load(Ordering::Relaxed))
    }
}

/// Whether this error is that of an interrupt.
pub(crate) fn was_interrupted(_: &io::Error) -> bool {
    false
}
