//! The conditions for servers to be in the lists of a text master, and to be seen by clients.

use super::rules::{
    BEATS_LATE, GS1001, GS1002, GS1005, GS1016, GS1021, GS1022, GS1023, GS1024, GS1030, GS1031,
    GS1033, NO_VALIDATE,
};
use crate::kit::{Cause, Diagnosis, Item, Symptom};

pub(super) static DIAGNOSIS: Diagnosis = Diagnosis {
    items: &[
        Item::Join,
        Item::Challenged,
        Item::Echo,
        Item::Accepted,
        Item::Heartbeats,
        Item::ListWhole,
        Item::Listed,
        Item::Address,
        Item::Asked,
        Item::Answered,
        Item::FromAsked,
        Item::InTime,
        Item::Whole,
        Item::Readable,
    ],
    symptoms: &[
        Symptom::of(&GS1021, Item::Challenged, Cause::NotChallenged),
        Symptom::saying(&GS1022, NO_VALIDATE, Item::Echo, Cause::SecureUnanswered),
        Symptom::of(&GS1022, Item::Echo, Cause::ValidateWrong),
        Symptom::of(&GS1005, Item::Echo, Cause::ValidateWrong),
        Symptom::of(&GS1023, Item::Echo, Cause::ValidateWrong),
        Symptom::saying(&GS1024, BEATS_LATE, Item::Heartbeats, Cause::HeartbeatRare),
        Symptom::of(&GS1016, Item::ListWhole, Cause::ListCut),
        Symptom::of(&GS1030, Item::Answered, Cause::QueriesUnanswered),
        Symptom::of(&GS1033, Item::FromAsked, Cause::OtherAddress),
        Symptom::of(&GS1031, Item::Whole, Cause::SplitPartMissing),
        Symptom::of(&GS1001, Item::Readable, Cause::HeaderBroken),
        Symptom::of(&GS1002, Item::Readable, Cause::HeaderBroken),
    ],
    proof: Some(&GS1005),
    large: &[],
    registers: Some("gamespy1"),
};
