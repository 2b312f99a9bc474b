//! Which addresses left the challenges of a server unused.

use crate::kit::append;

/// Addresses by servers, one behind the other as they come: under a flood there are millions, and
/// hardly any server has many.
#[derive(Default)]
pub(super) struct Unused {
    /// The places of servers, and parts of the hashes of addresses.
    seen: Vec<(u32, u32)>,
    /// There were more than may be: no more are taken.
    pub(super) full: bool,
}

impl Unused {
    /// How many addresses of one server are told apart.
    pub(super) const MOST: usize = 100;

    /// An address left the challenge of the server at this place unused; of at most so many different
    /// ones in all.
    pub(super) fn push(&mut self, server: u32, address: u64, most: usize) {
        if self.seen.len() >= 2 * most {
            self.tidy(most);
        }
        if !self.full {
            append(&mut self.seen, (server, address as u32));
        }
    }

    /// Keeps each address once, and of each server as many as are told apart.
    fn tidy(&mut self, most: usize) {
        self.seen.sort_unstable();
        self.seen.dedup();
        let mut counted = (u32::MAX, 0);
        self.seen.retain(|&(server, _)| {
            counted = if counted.0 == server { (server, counted.1 + 1) } else { (server, 1) };
            counted.1 <= Unused::MOST
        });
        self.full |= self.seen.len() > most;
        self.seen.truncate(most);
    }

    /// The servers that have so many addresses as are told apart, in the order of their places.
    pub(super) fn crowded(&mut self, most: usize) -> Vec<u32> {
        self.tidy(most);
        let servers = self.seen.chunk_by(|a, b| a.0 == b.0);
        let crowded = servers.filter(|addresses| addresses.len() >= Unused::MOST);
        crowded.filter_map(|addresses| Some(addresses.first()?.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Who is crowded has as many different addresses, however often and in which order they come.
        #[test]
        fn addresses_count_once(
            seen in prop::collection::vec((0u32..3, 0u64..130), 0..600),
            most in 150usize..400,
        ) {
            let mut unused = Unused::default();
            let mut all: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
            for &(server, address) in &seen {
                unused.push(server, address, most);
                all.entry(server).or_default().insert(address);
                prop_assert!(unused.seen.len() <= 2 * most);
            }
            let counted: usize = all.values().map(|some| some.len().min(Unused::MOST)).sum();
            let crowded = unused.crowded(most);
            prop_assert_eq!(unused.full, counted > most);
            if !unused.full {
                let expected = all.iter().filter(|(_, some)| some.len() >= Unused::MOST);
                prop_assert_eq!(crowded, expected.map(|(&server, _)| server).collect::<Vec<_>>());
            }
        }
    }
}
