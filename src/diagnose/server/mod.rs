//! The state of one server.

pub(in crate::diagnose) mod belief;
mod counts;
pub(in crate::diagnose) mod other_answers;
pub(in crate::diagnose) mod path;
pub(in crate::diagnose) mod refused_responses;
pub(in crate::diagnose) mod remedies;
pub(in crate::diagnose) mod repeated_answers;
mod responding;
pub(in crate::diagnose) mod sizes;
mod usual_hops;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{AddressRole, Cause, Item, Map, Set, Time, causes};

use crate::diagnose::exchanges::kind_words::requests;
use crate::diagnose::exchanges::pattern::{Disputed, Pattern, PatternFailure};
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::diagnose::facts::{Fact, Failure};
use crate::diagnose::recording::{CapturePosition, CommonHosts, HopLimits, position};
use crate::diagnose::registration::{Registration, is_of_registration};
use crate::session::{ExchangeCounts, Value};
use crate::summary::described;
use counts::Counts;
use refused_responses::RefusedResponses;
use repeated_answers::Surplus;
use sizes::Sizes;
use usual_hops::UsualHops;

/// Maximum number of masters, or of addresses from which others respond, per server.
const ADDRESSES: usize = 8;

/// Maximum number of clients that are counted.
pub(super) const CLIENTS: usize = 1 << 10;

/// Maximum number of keys in a server's description of itself, and maximum length of each.
const KEYS: usize = 32;
const LONG: usize = 64;

/// Maximum number of kinds of requests.
pub(super) const KINDS: usize = 16;

/// The first condition of the server alone.
const OWN: usize = Item::Elsewhere as usize;

/// The number of conditions from that one to the last of a server.
const ALONE: usize = Item::WellFormed as usize - OWN;

/// The place of a condition of the server alone. That it is not attacked comes before those of registration.
fn place(item: Item) -> usize {
    if item == Item::NotAttacked { ALONE } else { item as usize - OWN }
}

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
    /// The conditions of the server alone: those of registration come before, those of clients and masters after
    /// them.
    facts: [Fact; ALONE + 1],
    /// With each master, in the order in which it addressed them.
    pub(super) registrations: Vec<Registration>,
    /// The first responses from another address than the queried one: source, cause and packet; and
    /// their number.
    pub(super) elsewhere: Vec<(SocketAddr, &'static Cause, u64)>,
    pub(super) responses_elsewhere: u64,
    /// Those of them that are no challenges.
    pub(super) answers_elsewhere: u64,
    pub(super) clients: Set<IpAddr>,
    /// A wrong request: its packet, and the fault.
    pub(super) wrong: Option<(u64, String)>,
    /// Its description of itself to a master, by key; `None`: contradictory values.
    pub(super) description: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The game in its registration.
    pub(super) game: Vec<u8>,
    pub(super) kinds: Vec<Kind>,
    /// Its clients' exchanges with it.
    pub(super) exchanges: ExchangeCounts,
    /// Those in which it owes its client nothing, because of the client.
    pub(super) owed_nothing: u64,
    /// Those in which its challenge did not reach the client.
    pub(super) astray: u64,
    /// Those that it owed an answer, and what the unanswered ones have in common.
    pub(super) pattern: Pattern,
    /// What of it may be owed no answer.
    pub(super) disputed: Option<Box<Disputed>>,
    pub(super) unanswered: Option<PatternFailure>,
    /// Its responses that do not reach their clients.
    pub(super) refused: RefusedResponses,
    /// Its answers to requests that it has answered.
    pub(super) surplus: Surplus,
    /// The numbers of players in its responses.
    pub(super) counts: Counts,
    /// The port of the game that it announces.
    pub(super) game_port: Option<u16>,
    /// The port from which it joins is asked so many times, and does not respond.
    pub(super) joins_in_vain: Option<(SocketAddr, u64)>,
    /// The first port from which it sends to masters, if it names another one. Some use a new one each time.
    pub(super) sends_from: Option<SocketAddr>,
    /// It names its port to masters.
    pub(super) names_port: bool,
    /// Its other addresses, with what they are.
    pub(super) addresses: Vec<(SocketAddr, AddressRole)>,
    /// It described itself to a master as one for its own network.
    pub(super) lan_only: Option<u64>,
    /// When a client first asked it.
    pub(super) first_asked: Option<Time>,
    /// When it answered last.
    pub(super) last_answered: Option<Time>,
    /// What it sends in place of responses.
    pub(super) odd: Vec<OddResponse>,
    /// Exchanges in which a client did not return its challenge, and the packet of the latest one; the clients of
    /// these; and exchanges in which one did.
    pub(super) left: u64,
    pub(super) left_frame: u64,
    pub(super) left_by: Set<IpAddr>,
    /// Those of them in which a request that was cut may have returned it.
    pub(super) left_perhaps: u64,
    pub(super) returned: u64,
    /// Exchanges in which it answered its own challenge with another one.
    pub(super) loops: Vec<ChallengeLoops>,
    /// A rule says that it gave challenge after challenge in one of these.
    pub(super) breaks_rounds: bool,
    /// Those in which two different challenges came at once, with the latest packet.
    pub(super) doubly_challenged: (u64, u64),
    /// Responses to requests that are not in the capture.
    pub(super) orphans: u64,
    pub(super) slowest: u64,
    /// The latest challenge that came after clients had stopped waiting: after how many nanoseconds, and its packet.
    pub(super) late_challenge: Option<(i64, u64)>,
    /// The same of the latest packet from another port that may be its response.
    pub(super) late_elsewhere: Option<(i64, u64)>,
    /// Bytes of its largest challenge to a client.
    pub(super) largest_challenge: u64,
    /// Conditions of its responses that fail, with the clients that get these, and the latest packet to each.
    failing: Vec<(Item, Map<IpAddr, u64>)>,
    /// The latest packet to each client that fails none.
    right: Map<IpAddr, u64>,
    /// Clients ask it by an address of several hosts.
    pub(super) by_broadcast: bool,
    /// The latest response that was complete in one packet, and how many were.
    pub(super) in_one_packet: Option<(u64, u64)>,
    /// The number of responses with missing parts.
    pub(super) in_part: u64,
    /// Its latest packet that exceeded the path's MTU.
    pub(super) too_large: Option<u64>,
    /// The maximum number of packets of a response.
    pub(super) packets: usize,
    pub(super) hops: HopLimits,
    /// Of its challenges.
    pub(super) challenge_hops: UsualHops,
}

/// Packets that are named of what a server sends in place of responses.
pub(super) const ODD_NAMED: usize = 3;

/// What a server sends in place of a response.
#[derive(Debug)]
pub(super) struct OddResponse {
    pub(super) is: Odd,
    /// Who gets it, if only one client does.
    pub(super) client: Option<IpAddr>,
    /// How often.
    pub(super) times: u64,
    /// The first packets.
    pub(super) frames: Vec<u64>,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    /// No byte.
    Nothing,
    /// Only zeros.
    Zeros,
    /// A text, or bytes, of another program.
    Text(String),
}

/// Requests of one kind.
#[derive(Debug, Default)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Whether the responses to them describe the server, and list no players.
    pub(super) describes: bool,
    pub(super) answered: Fact,
    pub(super) sizes: Sizes,
    /// Of responses.
    pub(super) hops: UsualHops,
    /// The server had challenged a client that sent one.
    pub(super) was_challenged: bool,
    /// Exchanges without an answer that need none: not every server knows the request.
    pub(in crate::diagnose) optional: u64,
    readable: UntilMet,
    in_time: UntilMet,
}

/// A condition that matters only as long as it is never met.
#[derive(Debug, Default)]
enum UntilMet {
    /// Nothing is known about it.
    #[default]
    Open,
    /// It never was.
    Never(Box<Fact>),
    /// It was.
    Met,
}

impl Kind {
    /// The state of a condition that no response to this kind of request meets.
    pub(super) fn never_met(&self, item: Item) -> Option<&Fact> {
        match (item, &self.readable, &self.in_time) {
            (Item::Readable, UntilMet::Never(fact), _)
            | (Item::InTime, _, UntilMet::Never(fact)) => Some(fact),
            _ => None,
        }
    }

    /// A response to it meets the condition.
    fn good(&mut self, item: Item, frame: u64) {
        match item {
            Item::Answered => self.answered.good(frame),
            Item::Readable => self.readable = UntilMet::Met,
            Item::InTime => self.in_time = UntilMet::Met,
            _ => {}
        }
    }

    /// A response to it does not.
    fn fails(&mut self, item: Item, why: &Failure) {
        match item {
            Item::Answered => self.answered.fails(why.clone()),
            Item::Readable => self.readable.fails(why),
            Item::InTime => self.in_time.fails(why),
            _ => {}
        }
    }
}

impl UntilMet {
    fn fails(&mut self, why: &Failure) {
        if matches!(self, UntilMet::Open) {
            *self = UntilMet::Never(Box::default());
        }
        if let UntilMet::Never(fact) = self {
            fact.fails(why.clone());
        }
    }
}

/// Exchanges of one kind in which a server answered its own challenge with another one.
#[derive(Debug)]
pub(super) struct ChallengeLoops {
    pub(super) kind: &'static str,
    pub(super) times: u64,
    /// The packet of the latest one.
    pub(super) frame: u64,
}

impl Server {
    /// Maximum number of clients that are known not to return its challenges.
    pub(super) const LEFT_BY: usize = 64;

    /// The state of a condition of the server alone.
    pub(super) fn fact(&self, item: Item) -> &Fact {
        &self.facts[place(item)]
    }

    pub(super) fn fact_mut(&mut self, item: Item) -> &mut Fact {
        &mut self.facts[place(item)]
    }

    /// The registration with a master that it has addressed.
    pub(super) fn with(&mut self, master: IpAddr) -> Option<&mut Registration> {
        let of = |it: &&mut Registration| it.master.is_some_and(|known| known.ip() == master);
        self.registrations.iter_mut().find(of)
    }

    /// The states of a condition, whatever its kind: if it is one of registration, with this master; if it has not
    /// addressed that one, with all of its masters.
    pub(super) fn facts_of(&mut self, item: Item, master: Option<IpAddr>) -> Vec<&mut Fact> {
        if !is_of_registration(item) {
            return vec![self.fact_mut(item)];
        }
        let known = master.filter(|master| self.with(*master).is_some());
        let of = |it: &&mut Registration| {
            known.is_none_or(|known| it.master.is_some_and(|master| master.ip() == known))
        };
        self.registrations.iter_mut().filter(of).map(|it| it.fact_mut(item)).collect()
    }

    /// The condition is met, as this packet shows.
    pub(super) fn good(&mut self, item: Item, frame: u64) {
        self.fact_mut(item).good(frame);
    }

    /// The same, for a message with this master.
    pub(super) fn good_with(&mut self, master: IpAddr, item: Item, frame: u64) {
        if let Some(registration) = self.with(master) {
            registration.good(item, frame);
        }
    }

    /// The same, for a response to a request of this kind.
    pub(super) fn good_of(&mut self, kind: Option<&'static str>, item: Item, frame: u64) {
        self.good(item, frame);
        if let Some(kind) = kind.and_then(|kind| self.kind(kind)) {
            kind.good(item, frame);
        }
    }

    /// A response to a request of this kind, or a message with this master, shows that the condition is not met.
    pub(super) fn fails(
        &mut self,
        kind: Option<&'static str>,
        master: Option<IpAddr>,
        item: Item,
        why: &Failure,
    ) {
        self.facts_of(item, master).into_iter().for_each(|fact| fact.fails(why.clone()));
        if let Some(kind) = kind.and_then(|kind| self.kind(kind)) {
            kind.fails(item, why);
        }
    }

    /// A response to this client fails a condition.
    pub(super) fn fails_toward(&mut self, client: IpAddr, item: Item, frame: u64) {
        if !matches!(item, Item::Whole | Item::Readable | Item::InTime | Item::FromAsked) {
            return;
        }
        let known = self.failing.iter().position(|(known, _)| *known == item);
        let at = known.unwrap_or_else(|| {
            self.failing.push((item, Map::default()));
            self.failing.len() - 1
        });
        let clients = &mut self.failing[at].1;
        if clients.len() < CLIENTS || clients.contains_key(&client) {
            let failed = clients.entry(client).or_default();
            *failed = frame.max(*failed);
        }
    }

    /// A response to this client fails a condition, which is counted elsewhere.
    pub(super) fn fails_beside(&mut self, client: IpAddr, item: Item, frame: u64) {
        self.fact_mut(item).interrupted(frame);
        self.fails_toward(client, item, frame);
    }

    /// A response to this client meets all conditions that can be known by it.
    pub(super) fn is_right_toward(&mut self, client: IpAddr, frame: u64) {
        if self.right.len() < CLIENTS || self.right.contains_key(&client) {
            self.right.insert(client, frame);
        }
    }

    /// Whether a condition was not met so many times, and is met again since, toward each client that it may concern.
    pub(super) fn is_mended(&self, item: Item, bad: u64) -> bool {
        let fact = self.fact(item);
        let is_right =
            |client: &IpAddr, failed| self.right.get(client).is_some_and(|right| *right > failed);
        let known = self.failing.iter().find(|(known, _)| *known == item);
        fact.is_mended(bad)
            && match known {
                Some((_, clients)) => clients.iter().all(|(client, at)| is_right(client, *at)),
                None => self.clients.iter().all(|client| is_right(client, fact.latest_failed())),
            }
    }

    /// The clients whose responses fail a condition.
    fn failing(&self, item: Item) -> impl Iterator<Item = IpAddr> + '_ {
        let of = self.failing.iter().filter(move |(known, _)| *known == item);
        of.flat_map(|(_, clients)| clients.keys().copied())
    }

    /// The only one of several clients whose responses fail a condition.
    pub(super) fn only_failing(&self, item: Item) -> Option<IpAddr> {
        let mut failing = self.failing(item);
        let one = failing.next().filter(|_| failing.next().is_none());
        one.filter(|_| self.clients.len() > 1)
    }

    /// That all responses which fail a condition go to one of several clients.
    pub(in crate::diagnose) fn all_to_one(&self, item: Item) -> Option<String> {
        self.only_failing(item).map(|client| format!(", all to {client}"))
    }

    /// The requests of the only kind whose responses fail a condition, if these are so many, and no response to that kind
    /// meets it.
    pub(in crate::diagnose) fn only_kind_failing(&self, item: Item, times: u64) -> Option<String> {
        let fails = |kind: &&Kind| kind.never_met(item).is_some_and(|it| it.times_not() >= times);
        self.kinds.iter().find(fails).map(|kind| requests(kind.name))
    }

    /// Whether of all kinds of requests it answers only one, with what describes it.
    pub(in crate::diagnose) fn only_describes(&self) -> bool {
        let mut answered = self.kinds.iter().filter(|kind| kind.answered.good > 0);
        answered.next().is_some_and(|kind| kind.describes) && answered.next().is_none()
    }

    /// What it sends these clients is right: they ask in another protocol than its own.
    pub(super) fn is_asked_otherwise_by(&mut self, clients: &[IpAddr]) {
        self.odd.retain(|odd| odd.client.is_none_or(|client| !clients.contains(&client)));
        for item in [Item::Whole, Item::Readable] {
            let count = self.failing(item).count();
            let are_all = self.failing(item).all(|client| clients.contains(&client));
            if (1..CLIENTS).contains(&count) && are_all {
                self.fact_mut(item).excuse();
            }
        }
    }

    /// It is unknown whether a condition is met.
    pub(super) fn doubts(&mut self, master: Option<IpAddr>, item: Item, why: &Failure) {
        self.facts_of(item, master).into_iter().for_each(|fact| fact.may_fail(why.clone()));
    }

    /// It addresses this master.
    pub(super) fn meets(&mut self, master: SocketAddr, id: Id) {
        self.registers.get_or_insert(id);
        if self.registrations.len() < ADDRESSES && self.with(master.ip()).is_none() {
            self.registrations.push(Registration::with(master));
        }
    }

    /// Its masters.
    pub(super) fn masters(&self) -> impl Iterator<Item = SocketAddr> {
        self.registrations.iter().filter_map(|it| it.master)
    }

    /// Where the capture was taken, as seen from this server at its host.
    pub(super) fn position(&self, host: IpAddr, everywhere: &CommonHosts) -> CapturePosition {
        let masters: Vec<_> = self.masters().map(|master| master.ip()).collect();
        let clients = self.clients.iter().filter(|host| !masters.contains(host));
        let clients: Vec<_> = clients.copied().collect();
        position(host, &self.hops, everywhere, &clients, &masters)
    }

    /// The protocol of the masters whose lists may have it.
    pub(super) fn lists_in(&self) -> Option<Id> {
        self.registers.or(self.registers_elsewhere())
    }

    /// The protocol in which servers of its clients' protocol register, if that is another one.
    pub(super) fn registers_elsewhere(&self) -> Option<Id> {
        self.query.and_then(|id| id.info().diagnosis.registers).and_then(Id::named)
    }

    /// Whether all clients of another server are its own, too.
    pub(super) fn has_clients_of(&self, other: &Server) -> bool {
        other.clients.iter().all(|client| self.clients.contains(client))
    }

    /// How many requests it got from these clients, about.
    pub(super) fn requests_of(&self, clients: &Set<IpAddr>) -> u64 {
        let (requests, all) = (self.fact(Item::Asked).good, self.pattern.all.asked);
        let of = clients.iter().map(|client| self.pattern.of_client(*client).asked).sum::<u64>();
        if of == 0 { requests } else { requests.saturating_mul(of) / all.max(1) }
    }

    /// Whether the end of its responses is a text in them.
    pub(super) fn ends_in_text(&self) -> bool {
        self.query.is_some_and(|id| id.info().diagnosis.endless.is_some())
    }

    /// A response was complete in one packet.
    pub(super) fn comes_in_one_packet(&mut self, frame: u64) {
        // A text that ends is whole.
        if self.ends_in_text() {
            return self.good(Item::Whole, frame);
        }
        let times = self.in_one_packet.map_or(0, |(_, times)| times);
        self.in_one_packet = Some((frame, times + 1));
    }

    /// It says its name.
    pub(super) fn is_named(&mut self, name: &Value<'_>) {
        // It rarely changes.
        let is_same = match (name, &self.name) {
            (Value::Text(name), Some(known)) => **name == *known.as_bytes(),
            _ => false,
        };
        if !is_same {
            self.name = Some(described::kept(name));
        }
    }

    /// It joined its masters from this address before, as another server that was nothing else.
    pub(super) fn joined_from(&mut self, address: SocketAddr, before: &Server) {
        let others = before.addresses.iter().map(|(address, _)| *address);
        others.chain([address]).for_each(|it| self.is_at(it, AddressRole::Join));
        for registration in &mut self.registrations {
            let is_same = |it: &&Registration| it.master == registration.master;
            if let Some(before) = before.registrations.iter().find(is_same) {
                registration.joined_before(before);
            }
        }
    }

    /// Whether it joined some master.
    pub(super) fn has_joined(&self) -> bool {
        self.registrations.iter().any(|it| it.joins.is_some())
    }

    /// Whether something in front of it drops the requests that return its challenges.
    pub(super) fn is_filtered(&self) -> bool {
        let why = self.fact(Item::Verified).failure(true);
        why.is_some_and(|why| why.cause == &causes::answers::CHALLENGE_FILTERED)
    }

    /// It is what registers at another address.
    pub(super) fn registers_as(&mut self, other: Server) {
        self.registers = other.registers;
        self.game = other.game;
        self.description = other.description;
        self.lan_only = other.lan_only;
        self.names_port |= other.names_port;
        self.registrations = other.registrations;
    }

    /// What shows which program it is: its game, and the keys of its description of itself.
    pub(super) fn program(&self) -> (&[u8], Vec<&[u8]>) {
        (&self.game, self.description.iter().map(|(key, _)| &key[..]).collect())
    }

    /// When it first joined a master, and when it last did.
    pub(super) fn joins_span(&self) -> Option<[Time; 2]> {
        let joins = self.registrations.iter().filter_map(|it| it.joins);
        let spans = joins.map(|(first, last, _)| [first, last]);
        spans.reduce(|one, other| [one[0].min(other[0]), one[1].max(other[1])])
    }

    /// A response came from here instead of the queried address.
    pub(super) fn responds_from(&mut self, asked: SocketAddr, from: SocketAddr, frame: u64) {
        let is_port = asked.ip() == from.ip();
        let cause = if is_port { &causes::OTHER_PORT } else { &causes::OTHER_ADDRESS };
        self.good(Item::Answered, frame);
        self.responses_elsewhere += 1;
        self.fact_mut(Item::FromAsked).interrupted(frame);
        if self.elsewhere.len() < ADDRESSES {
            self.elsewhere.push((from, cause, frame));
        }
    }

    /// Its description of itself to a master has this value.
    pub(super) fn says(&mut self, key: &[u8], value: &[u8]) {
        if key.len() > LONG || value.len() > LONG {
            return;
        }
        if let Some((_, known)) = self.description.iter_mut().find(|(known, _)| known == key) {
            known.take_if(|known| known != value);
        } else if self.description.len() < KEYS {
            self.description.push((key.to_vec(), Some(value.to_vec())));
        }
    }

    /// Whether a list with this filter includes it, if known.
    pub(super) fn is_selected(&self, address: SocketAddr, asked: &[Vec<u8>]) -> Option<bool> {
        let masters = self.registers.and_then(|id| id.info().masters)?;
        let address = address.to_string();
        let description = |key: &str| {
            if key == "address" {
                return Some(address.as_bytes());
            }
            let known = self.description.iter().find(|(known, _)| known == key.as_bytes())?;
            known.1.as_deref()
        };
        (masters.selects?.selects)(asked, &description)
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
        in_time.good + in_time.times_not() > 0
    }

    /// Requests of a kind.
    pub(super) fn kind(&mut self, name: &'static str) -> Option<&mut Kind> {
        let new = || Kind { name, ..Kind::default() };
        find_or_add(&mut self.kinds, KINDS, |kind| kind.name == name, new)
    }
}
