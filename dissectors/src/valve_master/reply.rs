//! A part of a master's list.

use super::endpoint::Endpoint;
use crate::kit::Span;

/// Bytes of an address block.
pub(super) const BLOCK: usize = 6;

/// A part of a list.
#[derive(Clone, Copy, Default)]
pub(super) struct ReplySummary<'a> {
    /// The address blocks without the end mark.
    pub(super) blocks: &'a [u8],
    /// The length of each.
    pub(super) block: usize,
    /// Where they are.
    pub(super) at: Span,
    /// It has the end mark 0.0.0.0:0.
    pub(super) ended: bool,
    /// It begins with a key that Xash3D's masters repeat.
    pub(super) keyed: bool,
    /// It conforms to the specification.
    pub(super) is_valid: bool,
}

impl ReplySummary<'_> {
    /// The last address, after which the next query continues. `None` in a list of IPv6 addresses.
    pub(super) fn last(&self) -> Option<Endpoint> {
        if self.block == BLOCK { self.blocks.last_chunk().copied() } else { None }
    }

    /// The block at this index, and its span.
    pub(super) fn block_at(&self, at: usize) -> (&[u8], Span) {
        let start = at.saturating_mul(self.block);
        let block = self.blocks.get(start..).unwrap_or_default();
        let block = block.get(..self.block).unwrap_or(block);
        let from = self.at.start as usize + start;
        (block, Span::new(from, from + block.len()))
    }
}
