//! What is remembered beyond one flow: how a game server stands with a master. Every entry names
//! two hosts, and only their own traffic changes it.

use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

use crate::kit::{Map, Time};

/// Bytes of a game name that are remembered.
const LONGEST_NAME: usize = 64;

/// A game name, as far as it is remembered.
pub(super) fn name(game: &[u8]) -> Box<[u8]> {
    game.get(..LONGEST_NAME).unwrap_or(game).into()
}

/// A game server and a master: the server's host and query port, the master's endpoint.
pub(super) type Pair = (IpAddr, u16, SocketAddr);
/// A server's host and query port, and whom it speaks to.
type Query = (IpAddr, u16, IpAddr);

/// How a server stands with a master.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// Its latest heartbeat.
    pub(super) latest: Time,
    /// A hash of that.
    pub(super) bytes: u32,
    /// The latest that no change of the game's state caused.
    pub(super) regular: Option<Time>,
    /// It has answered a challenge.
    pub(super) validated: bool,
    /// It was challenged since the latest heartbeat.
    pub(super) challenged: bool,
}

/// What spans the flows between two hosts.
#[derive(Default)]
pub struct Book {
    standings: Kept<Pair, Standing>,
    queried: Kept<Query, Queried>,
}

/// What a host knows of a game server, whichever of its ports it speaks from.
struct Queried {
    game: Box<[u8]>,
    challenged: Option<Time>,
}

impl Book {
    /// How a server stands. `Err`: it is not known, and `true` where it never was.
    pub(super) fn standing(&mut self, pair: &Pair, most: usize) -> Result<&mut Standing, bool> {
        self.standings.find(pair, most)
    }

    /// A heartbeat of a server that is not known, or stands no longer where it stood.
    pub(super) fn begin(&mut self, pair: Pair, standing: Standing, most: usize) {
        self.standings.keep(pair, standing, most);
    }

    /// A server leaves.
    pub(super) fn forget(&mut self, pair: &Pair) {
        self.standings.forget(pair);
    }

    /// A server says which game it runs.
    pub(super) fn plays(&mut self, pair: &Pair, game: &[u8], most: usize) {
        let (server, port, master) = *pair;
        let query = (server, port, master.ip());
        match self.queried.find(&query, most) {
            Ok(known) if *known.game == *game => {}
            Ok(known) => known.game = name(game),
            Err(_) => {
                let known = Queried { game: name(game), challenged: None };
                self.queried.keep(query, known, most);
            }
        }
    }

    /// A master challenges a server from another port than the one that heartbeats go to.
    pub(super) fn challenge(&mut self, server: SocketAddr, other: IpAddr, now: Time, most: usize) {
        if let Ok(known) = self.queried.find(&(server.ip(), server.port(), other), most) {
            known.challenged = Some(now);
        }
    }

    /// Whether a master has done so since then.
    pub(super) fn was_challenged(&mut self, pair: &Pair, since: Time, most: usize) -> bool {
        let (server, port, master) = *pair;
        let known = self.queried.find(&(server, port, master.ip()), most);
        known.is_ok_and(|known| known.challenged.is_some_and(|time| time >= since))
    }

    /// The game of a server that another host has heard of.
    pub(super) fn game(&mut self, server: SocketAddr, other: IpAddr, most: usize) -> Option<&[u8]> {
        let known = self.queried.find(&(server.ip(), server.port(), other), most);
        known.ok().map(|known| &*known.game)
    }
}

/// A map that forgets what was not asked for the longest.
struct Kept<K, V> {
    young: Map<K, V>,
    old: Map<K, V>,
    forgot: bool,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Kept<K, V> {
        Kept { young: Map::default(), old: Map::default(), forgot: false }
    }
}

/// Entries of a kind that are kept at least, whatever else is to be remembered: they are larger
/// than the facts that limit is for.
const MOST: usize = 1 << 16;

impl<K: Hash + Eq + Clone, V> Kept<K, V> {
    /// `Err`: it is not there, and `true` where it never was.
    fn find(&mut self, key: &K, most: usize) -> Result<&mut V, bool> {
        if let Some((key, value)) = self.old.remove_entry(key) {
            self.keep(key, value, most);
        }
        self.young.get_mut(key).ok_or(!self.forgot)
    }

    fn keep(&mut self, key: K, value: V, most: usize) {
        if self.young.len() >= most.clamp(1, MOST) && !self.young.contains_key(&key) {
            self.forgot |= !self.old.is_empty();
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    fn forget(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays() {
        let mut kept = Kept::default();
        kept.keep(0, "zero", 2);
        assert_eq!(kept.find(&9, 2), Err(true));
        for key in 1..20 {
            kept.keep(key, "other", 2);
            assert_eq!(kept.find(&0, 2), Ok(&mut "zero"), "{key}");
        }
        assert!(kept.young.len() <= 2 && kept.old.len() <= 2);
        assert_eq!(kept.find(&1, 2), Err(false), "it may have been there");
        kept.forget(&0);
        assert!(kept.find(&0, 2).is_err());
    }
}
