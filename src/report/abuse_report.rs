//! Abuse reports for the operators of networks from which an attack comes: as X-ARF 4 for machines,
//! as mail for people.

use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dissectors::kit::Time;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::firewall::hex;
use crate::abuse::{AbuseSetting, Attack, AttackKind, Sender, network_of};
use crate::text::{counted, grouped};

/// The version of X-ARF that is written.
const VERSION: &str = "4.2.0";

/// Maximum length of an organisation's name.
const NAME: usize = 200;

/// The reporter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reporter {
    org: String,
    contact: String,
    domain: String,
}

impl FromStr for Reporter {
    type Err = String;

    /// `NAME <USER@DOMAIN>`.
    fn from_str(typed: &str) -> Result<Reporter, String> {
        let read = || {
            let (org, rest) = typed.trim().split_once('<')?;
            let contact = rest.strip_suffix('>')?;
            let (user, domain) = contact.split_once('@')?;
            let is_name = |c: char| !c.is_control();
            let is_user = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
            let is_label = |label: &str| {
                !label.is_empty()
                    && label.len() < 64
                    && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
                    && !label.starts_with('-')
                    && !label.ends_with('-')
            };
            let org = org.trim();
            let is_valid = (1..=NAME).contains(&org.len())
                && org.chars().all(is_name)
                && !user.is_empty()
                && user.chars().all(is_user)
                && domain.contains('.')
                && domain.split('.').all(is_label);
            is_valid.then(|| Reporter {
                org: org.to_owned(),
                contact: contact.to_owned(),
                domain: domain.to_owned(),
            })
        };
        read().ok_or_else(|| {
            "expected a name and a mail address: 'Example Hosting <abuse@example.net>'".to_owned()
        })
    }
}

/// The senders of an attack that are in one network.
pub struct SenderNetwork<'s> {
    /// Its prefix; of a victim, the address of the server that was misused.
    pub name: String,
    /// Its senders, those with most packets first.
    pub senders: Vec<(IpAddr, &'s Sender)>,
}

/// Divides senders into reports: a misused server gets its own, clients one for each /24 network,
/// or /48 in IPv6.
pub fn networks<'s>(kind: AttackKind, senders: &[(IpAddr, &'s Sender)]) -> Vec<SenderNetwork<'s>> {
    let mut networks: Vec<SenderNetwork<'s>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for &(from, sender) in senders {
        let name = match kind {
            AttackKind::Victim => from.to_string(),
            _ => prefix(from),
        };
        let at = *places.entry(name.clone()).or_insert(networks.len());
        match networks.get_mut(at) {
            Some(network) => network.senders.push((from, sender)),
            None => networks.push(SenderNetwork { name, senders: vec![(from, sender)] }),
        }
    }
    networks
}

fn prefix(address: IpAddr) -> String {
    let (network, length) = network_of(address, AbuseSetting::NETWORKS);
    format!("{network}/{length}")
}

/// Why no one is reported.
pub fn why_not(attack: &Attack) -> &'static str {
    match (attack.kind, attack.forged) {
        (AttackKind::Reflector, _) => {
            "not reported: the requests carry the addresses of those who are flooded; the sender is \
             not in the capture. Make the server challenge its clients"
        }
        (_, crate::abuse::Forged::Yes) => {
            "not reported: the sources are forged, and whose addresses they are has nothing to do with it"
        }
        (AttackKind::Victim, _) => {
            "not reported: no server sent enough to be sure that it was misused"
        }
        _ => {
            "not reported: no source that sent enough has shown, by returning a challenge, that its address \
             is its own"
        }
    }
}

/// A time in the format of X-ARF, in UTC.
fn utc(time: Time) -> String {
    let time = jiff::Timestamp::from_nanosecond(time.0.into()).unwrap_or_default();
    format!("{time:.6}")
}

/// A description of the attack's packets for the receiver of the report.
fn what(attack: &Attack, sender: &Sender) -> String {
    let kind = sender.first.first().map_or("messages", |packet| packet.message);
    match attack.kind {
        AttackKind::Victim => format!("{kind}s that {} never asked for", attack.target.ip()),
        AttackKind::CrashAttempt => {
            format!("packets that crash game servers, to {}", attack.target)
        }
        AttackKind::FloodedServer
        | AttackKind::FloodedMaster
        | AttackKind::Reflector
        | AttackKind::Transit => {
            format!("{kind}s to {}", attack.target)
        }
    }
}

/// The packets, a line each.
fn evidence(sender: &Sender) -> String {
    let mut lines = String::new();
    for packet in &sender.first {
        let [from, to] = packet.ends;
        let (time, bytes) = (utc(packet.time), counted(packet.bytes, "byte"));
        lines += &format!("{time} {from} > {to} UDP, {bytes}, {}\n", packet.message);
    }
    let more = sender.packets.saturating_sub(sender.first.len() as u64);
    if more > 0 {
        lines += &format!("... and {} more until {}\n", grouped(more), utc(sender.span[1]));
    }
    lines
}

/// A mail about a network, with the headers that are known.
pub fn mail(attack: &Attack, network: &SenderNetwork<'_>, reporter: &Reporter) -> String {
    let packets: u64 = network.senders.iter().map(|(_, sender)| sender.packets).sum();
    let Some(&(first, sender)) = network.senders.first() else { return String::new() };
    let what = what(attack, sender);
    let count = grouped(packets);
    let mut text = format!(
        "From: {} <{}>\nTo: (the abuse contact of {first}: whois {first})\nSubject: Abuse from {}: {count} {what}\n\
         Content-Type: text/plain; charset=utf-8\n\nHello,\n\n",
        reporter.org, reporter.contact, network.name,
    );
    text += &match attack.kind {
        AttackKind::Victim => format!(
            "the game server at {first} was misused to flood {}:\n{count} {what}.\n\n\
             Somebody sends it requests that carry our address as their source, and it responds to us.\n\
             Your customer did not attack us. Please have the server challenge its clients before it\n\
             responds (game servers of today do; update it), or limit how many requests it responds to.\n\
             If you can, find out where the forged requests enter your network (BCP 38).\n",
            attack.target.ip(),
        ),
        _ => format!(
            "from {} we received {count} {what}.\n\n\
             These sources are not forged: each of them returned a challenge that we had sent to its\n\
             address. Please find out what runs there, and stop it.\n",
            network.name,
        ),
    };
    text += "\nAll times are in UTC, as our clock has them.\n\n";
    for (from, sender) in &network.senders {
        let [begin, end] = sender.span.map(utc);
        text += &format!(
            "{from}: {}, {} of payload, {begin} to {end}, at most {} a second\n",
            counted(sender.packets, "packet"),
            counted(sender.bytes, "byte"),
            grouped(sender.peak),
        );
        evidence(sender).lines().for_each(|line| text += &format!("  {line}\n"));
        text.push('\n');
    }
    text += &format!("Regards,\n{}\n", reporter.org);
    text
}

#[derive(Serialize)]
struct Xarf<'r> {
    xarf_version: &'static str,
    report_id: String,
    timestamp: String,
    reporter: &'r Reporter,
    sender: &'r Reporter,
    source_identifier: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_port: Option<u16>,
    category: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    evidence_source: &'static str,
    destination_ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_port: Option<u16>,
    protocol: &'static str,
    attack_vector: String,
    peak_pps: u64,
    duration_seconds: u64,
    first_seen: String,
    last_seen: String,
    description: String,
    evidence: [XarfEvidence; 1],
}

#[derive(Serialize)]
struct XarfEvidence {
    content_type: &'static str,
    description: &'static str,
    payload: String,
    hash: String,
    size: usize,
}

/// A report about one sender: X-ARF requires one source and one incident.
pub fn xarf(attack: &Attack, from: IpAddr, sender: &Sender, reporter: &Reporter) -> Vec<u8> {
    let lines = evidence(sender);
    let [first_seen, last_seen] = sender.span.map(utc);
    let seconds =
        sender.span[1].since(sender.span[0]).max(0).unsigned_abs().div_ceil(1_000_000_000);
    let vector = match attack.kind {
        AttackKind::Victim => "amplification",
        AttackKind::CrashAttempt => "crash",
        AttackKind::FloodedServer
        | AttackKind::FloodedMaster
        | AttackKind::Reflector
        | AttackKind::Transit => "flood",
    };
    let ends = sender.first.first().map(|packet| packet.ends);
    let port = |at: usize| ends.map(|ends| ends[at].port()).filter(|port| *port > 0);
    let report = Xarf {
        xarf_version: VERSION,
        report_id: identifier(attack, from, sender),
        timestamp: first_seen.clone(),
        reporter,
        sender: reporter,
        source_identifier: from.to_string(),
        source_port: port(0),
        category: "connection",
        kind: "ddos",
        evidence_source: "traffic_monitoring",
        destination_ip: attack.target.ip().to_string(),
        destination_port: port(1),
        protocol: "udp",
        attack_vector: format!("{}_{vector}", sender.protocol.info().id),
        peak_pps: sender.peak.max(1),
        duration_seconds: seconds.max(1),
        first_seen,
        last_seen,
        description: format!(
            "{} {}, {} of payload",
            grouped(sender.packets),
            what(attack, sender),
            counted(sender.bytes, "byte")
        ),
        evidence: [XarfEvidence {
            content_type: "text/plain",
            description: "The first packets, one line each: time, source, destination, message",
            payload: STANDARD.encode(&lines),
            hash: format!("sha256:{}", hex(&Sha256::digest(&lines))),
            size: lines.len(),
        }],
    };
    let mut json = serde_json::to_vec_pretty(&report).unwrap_or_default();
    json.push(b'\n');
    json
}

/// A UUID that depends only on the capture, so that a repeated report is recognized. It has the
/// form of version 4, as X-ARF requires.
fn identifier(attack: &Attack, from: IpAddr, sender: &Sender) -> String {
    let of = format!("{} {} {from} {:?}", attack.kind.name(), attack.target, sender.span);
    let digest = hex(&Sha256::digest(of));
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    let [a, b, c, d, e] = [part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30)];
    format!("{a}-{b}-4{c}-8{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reporter_has_a_name_and_an_address() {
        let read: Reporter = "Example Hosting <abuse@example.net>".parse().unwrap();
        let parts = [&read.org, &read.contact, &read.domain].map(String::as_str);
        assert_eq!(parts, ["Example Hosting", "abuse@example.net", "example.net"]);
        for typed in [
            "",
            "abuse@example.net",
            "<abuse@example.net>",
            "X <abuse>",
            "X <a@b>",
            "X <a@b..net>",
            "X <a@-b.net>",
            "X\nBcc: all <a@b.net>",
            "X <a@b.net>, Y <c@d.net>",
            "X <a b@c.net>",
        ] {
            assert!(typed.parse::<Reporter>().is_err(), "{typed:?}");
        }
    }

    #[test]
    fn networks_are_of_24_and_of_48_bits() {
        assert_eq!(prefix([192, 0, 2, 7].into()), "192.0.2.0/24");
        assert_eq!(prefix("2001:db8:1:2::3".parse().unwrap()), "2001:db8:1::/48");
    }
}
