//! What clients asked servers lately, and what these responded: enough to see that somebody gets what is
//! sent to his address, and that nobody asked for a response.
//!
//! A source that only ever sent one packet has no more than a place here, until another one needs it.

use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Outline, Purpose, Seed, Time};

use super::clients::Proof;
use super::packet::SampledPacket;

/// Buckets, each of this many exchanges that lie side by side.
const BUCKETS: usize = 1 << 13;
const WAYS: usize = 4;

/// Packets of a source that are kept until it proves something, or is forgotten.
const FIRST: usize = 2;

/// For so long a response to a request may take, in units of a millisecond: 30 seconds.
const PATIENCE: u32 = 28_610;

/// What a client asks a server.
#[derive(Clone, Copy, Default)]
pub(super) struct LatelyExchange {
    /// The challenge that the server gave.
    challenge: Option<u32>,
    /// A hash of what was asked last, and from which port.
    asked: u64,
    port: u16,
    /// The latest request returned a challenge.
    pub(super) is_challenged: bool,
    answered: AnswerState,
    /// Packets that are kept.
    kept: u8,
    /// How the latest request is called, and how long it was.
    pub(super) length: u32,
    pub(super) what: &'static str,
}

/// What was responded to the latest request, beside challenges.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum AnswerState {
    #[default]
    No,
    Yes,
    /// By all parts of a split response, or by the last of them.
    Split,
}

/// Whose exchange is in a place, and when it went on: what is looked through lies close together.
#[derive(Clone, Copy, Default)]
struct Tag {
    /// Of the client and the server; 0: the place is free.
    hash: u32,
    /// In units of [`Lately::UNIT`].
    last: u32,
}

/// The latest exchanges. It takes room when the first one comes.
#[derive(Clone, Default)]
pub(super) struct Lately {
    seed: Seed,
    tags: Box<[[Tag; WAYS]]>,
    exchanges: Box<[LatelyExchange]>,
    packets: Box<[[Option<SampledPacket>; FIRST]]>,
}

impl Lately {
    /// The power of two of nanoseconds that times are kept in: a millisecond, so that of a flood, too, the
    /// oldest is found.
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

    /// The place of what a client asked a server lately, if it did.
    pub(super) fn find(&self, client: IpAddr, server: SocketAddr, now: Time) -> Option<usize> {
        self.find_in(self.place(client, server), now)
    }

    fn find_in(&self, (bucket, hash): (usize, u32), now: Time) -> Option<usize> {
        let now = unit(now);
        let is = |tag: &Tag| tag.hash == hash && now.saturating_sub(tag.last) <= PATIENCE;
        let way = self.tags.get(bucket)?.iter().position(is)?;
        Some(bucket * WAYS + way)
    }

    /// The same, or a new one: in the place of the oldest beside it. The client asks again now.
    pub(super) fn entry(&mut self, client: IpAddr, server: SocketAddr, now: Time) -> usize {
        if self.tags.is_empty() {
            self.tags = vec![[Tag::default(); WAYS]; BUCKETS].into();
            self.exchanges = vec![LatelyExchange::default(); BUCKETS * WAYS].into();
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
            *exchange = LatelyExchange::default();
        }
        at
    }

    /// The exchange in this place.
    pub(super) fn exchange(&mut self, at: usize) -> Option<&mut LatelyExchange> {
        self.exchanges.get_mut(at)
    }

    /// Keeps a packet of it until the source proves something.
    pub(super) fn keep(&mut self, at: usize, packet: &SampledPacket) {
        let exchange = self.exchanges.get_mut(at);
        if let (Some(exchange), Some(packets)) = (exchange, self.packets.get_mut(at))
            && let Some(place) = packets.get_mut(usize::from(exchange.kept))
        {
            *place = Some(*packet);
            exchange.kept += 1;
        }
    }

    /// The packets of it that were kept.
    pub(super) fn take(&mut self, at: usize) -> impl Iterator<Item = SampledPacket> {
        let kept = self.exchanges.get_mut(at).map_or(0, |it| std::mem::take(&mut it.kept));
        let packets = self.packets.get(at).copied().unwrap_or_default();
        packets.into_iter().take(kept.into()).flatten()
    }
}

/// A time in units of [`Lately::UNIT`]. It comes round after 52 days.
fn unit(time: Time) -> u32 {
    (time.0 >> Lately::UNIT) as u32
}

impl LatelyExchange {
    /// The client asks. What that proves, if it does: forged sources cannot know what a server sent.
    pub(super) fn asks(
        &mut self,
        outline: &Outline,
        packet: &SampledPacket,
        asked: u64,
    ) -> Option<Proof> {
        let is_returned = self.challenge.is_some() && outline.challenge == self.challenge;
        // The same again is what an attacker sends; something else after a response is a client that
        // goes on.
        let goes_on = self.asked != asked && self.port == packet.port;
        let proof = match self.answered {
            _ if is_returned => Some(Proof::Challenge),
            AnswerState::Split if goes_on => Some(Proof::Split),
            AnswerState::Yes if goes_on => Some(Proof::WentOn),
            _ => None,
        };
        (self.asked, self.port) = (asked, packet.port);
        (self.what, self.length) = (outline.message.label, packet.length.into());
        self.is_challenged = is_returned;
        self.answered = AnswerState::No;
        proof
    }

    /// The server responds.
    pub(super) fn responds(&mut self, outline: &Outline) {
        if outline.message.purpose == Purpose::ClientChallenge {
            self.challenge = outline.challenge.or(self.challenge);
            return;
        }
        self.answered = match outline.last_part {
            Some(true) => AnswerState::Split,
            Some(false) => self.answered,
            None => AnswerState::Yes,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_lately_is_known_and_what_was_long_ago_is_not() {
        let mut lately = Lately::default();
        let at = |seconds: i64| Time((1_700_000_000 + seconds) * 1_000_000_000);
        let (client, server) = (IpAddr::from([10, 0, 0, 1]), ([10, 0, 0, 2], 27015).into());
        assert!(lately.find(client, server, at(0)).is_none());
        let place = lately.entry(client, server, at(0));
        assert_eq!(lately.find(client, server, at(20)), Some(place));
        assert!(lately.find(client, server, at(40)).is_none());
        assert!(lately.find(client, ([10, 0, 0, 2], 27016).into(), at(1)).is_none());
        // It goes on as long as the client asks; what comes from before is of now.
        assert_eq!(lately.entry(client, server, at(25)), place);
        assert_eq!(lately.find(client, server, at(40)), Some(place));
        assert_eq!(lately.find(client, server, at(10)), Some(place));
    }

    #[test]
    fn a_flood_makes_it_forget_the_oldest_first() {
        let mut lately = Lately::default();
        let server = ([10, 0, 0, 2], 27015).into();
        let client = |n: u32| IpAddr::from((0x0B00_0000 + n).to_be_bytes());
        for n in 0..200_000_u32 {
            lately.entry(client(n), server, Time(i64::from(n) * 100_000_000));
        }
        let now = Time(200_000 * 100_000_000);
        let known = |lately: &Lately, all: std::ops::Range<u32>| {
            all.filter(|n| lately.find(client(*n), server, now).is_some()).count()
        };
        assert!(known(&lately, 199_800..200_000) > 195, "the latest");
        assert_eq!(known(&lately, 0..100_000), 0);
        // As fast as a flood can be: half of the places are of the latest.
        for n in 0..200_000_u32 {
            lately.entry(client(n), server, Time(now.0 + i64::from(n) * 2_000));
        }
        let now = Time(now.0 + 400_000_000);
        let latest = (184_000..200_000).filter(|n| lately.find(client(*n), server, now).is_some());
        assert!(latest.count() > 15_000);
    }
}
