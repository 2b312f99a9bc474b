//! The shape of a protocol: what a folder beside this one provides.

use std::net::SocketAddr;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::kit::{
    Budget, Description, Diagnosis, Evidence, Field, Group, Habit, Kind, Masters, Node, Outline,
    Place, Purpose, Rule, Settings, Sink, TreeView, Who,
};

/// A time of the capture, in nanoseconds since 1970. There is no other clock here.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub i64);

impl Time {
    /// Nanoseconds: packets of opposite directions that lie no further apart may have been recorded
    /// in another order than they were sent.
    pub const MOMENT: i64 = 5_000_000;

    /// Nanoseconds from `earlier` to this; 0 where the capture's clock went backwards.
    pub fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }
}

/// One end of a flow, named by who sent the first packet that was recorded of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The sender of the flow's first packet.
    First,
    /// The other.
    Second,
}

impl Side {
    /// The other end.
    pub const fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }

    /// 0 for the first, 1 for the second.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// What carries a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A stream.
    Tcp,
}

/// Where a run of a payload's bytes was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The run's first byte in the payload.
    pub at: u32,
    /// Its length.
    pub length: u32,
    /// The packet, counted from 1.
    pub frame: u64,
    /// The run's first byte in that packet's recorded bytes.
    pub offset: u32,
}

/// A datagram, a framed part of a stream, or what was joined from several of them.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they were recorded, by rising `at`. For decompressed bytes: the compressed ones.
    pub pieces: &'a [Piece],
    /// The bytes were decompressed: `pieces` does not map them one to one.
    pub inflated: bool,
    /// Bytes of its packets that `pieces` leaves out: headers of the parts that it was joined from.
    pub headers: u32,
    /// The packet that completed it.
    pub frame: u64,
    /// That packet's time.
    pub time: Time,
    /// Who sent it.
    pub side: Side,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The flow's number in this run.
    pub flow: u32,
    /// What carried it.
    pub transport: Transport,
    /// The recording lost something of it: cut by the snap length, missing fragments, a gap.
    pub lost: bool,
    /// A hash of all `bytes`, if one was made: by a seed that all datagrams between two hosts
    /// share.
    pub hash: Option<NonZeroU64>,
}

/// One kind of message.
pub struct Message {
    /// The name scripts use.
    pub name: &'static str,
    /// The specification's name.
    pub label: &'static str,
    /// Who speaks it.
    pub speaker: Who,
    /// What it is for.
    pub purpose: Purpose,
    /// The one-line summary: `{field}` is a field's value, `{field=}` what that means, `{field#}`
    /// how many are in a list, `{field# server}` the same with its noun (`property/properties`
    /// where the plural is irregular), `{field?text}` the text if a flag is set. What is in `[ ]`
    /// is left out where a field in it is absent, or a flag not set.
    pub summary: &'static str,
    /// The fields that scripts see in it, in their order: those in `fields`, and those beside it.
    pub fields: &'static [&'static Field],
    /// Where it says what the server is that sends it, if it does.
    pub describes: Option<&'static Description>,
}

impl Message {
    /// Calls `see` with every field that it lists, outer ones first, and with the path that leads
    /// to it from the message: `players.name`; a `*` in it is a key of the server's or client's
    /// choice.
    pub fn each_field(&self, mut see: impl FnMut(&str, &'static Field)) {
        fn walk(
            fields: &[&'static Field],
            path: &mut String,
            see: &mut dyn FnMut(&str, &'static Field),
        ) {
            for field in fields {
                let outer = path.len();
                if outer > 0 {
                    path.push('.');
                }
                // The key of a pair comes from the wire.
                path.push_str(if field.kind == Kind::Pair { "*" } else { field.name });
                see(path, field);
                match field.kind {
                    // The elements of a list have no name of their own.
                    Kind::List => field.children.iter().for_each(|e| walk(e.children, path, see)),
                    _ => walk(field.children, path, see),
                }
                path.truncate(outer);
            }
        }
        walk(self.fields, &mut String::new(), &mut see);
    }

    /// The path of a field in `tree` that scripts see, and that the message does not list: there
    /// should be none.
    pub fn unlisted(&self, tree: &TreeView<'_>) -> Option<String> {
        fn walk(
            tree: &TreeView<'_>,
            at: Option<usize>,
            listed: &[&'static Field],
        ) -> Option<String> {
            let shown = |node: &Node| match at {
                None => node.field.place != Place::Framing,
                Some(_) => node.field.place == Place::Fields,
            };
            tree.children(at).filter(|(_, node)| shown(node)).find_map(|(at, node)| {
                let name = node.field.name;
                if !listed.iter().any(|field| std::ptr::eq(*field, node.field)) {
                    return Some(name.to_owned());
                }
                let has_fields = matches!(node.field.kind, Kind::Group | Kind::List | Kind::Map);
                let below = has_fields.then(|| walk(tree, Some(at), node.field.children));
                below.flatten().map(|path| format!("{name}.{path}"))
            })
        }
        walk(tree, None, self.fields)
    }
}

/// Declares a protocol's messages, each with its speaker and its purpose, and with the fields that
/// scripts see: a `static` each, and the list of `ALL`.
macro_rules! messages {
    (@describes) => { None };
    (@describes $description:ident) => { Some(&super::$description) };
    ($($name:ident = $id:literal, $label:literal, $speaker:ident: $purpose:ident, $summary:literal,
        [$($field:ident),* $(,)?] $(describes $description:ident)?;)+) => {
        $(pub(super) static $name: $crate::kit::Message = $crate::kit::Message {
            name: $id,
            label: $label,
            speaker: $crate::kit::Who::$speaker,
            purpose: $crate::kit::Purpose::$purpose,
            summary: $summary,
            fields: &[$(&super::fields::$field),*],
            describes: $crate::kit::messages!(@describes $($description)?),
        };)+
        pub(super) static ALL: &[&$crate::kit::Message] = &[$(&$name),+];
    };
}
pub(crate) use messages;

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

/// Bytes that a list has room for.
pub fn room<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

/// Appends to a list that may become long: it gets room for a quarter more, not for as much again.
pub(crate) fn append<T>(list: &mut Vec<T>, thing: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 4 + 16);
    }
    list.push(thing);
}

/// Appends to a list of at most `most` things, and one at least; the first is handed out for its
/// sake.
pub(crate) fn append_within<T>(list: &mut Vec<T>, thing: T, most: usize) -> Option<T> {
    let first = (list.len() >= most.max(1)).then(|| list.remove(0));
    list.push(thing);
    first
}
