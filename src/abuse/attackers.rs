//! Who is behind the packets of an attack: its sources, and the real clients among them.

use std::net::IpAddr;

use dissectors::kit::Time;

use super::clients::{Clients, Proof};
use super::forged::Forged;
use super::target::{Target, share};

/// Maximum number of sources and networks that are named.
const NAMED: usize = 5;

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
    /// The networks that sent most packets, with how many.
    pub prefixes: Vec<(String, u64)>,
}

impl SourcesOf {
    /// `lengths`: of the prefixes of IPv4 and IPv6 networks; `repeats`: how often a client may ask. Clients are counted, and
    /// not named, unless the sources are their own: an attacker may share a client's address.
    pub(super) fn of(target: &Target, lengths: [u8; 2], repeats: u32, forged: Forged) -> SourcesOf {
        let Target { sources, clients, .. } = target;
        let count = sources.count_all();
        let (single, _) = sources.with(|_, source| source.packets == 1);
        let is_named = |address: IpAddr| {
            !clients.is_slow(address, repeats)
                || forged == Forged::No && target.is_flooded_by(address, repeats)
        };
        let (mut top, top_error) = sources.top(usize::MAX);
        // What is not more than the error may be nothing.
        top.retain(|(address, packets)| *packets > top_error && is_named(*address));
        top.truncate(NAMED);
        SourcesOf {
            count,
            error: sources.error(),
            single_packet_share: share(single, count).min(1.0),
            new_share: sources.new_share(),
            top,
            top_error,
            prefixes: sources.networks(lengths, NAMED, is_named),
        }
    }
}

/// Clients that did something that forged sources cannot do, within the client rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Legitimate {
    /// How many.
    pub clients: u64,
    /// Their packets.
    pub packets: u64,
    /// Those during the attack, as far as they were kept.
    pub during: u64,
    /// How many returned a challenge, sent a request after the last part of a split response,
    /// sent another kind of request after a response, and play.
    pub proofs: [u64; 4],
    /// There may be more: requests were cut where their challenges would be.
    pub lacks_challenges: bool,
}

impl Legitimate {
    /// `repeats`: how often a client may ask; `span`: the first and the last packet of the attack.
    pub(super) fn of(clients: &Clients, repeats: u32, [begin, end]: [Time; 2]) -> Legitimate {
        let lacks_challenges = clients.lacks_challenges;
        let kept = clients.packets(repeats).into_iter();
        let during = kept.filter(|packet| (begin..=end).contains(&packet.time)).count() as u64;
        let mut legitimate = Legitimate { during, lacks_challenges, ..Legitimate::default() };
        for client in clients.legitimate(repeats) {
            legitimate.clients += 1;
            legitimate.packets += client.legitimate(repeats);
            let order = [Proof::Challenge, Proof::Split, Proof::WentOn, Proof::Plays];
            let at = order.iter().position(|proof| *proof == client.proof);
            legitimate.proofs[at.unwrap_or(0)] += 1;
        }
        legitimate
    }
}

/// What the sources of an attack sent to a target that are no known clients.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// What most of its packets are.
    pub kind: &'static str,
    /// How many there are.
    pub packets: u64,
    /// The number of their sources.
    pub sources: u64,
    /// Packets a second, on average.
    pub rate: f64,
}

impl Received {
    /// `repeats`: how often a client may ask; `of_clients`: so many packets are of clients; `rate`: packets a second.
    pub(super) fn of(target: &Target, repeats: u32, of_clients: u64, rate: f64) -> Received {
        let (all, sources) = (target.packets[0], target.sources.count_all());
        let kind = target.leading_kind().map_or("packets", |(kind, _)| kind);
        let received = |packets, sources| Received { kind, packets, sources, rate };
        let is_stranger = |address| !target.clients.is_slow(address, repeats);
        // Where those that repeat their requests sent nearly all, others may be players.
        let (repeating, theirs) =
            target.sources.with(|address, source| source.packets > repeats && is_stranger(address));
        if theirs.saturating_mul(10) >= all.saturating_mul(9) {
            return received(theirs.min(all), repeating);
        }
        // Each of them sent one at least: their number may be an estimate, and what known clients send of another kind.
        let strangers = target.sources.with(|address, _| is_stranger(address)).0.min(all);
        match strangers {
            0 => received(all, sources),
            _ => received(all.saturating_sub(of_clients).max(strangers), strangers),
        }
    }
}
