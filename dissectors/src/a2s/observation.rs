//! Observations: what a conversation passes to the rules.

use std::net::SocketAddr;

use super::kinds::{ChallengeStatus, ResponseKind};
use super::pending::PendingRequest;
use crate::kit::{Evidence, Mark, Payload, Read, SeenMessage};

/// Something that a conversation has observed.
pub(super) enum Observation<'a> {
    /// A request was sent. `foreign`: another endpoint may have given its challenge.
    Sent {
        challenge: Option<Read<i32>>,
        status: ChallengeStatus,
        mark: Mark,
        foreign: Option<Occasion>,
    },
    /// A request was answered. `rounds`: how often in a row a valid challenge was answered by another
    /// challenge, up to a limit. `guarded`: the server requires a challenge for such requests. `again`: an
    /// earlier sending of the request was answered, too.
    Answered {
        asked: &'a PendingRequest,
        response: ResponseKind,
        rounds: u8,
        guarded: bool,
        again: bool,
    },
    /// A request was answered by bytes that were not recorded.
    Unread,
    /// An info request got a second response in another form.
    Again { response: ResponseKind },
    /// A request was answered with another kind of response.
    Other { asked: &'a PendingRequest, response: ResponseKind },
    /// An unsolicited response. `elsewhere`: the sender was never asked, but another endpoint may
    /// have been.
    Unasked { response: ResponseKind, elsewhere: Option<Occasion> },
    /// The same for an earlier player list; or it came `instead` of info.
    UnmatchedList { mark: Mark, instead: bool, evidence: Evidence },
    /// Another endpoint of the asked host responded.
    Elsewhere { response: ResponseKind, asked: SocketAddr, from: SocketAddr },
    /// The response answered that request.
    Moved { asked: &'a PendingRequest },
    /// No response came, unless another endpoint sent it.
    Overdue { asked: &'a PendingRequest, occasion: Occasion },
}

/// What the ledger needs, because other flows may explain it: the current message, or the two ends
/// of an earlier one.
pub(super) struct Occasion {
    pub(super) seen: SeenMessage,
    pub(super) evidence: Evidence,
    /// The challenge in a response, or in a request that should have none.
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
