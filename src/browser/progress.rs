//! How far the reading of files is, for a page that shows it.

use std::io::Write;

use crate::browser::held;

/// The progress of a command.
#[derive(Debug, Default)]
pub struct Progress {
    /// The size of the current capture in bytes; 0 if it is unknown.
    total: std::cell::Cell<u64>,
}

impl Progress {
    /// Of a command that begins now.
    pub fn new(_: bool) -> Progress {
        Progress::default()
    }

    /// Standard output, on which no bar is drawn.
    pub fn before_output<'p>(&'p self, to: &'p mut dyn Write, _: bool) -> &'p mut dyn Write {
        to
    }

    /// Standard error, likewise.
    pub fn before_errors<'p>(&'p self, to: &'p mut dyn Write) -> &'p mut dyn Write {
        to
    }

    /// A capture begins, of this size if that is known.
    pub(super) fn begin(&self, total: Option<u64>, _: Option<&str>) {
        self.total.set(total.unwrap_or(0));
    }

    /// So many bytes of it were read, or packets if its size is unknown.
    pub(super) fn reached(&self, done: u64) {
        held::reached(done, self.total.get());
    }

    /// There is nothing to erase.
    pub(super) fn erase(&self) {}
}
