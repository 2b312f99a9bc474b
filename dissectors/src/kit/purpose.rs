//! The purposes of messages, common to all protocols, and which of their fields matter.
//!
//! Code that shows servers, masters and clients uses these and needs no names of messages.

use std::net::SocketAddr;

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A client asks a server.
    Query,
    /// A client asks a server for a challenge only.
    ChallengeRequest,
    /// A server answers a client.
    Response,
    /// A server sends a client a challenge, which the next request must contain.
    ClientChallenge,
    /// A client asks a master for a list of servers.
    ListRequest,
    /// A master lists servers, or a part of its list.
    List,
    /// A server asks a master to list it.
    Join,
    /// A master answers that.
    JoinResponse,
    /// A server tells a master that it is still running.
    Heartbeat,
    /// A server tells a master that it stops.
    Quit,
    /// A master challenges a server that joins.
    Challenge,
    /// The server's response, which describes the server.
    ChallengeResponse,
    /// A master checks a server; it may use another port for it, to which no host sends requests.
    Check,
    /// The response to that.
    CheckResponse,
    /// A server asks a master about a player.
    Authentication,
    /// The master's response.
    AuthenticationResponse,
    /// Anything else.
    Other,
}

impl Purpose {
    /// Whether it begins an exchange, unless it continues one. A master's check is not a client's
    /// exchange.
    pub fn begins_exchange(self) -> bool {
        self.is_request() && self != Purpose::Check
    }

    /// Whether it ends an exchange, if it has the requested data.
    pub fn ends_exchange(self) -> bool {
        matches!(
            self,
            Purpose::Response
                | Purpose::ClientChallenge
                | Purpose::List
                | Purpose::JoinResponse
                | Purpose::Challenge
                | Purpose::AuthenticationResponse
        )
    }

    /// Whether it is a request, which is repeated if there is no response.
    pub fn is_request(self) -> bool {
        matches!(
            self,
            Purpose::Query
                | Purpose::ChallengeRequest
                | Purpose::ListRequest
                | Purpose::Join
                | Purpose::Check
                | Purpose::Authentication
        )
    }
}

/// Nanoseconds for which the number of players in a description is compared with those of lists.
pub const COUNTS_COMPARED_WITHIN: i64 = 10_000_000_000;

/// How a kind of message describes the server that sends it: paths of fields within the message.
/// The first path with a value counts.
#[derive(Debug)]
pub struct Description {
    /// The server's name.
    pub name: &'static [&'static str],
    /// The current map.
    pub map: &'static [&'static str],
    /// The version of the server program.
    pub version: &'static [&'static str],
    /// The number of players.
    pub players: &'static [&'static str],
    /// The maximum number of players.
    pub max_players: &'static [&'static str],
    /// The UDP port that players join.
    pub game_port: &'static [&'static str],
    /// The words with which a server may refuse a client, in place of all of these.
    pub error: &'static [&'static str],
}

/// Which fields matter in messages of a protocol with master servers: paths of fields within the
/// message.
#[derive(Debug)]
pub struct Masters {
    /// The name that the specification gives the master with this address, if it has one.
    pub known: fn(SocketAddr) -> Option<&'static str>,
    /// The port on which a server takes queries, in a [`Purpose::Join`] or a
    /// [`Purpose::Heartbeat`]. `None`: its source port.
    pub query_port: Option<&'static str>,
    /// The default port if a message with such a field has none.
    pub usual_port: Option<u16>,
    /// The offset from the server's query port to the port that a master probes, if it does.
    pub probe_above: Option<u16>,
    /// The address after which a list continues, in a [`Purpose::ListRequest`]: 0.0.0.0 in the
    /// first one. `None`: each requests a whole list.
    pub goes_on_after: Option<&'static str>,
    /// The fields by which a [`Purpose::ListRequest`] selects servers, each with the value that
    /// selects all.
    pub narrowed: &'static [(&'static str, &'static str)],
    /// Whether a filtered list includes a server, if that can be known.
    pub selects: Option<ListFilter>,
    /// The game, in messages of servers and in a [`Purpose::ListRequest`], if lists are per game.
    pub game: Option<&'static str>,
    /// The field with the encrypted part of a [`Purpose::List`].
    pub enciphered: Option<&'static str>,
    /// What marks the end of a list in a [`Purpose::List`].
    pub end: EndOfList,
    /// The text of a [`Purpose::JoinResponse`], and its possible beginnings if the master refuses.
    pub refusal: Option<(&'static str, &'static [&'static str])>,
    /// The field and value of a [`Purpose::AuthenticationResponse`] that may mean that the master
    /// does not know the server. Any other value means that it does.
    pub stranger: Option<(&'static str, &'static str)>,
    /// The status number of a [`Purpose::JoinResponse`], and its value for success.
    pub status: Option<(&'static str, u64)>,
    /// The status number in place of a list which the client has already.
    pub unchanged: Option<u64>,
    /// The field of a [`Purpose::List`], its bits, and their value that mean that the master has banned the client.
    pub banned: Option<(&'static str, u64, u64)>,
    /// The TCP port of a master that speaks first in a connection.
    pub greets_at: Option<u16>,
    /// The key and the value in [`ListFilter::description`] of a server that is not for the public.
    pub lan_only: Option<(&'static str, &'static str)>,
}

impl Masters {
    /// Whole lists of addresses, which end like this, and nothing special.
    pub const fn of(end: EndOfList) -> Masters {
        Masters {
            known: |_| None,
            query_port: None,
            usual_port: None,
            probe_above: None,
            goes_on_after: None,
            narrowed: &[],
            selects: None,
            game: None,
            enciphered: None,
            end,
            refusal: None,
            stranger: None,
            status: None,
            unchanged: None,
            banned: None,
            greets_at: None,
            lan_only: None,
        }
    }
}

/// How to find out whether a filtered list includes a server.
#[derive(Clone, Copy, Debug)]
pub struct ListFilter {
    /// The map in a [`Purpose::ChallengeResponse`] in which the server describes itself.
    pub description: &'static str,
    /// Whether the list includes it, from the values of the fields of [`Masters::narrowed`], in
    /// order, and the server's description of itself. `None`: unknown.
    pub selects: fn(&[Vec<u8>], &KeyLookup<'_>) -> Option<bool>,
    /// The first condition, or group of conditions, of a filter. `None`: it cannot be read.
    pub first_condition: fn(&[u8]) -> Option<&[u8]>,
    /// The first byte of every [`Purpose::ListRequest`].
    pub begins: u8,
}

/// The value of a key in a server's description of itself, if known; of `address`, the server's address and port.
pub type KeyLookup<'s> = dyn Fn(&str) -> Option<&'s [u8]> + 's;

/// What marks the end of a list.
#[derive(Clone, Copy, Debug)]
pub enum EndOfList {
    /// This flag is set.
    Flag(&'static str),
    /// A list is one message, and this flag says whether it is whole.
    InOneMessage(&'static str),
}
