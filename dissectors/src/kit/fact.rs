//! What a flow shows that only other flows make a fault of, or not.

use std::net::SocketAddr;

use crate::kit::{Mark, Payload};

/// A fact about the two ends of a message, for a ledger that sees all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The sender, a server, gave the receiver's address this challenge.
    Challenged(u32),
    /// The sender, a server, answered a request with data though the challenge in it was never
    /// given to the receiver's address, as far as is known.
    Accepted(u32),
    /// The receiver, a client, sent one packet and left the challenge of the sender unused.
    Unused,
    /// The sender, a server, answered an address that never asked.
    Unasked,
    /// The sender, a server, split an answer in this layout.
    Split(&'static str),
    /// The sender, a game server, joined the receiver, a master.
    Joined,
    /// The sender, a master, listed servers to the receiver: those that the sink was told of
    /// ([`Sink::listed`](crate::kit::Sink::listed)) since the last such fact.
    Listed,
    /// The sender, a client, asked the receiver, a game server.
    Queried,
    /// The sender, a master, handed out a challenge that must be fresh: the front of its SHA-256.
    HandedOut([u8; 16]),
}

/// The message that shows a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The message. Its frame is 0 where none shows it: what did not happen.
    pub mark: Mark,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
}

impl Payload<'_> {
    /// This message as a witness.
    pub fn seen(&self) -> Seen {
        Seen { mark: self.mark(), from: self.from, to: self.to }
    }
}
