//! The lists that masters gave, and which servers were in them.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, RecentMap, Time};

/// Listings that are under way at a time.
const MOST: usize = 1 << 12;

/// Masters that are known.
const MASTERS: usize = 1 << 12;

/// Games of which a master's latest whole list is known.
const GAMES: usize = 1 << 8;

/// Ports of one host that are known to be listed.
const PORTS: usize = 1 << 4;

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

/// What one master gave, or all of a protocol.
#[derive(Debug, Default)]
pub(super) struct Given {
    protocol: Option<Id>,
    /// The latest whole list of all servers, and the latest whole one of each game, in lower case.
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
    /// The same of all masters of a protocol together.
    all: [Given; Id::ALL.len()],
    listed: Map<SocketAddr, Sighting>,
    /// The ports with which hosts are listed.
    ports: Map<IpAddr, Vec<u16>>,
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
        (id, mut game): (Id, Vec<u8>),
    ) {
        game.make_ascii_lowercase();
        self.number += 1;
        let number = self.number;
        let listing = Listing { number, begun, last: request, narrowed, game };
        if self.given.len() < MASTERS || self.given.contains_key(&master) {
            self.given.entry(master).or_default().protocol = Some(id);
        }
        self.each(master, |given| given.begun = Some(listing.clone()));
        self.open.insert((client, master), listing, MOST);
    }

    /// What a master gave, and what all of its protocol did.
    fn each(&mut self, master: SocketAddr, change: impl Fn(&mut Given)) {
        let Some(given) = self.given.get_mut(&master) else { return };
        change(given);
        if let Some(all) = given.protocol.and_then(|id| self.all.get_mut(id as usize)) {
            change(all);
        }
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
                let ports = self.ports.entry(server.ip()).or_default();
                if ports.len() < PORTS {
                    ports.push(server.port());
                }
            } else {
                self.is_cut = true;
            }
        }
        if !ends {
            return;
        }
        let Some(listing) = self.open.get_mut(&(client, master), MOST).cloned() else { return };
        self.open.remove(&(client, master));
        self.each(master, |given| {
            given.begun.take_if(|begun| begun.number == listing.number);
            if listing.narrowed {
                given.narrowed = Some(frame);
            } else if given.whole.len() < GAMES || given.whole.contains_key(&listing.game) {
                given.cut = None;
                given.whole.insert(listing.game.clone(), listing.clone());
            }
        });
    }

    /// A master gives an enciphered list.
    pub(super) fn enciphered(&mut self, (client, master): (SocketAddr, SocketAddr), frame: u64) {
        let number = self.open.get_mut(&(client, master), MOST).map(|listing| listing.number);
        self.open.remove(&(client, master));
        self.each(master, |given| {
            given.begun.take_if(|begun| Some(begun.number) == number);
            given.enciphered = Some(frame);
        });
    }

    /// A list ended early.
    pub(super) fn cut(&mut self, master: SocketAddr, frame: u64, why: &str) {
        self.each(master, |given| given.cut = Some((frame, why.to_owned())));
    }

    /// What these masters gave; where there is none, all of the protocol.
    pub(super) fn of(&self, masters: &[SocketAddr], protocol: Option<&str>) -> Vec<&Given> {
        if masters.is_empty() {
            let is = |id: &&Id| Some(id.info().id) == protocol;
            let id = Id::ALL.iter().find(is);
            return id.and_then(|id| self.all.get(*id as usize)).into_iter().collect();
        }
        masters.iter().filter_map(|master| self.given.get(master)).collect()
    }

    /// Where a server was listed last.
    pub(super) fn sighting(&self, server: &SocketAddr) -> Option<&Sighting> {
        self.listed.get(server)
    }

    /// Whether a list came after one in which a server was seen.
    pub(super) fn is_later(listing: &Listing, sighting: Option<&Sighting>) -> bool {
        sighting.is_none_or(|sighting| sighting.number < listing.number)
    }

    /// The addresses with which a host is listed.
    pub(super) fn of_host(&self, host: IpAddr) -> impl Iterator<Item = (SocketAddr, Sighting)> {
        let ports = self.ports.get(&host).into_iter().flatten();
        let addresses = ports.map(move |port| SocketAddr::new(host, *port));
        addresses.filter_map(|address| Some((address, *self.listed.get(&address)?)))
    }
}

impl Given {
    /// The latest whole list that could hold a server of this game; an empty name: its game is not known.
    pub(super) fn whole(&self, game: &[u8]) -> Option<&Listing> {
        let of_all = self.whole.get(&[][..]);
        let of_game = self.whole.get(&game.to_ascii_lowercase());
        of_all.into_iter().chain(of_game).max_by_key(|listing| listing.number)
    }
}
