//! The shape of a protocol: what a folder beside this one provides.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::kit::{
    Budget, Diagnosis, Evidence, Group, Habit, Masters, Message, Outline, Payload, Piece, Rule,
    Settings, Side, Sink, Time, Transport,
};

/// How sure a protocol is that bytes are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// They are not.
    No,
    /// They may be, if the port, or what the flow said before, says so too.
    Weak,
    /// A stream's first bytes do not tell yet.
    Undecided,
    /// They are.
    Sure,
}

/// What is known of a payload besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// It comes from a port that is usual for this protocol's servers.
    pub from_port: bool,
    /// It goes to such a port.
    pub to_port: bool,
    /// The flow has spoken this protocol before.
    pub known: bool,
    /// The user says that the flow speaks this protocol.
    pub forced: bool,
}

impl Hint {
    /// Whether anything but the bytes speaks for the protocol.
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

/// The bytes of one direction of a stream that no message has used yet.
#[derive(Clone, Copy, Debug)]
pub struct Unread<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// How many of them were there the last time: a search may go on from here.
    pub seen: usize,
    /// No more will come: the sender has closed, or the recording has lost what follows.
    pub ended: bool,
    /// Bytes are missing before the first one.
    pub after_gap: bool,
}

/// How one direction of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The sender has said all.
    Orderly,
    /// The connection was reset. Of two directions that end so, the first is that of who did it.
    Reset,
}

/// What comes next in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed {
    /// A message of this many bytes, more than 0.
    Message(usize),
    /// The message is not whole yet.
    More,
    /// This many bytes, more than 0, belong to no message.
    Junk(usize),
}

/// What is fixed about a protocol.
pub struct Info {
    /// The name scripts use.
    pub id: &'static str,
    /// The name people use.
    pub title: &'static str,
    /// Ports its servers usually listen on, first the most usual: a hint, never a proof.
    pub ports: &'static [u16],
    /// Its messages.
    pub messages: &'static [&'static Message],
    /// Forms of these that differ only in who speaks them what for.
    pub forms: &'static [&'static Message],
    /// Its rules, by code.
    pub rules: &'static [&'static Rule],
    /// For how long, in nanoseconds, a conversation of datagrams may be silent and go on after it.
    pub idle: i64,
    /// What messages between its masters and others hold, if it has masters.
    pub masters: Option<&'static Masters>,
    /// What its servers need before players see them.
    pub diagnosis: &'static Diagnosis,
    /// By what its clients' libraries are known, as far as they are: at most 16.
    pub habits: &'static [Habit],
}

impl FlowFacts {
    /// Both ends, that of one side first.
    pub fn ends_from(&self, side: Side) -> [SocketAddr; 2] {
        match side {
            Side::First => self.ends,
            Side::Second => [self.ends[1], self.ends[0]],
        }
    }

    /// Bytes that one side sent on this flow; in which packet, and when, is for who knows it to
    /// say.
    pub fn payload<'a>(&self, side: Side, bytes: &'a [u8], pieces: &'a [Piece]) -> Payload<'a> {
        let [from, to] = self.ends_from(side);
        Payload {
            bytes,
            pieces,
            inflated: false,
            headers: 0,
            frame: 0,
            time: Time(0),
            side,
            from,
            to,
            flow: self.number,
            transport: self.transport,
            lost: false,
            hash: None,
        }
    }
}

impl Info {
    /// Where a request is answered at once, and that is all: through a translator of addresses the
    /// same port may be another client's after two minutes (RFC 4787, section 4.3).
    pub const QUERIES: i64 = 120_000_000_000;
    /// Three heartbeats of a game server: one that is overdue still belongs to those before it.
    pub const HEARTBEATS: i64 = 900_000_000_000;
}

/// What the flow tracker knows of the flow a message belongs to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowFacts {
    /// The flow's ends, by [`Side::index`].
    pub ends: [SocketAddr; 2],
    /// Its first packet opens a conversation.
    pub began: bool,
    /// A packet of this side is in the capture, by [`Side::index`].
    pub seen: [bool; 2],
    /// For how many nanoseconds it was silent before the current datagram, or until now; for ever,
    /// if the user vouches that nothing more came.
    pub silence: u64,
    /// The recording lost something between its ends.
    pub lossy: bool,
    /// The flow's number in this run.
    pub number: u32,
    /// What carries it.
    pub transport: Transport,
}

impl FlowFacts {
    /// As evidence for the current message.
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

/// What a protocol may look at and change when it is handed a message.
pub struct Context<'c, P: Protocol> {
    /// What the flow has said so far.
    pub conversation: &'c mut P::Conversation,
    /// What spans the flows between two hosts.
    pub shared: &'c mut P::SharedState,
    /// The flow.
    pub flow: &'c FlowFacts,
    /// The user's settings.
    pub settings: &'c Settings,
    /// Memory for unfinished responses.
    pub budget: &'c mut Budget,
}

/// One protocol. Bytes and times come in, a sink is informed; nothing waits, prints or opens.
pub trait Protocol: Sized {
    /// The group of its rules, and the specification that they cite.
    const GROUP: Group;
    /// What is fixed besides.
    const INFO: Info;
    /// What the user can set about it; `()` for nothing.
    type Settings: Clone + std::fmt::Debug + Default;
    /// The state of one flow. The state of a flow that has said one thing only should be small.
    type Conversation: Default + Send;
    /// What spans flows. Its entries must be keyed so that the traffic of one pair of hosts never
    /// changes what is said of another's.
    type SharedState: Default + Send;

    /// Whether a datagram is this protocol's.
    fn claim(bytes: &[u8], hint: Hint) -> Claim;

    /// Whether a stream is this protocol's, by its first bytes.
    fn claim_stream(_: &StreamView<'_>, _: Hint) -> Claim {
        Claim::No
    }

    /// What a datagram is by itself, if its bytes say it. It reads little, and nothing that is
    /// long.
    fn outline(_: &[u8]) -> Option<Outline> {
        None
    }

    /// Whether a datagram that no content tells is this protocol's all the same: it was announced,
    /// as the shared state says, or comes from where it can be nothing else.
    fn expects(_: &mut Self::SharedState, _: &Payload<'_>) -> bool {
        false
    }

    /// Whether the shared state has met [`Limits::remembered`](super::Limits::remembered), so that
    /// it has forgotten something.
    fn forgot(_: &Self::SharedState) -> bool {
        false
    }

    /// Whether a datagram opens a conversation, so that nothing need have come before it.
    fn opens(bytes: &[u8]) -> bool;

    /// What comes next in the unread bytes of one direction of a stream. Asked again whenever more
    /// have come; `unread` holds at least one byte.
    fn frame(_: &mut Context<'_, Self>, _: Side, unread: &Unread<'_>) -> Framed {
        Framed::Junk(unread.bytes.len())
    }

    /// One direction of a stream has ended: an empty payload says who, when and in which packet.
    fn closed<S: Sink>(_: &mut Context<'_, Self>, _: Closed, _: &Payload<'_>, _: &mut S) {}

    /// Decodes and checks one datagram or framed message, and moves the conversation on.
    fn message<S: Sink>(cx: &mut Context<'_, Self>, payload: &Payload<'_>, sink: &mut S);

    /// An ICMP error says that a datagram of the flow, sent in this packet, did not arrive. A
    /// request in it is answered by nobody: see [`Evidence::refused`].
    fn refused(_: &mut Self::Conversation, _frame: u64) {}

    /// Decodes a datagram that was doubled on the way, as [`Protocol::message`] would, to be shown:
    /// it checks nothing, and the conversation stays as it is.
    fn again<S: Sink>(_: &mut Context<'_, Self>, _: &Payload<'_>, _: &mut S) {}

    /// Bytes of memory that the state of a flow holds beside itself. What [`Budget`] counts, the
    /// bytes of unfinished responses say, is left out.
    fn held(conversation: &Self::Conversation) -> usize;

    /// When `elapse` wants to be called, at the latest: something unfinished is then given up.
    fn deadline(_: &Self::Conversation) -> Option<Time> {
        None
    }

    /// The capture has reached `now`; with `end`, the flow has ended, and what is open is checked.
    fn elapse<S: Sink>(cx: &mut Context<'_, Self>, now: Time, end: bool, sink: &mut S);
}
