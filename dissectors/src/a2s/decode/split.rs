//! Split packets, and the properties of split responses.

use super::{CUT_OFF, MessageSummary, PART};
use crate::a2s::fields as f;
use crate::a2s::layout::{self, Layout, Reason, SplitHeader};
use crate::a2s::split::{JoinedResponse, SplitProperties};
use crate::kit::{Cut, Sink, Span, decode};

/// A single split packet: "Multi-packet Response". For an `attack`, no other rules are checked.
pub(in crate::a2s) fn fragment<S: Sink>(bytes: &[u8], layout: Layout, attack: bool, sink: &mut S) {
    let endings = if attack { &CUT_OFF } else { &PART };
    decode(bytes, endings, sink, |r| {
        r.i32_le(&f::HEADER)?;
        r.sink.leaf(&f::LAYOUT, r.here(), layout as u64);
        let id = r.u32_le(&f::ID)?;
        let header = SplitHeader::read(bytes, layout);
        if layout == Layout::GoldSrc {
            r.u8(&f::PACKET_NUMBER)?;
            let header = header.ok_or(Cut::Short)?;
            r.sink.leaf(&f::TOTAL, r.here(), header.total.into());
            r.sink.leaf(&f::NUMBER, r.here(), header.number.into());
        } else {
            r.u8(&f::TOTAL)?;
            r.u8(&f::NUMBER)?;
            if layout == Layout::OrangeBox {
                r.u16_le(&f::SIZE)?;
            }
            let compressed = layout::is_compressed(id.value, layout);
            let first = header.is_some_and(|header| header.number == 0);
            if compressed && first && layout::announced(r.peek()).is_some() {
                r.u32_le(&f::DECOMPRESSED_SIZE)?;
                r.u32_le(&f::CRC32)?;
            }
        }
        r.bytes(&f::SPLIT_PAYLOAD, r.rest());
        Ok(())
    });
}

/// How a split response was sent, as fields that cover no bytes of its payload.
pub(in crate::a2s) fn split_group<S: Sink>(
    joined: &JoinedResponse,
    shape: &SplitProperties,
    reason: Reason,
    sink: &mut S,
) {
    sink.open(&f::SPLIT, 0, 0);
    let mut leaf = |field, value| sink.leaf(field, Span::default(), value);
    leaf(&f::LAYOUT, shape.layout as u64);
    leaf(&f::ID, joined.id.into());
    leaf(&f::TOTAL, shape.total.into());
    if let Some(size) = shape.size {
        leaf(&f::SIZE, size.into());
    }
    leaf(&f::COMPRESSED, joined.compressed.into());
    if let Some((size, sum)) = joined.announced {
        leaf(&f::DECOMPRESSED_SIZE, size.into());
        leaf(&f::CRC32, sum.into());
    }
    leaf(&f::CHOSEN_BY, reason as u64);
    sink.close(0);
}

/// A split response that cannot be decompressed.
pub(in crate::a2s) fn compressed<S: Sink>(bytes: &[u8], sink: &mut S) -> MessageSummary {
    let at = Span::new(0, bytes.len());
    if !bytes.is_empty() {
        sink.leaf(&f::COMPRESSED_BYTES, at, 0);
    }
    MessageSummary::UNKNOWN
}
