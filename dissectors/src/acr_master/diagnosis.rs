//! What a server needs to be in the list of the AssaultCube Reloaded master.

use super::rules::{ACR020, ACR034, ACR035, EMPTY_TEXT, PROBE_ELSEWHERE, PROBE_UNANSWERED};
use crate::kit::{Cause, Diagnosis, Item, Symptom};

pub(super) static DIAGNOSIS: Diagnosis = Diagnosis {
    items: &[
        Item::Join,
        Item::Probed,
        Item::ProbeBack,
        Item::Accepted,
        Item::ListWhole,
        Item::Listed,
        Item::Address,
    ],
    symptoms: &[
        Symptom::saying(&ACR034, PROBE_UNANSWERED, Item::ProbeBack, Cause::ProbeUnanswered),
        Symptom::saying(&ACR034, PROBE_ELSEWHERE, Item::ProbeBack, Cause::ProbeOtherPort),
        Symptom::saying(&ACR020, EMPTY_TEXT, Item::Accepted, Cause::RegistrationRefused),
        Symptom::of(&ACR035, Item::Accepted, Cause::RegistrationUnanswered),
    ],
    proof: None,
    large: &[],
    registers: Some("acr_master"),
};
