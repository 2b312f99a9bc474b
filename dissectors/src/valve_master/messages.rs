//! The messages of the protocol, by the names scripts use.

use crate::kit::messages;

messages! {
    QUERY = "query", "Query for a list of servers", Client, "region {region=}, from {seed}, filter {filter}",
        [REGION, SEED, FILTER];
    REPLY = "reply", "List of servers", Master, "{servers# server}[, {end?end of the list}]",
        [SERVERS, END];
    JOIN = "join", "Join", Server, "[challenge {server_challenge}]",
        [SERVER_CHALLENGE];
    CHALLENGE = "challenge", "Challenge", Master, "challenge {challenge}",
        [SERVER_CHALLENGE, CHALLENGE];
    CHALLENGE_RESPONSE = "challenge_response", "Challenge response", Server,
        "[challenge {challenge}, ][{gamedir} map {map}, ][{players}/{max} players, ]{info# key}[ in the order of {order}]",
        [CHALLENGE, INFO];
    QUIT = "quit", "Quit", Server, "[{form}]", [];
    NAT_NOTICE = "nat_notice", "Notice of a client, in Xash3D's dialect", Master, "client {client}",
        [CLIENT];
    UNKNOWN = "unknown", "not a message of the document", Any, "", [];
}
