//! The protocol of Steam's legacy master servers: Valve Developer Community, "Master Server Query
//! Protocol". Clients list servers page by page; game servers join, are challenged, describe
//! themselves, repeat this every five minutes, and quit.
//!
//! Its peculiarities: only masters send FF FF FF FF before their messages, so that a join is one
//! byte and a quit two or three; a reply has neither a count nor a length; and the port of an
//! address block is the only number in network order. Xash3D uses a dialect: a join contains a
//! challenge from the server, a reply may repeat a key of the query, address blocks may hold IPv6
//! addresses, and a master announces clients to servers behind NAT. It is decoded and labelled.
//!
//! Rules about one flow are checked here, and whether a listing changes its socket. Whether a
//! server joins two masters (VM046) needs more than two hosts: that is checked by the ledger.

mod asking;
mod claim;
mod conditions;
mod conversation;
mod coverage;
mod decode;
mod diagnosis;
mod endpoint;
mod fields;
mod filter;
mod habits;
mod info;
mod info_keys;
mod kept;
mod listing;
mod messages;
mod pending;
mod registration;
mod reply;
pub(crate) mod rules;
mod selects;
mod shared;
#[cfg(test)]
mod tests;

pub use conversation::Conversation;
pub use shared::SharedState;

use std::net::{IpAddr, SocketAddr};

use crate::kit::{
    Claim, Context, Description, EndOfList, Group, Hint, Info, ListFilter, Masters, Outline,
    Payload, Protocol, Sink, Time,
};

/// The protocol.
pub struct ValveMaster;

/// The settings for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time between two joins of a server, in nanoseconds.
    pub heartbeat: i64,
    /// How far from that a join may be, in percent of it.
    pub heartbeat_tolerance: u8,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { heartbeat: 300_000_000_000, heartbeat_tolerance: 10 }
    }
}

/// The fields of the info string that describe a server.
static SERVER: Description = Description {
    name: &[],
    map: &["info.map"],
    version: &["info.version"],
    players: &["info.players"],
    max_players: &["info.max"],
    game_port: &[],
    error: &[],
};

/// The masters whose addresses the specification has, "Master servers".
fn known_master(master: SocketAddr) -> Option<&'static str> {
    match (master.ip(), master.port()) {
        (IpAddr::V4(ip), 27010..=27013) if matches!(ip.octets(), [208, 64, 200, 117 | 118]) => {
            Some("hl1master.steampowered.com")
        }
        (IpAddr::V4(ip), 27010) if ip.octets() == [69, 28, 151, 162] => {
            Some("SiN 1 Multiplayer's master")
        }
        _ => None,
    }
}

/// The fields of lists.
static MASTERS: Masters = Masters {
    known: known_master,
    goes_on_after: Some("seed"),
    narrowed: &[("filter", ""), ("region", "255")],
    selects: Some(ListFilter {
        description: "info",
        selects: selects::selects,
        first_condition: selects::first_condition,
        begins: b'1',
    }),
    lan_only: Some(("lan", "1")),
    ..Masters::of(EndOfList::Flag("end"))
};

impl Protocol for ValveMaster {
    const GROUP: Group = Group {
        prefix: "VM",
        about: "Valve master server",
        document: Some("Valve Developer Community, Master Server Query Protocol"),
    };
    const INFO: Info = Info {
        id: "valve_master",
        title: "Valve master server",
        ports: &[27010, 27011, 27012, 27013],
        messages: messages::ALL,
        forms: &[],
        rules: rules::ALL,
        idle: Info::STATEFUL,
        masters: Some(&MASTERS),
        diagnosis: &diagnosis::DIAGNOSIS,
        habits: habits::HABITS,
        coverage: &coverage::COVERAGE,
        asking: asking::ASKING,
        identifies_part: |bytes| bytes.starts_with(b"0\n"),
        challenge_is_of_port: false,
    };
    type Settings = Settings;
    type Conversation = Conversation;
    type SharedState = SharedState;

    #[inline]
    fn claim(bytes: &[u8], hint: Hint) -> Claim {
        claim::claim(bytes, hint)
    }

    fn outline(bytes: &[u8]) -> Option<Outline> {
        match bytes {
            [b'1', _, seed @ ..] => {
                let goes_on = !seed.starts_with(b"0.0.0.0:0\0") && seed.contains(&0);
                Some(Outline { goes_on, ..Outline::of(&messages::QUERY) })
            }
            [b'1'] => Some(Outline::of(&messages::QUERY)),
            [0xFF, 0xFF, 0xFF, 0xFF, b'f', _, ..] => {
                Some(Outline { list: Some(6), ..Outline::of(&messages::REPLY) })
            }
            [0xFF, 0xFF, 0xFF, 0xFF, b'f'] => Some(Outline::of(&messages::REPLY)),
            _ if claim::is_join(bytes) => Some(Outline::of(&messages::JOIN)),
            // What the server itself sent comes before the challenge.
            [0xFF, 0xFF, 0xFF, 0xFF, b's', b'\n', .., a, b, c, d] if bytes.len() >= 10 => {
                let challenge = Some(u32::from_le_bytes([*a, *b, *c, *d]));
                Some(Outline { challenge, ..Outline::of(&messages::CHALLENGE) })
            }
            [b'0', b'\n' | b'\\', ..] => {
                let challenge = claim::returned(bytes);
                Some(Outline { challenge, ..Outline::of(&messages::CHALLENGE_RESPONSE) })
            }
            [b'b', ..] => Some(Outline::of(&messages::QUIT)),
            _ => None,
        }
    }

    fn is_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text)
    }

    fn opens(bytes: &[u8]) -> bool {
        claim::opens(bytes)
    }

    fn forgot(shared: &SharedState) -> bool {
        shared.forgot()
    }

    fn message<S: Sink>(cx: &mut Context<'_, ValveMaster>, payload: &Payload<'_>, sink: &mut S) {
        conversation::message(cx, payload, sink);
    }

    fn again<S: Sink>(cx: &mut Context<'_, ValveMaster>, payload: &Payload<'_>, sink: &mut S) {
        conversation::again(cx, payload, sink);
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, ValveMaster>, now: Time, end: bool, sink: &mut S) {
        conversation::elapse(cx, now, end, sink);
    }
}
