//! Whom servers gave their challenges to.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{HashedMap, HashedSet};

/// Whom challenges were given to, as they were given: one behind the other, which takes less than to
/// look each of them up. Most are never looked for.
#[derive(Default)]
pub(super) struct Challenges {
    /// The hash of the server and the challenge, and to whom it was given.
    given: Vec<(u64, Given)>,
    /// The hosts in it that are not IPv4.
    wide: Vec<IpAddr>,
    /// There are as many different ones as may be: no more are taken.
    closed: bool,
}

/// Whom a challenge was given to, in the least room: a flood makes one after the other.
#[derive(Clone, Copy)]
enum Given {
    V4(Ipv4Addr),
    /// Its place in a list.
    Wide(u32),
}

impl Challenges {
    /// One more was given. Returns whether there was room for it, as far as that is known.
    pub(super) fn push(&mut self, key: u64, to: IpAddr, most: usize) -> bool {
        let mut had_room = true;
        if self.given.len() >= 2 * most {
            had_room = self.tidy(most);
        }
        if self.closed {
            return false;
        }
        let given = match to {
            IpAddr::V4(address) => Given::V4(address),
            address => {
                self.wide.push(address);
                Given::Wide((self.wide.len() - 1) as u32)
            }
        };
        self.given.push((key, given));
        had_room
    }

    /// Keeps of each challenge to whom it was first given, of at most so many. Returns whether none
    /// came behind these.
    pub(super) fn tidy(&mut self, most: usize) -> bool {
        let (mut first, mut had_room) = (HashedSet::default(), true);
        self.given.retain(|&(key, _)| {
            had_room &= first.len() < most;
            first.len() < most && first.insert(key)
        });
        self.closed |= !had_room;
        let wide = std::mem::take(&mut self.wide);
        for (_, given) in &mut self.given {
            if let Given::Wide(at) = given {
                self.wide.extend(wide.get(*at as usize));
                *at = (self.wide.len() - 1) as u32;
            }
        }
        had_room
    }

    /// Those of these keys, with to whom they were first given.
    pub(super) fn of(&self, keys: impl Iterator<Item = u64>) -> HashedMap<Option<IpAddr>> {
        let mut found: HashedMap<_> = keys.map(|key| (key, None)).collect();
        if !found.is_empty() {
            for (key, given) in &self.given {
                if let Some(to @ None) = found.get_mut(key) {
                    *to = match given {
                        Given::V4(address) => Some(IpAddr::V4(*address)),
                        Given::Wide(at) => self.wide.get(*at as usize).copied(),
                    };
                }
            }
        }
        found
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
            let (mut challenges, mut had_room) = (Challenges::default(), true);
            let (mut all, mut all_had_room) = (HashMap::new(), true);
            for &(key, to, wide) in &given {
                let to = match wide {
                    false => IpAddr::from(u32::from(to).to_be_bytes()),
                    true => IpAddr::from(u128::from(to).to_be_bytes()),
                };
                had_room &= challenges.push(key, to, most);
                all_had_room &= all.len() < most;
                if all.len() < most {
                    all.entry(key).or_insert(to);
                }
                prop_assert!(challenges.given.len() <= (2 * most).max(1));
                prop_assert!(challenges.wide.len() <= challenges.given.len());
            }
            had_room &= challenges.tidy(most);
            prop_assert_eq!(had_room, all_had_room);
            let found = challenges.of(0..12);
            for key in 0..12 {
                prop_assert_eq!(found.get(&key).copied().flatten(), all.get(&key).copied());
            }
        }
    }
}
