//! What is wrong, in the words of findings.

use std::fmt;
use std::net::SocketAddr;

use crate::kit::PartsFound;

/// What is wrong.
#[derive(Clone, Debug)]
pub enum Detail {
    /// This text.
    Text(String),
    /// This response comes from another endpoint than was asked.
    Elsewhere {
        /// Its name.
        name: &'static str,
        /// Its sender.
        from: SocketAddr,
        /// The endpoint that was asked.
        asked: SocketAddr,
    },
    /// This response has no request.
    Unasked(&'static str),
    /// This request was not answered.
    Unanswered(&'static str),
    /// Only these parts of a response arrived.
    Incomplete(PartsFound),
    /// A challenge was used that was never given.
    NotGiven(i32),
    /// This, if the receiver's host was recorded, from which nothing came before.
    Unheard(&'static str),
    /// It was accepted.
    Accepted(i32),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::Text(text) => f.write_str(text),
            Detail::Elsewhere { name, from, asked } => {
                write!(f, "{name} comes from {from}, asked was {asked}")
            }
            Detail::Unheard(what) => f.write_str(what),
            Detail::Unasked(name) => write!(f, "no request for {name}"),
            Detail::Unanswered(name) => write!(f, "{name} is not answered"),
            Detail::Incomplete(parts) => parts.fmt(f),
            Detail::NotGiven(challenge) => {
                write!(f, "the challenge {challenge} was never issued to this client")
            }
            Detail::Accepted(challenge) => {
                write!(f, "a request with {challenge}, never issued to this client, is answered")
            }
        }
    }
}
