//! Which request a response answers.

use serde::{Deserialize, Serialize};

use crate::kit::Time;

/// The request that a response answers. A request and its repeats count as one; together with the
/// challenge that it needs they are one exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The latest packet with the request before the response.
    pub request: u64,
    /// When that packet was sent.
    pub sent: Time,
    /// When the exchange began: its first sending.
    pub began: Time,
    /// How often the request was sent.
    pub tries: u32,
    /// The requested data has arrived. A challenge does not count, unless the request was for a
    /// challenge.
    pub complete: bool,
    /// A challenge that was requested explicitly: the requested data, unless a request continues with it.
    pub challenge_alone: bool,
}

/// How a request relates to earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sending {
    /// It begins an exchange.
    #[default]
    New,
    /// It repeats a request that is still waiting, or begins its exchange anew: that of this packet.
    Again(u64),
    /// It continues an exchange with the challenge from the response: that of the request in this packet.
    GoesOn(u64),
}

impl Sending {
    /// How a request relates to earlier ones, by the packets of those that it continues and repeats: one that
    /// continues an exchange is no repeat, whatever came before.
    pub const fn of(goes_on: Option<u64>, again: Option<u64>) -> Sending {
        match (goes_on, again) {
            (Some(frame), _) => Sending::GoesOn(frame),
            (None, Some(frame)) => Sending::Again(frame),
            (None, None) => Sending::New,
        }
    }

    /// Whether it repeats a request.
    pub const fn is_again(self) -> bool {
        matches!(self, Sending::Again(_))
    }

    /// The packet of the request that it repeats or continues.
    pub const fn earlier(self) -> Option<u64> {
        match self {
            Sending::New => None,
            Sending::Again(frame) | Sending::GoesOn(frame) => Some(frame),
        }
    }
}

impl Reply {
    /// The reply to a request that was sent once and began its exchange.
    pub const fn to(request: u64, sent: Time) -> Reply {
        Reply { request, sent, began: sent, tries: 1, complete: true, challenge_alone: false }
    }
}
