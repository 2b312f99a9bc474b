//! Who seems to be a client, where nothing proves it.

use super::SECOND;
use super::packet::SampledPacket;

/// Minimum number of requests of a source that asks steadily, and how many packets of others there are for each of them.
const POLLS: usize = 4;
const RARE: usize = 20;

/// The packets of an attack, and those that seem to be of clients where none is known for certain: the few sources that
/// ask again and again at a pace, from one port, while nearly all others send one packet or two.
pub(super) fn steady(mut packets: Vec<SampledPacket>) -> (Vec<SampledPacket>, Vec<SampledPacket>) {
    packets.sort_by_key(|packet| (packet.source, packet.time));
    let is_steady = |of_source: &[SampledPacket]| {
        let mut pairs = of_source.iter().zip(of_source.iter().skip(1));
        let goes_on = |(a, b): (&SampledPacket, &SampledPacket)| {
            a.port == b.port && b.time.since(a.time) >= SECOND
        };
        of_source.len() >= POLLS && pairs.all(goes_on)
    };
    let sources = packets.chunk_by(|a, b| a.source == b.source);
    let (clients, attack): (Vec<_>, Vec<_>) = sources.partition(|it| is_steady(it));
    let [mut clients, attack] = [clients, attack].map(|sources| sources.concat());
    clients.sort_by_key(|packet| packet.time);
    match clients.len().saturating_mul(RARE) <= packets.len() {
        true => (attack, clients),
        false => (packets, Vec::new()),
    }
}
