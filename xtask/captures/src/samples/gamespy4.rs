//! Samples of the "UT3 query protocol", GameSpy's query protocol 4.

use crate::exchange::Setting;
use crate::samples::{Sample, play};
use crate::wire::{ByteOrder, Link, PcapFormat, Precision};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "gamespy4-ut3.pcap",
        shows: "queries of two UT3 servers: the specification's table, UT3's known bugs, bots without \
                names, a negative challenge",
        make: || play(include_str!("gamespy4-ut3.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "gamespy4-ut3-split.pcap",
        shows: "responses in several packets, out of order and with a copy; IPv6 after a VLAN tag, \
                big-endian nanoseconds",
        make: split,
    },
    Sample {
        name: "gamespy4-minecraft.pcap",
        shows: "Minecraft's variant: a masked session id, the full and the basic form; raw IP",
        make: || {
            let setting = Setting { link: Link::Raw, ..MINECRAFT };
            play(include_str!("gamespy4-minecraft.txt"), &setting, &[]).pcap()
        },
    },
    Sample {
        name: "gamespy4-faults.pcap",
        shows: "faults: a challenge in the wrong byte order, a missing one, one that is not a number, \
                impossible values, a missing packet",
        make: || play(include_str!("gamespy4-faults.txt"), &SETTING, &[]).pcap(),
    },
];

/// The usual port of UT3 servers.
const SETTING: Setting = Setting::udp(6500);

/// The usual port of Minecraft servers.
const MINECRAFT: Setting = Setting::udp(25565);

/// The conversations that conform to the specification.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    let scripts = [
        (include_str!("gamespy4-ut3.txt"), SETTING),
        // The path of packets is determined there, not by this script.
        (&include_str!("gamespy4-ut3-split.txt").replace("vlan=6", ""), SETTING),
        (include_str!("gamespy4-minecraft.txt"), MINECRAFT),
    ];
    scripts.map(|(script, setting)| (script.to_owned(), setting)).into()
}

fn split() -> Vec<u8> {
    let setting = Setting { ipv6: true, ..SETTING };
    let format = PcapFormat { order: ByteOrder::Big, precision: Precision::Nano };
    play(include_str!("gamespy4-ut3-split.txt"), &setting, &[]).pcap_as(format)
}
