//! The messages, by their names in scripts.

use crate::kit::messages;

messages! {
    HEARTBEAT = "heartbeat", "Heartbeat", Server: Heartbeat, "heartbeat[ of {gamename}][, query port {port}][, state changed: {statechanged}]",
        [PORT, GAMENAME, PAIR];
    SECURE = "secure", "Secure challenge", Master: Check, "challenge[ {challenge}]",
        [CHALLENGE, GAMENAME, PAIR];
    VALIDATE = "validate", "Validation", Any: CheckResponse, "answer to a challenge[: {validate}][, {gamename}]",
        [GAMENAME, VALIDATE, PORT, LOCATION, PAIR];
    LIST_REQUEST = "list_request", "List request", Client: ListRequest, "list[ of {gamename}][, {list}]",
        [GAMENAME, LIST, PAIR];
    LIST_RESPONSE = "list_response", "Server list", Master: List, "list[ of {server_count# server}]",
        [SERVERS, PAIR];
    QUERY = "query", "Query", Client: Query, "query[ {query}]",
        [QUERY, ARGUMENT, CHALLENGE, GAMENAME, PAIR];
    QUERY_RESPONSE = "query_response", "Answer to a query", Server: Response,
        "[{hostname}, ][map {mapname}, ][{numplayers}/{maxplayers} players, ]{properties# property/properties}",
        [PROPERTIES] describes SERVER;
    QUERY_FRAGMENT = "query_fragment", "Part of an answer", Server: Response, "part[ {part}] of an answer that never became whole",
        [FRAGMENT_OF, PART, PROPERTIES];
    SYNC_REQUEST = "sync_request", "Synchronisation request", Master: Other, "another master's list is asked for", [PROPERTIES];
    SYNC_RESPONSE = "sync_response", "Synchronisation", Master: Other, "servers of {properties# game}", [PROPERTIES];
    TEXT = "text", "Other text", Any: Other, "other text[: {words}][: {echo}]", [WORDS, PROPERTIES];
}
