//! What a request asks, and which responses fit it.

use bitflags::bitflags;

use super::kinds::{ChallengeStatus, RequestKind, ResponseKind};
use crate::kit::Question;

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) kind: RequestKind,
    pub(super) status: ChallengeStatus,
    challenge: [u8; 4],
    pub(super) notes: Notes,
}

bitflags! {
    /// What matters for responses to a request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Notes: u8 {
        /// It was sent after a response with info: once it is answered, no further info is expected.
        const AFTER_INFO = 1;
        /// A list of its kind came while it waited, as the right response to another request.
        const PASSED_OVER = 1 << 1;
        /// This server never gave its challenge; another endpoint may have, in a response instead of
        /// this server.
        const NOT_GIVEN = 1 << 2;
        /// A challenge of this server that came before it may be missing from the capture.
        const UNSEEN = 1 << 3;
    }
}

impl Asked {
    pub(super) fn new(
        kind: RequestKind,
        status: ChallengeStatus,
        challenge: i32,
        notes: Notes,
    ) -> Asked {
        Asked { kind, status, challenge: challenge.to_le_bytes(), notes }
    }

    pub(super) fn challenge(&self) -> i32 {
        i32::from_le_bytes(self.challenge)
    }

    pub(super) fn has(&self, note: Notes) -> bool {
        self.notes.contains(note)
    }

    /// How well a response fits: the lower, the better. `None`: not at all. `guarded`: the server
    /// requires a challenge for info, so it sends none without.
    pub(super) fn fits(&self, response: ResponseKind, guarded: bool) -> Option<u8> {
        let asks = match self.status {
            // Servers ignore a list request without a challenge.
            ChallengeStatus::Absent => {
                matches!(self.kind, RequestKind::Info | RequestKind::Challenge)
            }
            status => matches!(status, ChallengeStatus::Asking | ChallengeStatus::Zero),
        };
        response.is_for(self.kind).then_some(match (response, self.kind) {
            (ResponseKind::Players | ResponseKind::Rules, _) => match self.status {
                ChallengeStatus::Issued | ChallengeStatus::Unknown => 0,
                ChallengeStatus::NeverIssued => 1,
                _ => 2,
            },
            (ResponseKind::Info | ResponseKind::ObsoleteInfo, _) => u8::from(guarded && asks),
            (ResponseKind::Challenge, RequestKind::Info) if asks => u8::from(!guarded),
            (ResponseKind::Challenge, _) => u8::from(!asks) * 2,
            _ => 0,
        })
    }

    /// Whether such a response has all the requested data.
    pub(super) fn is_complete(&self, response: ResponseKind) -> bool {
        response != ResponseKind::Challenge || self.kind == RequestKind::Challenge
    }
}

impl Question for Asked {
    fn repeats(&self, before: &Asked) -> bool {
        // Whatever stands for no challenge asks for the same.
        let has_none = !self.carries_challenge() && !before.carries_challenge();
        let is_same = (self.status, self.challenge) == (before.status, before.challenge);
        self.kind == before.kind && (has_none || is_same)
    }

    fn is_alike(&self, other: &Asked) -> bool {
        self.kind == other.kind
    }

    fn carries_challenge(&self) -> bool {
        !matches!(
            self.status,
            ChallengeStatus::Absent | ChallengeStatus::Asking | ChallengeStatus::Zero
        )
    }

    fn has_challenge(&self) -> bool {
        self.status == ChallengeStatus::Issued
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::Exchanges;

    use super::*;

    #[test]
    fn a_flow_of_one_request_takes_little_room() {
        assert!(size_of::<Exchanges<Asked>>() <= 32);
    }
}
