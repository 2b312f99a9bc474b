//! What is known of a message whose judgement needs other flows.

use crate::kit::{Evidence, Payload, SeenMessage};

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
