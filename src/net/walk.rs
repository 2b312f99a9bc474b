//! The state of decoding a packet, which all layers share.
//!
//! Each layer is a method of [`Walk`] in a file for its kind; it takes the bytes from its header on
//! and ends by calling the next layer. The nesting of calls is limited by [`limits::LAYERS`] and
//! [`limits::TUNNELS`].

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::limits;
use super::packet::{Ip, Layer, LinkTags, Malformed, PacketDirection, TransportPayload};
use super::tunnels::{Tunnel, Tunnels};

/// A packet while it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walk<'a> {
    /// The decoded bytes; offsets count from here.
    pub(super) data: &'a [u8],
    /// Number of bytes that the capture cut off at the end of the current layer.
    pub(super) cut: u32,
    pub(super) layers: u8,
    pub(super) direction: PacketDirection,
    pub(super) vlan: Option<u16>,
    pub(super) tags: LinkTags,
    pub(super) tunnels: Tunnels,
}

/// The payload of an IP header.
#[derive(Clone, Copy)]
pub(super) struct IpPayload<'a> {
    pub(super) ip: Ip,
    pub(super) ipv4: &'a [u8],
    pub(super) protocol: u8,
    pub(super) bytes: &'a [u8],
    /// How many bytes are missing from the announced length.
    pub(super) missing: u32,
    /// They are missing because the capture cut the packet.
    pub(super) snapped: bool,
    pub(super) note: Option<Malformed>,
}

impl<'a> Walk<'a> {
    /// All decoded bytes.
    pub(super) fn whole(&self) -> &'a [u8] {
        self.data
    }

    /// Counts a layer; `Err` if there are too many.
    pub(super) fn deeper(&mut self, layer: Layer) -> Result<(), Malformed> {
        self.layers = self.layers.saturating_add(1);
        if self.layers > limits::LAYERS {
            return Err(Malformed { layer, what: "too many headers are stacked" });
        }
        Ok(())
    }

    /// Records a tunnel; `Err` if there are too many.
    pub(super) fn enter(&mut self, kind: Tunnel, identifier: Option<u32>) -> Result<(), Malformed> {
        if self.tunnels.enter(kind, identifier) {
            return Ok(());
        }
        Err(Malformed { layer: Layer::Tunnel, what: "too many tunnels are stacked" })
    }

    /// A payload within the packet, with its offset.
    pub(super) fn payload(
        &self,
        bytes: &'a [u8],
        missing: u32,
        snapped: bool,
    ) -> TransportPayload<'a> {
        let offset = bytes.as_ptr().addr().wrapping_sub(self.data.as_ptr().addr());
        let held = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        TransportPayload {
            bytes,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            announced: held.saturating_add(missing),
            snapped,
        }
    }
}

/// The first two bytes as a number, and the rest.
pub(super) fn u16_be(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u16::from_be_bytes(*head), rest))
}

/// The first four bytes as a number, and the rest.
pub(super) fn u32_be(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*head), rest))
}
