//! The lists that masters gave, and which servers were in them.

use std::net::SocketAddr;

use dissectors::kit::{Map, RecentMap, Time};

/// Listings that are under way at a time.
const MOST: usize = 1 << 12;

/// Masters that are known.
const MASTERS: usize = 1 << 12;

/// What was asked for, and when.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    /// Listings are numbered as they begin.
    number: u64,
    /// When it began.
    pub(super) begun: Time,
    /// The packet that ended it, or the last one so far.
    pub(super) last: u64,
    /// It asks for some servers only.
    pub(super) narrowed: bool,
    /// For servers of this game; empty for any.
    game: Vec<u8>,
}

/// A list in which a server was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    number: u64,
    pub(super) frame: u64,
    pub(super) client: SocketAddr,
}

/// What one master gave.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The latest whole list of all servers, and the latest whole one of each game.
    whole: Map<Vec<u8>, Listing>,
    /// The latest that asked for some servers only.
    pub(super) narrowed: Option<u64>,
    /// The latest that is enciphered.
    pub(super) enciphered: Option<u64>,
    /// The latest that did not come to its end so far.
    pub(super) begun: Option<Listing>,
    /// Why a list was cut.
    pub(super) cut: Option<(u64, String)>,
}

/// All lists.
#[derive(Default)]
pub(super) struct Lists {
    number: u64,
    open: RecentMap<(SocketAddr, SocketAddr), Listing>,
    pub(super) given: Map<SocketAddr, Given>,
    listed: Map<SocketAddr, Sighting>,
    /// How many more servers of lists can be kept.
    room: usize,
    /// There were more.
    pub(super) is_cut: bool,
}

impl Lists {
    /// With room for so many servers.
    pub(super) fn new(room: usize) -> Lists {
        Lists { room, ..Lists::default() }
    }

    /// A client asks a master for a list, from its beginning.
    pub(super) fn asked(
        &mut self,
        (client, master): (SocketAddr, SocketAddr),
        (request, begun): (u64, Time),
        narrowed: bool,
        game: Vec<u8>,
    ) {
        self.number += 1;
        let number = self.number;
        let listing = Listing { number, begun, last: request, narrowed, game };
        if let Some(given) = self.master(master) {
            given.begun = Some(listing.clone());
        }
        self.open.insert((client, master), listing, MOST);
    }

    fn master(&mut self, master: SocketAddr) -> Option<&mut Given> {
        if self.given.len() >= MASTERS && !self.given.contains_key(&master) {
            return None;
        }
        Some(self.given.entry(master).or_default())
    }

    /// A master lists servers. `ends`: that is the end of the list.
    pub(super) fn listed(
        &mut self,
        (client, master): (SocketAddr, SocketAddr),
        frame: u64,
        ends: bool,
        servers: impl IntoIterator<Item = SocketAddr>,
    ) {
        let open = self.open.get_mut(&(client, master), MOST);
        let number = open.map_or(self.number, |listing| {
            listing.last = frame;
            listing.number
        });
        for server in servers {
            let sighting = Sighting { number, frame, client };
            if let Some(known) = self.listed.get_mut(&server) {
                *known = sighting;
            } else if self.room > 0 {
                self.room -= 1;
                self.listed.insert(server, sighting);
            } else {
                self.is_cut = true;
            }
        }
        if !ends {
            return;
        }
        let Some(listing) = self.open.get_mut(&(client, master), MOST).cloned() else { return };
        self.open.remove(&(client, master));
        let Some(given) = self.master(master) else { return };
        given.begun.take_if(|begun| begun.number == listing.number);
        if listing.narrowed {
            given.narrowed = Some(frame);
        } else if given.whole.len() < MOST || given.whole.contains_key(&listing.game) {
            given.cut = None;
            given.whole.insert(listing.game.clone(), listing);
        }
    }

    /// A master gives an enciphered list.
    pub(super) fn enciphered(&mut self, (client, master): (SocketAddr, SocketAddr), frame: u64) {
        let listing = self.open.get_mut(&(client, master), MOST).cloned();
        self.open.remove(&(client, master));
        if let Some(given) = self.master(master) {
            given
                .begun
                .take_if(|begun| Some(begun.number) == listing.map(|listing| listing.number));
            given.enciphered = Some(frame);
        }
    }

    /// A list ended early.
    pub(super) fn cut(&mut self, master: SocketAddr, frame: u64, why: &str) {
        if let Some(given) = self.master(master) {
            given.cut = Some((frame, why.to_owned()));
        }
    }

    /// The latest whole list of a master that could hold a server of this game; an empty name: its game
    /// is not known.
    pub(super) fn whole(&self, master: SocketAddr, game: &[u8]) -> Option<&Listing> {
        let given = self.given.get(&master)?;
        let fits = |of: &[u8]| of.is_empty() || !game.is_empty() && of.eq_ignore_ascii_case(game);
        let fitting = given.whole.iter().filter(|(of, _)| fits(of)).map(|(_, listing)| listing);
        fitting.max_by_key(|listing| listing.number)
    }

    /// Where a server was listed last.
    pub(super) fn sighting(&self, server: &SocketAddr) -> Option<&Sighting> {
        self.listed.get(server)
    }

    /// Whether a list came after one in which a server was seen.
    pub(super) fn is_later(listing: &Listing, sighting: Option<&Sighting>) -> bool {
        sighting.is_none_or(|sighting| sighting.number < listing.number)
    }

    /// The ports with which a host is listed, and where.
    pub(super) fn ports_of(&self, host: std::net::IpAddr) -> Vec<(SocketAddr, Sighting)> {
        let of_host = self.listed.iter().filter(|(server, _)| server.ip() == host);
        let mut ports: Vec<_> = of_host.map(|(server, sighting)| (*server, *sighting)).collect();
        ports.sort_by_key(|(server, _)| *server);
        ports
    }
}
