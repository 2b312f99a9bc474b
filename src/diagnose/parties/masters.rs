//! Masters as parties of their own: what each of their services does, and what of it is said.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Role, Set, Transport};

use crate::diagnose::Diagnosis;
use crate::diagnose::master::{Master, Surroundings};
use crate::diagnose::server::Server;
use crate::diagnose::verdicts::{DiagnosedParty, ItemVerdict, Met, Outcome};
use crate::session::{MessageEvent, Totals};

impl Diagnosis {
    /// The service of a master in this protocol, which is added if unknown.
    pub(in crate::diagnose) fn master(
        &mut self,
        id: Id,
        address: SocketAddr,
    ) -> Option<&mut Master> {
        let host = address.ip();
        if self.masters.len() >= self.most_parties && !self.masters.contains_key(&host) {
            self.parties_are_cut = true;
            return None;
        }
        let services = self.masters.entry(host).or_default();
        let at = services.iter().position(|it| it.protocol == id).unwrap_or_else(|| {
            services.push(Master::new(id, address));
            services.len() - 1
        });
        services.get_mut(at)
    }

    /// The service of a known master in this protocol, else any.
    pub(in crate::diagnose) fn service_of(&mut self, id: Id, host: IpAddr) -> Option<&mut Master> {
        self.service(host, |it| it.protocol == id)
    }

    /// The service of a known master at an address, else any.
    pub(in crate::diagnose) fn service_at(&mut self, address: SocketAddr) -> Option<&mut Master> {
        self.service(address.ip(), |it| it.address == address)
    }

    fn service(&mut self, host: IpAddr, is: impl Fn(&Master) -> bool) -> Option<&mut Master> {
        let services = self.masters.get_mut(&host)?;
        let at = services.iter().position(is).unwrap_or(0);
        services.get_mut(at)
    }

    /// A list may come from another address than the client has asked for it. Returns whether it does.
    pub(super) fn comes_from_elsewhere(&mut self, event: &MessageEvent<'_>) -> bool {
        let [from, end] = event.ends();
        let services = |of: &SocketAddr| self.masters.get(&of.ip()).into_iter().flatten();
        let is_asked = services(&from).any(|master| master.knows(end));
        if is_asked || event.reply().is_some() || event.payload().transport == Transport::Tcp {
            return false;
        }
        let Some(client) = self.clients.get_mut(&end.ip()) else { return false };
        let is_awaited = |of: &SocketAddr| services(of).any(|it| it.is_awaited_by(end));
        let Some(asked) = client.masters.addresses().find(is_awaited) else { return false };
        client.masters.gets(asked, false, event.exchange());
        let asked = self.service(asked.ip(), |it| it.is_awaited_by(end));
        asked.into_iter().for_each(|asked| asked.is_answered_by(event));
        true
    }

    /// The results for masters.
    pub(super) fn diagnosed_masters(
        &mut self,
        read: &Totals,
        is_lossy: bool,
    ) -> Vec<DiagnosedParty> {
        self.receivers.extend(read.pairs.receivers());
        self.refusing_masters();
        let mut masters: Vec<_> = std::mem::take(&mut self.masters).into_iter().collect();
        masters.sort_by_key(|(host, _)| *host);
        let diagnosed = masters.into_iter().filter_map(|(host, services)| {
            let services = services.into_iter();
            of_services(services.map(|it| self.diagnosed_master(host, it, read, is_lossy)))
        });
        diagnosed.collect()
    }

    /// The result for one service of a master.
    fn diagnosed_master(
        &self,
        host: IpAddr,
        mut master: Master,
        read: &Totals,
        is_lossy: bool,
    ) -> (SocketAddr, DiagnosedParty) {
        // What it does not send to its clients comes from others.
        let others = master.clients().any(|client| self.receivers.contains(&client));
        master.conclude(&Surroundings {
            end: read.end(),
            timeout: self.ledger_settings.answer_timeout,
            complete: self.complete,
            has_dates: read.passes_midnight(),
            // A probe on the same host is no sign of the master.
            is_heard: self.is_heard(host, read) && !(self.of_probe && master.is_asked_by_udp()),
            others_are_heard: others,
            is_lossy,
        });
        let party = DiagnosedParty {
            address: master.address.to_string(),
            role: Role::Master,
            protocol: Some(master.protocol),
            library: None,
            items: master.verdicts(),
        };
        (master.address, party)
    }

    /// Masters of servers in the capture that refuse the connections of clients.
    fn refusing_masters(&mut self) {
        let masters = |server: &Server| {
            let id = server.registers?;
            Some(Vec::from_iter(server.masters().map(move |master| (master.ip(), id))))
        };
        let known = self.servers.values().filter_map(|server| masters(server)).flatten();
        let known = BTreeSet::from_iter(known);
        let servers = self.servers.iter();
        let registering: Set<_> = servers
            .flat_map(|(own, server)| server.masters().map(move |master| (own.ip(), master)))
            .collect();
        for (host, id) in known {
            for port in id.info().ports {
                let address = SocketAddr::new(host, *port);
                let Some((client, why)) = self.refused.get_mut(&address, self.remembered) else {
                    continue;
                };
                // A server that connects to register is refused by itself.
                if registering.contains(&(*client, address)) {
                    continue;
                }
                let (client, why) = (*client, why.clone());
                if let Some(master) = self.master(id, address) {
                    master.is_closed(address, client, &why);
                }
            }
        }
    }
}

/// A master is one party, whatever its services: the worst of these, with the faults of the others.
fn of_services(
    services: impl Iterator<Item = (SocketAddr, DiagnosedParty)>,
) -> Option<DiagnosedParty> {
    let mut services = Vec::from_iter(services);
    // That one is not known to be well says nothing against another that is.
    services.sort_by_key(|(_, party)| match party.outcome() {
        Outcome::Fault => 0,
        Outcome::Good => 1,
        Outcome::Unknown => 2,
    });
    let mut services = services.into_iter();
    let (_, mut worst) = services.next()?;
    for (address, party) in services {
        let faults = party.items.into_iter().filter(|it| it.met == Met::No);
        worst.items.extend(faults.map(|it| ItemVerdict { master: Some(address), ..it }));
    }
    Some(worst)
}
