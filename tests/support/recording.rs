//! Captures with faults of the recording or of layers below a message: fragments, segments, files.

use captures::exchange::{Setting, capture};
use captures::wire::{ByteOrder, Capture, Interface, Link, PcapNg, TimedPacket};
use dissectors::catalogue;

const FRAGMENTS: &str = "0.00 c > s  FFFFFFFF 56 4BA1D522\n\
    0.02 s > c  frag=512 FFFFFFFF 45 0100 'motd' 00 'x'*1000 00\nend 60";

/// The Ethernet header.
const ETHERNET: usize = 14;

/// The example of a NET rule that a script cannot express; `None` for all other rules.
pub(crate) fn play(code: &str, is_right: bool) -> Option<Vec<u8>> {
    let mut fragments = capture(FRAGMENTS, &Setting::udp(27015)).expect("a good script");
    let script = catalogue::rule("GS1016").expect("a rule").right;
    let mut stream = capture(script, &Setting::udp(27900)).expect("a good script");
    Some(match (code, is_right) {
        ("NET004" | "NET005" | "NET008" | "NET009", true) => fragments.pcap(),
        ("NET006" | "NET007", true) => stream.pcap(),
        ("SEC006", false) => flood("54 'Source Engine Query' 00"),
        ("SEC007", false) => flood("'qconnect0x1'"),
        ("NET010", is_right) => statistics(&fragments, if is_right { 0 } else { 7 }),
        ("NET004", false) => {
            let mut shifted = fragments.packets[1].clone();
            let offset = &mut shifted.bytes[ETHERNET + 6..ETHERNET + 8];
            let at = u16::from_be_bytes([offset[0], offset[1]]) + 1;
            offset.copy_from_slice(&at.to_be_bytes());
            fragments.packets.insert(2, shifted);
            fragments.pcap()
        }
        ("NET005", false) => {
            fragments.packets.remove(2);
            fragments.pcap()
        }
        ("NET006", false) => {
            let at = list(&stream);
            stream.packets.remove(at);
            stream.pcap()
        }
        ("NET007", false) => {
            let at = list(&stream);
            let mut repeated = stream.packets[at].clone();
            let last = repeated.bytes.len() - 10;
            repeated.bytes[last] ^= 1;
            stream.packets.insert(at + 1, repeated);
            stream.pcap()
        }
        ("NET008", false) => {
            let mut damaged = fragments.packets[0].clone();
            damaged.bytes[ETHERNET] = 0x55;
            fragments.packets.insert(1, damaged);
            fragments.pcap()
        }
        ("NET009", false) => {
            let mut bytes = fragments.pcap();
            bytes.truncate(bytes.len() - 3);
            bytes
        }
        _ => return None,
    })
}

/// Six thousand packets with this content from one source within five seconds, after an answered
/// request of another.
fn flood(content: &str) -> Vec<u8> {
    let request = |n: u32| {
        let time = 1.0 + f64::from(n) / 1200.0;
        format!("{time:.6} c > s  FFFFFFFF {content}\n")
    };
    let asked = "0.00 d > s  FFFFFFFF 54 'Source Engine Query' 00\n\
                 0.02 s > d  FFFFFFFF 41 4BA1D522\n";
    let script = asked.to_owned() + &String::from_iter((0..6000).map(request));
    capture(&script, &Setting::udp(27015)).expect("a good script").pcap()
}

/// The packet with the list.
fn list(stream: &Capture) -> usize {
    let is_list = |packet: &TimedPacket| packet.bytes.windows(4).any(|bytes| bytes == br"\ip\");
    stream.packets.iter().position(is_list).expect("a list")
}

/// A pcapng file with the recorder's number of dropped packets.
fn statistics(capture: &Capture, dropped: u64) -> Vec<u8> {
    let mut file = PcapNg::new(ByteOrder::Little);
    let interface = file.interface(Interface::new(Link::Ethernet));
    for packet in &capture.packets {
        file.enhanced(interface, packet);
    }
    let last = capture.packets.last().expect("packets").time;
    file.statistics(interface, last, 100, dropped);
    file.done()
}
