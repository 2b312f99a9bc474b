//! Keeps packets from a pipe or an interface, as long as there is room.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::capture::{Event, LinkType, Packet, Packets};

/// Number of bytes that are dropped at a time.
const CHUNK: usize = 1 << 20;

/// The memory of a packet besides its bytes.
const HEAD: usize = size_of::<PacketHead>();

/// The latest packets.
pub(super) struct KeptPackets {
    chunks: VecDeque<Arc<PacketChunk>>,
    /// The chunk that is being filled.
    open: PacketChunk,
    /// Bytes of memory, and its maximum.
    bytes: usize,
    most: usize,
    count: u64,
    let_go: u64,
}

/// Some packets of one capture.
#[derive(Clone, Default)]
struct PacketChunk {
    capture: usize,
    heads: Vec<PacketHead>,
    bytes: Vec<u8>,
}

/// A packet without its bytes.
#[derive(Clone, Copy)]
struct PacketHead {
    frame: u64,
    time: i64,
    /// The end of its bytes.
    end: usize,
    original_length: u32,
    interface: u32,
    link: LinkType,
    digits: u8,
}

impl KeptPackets {
    /// With this maximum of bytes.
    pub(super) fn new(most: usize) -> KeptPackets {
        let (chunks, open) = (VecDeque::new(), PacketChunk::default());
        KeptPackets { chunks, open, bytes: 0, most: most.max(2 * CHUNK), count: 0, let_go: 0 }
    }

    /// Adds a packet; the oldest are dropped if there is no room.
    pub(super) fn push(&mut self, capture: usize, frame: u64, packet: &Packet<'_>) {
        let size = HEAD + packet.data.len();
        if self.open.size() + size > CHUNK || self.open.capture != capture {
            let full = std::mem::replace(
                &mut self.open,
                PacketChunk { capture, ..PacketChunk::default() },
            );
            self.chunks.push_back(Arc::new(full));
        }
        self.open.bytes.extend_from_slice(packet.data);
        self.open.heads.push(PacketHead {
            frame,
            time: packet.time,
            end: self.open.bytes.len(),
            original_length: packet.original_length,
            interface: packet.interface,
            link: packet.link,
            digits: packet.digits,
        });
        self.bytes += size;
        self.count += 1;
        while self.bytes > self.most
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.bytes -= oldest.size();
            self.count -= oldest.heads.len() as u64;
            self.let_go += oldest.heads.len() as u64;
        }
    }

    /// The number of kept packets, and of dropped ones.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.count, self.let_go)
    }

    /// The packets of a capture that are kept now.
    pub(super) fn reader(&self, capture: usize) -> KeptReader {
        let chunks = self.chunks.iter().cloned();
        let chunks = chunks.chain([Arc::new(self.open.clone())]);
        let chunks = chunks.filter(|it| it.capture == capture).collect();
        KeptReader { chunks, at: (0, 0), interface: None }
    }
}

impl PacketChunk {
    fn size(&self) -> usize {
        self.heads.len() * HEAD + self.bytes.len()
    }
}

/// Reads kept packets. Each has its number, since older ones may have been dropped.
pub(super) struct KeptReader {
    chunks: Vec<Arc<PacketChunk>>,
    /// The index of a chunk, and the number of packets in it that were read.
    at: (usize, usize),
    /// The name of the interface.
    pub(super) interface: Option<String>,
}

impl KeptReader {
    fn packet(&self) -> Option<Packet<'_>> {
        let (chunk, nth) = (self.chunks.get(self.at.0)?, self.at.1.checked_sub(1)?);
        let head = chunk.heads.get(nth)?;
        let start = nth.checked_sub(1).and_then(|it| chunk.heads.get(it)).map_or(0, |it| it.end);
        let PacketHead { link, interface, original_length, digits, frame: number, .. } = *head;
        let data = chunk.bytes.get(start..head.end).unwrap_or_default();
        let packet = Packet::new(head.time, data);
        Some(Packet { link, interface, original_length, digits, number, ..packet })
    }
}

impl Packets for KeptReader {
    fn advance(&mut self) -> Option<i64> {
        while self.chunks.get(self.at.0)?.heads.len() <= self.at.1 {
            self.at = (self.at.0 + 1, 0);
        }
        self.at.1 += 1;
        self.packet().map(|packet| packet.time)
    }

    fn current(&self) -> Event<'_> {
        Event::Packet(self.packet().unwrap_or(Packet::new(0, &[])))
    }

    /// In chunks.
    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.at.0 as u64, self.chunks.len() as u64))
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        None
    }

    fn interface_name(&self) -> Option<&str> {
        self.interface.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_packets_stay_within_the_room_there_is() {
        let mut kept = KeptPackets::new(0);
        let data = [7; 1000];
        for frame in 1..=10_000 {
            kept.push(usize::from(frame > 9_999), frame, &Packet::new(frame as i64, &data));
        }
        let (count, let_go) = kept.counts();
        assert_eq!(count + let_go, 10_000);
        assert!(let_go > 0 && kept.bytes <= 2 * CHUNK, "{count} {let_go} {}", kept.bytes);
        let mut reader = kept.reader(0);
        let mut next = let_go + 1;
        while let Some(Event::Packet(packet)) = reader.next() {
            let expected = (next, next as i64, &data[..]);
            assert_eq!((packet.number, packet.time, packet.data), expected);
            next += 1;
        }
        assert_eq!(next, 10_000, "all that are kept, of this capture");
        let mut reader = kept.reader(1);
        assert!(matches!(reader.next(), Some(Event::Packet(it)) if it.number == 10_000));
    }
}
