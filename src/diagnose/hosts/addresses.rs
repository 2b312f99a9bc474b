//! The addresses of one server, and what they are.

use std::net::SocketAddr;

use dissectors::kit::AddressRole;

use crate::diagnose::masters;
use crate::diagnose::server::Server;

/// Maximum number of a server's other addresses.
const ADDRESSES: usize = 8;

impl Server {
    /// Another address of it.
    pub(in crate::diagnose) fn is_at(&mut self, address: SocketAddr, role: AddressRole) {
        if self.addresses.len() < ADDRESSES {
            self.addresses.push((address, role));
        }
    }

    /// All of its addresses at which it was seen: the main one is this.
    pub(in crate::diagnose) fn own_addresses(
        &self,
        main: SocketAddr,
    ) -> impl Iterator<Item = SocketAddr> + Clone {
        [main].into_iter().chain(self.addresses.iter().map(|(own, _)| *own))
    }

    /// The same with those that follow from what it says: the port for players, and the one that its master probes. Each
    /// with what it is, the main one first.
    pub(in crate::diagnose) fn roles(&self, main: SocketAddr) -> Vec<(SocketAddr, AddressRole)> {
        // One that it names to masters is for queries.
        let is_query = self.query.is_some() || self.sends_from.is_some();
        let role = if is_query { AddressRole::Query } else { AddressRole::Join };
        let above = self.registers.and_then(masters).and_then(|it| it.probe_above);
        let probed = above.and_then(|above| main.port().checked_add(above));
        let game = self.game_port.filter(|port| *port > 0);
        let ports = [(game, AddressRole::Game), (probed, AddressRole::Probe)];
        let of_host = |(port, role)| Some((SocketAddr::new(main.ip(), port?), role));
        let mut all = vec![(main, role)];
        let others = self.addresses.iter().copied();
        let others = others.chain(self.sends_from.map(|from| (from, AddressRole::Join)));
        for (address, role) in others.chain(ports.into_iter().filter_map(of_host)) {
            if all.iter().all(|(known, _)| *known != address) {
                all.push((address, role));
            }
        }
        all
    }
}
