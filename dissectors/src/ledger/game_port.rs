//! What tells a flood of a game server's port from its players: packets of any content count, and
//! traffic that goes both ways is a player's.

use std::hash::BuildHasher;
use std::net::SocketAddr;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::{MINUTE, Repeats};
use crate::kit::{Map, Socket, Time};

/// Limit: addresses to which a port sends that gets more packets of other content | {} | packets of others count toward
/// a flood, also if they play
const PEERS: usize = 1 << 12;

/// Limit: pairs of ports whose packets are counted in both directions, by group of hosts | {} | packets of others count
/// toward a flood, also if they play
const PAIRS: usize = 1 << 14;

/// As many packets in both directions are a player's.
const PLAYS: u32 = 10;

/// A player sends at most so many packets for each that the server sends.
const MOST_EACH: u32 = 20;

/// A flood is so many times what the server sends, unless its packets ask for something.
const TIMES: u64 = 3;

/// The most players of a server, the most packets a second of one, and the fewest packets of one for a while.
const PLAYERS: u64 = 256;
const RATE_EACH: f64 = 150.0;
const FEWEST_EACH: u64 = 20;

/// The time in which it sends so many, and the fewest in any.
const WHILE: i64 = 5_000_000_000;
const FEWEST: u64 = 3;

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

/// The names of packets that ask for nothing, as far as their first bytes tell.
pub const OTHER_CONTENT: &str = "packet of other content";
const EMPTY: &str = "empty packet";

/// What a packet that is no message is, by its first bytes.
pub fn packet_name(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(&SPLIT) {
        return "split packet";
    }
    if bytes.is_empty() {
        return EMPTY;
    }
    match bytes.strip_prefix(&CONNECTIONLESS) {
        Some([]) => "empty connectionless packet",
        Some(message) => {
            let known = WORDS.iter().find(|(word, _)| message.starts_with(word));
            known.map_or("connectionless packet", |(_, name)| name)
        }
        None => OTHER_CONTENT,
    }
}

/// Whether a packet that is no message asks for something, outside of a connection.
pub fn asks_for_something(bytes: &[u8]) -> bool {
    bytes.starts_with(&CONNECTIONLESS)
}

/// Whether this is more than a port without answers for it gets. `kinds`: the packets toward it, by
/// [`packet_name`]; `sent`: the number that it sends.
pub fn is_one_way<'k>(kinds: impl Iterator<Item = (&'k str, u64)>, sent: u64) -> bool {
    let [others, got] = counts(kinds);
    2 * (got - others) >= got || got >= TIMES * sent
}

/// How many packets ask for nothing, and how many there are.
fn counts<'k>(kinds: impl Iterator<Item = (&'k str, u64)>) -> [u64; 2] {
    let asks_for_nothing = |name: &str| [OTHER_CONTENT, EMPTY].contains(&name);
    kinds.fold([0; 2], |[others, all], (name, packets)| {
        [others + if asks_for_nothing(name) { packets } else { 0 }, all + packets]
    })
}

/// Whether players may send this much to a server that sends no packet of the game: it hangs, or has ended, or one
/// direction was not recorded. `kinds`: the packets, by [`packet_name`]; `rate`: the highest, per second, and the window in
/// which it was measured; `sources`: how many send them; `repeats`: which of them are the same again.
pub fn may_be_players<'k>(
    kinds: impl Iterator<Item = (&'k str, u64)>,
    rate: f64,
    window: i64,
    sources: u64,
    repeats: &Repeats,
) -> bool {
    let part = window.clamp(0, WHILE).unsigned_abs();
    let fewest = (FEWEST_EACH * part / WHILE.unsigned_abs()).max(FEWEST);
    let [others, all] = counts(kinds);
    sources <= PLAYERS
        && !repeats.are_most()
        && 10 * others >= 9 * all
        && all >= fewest * sources
        && rate <= RATE_EACH * sources as f64
}

/// The addresses to which a server's port sends packets.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Peers(Map<Socket, Peer>);

/// One of them: how many packets go there, and how many come from there.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Peer {
    sent: u32,
    got: u32,
    /// Those that came before it was known to play.
    before: u32,
    /// The hop limit of the first one.
    hop_limit: u8,
}

/// Packets of one source have passed at most so many routers more or fewer than another.
pub const WAYS: u8 = 4;

impl Peers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is a player.
    pub fn has(&self, player: SocketAddr) -> bool {
        self.0.get(&Socket(player)).is_some_and(|peer| peer.plays())
    }

    /// The port sends a packet there. Returns whether that is a player, as far as there is room: for so
    /// many further addresses of all ports.
    pub fn sends(&mut self, to: SocketAddr, room: &mut usize) -> bool {
        let before = self.0.len();
        if (before >= PEERS || *room == 0) && !self.0.contains_key(&Socket(to)) {
            return false;
        }
        let peer = self.0.entry(Socket(to)).or_default();
        peer.sent = peer.sent.saturating_add(1);
        let plays = peer.plays();
        *room -= self.0.len() - before;
        plays
    }

    /// A packet comes from there, with this hop limit. Returns whether that is a player, and the packet is his; with the
    /// number of packets that came before this was known, once.
    pub fn gets(&mut self, from: SocketAddr, hop_limit: u8) -> Option<u32> {
        let peer = self.0.get_mut(&Socket(from))?;
        if peer.got == 0 {
            peer.hop_limit = hop_limit;
        } else if peer.hop_limit.abs_diff(hop_limit) > WAYS {
            return None;
        }
        peer.got = peer.got.saturating_add(1);
        if peer.plays() {
            return Some(std::mem::take(&mut peer.before));
        }
        peer.before = peer.before.saturating_add(1);
        None
    }
}

/// Which of the latest pairs of sockets send each other packets. A pair of which only one side was seen gives way to
/// another: forged sources displace no player.
#[derive(Clone, Default)]
pub(super) struct BothWays(Vec<Pair>);

#[derive(Clone, Copy, Default)]
struct Pair {
    /// The hash of the two.
    hash: u32,
    /// Packets of the lower and of the higher one.
    sent: [u32; 2],
    /// The time of the latest.
    last: Time,
}

impl BothWays {
    /// A packet. Returns whether its receiver, as a server, and its sender play, and whether they begin to.
    pub(super) fn see(&mut self, from: SocketAddr, to: SocketAddr, now: Time) -> [bool; 2] {
        if self.0.is_empty() {
            self.0 = vec![Pair::default(); PAIRS];
        }
        let (pair, side) = if from < to { ((from, to), 0) } else { ((to, from), 1) };
        let seed = FixedState::with_seed(0x5EC0_0008);
        let hash = seed.hash_one((Socket(pair.0), Socket(pair.1)));
        let Some(known) = self.0.get_mut(hash as usize % PAIRS) else { return [false; 2] };
        let hash = (hash >> 32) as u32;
        if known.hash != hash {
            if known.sent.iter().all(|sent| *sent > 0) && now.since(known.last) < MINUTE {
                return [false; 2];
            }
            *known = Pair { hash, ..Pair::default() };
        }
        known.last = now;
        known.sent[side] = known.sent[side].saturating_add(1);
        let (sent, got) = (known.sent[1 - side], known.sent[side]);
        let begins = sent >= PLAYS && got == PLAYS;
        [Peer { sent, got, ..Peer::default() }.plays(), begins]
    }
}

impl Peer {
    /// Whether it plays: traffic goes both ways.
    fn plays(self) -> bool {
        self.sent >= PLAYS && self.got >= PLAYS && self.got / MOST_EACH <= self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_named_by_their_first_bytes() {
        assert_eq!(packet_name(b"\xFF\xFF\xFF\xFFqconnect0x1\0"), "qconnect packet");
        assert_eq!(packet_name(b"\xFF\xFF\xFF\xFFgetchallenge steam"), "getchallenge packet");
        assert_eq!(packet_name(b"\xFF\xFF\xFF\xFF"), "empty connectionless packet");
        assert_eq!(packet_name(b"\xFF\xFF\xFF\xFFxyz"), "connectionless packet");
        assert_eq!(packet_name(b"\xFE\xFF\xFF\xFF\0"), "split packet");
        assert_eq!(packet_name(b"\x12\x34"), OTHER_CONTENT);
        assert_eq!(packet_name(b""), EMPTY);
    }

    #[test]
    fn who_gets_as_much_as_he_sends_plays() {
        let peer = |sent, got| Peer { sent, got, ..Peer::default() }.plays();
        assert!(peer(10, 10) && peer(100, 1_000) && !peer(9, 100) && !peer(10, 1_000));
    }

    #[test]
    fn forged_sources_displace_no_player() {
        let server = SocketAddr::from(([10, 0, 0, 1], 27015));
        let player = SocketAddr::from(([10, 0, 0, 2], 50_000));
        let (mut pairs, now) = (BothWays::default(), Time(0));
        (0..PLAYS)
            .for_each(|_| _ = (pairs.see(player, server, now), pairs.see(server, player, now)));
        for n in 0..100_000_u32 {
            assert!(!pairs.see((n.to_be_bytes(), 1).into(), server, now)[0]);
        }
        assert!(pairs.see(player, server, now)[0]);
        // After a minute, others take the place.
        for n in 0..400_000_u32 {
            pairs.see((n.to_be_bytes(), 1).into(), server, Time(2 * MINUTE));
        }
        assert!(!pairs.see(player, server, Time(2 * MINUTE))[0]);
        assert_eq!(pairs.0.len(), PAIRS);
    }

    #[test]
    fn peers_are_bounded_for_a_port_and_for_all_ports() {
        let address = |n: u32| SocketAddr::from((n.to_be_bytes(), 1));
        let (mut one, mut other, mut room) = (Peers::default(), Peers::default(), PEERS + 10);
        (0..10_000).for_each(|n| _ = one.sends(address(n), &mut room));
        assert_eq!((one.0.len(), room), (PEERS, 10));
        (0..10_000).for_each(|n| _ = other.sends(address(n), &mut room));
        assert_eq!((other.0.len(), room), (10, 0));
        // Known ones need none. What came before the tenth packet is told once.
        let gets = |_| {
            let before = other.gets(address(9), 57);
            other.sends(address(9), &mut room);
            before
        };
        let told = Vec::from_iter((0..=PLAYS).map(gets));
        assert_eq!(told[8..], [None, Some(9), Some(0)]);
        assert_eq!(other.gets(address(10), 57), None);
        // Who comes another way is another one.
        assert_eq!(
            [53, 61, 62, 52].map(|hops| other.gets(address(9), hops).is_some()),
            [true, true, false, false]
        );
    }

    #[test]
    fn what_few_send_steadily_may_be_of_players() {
        let may_be = |packets, rate, sources| {
            let kinds = [(OTHER_CONTENT, packets)].into_iter();
            may_be_players(kinds, rate, WHILE, sources, &Repeats::default())
        };
        assert!(may_be(6_000, 1_800.0, 60));
        assert!(!may_be(6_000, 1_800.0, 6_000), "one packet each");
        assert!(!may_be(600_000, 1_800.0, 600), "too many");
        assert!(!may_be(60_000, 18_000.0, 60), "too fast");
        let asking = [(OTHER_CONTENT, 100), ("qconnect packet", 100)].into_iter();
        assert!(!may_be_players(asking, 100.0, WHILE, 4, &Repeats::default()));
        // In half a second.
        let short = |packets| {
            let kinds = [(OTHER_CONTENT, packets)].into_iter();
            may_be_players(kinds, 2_000.0, WHILE / 10, 64, &Repeats::default())
        };
        assert!(short(1_000) && !short(128));
    }

    #[test]
    fn packets_that_ask_for_something_need_not_be_more_than_what_is_sent() {
        assert!(is_one_way([(OTHER_CONTENT, 30)].into_iter(), 10));
        assert!(!is_one_way([(OTHER_CONTENT, 29)].into_iter(), 10));
        assert!(is_one_way([(OTHER_CONTENT, 10), ("rcon packet", 10)].into_iter(), 100));
    }
}
