//! Packets that wait until their replacements are known: those of a message are, when the message is
//! whole. The queue is as long as its memory allows; of the packets that leave it, what is not
//! known is replaced by letters.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Piece;
use foldhash::quality::RandomState;

use super::headers::{self, Checksum, Numbering};
use super::packets::{self, Content, Edit, Lost, NewPayload, Part, Written};
use super::{Key, Scrubber};
use crate::capture::Packet;

/// Maximum number of earlier segments whose bytes a segment repeats.
const REPEATED: usize = 64;

/// A packet that leaves the queue.
pub struct Queued {
    /// Its number.
    pub frame: u64,
    /// Its time in nanoseconds.
    pub time: i64,
    /// The number of its interface.
    pub interface: u32,
    /// Digits of a second of its time.
    pub digits: u8,
    /// It holds bytes of a message.
    pub is_message: bool,
    /// What it was, if it was no datagram.
    pub lost: Vec<Lost>,
    parts: Vec<Part>,
    /// The packets that repeat its bytes.
    followers: Vec<u64>,
}

impl Queued {
    /// The ends of its datagrams and segments, and whether they have no payload. Those of ICMP
    /// errors are of the datagram that they quote.
    pub fn flows(&self) -> impl Iterator<Item = ([SocketAddr; 2], bool)> + '_ {
        let flows = self.parts.iter().filter(|part| !part.is_fragment());
        flows.map(|part| (part.ends, part.is_empty()))
    }

    /// The hosts of its segments that open or refuse a connection.
    pub fn openings(&self) -> impl Iterator<Item = [IpAddr; 2]> + '_ {
        let openings = self.parts.iter().filter(|part| part.opens_or_refuses());
        openings.map(|part| [part.ip.source, part.ip.destination])
    }

    /// The hosts of its fragments.
    pub fn fragments(&self) -> impl Iterator<Item = [IpAddr; 2]> + '_ {
        let fragments = self.parts.iter().filter(|part| part.is_fragment());
        fragments.map(|part| [part.ip.source, part.ip.destination])
    }

    /// The hosts that sent its datagrams and segments.
    pub fn senders(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.parts.iter().filter(|part| !part.is_fragment()).map(Part::sender)
    }

    fn memory(&self) -> usize {
        size_of::<Queued>()
            + self
                .parts
                .iter()
                .map(|part| size_of::<Part>() + part.memory() + INDEXED)
                .sum::<usize>()
            + self.followers.len() * size_of::<u64>()
    }
}

/// Memory of a datagram in the indexes of the queue.
const INDEXED: usize = 64;

impl Part {
    /// The sequence number of a segment.
    fn sequence(&self) -> Option<u32> {
        match self.content {
            Content::Tcp { sequence } => Some(sequence),
            _ => None,
        }
    }

    fn is_fragment(&self) -> bool {
        matches!(self.content, Content::Fragment { .. })
    }
}

/// A segment that waits: its sequence number, its packet, its length, and a hash of its bytes.
struct Earlier {
    at: u32,
    frame: u64,
    length: u32,
    hash: u64,
}

/// The fragments of one datagram.
#[derive(Default)]
struct Gathered {
    /// The packets that wait.
    waiting: Vec<u64>,
    /// The places, and the old and new bytes, of those that have left, and the place after the end.
    gone: Vec<(u32, Box<[u8]>, Vec<u8>)>,
    length: Option<u32>,
}

/// The packets that wait.
pub struct PacketQueue {
    packets: VecDeque<Queued>,
    used: usize,
    most: usize,
    hasher: RandomState,
    numbering: Numbering,
    /// Datagrams by a hash of their ends and bytes.
    copies: HashMap<u64, u64, RandomState>,
    /// Segments by direction and sequence number: the packet, its length and a hash of its bytes.
    segments: BTreeMap<(u64, u32), (u64, u32, u64)>,
    /// Fragments by a hash of what the fragments of a datagram have in common.
    datagrams: HashMap<u64, Gathered, RandomState>,
}

impl PacketQueue {
    /// An empty queue that takes about this many bytes at most.
    pub fn within(key: Key, bytes: usize) -> PacketQueue {
        PacketQueue {
            packets: VecDeque::new(),
            used: 0,
            most: bytes,
            hasher: RandomState::default(),
            numbering: Numbering(key),
            copies: HashMap::default(),
            segments: BTreeMap::new(),
            datagrams: HashMap::default(),
        }
    }

    /// Adds a packet; `frame`: its number, which is larger than those before.
    pub fn push(&mut self, packet: &Packet<'_>, frame: u64) {
        let hasher = &self.hasher;
        let (parts, lost) = packets::decode(packet, |ends, bytes| hasher.hash_one((ends, bytes)));
        let mut queued = Queued {
            frame,
            time: packet.time,
            interface: packet.interface,
            digits: packet.digits,
            is_message: false,
            lost,
            parts,
            followers: Vec::new(),
        };
        for part in &mut queued.parts {
            self.index(part, frame, packet);
        }
        self.used += queued.memory();
        self.packets.push_back(queued);
    }

    /// Enters a datagram in the indexes, and notes which earlier ones it repeats.
    fn index(&mut self, part: &mut Part, frame: u64, packet: &Packet<'_>) {
        match &part.content {
            Content::Udp if part.length > 0 => match self.copies.get(&part.hash) {
                Some(&first) => self.follow(first, frame),
                None => {
                    self.copies.insert(part.hash, frame);
                }
            },
            &Content::Tcp { sequence } if part.length > 0 => {
                self.index_segment(part, sequence, frame, packet);
            }
            Content::Fragment { at, more, .. } => {
                let end = (!more).then_some(*at + part.length);
                let key = self.datagram_of(part);
                let gathered = self.datagrams.entry(key).or_default();
                gathered.length = gathered.length.or(end);
                gathered.waiting.push(frame);
            }
            _ => {}
        }
    }

    fn index_segment(&mut self, part: &mut Part, sequence: u32, frame: u64, packet: &Packet<'_>) {
        let direction = self.hasher.hash_one(part.ends);
        let end = sequence.saturating_add(part.length);
        for Earlier { at, frame: first, length, hash } in self.overlapping(direction, sequence, end)
        {
            if first == frame {
                continue;
            }
            self.follow(first, frame);
            if at == sequence && length <= part.length {
                let start = part.offset as usize;
                let bytes = packet.data.get(start..start + length as usize).unwrap_or_default();
                part.differs |= self.hasher.hash_one((part.ends, bytes)) != hash;
            }
        }
        self.segments.entry((direction, sequence)).or_insert((frame, part.length, part.hash));
    }

    /// The segments that wait, in one direction, with bytes from `sequence` up to `end`. Of those that begin before, only
    /// the nearest are looked at: a stream may have a segment for each byte.
    fn overlapping(&self, direction: u64, sequence: u32, end: u32) -> Vec<Earlier> {
        const LONGEST: u32 = 1 << 16;
        let place = |at: u32| (direction, at);
        let earlier = |(&(_, at), &(frame, length, hash)): (&(u64, u32), &(u64, u32, u64))| {
            Earlier { at, frame, length, hash }
        };
        let first = place(sequence.saturating_sub(LONGEST));
        let before = self.segments.range(first..place(sequence)).rev().take(REPEATED).map(earlier);
        let before = before.filter(|it| it.at.saturating_add(it.length) > sequence);
        let mut segments = Vec::from_iter(before);
        segments.reverse();
        let from = self.segments.range(place(sequence)..place(end.max(sequence)));
        segments.extend(from.take(REPEATED - segments.len()).map(earlier));
        segments
    }

    /// What the fragments of a datagram have in common.
    fn datagram_of(&self, part: &Part) -> u64 {
        let Content::Fragment { identification, .. } = part.content else { return 0 };
        let protocol = if part.ip.source.is_ipv4() { part.protocol } else { 0 };
        let ip = &part.ip;
        self.hasher.hash_one((
            ip.source,
            ip.destination,
            identification,
            protocol,
            ip.vlan,
            ip.tunnels,
        ))
    }

    fn follow(&mut self, first: u64, follower: u64) {
        if let Some(first) = self.get_mut(first) {
            first.followers.push(follower);
            self.used += size_of::<u64>();
        }
    }

    fn place(&self, frame: u64) -> Option<usize> {
        self.packets.binary_search_by_key(&frame, |packet| packet.frame).ok()
    }

    fn get_mut(&mut self, frame: u64) -> Option<&mut Queued> {
        let at = self.place(frame)?;
        self.packets.get_mut(at)
    }

    /// The datagram of a packet with the byte at this place.
    fn part_mut(&mut self, frame: u64, offset: u32) -> Option<&mut Part> {
        let packet = self.get_mut(frame)?;
        packet.is_message = true;
        packet
            .parts
            .iter_mut()
            .find(|part| (part.offset..=part.offset + part.length).contains(&offset))
    }

    /// Bytes of a message replace those of a packet from this place on. Returns whether the packet
    /// still waits.
    pub fn edit(&mut self, piece: &Piece, bytes: &[u8]) -> bool {
        let Some(part) = self.part_mut(piece.frame, piece.offset) else { return false };
        part.edits.push(Edit { offset: piece.offset, bytes: bytes.into() });
        part.is_message = true;
        self.used += bytes.len() + size_of::<Edit>() + 16;
        true
    }

    /// The packets of a response end before its compressed bytes. Only the word that all such begin with stays,
    /// because it shows where the headers end.
    pub fn cut_compressed(&mut self, pieces: &[Piece]) {
        const BZIP2: &[u8] = b"BZh9";
        let mut word = BZIP2;
        for piece in pieces {
            let (here, after) = word.split_at(word.len().min(piece.length as usize));
            if !here.is_empty() {
                self.edit(piece, here);
            }
            self.cut(piece.frame, piece.offset + here.len() as u32);
            word = after;
        }
    }

    /// The packet ends here.
    fn cut(&mut self, frame: u64, offset: u32) {
        if let Some(part) = self.part_mut(frame, offset) {
            part.cut = Some(part.cut.map_or(offset, |cut| cut.min(offset)));
        }
    }

    /// A packet holds an ICMP error that quotes the datagram of another packet.
    pub fn quote(&mut self, error: u64, quoted: u64) {
        self.follow(quoted, error);
    }

    /// Bytes of a stream that are between those of a message, or after them: the lengths of chunks.
    /// `outside`: how many there are.
    pub fn chunks(&mut self, pieces: &[Piece], outside: u32) {
        let Some(stream) = pieces.first().and_then(|piece| self.sequence_of(piece)) else { return };
        let (direction, mut at) = stream;
        let mut left = outside;
        // Where bytes are missing, how many, and how long the chunk after them is.
        let mut gaps: Vec<(u32, u32, u32)> = Vec::new();
        for piece in pieces {
            let Some((_, sequence)) = self.sequence_of(piece) else { return };
            let gap = sequence.wrapping_sub(at);
            if gap > 0 && gap <= left {
                gaps.push((at, gap, 0));
                left -= gap;
            }
            if let Some(last) = gaps.last_mut() {
                last.2 += piece.length;
            }
            at = sequence.wrapping_add(piece.length);
        }
        if left > 0 {
            gaps.push((at, left, 0));
        }
        for (nth, &(at, length, chunk)) in gaps.iter().enumerate() {
            let line = chunk_line(length as usize, chunk, nth == 0);
            self.edit_stream(direction, at, &line);
        }
    }

    /// The direction and the sequence number of the first byte of a piece.
    fn sequence_of(&self, piece: &Piece) -> Option<(u64, u32)> {
        let parts = &self.packets.get(self.place(piece.frame)?)?.parts;
        parts.iter().find_map(|part| {
            let sequence = part.sequence()?;
            let into = piece.offset.checked_sub(part.offset).filter(|into| *into <= part.length)?;
            Some((self.hasher.hash_one(part.ends), sequence.wrapping_add(into)))
        })
    }

    /// Bytes of a stream are replaced.
    fn edit_stream(&mut self, direction: u64, sequence: u32, bytes: &[u8]) {
        let end = sequence.saturating_add(bytes.len() as u32);
        for Earlier { at, frame, length, .. } in self.overlapping(direction, sequence, end) {
            let (from, to) = (sequence.max(at), end.min(at.saturating_add(length)));
            let bytes = bytes.get((from - sequence) as usize..(to - sequence) as usize);
            let packet = self.place(frame).and_then(|at| self.packets.get(at));
            let mut parts = packet.into_iter().flat_map(|packet| &packet.parts);
            let part = parts.find(|part| part.sequence() == Some(at));
            if let (Some(bytes), Some(part)) = (bytes, part) {
                let offset = part.offset + (from - at);
                self.edit(&Piece { at: 0, length: to - from, frame, offset }, bytes);
            }
        }
    }

    /// Whether the oldest packet has to leave.
    pub fn is_full(&self) -> bool {
        self.used > self.most
    }

    /// The oldest packet leaves.
    pub fn pop(&mut self) -> Option<Queued> {
        self.packets.pop_front()
    }

    /// What is written of a packet that has left, and whether it is `wanted`. Packets that repeat
    /// its bytes get its replacements.
    pub fn write(&mut self, packet: Queued, wanted: bool, scrubber: &mut Scrubber) -> Vec<Written> {
        self.used = self.used.saturating_sub(packet.memory());
        let mut written = Vec::new();
        for part in &packet.parts {
            let is_needed = wanted || !packet.followers.is_empty() || part.is_fragment();
            let new = match is_needed {
                true => part.payload(scrubber, &self.numbering),
                false => NewPayload::default(),
            };
            self.hand_over(&packet, part, &new);
            let checksum = self.leave(&packet, part, &new, scrubber);
            if wanted {
                written.push(part.write(new, checksum, scrubber.addresses(), &self.numbering));
            }
        }
        written
    }

    /// Gives the replacements to the packets that repeat the bytes.
    fn hand_over(&mut self, packet: &Queued, part: &Part, (new, _): &NewPayload) {
        for &follower in &packet.followers {
            let Some(of) = self.get_mut(follower) else { continue };
            let before = of.memory();
            for other in &mut of.parts {
                of.is_message |= other.repeat(part, new) && packet.is_message;
            }
            let more = of.memory() - before;
            self.used += more;
        }
    }

    /// Removes a datagram from the indexes. Returns the checksum of a fragmented datagram, if this
    /// is its first fragment.
    fn leave(
        &mut self,
        packet: &Queued,
        part: &Part,
        new: &NewPayload,
        scrubber: &mut Scrubber,
    ) -> Option<[u8; 2]> {
        match &part.content {
            Content::Udp if self.copies.get(&part.hash) == Some(&packet.frame) => {
                // The next copy follows the second one.
                let next =
                    packet.followers.iter().find(|it| self.is_copy(**it, part.hash)).copied();
                match next {
                    Some(next) => self.copies.insert(part.hash, next),
                    None => self.copies.remove(&part.hash),
                };
                None
            }
            &Content::Tcp { sequence } => {
                let key = (self.hasher.hash_one(part.ends), sequence);
                if self.segments.get(&key).is_some_and(|it| it.0 == packet.frame) {
                    self.segments.remove(&key);
                }
                None
            }
            &Content::Fragment { at, .. } => {
                let key = self.datagram_of(part);
                let sum = (at == 0).then(|| self.sum(key, packet.frame, part, new, scrubber));
                self.leave_datagram(key, packet.frame, at, part, new);
                sum
            }
            _ => None,
        }
    }

    fn is_copy(&self, frame: u64, hash: u64) -> bool {
        let packet = self.place(frame).and_then(|at| self.packets.get(at));
        packet.is_some_and(|packet| {
            packet
                .parts
                .iter()
                .any(|part| part.hash == hash && matches!(part.content, Content::Udp))
        })
    }

    fn leave_datagram(&mut self, key: u64, frame: u64, at: u32, part: &Part, new: &NewPayload) {
        let Some(gathered) = self.datagrams.get_mut(&key) else { return };
        gathered.waiting.retain(|waiting| *waiting != frame);
        if gathered.waiting.is_empty() {
            let gone = gathered.gone.iter().map(|gone| 2 * gone.1.len()).sum::<usize>();
            self.used = self.used.saturating_sub(gone);
            self.datagrams.remove(&key);
        } else {
            self.used += 2 * part.bytes.len();
            gathered.gone.push((at, part.bytes.clone(), new.0.clone()));
        }
    }

    /// The checksum of a fragmented datagram with the new bytes: right, if that of the old ones
    /// was. In overlapping parts, the byte counts that arrived first.
    fn sum(
        &self,
        key: u64,
        frame: u64,
        part: &Part,
        new: &NewPayload,
        scrubber: &mut Scrubber,
    ) -> [u8; 2] {
        let gathered = self.datagrams.get(&key);
        let length = gathered.and_then(|gathered| gathered.length).unwrap_or(0).min(1 << 16);
        let mut whole = Whole::new(length as usize);
        for (at, old, new) in gathered.iter().flat_map(|gathered| &gathered.gone) {
            whole.add(*at, old, new);
        }
        whole.add(0, &part.bytes, &new.0);
        for &waiting in gathered.iter().flat_map(|gathered| &gathered.waiting) {
            let packet = self.place(waiting).and_then(|at| self.packets.get(at));
            for other in packet.into_iter().flat_map(|packet| &packet.parts) {
                let Content::Fragment { at, .. } = other.content else { continue };
                if waiting != frame && self.datagram_of(other) == key {
                    let (new, _) = other.payload(scrubber, &self.numbering);
                    whole.add(at, &other.bytes, &new);
                }
            }
        }
        whole.checksum(part, scrubber)
    }
}

/// The old and the new bytes of a datagram.
struct Whole {
    old: Vec<Option<u8>>,
    new: Vec<u8>,
}

impl Whole {
    fn new(length: usize) -> Whole {
        Whole { old: vec![None; length], new: vec![0; length] }
    }

    fn add(&mut self, at: u32, old: &[u8], new: &[u8]) {
        let places = self.old.iter_mut().zip(&mut self.new).skip(at as usize);
        for ((place, new_place), (old, new)) in places.zip(old.iter().zip(new)) {
            if place.is_none() {
                (*place, *new_place) = (Some(*old), *new);
            }
        }
    }

    fn checksum(mut self, part: &Part, scrubber: &mut Scrubber) -> [u8; 2] {
        let at = headers::checksum_place(part.protocol);
        let hosts = [part.ip.source, part.ip.destination];
        let old: Option<Vec<u8>> = self.old.into_iter().collect();
        let recorded = part.bytes.get(at..at + 2);
        let checksum = match old {
            _ if recorded == Some(&[0; 2]) => Checksum::Absent,
            Some(old) if headers::is_right(&hosts, part.protocol, &old) => Checksum::Right,
            _ => Checksum::Wrong,
        };
        let ends = hosts.map(|end| scrubber.addresses().of(end));
        if self.new.len() < at + 2 {
            self.new.resize(at + 2, 0);
        }
        headers::set_checksum(checksum, &ends, part.protocol, &mut self.new);
        self.new.get(at..).and_then(|sum| sum.first_chunk()).copied().unwrap_or_default()
    }
}

/// The line with the length of a chunk, of this many bytes, and the line end before it unless it is
/// the first one. After the last chunk, whose length is 0, a blank line follows.
fn chunk_line(length: usize, chunk: u32, is_first: bool) -> Vec<u8> {
    const DIGITS: usize = 15;
    let digits = format!("{chunk:x}");
    let parts = |end: &str| {
        let before = if is_first { "" } else { end };
        let after = if chunk == 0 { end.repeat(2) } else { end.to_owned() };
        let room = length.checked_sub(before.len() + after.len() + digits.len())?;
        // More zeros than a reader takes are an extension.
        let zeros = room.min(DIGITS - digits.len().min(DIGITS));
        let extension = match room - zeros {
            0 => String::new(),
            more => format!(";{}", "x".repeat(more - 1)),
        };
        Some(format!("{before}{}{digits}{extension}{after}", "0".repeat(zeros)))
    };
    let line = parts("\r\n").or_else(|| parts("\n")).unwrap_or_else(|| "x".repeat(length));
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_chunks_have_their_length() {
        let line = |length, chunk, is_first| {
            String::from_utf8(chunk_line(length, chunk, is_first)).unwrap()
        };
        assert_eq!(line(4, 0x5D, true), "5d\r\n");
        assert_eq!(line(8, 0x5D, false), "\r\n005d\r\n".get(..8).unwrap());
        assert_eq!(line(3, 0x5D, true), "5d\n");
        assert_eq!(line(7, 0, false), "\r\n0\r\n\r\n");
        assert_eq!(
            line(40, 0, false),
            format!("\r\n{};{}\r\n\r\n", "0".repeat(15), "x".repeat(18))
        );
        assert_eq!(line(1, 0x5D, false), "x");
    }
}
