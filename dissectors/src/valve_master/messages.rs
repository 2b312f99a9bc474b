//! The messages of the protocol, by their names in scripts.

use crate::kit::messages;

messages! {
    QUERY = "query", "Query for a list of servers", Client: ListRequest, "region {region=}, from {seed}, filter {filter}",
        [REGION, SEED, FILTER];
    REPLY = "reply", "List of servers", Master: List, "{server_count# server}[, {end?end of the list}]",
        [SERVERS, END];
    JOIN = "join", "Join", Server: Join, "[challenge {server_challenge}]",
        [SERVER_CHALLENGE];
    CHALLENGE = "challenge", "Challenge", Master: Challenge, "challenge {challenge}",
        [SERVER_CHALLENGE, CHALLENGE];
    CHALLENGE_RESPONSE = "challenge_response", "Challenge response", Server: ChallengeResponse,
        "[challenge {challenge}, ][{gamedir} map {map}, ][{players}/{max} players, ]{info# key}[ in the order of {order}]",
        [CHALLENGE, INFO] describes SERVER;
    QUIT = "quit", "Quit", Server: Quit, "[{form}]", [];
    NAT_NOTICE = "nat_notice", "Notice of a client, in Xash3D's dialect", Master: Other, "client {client}",
        [CLIENT];
    UNKNOWN = "unknown", "not a message of the specification", Any: Other, "", [];
}
