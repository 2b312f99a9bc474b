//! Packets of any content toward the ports of game servers: floods need not be requests.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::ledger::{
    OTHER_CONTENT, Peers, Repeats, asks_for_something, is_one_way, packet_name,
};

use super::packet::SampledPacket;
use super::phases::Phases;
use super::target::{TargetRoom, count};
use crate::session::DatagramEvent;

/// Ports of services that are known to be misused for reflection, besides game servers.
pub(super) const SERVICES: [u16; 15] =
    [17, 19, 53, 111, 123, 137, 161, 389, 427, 520, 1900, 3283, 3702, 5353, 11211];

/// The packets of a game server's port that are no messages of its protocol.
#[derive(Clone, Default)]
pub(super) struct GamePort {
    /// Those toward it, without players'.
    pub(super) target: Phases,
    pub(super) peers: Peers,
    /// Which packets are the same again.
    pub(super) repeats: Repeats,
    /// Its host says that nothing is at this port.
    pub(super) is_refused: bool,
}

impl GamePort {
    /// The server sends such a packet.
    pub(super) fn sends(
        &mut self,
        to: SocketAddr,
        bytes: u64,
        hop_limit: u8,
        room: &mut TargetRoom,
    ) {
        if !self.peers.sends(to, &mut room.clients) {
            self.target.current.sends(to.ip(), bytes, hop_limit, false);
        }
    }

    /// Such a packet comes to the server, whose protocol this is; `name`: its kind, if it is a message. Returns whether its
    /// sender begins to play.
    pub(super) fn is_sent(
        &mut self,
        id: Option<Id>,
        name: Option<&'static str>,
        event: &DatagramEvent<'_>,
        room: &mut TargetRoom,
    ) -> bool {
        let (from, to) = (event.headers.from, event.headers.to);
        let mut packet = SampledPacket::of(event, false);
        let label = name.unwrap_or_else(|| packet_name(event.bytes));
        // Who plays asks for nothing meanwhile: such a packet in his name is not his.
        packet.may_play = name.is_none() && !asks_for_something(event.bytes);
        if packet.may_play
            && let Some(before) = self.peers.gets(from, packet.hop_limit)
        {
            if before > 0 {
                self.target.current.was_sent(&packet, label, before.into());
            }
            let clients = &mut self.target.current.clients;
            clients.plays(&packet, &mut room.clients);
            clients.see(&packet, room.window, &mut room.packets);
            return before > 0;
        }
        if !event.is_cut() {
            self.repeats.see(from, event.bytes);
        }
        self.target.gets((id, label), to, event.bytes, &mut packet, room);
        if label == OTHER_CONTENT && SERVICES.contains(&from.port()) {
            count(&mut self.target.current.others, from.port(), 1);
        }
        false
    }

    /// So many packets like this one came before.
    pub(super) fn was_sent_before(
        &mut self,
        event: &DatagramEvent<'_>,
        times: u32,
        room: &mut TargetRoom,
    ) {
        let (packet, name) = (SampledPacket::of(event, false), packet_name(event.bytes));
        self.target.current.had_before(&packet, name, times.into(), room);
    }

    /// Whether there are players: it sends packets to some addresses.
    pub(super) fn has_players(&self) -> bool {
        !self.peers.is_empty()
    }

    /// Whether this is more than a server without answers for it gets.
    pub(super) fn is_one_way(&self) -> bool {
        is_one_way(self.target.kinds(), self.target.packets()[1])
    }
}
