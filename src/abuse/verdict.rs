//! Determines attacks from counts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::abuse_rules::{SEC005, SEC006};
use dissectors::kit::{AbuseThresholds, Role, Set, Socket, Time};
use dissectors::ledger::{Ledger, may_be_answers};

use super::Abuse;
use super::across::{AcrossLink, victims_of};
use super::attack_kind::{AttackKind, kind_of, of_services};
use super::attackers::{Legitimate, Received, SourcesOf};
use super::filters::FirewallFilter;
use super::forged::{Forged, ForgeryInput, forged_requests};
use super::hosts::FloodedPorts;
use super::measure::{AttackTarget, TrafficMeasure, is_harmless};
use super::phases::Phases;
use super::sources::network;
use super::target::{Target, share};

/// Minimum number of attacked hosts in a network for an attack on the network.
const HOSTS: usize = 16;

/// Maximum number of pulses of an attack that are named.
const PULSES: usize = 32;

/// Minimum number of responses that are checked, as in the rules.
const CHECKED_FROM: u64 = 20;

/// Maximum number of targets of one attack that are named.
const TARGETS: usize = 256;

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
    /// What it consists of, without known clients.
    pub received: Received,
    /// The same for each of several targets that are each attacked enough for an attack of their own.
    pub each: Vec<(SocketAddr, Received)>,
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
    each: Vec<(SocketAddr, Received)>,
    /// It gets the responses of servers on the other side of a link.
    is_across: bool,
}

/// What can be done against an attack: see [`Attack`].
#[derive(Default)]
struct Remedy {
    filters: Vec<FirewallFilter>,
    price: Option<FirewallFilter>,
    applied: usize,
}

/// When a target is attacked: more than one pulse if the attack pauses.
struct AttackTimes {
    pulses: Vec<[Time; 2]>,
    span: [Time; 2],
    /// All pulses together.
    seconds: f64,
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
        let ruled = self.ruled();
        let mut within: Set<SocketAddr> = Set::default();
        let mut attacks = self.attacks_on_several(&ruled[0], &mut within);
        attacks.extend(self.attacks_on_ports(&ruled[0], &mut within));
        let masters = self.masters.iter();
        let masters = masters.filter(|(Socket(at), _)| !within.contains(at));
        let masters = masters.filter(|(_, target)| self.is_master_flooded(target));
        attacks.extend(masters.filter_map(|(Socket(at), target)| {
            let target = target.of_attack(&self.room);
            self.attack(AttackedPlace::of(AttackKind::FloodedMaster, None, *at, &target))
        }));
        attacks.extend(self.attacks_by_requests(&ruled, &within));
        attacks.extend(self.attacks_by_responses());
        let crashed = self.crashed.iter();
        let crashed =
            crashed.filter(|(_, target)| self.packets_of_players(target) < target.packets[0]);
        let crashed = crashed.filter(|(at, _)| {
            let port = self.ports.get(&Socket(**at)).filter(|port| self.is_flooded(port));
            port.is_none_or(|port| {
                !self.is_of_crashes(**at, port.target.of_attack(&self.room).packets[0])
            })
        });
        attacks.extend(crashed.filter_map(|(at, target)| {
            self.attack(AttackedPlace::of(AttackKind::CrashAttempt, None, *at, target))
        }));
        attacks.sort_by_key(|it| (Reverse(it.packets), it.target, it.kind as u8));
        attacks
    }

    /// Attacks on networks, and on hosts with several flooded ports. `flooded`: the servers that requests flood, by
    /// the rules; `within`: targets of these attacks.
    fn attacks_on_several(
        &self,
        flooded: &Set<SocketAddr>,
        within: &mut Set<SocketAddr>,
    ) -> Vec<Attack> {
        let carpets = self.carpets().into_iter();
        let carpets = carpets.map(|it| {
            let several = FloodedPorts { ports: it.targets, each: Vec::new(), all: it.target };
            (Some(it.network), it.at, several)
        });
        let hosts = self.hosts(flooded).into_iter();
        let hosts = hosts.filter_map(|it| Some((None, it.ports.first().copied()?, it)));
        let attacks = carpets.chain(hosts).filter_map(|(network, at, several)| {
            let FloodedPorts { ports: targets, each, all } = several;
            within.extend(&targets);
            let (kind, also) = kind_of(&all, false, [true, false]);
            let place = AttackedPlace::of(kind, also, at, &all);
            self.attack(AttackedPlace { targets, each, network, ..place })
        });
        attacks.collect()
    }

    /// Attacks by packets of any content on single ports.
    fn attacks_on_ports(
        &self,
        flooded: &Set<SocketAddr>,
        within: &mut Set<SocketAddr>,
    ) -> Vec<Attack> {
        let alone = self.ports.iter().filter(|(Socket(at), _)| !within.contains(at));
        let alone: Vec<_> = alone.filter(|(_, port)| self.is_flooded(port)).collect();
        let attacks = alone.into_iter().filter_map(|(Socket(at), port)| {
            let mut all = port.target.of_attack(&self.room).into_owned();
            let (server, master) = (self.servers.get(&Socket(*at)), self.masters.get(&Socket(*at)));
            // Requests meanwhile are of the same attack, and so are joins.
            let requests = server.filter(|_| flooded.contains(at));
            let is_one = requests.is_none_or(|it| all.is_meanwhile(&it.of_attack(&self.room)));
            let is_joined = is_one && master.is_some_and(|it| self.is_master_flooded(it));
            let requests = requests.filter(|_| is_one);
            for (target, is_flooded) in [(server, requests.is_some()), (master, is_joined)] {
                match target {
                    Some(target) if is_flooded => all.add(&target.of_attack(&self.room)),
                    Some(target) => self.adds_players(&mut all, target),
                    None => {}
                }
            }
            if is_one {
                within.insert(*at);
            }
            let (kind, also) = kind_of(&all, self.is_master(*at), [true, false]);
            let also = also.or_else(|| {
                self.is_of_crashes(*at, all.packets[0]).then_some(AttackKind::CrashAttempt)
            });
            self.attack(AttackedPlace::of(kind, also, *at, &all))
        });
        attacks.collect()
    }

    /// Attacks by requests on servers, or through them.
    fn attacks_by_requests(
        &self,
        [flooded, reflecting]: &[Set<SocketAddr>; 2],
        within: &Set<SocketAddr>,
    ) -> Vec<Attack> {
        let ruled = self.servers.iter().filter_map(|(Socket(at), target)| {
            let is = [flooded.contains(at), reflecting.contains(at)];
            if is == [false; 2] || within.contains(at) || self.unproven(target) < CHECKED_FROM {
                return None;
            }
            let target = target.of_attack(&self.room);
            let kinds = kind_of(&target, self.is_master(*at), is);
            Some((*at, target, kinds))
        });
        let ruled = Vec::from_iter(ruled);
        let through = ruled
            .iter()
            .filter(|(.., kinds)| *kinds == (AttackKind::Transit, Some(AttackKind::Reflector)));
        let across = victims_of(through.map(|(at, target, _)| (*at, &**target)));
        let means: Set<SocketAddr> = across.iter().flat_map(|it| it.servers.clone()).collect();
        let alone = ruled.into_iter().filter(|(at, ..)| !means.contains(at));
        let alone = alone.filter_map(|(at, target, (kind, also))| {
            let mut all = target.into_owned();
            let port = self.ports.get(&Socket(at));
            port.into_iter().for_each(|port| self.adds_players(&mut all, &port.target));
            self.attack(AttackedPlace::of(kind, also, at, &all))
        });
        let across = across.iter().filter_map(|AcrossLink { at, target, .. }| {
            let (kind, also) = (AttackKind::Transit, Some(AttackKind::Reflector));
            let place = AttackedPlace::of(kind, also, *at, target);
            self.attack(AttackedPlace { is_across: true, ..place })
        });
        alone.chain(across).collect()
    }

    /// Attacks by responses that nobody asked for: those on many hosts of a network are one.
    fn attacks_by_responses(&self) -> Vec<Attack> {
        let lengths = self.setting.networks;
        let victims = self.victims.iter().filter(|(_, target)| self.is_victim(target));
        let mut networks: BTreeMap<IpAddr, Vec<(SocketAddr, &Target)>> = BTreeMap::new();
        for (address, target) in victims {
            let at = SocketAddr::new(*address, target.port);
            networks.entry(network(*address, lengths)).or_default().push((at, target));
        }
        let mut attacks = Vec::new();
        for (first, mut hosts) in networks {
            hosts.sort_unstable_by_key(|(at, _)| *at);
            let of = |at, target| AttackedPlace::of(AttackKind::Victim, None, at, target);
            if hosts.len() < HOSTS {
                attacks
                    .extend(hosts.iter().filter_map(|(at, target)| self.attack(of(*at, *target))));
                continue;
            }
            let mut all = Target::default();
            hosts.iter().for_each(|(_, target)| all.add(target));
            let place = of(SocketAddr::new(first, all.port), &all);
            let targets = hosts.iter().map(|(at, _)| *at).collect();
            let network = Some(lengths[usize::from(first.is_ipv6())]);
            attacks.extend(self.attack(AttackedPlace { targets, network, ..place }));
        }
        attacks
    }

    /// Whether a port is a master's: more servers register and more lists are requested there than it is asked
    /// otherwise.
    fn is_master(&self, at: SocketAddr) -> bool {
        let joins = self.masters.get(&Socket(at)).map_or(0, |master| master.packets()[0]);
        let asked = self.servers.get(&Socket(at));
        let all = asked.map_or(0, |server| server.packets()[0]);
        let lists: u64 = asked.into_iter().flat_map(|it| it.each()).map(|it| it.lists).sum();
        joins + lists > all.saturating_sub(lists)
    }

    /// The servers that the rules report as flooded, and those misused against others. A crowd of players is no flood, nor
    /// one of which not all could be kept.
    fn ruled(&self) -> [Set<SocketAddr>; 2] {
        let mut ruled = [Set::default(), Set::default()];
        for breach in Ledger::new(self.setting.ledger_settings)
            .review(self.loads.clone(), self.span.unwrap_or([Time(0), Time(i64::MAX)]), |_| true)
            .breaches
        {
            let (code, seen) = (breach.rule.code, breach.basis.seen);
            let attack = breach.attack.as_ref();
            let is_attack = || attack.is_some_and(|attack| attack.suffers.is_some());
            let is_whole =
                |at| self.servers.get(&Socket(at)).is_some_and(|it| !it.current.clients.is_cut);
            match breach.speaker {
                Role::Client if code == SEC006.code && is_attack() && is_whole(seen.to) => {
                    ruled[0].insert(seen.to);
                }
                _ if code == SEC005.code && is_attack() => _ = ruled[1].insert(seen.from),
                _ => {}
            }
        }
        ruled
    }

    /// Requests to a server from sources that are not known to be clients.
    fn unproven(&self, target: &Phases) -> u64 {
        let repeats = self.thresholds().repeats;
        let clients = target.current.clients.legitimate(repeats);
        let theirs: u64 = clients.map(|client| client.legitimate(repeats)).sum();
        target.packets()[0].saturating_sub(theirs)
    }

    /// Whether a flood consists of packets known to crash servers, for the most part.
    fn is_of_crashes(&self, at: SocketAddr, packets: u64) -> bool {
        let crashes = self.crashed.get(&at).map_or(0, |target| target.packets[0]);
        crashes.saturating_mul(2) > packets
    }

    /// Whether an address got many responses. Those of other services must make a flood, because
    /// their requests may be missing from the capture.
    fn is_victim(&self, target: &Target) -> bool {
        let is_ours = self.gets_many(target) && !self.may_have_asked(target);
        let is_of_others = !target.others.is_empty() || !self.may_have_asked(target);
        is_ours || is_of_others && self.most_of_victim(target) >= self.flood().packets
    }

    /// Packets that are of the game, because it turned out who plays.
    fn packets_of_players(&self, target: &Target) -> u64 {
        let parts = target.parts.iter();
        let of_game = parts.filter(|((server, player), _)| self.play(*server, *player));
        of_game.map(|(_, packets)| packets).sum()
    }

    /// Whether an address got many responses of game servers.
    pub(super) fn gets_many(&self, target: &Target) -> bool {
        let others: u64 = target.others.iter().map(|(_, packets)| packets).sum();
        let others = others + self.packets_of_players(target);
        let ours = target.packets[0].saturating_sub(others);
        // An address that asks may have asked for the first ones before the capture began, if that explains most.
        let explains = target.asks && target.early.saturating_mul(2) > ours;
        let early = if explains { target.early } else { 0 };
        ours.saturating_sub(early) >= CHECKED_FROM
            && target.most >= self.thresholds().repeats.into()
    }

    /// Whether an address may have asked for the responses that it got, because no request was recorded.
    pub(super) fn may_have_asked(&self, target: &Target) -> bool {
        let repeats = self.thresholds().repeats;
        self.servers.is_empty()
            && !target.is_heard
            && target.asked_for.is_empty()
            && may_be_answers(target.most, target.port, target.sources.count_all(), repeats)
    }

    /// Networks in which many hosts get packets on the same port, together at the rate of a flood.
    fn carpets(&self) -> Vec<Carpet> {
        let lengths = self.setting.networks;
        let mut networks: BTreeMap<SocketAddr, BTreeSet<SocketAddr>> = BTreeMap::new();
        for Socket(at) in self.servers.keys().chain(self.ports.keys()) {
            let network = SocketAddr::new(network(at.ip(), lengths), at.port());
            networks.entry(network).or_default().insert(*at);
        }
        networks.retain(|_, hosts| hosts.len() >= HOSTS);
        let carpets = networks.into_iter().filter_map(|(at, hosts)| {
            let each = || hosts.iter().flat_map(|host| self.one_way_to(*host));
            let all = self.most_together(each());
            let largest = each().map(|it| self.most_together(iter::once(it))).max().unwrap_or(0);
            // One flooded host among others that are not is a target by itself.
            if all < self.flood().packets || largest.saturating_mul(4) > all {
                return None;
            }
            let mut target = Target::default();
            each().for_each(|other| target.add(other));
            hosts.iter().for_each(|host| self.adds_players_beside(&mut target, *host));
            let network = lengths[usize::from(at.is_ipv6())];
            Some(Carpet { network, at, targets: Vec::from_iter(hosts), target })
        });
        carpets.collect()
    }

    fn attack(&self, place: AttackedPlace<'_>) -> Option<Attack> {
        let AttackTimes { mut pulses, span, seconds } = self.times(place.target)?;
        pulses.truncate(PULSES);
        let repeats = self.thresholds().repeats;
        let AttackedPlace { kind, also, at, target, network, is_across, .. } = place;
        let Target { packets, bytes, timeline, clients, .. } = target;
        let has_clients =
            !is_across && !matches!(kind, AttackKind::Victim | AttackKind::CrashAttempt);
        let legitimate = match target.span {
            Some(within) if has_clients => Some(Legitimate::of(clients, repeats, within)),
            _ => None,
        };
        let input = ForgeryInput {
            target,
            at: at.ip(),
            lengths: self.setting.networks,
            repeats,
            are_returns_known: self.recent_exchanges.waits_for_challenges()
                && !target.clients.is_cut,
        };
        let gets_responses = is_across || kind == AttackKind::Victim;
        let (forged, evidence) = if gets_responses { forged_requests() } else { input.forged() };
        let mut kinds = target.kinds.clone();
        kinds.sort_by_key(|(name, count)| (Reverse(*count), *name));
        let mut other_services = of_services(kind, target);
        other_services.sort_by_key(|(port, count)| (Reverse(*count), *port));
        let [peak, peak_bytes] = timeline.peak();
        let [mean, mean_bytes] = timeline.in_pulses(span[1]).map(|count| count as f64 / seconds);
        let of_clients = legitimate.map_or(0, |it| it.during);
        let received = Received::of(target, repeats, of_clients, mean);
        let Remedy { filters, price, applied } = self.remedy(&place, seconds, forged);
        let mut targets = place.targets;
        targets.truncate(TARGETS);
        Some(Attack {
            kind,
            also,
            target: at,
            network,
            targets,
            protocol: target.protocol,
            span,
            pulses,
            received,
            each: place.each,
            packets: packets[0],
            bytes: bytes[0],
            responses: [packets[1], bytes[1]],
            rate: [mean, peak.max(mean)],
            bits: [mean_bytes, peak_bytes.max(mean_bytes), bytes[1] as f64 / seconds]
                .map(|bytes| 8.0 * bytes),
            sparkline: timeline.sparkline(),
            kinds,
            costly: target.costly,
            other_services,
            sources: SourcesOf::of(target, self.setting.networks, repeats, forged),
            forged,
            evidence,
            // Empty datagrams have nothing that could be amplified.
            amplification: (packets[1] > 0 && bytes[0] >= packets[0])
                .then(|| share(bytes[1], bytes[0])),
            answered: share(packets[1], packets[0]).min(1.0),
            legitimate,
            filters,
            price,
            applied,
        })
    }

    /// When a target is attacked.
    fn times(&self, target: &Target) -> Option<AttackTimes> {
        let [begin, end] = target.span?;
        let pulses = target.timeline.pulses().into_iter();
        let pulses = Vec::from_iter(pulses.map(|pulse| pulse.map(|at| at.clamp(begin, end))));
        let span = [pulses.first()?[0], pulses.last()?[1]];
        let seconds: f64 = pulses.iter().map(|[begin, end]| end.since(*begin) as f64 / 1e9).sum();
        let seconds = seconds.max(self.flood().seconds().min(1.0));
        Some(AttackTimes { pulses, span, seconds })
    }

    /// What a target gets that is attacked by itself.
    pub(super) fn received(&self, target: &Target) -> Option<Received> {
        let (AttackTimes { span, seconds, .. }, repeats) =
            (self.times(target)?, self.thresholds().repeats);
        let [packets, _] = target.timeline.in_pulses(span[1]);
        let of_clients = Legitimate::of(&target.clients, repeats, target.span?).during;
        Some(Received::of(target, repeats, of_clients, packets as f64 / seconds))
    }

    /// What can be done against an attack that takes this long.
    fn remedy(&self, place: &AttackedPlace<'_>, seconds: f64, forged: Forged) -> Remedy {
        let AttackedPlace { kind, at, ref targets, network, target, is_across, .. } = *place;
        if kind == AttackKind::CrashAttempt || is_across {
            return Remedy::default();
        }
        let ports = || targets.iter().map(SocketAddr::port);
        let ports = ports().min().unwrap_or(at.port())..=ports().max().unwrap_or(at.port());
        let measure = TrafficMeasure::of(self, target, at.ip(), seconds, network.is_some());
        let others = self.beside(at);
        let attacked = AttackTarget { kind, ports, at, network, others, forged };
        let collateral = self.setting.collateral;
        let filters = measure.filters(&attacked, collateral);
        let has_price = filters.is_empty() && kind != AttackKind::Victim;
        let applied = match kind {
            AttackKind::Victim => {
                filters.iter().take_while(|it| is_harmless(it, collateral)).count()
            }
            _ => filters.len().min(1),
        };
        Remedy { filters, price: has_price.then(|| measure.price(&attacked)).flatten(), applied }
    }

    /// Packets of real clients to other ports of a host.
    fn beside(&self, at: SocketAddr) -> u64 {
        let repeats = self.thresholds().repeats;
        let others = self.servers.iter();
        let others = others.filter(|(Socket(it), _)| it.ip() == at.ip() && it.port() != at.port());
        let clients = others.flat_map(|(_, target)| target.current.clients.legitimate(repeats));
        clients.map(|client| client.legitimate(repeats)).sum()
    }
}

impl<'p> AttackedPlace<'p> {
    fn of(
        kind: AttackKind,
        also: Option<AttackKind>,
        at: SocketAddr,
        target: &'p Target,
    ) -> AttackedPlace<'p> {
        let (targets, each, network, is_across) = (vec![at], Vec::new(), None, false);
        AttackedPlace { kind, also, at, targets, network, target, each, is_across }
    }
}
