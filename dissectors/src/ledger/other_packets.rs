//! UDP packets that are no messages of a supported protocol, by the port they go to. A flood of a
//! game server need not consist of queries.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::balances::Balances;
use super::game_port::{BothWays, asks_for_something, is_one_way, may_be_players, packet_name};
use super::load::{DetailedLoad, GroupRoom, LoadThresholds, add_count, earlier};
use super::rate::{BUCKETS, Rate};
use super::sources::SourceSample;
use super::{Basis, Repeats};
use crate::kit::{Map, Name, Payload, Socket};

/// Limit: ports that get more packets of other content than they send, by group of hosts | {} | SEC007 is not checked
/// for others; NET011 as `remembered`
const PORTS: usize = 1 << 12;

/// Maximum number of pairs of hosts of which players are counted.
const HOSTS: usize = 1 << 12;

/// The packets between the hosts of one group.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct OtherPackets {
    #[serde(skip)]
    balances: Balances,
    /// Who plays, also at ports that are not looked at yet.
    #[serde(skip)]
    both_ways: BothWays,
    pub(super) ports: Map<Socket, PortLoad>,
    /// How many play from one host at another, in either order.
    pub(super) players: Map<[IpAddr; 2], u32>,
}

/// What a port gets.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct PortLoad {
    pub(super) first: Option<Basis>,
    pub(super) kinds: Vec<(Name, u64)>,
    /// Packets that it sends, but for those to players.
    pub(super) sent: u64,
    /// It has players: packets of the game go both ways.
    has_players: bool,
    pub(super) sources: SourceSample,
    /// Which packets are the same again.
    repeats: Repeats,
    pub(super) rate: Rate,
}

impl OtherPackets {
    /// A packet. Returns whether there was room for it.
    pub(super) fn packet(
        &mut self,
        payload: &Payload<'_>,
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        // Nothing sends packets to itself: such a packet is forged.
        let is_own = payload.from == payload.to;
        let is_of_game = !is_own && !asks_for_something(payload.bytes);
        let mut see = || self.both_ways.see(payload.from, payload.to, payload.time);
        let [plays, begins] = if is_of_game { see() } else { [false; 2] };
        if begins {
            self.begins_to_play([payload.from, payload.to]);
        }
        if !self.ports.is_empty() {
            if !is_own && let Some(port) = self.ports.get_mut(&Socket(payload.from)) {
                port.sent += u64::from(!plays);
                port.has_players |= plays;
            }
            if let Some(port) = self.ports.get_mut(&Socket(payload.to)) {
                port.has_players |= plays;
                return plays || port.gets(payload, 1, settings, room);
            }
        }
        let (ends, window) = ([payload.from, payload.to], settings.bucket * BUCKETS as i64);
        let more = self.balances.see(ends, payload.bytes, payload.time, window);
        let Some(more) = more.filter(|_| !plays) else { return true };
        self.ports.len() < PORTS && {
            let port = PortLoad { first: Some(Basis::of(payload)), ..PortLoad::default() };
            let port = self.ports.entry(Socket(payload.to)).or_insert(port);
            port.gets(payload, more, settings, room)
        }
    }

    /// Two sockets begin to send each other packets of the game.
    pub(super) fn begins_to_play(&mut self, ends: [SocketAddr; 2]) {
        let mut hosts = ends.map(|end| end.ip());
        hosts.sort_unstable();
        if self.players.len() < HOSTS || self.players.contains_key(&hosts) {
            *self.players.entry(hosts).or_default() += 1;
        }
    }

    /// Whether a port is looked at.
    pub(super) fn looks_at(&self, port: SocketAddr) -> bool {
        !self.ports.is_empty() && self.ports.contains_key(&Socket(port))
    }
}

impl PortLoad {
    /// It gets a packet, which stands for this many. Returns whether there was room.
    fn gets(
        &mut self,
        payload: &Payload<'_>,
        times: u32,
        settings: &LoadThresholds,
        room: &mut GroupRoom,
    ) -> bool {
        add_count(&mut self.kinds, Name(packet_name(payload.bytes)), times.into());
        if !payload.lost {
            self.repeats.see(payload.from, payload.bytes);
        }
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
    pub(super) fn add(&mut self, mut other: PortLoad, settings: &LoadThresholds) {
        other.rate.keep(settings.least);
        self.first = earlier(self.first, other.first);
        self.sent += other.sent;
        self.has_players |= other.has_players;
        self.repeats.add(&other.repeats);
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
            has_players: false,
            sources: load.sources.clone(),
            repeats: Repeats::default(),
            rate: load.rate.unproven(),
        }
    }

    /// Whether players may send it this much, because it sends nothing of the game; the rate is per second, measured in this
    /// window.
    pub(super) fn may_be_players(&self, rate: f64, window: i64) -> bool {
        let kinds = self.kinds.iter().map(|(name, times)| (name.0, *times));
        let is_silent = self.sent == 0 && !self.has_players;
        let sources = self.sources.estimate(self.sources.len());
        is_silent && may_be_players(kinds, rate, window, sources, &self.repeats)
    }

    /// Whether it gets more than a port without answers for it does.
    pub(super) fn is_one_way(&self) -> bool {
        is_one_way(self.kinds.iter().map(|(name, times)| (name.0, *times)), self.sent)
    }
}
