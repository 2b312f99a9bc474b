//! The conditions for servers to be in the lists of a text master, and to be seen by clients.

use super::rules::{
    BEATS_LATE, BEFORE_END, GS1001, GS1002, GS1004, GS1005, GS1012, GS1016, GS1020, GS1021, GS1022,
    GS1023, GS1024, GS1025, GS1030, GS1031, GS1033, GS1034, LONE_PART, NO_VALIDATE, NOT_CLOSED,
    OVER_UDP, PART_MISSING, TWICE,
};
use crate::cause;
use crate::kit::{Diagnosis, Item, Symptom, causes};

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
        Item::Believable,
        Item::PlayPort,
        Item::PlayOpen,
    ],
    causes: &[
        &HEARTBEAT_MALFORMED,
        &RECHALLENGED_ALWAYS,
        &NOT_CHALLENGED,
        &SECURE_UNANSWERED,
        &VALIDATE_WRONG,
    ],
    symptoms: &[
        Symptom::of(&GS1020, &HEARTBEAT_MALFORMED),
        Symptom::of(&GS1021, &NOT_CHALLENGED),
        Symptom::saying(&GS1022, NO_VALIDATE, &SECURE_UNANSWERED),
        Symptom::of(&GS1022, &VALIDATE_WRONG),
        Symptom::of(&GS1004, &VALIDATE_WRONG),
        Symptom::of(&GS1005, &VALIDATE_WRONG),
        Symptom::of(&GS1023, &VALIDATE_WRONG),
        Symptom::saying(&GS1024, BEATS_LATE, &causes::HEARTBEAT_RARE),
        Symptom::of(&GS1025, &RECHALLENGED_ALWAYS),
        Symptom::saying(&GS1012, OVER_UDP, &causes::clients::LIST_OVER_UDP),
        Symptom::of(&GS1012, &causes::clients::LIST_BEFORE_VALIDATE),
        Symptom::saying(&GS1016, BEFORE_END, &causes::LIST_CUT),
        Symptom::of(&GS1030, &causes::QUERIES_UNANSWERED),
        Symptom::of(&GS1033, &causes::OTHER_ADDRESS),
        Symptom::saying(&GS1031, PART_MISSING, &causes::SPLIT_PART_MISSING),
        Symptom::saying(&GS1034, TWICE, &causes::answers::KEY_REPEATED),
        Symptom::of(&GS1001, &causes::HEADER_BROKEN),
        Symptom::saying(&GS1002, NOT_CLOSED, &causes::answers::NOT_TERMINATED),
        Symptom::of(&GS1002, &causes::HEADER_BROKEN),
    ],
    proof: Some(&GS1005),
    accepts: Some(&GS1025),
    rechallenged: Some(&RECHALLENGED_ALWAYS),
    keywords: Some(("query", &["basic", "info", "status", "rules", "players"])),
    player_keys: &["player_", "playername_"],
    endless: Some((LONE_PART, &causes::answers::NOT_TERMINATED)),
    registers: Some("gamespy1"),
    ..Diagnosis::NONE
};

cause! {
    /// Its heartbeats name no port, or no game.
    pub HEARTBEAT_MALFORMED "heartbeat_malformed" {
        no: [Join],
        says: "its heartbeats do not name its query port and its game",
        advice: "Masters ignore such heartbeats: set the query port and the game's name in the server's configuration.",
    }
}

cause! {
    /// The master challenges it at each heartbeat.
    pub RECHALLENGED_ALWAYS "rechallenged_always" {
        no: [Accepted],
        says: "it answers the master's challenges, and is challenged again at each heartbeat",
        details: "challenged anew {times} times after it had answered",
        advice: "The master does not take the answers for right: compare the game name with the master's, case and all, and the key.",
    }
}

cause! {
    /// The master did not challenge it.
    pub NOT_CHALLENGED "not_challenged" {
        no: [Challenged],
        kind: Silence,
        says: "it sends heartbeats, and the master does not challenge it",
        advice: "Check the game name in the heartbeat: masters ignore games that they do not know.",
    }
}

cause! {
    /// It did not answer the secure challenge.
    pub SECURE_UNANSWERED "secure_unanswered" {
        no: [Echo],
        kind: Silence,
        says: "the master challenges it, and no validate comes",
        advice: causes::LET_MASTER_IN,
    }
}

cause! {
    /// It answered with a wrong code.
    pub VALIDATE_WRONG "validate_wrong" {
        no: [Echo],
        says: "its answer to the master's challenge is wrong",
        advice: "Check the game's secret key, and the port and game name in the response.",
    }
}
