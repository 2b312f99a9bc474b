//! Whether the unanswered exchanges are those of clients in some networks.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use dissectors::kit::is_private;

use super::divided::{Candidate, Divided};
use super::{Pattern, first_names, is_silent, sum};
use crate::abuse::{AbuseSetting, network_of};
use crate::session::ExchangeCounts;

/// A network of clients, as far as their addresses show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    /// A private one.
    Private,
    /// All that is not.
    Internet,
    /// The addresses that begin with as many bits as this one.
    Of(IpAddr, u8),
}

impl Network {
    /// Whether an address is of a private network.
    fn by_kind(client: IpAddr) -> Network {
        if is_private(client) { Network::Private } else { Network::Internet }
    }

    /// The addresses beside this one.
    fn by_prefix(client: IpAddr) -> Network {
        let (first, length) = network_of(client, AbuseSetting::NETWORKS);
        Network::Of(first, length)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Private => f.write_str("private networks"),
            Network::Internet => f.write_str("the Internet"),
            Network::Of(first, length) => write!(f, "{first}/{length}"),
        }
    }
}

impl Pattern {
    /// Clients in some networks get no answer, and those in others do.
    pub(super) fn of_networks(&self) -> Option<Candidate> {
        [Network::by_kind, Network::by_prefix]
            .into_iter()
            .filter_map(|network| self.of_networks_by(network))
            .min_by_key(|candidate| candidate.errors)
    }

    fn of_networks_by(&self, network: fn(IpAddr) -> Network) -> Option<Candidate> {
        // By network: its clients and their exchanges.
        let mut networks: BTreeMap<Network, (usize, ExchangeCounts)> = BTreeMap::new();
        self.clients.iter().for_each(|(client, of)| {
            let (clients, counts) = networks.entry(network(*client)).or_default();
            *clients += 1;
            counts.add(of.history.counts);
        });
        // That one client is not answered says nothing of those beside it.
        let is_unanswered = |of: &(usize, ExchangeCounts)| of.0 > 1 && is_silent(&of.1);
        let (silent, others): (Vec<_>, Vec<_>) =
            networks.into_iter().partition(|(_, of)| is_unanswered(of));
        let counts = |of: &[(_, (_, ExchangeCounts))]| sum(of.iter().map(|(_, (_, it))| *it));
        let divided = Divided { suspects: counts(&silent), others: counts(&others) }.if_enough()?;
        if !divided.is_apart(self.all.missing()) {
            return None;
        }
        let names = first_names(silent.iter().map(|(network, _)| network));
        let these = format!("clients from {names}");
        Some(self.of_these(&these, &divided, "", ("network", names)))
    }
}
