//! What a server needs to be in the list of the AssaultCube Reloaded master.

use super::params::ApiPath;
use super::rules::{ACR011, ACR034, ACR035, ENCODED, PROBE_ELSEWHERE, PROBE_UNANSWERED};
use crate::cause;
use crate::kit::{Diagnosis, Item, Symptom, causes};

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
    causes: &[&NO_PROBE_RESPONSE, &PROBE_OTHER_PORT],
    symptoms: &[
        Symptom::saying(&ACR034, PROBE_UNANSWERED, &NO_PROBE_RESPONSE),
        Symptom::saying(&ACR034, PROBE_ELSEWHERE, &PROBE_OTHER_PORT),
        Symptom::saying(&ACR011, ENCODED, &causes::masters::LIST_UNREADABLE),
        // What else a server asks is about its players.
        Symptom::saying(&ACR035, ApiPath::Register.name(), &causes::REGISTRATION_UNANSWERED),
    ],
    registers: Some("acr_master"),
    ..Diagnosis::NONE
};

cause! {
    /// The server did not answer the master's probe.
    pub NO_PROBE_RESPONSE "probe_unanswered" {
        no: [ProbeBack],
        kind: Silence,
        says: "the master probes its port, and nothing comes back",
        advice: "Open and forward the UDP port that the master probes: one above the server's.",
    }
}

cause! {
    /// The server answered the master's probe from a port that was not probed.
    pub PROBE_OTHER_PORT "probe_answered_from_other_port" {
        no: [ProbeBack],
        says: "it answers the master's probe from another port",
        advice: "NAT or a container rewrites the port: publish the probed UDP port, one above the server's, one \
                 to one.",
    }
}
