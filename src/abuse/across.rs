//! Reflections that pass a link: the servers are means, and the target is the address in whose name they are asked.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::packet::commonest;
use super::target::{Target, count};

/// What the address gets.
const RESPONSE: &str = "response of a misused server";

/// The servers that are misused against one address.
pub(super) struct AcrossLink {
    /// The address, and the port that the responses go to.
    pub(super) at: SocketAddr,
    /// Their responses, as what it gets.
    pub(super) target: Target,
    pub(super) servers: Vec<SocketAddr>,
}

/// The addresses against which several of these servers are misused.
pub(super) fn victims_of<'t>(
    reflectors: impl Iterator<Item = (SocketAddr, &'t Target)>,
) -> Vec<AcrossLink> {
    let mut victims: BTreeMap<IpAddr, Vec<(SocketAddr, &Target)>> = BTreeMap::new();
    for (server, target) in reflectors {
        if let Some(victim) = victim_of(target) {
            victims.entry(victim).or_default().push((server, target));
        }
    }
    let several = victims.into_iter().filter(|(_, servers)| servers.len() > 1);
    several.map(|(victim, servers)| together(victim, servers)).collect()
}

/// The address that most requests to a server bear.
fn victim_of(target: &Target) -> Option<IpAddr> {
    let (top, _) = target.sources.top(1);
    let (victim, packets) = *top.first()?;
    (packets.saturating_mul(2) >= target.packets[0]).then_some(victim)
}

fn together(victim: IpAddr, mut servers: Vec<(SocketAddr, &Target)>) -> AcrossLink {
    servers.sort_unstable_by_key(|(server, _)| *server);
    let mut all = Target::default();
    for (server, target) in &servers {
        all.protocol = all.protocol.or(target.protocol);
        count(&mut all.kinds, RESPONSE, target.packets[1]);
        all.packets[0] += target.packets[1];
        all.bytes[0] += target.bytes[1];
        all.timeline.add(&target.timeline);
        let spans = all.span.into_iter().chain(target.span);
        all.span = spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        all.sources.sent(server.ip(), target.packets[1]);
    }
    let samples = servers.iter().flat_map(|(_, target)| target.sample.packets());
    let ports = samples.filter(|packet| packet.source == victim).map(|packet| packet.port);
    let at = SocketAddr::new(victim, commonest(ports).map_or(0, |(port, _)| port));
    AcrossLink { at, target: all, servers: servers.into_iter().map(|(server, _)| server).collect() }
}
