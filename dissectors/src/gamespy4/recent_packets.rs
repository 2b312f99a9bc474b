//! The packets of the latest responses, to recognize copies.

use super::decode::Header;
use super::unfinished::PartResult;
use crate::kit::{keyed_hash, room};

/// Limit: packets of earlier responses that are kept of a GameSpy 4 flow | {} | an older one counts as unknown
const COPIED: usize = 32;

/// The packets of the latest responses, by their hash.
#[derive(Default)]
pub(super) struct RecentPackets {
    /// The timestamp of the latest whole response with variables.
    timestamp: u32,
    /// Its request is in the capture.
    asked: bool,
    /// Its number of packets.
    packets: u8,
    /// Its packets by their index, after those of earlier responses and challenges.
    hashes: Vec<u64>,
}

impl RecentPackets {
    /// A response with variables is complete. `asked`: its request is in the capture.
    pub(super) fn whole<'a>(
        &mut self,
        timestamp: u32,
        asked: bool,
        packets: impl Iterator<Item = &'a [u8]>,
    ) {
        let before = self.hashes.len();
        self.hashes.extend(packets.map(keyed_hash));
        let packets = self.hashes.len() - before;
        (self.timestamp, self.asked, self.packets) = (timestamp, asked, packets.min(128) as u8);
        self.forget();
    }

    /// A response with a challenge.
    pub(super) fn challenge(&mut self, bytes: &[u8]) {
        self.hashes.insert(self.before(), keyed_hash(bytes));
        self.forget();
    }

    /// Whether the latest whole response has this timestamp.
    pub(super) fn is_latest(&self, timestamp: u32) -> bool {
        self.packets > 0 && self.timestamp == timestamp
    }

    /// Whether the request of the latest whole response is in the capture.
    pub(super) fn was_asked(&self) -> bool {
        self.asked
    }

    /// The kind of a packet that begins no other response. `answered`: whether the pending request
    /// for another one, if any, has been answered.
    pub(super) fn after(
        &self,
        header: Header,
        bytes: &[u8],
        answered: Option<bool>,
    ) -> Option<PartResult> {
        // A second response may have the same end, but rarely the same beginning.
        let may_begin = answered.is_some_and(|answered| !answered || header.index == 0);
        if !may_begin && self.has(bytes) {
            return Some(PartResult::Copy);
        }
        if answered.is_some() || !self.is_latest(header.timestamp) {
            return None;
        }
        let last = self.packets - 1;
        Some(match header.index <= last {
            true => PartResult::Repeated,
            false => PartResult::LastMisplaced { highest: header.index, last },
        })
    }

    /// Whether this is an identical copy of one of them.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        !self.hashes.is_empty() && self.hashes.contains(&keyed_hash(bytes))
    }

    /// Heap memory in bytes.
    pub(super) fn held(&self) -> usize {
        room(&self.hashes)
    }

    /// The number of packets from before the latest whole response.
    fn before(&self) -> usize {
        self.hashes.len().saturating_sub(usize::from(self.packets))
    }

    fn forget(&mut self) {
        self.hashes.drain(..self.before().saturating_sub(COPIED));
    }
}
