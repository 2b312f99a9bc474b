//! Which servers the results are for: all, or those that the user asks about.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Set;

use crate::diagnose::Diagnosis;

impl Diagnosis {
    /// The addresses of the servers to show, in order. One that is named is shown, whatever it is.
    pub(in crate::diagnose) fn servers_to_show(&mut self) -> Vec<SocketAddr> {
        // A server that registers also sends requests to its masters, which are not servers.
        let masters: Set<_> = self.servers.values().flat_map(|it| it.masters()).collect();
        let (masters, servers): (Vec<_>, Vec<_>) =
            self.servers.keys().copied().partition(|address| masters.contains(address));
        let mut shown = match self.wanted {
            Some((ip, port)) => self.named(ip, port, servers, masters),
            None => servers,
        };
        shown.sort_unstable();
        shown
    }

    /// Those that the user asks about: a server's own name comes before other addresses of servers, and these before
    /// masters. What is none of them is looked up all the same.
    fn named(
        &mut self,
        ip: IpAddr,
        port: Option<u16>,
        mut servers: Vec<SocketAddr>,
        masters: Vec<SocketAddr>,
    ) -> Vec<SocketAddr> {
        let name = port.map(|port| SocketAddr::new(ip, port));
        let known = name.and_then(|name| self.resolve(name));
        if let Some(known) = known.filter(|known| servers.contains(known)) {
            return vec![known];
        }
        let is_it = |address| known == Some(address) || self.is_wanted(&address);
        servers.retain(|server| {
            self.all_addresses(*server).any(is_it)
                || name.is_some_and(|name| self.is_listed_instead(*server, name))
        });
        if servers.is_empty() {
            servers.extend(masters.into_iter().filter(|master| self.is_wanted(master)));
        }
        if servers.is_empty() {
            servers.push(SocketAddr::new(ip, port.unwrap_or(0)));
        }
        servers
    }

    /// All addresses of a server, with those that clients probed.
    fn all_addresses(&self, address: SocketAddr) -> impl Iterator<Item = SocketAddr> {
        let own = self.servers.get(&address).map_or(Vec::new(), |server| server.roles(address));
        let probed = self.probed.get(&address).into_iter().flatten().copied();
        own.into_iter().map(|(own, _)| own).chain(probed)
    }
}
