//! The results at the end of a capture, from the state of all parties.

mod conclude;
mod item_verdicts;
mod wanted;

use std::cmp::Reverse;
use std::fmt::Display;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Cause, Diagnosis as ProtocolDiagnosis, Item, Map, Set, causes};

use super::{CapturePosition, Diagnosis};
use crate::abuse::{Attack, AttackKind, Omitted, Received, plural};
use crate::diagnose::facts::Failure;
use crate::diagnose::facts::item_set::ItemSet;
use crate::diagnose::registration::{Registration, is_of_registration};
use crate::diagnose::server::Server;
use crate::diagnose::verdicts::{
    DiagnosedServer, Diagnoses, ItemVerdict, LeftOut, Met, Situation, outcome_with_master,
};
use crate::session::Totals;
use crate::text::{counted, grouped};
use item_verdicts::ServerState;

/// The conditions for a server of unknown protocol.
const OF_ANY: [Item; 6] =
    [Item::Join, Item::ListWhole, Item::Listed, Item::Address, Item::Asked, Item::Answered];

/// Those that are only shown if something is known about them.
const IF_KNOWN: [Item; 3] = [Item::NotAttacked, Item::Elsewhere, Item::PlayOpen];

impl Diagnosis {
    /// The results.
    pub fn outcome(mut self, read: &mut Totals) -> Diagnoses {
        self.unread_datagram();
        self.end_exchanges(read.end());
        self.near_others = read.traffic.probed.clone();
        self.across_flows(read);
        self.answered_from_inside();
        self.one_place_each(read);
        self.seek_losses(read);
        let (attacks, omitted) = self.attacks(read);
        self.forget_forged_joins(&attacks);
        self.other_traffic(read);
        let (clients, givers) = self.other_parties(read, self.wanted.is_some());
        self.one_side_of_nat();
        self.silent_broadcasts();
        self.one_server_each(read.end());
        self.probed = self.other_ports();
        self.answering = self.answering_ports();
        self.taken = self.taken_addresses();
        self.ask_several = self.clients_of_several();
        self.silences
            .conclude(self.servers.iter().map(|(address, it)| (address.ip(), &it.pattern)));
        let shown = self.servers_to_show().into_iter();
        let mut servers: Vec<_> = shown.map(|address| self.diagnosed(address, read)).collect();
        servers.sort_by_cached_key(DiagnosedServer::outcome);
        let cut = if self.lists.is_cut {
            Some("lists have more servers than fit into memory; see --memory")
        } else if self.parties_are_cut {
            Some("there are more clients, masters or requests than fit into memory; see --memory")
        } else {
            None
        };
        let left_out = self.left_out.len();
        let left_out = LeftOut { servers: left_out, at_least: left_out >= self.remembered };
        let has_lists = !self.lists.is_empty();
        let mut positions = servers.iter().map(|server| server.position);
        let position = positions.next().filter(|first| positions.all(|it| it == *first));
        let position = position.unwrap_or(CapturePosition::Unknown);
        let is_lossy = self.is_lossy(read);
        let broadcasts = std::mem::take(&mut self.broadcasts);
        let own = servers.iter().flat_map(|it| it.addresses.iter().map(|(address, _)| *address));
        let own: Set<SocketAddr> = own.collect();
        let near = read.pairs.named(|end| own.contains(end));
        Diagnoses {
            servers,
            clients: if self.of_probe { Vec::new() } else { clients },
            masters: givers,
            broadcasts,
            position,
            is_lossy,
            digits: read.digits,
            has_lists,
            attacks,
            omitted,
            near,
            of_probe: self.of_probe,
            left_out,
            cut,
        }
    }

    /// The attacks, which also count against the attacked servers, and what was left out of them.
    fn attacks(&mut self, read: &Totals) -> (Vec<Attack>, Omitted) {
        let Some(mut abuse) = self.abuse.take() else { return Default::default() };
        abuse.spans(read.span);
        let attacks = abuse.attacks();
        let owners = if attacks.is_empty() { Map::default() } else { self.owners_of_ports() };
        for attack in &attacks {
            let cause = match (attack.kind, attack.also) {
                (AttackKind::FloodedServer, _)
                | (AttackKind::Transit, Some(AttackKind::FloodedServer)) => {
                    &causes::answers::FLOODED
                }
                (AttackKind::Reflector, _) | (AttackKind::Transit, Some(AttackKind::Reflector)) => {
                    &causes::answers::MISUSED
                }
                (AttackKind::CrashAttempt, _) => &causes::answers::CRASH_ATTEMPT,
                _ => continue,
            };
            let together = (attack.targets.len() > 1)
                .then(|| format!(", to {} targets together", attack.targets.len()));
            let mut told: Set<SocketAddr> = Set::default();
            for target in &attack.targets {
                let is_known = self.servers.contains_key(target);
                let Some(owner) = (if is_known { Some(target) } else { owners.get(target) }) else {
                    continue;
                };
                let own = attack.each.iter().find(|(at, _)| at == target).map(|(_, own)| own);
                // What several of its ports get together is one attack on it.
                if own.is_none() && !told.insert(*owner) {
                    continue;
                }
                let Some(server) = self.servers.get_mut(owner) else { continue };
                let mut why = attacked_with(cause, own.unwrap_or(&attack.received));
                why.text.extend(together.as_deref().filter(|_| own.is_none()));
                is_attacked(server, why);
            }
        }
        (attacks, abuse.omitted())
    }

    /// The servers by all their addresses.
    fn owners_of_ports(&self) -> Map<SocketAddr, SocketAddr> {
        let all = self.servers.iter().flat_map(|(address, server)| {
            let own = *address;
            server.roles(own).into_iter().map(move |(port, _)| (port, own))
        });
        lowest_by_key(all)
    }

    /// The servers that answer requests: of each host the ones with the lowest and the highest port.
    fn answering_ports(&self) -> Map<IpAddr, [SocketAddr; 2]> {
        let answers = |server: &Server| server.fact(Item::Answered).good > 0;
        let answering = self.servers.iter().filter(|(_, server)| answers(server));
        let mut found: Map<IpAddr, [SocketAddr; 2]> = Map::default();
        for (address, _) in answering {
            let [lowest, highest] = found.entry(address.ip()).or_insert([*address; 2]);
            (*lowest, *highest) = (*address.min(lowest), *address.max(highest));
        }
        found
    }

    /// The clients that ask several hosts.
    fn clients_of_several(&self) -> Set<IpAddr> {
        let mut asked: Map<IpAddr, IpAddr> = Map::default();
        let all = self.servers.iter();
        let all =
            all.flat_map(|(address, it)| it.clients.iter().map(|client| (*client, address.ip())));
        let asks_another =
            |(client, host): &(IpAddr, IpAddr)| *asked.entry(*client).or_insert(*host) != *host;
        all.filter(asks_another).map(|(client, _)| client).collect()
    }

    /// The addresses of servers that answer requests, or register.
    fn taken_addresses(&self) -> Set<SocketAddr> {
        let is_one =
            |server: &Server| server.fact(Item::FromAsked).good > 0 || server.registers.is_some();
        let servers = self.servers.iter().filter(|(_, server)| is_one(server));
        servers.flat_map(|(address, server)| server.own_addresses(*address)).collect()
    }

    fn diagnosed(&mut self, address: SocketAddr, read: &Totals) -> DiagnosedServer {
        let mut server = self.servers.remove(&address).unwrap_or_default();
        let position = server.position(address.ip(), &self.everywhere);
        let query = server.query.map(|id| id.info().diagnosis);
        let is_in_lists = |port: &SocketAddr| self.lists.sighting(port, None).is_some();
        let probed = self.probed.get(&address);
        let is_listed =
            is_in_lists(&address) || probed.is_some_and(|it| it.iter().any(is_in_lists));
        let elsewhere = server.registers_elsewhere();
        let elsewhere = elsewhere.filter(|id| is_listed || self.lists.has_whole(*id));
        let registers = server.registers.or(elsewhere).map(|id| id.info().diagnosis);
        let shows_registration = elsewhere.is_some() || shows_registration(&server);
        let (registering, mut own) = shown_items([query, registers], shows_registration);
        if !registering.is_empty() {
            self.registrations(address, &mut server, read, position);
        }
        self.late_facts(address, &mut server, read, position);
        own.extend(IF_KNOWN.into_iter().filter(|item| server.fact(*item).is_known()));
        let is_lossy = self.is_lossy(read);
        let is_cut = !self.left_out.is_empty() || self.lists.is_cut;
        let hears_others = self.receivers.contains(&address.ip());
        let state = |registration, is_heard| ServerState {
            server: &server,
            registration,
            address,
            position,
            is_heard,
            answers_behind: self.translations.answers_behind(address.ip()),
            hears_others,
            is_lossy,
            is_cut,
        };
        let all = server.registrations.len() * registering.len() + own.len();
        let mut items = Vec::with_capacity(all);
        for registration in &server.registrations {
            let is_heard = registration.master.is_some_and(|it| self.is_heard(it.ip(), read));
            let state = state(registration, is_heard);
            items.extend(registering.iter().map(|item| state.verdict(item)));
        }
        let best = best_master(items.chunks(registering.len().max(1)));
        let none = Registration::default();
        let registration = server.registrations.first().unwrap_or(&none);
        let state = state(registration, self.is_heard(address.ip(), read));
        items.extend(own.iter().map(|item| state.verdict(item)));
        // An attack comes before anything else.
        items.sort_by_key(|it| it.item != Item::NotAttacked);
        let situation = situation(&items, position);
        items.iter_mut().for_each(|it| it.situation = situation);
        let addresses = server.roles(address);
        DiagnosedServer {
            server: address,
            protocol: server.query.or(server.registers),
            name: server.name.take(),
            position,
            items,
            best,
            is_cut,
            needs_no_master: query.is_some_and(|it| it.registers.is_none()),
            addresses,
            probed: self.probed.remove(&address).unwrap_or_default(),
        }
    }
}

/// Whether to show a server's registration: its protocol may have none, or it may register in
/// another one, which the capture may lack.
fn shows_registration(server: &Server) -> bool {
    let own = server.query.is_some_and(|id| id.info().diagnosis.items.contains(&Item::Join));
    server.registers.is_some() || own
}

/// The conditions to show of a server whose protocols are diagnosed like this: those of its registrations, and its own but
/// for what is only shown if it is known.
fn shown_items(
    protocols: [Option<&'static ProtocolDiagnosis>; 2],
    shows_registration: bool,
) -> (ItemSet, ItemSet) {
    let known = protocols.iter().flatten();
    let mut items: ItemSet = known.clone().flat_map(|it| it.items.iter().copied()).collect();
    let is_known = known.count() > 0;
    if !is_known {
        items.extend(OF_ANY);
    }
    let of_registration: ItemSet = items.iter().filter(|it| is_of_registration(*it)).collect();
    let own = items.without(of_registration).without(IF_KNOWN.into_iter().collect());
    (if shows_registration || !is_known { of_registration } else { ItemSet::default() }, own)
}

/// The master with which a registration goes best: the first of the best.
fn best_master<'i>(
    with_masters: impl DoubleEndedIterator<Item = &'i [ItemVerdict]>,
) -> Option<SocketAddr> {
    let rank = |items: &&[ItemVerdict]| {
        let outcome = outcome_with_master(items.iter());
        let met = items.iter().filter(|it| it.met == Met::Yes).count();
        (outcome, Reverse(items.iter().position(|it| it.met == Met::No)), met)
    };
    with_masters.rev().max_by_key(rank)?.first()?.master
}

/// That a server is attacked with this.
fn attacked_with(cause: &'static Cause, received: &Received) -> Failure {
    let Received { kind, packets, sources, rate } = *received;
    // What crashes servers has the name of its rule.
    let is_rule = cause == &causes::answers::CRASH_ATTEMPT;
    let kinds = if is_rule { kind.to_owned() } else { plural(kind) };
    let values: [(_, &dyn Display); 4] = [
        ("kinds", &kinds),
        ("rate", &grouped(rate.round() as u64)),
        ("packets", &grouped(packets)),
        ("sources", &counted(sources, "source")),
    ];
    Failure::with(cause, 0, &values)
}

/// A server is attacked in this way; a smaller attack is named beside the largest one.
fn is_attacked(server: &mut Server, why: Failure) {
    let attacked = server.fact_mut(Item::NotAttacked);
    match attacked.run {
        0 => attacked.fails(why),
        _ => attacked.says_more(&format!(
            "; besides, {}: {}",
            why.cause.sentence(&why.values),
            why.text
        )),
    }
}

/// What decides what to do about what is wrong with a server.
fn situation(items: &[ItemVerdict], position: CapturePosition) -> Situation {
    let is_flooded = |it: &ItemVerdict| it.cause == Some(&causes::answers::FLOODED);
    match position {
        _ if items.iter().any(is_flooded) => Situation::Flooded,
        CapturePosition::Server => Situation::AtServer,
        _ => Situation::Any,
    }
}

/// The lowest of the addresses that have a key in common, whatever order they come in.
fn lowest_by_key<K: Eq + Hash>(
    addresses: impl Iterator<Item = (K, SocketAddr)>,
) -> Map<K, SocketAddr> {
    addresses.fold(Map::default(), |mut lowest, (key, address)| {
        lowest.entry(key).and_modify(|least| *least = address.min(*least)).or_insert(address);
        lowest
    })
}
