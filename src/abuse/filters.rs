//! Candidates for filters against an attack. Their effect on this capture is computed in
//! [`measure`](super::measure).
//!
//! A limit is a token bucket, as in firewalls: each packet takes a token, tokens are added at the
//! rate, and a packet without a token is dropped.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use dissectors::kit::Time;

use crate::session::LinkTags;

/// Packets per second of a source that are tried as limits.
pub(super) const OF_SOURCE: [u16; 3] = [1, 3, 10];

/// Packets per second of a network that are tried as limits.
pub(super) const OF_NETWORK: [u16; 3] = [5, 20, 100];

/// Burst size of a source's limit.
pub(super) const BURST: u16 = 5;

/// Number of bytes at the beginning of payloads that are compared.
const PREFIX: usize = 8;

/// Networks whose addresses no host of the Internet has, with the lengths of their prefixes.
pub const BOGONS: [(Ipv4Addr, u8); 8] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Multicast, and what is reserved.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// Whether an address is one of [`BOGONS`].
pub(super) fn is_bogon(address: IpAddr) -> bool {
    let IpAddr::V4(address) = address else { return false };
    let is_in = |network: Ipv4Addr, bits: u8| {
        (address.to_bits() ^ network.to_bits()).checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
    };
    BOGONS.iter().any(|(network, bits)| is_in(*network, *bits))
}

/// A limit of packets a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// Used tokens, in thousandths: negative before the first packet.
    spent: u32,
    last: i64,
}

impl Bucket {
    /// Takes a token. Returns whether there was none. `burst`: the bucket's size.
    pub(super) fn is_empty(&mut self, time: Time, rate: u16, burst: u16) -> bool {
        const MICROSECOND: i64 = 1000;
        let passed = time.0.saturating_sub(self.last).max(0) / MICROSECOND;
        let back = passed.saturating_mul(i64::from(rate)) / 1000;
        self.spent = self.spent.saturating_sub(u32::try_from(back).unwrap_or(u32::MAX));
        if back > 0 || self.spent == 0 {
            self.last = time.0;
        }
        if self.spent + 1000 > u32::from(burst) * 1000 {
            return true;
        }
        self.spent += 1000;
        false
    }
}

/// The effect of limits on one source's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NetworkLimits {
    buckets: [Bucket; OF_SOURCE.len()],
    /// Packets that each would drop.
    pub(super) over: [u32; OF_SOURCE.len()],
}

impl NetworkLimits {
    /// One more packet.
    pub(super) fn see(&mut self, time: Time) {
        for ((bucket, over), rate) in self.buckets.iter_mut().zip(&mut self.over).zip(OF_SOURCE) {
            *over += u32::from(bucket.is_empty(time, rate, BURST));
        }
    }

    /// Adds what was counted at another target.
    pub(super) fn add(&mut self, other: &NetworkLimits) {
        self.over.iter_mut().zip(other.over).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// The common beginning of payloads.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix(Option<Vec<u8>>);

impl Prefix {
    pub(super) fn see(&mut self, payload: &[u8]) {
        let begins = payload.get(..PREFIX.min(payload.len())).unwrap_or_default();
        match &mut self.0 {
            None => self.0 = Some(begins.to_vec()),
            Some(common) if begins.starts_with(common) => {}
            Some(common) => {
                let same = common.iter().zip(begins).take_while(|(a, b)| a == b).count();
                common.truncate(same);
            }
        }
    }

    /// Adds how payloads begin at another target.
    pub(super) fn add(&mut self, other: &Prefix) {
        other.0.iter().for_each(|common| self.see(common));
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A condition for dropping a packet, besides those of all filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// Its hop limit is one of these.
    HopLimit(RangeInclusive<u8>),
    /// It carries so many bytes.
    Length(RangeInclusive<u16>),
    /// It carries this many bytes, as requests without a challenge do.
    MissingChallenge(u16),
    /// It comes from one of these ports.
    SourcePort(RangeInclusive<u16>),
    /// It has this IP identification.
    Identification(u16),
    /// It comes from an address of [`BOGONS`].
    Bogons,
    /// Its payload has these bytes at this offset.
    Bytes {
        /// The offset.
        at: u8,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// It comes from one of these real addresses.
    Sources(Vec<IpAddr>),
}

impl Match {
    /// The name in scripts.
    pub const fn name(&self) -> &'static str {
        match self {
            Match::HopLimit(_) => "hop_limit",
            Match::Length(_) => "length",
            Match::MissingChallenge(_) => "missing_challenge",
            Match::SourcePort(_) => "source_port",
            Match::Identification(_) => "identification",
            Match::Bogons => "bogons",
            Match::Bytes { .. } => "bytes",
            Match::Sources(_) => "sources",
        }
    }
}

/// Only packets above this rate are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// Of one source.
    OfSource(u16),
    /// Of one network of this many bits.
    OfNetwork(u16, u8),
    /// Of all sources together.
    OfAll(u32),
}

impl RateLimit {
    /// Packets a second.
    pub fn rate(self) -> u32 {
        match self {
            RateLimit::OfSource(rate) | RateLimit::OfNetwork(rate, _) => rate.into(),
            RateLimit::OfAll(rate) => rate,
        }
    }

    /// The burst size.
    pub fn burst(self) -> u32 {
        match self {
            RateLimit::OfSource(_) => BURST.into(),
            RateLimit::OfNetwork(..) | RateLimit::OfAll(_) => self.rate(),
        }
    }
}

/// A filter, and its effect on this capture. It drops only packets to the attacked address and port
/// with the common beginning of the attack's packets.
#[derive(Clone, Debug)]
pub struct FirewallFilter {
    /// The attacked address and port; of a network, its first address.
    pub target: SocketAddr,
    /// The prefix length of the address.
    pub bits: u8,
    /// The attacked ports, and those between them.
    pub ports: RangeInclusive<u16>,
    /// Whether it applies to all ports of the address.
    pub any_port: bool,
    /// The common beginning of payloads.
    pub prefix: Vec<u8>,
    /// Further conditions, all of which must be met.
    pub matches: Vec<Match>,
    /// The tags and labels around the attack's packets; none: they have none.
    pub tags: Vec<LinkTags>,
    /// A limit, if not all such packets are dropped.
    pub limit: Option<RateLimit>,
    /// The share of the attack that it drops.
    pub drops: f64,
    /// The share of real clients' packets to the attacked address and port that it drops; `None`:
    /// there are none.
    pub collateral: Option<f64>,
    /// The same for real clients' packets to all ports of the host.
    pub host_collateral: Option<f64>,
    /// Packets per second of the attack that pass.
    pub remains: f64,
}

impl FirewallFilter {
    /// The bytes that a payload must have, and their offsets.
    pub fn contents(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let bytes = self.matches.iter().filter_map(|it| match it {
            Match::Bytes { at, bytes } => Some((usize::from(*at), &bytes[..])),
            _ => None,
        });
        let all = std::iter::once((0, &self.prefix[..])).chain(bytes);
        all.filter(|(_, bytes)| !bytes.is_empty())
    }

    /// The name scripts use.
    pub fn name(&self) -> String {
        let matches = self.matches.iter().map(Match::name);
        let limit = self.limit.map(|limit| match limit {
            RateLimit::OfSource(_) => "rate_of_source",
            RateLimit::OfNetwork(..) => "rate_of_network",
            RateLimit::OfAll(_) => "rate_of_all",
        });
        let names: Vec<_> = matches.chain(limit).collect();
        if names.is_empty() { "payload".to_owned() } else { names.join("+") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_bucket_lets_through_its_burst_and_then_its_rate() {
        let mut bucket = Bucket::default();
        let start = 1_700_000_000 * SECOND;
        let dropped = |bucket: &mut Bucket, times: &[i64]| {
            let times = times.iter().map(|time| Time(start + time));
            times.map(|time| bucket.is_empty(time, 2, 5)).filter(|dropped| *dropped).count()
        };
        assert_eq!(dropped(&mut bucket, &[0; 8]), 3, "five at once");
        assert_eq!(dropped(&mut bucket, &[SECOND; 4]), 2, "two a second");
        let steady: Vec<_> = (0..100).map(|n| 10 * SECOND + n * SECOND / 2).collect();
        assert_eq!(dropped(&mut bucket, &steady), 0);
        let fast: Vec<_> = (0..1000).map(|n| 100 * SECOND + n * SECOND / 100).collect();
        let left = 1000 - dropped(&mut bucket, &fast);
        assert!((24..=26).contains(&left), "2 a second and 5 at once of 10 seconds: {left}");
    }

    #[test]
    fn bogons_are_addresses_that_no_host_of_the_internet_has() {
        let is = |address: &str| is_bogon(address.parse().unwrap());
        for bogon in
            ["0.1.2.3", "10.255.0.1", "100.127.0.1", "172.31.0.1", "224.0.0.1", "255.0.0.1"]
        {
            assert!(is(bogon), "{bogon}");
        }
        for address in ["1.0.0.0", "11.0.0.1", "100.128.0.1", "172.32.0.1", "223.255.0.1", "::1"] {
            assert!(!is(address), "{address}");
        }
    }

    #[test]
    fn a_prefix_is_common_to_all() {
        let mut prefix = Prefix::default();
        prefix.see(b"\xFF\xFF\xFF\xFFTSource Engine Query\0");
        assert_eq!(prefix.bytes(), b"\xFF\xFF\xFF\xFFTSou");
        prefix.see(b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
        assert_eq!(prefix.bytes(), b"\xFF\xFF\xFF\xFF");
        prefix.see(b"");
        assert_eq!(prefix.bytes(), b"");
    }
}
