//! Signals that control a capture.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether and how a capture is to end: the first signal stops it, the second drops packets that were
/// not read yet.
#[derive(Clone, Default)]
pub struct StopSignals {
    signals: Vec<i32>,
    pub(super) stop: Arc<AtomicBool>,
    leave: Arc<AtomicBool>,
    /// The stop was reported.
    said: bool,
}

impl StopSignals {
    fn register(signals: Vec<i32>) -> io::Result<StopSignals> {
        let ending = StopSignals { signals, ..StopSignals::default() };
        for &signal in &ending.signals {
            signal_hook::flag::register(signal, Arc::clone(&ending.stop))?;
        }
        Ok(ending)
    }

    /// Whether a signal has stopped the capture.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The capture has stopped: the next signal sets `leave`, and one more ends the process. Errors are
    /// ignored: the first signal works without it.
    pub(super) fn next_signal_leaves(&self) {
        for &signal in &self.signals {
            let leave = || Arc::clone(&self.leave);
            signal_hook::flag::register_conditional_shutdown(signal, 130, leave()).ok();
            signal_hook::flag::register(signal, leave()).ok();
        }
    }

    /// Whether a signal has stopped the capture; true only once.
    pub fn is_new(&mut self) -> bool {
        let is_new = !self.said && self.is_stopped();
        self.said |= is_new;
        is_new
    }

    /// Whether packets that were not read yet are to be dropped.
    pub fn is_left(&self) -> bool {
        self.leave.load(Ordering::Relaxed)
    }
}

/// Flags that signals set.
#[derive(Clone, Default)]
pub(super) struct Signals {
    pub(super) ending: StopSignals,
    pub(super) counts: Arc<AtomicBool>,
    pub(super) reopen: Arc<AtomicBool>,
}

impl Signals {
    /// If packets are written to a file, SIGHUP reopens it; otherwise it ends the capture.
    pub(super) fn register(writes: bool) -> io::Result<Signals> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
        use signal_hook::flag;
        let stops = [SIGINT, SIGTERM].into_iter().chain((!writes).then_some(SIGHUP));
        let ending = StopSignals::register(stops.collect())?;
        let signals = Signals { ending, ..Signals::default() };
        flag::register(SIGUSR1, Arc::clone(&signals.counts))?;
        if writes {
            flag::register(SIGHUP, Arc::clone(&signals.reopen))?;
        }
        Ok(signals)
    }
}
