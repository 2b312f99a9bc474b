//! Whom servers gave their challenges to.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{HashedMap, HashedSet, Short, append};

/// Whom challenges were given to, as they were given: one behind the other, which takes less than to
/// look each of them up. Most are never looked for.
#[derive(Default)]
pub(super) struct Challenges {
    given: Vec<Given>,
    /// The hosts that are not IPv4, with their places in `given`, in the order of these.
    wide: Vec<(usize, IpAddr)>,
    /// One came behind as many different ones as may be: no more are taken.
    pub(super) full: bool,
}

/// One that was given, in the least room: a flood makes one after the other.
struct Given {
    /// The hash of the server and the challenge.
    key: Short,
    to: Ipv4Addr,
}

impl Challenges {
    /// One more was given; behind twice so many, at most so many different ones are kept.
    pub(super) fn push(&mut self, key: Short, to: IpAddr, most: usize) {
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

    /// Keeps of each challenge to whom it was first given, of at most so many.
    fn tidy(&mut self, most: usize) {
        let Challenges { given, wide, full } = self;
        let mut first = HashedSet::default();
        let mut hosts = std::mem::take(wide).into_iter().peekable();
        let mut at = 0;
        given.retain(|one| {
            let host = hosts.next_if(|&(place, _)| place == at);
            at += 1;
            let has_room = first.len() < most;
            *full |= !has_room;
            let place = first.len();
            let stays = has_room && first.insert(one.key);
            wide.extend(host.filter(|_| stays).map(|(_, host)| (place, host)));
            stays
        });
    }

    /// To whom each of these was first given, as far as there was room for it.
    pub(super) fn first_given(&self, keys: &[Short]) -> HashedMap<IpAddr, Short> {
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// All challenges are kept while they are few, and the first ones of more.
        #[test]
        fn challenges_are_kept_up_to_their_bound(
            given in prop::collection::vec((0u64..12, any::<u16>(), any::<bool>()), 0..60),
            most in 0usize..14,
        ) {
            let mut challenges = Challenges::default();
            let mut all = HashMap::new();
            // Those that there is always room for.
            let mut first = HashMap::new();
            for &(key, to, wide) in &given {
                let to = match wide {
                    false => IpAddr::from(u32::from(to).to_be_bytes()),
                    true => IpAddr::from(u128::from(to).to_be_bytes()),
                };
                challenges.push(key.into(), to, most);
                all.entry(key).or_insert(to);
                if first.len() < most {
                    first.entry(key).or_insert(to);
                }
                prop_assert!(challenges.given.len() <= (2 * most).max(1));
                prop_assert!(challenges.wide.len() <= challenges.given.len());
            }
            let keys = Vec::from_iter(0..12);
            let keys_given: Vec<_> = keys.iter().map(|&key| key.into()).collect();
            let kept = challenges.first_given(&keys_given);
            for key in keys {
                let to = kept.get(&key.into());
                prop_assert!(to == all.get(&key) || challenges.full && to.is_none());
                prop_assert!(to.is_some() || !first.contains_key(&key));
            }
            prop_assert!(!challenges.full || all.len() >= most);
            prop_assert!(challenges.full || given.len() < 2 * most.max(1) || all.len() <= 2 * most);
        }
    }
}
