//! The messages that wait for a response: a client's query, a server's join or its info string with a wrong
//! challenge, and a master's challenge.

use crate::kit::Question;

use super::endpoint::Endpoint;

/// What it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A list, or its next page.
    List(Query),
    /// A challenge; a join, with what it contains of [`ServerChallenge`].
    Challenge(ServerChallenge),
    /// Another challenge: an info string with a wrong one.
    NewChallenge,
    /// An info string: a challenge.
    Info,
}

/// The challenge that Xash3D's servers send along with a join, if there is one and the join is complete.
pub(super) type ServerChallenge = Option<Option<[u8; 4]>>;

/// The remembered properties of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// The key that Xash3D's master must repeat, if the query is complete.
    pub(super) key: Option<Option<[u8; 4]>>,
    /// Identifies region and filter.
    pub(super) filter: FilterHash,
    /// The region alone.
    pub(super) region: u8,
    /// The address after which it continues, if readable.
    pub(super) seed: Option<Endpoint>,
    /// It has a key that only Xash3D's clients send: a reply may have several packets.
    pub(super) is_dialect: bool,
}

/// A short hash of region and filter.
pub(super) type FilterHash = [u8; 3];

impl Query {
    /// The hash (FNV-1a, without its lowest bits).
    pub(super) fn hash(region: u8, filter: &[u8]) -> FilterHash {
        let sign: u32 = std::iter::once(&region)
            .chain(filter)
            .fold(0x811C_9DC5, |sign, &byte| (sign ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let [_, hash @ ..] = sign.to_le_bytes();
        hash
    }

    /// Whether it asks for the same page as another.
    pub(super) fn repeats(&self, before: &Query) -> bool {
        (self.seed, self.filter) == (before.seed, before.filter)
    }
}

impl Asked {
    /// The query, if it is one.
    pub(super) fn query(&self) -> Option<&Query> {
        match self {
            Asked::List(query) => Some(query),
            _ => None,
        }
    }
}

impl Question for Asked {
    fn repeats(&self, before: &Asked) -> bool {
        match (self, before) {
            (Asked::List(query), Asked::List(before)) => query.repeats(before),
            (Asked::Challenge(_), Asked::Challenge(_)) => true,
            _ => false,
        }
    }

    fn is_alike(&self, other: &Asked) -> bool {
        self.repeats(other)
    }
}
