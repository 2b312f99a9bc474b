//! Packets of any content toward the ports of game servers: floods need not be requests.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::Map;

use super::clients::Proof;
use super::packet::SampledPacket;
use super::target::{Target, TargetRoom};
use crate::session::DatagramEvent;

/// Maximum number of addresses per port to which the server sends such packets.
const PEERS: usize = 1 << 12;

/// As many packets in both directions are a player's.
const PLAYS: u32 = 10;

/// A player sends at most so many packets for each that the server sends.
const MOST_EACH: u32 = 20;

/// A flood is so many times what the server sends, unless its packets ask for something.
const TIMES: u64 = 3;

/// How packets outside of a connection begin.
const CONNECTIONLESS: [u8; 4] = [0xFF; 4];
const SPLIT: [u8; 4] = [0xFE, 0xFF, 0xFF, 0xFF];

/// Words that begin such packets of games, and what they ask for.
const WORDS: [(&[u8], &str); 8] = [
    (b"getchallenge", "getchallenge packet"),
    (b"qconnect", "qconnect packet"),
    (b"connect", "connect packet"),
    (b"rcon", "rcon packet"),
    (b"infostring", "infostring packet"),
    (b"details", "details packet"),
    (b"getinfo", "getinfo packet"),
    (b"getstatus", "getstatus packet"),
];

/// The name of packets of unknown content.
const OTHER: &str = "packet of other content";

/// The packets of a game server's port that are no messages of its protocol.
#[derive(Clone, Default)]
pub(super) struct GamePort {
    /// Those toward it, without players'.
    pub(super) target: Target,
    peers: Map<SocketAddr, Peer>,
}

/// An address to which the server sends such packets: how many, and how many came from there.
#[derive(Clone, Copy, Default)]
struct Peer {
    sent: u32,
    got: u32,
}

impl Peer {
    /// Whether it plays: traffic goes both ways.
    fn plays(self) -> bool {
        self.sent >= PLAYS && self.got >= PLAYS && self.got / MOST_EACH <= self.sent
    }
}

impl GamePort {
    /// The server sends such a packet.
    pub(super) fn sends(&mut self, to: SocketAddr, bytes: u64, hop_limit: u8) {
        if self.peers.len() < PEERS || self.peers.contains_key(&to) {
            let peer = self.peers.entry(to).or_default();
            peer.sent = peer.sent.saturating_add(1);
            if peer.plays() {
                return;
            }
        }
        self.target.sends(to.ip(), bytes, hop_limit, false);
    }

    /// Such a packet comes to the server, whose protocol this is.
    pub(super) fn is_sent(
        &mut self,
        id: Option<Id>,
        event: &DatagramEvent<'_>,
        room: &mut TargetRoom,
    ) {
        let (from, to) = (event.headers.from, event.headers.to);
        let packet = SampledPacket::of(event, false);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.got = peer.got.saturating_add(1);
            if peer.plays() {
                let clients = &mut self.target.clients;
                if !clients.has(packet.source) {
                    clients.begin(packet.source, Proof::Plays, &mut room.clients);
                }
                clients.see(&packet, room.window, &mut room.packets);
                return;
            }
        }
        self.target.is_sent((id, name(event.bytes)), to, event.bytes, &packet, room);
    }

    /// Whether this is more than a server without answers for it gets.
    pub(super) fn is_one_way(&self) -> bool {
        let asking: u64 =
            self.target.kinds.iter().filter(|(name, _)| *name != OTHER).map(|(_, it)| it).sum();
        let [got, sent] = self.target.packets;
        2 * asking >= got || got >= TIMES * sent
    }
}

/// What a packet is, by its first bytes.
fn name(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(&SPLIT) {
        return "split packet";
    }
    match bytes.strip_prefix(&CONNECTIONLESS) {
        Some([]) => "empty connectionless packet",
        Some(message) => {
            let known = WORDS.iter().find(|(word, _)| message.starts_with(word));
            known.map_or("connectionless packet", |(_, name)| name)
        }
        None => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_named_by_their_first_bytes() {
        assert_eq!(name(b"\xFF\xFF\xFF\xFFqconnect0x1\0"), "qconnect packet");
        assert_eq!(name(b"\xFF\xFF\xFF\xFFgetchallenge steam"), "getchallenge packet");
        assert_eq!(name(b"\xFF\xFF\xFF\xFF"), "empty connectionless packet");
        assert_eq!(name(b"\xFF\xFF\xFF\xFFxyz"), "connectionless packet");
        assert_eq!(name(b"\xFE\xFF\xFF\xFF\0"), "split packet");
        assert_eq!(name(b"\x12\x34"), OTHER);
    }

    #[test]
    fn who_gets_as_much_as_he_sends_plays() {
        let peer = |sent, got| Peer { sent, got }.plays();
        assert!(peer(10, 10) && peer(100, 1_000) && !peer(9, 100) && !peer(10, 1_000));
    }
}
