//! What a flow shows that is a fault, or not, depending on other flows.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::cause::filled;
use crate::kit::{Evidence, Mark, Name, Payload, Rule, Time};

/// An observation about the two ends of a message, for the ledger, which sees all flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrossFlowEvent {
    /// The sender, a server, gave the receiver's address this challenge.
    Challenged(u32),
    /// The sender, a server, answered a request with data although, as far as is known, it never
    /// gave the receiver's address the challenge in it.
    Accepted {
        /// The challenge.
        challenge: u32,
        /// The rule that this breaks and the evidence, if [`CrossFlowEvent::NotGiven`] was reported for the request.
        not_given: Option<(Evidence, &'static Rule)>,
    },
    /// The sender, a client, used a challenge that the receiver is not known to have given it.
    /// Another server may have given it.
    NotGiven {
        /// The challenge.
        challenge: u32,
        /// The evidence at this message.
        evidence: Evidence,
        /// The rule that this breaks.
        rule: &'static Rule,
    },
    /// The sender broke a rule about what should have come before, and nothing of the receiver is on this flow: a packet of
    /// its host in any other flow shows that it was recorded.
    Unheard {
        /// What is wrong.
        what: Name,
        /// The evidence at this message.
        evidence: Evidence,
        /// The rule that this breaks.
        rule: &'static Rule,
    },
    /// The sender, a server, sent the receiver a response without a request.
    Unasked(Unmatched),
    /// The sender, a server, answered a request of the receiver's that the capture lacks, although it has others of the flow.
    RequestMissing,
    /// The receiver, a server, did not answer the sender's request.
    Unanswered(Unmatched),
    /// The sender, a server, sent the receiver a part of a split response with this ID without a
    /// request. It may be a part that another server's response lacks.
    StrayPart(u32),
    /// The sender, a server, split a response in this layout. The rule requires the same layout for
    /// all clients.
    Split(Name, &'static Rule),
    /// The sender, a game server, joined the receiver, a master. The rule requires that it joins
    /// more than one.
    Joined(&'static Rule),
    /// The sender, a master, listed servers to the receiver: those passed to
    /// [`Sink::listed`](crate::kit::Sink::listed) since the last such event.
    Listed(ListRules),
    /// The sender, a game server, described itself to the receiver: its values are the text beside the event, as
    /// `\key\value`. Only those soon after a filtered list matter.
    Described,
    /// The sender, a game server, registers with the receiver, a master.
    Registered(Registration),
    /// The sender, a client, queried the receiver, a game server.
    Queried,
    /// The sender, a server, announced that players join this port of its host.
    Announced(u16),
    /// The sender refused a TCP connection from the receiver.
    Refused,
    /// The datagram is a copy of one that was recorded between these, before or behind NAT: the sender, and the receiver.
    Translated([SocketAddr; 2]),
    /// The sender, a master, gave the receiver a challenge: its bytes, or the start of their
    /// SHA-256. The rule requires that it is new.
    HandedOut([u8; 16], &'static Rule, NewFor),
}

/// For whom a challenge must be new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewFor {
    /// For everybody, for ever.
    All,
    /// For other hosts, within a minute.
    OtherHosts,
    /// For other sockets, within a minute.
    OtherSockets,
}

/// The rules about the servers of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRules {
    /// The receiver queries some of them.
    pub queried: &'static Rule,
    /// They are those that are registered, if it is a whole list of a game.
    pub registered: Option<(&'static Rule, GameName)>,
    /// They are what the query's filter asks for: that is the text beside the event.
    pub filtered: Option<&'static Rule>,
}

/// A step of a registration that goes on with heartbeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The query port.
    pub port: u16,
    /// What the server does.
    pub step: RegistrationStep,
}

/// What a server does at a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegistrationStep {
    /// It sends a heartbeat of this game.
    Heartbeat(GameName),
    /// It answers the master's challenge, and the answer is right as far as is known.
    Validated,
    /// Its answer to the challenge is wrong.
    Refused,
    /// It leaves the challenge without an answer.
    Ignored,
    /// It signs off.
    Left,
}

/// The start of a game's name, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GameName([u8; 16]);

impl GameName {
    /// Of this name.
    pub fn of(name: &[u8]) -> GameName {
        let mut start = [0; 16];
        start.iter_mut().zip(name).for_each(|(to, from)| *to = from.to_ascii_lowercase());
        GameName(start)
    }
}

impl CrossFlowEvent {
    /// [`CrossFlowEvent::HandedOut`] for a challenge of at most 16 bytes; of a longer one, these count.
    pub fn handed_out(challenge: &[u8], rule: &'static Rule, new_for: NewFor) -> CrossFlowEvent {
        let mut given = [0; 16];
        given.iter_mut().zip(challenge).for_each(|(to, from)| *to = *from);
        CrossFlowEvent::HandedOut(given, rule, new_for)
    }

    /// This event with this evidence at a breach that other flows may explain.
    #[must_use]
    pub fn with(mut self, with: Evidence) -> CrossFlowEvent {
        match &mut self {
            CrossFlowEvent::Accepted { not_given: Some((evidence, _)), .. }
            | CrossFlowEvent::NotGiven { evidence, .. }
            | CrossFlowEvent::Unheard { evidence, .. }
            | CrossFlowEvent::Unasked(Unmatched { evidence, .. })
            | CrossFlowEvent::Unanswered(Unmatched { evidence, .. }) => *evidence = with,
            _ => {}
        }
        self
    }

    /// The evidence at a breach that other flows may explain.
    pub fn evidence(&self) -> Evidence {
        match *self {
            CrossFlowEvent::Accepted { not_given, .. } => {
                not_given.map(|(evidence, _)| evidence).unwrap_or_default()
            }
            CrossFlowEvent::NotGiven { evidence, .. }
            | CrossFlowEvent::Unheard { evidence, .. } => evidence,
            CrossFlowEvent::Unasked(unmatched) | CrossFlowEvent::Unanswered(unmatched) => {
                unmatched.evidence
            }
            _ => Evidence::default(),
        }
    }
}

/// A response without a request, or a request without a response. The other one may be on another
/// flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The rules that apply.
    pub rules: &'static ResponseRules,
    /// The name of the request or response, for people.
    pub name: Name,
    /// Of a request, the bit of its kind; of a response, the bits of all kinds of requests that it
    /// may answer.
    pub kinds: u8,
    /// What a response repeats from its request, such as a timestamp.
    pub id: Option<u32>,
    /// The challenge in a response; or the challenge in a request, if the server is not known to
    /// have given it.
    pub challenge: Option<u32>,
    /// When the request was first sent.
    pub began: Time,
    /// How often the request was sent.
    pub tries: u8,
    /// A response to the request is due.
    pub due: bool,
    /// The parts, if only some parts of a response are on this flow.
    pub parts: Option<PartsFound>,
    /// The evidence at this message.
    pub evidence: Evidence,
}

/// Parts of a response that is split into several packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartsFound {
    /// How many arrived.
    pub found: u16,
    /// How many there are; 0 if the last one did not arrive, so that nobody knows.
    pub total: u16,
    /// The number of the first missing part, from 0.
    pub missing: u16,
    /// The highest number of those that arrived.
    pub highest: u16,
    /// A request of their receiver came before them on this flow.
    pub has_request: bool,
    /// What is wrong if no more arrive, with the names of these numbers in braces.
    pub says: Name,
}

impl PartsFound {
    /// Whether all arrived.
    pub fn are_all(&self) -> bool {
        self.total > 0 && self.found >= self.total
    }

    /// More of them arrived elsewhere.
    pub fn add(&mut self, more: PartsFound) {
        self.found = self.found.saturating_add(more.found);
        self.total = self.total.max(more.total);
    }
}

impl std::fmt::Display for PartsFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PartsFound { found, total, missing, highest, .. } = *self;
        let place = u64::from(missing) + 1;
        let values = [
            ("found", found.to_string()),
            ("total", total.to_string()),
            ("last", total.saturating_sub(1).to_string()),
            ("missing", missing.to_string()),
            ("place", place.to_string()),
            ("nth", ordinal(place)),
            ("highest", highest.to_string()),
        ];
        f.write_str(&filled(self.says.0, &values))
    }
}

/// 1st, 2nd, 3rd, 4th, 11th.
fn ordinal(n: u64) -> String {
    let ending = match (n % 100, n % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// The rules about which host responds.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRules {
    /// A response comes from the address and port that the request went to.
    pub from_asked: &'static Rule,
    /// A response needs a request, if there is such a rule.
    pub asked_for: Option<&'static Rule>,
    /// A request is answered.
    pub answered: &'static Rule,
}

impl Unmatched {
    /// A response, or a request that was sent once.
    pub fn new(
        rules: &'static ResponseRules,
        name: &'static str,
        kinds: u8,
        began: Time,
        evidence: Evidence,
    ) -> Unmatched {
        let (name, id, challenge, tries) = (Name(name), None, None, 1);
        let (due, parts) = (true, None);
        Unmatched { rules, name, kinds, id, challenge, began, tries, due, parts, evidence }
    }
}

/// The message that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenMessage {
    /// The message, with its length as sent. Its frame is 0 if the event is that a message is missing.
    pub mark: Mark,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
}

impl Payload<'_> {
    /// This message, for an event.
    pub fn seen(&self) -> SeenMessage {
        let length = self.sent().min(u32::MAX.into()) as u32;
        SeenMessage { mark: Mark { length, ..self.mark() }, from: self.from, to: self.to }
    }
}
