//! Which request a response answers.

use serde::{Deserialize, Serialize};

use crate::kit::Time;

/// The request that a response answers. A request and its repeats while it waits are one request;
/// with the challenge round that it takes they are one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The packet of the latest sending that the response answers.
    pub request: u64,
    /// When that was sent.
    pub sent: Time,
    /// When the exchange began: its first sending.
    pub began: Time,
    /// How often the request was sent.
    pub tries: u32,
    /// What was asked for has come; a challenge on the way to it is none, unless just that was asked for.
    pub complete: bool,
    /// A challenge that was asked for by itself: all that was asked for, unless a request goes on with it.
    pub challenge_alone: bool,
}

/// What a request is beside those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sending {
    /// It begins an exchange.
    #[default]
    New,
    /// It still waits, and is sent once more.
    Again,
    /// It goes on with an exchange, with the challenge that it drew.
    GoesOn,
}

impl Reply {
    /// The reply to a request that was sent once and began its exchange.
    pub const fn to(request: u64, sent: Time) -> Reply {
        Reply { request, sent, began: sent, tries: 1, complete: true, challenge_alone: false }
    }
}
