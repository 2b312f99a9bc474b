//! The servers that are registered with masters, as far as the capture shows, and the lists that
//! these masters send.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::{Listed, MINUTE, NO_ACCIDENT, listed};
use crate::kit::{GameName, Registration, RegistrationStep, SeenMessage, Set, Time, is_private};

/// The lists of a game that come within this time, in nanoseconds, are alike: the first one is
/// compared.
const ALIKE: i64 = 30_000_000_000;

/// A master, and a game.
type MasterAndGame = (IpAddr, GameName);

/// All of them.
#[derive(Clone, Default)]
pub(super) struct Registrations {
    games: BTreeMap<MasterAndGame, RegisteredServers>,
    /// The game of each server at each master.
    plays: BTreeMap<(IpAddr, u64), GameName>,
}

/// The servers of one game at one master.
#[derive(Clone, Default)]
struct RegisteredServers {
    servers: BTreeMap<u64, Registered>,
    /// When a list was compared.
    compared: Option<Time>,
}

/// What a master knows of a server.
#[derive(Clone)]
struct Registered {
    server: SocketAddr,
    heartbeat: Time,
    validated: Option<Time>,
    is_refused: bool,
    /// How many challenges it left without an answer.
    ignored: u64,
}

impl Registrations {
    /// A server registers, or goes on to. Returns whether there was room for it.
    pub(super) fn step(
        &mut self,
        registration: Registration,
        seen: &SeenMessage,
        most: usize,
    ) -> bool {
        let server = SocketAddr::new(seen.from.ip(), registration.port);
        let (master, key) = (seen.to.ip(), u64::from_ne_bytes(listed(server)));
        let known = self.plays.get(&(master, key)).copied();
        if let RegistrationStep::Heartbeat(game) = registration.step {
            return self.heartbeat((master, game), key, server, known, seen.mark.time, most);
        }
        let Some(game) = known else { return true };
        let Some(game) = self.games.get_mut(&(master, game)) else { return true };
        match registration.step {
            RegistrationStep::Left => {
                self.plays.remove(&(master, key));
                game.servers.remove(&key);
            }
            step => {
                if let Some(registered) = game.servers.get_mut(&key) {
                    registered.answers(step, seen.mark.time);
                }
            }
        }
        true
    }

    fn heartbeat(
        &mut self,
        at: MasterAndGame,
        key: u64,
        server: SocketAddr,
        known: Option<GameName>,
        time: Time,
        most: usize,
    ) -> bool {
        if known != Some(at.1) {
            if known.is_none() && self.plays.len() >= most {
                return false;
            }
            if let Some(before) = known.and_then(|game| self.games.get_mut(&(at.0, game))) {
                before.servers.remove(&key);
            }
            self.plays.insert((at.0, key), at.1);
        }
        let servers = &mut self.games.entry(at).or_default().servers;
        let (validated, is_refused, ignored) = (None, false, 0);
        let first = Registered { server, heartbeat: time, validated, is_refused, ignored };
        servers.entry(key).or_insert(first).heartbeat = time;
        true
    }

    /// Compares a whole list of a game with the servers that are registered. `longest`: how long a
    /// server is listed after its latest heartbeat, in nanoseconds. Returns what is wrong with it. `None`: the
    /// capture shows of no listed server whether it is registered: others may be listed with addresses after NAT.
    pub(super) fn compare(
        &mut self,
        list: &[Listed],
        game: GameName,
        seen: &SeenMessage,
        longest: i64,
    ) -> Option<Vec<String>> {
        let (master, now) = (seen.from.ip(), seen.mark.time);
        let game = self.games.get_mut(&(master, game))?;
        if game.compared.is_some_and(|before| now.since(before) < ALIKE) {
            return None;
        }
        game.compared = Some(now);
        let list = Set::from_iter(list.iter().map(|server| u64::from_ne_bytes(*server)));
        if !list.is_empty() && !list.iter().any(|server| game.servers.contains_key(server)) {
            return None;
        }
        let (mut faults, mut is_right) = (Vec::new(), false);
        game.servers.retain(|key, registered| {
            let (is_listed, silent) = (list.contains(key), now.since(registered.heartbeat));
            let fault = match is_listed {
                true => registered.is_listed_wrongly(silent, longest),
                false => registered.is_missing(silent, seen),
            };
            is_right |= is_listed && fault.is_none();
            faults.extend(fault);
            // A server that the master has forgotten, too.
            let is_kept = is_listed || silent <= longest;
            if !is_kept {
                self.plays.remove(&(master, *key));
            }
            is_kept
        });
        (is_right || !faults.is_empty()).then_some(faults)
    }
}

impl Registered {
    /// The server answers the master's challenge, or does not.
    fn answers(&mut self, step: RegistrationStep, now: Time) {
        match step {
            RegistrationStep::Validated => _ = self.validated.get_or_insert(now),
            RegistrationStep::Ignored => self.ignored += 1,
            _ => {}
        }
        self.is_refused = step == RegistrationStep::Refused && self.validated.is_none();
    }

    /// Why it should not be listed, `silent` nanoseconds after its latest heartbeat.
    fn is_listed_wrongly(&self, silent: i64, longest: i64) -> Option<String> {
        let server = self.server;
        if silent > longest {
            let minutes = silent as f64 / MINUTE as f64;
            return Some(format!(
                "{server} is listed {minutes:.1} min after its latest heartbeat in the capture"
            ));
        }
        if self.is_refused {
            return Some(format!(
                "{server} is listed, and its answer to the master's challenge was wrong"
            ));
        }
        let ignored = self.ignored;
        (self.validated.is_none() && ignored >= NO_ACCIDENT).then(|| {
            format!(
                "{server} is listed, and left {ignored} challenges of the master without an answer"
            )
        })
    }

    /// Why it should be listed, `silent` nanoseconds after its latest heartbeat.
    fn is_missing(&self, silent: i64, seen: &SeenMessage) -> Option<String> {
        let (now, client) = (seen.mark.time, seen.to.ip());
        // The master may query the server before it lists it.
        let validated = self.validated.filter(|time| now.since(*time) >= MINUTE)?;
        // A server beside the master is listed with its public address.
        let is_elsewhere = is_private(self.server.ip()) && !is_private(client);
        if is_elsewhere || silent > 2 * MINUTE {
            return None;
        }
        let since = now.since(validated) as f64 / MINUTE as f64;
        Some(format!("{} is missing, validated {since:.1} min before", self.server))
    }
}
