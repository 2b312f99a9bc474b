//! The busiest of very many sources, in bounded memory, by the algorithm of Misra and Gries: if there
//! are too many counts, the same number is subtracted from each.
//!
//! Sketches from libraries find an entry by a hash that is the same in every run, for which senders
//! can construct collisions; the result of this one does not depend on hashes.

use std::net::IpAddr;

use dissectors::kit::Map;

/// Number of counts that remain at most when some are removed. A count lacks at most this part of all
/// packets.
const KEPT: usize = 1 << 11;

/// Counts by source.
#[derive(Clone, Default)]
pub(super) struct Busiest {
    counts: Map<IpAddr, u64>,
    /// What each count may lack.
    pub(super) lacking: u64,
}

impl Busiest {
    /// Counts packets of a source.
    pub(super) fn see(&mut self, source: IpAddr, packets: u64) {
        *self.counts.entry(source).or_default() += packets;
        if self.counts.len() > 2 * KEPT {
            self.reduce();
        }
    }

    /// Counts packets of many sources, in any order.
    pub(super) fn extend(&mut self, sources: impl Iterator<Item = (IpAddr, u64)>) {
        sources.for_each(|(source, packets)| *self.counts.entry(source).or_default() += packets);
        self.reduce();
    }

    /// Adds the counts of another target.
    pub(super) fn add(&mut self, other: &Busiest) {
        self.lacking += other.lacking;
        self.extend(other.counts.iter().map(|(source, packets)| (*source, *packets)));
    }

    /// The sources that certainly sent more packets than a count may lack, each with the most that it
    /// may have sent.
    pub(super) fn all(&self) -> Vec<(IpAddr, u64)> {
        let known = self.counts.iter().filter(|(_, packets)| **packets > self.lacking);
        known.map(|(source, packets)| (*source, packets + self.lacking)).collect()
    }

    /// Removes the smallest counts, and as much from the others.
    fn reduce(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        if counts.len() <= KEPT {
            return;
        }
        let at = counts.len() - 1 - KEPT;
        let (_, largest_removed, _) = counts.select_nth_unstable(at);
        let less = *largest_removed;
        self.counts.retain(|_, packets| {
            *packets = packets.saturating_sub(less);
            *packets > 0
        });
        self.lacking += less;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(n: u32) -> IpAddr {
        IpAddr::from(n.wrapping_mul(0x9E37_79B1).to_be_bytes())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// A count is within its stated error, which is small, and the result does not depend on hashes.
        #[test]
        fn busy_sources_are_found(sources in 3_000_u32..40_000, every in 1_u32..60) {
            let (mut busiest, mut again, mut sent) = (Busiest::default(), Busiest::default(), 0);
            for n in 0..sources {
                for busiest in [&mut busiest, &mut again] {
                    busiest.see(source(n + 1), 1);
                    if n % every == 0 {
                        busiest.see(source(0), 1);
                    }
                }
                sent += u64::from(n % every == 0);
                prop_assert!(busiest.counts.len() <= 2 * KEPT);
            }
            let all = u64::from(sources) + sent;
            prop_assert!(busiest.lacking <= all / KEPT as u64);
            let found = busiest.all().into_iter().find(|(known, _)| *known == source(0));
            if sent > 2 * busiest.lacking {
                let (_, most) = found.expect("a busy source");
                prop_assert!((sent..=sent + busiest.lacking).contains(&most));
            }
            let sorted = |busiest: &Busiest| {
                let mut all = busiest.all();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(sorted(&busiest), sorted(&again));
            busiest.add(&again);
            prop_assert!(busiest.counts.len() <= KEPT && busiest.lacking <= 2 * all / KEPT as u64);
        }
    }
}
