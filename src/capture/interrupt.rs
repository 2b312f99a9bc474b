//! Reads until an interrupt: everything before it is processed.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Maximum time of a wait, in milliseconds, before checking for a signal.
const WAIT: u16 = 250;

/// Maximum number of bytes that are still read after a signal. The writer of the pipe was often
/// interrupted, too, and flushes its buffer.
const REST: usize = 4 << 20;

/// A pipe that ends when SIGINT or SIGTERM asks for it.
pub(super) struct Interruptible<R> {
    reader: R,
    stop: Arc<AtomicBool>,
    /// Bytes that may be read once it has been asked to stop.
    rest: usize,
    /// Some bytes were read.
    began: bool,
}

/// Whether to stop: set by a signal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop(pub Option<&'static AtomicBool>);

impl Stop {
    /// Set by SIGINT or SIGTERM; a second one ends the process.
    pub fn at_signals() -> Stop {
        static ASKED: OnceLock<Option<Arc<AtomicBool>>> = OnceLock::new();
        Stop(ASKED.get_or_init(|| asked_to_stop([SIGINT, SIGTERM]).ok()).as_deref())
    }

    /// Whether to stop.
    #[inline]
    pub fn is_asked(self) -> bool {
        self.0.is_some_and(|asked| asked.load(Ordering::Relaxed))
    }
}

/// Interrupted before the first byte.
#[derive(Debug, thiserror::Error)]
#[error("interrupted before anything came")]
pub(super) struct Stopped;

/// A flag that these signals set. The second signal ends the process without waiting for results.
fn asked_to_stop(signals: impl IntoIterator<Item = i32>) -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in signals {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))?;
        flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

impl<R: Read + AsFd> Interruptible<R> {
    pub(super) fn new(reader: R) -> io::Result<Interruptible<R>> {
        Ok(Interruptible {
            reader,
            stop: asked_to_stop([SIGINT, SIGTERM])?,
            rest: REST,
            began: false,
        })
    }

    /// Waits for input or the end. `false`: nothing arrived for a while.
    fn wait(&self) -> bool {
        let mut fds = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
        // If waiting fails, reading reports the error.
        !matches!(poll(&mut fds, PollTimeout::from(WAIT)), Ok(0) | Err(nix::errno::Errno::EINTR))
    }
}

impl<R: Read + AsFd> Read for Interruptible<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let stop = self.stop.load(Ordering::Relaxed);
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
        let mut reader = Interruptible { reader, stop: Arc::clone(&stop), rest: 5, began: false };
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
