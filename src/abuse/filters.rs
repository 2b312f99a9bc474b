//! Filters against an attack, and what each would have done to this very capture.
//!
//! A limit is a bucket of tokens, as firewalls have it: each packet takes one, so many come back each
//! second, and a packet that finds none is dropped.

use std::net::SocketAddr;

use dissectors::kit::Time;

use super::Target;
use super::sources::Source;
use super::verdict::Seat;

/// Packets a second that a source may send, as filters are tried.
pub(super) const OF_SOURCE: [u16; 3] = [1, 3, 10];

/// Packets a second that all sources together may send, as filters are tried.
pub(super) const OF_ALL: [u16; 4] = [100, 300, 1000, 3000];

/// Packets that may come at once within the limit of a source.
const BURST: u16 = 5;

/// The share of real clients' packets that the chosen filter may drop.
const COLLATERAL: f64 = 0.001;

/// The share of the attack from which on a filter is worth it.
const WORTH: f64 = 0.5;

/// Bytes at the beginning of payloads that are compared.
const PREFIX: usize = 8;

/// A limit of packets a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// Tokens, in thousandths: less than none before the first packet.
    spent: u32,
    last: i64,
}

impl Bucket {
    /// Whether a packet finds no token. `burst`: of so many at most.
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

/// What filters would do to one source's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    buckets: [Bucket; OF_SOURCE.len()],
    /// Packets that each limit of a source would drop.
    over: [u32; OF_SOURCE.len()],
    /// Packets that each limit of all sources would drop.
    over_all: [u32; OF_ALL.len()],
}

impl Limits {
    /// One more packet; `all`: which limits of all sources drop it.
    pub(super) fn see(&mut self, time: Time, all: [bool; OF_ALL.len()]) {
        for ((bucket, over), rate) in self.buckets.iter_mut().zip(&mut self.over).zip(OF_SOURCE) {
            *over += u32::from(bucket.is_empty(time, rate, BURST));
        }
        for (over, is_over) in self.over_all.iter_mut().zip(all) {
            *over += u32::from(is_over);
        }
    }
}

/// The limits of all sources together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AllLimits([Bucket; OF_ALL.len()]);

impl AllLimits {
    /// Which of them drop a packet.
    pub(super) fn see(&mut self, time: Time) -> [bool; OF_ALL.len()] {
        let mut over = [false; OF_ALL.len()];
        for ((over, bucket), rate) in over.iter_mut().zip(&mut self.0).zip(OF_ALL) {
            *over = bucket.is_empty(time, rate, rate);
        }
        over
    }
}

/// How payloads begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix(Option<Vec<u8>>);

impl Prefix {
    pub(super) fn see(&mut self, payload: &[u8]) {
        let begins = payload.get(..PREFIX.min(payload.len())).unwrap_or_default();
        match &mut self.0 {
            None => self.0 = Some(begins.to_vec()),
            Some(common) => {
                let same = common.iter().zip(begins).take_while(|(a, b)| a == b).count();
                common.truncate(same);
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// What a filter looks at, beside the target's address and port and how payloads begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Whatever begins so.
    Payload,
    /// Packets with this hop limit.
    HopLimit(u8),
    /// What one source sends above so many a second.
    RateOfSource(u16),
    /// What all sources send above so many a second.
    RateOfAll(u16),
}

impl Rule {
    /// The name scripts use.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Payload => "payload",
            Rule::HopLimit(_) => "hop_limit",
            Rule::RateOfSource(_) => "rate_of_source",
            Rule::RateOfAll(_) => "rate_of_all",
        }
    }
}

/// A filter, and what it would have done to this capture.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What it looks at.
    pub rule: Rule,
    /// The attacked address and port; of a victim, the address.
    pub target: SocketAddr,
    /// Whether it is for packets to any port of the address.
    pub any_port: bool,
    /// How payloads begin.
    pub prefix: Vec<u8>,
    /// The share of the attack that it drops.
    pub drops: f64,
    /// The share of real clients' packets that it drops; `None`: there are none to measure it by.
    pub collateral: Option<f64>,
}

impl Filter {
    /// Which filters come before others. A drop must have been measured; without real clients to measure
    /// it by, a limit of each source harms them least. A limit of all sources drops players and attackers
    /// alike, and is for when nothing else helps.
    fn rank(&self) -> (u8, i64) {
        let millionths = |share: f64| (share * 1e6) as i64;
        let (drops, collateral) = (millionths(self.drops), self.collateral.map(millionths));
        let is_cheap = self.collateral.is_some_and(|share| share <= COLLATERAL);
        match self.rule {
            _ if self.drops < WORTH => (3, -drops),
            Rule::Payload => (0, -drops),
            Rule::RateOfAll(_) => (2, collateral.unwrap_or(-drops)),
            _ if is_cheap => (0, -drops),
            Rule::RateOfSource(_) if collateral.is_none() => (1, -drops),
            _ => (3, -drops),
        }
    }
}

/// The filters against an attack, the best one first.
pub(super) fn filters(seat: Seat, target: &Target, at: SocketAddr) -> Vec<Filter> {
    let prefix = target.prefix.bytes();
    if prefix.is_empty() {
        return Vec::new();
    }
    let filter = |rule, drops, collateral| {
        let any_port = seat == Seat::Victim;
        Filter { rule, target: at, any_port, prefix: prefix.to_vec(), drops, collateral }
    };
    if seat == Seat::Victim {
        return vec![filter(Rule::Payload, 1.0, None)];
    }
    let measured = |dropped: &dyn Fn(&Source) -> u64| {
        let share = |is_real: bool| {
            let sums = target.sources.sum(|source| {
                if source.is_real == is_real {
                    [dropped(source), u64::from(source.packets)]
                } else {
                    [0, 0]
                }
            });
            (sums[1] > 0).then(|| sums[0] as f64 / sums[1] as f64)
        };
        (share(false).unwrap_or(0.0), share(true))
    };
    let mut all = Vec::new();
    if let Some((limit, _)) = target.sources.commonest_hop_limit() {
        let dropped =
            |source: &Source| if source.hop_limit == limit { source.packets.into() } else { 0 };
        let (drops, collateral) = measured(&dropped);
        all.push(filter(Rule::HopLimit(limit), drops, collateral));
    }
    for (at, rate) in OF_SOURCE.into_iter().enumerate() {
        let (drops, collateral) = measured(&|source| source.limits.over[at].into());
        all.push(filter(Rule::RateOfSource(rate), drops, collateral));
    }
    for (at, rate) in OF_ALL.into_iter().enumerate() {
        let (drops, collateral) = measured(&|source| source.limits.over_all[at].into());
        all.push(filter(Rule::RateOfAll(rate), drops, collateral));
    }
    all.retain(|filter| filter.drops > 0.0);
    all.sort_by_key(Filter::rank);
    all
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
    fn a_prefix_is_what_all_have_in_common() {
        let mut prefix = Prefix::default();
        prefix.see(b"\xFF\xFF\xFF\xFFTSource Engine Query\0");
        assert_eq!(prefix.bytes(), b"\xFF\xFF\xFF\xFFTSou");
        prefix.see(b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
        assert_eq!(prefix.bytes(), b"\xFF\xFF\xFF\xFF");
        prefix.see(b"");
        assert_eq!(prefix.bytes(), b"");
    }
}
