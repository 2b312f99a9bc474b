//! Ports that are not known to be game servers' yet: what came to them counts once they are, as in the rule about floods.

use std::net::SocketAddr;

use dissectors::kit::{Map, Socket};
use dissectors::ledger::Balances;

use super::game_ports::GamePort;
use super::target::TargetRoom;
use crate::session::DatagramEvent;

/// Ports that get more packets than they send.
pub(super) struct UnknownPorts {
    balances: Balances,
    ports: Map<Socket, GamePort>,
    most: usize,
    /// The window of a flood, in nanoseconds.
    window: i64,
    room: TargetRoom,
}

impl UnknownPorts {
    /// None yet, at most so many.
    pub(super) fn new(most: usize, window: i64, room: TargetRoom) -> UnknownPorts {
        UnknownPorts { balances: Balances::default(), ports: Map::default(), most, window, room }
    }

    /// A packet that is no message, between ports that are not known.
    pub(super) fn see(&mut self, event: &DatagramEvent<'_>) {
        let (from, to) = (event.headers.from, event.headers.to);
        if from != to
            && let Some(port) = self.ports.get_mut(&Socket(from))
        {
            let (bytes, hop_limit) = (event.headers.length.into(), event.headers.hop_limit);
            port.sends(to, bytes, hop_limit, &mut self.room);
        }
        if let Some(port) = self.ports.get_mut(&Socket(to)) {
            port.is_sent(None, None, event, &mut self.room);
            return;
        }
        let time = event.headers.time;
        let times = self.balances.see([from, to], event.bytes, time, self.window);
        if let Some(times) = times.filter(|_| self.ports.len() < self.most) {
            let port = self.ports.entry(Socket(to)).or_default();
            port.is_sent(None, None, event, &mut self.room);
            port.was_sent_before(event, times - 1, &mut self.room);
        }
    }

    /// The port is known from now on.
    pub(super) fn take(&mut self, at: SocketAddr) -> Option<GamePort> {
        if self.ports.is_empty() {
            return None;
        }
        let port = self.ports.remove(&Socket(at))?;
        port.target.each().for_each(|it| self.room.gets_back(it));
        Some(port)
    }
}
