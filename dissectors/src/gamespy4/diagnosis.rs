//! What a server needs to be seen by clients.

use super::rules::{
    GS4004, GS4005, GS4007, GS4021, GS4022, GS4023, GS4031, GS4033, GS4034, GS4038, HAS_NONE,
    NONE_GIVEN,
};
use crate::cause;
use crate::kit::{Diagnosis, Item, Symptom, causes};

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
        Item::Believable,
        Item::PlayPort,
        Item::PlayOpen,
    ],
    causes: &[&CHALLENGE_NOT_A_NUMBER],
    symptoms: &[
        Symptom::of(&GS4031, &causes::QUERIES_UNANSWERED),
        Symptom::of(&GS4033, &causes::OTHER_ADDRESS),
        Symptom::of(&GS4021, &causes::SPLIT_PART_MISSING),
        Symptom::of(&GS4005, &CHALLENGE_NOT_A_NUMBER),
        Symptom::saying(&GS4007, HAS_NONE, &causes::clients::REQUEST_MALFORMED),
        Symptom::saying(&GS4007, NONE_GIVEN, &causes::clients::REQUEST_MALFORMED),
        Symptom::of(&GS4007, &causes::clients::CHALLENGE_WRONG),
        Symptom::of(&GS4004, &causes::HEADER_BROKEN),
        Symptom::of(&GS4022, &causes::HEADER_BROKEN),
        Symptom::of(&GS4023, &causes::HEADER_BROKEN),
        Symptom::of(&GS4034, &causes::HEADER_BROKEN),
        Symptom::of(&GS4038, &causes::answers::KEY_REPEATED),
    ],
    large: &[("info_request", 0)],
    challenge_first: true,
    ..Diagnosis::NONE
};

cause! {
    /// Its challenge is not a number.
    pub CHALLENGE_NOT_A_NUMBER "challenge_not_a_number" {
        no: [Readable],
        says: "its challenge is not a number",
        advice: causes::CHECK_SHOWS,
    }
}
