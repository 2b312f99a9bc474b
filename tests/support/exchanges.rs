//! Counts exchanges in the output of `dissect` by definition: a request with its repeats while it waits and its
//! challenge is one exchange. It is answered by the requested response, or by a challenge if no other message
//! follows that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde_json::Value;

/// Time that a request waits, in seconds.
const TIMEOUT: f64 = 3.0;

/// Numbers of exchanges, and of answered ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchanges {
    pub(crate) asked: u64,
    pub(crate) answered: u64,
}

/// Repeats prolong the wait up to so many of these.
const TIMEOUTS: f64 = 3.0;

/// The latest request of one kind from a client to a server.
struct Waiting {
    since: f64,
    /// When it was repeated last.
    latest: f64,
    kind: String,
    /// A challenge came.
    challenged: bool,
    /// The challenge was requested explicitly, and counts as the response.
    alone: bool,
    answered: bool,
}

/// The parties of an exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Between {
    pub(crate) protocol: String,
    /// The server or master that received the request.
    pub(crate) asked: String,
    /// The address of the client; `None` if a server sent the request to its master.
    pub(crate) client: Option<String>,
}

/// The exchanges of all parties.
pub(crate) fn count(messages: &[Value]) -> BTreeMap<Between, Exchanges> {
    let mut count: BTreeMap<_, Exchanges> = BTreeMap::new();
    let mut waiting: BTreeMap<_, Waiting> = BTreeMap::new();
    let mut requests = BTreeMap::new();
    let mut answered = BTreeSet::new();
    for message in messages {
        let text = |name: &str| message[name].as_str().expect("a text").to_owned();
        let (protocol, name) = (text("protocol"), text("message"));
        if let Some(kind) = kind(message) {
            // In the GameSpy 4 protocol, a request with a challenge is of another kind.
            let group = if protocol == "gamespy4" { String::new() } else { kind.clone() };
            let key = (text("src"), text("dst"), group);
            let of_client = matches!(&*protocol, "a2s" | "gamespy4" | "gamespy1")
                || matches!(&*name, "query" | "client_request");
            let asking: SocketAddr = text("src").parse().expect("an address and a port");
            let client = of_client.then(|| asking.ip().to_string());
            let between = Between { protocol: protocol.clone(), asked: text("dst"), client };
            requests
                .insert(message["frame"].as_u64(), (key.clone(), name.clone(), between.clone()));
            let now = seconds(&text("time"));
            let is_known = waiting.get_mut(&key).is_some_and(|before| {
                let goes_on = before.challenged && !before.answered && name != "challenge_request";
                // The challenge was not all that was requested.
                if goes_on && std::mem::take(&mut before.alone) {
                    count.entry(between.clone()).or_default().answered -= 1;
                }
                // A client that begins anew asks for another challenge with the same number.
                let begins_anew = kind.strip_prefix("challenge_request ").is_some_and(|number| {
                    before.kind.strip_prefix("info_request ") == Some(number)
                });
                let repeats = (before.kind == kind || begins_anew) && !before.answered;
                if begins_anew {
                    before.kind.clone_from(&kind);
                }
                if goes_on {
                    before.kind.clone_from(&kind);
                }
                let is_young = now - before.since < TIMEOUTS * TIMEOUT;
                let (waits, gave) = (is_young && now - before.latest < TIMEOUT, before.challenged);
                before.latest = now;
                before.challenged &= !goes_on;
                before.since = if goes_on { now } else { before.since };
                goes_on && waits || repeats && waits && !gave
            });
            if !is_known {
                let (challenged, alone, answered) = (false, false, false);
                let (since, latest) = (now, now);
                waiting.insert(key, Waiting { since, latest, kind, challenged, alone, answered });
                count.entry(between).or_default().asked += 1;
            }
            continue;
        }
        let Some((key, request, between)) = requests.get(&message["request"].as_u64()) else {
            continue;
        };
        let Some(before) = waiting.get_mut(key) else { continue };
        if name == "challenge_response"
            && (protocol == "gamespy4" || request != "challenge_request")
        {
            before.challenged = true;
            if protocol == "gamespy4" && answered.insert(message["request"].as_u64()) {
                before.alone = true;
                count.entry(between.clone()).or_default().answered += 1;
            }
            continue;
        }
        before.answered = true;
        if answered.insert(message["request"].as_u64()) {
            count.entry(between.clone()).or_default().answered += 1;
        }
    }
    count
}

/// The kind of a request; `None` if the message is not a request.
fn kind(message: &Value) -> Option<String> {
    let name = message["message"].as_str()?;
    let fields = &message["fields"];
    match message["protocol"].as_str()? {
        "a2s" => name.ends_with("_request").then(|| name.to_owned()),
        "gamespy4" => name.ends_with("_request").then(|| format!("{name} {}", fields["timestamp"])),
        // Joins of Xash3D's dialect have a new challenge each time.
        "valve_master" if name == "join" => Some(name.to_owned()),
        "valve_master" => (name == "query").then(|| format!("{name} {fields}")),
        "gamespy1" => {
            matches!(name, "query" | "list_request").then(|| format!("{name} {}", fields["query"]))
        }
        // Each has its own connection, or waits for the previous one.
        "acr_master" => (name.ends_with("_request") && name != "other_request")
            .then(|| format!("{name} {}", message["frame"])),
        _ => None,
    }
}

/// The time of day.
fn seconds(time: &str) -> f64 {
    let time = time.split_once('T').map_or(time, |(_, time)| time).trim_end_matches('Z');
    time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().expect("a number"))
}
