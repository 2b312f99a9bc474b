//! How many sources there are and what they do, in bounded room: all of them while they are few, then
//! a sample by their hashes, which does not depend on the order in which they come.

use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use dissectors::kit::Map;

use super::filters::Limits;

/// Sources that are kept of one target.
const MOST: usize = 1 << 14;

/// A sample of sources.
#[derive(Clone, Default)]
pub(super) struct Sources {
    /// Only those are kept whose hashes end in so many zeros.
    level: u32,
    kept: Map<IpAddr, Source>,
}

/// What one source did.
#[derive(Clone, Copy, Default)]
pub(super) struct Source {
    /// Packets that it sent.
    pub(super) packets: u32,
    /// It was challenged.
    pub(super) challenged: bool,
    /// It was given data.
    pub(super) answered: bool,
    /// It returned a challenge, or went on after a response: forged sources cannot.
    pub(super) is_real: bool,
    /// Its hop limit: of the first packet.
    pub(super) hop_limit: u8,
    pub(super) limits: Limits,
}

/// The same in every run: what is estimated must not differ from run to run.
fn hash(source: IpAddr) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(0x0AB0_5E00).build_hasher();
    match source {
        IpAddr::V4(host) => hasher.write_u32(host.into()),
        IpAddr::V6(host) => hasher.write_u128(host.into()),
    }
    hasher.finish()
}

impl Sources {
    /// The entry of a source, if it is in the sample. `room`: for so many more entries, over all targets.
    pub(super) fn entry(&mut self, source: IpAddr, room: &mut usize) -> Option<&mut Source> {
        if hash(source).trailing_zeros() < self.level {
            return None;
        }
        if !self.kept.contains_key(&source) {
            while self.kept.len() >= MOST || *room == 0 && self.kept.len() > 1 {
                self.level += 1;
                let (level, before) = (self.level, self.kept.len());
                self.kept.retain(|source, _| hash(*source).trailing_zeros() >= level);
                *room += before - self.kept.len();
            }
            if *room == 0 || hash(source).trailing_zeros() < self.level {
                return None;
            }
            *room -= 1;
        }
        Some(self.kept.entry(source).or_default())
    }

    /// The entry of a source that is known.
    pub(super) fn known(&mut self, source: IpAddr) -> Option<&mut Source> {
        self.kept.get_mut(&source)
    }

    /// What so many of the sample stand for.
    fn scaled(&self, kept: u64) -> u64 {
        kept << self.level.min(40)
    }

    /// How many sources there are.
    pub(super) fn count(&self) -> u64 {
        self.scaled(self.kept.len() as u64)
    }

    /// By which share that may be wrong, one standard deviation; 0 where all are counted.
    pub(super) fn error(&self) -> f64 {
        match self.level {
            0 => 0.0,
            _ => 1.0 / (self.kept.len().max(1) as f64).sqrt(),
        }
    }

    /// How many sources are like this, and how many packets they sent.
    pub(super) fn with(&self, is: impl Fn(IpAddr, &Source) -> bool) -> (u64, u64) {
        let like = self.kept.iter().filter(|(address, source)| is(**address, source));
        let (count, packets) = like.fold((0, 0), |(count, packets), (_, source)| {
            (count + 1, packets + u64::from(source.packets))
        });
        (self.scaled(count), self.scaled(packets))
    }

    /// What two numbers of each come to together.
    pub(super) fn sum(&self, of: impl Fn(&Source) -> [u64; 2]) -> [u64; 2] {
        let each = self.kept.values().map(of);
        each.fold([0; 2], |sum, it| [sum[0] + it[0], sum[1] + it[1]])
    }

    /// The sources of the sample that sent most packets, the busiest first.
    pub(super) fn top(&self, most: usize) -> Vec<(IpAddr, u64)> {
        let all = self.kept.iter().map(|(address, source)| (*address, u64::from(source.packets)));
        largest(all.collect(), most)
    }

    /// The networks that most packets came from: of 24 bits, and of 48 in IPv6.
    pub(super) fn prefixes(&self, most: usize) -> Vec<(String, u64)> {
        let mut prefixes: Map<IpAddr, u64> = Map::default();
        self.kept.iter().for_each(|(address, source)| {
            *prefixes.entry(network(*address)).or_default() += u64::from(source.packets);
        });
        let top = largest(prefixes.into_iter().collect(), most).into_iter();
        top.map(|(network, packets)| {
            let length = if network.is_ipv4() { 24 } else { 48 };
            (format!("{network}/{length}"), self.scaled(packets))
        })
        .collect()
    }

    /// The hop limit of most packets of sources that are not known to be real, and how many those are.
    pub(super) fn commonest_hop_limit(&self) -> Option<(u8, u64)> {
        let mut packets = [0_u64; 256];
        let unproven = self.kept.values().filter(|source| !source.is_real);
        unproven.for_each(|source| {
            packets[usize::from(source.hop_limit)] += u64::from(source.packets);
        });
        let limits = (0..=u8::MAX).zip(packets).skip(1);
        let (limit, packets) = limits.max_by_key(|(_, packets)| *packets)?;
        Some((limit, self.scaled(packets)))
    }

    /// How many networks of 8 bits, or of 16 in IPv6, sources like these are in.
    pub(super) fn spread(&self, is: impl Fn(&Source) -> bool) -> usize {
        let like = self.kept.iter().filter(|(_, source)| is(source));
        let mut networks: Vec<u16> = like
            .map(|(address, _)| match address {
                IpAddr::V4(ip) => u16::from(ip.octets()[0]),
                IpAddr::V6(ip) => ip.segments()[0],
            })
            .collect();
        networks.sort_unstable();
        networks.dedup();
        networks.len()
    }
}

/// Those with most packets first; of as many, the lower address.
fn largest(mut all: Vec<(IpAddr, u64)>, most: usize) -> Vec<(IpAddr, u64)> {
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(most);
    all
}

/// The network of an address.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(ip) => {
            let [a, b, c, _] = ip.octets();
            IpAddr::from([a, b, c, 0])
        }
        IpAddr::V6(ip) => {
            let [a, b, c, ..] = ip.segments();
            IpAddr::from([a, b, c, 0, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(sources: u32, order: impl Fn(u32) -> u32, room: &mut usize) -> Sources {
        let mut all = Sources::default();
        for n in 0..sources {
            let address = IpAddr::from(order(n).wrapping_mul(0x9E37_79B1).to_be_bytes());
            if let Some(source) = all.entry(address, room) {
                source.packets += 1;
            }
        }
        all
    }

    #[test]
    fn few_are_counted_exactly() {
        let all = of(1000, |n| n / 2, &mut 100_000);
        assert_eq!((all.count(), all.error()), (500, 0.0));
        assert_eq!(all.with(|_, source| source.packets == 2), (500, 1000));
        assert_eq!(all.top(3).len(), 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        /// An estimate is within four times its stated error, and does not depend on the order.
        #[test]
        fn many_are_estimated(sources in 20_000_u32..400_000) {
            let room = &mut 1_000_000;
            let (forward, backward) =
                (of(sources, |n| n, room), of(sources, |n| sources - 1 - n, room));
            prop_assert_eq!(forward.count(), backward.count());
            let off = (forward.count() as f64 - f64::from(sources)).abs() / f64::from(sources);
            prop_assert!(off <= 4.0 * forward.error(), "{} of {sources}", forward.count());
            prop_assert!(forward.kept.len() <= MOST);
        }
    }

    #[test]
    fn room_is_shared_and_given_back() {
        let room = &mut 100;
        let one = of(5000, |n| n, room);
        assert!(one.kept.len() <= 100 && *room == 100 - one.kept.len());
    }
}
