//! The traits and types of a protocol, which each protocol's folder implements.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::kit::{
    Asking, Budget, Coverage, Diagnosis, Evidence, Group, Habit, Masters, Message, Outline,
    Payload, Piece, Rule, Settings, Side, Sink, TextChallenge, Time, Transport, Treatment,
};

/// How certain a protocol is that bytes belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// They do not.
    No,
    /// They may, if the port or earlier messages of the flow indicate it, too.
    Weak,
    /// More bytes of the stream are needed to decide.
    Undecided,
    /// They do.
    Sure,
}

/// What else is known about a payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// It comes from a usual port of this protocol's servers.
    pub from_port: bool,
    /// It goes to such a port.
    pub to_port: bool,
    /// The flow has used this protocol before.
    pub known: bool,
    /// The user forces this protocol for the flow.
    pub forced: bool,
}

impl Hint {
    /// Whether anything except the bytes indicates the protocol.
    pub const fn any(self) -> bool {
        self.from_port || self.to_port || self.known || self.forced
    }
}

/// The unread beginnings of a stream's two directions.
#[derive(Clone, Copy, Debug)]
pub struct StreamView<'a> {
    /// Unread bytes, by [`Side::index`].
    pub bytes: [&'a [u8]; 2],
    /// Whether the direction's very first byte is among them.
    pub began: [bool; 2],
    /// Whether the direction has ended.
    pub ended: [bool; 2],
}

/// The bytes of one direction of a stream that belong to no message yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The number of bytes that were there at the last call: a search can continue there.
    pub seen: usize,
    /// No more bytes will come: the sender has closed, or the recording lost the rest.
    pub ended: bool,
    /// Bytes are missing before the first one, or may be: see [`begins_late`](Unread::begins_late).
    pub after_gap: bool,
    /// The first bytes of a direction whose beginning is not in the capture.
    pub begins_late: bool,
    /// The connection was reset after the last byte.
    pub is_reset: bool,
}

/// How one direction of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The sender closed the connection.
    Orderly,
    /// The connection was reset. If both directions end so, the first is that of the sender of the
    /// reset.
    Reset,
}

/// What comes next in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed {
    /// A message of this many bytes, more than 0.
    Message(usize),
    /// The message is incomplete.
    More,
    /// This many bytes, more than 0, belong to no message.
    Junk(usize),
}

/// The constant properties of a protocol.
pub struct Info {
    /// The name in scripts.
    pub id: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The usual ports of its servers, the most usual first: a hint, never proof.
    pub ports: &'static [u16],
    /// Its messages.
    pub messages: &'static [&'static Message],
    /// Variants of these with another speaker and purpose.
    pub forms: &'static [&'static Message],
    /// Its rules, by code.
    pub rules: &'static [&'static Rule],
    /// For how long, in nanoseconds, a conversation over UDP may be silent before it ends.
    pub idle: i64,
    /// Which fields of messages between its masters and other hosts matter, if it has masters.
    pub masters: Option<&'static Masters>,
    /// The conditions for players to see its servers.
    pub diagnosis: &'static Diagnosis,
    /// The known habits of its clients' libraries: at most 16.
    pub habits: &'static [Habit],
    /// What a client asks its servers and masters.
    pub asking: &'static [Asking],
    /// Whether these first bytes of a datagram say which message it is, and which part of a response, so that what a
    /// recording cuts off after them hides nothing else.
    pub identifies_part: fn(&[u8]) -> bool,
    /// A challenge holds for the port that got it alone, not for all ports of its address.
    pub challenge_is_of_port: bool,
    /// What covers each statement of its specification.
    pub coverage: &'static Coverage,
}

impl FlowFacts {
    /// Both ends, `side` first.
    pub fn ends_from(&self, side: Side) -> [SocketAddr; 2] {
        match side {
            Side::First => self.ends,
            Side::Second => [self.ends[1], self.ends[0]],
        }
    }

    /// A payload of these bytes, sent by `side` on this flow. The caller sets packet and time.
    pub fn payload<'a>(&self, side: Side, bytes: &'a [u8], pieces: &'a [Piece]) -> Payload<'a> {
        let (flow, transport) = (self.number, self.transport);
        Payload { pieces, side, flow, transport, ..Payload::of(bytes, self.ends_from(side)) }
    }
}

impl Info {
    /// For protocols in which a request depends on nothing that is older: after two minutes, a network address
    /// translator may give the same port to another client (RFC 4787, section 4.3).
    pub const QUERIES: i64 = 120_000_000_000;
    /// For protocols whose messages depend on earlier ones of the same port, as heartbeats and challenges do: a day,
    /// because heartbeats that come far too seldom are judged, too.
    pub const STATEFUL: i64 = 86_400_000_000_000;
    /// For flows whose protocol is unknown: a quarter of an hour.
    pub const UNKNOWN: i64 = 900_000_000_000;
}

/// What is known about the flow of a message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowFacts {
    /// The flow's ends, by [`Side::index`].
    pub ends: [SocketAddr; 2],
    /// Its first packet opens a conversation.
    pub began: bool,
    /// The capture has a packet from this side, by [`Side::index`].
    pub seen: [bool; 2],
    /// For how many nanoseconds it was silent before the current datagram, or until now; the
    /// maximum if the user states that the capture is complete.
    pub silence: u64,
    /// The recording lost packets between its ends.
    pub lossy: bool,
    /// The flow's number in this run.
    pub number: u32,
    /// Its transport protocol.
    pub transport: Transport,
}

impl FlowFacts {
    /// The evidence for the current message.
    pub fn evidence(&self) -> Evidence {
        Evidence {
            began: self.began,
            lossy: self.lossy,
            asked_party_seen: self.seen == [true; 2],
            ..Evidence::default()
        }
    }

    /// As evidence that one side has not responded, by `now`, to what was `sent` to it.
    pub fn unanswered(&self, by: Side, sent: Time, now: Time, timeout: i64) -> Evidence {
        Evidence {
            began: self.began,
            asked_party_seen: self.seen[by.index()],
            waited: now.since(sent) >= timeout,
            ..Evidence::default()
        }
    }
}

/// State that a protocol may read and change while it decodes a message.
pub struct Context<'c, P: Protocol> {
    /// The state of the flow.
    pub conversation: &'c mut P::Conversation,
    /// The state that spans the flows between two hosts.
    pub shared: &'c mut P::SharedState,
    /// The flow.
    pub flow: &'c FlowFacts,
    /// The user's settings.
    pub settings: &'c Settings,
    /// Memory for unfinished responses.
    pub budget: &'c mut Budget,
}

/// The state of one flow. It should be small for a flow with a single message.
pub trait FlowState: Default + Send {
    /// Heap memory in bytes. Memory that [`Budget`] counts, such as unfinished responses, is left out.
    fn held(&self) -> usize;

    /// An ICMP error says that a datagram of the flow, sent in this packet, did not arrive. If it
    /// is a request, no response will come: see [`Evidence::refused`].
    fn refused(&mut self, _frame: u64) {}

    /// The latest time at which [`Protocol::elapse`] must be called, because something unfinished times
    /// out.
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// One protocol. Its inputs are bytes and times, its output goes to a sink; it never waits, prints
/// or opens anything.
pub trait Protocol: Sized {
    /// The group of its rules, and the specification that they cite.
    const GROUP: Group;
    /// Its constant properties.
    const INFO: Info;
    /// Its settings for users; `()` for none.
    type Settings: Clone + std::fmt::Debug + Default;
    /// The state of one flow.
    type Conversation: FlowState;
    /// State that spans flows. Its entries must be keyed so that traffic of one pair of hosts never
    /// affects the results of another.
    type SharedState: Default + Send;

    /// Whether a datagram is this protocol's.
    fn claim(bytes: &[u8], hint: Hint) -> Claim;

    /// Whether a stream is this protocol's, by its first bytes.
    fn claim_stream(_: &StreamView<'_>, _: Hint) -> Claim {
        Claim::No
    }

    /// The kind of a datagram, if its bytes show it without the flow. Reads only a few bytes.
    fn outline(_: &[u8]) -> Option<Outline> {
        None
    }

    /// The ports of the server that registers with a request that begins with these bytes of a stream: where players join,
    /// and where it answers queries. Asked of every segment: most are told by a few bytes.
    fn registered_ports(_: &[u8]) -> Option<[u16; 2]> {
        None
    }

    /// Whether a datagram has the code that returns a challenge in text; `None`: the code is unknown.
    fn returns(_: TextChallenge, _: &[u8]) -> Option<bool> {
        Some(false)
    }

    /// Whether a text is one of the words that `scrub` keeps wherever texts are framed by words.
    fn is_known_word(_: &[u8]) -> bool {
        false
    }

    /// Whether a text is such a word, or the beginning of one that begins a line: a message may be cut there.
    fn begins_known_word(text: &[u8]) -> bool {
        Self::is_known_word(text)
    }

    /// Whether a text is a word by which readers of this protocol find their way, such as a key,
    /// known or not: `scrub` makes words of words only.
    fn is_word(text: &[u8]) -> bool {
        Self::is_known_word(text)
    }

    /// The header of a part of a response, as lengths and what `scrub` does with them, if this is a
    /// part. The joined response does not have it.
    fn part_header(_: &[u8]) -> Option<&'static [(usize, Treatment)]> {
        None
    }

    /// What `scrub` makes of the response to a challenge: if it is correct for a challenge, the one
    /// that is correct for what `renew` makes of that, if it is the one that was given.
    fn renewed_code(_: &[u8], _renew: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        None
    }

    /// Whether a datagram belongs to this protocol although its content does not show it: the
    /// shared state announced it, or it can be nothing else because of its source.
    fn expects(_: &mut Self::SharedState, _: &Payload<'_>) -> bool {
        false
    }

    /// Whether the shared state has reached [`Limits::remembered`](super::Limits::remembered) and
    /// forgotten something.
    fn forgot(_: &Self::SharedState) -> bool {
        false
    }

    /// Whether a datagram opens a conversation, so that no earlier packet is missing.
    fn opens(bytes: &[u8]) -> bool;

    /// What comes next in the unread bytes of one direction of a stream. Called again whenever more
    /// bytes have arrived; `unread` holds at least one byte.
    fn frame(_: &mut Context<'_, Self>, _: Side, unread: &Unread<'_>) -> Framed {
        Framed::Junk(unread.bytes.len())
    }

    /// One direction of a stream has ended. The empty payload holds the sender, the time and the
    /// packet.
    fn closed<S: Sink>(_: &mut Context<'_, Self>, _: Closed, _: &Payload<'_>, _: &mut S) {}

    /// Decodes and checks one datagram or framed message, and updates the conversation.
    fn message<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S);

    /// Decodes a duplicate datagram like [`Protocol::message`], only to show it: checks nothing and
    /// leaves the conversation unchanged.
    fn again<S: Sink>(_: &mut Context<'_, Self>, _: &Payload<'_>, _: &mut S) {}

    /// The capture has reached `now`. With `end`, the flow has ended, and all open requests are
    /// checked.
    fn elapse<S: Sink>(cx: &mut Context<'_, Self>, now: Time, end: bool, sink: &mut S);
}
