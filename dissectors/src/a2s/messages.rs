//! The messages of A2S, by their names in scripts.

use crate::kit::{Message, Purpose, Role, messages};

/// The same toward a server, as in attacks.
pub(super) static SPLIT_TOWARD_SERVER: Message =
    Message { speaker: Role::Client, purpose: Purpose::Other, ..SPLIT_FRAGMENT };

/// The same if the direction is unknown.
pub(super) static SPLIT_EITHER_WAY: Message =
    Message { speaker: Role::Any, purpose: Purpose::Other, ..SPLIT_FRAGMENT };

/// Those two.
pub(super) static FORMS: &[&Message] = &[&SPLIT_TOWARD_SERVER, &SPLIT_EITHER_WAY];

messages! {
    INFO_REQUEST = "info_request", "A2S_INFO request", Client: Query, "[challenge {challenge}]",
        [CHALLENGE, SPLIT];
    INFO_RESPONSE = "info_response", "A2S_INFO response", Server: Response,
        "{name} map {map}, {players}/{max_players} players, {bots# bot}, {game}, app {app_id}[ (GameID: {full_app_id})], version {version}",
        [PROTOCOL, NAME, MAP, FOLDER, GAME, APP_ID, PLAYERS_COUNT, MAX_PLAYERS, BOTS, SERVER_TYPE,
         ENVIRONMENT, VISIBILITY, VAC, MODE, WITNESSES, DURATION_ARREST, VERSION, EDF, PORT,
         STEAM_ID, SOURCETV_PORT, SOURCETV_NAME, KEYWORDS, GAME_ID, FULL_APP_ID, SPLIT] describes SERVER;
    INFO_RESPONSE_GOLDSRC = "info_response_goldsrc", "A2S_INFO response, obsolete GoldSource form", Server: Response,
        "{name} map {map}, {players}/{max_players} players, {bots# bot}, {game}",
        [ADDRESS, NAME, MAP, FOLDER, GAME, PLAYERS_COUNT, MAX_PLAYERS, PROTOCOL, SERVER_TYPE,
         ENVIRONMENT, VISIBILITY, MOD, LINK, DOWNLOAD_LINK, MOD_VERSION, MOD_SIZE, MOD_TYPE,
         MOD_DLL, VAC, BOTS, SPLIT] describes SERVER_GOLDSRC;
    CHALLENGE_REQUEST = "challenge_request", "A2S_SERVERQUERY_GETCHALLENGE request", Client: ChallengeRequest, "", [SPLIT];
    CHALLENGE_RESPONSE = "challenge_response", "S2C_CHALLENGE", Server: ClientChallenge, "challenge {challenge}",
        [CHALLENGE, SPLIT];
    PLAYER_REQUEST = "player_request", "A2S_PLAYER request", Client: Query, "[challenge {challenge}]",
        [CHALLENGE, SPLIT];
    PLAYER_RESPONSE = "player_response", "A2S_PLAYER response", Server: Response, "{players#} of {num_players# player}",
        [NUM_PLAYERS, PLAYERS, UNNAMED, SHIP_PLAYERS, SPLIT];
    RULES_REQUEST = "rules_request", "A2S_RULES request", Client: Query, "[challenge {challenge}]",
        [CHALLENGE, SPLIT];
    RULES_RESPONSE = "rules_response", "A2S_RULES response", Server: Response, "{rules#} of {num_rules# rule}",
        [NUM_RULES, RULES, SPLIT];
    PING_REQUEST = "ping_request", "A2A_PING request", Client: Query, "", [SPLIT];
    PING_RESPONSE = "ping_response", "A2A_PING response", Server: Response, "[{payload}]",
        [PING_PAYLOAD, SPLIT];
    SPLIT_FRAGMENT = "split_fragment", "part of a split answer that never became whole", Server: Response,
        "{layout} ID {id}, number {number} of {total}",
        [LAYOUT, ID, TOTAL, NUMBER, SIZE, DECOMPRESSED_SIZE, CRC32];
    PRINT = "print", "text for the console", Server: Response, "{text}",
        [TEXT, SPLIT];
    GAME_CONNECTION = "game_connection", "answer to a player who joins", Server: Other, "[{text}]",
        [TEXT, BODY, SPLIT];
    UNKNOWN = "unknown", "not a message of the specification", Any: Other, "[message byte {type}][{command}][ {text}]",
        [COMMAND, TEXT, BODY, SPLIT];
}
