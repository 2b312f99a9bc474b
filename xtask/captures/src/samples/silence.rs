//! Samples without responses, with duplicates, or without supported protocols.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "silence-unanswered.pcap",
        shows: "faults: six requests to a server that responds to none of them, although its host is \
                up, and joins that a master does not challenge; `check` exits with 1",
        make: || play(include_str!("silence-unanswered.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-icmp.pcap",
        shows: "faults: requests that cause ICMP errors, from the server's host and from a router; \
                one server responds to a repeated request",
        make: || play(include_str!("silence-icmp.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-doubled.pcap",
        shows: "a capture with every datagram twice, which breaks no rule",
        make: || play(include_str!("silence-doubled.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-others.pcap",
        shows: "no supported protocol: a DNS query with its response, and another kind of game server; \
                `check` reports it, and exits with 1 if `--require-traffic` is given",
        make: || play(include_str!("silence-others.txt"), &SETTING, &[]).pcap(),
    },
];

const SETTING: Setting = Setting::udp(27015);

/// The conversations that conform to the specifications.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    vec![(include_str!("silence-doubled.txt").to_owned(), SETTING)]
}
