//! The lists of masters, and the servers in them.

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, RecentMap, Time, is_private};

use crate::diagnose::facts::find_or_add::keep_latest;

/// Maximum number of listings in progress.
const MOST: usize = 1 << 12;

/// Maximum number of masters.
const MASTERS: usize = 1 << 12;

/// Maximum number of masters of a protocol whose lists are compared.
const GIVERS: usize = 8;

/// Maximum number of games per master whose latest whole list is stored.
const GAMES: usize = 1 << 8;

/// Maximum number of filtered requests whose latest whole list is stored.
const NARROWED: usize = 1 << 5;

/// Maximum number of listed ports per host, and of listed hosts of private networks per port.
const PORTS: usize = 1 << 4;

/// A master's host, and its protocol: registration and lists may use different ports.
type MasterHost = (IpAddr, Id);

/// A list request with its time.
#[derive(Clone, Debug)]
pub(in crate::diagnose) struct Listing {
    pub(in crate::diagnose) master: IpAddr,
    /// Listings are numbered in order.
    number: u64,
    /// When it began.
    pub(in crate::diagnose) begun: Time,
    /// The packet that ended it, or the last one so far.
    pub(in crate::diagnose) last: u64,
    /// The values of its filter fields, if it has a filter.
    narrowed: Option<Vec<Vec<u8>>>,
    /// For servers of this game; empty for any.
    game: Vec<u8>,
}

impl Listing {
    /// Whether it could have a server that joined at this time. A list of all servers may have been put together before it
    /// was asked for, while the master still waited for an answer of the server; who asks for some is told what is known.
    pub(super) fn could_hold(&self, joined: Time, timeout: i64) -> bool {
        let due = if self.narrowed.is_some() { joined } else { joined.after(timeout) };
        self.begun >= due
    }
}

/// A list in which a server was seen.
#[derive(Clone, Copy, Debug)]
pub(in crate::diagnose) struct Sighting {
    number: u64,
    pub(in crate::diagnose) frame: u64,
    pub(in crate::diagnose) master: IpAddr,
    pub(in crate::diagnose) client: SocketAddr,
}

/// The lists of one master, or of all masters of a protocol.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct MasterLists {
    /// The latest whole list of all servers, and of each game, in lower case.
    whole: Map<Vec<u8>, Listing>,
    /// The latest filtered one.
    pub(in crate::diagnose) narrowed: Option<u64>,
    /// Whole filtered lists: the latest for each filter.
    narrowed_whole: Vec<Listing>,
    /// The latest encrypted one.
    pub(in crate::diagnose) enciphered: Option<u64>,
    /// The latest that is still incomplete.
    pub(in crate::diagnose) begun: Option<Listing>,
    /// Why a list was cut off.
    pub(in crate::diagnose) cut: Option<(u64, String)>,
    /// Some server is listed with an IPv6 address.
    has_ipv6: bool,
}

/// A server in lists: the latest one, and the latest of each other master, up to a maximum.
#[derive(Debug)]
struct ListedServer {
    latest: Sighting,
    others: Vec<Sighting>,
}

impl ListedServer {
    /// Maximum number of other masters.
    const OTHERS: usize = 8;

    /// A list holds it.
    fn see(&mut self, sighting: Sighting) {
        let before = std::mem::replace(&mut self.latest, sighting);
        if before.master == sighting.master {
            return;
        }
        self.others.retain(|it| it.master != sighting.master && it.master != before.master);
        if self.others.len() < ListedServer::OTHERS {
            self.others.push(before);
        }
    }

    /// The latest list of this master; `None`: of any.
    fn of(&self, master: Option<IpAddr>) -> Option<&Sighting> {
        let is_of = |it: &&Sighting| master.is_none_or(|master| it.master == master);
        [&self.latest].into_iter().chain(&self.others).find(is_of)
    }
}

/// All lists.
#[derive(Default)]
pub(in crate::diagnose) struct Lists {
    number: u64,
    open: RecentMap<(SocketAddr, SocketAddr), Listing>,
    given: Map<MasterHost, MasterLists>,
    /// The first masters of each protocol.
    givers: [Vec<SocketAddr>; Id::ALL.len()],
    /// The same for all masters of a protocol together.
    all: [MasterLists; Id::ALL.len()],
    listed: Map<SocketAddr, ListedServer>,
    /// The listed ports of hosts.
    ports: Map<IpAddr, Vec<u16>>,
    /// The listed addresses of private networks with each port.
    hidden: Map<u16, Vec<SocketAddr>>,
    /// How many more listed servers can be stored.
    room: usize,
    /// There were more.
    pub(in crate::diagnose) is_cut: bool,
}

impl Lists {
    /// With room for this many servers.
    pub(in crate::diagnose) fn new(room: usize) -> Lists {
        Lists { room, ..Lists::default() }
    }

    /// A client requests a list from its beginning.
    pub(in crate::diagnose) fn asked(
        &mut self,
        client: SocketAddr,
        master: SocketAddr,
        request: u64,
        begun: Time,
        narrowed: Option<Vec<Vec<u8>>>,
        id: Id,
        mut game: Vec<u8>,
    ) {
        game.make_ascii_lowercase();
        let giver = (master.ip(), id);
        self.number += 1;
        let number = self.number;
        let listing = Listing { master: master.ip(), number, begun, last: request, narrowed, game };
        if self.given.len() < MASTERS {
            self.given.entry(giver).or_default();
            let givers = &mut self.givers[id as usize];
            if givers.len() < GIVERS && givers.iter().all(|it| it.ip() != master.ip()) {
                givers.push(master);
            }
        }
        self.open.insert((client, master), listing, MOST);
    }

    /// Changes the lists of a master, and those of all masters of its protocol.
    fn each(&mut self, giver: MasterHost, change: impl Fn(&mut MasterLists)) {
        let Some(given) = self.given.get_mut(&giver) else { return };
        change(given);
        if let Some(all) = self.all.get_mut(giver.1 as usize) {
            change(all);
        }
    }

    /// A master lists servers. `ends`: this is the end of the list.
    pub(in crate::diagnose) fn listed(
        &mut self,
        id: Id,
        client: SocketAddr,
        master: SocketAddr,
        frame: u64,
        ends: bool,
        servers: impl IntoIterator<Item = SocketAddr>,
    ) {
        let open = self.open.get_mut(&(client, master), MOST);
        let begun = open.map(|listing| {
            listing.last = frame;
            listing.clone()
        });
        let number = begun.as_ref().map_or(self.number, |listing| listing.number);
        if let Some(listing) = begun {
            self.each((master.ip(), id), |given| given.begun = Some(listing.clone()));
        }
        let mut has_ipv6 = false;
        for server in servers {
            has_ipv6 |= server.is_ipv6();
            let sighting = Sighting { number, frame, master: master.ip(), client };
            if let Some(known) = self.listed.get_mut(&server) {
                known.see(sighting);
            } else if self.room > 0 {
                self.room -= 1;
                self.listed.insert(server, ListedServer { latest: sighting, others: Vec::new() });
                self.has_port(server);
            } else {
                self.is_cut = true;
            }
        }
        if has_ipv6 {
            self.each((master.ip(), id), |given| given.has_ipv6 = true);
        }
        if !ends {
            return;
        }
        let Some(listing) = self.open.get_mut(&(client, master), MOST).cloned() else { return };
        self.open.remove(&(client, master));
        self.each((master.ip(), id), |given| {
            given.begun.take_if(|begun| begun.number == listing.number);
            if listing.narrowed.is_some() {
                given.narrowed = Some(frame);
                given
                    .narrowed_whole
                    .retain(|it| (&it.narrowed, &it.game) != (&listing.narrowed, &listing.game));
                keep_latest(&mut given.narrowed_whole, NARROWED, listing.clone());
            } else if given.whole.len() < GAMES || given.whole.contains_key(&listing.game) {
                given.cut = None;
                given.whole.insert(listing.game.clone(), listing.clone());
            }
        });
    }

    /// A host is listed with this port.
    fn has_port(&mut self, server: SocketAddr) {
        let is_hidden = is_private(server.ip());
        let hidden = is_hidden.then(|| self.hidden.entry(server.port()).or_default());
        if let Some(hidden) = hidden.filter(|it| it.len() < PORTS) {
            hidden.push(server);
        }
        let ports = self.ports.entry(server.ip()).or_default();
        if ports.len() < PORTS {
            ports.push(server.port());
        }
    }

    /// A master sends an encrypted list.
    pub(in crate::diagnose) fn enciphered(
        &mut self,
        id: Id,
        client: SocketAddr,
        master: SocketAddr,
        frame: u64,
    ) {
        let number = self.open.get_mut(&(client, master), MOST).map(|listing| listing.number);
        self.open.remove(&(client, master));
        self.each((master.ip(), id), |given| {
            given.begun.take_if(|begun| Some(begun.number) == number);
            given.enciphered = Some(frame);
        });
    }

    /// A list ended early.
    pub(in crate::diagnose) fn cut(&mut self, id: Id, master: SocketAddr, frame: u64, why: &str) {
        self.each((master.ip(), id), |given| given.cut = Some((frame, why.to_owned())));
    }

    /// Whether a whole list of all servers is there.
    pub(in crate::diagnose) fn has_whole(&self, id: Id) -> bool {
        self.all.get(id as usize).is_some_and(|given| given.whole.contains_key(&[][..]))
    }

    /// Whether a master lists servers with IPv6 addresses.
    pub(in crate::diagnose) fn have_ipv6(&self, master: IpAddr) -> bool {
        let of = |id: &Id| self.given.get(&(master, *id));
        Id::ALL.iter().filter_map(of).any(|given| given.has_ipv6)
    }

    /// Whether no client asked for one.
    pub(in crate::diagnose) fn is_empty(&self) -> bool {
        self.number == 0
    }

    /// The lists of this master; without one, of the whole protocol; if that is unknown, of the only protocol with
    /// lists.
    pub(in crate::diagnose) fn of(
        &self,
        master: Option<IpAddr>,
        protocol: Option<Id>,
    ) -> Vec<&MasterLists> {
        let lists = match (master, protocol) {
            (Some(master), Some(id)) => self.given.get(&(master, id)),
            (None, Some(id)) => self.all.get(id as usize),
            (_, None) => {
                let given: Vec<_> = self.all.iter().filter(|given| !given.is_empty()).collect();
                return if given.len() == 1 { given } else { Vec::new() };
            }
        };
        lists.into_iter().collect()
    }

    /// Whether the latest list that has a server is whole. A filter explains why others are absent, not that this one is
    /// there.
    pub(in crate::diagnose) fn is_in_whole_list(&self, id: Id, server: &SocketAddr) -> bool {
        let Some(sighting) = self.sighting(server, None) else { return false };
        let given = self.given.get(&(sighting.master, id));
        given.is_some_and(|given| {
            let mut whole = given.whole.values().chain(&given.narrowed_whole);
            whole.any(|listing| listing.number == sighting.number)
        })
    }

    /// The game of a server by the latest whole list that has it.
    pub(in crate::diagnose) fn game_of(&self, id: Id, server: &SocketAddr) -> Option<&[u8]> {
        let sighting = self.sighting(server, None)?;
        let mut lists = self.given.get(&(sighting.master, id))?.whole.values();
        lists.find(|it| it.number == sighting.number).map(|listing| &*listing.game)
    }

    /// The masters of a protocol whose lists disagree about a server that is at these addresses: some have it, and later
    /// whole ones of others do not.
    pub(in crate::diagnose) fn disagreeing(&self, id: Id, own: &[SocketAddr]) -> Vec<SocketAddr> {
        let sighting = |master| own.iter().find_map(|own| self.sighting(own, master));
        let Some(latest) = sighting(None) else { return Vec::new() };
        let lacks = |master: IpAddr| {
            let given = self.given.get(&(master, id));
            let mut whole = given.into_iter().flat_map(|given| given.whole.values());
            whole.any(|listing| Lists::is_later(listing, Some(latest)))
        };
        let masters = self.givers[id as usize].iter().copied();
        let (have, others): (Vec<_>, Vec<_>) =
            masters.partition(|it| sighting(Some(it.ip())).is_some());
        let lack = others.into_iter().filter(|it| lacks(it.ip()));
        let all = Vec::from_iter(have.iter().copied().chain(lack));
        if have.is_empty() || all.len() == have.len() { Vec::new() } else { all }
    }

    /// The latest list of this master that contained a server; `None`: of any master.
    pub(in crate::diagnose) fn sighting(
        &self,
        server: &SocketAddr,
        master: Option<IpAddr>,
    ) -> Option<&Sighting> {
        self.listed.get(server)?.of(master)
    }

    /// Whether a list came after one that contained the server.
    pub(in crate::diagnose) fn is_later(listing: &Listing, sighting: Option<&Sighting>) -> bool {
        sighting.is_none_or(|sighting| sighting.number < listing.number)
    }

    /// The addresses with which this master lists a host.
    pub(in crate::diagnose) fn of_host(
        &self,
        host: IpAddr,
        master: IpAddr,
    ) -> impl Iterator<Item = (SocketAddr, Sighting)> {
        let ports = self.ports.get(&host).into_iter().flatten();
        let addresses = ports.map(move |port| SocketAddr::new(host, *port));
        addresses.filter_map(move |it| Some((it, *self.sighting(&it, Some(master))?)))
    }

    /// The addresses of private networks, and the loopback one, that a list has with this port.
    pub(super) fn hidden_in(
        &self,
        list: &Listing,
        port: u16,
    ) -> impl Iterator<Item = (SocketAddr, &Sighting)> {
        let (master, number) = (Some(list.master), list.number);
        let hidden = self.hidden.get(&port).into_iter().flatten();
        let seen = hidden.filter_map(move |it| Some((*it, self.sighting(it, master)?)));
        seen.filter(move |(_, sighting)| sighting.number == number)
    }
}

impl MasterLists {
    fn is_empty(&self) -> bool {
        let latest = [self.narrowed, self.enciphered];
        self.whole.is_empty()
            && self.begun.is_none()
            && self.cut.is_none()
            && latest.iter().all(Option::is_none)
    }

    /// The latest whole list that could contain a server of this game; an empty name: unknown game.
    /// `selects`: whether a list with this filter includes the server.
    pub(in crate::diagnose) fn whole(
        &self,
        game: &[u8],
        selects: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Option<&Listing> {
        let of_all = self.whole.get(&[][..]);
        let of_game = self.whole.get(&game.to_ascii_lowercase());
        let is_selected = |listing: &&Listing| listing.narrowed.as_deref().is_some_and(&selects);
        let narrowed = self.narrowed_whole.iter().filter(is_selected);
        of_all.into_iter().chain(of_game).chain(narrowed).max_by_key(|listing| listing.number)
    }
}
