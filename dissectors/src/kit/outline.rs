//! What a datagram is by itself, whatever its flow said before.

use super::{Message, Rule};

/// What a datagram is by itself: enough to count it among millions of others, without a conversation.
#[derive(Clone, Copy)]
pub struct Outline {
    /// The message that it is, or begins.
    pub message: &'static Message,
    /// The challenge that it gives, or returns.
    pub challenge: Option<u32>,
    /// Of a part of a response: whether it is the last one.
    pub last_part: Option<bool>,
    /// The rule that it breaks if it goes to a server: it is known to crash some.
    pub crashes: Option<&'static Rule>,
    /// It asks a server for its players or its rules: to list them takes more than to say what it is called.
    pub is_costly: bool,
}

impl Outline {
    /// A whole message without a challenge.
    pub const fn of(message: &'static Message) -> Outline {
        Outline { message, challenge: None, last_part: None, crashes: None, is_costly: false }
    }
}
