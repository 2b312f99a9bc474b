//! Filters as a program in C for XDP, which drops packets before the network stack sees them.
//!
//! The program includes no headers, so that `clang -O2 -target bpf -c` alone compiles it. It has no limits: a filter
//! that is one is not for it.

use std::fmt::Write;
use std::net::IpAddr;

use super::ranges::{Comparison, within};
use crate::abuse::{BOGONS, FirewallFilter, Match};

/// VLAN tags that it looks behind.
pub(super) const MOST_TAGS: u8 = 2;

/// What comes before the filters: where a packet's headers are.
pub(super) const BEGIN: &str = r#"// clang -O2 -target bpf -c FILE.c -o FILE.o && ip link set dev INTERFACE xdp obj FILE.o sec xdp
// Remove it: ip link set dev INTERFACE xdp off
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;

struct xdp_md {
    u32 data, data_end;
};

struct packet {
    const u8 *ip, *udp, *end;
    u8 version;
};

static inline u16 get16(const u8 *at) { return at[0] << 8 | at[1]; }
static inline u32 get32(const u8 *at) { return (u32)get16(at) << 16 | get16(at + 2); }

// Finds the UDP header behind up to two VLAN tags. Later fragments have none.
static inline int is_udp(const struct xdp_md *context, struct packet *packet) {
    const u8 *at = (const u8 *)(long)context->data;
    const u8 *end = packet->end = (const u8 *)(long)context->data_end;
    if (at + 14 > end) return 0;
    u16 type = get16(at + 12);
    at += 14;
    for (int tags = 0; tags < 2 && (type == 0x8100 || type == 0x88a8); tags++) {
        if (at + 4 > end) return 0;
        type = get16(at + 2);
        at += 4;
    }
    packet->ip = at;
    if (type == 0x0800) {
        if (at + 20 > end || at[9] != 17 || (get16(at + 6) & 0x1fff)) return 0;
        packet->version = 4;
        packet->udp = at + (at[0] & 15) * 4;
    } else if (type == 0x86dd) {
        if (at + 40 > end || at[6] != 17) return 0;
        packet->version = 6;
        packet->udp = at + 40;
    } else {
        return 0;
    }
    return packet->udp + 8 <= end;
}
"#;

/// A filter as a function of this name. `numbers`: its measured effects, as comments of a shell.
pub(super) fn function(filter: &FirewallFilter, name: &str, numbers: &str) -> String {
    let numbers: String =
        numbers.split_inclusive('\n').map(|line| line.replacen('#', "//", 1)).collect();
    let conditions = conditions(filter).join("\n        && ");
    format!(
        "\n{numbers}static inline int {name}(const struct packet *packet) {{\n    \
         return {conditions};\n}}\n"
    )
}

/// The program, of the functions with these names.
pub(super) fn program(names: &[String]) -> String {
    let calls: Vec<_> = names.iter().map(|name| format!("{name}(&packet)")).collect();
    let any = if calls.is_empty() { "0".to_owned() } else { calls.join(" || ") };
    format!(
        "\n__attribute__((section(\"xdp\"), used)) int gamewire(struct xdp_md *context) {{\n    \
         struct packet packet;\n    if (!is_udp(context, &packet)) return 2; // XDP_PASS\n    \
         return {any} ? 1 : 2; // XDP_DROP or XDP_PASS\n}}\n\n\
         __attribute__((section(\"license\"), used)) char _license[] = \"GPL\";\n"
    )
}

fn conditions(filter: &FirewallFilter) -> Vec<String> {
    let is_v6 = filter.target.is_ipv6();
    let (version, from, to) = if is_v6 { (6, 8, 24) } else { (4, 12, 16) };
    let mut all = vec![format!("packet->version == {version}")];
    all.push(is_in(filter.target.ip(), filter.bits, to));
    if !filter.any_port {
        all.push(within(&C, "get16(packet->udp + 2)", &filter.ports, 0));
    }
    for it in &filter.matches {
        all.push(match it {
            Match::HopLimit(limits) => {
                within(&C, if is_v6 { "packet->ip[7]" } else { "packet->ip[8]" }, limits, 0)
            }
            Match::Length(lengths) => within(&C, "get16(packet->udp + 4)", lengths, 8),
            Match::MissingChallenge(length) => {
                format!("get16(packet->udp + 4) == {}", u32::from(*length) + 8)
            }
            Match::SourcePort(ports) => within(&C, "get16(packet->udp)", ports, 0),
            Match::Identification(it) => format!("get16(packet->ip + 4) == {it}"),
            Match::Bogons => {
                any(BOGONS.iter().map(|(network, bits)| is_in((*network).into(), *bits, from)))
            }
            Match::Sources(sources) => {
                any(sources.iter().map(|it| is_in(*it, if is_v6 { 128 } else { 32 }, from)))
            }
            Match::Bytes { .. } => continue,
        });
    }
    for (at, bytes) in filter.contents() {
        all.push(format!("packet->udp + {} <= packet->end", 8 + at + bytes.len()));
        let each = bytes.iter().zip(8 + at..);
        all.extend(each.map(|(byte, at)| format!("packet->udp[{at}] == 0x{byte:02x}")));
    }
    all
}

/// That a number is in a range.
const C: Comparison = Comparison { equals: "==", and: "&&" };

fn any(each: impl Iterator<Item = String>) -> String {
    format!("({})", Vec::from_iter(each).join(" || "))
}

/// That the address at this offset is in a network.
fn is_in(network: IpAddr, bits: u8, offset: usize) -> String {
    let octets = match network {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let mut all = String::new();
    for (word, at) in octets.chunks_exact(4).zip((0..).step_by(4)) {
        let left = usize::from(bits).saturating_sub(8 * at).min(32);
        let word = word.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        if left == 0 {
            break;
        }
        let and = if all.is_empty() { "" } else { " && " };
        let mask = u32::MAX << (32 - left);
        let number = format!("get32(packet->ip + {})", offset + at);
        let masked = match left {
            32 => number,
            _ => format!("({number} & 0x{mask:08x})"),
        };
        // Writing to a string cannot fail.
        let _ = write!(all, "{and}{masked} == 0x{:08x}", word & mask);
    }
    if all.is_empty() { "1".to_owned() } else { format!("({all})") }
}
