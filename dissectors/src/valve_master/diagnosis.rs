//! What a server needs to be in the lists of a Valve master.

use super::rules::{
    JOINS_LATE, PLAYERS_FIT, REVERSED, VM026, VM033, VM034, VM036, VM040, VM042, VM044, VM045,
    VM047,
};
use crate::cause;
use crate::kit::{Diagnosis, Item, Symptom, causes};

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
    causes: &[
        &LAN_ONLY,
        &CHALLENGE_NOT_ECHOED,
        &INFO_KEYS_MISSING,
        &INFO_MALFORMED,
        &INFO_PLAYERS_OVER_MAX,
    ],
    symptoms: &[
        Symptom::of(&VM047, &causes::JOIN_UNANSWERED),
        Symptom::saying(&VM040, REVERSED, &causes::CHALLENGE_BYTESWAPPED),
        Symptom::of(&VM040, &CHALLENGE_NOT_ECHOED),
        Symptom::of(&VM042, &CHALLENGE_NOT_ECHOED),
        Symptom::of(&VM045, &CHALLENGE_NOT_ECHOED),
        Symptom::of(&VM034, &INFO_KEYS_MISSING),
        Symptom::saying(&VM036, PLAYERS_FIT, &INFO_PLAYERS_OVER_MAX),
        Symptom::of(&VM033, &INFO_MALFORMED),
        Symptom::saying(&VM044, JOINS_LATE, &causes::HEARTBEAT_RARE),
        Symptom::of(&VM026, &causes::LIST_CUT),
    ],
    lan_only: Some(&LAN_ONLY),
    registers: Some("valve_master"),
    ..Diagnosis::NONE
};

cause! {
    /// Its info string says that it is for its own network only.
    pub LAN_ONLY "lan_only" {
        no: [Join],
        says: "it says that it is for its own network only, so that the master does not list it",
        details: "its info string says lan 1",
        advice: "Set sv_lan 0, and start the server anew.",
    }
}

cause! {
    /// It answered with another number.
    pub CHALLENGE_NOT_ECHOED "challenge_not_echoed" {
        no: [Echo],
        says: "it answers the master with another challenge than it was given",
        advice: "Answer with the challenge of the latest join to this master: each master gives its own.",
    }
}

cause! {
    /// Its info string lacks keys.
    pub INFO_KEYS_MISSING "info_keys_missing" {
        no: [Info],
        says: "its info string lacks keys",
        advice: "Send all keys of the protocol's table, as \\key\\value pairs with a line feed at the end.",
    }
}

cause! {
    /// Its info string cannot be read.
    pub INFO_MALFORMED "info_malformed" {
        no: [Info],
        says: "its info string is not made of key and value pairs",
        advice: "Send each key once, none empty, and no backslash in a value: a server's name or map may have one.",
    }
}

cause! {
    /// Its info string has more players than the maximum.
    pub INFO_PLAYERS_OVER_MAX "info_players_over_max" {
        no: [Info],
        says: "its info string has more players than its maximum",
        advice: "Send a player count that is at most the number of slots.",
    }
}
