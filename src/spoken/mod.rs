//! What the sockets of this process and others say to each other, as the packets that a recorder on the way would have
//! seen: raw IP, with right lengths, checksums and sequence numbers, for a decoder or for a capture file.
#![allow(clippy::disallowed_methods, reason = "what is recorded live has the system's clock")]

mod connection;
mod packets;
mod tape;

pub use connection::{Connection, End};
pub use packets::{Flags, PacketMaker};
pub use tape::{Recorded, Tape};

/// Whether a socket had nothing to read for as long as it may wait.
pub fn is_pause(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
