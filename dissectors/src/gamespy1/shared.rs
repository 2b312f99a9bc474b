//! State that spans flows: the status of game servers with masters. Each entry belongs to two
//! hosts, and only their own traffic changes it.

use std::net::{IpAddr, SocketAddr};

use crate::kit::{RecentMap, Time};

/// Maximum stored length of a game name.
const LONGEST_NAME: usize = 64;

/// A game name, cut to the maximum.
pub(super) fn name(game: &[u8]) -> Box<[u8]> {
    game.get(..LONGEST_NAME).unwrap_or(game).into()
}

/// A game server and a master: the server's host and query port, the master's endpoint.
pub(super) type ServerAndMaster = (IpAddr, u16, SocketAddr);
/// A server's host and query port, and the host that it communicates with.
type ServerAndPeer = (IpAddr, u16, IpAddr);

/// What a master knows about a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerRecord {
    /// Its latest heartbeat, and the port that sent it.
    pub(super) latest: Time,
    pub(super) from: u16,
    /// The latest one that was not caused by a change of the game's state.
    pub(super) regular: Option<Time>,
    /// It has answered a challenge, last from this port: behind one address, two servers may name the same query port.
    pub(super) validated: Option<u16>,
    /// A heartbeat came from there after that.
    pub(super) has_continued: bool,
    /// It was challenged there since the latest heartbeat.
    pub(super) challenged: bool,
}

/// Fewer than `remembered`, because these entries are larger.
/// Limit: GameSpy servers known to masters, by group of hosts | {}, if `remembered` is not less | NET011 as
/// `remembered`
const MOST: usize = 1 << 16;

/// State that spans the flows between two hosts.
#[derive(Default)]
pub struct SharedState {
    records: RecentMap<ServerAndMaster, ServerRecord>,
    queried: RecentMap<ServerAndPeer, Queried>,
}

/// What a host knows about a game server, for any of its source ports.
struct Queried {
    game: Box<[u8]>,
    /// Its first heartbeat waits for a challenge.
    waits: bool,
    challenged: Option<Time>,
}

impl SharedState {
    /// Whether something has been forgotten because of the limit on remembered items.
    pub(super) fn forgot(&self) -> bool {
        self.records.forgot() || self.queried.forgot()
    }

    /// The status of a server. `Err`: unknown, and `true` if it was never known.
    pub(super) fn record(
        &mut self,
        pair: &ServerAndMaster,
        most: usize,
    ) -> Result<&mut ServerRecord, bool> {
        let forgot = self.records.forgot();
        self.records.get_mut(pair, most.min(MOST)).ok_or(!forgot)
    }

    /// A heartbeat of an unknown server, or of one with another address.
    pub(super) fn begin(&mut self, pair: ServerAndMaster, record: ServerRecord, most: usize) {
        self.records.insert(pair, record, most.min(MOST));
    }

    /// A server signs off.
    pub(super) fn forget(&mut self, pair: &ServerAndMaster) {
        self.records.remove(pair);
    }

    fn queried(&mut self, query: &ServerAndPeer, most: usize) -> Option<&mut Queried> {
        self.queried.get_mut(query, most.min(MOST))
    }

    /// A server announces its game from this port.
    pub(super) fn plays(&mut self, pair: &ServerAndMaster, from: u16, game: &[u8], most: usize) {
        let (server, port, master) = *pair;
        self.hears((server, port, master.ip()), game, most);
        if from != port {
            self.hears((server, from, master.ip()), game, most);
        }
    }

    fn hears(&mut self, query: ServerAndPeer, game: &[u8], most: usize) {
        match self.queried(&query, most) {
            Some(known) if *known.game == *game => {}
            Some(known) => known.game = name(game),
            None => {
                let known = Queried { game: name(game), waits: false, challenged: None };
                self.queried.insert(query, known, most.min(MOST));
            }
        }
    }

    /// Sets whether the first heartbeat of a server waits for a challenge.
    pub(super) fn waits(&mut self, pair: &ServerAndMaster, from: u16, waits: bool, most: usize) {
        let (server, port, master) = *pair;
        for port in [port, from] {
            if let Some(known) = self.queried(&(server, port, master.ip()), most) {
                known.waits = waits;
            }
        }
    }

    /// A master challenges a server from another port than that of heartbeats. `true`: the server's
    /// first heartbeat waits for it; `None`: unknown server.
    pub(super) fn challenge(
        &mut self,
        server: SocketAddr,
        other: IpAddr,
        now: Time,
        most: usize,
    ) -> Option<bool> {
        let known = self.queried(&(server.ip(), server.port(), other), most)?;
        known.challenged = Some(now);
        Some(std::mem::take(&mut known.waits))
    }

    /// Whether a master has done so since then, at the query port or at the source port of
    /// heartbeats.
    pub(super) fn was_challenged(
        &mut self,
        pair: &ServerAndMaster,
        from: u16,
        since: Time,
        most: usize,
    ) -> bool {
        let (server, port, master) = *pair;
        [port, from].into_iter().any(|port| {
            let known = self.queried(&(server, port, master.ip()), most);
            known.is_some_and(|known| known.challenged.is_some_and(|time| time >= since))
        })
    }

    /// The game of a server that has announced it to another host.
    pub(super) fn game(&mut self, server: SocketAddr, other: IpAddr, most: usize) -> Option<&[u8]> {
        let known = self.queried(&(server.ip(), server.port(), other), most);
        known.map(|known| &*known.game)
    }
}
