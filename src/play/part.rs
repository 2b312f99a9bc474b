//! The part of a script that a server or a master has: what it waits for, and what it says then.
//!
//! The script is rehearsed: its packets are synthesized and decoded as those of a real client will be, so that
//! what a client says is compared message by message.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use dissectors::Id;
use dissectors::kit::{Message, Role, Transport};
use dissectors::script::{self, Options, Party, Say, ScriptError, Step, What};

use super::heard::{Challenge, Ear, Heard};
use crate::spoken::{Connection, End, PacketMaker};

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum NotPlayed {
    /// Its grammar.
    #[error("its script is wrong: {0}")]
    Script(#[from] ScriptError),
    /// There is nothing to play.
    #[error("its example is a capture file, not a conversation")]
    Empty,
    /// The client would be at fault.
    #[error("the fault in it is that of the {0}, which asks")]
    OtherParty(&'static str),
    /// Nothing is sent without a request.
    #[error("the {0} speaks in it without being asked")]
    Unasked(&'static str),
    /// More than two parties.
    #[error("it needs several sockets of clients")]
    Parties,
    /// Two protocols at once.
    #[error("it needs a UDP port and a TCP port of the same number")]
    Transports,
    /// Only a recording shows this.
    #[error("it is about the network or the recording: `{0}`")]
    Recording(&'static str),
}

/// A step of the part.
pub(super) enum Item {
    /// Wait for this.
    Hear(Cue),
    /// Say this then.
    Say(Line),
}

/// What is waited for.
#[derive(Clone)]
pub(super) enum Cue {
    /// The client opens a connection.
    Opened,
    /// A message of this kind.
    Message(Expected),
    /// Bytes that are no message.
    Unread,
    /// A datagram in return for one beside the connection.
    Datagram,
}

/// A message of a client.
#[derive(Clone)]
pub(super) struct Expected {
    pub(super) message: &'static Message,
    /// The challenge that it has to return, or the address after which the list goes on.
    pub(super) demands: Option<Demand>,
    /// The timestamp in the script, which answers repeat.
    pub(super) timestamp: Option<Vec<u8>>,
}

/// What only a client knows that has received an earlier answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Challenge(u32),
    GoesOnAfter(Vec<u8>),
}

/// What is said, or only a time that passes.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// The time after the cue.
    pub(super) after: Duration,
    pub(super) payload: Vec<u8>,
    /// The challenges in it.
    pub(super) challenges: Vec<Challenge>,
    pub(super) means: Means,
    /// The connection is closed after it.
    pub(super) closes: bool,
}

impl Line {
    /// Gives an A2S answer in several datagrams, which was given so often before, a number that no other answer has.
    pub(super) fn renew_split(&mut self, times: u32) {
        const SPLIT: [u8; 4] = *b"\xFE\xFF\xFF\xFF";
        // Scripts have small numbers.
        const STEP: u32 = 1000;
        if let Some(rest) = self.payload.strip_prefix(&SPLIT)
            && let Some(number) = rest.first_chunk()
        {
            let number = u32::from_le_bytes(*number).wrapping_add(times.wrapping_mul(STEP));
            self.payload.splice(SPLIT.len()..SPLIT.len() + 4, number.to_le_bytes());
        }
    }

    /// The line with other challenges.
    pub(super) fn with_challenges(&self, instead: impl Fn(u32) -> u32) -> Line {
        let mut line = self.clone();
        // From behind, because a number may become longer.
        for challenge in line.challenges.iter_mut().rev() {
            let value = instead(challenge.value);
            let length = write_challenge(&mut line.payload, *challenge, value);
            *challenge = Challenge { value, end: challenge.start + length, ..*challenge };
        }
        line
    }
}

/// Writes another challenge in the form of this one: bytes in either order, or a decimal number. Returns its length.
fn write_challenge(payload: &mut Vec<u8>, challenge: Challenge, instead: u32) -> usize {
    let Challenge { value, start, end } = challenge;
    let Some(written) = payload.get(start..end) else { return end - start };
    let other = if written == value.to_le_bytes() {
        instead.to_le_bytes().to_vec()
    } else if written == value.to_be_bytes() {
        instead.to_be_bytes().to_vec()
    } else {
        (instead as i32).to_string().into_bytes()
    };
    let length = other.len();
    payload.splice(start..end, other);
    length
}

/// How a line is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Means {
    /// Nothing is sent: the script lasts until then.
    #[default]
    Pause,
    /// From the socket that was asked.
    Asked,
    /// From another port.
    Elsewhere,
    /// As a datagram to this port of the client, beside the connection.
    Beside(u16),
}

/// A script from the side of the server or master.
pub(super) struct Part {
    pub(super) items: Vec<Item>,
    pub(super) transport: Transport,
    /// Who is played.
    pub(super) role: Role,
    pub(super) protocol: Id,
    /// The challenges that it gives.
    pub(super) given: Vec<u32>,
}

impl Part {
    /// Reads a script. `usual`: the transport of steps that name none.
    pub(super) fn read(text: &str, protocol: Id, usual: Transport) -> Result<Part, NotPlayed> {
        let steps = script::parse(text)?;
        let cast = Cast::of(&steps, usual)?;
        let mut rehearsal = Rehearsal::new(protocol, cast);
        for step in &steps {
            rehearsal.step(step)?;
        }
        let Rehearsal { items, given, .. } = rehearsal;
        Ok(Part { items, transport: cast.transport, role: cast.played.role, protocol, given })
    }

    /// Whether a message of this kind is in the script, whatever it returns.
    pub(super) fn has(&self, message: &'static Message) -> bool {
        self.items.iter().any(|item| match item {
            Item::Hear(Cue::Message(expected)) => std::ptr::eq(expected.message, message),
            _ => false,
        })
    }

    /// The part with the first challenge of another one, if that gives any.
    pub(super) fn with_challenge_of(mut self, other: &Part) -> Part {
        let Some(&value) = other.given.first() else { return self };
        for item in &mut self.items {
            match item {
                Item::Say(line) => *line = line.with_challenges(|_| value),
                Item::Hear(Cue::Message(expected)) => {
                    if let Some(Demand::Challenge(demanded)) = &mut expected.demands {
                        *demanded = value;
                    }
                }
                Item::Hear(_) => {}
            }
        }
        self.given = vec![value];
        self
    }
}

/// What the clients of a script say.
pub(super) fn asked(text: &str, usual: Transport) -> Result<Vec<Vec<u8>>, NotPlayed> {
    let steps = script::parse(text)?;
    let cast = Cast::of(&steps, usual)?;
    let says = steps.into_iter().filter_map(|step| match step.what {
        What::Say(say) if say.from == cast.asks => Some(say.payload),
        _ => None,
    });
    Ok(says.collect())
}

/// Who is who.
#[derive(Clone, Copy)]
struct Cast {
    asks: Party,
    played: Party,
    transport: Transport,
    usual: Transport,
}

impl Cast {
    fn of(steps: &[Step], usual: Transport) -> Result<Cast, NotPlayed> {
        let mut says = steps.iter().filter_map(|step| match &step.what {
            What::Say(say) => Some(say),
            What::End => None,
        });
        let first = says.next().ok_or(NotPlayed::Empty)?;
        let transport = first.options.transport.unwrap_or(usual);
        let opens = match transport {
            Transport::Udp => true,
            Transport::Tcp => first.from.opens_towards(first.to),
        };
        let (asks, played) = if opens { (first.from, first.to) } else { (first.to, first.from) };
        if played.role == Role::Client {
            return Err(NotPlayed::Unasked(asks.role.name()));
        }
        Ok(Cast { asks, played, transport, usual })
    }

    /// Whether this is the client: over TCP, each connection has a port of its own.
    fn is_asking(&self, party: Party) -> bool {
        let other = Party { digit: party.digit, port: party.port, ..self.asks };
        party == self.asks || self.transport == Transport::Tcp && party == other
    }

    /// Whether this is who is played: over TCP, a master has datagrams at another port.
    fn is_asked(&self, party: Party) -> bool {
        let other = Party { digit: party.digit, port: party.port, ..self.played };
        party == self.played || self.transport == Transport::Tcp && party == other
    }
}

/// Plays both sides, to learn how messages are decoded.
struct Rehearsal {
    cast: Cast,
    ear: Ear,
    maker: PacketMaker,
    connection: Option<(Connection, [bool; 2])>,
    items: Vec<Item>,
    given: Vec<u32>,
    /// The client's port, a new one for each connection.
    port: u16,
    /// When the latest cue was given, and now.
    cue: u64,
    now: u64,
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PLAYED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const CLIENT_PORT: u16 = 50_000;
const PLAYED_PORT: u16 = 27_015;

impl Rehearsal {
    fn new(protocol: Id, cast: Cast) -> Rehearsal {
        Rehearsal {
            cast,
            ear: Ear::new(protocol, cast.transport, PLAYED_PORT),
            maker: PacketMaker::default(),
            connection: None,
            items: Vec::new(),
            given: Vec::new(),
            port: CLIENT_PORT,
            cue: 0,
            now: 0,
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), NotPlayed> {
        self.now = step.at;
        let What::Say(say) = &step.what else {
            let line = Line { after: self.after(), ..Line::default() };
            self.items.push(Item::Say(line));
            return Ok(());
        };
        if let Some(option) = of_recording(&say.options) {
            return Err(NotPlayed::Recording(option));
        }
        let is_asking = self.cast.is_asking(say.from);
        let is_known = if is_asking {
            self.cast.is_asked(say.to)
        } else {
            self.cast.is_asking(say.to) && say.from.role == self.cast.played.role
        };
        if !is_known {
            return Err(NotPlayed::Parties);
        }
        let transport = say.options.transport.unwrap_or(self.cast.usual);
        match (self.cast.transport, transport) {
            (Transport::Udp, Transport::Udp) => self.datagram(say, is_asking),
            (Transport::Tcp, Transport::Tcp) => self.segment(say, is_asking),
            (Transport::Tcp, Transport::Udp) => self.beside(say, is_asking)?,
            (Transport::Udp, Transport::Tcp) => return Err(NotPlayed::Transports),
        }
        Ok(())
    }

    fn after(&self) -> Duration {
        Duration::from_nanos(self.now.saturating_sub(self.cue))
    }

    fn cue(&mut self, cue: Cue) {
        self.cue = self.now;
        self.items.push(Item::Hear(cue));
    }

    fn sockets(&self, is_asking: bool) -> [SocketAddr; 2] {
        let client = SocketAddr::new(CLIENT.into(), self.port);
        let played = SocketAddr::new(PLAYED.into(), PLAYED_PORT);
        if is_asking { [client, played] } else { [played, client] }
    }

    fn datagram(&mut self, say: &Say, is_asking: bool) {
        let [from, to] = self.sockets(is_asking);
        let packet = self.maker.datagram(from, to, &say.payload);
        let heard = packet.map(|it| self.ear.hear(self.now as i64, &it)).unwrap_or_default();
        if is_asking {
            return self.cues(heard);
        }
        let is_asked = say.from == self.cast.played;
        let means = if is_asked { Means::Asked } else { Means::Elsewhere };
        self.line(say, means, heard);
    }

    fn segment(&mut self, say: &Say, is_asking: bool) {
        let mut packets = Vec::new();
        let is_new = self.connection.is_none();
        let [opener, listener] = self.sockets(true);
        let maker = &mut self.maker;
        let (connection, finished) = self.connection.get_or_insert_with(|| {
            let mut connection = Connection::new(maker, opener, listener);
            packets.extend(connection.handshake(maker));
            (connection, [false; 2])
        });
        let end = if is_asking { End::Opener } else { End::Listener };
        packets.extend(connection.send(maker, end, &say.payload));
        if say.options.fin {
            packets.extend(connection.finish(maker, end));
            finished[end as usize] = true;
        }
        let is_over = *finished == [true; 2];
        if is_new {
            self.cue(Cue::Opened);
        }
        let now = self.now as i64;
        let ear = &mut self.ear;
        let heard: Vec<Heard> = packets.iter().flat_map(|packet| ear.hear(now, packet)).collect();
        if is_asking {
            let heard: Vec<_> = heard.into_iter().filter(|it| it.from_port == self.port).collect();
            if !say.payload.is_empty() {
                self.cues(heard);
            }
        } else {
            self.line(say, Means::Asked, Vec::new());
        }
        // A server's answer is often closed by it alone: the client closes, too, before it asks again.
        if is_over || !is_asking && say.options.fin {
            self.connection = None;
            self.port = self.port.wrapping_add(1);
        }
    }

    /// A datagram beside a connection, to or from a port that the script names.
    fn beside(&mut self, say: &Say, is_asking: bool) -> Result<(), NotPlayed> {
        if is_asking {
            self.cue(Cue::Datagram);
            return Ok(());
        }
        let port = say.to.port.ok_or(NotPlayed::Parties)?;
        self.line(say, Means::Beside(port), Vec::new());
        Ok(())
    }

    fn line(&mut self, say: &Say, means: Means, heard: Vec<Heard>) {
        let challenges: Vec<_> = heard.into_iter().flat_map(|it| it.challenges).collect();
        self.given.extend(challenges.iter().map(|challenge| challenge.value));
        let closes = say.options.fin;
        let (after, payload) = (self.after(), say.payload.clone());
        self.items.push(Item::Say(Line { after, payload, challenges, means, closes }));
    }

    fn cues(&mut self, heard: Vec<Heard>) {
        if heard.is_empty() {
            return self.cue(Cue::Unread);
        }
        for heard in heard {
            let demands = self.demand(&heard);
            let (message, timestamp) = (heard.message, heard.timestamp);
            self.cue(Cue::Message(Expected { message, demands, timestamp }));
        }
    }

    fn demand(&self, heard: &Heard) -> Option<Demand> {
        /// Where a list begins.
        const START: &[u8] = b"0.0.0.0:0";
        let returned = heard.challenges.iter().find(|it| self.given.contains(&it.value));
        let page = heard.goes_on_after.as_ref().filter(|after| **after != START);
        let challenge = returned.map(|challenge| Demand::Challenge(challenge.value));
        challenge.or_else(|| page.map(|after| Demand::GoesOnAfter(after.clone())))
    }
}

/// The first option that a socket cannot play.
fn of_recording(options: &Options) -> Option<&'static str> {
    let recorded = [
        ("lost", options.lost),
        ("lacks", options.lacks.is_some()),
        ("twice", options.twice),
        ("icmp", options.icmp.is_some()),
        ("df", options.dont_fragment),
        ("snap", options.snap.is_some()),
        ("frag", options.fragment.is_some()),
        ("vlan", !options.vlans.is_empty()),
        ("ttl", options.ttl.is_some()),
        ("ipsum", options.ip_checksum != script::Checksum::Right),
        ("udpsum", options.udp_checksum.is_some()),
        ("tcpsum", options.tcp_checksum.is_some()),
        ("nosyn", options.nosyn),
        ("refused", options.refused),
        ("rst", options.rst),
    ];
    recorded.iter().find(|(_, is_set)| *is_set).map(|(name, _)| *name)
}
