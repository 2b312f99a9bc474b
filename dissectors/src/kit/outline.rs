//! The kind of a datagram, without its flow.

use super::{Message, Rule};

/// A challenge in text.
pub type TextChallenge = [u8; 6];

/// The kind of a datagram, without its flow: enough to count it among millions of others.
#[derive(Clone, Copy)]
pub struct Outline {
    /// The message that it is, or whose first part it is.
    pub message: &'static Message,
    /// What it asks for, if requests of its kind ask for different things.
    pub query: Option<&'static str>,
    /// The challenge that it gives, or returns.
    pub challenge: Option<u32>,
    /// The challenge in text that it gives: what returns it depends on both, and is a code.
    pub text_challenge: Option<TextChallenge>,
    /// It asks for what follows a response: who sends it has got that response.
    pub goes_on: bool,
    /// Of a part of a response: whether it is the last one.
    pub last_part: Option<bool>,
    /// It may be a packet of the game as well: what was asked tells, and who plays.
    pub may_be_of_game: bool,
    /// The rule that it breaks if it is sent to a server: it is known to crash some.
    pub crashes: Option<&'static Rule>,
    /// It requests the players or rules of a server, whose lists take more work than its name.
    pub is_costly: bool,
    /// The port that a server's response announces for players, or its heartbeat for queries.
    pub game_port: Option<u16>,
    /// Of a list of servers: where its entries begin, each four bytes of IPv4 address and two of port.
    pub list: Option<usize>,
}

impl Outline {
    /// A whole message without a challenge.
    pub const fn of(message: &'static Message) -> Outline {
        Outline {
            message,
            query: None,
            challenge: None,
            text_challenge: None,
            goes_on: false,
            last_part: None,
            may_be_of_game: false,
            crashes: None,
            is_costly: false,
            game_port: None,
            list: None,
        }
    }

    /// What it asks for: requests for the same have the same name.
    pub fn asks_for(&self) -> &'static str {
        self.query.unwrap_or(self.message.label)
    }
}
