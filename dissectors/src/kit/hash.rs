//! Maps and sets whose keys come from the wire: hashed by a seed of this run, which nobody who
//! writes captures knows.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The seed of a map's hashes.
pub type Seed = foldhash::quality::RandomState;

/// A map by keys from the wire.
pub type Map<K, V> = HashMap<K, V, Seed>;

/// A set of what comes from the wire.
pub type Set<K> = HashSet<K, Seed>;

/// A host as a key, hashed as one number: octet by octet takes several times as long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Host(pub(crate) IpAddr);

impl Hash for Host {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            IpAddr::V4(address) => state.write_u32(address.into()),
            IpAddr::V6(address) => state.write_u128(address.into()),
        }
    }
}

/// A host and a port as a key, hashed like [`Host`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket(pub(crate) SocketAddr);

impl Hash for Socket {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        Host(self.0.ip()).hash(state);
        state.write_u32(self.0.port().into());
    }
}
