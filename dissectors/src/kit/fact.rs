//! What a flow shows that only other flows make a fault of, or not.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::kit::{Evidence, Mark, Name, Payload, Rule, Time};

/// A fact about the two ends of a message, for a ledger that sees all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrossFlowEvent {
    /// The sender, a server, gave the receiver's address this challenge.
    Challenged(u32),
    /// The sender, a server, answered a request with data though the challenge in it was never
    /// given to the receiver's address, as far as is known.
    Accepted {
        /// The challenge.
        challenge: u32,
        /// What the rule about that needs to be checked by, where [`CrossFlowEvent::Foreign`] was
        /// reported for the request.
        foreign: Option<Evidence>,
    },
    /// The sender, a client, used a challenge that the receiver is not known to have given: another
    /// may have given it in the receiver's stead.
    Foreign {
        /// The challenge.
        challenge: u32,
        /// What is known of the recording.
        evidence: Evidence,
    },
    /// The sender, a server, answered the receiver, who asked nothing of it.
    Unasked(Exchange),
    /// The receiver, a server, did not answer the sender's request.
    Unanswered(Exchange),
    /// The sender, a server, split a response in this layout. The rule: it does so for all clients.
    Split(Name, &'static Rule),
    /// The sender, a game server, joined the receiver, a master. The rule: it joins more than one.
    Joined(&'static Rule),
    /// The sender, a master, listed servers to the receiver: those that the sink was given
    /// ([`Sink::listed`](crate::kit::Sink::listed)) since the last such fact. The rule: the
    /// receiver queries some of them.
    Listed(&'static Rule),
    /// The sender, a client, asked the receiver, a game server.
    Queried,
    /// The sender refused the TCP connection that the receiver wanted.
    Refused,
    /// The sender, a master, handed out a challenge: the front of its SHA-256. The rule: it is
    /// fresh.
    HandedOut([u8; 16], &'static Rule),
}

impl CrossFlowEvent {
    /// What is known of the recording round a breach that other flows may explain.
    pub fn evidence(&self) -> Evidence {
        match *self {
            CrossFlowEvent::Accepted { foreign, .. } => foreign.unwrap_or_default(),
            CrossFlowEvent::Foreign { evidence, .. } => evidence,
            CrossFlowEvent::Unasked(exchange) | CrossFlowEvent::Unanswered(exchange) => {
                exchange.evidence
            }
            _ => Evidence::default(),
        }
    }
}

/// A response without a request, or a request without a response: the other may be on another flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// By what it is checked.
    pub rules: &'static Elsewhere,
    /// The request, or the response, as people read it.
    pub name: Name,
    /// Of a request the bit of its kind; of a response those of all kinds that it may be to.
    pub kinds: u8,
    /// What a response repeats of its request: a timestamp, say.
    pub id: Option<u32>,
    /// The challenge that a response gives; or that a request carries, though the server is not
    /// known to have given it.
    pub challenge: Option<u32>,
    /// When the request was first sent.
    pub began: Time,
    /// How often the request was sent.
    pub tries: u8,
    /// The request is owed a response.
    pub owed: bool,
    /// A response whose only parts on this flow are these.
    pub parts: Option<Parts>,
    /// What is known of the recording.
    pub evidence: Evidence,
}

/// Parts of a response that is split into several packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// How many came.
    pub found: u16,
    /// How many there are.
    pub total: u8,
    /// The first number that did not come.
    pub missing: u8,
}

impl std::fmt::Display for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Parts { found, total, missing } = self;
        write!(
            f,
            "{found} of {total} packets arrived; the first that is missing is number {missing}"
        )
    }
}

/// The rules about who answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// A response comes from the address and port that was asked.
    pub from_asked: &'static Rule,
    /// No response without a request, where there is such a rule.
    pub asked_for: Option<&'static Rule>,
    /// A request is answered.
    pub answered: &'static Rule,
}

impl Exchange {
    /// A response, or a request, that was sent once.
    pub fn new(
        rules: &'static Elsewhere,
        name: &'static str,
        kinds: u8,
        began: Time,
        evidence: Evidence,
    ) -> Exchange {
        let (name, id, challenge, tries) = (Name(name), None, None, 1);
        let (owed, parts) = (true, None);
        Exchange { rules, name, kinds, id, challenge, began, tries, owed, parts, evidence }
    }
}

/// The message that shows a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
