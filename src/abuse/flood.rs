//! When so many packets are a flood.

use std::cmp::Reverse;
use std::net::IpAddr;

use dissectors::kit::{FloodLimit, Set, Socket};
use dissectors::ledger::may_be_players;

use super::Abuse;
use super::game_ports::GamePort;
use super::phases::Phases;
use super::target::Target;

impl Abuse {
    /// What makes a flood in this capture.
    pub(super) fn flood(&self) -> FloodLimit {
        self.thresholds().flood_of(self.length())
    }

    /// The length of the capture.
    fn length(&self) -> i64 {
        self.span.map_or(i64::MAX, |[begin, end]| end.since(begin))
    }

    /// The host whose ports that nothing shows to be a game server's get most packets, how many, and how many a second:
    /// as many as a flood has, all the time, or within a window where it has a game server, too.
    pub(super) fn unknown_flood(&self) -> Option<(IpAddr, u64, f64)> {
        let most = |all: Vec<(IpAddr, u64)>| {
            all.into_iter().max_by_key(|(host, packets)| (*packets, Reverse(*host)))
        };
        let windows = (self.length() as f64 / self.flood().window as f64).max(1.0);
        let least = self.flood().packets as f64 * windows;
        let always = most(self.unknown_hosts.all()).filter(|(_, all)| *all as f64 >= least);
        let rate = |packets: u64, windows: f64| packets as f64 / (windows * self.flood().seconds());
        if let Some((host, packets)) = always {
            return Some((host, packets, rate(packets, windows)));
        }
        let known = self.servers.keys().chain(self.announced.keys());
        let known = Set::from_iter(known.map(|Socket(at)| at.ip()));
        let (host, packets) = most(self.unknown_hosts.within_window(&known))?;
        Some((host, packets, rate(packets, 1.0)))
    }

    /// The seconds within which packets are counted: a window that is as long as the capture has all of them.
    pub(super) fn flood_seconds(&self) -> i64 {
        let is_short = self.flood().window < self.thresholds().flood_window;
        self.room.flood_seconds + i64::from(is_short)
    }

    /// Whether packets of any content flood a game server's port.
    pub(super) fn is_flooded(&self, port: &GamePort) -> bool {
        self.is_as_much(port) && !self.may_be_players(port)
    }

    /// Whether so many packets are a flood, if they are not players'.
    pub(super) fn is_as_much(&self, port: &GamePort) -> bool {
        self.most_of_flood(&port.target) >= self.flood().packets && port.is_one_way()
    }

    /// Whether the packets toward a game server's port may be players', because it sends nothing of the game.
    pub(super) fn may_be_players(&self, port: &GamePort) -> bool {
        if port.target.packets()[1] > 0 || port.has_players() {
            return false;
        }
        let flood = self.flood();
        let rate = flood.rate_of(self.most_of_flood(&port.target));
        let sources = port.target.sources().count_all();
        may_be_players(port.target.kinds(), rate, flood.window, sources, &port.repeats)
    }

    /// Whether joins and heartbeats flood a master: servers that return its challenges are its clients.
    pub(super) fn is_master_flooded(&self, target: &Phases) -> bool {
        let most = target.most_unproven_within(self.flood_seconds());
        most >= self.flood().packets && !target.current.clients.is_cut
    }

    /// The most packets to a server or a master within the window of a flood.
    pub(super) fn most_of_flood(&self, target: &Phases) -> u64 {
        target.most_within(self.flood_seconds())
    }

    /// The same for an address that gets responses.
    pub(super) fn most_of_victim(&self, target: &Target) -> u64 {
        target.timeline.most_within(self.flood_seconds())
    }
}
