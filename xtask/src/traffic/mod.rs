//! Many conversations at once, each between hosts of its own and on its own way, as a recorder
//! with three interfaces sees them; and what recordings lack.
//!
//! On its way a conversation's packets may go over IPv6, get VLAN tags, fall into IP fragments or
//! small segments, overtake each other and come again. The recording can be cut down: begun late,
//! one direction only, packets snapped, fragments and segments missing. All follows from a seed.

mod way;

use std::net::IpAddr;

use crate::exchange::{self, ScriptError, Setting};
use crate::wire::{ByteOrder, Interface, Link, PcapNg, Prng, Time, TimedPacket};
use way::{Hop, Way};

/// A conversation as it is written down.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// What it is called in reports.
    pub name: String,
    /// Its [exchange script](crate::exchange).
    pub script: String,
    /// What the script leaves open.
    pub setting: Setting,
}

/// The links that are recorded.
const LINKS: [Link; 3] = [Link::Ethernet, Link::Sll2, Link::Raw];

/// Conversations begin within this many milliseconds.
const BEGIN_WITHIN: u64 = 30_000;

/// A packet of the recording.
#[derive(Clone, Debug)]
struct Seen {
    conversation: usize,
    link: usize,
    hop: Hop,
    frame: TimedPacket,
}

/// A recording of many conversations.
#[derive(Clone, Debug)]
pub struct Traffic {
    seen: Vec<Seen>,
    /// What each conversation is called, and which network it is in.
    names: Vec<String>,
    /// How many packets the recorder dropped.
    dropped: u64,
}

impl Traffic {
    /// Plays every conversation once, between hosts of its own, all interleaved in time.
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

    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The conversation that a packet belongs to, by the packet's number in the file, from 1 on.
    pub fn conversation(&self, frame: u64) -> &str {
        let seen =
            usize::try_from(frame).ok().and_then(|frame| self.seen.get(frame.checked_sub(1)?));
        seen.map_or("no conversation", |seen| &self.names[seen.conversation])
    }

    /// The recording as a file.
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

    /// The recorder drops packets, and says at the end how many.
    pub fn drop_packets(&mut self, prng: &mut Prng) {
        let before = self.seen.len();
        self.seen.retain(|_| prng.below(8) > 0);
        self.dropped += (before - self.seen.len()) as u64;
    }

    /// The recording begins with this packet.
    pub fn begin_late(&mut self, first: usize) {
        self.seen.drain(..first.min(self.seen.len()));
    }

    /// The recording ends with this packet, at a time when all goes on.
    pub fn end_early(&mut self, after: usize) {
        self.seen.truncate(after);
    }

    /// Of every conversation only what one of its hosts sends is recorded.
    pub fn one_way(&mut self, prng: &mut Prng) {
        let mut kept: Vec<Option<bool>> = vec![None; self.names.len()];
        self.seen.retain(|seen| {
            let forth = is_forth(seen.hop.ends);
            *kept[seen.conversation].get_or_insert_with(|| prng.below(2) == 0) == forth
        });
    }

    /// Packets are recorded up to a length: one for all, or a few packets cut anywhere.
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

    /// Some fragments are missing; of every datagram at least one is there.
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

    /// Some segments with data are missing, and their repetitions with them.
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

/// Whether a packet goes from the lesser of its hosts to the greater. By what they are first - clients,
/// servers, masters, as the last byte has it -, so that of no host some packets go forth and some back.
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
