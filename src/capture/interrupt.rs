//! Reading until somebody has enough of it: what came by then is read, checked and reported.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// How long, in milliseconds, a wait takes at most: then it is looked whether a signal has come.
const WAIT: u16 = 250;

/// Bytes that are still read when a signal has come. Who writes them was often interrupted, too, and
/// has something left.
const REST: usize = 4 << 20;

/// A pipe that ends when SIGINT or SIGTERM asks for it.
pub(super) struct Interruptible<R> {
    reader: R,
    stop: Arc<AtomicBool>,
    /// Bytes that may be read once it has been asked to stop.
    rest: usize,
    /// Something came.
    began: bool,
}

/// Asks whether to stop: a signal sets it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop(pub Option<&'static AtomicBool>);

impl Stop {
    /// Is set when SIGINT or SIGTERM comes; a second one ends the process.
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

/// It was asked to stop before anything came.
#[derive(Debug, thiserror::Error)]
#[error("interrupted before anything came")]
pub(super) struct Stopped;

/// Is set when one of these signals asks to stop. Who asks twice does not want to wait for the
/// result: the second one ends the process.
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

    /// Waits until there is something to read, or the end. `false`: nothing came for a while.
    fn wait(&self) -> bool {
        let mut fds = [PollFd::new(self.reader.as_fd(), PollFlags::POLLIN)];
        // What cannot be waited for is read, which says what is wrong.
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
    fn what_was_written_before_it_was_asked_to_stop_is_read() {
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
        assert_eq!(reader.read(&mut out).unwrap(), 0, "nobody writes, and nobody waits for it");
    }
}
