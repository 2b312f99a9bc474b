//! Maps and sets whose keys come from the wire: hashed by a seed of this run, which nobody who
//! writes captures knows.

use std::collections::{HashMap, HashSet};

/// The seed of a map's hashes.
pub type Seed = foldhash::quality::RandomState;

/// A map by keys from the wire.
pub type Map<K, V> = HashMap<K, V, Seed>;

/// A set of what comes from the wire.
pub type Set<K> = HashSet<K, Seed>;
