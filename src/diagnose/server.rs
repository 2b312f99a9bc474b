//! The state of one server.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Cause, Item, Set, Time};

use super::counts::Counts;
use super::fact::{Fact, Failure};
use super::find_or_add::find_or_add;
use super::pattern::{Pattern, PatternFailure};
use super::position::HopLimits;
use super::sizes::Sizes;
use crate::session::ExchangeCounts;

/// Maximum number of masters, or of other addresses, per server.
const ADDRESSES: usize = 8;

/// Maximum number of clients that are counted.
const CLIENTS: usize = 1 << 10;

/// Maximum number of keys in a server's description of itself, and maximum length of each.
const KEYS: usize = 32;
const LONG: usize = 64;

/// Maximum number of kinds of requests.
const KINDS: usize = 16;

/// The state of one server.
#[derive(Debug, Default)]
pub(super) struct Server {
    /// The protocol of its clients' queries.
    pub(super) query: Option<Id>,
    /// The protocol in which it registers.
    pub(super) registers: Option<Id>,
    pub(super) name: Option<String>,
    /// The most players that it said to have.
    pub(super) players: Option<u64>,
    /// Those of a client and of a master come after those of a server.
    facts: [Fact; Item::WellFormed as usize],
    pub(super) masters: Vec<SocketAddr>,
    /// The first responses from another address than the queried one: source, cause and packet; and
    /// their number.
    pub(super) elsewhere: Vec<(SocketAddr, &'static Cause, u64)>,
    pub(super) responses_elsewhere: u64,
    pub(super) clients: Set<IpAddr>,
    /// A wrong request: its packet, and the fault.
    pub(super) wrong: Option<(u64, String)>,
    /// Its description of itself to a master, by key; `None`: contradictory values.
    pub(super) said: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The game in its registration.
    pub(super) game: Vec<u8>,
    /// The master's response to its registration.
    pub(super) reported: Option<String>,
    /// A packet in which a master may say that it does not know it.
    pub(super) stranger: Option<u64>,
    /// Joins or heartbeats: the first, the last, and their number.
    pub(super) joins: Option<(Time, Time, u64)>,
    /// A master's challenge that is not answered yet.
    pub(super) challenged: Option<(u64, Time)>,
    /// A packet in which a master treats it as a known server.
    pub(super) known: Option<u64>,
    pub(super) kinds: Vec<Kind>,
    /// Its clients' exchanges with it.
    pub(super) exchanges: ExchangeCounts,
    /// Those that it owed an answer, and what the unanswered ones have in common.
    pub(super) pattern: Pattern,
    pub(super) unanswered: Option<PatternFailure>,
    /// The numbers of players in its responses.
    pub(super) counts: Counts,
    /// The port of the game that it announces.
    pub(super) game_port: Option<u16>,
    /// When a client first asked it.
    pub(super) first_asked: Option<Time>,
    /// What it sends in place of responses.
    pub(super) odd: Vec<OddResponse>,
    /// Exchanges in which a client did not return its challenge, and the packet of the latest one; the clients of
    /// these; and exchanges in which one did.
    pub(super) left: u64,
    pub(super) left_frame: u64,
    pub(super) left_by: Set<IpAddr>,
    pub(super) returned: u64,
    pub(super) slowest: u64,
    /// Bytes of its largest challenge to a client.
    pub(super) largest_challenge: u64,
    /// A response that was complete in one packet.
    pub(super) in_one_packet: Option<u64>,
    /// The number of responses with missing parts.
    pub(super) in_part: u64,
    /// Its latest packet that exceeded the path's MTU.
    pub(super) too_large: Option<u64>,
    /// The maximum number of packets of a response.
    pub(super) packets: usize,
    pub(super) hops: HopLimits,
}

/// What a server sends in place of a response.
#[derive(Debug)]
pub(super) struct OddResponse {
    pub(super) is: Odd,
    /// How often.
    pub(super) times: u64,
    /// The first packets.
    pub(super) frames: Vec<u64>,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// Only zeros.
    Zeros,
    /// A text, or bytes, of another program.
    Text(String),
}

/// Requests of one kind.
#[derive(Debug, Default)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Whether the responses to them describe the server.
    pub(super) describes: bool,
    pub(super) answered: Fact,
    pub(super) sizes: Sizes,
    /// The least and the greatest hop limit of responses, and their number.
    pub(super) hops: Option<(u8, u8, u64)>,
    /// The server had challenged a client that sent one.
    pub(super) was_challenged: bool,
    readable: Fact,
    in_time: Fact,
}

impl Kind {
    /// The state of a condition for this kind of request.
    pub(super) fn fact(&self, item: Item) -> Option<&Fact> {
        match item {
            Item::Answered => Some(&self.answered),
            Item::Readable => Some(&self.readable),
            Item::InTime => Some(&self.in_time),
            _ => None,
        }
    }

    fn fact_mut(&mut self, item: Item) -> Option<&mut Fact> {
        match item {
            Item::Answered => Some(&mut self.answered),
            Item::Readable => Some(&mut self.readable),
            Item::InTime => Some(&mut self.in_time),
            _ => None,
        }
    }
}

impl Server {
    /// Maximum number of clients that are known not to return its challenges.
    pub(super) const LEFT_BY: usize = 64;

    /// The state of a condition.
    pub(super) fn fact(&self, item: Item) -> &Fact {
        &self.facts[item as usize]
    }

    pub(super) fn fact_mut(&mut self, item: Item) -> &mut Fact {
        &mut self.facts[item as usize]
    }

    /// The condition is met, as this packet shows.
    pub(super) fn good(&mut self, item: Item, frame: u64) {
        self.fact_mut(item).good(frame);
    }

    /// The same, for a response to a request of this kind.
    pub(super) fn good_of(&mut self, kind: Option<&'static str>, item: Item, frame: u64) {
        self.good(item, frame);
        if let Some(fact) = self.fact_of(kind, item) {
            fact.good(frame);
        }
    }

    /// A response to a request of this kind shows that the condition is not met.
    pub(super) fn fails(&mut self, kind: Option<&'static str>, item: Item, why: &Failure) {
        self.fact_mut(item).fails(why.clone());
        if let Some(fact) = self.fact_of(kind, item) {
            fact.fails(why.clone());
        }
    }

    fn fact_of(&mut self, kind: Option<&'static str>, item: Item) -> Option<&mut Fact> {
        self.kind(kind?)?.fact_mut(item)
    }

    /// It communicates with this master.
    pub(super) fn meets(&mut self, master: SocketAddr, id: Id) {
        self.registers.get_or_insert(id);
        note(&mut self.masters, master);
    }

    /// A response came from here instead of the queried address.
    pub(super) fn responds_from(&mut self, from: SocketAddr, cause: &'static Cause, frame: u64) {
        self.responses_elsewhere += 1;
        if self.elsewhere.len() < ADDRESSES {
            self.elsewhere.push((from, cause, frame));
        }
    }

    /// Its description of itself to a master has this value.
    pub(super) fn says(&mut self, key: &[u8], value: &[u8]) {
        if key.len() > LONG || value.len() > LONG {
            return;
        }
        if let Some((_, known)) = self.said.iter_mut().find(|(known, _)| known == key) {
            known.take_if(|known| known != value);
        } else if self.said.len() < KEYS {
            self.said.push((key.to_vec(), Some(value.to_vec())));
        }
    }

    /// Whether a list with this filter includes it, if known.
    pub(super) fn is_selected(&self, asked: &[Vec<u8>]) -> Option<bool> {
        let masters = self.registers.and_then(|id| id.info().masters)?;
        let said = |key: &str| {
            let known = self.said.iter().find(|(known, _)| known == key.as_bytes())?;
            known.1.as_deref()
        };
        (masters.selects?.selects)(asked, &said)
    }

    /// A client queries it.
    pub(super) fn asked_by(&mut self, client: IpAddr) {
        if self.clients.len() < CLIENTS {
            self.clients.insert(client);
        }
    }

    /// Whether a whole response came from the address asked.
    pub(super) fn responds_whole(&self) -> bool {
        let in_time = self.fact(Item::InTime);
        in_time.good + in_time.run + in_time.mended > 0
    }

    /// It joins, or sends a heartbeat.
    pub(super) fn joins_at(&mut self, time: Time) {
        let (_, last, count) = self.joins.get_or_insert((time, time, 0));
        (*last, *count) = (time.max(*last), *count + 1);
    }

    /// Average nanoseconds between joins.
    pub(super) fn interval(&self) -> Option<i64> {
        let (first, last, count) = self.joins?;
        let gaps = i64::try_from(count.checked_sub(self.masters.len().max(1) as u64)?).ok()?;
        // Joins to several masters are sent together.
        let gaps = gaps / self.masters.len().max(1) as i64;
        (gaps > 0).then(|| last.since(first) / gaps)
    }

    /// Requests of a kind.
    pub(super) fn kind(&mut self, name: &'static str) -> Option<&mut Kind> {
        let new = || Kind { name, ..Kind::default() };
        find_or_add(&mut self.kinds, KINDS, |kind| kind.name == name, new)
    }
}

fn note(addresses: &mut Vec<SocketAddr>, address: SocketAddr) {
    if addresses.len() < ADDRESSES && !addresses.contains(&address) {
        addresses.push(address);
    }
}
