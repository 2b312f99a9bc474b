//! The messages of A2S, by the names scripts use.

use crate::kit::{Message, Who, messages};

/// The same toward a server: what attacks look like.
pub(super) static SPLIT_TOWARD_SERVER: Message = Message { speaker: Who::Client, ..SPLIT_FRAGMENT };

/// The same where nothing tells who is the server.
pub(super) static SPLIT_EITHER_WAY: Message = Message { speaker: Who::Any, ..SPLIT_FRAGMENT };

messages! {
    INFO_REQUEST = "info_request", "A2S_INFO request", Client, "[challenge {challenge}]";
    INFO_RESPONSE = "info_response", "A2S_INFO response", Server,
        "{name} map {map}, {players}/{max_players} players, {bots# bot}, {game}, app {app_id}, version {version}";
    INFO_RESPONSE_GOLDSRC = "info_response_goldsrc", "A2S_INFO response, obsolete GoldSource form", Server,
        "{name} map {map}, {players}/{max_players} players, {bots# bot}, {game}";
    CHALLENGE_REQUEST = "challenge_request", "A2S_SERVERQUERY_GETCHALLENGE request", Client, "";
    CHALLENGE_RESPONSE = "challenge_response", "S2C_CHALLENGE", Server, "challenge {challenge}";
    PLAYER_REQUEST = "player_request", "A2S_PLAYER request", Client, "[challenge {challenge}]";
    PLAYER_RESPONSE = "player_response", "A2S_PLAYER response", Server, "{players#} of {num_players# player}";
    RULES_REQUEST = "rules_request", "A2S_RULES request", Client, "[challenge {challenge}]";
    RULES_RESPONSE = "rules_response", "A2S_RULES response", Server, "{rules#} of {num_rules# rule}";
    PING_REQUEST = "ping_request", "A2A_PING request", Client, "";
    PING_RESPONSE = "ping_response", "A2A_PING response", Server, "[{payload}]";
    SPLIT_FRAGMENT = "split_fragment", "part of a split answer that never became whole", Server,
        "{layout} ID {id}, number {number} of {total}";
    PRINT = "print", "text for the console", Server, "{text}";
    UNKNOWN = "unknown", "not a message of the document", Any, "[message byte {type}]";
}
