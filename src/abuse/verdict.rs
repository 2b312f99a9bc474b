//! From counts to attacks.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::abuse_rules::{SEC005, SEC006};
use dissectors::kit::{Set, Time, Who};
use dissectors::ledger::Ledger;

use super::filters::{Filter, filters};
use super::sources::Source;
use super::{Abuse, Target};
use crate::session::Totals;
use crate::text::{counted, grouped};

/// Sources and networks that are named.
const NAMED: usize = 5;

/// Challenged sources from which on it tells something that none returned its challenge.
const CHALLENGED: u64 = 20;

/// Networks over which one hop limit is no accident.
const NETWORKS: usize = 16;

/// What kind of attack it is, and whose capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seat {
    /// A server is asked more than it can answer.
    FloodedServer,
    /// A server is made to flood others.
    Reflector,
    /// Somebody gets responses that he never asked for.
    Victim,
    /// A server is sent what is known to crash it.
    CrashAttempt,
}

impl Seat {
    /// All of them.
    pub const ALL: [Seat; 4] =
        [Seat::FloodedServer, Seat::Reflector, Seat::Victim, Seat::CrashAttempt];

    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Seat::FloodedServer => "flooded_server",
            Seat::Reflector => "reflector",
            Seat::Victim => "victim",
            Seat::CrashAttempt => "crash_attempt",
        }
    }
}

/// Whether sources are what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forged {
    /// They are not.
    Yes,
    /// They are.
    No,
    /// It cannot be told.
    Unknown,
}

impl Forged {
    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Forged::Yes => "yes",
            Forged::No => "no",
            Forged::Unknown => "unknown",
        }
    }
}

/// Where an attack comes from.
#[derive(Clone, Debug)]
pub struct SourcesOf {
    /// How many there are.
    pub count: u64,
    /// The share by which that may be wrong.
    pub error: f64,
    /// The share that sent one packet.
    pub single_packet_share: f64,
    /// Those that sent most packets, with how many.
    pub top: Vec<(IpAddr, u64)>,
    /// The same of networks.
    pub prefixes: Vec<(String, u64)>,
}

/// Clients that did what forged sources cannot.
#[derive(Clone, Copy, Debug)]
pub struct Legitimate {
    /// How many.
    pub clients: u64,
    /// Packets of theirs.
    pub packets: u64,
}

/// One attack.
#[derive(Clone, Debug)]
pub struct Attack {
    /// What kind it is.
    pub seat: Seat,
    /// Who is attacked.
    pub target: SocketAddr,
    /// In which protocol.
    pub protocol: Option<Id>,
    /// When it began, and when it ended.
    pub span: [Time; 2],
    /// Packets of the attack.
    pub packets: u64,
    /// Their payloads' bytes.
    pub bytes: u64,
    /// Packets and bytes of what the target responds.
    pub responses: [u64; 2],
    /// Packets a second: on average, and at most.
    pub rate: [f64; 2],
    /// How many there were when.
    pub sparkline: String,
    /// Packets by kind, most first.
    pub kinds: Vec<(&'static str, u64)>,
    /// Where they come from.
    pub sources: SourcesOf,
    /// Whether these are forged.
    pub forged: Forged,
    /// Why.
    pub evidence: Vec<String>,
    /// Bytes out for bytes in, where the target responds.
    pub amplification: Option<f64>,
    /// Real clients among the sources; none where there can be none.
    pub legitimate: Option<Legitimate>,
    /// Filters against it, the best one first.
    pub filters: Vec<Filter>,
}

impl Abuse {
    /// The attacks, the largest first.
    pub fn attacks(&mut self, read: &mut Totals) -> Vec<Attack> {
        let loads = std::mem::take(&mut read.traffic.loads);
        let ledger = std::mem::replace(&mut self.ledger, Ledger::new(self.terms));
        let mut attacks: Vec<Attack> = Vec::new();
        let mut known = Set::default();
        for ruling in ledger.review(loads).rulings {
            let seen = ruling.witness.seen;
            let (seat, target) = match (ruling.rule.code, ruling.speaker) {
                (code, Who::Client) if code == SEC006.code => (Seat::FloodedServer, seen.to),
                (code, _) if code == SEC005.code => {
                    match self.victims.contains_key(&seen.to.ip()) {
                        true if !self.servers.contains_key(&seen.from) => (Seat::Victim, seen.to),
                        _ => (Seat::Reflector, seen.from),
                    }
                }
                _ => continue,
            };
            if known.insert((seat, target)) {
                attacks.extend(self.attack(seat, target));
            }
        }
        // A flood that is answered is both: what there is of sources tells which comes first.
        attacks.retain(|it| {
            it.seat != Seat::Reflector || !known.contains(&(Seat::FloodedServer, it.target))
        });
        for server in self.crashed.keys().copied().collect::<Vec<_>>() {
            attacks.extend(self.attack(Seat::CrashAttempt, server));
        }
        attacks.sort_by_key(|it| (std::cmp::Reverse(it.packets), it.target, it.seat as u8));
        attacks
    }

    fn attack(&self, seat: Seat, at: SocketAddr) -> Option<Attack> {
        let target = match seat {
            Seat::FloodedServer | Seat::Reflector => self.servers.get(&at)?,
            Seat::Victim => self.victims.get(&at.ip())?,
            Seat::CrashAttempt => self.crashed.get(&at)?,
        };
        let Target { packets, bytes, sources, span, .. } = target;
        let span = (*span)?;
        let seconds = (span[1].since(span[0]) as f64 / 1e9).max(1.0);
        let (single, _) = sources.with(|_, source| source.packets == 1);
        let legitimate = (seat != Seat::Victim).then(|| {
            let (clients, packets) = sources.with(|_, source| source.is_real);
            Legitimate { clients, packets }
        });
        let (forged, evidence) = forged(seat, target, at);
        let mut kinds = target.kinds.clone();
        kinds.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        Some(Attack {
            seat,
            target: SocketAddr::new(at.ip(), target.port),
            protocol: target.protocol,
            span,
            packets: packets[0],
            bytes: bytes[0],
            responses: [packets[1], bytes[1]],
            rate: [packets[0] as f64 / seconds, target.timeline.peak()],
            sparkline: target.timeline.sparkline(),
            kinds,
            sources: SourcesOf {
                count: sources.count(),
                error: sources.error(),
                single_packet_share: share(single, sources.count()),
                top: sources.top(NAMED),
                prefixes: sources.prefixes(NAMED),
            },
            forged,
            evidence,
            amplification: (packets[1] > 0).then(|| share(bytes[1], bytes[0])),
            legitimate,
            filters: match seat {
                Seat::CrashAttempt => Vec::new(),
                _ => filters(seat, target, SocketAddr::new(at.ip(), target.port)),
            },
        })
    }
}

fn share(some: u64, all: u64) -> f64 {
    some as f64 / all.max(1) as f64
}

/// Whether the sources are forged, and what shows it.
fn forged(seat: Seat, target: &Target, at: SocketAddr) -> (Forged, Vec<String>) {
    if seat == Seat::Victim {
        let text = "the sources are servers that were asked in the target's name: they are real, and \
                    the requests were forged";
        return (Forged::No, vec![text.to_owned()]);
    }
    let sources = &target.sources;
    let mut evidence = Vec::new();
    let (challenged, _) = sources.with(|_, source| source.challenged);
    let (returned, _) = sources.with(|_, source| source.challenged && source.is_real);
    let mut says = Forged::Unknown;
    if challenged >= CHALLENGED {
        evidence.push(format!(
            "{} of {} challenged sources returned the challenge",
            grouped(returned),
            grouped(challenged)
        ));
        if returned.saturating_mul(100) < challenged {
            says = Forged::Yes;
        } else if returned.saturating_mul(2) >= challenged {
            says = Forged::No;
        }
    } else {
        evidence.push(
            "hardly any source was challenged: whether they would return it is not known"
                .to_owned(),
        );
    }
    if !is_special(at.ip()) {
        let (bogons, packets) = sources.with(|address, _| is_special(address));
        if bogons > 0 {
            evidence.push(format!(
                "{}, of {}, have addresses that cannot come from the Internet",
                counted(bogons, "source"),
                counted(packets, "packet")
            ));
            if bogons.saturating_mul(100) >= sources.count() {
                says = Forged::Yes;
            }
        }
    }
    if let Some((limit, packets, networks)) = one_hop_limit(target) {
        evidence.push(format!(
            "one hop limit ({limit}) in {:.0} % of the packets, from {networks} networks of 8 bits",
            100.0 * share(packets, target.packets[0])
        ));
        says = Forged::Yes;
    }
    (says, evidence)
}

/// A hop limit that most packets have, though they claim to come from all over the world.
fn one_hop_limit(target: &Target) -> Option<(u8, u64, usize)> {
    let (limit, packets) = target.sources.commonest_hop_limit()?;
    let has = |source: &Source| source.hop_limit == limit && !source.is_real;
    let networks = target.sources.spread(has);
    let is_most = share(packets, target.packets[0]) >= 0.5;
    (is_most && networks >= NETWORKS).then_some((limit, packets, networks))
}

/// Whether an address cannot be that of a host in the Internet.
fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_private()
                || ip.is_loopback()
                || ip.is_link_local()
                || ip.is_multicast()
                || a == 0
                || a >= 240
                || a == 100 && b & 0xC0 == 64
        }
        IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
        }
    }
}
