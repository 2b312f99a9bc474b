//! What a conversation shows: the conversation makes observations, the rules look at them.

use std::net::SocketAddr;

use super::kinds::{ChallengeStatus, ResponseKind};
use super::pending::PendingRequest;
use crate::kit::{Evidence, Mark, Payload, Read, Seen};

/// What a conversation shows. The rules look at it, the conversation does not know them.
pub(super) enum Observation<'a> {
    /// A request was sent. `foreign`: its challenge may be another's answer.
    Sent {
        challenge: Option<Read<i32>>,
        standing: ChallengeStatus,
        mark: Mark,
        foreign: Option<Occasion>,
    },
    /// A request was answered. `rounds`: how often in a row a valid challenge was by another, as
    /// far as that is counted. `guarded`: the server asks for a challenge before it answers the
    /// like. `again`: so was the request's sending before.
    Answered {
        asked: &'a PendingRequest,
        answer: ResponseKind,
        rounds: u8,
        guarded: bool,
        again: bool,
    },
    /// One more answer of another form came to an info request.
    Again { answer: ResponseKind },
    /// A request was answered by something else than it asked for.
    Other { asked: &'a PendingRequest, answer: ResponseKind },
    /// Nobody asked for it. `elsewhere`: the sender was never asked at all, and another may have
    /// been.
    Unasked { answer: ResponseKind, elsewhere: Option<Occasion> },
    /// Nor for a player list that came in the past; or it came `instead` of info.
    UnmatchedList { mark: Mark, instead: bool, evidence: Evidence },
    /// Another endpoint of the asked host answered.
    Elsewhere { answer: ResponseKind, asked: SocketAddr, from: SocketAddr },
    /// That request was answered by it.
    Moved { asked: &'a PendingRequest },
    /// The response did not come, unless it came from another.
    Overdue { asked: &'a PendingRequest, occasion: Occasion },
}

/// What other flows may explain: the message, or the two ends of that of the past.
pub(super) struct Occasion {
    pub(super) seen: Seen,
    pub(super) evidence: Evidence,
    /// The challenge that a response gives, or that a request carries and should not.
    pub(super) challenge: Option<u32>,
}

impl Occasion {
    /// Of the current message.
    pub(super) fn of(
        payload: &Payload<'_>,
        evidence: Evidence,
        challenge: Option<i32>,
    ) -> Occasion {
        let evidence = Evidence { lost: payload.lost, ..evidence };
        Occasion { seen: payload.seen(), evidence, challenge: challenge.map(|it| it as u32) }
    }
}
