//! Rules that span several pairs of hosts: one server with many clients, the masters of one server,
//! one client's list and its queries, the challenges of one master.
//!
//! Conversations report [`CrossFlowEvent`]s; the rules are checked when the whole capture has been read. The ledger keeps a
//! bounded number of entries of each kind: once one does not fit, a missing entry proves nothing.

mod balances;
mod breaches;
mod challenges;
mod cross_flow;
mod detail;
mod early_askers;
mod elsewhere;
mod filtered;
mod frequent;
mod game_port;
mod handed_out;
mod lists;
mod load;
mod loads;
mod other_packets;
mod packet_floods;
mod rate;
mod registrations;
mod repeaters;
mod repeats;
mod sources;
mod victims;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use crate::abuse_rules::SEC004;
use crate::kit::{
    AbuseThresholds, Code, CrossFlowEvent, Evidence, HashedMap, Host, Limit, ListRules, Map, Name,
    Role, Rule, Seed, SeenMessage, Set, Settings, ShortHash, Socket, Time, Unmatched,
};
use crate::net_rules::NET011;
pub use balances::Balances;
pub use breaches::CrossFlowBreaches;
use challenges::Challenges;
pub use cross_flow::{Basis, CrossFlow, Listed, listed};
pub use detail::Detail;
use early_askers::EarlyAskers;
use elsewhere::Elsewhere;
use filtered::FilteredLists;
pub use game_port::{
    OTHER_CONTENT, Peers, WAYS, asks_for_something, is_one_way, may_be_players, packet_name,
};
use lists::ListedServers;
pub use loads::{GROUPS, Loads};
pub use packet_floods::TOGETHER;
use registrations::Registrations;
pub use repeats::Repeats;
pub use victims::may_be_answers;
use victims::{Victims, asked_before, orphans};

/// A minute, in nanoseconds: so soon after a filtered list, what servers say of themselves is compared with it.
pub const MINUTE: i64 = 60_000_000_000;

/// A breach of a rule that several flows together show.
#[derive(Clone, Debug)]
pub struct CrossFlowBreach {
    /// Which rule.
    pub rule: &'static Rule,
    /// The evidence.
    pub evidence: Evidence,
    /// The message to look at.
    pub basis: Basis,
    /// The role of its sender.
    pub speaker: Role,
    /// The evidence is complete: losses elsewhere in the recording do not matter.
    pub of_flow: bool,
    /// It is a known deviation, or may be none: the rule passes.
    pub is_note: bool,
    /// What is wrong.
    pub detail: Detail,
    /// The attack, if many sources together are at fault.
    pub attack: Option<AttackOn>,
}

/// What many sources together do to one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttackOn {
    /// The sources, as text: `about 5400 sources`.
    pub sources: String,
    /// The target: an address, with the port of a server.
    pub target: String,
    /// What happens to it, as after "it"; `None`: it has many clients, which is no attack.
    pub suffers: Option<&'static str>,
}

impl AttackOn {
    /// The attack in words, if it is one.
    pub fn sentence(&self) -> Option<String> {
        self.suffers.map(|suffers| format!("{} {suffers}", self.target))
    }
}

/// The party at fault.
impl fmt::Display for AttackOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} toward {}", self.sources, self.target)
    }
}

impl CrossFlowBreach {
    /// One for which losses elsewhere matter, by one party.
    fn of(
        rule: &'static Rule,
        evidence: Evidence,
        basis: Basis,
        speaker: Role,
        detail: Detail,
    ) -> CrossFlowBreach {
        let (of_flow, is_note, attack) = (false, false, None);
        CrossFlowBreach { rule, evidence, basis, speaker, of_flow, is_note, detail, attack }
    }

    /// The client in the exchange that it is about.
    pub const fn client(&self) -> Option<SocketAddr> {
        match self.speaker {
            Role::Client => Some(self.basis.seen.from),
            Role::Server => Some(self.basis.seen.to),
            _ => None,
        }
    }

    /// The endpoint that was asked, if another one responded.
    pub const fn asked(&self) -> Option<SocketAddr> {
        match self.detail {
            Detail::Elsewhere { asked, .. } => Some(asked),
            _ => None,
        }
    }
}

/// The settings of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct LedgerSettings {
    /// Maximum number of entries of a kind.
    pub most: usize,
    /// How long a response may take, in nanoseconds.
    pub answer_timeout: i64,
    /// How long a master lists a server after its latest heartbeat, in nanoseconds.
    pub listed_longest: i64,
    /// The thresholds of abuse.
    pub abuse: AbuseThresholds,
}

impl LedgerSettings {
    /// From the settings, with this many entries of a kind.
    pub fn of(settings: &Settings, most: usize) -> LedgerSettings {
        LedgerSettings {
            most,
            answer_timeout: settings.answer_timeout,
            listed_longest: settings.protocols.gamespy1.listed_longest,
            abuse: settings.abuse,
        }
    }
}

/// Results that did not fit and are only counted.
#[derive(Clone, Default)]
struct UncheckedCounts(Vec<(&'static Rule, Evidence, u64)>);

impl UncheckedCounts {
    fn add(&mut self, rule: &'static Rule, evidence: Evidence) {
        let same =
            |(other, known, _): &&mut (&Rule, Evidence, u64)| *other == rule && *known == evidence;
        match self.0.iter_mut().find(same) {
            Some((.., times)) => *times += 1,
            None => self.0.push((rule, evidence, 1)),
        }
    }
}

/// State across flows.
#[derive(Clone)]
pub struct Ledger {
    settings: LedgerSettings,
    challenges: Challenges,
    seed: Seed,
    /// Challenges that servers accepted from clients they are not known to have given them to.
    accepted: Vec<(u32, Basis)>,
    /// Responses from other hosts or ports than the request went to.
    elsewhere: Elsewhere,
    early: EarlyAskers,
    /// The receivers of such responses that did not fit.
    victims: Victims,
    /// The layout of each server's first split response, and the number of its flow, by the hash of
    /// the server.
    layouts: HashedMap<(Name, u32)>,
    /// At most two masters of each game server, and its first join.
    masters: BTreeMap<SocketAddr, (BTreeSet<SocketAddr>, &'static Rule, Basis)>,
    /// The list that each client received.
    lists: Map<Host, ListedServers>,
    /// Servers in all lists.
    listed: usize,
    /// Lists that were requested with a filter.
    filtered: FilteredLists,
    /// The servers that are registered with masters.
    registrations: Registrations,
    /// Ports that servers announce for players, as [`listed`].
    announced: Set<u64>,
    /// Challenges that masters handed out, each with its master: the latest receiver, and when.
    handed_out: Map<(IpAddr, [u8; 16]), (SocketAddr, Time)>,
    /// Responses whose requests are missing on flows with others.
    requests_missing: u64,
    breaches: Vec<CrossFlowBreach>,
    /// How often each rule passed.
    kept: BTreeMap<Code, (&'static Rule, u64)>,
    full: bool,
    /// The message that filled it; while there is room, the latest one.
    latest: Option<Basis>,
}

/// The results of all flows together.
pub struct Review {
    /// Breaches and possible breaches, in the order of the packets.
    pub breaches: CrossFlowBreaches,
    /// Rules that passed.
    pub kept: Vec<KeptRule>,
    /// Results that were not kept because of the limit: the rule, the evidence, and their number.
    pub beyond: Vec<(&'static Rule, Evidence, u64)>,
    /// Responses whose requests are not in the capture, of servers that are asked at other times.
    pub orphans: u64,
}

/// As many of a kind, such as requests without a response, are no accident.
pub const NO_ACCIDENT: u64 = 3;

/// As many responses without their requests show that the recorder lost packets: in all, or one of so many.
const ORPHANS: u64 = 10;
const ORPHAN_SHARE: u64 = 20;

/// Whether so many responses of asked servers have no request in the capture, of so many responses, that the recorder
/// lost packets.
pub const fn seems_lossy(orphans: u64, responses: u64) -> bool {
    orphans >= ORPHANS || orphans >= NO_ACCIDENT && orphans * ORPHAN_SHARE >= responses
}

/// A rule that passed.
#[derive(Clone, Copy, Debug)]
pub struct KeptRule {
    /// Which rule.
    pub rule: &'static Rule,
    /// The server, if it is about one.
    pub server: Option<SocketAddr>,
    /// How often.
    pub times: u64,
}

impl Ledger {
    /// A ledger with these settings.
    pub fn new(settings: LedgerSettings) -> Ledger {
        Ledger {
            settings,
            challenges: Challenges::default(),
            seed: Seed::default(),
            accepted: Vec::new(),
            elsewhere: Elsewhere::default(),
            early: EarlyAskers::default(),
            victims: Victims::default(),
            layouts: HashedMap::default(),
            masters: BTreeMap::new(),
            lists: Map::default(),
            listed: 0,
            filtered: FilteredLists::default(),
            registrations: Registrations::default(),
            announced: Set::default(),
            handed_out: Map::default(),
            requests_missing: 0,
            breaches: Vec::new(),
            kept: BTreeMap::new(),
            full: false,
            latest: None,
        }
    }

    /// Adds an event.
    pub fn cross_flow(&mut self, it: &CrossFlow<'_>) {
        let &CrossFlow { event, ref basis, servers, text } = it;
        let seen = &basis.seen;
        self.early.begin(seen.mark.time);
        // How many more there are than needed, depends on threads.
        if !self.full && event != CrossFlowEvent::Described {
            self.latest = Some(*basis);
        }
        match event {
            CrossFlowEvent::Challenged(challenge) => {
                self.challenge(challenge, *basis);
                self.queried([seen.to, seen.from], seen.mark.time);
            }
            CrossFlowEvent::Accepted { challenge, not_given } => {
                self.accepted(challenge, basis);
                if let Some((evidence, rule)) = not_given {
                    self.not_given(challenge, evidence, true, rule, basis);
                }
            }
            CrossFlowEvent::NotGiven { challenge, evidence, rule } => {
                self.not_given(challenge, evidence, false, rule, basis);
            }
            CrossFlowEvent::Unheard { what: Name(what), evidence, rule } => {
                self.breach(rule, evidence, *basis, rule.who, || Detail::Unheard(what));
            }
            CrossFlowEvent::RequestMissing => self.request_missing(seen),
            CrossFlowEvent::Unasked(unmatched) => self.open(unmatched, true, basis),
            CrossFlowEvent::Unanswered(unmatched) => {
                self.open(unmatched, false, basis);
                self.queried([seen.from, seen.to], seen.mark.time);
            }
            // An event about the whole response follows.
            CrossFlowEvent::StrayPart(_) => {}
            CrossFlowEvent::Split(layout, rule) => self.split(layout, rule, *basis),
            CrossFlowEvent::Joined(rule) => self.joined(rule, basis),
            CrossFlowEvent::Listed(rules) => self.listed(&rules, servers, text, basis),
            CrossFlowEvent::Described => self.described(text, basis),
            CrossFlowEvent::Registered(registration) => {
                self.full |= !self.registrations.step(registration, seen, self.settings.most);
            }
            CrossFlowEvent::Queried => self.queried([seen.from, seen.to], seen.mark.time),
            CrossFlowEvent::Refused | CrossFlowEvent::Translated(_) => {}
            CrossFlowEvent::Announced(port) => {
                self.knows(listed(SocketAddr::new(seen.from.ip(), port)));
            }
            CrossFlowEvent::HandedOut(challenge, rule, new_for) => {
                self.handed_out(challenge, rule, new_for, *basis)
            }
        }
    }

    fn accepted(&mut self, challenge: u32, basis: &Basis) {
        if self.has_room(self.accepted.len(), |_| false) {
            self.accepted.push((challenge, *basis));
        }
    }

    fn request_missing(&mut self, response: &SeenMessage) {
        let (ends, most) = ([response.to, response.from], self.settings.most);
        let timeout = self.settings.answer_timeout;
        let is_early = self.early.is_answered(ends, response.mark.time, timeout, most);
        self.requests_missing += u64::from(!is_early);
    }

    /// A server joins a master.
    fn joined(&mut self, rule: &'static Rule, basis: &Basis) {
        let (server, master) = (basis.seen.from, basis.seen.to);
        if self.has_room(self.masters.len(), |it| it.masters.contains_key(&server)) {
            let first = || (BTreeSet::new(), rule, *basis);
            let (masters, ..) = self.masters.entry(server).or_insert_with(first);
            if masters.len() < 2 {
                masters.insert(master);
            }
        }
    }

    /// A master lists these servers, to a query with this filter.
    fn listed(&mut self, rules: &ListRules, servers: &[Listed], filter: &[u8], basis: &Basis) {
        self.list(servers, rules.queried, *basis);
        if let Some((rule, game)) = rules.registered {
            self.compare_with_registrations(servers, rule, game, *basis);
        }
        if let Some(rule) = rules.filtered {
            self.list_filtered(servers, rule, filter, *basis);
        }
    }

    /// This is a game server's port.
    pub fn knows(&mut self, server: Listed) {
        let end = u64::from_ne_bytes(server);
        if self.has_room(self.announced.len(), |it| it.announced.contains(&end)) {
            self.announced.insert(end);
        }
    }

    /// Whether there is room for an entry; a known one needs none.
    fn has_room(&mut self, entries: usize, is_known: impl FnOnce(&Ledger) -> bool) -> bool {
        let has_room = entries < self.settings.most || is_known(self);
        self.full |= !has_room;
        has_room
    }

    fn rule(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        basis: Basis,
        who: Role,
        detail: impl FnOnce() -> String,
    ) {
        if ok {
            self.kept.entry(rule.code).or_insert((rule, 0)).1 += 1;
        } else {
            let evidence = Evidence { began: basis.began, ..Evidence::default() };
            self.broken(rule, evidence, basis, who, detail);
        }
    }

    fn broken(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        basis: Basis,
        who: Role,
        detail: impl FnOnce() -> String,
    ) {
        self.breach(rule, evidence, basis, who, || Detail::Text(detail()));
    }

    fn breach(
        &mut self,
        rule: &'static Rule,
        evidence: Evidence,
        basis: Basis,
        who: Role,
        detail: impl FnOnce() -> Detail,
    ) {
        if self.has_room(self.breaches.len(), |_| false) {
            self.breaches.push(CrossFlowBreach::of(rule, evidence, basis, who, detail()));
        }
    }

    fn challenge(&mut self, challenge: u32, basis: Basis) {
        let SeenMessage { from, to, .. } = basis.seen;
        let key = self.key(from, challenge);
        self.challenges.push(key, to.ip(), self.settings.most);
    }

    /// A response without a request, or a request without a response.
    fn open(&mut self, unmatched: Unmatched, is_response: bool, basis: &Basis) {
        if !self.elsewhere.open(unmatched, is_response, basis, self.settings.most) {
            self.full = true;
            if is_response {
                self.victims.answered(&basis.seen, &self.settings);
            }
        }
    }

    /// A client used, or a server accepted, a challenge that the server is not known to have given.
    fn not_given(
        &mut self,
        challenge: u32,
        evidence: Evidence,
        is_accepted: bool,
        rule: &'static Rule,
        basis: &Basis,
    ) {
        let most = self.settings.most;
        self.full |= !self.elsewhere.challenge(challenge, evidence, is_accepted, rule, basis, most);
    }

    /// A hash of a server and its challenge.
    fn key(&self, server: SocketAddr, challenge: u32) -> ShortHash {
        self.seed.hash_one((Socket(server), challenge)).into()
    }

    /// The first split response of a flow; the flow's conversation checks further ones.
    fn split(&mut self, layout: Name, rule: &'static Rule, basis: Basis) {
        let server = self.seed.hash_one(Socket(basis.seen.from));
        if !self.has_room(self.layouts.len(), |it| it.layouts.contains_key(&server)) {
            return;
        }
        let first = (layout, basis.flow);
        let (before, flow) = *self.layouts.entry(server).or_insert(first);
        if flow != basis.flow {
            let detail =
                || format!("the {layout} layout here, the {before} layout to another client");
            self.rule(rule, before == layout, basis, Role::Server, detail);
        }
    }

    /// The user states that the capture is complete: nothing came before it.
    pub fn nothing_came_before(&mut self) {
        self.early.forget();
    }

    /// The results, with the load on servers. `begin`, `end`: of the capture; `is_heard`: packets of this host were recorded.
    pub fn review(
        mut self,
        loads: Loads,
        [begin, end]: [Time; 2],
        is_heard: impl Fn(IpAddr) -> bool,
    ) -> Review {
        let mut elsewhere = std::mem::take(&mut self.elsewhere);
        let early = std::mem::take(&mut self.early);
        let timeout = self.settings.answer_timeout;
        let review = elsewhere.review(timeout, |[client, server], time| {
            let may_be_older = early.ask_several(client) || early.asked_before([client, server]);
            time.since(begin) < timeout && may_be_older
        });
        let clients = if review.unasked.is_empty() { Set::default() } else { loads.clients() };
        let orphans = self.requests_missing + orphans(&review, begin, timeout, &loads, &clients);
        self.shared(&elsewhere);
        let known = self.known_servers();
        self.masters();
        self.lists();
        self.settle_filtered(None);
        let kept = std::mem::take(&mut self.kept).into_values();
        let kept = kept.map(|(rule, times)| KeptRule { rule, server: None, times });
        let mut kept = Vec::from_iter(kept.chain(review.kept));
        let mut breaches = std::mem::take(&mut self.breaches);
        for breach in &mut breaches {
            breach.evidence.lossy |= self.full;
            if matches!(breach.detail, Detail::Unheard(_)) && breach.evidence.began {
                breach.evidence.asked_party_seen = is_heard(breach.basis.seen.to.ip());
            }
        }
        breaches.extend(review.breaches);
        let mut victims = Victims::default();
        let is_early = asked_before(&review.unasked, begin, timeout, &clients);
        let unasked = review.unasked.iter().filter(|seen| !is_early(seen));
        unasked.for_each(|seen| victims.answered(seen, &self.settings));
        let may_have_asked = elsewhere.may_have_asked();
        self.victims.retain(|address| !may_have_asked(address));
        victims.add(std::mem::take(&mut self.victims), &self.settings);
        // Without any request, only one direction was recorded.
        let is_recorded = |address| loads.has_requests() || is_heard(address);
        self.full |= victims.review(&self.settings, is_recorded, &mut breaches, &mut kept);
        let left_out = loads.review([begin, end], &known, &mut breaches, &mut kept);
        let basis = self.latest.filter(|_| self.full).or(left_out);
        breaches.extend(basis.map(|basis| {
            let basis = Basis { flow: 0, ..basis };
            let detail = Detail::Text(format!("the limit {} was met", Limit::Remembered.name()));
            CrossFlowBreach::of(&NET011, Evidence::default(), basis, Role::Capture, detail)
        }));
        let breaches = CrossFlowBreaches::new(breaches, elsewhere, review.places);
        Review { breaches, kept, beyond: review.beyond, orphans }
    }

    /// The servers that register or are listed, and the ports that they announce, as [`listed`].
    fn known_servers(&self) -> Set<u64> {
        let joined = self.masters.keys().map(|server| u64::from_ne_bytes(listed(*server)));
        let listed = self.lists.values().flat_map(|list| list.servers.iter().copied());
        joined.chain(listed).chain(self.announced.iter().copied()).collect()
    }

    /// Checks challenges that were given to another address.
    fn shared(&mut self, elsewhere: &Elsewhere) {
        let accepted = std::mem::take(&mut self.accepted);
        let key = |(challenge, basis): &(u32, Basis)| self.key(basis.seen.from, *challenge);
        let keys: Vec<_> = accepted.iter().map(key).collect();
        let first = self.challenges.first_given(&keys, self.settings.most);
        self.full |= self.challenges.full;
        for ((challenge, basis), key) in accepted.into_iter().zip(keys) {
            let SeenMessage { from, to, .. } = basis.seen;
            if elsewhere.has_moved(to.ip(), from, challenge) {
                continue;
            }
            let given = first.get(&key);
            if let Some(given) = given.filter(|given| **given != basis.seen.to.ip()) {
                let detail = || format!("the challenge {} was given to {given}", challenge as i32);
                // The server speaks here: if the flow's beginning is in the capture, the challenges
                // that it gave to this address are, too.
                let Basis { began, lossy, .. } = basis;
                let evidence =
                    Evidence { began, lossy, asked_party_seen: true, ..Evidence::default() };
                self.broken(&SEC004, evidence, basis, Role::Server, detail);
            }
        }
    }

    /// Checks that servers join two masters. A server that is not seen to join a second one may do
    /// so outside the recording, which only the user can know.
    fn masters(&mut self) {
        for (_, (masters, rule, basis)) in std::mem::take(&mut self.masters) {
            let basis = Basis { began: false, ..basis };
            let detail = || "the server joins this master and no other".to_owned();
            self.rule(rule, masters.len() > 1, basis, Role::Server, detail);
        }
    }
}

#[cfg(test)]
mod tests;
