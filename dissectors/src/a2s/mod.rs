//! A2S, the queries of Source and GoldSource game servers: Valve Developer Community, "Server
//! queries".
//!
//! Its peculiarities: a request may be answered with a challenge that the next request must
//! contain; a response may be split over packets in one of three layouts, which a packet does not
//! identify, with or without compression (see `split`); info has two response formats; and games
//! use the same port for their own traffic.

mod asking;
mod claim;
mod conversation;
mod counters;
mod coverage;
mod decode;
mod diagnosis;
mod exchange;
mod fields;
mod habits;
mod kept;
mod kinds;
mod layout;
mod messages;
mod occasion;
mod outline;
mod overdue;
mod parts;
mod pending;
mod recent_responses;
pub(crate) mod rules;
mod shared;
mod split;
mod state;
mod values;
mod words;

#[cfg(test)]
mod tests;

pub use shared::SharedState;
pub use state::Conversation;

use crate::kit::{
    Claim, Context, Description, Group, Hint, Info, Outline, Payload, Protocol, Sink, Time,
    Treatment,
};

/// The protocol.
pub struct A2s;

/// The usual ports of game servers.
const PORTS: &[u16] =
    &[27015, 27016, 27017, 27018, 27019, 27020, 27025, 27035, 27045, 27115, 26900, 28015, 2303];

/// Whether this is a usual port of servers.
fn is_usual(port: u16) -> bool {
    PORTS.contains(&port)
}

/// The fields that describe a server.
static SERVER: Description = Description {
    name: &["name"],
    map: &["map"],
    version: &["version"],
    players: &["players"],
    max_players: &["max_players"],
    game_port: &["port"],
    error: &[],
};

/// The same in the obsolete format, which has no version.
static SERVER_GOLDSRC: Description = Description {
    name: SERVER.name,
    map: SERVER.map,
    version: &[],
    players: SERVER.players,
    max_players: SERVER.max_players,
    game_port: &[],
    error: &[],
};

impl Protocol for A2s {
    const GROUP: Group = Group {
        prefix: "A2S",
        about: "Valve server queries",
        document: Some("Valve Developer Community, Server queries"),
    };
    const INFO: Info = Info {
        id: "a2s",
        title: "A2S server queries",
        ports: PORTS,
        messages: messages::ALL,
        forms: messages::FORMS,
        rules: rules::ALL,
        idle: Info::QUERIES,
        masters: None,
        diagnosis: &diagnosis::DIAGNOSIS,
        habits: habits::HABITS,
        coverage: &coverage::COVERAGE,
        asking: asking::ASKING,
        identifies_part: |bytes| bytes.len() >= 16 || layout::has_number(bytes),
        challenge_is_of_port: false,
    };
    type Settings = ();
    type Conversation = Conversation;
    type SharedState = SharedState;

    #[inline]
    fn claim(bytes: &[u8], hint: Hint) -> Claim {
        claim::claim(bytes, hint)
    }

    fn outline(bytes: &[u8]) -> Option<Outline> {
        outline::outline(bytes)
    }

    fn is_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text)
    }

    fn part_header(bytes: &[u8]) -> Option<&'static [(usize, Treatment)]> {
        kept::part_header(bytes)
    }

    fn opens(bytes: &[u8]) -> bool {
        claim::opens(bytes)
    }

    fn expects(shared: &mut SharedState, payload: &Payload<'_>) -> bool {
        let header = payload.bytes.first_chunk();
        let is_whole =
            header.is_some_and(|header| matches!(*header, layout::SINGLE | layout::SPLIT));
        is_whole && shared.waiting.expects(payload)
            || claim::is_for_server(payload.bytes) && shared.is_served(payload)
    }

    fn forgot(shared: &SharedState) -> bool {
        shared.issued.forgot() || shared.blurred.forgot() || shared.waiting.forgot()
    }

    fn message<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
        conversation::message(cx, payload, sink);
        cx.conversation.tidy();
    }

    fn again<S: Sink>(cx: &mut Context<'_, A2s>, payload: &Payload<'_>, sink: &mut S) {
        conversation::again(cx, payload, sink);
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, A2s>, now: Time, end: bool, sink: &mut S) {
        parts::give_up_due(cx, now, end, sink);
        overdue::expire(cx, now, end, sink);
        cx.conversation.tidy();
    }
}
