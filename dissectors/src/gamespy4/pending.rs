//! A request that waits for its response.

use super::packet::{PacketKind, RequestForm};
use crate::kit::Question;

/// What a request asks.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) kind: PacketKind,
    pub(super) form: RequestForm,
    pub(super) timestamp: [u8; 4],
    /// Whether its challenge is correct, if known.
    pub(super) verified: Option<bool>,
}

impl Asked {
    pub(super) fn timestamp(&self) -> u32 {
        u32::from_le_bytes(self.timestamp)
    }
}

impl Question for Asked {
    fn repeats(&self, before: &Asked) -> bool {
        self.kind == before.kind && self.timestamp == before.timestamp
    }

    fn is_alike(&self, other: &Asked) -> bool {
        self.kind == other.kind
    }
}
