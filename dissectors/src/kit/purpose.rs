//! What messages are for, in words that all protocols share, and where they say what.
//!
//! Code that shows servers, masters and clients goes by this, and need not know any message's name.

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A client asks a server.
    Query,
    /// A client asks a server for nothing but a challenge.
    ChallengeRequest,
    /// A server answers a client.
    Response,
    /// A server answers a client with a challenge, which the next request must have.
    ClientChallenge,
    /// A client asks a master for a list of servers.
    ListRequest,
    /// A master lists servers, or some of them.
    List,
    /// A server asks a master to list it.
    Join,
    /// A master answers that.
    JoinResponse,
    /// A server says to a master that it is still there.
    Heartbeat,
    /// A server says to a master that it will not be there any more.
    Quit,
    /// A master challenges a server that joins.
    Challenge,
    /// The server's response, with what it says of itself.
    ChallengeResponse,
    /// A master checks a server; it may do so from a port of its own, where nobody asks it.
    Check,
    /// What is answered to that.
    CheckResponse,
    /// A server asks a master about a player.
    Authentication,
    /// The master's answer.
    AuthenticationResponse,
    /// Anything else.
    Other,
}

impl Purpose {
    /// Whether it begins an exchange, unless it goes on with one. What a master checks is no exchange
    /// of somebody who asks.
    pub fn begins_exchange(self) -> bool {
        self.is_request() && self != Purpose::Check
    }

    /// Whether it ends an exchange, if it is what was asked for.
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

    /// Whether it asks for something, and is sent again where nothing comes.
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

/// What a kind of message says of the server that sends it: paths of fields below the message,
/// where the first one that leads to something counts.
#[derive(Debug)]
pub struct Description {
    /// The server's name.
    pub name: &'static [&'static str],
    /// The map that is played.
    pub map: &'static [&'static str],
    /// The version of the server's program.
    pub version: &'static [&'static str],
    /// How many players there are.
    pub players: &'static [&'static str],
    /// How many players there can be.
    pub max_players: &'static [&'static str],
}

/// Where the messages of a protocol with master servers say what matters of lists: paths of fields
/// below the message.
#[derive(Debug)]
pub struct Masters {
    /// The port where a server takes queries, in a [`Purpose::Join`] or a [`Purpose::Heartbeat`];
    /// without it: the port that it sends from.
    pub query_port: Option<&'static str>,
    /// The port that is meant where a message with such a field names none.
    pub usual_port: Option<u16>,
    /// How many ports above the server's queries a master probes, if it does.
    pub probe_above: Option<u16>,
    /// The address after which a list is to go on, in a [`Purpose::ListRequest`]: 0.0.0.0 in the
    /// first one. Without it: each asks for a whole list.
    pub goes_on_after: Option<&'static str>,
    /// The fields by which a [`Purpose::ListRequest`] asks for some servers only, each with the
    /// value that leaves none out.
    pub narrowed: &'static [(&'static str, &'static str)],
    /// Whether such a list has a server, where that can be known.
    pub selects: Option<Selects>,
    /// The game, in what servers send and in a [`Purpose::ListRequest`], where lists are of one
    /// game.
    pub game: Option<&'static str>,
    /// The field that holds what cannot be read of a [`Purpose::List`], where it is enciphered.
    pub enciphered: Option<&'static str>,
    /// What shows that a [`Purpose::List`] is the end of one.
    pub end: EndOfList,
    /// The text of a [`Purpose::JoinResponse`], and how it may begin where the master refuses.
    pub refusal: Option<(&'static str, &'static [&'static str])>,
    /// What a [`Purpose::AuthenticationResponse`] says where the master may not know the server that asks: a
    /// field and its value. With another value it knows it.
    pub stranger: Option<(&'static str, &'static str)>,
    /// The number of a [`Purpose::JoinResponse`] that says whether there is one, and the one for
    /// success.
    pub status: Option<(&'static str, u64)>,
}

/// How it is known whether a list that was asked for with a filter has a server.
#[derive(Clone, Copy, Debug)]
pub struct Selects {
    /// What the server said of itself to the master: a map, in a [`Purpose::ChallengeResponse`].
    pub said: &'static str,
    /// Whether it is in the list: by the values of the fields of [`Masters::narrowed`], in their
    /// order, and by what it said of each key. `None`: that is not known.
    pub selects: fn(&[Vec<u8>], &Said<'_>) -> Option<bool>,
}

/// The value of a key of what a server said of itself, if it is known.
pub type Said<'s> = dyn Fn(&str) -> Option<&'s [u8]> + 's;

/// What shows that a list is at its end.
#[derive(Clone, Copy, Debug)]
pub enum EndOfList {
    /// This flag is set.
    Flag(&'static str),
    /// There is such a field.
    Field(&'static str),
}
