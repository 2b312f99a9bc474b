//! Joins of a flood at a master: who sends one need not be a server.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{CauseKind, Item, Set, Time};

use crate::abuse::{Attack, AttackKind};
use crate::diagnose::Diagnosis;
use crate::diagnose::facts::{Fact, Failure};
use crate::diagnose::server::Server;

/// What only a host does that gets what a master sends to its address, or that the master has found to be a server.
const PROOFS: [Item; 5] = [Item::Echo, Item::Info, Item::ProbeBack, Item::Accepted, Item::Listed];

/// A master that is flooded, and when.
type Flooded = (IpAddr, [Time; 2]);

impl Diagnosis {
    /// Forgets whatever did nothing but join flooded masters while they were flooded: these addresses are likely forged,
    /// and what no list has of them is no fault of anybody.
    pub(in crate::diagnose) fn forget_forged_joins(&mut self, attacks: &[Attack]) {
        let is_of_master = |attack: &&Attack| {
            [Some(attack.kind), attack.also].contains(&Some(AttackKind::FloodedMaster))
        };
        let flooded: Vec<Flooded> = attacks
            .iter()
            .filter(is_of_master)
            .flat_map(|attack| attack.targets.iter().map(|master| (master.ip(), attack.span)))
            .collect();
        if flooded.is_empty() || self.wanted.is_some() {
            return;
        }
        let listed = |address: SocketAddr| self.lists.sighting(&address, None).is_some();
        let forged = self.servers.iter().filter(|(address, server)| {
            only_joins(server, &flooded) && !server.own_addresses(**address).any(listed)
        });
        let forged: Set<_> = forged.map(|(address, _)| *address).collect();
        self.servers.retain(|address, _| !forged.contains(address));
    }
}

/// Whether all that is known of a server is that it joined these masters while they were flooded.
fn only_joins(server: &Server, flooded: &[Flooded]) -> bool {
    let is_flood = |master: IpAddr, [first, last]: [Time; 2]| {
        flooded.iter().any(|(it, [begin, end])| *it == master && *begin <= first && last <= *end)
    };
    let is_asked = server.query.is_some() || server.first_asked.is_some();
    !is_asked
        && server.has_joined()
        && server.registrations.iter().all(|it| {
            let joins = it.joins.zip(it.master);
            let is_of_flood = joins
                .is_some_and(|((first, last, _), master)| is_flood(master.ip(), [first, last]));
            is_of_flood && !PROOFS.iter().any(|proof| is_sent(it.fact(*proof)))
        })
}

/// Whether something was sent that meets a condition, or fails it.
fn is_sent(fact: &Fact) -> bool {
    let fails = |it: &Failure| it.cause.kind != CauseKind::Silence;
    fact.good > 0 || fact.failures().iter().any(fails)
}
