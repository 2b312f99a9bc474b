//! The requests to servers: how many, from how many sources, how fast, and the responses without a
//! challenge.
//!
//! Every request counts: requests are counted by group of hosts where they are decoded, and the
//! results of all groups are combined at the end. The result does not depend on how groups are
//! distributed over threads.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::load::{DetailedLoad, GroupRoom, Load, LoadThresholds, earlier};
use super::other_packets::{OtherPackets, PortLoad};
use super::rate::{BUCKETS, Rate};
use super::repeaters::Repeated;
use super::sources::tenths;
use super::{AttackOn, Basis, CrossFlowBreach, Detail, KeptRule, listed};
use crate::abuse_rules::{SEC005, SEC006};
use crate::kit::{
    AbuseThresholds, Evidence, FloodLimit, Map, Payload, Role, Rule, SeenMessage, Set, Socket, Time,
};

/// Groups of hosts: all traffic between two hosts belongs to one group.
pub const GROUPS: usize = 8;

/// The minimum number of requests to one server, or responses to one address, that is checked.
pub(super) const CHECKED_FROM: u64 = 20;

/// A group with a smaller share of a flood than this may be left out of its rate.
const SHARE: u64 = 256;

/// What happens to a server that gets too many packets.
pub(super) const FLOODED: &str = "is flooded";

/// Limit: servers that are asked, by group of hosts | {}, or 1/{2 * GROUPS} of `remembered` if that is less | SEC005
/// and SEC006 are not checked for others; NET011 as `remembered`
const SERVERS: usize = 1 << 12;

/// Requests to servers, of one capture or of some groups of its hosts.
#[derive(Clone, Serialize, Deserialize)]
pub struct Loads {
    groups: [HostGroup; GROUPS],
    /// Counts of other hosts in these groups.
    more: Vec<HostGroup>,
    most: usize,
    abuse: AbuseThresholds,
    settings: LoadThresholds,
    /// The length of the capture, once that is known.
    length: i64,
}

/// The servers that the hosts of a group send requests to.
#[derive(Clone, Serialize, Deserialize)]
struct HostGroup {
    servers: Map<Socket, Load>,
    /// How many of the requests are joins and heartbeats, which ask for nothing.
    joins: Map<Socket, u64>,
    /// Packets that are no messages.
    others: OtherPackets,
    room: GroupRoom,
    /// The room for those.
    room_of_others: GroupRoom,
    /// The first packet that did not fit.
    left_out: Option<Basis>,
}

impl Default for Loads {
    fn default() -> Loads {
        Loads::new(usize::MAX, AbuseThresholds::default())
    }
}

impl Loads {
    /// Empty, with this maximum of servers, sources and times.
    pub fn new(most: usize, abuse: AbuseThresholds) -> Loads {
        let most = (most / GROUPS).max(1);
        let room = || GroupRoom { sources: most, buckets: most, sockets: most };
        let group = |_| HostGroup {
            servers: Map::default(),
            joins: Map::default(),
            others: OtherPackets::default(),
            room: room(),
            room_of_others: room(),
            left_out: None,
        };
        let settings = LoadThresholds {
            bucket: (abuse.flood_window / BUCKETS as i64).max(1),
            least: abuse.flood() / SHARE,
            window: tenths(Time(abuse.repeat_window)),
            repeats: abuse.repeats,
        };
        let (groups, more) = (std::array::from_fn(group), Vec::new());
        Loads { groups, more, most: most.min(SERVERS), abuse, settings, length: i64::MAX }
    }

    /// A request to a server. `group`: that of the two hosts.
    pub fn asks(&mut self, group: usize, what: &'static str, payload: &Payload<'_>) {
        let settings = self.settings;
        let Some(group) = self.groups.get_mut(group % GROUPS) else { return };
        let is_counted = if let Some(load) = group.servers.get_mut(&Socket(payload.to)) {
            load.asks(what, payload, &settings, &mut group.room)
        } else if group.servers.len() < self.most {
            group.servers.insert(Socket(payload.to), Load::of(what, payload));
            true
        } else {
            false
        };
        if !is_counted {
            group.left_out.get_or_insert_with(|| Basis::of(payload));
        }
    }

    /// A join or a heartbeat to a master: a request that asks for nothing.
    pub fn joins(&mut self, group: usize, what: &'static str, payload: &Payload<'_>) {
        self.asks(group, what, payload);
        let Some(group) = self.groups.get_mut(group % GROUPS) else { return };
        if group.servers.contains_key(&Socket(payload.to)) {
            *group.joins.entry(Socket(payload.to)).or_default() += 1;
        }
    }

    /// A server responds without a challenge to a request of this kind and length.
    pub fn reflects(
        &mut self,
        group: usize,
        what: &'static str,
        asked: u32,
        payload: &Payload<'_>,
    ) {
        let (from, to) = (payload.from.ip(), payload.to.ip());
        // What stays on the host floods nobody: a proxy or a tunnel on it asks for all players.
        if to.is_loopback() || to == from {
            return;
        }
        let settings = self.settings;
        let Some(HostGroup { servers, room, .. }) = self.groups.get_mut(group % GROUPS) else {
            return;
        };
        if let Some(load) = servers.get_mut(&Socket(payload.from)) {
            load.reflects(what, asked, payload, &settings, room);
        }
    }

    /// A client returned a server's challenge, or a server its master's. `times`: of that request, and of the one before
    /// it that drew the challenge.
    pub fn returned(
        &mut self,
        group: usize,
        [client, server]: [SocketAddr; 2],
        times: [Time; 2],
        now: Time,
    ) {
        let settings = self.settings;
        let Some(HostGroup { servers, .. }) = self.groups.get_mut(group % GROUPS) else { return };
        if let Some(load) = servers.get_mut(&Socket(server)) {
            load.returned(client.ip(), times, now, &settings);
        }
    }

    /// A request to a server was of a client that is real, and asks no faster than clients do.
    pub fn proves(&mut self, group: usize, server: SocketAddr, time: Time) {
        let settings = self.settings;
        let Some(HostGroup { servers, .. }) = self.groups.get_mut(group % GROUPS) else { return };
        if let Some(load) = servers.get_mut(&Socket(server)) {
            load.proves(time, &settings);
        }
    }

    /// Whether such packets to a port are looked at: others need not be told from copies.
    pub fn looks_at(&self, group: usize, port: SocketAddr) -> bool {
        let group = self.groups.get(group % GROUPS);
        group.is_some_and(|group| group.others.looks_at(port))
    }

    /// Two sockets begin to send each other packets of the game.
    pub fn begins_to_play(&mut self, group: usize, ends: [SocketAddr; 2]) {
        let group = self.groups.get_mut(group % GROUPS);
        group.into_iter().for_each(|group| group.others.begins_to_play(ends));
    }

    /// A UDP packet that is no message of a supported protocol.
    pub fn other(&mut self, group: usize, payload: &Payload<'_>) {
        let settings = self.settings;
        let Some(group) = self.groups.get_mut(group % GROUPS) else { return };
        if !group.others.packet(payload, &settings, &mut group.room_of_others) {
            group.left_out.get_or_insert_with(|| Basis::of(payload));
        }
    }

    /// Adds other counts, of other groups, or of other hosts in them.
    pub fn add(&mut self, other: Loads) {
        for (mine, theirs) in self.groups.iter_mut().zip(other.groups) {
            if mine.is_empty() {
                *mine = theirs;
            } else if !theirs.is_empty() {
                self.more.push(theirs);
            }
        }
        self.more.extend(other.more);
    }

    /// Whether there are requests to servers.
    pub(super) fn has_requests(&self) -> bool {
        self.groups.iter().chain(&self.more).any(|group| !group.servers.is_empty())
    }

    /// Whether there are requests to this server.
    pub(super) fn is_asked(&self, server: SocketAddr) -> bool {
        let mut groups = self.groups.iter().chain(&self.more);
        groups.any(|group| group.servers.contains_key(&Socket(server)))
    }

    /// The hosts that send requests, as [`host_hash`](super::sources::host_hash); of servers with very many, a sample.
    pub(super) fn clients(&self) -> Set<u32> {
        let loads = self.groups.iter().chain(&self.more).flat_map(|group| group.servers.values());
        let mut clients = Set::default();
        loads.for_each(|load| load.add_clients(&mut clients));
        clients
    }

    /// Whether some requests did not fit.
    pub fn is_cut(&self) -> bool {
        self.groups.iter().chain(&self.more).any(|group| group.left_out.is_some())
    }

    /// The results. `begin`, `end`: of the capture; `known`: other servers than those that get requests, as [`listed`]. Returns
    /// the first packet that was left out, if any.
    pub(super) fn review(
        mut self,
        [begin, end]: [Time; 2],
        known: &Set<u64>,
        breaches: &mut Vec<CrossFlowBreach>,
        kept: &mut Vec<KeptRule>,
    ) -> Option<Basis> {
        let settings = self.settings;
        self.length = end.since(begin);
        let mut requests: Map<Socket, u64> = Map::default();
        for (server, load) in self.groups.iter().chain(&self.more).flat_map(|group| &group.servers)
        {
            *requests.entry(*server).or_default() += load.requests();
        }
        let mut asked = requests.clone();
        for (master, joins) in self.groups.iter().chain(&self.more).flat_map(|group| &group.joins) {
            asked.entry(*master).and_modify(|asked| *asked = asked.saturating_sub(*joins));
        }
        asked.retain(|_, asked| *asked > 0);
        let mut all: Map<Socket, DetailedLoad> = Map::default();
        let mut ports: Map<Socket, PortLoad> = Map::default();
        let is_server = |port: &Socket| {
            asked.contains_key(port) || known.contains(&u64::from_ne_bytes(listed(port.0)))
        };
        let players = self.players();
        let mut left_out = None;
        for group in self.groups.iter_mut().chain(&mut self.more) {
            left_out = earlier(left_out, group.left_out);
            // The order does not matter.
            group.servers.drain().for_each(|(server, load)| {
                if requests.get(&server).is_some_and(|&requests| requests >= CHECKED_FROM) {
                    all.entry(server).or_default().add(load.finish(&settings));
                }
            });
            group.others.ports.drain().filter(|(port, _)| is_server(port)).for_each(
                |(at, port)| {
                    ports.entry(at).or_default().add(port, &settings);
                },
            );
        }
        let mut all = Vec::from_iter(all);
        all.sort_unstable_by_key(|(server, _)| server.0);
        self.review_others(ports, &mut all, &asked, breaches, kept);
        for (Socket(server), mut load) in all {
            let is_asked = asked.get(&Socket(server)).is_some_and(|asked| *asked >= CHECKED_FROM);
            let play = |host| players_of(&players, host, server.ip());
            self.check(server, &mut load, &play, is_asked, breaches, kept);
        }
        left_out
    }

    /// How many play from one host at another, in either order.
    fn players(&self) -> Map<[IpAddr; 2], u32> {
        let mut players: Map<[IpAddr; 2], u32> = Map::default();
        let groups = self.groups.iter().chain(&self.more);
        groups.flat_map(|group| &group.others.players).for_each(|(hosts, count)| {
            *players.entry(*hosts).or_default() += count;
        });
        players
    }

    fn check(
        &self,
        server: SocketAddr,
        load: &mut DetailedLoad,
        players: &dyn Fn(IpAddr) -> u32,
        is_asked: bool,
        breaches: &mut Vec<CrossFlowBreach>,
        kept: &mut Vec<KeptRule>,
    ) {
        let Some(basis) = load.first else { return };
        let SeenMessage { mark, from, to } = basis.seen;
        let (flooded, reflected) =
            (self.flooded(server, load), self.reflected(server, load, players));
        let mut check = |rule: &'static Rule, suffers, basis, speaker, detail: Option<String>| {
            let evidence = Evidence::default();
            match detail.map(Detail::Text) {
                None => kept.push(KeptRule { rule, server: Some(server), times: 1 }),
                Some(detail) => breaches.push(CrossFlowBreach {
                    attack: Some(AttackOn {
                        sources: load.sources.count(load.requests),
                        target: server.to_string(),
                        suffers,
                    }),
                    ..CrossFlowBreach::of(rule, evidence, basis, speaker, detail)
                }),
            }
        };
        // A crowd that returns its challenges is no attack, however large it is.
        let is_attack = load.rate.most_unproven() >= self.floods_at().packets;
        if flooded.is_some() || !self.floods_at().is_too_short_for(load.rate.most()) {
            check(&SEC006, is_attack.then_some(FLOODED), basis, Role::Client, flooded);
        }
        let seen = SeenMessage { mark, from: to, to: from };
        // Without some of the sources, it is unknown how many never continue.
        if is_asked && (reflected.is_some() || !load.sources.is_cut) {
            let (detail, is_attack) = reflected.unzip();
            let suffers = is_attack.unwrap_or_default().then_some("is misused to flood others");
            check(&SEC005, suffers, Basis { seen, ..basis }, Role::Server, detail);
        }
    }

    /// The text of a finding, if requests to a server were too frequent.
    fn flooded(&self, server: SocketAddr, load: &mut DetailedLoad) -> Option<String> {
        let [rate, seconds] = self.rate_of_flood(&mut load.rate)?;
        let single = load.sources.iter().filter(|source| source.asked == 1).count();
        let share = (100 * single).checked_div(load.sources.len()).unwrap_or(0);
        let asked = load.asked.iter().map(|(name, count)| format!("{count} {name}"));
        let asked = Vec::from_iter(asked).join(", ");
        Some(format!(
            "up to {rate} requests a second over {seconds} s to {server}, from {}, {share} % of them \
             with one packet: {asked}",
            load.sources.count(load.requests),
        ))
    }

    /// Parameters of counting.
    pub(super) fn thresholds(&self) -> &LoadThresholds {
        &self.settings
    }

    /// What makes a flood in this capture.
    pub(super) fn floods_at(&self) -> FloodLimit {
        self.abuse.flood_of(self.length)
    }

    /// Packets a second and the seconds of the window, if they are too many.
    pub(super) fn rate_of_flood(&self, rate: &mut Rate) -> Option<[f64; 2]> {
        let (most, flood) = (rate.most(), self.floods_at());
        let seconds = (flood.window / 1_000_000).max(1) as f64 / 1e3;
        (most >= flood.packets).then(|| [flood.rate_of(most).round(), seconds])
    }

    /// The text of a finding, if a server could be misused against others, and whether it was: clients behind one address
    /// are none. `players`: how many play from an address.
    fn reflected(
        &self,
        server: SocketAddr,
        load: &DetailedLoad,
        players: impl Fn(IpAddr) -> u32,
    ) -> Option<(String, bool)> {
        let is_crowd = |load: &DetailedLoad| {
            let goes_on = |asked: u8| asked > 2;
            let window = tenths(Time(self.abuse.source_window));
            load.sources.within(window, |source| source.is_served && !goes_on(source.asked))
        };
        let repeated = load.repeated.filter(|(times, ..)| *times >= self.abuse.repeats);
        let of_one =
            repeated.and_then(|it| load.repeaters.most_of_one(it, self.settings.pace(), players));
        let crowd = is_crowd(load);
        let has_crowd = !load.sources.is_cut && crowd >= self.abuse.sources.into();
        let answered = |(times, source, what): Repeated, of_whom: &str| {
            let seconds = self.abuse.repeat_window as f64 / 1e9;
            format!(
                "{source} is answered {times} times within {seconds} s, to {what} each time{of_whom}"
            )
        };
        let how = match (of_one, repeated) {
            (Some(one), _) => answered(one, ""),
            (None, _) if has_crowd => {
                let seconds = self.abuse.source_window as f64 / 1e9;
                format!(
                    "{crowd} sources ask once or twice within {seconds} s and never return a challenge"
                )
            }
            (None, Some(several)) => answered(
                several,
                " (several clients behind one address, none of which repeats faster than clients do)",
            ),
            (None, None) => return None,
        };
        let first = load.first.map(|basis| basis.seen.mark.time).unwrap_or_default();
        let &DetailedLoad { requests, responses, bytes_to, bytes_of, last, .. } = load;
        let factor = bytes_of as f64 / bytes_to.max(1) as f64;
        let text = format!(
            "{server} answers without a challenge: {how}; {requests} requests of {}, {responses} \
             answers, {bytes_to} bytes asked, {bytes_of} answered, {factor:.1} times as many, from \
             {} to {}",
            load.sources.count(load.requests),
            first.utc(),
            last.utc(),
        );
        Some((text, of_one.is_some() || has_crowd))
    }
}

/// How many play from one host at another.
fn players_of(players: &Map<[IpAddr; 2], u32>, host: IpAddr, server: IpAddr) -> u32 {
    let mut hosts = [host, server];
    hosts.sort_unstable();
    players.get(&hosts).copied().unwrap_or(0)
}

impl HostGroup {
    fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.others.ports.is_empty()
    }
}

impl Basis {
    /// A message, without information about its flow.
    pub(super) fn of(payload: &Payload<'_>) -> Basis {
        Basis { seen: payload.seen(), flow: 0, began: true, lossy: false }
    }
}
