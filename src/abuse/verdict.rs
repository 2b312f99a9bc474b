//! Determines attacks from counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::abuse_rules::{SEC005, SEC006};
use dissectors::kit::{AbuseThresholds, Role, Set, Socket, Time};
use dissectors::ledger::{Ledger, may_be_answers, may_be_players};

use super::Abuse;
use super::attack_kind::{AttackKind, kind_of};
use super::clients::{Clients, Proof};
use super::filters::FirewallFilter;
use super::forged::{Forged, ForgeryInput};
use super::game_ports::GamePort;
use super::measure::{AttackTarget, TrafficMeasure, is_harmless};
use super::sources::{Sources, network};
use super::target::{Target, share};

/// Maximum number of sources and networks that are named.
const NAMED: usize = 5;

/// Minimum number of attacked hosts in a network for an attack on the network.
const HOSTS: usize = 16;

/// Minimum number of responses that are checked, as in the rules.
const CHECKED_FROM: u64 = 20;

/// Maximum number of targets of one attack that are named.
const TARGETS: usize = 256;

const SECOND: i64 = 1_000_000_000;

/// The sources of an attack.
#[derive(Clone, Debug)]
pub struct SourcesOf {
    /// How many there are.
    pub count: u64,
    /// The error of this number: one standard deviation.
    pub error: f64,
    /// The share that sent one packet.
    pub single_packet_share: f64,
    /// The share of a second's sources that were not seen before.
    pub new_share: f64,
    /// Those that sent most packets, with how many.
    pub top: Vec<(IpAddr, u64)>,
    /// The error of these numbers, in packets.
    pub top_error: u64,
    /// The same of networks.
    pub prefixes: Vec<(String, u64)>,
}

impl SourcesOf {
    /// `lengths`: of the prefixes of IPv4 and IPv6 networks.
    fn of(sources: &Sources, lengths: [u8; 2]) -> SourcesOf {
        let count = sources.count_all();
        let (single, _) = sources.with(|_, source| source.packets == 1);
        let (top, top_error) = sources.top(NAMED);
        SourcesOf {
            count,
            error: sources.error(),
            single_packet_share: share(single, count).min(1.0),
            new_share: sources.new_share(),
            top,
            top_error,
            prefixes: sources.networks(lengths, NAMED),
        }
    }
}

/// Clients that did something that forged sources cannot do, within the client rate.
#[derive(Clone, Copy, Debug)]
pub struct Legitimate {
    /// How many.
    pub clients: u64,
    /// Their packets.
    pub packets: u64,
    /// How many returned a challenge, sent a request after the last part of a split response,
    /// sent another kind of request after a response, and play.
    pub proofs: [u64; 4],
}

impl Legitimate {
    /// `repeats`: how often a client may ask.
    fn of(clients: &Clients, repeats: u32) -> Legitimate {
        let mut legitimate = Legitimate { clients: 0, packets: 0, proofs: [0; 4] };
        for (_, client) in clients.which(true, repeats) {
            legitimate.clients += 1;
            legitimate.packets += client.packets;
            let order = [Proof::Challenge, Proof::Split, Proof::WentOn, Proof::Plays];
            let at = order.iter().position(|proof| *proof == client.proof);
            legitimate.proofs[at.unwrap_or(0)] += 1;
        }
        legitimate
    }
}

/// What was looked at for attacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenTraffic {
    /// Packets of game servers, of masters, and of those that get responses without a request.
    pub packets: u64,
    /// The target with the highest rate within the window of a flood, in packets per second.
    pub highest: Option<(SocketAddr, f64)>,
    /// The rate that makes a flood, in packets per second.
    pub threshold: f64,
    /// The window of a flood, in seconds.
    pub seconds: f64,
    /// Packets toward this game server are a flood, or of players: nothing that it sends was recorded.
    pub one_way: Option<SocketAddr>,
    /// Responses to this address are an attack, or asked for: no request was recorded.
    pub one_way_client: Option<IpAddr>,
}

/// One attack.
#[derive(Clone, Debug)]
pub struct Attack {
    /// Its kind.
    pub kind: AttackKind,
    /// A second kind that applies.
    pub also: Option<AttackKind>,
    /// The target; of a network, its first address.
    pub target: SocketAddr,
    /// The prefix length of a network.
    pub network: Option<u8>,
    /// All targets, up to a maximum.
    pub targets: Vec<SocketAddr>,
    /// The protocol.
    pub protocol: Option<Id>,
    /// Its beginning and end.
    pub span: [Time; 2],
    /// Its pulses: more than one if it pauses.
    pub pulses: Vec<[Time; 2]>,
    /// Packets to the target.
    pub packets: u64,
    /// Their payloads' bytes.
    pub bytes: u64,
    /// Packets and bytes of the target's responses.
    pub responses: [u64; 2],
    /// Packets per second: average and maximum.
    pub rate: [f64; 2],
    /// Payload bits per second: average, maximum, and the average of the target's responses.
    pub bits: [f64; 3],
    /// The packets over time.
    pub sparkline: String,
    /// Packets by kind, most first.
    pub kinds: Vec<(&'static str, u64)>,
    /// Requests for players or rules, which take more work to answer.
    pub costly: u64,
    /// Responses of other services at a victim, by their ports.
    pub other_services: Vec<(u16, u64)>,
    /// Its sources.
    pub sources: SourcesOf,
    /// Whether these are forged.
    pub forged: Forged,
    /// The evidence.
    pub evidence: Vec<String>,
    /// Bytes out divided by bytes in, if the target responds.
    pub amplification: Option<f64>,
    /// The share of requests to the target that it answers.
    pub answered: f64,
    /// Real clients among the sources; `None` if there cannot be any.
    pub legitimate: Option<Legitimate>,
    /// Filters against it, the best one first.
    pub filters: Vec<FirewallFilter>,
    /// Where none may be proposed: the limit that would cost real clients least.
    pub price: Option<FirewallFilter>,
    /// How many of them are applied together: the best one, and at a victim one for each service.
    pub applied: usize,
}

/// A target and the kind of attack.
struct AttackedPlace<'p> {
    kind: AttackKind,
    also: Option<AttackKind>,
    at: SocketAddr,
    targets: Vec<SocketAddr>,
    network: Option<u8>,
    target: &'p Target,
}

/// A network of which many hosts are flooded.
struct Carpet {
    /// The length of its prefix.
    network: u8,
    /// Its first address, and the port.
    at: SocketAddr,
    targets: Vec<SocketAddr>,
    /// All their traffic.
    target: Target,
}

impl Abuse {
    /// From when on traffic is an attack.
    pub(super) fn thresholds(&self) -> AbuseThresholds {
        self.setting.ledger_settings.abuse
    }

    /// The attacks so far, the largest first.
    pub fn attacks(&self) -> Vec<Attack> {
        let [flooded, reflecting] = self.ruled();
        let mut attacks: Vec<Attack> = Vec::new();
        let mut within: Set<SocketAddr> = Set::default();
        for Carpet { network, at, targets, target } in self.carpets() {
            within.extend(&targets);
            let (kind, also) = kind_of(&target, [true, false]);
            let network = Some(network);
            let place = AttackedPlace { kind, also, at, targets, network, target: &target };
            attacks.extend(self.attack(place));
        }
        for (targets, target) in self.hosts(&flooded) {
            within.extend(&targets);
            let (kind, also) = kind_of(&target, [true, false]);
            let Some(at) = targets.first().copied() else { continue };
            let place = AttackedPlace { kind, also, at, targets, network: None, target: &target };
            attacks.extend(self.attack(place));
        }
        let alone = self.ports.iter().filter(|(Socket(at), _)| !within.contains(at));
        let alone: Vec<_> = alone.filter(|(at, port)| self.is_flooded(at.0, port)).collect();
        for (Socket(at), port) in alone {
            let (mut all, mut others) = (port.target.clone(), None);
            if let Some(server) = self.servers.get(&Socket(*at)) {
                // Requests beside it are of the same attack.
                match flooded.contains(at) && self.is_flood(server) {
                    true => all.add(server),
                    false => others = Some(server),
                }
            }
            others.into_iter().for_each(|server| all.has_players_of(server));
            within.insert(*at);
            let (kind, also) = kind_of(&all, [true, false]);
            let also =
                also.or_else(|| self.is_of_crashes(*at, &all).then_some(AttackKind::CrashAttempt));
            attacks.extend(self.attack(AttackedPlace::of(kind, also, *at, &all)));
        }
        let masters = self.masters.iter().filter(|(_, target)| self.is_master_flooded(target));
        attacks.extend(masters.filter_map(|(Socket(at), target)| {
            self.attack(AttackedPlace::of(AttackKind::FloodedMaster, None, *at, target))
        }));
        attacks.extend(self.servers.iter().filter_map(|(Socket(at), target)| {
            let is = [flooded.contains(at) && self.is_flood(target), reflecting.contains(at)];
            if is == [false; 2] || within.contains(at) || self.unproven(target) < CHECKED_FROM {
                return None;
            }
            let (kind, also) = kind_of(target, is);
            self.attack(AttackedPlace::of(kind, also, *at, target))
        }));
        let victims = self.victims.iter().filter(|(_, target)| self.is_victim(target));
        attacks.extend(victims.filter_map(|(address, target)| {
            let at = SocketAddr::new(*address, target.port);
            self.attack(AttackedPlace::of(AttackKind::Victim, None, at, target))
        }));
        let crashed = self.crashed.iter();
        let crashed = crashed.filter(|(at, _)| {
            let port = self.ports.get(&Socket(**at)).filter(|port| self.is_flooded(**at, port));
            port.is_none_or(|port| !self.is_of_crashes(**at, &port.target))
        });
        attacks.extend(crashed.filter_map(|(at, target)| {
            self.attack(AttackedPlace::of(AttackKind::CrashAttempt, None, *at, target))
        }));
        attacks.sort_by_key(|it| (Reverse(it.packets), it.target, it.kind as u8));
        attacks
    }

    /// What was looked at for attacks.
    pub fn seen(&self) -> SeenTraffic {
        let servers = self.servers.iter().map(|(at, target)| (at.0, target));
        let ports = self.ports.iter().map(|(at, port)| (at.0, &port.target));
        let masters = self.masters.iter().map(|(at, target)| (at.0, target));
        let victims = self.victims.iter();
        let victims = victims.map(|(host, target)| (SocketAddr::new(*host, target.port), target));
        let rates = servers.chain(ports).chain(masters).chain(victims);
        let rates = rates.map(|(at, target)| (self.most_of_flood(target), at));
        let highest = rates.max_by_key(|(most, at)| (*most, Reverse(*at)));
        let seconds = self.thresholds().flood_window as f64 / SECOND as f64;
        let one_way = self.ports.iter().filter(|(_, port)| self.is_as_much(port));
        let one_way = one_way.filter(|(at, port)| self.may_be_players(at.0, port));
        let clients = self.victims.iter().filter(|(_, victim)| self.gets_many(victim));
        let clients = clients.filter(|(_, victim)| self.may_have_asked(victim));
        SeenTraffic {
            one_way_client: clients.map(|(address, _)| *address).min(),
            one_way: one_way.map(|(at, _)| at.0).min(),
            packets: self.read,
            highest: highest.map(|(most, at)| (at, most as f64 / seconds)),
            threshold: self.thresholds().flood_rate.into(),
            seconds,
        }
    }

    /// The servers that the rules report as flooded, and those misused against others.
    fn ruled(&self) -> [Set<SocketAddr>; 2] {
        let mut ruled = [Set::default(), Set::default()];
        for breach in
            Ledger::new(self.setting.ledger_settings).review(self.loads.clone(), |_| true).breaches
        {
            let (code, seen) = (breach.rule.code, breach.basis.seen);
            match breach.speaker {
                Role::Client if code == SEC006.code => _ = ruled[0].insert(seen.to),
                _ if code == SEC005.code => _ = ruled[1].insert(seen.from),
                _ => {}
            }
        }
        ruled
    }

    /// Requests to a server from sources that are not known to be clients.
    fn unproven(&self, target: &Target) -> u64 {
        let clients = target.clients.which(true, self.thresholds().repeats);
        let theirs: u64 = clients.map(|(_, client)| client.packets).sum();
        target.packets[0].saturating_sub(theirs)
    }

    /// Whether the requests without those of real clients make a flood. A crowd of players does
    /// not, nor one of which not all could be kept.
    pub(super) fn is_flood(&self, target: &Target) -> bool {
        !target.clients.is_cut && self.unproven(target) >= self.thresholds().flood()
    }

    /// Whether packets of any content flood a game server's port.
    pub(super) fn is_flooded(&self, at: SocketAddr, port: &GamePort) -> bool {
        self.is_as_much(port) && !self.may_be_players(at, port)
    }

    /// Whether so many packets are a flood, if they are not players'.
    fn is_as_much(&self, port: &GamePort) -> bool {
        self.most_of_flood(&port.target) >= self.thresholds().flood() && port.is_one_way()
    }

    /// Whether the packets toward a game server's port may be players', because nothing that it sends was recorded.
    pub(super) fn may_be_players(&self, at: SocketAddr, port: &GamePort) -> bool {
        let target = &port.target;
        let responds = self.servers.get(&Socket(at)).is_some_and(|server| server.packets[1] > 0);
        let is_heard = responds || target.packets[1] > 0 || port.has_players();
        let seconds = self.thresholds().flood_window as f64 / SECOND as f64;
        let rate = self.most_of_flood(target) as f64 / seconds;
        let kinds = target.kinds.iter().copied();
        !is_heard && may_be_players(kinds, rate, target.sources.count_all())
    }

    /// Whether a flood consists of packets known to crash servers, for the most part.
    fn is_of_crashes(&self, at: SocketAddr, flood: &Target) -> bool {
        let crashes = self.crashed.get(&at).map_or(0, |target| target.packets[0]);
        crashes.saturating_mul(2) > flood.packets[0]
    }

    /// Whether joins and heartbeats flood a master.
    fn is_master_flooded(&self, target: &Target) -> bool {
        self.most_of_flood(target) >= self.thresholds().flood()
    }

    pub(super) fn most_of_flood(&self, target: &Target) -> u64 {
        target.timeline.most_within((self.thresholds().flood_window / SECOND).max(1))
    }

    /// Whether an address got many responses. Those of other services must make a flood, because
    /// their requests may be missing from the capture.
    fn is_victim(&self, target: &Target) -> bool {
        let is_ours = self.gets_many(target) && !self.may_have_asked(target);
        is_ours || self.most_of_flood(target) >= self.thresholds().flood()
    }

    /// Whether an address got many responses of game servers.
    fn gets_many(&self, target: &Target) -> bool {
        let others: u64 = target.others.iter().map(|(_, packets)| packets).sum();
        target.packets[0].saturating_sub(others) >= CHECKED_FROM
            && target.most >= self.thresholds().repeats.into()
    }

    /// Whether an address may have asked for the responses that it got, because no request was recorded.
    fn may_have_asked(&self, target: &Target) -> bool {
        let repeats = self.thresholds().repeats;
        self.servers.is_empty()
            && target.asked_for.is_empty()
            && may_be_answers(target.most, target.port, target.sources.count_all(), repeats)
    }

    /// Networks in which many hosts get requests on the same port, together at the rate of a flood.
    fn carpets(&self) -> Vec<Carpet> {
        let lengths = self.setting.networks;
        let mut networks: BTreeMap<SocketAddr, Vec<SocketAddr>> = BTreeMap::new();
        self.servers.keys().for_each(|Socket(at)| {
            let network = SocketAddr::new(network(at.ip(), lengths), at.port());
            networks.entry(network).or_default().push(*at);
        });
        networks.retain(|_, hosts| hosts.len() >= HOSTS);
        let carpets = networks.into_iter().filter_map(|(at, mut hosts)| {
            hosts.sort_unstable();
            let targets = || hosts.iter().filter_map(|host| self.servers.get(&Socket(*host)));
            if targets().any(|target| target.clients.is_cut) {
                return None;
            }
            let unproven: u64 = targets().map(|target| self.unproven(target)).sum();
            let largest = targets().map(|target| self.unproven(target)).max().unwrap_or(0);
            // One flooded host among others that are not is a target by itself.
            if unproven < self.thresholds().flood() || largest.saturating_mul(4) > unproven {
                return None;
            }
            let mut timeline = super::timeline::Timeline::default();
            targets().for_each(|target| timeline.add(&target.timeline));
            let window = (self.thresholds().flood_window / SECOND).max(1);
            if timeline.most_within(window) < self.thresholds().flood() {
                return None;
            }
            let mut target = Target::default();
            targets().for_each(|other| target.add(other));
            let network = lengths[usize::from(at.is_ipv6())];
            Some(Carpet { network, at, targets: hosts, target })
        });
        carpets.collect()
    }

    fn attack(&self, place: AttackedPlace<'_>) -> Option<Attack> {
        let AttackedPlace { kind, also, at, mut targets, network, target } = place;
        let repeats = self.thresholds().repeats;
        let Target { packets, bytes, sources, timeline, clients, .. } = target;
        let within = target.span?;
        let mut pulses = timeline.pulses();
        for pulse in &mut pulses {
            *pulse = pulse.map(|at| at.clamp(within[0], within[1]));
        }
        let span = [pulses.first()?[0], pulses.last()?[1]];
        let seconds: f64 = pulses.iter().map(|[begin, end]| end.since(*begin) as f64 / 1e9).sum();
        let seconds = seconds.max(1.0);
        let legitimate = (!matches!(kind, AttackKind::Victim | AttackKind::CrashAttempt))
            .then(|| Legitimate::of(clients, repeats));
        let input = ForgeryInput {
            target,
            at: at.ip(),
            lengths: self.setting.networks,
            repeats,
            are_returns_known: self.recent_exchanges.waits_for_challenges()
                && !target.clients.is_cut,
        };
        let (forged, evidence) = input.forged(kind);
        let mut kinds = target.kinds.clone();
        kinds.sort_by_key(|(name, count)| (Reverse(*count), *name));
        let mut other_services = target.others.clone();
        other_services.sort_by_key(|(port, count)| (Reverse(*count), *port));
        let [peak, peak_bytes] = timeline.peak();
        let mean = packets[0] as f64 / seconds;
        let ports = || targets.iter().map(SocketAddr::port);
        let ports = ports().min().unwrap_or(at.port())..=ports().max().unwrap_or(at.port());
        targets.truncate(TARGETS);
        let (mut filters, mut price) = (Vec::new(), None);
        if kind != AttackKind::CrashAttempt {
            let measure = TrafficMeasure::of(self, (target, at.ip()), seconds, network.is_some());
            let attacked = AttackTarget { kind, ports, at, network, others: self.beside(at) };
            filters = measure.filters(&attacked, self.setting.collateral);
            if filters.is_empty() && kind != AttackKind::Victim {
                price = measure.price(&attacked);
            }
        }
        let applied = match kind {
            AttackKind::Victim => {
                filters.iter().take_while(|it| is_harmless(it, self.setting.collateral)).count()
            }
            _ => filters.len().min(1),
        };
        Some(Attack {
            kind,
            also,
            target: at,
            network,
            targets,
            protocol: target.protocol,
            span,
            pulses,
            packets: packets[0],
            bytes: bytes[0],
            responses: [packets[1], bytes[1]],
            rate: [mean, peak.max(mean)],
            bits: [bytes[0] as f64, peak_bytes * seconds, bytes[1] as f64]
                .map(|bytes| 8.0 * bytes / seconds),
            sparkline: timeline.sparkline(),
            kinds,
            costly: target.costly,
            other_services,
            sources: SourcesOf::of(sources, self.setting.networks),
            forged,
            evidence,
            amplification: (packets[1] > 0).then(|| share(bytes[1], bytes[0])),
            answered: share(packets[1], packets[0]).min(1.0),
            legitimate,
            filters,
            price,
            applied,
        })
    }

    /// Packets of real clients to other ports of a host.
    fn beside(&self, at: SocketAddr) -> u64 {
        let repeats = self.thresholds().repeats;
        let others = self.servers.iter();
        let others = others.filter(|(Socket(it), _)| it.ip() == at.ip() && it.port() != at.port());
        let clients = others.flat_map(|(_, target)| target.clients.which(true, repeats));
        clients.map(|(_, client)| client.packets).sum()
    }
}

impl<'p> AttackedPlace<'p> {
    fn of(
        kind: AttackKind,
        also: Option<AttackKind>,
        at: SocketAddr,
        target: &'p Target,
    ) -> AttackedPlace<'p> {
        AttackedPlace { kind, also, at, targets: vec![at], network: None, target }
    }
}
