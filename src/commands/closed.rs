//! Whether what the output goes to was closed.

use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Whether this is a pipe whose reader has closed it, or a terminal that was closed: without traffic, no write
/// would show it.
pub(super) fn is_gone(output: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(output.as_fd(), PollFlags::empty())];
    let polled = poll(&mut fds, PollTimeout::ZERO);
    let is_closed = |events: PollFlags| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
    polled.is_ok() && fds[0].revents().is_some_and(is_closed)
}

/// Whether this takes no output at the moment.
#[cfg(feature = "tui")]
pub(super) fn is_full(output: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(output.as_fd(), PollFlags::POLLOUT)];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
}
