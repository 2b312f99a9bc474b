//! AssaultCube Reloaded master server, "Protocol v1.3".
//!
//! A small HTTP API: game clients request servers with `/c`; game servers register with `/r`, ask
//! with `/a` whether a player may enter, and verify players with `/v`. Its peculiarities:
//!
//! A response can be interpreted only together with its request: `*a` and a registration's text
//! look alike on the wire. Therefore requests are kept in order, and responses are matched in that
//! order.
//!
//! The endpoints are single letters, and ordinary web sites have such paths too: a connection is
//! claimed by the endpoint together with its parameters, or by the format of the response.
//!
//! The master checks a registering server's UDP socket from another socket of its own: that
//! datagram of one byte is recognized only by the registration before it.

mod asking;
mod claim;
mod conversation;
mod coverage;
mod diagnosis;
mod digest;
mod fields;
mod habits;
mod kept;
mod lines;
mod messages;
mod params;
mod probe;
mod request;
mod response;
pub(crate) mod rules;
mod servers;
mod shared;

#[cfg(test)]
mod tests;

use crate::kit::{
    Claim, Closed, Context, EndOfList, Framed, Group, Hint, Info, Masters, Payload, Protocol,
    Secret, Side, Sink, StreamView, Time, Transport, Unread,
};

pub use conversation::Conversation;
pub use shared::SharedState;

/// The protocol.
pub struct AcrMaster;

/// The settings for users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Players' secret keys: user ID, key.
    pub keys: Vec<(String, Secret)>,
}

/// The fields of lists.
static MASTERS: Masters = Masters {
    query_port: Some("p"),
    usual_port: Some(servers::USUAL_PORT),
    probe_above: Some(1),
    enciphered: Some("encoded"),
    // The specification has neither: these are the responses of AssaultCube Reloaded's master.
    refusal: Some(("text", &["*f", "ERROR"])),
    stranger: Some(("auth", "f")),
    status: Some(("status", 200)),
    // "Not Modified", to a request with a condition (RFC 9110).
    unchanged: Some(304),
    banned: Some(("flags", 0b11, 2)),
    ..Masters::of(EndOfList::InOneMessage("whole"))
};

impl Protocol for AcrMaster {
    const GROUP: Group = Group {
        prefix: "ACR",
        about: "AssaultCube Reloaded master server",
        document: Some("AssaultCube Reloaded master server, Protocol v1.3"),
    };
    const INFO: Info = Info {
        id: "acr_master",
        title: "AssaultCube Reloaded master server",
        ports: &[80],
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

    /// A datagram belongs to this protocol only as part of a socket check.
    fn claim(_: &[u8], hint: Hint) -> Claim {
        if hint.known { Claim::Weak } else { Claim::No }
    }

    fn claim_stream(view: &StreamView<'_>, _: Hint) -> Claim {
        claim::claim(view)
    }

    fn registered_ports(request: &[u8]) -> Option<[u16; 2]> {
        claim::registered_ports(request)
    }

    fn expects(shared: &mut SharedState, payload: &Payload<'_>) -> bool {
        shared.expects(payload)
    }

    fn forgot(shared: &SharedState) -> bool {
        shared.registered.forgot() || shared.ids.forgot()
    }

    /// Streams begin with a SYN; a socket check is recognized by the registration before it.
    fn is_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text)
    }

    fn begins_known_word(text: &[u8]) -> bool {
        kept::is_known_word(text) || kept::begins_line(text)
    }

    fn opens(_: &[u8]) -> bool {
        false
    }

    fn frame(cx: &mut Context<'_, Self>, side: Side, unread: &Unread<'_>) -> Framed {
        cx.conversation.frame(side, unread, &cx.settings.limits, cx.budget)
    }

    fn closed<S: Sink>(
        cx: &mut Context<'_, Self>,
        how: Closed,
        payload: &Payload<'_>,
        sink: &mut S,
    ) {
        conversation::closed(cx, how, payload, sink);
    }

    fn message<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S) {
        match payload.transport {
            Transport::Tcp => conversation::http(cx, payload, sink),
            Transport::Udp => probe::socket_check(cx, payload, sink),
        }
    }

    fn again<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S) {
        if payload.transport == Transport::Udp {
            probe::again(cx, payload, sink);
        }
    }

    fn elapse<S: Sink>(cx: &mut Context<'_, Self>, now: Time, end: bool, sink: &mut S) {
        if end {
            conversation::ended(cx, now, sink);
            probe::ended(cx, now, sink);
        }
    }
}
