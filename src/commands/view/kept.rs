//! Keeps packets from a pipe or an interface, as long as there is room.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::capture::{LinkType, Packet};

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
        KeptReader { chunks: chunks.filter(|it| it.capture == capture).collect(), at: (0, 0) }
    }
}

impl PacketChunk {
    fn size(&self) -> usize {
        self.heads.len() * HEAD + self.bytes.len()
    }
}

/// Reads kept packets.
pub(super) struct KeptReader {
    chunks: Vec<Arc<PacketChunk>>,
    /// The indices of the next chunk, and of the packet in it.
    at: (usize, usize),
}

impl KeptReader {
    /// The next packet, and its number.
    pub(super) fn next(&mut self) -> Option<(u64, Packet<'_>)> {
        while self.chunks.get(self.at.0)?.heads.len() <= self.at.1 {
            self.at = (self.at.0 + 1, 0);
        }
        let (chunk, nth) = (self.chunks.get(self.at.0)?, self.at.1);
        self.at.1 += 1;
        let head = chunk.heads.get(nth)?;
        let start = nth.checked_sub(1).and_then(|it| chunk.heads.get(it)).map_or(0, |it| it.end);
        let packet = Packet {
            time: head.time,
            link: head.link,
            interface: head.interface,
            original_length: head.original_length,
            data: chunk.bytes.get(start..head.end).unwrap_or_default(),
            file: 0,
            number: 0,
            offset: 0,
            digits: head.digits,
        };
        Some((head.frame, packet))
    }

    /// The share of chunks that were read.
    pub(super) fn progress(&self) -> f64 {
        self.at.0 as f64 / self.chunks.len().max(1) as f64
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
        while let Some((frame, packet)) = reader.next() {
            assert_eq!((frame, packet.time, packet.data), (next, next as i64, &data[..]));
            next += 1;
        }
        assert_eq!(next, 10_000, "all that are kept, of this capture");
        assert_eq!(kept.reader(1).next().map(|(frame, _)| frame), Some(10_000));
    }
}
