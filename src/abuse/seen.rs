//! What was looked at for attacks, where there is none.

use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Socket;

use super::Abuse;

/// What was looked at for attacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenTraffic {
    /// Packets of game servers, of masters, and of those that get responses without a request.
    pub packets: u64,
    /// The target with the highest rate within the window of a flood, in packets per second.
    pub highest: Option<(SocketAddr, f64)>,
    /// Why this rate is no attack, if it is that of a flood.
    pub innocent: Option<&'static str>,
    /// The rate that makes a flood, in packets per second.
    pub threshold: f64,
    /// The window of a flood, in seconds; of a shorter capture, its length.
    pub seconds: f64,
    /// This is the rate of a flood, in too short a capture to tell.
    pub is_too_short: bool,
    /// Ports of this host that nothing shows to be a game server's get so many packets that they may be a flood, and so many a
    /// second of the capture.
    pub unknown: Option<(IpAddr, u64, f64)>,
    /// Packets toward this game server are a flood, or of players: it sends nothing of the game.
    pub one_way: Option<SocketAddr>,
    /// Other packets of its host were recorded.
    pub is_heard: bool,
    /// Responses to this address are an attack, or asked for: no request was recorded.
    pub one_way_client: Option<IpAddr>,
}

/// Why so many packets are no attack.
const PROVEN: &str = "but they are of clients that return challenges or go on as clients do";
const ANSWERED: &str = "but they go both ways, as players' do";

impl Abuse {
    /// What was looked at for attacks.
    pub fn seen(&self) -> SeenTraffic {
        let proven = |target, at| (self.most_of_flood(target), at, Some(PROVEN));
        let servers = self.servers.iter().map(|(at, target)| proven(target, at.0));
        let ports = self.ports.iter();
        let ports =
            ports.map(|(at, port)| (self.most_of_flood(&port.target), at.0, Some(ANSWERED)));
        let masters = self.masters.iter().map(|(at, target)| proven(target, at.0));
        let victims = self.victims.iter();
        let victims = victims.map(|(host, target)| {
            (self.most_of_victim(target), SocketAddr::new(*host, target.port), None)
        });
        let rates = servers.chain(ports).chain(masters).chain(victims);
        let rates = rates.filter(|(most, ..)| *most > 0);
        let highest = rates.max_by_key(|(most, at, _)| (*most, Reverse(*at)));
        let flood = self.flood();
        let one_way = self.ports.iter().filter(|(_, port)| self.is_as_much(port));
        let one_way = one_way.filter(|(_, port)| self.may_be_players(port));
        let one_way = one_way.map(|(at, port)| (at.0, port.is_refused)).min();
        let is_heard = one_way.is_some_and(|(at, is_refused)| {
            let server = self.servers.get(&Socket(at));
            is_refused || server.is_some_and(|server| server.packets()[1] > 0)
        });
        let one_way = one_way.map(|(at, _)| at);
        let clients = self.victims.iter().filter(|(_, victim)| self.gets_many(victim));
        let clients = clients.filter(|(_, victim)| self.may_have_asked(victim));
        let is_flood = |most: &u64| *most >= flood.packets && one_way.is_none();
        SeenTraffic {
            one_way_client: clients.map(|(address, _)| *address).min(),
            one_way,
            unknown: self.unknown_flood(),
            is_heard,
            packets: self.read,
            innocent: highest.filter(|(most, ..)| is_flood(most)).and_then(|(.., why)| why),
            highest: highest.map(|(most, at, _)| (at, flood.rate_of(most))),
            is_too_short: highest.is_some_and(|(most, ..)| flood.is_too_short_for(most)),
            threshold: self.thresholds().flood_rate.into(),
            seconds: flood.seconds(),
        }
    }
}
