//! Signals that control a capture.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::libc::O_NOCTTY;
use nix::unistd::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

/// How long after SIGHUP the terminal may be closed: a shell that ends sends the signal first.
const CLOSING: Duration = Duration::from_secs(5);

/// Whether and how a capture is to end: the first signal stops it, the second drops packets that were
/// not read yet. SIGHUP counts once: when a terminal is closed, several may come.
#[derive(Clone, Default)]
pub struct StopSignals {
    pub(super) stop: Arc<AtomicBool>,
    leave: Arc<AtomicBool>,
    /// The stop was reported.
    is_reported: bool,
}

impl StopSignals {
    fn register() -> io::Result<StopSignals> {
        let ending = StopSignals::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&ending.stop))?;
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
        for signal in [SIGINT, SIGTERM] {
            let leave = || Arc::clone(&self.leave);
            flag::register_conditional_shutdown(signal, 130, leave()).ok();
            flag::register(signal, leave()).ok();
        }
    }

    /// Whether a signal has stopped the capture; true only once.
    pub fn is_new(&mut self) -> bool {
        let is_new = !self.is_reported && self.is_stopped();
        self.is_reported |= is_new;
        is_new
    }

    /// Whether packets that were not read yet are to be dropped.
    pub fn is_left(&self) -> bool {
        self.leave.load(Ordering::Relaxed)
    }
}

/// The terminal that sends SIGHUP when it is closed.
#[derive(Default)]
struct ControllingTerminal(Option<File>);

impl ControllingTerminal {
    /// There is none of a service.
    fn open() -> ControllingTerminal {
        // Later, a confined process could not open it.
        let opened = OpenOptions::new().read(true).custom_flags(O_NOCTTY).open("/dev/tty");
        ControllingTerminal(opened.ok())
    }

    /// Whether there was one, and it was closed.
    fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|terminal| tcgetpgrp(terminal).is_err())
    }
}

/// Flags that signals set.
#[derive(Default)]
pub(super) struct Signals {
    pub(super) ending: StopSignals,
    pub(super) counts: Arc<AtomicBool>,
    hangup: Arc<AtomicBool>,
    terminal: ControllingTerminal,
    /// When SIGHUP came last while the terminal was open.
    hung_up: Option<Instant>,
}

impl Signals {
    /// `writes`: packets are written to a file. SIGHUP then reopens it, unless the terminal was closed; else it
    /// ends the capture. If the process was started to ignore it, as by nohup, it never ends the capture.
    pub(super) fn register(writes: bool) -> io::Result<Signals> {
        let mut signals = Signals { ending: StopSignals::register()?, ..Signals::default() };
        flag::register(SIGUSR1, Arc::clone(&signals.counts))?;
        let is_ignored = is_ignored(SIGHUP);
        if writes {
            flag::register(SIGHUP, Arc::clone(&signals.hangup))?;
            if !is_ignored {
                signals.terminal = ControllingTerminal::open();
            }
        } else if !is_ignored {
            flag::register(SIGHUP, Arc::clone(&signals.ending.stop))?;
        }
        Ok(signals)
    }

    /// Whether the file is to be reopened. If SIGHUP came because the terminal was closed, the capture ends.
    pub(super) fn reopens(&mut self) -> bool {
        let is_new = self.hangup.swap(false, Ordering::Relaxed);
        if is_new {
            self.hung_up = Some(Instant::now());
        }
        let is_recent = self.hung_up.is_some_and(|at| at.elapsed() < CLOSING);
        if is_recent && self.terminal.is_gone() {
            self.ending.stop.store(true, Ordering::Relaxed);
            return false;
        }
        is_new
    }
}

/// Whether the process was started to ignore a signal. Only Linux tells without `unsafe` code.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
