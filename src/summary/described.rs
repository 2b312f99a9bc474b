//! Properties of servers and lists in messages.

use std::net::SocketAddr;

use dissectors::kit::{EndOfList, Masters, Purpose};

use super::latest::{Latest, Moment};
use crate::session::{ListedServers, MessageEvent, Value};

/// Maximum number of characters of a name or a map.
const LONG: usize = 256;

/// The first of these fields that a message has.
pub fn first<'b>(event: &MessageEvent<'b>, paths: &[&str]) -> Option<Value<'b>> {
    paths.iter().find_map(|path| event.field(path))
}

/// Stores a text, if there is one. Returns whether it replaces another one.
pub(super) fn put(known: &mut Latest<String>, at: Moment, value: Option<Value<'_>>) -> bool {
    let Some(value) = value else { return false };
    if known.get().is_some_and(|known| is_same(known, &value)) {
        known.again(at);
        return false;
    }
    let value = kept(&value);
    let changed = known.get().is_some_and(|known| *known != value);
    known.set(at, value);
    changed
}

/// A text, truncated to the maximum.
pub fn kept(value: &Value<'_>) -> String {
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(LONG) {
        text.truncate(end);
    }
    text
}

/// Compares a text with the stored one, without a copy.
fn is_same(known: &str, value: &Value<'_>) -> bool {
    matches!(value, Value::Text(text) if *text == known.as_bytes())
}

pub fn number(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        value => value.as_u64(),
    }
}

/// A number that may be negative, also in a text.
pub fn signed(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Value::Signed(value) => Some(value),
        value => value.as_u64()?.try_into().ok(),
    }
}

/// The query address of a server that sent a message to a master, if the message has it. `None`: the port
/// of the message is not the server's query port.
pub fn own_endpoint(event: &MessageEvent<'_>, from: SocketAddr) -> Option<SocketAddr> {
    let path = match event.message().purpose {
        Purpose::Join | Purpose::Heartbeat | Purpose::CheckResponse | Purpose::Authentication => {
            masters(event).and_then(|it| it.query_port)
        }
        _ => None,
    };
    let port = match path.and_then(|path| event.field(path)) {
        // Invalid port numbers are ignored.
        Some(named) => u16::try_from(number(named)?).ok().filter(|port| *port > 0)?,
        None => {
            let usual = path.and(masters(event)).and_then(|it| it.usual_port);
            usual.unwrap_or(from.port())
        }
    };
    Some(SocketAddr::new(from.ip(), port))
}

/// Whether a client's message requests a list from its beginning.
pub fn begins_list(event: &MessageEvent<'_>) -> bool {
    if event.message().purpose != Purpose::ListRequest {
        return false;
    }
    match masters(event).and_then(|it| it.goes_on_after).map(|path| event.field(path)) {
        None => true,
        Some(Some(Value::Text(address))) => address.starts_with(b"0.0.0.0:"),
        Some(Some(Value::Endpoint(address))) => address.ip().is_unspecified(),
        Some(_) => false,
    }
}

/// What marks the end of the list in a master's message, and what the message says of it, if it was recorded whole.
fn mark_of_end(event: &MessageEvent<'_>) -> Option<(EndOfList, Option<bool>)> {
    if event.message().purpose != Purpose::List || event.payload().lost {
        return None;
    }
    let end = masters(event)?.end;
    let (EndOfList::Flag(path) | EndOfList::InOneMessage(path)) = end;
    let flag = match event.field(path) {
        Some(Value::Flag(flag)) => Some(flag),
        _ => None,
    };
    Some((end, flag))
}

/// Whether a master's message is the end of a list.
pub fn ends_list(event: &MessageEvent<'_>) -> bool {
    matches!(mark_of_end(event), Some((_, Some(true))))
}

/// Whether a master's message is a list that the master did not send to its end.
pub fn cuts_list(event: &MessageEvent<'_>) -> bool {
    matches!(mark_of_end(event), Some((EndOfList::InOneMessage(_), Some(false))))
}

/// Whether what a master sends in place of a list is a whole message of something else.
pub fn is_no_list(event: &MessageEvent<'_>) -> bool {
    let lacks_mark = matches!(mark_of_end(event), Some((EndOfList::InOneMessage(_), None)));
    lacks_mark && server_count(event) == 0
}

/// The number of servers that a master's message lists, as it is shown, also of those that are no valid address.
pub fn server_count(event: &MessageEvent<'_>) -> u64 {
    event.field("server_count").and_then(number).unwrap_or_default()
}

/// Whether a master's message is a list that cannot be read.
pub fn is_enciphered(event: &MessageEvent<'_>) -> bool {
    let hidden = || masters(event).and_then(|it| it.enciphered);
    event.message().purpose == Purpose::List
        && hidden().is_some_and(|path| event.field(path).is_some())
}

/// Whether a master's message rejects a registration.
pub fn refuses(event: &MessageEvent<'_>) -> bool {
    let refusal = || masters(event).and_then(|it| it.refusal);
    let is_http_error = || event.field("status").and_then(number).is_some_and(|it| it >= 400);
    event.message().purpose == Purpose::JoinResponse
        && (is_http_error()
            || refusal().is_some_and(|(path, begins)| {
                let Some(Value::Text(text)) = event.field(path) else { return false };
                begins.iter().any(|begins| text.starts_with(begins.as_bytes()))
                    || is_refusal(&String::from_utf8_lossy(text))
            }))
}

/// The kind of a request: the name of the message, or its keyword, where that tells more.
pub fn request_kind(event: &MessageEvent<'_>) -> &'static str {
    let keywords = event.context().protocol.and_then(|id| id.info().diagnosis.keywords);
    let keyword = keywords.and_then(|(path, all)| {
        let text = event.field(path)?.to_string();
        all.iter().find(|keyword| **keyword == text)
    });
    keyword.copied().unwrap_or(event.message().name)
}

/// The number of players that a response lists by numbered keys. A description need not list them; a response to a
/// request of the kind `players` does, also if there are none.
pub fn listed_players(event: &MessageEvent<'_>, kind: &str) -> Option<u64> {
    let prefixes = event.context().protocol?.info().diagnosis.player_keys;
    if prefixes.is_empty() {
        return None;
    }
    let pairs = event.pairs("properties");
    let numbered = |key: &[u8]| {
        let mut numbers = prefixes.iter().filter_map(|prefix| key.strip_prefix(prefix.as_bytes()));
        numbers.any(|number| number.iter().all(u8::is_ascii_digit))
    };
    let players = pairs.iter().filter(|(key, _)| numbered(key)).count() as u64;
    (players > 0 || kind == "players").then_some(players)
}

/// Whether a text refuses something.
pub fn is_refusal(text: &str) -> bool {
    const WORDS: [&str; 17] = [
        "not",
        "cannot",
        "banned",
        "blacklisted",
        "blocked",
        "denied",
        "refused",
        "rejected",
        "forbidden",
        "unauthorized",
        "throttled",
        "unavailable",
        "disabled",
        "invalid",
        "expired",
        "exceeded",
        "error",
    ];
    let refuses = |word: &str| {
        WORDS.contains(&word)
            || word.starts_with("fail")
            || ["n't", "n\u{2019}t"].iter().any(|not| word.ends_with(not))
    };
    let text = text.to_lowercase();
    ["too many", "try again"].iter().any(|it| text.contains(it)) || words(&text).any(refuses)
}

/// Whether a master's text says that it has registered a server. A word that only ends so, such as
/// "unregistered", does not.
pub fn is_success(text: &str) -> bool {
    let succeeds = |word: &str| {
        matches!(word, "registered" | "re-registered" | "renewed") || word.starts_with("success")
    };
    !is_refusal(text) && words(&text.to_lowercase()).any(succeeds)
}

/// The words of a text. Hyphens and apostrophes are part of them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '\'' | '\u{2019}'))
}

/// The servers that a master's message lists.
pub fn each_listed<'b>(event: &MessageEvent<'b>) -> ListedServers<'b> {
    let is_list = event.message().purpose == Purpose::List;
    if is_list { event.listed() } else { ListedServers::default() }
}

/// The fields of messages between masters and others in the message's protocol.
pub fn masters(event: &MessageEvent<'_>) -> Option<&'static Masters> {
    event.context().protocol.and_then(|id| id.info().masters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_refuse_are_known() {
        for text in [
            "Banned by server.",
            "could not be added",
            "You failed to authenticate",
            "Couldn't connect to port 28771",
            "We cannot reach you",
            "Too many requests from your address",
            "Slow down and try again",
            "Forbidden",
        ] {
            assert!(is_refusal(text) && !is_success(text), "{text}");
        }
        for text in [
            "Welcome",
            "nothing to say",
            "unregistered",
            "you were de-registered",
            "It is listed later",
        ] {
            assert!(!is_refusal(text) && !is_success(text), "{text}");
        }
        for text in ["You are now registered.", "REGISTERED SUCCESSFULLY", "Knotty's: registered"] {
            assert!(is_success(text), "{text}");
        }
    }

    #[test]
    fn long_texts_are_truncated() {
        assert_eq!(kept(&Value::Text(b"Mill \xFF Creek")), "Mill \u{FF} Creek (Latin-1)");
        assert_eq!(kept(&Value::Unsigned(7)), "7");
        for long in [LONG, LONG + 1] {
            let text = "\u{EB}".repeat(long);
            assert_eq!(kept(&Value::Text(text.as_bytes())), "\u{EB}".repeat(LONG));
        }
    }
}
