//! Sources that did something that forged ones cannot: they receive packets at their addresses.

use std::net::IpAddr;

use dissectors::kit::{Map, Time};
use dissectors::ledger::WAYS;

use super::packet::SampledPacket;

/// Maximum number of stored packets of clients per target.
const MOST: usize = 1 << 14;

/// What shows that a source is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// It returned a challenge.
    Challenge,
    /// It sent a request after the last part of a split response.
    Split,
    /// It sent another kind of request after a response.
    WentOn,
    /// It plays: packets of the game go both ways.
    Plays,
}

/// A real source.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealClient {
    pub(super) proof: Proof,
    /// The hop limit of the packet that showed it.
    pub(super) hop_limit: u8,
    /// What it asks.
    pub(super) requests: u64,
    /// Packets of the game.
    played: u64,
    /// Packets that bear its address and came another way.
    others: u64,
    /// The start of the window, the number of requests without and with a challenge in it, and the maximum of all
    /// windows: a question may take one of each.
    window: (Time, [u32; 2]),
    most: u32,
    /// The ports that returned a challenge, a bit each: several programs may share an address.
    ports: u64,
    /// The ports from which it plays, a bit each.
    playing: u64,
}

/// The bit of a port.
pub(super) fn port_bit(port: u16) -> u64 {
    1 << (port % 64)
}

impl RealClient {
    /// Whether a packet that bears its address came the same way.
    fn is_near(&self, packet: &SampledPacket) -> bool {
        self.hop_limit.abs_diff(packet.hop_limit) <= WAYS
    }

    /// Whether it sent this packet, and nobody else in its name, as far as its way shows, and the port from which it
    /// plays.
    fn sent(&self, packet: &SampledPacket) -> bool {
        let plays = if packet.may_play { self.playing != 0 } else { self.proof == Proof::Plays };
        self.is_near(packet) && (!plays || self.playing & port_bit(packet.port) != 0)
    }

    /// Counts a packet that it sent; `window`: the window for counting requests.
    fn sends(&mut self, packet: &SampledPacket, window: i64) {
        if packet.may_play {
            self.played += 1;
            return;
        }
        self.requests += 1;
        let (begin, counts) = &mut self.window;
        if *counts == [0; 2] || packet.time.since(*begin) >= window {
            (*begin, *counts) = (packet.time, [0; 2]);
        }
        let count = &mut counts[usize::from(packet.has_challenge)];
        *count += 1;
        self.most = self.most.max(*count);
    }

    /// Whether each of its programs asks at most `repeats` times within the window. In whose name others send more than he
    /// does is not known to ask more.
    pub(super) fn is_slow(&self, repeats: u32) -> bool {
        self.most <= repeats.saturating_mul(self.ports.count_ones().max(1))
            || self.others > self.requests.saturating_add(self.played)
    }

    /// How many of its packets are a client's: those of the game, and what it asks, unless it asks too often.
    pub(super) fn legitimate(&self, repeats: u32) -> u64 {
        self.played.saturating_add(if self.is_slow(repeats) { self.requests } else { 0 })
    }
}

/// The real sources of one target.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    all: Map<IpAddr, RealClient>,
    /// Their packets, up to a maximum, in the order in which their sources were found to be real.
    packets: Vec<SampledPacket>,
    /// There were more of them: a source that is not among them may be real.
    pub(super) is_cut: bool,
    /// Some requests were not recorded whole, and may have had a challenge: their sources may be real, too.
    pub(super) lacks_challenges: bool,
}

impl Clients {
    pub(super) fn has(&self, source: IpAddr) -> bool {
        !self.all.is_empty() && self.all.contains_key(&source)
    }

    /// A real source.
    pub(super) fn get(&self, source: IpAddr) -> Option<&RealClient> {
        self.all.get(&source)
    }

    /// The source of this packet is real; `room`: the remaining number over all targets.
    pub(super) fn begin(&mut self, shown: &SampledPacket, proof: Proof, room: &mut usize) {
        if *room == 0 {
            self.is_cut = true;
            return;
        }
        *room -= 1;
        let SampledPacket { source, hop_limit, .. } = *shown;
        let window = (Time(i64::MIN), [0; 2]);
        self.all.entry(source).or_insert(RealClient {
            proof,
            hop_limit,
            requests: 0,
            played: 0,
            others: 0,
            window,
            most: 0,
            ports: 0,
            playing: 0,
        });
    }

    /// A real source returned a challenge from this port.
    pub(super) fn uses(&mut self, source: IpAddr, port: u16) {
        let client = self.all.get_mut(&source);
        client.into_iter().for_each(|client| client.ports |= port_bit(port));
    }

    /// The source of this packet plays from its port; `room`: as for [`Clients::begin`].
    pub(super) fn plays(&mut self, packet: &SampledPacket, room: &mut usize) {
        if !self.has(packet.source) {
            self.begin(packet, Proof::Plays, room);
        }
        let client = self.all.get_mut(&packet.source);
        client.into_iter().for_each(|client| client.playing |= port_bit(packet.port));
    }

    /// A packet that bears the address of a real source, which may be forged; `window`: the window for
    /// counting. Returns the source, if it sent the packet.
    pub(super) fn see(
        &mut self,
        packet: &SampledPacket,
        window: i64,
        room: &mut usize,
    ) -> Option<&RealClient> {
        let client = self.all.get_mut(&packet.source)?;
        client.others += u64::from(!client.is_near(packet));
        if !client.sent(packet) {
            return None;
        }
        client.sends(packet, window);
        if self.packets.len() < MOST && *room > 0 {
            *room -= 1;
            self.packets.push(*packet);
        }
        Some(client)
    }

    /// Whether a source is real and asks at most `repeats` times within the window.
    pub(super) fn is_slow(&self, source: IpAddr, repeats: u32) -> bool {
        self.has(source) && self.all.get(&source).is_some_and(|client| client.is_slow(repeats))
    }

    /// Whether a packet bears the address of a real source and came another way.
    pub(super) fn is_in_name(&self, packet: &SampledPacket) -> bool {
        self.all.get(&packet.source).is_some_and(|client| !client.is_near(packet))
    }

    /// Whether a packet is from a real source, however much that sends.
    pub(super) fn may_have_sent(&self, packet: &SampledPacket) -> bool {
        self.all.get(&packet.source).is_some_and(|client| client.sent(packet))
    }

    /// Whether a packet is a player's, or from a real source that asks at most `repeats` times within the window.
    pub(super) fn sent(&self, packet: &SampledPacket, repeats: u32) -> bool {
        let client = self.all.get(&packet.source);
        client.is_some_and(|client| {
            let plays = packet.may_play && client.playing != 0;
            (plays || client.is_slow(repeats)) && client.sent(packet)
        })
    }

    /// Those that play, or ask at most `repeats` times within the window.
    pub(super) fn legitimate(&self, repeats: u32) -> impl Iterator<Item = &RealClient> {
        self.all.values().filter(move |client| client.playing != 0 || client.is_slow(repeats))
    }

    /// Those that ask more often.
    pub(super) fn fast(&self, repeats: u32) -> impl Iterator<Item = (IpAddr, &RealClient)> {
        let all = self.all.iter().map(|(source, client)| (*source, client));
        all.filter(move |(_, client)| !client.is_slow(repeats))
    }

    /// The packets of players, and of those that ask at most `repeats` times within the window, by time.
    pub(super) fn packets(&self, repeats: u32) -> Vec<SampledPacket> {
        let theirs =
            |packet: &&SampledPacket| packet.may_play || self.is_slow(packet.source, repeats);
        let mut packets: Vec<SampledPacket> = self.packets.iter().filter(theirs).copied().collect();
        packets.sort_by_key(|packet| packet.time);
        packets
    }

    /// Adds those of another target of the same attack.
    pub(super) fn add(&mut self, other: &Clients) {
        self.add_some(other, |_, _| true);
    }

    /// Adds some of those of another target.
    pub(super) fn add_some(
        &mut self,
        other: &Clients,
        mut is_one: impl FnMut(IpAddr, &RealClient) -> bool,
    ) {
        let others = other.all.iter().map(|(source, client)| (*source, client));
        for (source, client) in others {
            if !is_one(source, client) {
                continue;
            }
            let mine = self.all.entry(source).or_insert(RealClient {
                requests: 0,
                played: 0,
                others: 0,
                most: 0,
                ..*client
            });
            // What a request shows says more than that it plays.
            mine.proof = mine.proof.min(client.proof);
            mine.requests += client.requests;
            mine.played += client.played;
            mine.others += client.others;
            mine.most = mine.most.max(client.most);
            mine.ports |= client.ports;
            mine.playing |= client.playing;
        }
        self.packets.extend(&other.packets);
        self.is_cut |= other.is_cut;
        self.lacks_challenges |= other.lacks_challenges;
    }
}
