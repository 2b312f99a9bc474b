//! Whom servers gave their challenges to.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{HashedMap, HashedSet, append};

/// Whom challenges were given to, as they were given: one behind the other, which takes less than to
/// look each of them up. Most are never looked for.
#[derive(Default)]
pub(super) struct Challenges {
    /// The hash of the server and the challenge, and to whom it was given.
    given: Vec<(u64, Given)>,
    /// The hosts in it that are not IPv4.
    wide: Vec<IpAddr>,
    /// One came behind as many different ones as may be: no more are taken.
    pub(super) full: bool,
}

/// Whom a challenge was given to, in the least room: a flood makes one after the other.
#[derive(Clone, Copy)]
enum Given {
    V4(Ipv4Addr),
    /// Its place in a list.
    Wide(u32),
}

impl Challenges {
    /// One more was given, of at most so many different ones.
    pub(super) fn push(&mut self, key: u64, to: IpAddr, most: usize) {
        if self.given.len() >= 2 * most {
            self.tidy(most);
        }
        if self.full {
            return;
        }
        let given = match to {
            IpAddr::V4(address) => Given::V4(address),
            address => {
                self.wide.push(address);
                Given::Wide((self.wide.len() - 1) as u32)
            }
        };
        append(&mut self.given, (key, given));
    }

    /// Keeps of each challenge to whom it was first given, of at most so many.
    fn tidy(&mut self, most: usize) {
        if self.given.len() <= most {
            return;
        }
        let mut first = HashedSet::default();
        self.given.retain(|&(key, _)| {
            let has_room = first.len() < most;
            self.full |= !has_room;
            has_room && first.insert(key)
        });
        let wide = std::mem::take(&mut self.wide);
        for (_, given) in &mut self.given {
            if let Given::Wide(at) = given {
                self.wide.extend(wide.get(*at as usize));
                *at = (self.wide.len() - 1) as u32;
            }
        }
    }

    /// To whom each of these was first given, as far as there was room for it.
    pub(super) fn first_given(&mut self, keys: &[u64], most: usize) -> HashedMap<IpAddr> {
        self.tidy(most);
        let wanted: HashedSet = keys.iter().copied().collect();
        let mut first = HashedMap::default();
        for (key, given) in self.given.iter().filter(|(key, _)| wanted.contains(key)) {
            let to = match given {
                Given::V4(address) => Some(IpAddr::V4(*address)),
                Given::Wide(at) => self.wide.get(*at as usize).copied(),
            };
            if let Some(to) = to {
                first.entry(*key).or_insert(to);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is kept of challenges is what a map would keep that is filled up to its bound.
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
                challenges.push(key, to, most);
                all_had_room &= all.len() < most;
                if all.len() < most {
                    all.entry(key).or_insert(to);
                }
                prop_assert!(challenges.given.len() <= (2 * most).max(1));
                prop_assert!(challenges.wide.len() <= challenges.given.len());
            }
            let keys = Vec::from_iter(0..12);
            let first = challenges.first_given(&keys, most);
            prop_assert_eq!(!challenges.full, all_had_room);
            for key in keys {
                prop_assert_eq!(first.get(&key), all.get(&key));
            }
        }
    }
}
