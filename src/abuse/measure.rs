//! Candidates for filters, and their effect on this capture: on the attack, and on the packets of
//! real clients.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use dissectors::kit::Map;

use super::attack_kind::AttackKind;
use super::filters::{
    BURST, Bucket, FirewallFilter, Match, OF_NETWORK, OF_SOURCE, RateLimit, is_bogon,
};
use super::forged::Forged;
use super::packet::{HEAD, SampledPacket, commonest};
use super::steady::steady;
use super::target::Target;
use super::{Abuse, SECOND};

/// Minimum share of the attack that a filter must drop.
const WORTH: f64 = 0.5;

/// Minimum share of the attack for a common property.
const COMMON: f64 = 0.3;

/// Minimum share for a byte that is characteristic of the attack.
const NEARLY_ALL: f64 = 0.99;

/// Bytes that a kind of request begins with.
const KIND: usize = 5;

/// Maximum number of bytes at one offset that a filter compares.
const BYTES: usize = 8;

/// Maximum number of sources in a filter.
const NAMED: usize = 256;

/// The limit of packets per second for all sources, if there are no real clients to determine it.
const OF_ALL: u32 = 100;

/// The share of real clients' packets above which a filter is never proposed.
const TOO_MUCH: f64 = 0.05;

/// The largest chance of a range of ports or hop limits that separates nothing.
const BY_CHANCE: f64 = 0.001;

/// Filters that are reported.
const REPORTED: usize = 10;

/// The data for measuring filters.
pub(super) struct TrafficMeasure<'m> {
    target: &'m Target,
    /// The attacked address.
    at: IpAddr,
    /// The attack's packets, or a sample of them, and how many each represents.
    attack: Vec<SampledPacket>,
    weight: f64,
    /// Real clients' packets, by time.
    clients: Vec<SampledPacket>,
    /// All packets of the attack.
    packets: f64,
    seconds: f64,
    repeats: u32,
    /// Several targets are attacked: limits per source were measured at each of them.
    is_carpet: bool,
    /// The prefix length of limited networks, for the target's IP version.
    network: u8,
}

/// What filters are aimed at.
pub(super) struct AttackTarget {
    pub(super) kind: AttackKind,
    /// The attacked ports, and those between them.
    pub(super) ports: RangeInclusive<u16>,
    /// The target, or a network's address.
    pub(super) at: SocketAddr,
    /// The bits of the network, where one is attacked.
    pub(super) network: Option<u8>,
    /// Packets of real clients to other ports of the host.
    pub(super) others: u64,
    /// Whether the sources are forged.
    pub(super) forged: Forged,
}

impl<'m> TrafficMeasure<'m> {
    pub(super) fn of(
        abuse: &Abuse,
        target: &'m Target,
        at: IpAddr,
        seconds: f64,
        is_carpet: bool,
    ) -> Self {
        let repeats = abuse.setting.ledger_settings.abuse.repeats;
        let sample = target.sample.packets();
        let is_attack = |it: &&SampledPacket| !target.clients.sent(it, repeats);
        let attack: Vec<_> = sample.iter().filter(is_attack).copied().collect();
        let clients = target.clients.packets(repeats);
        let weight = target.sample.seen as f64 / sample.len().max(1) as f64;
        // Of a part of the packets, it is unknown who goes on.
        let (attack, clients) = match clients.is_empty() && weight <= 1.0 {
            true => steady(attack),
            false => (attack, clients),
        };
        let is_v6 = attack.first().is_some_and(|packet| packet.source.is_ipv6());
        TrafficMeasure {
            target,
            at,
            weight,
            packets: attack.len() as f64 * weight,
            attack,
            clients,
            seconds,
            repeats,
            is_carpet,
            network: abuse.setting.networks[usize::from(is_v6)],
        }
    }

    /// The filters against the attack, the best one first. `most`: the share of packets of real clients
    /// that may be dropped.
    pub(super) fn filters(&self, attacked: &AttackTarget, most: f64) -> Vec<FirewallFilter> {
        let mut all = match attacked.kind {
            _ if self.attack.is_empty() => Vec::new(),
            AttackKind::Victim => self.of_victim(attacked),
            _ => self.of_server(attacked),
        };
        all.sort_by_key(|filter| rank(filter, most));
        if attacked.kind != AttackKind::Victim {
            all.retain(may_be_proposed);
            all.truncate(REPORTED);
        }
        all
    }

    /// What a limit would cost, where no filter may be proposed: the limit that costs least.
    pub(super) fn price(&self, attacked: &AttackTarget) -> Option<FirewallFilter> {
        let limits = self.candidates(attacked).into_iter().filter(|it| it.limit.is_some());
        let cost = |filter: &FirewallFilter| (filter.collateral.unwrap_or(1.0) * 1e6) as i64;
        limits.filter(|filter| filter.drops >= WORTH).min_by_key(|filter| cost(filter))
    }

    /// For a host that gets unsolicited responses: one for the port of each service.
    fn of_victim(&self, attacked: &AttackTarget) -> Vec<FirewallFilter> {
        let prefix = self.target.prefix.bytes();
        let ours = (!prefix.is_empty()).then(|| self.filter(attacked, prefix, Vec::new(), None));
        let others = self.target.others.iter();
        // Responses of other services have another beginning.
        let others = others.map(|(port, _)| {
            self.filter(attacked, &[], vec![Match::SourcePort(*port..=*port)], None)
        });
        ours.into_iter().chain(others).collect()
    }

    /// For a server: those that may be proposed.
    fn of_server(&self, attacked: &AttackTarget) -> Vec<FirewallFilter> {
        let mut all = self.candidates(attacked);
        // A limit of all packets to the port is one of players', too.
        let is_safe = |filter: &FirewallFilter| {
            !filter.prefix.is_empty() || filter.limit.is_none() && !filter.matches.is_empty()
        };
        all.retain(is_safe);
        all
    }

    /// For a server: by common properties of the attack's packets, and by rate.
    fn candidates(&self, attacked: &AttackTarget) -> Vec<FirewallFilter> {
        let prefix = self.target.prefix.bytes();
        let filter = |matches, limit| self.filter(attacked, prefix, matches, limit);
        let mut all: Vec<FirewallFilter> = Vec::new();
        let common = self.common();
        for (at, one) in common.iter().enumerate() {
            all.push(filter(vec![one.clone()], None));
            let others = common.iter().skip(at + 1);
            all.extend(others.map(|other| filter(vec![one.clone(), other.clone()], None)));
        }
        let real = self.real_attackers(attacked.forged);
        all.extend(real.map(|sources| filter(vec![sources], None)));
        if !self.is_carpet {
            all.extend(OF_SOURCE.map(|rate| filter(Vec::new(), Some(RateLimit::OfSource(rate)))));
        }
        if !self.target.networks.is_cut {
            let of_network =
                |rate| filter(Vec::new(), Some(RateLimit::OfNetwork(rate, self.network)));
            all.extend(OF_NETWORK.map(of_network));
        }
        let narrow = common.iter().find(|it| {
            matches!(it, Match::Length(_) | Match::MissingChallenge(_))
                && self.share(&self.attack, std::slice::from_ref(it)) >= NEARLY_ALL
        });
        let narrow: Vec<_> = narrow.cloned().into_iter().collect();
        let rate = self.rate_of_all(&narrow);
        all.push(filter(narrow, Some(RateLimit::OfAll(rate))));
        all.retain(|filter| filter.drops > 0.0);
        all
    }

    /// One filter, with its effect.
    fn filter(
        &self,
        attacked: &AttackTarget,
        prefix: &[u8],
        matches: Vec<Match>,
        limit: Option<RateLimit>,
    ) -> FirewallFilter {
        let [drops, dropped] = self.dropped(prefix, &matches, limit);
        let clients = self.clients.len() as f64;
        let any = |all: f64| (clients > 0.0).then(|| dropped / all);
        let is_victim = attacked.kind == AttackKind::Victim;
        let (collateral, host_collateral) = match is_victim {
            true => (self.asked_for(prefix, &matches), None),
            false => (any(clients), any(clients + attacked.others as f64)),
        };
        FirewallFilter {
            target: attacked.at,
            bits: attacked.network.unwrap_or(if attacked.at.is_ipv4() { 32 } else { 128 }),
            ports: attacked.ports.clone(),
            any_port: is_victim,
            prefix: prefix.to_vec(),
            matches,
            tags: self.target.tags.clone(),
            limit,
            drops,
            collateral,
            host_collateral,
            remains: (1.0 - drops) * self.packets / self.seconds,
        }
    }

    /// Properties of many packets of the attack: values that most of them have, and ranges that real
    /// clients' packets are outside of.
    fn common(&self) -> Vec<Match> {
        let least = (COMMON * self.attack.len() as f64).max(1.0) as usize;
        let all = [
            self.lengths(least),
            self.values(|it| it.hop_limit.into(), least, |values| self.hop_limits(&values)),
            self.values(|it| it.port, least, |values| self.source_ports(values)),
        ];
        let identification = commonest(self.attack.iter().filter_map(|it| it.identification));
        let identification = identification.filter(|(_, count)| *count >= least);
        let identification = identification.map(|(value, _)| Match::Identification(value));
        let bogons = self.attack.iter().filter(|it| is_bogon(it.source)).count();
        let bogons = (bogons >= least && !is_bogon(self.at)).then_some(Match::Bogons);
        let all = all.into_iter().flatten().chain(identification).chain(bogons);
        all.chain(self.bytes()).collect()
    }

    /// One hop limit, or a range of them. Where few players were seen, there is a range without any, too: those who come later
    /// are in it.
    fn hop_limits(&self, values: &RangeInclusive<u16>) -> Option<Match> {
        let mut players = Vec::from_iter(self.clients.iter().map(|it| it.source));
        players.sort_unstable();
        players.dedup();
        let is_known = *values.start() > 0;
        let is_property = self.is_no_chance(values, |it| it.hop_limit.into(), players.len());
        (is_known && is_property).then(|| Match::HopLimit(narrowed(values)))
    }

    /// One source port, or a range of them. Where both sides choose ports at random, there is a range without players, too:
    /// the next player may be in it.
    fn source_ports(&self, values: RangeInclusive<u16>) -> Option<Match> {
        let mut ports = Vec::from_iter(self.clients.iter().map(|it| it.port));
        ports.sort_unstable();
        ports.dedup();
        let is_property = self.is_no_chance(&values, |it| it.port, ports.len());
        is_property.then_some(Match::SourcePort(values))
    }

    /// Whether so many players would not all be outside of a range by chance, if they were like the attack. One value is a
    /// property of the attack.
    fn is_no_chance(
        &self,
        values: &RangeInclusive<u16>,
        value: impl Fn(&SampledPacket) -> u16,
        players: usize,
    ) -> bool {
        let within = self.attack.iter().filter(|it| values.contains(&value(it))).count();
        let missed = 1.0 - within as f64 / self.attack.len().max(1) as f64;
        let others = i32::try_from(players).unwrap_or(i32::MAX).saturating_sub(1);
        // That so many random values leave such a gap.
        let chance = players as f64 * missed.powi(others);
        values.start() == values.end() || chance <= BY_CHANCE
    }

    /// The lengths of many packets.
    fn lengths(&self, least: usize) -> Vec<Match> {
        // With a challenge, the same request is longer.
        let lacks_challenge = |length: u16| {
            let of_attack = self.attack.iter().filter(|it| it.length == length);
            let kinds = commonest(of_attack.filter_map(|it| it.head().first_chunk::<KIND>()));
            let has_more = |it: &SampledPacket| it.has_challenge && it.length > length;
            kinds.is_some_and(|(kind, _)| {
                self.clients.iter().any(|it| has_more(it) && it.head().starts_with(kind))
            })
        };
        self.values(
            |it| it.length,
            least,
            |lengths| {
                let is_one = lengths.start() == lengths.end();
                Some(match is_one && lacks_challenge(*lengths.start()) {
                    true => Match::MissingChallenge(*lengths.start()),
                    false => Match::Length(lengths),
                })
            },
        )
    }

    /// The most common value of a property, and the range with most of the attack's packets and none of
    /// real clients', if each has at least so many packets.
    fn values(
        &self,
        value: impl Fn(&SampledPacket) -> u16,
        least: usize,
        condition: impl Fn(RangeInclusive<u16>) -> Option<Match>,
    ) -> Vec<Match> {
        let one = commonest(self.attack.iter().map(&value)).filter(|(_, count)| *count >= least);
        let one = one.map(|(value, _)| value..=value);
        let range = widest(self.attack.iter().map(&value), self.clients.iter().map(&value));
        let range = range.filter(|(_, count)| *count >= least).map(|(range, _)| range);
        let range = range.filter(|range| one.as_ref() != Some(range));
        one.into_iter().chain(range).filter_map(condition).collect()
    }

    /// Bytes at one offset that nearly all of the attack has, and most real clients do not.
    fn bytes(&self) -> Option<Match> {
        let usual: Vec<Option<u8>> = (0..HEAD)
            .map(|at| {
                let bytes = self.attack.iter().filter_map(|packet| packet.head().get(at).copied());
                let (byte, count) = commonest(bytes)?;
                (count as f64 >= NEARLY_ALL * self.attack.len() as f64).then_some(byte)
            })
            .collect();
        let same = |at: usize, byte: u8| {
            let has = |packet: &&SampledPacket| packet.head().get(at) == Some(&byte);
            self.clients.iter().filter(has).count()
        };
        let own = usual.iter().enumerate().filter_map(|(at, byte)| Some((at, (*byte)?)));
        let (at, _) = own
            .map(|(at, byte)| (at, same(at, byte)))
            .min_by_key(|(at, count)| (*count, *at))
            .filter(|(_, count)| count * 2 < self.clients.len())?;
        let is_usual = |at: &usize| usual.get(*at).is_some_and(Option::is_some);
        let end = (at..at + BYTES).take_while(is_usual).last()? + 1;
        // The more bytes, the fewer players have them by chance; all have those of the prefix.
        let least = end.saturating_sub(BYTES).max(self.target.prefix.bytes().len());
        let begin = (least..at).rev().take_while(is_usual).last().unwrap_or(at);
        let bytes = usual.get(begin..end)?.iter().copied().flatten().collect();
        Some(Match::Bytes { at: begin as u8, bytes })
    }

    /// Real sources that send faster than clients do, or all others of an attack whose sources are real, if there are
    /// few enough.
    fn real_attackers(&self, forged: Forged) -> Option<Match> {
        if forged == Forged::Yes {
            return None;
        }
        let attackers = self.target.clients.fast(self.repeats);
        let mut sources: Vec<_> =
            attackers.map(|(source, client)| (Reverse(client.requests), source)).collect();
        if sources.is_empty()
            && forged == Forged::No
            && self.target.sources.count_all() <= NAMED as u64
        {
            let all = self.target.sources.top(NAMED).0.into_iter();
            let others = all.filter(|(source, _)| !self.target.clients.has(*source));
            sources = others.map(|(source, packets)| (Reverse(packets), source)).collect();
        }
        sources.sort_unstable();
        sources.truncate(NAMED);
        let sources: Vec<IpAddr> = sources.into_iter().map(|(_, source)| source).collect();
        (!sources.is_empty()).then_some(Match::Sources(sources))
    }

    /// A limit for all sources that passes at most twice the packets of real clients.
    fn rate_of_all(&self, narrow: &[Match]) -> u32 {
        if self.clients.is_empty() {
            return OF_ALL;
        }
        let theirs = self.clients_of(self.target.prefix.bytes());
        let theirs = theirs.filter(|packet| narrow.iter().all(|it| is(packet, it)));
        let enough = 2.0 * theirs.count() as f64;
        // Clients are those of all times.
        let times = || self.clients.iter().map(|it| it.time);
        let span = times().max().unwrap_or_default().since(times().min().unwrap_or_default());
        let seconds = self.seconds.max(span as f64 / 1e9);
        // The burst size is the same number.
        (enough / (seconds + 1.0)).max(1.0) as u32
    }

    /// The share of the attack, and the number of real clients' packets, that a filter drops.
    fn dropped(&self, prefix: &[u8], matches: &[Match], limit: Option<RateLimit>) -> [f64; 2] {
        let attack = self.attack.len().max(1) as f64;
        match limit {
            None => {
                let begins = |packet: &&SampledPacket| packet.head().starts_with(prefix);
                let matched = |it: &&SampledPacket| matches.iter().all(|one| is(it, one));
                let dropped = self.attack.iter().filter(begins).filter(matched).count() as f64;
                [dropped / attack, self.clients_of(prefix).filter(matched).count() as f64]
            }
            Some(RateLimit::OfSource(rate)) => {
                let at = OF_SOURCE.iter().position(|known| *known == rate).unwrap_or(0);
                [self.over_of_source(at), self.clients_over(prefix, rate)]
            }
            Some(RateLimit::OfNetwork(rate, _)) => {
                let at = OF_NETWORK.iter().position(|known| *known == rate).unwrap_or(0);
                let over = |packet: &&SampledPacket| packet.over_network & 1 << at != 0;
                let clients = self.clients_of(prefix).filter(over).count() as f64;
                [self.attack.iter().filter(over).count() as f64 / attack, clients]
            }
            Some(RateLimit::OfAll(rate)) => self.over_all(prefix, matches, rate),
        }
    }

    /// The packets of real clients with this beginning.
    fn clients_of(&self, prefix: &[u8]) -> impl Iterator<Item = &SampledPacket> {
        self.clients.iter().filter(move |packet| packet.head().starts_with(prefix))
    }

    /// The share of a victim's requested responses that a filter drops: those from this port, or
    /// those of game servers with this beginning.
    fn asked_for(&self, prefix: &[u8], matches: &[Match]) -> Option<f64> {
        let port = matches.iter().find_map(|it| match it {
            Match::SourcePort(ports) => Some(*ports.start()),
            _ => None,
        });
        let asked_for = || self.target.asked_for.iter();
        let all: u64 = asked_for().map(|(_, packets)| packets).sum();
        let dropped = asked_for().filter(|(from, _)| *from == port);
        let dropped: u64 = dropped.map(|(_, packets)| packets).sum();
        let answers = self.target.answers.packets();
        let begin = answers.iter().filter(|packet| packet.head().starts_with(prefix)).count();
        let part = if port.is_some() || answers.is_empty() {
            1.0
        } else {
            begin as f64 / answers.len() as f64
        };
        (all > 0).then(|| part * dropped as f64 / all as f64)
    }

    fn share(&self, packets: &[SampledPacket], matches: &[Match]) -> f64 {
        let is_dropped = |packet: &&SampledPacket| matches.iter().all(|it| is(packet, it));
        packets.iter().filter(is_dropped).count() as f64 / packets.len().max(1) as f64
    }

    /// The share of the attack above the limit of a source: all packets of the stored sources were
    /// counted.
    fn over_of_source(&self, at: usize) -> f64 {
        let clients = &self.target.clients;
        let [over, all] = self.target.sources.sum(|address, source| {
            match clients.is_slow(address, self.repeats) {
                true => [0; 2],
                false => [source.limits.over[at].into(), source.packets.into()],
            }
        });
        over as f64 / all.max(1) as f64
    }

    /// Packets of real clients above it.
    fn clients_over(&self, prefix: &[u8], rate: u16) -> f64 {
        let mut buckets: Map<IpAddr, Bucket> = Map::default();
        let over = self.clients_of(prefix).filter(|packet| {
            buckets.entry(packet.source).or_default().is_empty(packet.time, rate, BURST)
        });
        over.count() as f64
    }

    /// A limit for all sources, over the capture's time: in each second as many packets pass as
    /// there are tokens.
    fn over_all(&self, prefix: &[u8], matches: &[Match], rate: u32) -> [f64; 2] {
        let mut seconds: BTreeMap<i64, [f64; 2]> = BTreeMap::new();
        let attack = self.attack.iter().map(|packet| (0, packet, self.weight));
        let clients = self.clients_of(prefix).map(|packet| (1, packet, 1.0));
        for (side, packet, weight) in attack.chain(clients) {
            if matches.iter().all(|it| is(packet, it)) {
                seconds.entry(packet.time.0.div_euclid(SECOND)).or_default()[side] += weight;
            }
        }
        let rate = f64::from(rate);
        let (mut tokens, mut latest, mut dropped) = (rate, i64::MIN, [0.0; 2]);
        for (second, arrived) in seconds {
            let passed = second.saturating_sub(latest).min(1 << 20) as f64;
            // The tokens left from earlier seconds, and those added in this one.
            tokens = (tokens + (passed - 1.0) * rate).min(rate) + rate;
            let all = arrived[0] + arrived[1];
            let through = (tokens / all.max(1.0)).min(1.0);
            (0..2).for_each(|side| dropped[side] += arrived[side] * (1.0 - through));
            tokens = (tokens - all * through).min(rate);
            latest = second;
        }
        [dropped[0] / self.packets.max(1.0), dropped[1]]
    }
}

/// The range of values with most of the attack's packets that no client's packet is in, and their
/// number; `None` without clients, since any range would do then.
fn widest(
    attack: impl Iterator<Item = u16>,
    clients: impl Iterator<Item = u16>,
) -> Option<(RangeInclusive<u16>, usize)> {
    let mut clients = Vec::from_iter(clients);
    clients.sort_unstable();
    clients.dedup();
    clients.first()?;
    let mut attack = Vec::from_iter(attack.filter(|value| clients.binary_search(value).is_err()));
    attack.sort_unstable();
    // Between the same two values of clients.
    let place = |value: &u16| clients.partition_point(|client| client < value);
    let ranges = attack.chunk_by(|a, b| place(a) == place(b));
    let ranges = ranges.filter_map(|part| Some((*part.first()?..=*part.last()?, part.len())));
    ranges.max_by_key(|(range, count)| (*count, Reverse(*range.start())))
}

/// A range of hop limits, of the same values.
fn narrowed(values: &RangeInclusive<u16>) -> RangeInclusive<u8> {
    let narrow = |value: u16| u8::try_from(value).unwrap_or(u8::MAX);
    narrow(*values.start())..=narrow(*values.end())
}

/// Whether a packet is so.
fn is(packet: &SampledPacket, what: &Match) -> bool {
    match what {
        Match::HopLimit(hop_limits) => hop_limits.contains(&packet.hop_limit),
        Match::Length(lengths) => lengths.contains(&packet.length),
        Match::MissingChallenge(length) => packet.length == *length,
        Match::SourcePort(ports) => ports.contains(&packet.port),
        Match::Identification(it) => packet.identification == Some(*it),
        Match::Bogons => is_bogon(packet.source),
        Match::Bytes { at, bytes } => {
            let at = usize::from(*at);
            packet.head().get(at..at + bytes.len()) == Some(bytes)
        }
        Match::Sources(sources) => sources.contains(&packet.source),
    }
}

/// Whether a filter is known to cost no more than allowed.
pub(super) fn is_harmless(filter: &FirewallFilter, most: f64) -> bool {
    filter.collateral.is_none_or(|share| share <= most)
}

/// Whether a filter may be proposed: it drops next to nothing of real clients', as far as known.
fn may_be_proposed(filter: &FirewallFilter) -> bool {
    filter.collateral.is_none_or(|share| share <= TOO_MUCH)
}

/// Whether few clients share a property by chance: nearly all of the attack has this one value, and clients have many.
fn is_telling(what: &Match) -> bool {
    match what {
        Match::HopLimit(values) => values.start() == values.end(),
        Match::SourcePort(values) => values.start() == values.end(),
        Match::Identification(_) | Match::Bogons => true,
        Match::Length(_) | Match::MissingChallenge(_) | Match::Bytes { .. } | Match::Sources(_) => {
            false
        }
    }
}

/// How likely a player who was not seen has the same: a length is the attack's, an address is one sender's, and of hop limits
/// and ports there are few. Bytes may be of a challenge, which does not last.
fn of_strangers(what: &Match) -> u8 {
    match what {
        Match::Length(_) | Match::MissingChallenge(_) => 0,
        Match::Sources(_) => 1,
        Match::HopLimit(_)
        | Match::SourcePort(_)
        | Match::Identification(_)
        | Match::Bogons
        | Match::Bytes { .. } => 2,
    }
}

/// The order of filters. The dropped share must have been measured; without real clients, a limit
/// per source harms them least, and then what few of them can have in common with the attack. A limit for all sources
/// drops players and attackers alike, and is the last resort.
fn rank(filter: &FirewallFilter, most: f64) -> (u8, i64, i64, u8, usize) {
    let millionths = |share: f64| (share * 1e6) as i64;
    let (drops, collateral) = (millionths(filter.drops), filter.collateral.map(millionths));
    let is_cheap = filter.collateral.is_some_and(|share| share <= most);
    let is_telling = filter.drops >= NEARLY_ALL && filter.matches.iter().any(is_telling);
    let (class, order) = match filter.limit {
        None if filter.any_port => (u8::from(!is_harmless(filter, most)), 0),
        _ if filter.drops < WORTH => (4, 0),
        _ if is_cheap => (0, 0),
        None if collateral.is_none() && matches!(filter.matches[..], [Match::Sources(_)]) => (0, 0),
        Some(RateLimit::OfSource(_)) if collateral.is_none() => (1, 0),
        None if collateral.is_none() && is_telling => (2, 0),
        // What costs least; where that is unknown, a limit lets some of all through.
        _ => (3, collateral.unwrap_or(1_000_000 + i64::from(filter.limit.is_none()))),
    };
    let shared = filter.matches.iter().map(of_strangers).max().unwrap_or(0);
    (class, order, -drops, shared, filter.matches.len())
}
