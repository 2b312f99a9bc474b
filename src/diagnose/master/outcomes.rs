//! For which clients each condition of a master is met, and for which not.

use std::net::IpAddr;

use dissectors::kit::Item;

use super::Master;
use crate::diagnose::exchanges::pattern::first_names;
use crate::diagnose::facts::Failure;
use crate::diagnose::verdicts::{ItemVerdict, Met};

/// Maximum number of clients that are kept for a condition.
const CLIENTS: usize = 64;

/// What each client met last, for each condition, up to a maximum of clients.
#[derive(Debug, Default)]
pub(super) struct Outcomes(Vec<(Item, ClientsOfItem)>);

/// Those for which a condition was not met at last, and those for which it was.
#[derive(Debug, Default)]
pub(super) struct ClientsOfItem {
    pub(super) failing: Vec<IpAddr>,
    served: Vec<IpAddr>,
}

impl Outcomes {
    /// The clients of a condition.
    pub(super) fn of(&mut self, item: Item) -> &mut ClientsOfItem {
        let at = self.0.iter().position(|(known, _)| *known == item);
        let at = at.unwrap_or_else(|| {
            self.0.push((item, ClientsOfItem::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }
}

impl ClientsOfItem {
    /// It is not met for a client.
    pub(super) fn fails(&mut self, client: IpAddr) {
        ClientsOfItem::passes([&mut self.served, &mut self.failing], client);
    }

    /// It is met for a client. Returns whether it is for every one now.
    pub(super) fn succeeds(&mut self, client: IpAddr) -> bool {
        ClientsOfItem::passes([&mut self.failing, &mut self.served], client);
        self.failing.is_empty()
    }

    fn passes([from, to]: [&mut Vec<IpAddr>; 2], client: IpAddr) {
        from.retain(|other| *other != client);
        if to.len() < CLIENTS && !to.contains(&client) {
            to.push(client);
        }
    }

    /// Those for which it is not met, if it is for others.
    fn apart(&self) -> Option<&[IpAddr]> {
        let is_apart = !self.failing.is_empty() && !self.served.is_empty();
        is_apart.then_some(&self.failing)
    }
}

impl Master {
    /// A condition is not met for a client.
    pub(super) fn fails_for(&mut self, client: IpAddr, item: Item, why: Failure) {
        self.outcomes.of(item).fails(client);
        self.items.fact(item).fails(why);
    }

    /// A condition is met for a client. If it now is for each one for which it was not, that is over.
    pub(super) fn succeeds_for(&mut self, client: IpAddr, item: Item, frame: u64) {
        match self.outcomes.of(item).succeeds(client) {
            true => self.items.good_again(item, frame),
            false => self.items.good(item, frame),
        }
    }

    /// What only some of the clients meet is said of these.
    pub(super) fn names_clients(&mut self, verdicts: &mut [ItemVerdict]) {
        for verdict in verdicts.iter_mut().filter(|it| it.met == Met::No && it.by.is_none()) {
            let Some(clients) = self.outcomes.of(verdict.item).apart() else { continue };
            let names = first_names(clients.iter());
            if !verdict.text.contains(&names) {
                verdict.text.to_mut().push_str(&format!("; so for {names}, not for other clients"));
            }
            if let [client] = clients {
                verdict.by = Some(("client", client.to_string()));
            }
        }
    }
}
