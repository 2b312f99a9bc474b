//! Split responses, "Multi-packet Response": the packets of one ID are read in all three layouts at
//! once, until they form a whole response in one of them.
//!
//! This file handles packets and layouts only: no conversations and no rules.

use std::cmp::Reverse;

use crate::kit::{Budget, Buffer, PartSpan, Payload, Side, Span, Time, Unfinished};

use super::kinds::RequestKind;
use super::layout::{
    self, COMPRESSED, COMPRESSED_BIT, Layout, LayoutReading, Reason, SINGLE, SIZE, SplitHeader,
    TOTAL, announced, id, is_compressed, plain,
};

/// Limit: packets of one split A2S response, with copies | {} | the response is shown in parts
const MOST_PARTS: usize = 300;

/// Whether a number of a response arrived more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// No.
    None,
    /// Yes, with the same bytes.
    Same,
    /// Yes, this one, with different bytes.
    Differs(u8),
}

/// The most likely layout of a single packet.
pub(super) fn likeliest_alone(bytes: &[u8], known: Option<Layout>) -> Layout {
    let mut set = SplitResponse::new(0, Side::First, false, LayoutReadings::default());
    set.read(bytes, true);
    set.likeliest(known)
}

/// Whether a packet contains a request, in some layout.
pub(super) fn carries_request(bytes: &[u8]) -> bool {
    Layout::ALL.into_iter().any(|layout| {
        let payload = SplitHeader::read(bytes, layout).and_then(|header| bytes.get(header.at..));
        let message = payload.and_then(|payload| payload.strip_prefix(&SINGLE));
        message.and_then(<[u8]>::first).is_some_and(|&kind| RequestKind::of(kind).is_some())
    })
}

/// Whether a packet has no payload, in the longest layout.
pub(super) const fn carries_nothing(bytes: &[u8]) -> bool {
    bytes.len() <= Layout::OrangeBox.header()
}

/// Whether a packet's ID has the bit for compression, which most layouts use.
fn has_bit(bytes: &[u8]) -> bool {
    id(bytes).is_some_and(|id| id & COMPRESSED != 0)
}

/// The result of adding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddResult {
    /// It is kept.
    Kept,
    /// It is a copy of a stored one.
    Copy,
    /// There is no room for it.
    Full,
}

/// The packets of one response that have arrived. Its ID is without the compressed bit, in which
/// packets may disagree.
pub(super) type SplitResponse = Unfinished<LayoutReadings>;

/// The packets, read in all layouts.
#[derive(Default)]
pub(super) struct LayoutReadings {
    readings: [LayoutReading; 3],
    /// When the last one came.
    pub(super) last: Time,
    /// A response was due when the first one came.
    pub(super) is_due: bool,
    copied: bool,
    bits_differ: bool,
    /// A request of its receiver came before it.
    pub(super) has_request: bool,
}

/// What differs between packets if no reader can know when the response is complete.
pub(super) const TOTAL_DIFFERS: &str = "the total";

impl SplitResponse {
    /// Adds a packet with a valid [`id`].
    pub(super) fn add(
        &mut self,
        payload: &Payload<'_>,
        timeout: i64,
        most: usize,
        budget: &mut Budget,
    ) -> AddResult {
        let parts = self.buffer.parts();
        let is_copy = |part: &PartSpan| {
            let bytes = self.buffer.bytes_of(part);
            // One of two copies may be cut, or both at different lengths.
            bytes == payload.bytes
                || payload.lost && bytes.starts_with(payload.bytes)
                || part.lost && payload.bytes.starts_with(bytes)
        };
        if parts.iter().any(is_copy) {
            self.more.copied = true;
            return AddResult::Copy;
        }
        let first = parts.is_empty();
        if let Some(one) = parts.first() {
            self.more.bits_differ |= has_bit(self.bytes_of(one)) != has_bit(payload.bytes);
        }
        if parts.len() >= MOST_PARTS || !self.buffer.keep(payload, most, budget) {
            return AddResult::Full;
        }
        self.more.last = payload.time;
        self.due = payload.time.after(timeout);
        self.read(payload.bytes, first);
        AddResult::Kept
    }

    fn read(&mut self, bytes: &[u8], first: bool) {
        for (reading, layout) in self.more.readings.iter_mut().zip(Layout::ALL) {
            reading.add(bytes, layout, first);
        }
    }

    fn reading(&self, layout: Layout) -> &LayoutReading {
        let [goldsrc, source, orange_box] = &self.more.readings;
        match layout {
            Layout::GoldSrc => goldsrc,
            Layout::Source => source,
            Layout::OrangeBox => orange_box,
        }
    }

    /// The layout in which the packets form a whole response, once they do.
    pub(super) fn whole(&self, known: Option<Layout>) -> Option<(Layout, Reason)> {
        let complete = |layout: &Layout| self.reading(*layout).is_complete();
        let proven = |layout: &Layout| {
            let reading = self.reading(*layout);
            reading.confirmed.is_some() || reading.is_sound()
        };
        if !Layout::ALL.iter().any(|layout| complete(layout) && proven(layout)) {
            return None;
        }
        let mut all = Layout::ALL.into_iter().filter(complete);
        if let (Some(only), None) = (all.next(), all.next()) {
            return Some((only, Reason::Only));
        }
        Some(self.best(known, complete))
    }

    /// Whether what it begins with in this layout is a message's header, or compressed.
    pub(super) fn is_readable(&self, layout: Layout) -> bool {
        self.reading(layout).confirmed.is_some()
    }

    /// The most likely layout of packets that do not form a whole response.
    pub(super) fn likeliest(&self, known: Option<Layout>) -> Layout {
        self.best(known, |_| true).0
    }

    /// By increasing weight: the newest; a plausible Size; a valid total, and consistent packets;
    /// the layout that the server used before; few inconsistencies; a payload with a valid
    /// beginning.
    fn best(&self, known: Option<Layout>, among: impl Fn(&Layout) -> bool) -> (Layout, Reason) {
        let rank = |layout: &Layout| {
            let reading = self.reading(*layout);
            let allowed = layout::is_total(*layout, reading.total);
            let objections = Reverse(reading.objections() + u8::from(!allowed));
            let (known, sound) = (known == Some(*layout), allowed && reading.is_sound());
            let size = reading.has_plausible_size();
            (reading.confirmed.is_some(), objections, known, sound, size, *layout as u8)
        };
        let best = |but: Option<Layout>| {
            let rest =
                Layout::ALL.into_iter().filter(|layout| among(layout) && Some(*layout) != but);
            rest.map(|layout| (rank(&layout), layout)).max_by_key(|ranked| ranked.0)
        };
        let Some((won, layout)) = best(None) else { return (Layout::OrangeBox, Reason::Newest) };
        let lost = best(Some(layout)).map(|ranked| ranked.0);
        let Some(lost) = lost else { return (layout, Reason::Only) };
        let reason = if won.0 != lost.0 {
            self.reading(layout).confirmed.unwrap_or(Reason::Header)
        } else if won.1 != lost.1 {
            Reason::Only
        } else if won.2 != lost.2 {
            Reason::Server
        } else if won.3 != lost.3 {
            Reason::Only
        } else if won.4 != lost.4 || layout == Layout::OrangeBox && won.4 {
            Reason::Size
        } else {
            Reason::Newest
        };
        (layout, reason)
    }

    /// The properties of the packets in a layout.
    pub(super) fn shape(&self, layout: Layout) -> SplitProperties {
        let reading = self.reading(layout);
        let missing = (0..reading.total).find(|&number| !reading.has(number));
        let number = layout.number();
        SplitProperties {
            layout,
            total: reading.total,
            count: reading.count,
            missing,
            beyond: reading.beyond.filter(|&(_, total)| total > 0).map(|beyond| {
                (beyond, self.place(layout, 0, number, |_, header| header.is_beyond()))
            }),
            differs: self.differs(layout),
            repeat: match reading.conflict {
                Some(twice) => {
                    let place = self.place(layout, 1, number, |_, header| header.number == twice);
                    (Repeat::Differs(twice), place)
                }
                None if self.more.copied => (Repeat::Same, HeaderPlace::default()),
                None => (Repeat::None, HeaderPlace::default()),
            },
            size: reading.size,
        }
    }

    /// What differs between the packets, and the first packet that differs.
    fn differs(&self, layout: Layout) -> Option<(&'static str, HeaderPlace)> {
        let reading = self.reading(layout);
        if reading.totals_differ {
            let place = self.place(layout, 0, TOTAL, |_, header| header.total != reading.total);
            Some((TOTAL_DIFFERS, place))
        } else if reading.sizes_differ {
            let place = self.place(layout, 0, SIZE, |_, header| header.size != reading.size);
            Some(("Size", place))
        } else if self.more.bits_differ && layout != Layout::GoldSrc {
            let first = self.each().next().map(has_bit);
            let differs = |bytes: &[u8], _| Some(has_bit(bytes)) != first;
            Some(("the compressed bit", self.place(layout, 0, COMPRESSED_BIT, differs)))
        } else {
            None
        }
    }

    /// The `nth` packet that satisfies the condition, with these bytes of it.
    fn place(
        &self,
        layout: Layout,
        nth: usize,
        at: Span,
        is: impl Fn(&[u8], SplitHeader) -> bool,
    ) -> HeaderPlace {
        let mut found = self.each().enumerate().filter(|(_, bytes)| {
            SplitHeader::read(bytes, layout).is_some_and(|header| is(bytes, header))
        });
        found.nth(nth).map_or(HeaderPlace::default(), |(part, _)| HeaderPlace { part, at })
    }

    /// Joins the packets in `room`, with each number's first copy.
    pub(super) fn join(&self, layout: Layout, room: Buffer) -> JoinedResponse {
        let total = self.reading(layout).total;
        let mut parts: Vec<(u8, &PartSpan, &[u8], usize)> = Vec::with_capacity(usize::from(total));
        let mut in_order = true;
        let mut seen = [false; 256];
        for part in self.parts() {
            let bytes = self.bytes_of(part);
            let Some(header) = SplitHeader::read(bytes, layout) else { continue };
            let slot = seen.get_mut(usize::from(header.number));
            if header.number >= total || slot.is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            in_order &= parts.last().is_none_or(|last| last.0 < header.number);
            parts.push((header.number, part, bytes, header.at));
        }
        parts.sort_by_key(|part| part.0);

        let first = parts.first().map(|part| part.2).unwrap_or_default();
        let mut joined = JoinedResponse {
            buffer: room.joining(&self.buffer),
            id: id(first).unwrap_or_default(),
            compressed: id(first).is_some_and(|id| is_compressed(id, layout)),
            announced: None,
            in_order,
            uneven: false,
            longest: 0,
            gap: None,
        };
        let mut even = None;
        for (at, &(_, part, bytes, mut start)) in parts.iter().enumerate() {
            let after = bytes.get(start..).unwrap_or_default();
            if at == 0 && joined.compressed {
                joined.announced = announced(after);
                start += joined.announced.map_or(0, |_| 8);
            }
            let payload = bytes.get(start..).unwrap_or_default();
            joined.longest = joined.longest.max(payload.len());
            if at + 1 < parts.len() {
                // The specification does not say whether size and checksum count as payload.
                let [least, most] = even.get_or_insert([payload.len(), after.len()]);
                joined.uneven |= ![*least, *most].contains(&payload.len());
                if at == 1 {
                    even = Some([payload.len(); 2]);
                }
            }
            joined.buffer.append_part(&self.buffer, part, start);
            if part.lost {
                joined.gap.get_or_insert(joined.buffer.bytes.len());
            }
        }
        joined
    }
}

/// Buffers of responses that have been reported: most responses are complete before the next one
/// begins.
#[derive(Default)]
pub(super) struct BufferPool {
    set: Option<Box<SplitResponse>>,
    joined: Buffer,
}

impl BufferPool {
    /// Larger buffers are freed at once.
    const MOST: usize = 16 << 10;

    /// Begins a response, in the memory of an earlier one.
    pub(super) fn set(&mut self, side: Side, id: u32, asked: bool) -> Box<SplitResponse> {
        let begun = SplitResponse::new(plain(id), side, asked, LayoutReadings::default());
        let Some(mut set) = self.set.take() else { return Box::new(begun) };
        let mut buffer = std::mem::take(&mut set.buffer);
        buffer.clear();
        *set = SplitResponse { buffer, ..begun };
        set
    }

    /// A response has been reported.
    pub(super) fn release(&mut self, set: Box<SplitResponse>, budget: &mut Budget) {
        budget.give(set.buffer.cost());
        if set.buffer.room() <= BufferPool::MOST {
            self.set = Some(set);
        }
    }

    /// A buffer to join a response in.
    pub(super) fn joined(&mut self) -> Buffer {
        std::mem::take(&mut self.joined)
    }

    /// A joined response has been reported.
    pub(super) fn done(&mut self, joined: JoinedResponse) {
        if joined.buffer.room() <= BufferPool::MOST {
            self.joined = joined.buffer;
        }
    }
}

/// A packet, by its order of arrival, and the span in its header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeaderPlace {
    pub(super) part: usize,
    pub(super) at: Span,
}

/// The properties of a response's packets in a layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitProperties {
    pub(super) layout: Layout,
    pub(super) total: u8,
    pub(super) count: u16,
    /// The first missing number.
    pub(super) missing: Option<u8>,
    /// A number, and the total that it is not below.
    pub(super) beyond: Option<((u8, u8), HeaderPlace)>,
    /// What differs between packets.
    pub(super) differs: Option<(&'static str, HeaderPlace)>,
    pub(super) repeat: (Repeat, HeaderPlace),
    pub(super) size: Option<u16>,
}

impl SplitProperties {
    /// Whether the headers show which numbers there should be. A number that came twice is no other one.
    pub(super) fn shows_missing(&self) -> bool {
        layout::is_total(self.layout, self.total) && self.differs.is_none() && self.beyond.is_none()
    }
}

/// The payloads of all packets of a response, in their order.
pub(super) struct JoinedResponse {
    pub(super) buffer: Buffer,
    /// The first packet's ID, with the compressed bit.
    pub(super) id: u32,
    pub(super) compressed: bool,
    /// Size and CRC32 of the decompressed bytes.
    pub(super) announced: Option<(u32, u32)>,
    pub(super) in_order: bool,
    /// Packets that are not the last have payloads of different lengths.
    pub(super) uneven: bool,
    /// The payload length of the longest packet.
    pub(super) longest: usize,
    /// Where the first packet ends that was not recorded whole.
    pub(super) gap: Option<usize>,
}
