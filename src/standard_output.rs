//! Standard output, which may be closed.
//!
//! A terminal that was closed is like a pipe without a reader: nobody sees the output, and that is no error.
//!
//! If a program is started without standard output, Rust opens /dev/null instead before `main`: the
//! output would be lost, and the exit code would be 0. So it is checked earlier, by a function that the
//! system calls before Rust's start-up code. This needs `unsafe`.
#![allow(unsafe_code)]

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(target_os = "linux")]
mod before_main {
    use super::{IS_CLOSED, Ordering};

    extern "C" fn look() {
        // SAFETY: this reads the flags of a descriptor, which need not be open; it takes no pointer.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        IS_CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: the loader calls each function in this section once, before `main`; `look` uses nothing
    // that Rust sets up first, and cannot panic.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}

/// Standard output. Writing to a closed one fails.
pub(crate) enum Output {
    /// It is open; whether it was a terminal when the program was started.
    Open(BufWriter<StdoutLock<'static>>, bool),
    /// The program was started without one.
    Closed,
}

impl Output {
    /// The state in which the program was started.
    pub(crate) fn new() -> Output {
        if IS_CLOSED.load(Ordering::Relaxed) {
            return Output::Closed;
        }
        let is_terminal = io::stdout().is_terminal();
        Output::Open(BufWriter::with_capacity(1 << 16, io::stdout().lock()), is_terminal)
    }
}

/// The error of a pipe without a reader in place of that of a terminal that was closed.
fn unread(is_terminal: bool) -> impl Fn(io::Error) -> io::Error {
    move |error| match error.raw_os_error() {
        Some(libc::EIO) if is_terminal => io::ErrorKind::BrokenPipe.into(),
        _ => error,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Open(out, is_terminal) => out.write(bytes).map_err(unread(*is_terminal)),
            Output::Closed => {
                Err(io::Error::other("standard output is closed; redirect it to a file"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Open(out, is_terminal) => out.flush().map_err(unread(*is_terminal)),
            Output::Closed => Ok(()),
        }
    }
}
