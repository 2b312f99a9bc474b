//! Observations: what a conversation hands to the rules. It knows no rule.

use std::net::SocketAddr;

use super::kinds::{ChallengeStatus, ResponseKind};
use super::pending::PendingRequest;
use crate::kit::{Evidence, Mark, Payload, Read, SeenMessage};

/// Something that a conversation has observed.
pub(super) enum Observation<'a> {
    /// A request was sent. `foreign`: another endpoint may have given its challenge.
    Sent {
        challenge: Option<Read<i32>>,
        standing: ChallengeStatus,
        mark: Mark,
        foreign: Option<Occasion>,
    },
    /// A request was answered. `rounds`: how often in a row a valid challenge was answered by another
    /// challenge, up to a limit. `guarded`: the server requires a challenge for such requests. `again`: an
    /// earlier sending of the request was answered, too.
    Answered {
        asked: &'a PendingRequest,
        answer: ResponseKind,
        rounds: u8,
        guarded: bool,
        again: bool,
    },
    /// An info request got a second response in another form.
    Again { answer: ResponseKind },
    /// A request was answered by another kind of response than it asked for.
    Other { asked: &'a PendingRequest, answer: ResponseKind },
    /// An unsolicited response. `elsewhere`: the sender was never asked at all, but another endpoint may have
    /// been.
    Unasked { answer: ResponseKind, elsewhere: Option<Occasion> },
    /// Nor for a player list that came in the past; or it came `instead` of info.
    UnmatchedList { mark: Mark, instead: bool, evidence: Evidence },
    /// Another endpoint of the asked host responded.
    Elsewhere { answer: ResponseKind, asked: SocketAddr, from: SocketAddr },
    /// That request was answered by it.
    Moved { asked: &'a PendingRequest },
    /// The response did not come, unless it came from another.
    Overdue { asked: &'a PendingRequest, occasion: Occasion },
}

/// What other flows may explain: the current message, or the two ends of an earlier one.
pub(super) struct Occasion {
    pub(super) seen: SeenMessage,
    pub(super) evidence: Evidence,
    /// The challenge that a response gives, or that a request carries although it should not.
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
