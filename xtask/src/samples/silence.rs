//! Samples in which nobody answers, or nobody speaks a protocol of ours.

use crate::exchange::Setting;
use crate::samples::{Sample, play};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "silence-unanswered.pcap",
        shows: "faults: six requests to a server that answers none of them, though its host is alive, \
                and joins that a master never challenges; `check` exits with 1",
        make: || play(include_str!("silence-unanswered.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-icmp.pcap",
        shows: "faults: requests that draw ICMP errors, of the asked host and of a router on the way; \
                one server answers when it is asked again",
        make: || play(include_str!("silence-icmp.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-doubled.pcap",
        shows: "two recorders on one line: each datagram comes twice, and nobody is to blame",
        make: || play(include_str!("silence-doubled.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "silence-others.pcap",
        shows: "nothing of ours: a name query and its answer, and a game server of another kind; `check` \
                says so, and exits with 1 if `--require-traffic` is given",
        make: || play(include_str!("silence-others.txt"), &SETTING, &[]).pcap(),
    },
];

const SETTING: Setting = Setting::udp(27015);

/// The conversations that are as the specifications want them.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    vec![(include_str!("silence-doubled.txt").to_owned(), SETTING)]
}
