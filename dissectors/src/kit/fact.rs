//! What a flow shows that only other flows make a fault of, or not.

use std::net::SocketAddr;

use crate::kit::{Evidence, Mark, Payload, Portable, Rule, Time};

/// A fact about the two ends of a message, for a ledger that sees all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Split(&'static str, &'static Rule),
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

impl Portable for CrossFlowEvent {
    fn write(&self, to: &mut Vec<u8>) {
        match *self {
            CrossFlowEvent::Challenged(challenge) => (0_u8, challenge).write(to),
            CrossFlowEvent::Accepted { challenge, foreign } => (1_u8, challenge, foreign).write(to),
            CrossFlowEvent::Foreign { challenge, evidence } => {
                (2_u8, challenge, evidence).write(to)
            }
            CrossFlowEvent::Unasked(exchange) => (3_u8, exchange).write(to),
            CrossFlowEvent::Unanswered(exchange) => (4_u8, exchange).write(to),
            CrossFlowEvent::Split(layout, rule) => (5_u8, layout, rule).write(to),
            CrossFlowEvent::Joined(rule) => (6_u8, rule).write(to),
            CrossFlowEvent::Listed(rule) => (7_u8, rule).write(to),
            CrossFlowEvent::Queried => 8_u8.write(to),
            CrossFlowEvent::Refused => 9_u8.write(to),
            CrossFlowEvent::HandedOut(challenge, rule) => (10_u8, challenge, rule).write(to),
        }
    }

    fn read(from: &mut &[u8]) -> Option<CrossFlowEvent> {
        Some(match u8::read(from)? {
            0 => CrossFlowEvent::Challenged(u32::read(from)?),
            1 => {
                let (challenge, foreign) = Portable::read(from)?;
                CrossFlowEvent::Accepted { challenge, foreign }
            }
            2 => {
                let (challenge, evidence) = Portable::read(from)?;
                CrossFlowEvent::Foreign { challenge, evidence }
            }
            3 => CrossFlowEvent::Unasked(Exchange::read(from)?),
            4 => CrossFlowEvent::Unanswered(Exchange::read(from)?),
            5 => CrossFlowEvent::Split(Portable::read(from)?, Portable::read(from)?),
            6 => CrossFlowEvent::Joined(Portable::read(from)?),
            7 => CrossFlowEvent::Listed(Portable::read(from)?),
            8 => CrossFlowEvent::Queried,
            9 => CrossFlowEvent::Refused,
            10 => CrossFlowEvent::HandedOut(Portable::read(from)?, Portable::read(from)?),
            _ => return None,
        })
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// By what it is checked.
    pub rules: &'static Elsewhere,
    /// The request, or the response, as people read it.
    pub name: &'static str,
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

crate::portable!(struct Exchange {
    rules, name, kinds, id, challenge, began, tries, owed, parts, evidence
});

/// Parts of a response that is split into several packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// How many came.
    pub found: u16,
    /// How many there are.
    pub total: u8,
    /// The first number that did not come.
    pub missing: u8,
}

crate::portable!(struct Parts { found, total, missing });

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
#[derive(Debug)]
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
        let (id, challenge, tries, owed, parts) = (None, None, 1, true, None);
        Exchange { rules, name, kinds, id, challenge, began, tries, owed, parts, evidence }
    }
}

impl PartialEq for Elsewhere {
    fn eq(&self, other: &Elsewhere) -> bool {
        self.from_asked.code == other.from_asked.code
    }
}

impl Eq for Elsewhere {}

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

crate::portable!(struct Seen { mark, from, to });

impl Payload<'_> {
    /// This message as a witness.
    pub fn seen(&self) -> Seen {
        Seen { mark: self.mark(), from: self.from, to: self.to }
    }
}
