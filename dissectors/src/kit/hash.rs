//! Maps and sets with keys from the wire. Their hashes use a random seed, so that senders cannot
//! cause collisions.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;

use foldhash::fast::FoldHasher;
use serde::{Deserialize, Serialize};

/// The seed of hashes that represent the hashed bytes.
pub type Seed = foldhash::quality::RandomState;

/// A hash of bytes with a random seed of this run. Equal hashes mean copies: unlike those of a
/// checksum, collisions cannot be constructed.
#[inline]
pub fn keyed_hash(bytes: &[u8]) -> u64 {
    static SEED: LazyLock<Seed> = LazyLock::new(Seed::default);
    SEED.hash_one(bytes)
}

/// A [`Seed`] without the last step of mixing, which finding an entry of a map does not need, and quicker for addresses.
#[derive(Clone, Default)]
pub struct MapSeed(foldhash::fast::RandomState);

impl BuildHasher for MapSeed {
    type Hasher = MapHasher;

    #[inline]
    fn build_hasher(&self) -> MapHasher {
        MapHasher(self.0.build_hasher())
    }
}

/// Hashes the octets of an address as one number, and the numbers before them (which variant it is, how many octets
/// follow) in half of their space: octet by octet takes several times as long.
pub struct MapHasher(FoldHasher<'static>);

impl Hasher for MapHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if let Ok(octets) = bytes.try_into() {
            self.write_u32(u32::from_ne_bytes(octets));
        } else if let Ok(octets) = bytes.try_into() {
            self.write_u128(u128::from_ne_bytes(octets));
        } else {
            self.0.write(bytes);
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.0.write_u8(number);
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.0.write_u16(number);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0.write_u32(number);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    #[inline]
    fn write_u128(&mut self, number: u128) {
        self.0.write_u128(number);
    }

    /// The length of what follows, or an index.
    #[inline]
    fn write_usize(&mut self, number: usize) {
        let number = number as u64;
        self.0.write_u32((number ^ number >> 32) as u32);
    }

    /// Which variant of an enum follows.
    #[inline]
    fn write_isize(&mut self, number: isize) {
        self.0.write_u32(number as u32);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// A map by keys from the wire.
pub type Map<K, V> = HashMap<K, V, MapSeed>;

/// A set of keys from the wire.
pub type Set<K> = HashSet<K, MapSeed>;

/// A map by keys that are hashes already, by a [`Seed`].
pub(crate) type HashedMap<V, K = u64> = HashMap<K, V, BuildHasherDefault<IdentityHash>>;

/// A set of hashes by a [`Seed`].
pub(crate) type HashedSet = HashSet<ShortHash, BuildHasherDefault<IdentityHash>>;

/// A hash by a [`Seed`] in three quarters of the space. With a million entries, a lookup finds a
/// wrong one once in 280 million times.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortHash([u16; 3]);

impl ShortHash {
    /// Parts that hashes are divided into.
    pub(crate) const PARTS: u16 = 8;

    /// Its part, from bits that hardly influence its place in a map.
    #[inline]
    pub(crate) fn part(self) -> u16 {
        self.0[1] >> 13
    }

    /// The hash without sixteen of its bits.
    #[inline]
    fn whole(self) -> u64 {
        let [low, middle, high] = self.0.map(u64::from);
        high << 48 | middle << 16 | low
    }
}

impl From<u64> for ShortHash {
    #[inline]
    fn from(hash: u64) -> ShortHash {
        ShortHash([hash as u16, (hash >> 16) as u16, (hash >> 48) as u16])
    }
}

impl Hash for ShortHash {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.whole());
    }
}

/// Batch size for insertions into a map or set: batching overlaps cache misses.
pub(crate) const AT_ONCE: usize = 64;

/// The identity: the key is a hash already.
#[derive(Default)]
pub(crate) struct IdentityHash(u64);

impl Hasher for IdentityHash {
    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Not needed for hashes.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A host as a key, hashed as one number: hashing octet by octet takes several times as long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Host(pub IpAddr);

impl Hash for Host {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            IpAddr::V4(address) => state.write_u32(address.into()),
            IpAddr::V6(address) => state.write_u128(address.into()),
        }
    }
}

/// A host and a port as a key, the host hashed as one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Socket(pub SocketAddr);

impl Hash for Socket {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        Host(self.0.ip()).hash(state);
        state.write_u32(self.0.port().into());
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn endpoints_that_differ_have_hashes_that_differ() {
        let seed = Seed::default();
        let ends = [
            "10.0.0.1:1",
            "10.0.0.1:2",
            "10.0.0.2:1",
            "0.0.0.0:1",
            "[::1]:1",
            "[::1]:2",
            "[::2]:1",
            "[1::1]:1",
            "[::]:1",
            "[::a00:1]:1",
        ];
        let ends = ends.map(|end| end.parse::<SocketAddr>().unwrap());
        let hashes: HashSet<ShortHash, Seed> =
            ends.iter().map(|end| seed.hash_one(Socket(*end)).into()).collect();
        assert_eq!(hashes.len(), ends.len());
    }

    #[test]
    fn hashes_are_found_by_themselves() {
        let mut map = HashedMap::default();
        map.insert(7, 'a');
        map.insert(7, 'b');
        map.insert(u64::MAX, 'c');
        assert_eq!([map.get(&7), map.get(&u64::MAX), map.get(&8)], [Some(&'b'), Some(&'c'), None]);
    }
}
