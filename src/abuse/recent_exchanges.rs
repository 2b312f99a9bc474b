//! Recent requests of clients and responses of servers: enough to see that a client receives
//! packets at its address, and that a response had no request.
//!
//! A source with a single packet has only an entry here, until another source needs it.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Outline, Purpose, Seed, Time};

use super::clients::Proof;
use super::packet::SampledPacket;

/// Number of buckets, and of exchanges in a bucket, which are adjacent in memory.
const BUCKETS: usize = 1 << 13;
const WAYS: usize = 4;

/// Maximum number of stored packets of a source until it is known to be real, or forgotten.
const FIRST: usize = 2;

/// Maximum time of a response to a request, in units of a millisecond: 30 seconds.
const PATIENCE: u32 = 28_610;

/// The requests of a client to a server.
#[derive(Clone, Copy, Default)]
pub(super) struct RecentExchange {
    /// The challenge that the server gave.
    challenge: Option<u32>,
    /// A hash of the latest request, and its source port.
    asked: u64,
    port: u16,
    /// The latest request returned a challenge.
    pub(super) is_challenged: bool,
    response: ResponseState,
    /// Packets that are kept.
    kept: u8,
    /// The name and the length of the latest request.
    pub(super) length: u32,
    pub(super) what: &'static str,
}

/// The response to the latest request, except for challenges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ResponseState {
    #[default]
    No,
    Yes,
    /// All parts of a split response, or its last one.
    Split,
}

/// The key of an exchange, and its latest time; stored separately so that a search reads adjacent
/// memory.
#[derive(Clone, Copy, Default)]
struct Tag {
    /// A hash of client and server; 0: empty.
    hash: u32,
    /// In units of [`RecentExchanges::UNIT`].
    last: u32,
}

/// The latest exchanges. Memory is allocated for the first one.
#[derive(Clone, Default)]
pub(super) struct RecentExchanges {
    seed: Seed,
    tags: Box<[[Tag; WAYS]]>,
    exchanges: Box<[RecentExchange]>,
    packets: Box<[[Option<SampledPacket>; FIRST]]>,
}

impl RecentExchanges {
    /// Times are stored in units of this power of two of nanoseconds, a millisecond, so that the
    /// oldest is found even in a flood.
    const UNIT: u32 = 20;

    fn place(&self, client: IpAddr, server: SocketAddr) -> (usize, u32) {
        let hash = match (client, server) {
            (IpAddr::V4(client), SocketAddr::V4(server)) => {
                let (client, port) = (u128::from(u32::from(client)), u128::from(server.port()));
                self.seed.hash_one(client << 64 | u128::from(u32::from(*server.ip())) << 16 | port)
            }
            _ => self.seed.hash_one((client, server)),
        };
        (hash as usize % BUCKETS, (hash >> 32) as u32 | 1)
    }

    /// The entry of a client's recent requests to a server, if any.
    pub(super) fn find(&self, client: IpAddr, server: SocketAddr, now: Time) -> Option<usize> {
        self.find_in(self.place(client, server), now)
    }

    fn find_in(&self, (bucket, hash): (usize, u32), now: Time) -> Option<usize> {
        let now = unit(now);
        let is = |tag: &Tag| tag.hash == hash && now.saturating_sub(tag.last) <= PATIENCE;
        let way = self.tags.get(bucket)?.iter().position(is)?;
        Some(bucket * WAYS + way)
    }

    /// The same, or a new one that replaces the oldest in its bucket. The client sends a request
    /// now.
    pub(super) fn entry(&mut self, client: IpAddr, server: SocketAddr, now: Time) -> usize {
        if self.tags.is_empty() {
            self.tags = vec![[Tag::default(); WAYS]; BUCKETS].into();
            self.exchanges = vec![RecentExchange::default(); BUCKETS * WAYS].into();
            self.packets = vec![[None; FIRST]; BUCKETS * WAYS].into();
        }
        let place = self.place(client, server);
        let known = self.find_in(place, now);
        let (bucket, hash) = place;
        let last = unit(now);
        let Some(tags) = self.tags.get_mut(bucket) else { return 0 };
        let way = known.map(|at| at % WAYS).unwrap_or_else(|| {
            let ages = tags.iter().map(|tag| (tag.hash != 0, tag.last)).enumerate();
            ages.min_by_key(|(_, age)| *age).map_or(0, |(way, _)| way)
        });
        tags[way] = Tag { hash, last };
        let at = bucket * WAYS + way;
        if known.is_none()
            && let Some(exchange) = self.exchanges.get_mut(at)
        {
            *exchange = RecentExchange::default();
        }
        at
    }

    /// The exchange of this entry.
    pub(super) fn exchange(&mut self, at: usize) -> Option<&mut RecentExchange> {
        self.exchanges.get_mut(at)
    }

    /// Stores a packet of it until the source is known to be real.
    pub(super) fn keep(&mut self, at: usize, packet: &SampledPacket) {
        let exchange = self.exchanges.get_mut(at);
        if let (Some(exchange), Some(packets)) = (exchange, self.packets.get_mut(at))
            && let Some(place) = packets.get_mut(usize::from(exchange.kept))
        {
            *place = Some(*packet);
            exchange.kept += 1;
        }
    }

    /// Its stored packets.
    pub(super) fn take(&mut self, at: usize) -> impl Iterator<Item = SampledPacket> {
        let kept = self.exchanges.get_mut(at).map_or(0, |it| std::mem::take(&mut it.kept));
        let packets = self.packets.get(at).copied().unwrap_or_default();
        packets.into_iter().take(kept.into()).flatten()
    }
}

/// A time in units of [`RecentExchanges::UNIT`]. It wraps after 52 days.
fn unit(time: Time) -> u32 {
    (time.0 >> RecentExchanges::UNIT) as u32
}

impl RecentExchange {
    /// The client sends a request. Returns what it proves, if anything: forged sources cannot know
    /// what a server sent.
    pub(super) fn asks(
        &mut self,
        outline: &Outline,
        packet: &SampledPacket,
        asked: u64,
    ) -> Option<Proof> {
        let is_returned = self.challenge.is_some() && outline.challenge == self.challenge;
        // An attacker repeats the same request; another kind of request after a response comes from
        // a client.
        let goes_on = self.asked != asked && self.port == packet.port;
        let proof = match self.response {
            _ if is_returned => Some(Proof::Challenge),
            ResponseState::Split if goes_on => Some(Proof::Split),
            ResponseState::Yes if goes_on => Some(Proof::WentOn),
            _ => None,
        };
        (self.asked, self.port) = (asked, packet.port);
        (self.what, self.length) = (outline.message.label, packet.length.into());
        self.is_challenged = is_returned;
        self.response = ResponseState::No;
        proof
    }

    /// The server responds.
    pub(super) fn responds(&mut self, outline: &Outline) {
        if outline.message.purpose == Purpose::ClientChallenge {
            self.challenge = outline.challenge.or(self.challenge);
            return;
        }
        self.response = match outline.last_part {
            Some(true) => ResponseState::Split,
            Some(false) => self.response,
            None => ResponseState::Yes,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_requests_are_known_and_old_ones_are_not() {
        let mut recent_exchanges = RecentExchanges::default();
        let at = |seconds: i64| Time((1_700_000_000 + seconds) * 1_000_000_000);
        let (client, server) = (IpAddr::from([10, 0, 0, 1]), ([10, 0, 0, 2], 27015).into());
        assert!(recent_exchanges.find(client, server, at(0)).is_none());
        let place = recent_exchanges.entry(client, server, at(0));
        assert_eq!(recent_exchanges.find(client, server, at(20)), Some(place));
        assert!(recent_exchanges.find(client, server, at(40)).is_none());
        assert!(recent_exchanges.find(client, ([10, 0, 0, 2], 27016).into(), at(1)).is_none());
        // It lasts as long as the client sends requests; earlier times count as now.
        assert_eq!(recent_exchanges.entry(client, server, at(25)), place);
        assert_eq!(recent_exchanges.find(client, server, at(40)), Some(place));
        assert_eq!(recent_exchanges.find(client, server, at(10)), Some(place));
    }

    #[test]
    fn a_flood_makes_it_forget_the_oldest_first() {
        let mut recent_exchanges = RecentExchanges::default();
        let server = ([10, 0, 0, 2], 27015).into();
        let client = |n: u32| IpAddr::from((0x0B00_0000 + n).to_be_bytes());
        for n in 0..200_000_u32 {
            recent_exchanges.entry(client(n), server, Time(i64::from(n) * 100_000_000));
        }
        let now = Time(200_000 * 100_000_000);
        let known = |recent_exchanges: &RecentExchanges, all: std::ops::Range<u32>| {
            all.filter(|n| recent_exchanges.find(client(*n), server, now).is_some()).count()
        };
        assert!(known(&recent_exchanges, 199_800..200_000) > 195, "the latest");
        assert_eq!(known(&recent_exchanges, 0..100_000), 0);
        // At the highest rate of a flood, half of the entries are recent.
        for n in 0..200_000_u32 {
            recent_exchanges.entry(client(n), server, Time(now.0 + i64::from(n) * 2_000));
        }
        let now = Time(now.0 + 400_000_000);
        let latest =
            (184_000..200_000).filter(|n| recent_exchanges.find(client(*n), server, now).is_some());
        assert!(latest.count() > 15_000);
    }
}
