//! The GameSpy text protocol, specified by 333networks: "MasterServer".
//!
//! Game servers send heartbeats to a master over UDP and prove their game with a challenge; clients
//! fetch the list of servers over TCP after the same challenge, and query the servers. Everything
//! is text: keys and values separated by backslashes.
//!
//! Its peculiarities: the specification prints the texts without the backslash of an empty value on
//! the wire; a stream has no lengths, and its first message has no end; lists may be blocks of
//! bytes, or encrypted; responses to queries, which the specification leaves to the games, have
//! numbered parts, several in a datagram or one in several; and the code that proves a game is
//! computed with the game's key, of which only one is known here.
//!
//! Rules about one pair of hosts are checked here. Whether a client queries the servers in its list
//! (GS1027, GS1032) needs more than two hosts: that is checked by the ledger.

mod asking;
mod claim;
mod codes;
mod connection;
mod conversation;
mod coverage;
mod decode;
mod diagnosis;
mod ends;
mod fields;
mod form;
mod framing;
mod habits;
mod kept;
mod keywords;
mod list;
mod messages;
mod pending;
mod queries;
mod responses;
pub(crate) mod rules;
mod shared;
mod stream;
mod uplink;
mod validate;
mod words;

#[cfg(test)]
mod tests;

pub use conversation::Conversation;
pub use shared::SharedState;

use std::ops::RangeInclusive;

use crate::kit::{
    Claim, Closed, Context, Description, EndOfList, Framed, Group, Hint, Info, Limit, Masters,
    Outline, Payload, Protocol, Purpose, Read, Secret, Side, Sink, StreamView, TextChallenge, Time,
    Transport, Unread,
};

use decode::MessageKind;
use form::Form;
use pending::QueryKind;

/// The protocol.
pub struct GameSpy1;

/// Masters over UDP, masters over TCP, another port of masters in the specification, and queries.
const PORTS: &[u16] = &[27900, 28900, 27500, 7778];

/// Whether this is a usual port for heartbeats.
fn is_master_port(port: u16) -> bool {
    matches!(port, 27900 | 27500)
}

/// The settings for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The shortest and the longest time between two heartbeats, in nanoseconds.
    pub heartbeat: RangeInclusive<i64>,
    /// How long a master lists a server after its latest heartbeat, in nanoseconds.
    pub listed_longest: i64,
    /// Games' secret keys: game name, key.
    pub keys: Vec<(String, Secret)>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            heartbeat: 30_000_000_000..=300_000_000_000,
            listed_longest: 900_000_000_000,
            keys: Vec::new(),
        }
    }
}

/// The fields that describe a server.
static SERVER: Description = Description {
    name: &["properties.hostname"],
    map: &["properties.mapname", "properties.maptitle"],
    version: &["properties.gamever"],
    players: &["properties.numplayers"],
    max_players: &["properties.maxplayers"],
    game_port: &["properties.hostport"],
    error: &["properties.error"],
};

/// The fields of lists.
static MASTERS: Masters = Masters {
    query_port: Some("port"),
    game: Some("gamename"),
    enciphered: Some("enciphered"),
    greets_at: Some(28900),
    ..Masters::of(EndOfList::Flag("whole"))
};

impl Protocol for GameSpy1 {
    const GROUP: Group = Group {
        prefix: "GS1",
        about: "GameSpy text protocol",
        document: Some("333networks wiki, MasterServer"),
    };
    const INFO: Info = Info {
        id: "gamespy1",
        title: "GameSpy text protocol",
        ports: PORTS,
        messages: messages::ALL,
        forms: &[],
        rules: rules::ALL,
        idle: Info::STATEFUL,
        masters: Some(&MASTERS),
        diagnosis: &diagnosis::DIAGNOSIS,
        habits: habits::HABITS,
        coverage: &coverage::COVERAGE,
        asking: asking::ASKING,
        identifies_part: |_| false,
        challenge_is_of_port: false,
    };
    type Settings = Settings;
    type Conversation = Conversation;
    type SharedState = SharedState;

    #[inline]
    fn claim(bytes: &[u8], hint: Hint) -> Claim {
        claim::claim(bytes, hint)
    }

    fn claim_stream(view: &StreamView<'_>, hint: Hint) -> Claim {
        claim::claim_stream(view, hint)
    }

    fn outline(bytes: &[u8]) -> Option<Outline> {
        let words = words::scan(bytes);
        let lists: [&[u8]; 3] = [b"\\players\\", b"\\rules\\", b"\\status\\"];
        let is_costly = lists.iter().any(|query| bytes.starts_with(query));
        // What is left of a response that was cut has neither its number nor its end.
        let message = match MessageKind::of(&words, Transport::Udp, Form::Text) {
            MessageKind::Other if words.properties >= 3 => MessageKind::Response.message(),
            kind => kind.message(),
        };
        let beats_for = |port: Read<&[u8]>| std::str::from_utf8(port.value).ok()?.parse().ok();
        let game_port = words.hostport.or_else(|| words.heartbeat.and_then(beats_for));
        let secure = words.secure.filter(|_| message.purpose == Purpose::Check);
        let text_challenge = secure.and_then(|secure| secure.value.try_into().ok());
        let query = QueryKind::of(words.first).filter(|_| message.purpose == Purpose::Query);
        let query = query.map(QueryKind::name);
        Some(Outline { query, is_costly, game_port, text_challenge, ..Outline::of(message) })
    }

    fn returns(challenge: TextChallenge, bytes: &[u8]) -> Option<bool> {
        let words = words::scan(bytes);
        let (Some(game), Some(code)) = (words.gamename, words.validate) else { return Some(false) };
        if code.value.len() != validate::RESPONSE {
            return Some(false);
        }
        let expected = validate::usual(game.value, challenge, words.enctype)?;
        Some(expected == code.value)
    }

    fn is_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text)
    }

    fn renewed_code(
        code: &[u8],
        renew: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let code = code.try_into().ok()?;
        let other = validate::renewed(code, |challenge| renew(&challenge)?.try_into().ok())?;
        Some(other.to_vec())
    }

    fn opens(bytes: &[u8]) -> bool {
        claim::opens(bytes)
    }

    fn forgot(shared: &SharedState) -> bool {
        shared.forgot()
    }

    fn frame(cx: &mut Context<'_, Self>, side: Side, unread: &Unread<'_>) -> Framed {
        let most = cx.settings.limits.list_bytes.max(1);
        let goes_on = cx.conversation.framing().lists(side);
        if !cx.flow.seen[side.other().index()] {
            cx.conversation.framing().closes(side);
        }
        let wanted = if goes_on { None } else { cx.conversation.wanted(side) };
        let framed = stream::frame(cx.conversation.framing(), wanted, side, unread, most);
        if framed == Framed::Message(most) && unread.bytes.len() >= most && !unread.ended {
            cx.budget.meet(Limit::ListBytes);
        }
        framed
    }

    fn closed<S: Sink>(
        cx: &mut Context<'_, GameSpy1>,
        how: Closed,
        payload: &Payload<'_>,
        sink: &mut S,
    ) {
        conversation::closed(cx, how, payload, sink);
    }

    fn message<S: Sink>(cx: &mut Context<'_, GameSpy1>, payload: &Payload<'_>, sink: &mut S) {
        conversation::message(cx, payload, sink);
    }

    fn again<S: Sink>(cx: &mut Context<'_, GameSpy1>, payload: &Payload<'_>, sink: &mut S) {
        conversation::again(cx, payload, sink);
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, GameSpy1>, now: Time, end: bool, sink: &mut S) {
        conversation::elapse(cx, now, end, sink);
    }
}
