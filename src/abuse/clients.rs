//! Sources that have shown what forged ones cannot: they get what is sent to their addresses.

use std::net::IpAddr;

use dissectors::kit::{Map, Time};

use super::packet::SampledPacket;

/// Packets of clients that are kept of one target.
const MOST: usize = 1 << 14;

/// What shows that a source is real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// It returned a challenge.
    Challenge,
    /// It went on after the last part of a split response.
    Split,
    /// It asked something else after a response.
    WentOn,
}

/// A real source.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealClient {
    pub(super) proof: Proof,
    pub(super) packets: u64,
    /// When the window began, how many packets came in it, and the most that came in one.
    window: (Time, u32),
    most: u32,
}

/// The real sources of one target.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients {
    all: Map<IpAddr, RealClient>,
    /// What they sent, as far as there is room, in the order in which it was found to be theirs.
    packets: Vec<SampledPacket>,
    /// There were more packets.
    pub(super) is_cut: bool,
}

impl Clients {
    pub(super) fn has(&self, source: IpAddr) -> bool {
        !self.all.is_empty() && self.all.contains_key(&source)
    }

    /// A source has shown that it is real; `room`: for this many more, over all targets.
    pub(super) fn begin(&mut self, source: IpAddr, proof: Proof, room: &mut usize) {
        if *room == 0 {
            self.is_cut = true;
            return;
        }
        *room -= 1;
        let client = RealClient { proof, packets: 0, window: (Time(i64::MIN), 0), most: 0 };
        self.all.entry(source).or_insert(client);
    }

    /// A packet of a source that is real; `window`: in which it is counted.
    pub(super) fn see(&mut self, packet: &SampledPacket, window: i64, room: &mut usize) {
        let Some(client) = self.all.get_mut(&packet.source) else { return };
        client.packets += 1;
        if client.window.1 == 0 || packet.time.since(client.window.0) >= window {
            client.window = (packet.time, 0);
        }
        client.window.1 += 1;
        client.most = client.most.max(client.window.1);
        if self.packets.len() < MOST && *room > 0 {
            *room -= 1;
            self.packets.push(*packet);
        } else {
            self.is_cut = true;
        }
    }

    /// Whether a source is real and asks no faster than clients do: `repeats` within the window.
    pub(super) fn is_legitimate(&self, source: IpAddr, repeats: u32) -> bool {
        self.has(source) && self.all.get(&source).is_some_and(|client| client.most <= repeats)
    }

    /// Those that ask no faster than clients do, or those that do.
    pub(super) fn which(
        &self,
        legitimate: bool,
        repeats: u32,
    ) -> impl Iterator<Item = (IpAddr, &RealClient)> {
        let all = self.all.iter().map(|(source, client)| (*source, client));
        all.filter(move |(_, client)| (client.most <= repeats) == legitimate)
    }

    /// The packets of those that ask no faster than clients do, by time.
    pub(super) fn packets(&self, repeats: u32) -> Vec<SampledPacket> {
        let theirs = |packet: &&SampledPacket| self.is_legitimate(packet.source, repeats);
        let mut packets: Vec<SampledPacket> = self.packets.iter().filter(theirs).copied().collect();
        packets.sort_by_key(|packet| packet.time);
        packets
    }

    /// Adds those of another target of the same attack.
    pub(super) fn add(&mut self, other: &Clients) {
        for (source, client) in other.which(true, u32::MAX) {
            let mine =
                self.all.entry(source).or_insert(RealClient { packets: 0, most: 0, ..*client });
            mine.packets += client.packets;
            mine.most = mine.most.max(client.most);
        }
        self.packets.extend(&other.packets);
        self.is_cut |= other.is_cut;
    }
}
