//! IEEE 802.11: the headers that recorders add before a frame, and unencrypted data frames.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use super::outcome::{Aggregate, Outcome, malformed};
use super::packet::{Layer, UnreadLayer};
use super::walk::{Walk, u16_be};
use crate::capture::LinkType;

/// Length of a Prism header, whose length field is unreliable.
const PRISM: usize = 144;
/// The start of an AVS header, in place of a Prism header's message code.
const AVS: [u8; 3] = [0x80, 0x21, 0x10];

/// Length of the two addresses of a frame within a frame, and of its whole header.
const ADDRESSES: usize = 12;
const SUBFRAME: usize = 14;

/// Bits of the first two bytes of a frame.
mod control {
    pub(super) const TYPE: u8 = 0x0C;
    pub(super) const DATA: u8 = 0x08;
    /// The subtype has no data.
    pub(super) const EMPTY: u8 = 0x40;
    pub(super) const QUALITY_OF_SERVICE: u8 = 0x80;
    pub(super) const TO_AND_FROM_AN_ACCESS_POINT: u8 = 0x03;
    pub(super) const MORE_FRAGMENTS: u8 = 0x04;
    pub(super) const PROTECTED: u8 = 0x40;
    pub(super) const ORDER: u8 = 0x80;
}

impl<'a> Aggregate<'a> {
    /// The outcome of each of them, in order. Payload offsets count from the beginning of the
    /// packet.
    pub fn frames(self) -> impl Iterator<Item = Outcome<'a>> {
        let mut rest = Some(self.bytes);
        std::iter::from_fn(move || {
            let bytes = rest.take()?;
            let mut walk = self.walk;
            let Some((length, body)) = bytes.get(ADDRESSES..).and_then(u16_be) else {
                // The rest is padding or a checksum, if no bytes are missing.
                return (walk.cut > 0).then_some(Outcome::Snapped);
            };
            let Some(frame) = body.get(..usize::from(length)) else {
                return Some(walk.logical_link_control(body));
            };
            walk.cut = 0;
            // All but the last are padded.
            let padded = usize::from(length).saturating_add(SUBFRAME).next_multiple_of(4);
            rest = Some(bytes.get(padded..).unwrap_or_default());
            Some(walk.logical_link_control(frame))
        })
    }
}

impl<'a> Walk<'a> {
    /// Radiotap: a header with its length, and whether the frame's own header is padded.
    pub(super) fn radiotap(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(&[version, _, low, high, f0, ..]) = bytes.first_chunk::<8>() else {
            return self.short(Layer::Link);
        };
        if version != 0 {
            return malformed(Layer::Link, "the version of the radiotap header is not 0");
        }
        let length = usize::from(u16::from_le_bytes([low, high]));
        let Some((header, frame)) = bytes.split_at_checked(length) else {
            return self.short(Layer::Link);
        };
        // The bitmap consists of words; the last one has its highest bit clear.
        let words = header.get(4..).unwrap_or_default().chunks_exact(4);
        let more = words.take_while(|word| word.get(3).is_some_and(|last| last & 0x80 != 0));
        let fields = more.count().saturating_mul(4).saturating_add(8);
        // The flags come after a time stamp of 8 bytes, if present.
        let has_time = f0 & 1 != 0;
        let at = if has_time { fields.next_multiple_of(8).saturating_add(8) } else { fields };
        let flags = header.get(at).copied().filter(|_| f0 & 2 != 0);
        self.wireless(frame, flags.is_some_and(|flags| flags & 0x20 != 0))
    }

    /// A Prism header, or the AVS header that replaced it.
    pub(super) fn prism(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        if bytes.starts_with(&AVS) {
            return self.avs(bytes);
        }
        match bytes.get(PRISM..) {
            Some(frame) => self.wireless(frame, false),
            None => self.short(Layer::Link),
        }
    }

    /// The AVS header, with its length.
    pub(super) fn avs(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let length = bytes.get(4..).and_then(|rest| rest.first_chunk()).copied();
        match length.and_then(|length| bytes.get(u32::from_be_bytes(length) as usize..)) {
            Some(frame) => self.wireless(frame, false),
            None => self.short(Layer::Link),
        }
    }

    /// Per-Packet Information: a header with its length and the link type of the packet.
    pub(super) fn per_packet_information(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let Some(&[_, _, low, high, l0, l1, l2, l3]) = bytes.first_chunk::<8>() else {
            return self.short(Layer::Link);
        };
        let length = usize::from(u16::from_le_bytes([low, high]));
        let link = u32::from_le_bytes([l0, l1, l2, l3]);
        self.another_link(link, length, bytes)
    }

    /// A frame. `is_padded`: its header ends at a multiple of four bytes.
    pub(super) fn wireless(&mut self, bytes: &'a [u8], is_padded: bool) -> Outcome<'a> {
        let Some((&[kind, flags], _)) = bytes.split_first_chunk() else {
            return self.short(Layer::Link);
        };
        if kind & control::TYPE != control::DATA || kind & control::EMPTY != 0 {
            return Outcome::Other;
        }
        if flags & control::PROTECTED != 0 {
            return Outcome::Unread(UnreadLayer::EncryptedWireless);
        }
        // Fragments of frames are not reassembled.
        if flags & control::MORE_FRAGMENTS != 0 {
            return Outcome::Other;
        }
        let four_addresses =
            flags & control::TO_AND_FROM_AN_ACCESS_POINT == control::TO_AND_FROM_AN_ACCESS_POINT;
        let quality = if four_addresses { 30_usize } else { 24 };
        let has_quality = kind & control::QUALITY_OF_SERVICE != 0;
        let mut length = quality;
        if has_quality {
            length = length.saturating_add(if flags & control::ORDER != 0 { 6 } else { 2 });
        }
        if is_padded {
            length = length.next_multiple_of(4);
        }
        let Some((header, body)) = bytes.split_at_checked(length) else {
            return self.short(Layer::Link);
        };
        let is_later_fragment = header.get(22).is_some_and(|sequence| sequence & 0x0F != 0);
        if is_later_fragment {
            return Outcome::Other;
        }
        let is_aggregate = has_quality && header.get(quality).is_some_and(|bits| bits & 0x80 != 0);
        if is_aggregate { self.aggregate(body) } else { self.logical_link_control(body) }
    }

    /// Several frames in one (A-MSDU).
    fn aggregate(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        if let Err(malformed) = self.deeper(Layer::Link) {
            return Outcome::Malformed(malformed);
        }
        Outcome::Aggregate(Aggregate { walk: *self, bytes })
    }

    /// A header with the link type of the packet after it.
    pub(super) fn another_link(
        &mut self,
        link: u32,
        length: usize,
        bytes: &'a [u8],
    ) -> Outcome<'a> {
        if let Err(malformed) = self.deeper(Layer::Link) {
            return Outcome::Malformed(malformed);
        }
        let Some(rest) = bytes.get(length..) else { return self.short(Layer::Link) };
        if length == 0 {
            return malformed(Layer::Link, "the header says that it has no bytes");
        }
        match u16::try_from(link) {
            Ok(link) => self.link_of(LinkType(link), rest),
            Err(_) => Outcome::Other,
        }
    }
}
