//! Samples of the AssaultCube Reloaded master.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "acr-master.pcap",
        shows: "a server that registers and is checked over UDP, the list in chunks on a \
                connection that is kept, lookups, and a player's proof that succeeds and one that \
                does not (`--acr-key user=42,key=73616d706c656b6579`, and the same for 43)",
        make: || pcap(include_str!("acr-master.txt")),
    },
    Sample {
        name: "acr-master-faults.pcap",
        shows: "faults: flags, lines, parameters and addresses against the document, a challenge and an \
                id used twice, a request without an answer",
        make: || pcap(include_str!("acr-master-faults.txt")),
    },
];

const SETTING: Setting = Setting::tcp(80);

/// The conversations that are as the specification wants them.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    vec![(include_str!("acr-master.txt").to_owned(), SETTING)]
}

fn pcap(script: &str) -> Vec<u8> {
    play(script, &SETTING, &[]).pcap()
}
