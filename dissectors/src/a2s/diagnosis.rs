//! What a server needs to be seen by clients.

use super::rules::{
    A2S001, A2S004, A2S007, A2S008, A2S020, A2S022, A2S027, A2S030, A2S040, A2S041, A2S042, A2S043,
    A2S045, A2S046, A2S047, A2S048, A2S060, A2S062, A2S065,
};
use super::split::TOTAL_DIFFERS;
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
    symptoms: &[
        Symptom::of(&A2S020, &causes::answers::CHALLENGE_MISSING),
        Symptom::of(&A2S022, &causes::clients::CHALLENGE_WRONG),
        Symptom::of(&A2S027, &causes::CHALLENGE_LOOP),
        Symptom::of(&A2S062, &causes::QUERIES_UNANSWERED),
        Symptom::of(&A2S065, &causes::OTHER_ADDRESS),
        Symptom::of(&A2S043, &causes::SPLIT_PART_MISSING),
        Symptom::of(&A2S001, &causes::HEADER_BROKEN),
        Symptom::of(&A2S004, &causes::HEADER_BROKEN),
        Symptom::of(&A2S007, &causes::HEADER_BROKEN),
        Symptom::of(&A2S008, &causes::answers::CUT_SHORT),
        Symptom::of(&A2S030, &causes::answers::COUNTS_DISAGREE),
        Symptom::of(&A2S040, &causes::HEADER_BROKEN),
        Symptom::of(&A2S041, &causes::HEADER_BROKEN),
        Symptom::saying(&A2S042, TOTAL_DIFFERS, &causes::HEADER_BROKEN),
        Symptom::of(&A2S045, &causes::HEADER_BROKEN),
        Symptom::of(&A2S046, &causes::HEADER_BROKEN),
        Symptom::of(&A2S047, &causes::HEADER_BROKEN),
        Symptom::of(&A2S048, &causes::HEADER_BROKEN),
        Symptom::of(&A2S060, &causes::HEADER_BROKEN),
    ],
    large: &[("player_request", 32), ("rules_request", 0)],
    registers: Some("valve_master"),
    ..Diagnosis::NONE
};
