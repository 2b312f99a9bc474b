//! The traffic of one target.

use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Map, Time};

use super::clients::{Clients, Proof};
use super::filters::{Bucket, OF_NETWORK, Prefix};
use super::packet::{Sample, SampledPacket};
use super::recent_exchanges::Asking;
use super::sources::{PlainAnswers, RoomForSources, Sources, TrafficSource, network};
use super::timeline::Timeline;
use super::{AbuseSetting, SECOND};
use crate::session::{HopLimitKinds, LinkTags};

/// Bytes of memory per source, and per real client.
const BYTES_OF_SOURCE: usize = 1 << 8;
const BYTES_OF_CLIENT: usize = 1 << 7;

/// Bytes of memory per packet.
const BYTES_OF_PACKET: usize = 1 << 7;

/// Bytes of memory per sketch of a target, limits of networks, and timeline.
const BYTES_OF_SKETCHES: usize = 1 << 18;
const BYTES_OF_NETWORK: usize = 1 << 7;
const BYTES_OF_SPAN: usize = 1 << 5;

/// A second with this part of the packets of a flood is a busy one, and with this many at least.
const BUSY: u32 = 10;
const FEWEST_BUSY: u32 = 10;

/// One kind of so many that are as frequent is much of what a target gets.
const MUCH: u64 = 4;

/// Maximum number of kinds of messages, and of ports of other services, per target.
const KINDS: usize = 16;

/// Maximum number of networks whose rates are measured per target.
const NETWORKS: usize = 1 << 12;

/// Maximum number of kinds of links whose packets reach a target.
const TAGS: usize = 4;

/// The traffic of one target.
#[derive(Clone, Default)]
pub(super) struct Target {
    pub(super) protocol: Option<Id>,
    pub(super) kinds: Vec<(&'static str, u64)>,
    /// Requests that take more work to answer.
    pub(super) costly: u64,
    /// Requests for lists: it is a master.
    pub(super) lists: u64,
    /// Packets to it, and from it.
    pub(super) packets: [u64; 2],
    /// Bytes of payload, as sent.
    pub(super) bytes: [u64; 2],
    pub(super) span: Option<[Time; 2]>,
    pub(super) timeline: Timeline,
    pub(super) sources: Sources,
    pub(super) clients: Clients,
    pub(super) sample: Sample,
    pub(super) networks: Networks,
    /// A port of it that got packets.
    pub(super) port: u16,
    /// The common beginning of payloads to it.
    pub(super) prefix: Prefix,
    /// Hop limits of packets to it, and from it.
    pub(super) hops: [HopLimitKinds; 2],
    pub(super) ids: Identifications,
    /// The tags and labels around packets to it, a few of them.
    pub(super) tags: Vec<LinkTags>,
    /// ICMP errors about its responses.
    pub(super) unreachable: u64,
    /// Packets that bear its own address and port.
    pub(super) of_itself: u64,
    /// Of a victim: what it sends was recorded; it asks servers.
    pub(super) is_heard: bool,
    pub(super) asks: bool,
    /// Responses, one of each server, whose requests may have been sent just before the capture began.
    pub(super) early: u64,
    /// Packets that look like parts of responses, by server and client: they are of the game, if this turns out to play
    /// there.
    pub(super) parts: Vec<((SocketAddr, SocketAddr), u64)>,
    /// Responses of other services, by port.
    pub(super) others: Vec<(u16, u64)>,
    /// Requested responses of a victim during the attack, by the same ports; `None`: of game
    /// servers.
    pub(super) asked_for: Vec<(Option<u16>, u64)>,
    /// Those of game servers.
    pub(super) answers: Sample,
    /// The start of the window, the number of packets in it, and the maximum of all windows.
    window: (Time, u64),
    pub(super) most: u64,
}

/// The room that all targets share.
pub(super) struct TargetRoom {
    pub(super) sources: RoomForSources,
    /// Real clients that are kept. Forged sources take no room here.
    pub(super) clients: usize,
    /// Packets that are kept.
    pub(super) packets: usize,
    /// Networks whose rates are measured.
    pub(super) networks: usize,
    /// Spans of timelines.
    pub(super) spans: usize,
    /// The lengths of networks, in IPv4 and in IPv6.
    pub(super) lengths: [u8; 2],
    /// The window in which requests of a source are counted, and how often a client may ask within it.
    pub(super) window: i64,
    pub(super) repeats: u32,
    /// The number of packets in a second that make it a busy one.
    pub(super) busy: u32,
    /// The number of packets of a flood, and the seconds of its window.
    pub(super) flood: u64,
    pub(super) flood_seconds: i64,
}

impl TargetRoom {
    /// With this memory limit in bytes.
    pub(super) fn new(bytes: usize, setting: &AbuseSetting) -> TargetRoom {
        let abuse = setting.ledger_settings.abuse;
        TargetRoom {
            sources: RoomForSources {
                entries: (bytes / 4 / BYTES_OF_SOURCE).max(1024),
                sketches: (bytes / 8 / BYTES_OF_SKETCHES).max(1),
            },
            clients: (bytes / 16 / BYTES_OF_CLIENT).max(256),
            packets: (bytes / 4 / BYTES_OF_PACKET).max(1024),
            networks: (bytes / 16 / BYTES_OF_NETWORK).max(64),
            spans: (bytes / 16 / BYTES_OF_SPAN).max(1024),
            lengths: setting.networks,
            window: abuse.repeat_window,
            repeats: abuse.repeats,
            busy: (abuse.flood_rate / BUSY).max(FEWEST_BUSY),
            flood: abuse.flood(),
            flood_seconds: (abuse.flood_window / SECOND).max(1),
        }
    }

    /// The room that the traffic of a target takes, without its clients.
    fn of(target: &Target) -> [usize; 5] {
        let [entries, sketches] = target.sources.room();
        let packets = target.sample.packets().len();
        [entries, sketches, packets, target.networks.all.len(), target.timeline.room()]
    }

    fn each(&mut self) -> [&mut usize; 5] {
        let RoomForSources { entries, sketches } = &mut self.sources;
        [entries, sketches, &mut self.packets, &mut self.networks, &mut self.spans]
    }

    /// The room of this traffic is free again.
    pub(super) fn gets_back(&mut self, target: &Target) {
        self.each().into_iter().zip(TargetRoom::of(target)).for_each(|(room, free)| *room += free);
    }

    /// This traffic takes room.
    pub(super) fn is_taken_by(&mut self, target: &Target) {
        let each = self.each().into_iter().zip(TargetRoom::of(target));
        each.for_each(|(room, taken)| *room = room.saturating_sub(taken));
    }
}

/// Whether identifications continue from packet to packet, regardless of their sources.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identifications {
    latest: Option<(IpAddr, u16)>,
    /// Packets that follow one of another source.
    pub(super) pairs: u64,
    /// Those whose identification is slightly greater than that of the previous packet.
    pub(super) successive: u64,
}

impl Identifications {
    fn see(&mut self, source: IpAddr, identification: Option<u16>) {
        /// Number of packets to others that a host may have sent in between.
        const BETWEEN: u16 = 16;
        let Some(identification) = identification else { return };
        if let Some((before, latest)) = self.latest
            && before != source
        {
            self.pairs += 1;
            let ahead = identification.wrapping_sub(latest);
            self.successive += u64::from((1..=BETWEEN).contains(&ahead));
        }
        self.latest = Some((source, identification));
    }
}

/// The effect of limits for networks.
#[derive(Clone, Default)]
pub(super) struct Networks {
    all: Map<IpAddr, [Bucket; OF_NETWORK.len()]>,
    /// Packets that each limit would drop.
    pub(super) over: [u64; OF_NETWORK.len()],
    /// There are too many networks: the effect of such limits is unknown.
    pub(super) is_cut: bool,
}

impl Networks {
    /// The limits that would drop a packet, a bit each.
    fn see(&mut self, source: IpAddr, time: Time, lengths: [u8; 2], room: &mut usize) -> u8 {
        if self.is_cut {
            return 0;
        }
        let network = network(source, lengths);
        if !self.all.contains_key(&network) {
            if self.all.len() >= NETWORKS || *room == 0 {
                *room += self.all.len();
                (self.is_cut, self.all) = (true, Map::default());
                return 0;
            }
            *room -= 1;
        }
        let buckets = self.all.entry(network).or_default();
        let mut bits = 0;
        for (at, ((bucket, over), rate)) in
            buckets.iter_mut().zip(&mut self.over).zip(OF_NETWORK).enumerate()
        {
            let is_over = bucket.is_empty(time, rate, rate);
            *over += u64::from(is_over);
            bits |= u8::from(is_over) << at;
        }
        bits
    }

    /// The same networks at later times.
    fn continues(&mut self, later: &Networks) {
        self.all.extend(&later.all);
        self.over.iter_mut().zip(later.over).for_each(|(mine, more)| *mine += more);
        self.is_cut |= later.is_cut || self.all.len() > NETWORKS;
        if self.is_cut {
            self.all = Map::default();
        }
    }
}

impl Target {
    /// A packet was sent to it, of this kind. The packet gets what only its target shows. Returns the responses to its
    /// source so far that needed no challenge, if known.
    pub(super) fn is_sent(
        &mut self,
        what: (Option<Id>, &'static str),
        to: SocketAddr,
        bytes: &[u8],
        packet: &mut SampledPacket,
        room: &mut TargetRoom,
    ) -> Option<PlainAnswers> {
        let (id, label) = what;
        let time = packet.time;
        self.protocol = self.protocol.or(id);
        self.costly += u64::from(packet.is_costly);
        self.of_itself += u64::from(packet.source == to.ip() && packet.port == to.port());
        self.port = to.port();
        self.packets[0] += 1;
        self.bytes[0] += u64::from(packet.length);
        self.timeline.see(time, packet.length.into(), &mut room.spans);
        let [first, last] = self.span.get_or_insert([time; 2]);
        (*first, *last) = ((*first).min(time), (*last).max(time));
        count(&mut self.kinds, label, 1);
        if id.is_some() {
            self.prefix.see(bytes);
        }
        self.hops[0].see(packet.hop_limit);
        self.ids.see(packet.source, packet.identification);
        self.is_tagged(packet.tags);
        if self.window.1 == 0 || time.since(self.window.0) >= room.window {
            self.window = (time, 0);
        }
        self.window.1 += 1;
        self.most = self.most.max(self.window.1);
        packet.over_network =
            self.networks.see(packet.source, time, room.lengths, &mut room.networks);
        self.sample.see(packet, &mut room.packets);
        let source = self.sources.sends(packet.source, &mut room.sources)?;
        source.sends(time, packet.hop_limit);
        Some(source.answers)
    }

    /// So many earlier packets are of the same traffic: they are of this kind, and about as long as this one.
    pub(super) fn had_before(
        &mut self,
        packet: &SampledPacket,
        label: &'static str,
        times: u64,
        room: &mut TargetRoom,
    ) {
        let length = u64::from(packet.length);
        self.packets[0] += times;
        self.bytes[0] += times * length;
        count(&mut self.kinds, label, times);
        (0..times).for_each(|_| self.timeline.see(packet.time, length, &mut room.spans));
    }

    /// What a packet shows of its source: that this is a client, or a server that registers. `proves`: gets the times of
    /// packets that are of a client which asks no faster than clients do.
    pub(super) fn is_shown(
        &mut self,
        packet: &SampledPacket,
        proof: Option<Proof>,
        mut asking: Asking<'_>,
        room: &mut TargetRoom,
        mut proves: impl FnMut(Time),
    ) {
        let Target { clients, timeline, .. } = self;
        let is_new = !clients.has(packet.source);
        if is_new {
            let Some(proof) = proof else { return asking.keep(packet) };
            clients.begin(packet, proof, &mut room.clients);
        }
        if proof == Some(Proof::Challenge) {
            clients.uses(packet.source, packet.port);
        }
        let first = is_new.then(|| asking.take()).into_iter().flatten();
        for packet in first.chain([*packet]) {
            let client = clients.see(&packet, room.window, &mut room.packets);
            if client.is_some_and(|client| client.is_slow(room.repeats)) {
                timeline.proves(packet.time);
                proves(packet.time);
            }
        }
    }

    /// So many earlier packets of a source are no part of the attack: they are of this kind, and about as long as this one.
    pub(super) fn was_sent(&mut self, packet: &SampledPacket, label: &str, times: u64) {
        let bytes = times * u64::from(packet.length);
        self.packets[0] = self.packets[0].saturating_sub(times);
        self.bytes[0] = self.bytes[0].saturating_sub(bytes);
        self.costly = self.costly.saturating_sub(times * u64::from(packet.is_costly));
        let kind = self.kinds.iter_mut().find(|(name, _)| *name == label);
        kind.into_iter().for_each(|(_, count)| *count = count.saturating_sub(times));
        self.timeline.take_back(packet.time, [times, bytes]);
        if let Some(source) = self.sources.known(packet.source) {
            source.packets = source.packets.saturating_sub(times.try_into().unwrap_or(u32::MAX));
        }
    }

    /// It sends a packet of this many bytes to a source. Returns this, if it is known.
    pub(super) fn sends(
        &mut self,
        to: IpAddr,
        bytes: u64,
        hop_limit: u8,
        is_challenge: bool,
    ) -> Option<&mut TrafficSource> {
        self.packets[1] += 1;
        self.bytes[1] += bytes;
        self.hops[1].see(hop_limit);
        let source = self.sources.known(to)?;
        source.challenged |= is_challenge;
        source.responses = source.responses.saturating_add(u32::from(!is_challenge));
        Some(source)
    }

    /// So many of its responses, of so many bytes, are another's.
    pub(super) fn gives_responses(&mut self, other: &mut Target, [packets, bytes]: [u64; 2]) {
        for (mine, theirs, given) in [
            (&mut self.packets[1], &mut other.packets[1], packets),
            (&mut self.bytes[1], &mut other.bytes[1], bytes),
        ] {
            (*mine, *theirs) = (mine.saturating_sub(given), *theirs + given);
        }
    }

    /// The players of a server are those of this port of it, but for those that flood it. Clients send at most `repeats`
    /// packets at once.
    pub(super) fn has_players_of(&mut self, server: &Target, repeats: u32) {
        self.protocol = self.protocol.or(server.protocol);
        let Target { sources, clients, .. } = self;
        clients.add_some(&server.clients, |source, client| {
            let floods = |it: &TrafficSource| it.is_more_than(client, repeats);
            client.proof == Proof::Plays || !sources.get(source).is_some_and(floods)
        });
        self.hops[1].add(server.hops[1]);
    }

    /// Whether somebody at a client's address, which is not forged as far as its way shows, sends more than the client.
    pub(super) fn is_flooded_by(&self, client: IpAddr, repeats: u32) -> bool {
        let (source, client) = (self.sources.get(client), self.clients.get(client));
        source.zip(client).is_some_and(|(source, client)| source.is_more_than(client, repeats))
    }

    /// The kind that most of its packets are of, and how many.
    pub(super) fn leading_kind(&self) -> Option<(&'static str, u64)> {
        self.kinds.iter().copied().min_by_key(|(name, packets)| (Reverse(*packets), *name))
    }

    /// Whether much of what both get is of the same kind.
    pub(super) fn is_like(&self, other: &Target) -> bool {
        let has_much_of = |mine: &Target, theirs: &Target| {
            let Some((leading, _)) = theirs.leading_kind() else { return false };
            let of_it = mine.kinds.iter().find(|(name, _)| *name == leading);
            of_it.is_some_and(|(_, packets)| packets.saturating_mul(MUCH) >= mine.packets[0])
        };
        has_much_of(self, other) && has_much_of(other, self)
    }

    /// Whether both get packets at the same time.
    pub(super) fn is_meanwhile(&self, other: &Target) -> bool {
        let spans = self.span.zip(other.span);
        spans.is_some_and(|([begin, end], [first, last])| begin <= last && first <= end)
    }

    /// Adds its own traffic of later times. `spans`: how many more its timeline may have.
    pub(super) fn continues(&mut self, later: &Target, spans: &mut usize) {
        self.add_counts(later);
        self.networks.continues(&later.networks);
        self.timeline.add_within(&later.timeline, spans);
        self.sample.continues(&later.sample);
    }

    /// Adds another target of the same attack.
    pub(super) fn add(&mut self, other: &Target) {
        self.add_counts(other);
        self.timeline.add(&other.timeline);
        self.sample.add(&other.sample);
        // A network's limit applies to all targets together, which was not measured.
        self.networks.is_cut = true;
    }

    fn add_counts(&mut self, other: &Target) {
        self.protocol = self.protocol.or(other.protocol);
        other.kinds.iter().for_each(|(name, times)| count(&mut self.kinds, name, *times));
        other.others.iter().for_each(|(port, times)| count(&mut self.others, *port, *times));
        other.asked_for.iter().for_each(|(port, times)| count(&mut self.asked_for, *port, *times));
        self.answers.add(&other.answers);
        self.costly += other.costly;
        self.lists += other.lists;
        for side in [0, 1] {
            self.packets[side] += other.packets[side];
            self.bytes[side] += other.bytes[side];
            self.hops[side].add(other.hops[side]);
        }
        let spans = self.span.into_iter().chain(other.span);
        self.span = spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        self.sources.add(&other.sources);
        self.clients.add(&other.clients);
        self.prefix.add(&other.prefix);
        other.tags.iter().for_each(|tags| self.is_tagged(*tags));
        self.ids.pairs += other.ids.pairs;
        self.ids.successive += other.ids.successive;
        self.unreachable += other.unreachable;
        self.of_itself += other.of_itself;
        self.port = other.port;
    }
}

impl Target {
    /// A packet to it comes with these tags and labels.
    fn is_tagged(&mut self, tags: LinkTags) {
        if self.tags.len() < TAGS && !self.tags.contains(&tags) {
            self.tags.push(tags);
            self.tags.sort_unstable();
        }
    }
}

/// The share of `some` in `all`.
pub(super) fn share(some: u64, all: u64) -> f64 {
    some as f64 / all.max(1) as f64
}

/// Adds to the count of this value.
pub(super) fn count<T: PartialEq + Copy>(counts: &mut Vec<(T, u64)>, what: T, times: u64) {
    match counts.iter_mut().find(|(known, _)| *known == what) {
        Some((_, count)) => *count += times,
        None => {
            if counts.len() < KINDS {
                counts.push((what, times));
            }
        }
    }
}
