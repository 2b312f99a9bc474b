//! Samples of the AssaultCube Reloaded master.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "acr-master.pcap",
        shows: "a server registers and is checked over UDP; a list in chunks on a persistent \
                connection; lookups; a player's proof that succeeds and one that fails \
                (`--acr-key user=42,key=73616d706c656b6579`, and the same for 43)",
        make: || pcap(include_str!("acr-master.txt")),
    },
    Sample {
        name: "acr-master-faults.pcap",
        shows: "faults: flags, lines, parameters and addresses that the specification does not allow, \
                a challenge and an id that are used twice, a request without a response",
        make: || pcap(include_str!("acr-master-faults.txt")),
    },
];

const SETTING: Setting = Setting::tcp(80);

/// The conversations that conform to the specification.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    vec![(include_str!("acr-master.txt").to_owned(), SETTING)]
}

fn pcap(script: &str) -> Vec<u8> {
    play(script, &SETTING, &[]).pcap()
}
