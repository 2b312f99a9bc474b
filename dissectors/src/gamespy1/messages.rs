//! The messages, by the names scripts use.

use crate::kit::messages;

messages! {
    HEARTBEAT = "heartbeat", "Heartbeat", Server, "heartbeat[ of {gamename}][, query port {port}][, state changed: {statechanged}]";
    SECURE = "secure", "Secure challenge", Master, "challenge[ {challenge}]";
    VALIDATE = "validate", "Validation", Any, "answer to a challenge[: {validate}][, {gamename}]";
    LIST_REQUEST = "list_request", "List request", Client, "list[ of {gamename}][, {list}]";
    LIST_RESPONSE = "list_response", "Server list", Master, "list[ of {servers# server}]";
    QUERY = "query", "Query", Client, "query[ {query}]";
    QUERY_RESPONSE = "query_response", "Answer to a query", Server,
        "[{hostname}, ][map {mapname}, ][{numplayers}/{maxplayers} players, ]{properties# property/properties}";
    QUERY_FRAGMENT = "query_fragment", "Part of an answer", Server, "part[ {part}] of an answer that never became whole";
    TEXT = "text", "Other text", Any, "other text";
}
