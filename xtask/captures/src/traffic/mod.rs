//! Captures of many simultaneous conversations, each between its own hosts and on its own path, on three
//! interfaces; optionally incomplete.
//!
//! The packets of a conversation may be sent over IPv6, have VLAN tags, and be fragmented, segmented,
//! reordered and repeated. The capture may be incomplete: a late start, only one direction, a snap length,
//! missing fragments and segments. Everything is derived from a seed.

mod way;

use std::net::IpAddr;

use crate::exchange::{self, ScriptError, Setting};
use crate::wire::{ByteOrder, Interface, Link, PcapNg, Prng, Time, TimedPacket};
use way::{Hop, Way};

/// A conversation with its script.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Its name in reports.
    pub name: String,
    /// Its [exchange script](crate::exchange).
    pub script: String,
    /// The defaults of the script.
    pub setting: Setting,
}

/// The link types of the interfaces.
const LINKS: [Link; 3] = [Link::Ethernet, Link::Sll2, Link::Raw];

/// Conversations start within this number of milliseconds.
const BEGIN_WITHIN: u64 = 30_000;

/// A packet of the capture.
#[derive(Clone, Debug)]
struct Seen {
    conversation: usize,
    link: usize,
    hop: Hop,
    frame: TimedPacket,
}

/// A capture of many conversations.
#[derive(Clone, Debug)]
pub struct Traffic {
    seen: Vec<Seen>,
    /// The name and network of each conversation.
    names: Vec<String>,
    /// The number of dropped packets.
    dropped: u64,
}

impl Traffic {
    /// Plays every conversation once, between its own hosts, interleaved in time.
    ///
    /// # Errors
    /// If a script is wrong.
    ///
    /// # Panics
    /// If there are more than 16384 conversations.
    pub fn interleaved(conversations: &[Conversation], seed: u64) -> Result<Self, ScriptError> {
        let mut prng = Prng::new(seed);
        let mut seen = Vec::new();
        let mut names = Vec::new();
        for (number, conversation) in conversations.iter().enumerate() {
            let link = prng.below(LINKS.len() as u64) as usize;
            let way = Way::random(LINKS[link], &mut prng);
            let setting = Setting {
                network: u16::try_from(number).expect("networks for all"),
                ipv6: way.ipv6,
                link: Link::Raw,
                ..conversation.setting
            };
            let mut played = exchange::capture(&conversation.script, &setting)?.packets;
            let begins = prng.below(BEGIN_WITHIN);
            for packet in &mut played {
                packet.time = packet.time.after_ms(begins);
            }
            let hops = way.travel(played, &mut prng).into_iter();
            seen.extend(hops.map(|hop| {
                let length = hop.packet.length;
                let bytes = LINKS[link].frame(&way.tags, &hop.packet.bytes);
                let link_header = (bytes.len() - hop.packet.bytes.len()) as u32;
                let frame =
                    TimedPacket { time: hop.packet.time, length: length + link_header, bytes };
                Seen { conversation: number, link, hop, frame }
            }));
            names.push(conversation.name.clone());
        }
        seen.sort_by_key(|seen| seen.frame.time);
        Ok(Self { seen, names, dropped: 0 })
    }

    /// The number of packets.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether there are no packets.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The conversation that a packet belongs to, by the packet's number in the file, from 1 on.
    pub fn conversation(&self, frame: u64) -> &str {
        let seen =
            usize::try_from(frame).ok().and_then(|frame| self.seen.get(frame.checked_sub(1)?));
        seen.map_or("no conversation", |seen| &self.names[seen.conversation])
    }

    /// The capture as a file.
    pub fn pcapng(&self) -> Vec<u8> {
        let mut file = PcapNg::new(ByteOrder::Little);
        let resolution = Some(9);
        let numbers =
            LINKS.map(|link| file.interface(Interface { resolution, ..Interface::new(link) }));
        for seen in &self.seen {
            file.enhanced(numbers[seen.link], &seen.frame);
        }
        if let Some(last) = self.seen.last().filter(|_| self.dropped > 0) {
            let (time, received) = (last.frame.time, self.seen.len() as u64);
            file.statistics(numbers[0], time, received, self.dropped);
        }
        file.done()
    }

    /// Drops packets, and records the number of drops at the end.
    pub fn drop_packets(&mut self, prng: &mut Prng) {
        let before = self.seen.len();
        self.seen.retain(|_| prng.below(8) > 0);
        self.dropped += (before - self.seen.len()) as u64;
    }

    /// Removes all packets before this one.
    pub fn begin_late(&mut self, first: usize) {
        self.seen.drain(..first.min(self.seen.len()));
    }

    /// Removes all packets after this one, although the conversations continue.
    pub fn end_early(&mut self, after: usize) {
        self.seen.truncate(after);
    }

    /// Keeps only one direction of every conversation.
    pub fn one_way(&mut self, prng: &mut Prng) {
        let mut kept: Vec<Option<bool>> = vec![None; self.names.len()];
        self.seen.retain(|seen| {
            let forth = is_forth(seen.hop.ends);
            *kept[seen.conversation].get_or_insert_with(|| prng.below(2) == 0) == forth
        });
    }

    /// Truncates packets: all to the same length, or a few to random lengths.
    pub fn snap(&mut self, prng: &mut Prng) {
        let for_all = (prng.below(2) == 0).then(|| 40 + prng.below(160) as usize);
        for seen in &mut self.seen {
            let length = match for_all {
                Some(length) => length,
                None if prng.below(4) == 0 => prng.below(seen.frame.bytes.len() as u64) as usize,
                None => continue,
            };
            seen.frame.bytes.truncate(length);
        }
    }

    /// Removes some fragments, but not all of a datagram.
    pub fn lose_fragments(&mut self, prng: &mut Prng) {
        let salt = prng.next();
        self.seen.retain(|seen| match seen.hop.fragment {
            Some((datagram, number, count)) => {
                let sign = u64::from(datagram) ^ (seen.conversation as u64) << 32 ^ salt;
                let survivor = Prng::new(sign).below(count as u64) as usize;
                number == survivor || prng.below(3) > 0
            }
            None => true,
        });
    }

    /// Removes some segments with data, and their retransmissions.
    pub fn lose_segments(&mut self, prng: &mut Prng) {
        let salt = prng.next();
        self.seen.retain(|seen| match seen.hop.sequence {
            Some(sequence) => {
                let sign = u64::from(sequence) ^ (seen.conversation as u64) << 32 ^ salt;
                Prng::new(sign).below(4) > 0
            }
            None => true,
        });
    }
}

/// Whether a packet is sent from the lesser of its hosts to the greater. They are compared by role first -
/// clients, servers, masters, by the last byte -, so that all packets of a host have the same direction.
fn is_forth(ends: [IpAddr; 2]) -> bool {
    let [source, destination] = ends.map(|host| {
        let bytes = match host {
            IpAddr::V4(host) => host.octets(),
            IpAddr::V6(host) => host.octets()[12..].try_into().unwrap_or_default(),
        };
        (bytes[3], bytes)
    });
    source < destination
}

/// A time this many milliseconds later than the packet's.
fn later(packet: &TimedPacket, milliseconds: u64) -> Time {
    packet.time.after_ms(milliseconds)
}
