//! What a server needs to be seen by clients.

use super::rules::{
    A2S001, A2S004, A2S007, A2S027, A2S043, A2S045, A2S046, A2S047, A2S048, A2S062, A2S065,
};
use crate::kit::{Cause, Diagnosis, Item, Symptom};

pub(super) static DIAGNOSIS: Diagnosis = Diagnosis {
    items: &[
        Item::Asked,
        Item::Challenges,
        Item::Verified,
        Item::Answered,
        Item::FromAsked,
        Item::InTime,
        Item::Whole,
        Item::Readable,
    ],
    symptoms: &[
        Symptom::of(&A2S027, Item::Verified, Cause::ChallengeLoop),
        Symptom::of(&A2S062, Item::Answered, Cause::QueriesUnanswered),
        Symptom::of(&A2S065, Item::FromAsked, Cause::OtherAddress),
        Symptom::of(&A2S043, Item::Whole, Cause::SplitPartMissing),
        Symptom::of(&A2S001, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S004, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S007, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S045, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S046, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S047, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&A2S048, Item::Readable, Cause::HeaderBroken),
    ],
    proof: None,
    large: &[("player_request", 32), ("rules_request", 0)],
    registers: Some("valve_master"),
};
