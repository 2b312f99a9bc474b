//! What a server needs to be seen by clients.

use super::rules::{GS4004, GS4005, GS4021, GS4022, GS4023, GS4031, GS4033};
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
        Symptom::of(&GS4031, Item::Answered, Cause::QueriesUnanswered),
        Symptom::of(&GS4033, Item::FromAsked, Cause::OtherAddress),
        Symptom::of(&GS4021, Item::Whole, Cause::SplitPartMissing),
        Symptom::of(&GS4005, Item::Readable, Cause::ChallengeNotANumber),
        Symptom::of(&GS4004, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&GS4022, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&GS4023, Item::Readable, Cause::HeaderBroken),
    ],
    proof: None,
    large: &[("info_request", 0)],
    registers: None,
};
