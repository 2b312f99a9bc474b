//! The progress bar of the file that is being read: on standard error, if that is a terminal, as soon as a
//! command has worked for a second. It is erased before anything else is written to the terminal.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::text::{counted, long_span, size};

/// A command that takes less time has no bar.
const DELAY: Duration = Duration::from_secs(1);

/// The time between updates.
const INTERVAL: Duration = Duration::from_millis(200);

/// What a bar shows of a file of known size.
const OF_FILE: &str = "{bar:30} {percent} % of {msg}";

/// What it shows of a pipe, whose size is unknown.
const OF_PIPE: &str = "{msg}";

/// The progress of a command.
#[derive(Debug)]
pub struct Progress {
    /// Standard error is a terminal.
    is_wanted: bool,
    began: Instant,
    state: Mutex<ProgressState>,
}

/// The file, and the bar if it is shown.
#[derive(Debug, Default)]
struct ProgressState {
    /// When reading the file began.
    began: Option<Instant>,
    /// Its size in bytes.
    total: Option<u64>,
    /// Its name, if there are several.
    name: Option<String>,
    updated: Option<Instant>,
    shown: Option<ProgressBar>,
    /// Output may be waiting in a buffer: if the bar were drawn now, it would be in the middle of a line.
    is_waiting: bool,
}

impl Progress {
    /// Of a command that begins now. `is_wanted`: standard error is a terminal.
    pub fn new(is_wanted: bool) -> Progress {
        Progress { is_wanted, began: now(), state: Mutex::default() }
    }

    /// Standard output: if it is a terminal, the bar is erased before it is written to, and returns only after it
    /// was flushed.
    pub fn before_output<'p>(&'p self, to: &'p mut dyn Write, is_terminal: bool) -> Erasing<'p> {
        Erasing { to, progress: self, is_active: is_terminal && self.is_wanted, is_buffered: true }
    }

    /// Standard error, which has the bar: it is erased before messages are written.
    pub fn before_errors<'p>(&'p self, to: &'p mut dyn Write) -> Erasing<'p> {
        Erasing { to, progress: self, is_active: self.is_wanted, is_buffered: false }
    }

    /// A file begins, of this size in bytes if that is known. `name`: if there are several.
    pub(super) fn begin(&self, total: Option<u64>, name: Option<&str>) {
        if !self.is_wanted {
            return;
        }
        let mut state = self.lock();
        state.erase();
        (state.began, state.total) = (Some(now()), total);
        state.name = name.map(str::to_owned);
        drop(state);
        self.reached(0);
    }

    /// So many bytes of the file were read, or so many packets if its size is unknown.
    pub(super) fn reached(&self, done: u64) {
        if !self.is_wanted || self.began.elapsed() < DELAY {
            return;
        }
        let mut state = self.lock();
        let is_early = state.updated.is_some_and(|updated| updated.elapsed() < INTERVAL);
        if !is_early && !state.is_waiting {
            state.draw(done);
        }
    }

    /// Removes the bar from the terminal.
    pub(super) fn erase(&self) {
        self.lock().erase();
    }

    fn lock(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.erase();
    }
}

impl ProgressState {
    fn draw(&mut self, done: u64) {
        self.updated = Some(now());
        let elapsed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        let mut message = match self.total {
            Some(total) => {
                let left =
                    left(elapsed, done, total).map_or(String::new(), |left| format!(", {left}"));
                format!("{}{left}", size(total))
            }
            None => format!("{} read", counted(done, "packet")),
        };
        if let Some(name) = &self.name {
            message += "  ";
            message += name;
        }
        let total = self.total;
        let bar = self.shown.get_or_insert_with(|| {
            let style = if total.is_some() { OF_FILE } else { OF_PIPE };
            let style = ProgressStyle::with_template(style);
            ProgressBar::new(total.unwrap_or(0))
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.update(|bar| bar.set_pos(done));
        bar.set_message(message);
    }

    fn erase(&mut self) {
        if let Some(bar) = self.shown.take() {
            bar.finish_and_clear();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "how long the user waits is not the capture's time")]
fn now() -> Instant {
    Instant::now()
}

/// The time that the rest of a file takes if it takes as long per byte as the part that was read.
fn left(elapsed: Duration, done: u64, total: u64) -> Option<String> {
    let rest = total.checked_sub(done)?;
    let left = elapsed.as_nanos().checked_mul(rest.into())?.checked_div(done.into())?;
    // Whole seconds, so that the bar does not flicker.
    let seconds = u64::try_from(left / 1_000_000_000).ok()?;
    Some(match seconds {
        0..60 => format!("{seconds} s left"),
        _ => format!("{} left", long_span(seconds.saturating_mul(1_000_000_000))),
    })
}

/// An output, before which the bar is erased.
pub struct Erasing<'p> {
    to: &'p mut dyn Write,
    progress: &'p Progress,
    /// It is a terminal, and so is standard error.
    is_active: bool,
    is_buffered: bool,
}

impl Write for Erasing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_active {
            let mut state = self.progress.lock();
            state.erase();
            state.is_waiting |= self.is_buffered;
        }
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()?;
        if self.is_active && self.is_buffered {
            self.progress.lock().is_waiting = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_read() {
        let left = |seconds, done| left(Duration::from_secs(seconds), done, 1000);
        assert_eq!(left(2, 100).as_deref(), Some("18 s left"));
        assert_eq!(left(60, 250).as_deref(), Some("3 min 0 s left"));
        assert_eq!(left(5, 1000).as_deref(), Some("0 s left"));
        assert_eq!(left(5, 0), None, "nothing is known yet");
        assert_eq!(left(5, 1001), None, "the file has grown");
    }
}
