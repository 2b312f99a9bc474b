//! Reads until an interrupt: everything before it is processed. A wait for the other end of a FIFO ends with it, too.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::Stop;

/// Maximum time of a wait, in milliseconds, before checking for a signal.
const WAIT: u16 = 250;

/// Maximum time of a wait for the other end of a FIFO before checking for a signal.
const OPENING: Duration = Duration::from_millis(50);

/// Maximum number of bytes that are still read after a signal. The writer of the pipe was often
/// interrupted, too, and flushes its buffer.
const REST: usize = 4 << 20;

/// A pipe that ends when SIGINT or SIGTERM asks for it.
pub(super) struct Interruptible<R> {
    reader: R,
    stop: Interrupt,
    /// Bytes that may be read once it has been asked to stop.
    rest: usize,
    /// Some bytes were read.
    began: bool,
}

impl Stop {
    /// Set by SIGINT or SIGTERM; a second one ends the process.
    pub fn at_signals() -> Stop {
        Stop(asked_at_signals().map(|asked| &**asked))
    }

    /// SIGHUP sets the same.
    #[cfg(feature = "cli")]
    pub(crate) fn also_at_hangup() {
        let asked = asked_at_signals();
        asked.map(|asked| flag::register(signal_hook::consts::SIGHUP, Arc::clone(asked)));
    }
}

/// The flag of the process, which SIGINT and SIGTERM set.
fn asked_at_signals() -> Option<&'static Arc<AtomicBool>> {
    static ASKED: OnceLock<Option<Arc<AtomicBool>>> = OnceLock::new();
    ASKED.get_or_init(|| asked_to_stop().ok()).as_ref()
}

/// Interrupted before the first byte, or before a file could be opened.
#[derive(Debug, thiserror::Error)]
#[error("interrupted before anything came")]
struct Stopped;

/// Whether this error is that of an interrupt.
pub(crate) fn was_interrupted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Stopped>())
}

/// A flag that SIGINT and SIGTERM set. The second signal ends the process without waiting for results.
fn asked_to_stop() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Ends a wait.
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// By SIGINT or SIGTERM from now on.
    pub(crate) fn at_signals() -> io::Result<Interrupt> {
        asked_to_stop().map(Interrupt)
    }

    /// When this is set.
    #[cfg(feature = "live")]
    pub(crate) fn when(stop: Arc<AtomicBool>) -> Interrupt {
        Interrupt(stop)
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Opens a file, which may have to wait: a FIFO is opened when its other end is.
    ///
    /// # Errors
    /// It cannot be opened, or the wait was interrupted.
    pub(crate) fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let (sender, opened) = sync_channel(1);
        let (path, options) = (path.to_owned(), options.clone());
        // After a signal, the system goes on with the wait, so a thread of its own waits.
        let open = move || sender.send(options.open(path));
        std::thread::Builder::new().spawn(open)?;
        loop {
            match opened.recv_timeout(OPENING) {
                Ok(opened) => return opened,
                Err(RecvTimeoutError::Timeout) if !self.is_asked() => {}
                Err(_) => return Err(io::Error::other(Stopped)),
            }
        }
    }
}

/// Standard input as a file.
pub(super) fn copy_of_standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

impl<R: Read + AsFd> Interruptible<R> {
    pub(super) fn new(reader: R) -> io::Result<Interruptible<R>> {
        Ok(Interruptible::until(Interrupt::at_signals()?, reader))
    }

    /// Ends when the interrupt says so.
    pub(super) fn until(stop: Interrupt, reader: R) -> Interruptible<R> {
        Interruptible { reader, stop, rest: REST, began: false }
    }

    /// Waits for input or the end. `false`: nothing arrived for a while.
    fn wait(&self) -> bool {
        comes(&self.reader)
    }
}

/// Waits for input or the end. `false`: nothing arrived for a while.
pub(super) fn comes(reader: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
    // If waiting fails, reading reports the error.
    !matches!(poll(&mut fds, PollTimeout::from(WAIT)), Ok(0) | Err(nix::errno::Errno::EINTR))
}

impl<R: Read + AsFd> Read for Interruptible<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let stop = self.stop.is_asked();
            if self.wait() {
                let most = if stop { self.rest.min(out.len()) } else { out.len() };
                let read = self.reader.read(out.get_mut(..most).unwrap_or_default())?;
                self.rest -= if stop { read } else { 0 };
                self.began |= read > 0;
                return Ok(read);
            }
            if stop {
                return if self.began { Ok(0) } else { Err(io::Error::other(Stopped)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn bytes_before_the_signal_are_read() {
        let (reader, mut writer) = io::pipe().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupt = Interrupt(Arc::clone(&stop));
        let mut reader = Interruptible { reader, stop: interrupt, rest: 5, began: false };
        let mut out = [0; 8];
        writer.write_all(b"abc").unwrap();
        assert_eq!(reader.read(&mut out).unwrap(), 3);
        stop.store(true, Ordering::Relaxed);
        writer.write_all(b"defghi").unwrap();
        assert_eq!(reader.read(&mut out).unwrap(), 5, "no more than the rest");
        assert_eq!(reader.read(&mut out).unwrap(), 0);
        reader.rest = 5;
        assert_eq!((reader.read(&mut out).unwrap(), out[0]), (1, b'i'));
        assert_eq!(reader.read(&mut out).unwrap(), 0, "reading ends without a writer");
    }
}
