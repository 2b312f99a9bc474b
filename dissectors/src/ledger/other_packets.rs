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
use super::game_port::{BothWays, asks_for_something, is_one_way, may_be_players, packet_name};
use super::load::{DetailedLoad, GroupRoom, LoadTerms, add_count, earlier};
use super::rate::{BUCKETS, Rate};
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
    /// Who plays, also at ports that are not looked at yet.
    #[serde(skip)]
    both_ways: BothWays,
    pub(super) ports: Map<Socket, PortLoad>,
}

/// How many more packets a port got than it sent, in the latest window.
#[derive(Clone, Copy, Default)]
struct Balance {
    window: i64,
    packets: u32,
    /// Packets that ask for something: what it sends does not make these fewer.
    asking: u32,
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
}

impl OtherPackets {
    /// A packet. Returns whether there was room for it.
    pub(super) fn packet(
        &mut self,
        payload: &Payload<'_>,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
        // Nothing sends packets to itself: such a packet is forged.
        let is_own = payload.from == payload.to;
        let is_of_game = !is_own && !asks_for_something(payload.bytes);
        let plays = is_of_game && self.both_ways.see(payload.from, payload.to, payload.time);
        if !self.ports.is_empty() {
            if !is_own && let Some(port) = self.ports.get_mut(&Socket(payload.from)) {
                port.sent += u64::from(!plays);
            }
            if let Some(port) = self.ports.get_mut(&Socket(payload.to)) {
                return plays || port.gets(payload, 1, settings, room);
            }
        }
        let window = payload.time.0.div_euclid(settings.bucket * BUCKETS as i64);
        if self.balances.is_empty() {
            self.balances = vec![Balance::default(); BALANCES];
        }
        if !is_own && let Some(sender) = self.balance(payload.from, window) {
            sender.packets = sender.packets.saturating_sub(1);
        }
        let Some(more) = self.balance(payload.to, window).map(|it| it.gets(payload.bytes)) else {
            return true;
        };
        if plays || more < NOTICED {
            return true;
        }
        self.ports.len() < PORTS && {
            let port = PortLoad { first: Some(Basis::of(payload)), ..PortLoad::default() };
            let port = self.ports.entry(Socket(payload.to)).or_insert(port);
            port.gets(payload, more, settings, room)
        }
    }

    /// The balance of a port in this window.
    fn balance(&mut self, port: SocketAddr, window: i64) -> Option<&mut Balance> {
        let hash = FixedState::with_seed(0x5EC0_0007).hash_one(Socket(port));
        let balance = self.balances.get_mut(hash as usize % BALANCES)?;
        if balance.window != window {
            *balance = Balance { window, ..Balance::default() };
        }
        Some(balance)
    }
}

impl Balance {
    /// The port gets a packet. Returns how many more of them it got than it answered.
    fn gets(&mut self, bytes: &[u8]) -> u32 {
        self.packets = self.packets.saturating_add(1);
        self.asking = self.asking.saturating_add(u32::from(asks_for_something(bytes)));
        self.packets.max(self.asking)
    }
}

impl PortLoad {
    /// It gets a packet, which stands for this many. Returns whether there was room.
    fn gets(
        &mut self,
        payload: &Payload<'_>,
        times: u32,
        settings: &LoadTerms,
        room: &mut GroupRoom,
    ) -> bool {
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

    /// The requests to a server, as packets that it gets.
    pub(super) fn of_requests(load: &DetailedLoad) -> PortLoad {
        PortLoad {
            first: load.first,
            kinds: load.asked.clone(),
            sent: 0,
            sources: load.sources.clone(),
            rate: load.rate.unproven(),
        }
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
