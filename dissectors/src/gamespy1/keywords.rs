//! The keywords of texts: those that frame messages, and queries.

/// Closes a message.
pub(super) const FINAL: &[u8] = b"final";
/// Numbers the parts of a response.
pub(super) const QUERYID: &[u8] = b"queryid";

/// Keywords that have no value.
const BARE: [&[u8]; 10] = [
    b"basic", b"info", b"status", b"rules", b"players", b"packets", b"teams", b"list", b"exiting",
    FINAL,
];

/// Keywords that may appear where the specification has left out the backslash of an empty value.
const KEYWORDS: [&[u8]; 7] =
    [b"secure", b"gamename", b"validate", b"heartbeat", b"echo", QUERYID, b"location"];

/// Queries with a value.
const QUERIES_WITH_VALUE: [&[u8]; 4] =
    [b"echo", b"level_property", b"game_property", b"player_property"];

pub(super) fn is_bare(key: &[u8]) -> bool {
    BARE.contains(&key)
}

pub(super) fn is_keyword(value: &[u8]) -> bool {
    is_bare(value) || KEYWORDS.contains(&value)
}

/// Whether a keyword is a query to a server. A challenge does not count.
pub(super) fn is_query(key: &[u8]) -> bool {
    let query = is_bare(key) && ![FINAL, b"list", b"exiting"].contains(&key);
    query || QUERIES_WITH_VALUE.contains(&key)
}
