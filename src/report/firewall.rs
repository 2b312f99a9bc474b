//! Filters in the languages of firewalls.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use clap::ValueEnum;
use sha2::{Digest, Sha256};

use super::ranges::{Comparison, spelled, within};
use super::xdp;
use crate::abuse::{BOGONS, FirewallFilter, Match, RateLimit};
use crate::session::LinkTags;
use crate::text::percent;

/// The most bytes of an IP packet on most links.
const MTU: usize = 1500;

/// A firewall's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Firewall {
    /// nftables, for `nft -f`
    Nft,
    /// iptables, for `iptables-restore --noflush`, or `ip6tables-restore`
    Iptables,
    /// A filter of tcpdump and libpcap, that selects what would be dropped
    Bpf,
    /// A program in C for XDP, for `clang -O2 -target bpf`
    Xdp,
    /// BGP FlowSpec as Cisco IOS XR reads it: by lengths and ports only
    CiscoFlowspec,
}

impl Firewall {
    /// What begins a comment.
    pub fn comment(self) -> &'static str {
        match self {
            Firewall::Nft | Firewall::Iptables | Firewall::Bpf => "#",
            Firewall::Xdp => "//",
            Firewall::CiscoFlowspec => "!",
        }
    }

    /// Whether the language can express the filter.
    pub fn takes(self, filter: &FirewallFilter) -> bool {
        // A datagram that does not fit in one packet is told from others by no packet's length.
        let headers = if filter.target.is_ipv4() { 28 } else { 48 };
        let fits = |length: u16| usize::from(length) + headers <= MTU;
        let is_length = |it: &Match| match it {
            Match::Length(lengths) => fits(*lengths.end()),
            Match::MissingChallenge(length) => fits(*length),
            _ => false,
        };
        match self {
            Firewall::Nft | Firewall::Iptables | Firewall::Bpf => true,
            Firewall::Xdp => filter.limit.is_none(),
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

/// Names of what the rules of attacks are loaded into. The same target has the same name in all runs, so that newer
/// rules replace older ones; in one output, all names are distinct.
#[derive(Debug, Default)]
pub struct RuleNames {
    uses: HashMap<String, u32>,
    /// The functions of an XDP program.
    functions: Vec<String>,
    /// The expressions of libpcap, with the tags and labels around what they match.
    expressions: Vec<(Vec<LinkTags>, String)>,
}

impl RuleNames {
    /// The name for the rules of the next attack, one of whose filters this is.
    pub fn next(&mut self, filter: &FirewallFilter) -> String {
        let name = name(filter);
        let uses = self.uses.entry(name.clone()).or_default();
        *uses += 1;
        if *uses == 1 { name } else { format!("{name}_{uses}") }
    }

    /// The end of an output: of an XDP program, the function that calls the others; the expression for libpcap.
    pub fn end(&self, firewall: Firewall) -> String {
        match firewall {
            Firewall::Xdp if self.functions.is_empty() => {
                format!("{}{}", xdp::BEGIN, xdp::program(&[]))
            }
            Firewall::Xdp => xdp::program(&self.functions),
            Firewall::Bpf => bpf_of_all(&self.expressions),
            _ => String::new(),
        }
    }
}

/// The name for the rules against attacks on a target: `gamewire_192.0.2.1_27015`.
pub fn name(filter: &FirewallFilter) -> String {
    let target = target(filter).replace([':', '/'], "_");
    let port = if filter.any_port { String::new() } else { format!("_{}", filter.target.port()) };
    format!("gamewire_{target}{port}")
}

/// Filters that are applied together, ready to be loaded, with their measured effects. Where they are loaded once
/// more, they replace what has this name.
pub fn rules(
    filters: &[&FirewallFilter],
    firewall: Firewall,
    name: &str,
    names: &mut RuleNames,
) -> String {
    let all_numbers = || filters.iter().map(|filter| numbers(filter)).collect::<String>();
    match firewall {
        Firewall::Nft => all_numbers() + &nft(filters, name),
        Firewall::Iptables => all_numbers() + &iptables(filters, name),
        Firewall::Bpf => {
            let each = filters.iter().map(|filter| {
                let (tags, expression) = (filter.tags.clone(), bpf(filter));
                let numbers = numbers(filter) + missed(filter, |tags| tags.tunnel);
                if filter.limit.is_some() {
                    let behind = bpf_behind(&[(tags, expression)]).replace('\n', " ");
                    return format!("{numbers}# BPF has no limits. This selects the packets that the limit is for:\n# {behind}\n");
                }
                names.expressions.push((tags, expression));
                numbers
            });
            each.collect()
        }
        Firewall::Xdp => {
            let begin = if names.functions.is_empty() { xdp::BEGIN } else { "" };
            let each = filters.iter().map(|filter| {
                let name = format!("drops_{}", names.functions.len() + 1);
                let is_missed =
                    |tags: &LinkTags| tags.tunnel || tags.labels > 0 || tags.vlans > xdp::MOST_TAGS;
                let numbers = numbers(filter) + missed(filter, is_missed);
                let function = xdp::function(filter, &name, &numbers);
                names.functions.push(name);
                function
            });
            begin.to_owned() + &each.collect::<String>()
        }
        Firewall::CiscoFlowspec => {
            let each = filters.iter().zip(1..).map(|(filter, nth)| {
                let name = if nth == 1 { name.to_owned() } else { format!("{name}_{nth}") };
                numbers(filter) + &flowspec(filter, &name.replace('.', "_"))
            });
            each.collect::<String>().replace("# ", "! ")
        }
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

/// The networks that no host of the Internet is in.
fn bogons(between: &str) -> String {
    let all = BOGONS.iter().map(|(network, bits)| format!("{network}/{bits}"));
    Vec::from_iter(all).join(between)
}

/// A table. It is declared and deleted first, so that it replaces one of this name, if there is one.
fn nft(filters: &[&FirewallFilter], name: &str) -> String {
    let (mut sets, mut rules) = (String::new(), String::new());
    for (filter, nth) in filters.iter().zip(1..) {
        let set = if nth == 1 { "sources".to_owned() } else { format!("sources{nth}") };
        let NftRule { what, limit, is_by_source } = nft_rule(filter, &set);
        if is_by_source {
            let kind = if filter.target.is_ipv4() { "ipv4_addr" } else { "ipv6_addr" };
            sets += &format!(
                "    set {set} {{\n        type {kind}; flags dynamic; size 65535; timeout 10s;\n    }}\n"
            );
        }
        rules += &format!("        {what}{limit} counter drop\n");
    }
    format!(
        "table inet {name}\ndelete table inet {name}\n\
         table inet {name} {{\n{sets}    chain incoming {{\n        type filter hook prerouting \
         priority -300; policy accept;\n{rules}    }}\n}}\n"
    )
}

/// A rule of nftables.
struct NftRule {
    /// What it matches.
    what: String,
    /// The limit above which packets are dropped.
    limit: String,
    /// The limit is for each source.
    is_by_source: bool,
}

/// The rule for a filter. `set`: the set of sources, if the limit is for each.
fn nft_rule(filter: &FirewallFilter, set: &str) -> NftRule {
    let (ip, ttl) = match filter.target.ip() {
        IpAddr::V4(_) => ("ip", "ip ttl"),
        IpAddr::V6(_) => ("ip6", "ip6 hoplimit"),
    };
    let mut what = format!("{ip} daddr {}", target(filter));
    what += &match filter.any_port {
        true => " meta l4proto udp".to_owned(),
        false => format!(" udp dport {}", spelled(&filter.ports, 0, "-")),
    };
    for (at, bytes) in filter.contents() {
        what += &format!(" @th,{},{} 0x{}", 64 + 8 * at, 8 * bytes.len(), hex(bytes));
    }
    for it in &filter.matches {
        what += &match it {
            Match::HopLimit(limits) => format!(" {ttl} {}", spelled(limits, 0, "-")),
            Match::Length(lengths) => format!(" udp length {}", spelled(lengths, 8, "-")),
            Match::MissingChallenge(length) => format!(" udp length {}", u32::from(*length) + 8),
            Match::SourcePort(ports) => format!(" udp sport {}", spelled(ports, 0, "-")),
            Match::Identification(it) => format!(" {ip} id {it}"),
            Match::Bogons => format!(" {ip} saddr {{ {} }}", bogons(", ")),
            Match::Sources(sources) => format!(" {ip} saddr {{ {} }}", addresses(sources, ", ")),
            Match::Bytes { .. } => String::new(),
        };
    }
    let over = |limit: RateLimit| {
        format!("limit rate over {}/second burst {} packets", limit.rate(), limit.burst())
    };
    let by = match filter.limit {
        Some(RateLimit::OfSource(_)) => Some(format!("{ip} saddr")),
        Some(RateLimit::OfNetwork(_, bits)) => {
            Some(format!("{ip} saddr & {}", mask(bits, filter.target)))
        }
        _ => None,
    };
    let is_by_source = by.is_some();
    let limit = match (by, filter.limit) {
        (Some(by), Some(limit)) => format!(" add @{set} {{ {by} {} }}", over(limit)),
        (_, limit) => limit.map_or(String::new(), |it| format!(" {}", over(it))),
    };
    NftRule { what, limit, is_by_source }
}

/// The longest name of a chain that iptables takes.
const CHAIN: usize = 28;

/// A chain. Naming it empties one of this name, if there is one. Only the jump to it is added each time it is loaded, so
/// that a comment says how to remove the older one; a packet that has passed a limit is accepted, and does not pass it again.
fn iptables(filters: &[&FirewallFilter], name: &str) -> String {
    let Some(first) = filters.first() else { return String::new() };
    let chain = match name.len() {
        0..=CHAIN => name.to_owned(),
        _ => format!("gamewire_{}", &hex(&Sha256::digest(name))[..16]),
    };
    let mut rules = format!("*raw\n:{chain} - [0:0]\n");
    for (filter, nth) in filters.iter().zip(1..) {
        let limit_name = if nth == 1 { chain.clone() } else { format!("{chain}_{nth}") };
        let (what, sources, limit) = iptables_rule(filter, &limit_name);
        for sources in sources {
            rules += &format!("-A {chain} {what}{sources}{limit} -j DROP\n");
            if filter.limit.is_some() {
                rules += &format!("-A {chain} {what}{sources} -j ACCEPT\n");
            }
        }
    }
    // No command of iptables-restore adds a rule to a built-in chain only if it is not there.
    let jump = format!("PREROUTING -d {} -p udp -j {chain}", target(first));
    let command = if first.target.is_ipv4() { "iptables" } else { "ip6tables" };
    format!(
        "# If it was loaded before, first: {command} -t raw -D {jump}\n{rules}-A {jump}\nCOMMIT\n"
    )
}

/// The most addresses in one rule: iptables takes words of at most 1,023 bytes.
const SOURCES_OF_RULE: usize = 24;

/// What rules match, the sources of each, and the limit above which packets are dropped.
fn iptables_rule(filter: &FirewallFilter, name: &str) -> (String, Vec<String>, String) {
    let is_v6 = filter.target.is_ipv6();
    let mut what = format!("-d {} -p udp", target(filter));
    if !filter.any_port {
        what += &format!(" --dport {}", spelled(&filter.ports, 0, ":"));
    }
    // The offset of the payload from the IP header.
    let begin = if is_v6 { 48 } else { 28 };
    for (at, bytes) in filter.contents() {
        let (from, to) = (begin + at, begin + at + bytes.len());
        what += &format!(
            " -m string --algo bm --from {from} --to {to} --hex-string \"|{}|\"",
            hex(bytes)
        );
    }
    let mut sources = vec![String::new()];
    for it in &filter.matches {
        what += &match it {
            Match::HopLimit(limits) => iptables_hop_limit(limits, is_v6),
            Match::Length(lengths) => iptables_length(lengths, is_v6),
            Match::MissingChallenge(length) => iptables_length(&(*length..=*length), is_v6),
            Match::SourcePort(ports) => format!(" --sport {}", spelled(ports, 0, ":")),
            Match::Identification(it) => format!(" -m u32 --u32 \"2&0xFFFF={it}\""),
            Match::Bytes { .. } => String::new(),
            Match::Bogons => {
                sources = vec![format!(" -s {}", bogons(","))];
                String::new()
            }
            Match::Sources(all) => {
                let parts = all.chunks(SOURCES_OF_RULE);
                sources = parts.map(|part| format!(" -s {}", addresses(part, ","))).collect();
                String::new()
            }
        };
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
    (what, sources, rule)
}

/// The length that the UDP header says: a fragment's packet is shorter.
fn iptables_length(lengths: &RangeInclusive<u16>, is_v6: bool) -> String {
    let length = if is_v6 { "44>>16" } else { "0>>22&0x3C@4>>16" };
    format!(" -m u32 --u32 \"{length}={}\"", spelled(lengths, 8, ":"))
}

fn iptables_hop_limit(limits: &RangeInclusive<u8>, is_v6: bool) -> String {
    let name = if is_v6 { "hl" } else { "ttl" };
    match (*limits.start(), *limits.end()) {
        (from, to) if from == to => format!(" -m {name} --{name}-eq {from}"),
        // No hop limit is less than 1, or more than 255.
        (..=1, to) => format!(" -m {name} --{name}-lt {}", u16::from(to) + 1),
        (from, 255) => format!(" -m {name} --{name}-gt {}", from - 1),
        (from, to) => {
            format!(" -m {name} --{name}-gt {} -m {name} --{name}-lt {}", from - 1, to + 1)
        }
    }
}

/// That a number is in a range.
const BPF: Comparison = Comparison { equals: "=", and: "and" };

fn bpf(filter: &FirewallFilter) -> String {
    let is_v6 = filter.target.is_ipv6();
    let net = if filter.bits < if is_v6 { 128 } else { 32 } { "net" } else { "host" };
    let mut all = vec![
        if is_v6 { "ip6 and udp" } else { "ip and udp" }.to_owned(),
        format!("dst {net} {}", target(filter)),
    ];
    if !filter.any_port {
        let ports = spelled(&filter.ports, 0, "-");
        all.push(format!("dst {} {ports}", if ports.contains('-') { "portrange" } else { "port" }));
    }
    // The UDP header: libpcap does not find it in IPv6.
    let udp = |at: usize, length: usize| match is_v6 {
        true => format!("ip6[{}:{length}]", 40 + at),
        false => format!("udp[{at}:{length}]"),
    };
    for (at, mut bytes) in filter.contents() {
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
            Match::HopLimit(limits) => {
                all.push(within(&BPF, if is_v6 { "ip6[7]" } else { "ip[8]" }, limits, 0));
            }
            Match::Length(lengths) => all.push(within(&BPF, &udp(4, 2), lengths, 8)),
            Match::MissingChallenge(length) => {
                all.push(format!("{} = {}", udp(4, 2), u32::from(*length) + 8));
            }
            Match::SourcePort(ports) => all.push(within(&BPF, &udp(0, 2), ports, 0)),
            Match::Identification(it) => all.push(format!("ip[4:2] = {it}")),
            Match::Bogons => all.push(format!("(src net {})", bogons(" or src net "))),
            Match::Sources(sources) => {
                all.push(format!("(src host {})", addresses(sources, " or src host ")));
            }
            Match::Bytes { .. } => {}
        }
    }
    // Several are joined, and `or` and `and` have equal precedence.
    format!("({})", all.join(" and "))
}

/// What to say of packets with headers around them that a filter does not look behind.
fn missed(filter: &FirewallFilter, is_missed: impl Fn(&LinkTags) -> bool) -> &'static str {
    match filter.tags.iter().any(is_missed) {
        true => {
            "# In the capture, some of these packets are in a tunnel or behind labels, where this does not find them: \
             apply it where they have come out of it.\n"
        }
        false => "",
    }
}

/// One expression for all packets that any of these select.
fn bpf_of_all(each: &[(Vec<LinkTags>, String)]) -> String {
    if each.is_empty() { String::new() } else { bpf_behind(each) + "\n" }
}

/// The expression for packets that any of these select behind its tags and labels. `vlan` and `mpls` move the offsets of
/// all that follows in the whole expression, so each is written once, and what has fewer of them comes first. Where some
/// packets have VLAN tags alone and others labels alone, it is for the former.
fn bpf_behind(each: &[(Vec<LinkTags>, String)]) -> String {
    let found = each.iter().flat_map(|(tags, _)| tags).filter(|tags| !tags.tunnel);
    let most = found.max().copied().unwrap_or_default();
    let mut all = String::new();
    for depth in (0..=most.vlans.saturating_add(most.labels)).rev() {
        let (vlans, labels) = (depth.min(most.vlans), depth.saturating_sub(most.vlans));
        let layer = if depth < most.vlans { "vlan" } else { "mpls" };
        let is_here = |tags: &[LinkTags]| {
            let is_outside = || tags.iter().all(|tags| tags.tunnel) && depth == 0;
            tags.contains(&LinkTags { vlans, labels, tunnel: false }) || is_outside()
        };
        let here = each.iter().filter(|(tags, _)| is_here(tags)).map(|(_, one)| one.clone());
        let deeper = (!all.is_empty()).then(|| format!("({layer} and {all})"));
        let choices = Vec::from_iter(here.chain(deeper));
        all = match &choices[..] {
            [] => String::new(),
            [one] => one.clone(),
            _ => format!("({})", choices.join("\nor ")),
        };
    }
    all
}

fn flowspec(filter: &FirewallFilter, name: &str) -> String {
    let (family, address) = match filter.target.ip() {
        IpAddr::V4(ip) => ("ipv4", format!("{ip} {}", mask(filter.bits, filter.target))),
        IpAddr::V6(ip) => ("ipv6", format!("{ip}/{}", filter.bits)),
    };
    let headers = if filter.target.is_ipv4() { 28 } else { 48 };
    let mut what = format!(" match destination-address {family} {address}\n match protocol udp\n");
    if !filter.any_port {
        what += &format!(" match destination-port {}\n", spelled(&filter.ports, 0, "-"));
    }
    let mut length = 0;
    for it in &filter.matches {
        match it {
            Match::Length(lengths) => {
                length = headers + u32::from(*lengths.end());
                let lengths = spelled(lengths, headers, "-");
                what += &format!(" match packet length {lengths}\n");
            }
            Match::MissingChallenge(bytes) => {
                length = headers + u32::from(*bytes);
                what += &format!(" match packet length {length}\n");
            }
            Match::SourcePort(ports) => {
                what += &format!(" match source-port {}\n", spelled(ports, 0, "-"));
            }
            Match::HopLimit(_)
            | Match::Identification(_)
            | Match::Bogons
            | Match::Bytes { .. }
            | Match::Sources(_) => {}
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
}
