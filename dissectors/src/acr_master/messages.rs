//! The messages of the AssaultCube Reloaded master, by their names in scripts.

use crate::kit::{Message, messages};

use super::params::ApiPath;

messages! {
    CLIENT_REQUEST = "client_request", "/c client", Client: ListRequest, "{path}[ build_defs {build_defs}]",
        [BUILD_DEFS, BUILD_DEFS_TEXT, GUID32, GUID32_TEXT, UNKNOWN];
    CLIENT_RESPONSE = "client_response", "/c client, response", Master: List,
        "HTTP {status}[, {flags=}][, version {version}][, {server_count# server}][, {encoded?encoded}][, {whole!not whole}]",
        [FLAGS, FLAGS_TEXT, VERSION, VERSION_TEXT, PROTOCOL, PROTOCOL_TEXT, SERVERS];
    REGISTER_REQUEST = "register_request", "/r server register", Server: Join,
        "{path}[ port {p}][, protocol {v}][, game {g}]",
        [P, P_TEXT, V, V_TEXT, G, G_TEXT, GUID32, GUID32_TEXT, UNKNOWN];
    REGISTER_RESPONSE = "register_response", "/r server register, response", Master: JoinResponse,
        "HTTP {status}[, {text}][, {encoded?encoded}]",
        [TEXT];
    AUTH_REQUEST = "auth_request", "/a server connect auth check", Server: Authentication,
        "{path}[ client {a}][, request {i}][, user {u}]",
        [P, P_TEXT, A_ADDRESS, GUID32, GUID32_TEXT, I, I_TEXT, U, UNKNOWN];
    AUTH_RESPONSE = "auth_response", "/a server connect auth check, response", Master: AuthenticationResponse,
        "HTTP {status}[, auth: {auth=}][, lookup: {lookup=}][, {encoded?encoded}]",
        [AUTH, CHALLENGE, LOOKUP];
    VERIFY_REQUEST = "verify_request", "/v server verify auth", Server: Authentication, "{path}[ request {i}]",
        [P, P_TEXT, I, I_TEXT, C, A_DIGEST, UNKNOWN];
    VERIFY_RESPONSE = "verify_response", "/v server verify auth, response", Master: AuthenticationResponse,
        "HTTP {status}[, {result=}][, {privilege=}][, {name}][, {encoded?encoded}]",
        [RESULT, PRIVILEGE, NAME];
    OTHER_REQUEST = "other_request", "a request of no endpoint", Any: Other, "{method} {path}",
        [UNKNOWN];
    OTHER_RESPONSE = "other_response", "a response to no endpoint", Any: Other, "HTTP {status}", [];
    SOCKET_CHECK = "socket_check", "socket check of a server that registers", Master: Check, "", [];
    SOCKET_CHECK_REPLY = "socket_check_reply", "socket check, answer", Server: CheckResponse, "", [];
}

/// The request to an endpoint.
pub(super) fn request(endpoint: Option<ApiPath>) -> &'static Message {
    match endpoint {
        Some(ApiPath::Client) => &CLIENT_REQUEST,
        Some(ApiPath::Register) => &REGISTER_REQUEST,
        Some(ApiPath::Auth) => &AUTH_REQUEST,
        Some(ApiPath::Verify) => &VERIFY_REQUEST,
        None => &OTHER_REQUEST,
    }
}

/// The response of an endpoint.
pub(super) fn response(endpoint: Option<ApiPath>) -> &'static Message {
    match endpoint {
        Some(ApiPath::Client) => &CLIENT_RESPONSE,
        Some(ApiPath::Register) => &REGISTER_RESPONSE,
        Some(ApiPath::Auth) => &AUTH_RESPONSE,
        Some(ApiPath::Verify) => &VERIFY_RESPONSE,
        None => &OTHER_RESPONSE,
    }
}
