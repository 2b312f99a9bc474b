//! What packets without messages show: game ports, registration over Steam, masters that say nothing.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Item, Time, Transport, causes};

use crate::diagnose::Diagnosis;
use crate::diagnose::facts::Failure;
use crate::diagnose::master::Silence;
use crate::session::{PairTraffic, STEAM_PORTS, Totals};

impl Diagnosis {
    /// What packets without messages show, at the end of the capture.
    pub(in crate::diagnose) fn other_traffic(&mut self, read: &Totals) {
        let ends = read.pairs.ends();
        self.game_ports(&ends, read);
        self.steam(&ends);
        self.silent_masters(&ends, read.end());
    }

    /// Servers that join no master, and exchange packets with Steam's servers.
    fn steam(&mut self, ends: &[(SocketAddr, SocketAddr, PairTraffic)]) {
        for (end, other, traffic) in ends {
            let is_tcp = traffic.transport == Transport::Tcp && STEAM_PORTS.contains(&other.port());
            let is_both_ways = traffic.packets.iter().all(|packets| *packets > 0);
            if !(is_tcp || traffic.is_steam && traffic.transport == Transport::Udp)
                || !is_both_ways
                || self.clients.contains_key(&other.ip())
            {
                continue;
            }
            let Some(host) = self.hosts.get(&end.ip()) else { continue };
            let Some(server) = self.servers.get_mut(&host.server) else { continue };
            if server.query.is_some() && !server.has_joined() {
                let cause = &causes::masters::REGISTERS_THROUGH_STEAM;
                let why = Failure::with(cause, traffic.frame, &[("address", other)]);
                server.fact_mut(Item::Elsewhere).open.get_or_insert_with(|| Box::new(why));
            }
        }
    }

    /// A connection to an address is refused.
    pub(in crate::diagnose) fn connection_fails(
        &mut self,
        [client, to]: [SocketAddr; 2],
        why: Failure,
    ) {
        for master in self.masters.get_mut(&to.ip()).into_iter().flatten() {
            master.is_closed(to, client.ip(), &why);
        }
        if greeting(to.port()).is_some() {
            let client = self.client(client.ip());
            client.into_iter().for_each(|client| client.masters.is_refused(to, &why.text));
        }
        self.refused.insert(to, (client.ip(), why), self.remembered);
    }

    /// A port of masters refuses connections.
    fn refuses_connections(&mut self, id: Id, address: SocketAddr) {
        let refused = self.refused.get_mut(&address, self.remembered);
        if let Some((client, why)) = refused.cloned()
            && let Some(master) = self.master(id, address)
        {
            master.is_closed(address, client, &why);
        }
    }

    /// Masters that should speak first, and say nothing: in connections that they accept, or because nothing comes from
    /// them at all.
    fn silent_masters(
        &mut self,
        ends: &[(SocketAddr, SocketAddr, PairTraffic)],
        end_of_capture: Time,
    ) {
        for (end, client, traffic) in ends {
            if traffic.transport != Transport::Tcp {
                continue;
            }
            let Some(id) = greeting(end.port()) else { continue };
            let is_refused = traffic.refused.is_some() || is_refusal(traffic);
            let timeout = self.ledger_settings.answer_timeout;
            let silence = silence(traffic, timeout, end_of_capture);
            if is_refused || silence.is_some() {
                let client = self.client(client.ip());
                client
                    .into_iter()
                    .for_each(|it| it.masters.connects_in_vain(*end, traffic.span[0]));
            }
            if is_refused {
                self.refuses_connections(id, *end);
            } else if let Some(silence) = silence
                && let Some(master) = self.master(id, *end)
            {
                master.is_silent(*client, silence, traffic.frame);
            }
        }
    }
}

/// The protocol whose masters speak first in connections to this port.
fn greeting(port: u16) -> Option<Id> {
    let is_there = |id: &&Id| id.info().masters.and_then(|it| it.greets_at) == Some(port);
    Id::ALL.iter().find(is_there).copied()
}

/// Whether the first of two ends refuses the connection of the other one.
fn is_refusal(traffic: &PairTraffic) -> bool {
    !traffic.accepts[0] && traffic.closes[0] && traffic.bytes == [0; 2]
}

/// How the first of two ends says nothing to the other one, if it does.
fn silence(traffic: &PairTraffic, timeout: i64, end_of_capture: Time) -> Option<Silence> {
    let [begin, last] = traffic.span;
    let is_waited_for = |until: Time| until.since(begin) >= timeout;
    if traffic.packets[0] == 0 {
        return is_waited_for(end_of_capture).then_some(Silence::Unreached);
    }
    // Who asks before the master has spoken may be refused.
    let hangs_up = traffic.accepts[0] && traffic.closes[0] && traffic.bytes[1] == 0;
    let is_silent = traffic.bytes[0] == 0 && (hangs_up || is_waited_for(last));
    is_silent.then_some(Silence::Accepted)
}
