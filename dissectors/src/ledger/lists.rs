//! The lists that clients receive: whether they query the servers, and whether these are registered.

use std::net::SocketAddr;

use super::{Basis, Ledger, LedgerSettings, Listed, listed};
use crate::kit::{Evidence, GameName, Host, Role, Rule, Set, Time};

/// Limit: servers of one list that a client was sent | {} | GS1032, which requires that the client queries some of
/// them, is inconclusive
pub(super) const LISTED: usize = 1 << 14;

/// The list that a client received, and whether the client queried any server in it.
#[derive(Clone)]
pub(super) struct ListedServers {
    pub(super) servers: Set<u64>,
    rule: &'static Rule,
    basis: Basis,
    queried: bool,
    /// The list is incomplete: the client may have queried a server that is missing.
    is_cut: bool,
}

impl Ledger {
    /// A client queries a server, which may be one of its list.
    pub(super) fn queried(&mut self, [client, server]: [SocketAddr; 2], time: Time) {
        let LedgerSettings { answer_timeout, most, .. } = self.settings;
        self.early.asks([client, server], time, answer_timeout, most);
        if self.listed > 0
            && let Some(list) = self.lists.get_mut(&Host(client.ip()))
            && list.servers.contains(&u64::from_ne_bytes(listed(server)))
        {
            // The rest of the list no longer matters.
            self.listed -= list.servers.len();
            *list = ListedServers { servers: Set::default(), queried: true, ..*list };
        }
    }

    /// A client receives a list.
    pub(super) fn list(&mut self, servers: &[Listed], rule: &'static Rule, basis: Basis) {
        let client = Host(basis.seen.to.ip());
        if servers.is_empty()
            || !self.has_room(self.lists.len(), |it| it.lists.contains_key(&client))
        {
            return;
        }
        let first = || ListedServers {
            servers: Set::default(),
            rule,
            basis,
            queried: false,
            is_cut: false,
        };
        let list = self.lists.entry(client).or_insert_with(first);
        if list.queried {
            return;
        }
        let room =
            (self.settings.most - self.listed).min(LISTED.saturating_sub(list.servers.len()));
        list.servers.reserve(servers.len().min(room));
        for server in servers {
            if self.listed >= self.settings.most {
                self.full = true;
                return;
            }
            if list.servers.len() >= LISTED {
                list.is_cut = true;
                return;
            }
            self.listed += usize::from(list.servers.insert(u64::from_ne_bytes(*server)));
        }
    }

    /// Checks that a whole list has the servers that are registered, and no others of which the
    /// capture shows that they are not.
    pub(super) fn compare_with_registrations(
        &mut self,
        servers: &[Listed],
        rule: &'static Rule,
        game: GameName,
        basis: Basis,
    ) {
        let longest = self.settings.listed_longest;
        let Some(faults) = self.registrations.compare(servers, game, &basis.seen, longest) else {
            return;
        };
        if faults.is_empty() {
            self.rule(rule, true, basis, Role::Master, String::new);
        }
        // The heartbeat that it is compared with is in the capture, and so is what followed.
        let (began, asked_party_seen, lossy) = (true, true, basis.lossy);
        let evidence = Evidence { began, asked_party_seen, lossy, ..Evidence::default() };
        for fault in faults {
            self.broken(rule, evidence, basis, Role::Master, || fault);
        }
    }

    /// Checks that clients query listed servers.
    pub(super) fn lists(&mut self) {
        let mut lists = Vec::from_iter(std::mem::take(&mut self.lists));
        lists.sort_unstable_by_key(|(client, _)| client.0);
        for (_, list) in lists {
            let count = list.servers.len();
            let servers = if count == 1 { "the server" } else { "any of the servers" };
            let detail = || format!("the client never queries {servers} that it was listed");
            if list.queried {
                self.rule(list.rule, true, list.basis, Role::Master, detail);
            } else {
                let evidence = Evidence { lossy: list.is_cut, ..Evidence::default() };
                self.broken(list.rule, evidence, list.basis, Role::Master, detail);
            }
        }
    }
}
