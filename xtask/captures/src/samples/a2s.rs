//! Samples of "Server queries" (A2S).

pub(crate) mod messages;

use std::net::IpAddr;

use bzip2::Compression;

use crate::exchange::Setting;
use crate::samples::{Sample, fill, play, record};
use crate::wire::tunnel::{self, Gre};
use crate::wire::{ByteOrder, Capture, Interface, Ip, Link, PcapNg, ethernet, ethertype};
use messages::{
    SPLIT_SIZE, player_response, rules_response, split_compressed, split_goldsrc, split_old_source,
    split_orange_box,
};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "a2s-info-players-rules.pcap",
        shows: "a conforming conversation with a Source server: info with a challenge and every field \
                of the extra data, players, rules",
        make: || pcap(include_str!("a2s-info-players-rules.txt")),
    },
    Sample {
        name: "a2s-documents-examples.pcap",
        shows: "the examples of the specification: info responses of four games, a ping, a challenge",
        make: || pcap(include_str!("a2s-documents-examples.txt")),
    },
    Sample {
        name: "a2s-goldsrc.pcap",
        shows: "GoldSrc servers: the `m` info response without and with the fields of a mod, rules \
                split as GoldSrc does it",
        make: || pcap(&goldsrc()),
    },
    Sample {
        name: "a2s-split-orange-box.pcap",
        shows: "players and rules split as the Orange Box engine does it, with Size",
        make: || pcap(&orange_box()),
    },
    Sample {
        name: "a2s-split-old-source.pcap",
        shows: "rules split without Size, by a server of app 240 with protocol 7",
        make: || pcap(&old_source()),
    },
    Sample {
        name: "a2s-split-bzip2.pcap",
        shows: "rules compressed with bzip2 and split: with Size, and by an older engine without",
        make: || pcap(&compressed()),
    },
    Sample {
        name: "a2s-split-order.pcap",
        shows: "parts of split responses: out of order, repeated, of two responses interleaved, and \
                - a fault - a missing one",
        make: || pcap(&order()),
    },
    Sample {
        name: "a2s-the-ship.pcap",
        shows: "The Ship: mode, witnesses and duration in the info, deaths and money after the \
                players",
        make: || pcap(include_str!("a2s-the-ship.txt")),
    },
    Sample {
        name: "a2s-quirks.pcap",
        shows: "deviations of real servers and clients from the specification, faults and known \
                forms: a challenge of 0, padding, two inner headers, texts, unknown messages, \
                truncated lists, other charsets, trailing bytes, several responses",
        make: || pcap(&quirks()),
    },
    Sample {
        name: "a2s-vlan-ipv6-fragments.pcapng",
        shows: "two sections of both byte orders, Ethernet with VLAN tags and Linux cooked \
                capture, nanoseconds, IPv6 fragments in and out of order",
        make: vlan_ipv6_fragments,
    },
    Sample {
        name: "a2s-tunnels.pcap",
        shows: "info requests and responses through IP in IP, 6in4, GRE and VXLAN",
        make: tunnels,
    },
];

/// The usual port of Source servers.
const SETTING: Setting = Setting::udp(27015);

/// The conversations that conform to the specification.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    let plain = [
        include_str!("a2s-info-players-rules.txt"),
        include_str!("a2s-documents-examples.txt"),
        include_str!("a2s-the-ship.txt"),
    ];
    let plain = plain.map(str::to_owned).into_iter();
    let filled = [goldsrc(), orange_box(), old_source(), compressed()];
    plain.chain(filled).map(|script| (script, SETTING)).collect()
}

fn pcap(script: &str) -> Vec<u8> {
    play(script, &SETTING, &[]).pcap()
}

/// Names the parts of a split response, which must be as many as there are names.
fn named<'a>(names: &[&'a str], parts: Vec<Vec<u8>>) -> Vec<(&'a str, Vec<u8>)> {
    assert_eq!(names.len(), parts.len(), "{names:?}");
    names.iter().copied().zip(parts).collect()
}

fn goldsrc() -> String {
    let rules = named(&["rules-0", "rules-1"], split_goldsrc(0x35, &rules_response(70, 1)));
    fill(include_str!("a2s-goldsrc.txt"), &rules)
}

fn orange_box() -> String {
    let mut parts = named(
        &["rules-0", "rules-1", "rules-2"],
        split_orange_box(0x0000_02D1, &rules_response(90, 2)),
    );
    parts.extend(named(
        &["players-0", "players-1"],
        split_orange_box(0x0000_02D2, &player_response(64, 3)),
    ));
    fill(include_str!("a2s-split-orange-box.txt"), &parts)
}

fn old_source() -> String {
    let rules = split_old_source(0x0000_0C11, &rules_response(90, 4));
    let rules = named(&["rules-0", "rules-1", "rules-2"], rules);
    fill(include_str!("a2s-split-old-source.txt"), &rules)
}

fn compressed() -> String {
    let mut parts = named(
        &["rules-0", "rules-1"],
        split_compressed(
            0x0000_07A1,
            Some(SPLIT_SIZE),
            Compression::best(),
            &rules_response(120, 5),
        ),
    );
    parts.extend(named(
        &["old-rules-0", "old-rules-1"],
        split_compressed(0x0000_0D33, None, Compression::best(), &rules_response(120, 6)),
    ));
    fill(include_str!("a2s-split-bzip2.txt"), &parts)
}

fn order() -> String {
    let rules = |names: [&'static str; 3], id, seed| {
        named(&names, split_orange_box(id, &rules_response(90, seed)))
    };
    let mut parts = rules(["late-0", "late-1", "late-2"], 0x0000_0101, 7);
    parts.extend(rules(["repeated-0", "repeated-1", "repeated-2"], 0x0000_0102, 8));
    parts.extend(rules(["rules-0", "rules-1", "rules-2"], 0x0000_0103, 9));
    parts.extend(named(
        &["players-0", "players-1"],
        split_orange_box(0x0000_0104, &player_response(64, 10)),
    ));
    parts.extend(rules(["missing-0", "missing-1", "missing-2"], 0x0000_0105, 11));
    fill(include_str!("a2s-split-order.txt"), &parts)
}

fn quirks() -> String {
    let mut cut_off = player_response(64, 12);
    cut_off.truncate(1260);
    let doubled = [vec![0xFF; 4], rules_response(70, 13)].concat();
    let mut parts = named(&["doubled-0", "doubled-1"], split_orange_box(0x0000_0201, &doubled));
    parts.push(("cut-off", cut_off));
    fill(include_str!("a2s-quirks.txt"), &parts)
}

fn vlan_ipv6_fragments() -> Vec<u8> {
    let players = [("players", player_response(50, 14))];
    let nanoseconds = |name: &str, link| Interface {
        name: Some(name.to_owned()),
        resolution: Some(9),
        ..Interface::new(link)
    };
    let mut file = PcapNg::new(ByteOrder::Little);
    let trunk = file.interface(nanoseconds("eth0", Link::Ethernet));
    let any = file.interface(nanoseconds("any", Link::Sll2));

    let tagged = play(include_str!("a2s-vlan.txt"), &SETTING, &[]);
    record(&mut file, trunk, &tagged.packets);

    let script = include_str!("a2s-ipv6-fragments.txt");
    let setting = Setting { ipv6: true, link: Link::Sll2, ..SETTING };
    record(&mut file, any, &play(script, &setting, &players).packets);

    // The same again in the other byte order, in microseconds, with reversed fragments.
    file.section(ByteOrder::Big);
    let plain = file.interface(Interface::new(Link::Ethernet));
    let mut packets = play(script, &Setting { link: Link::Ethernet, ..setting }, &players).packets;
    let last_time = packets[packets.len() - 1].time;
    let first = packets.partition_point(|packet| packet.time < last_time);
    packets[first..].reverse();
    for packet in &mut packets {
        packet.time = packet.time.after_ms(10_000);
    }
    record(&mut file, plain, &packets);
    file.done()
}

/// Encapsulates an IP packet or a frame in an IP packet.
type Tunnel = fn(&Ip, &[u8]) -> Vec<u8>;

fn tunnels() -> Vec<u8> {
    let v4 = |last: u8| IpAddr::from([198, 51, 100, last]);
    let v6 = |last: u16| IpAddr::from([0x2001, 0xDB8, 0, 0, 0, 0, 0, last]);
    let keyed: Tunnel = |outer, inner| {
        Gre { checksum: true, key: Some(42), sequence: Some(1) }.packet(outer, inner)
    };
    let bridged: Tunnel = |outer, inner| {
        Gre::default().packet_of(outer, ethertype::BRIDGED, &Link::Ethernet.frame(&[], inner))
    };
    let vxlan: Tunnel = |outer, inner| {
        // The inner frame has other MAC addresses than those derived from the IP addresses.
        let (to, from) = ([0x02, 0, 0, 0, 0, 0x0B], [0x02, 0, 0, 0, 0, 0x0A]);
        tunnel::vxlan(outer, 51_000, 77, &ethernet(to, from, &[], ethertype::IPV4, inner))
    };
    let ways: [(Tunnel, bool, bool); 7] = [
        (tunnel::ip_in_ip, false, false),
        (tunnel::ip_in_ip, false, true),
        (tunnel::ip_in_ip, true, false),
        (|outer, inner| Gre::default().packet(outer, inner), false, false),
        (keyed, false, true),
        (bridged, false, false),
        (vxlan, false, false),
    ];
    let mut capture = Capture::new(Link::Ethernet);
    for (number, (wrap, outer_v6, inner_v6)) in ways.into_iter().enumerate() {
        let script = include_str!("a2s-tunnels.txt").replace("{number}", &number.to_string());
        let setting = Setting { link: Link::Raw, ipv6: inner_v6, ..SETTING };
        for packet in play(&script, &setting, &[]).packets {
            let ends = if outer_v6 { [v6(1), v6(2)] } else { [v4(1), v4(2)] };
            let to_server = packet.bytes[if inner_v6 { 39 } else { 19 }] == 2;
            let outer = match (ends, to_server) {
                ([near, far], true) => Ip::new(near, far),
                ([near, far], false) => Ip::new(far, near),
            };
            capture.push(packet.time, &wrap(&outer, &packet.bytes));
        }
    }
    capture.pcap()
}
