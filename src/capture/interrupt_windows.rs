//! Nothing interrupts reading on Windows: Ctrl-C ends the process there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::windows::io::AsHandle;
use std::path::Path;

use super::Stop;

impl Stop {
    /// Never set.
    pub fn at_signals() -> Stop {
        Stop::default()
    }
}

/// Whether this error is that of an interrupt.
#[cfg(feature = "commands")]
pub(crate) fn was_interrupted(_: &io::Error) -> bool {
    false
}

/// Ends no wait.
pub(crate) struct Interrupt;

impl Interrupt {
    /// By signals, of which there are none.
    #[expect(clippy::unnecessary_wraps, reason = "a handler may be impossible to install")]
    pub(crate) fn at_signals() -> io::Result<Interrupt> {
        Ok(Interrupt)
    }

    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be opened.
    #[expect(clippy::unused_self, reason = "elsewhere, it ends the wait for a pipe's other end")]
    pub(crate) fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        options.open(path)
    }
}

/// A stream that is read to its end.
pub(super) struct Interruptible<R>(R);

impl<R: Read> Interruptible<R> {
    #[expect(clippy::unnecessary_wraps, reason = "a handler may be impossible to install")]
    pub(super) fn new(reader: R) -> io::Result<Interruptible<R>> {
        Ok(Interruptible(reader))
    }

    /// Ends when the interrupt says so: never.
    pub(super) fn until(_: Interrupt, reader: R) -> Interruptible<R> {
        Interruptible(reader)
    }
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out) {
            // A pipe whose writer has ended.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }
}

/// Waits for input or the end: reading does.
pub(super) fn comes(_: &File) -> bool {
    true
}

/// Standard input as a file.
pub(super) fn copy_of_standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}
