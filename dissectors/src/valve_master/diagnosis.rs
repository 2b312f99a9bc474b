//! What a server needs to be in the lists of a Valve master.

use super::rules::{
    JOINS_LATE, PLAYERS_FIT, REVERSED, VM026, VM033, VM034, VM036, VM040, VM042, VM044, VM045,
    VM047,
};
use crate::kit::{Cause, Diagnosis, Item, Symptom};

pub(super) static DIAGNOSIS: Diagnosis = Diagnosis {
    items: &[
        Item::Join,
        Item::Challenged,
        Item::Echo,
        Item::Info,
        Item::Accepted,
        Item::Heartbeats,
        Item::Stays,
        Item::ListWhole,
        Item::Listed,
        Item::Address,
    ],
    symptoms: &[
        Symptom::of(&VM047, Item::Challenged, Cause::JoinUnanswered),
        Symptom::saying(&VM040, REVERSED, Item::Echo, Cause::ChallengeByteswapped),
        Symptom::of(&VM040, Item::Echo, Cause::ChallengeNotEchoed),
        Symptom::of(&VM042, Item::Echo, Cause::ChallengeNotEchoed),
        Symptom::of(&VM045, Item::Echo, Cause::ChallengeNotEchoed),
        Symptom::of(&VM034, Item::Info, Cause::InfoKeysMissing),
        Symptom::saying(&VM036, PLAYERS_FIT, Item::Info, Cause::InfoPlayersOverMax),
        Symptom::of(&VM033, Item::Info, Cause::InfoMalformed),
        Symptom::saying(&VM044, JOINS_LATE, Item::Heartbeats, Cause::HeartbeatRare),
        Symptom::of(&VM026, Item::ListWhole, Cause::ListCut),
    ],
    proof: None,
    large: &[],
    registers: Some("valve_master"),
};
