//! The receivers of servers' challenges.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{HashedMap, HashedSet, ShortHash, append};

/// The receivers of challenges, appended in order, which is cheaper than inserting each into a map.
/// Most are never looked up.
#[derive(Clone, Default)]
pub(super) struct Challenges {
    given: Vec<Given>,
    /// The hosts that are not IPv4, with their indices in `given`, in increasing order.
    wide: Vec<(usize, IpAddr)>,
    /// The maximum of different challenges was reached: no more are stored.
    pub(super) full: bool,
}

/// A given challenge, in compact form: a flood causes very many.
#[derive(Clone)]
struct Given {
    /// The hash of the server and the challenge.
    key: ShortHash,
    to: Ipv4Addr,
}

impl Challenges {
    /// Adds a challenge, up to `most` different ones.
    pub(super) fn push(&mut self, key: ShortHash, to: IpAddr, most: usize) {
        if self.given.len() >= 2 * most {
            self.tidy(most);
        }
        if self.full {
            return;
        }
        let to = match to {
            IpAddr::V4(to) => to,
            IpAddr::V6(_) => {
                self.wide.push((self.given.len(), to));
                Ipv4Addr::UNSPECIFIED
            }
        };
        append(&mut self.given, Given { key, to });
    }

    /// Keeps the first receiver of each challenge, up to `most`.
    fn tidy(&mut self, most: usize) {
        if self.given.len() <= most {
            return;
        }
        let firsts = firsts(&self.given);
        let Challenges { given, wide, full } = self;
        let mut hosts = std::mem::take(wide).into_iter().peekable();
        let (mut at, mut kept) = (0, 0);
        given.retain(|_| {
            let host = hosts.next_if(|&(place, _)| place == at);
            let is_first = firsts.get(at) == Some(&true);
            at += 1;
            *full |= kept >= most;
            let stays = is_first && kept < most;
            wide.extend(host.filter(|_| stays).map(|(_, host)| (kept, host)));
            kept += usize::from(stays);
            stays
        });
    }

    /// The first receiver of each of these challenges, as far as stored.
    pub(super) fn first_given(
        &mut self,
        keys: &[ShortHash],
        most: usize,
    ) -> HashedMap<IpAddr, ShortHash> {
        self.tidy(most);
        let wanted: HashedSet = keys.iter().copied().collect();
        let mut first = HashedMap::default();
        let mut hosts = self.wide.iter().peekable();
        for (at, given) in self.given.iter().enumerate() {
            let wide = hosts.next_if(|&&(place, _)| place == at).map(|&(_, host)| host);
            if wanted.contains(&given.key) {
                first.entry(given.key).or_insert(wide.unwrap_or(IpAddr::V4(given.to)));
            }
        }
        first
    }
}

/// Marks the first element of each key. The keys are processed in several passes, a part in each,
/// to save memory at the end of a capture.
fn firsts(given: &[Given]) -> Vec<bool> {
    let mut firsts = vec![false; given.len()];
    let mut seen = HashedSet::default();
    for turn in 0..ShortHash::PARTS {
        seen.clear();
        for (given, is_first) in given.iter().zip(&mut firsts) {
            if given.key.part() == turn {
                *is_first = seen.insert(given.key);
            }
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// One of each part and some more.
    fn short(key: u64) -> ShortHash {
        ShortHash::from(key << 29 | key)
    }

    proptest! {
        /// The stored challenges are those that a bounded map would store.
        #[test]
        fn challenges_are_kept_up_to_their_bound(
            given in prop::collection::vec((0u64..12, any::<u16>(), any::<bool>()), 0..60),
            most in 0usize..14,
        ) {
            let mut challenges = Challenges::default();
            let (mut all, mut all_had_room) = (HashMap::new(), true);
            for &(key, to, wide) in &given {
                let to = match wide {
                    false => IpAddr::from(u32::from(to).to_be_bytes()),
                    true => IpAddr::from(u128::from(to).to_be_bytes()),
                };
                challenges.push(short(key), to, most);
                all_had_room &= all.len() < most;
                if all.len() < most {
                    all.entry(key).or_insert(to);
                }
                prop_assert!(challenges.given.len() <= (2 * most).max(1));
                prop_assert!(challenges.wide.len() <= challenges.given.len());
            }
            let keys = Vec::from_iter(0..12);
            let shorts: Vec<_> = keys.iter().copied().map(short).collect();
            let first = challenges.first_given(&shorts, most);
            prop_assert_eq!(!challenges.full, all_had_room);
            for key in keys {
                prop_assert_eq!(first.get(&short(key)), all.get(&key));
            }
        }
    }
}
