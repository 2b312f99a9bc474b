//! What packets without messages show: game ports, registration over Steam, masters that say nothing.

use std::fmt::Display;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Item, Map, Time, Transport, causes};

use super::Diagnosis;
use super::fact::{Failure, NO_ACCIDENT};
use super::master::Silence;
use crate::session::{PairTraffic, STEAM_PORTS, Totals};
use crate::text::grouped;

impl Diagnosis {
    /// What packets without messages show, at the end of the capture.
    pub(super) fn other_traffic(&mut self, read: &Totals) {
        let ends = read.pairs.ends();
        self.game_ports(&ends, read);
        self.steam(&ends);
        self.silent_masters(&ends, read.end());
    }

    /// Whether the game ports that servers announce are open.
    fn game_ports(&mut self, ends: &[(SocketAddr, SocketAddr, PairTraffic)], read: &Totals) {
        let mut ports: Map<SocketAddr, PairTraffic> = Map::default();
        let is_udp = |it: &PairTraffic| it.transport == Transport::Udp;
        for (end, _, traffic) in ends.iter().filter(|(.., traffic)| is_udp(traffic)) {
            let known = ports.entry(*end).or_insert(PairTraffic { packets: [0; 2], ..*traffic });
            known.packets = [0, 1].map(|at| known.packets[at] + traffic.packets[at]);
            known.refused = known.refused.or(traffic.refused);
        }
        let (is_lossy, heard) = (self.is_lossy(read), &read.heard);
        self.servers.iter_mut().for_each(|(address, server)| {
            let Some(port) = server.game_port.filter(|port| *port != address.port()) else {
                return;
            };
            let game = SocketAddr::new(address.ip(), port);
            let Some(traffic) = ports.get(&game) else { return };
            let [sent, got] = traffic.packets;
            let is_heard = heard.contains(address.ip()) || self.speakers.contains(&address.ip());
            let is_attacked = server.fact(Item::NotAttacked).run > 0;
            let fact = server.fact_mut(Item::PlayOpen);
            let values: [(_, &dyn Display); 2] = [("times", &grouped(got)), ("port", &port)];
            let silent = Failure::with(&causes::answers::GAME_PORT_SILENT, traffic.frame, &values);
            match traffic.refused {
                _ if sent > 0 => fact.good(traffic.frame),
                Some(frame) => {
                    let cause = &causes::answers::GAME_PORT_CLOSED;
                    fact.fails(Failure::with(cause, frame, &values));
                }
                // Packets of an attack are nobody's who plays.
                None if is_attacked => {}
                None if got >= NO_ACCIDENT && is_heard && !is_lossy => fact.fails(silent),
                None => fact.open_by(silent),
            }
        });
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

    /// A port of masters refuses connections.
    fn refuses_connections(&mut self, id: Id, address: SocketAddr) {
        let refused = self.refused.get_mut(&address, self.remembered);
        if let Some(why) = refused.map(|(_, why)| why.clone())
            && let Some(master) = self.master(id, address)
        {
            master.is_closed(address, &why);
        }
    }

    /// Masters that should speak first, and say nothing: in connections that they accept, or because nothing comes from
    /// them at all.
    fn silent_masters(
        &mut self,
        ends: &[(SocketAddr, SocketAddr, PairTraffic)],
        end_of_capture: Time,
    ) {
        let greets = |port: u16| {
            let is_there = |id: &&Id| id.info().masters.and_then(|it| it.greets_at) == Some(port);
            Id::ALL.iter().find(is_there).copied()
        };
        for (end, client, traffic) in ends {
            if traffic.transport != Transport::Tcp || traffic.refused.is_some() {
                continue;
            }
            let Some(id) = greets(end.port()) else { continue };
            if is_refusal(traffic) {
                self.refuses_connections(id, *end);
                continue;
            }
            let timeout = self.ledger_settings.answer_timeout;
            let Some(silence) = silence(traffic, timeout, end_of_capture) else { continue };
            if let Some(master) = self.master(id, *end) {
                master.is_silent(*client, silence, traffic.frame);
            }
        }
    }
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
