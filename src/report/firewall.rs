//! Filters as firewalls read them.

use std::net::IpAddr;

use clap::ValueEnum;

use crate::abuse::{Filter, Rule};
use crate::text::percent;

/// A firewall's language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Firewall {
    /// nftables, for `nft -f`
    Nft,
    /// iptables, for `iptables-restore --noflush`, or `ip6tables-restore`
    Iptables,
}

/// The filter, ready to be loaded, with what it was measured to do.
pub fn rules(filter: &Filter, firewall: Firewall, name: &str) -> String {
    let cost = match filter.collateral {
        Some(share) => format!("{} of the packets of real clients", percent(share)),
        None => "no packet of a real client is in the capture to measure its cost by".to_owned(),
    };
    let told =
        format!("# In the capture: drops {} of the attack; {cost}.\n", percent(filter.drops));
    told + &match firewall {
        Firewall::Nft => nft(filter, name),
        Firewall::Iptables => iptables(filter, name),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn nft(filter: &Filter, name: &str) -> String {
    let (ip, ttl, kind) = match filter.target.ip() {
        IpAddr::V4(_) => ("ip", "ip ttl", "ipv4_addr"),
        IpAddr::V6(_) => ("ip6", "ip6 hoplimit", "ipv6_addr"),
    };
    let port = match filter.any_port {
        true => "meta l4proto udp".to_owned(),
        false => format!("udp dport {}", filter.target.port()),
    };
    let payload = format!("@th,64,{} 0x{}", 8 * filter.prefix.len(), hex(&filter.prefix));
    let what = format!("{ip} daddr {} {port} {payload}", filter.target.ip());
    let (set, rule) = match filter.rule {
        Rule::Payload => (String::new(), String::new()),
        Rule::HopLimit(limit) => (String::new(), format!(" {ttl} {limit}")),
        Rule::RateOfSource(rate) => (
            format!(
                "    set sources {{\n        type {kind}; flags dynamic; size 65535; timeout 10s;\n    }}\n"
            ),
            format!(" add @sources {{ {ip} saddr limit rate over {rate}/second burst 5 packets }}"),
        ),
        Rule::RateOfAll(rate) => {
            (String::new(), format!(" limit rate over {rate}/second burst {rate} packets"))
        }
    };
    format!(
        "table inet {name} {{\n{set}    chain incoming {{\n        type filter hook prerouting \
         priority -300; policy accept;\n        {what}{rule} counter drop\n    }}\n}}\n"
    )
}

fn iptables(filter: &Filter, name: &str) -> String {
    let is_v6 = filter.target.is_ipv6();
    let port = match filter.any_port {
        true => String::new(),
        false => format!(" --dport {}", filter.target.port()),
    };
    // Where the payload begins, from the IP header on.
    let at = if is_v6 { 48 } else { 28 };
    let payload = format!(
        " -m string --algo bm --from {at} --to {} --hex-string \"|{}|\"",
        at + filter.prefix.len(),
        hex(&filter.prefix)
    );
    let rule = match filter.rule {
        Rule::Payload => String::new(),
        Rule::HopLimit(limit) if is_v6 => format!(" -m hl --hl-eq {limit}"),
        Rule::HopLimit(limit) => format!(" -m ttl --ttl-eq {limit}"),
        Rule::RateOfSource(rate) => format!(
            " -m hashlimit --hashlimit-name {name} --hashlimit-mode srcip --hashlimit-above \
             {rate}/sec --hashlimit-burst 5"
        ),
        Rule::RateOfAll(rate) => format!(
            " -m hashlimit --hashlimit-name {name} --hashlimit-above {rate}/sec --hashlimit-burst {rate}"
        ),
    };
    let target = filter.target.ip();
    format!("*raw\n-A PREROUTING -d {target} -p udp{port}{payload}{rule} -j DROP\nCOMMIT\n")
}
