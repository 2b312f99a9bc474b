//! Filters in the languages of firewalls.

use std::net::{IpAddr, SocketAddr};

use clap::ValueEnum;

use crate::abuse::{FirewallFilter, Match, RateLimit};
use crate::text::percent;

/// A firewall's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Firewall {
    /// nftables, for `nft -f`
    Nft,
    /// iptables, for `iptables-restore --noflush`, or `ip6tables-restore`
    Iptables,
    /// A filter of tcpdump and libpcap, that selects what would be dropped
    Bpf,
    /// BGP FlowSpec as Cisco IOS XR reads it: by lengths and ports only
    CiscoFlowspec,
}

impl Firewall {
    /// The separator of two filters that are applied together.
    pub fn between(self) -> &'static str {
        match self {
            Firewall::Nft | Firewall::Iptables | Firewall::CiscoFlowspec => "",
            Firewall::Bpf => "or\n",
        }
    }

    /// Whether the language can express the filter.
    pub fn takes(self, filter: &FirewallFilter) -> bool {
        let is_length = |it: &Match| matches!(it, Match::Length(_) | Match::MissingChallenge(_));
        match self {
            Firewall::Nft | Firewall::Iptables | Firewall::Bpf => true,
            // It cannot match payloads: without a length, it would drop players' game traffic. At a
            // victim, the ports of other services suffice.
            Firewall::CiscoFlowspec if filter.any_port => !filter.matches.is_empty(),
            Firewall::CiscoFlowspec => {
                let others = |it: &Match| is_length(it) || matches!(it, Match::SourcePort(_));
                let limit = matches!(filter.limit, None | Some(RateLimit::OfAll(_)));
                limit && filter.matches.iter().any(is_length) && filter.matches.iter().all(others)
            }
        }
    }
}

/// The filter, ready to be loaded, with its measured effect.
pub fn rules(filter: &FirewallFilter, firewall: Firewall, name: &str) -> String {
    let numbers = numbers(filter);
    numbers
        + &match firewall {
            Firewall::Nft => nft(filter, name),
            Firewall::Iptables => iptables(filter, name),
            Firewall::Bpf => bpf(filter),
            Firewall::CiscoFlowspec => flowspec(filter, name),
        }
}

fn numbers(filter: &FirewallFilter) -> String {
    let cost = match (filter.collateral, filter.host_collateral) {
        (Some(share), Some(host)) => format!(
            "{} of the packets of real clients to this port, {} of those to this host",
            percent(share),
            percent(host)
        ),
        (Some(share), None) => {
            format!("{} of the responses that the target asked for", percent(share))
        }
        (None, _) if filter.any_port => {
            "it asked for no response in the capture to measure its cost by".to_owned()
        }
        _ => "no packet of a real client is in the capture to measure its cost by".to_owned(),
    };
    let drops = percent(filter.drops);
    let remains = filter.remains;
    format!(
        "# In the capture: drops {drops} of the attack, {remains:.1} packets a second remain; {cost}.\n"
    )
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that a payload must have, and their offsets.
fn contents(filter: &FirewallFilter) -> impl Iterator<Item = (usize, &[u8])> {
    let bytes = filter.matches.iter().filter_map(|it| match it {
        Match::Bytes { at, bytes } => Some((usize::from(*at), &bytes[..])),
        _ => None,
    });
    let all = std::iter::once((0, &filter.prefix[..])).chain(bytes);
    all.filter(|(_, bytes)| !bytes.is_empty())
}

/// The attacked address, with the bits of a network.
fn target(filter: &FirewallFilter) -> String {
    let address = filter.target.ip();
    let all = if address.is_ipv4() { 32 } else { 128 };
    if filter.bits == all { address.to_string() } else { format!("{address}/{}", filter.bits) }
}

/// A mask of this many bits, as an address.
fn mask(bits: u8, like: SocketAddr) -> IpAddr {
    match like {
        SocketAddr::V4(_) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::from(mask.to_be_bytes())
        }
        SocketAddr::V6(_) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::from(mask.to_be_bytes())
        }
    }
}

/// The addresses of a list.
fn addresses(sources: &[IpAddr], between: &str) -> String {
    sources.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(between)
}

fn nft(filter: &FirewallFilter, name: &str) -> String {
    let (ip, ttl, kind) = match filter.target.ip() {
        IpAddr::V4(_) => ("ip", "ip ttl", "ipv4_addr"),
        IpAddr::V6(_) => ("ip6", "ip6 hoplimit", "ipv6_addr"),
    };
    let mut what = format!("{ip} daddr {}", target(filter));
    what += &match filter.any_port {
        true => " meta l4proto udp".to_owned(),
        false => format!(" udp dport {}", filter.target.port()),
    };
    for (at, bytes) in contents(filter) {
        what += &format!(" @th,{},{} 0x{}", 64 + 8 * at, 8 * bytes.len(), hex(bytes));
    }
    for it in &filter.matches {
        what += &match it {
            Match::HopLimit(limit) => format!(" {ttl} {limit}"),
            Match::Length(length) | Match::MissingChallenge(length) => {
                format!(" udp length {}", u32::from(*length) + 8)
            }
            Match::SourcePort(port) => format!(" udp sport {port}"),
            Match::Sources(sources) => format!(" {ip} saddr {{ {} }}", addresses(sources, ", ")),
            Match::Bytes { .. } => String::new(),
        };
    }
    let over = |limit: RateLimit| {
        format!("limit rate over {}/second burst {} packets", limit.rate(), limit.burst())
    };
    let of = match filter.limit {
        Some(RateLimit::OfSource(_)) => Some(format!("{ip} saddr")),
        Some(RateLimit::OfNetwork(_, bits)) => {
            Some(format!("{ip} saddr & {}", mask(bits, filter.target)))
        }
        _ => None,
    };
    let (set, rule) = match (of, filter.limit) {
        (Some(of), Some(limit)) => (
            format!(
                "    set sources {{\n        type {kind}; flags dynamic; size 65535; timeout 10s;\n    }}\n"
            ),
            format!(" add @sources {{ {of} {} }}", over(limit)),
        ),
        (_, limit) => (String::new(), limit.map_or(String::new(), |it| format!(" {}", over(it)))),
    };
    format!(
        "table inet {name} {{\n{set}    chain incoming {{\n        type filter hook prerouting \
         priority -300; policy accept;\n        {what}{rule} counter drop\n    }}\n}}\n"
    )
}

fn iptables(filter: &FirewallFilter, name: &str) -> String {
    let is_v6 = filter.target.is_ipv6();
    let mut what = format!("-A PREROUTING -d {} -p udp", target(filter));
    if !filter.any_port {
        what += &format!(" --dport {}", filter.target.port());
    }
    // The offset of the payload from the IP header.
    let begin = if is_v6 { 48 } else { 28 };
    for (at, bytes) in contents(filter) {
        let (from, to) = (begin + at, begin + at + bytes.len());
        what += &format!(
            " -m string --algo bm --from {from} --to {to} --hex-string \"|{}|\"",
            hex(bytes)
        );
    }
    let mut sources = String::new();
    for it in &filter.matches {
        what += &match it {
            Match::HopLimit(limit) if is_v6 => format!(" -m hl --hl-eq {limit}"),
            Match::HopLimit(limit) => format!(" -m ttl --ttl-eq {limit}"),
            Match::Length(length) | Match::MissingChallenge(length) => {
                format!(" -m length --length {}", begin + usize::from(*length))
            }
            Match::SourcePort(port) => format!(" --sport {port}"),
            Match::Bytes { .. } => String::new(),
            Match::Sources(all) => {
                sources = addresses(all, ",");
                String::new()
            }
        };
    }
    if !sources.is_empty() {
        what += &format!(" -s {sources}");
    }
    let limit = |limit: RateLimit, of: &str| {
        format!(
            " -m hashlimit --hashlimit-name {name}{of} --hashlimit-above {}/sec --hashlimit-burst {}",
            limit.rate(),
            limit.burst()
        )
    };
    let rule = filter.limit.map_or(String::new(), |it| match it {
        RateLimit::OfSource(_) => limit(it, " --hashlimit-mode srcip"),
        RateLimit::OfNetwork(_, bits) => {
            limit(it, &format!(" --hashlimit-mode srcip --hashlimit-srcmask {bits}"))
        }
        RateLimit::OfAll(_) => limit(it, ""),
    });
    format!("*raw\n{what}{rule} -j DROP\nCOMMIT\n")
}

fn bpf(filter: &FirewallFilter) -> String {
    let is_v6 = filter.target.is_ipv6();
    let net = if filter.bits < if is_v6 { 128 } else { 32 } { "net" } else { "host" };
    let mut all = vec![
        if is_v6 { "ip6 and udp" } else { "ip and udp" }.to_owned(),
        format!("dst {net} {}", target(filter)),
    ];
    if !filter.any_port {
        all.push(format!("dst port {}", filter.target.port()));
    }
    // The UDP header: libpcap does not find it in IPv6.
    let udp = |at: usize, length: usize| match is_v6 {
        true => format!("ip6[{}:{length}]", 40 + at),
        false => format!("udp[{at}:{length}]"),
    };
    for (at, mut bytes) in contents(filter) {
        let mut at = 8 + at;
        while !bytes.is_empty() {
            let length = [4, 2, 1].into_iter().find(|length| *length <= bytes.len()).unwrap_or(1);
            let (now, rest) = bytes.split_at(length);
            all.push(format!("{} = 0x{}", udp(at, length), hex(now)));
            (at, bytes) = (at + length, rest);
        }
    }
    for it in &filter.matches {
        match it {
            Match::HopLimit(limit) if is_v6 => all.push(format!("ip6[7] = {limit}")),
            Match::HopLimit(limit) => all.push(format!("ip[8] = {limit}")),
            Match::Length(length) | Match::MissingChallenge(length) => {
                all.push(format!("{} = {}", udp(4, 2), u32::from(*length) + 8));
            }
            Match::SourcePort(port) => all.push(format!("src port {port}")),
            Match::Sources(sources) => {
                all.push(format!("(src host {})", addresses(sources, " or src host ")));
            }
            Match::Bytes { .. } => {}
        }
    }
    let note = match filter.limit {
        Some(_) => "# BPF has no limits: it selects the packets that the limit is for.\n",
        None => "",
    };
    let all = all.join(" and ");
    // Several are joined at a victim, where `or` and `and` have equal precedence.
    if filter.any_port { format!("{note}({all})\n") } else { format!("{note}{all}\n") }
}

fn flowspec(filter: &FirewallFilter, name: &str) -> String {
    let (family, address) = match filter.target.ip() {
        IpAddr::V4(ip) => ("ipv4", format!("{ip} {}", mask(filter.bits, filter.target))),
        IpAddr::V6(ip) => ("ipv6", format!("{ip}/{}", filter.bits)),
    };
    let headers = if filter.target.is_ipv4() { 28 } else { 48 };
    let mut what = format!(" match destination-address {family} {address}\n match protocol udp\n");
    if !filter.any_port {
        what += &format!(" match destination-port {}\n", filter.target.port());
    }
    let mut length = 0;
    for it in &filter.matches {
        match it {
            Match::Length(bytes) | Match::MissingChallenge(bytes) => {
                length = headers + u32::from(*bytes);
                what += &format!(" match packet length {length}\n");
            }
            Match::SourcePort(port) => what += &format!(" match source-port {port}\n"),
            Match::HopLimit(_) | Match::Bytes { .. } | Match::Sources(_) => {}
        }
    }
    let action = match filter.limit {
        Some(limit) => {
            format!("police rate {} bps", u64::from(limit.rate()) * u64::from(length) * 8)
        }
        None => "drop".to_owned(),
    };
    let others = if filter.any_port { "from this port" } else { "of this length to this port" };
    format!(
        "! FlowSpec does not look at payloads: other packets {others} are taken, too.\n\
         class-map type traffic match-all {name}\n{what} end-class-map\n!\n\
         policy-map type pbr {name}\n class type traffic {name}\n  {action}\n !\n \
         class type traffic class-default\n !\n end-policy-map\n!\n\
         flowspec\n address-family {family}\n  service-policy type pbr {name}\n"
    )
    .replace("# ", "! ")
}
