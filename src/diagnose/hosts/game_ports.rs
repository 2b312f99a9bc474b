//! Whether the game ports that servers announce are open.

use std::fmt::Display;
use std::net::SocketAddr;

use dissectors::kit::{Item, Map, Purpose, Role, Transport, causes};

use crate::diagnose::Diagnosis;
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::session::{IcmpEvent, MessageEvent, PairTraffic, Totals};
use crate::text::grouped;

/// Messages of games, such as a player's request to connect, by the port that gets them.
#[derive(Default)]
pub(in crate::diagnose) struct GameMessages(Map<SocketAddr, PortTraffic>);

/// What a port sends and gets.
#[derive(Clone, Copy, Default)]
struct PortTraffic {
    sent: u64,
    got: u64,
    /// The first packet.
    frame: u64,
    /// An ICMP error that answers one of them.
    refused: Option<u64>,
}

impl PortTraffic {
    fn add(&mut self, other: &PortTraffic) {
        let first = [self.frame, other.frame].into_iter().filter(|frame| *frame > 0).min();
        *self = PortTraffic {
            sent: self.sent + other.sent,
            got: self.got + other.got,
            frame: first.unwrap_or(0),
            refused: self.refused.or(other.refused),
        };
    }
}

impl GameMessages {
    /// A message; `most`: how many ports are known.
    pub(in crate::diagnose) fn see(&mut self, event: &MessageEvent<'_>, most: usize) {
        let [_, to] = event.ends();
        let message = event.message();
        let is_of_game = message.purpose == Purpose::Other && message.speaker != Role::Server;
        if is_of_game
            && event.payload().transport == Transport::Udp
            && (self.0.len() < most || self.0.contains_key(&to))
        {
            let new = || PortTraffic { frame: event.frame(), ..PortTraffic::default() };
            self.0.entry(to).or_insert_with(new).got += 1;
        }
    }

    /// Whatever a port sends shows that it is open.
    pub(in crate::diagnose) fn sends(&mut self, from: SocketAddr) {
        if let Some(port) = self.0.get_mut(&from) {
            port.sent += 1;
        }
    }

    /// An ICMP error answers a packet.
    pub(in crate::diagnose) fn refused(&mut self, error: &IcmpEvent) {
        if let Some(port) = self.0.get_mut(&error.ends[1]) {
            port.refused = port.refused.or(Some(error.frame));
        }
    }
}

impl Diagnosis {
    /// Whether the game ports that servers announce are open.
    pub(in crate::diagnose) fn game_ports(
        &mut self,
        ends: &[(SocketAddr, SocketAddr, PairTraffic)],
        read: &Totals,
    ) {
        let mut ports = std::mem::take(&mut self.game_messages).0;
        for (end, _, traffic) in ends.iter().filter(|it| it.2.transport == Transport::Udp) {
            let ([sent, got], refused) = (traffic.packets, traffic.refused);
            let other = PortTraffic { sent, got, frame: traffic.frame, refused };
            ports.entry(*end).or_default().add(&other);
        }
        let (is_lossy, heard) = (self.is_lossy(read), &read.heard);
        self.servers.iter_mut().for_each(|(address, server)| {
            let Some(port) = server.game_port.filter(|port| *port != address.port()) else {
                return;
            };
            let Some(traffic) = ports.get(&SocketAddr::new(address.ip(), port)) else { return };
            let is_heard = heard.contains(address.ip()) || self.speakers.contains(&address.ip());
            let is_attacked = server.fact(Item::NotAttacked).run > 0;
            let fact = server.fact_mut(Item::PlayOpen);
            let values: [(_, &dyn Display); 2] =
                [("times", &grouped(traffic.got)), ("port", &port)];
            let silent = Failure::with(&causes::answers::GAME_PORT_SILENT, traffic.frame, &values);
            match traffic.refused {
                _ if traffic.sent > 0 => fact.good(traffic.frame),
                Some(frame) => {
                    let cause = &causes::answers::GAME_PORT_CLOSED;
                    fact.fails(Failure::with(cause, frame, &values));
                }
                // Packets of an attack are nobody's who plays.
                None if is_attacked => {}
                None if traffic.got >= NO_ACCIDENT && is_heard && !is_lossy => fact.fails(silent),
                None => fact.open_by(silent),
            }
        });
    }
}
