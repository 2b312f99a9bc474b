//! The messages of GameSpy 4, by their names in scripts.

use crate::kit::messages;

messages! {
    CHALLENGE_REQUEST = "challenge_request", "Initial request", Client: ChallengeRequest, "timestamp {timestamp}",
        [TIMESTAMP];
    CHALLENGE_RESPONSE = "challenge_response", "First response", Server: ClientChallenge, "[challenge {challenge}]",
        [TIMESTAMP, CHALLENGE, CHALLENGE_TEXT];
    INFO_REQUEST = "info_request", "Second request", Client: Query, "[challenge {challenge}]",
        [TIMESTAMP, CHALLENGE];
    INFO_RESPONSE = "info_response", "Server information response", Server: Response,
        "[{hostname}, ][map {map}, ][map {p1073741825}, ][{numplayers}/{maxplayers} players, ]\
        {properties# property/properties}[, {players# player} listed][, {teams# team}]",
        [TIMESTAMP, PROPERTIES, PLAYERS, TEAMS, VALUES] describes SERVER;
    INFO_FRAGMENT = "info_fragment", "packet of an answer that never became whole", Server: Response,
        "timestamp {timestamp}, packet {index}",
        [TIMESTAMP, INDEX, LAST, PROPERTIES, PLAYERS, TEAMS, VALUES];
    UNKNOWN = "unknown", "not a message of the specification", Any: Other, "",
        [BODY];
}
