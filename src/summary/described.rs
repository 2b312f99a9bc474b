//! What messages say of servers and lists: where each protocol has it.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;

use super::rows::Server;
use crate::session::{MessageEvent, Value};

/// Characters of a name or a map that are kept.
const LONG: usize = 256;

/// Where a kind of message has what is shown of a server; the first path that leads to something counts.
struct Paths {
    name: &'static [&'static str],
    map: &'static [&'static str],
    version: &'static [&'static str],
    players: &'static [&'static str],
    max_players: &'static [&'static str],
}

const A2S: Paths = Paths {
    name: &["name"],
    map: &["map"],
    version: &["version"],
    players: &["players"],
    max_players: &["max_players"],
};

const JOIN: Paths = Paths {
    name: &[],
    map: &["info.map"],
    version: &["info.version"],
    players: &["info.players"],
    max_players: &["info.max"],
};

/// UT3 sends its owner's name as `hostname`, and its own under a number; the numbered map is the one
/// without the game mode's prefix left out.
const GAMESPY4: Paths = Paths {
    name: &["properties.p1073741827", "properties.hostname"],
    map: &["properties.p1073741825", "properties.mapname", "properties.map"],
    version: &["properties.EngineVersion", "properties.version"],
    players: &["properties.numplayers"],
    max_players: &["properties.maxplayers"],
};

const GAMESPY1: Paths = Paths {
    name: &["properties.hostname"],
    map: &["properties.mapname", "properties.maptitle"],
    version: &["properties.gamever"],
    players: &["properties.numplayers"],
    max_players: &["properties.maxplayers"],
};

fn paths(id: Id, message: &str) -> Option<&'static Paths> {
    match (id.info().id, message) {
        ("a2s", "info_response" | "info_response_goldsrc") => Some(&A2S),
        ("valve_master", "challenge_response") => Some(&JOIN),
        ("gamespy4", "info_response") => Some(&GAMESPY4),
        ("gamespy1", "query_response") => Some(&GAMESPY1),
        _ => None,
    }
}

/// Notes what a message says of the server that sent it.
pub(super) fn describe(server: &mut Server, id: Id, event: &MessageEvent<'_>) {
    let Some(paths) = paths(id, event.message().name) else { return };
    let first = |paths: &[&str]| paths.iter().find_map(|path| event.field(path));
    let renamed = put(&mut server.name, first(paths.name));
    let moved = put(&mut server.map, first(paths.map));
    server.changes += u64::from(renamed || moved);
    put(&mut server.version, first(paths.version));
    server.players = first(paths.players).and_then(number).or(server.players);
    server.max_players = first(paths.max_players).and_then(number).or(server.max_players);
}

/// Notes a text, if there is one. Returns whether there was another one before.
fn put(known: &mut Option<String>, value: Option<Value<'_>>) -> bool {
    let Some(value) = value else { return false };
    if known.as_ref().is_some_and(|known| is_same(known, &value)) {
        return false;
    }
    let value: String = value.to_string().chars().take(LONG).collect();
    let changed = known.as_ref().is_some_and(|known| *known != value);
    *known = Some(value);
    changed
}

/// Whether a text is what is known already, without making a copy of it.
fn is_same(known: &str, value: &Value<'_>) -> bool {
    matches!(value, Value::Text(text) if *text == known.as_bytes())
}

fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        value => value.as_u64(),
    }
}

/// Where the server that sent a message to a master takes queries, where the message says so.
/// `None`: from a port that says nothing of the server's.
pub(super) fn own_endpoint(event: &MessageEvent<'_>, from: SocketAddr) -> Option<SocketAddr> {
    let path = match event.message().name {
        "heartbeat" => "port",
        "register_request" => "p",
        "auth_request" | "verify_request" => return None,
        _ => return Some(from),
    };
    let port = event.field(path).and_then(number).and_then(|port| u16::try_from(port).ok());
    Some(SocketAddr::new(from.ip(), port.filter(|port| *port > 0).unwrap_or(from.port())))
}

/// Whether a client's message asks for a list from its beginning.
pub(super) fn begins_list(event: &MessageEvent<'_>) -> bool {
    match event.message().name {
        "list_request" | "client_request" => true,
        "query" => match event.field("seed") {
            Some(Value::Text(seed)) => seed.starts_with(b"0.0.0.0:"),
            Some(Value::Endpoint(seed)) => seed.ip().is_unspecified(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a master's message is the end of a list.
pub(super) fn ends_list(event: &MessageEvent<'_>) -> bool {
    match event.message().name {
        "reply" => matches!(event.field("end"), Some(Value::Flag(true))),
        "list_response" => {
            let broken = event.checked().findings;
            !event.payload().lost && broken.iter().all(|it| it.rule.slug != "list-complete")
        }
        "client_response" => event.field("flags").is_some(),
        _ => false,
    }
}

/// Whether a master's message refuses a registration.
pub(super) fn refuses(event: &MessageEvent<'_>) -> bool {
    event.message().name == "register_response"
        && matches!(event.field("text"), Some(Value::Text(text)) if text.starts_with(b"*f"))
}

/// Calls `see` with each server that a master's message lists.
pub(super) fn each_listed(event: &MessageEvent<'_>, mut see: impl FnMut(SocketAddr)) {
    match event.message().name {
        "reply" | "list_response" => {
            for server in event.values("servers") {
                let server = match server {
                    Value::Endpoint(server) => Some(server),
                    Value::Text(text) => {
                        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
                    }
                    _ => None,
                };
                // The end of a list is written as a server without an address.
                server.filter(|it| !it.ip().is_unspecified()).into_iter().for_each(&mut see);
            }
        }
        "client_response" => {
            let addresses = event.values("servers.address");
            for (address, port) in addresses.into_iter().zip(event.values("servers.port")) {
                let Value::Text(address) = address else { continue };
                let address = std::str::from_utf8(address).ok();
                let address = address.and_then(|text| text.parse::<IpAddr>().ok());
                let port = number(port).and_then(|port| u16::try_from(port).ok());
                if let (Some(address), Some(port)) = (address, port) {
                    see(SocketAddr::new(address, port));
                }
            }
        }
        _ => {}
    }
}
