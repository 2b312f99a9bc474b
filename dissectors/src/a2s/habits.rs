//! The habits of query libraries, recorded from their versions of 2026.

use crate::kit::{Bytes, Habit};

const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFU";
const RULES: &[u8] = b"\xFF\xFF\xFF\xFFV";
const NO_PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF";
const ZERO_PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFU\0\0\0\0";
const ZERO_RULES: &[u8] = b"\xFF\xFF\xFF\xFFV\0\0\0\0";
/// A challenge.
const ANY: usize = 4;

/// Both request a challenge with 0, and use a socket for each kind of request.
const PYTHON: &str = "python-a2s or ValvePython/steam";

pub(super) static HABITS: &[Habit] = &[
    Habit {
        library: PYTHON,
        sends: &[Bytes::Exactly(ZERO_PLAYERS), Bytes::Around(PLAYERS, ANY, b"")],
    },
    Habit { library: PYTHON, sends: &[Bytes::Exactly(ZERO_RULES), Bytes::Around(RULES, ANY, b"")] },
    // It requests a challenge with a rules request, and uses it for all further requests.
    Habit { library: "GameQ", sends: &[Bytes::Exactly(ZERO_RULES), Bytes::Around(INFO, ANY, b"")] },
    // It appends the challenge to the request for one.
    Habit {
        library: "source-server-query",
        sends: &[Bytes::Around(PLAYERS, ANY, b"\xFF\xFF\xFF\xFF")],
    },
    Habit {
        library: "source-server-query",
        sends: &[Bytes::Around(RULES, ANY, b"\xFF\xFF\xFF\xFF")],
    },
    // It sends a rules request before the player request, with the challenge from the player
    // request.
    Habit {
        library: "qstat",
        sends: &[Bytes::Exactly(INFO), Bytes::Exactly(NO_PLAYERS), Bytes::Around(RULES, ANY, b"")],
    },
];
