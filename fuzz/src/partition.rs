//! Bytes that the processes of a cluster exchange.

use dissectors::kit::Time;
use gamewire::capture::Notice;
use gamewire::partition::{Plan, Survey, from_bytes, to_bytes};
use gamewire::session::{EventPart, OtherHosts, Totals};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the bytes as each type; a valid value can be written and read again.
pub(crate) fn run(bytes: &[u8]) {
    again::<Survey>(bytes);
    again::<Plan>(bytes);
    again::<OtherHosts>(bytes);
    again::<(Time, Notice)>(bytes);
    again::<(u8, EventPart)>(bytes);
    again::<(u8, Totals)>(bytes);
}

fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    if let Ok(value) = from_bytes::<T>(bytes) {
        let written = to_bytes(&value);
        assert!(from_bytes::<T>(&written).is_ok(), "it does not read what it writes");
    }
}
