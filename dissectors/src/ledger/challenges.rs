//! Whom servers gave their challenges to.

use std::net::{IpAddr, Ipv4Addr};

use crate::kit::{HashedMap, HashedSet, Short, append};

/// Whom challenges were given to, as they were given: one after the other, which takes less than to
/// look each of them up. Most are never looked for.
#[derive(Default)]
pub(super) struct Challenges {
    given: Vec<Given>,
    /// The hosts that are not IPv4, with their places in `given`, in the order of these.
    wide: Vec<(usize, IpAddr)>,
    /// One came after as many different ones as may be: no more are taken.
    pub(super) full: bool,
}

/// One that was given, in the least room: a flood makes one after the other.
struct Given {
    /// The hash of the server and the challenge.
    key: Short,
    to: Ipv4Addr,
}

impl Challenges {
    /// One more was given, of at most this many different ones.
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

    /// Keeps of each challenge to whom it was first given, of at most this many.
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

    /// To whom each of these was first given, as far as there was room for it.
    pub(super) fn first_given(&mut self, keys: &[Short], most: usize) -> HashedMap<IpAddr, Short> {
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

/// Which of these are the first of their key. Reported in turns, a share of the keys in each: what tells
/// them takes as much less room, at the end of a capture, when there is none to spare.
fn firsts(given: &[Given]) -> Vec<bool> {
    let mut firsts = vec![false; given.len()];
    let mut seen = HashedSet::default();
    for turn in 0..Short::SHARES {
        seen.clear();
        for (given, is_first) in given.iter().zip(&mut firsts) {
            if given.key.share() == turn {
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

    /// One of each share and some more.
    fn short(key: u64) -> Short {
        Short::from(key << 29 | key)
    }

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
