//! UDP packets that are no messages of a supported protocol, by the port they go to. A flood of a
//! game server need not consist of queries.
//!
//! Most such packets are of players, of downloads, of other services: a port is looked at only from
//! when it gets more packets than it sends.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::Basis;
use super::game_port::{Peers, is_one_way, may_be_players, packet_name};
use super::load::{BUCKETS, GroupRoom, LoadTerms, Rate, add_count, earlier};
use super::sources::SourceSample;
use crate::kit::{Map, Name, Payload, Socket};

/// A port is looked at from when it got so many more packets than it sent within a window.
const NOTICED: u32 = 16;

/// Number of counters of what ports get and send; several ports may share one.
const BALANCES: usize = 1 << 12;

/// Maximum number of ports that are looked at in a group.
const PORTS: usize = 1 << 12;

/// The packets between the hosts of one group.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct OtherPackets {
    #[serde(skip)]
    balances: Vec<Balance>,
    pub(super) ports: Map<Socket, PortLoad>,
}

/// How many more packets a port got than it sent, in the latest window.
#[derive(Clone, Copy, Default)]
struct Balance {
    window: i64,
    packets: u32,
}

/// What a port gets.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct PortLoad {
    pub(super) first: Option<Basis>,
    pub(super) kinds: Vec<(Name, u64)>,
    /// Packets that it sends.
    pub(super) sent: u64,
    pub(super) sources: SourceSample,
    pub(super) rate: Rate,
    /// Those that play: their packets are not counted.
    peers: Peers,
}

impl OtherPackets {
    /// A packet. Returns whether there was room for it.
    pub(super) fn packet(
        &mut self,
        payload: &Payload<'_>,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        if !self.ports.is_empty() {
            if let Some(port) = self.ports.get_mut(&Socket(payload.from)) {
                port.sends(payload.to, room);
            }
            if let Some(port) = self.ports.get_mut(&Socket(payload.to)) {
                return port.gets(payload, 1, settings, room);
            }
        }
        let window = payload.time.0.div_euclid(settings.bucket * BUCKETS as i64);
        if self.balances.is_empty() {
            self.balances = vec![Balance::default(); BALANCES];
        }
        self.balance(payload.from, window, |packets| packets.saturating_sub(1));
        let more = self.balance(payload.to, window, |packets| packets.saturating_add(1));
        if more < NOTICED {
            return true;
        }
        self.ports.len() < PORTS && {
            let port = PortLoad { first: Some(Basis::of(payload)), ..PortLoad::default() };
            let port = self.ports.entry(Socket(payload.to)).or_insert(port);
            port.gets(payload, more, settings, room)
        }
    }

    /// Changes the balance of a port. Returns it.
    fn balance(&mut self, port: SocketAddr, window: i64, change: impl Fn(u32) -> u32) -> u32 {
        let hash = FixedState::with_seed(0x5EC0_0007).hash_one(Socket(port));
        let Some(balance) = self.balances.get_mut(hash as usize % BALANCES) else { return 0 };
        if balance.window != window {
            *balance = Balance { window, packets: 0 };
        }
        balance.packets = change(balance.packets);
        balance.packets
    }
}

impl PortLoad {
    fn sends(&mut self, to: SocketAddr, room: &mut GroupRoom) {
        if !self.peers.sends(to, &mut room.sources) {
            self.sent += 1;
        }
    }

    /// It gets a packet, which stands for this many. Returns whether there was room.
    fn gets(
        &mut self,
        payload: &Payload<'_>,
        times: u32,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        if self.peers.gets(payload.from) {
            return true;
        }
        add_count(&mut self.kinds, Name(packet_name(payload.bytes)), times.into());
        let before = self.sources.len();
        if let Some(source) = self.sources.entry(payload.from.ip(), payload.time, room.sources == 0)
        {
            source.asks();
        }
        room.sources = (room.sources + before).saturating_sub(self.sources.len());
        if room.buckets == 0 {
            return false;
        }
        let bucket = payload.time.0.div_euclid(settings.bucket);
        let kept: usize = (0..times).map(|_| self.rate.add(bucket, settings.least)).sum();
        room.buckets = room.buckets.saturating_sub(kept);
        !self.sources.is_cut
    }

    /// Adds what it gets from another group of hosts.
    pub(super) fn add(&mut self, mut other: PortLoad, settings: &LoadTerms) {
        other.rate.keep(settings.least);
        self.first = earlier(self.first, other.first);
        self.sent += other.sent;
        other.kinds.iter().for_each(|(name, times)| add_count(&mut self.kinds, *name, *times));
        self.kinds.sort_unstable();
        self.sources.add(other.sources);
        self.rate.add_all(other.rate);
    }

    /// Whether players may send it this much, if nothing that it sends was recorded; the rate is per second.
    pub(super) fn may_be_players(&self, rate: f64) -> bool {
        let kinds = self.kinds.iter().map(|(name, times)| (name.0, *times));
        may_be_players(kinds, rate, self.sources.estimate(self.sources.len()))
    }

    /// Whether it gets more than a port without answers for it does.
    pub(super) fn is_one_way(&self) -> bool {
        is_one_way(self.kinds.iter().map(|(name, times)| (name.0, *times)), self.sent)
    }
}
