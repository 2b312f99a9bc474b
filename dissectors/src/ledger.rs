//! Rules that span more than a pair of hosts: one server seen by many clients, one server's
//! masters, one client's list and its queries, one master's challenges.
//!
//! Talks tell [`Fact`]s; what they come to is told when the capture has been read. The ledger keeps
//! a bounded number of entries of each kind: once one does not fit, what is missing proves nothing
//! any more.

mod challenges;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use crate::a2s::rules::{A2S053, SEC004, SEC005};
use crate::acr_master::rules::ACR031;
use crate::gamespy1::rules::GS1032;
use crate::kit::{
    AT_ONCE, Code, Evidence, Fact, HashedMap, Host, Limit, Map, Rule, Seed, Seen, Set, Short,
    Socket, Time, Who, append,
};
use crate::net_rules::NET011;
use crate::valve_master::rules::VM046;
use challenges::Challenges;

/// Servers of one list that are remembered.
const LISTED: usize = 1 << 14;

/// Answers within one second to an address that never asked, from which on they are no accident.
const UNASKED: u32 = 30;

/// Nanoseconds of the window in which they are counted.
const WINDOW: i64 = 1_000_000_000;

/// Addresses that leave a server's challenge unused from which on they are no accident.
const UNUSED: usize = 100;

/// A listed server, in as little room as a list of thousands wants.
pub type Listed = [u8; 8];

/// A server as it is listed. Each of IPv4 is another; two of IPv6 are the same only by chance.
pub fn listed(server: SocketAddr) -> Listed {
    let port = u64::from(server.port());
    let word = match server.ip() {
        IpAddr::V4(address) => u64::from(u32::from(address)) << 16 | port,
        IpAddr::V6(address) => {
            let (bits, odd) = (u128::from(address), 0x9E37_79B9_7F4A_7C15_u64);
            let mixed = ((bits >> 64) as u64).wrapping_mul(odd).rotate_left(32) ^ bits as u64;
            (mixed ^ port).wrapping_mul(odd) | 1 << 63
        }
    };
    word.to_ne_bytes()
}

/// A message, and what is known of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Witness {
    /// The message.
    pub seen: Seen,
    /// The flow's number.
    pub flow: u32,
    /// The flow's first packet opens a conversation.
    pub began: bool,
    /// The recording lost something of the flow before.
    pub lossy: bool,
}

/// A rule that several flows together break.
#[derive(Clone, Debug)]
pub struct Ruling {
    /// Which rule.
    pub rule: &'static Rule,
    /// What is known of the recording.
    pub evidence: Evidence,
    /// The message to look at.
    pub witness: Witness,
    /// Which part its sender plays.
    pub speaker: Who,
    /// What is wrong.
    pub detail: String,
}

/// What is known across flows.
pub struct Ledger {
    /// Entries of a kind.
    most: usize,
    challenges: Challenges,
    seed: Seed,
    /// Challenges that servers took from clients they are not known to have given them to.
    accepted: Vec<(u32, Witness)>,
    /// Challenges given lately, by the hash of the server.
    challenged: Vec<(u64, Witness)>,
    /// The latest challenge of each server that gave one.
    challengers: Vec<Witness>,
    /// Their places, by the hashes of the servers: every challenge looks one up.
    places: HashedMap<u32>,
    /// Addresses that left a challenge unused, by the places of the servers that have any.
    unused: BTreeMap<u32, BTreeSet<IpAddr>>,
    /// Addresses of all of them.
    unused_in_all: usize,
    /// Answers to addresses that were not seen to ask.
    unasked: BTreeMap<IpAddr, Flood>,
    /// The layout of each server's first split answer, and the number of the flow it went to, by the
    /// hashes of the servers.
    layouts: HashedMap<(&'static str, u32)>,
    /// Two masters of each game server at most, and its first join.
    masters: BTreeMap<SocketAddr, (BTreeSet<SocketAddr>, Witness)>,
    /// What each client was listed.
    lists: Map<Host, List>,
    /// Servers in all lists.
    listed: usize,
    /// Challenges that masters handed out, each with its master.
    handed_out: Set<(SocketAddr, [u8; 16])>,
    rulings: Vec<Ruling>,
    /// How often each rule was kept.
    kept: BTreeMap<Code, (&'static Rule, u64)>,
    full: bool,
    /// The message that it was filled by; while there is room, the latest one.
    latest: Option<Witness>,
}

/// What all flows together come to.
pub struct Review {
    /// What was broken, and what is not sure to be kept, in the order of the packets.
    pub rulings: Vec<Ruling>,
    /// How often each rule was kept beside these.
    pub kept: Vec<(&'static Rule, u64)>,
}

/// Answers to an address that never asked.
struct Flood {
    latest: Witness,
    count: u64,
    /// When the window began, and how many have come in it.
    window: (Time, u32),
    /// The most that came in one.
    most: u32,
}

/// What a client was listed, and whether it asked any of it.
struct List {
    servers: Set<u64>,
    witness: Witness,
    queried: bool,
    /// Not all of it is here: what the client queried may be what is not.
    is_cut: bool,
}

impl Ledger {
    /// A ledger of at most so many entries of each kind.
    pub fn new(most: usize) -> Ledger {
        Ledger {
            most,
            challenges: Challenges::default(),
            seed: Seed::default(),
            accepted: Vec::new(),
            challenged: Vec::new(),
            challengers: Vec::new(),
            places: HashedMap::default(),
            unused: BTreeMap::new(),
            unused_in_all: 0,
            unasked: BTreeMap::new(),
            layouts: HashedMap::default(),
            masters: BTreeMap::new(),
            lists: Map::default(),
            listed: 0,
            handed_out: Set::default(),
            rulings: Vec::new(),
            kept: BTreeMap::new(),
            full: false,
            latest: None,
        }
    }

    /// Takes a fact that a message of this flow shows; the servers of [`Fact::Listed`] with it.
    pub fn fact(&mut self, fact: Fact, servers: &[Listed], witness: &Witness) {
        let seen = &witness.seen;
        if !self.full {
            self.latest = Some(*witness);
        }
        match fact {
            Fact::Challenged(challenge) => self.challenge(challenge, *witness),
            Fact::Accepted(challenge) => {
                if self.has_room(self.accepted.len(), |_| false) {
                    self.accepted.push((challenge, *witness));
                }
            }
            Fact::Unused => self.unused(seen),
            Fact::Unasked => self.unasked(*witness),
            Fact::Split(layout) => self.split(layout, *witness),
            Fact::Joined => {
                let is_known = |it: &Ledger| it.masters.contains_key(&seen.from);
                if self.has_room(self.masters.len(), is_known) {
                    let first = || (BTreeSet::new(), *witness);
                    let (masters, _) = self.masters.entry(seen.from).or_insert_with(first);
                    if masters.len() < 2 {
                        masters.insert(seen.to);
                    }
                }
            }
            Fact::Listed => self.list(servers, *witness),
            Fact::Queried => {
                if let Some(list) = self.lists.get_mut(&Host(seen.from.ip()))
                    && list.servers.contains(&u64::from_ne_bytes(listed(seen.to)))
                {
                    // What else was listed does not matter any more.
                    self.listed -= list.servers.len();
                    *list = List { servers: Set::default(), queried: true, ..*list };
                }
            }
            Fact::HandedOut(challenge) => self.handed_out(challenge, *witness),
        }
    }

    /// Whether there is room beside so many entries; one that is known already needs none.
    fn has_room(&mut self, entries: usize, is_known: impl FnOnce(&Ledger) -> bool) -> bool {
        let has_room = entries < self.most || is_known(self);
        self.full |= !has_room;
        has_room
    }

    fn rule(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        witness: Witness,
        who: Who,
        detail: impl FnOnce() -> String,
    ) {
        if ok {
            self.kept.entry(rule.code).or_insert((rule, 0)).1 += 1;
        } else {
            let evidence = Evidence { began: witness.began, ..Evidence::default() };
            self.broken(rule, evidence, witness, who, detail);
        }
    }

    fn broken(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        witness: Witness,
        who: Who,
        detail: impl FnOnce() -> String,
    ) {
        if self.has_room(self.rulings.len(), |_| false) {
            self.rulings.push(Ruling { rule, evidence, witness, speaker: who, detail: detail() });
        }
    }

    fn challenge(&mut self, challenge: u32, witness: Witness) {
        let Seen { from, to, .. } = witness.seen;
        let key = self.key(from, challenge);
        self.challenges.push(key, to.ip(), self.most);
        self.challenged.push((self.seed.hash_one(Socket(from)), witness));
        if self.challenged.len() >= AT_ONCE {
            self.settle();
        }
    }

    /// Notes who gave challenges lately.
    fn settle(&mut self) {
        let mut challenged = std::mem::take(&mut self.challenged);
        for (key, witness) in challenged.drain(..) {
            let is_known = |it: &Ledger| it.places.contains_key(&key);
            if !self.has_room(self.challengers.len(), is_known) {
                continue;
            }
            let servers = &mut self.challengers;
            let at = *self.places.entry(key).or_insert_with(|| {
                append(servers, witness);
                (servers.len() - 1) as u32
            });
            if let Some(server) = servers.get_mut(at as usize) {
                *server = witness;
            }
        }
        self.challenged = challenged;
    }

    /// What stands for a server's challenge.
    fn key(&self, server: SocketAddr, challenge: u32) -> Short {
        self.seed.hash_one((Socket(server), challenge)).into()
    }

    /// A client sent one packet and left this server's challenge unused.
    fn unused(&mut self, seen: &Seen) {
        self.settle();
        let Some(&server) = self.places.get(&self.seed.hash_one(Socket(seen.from))) else { return };
        let unused = self.unused.entry(server).or_default();
        if unused.len() >= UNUSED || unused.contains(&seen.to.ip()) {
            return;
        }
        if self.unused_in_all < self.most {
            unused.insert(seen.to.ip());
            self.unused_in_all += 1;
        } else {
            self.full = true;
        }
    }

    fn unasked(&mut self, witness: Witness) {
        let victim = witness.seen.to.ip();
        if !self.has_room(self.unasked.len(), |it| it.unasked.contains_key(&victim)) {
            return;
        }
        let now = witness.seen.mark.time;
        let first = Flood { latest: witness, count: 0, window: (now, 0), most: 0 };
        let flood = self.unasked.entry(victim).or_insert(first);
        flood.latest = witness;
        flood.count += 1;
        if now.since(flood.window.0) > WINDOW {
            flood.window = (now, 0);
        }
        flood.window.1 = flood.window.1.saturating_add(1);
        flood.most = flood.most.max(flood.window.1);
    }

    /// The first split answer of a flow; what follows in the flow is judged there.
    fn split(&mut self, layout: &'static str, witness: Witness) {
        let server = self.seed.hash_one(Socket(witness.seen.from));
        if !self.has_room(self.layouts.len(), |it| it.layouts.contains_key(&server)) {
            return;
        }
        let first = (layout, witness.flow);
        let (before, flow) = *self.layouts.entry(server).or_insert(first);
        if flow != witness.flow {
            let detail =
                || format!("the {layout} layout here, the {before} layout to another client");
            self.rule(&A2S053, before == layout, witness, Who::Server, detail);
        }
    }

    fn list(&mut self, servers: &[Listed], witness: Witness) {
        let client = Host(witness.seen.to.ip());
        if servers.is_empty()
            || !self.has_room(self.lists.len(), |it| it.lists.contains_key(&client))
        {
            return;
        }
        let first = || List { servers: Set::default(), witness, queried: false, is_cut: false };
        let list = self.lists.entry(client).or_insert_with(first);
        if list.queried {
            return;
        }
        let room = (self.most - self.listed).min(LISTED.saturating_sub(list.servers.len()));
        list.servers.reserve(servers.len().min(room));
        for server in servers {
            if self.listed >= self.most {
                self.full = true;
                return;
            }
            if list.servers.len() >= LISTED {
                list.is_cut = true;
                return;
            }
            self.listed += usize::from(list.servers.insert(u64::from_ne_bytes(*server)));
        }
    }

    fn handed_out(&mut self, challenge: [u8; 16], witness: Witness) {
        let challenge = (witness.seen.from, challenge);
        if !self.has_room(self.handed_out.len(), |it| it.handed_out.contains(&challenge)) {
            return;
        }
        let fresh = self.handed_out.insert(challenge);
        let detail = || "this challenge was handed out before".to_owned();
        self.rule(&ACR031, fresh, witness, Who::Master, detail);
    }

    /// What it all comes to.
    pub fn review(mut self) -> Review {
        self.settle();
        self.shared();
        self.floods();
        self.crowds();
        self.masters();
        self.lists();
        let mut rulings = self.rulings;
        for ruling in &mut rulings {
            ruling.evidence.lossy |= self.full;
        }
        rulings.extend(self.latest.filter(|_| self.full).map(|witness| Ruling {
            rule: &NET011,
            evidence: Evidence::default(),
            witness: Witness { flow: 0, ..witness },
            speaker: Who::Capture,
            detail: format!("the limit {} was met", Limit::Remembered.name()),
        }));
        rulings.sort_by_key(|ruling| (ruling.witness.seen.mark.frame, ruling.rule.code));
        Review { rulings, kept: self.kept.into_values().collect() }
    }

    /// Challenges of one address in the hands of another.
    fn shared(&mut self) {
        let accepted = std::mem::take(&mut self.accepted);
        let key = |(challenge, witness): &(u32, Witness)| self.key(witness.seen.from, *challenge);
        let keys: Vec<_> = accepted.iter().map(key).collect();
        let first = self.challenges.first_given(&keys, self.most);
        self.full |= self.challenges.full;
        for ((challenge, witness), key) in accepted.into_iter().zip(keys) {
            let given = first.get(&key);
            if let Some(given) = given.filter(|given| **given != witness.seen.to.ip()) {
                let detail = || format!("the challenge {} was given to {given}", challenge as i32);
                // The server speaks here: what it gave to this address is in the capture, too, if
                // the flow's beginning is.
                let Witness { began, lossy, .. } = witness;
                let evidence =
                    Evidence { began, lossy, asked_party_seen: true, ..Evidence::default() };
                self.broken(&SEC004, evidence, witness, Who::Server, detail);
            }
        }
    }

    /// Answers in numbers to an address that never asked.
    fn floods(&mut self) {
        for (victim, flood) in std::mem::take(&mut self.unasked) {
            if flood.most >= UNASKED {
                let Flood { latest, count, most, .. } = flood;
                let detail = || {
                    format!(
                        "{count} answers went to {victim}, which never asked: {most} within a second"
                    )
                };
                self.rule(&SEC005, false, latest, Who::Server, detail);
            }
        }
    }

    /// Challenges that crowds of one-packet sources left unused.
    fn crowds(&mut self) {
        let crowded = self.unused.iter().filter(|(_, unused)| unused.len() >= UNUSED);
        let latest = crowded.filter_map(|(&at, _)| self.challengers.get(at as usize));
        let mut latest: Vec<_> = latest.copied().collect();
        latest.sort_unstable_by_key(|server| server.seen.from);
        for server in latest {
            let detail = || {
                format!("{UNUSED} addresses or more sent one packet and left the challenge unused")
            };
            self.rule(&SEC005, false, server, Who::Server, detail);
        }
    }

    /// Who joins two masters. Who is not seen to turn to others may do so where nobody records: only
    /// the user knows.
    fn masters(&mut self) {
        for (_, (masters, witness)) in std::mem::take(&mut self.masters) {
            let witness = Witness { began: false, ..witness };
            let detail = || "the server joins this master and no other".to_owned();
            self.rule(&VM046, masters.len() > 1, witness, Who::Server, detail);
        }
    }

    /// Clients that query what they were listed.
    fn lists(&mut self) {
        let mut lists = Vec::from_iter(std::mem::take(&mut self.lists));
        lists.sort_unstable_by_key(|(client, _)| client.0);
        for (_, list) in lists {
            let count = list.servers.len();
            let servers = if count == 1 { "the server" } else { "any of the servers" };
            let detail = || format!("the client never queries {servers} that it was listed");
            if list.queried {
                self.rule(&GS1032, true, list.witness, Who::Master, detail);
            } else {
                let evidence = Evidence { lossy: list.is_cut, ..Evidence::default() };
                self.broken(&GS1032, evidence, list.witness, Who::Master, detail);
            }
        }
    }
}

#[cfg(test)]
mod tests;
