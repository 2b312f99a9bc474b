//! Whether the sources of an attack are forged, with the evidence: each piece is a sentence with a
//! number.

use std::net::IpAddr;

use dissectors::kit::is_private;
use dissectors::ledger::WAYS;

use super::filters::is_bogon;
use super::packet::commonest;
use super::sources::{Sources, TrafficSource};
use super::target::{Target, share};
use crate::text::{counted, grouped};

/// Minimum number of challenged sources for the conclusion that none returned its challenge.
const CHALLENGED: u64 = 20;

/// Minimum number of /8 networks with one hop limit, or with one series of identifications, that is
/// not a coincidence.
const NETWORKS: usize = 16;

/// Minimum number of such sources, where more than this share of their packets is answered: a single one may be a victim,
/// in whose name packets are forged.
const SOCKETS: usize = 10;
const ANSWERED: f64 = 0.1;

/// Minimum number of packets of a source that show whether its port changes.
const PACKETS_OF_SOCKET: usize = 10;

/// Minimum share of packets for a common property.
const MOST: f64 = 0.5;

/// Minimum number of sources that cannot all be real if this share of them sent one packet.
const CROWD: u64 = 1000;
const NEARLY_ALL: f64 = 0.99;

dissectors::named! {
    /// Whether sources are forged.
    pub enum Forged {
        /// They are.
        Yes = "yes",
        /// They are not.
        No = "no",
        /// Unknown.
        Unknown = "unknown",
    }
}

/// At a victim: its sources were asked in its name.
pub(super) fn forged_requests() -> (Forged, Vec<String>) {
    let text =
        "the sources are real servers; the requests to them were forged, in the target's name";
    (Forged::No, vec![text.to_owned()])
}

/// The data to evaluate.
pub(super) struct ForgeryInput<'s> {
    pub(super) target: &'s Target,
    /// The attacked address.
    pub(super) at: IpAddr,
    /// The lengths of networks.
    pub(super) lengths: [u8; 2],
    /// Maximum number of requests of a client.
    pub(super) repeats: u32,
    /// Whether all sources that returned a challenge are known.
    pub(super) are_returns_known: bool,
}

/// A piece of evidence, and its conclusion about the sources.
type ForgeryEvidence = (String, Forged);

impl ForgeryInput<'_> {
    /// Whether sources are forged, and the evidence.
    pub(super) fn forged(&self) -> (Forged, Vec<String>) {
        // A client that never learned the protocol does not return challenges, either.
        let challenges = self.challenges().map(|(text, says)| match says {
            Forged::Yes if !self.are_seen_once() => (text, Forged::Unknown),
            says => (text, says),
        });
        let sockets = self.constant_ports();
        // Of sources that keep to a port, it shows that they run the same program.
        let identification = self.one_identification().map(|(text, says)| match &sockets {
            Some(_) => (text, Forged::Unknown),
            None => (text, says),
        });
        let all = [
            challenges,
            self.once_each(),
            self.of_itself(),
            self.real_attackers(),
            self.impossible(),
            self.own_network(),
            self.ways(),
            self.names(),
            self.one_hop_limit(),
            self.one_series(),
            identification,
            self.unreachable(),
        ];
        let mut all: Vec<ForgeryEvidence> = all.into_iter().flatten().collect();
        let is_forged = all.iter().any(|(_, says)| *says == Forged::Yes);
        match sockets {
            Some(text) if is_forged => {
                all.push((
                    text + ", which a program that forges them may do, too",
                    Forged::Unknown,
                ));
            }
            Some(text) => all.insert(0, (text + ", as sockets do", Forged::No)),
            None => {}
        }
        let says = |what: Forged| all.iter().any(|(_, says)| *says == what);
        let verdict = match (says(Forged::Yes), says(Forged::No)) {
            (true, _) => Forged::Yes,
            (false, true) => Forged::No,
            (false, false) => Forged::Unknown,
        };
        (verdict, all.into_iter().map(|(text, _)| text).collect())
    }

    /// How many of the challenged sources returned the challenge, without the clients.
    fn challenges(&self) -> Option<ForgeryEvidence> {
        let clients = &self.target.clients;
        let is_asked = |address: IpAddr, source: &TrafficSource| {
            source.challenged && !clients.is_slow(address, self.repeats)
        };
        let (challenged, _) = self.target.sources.with(is_asked);
        if challenged < CHALLENGED {
            return None;
        }
        if clients.lacks_challenges {
            let challenged = grouped(challenged);
            let text = format!(
                "{challenged} sources were challenged; what they returned was not recorded whole"
            );
            return Some((text, Forged::Unknown));
        }
        if !self.are_returns_known {
            let text = format!(
                "{} sources were challenged, which is too many to know which returned the challenge",
                grouped(challenged)
            );
            return Some((text, Forged::Unknown));
        }
        let (returned, _) = self
            .target
            .sources
            .with(|address, source| is_asked(address, source) && clients.has(address));
        let text = format!(
            "{} of {} challenged sources returned the challenge, the clients aside",
            if returned == 0 { "none".into() } else { grouped(returned) },
            grouped(challenged)
        );
        let says = match () {
            () if returned.saturating_mul(10) < challenged => Forged::Yes,
            () if returned.saturating_mul(2) >= challenged => Forged::No,
            () => Forged::Unknown,
        };
        Some((text, says))
    }

    /// Very many sources that each sent one packet and never another: no crowd of real ones does that.
    fn once_each(&self) -> Option<ForgeryEvidence> {
        let (target, sources) = (self.target, &self.target.sources);
        let (count, _) = sources.with(|address, _| !target.clients.has(address));
        let (single, _) =
            sources.with(|address, source| source.packets == 1 && !target.clients.has(address));
        let (single, new) = (share(single, count), sources.new_share());
        let text = format!(
            "{:.1} % of {} sent one packet, {:.1} % of each second's were new",
            100.0 * single,
            counted(count, "source"),
            100.0 * new
        );
        (count >= CROWD && single.min(new) >= NEARLY_ALL).then_some((text, Forged::Yes))
    }

    /// A socket sends nothing to itself.
    fn of_itself(&self) -> Option<ForgeryEvidence> {
        let own = self.target.of_itself;
        let text = format!("{} bear the target's own address and port", counted(own, "packet"));
        let says = if own >= CHALLENGED { Forged::Yes } else { Forged::Unknown };
        (own > 0).then_some((text, says))
    }

    /// Sources that send too fast and receive packets at their addresses.
    fn real_attackers(&self) -> Option<ForgeryEvidence> {
        let attackers = self.target.clients.fast(self.repeats);
        let (count, packets) =
            attackers.fold((0, 0), |(count, packets), (_, it)| (count + 1, packets + it.requests));
        let text = format!(
            "{} with more than {} requests at once returned a challenge or sent a further request: {}",
            counted(count, "source"),
            self.repeats,
            counted(packets, "packet")
        );
        let says = share(packets, self.target.packets[0]) >= MOST;
        (count > 0).then_some((text, if says { Forged::No } else { Forged::Unknown }))
    }

    /// Whether most sources sent one packet.
    fn are_seen_once(&self) -> bool {
        let sources = &self.target.sources;
        let (single, _) = sources.with(|_, source| source.packets == 1);
        share(single, sources.count_all()) >= MOST
    }

    /// Sources with many packets, all from one port: sockets, which forged sources do not have.
    fn constant_ports(&self) -> Option<String> {
        let mut attack = Vec::from_iter(self.attack().into_iter().map(|it| (it.source, it.port)));
        attack.sort_unstable();
        let sources = attack.chunk_by(|a, b| a.0 == b.0);
        let busy = Vec::from_iter(sources.filter(|packets| packets.len() >= PACKETS_OF_SOCKET));
        let is_constant = |packets: &&&[(IpAddr, u16)]| packets.first() == packets.last();
        let constant = Vec::from_iter(busy.iter().filter(is_constant));
        let packets: usize = constant.iter().map(|packets| packets.len()).sum();
        let text = format!(
            "{} of {} with many packets kept to one port",
            grouped(constant.len() as u64),
            counted(busy.len() as u64, "source")
        );
        let is_most = share(packets as u64, attack.len() as u64) >= MOST;
        let [got, sent] = self.target.packets;
        let is_victim = constant.len() < SOCKETS && share(sent, got) > ANSWERED;
        let is_proof = is_most && 2 * constant.len() >= busy.len() && !is_victim;
        is_proof.then_some(text)
    }

    fn impossible(&self) -> Option<ForgeryEvidence> {
        // A client behind NAT, where it was captured, has a private address: its packets have passed no router.
        if is_special(self.at) || !self.target.hops[0].routed {
            return None;
        }
        self.addresses(is_special, "addresses that cannot come from the Internet")
    }

    fn own_network(&self) -> Option<ForgeryEvidence> {
        let own = super::sources::network(self.at, self.lengths);
        let is_own = |it: IpAddr| super::sources::network(it, self.lengths) == own && it != self.at;
        // In a private network, and on one host, clients may have such addresses.
        let hops = self.target.hops[0].routed;
        (!is_special(self.at) && hops)
            .then(|| self.addresses(is_own, "addresses of the target's own network"))?
    }

    fn addresses(&self, is: impl Fn(IpAddr) -> bool, what: &str) -> Option<ForgeryEvidence> {
        let clients = &self.target.clients;
        let (count, packets) =
            self.target.sources.with(|address, _| is(address) && !clients.has(address));
        let text =
            format!("{} have {what}: {}", counted(count, "source"), counted(packets, "packet"));
        let many = count.saturating_mul(100) >= self.target.sources.count_all();
        (count > 0).then_some((text, if many { Forged::Yes } else { Forged::Unknown }))
    }

    /// Packets of one source that cannot have come from one place.
    fn ways(&self) -> Option<ForgeryEvidence> {
        let is_spread = |_: IpAddr, source: &TrafficSource| source.spread_of_hops() > WAYS;
        let (spread, _) = self.target.sources.with(is_spread);
        let (several, _) = self.target.sources.with(|_, source| source.packets > 1);
        let text = format!(
            "{} of {} that sent several packets have hop limits that do not fit one source",
            grouped(spread),
            counted(several, "source")
        );
        let many = spread >= CHALLENGED && spread.saturating_mul(4) >= several;
        (spread > 0).then_some((text, if many { Forged::Yes } else { Forged::Unknown }))
    }

    /// Packets in the names of clients.
    fn names(&self) -> Option<ForgeryEvidence> {
        let sample = self.target.sample.packets();
        let others = sample.iter().filter(|it| self.target.clients.is_in_name(it)).count();
        let part = others as f64 / sample.len().max(1) as f64;
        let text = format!(
            "{:.0} % of the packets bear addresses of clients, and came another way than theirs",
            100.0 * part
        );
        (part >= MOST).then_some((text, Forged::Yes))
    }

    /// The same hop limit in many packets that claim to come from all over the world.
    fn one_hop_limit(&self) -> Option<ForgeryEvidence> {
        let attack = self.attack();
        let (limit, count) = commonest(attack.iter().map(|it| it.hop_limit).filter(|it| *it > 0))?;
        let has = attack.iter().filter(|it| it.hop_limit == limit).map(|it| it.source);
        let networks = Sources::spread(has);
        let part = count as f64 / attack.len().max(1) as f64;
        let text = format!(
            "one hop limit ({limit}) in {:.0} % of the packets, over {networks} networks of 8 bits",
            100.0 * part
        );
        (part >= MOST && networks >= NETWORKS).then_some((text, Forged::Yes))
    }

    /// Identifications that continue from packet to packet, regardless of their sources.
    fn one_series(&self) -> Option<ForgeryEvidence> {
        let ids = self.target.ids;
        let text = format!(
            "in {:.0} % of the packets the IP identification continues that of another source",
            100.0 * share(ids.successive, ids.pairs)
        );
        let is_series = ids.pairs >= 100 && share(ids.successive, ids.pairs) >= MOST;
        (is_series && self.is_widespread()).then_some((text, Forged::Yes))
    }

    /// The same identification in packets of many sources.
    fn one_identification(&self) -> Option<ForgeryEvidence> {
        let attack = self.attack();
        let all = attack.iter().filter_map(|it| it.identification.filter(|id| *id != 0));
        let (id, count) = commonest(all)?;
        let part = count as f64 / attack.len().max(1) as f64;
        let text = format!("one IP identification ({id}) in {:.0} % of the packets", 100.0 * part);
        let is_one = count >= 100 && part >= MOST;
        (is_one && self.is_widespread()).then_some((text, Forged::Yes))
    }

    /// Hosts that did not expect the responses.
    fn unreachable(&self) -> Option<ForgeryEvidence> {
        let (errors, responses) = (self.target.unreachable, self.target.packets[1]);
        let text = format!(
            "{} responses drew ICMP errors: those hosts did not wait for them",
            grouped(errors)
        );
        let many = errors >= CHALLENGED && errors.saturating_mul(20) >= responses;
        (errors > 0).then_some((text, if many { Forged::Yes } else { Forged::Unknown }))
    }

    fn is_widespread(&self) -> bool {
        Sources::spread(self.attack().iter().map(|it| it.source)) >= NETWORKS
    }

    fn attack(&self) -> Vec<&super::packet::SampledPacket> {
        let clients = &self.target.clients;
        let sample = self.target.sample.packets().iter();
        sample.filter(|packet| !clients.may_have_sent(packet)).collect()
    }
}

/// Whether an address cannot be that of a host in the Internet.
fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => is_bogon(address),
        IpAddr::V6(ip) => is_private(address) || ip.is_multicast() || ip.is_unspecified(),
    }
}
