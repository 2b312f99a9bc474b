//! What is known of one server.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Cause, Item, Set, Time};

use super::fact::Fact;
use super::seat::HopLimits;
use super::sizes::Sizes;

/// Masters, or other addresses, that are kept of a server.
const ADDRESSES: usize = 8;

/// Clients that are counted: further ones are not.
const CLIENTS: usize = 1 << 10;

/// What is kept of what a server says of itself: this many keys, and of each this many bytes.
const KEYS: usize = 32;
const LONG: usize = 64;

/// Kinds of requests that are distinguished.
const KINDS: usize = 16;

/// What is known of one server.
#[derive(Debug, Default)]
pub(super) struct Server {
    /// The protocol in which clients ask it.
    pub(super) query: Option<Id>,
    /// The protocol in which it registers.
    pub(super) registers: Option<Id>,
    pub(super) name: Option<String>,
    /// The most players that it said to have.
    pub(super) players: Option<u64>,
    facts: [Fact; Item::ALL.len()],
    pub(super) masters: Vec<SocketAddr>,
    /// The first responses that did not come from the address asked: from where, why that is, in
    /// which packet; and how many there were.
    pub(super) elsewhere: Vec<(SocketAddr, Cause, u64)>,
    pub(super) responses_elsewhere: u64,
    pub(super) clients: Set<IpAddr>,
    /// A request that is wrong: its packet, and what is wrong with it.
    pub(super) wrong: Option<(u64, String)>,
    /// What it said of itself to a master, by key; `None`: now this, now that.
    pub(super) said: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The game that it named to a master.
    pub(super) game: Vec<u8>,
    /// What the master said to its registration.
    pub(super) reported: Option<String>,
    /// A packet by which a master may say that it does not know it.
    pub(super) stranger: Option<u64>,
    /// Joins or heartbeats: the first, the last, and how many.
    pub(super) joins: Option<(Time, Time, u64)>,
    /// A challenge of a master that is not answered yet.
    pub(super) challenged: Option<(u64, Time)>,
    /// A packet by which a master goes on with it as with a server that it knows.
    pub(super) known: Option<u64>,
    pub(super) kinds: Vec<Kind>,
    pub(super) slowest: u64,
    /// Bytes of its largest challenge to a client.
    pub(super) largest_challenge: u64,
    /// A response that was whole in one packet.
    pub(super) in_one_packet: Option<u64>,
    /// The latest packet of it that was too large for the path.
    pub(super) too_large: Option<u64>,
    /// The most packets of one response.
    pub(super) packets: usize,
    pub(super) hops: HopLimits,
}

/// Requests of one kind.
#[derive(Debug, Default)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Whether what answers them describes the server.
    pub(super) describes: bool,
    pub(super) answered: Fact,
    pub(super) sizes: Sizes,
    /// The server had challenged a client that sent one.
    pub(super) was_challenged: bool,
    readable: Fact,
    in_time: Fact,
}

impl Kind {
    /// What is known of an item, where it may depend on what was asked for.
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
    /// What is known of an item.
    pub(super) fn fact(&self, item: Item) -> &Fact {
        &self.facts[item as usize]
    }

    pub(super) fn fact_mut(&mut self, item: Item) -> &mut Fact {
        &mut self.facts[item as usize]
    }

    /// The item is so, as this packet shows.
    pub(super) fn good(&mut self, item: Item, frame: u64) {
        self.fact_mut(item).good(frame);
    }

    /// The same of a response to a request of this kind.
    pub(super) fn good_of(&mut self, kind: Option<&'static str>, item: Item, frame: u64) {
        self.good(item, frame);
        if let Some(fact) = self.fact_of(kind, item) {
            fact.good(frame);
        }
    }

    /// A response to a request of this kind shows that the item is not so.
    pub(super) fn bad_of(
        &mut self,
        kind: Option<&'static str>,
        item: Item,
        (cause, frame, words): (Cause, u64, &str),
    ) {
        self.fact_mut(item).bad(cause, frame, words);
        if let Some(fact) = self.fact_of(kind, item) {
            fact.bad(cause, frame, words);
        }
    }

    fn fact_of(&mut self, kind: Option<&'static str>, item: Item) -> Option<&mut Fact> {
        self.kind(kind?)?.fact_mut(item)
    }

    /// It has to do with this master.
    pub(super) fn meets(&mut self, master: SocketAddr, id: Id) {
        self.registers.get_or_insert(id);
        note(&mut self.masters, master);
    }

    /// A response came from here, and not from the address asked.
    pub(super) fn responds_from(&mut self, from: SocketAddr, cause: Cause, frame: u64) {
        self.responses_elsewhere += 1;
        if self.elsewhere.len() < ADDRESSES {
            self.elsewhere.push((from, cause, frame));
        }
    }

    /// It says this of itself to a master.
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

    /// Whether a list that was asked for with these values has it, if that is known.
    pub(super) fn is_selected(&self, asked: &[Vec<u8>]) -> Option<bool> {
        let masters = self.registers.and_then(|id| id.info().masters)?;
        let said = |key: &str| {
            let known = self.said.iter().find(|(known, _)| known == key.as_bytes())?;
            known.1.as_deref()
        };
        (masters.selects?.selects)(asked, &said)
    }

    /// A client asks it.
    pub(super) fn asked_by(&mut self, client: IpAddr) {
        if self.clients.len() < CLIENTS {
            self.clients.insert(client);
        }
    }

    /// It joins, or shows that it is still there.
    pub(super) fn joins_at(&mut self, time: Time) {
        let (_, last, count) = self.joins.get_or_insert((time, time, 0));
        (*last, *count) = (time.max(*last), *count + 1);
    }

    /// Nanoseconds from one join to the next, on average.
    pub(super) fn interval(&self) -> Option<i64> {
        let (first, last, count) = self.joins?;
        let gaps = i64::try_from(count.checked_sub(self.masters.len().max(1) as u64)?).ok()?;
        // Joins to several masters are sent together.
        let gaps = gaps / self.masters.len().max(1) as i64;
        (gaps > 0).then(|| last.since(first) / gaps)
    }

    /// Requests of a kind.
    pub(super) fn kind(&mut self, name: &'static str) -> Option<&mut Kind> {
        let at = self.kinds.iter().position(|kind| kind.name == name);
        if at.is_none() && self.kinds.len() >= KINDS {
            return None;
        }
        let at = at.unwrap_or_else(|| {
            self.kinds.push(Kind { name, ..Kind::default() });
            self.kinds.len() - 1
        });
        self.kinds.get_mut(at)
    }
}

fn note(addresses: &mut Vec<SocketAddr>, address: SocketAddr) {
    if addresses.len() < ADDRESSES && !addresses.contains(&address) {
        addresses.push(address);
    }
}
