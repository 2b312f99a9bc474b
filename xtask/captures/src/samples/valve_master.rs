//! Samples of the "Master Server Query Protocol".

use crate::exchange::Setting;
use crate::samples::{Sample, play, record};
use crate::wire::{ByteOrder, Interface, Link, PcapFormat, PcapNg, Precision};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "valve-master-list.pcap",
        shows: "two clients page through lists of servers up to the end marker, and one starts again",
        make: || play(include_str!("valve-master-list.txt"), &SETTING, &[]).in_time().pcap(),
    },
    Sample {
        name: "valve-master-filters.pcap",
        shows: "queries with every filter of the specification's table, groups of conditions, and all \
                regions; Linux cooked capture, nanoseconds",
        make: filters,
    },
    Sample {
        name: "valve-master-registration.pcap",
        shows: "servers of three engines join, send heartbeats and quit, and one joins again; raw IP",
        make: || {
            let setting = Setting { link: Link::Raw, ..SETTING };
            play(include_str!("valve-master-registration.txt"), &setting, &[]).pcap()
        },
    },
    Sample {
        name: "valve-master-xash3d.pcapng",
        shows: "Xash3D's dialect, which by the specification has faults and unknown filters: the \
                server's own challenges, keys, a server after NAT; IPv4, and IPv6 addresses over IPv6",
        make: xash3d,
    },
    Sample {
        name: "valve-master-faults.pcap",
        shows: "faults: queries, paging, ports and a challenge in the wrong byte order, info \
                strings, a quit of another engine",
        make: || play(include_str!("valve-master-faults.txt"), &SETTING, &[]).pcap(),
    },
];

/// The usual port of Valve's masters.
const SETTING: Setting = Setting::udp(27010);

/// The conversations that conform to the specification.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    let scripts = [
        include_str!("valve-master-list.txt"),
        include_str!("valve-master-filters.txt"),
        include_str!("valve-master-registration.txt"),
    ];
    scripts.map(|script| (script.to_owned(), SETTING)).into()
}

fn filters() -> Vec<u8> {
    let setting = Setting { link: Link::Sll2, ..SETTING };
    let nanoseconds = PcapFormat { precision: Precision::Nano, ..PcapFormat::default() };
    play(include_str!("valve-master-filters.txt"), &setting, &[]).pcap_as(nanoseconds)
}

fn xash3d() -> Vec<u8> {
    let mut file = PcapNg::new(ByteOrder::Little);
    let inside = file.interface(Interface::new(Link::Ethernet));
    let outside = file.interface(Interface::new(Link::Ipv6));
    let ipv4 = play(include_str!("valve-master-xash3d-ipv4.txt"), &SETTING, &[]);
    record(&mut file, inside, &ipv4.packets);
    let setting = Setting { link: Link::Ipv6, ipv6: true, ..SETTING };
    let ipv6 = play(include_str!("valve-master-xash3d-ipv6.txt"), &setting, &[]);
    record(&mut file, outside, &ipv6.packets);
    file.done()
}
