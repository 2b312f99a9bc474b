//! The three layouts of split packets, "Multi-packet Response". A packet does not show which one it
//! has.

use crate::kit::Span;

/// "Steam uses a packet size of 1400 bytes + IP/UDP headers."
pub(super) const PACKET_SIZE: usize = 1400;

/// Whether a total is one that this layout allows.
pub(super) const fn is_total(layout: Layout, total: u8) -> bool {
    match layout {
        Layout::GoldSrc => total >= 2 && total <= 15,
        Layout::Source | Layout::OrangeBox => total > 0,
    }
}

/// The positions of the compression bit in a split packet's ID, of its total, and of its Size.
pub(super) const COMPRESSED_BIT: Span = Span { start: 7, end: 8 };
pub(super) const TOTAL: Span = Span { start: 8, end: 9 };
pub(super) const SIZE: Span = Span { start: 10, end: 12 };

/// The header of a split packet.
pub(super) const SPLIT: [u8; 4] = [0xFE, 0xFF, 0xFF, 0xFF];

/// The header of a single packet, and of a response joined from split packets.
pub(super) const SINGLE: [u8; 4] = [0xFF; 4];

/// The offset of the message byte, after one or two headers.
pub(super) fn message_byte(bytes: &[u8]) -> usize {
    let headers = bytes.chunks_exact(4).take(2).take_while(|&chunk| chunk == SINGLE).count();
    headers * 4
}

/// The span of the message byte; the end of a message without one.
pub(super) fn message_byte_span(bytes: &[u8]) -> Span {
    let start = message_byte(bytes);
    Span::new(start, bytes.len().min(start + 1))
}

crate::named! {
    /// The three layouts of a split packet's header.
    #[repr(u8)]
    pub(super) enum Layout {
        /// Number and total share a byte.
        GoldSrc = "goldsrc",
        /// One byte each.
        Source = "source",
        /// One byte each, then a Size.
        OrangeBox = "orange_box",
    }
}

impl Layout {
    /// Where a packet's payload begins.
    pub(super) const fn header(self) -> usize {
        match self {
            Layout::GoldSrc => 9,
            Layout::Source => 10,
            Layout::OrangeBox => 12,
        }
    }

    /// Where its number is.
    pub(super) const fn number(self) -> Span {
        match self {
            Layout::GoldSrc => TOTAL,
            Layout::Source | Layout::OrangeBox => Span { start: 9, end: 10 },
        }
    }
}

/// How the layout was identified. The texts for people are next to the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Reason {
    /// The packets form a whole response only in this layout.
    Only,
    /// FF FF FF FF is at the start of this layout's payload.
    Header,
    /// bzip2 data is there.
    Bzip2,
    /// The server used it before.
    Server,
    /// The Size field is plausible.
    Size,
    /// No other reason: the newest layout.
    Newest,
}

/// The header of a split packet, read in one layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitHeader {
    pub(super) total: u8,
    pub(super) number: u8,
    pub(super) size: Option<u16>,
    /// Where the payload begins.
    pub(super) at: usize,
}

impl SplitHeader {
    /// `None` if the packet is too short.
    pub(super) fn read(bytes: &[u8], layout: Layout) -> Option<SplitHeader> {
        let at = layout.header();
        let (&first, rest) = bytes.get(8..at)?.split_first()?;
        Some(match (layout, rest) {
            (Layout::GoldSrc, _) => {
                SplitHeader { total: first & 0x0F, number: first >> 4, size: None, at }
            }
            (_, &[number]) => SplitHeader { total: first, number, size: None, at },
            (_, &[number, low, high]) => SplitHeader {
                total: first,
                number,
                size: Some(u16::from_le_bytes([low, high])),
                at,
            },
            _ => return None,
        })
    }

    /// Whether it is the first packet's, also where number and total are exchanged, as in readers of GoldSrc's byte.
    fn is_first(self, layout: Layout) -> bool {
        self.number == 0 || layout == Layout::GoldSrc && self.total == 0
    }

    /// Whether the number is not below the total. No number is below 0, which is no total.
    pub(super) fn is_beyond(self) -> bool {
        self.number >= self.total && self.total > 0
    }
}

/// The ID of a split packet. `None` if the packet is too short for any layout.
pub(super) fn id(bytes: &[u8]) -> Option<u32> {
    bytes.get(8)?;
    bytes.get(4..).and_then(|bytes| bytes.first_chunk()).map(|id| u32::from_le_bytes(*id))
}

/// Whether these bytes begin a split packet, and its number is among them in every layout.
pub(super) fn has_number(bytes: &[u8]) -> bool {
    bytes.starts_with(&SPLIT) && bytes.len() >= Layout::Source.header()
}

/// Bit 31 of an ID: "if the most significant bit is 1, then the response was compressed".
pub(super) const COMPRESSED: u32 = 0x8000_0000;

/// An ID without the compressed bit.
pub(super) const fn plain(id: u32) -> u32 {
    id & !COMPRESSED
}

/// Whether a response with this ID is compressed. The GoldSrc layout does not use the bit.
pub(super) const fn is_compressed(id: u32, layout: Layout) -> bool {
    !matches!(layout, Layout::GoldSrc) && id & COMPRESSED != 0
}

/// "This is only present in the first packet of the response and only if the response is being
/// compressed": size and checksum, recognized by the bzip2 data after them.
pub(super) fn announced(payload: &[u8]) -> Option<(u32, u32)> {
    let (size, rest) = payload.split_first_chunk()?;
    let (sum, data) = rest.split_first_chunk()?;
    let known = data.starts_with(b"BZh");
    known.then(|| (u32::from_le_bytes(*size), u32::from_le_bytes(*sum)))
}

/// Whether the bytes after a first packet's header are valid in a layout.
fn confirmed(bytes: &[u8], header: SplitHeader, layout: Layout) -> Option<Reason> {
    let payload = bytes.get(header.at..)?;
    if is_compressed(id(bytes)?, layout) && announced(payload).is_some() {
        return Some(Reason::Bzip2);
    }
    payload.starts_with(&SINGLE).then_some(Reason::Header)
}

/// The packets of one ID, read in one layout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LayoutReading {
    /// The first packet's total.
    pub(super) total: u8,
    /// The numbers below it that arrived.
    pub(super) seen: [u64; 4],
    pub(super) count: u16,
    /// A number that is not below the total of its packet.
    pub(super) beyond: Option<(u8, u8)>,
    pub(super) totals_differ: bool,
    /// A packet is too short for this layout.
    pub(super) short: bool,
    /// A number that arrived twice with different bytes.
    pub(super) conflict: Option<u8>,
    pub(super) confirmed: Option<Reason>,
    pub(super) size: Option<u16>,
    pub(super) sizes_differ: bool,
    /// The payload length of the longest packet.
    pub(super) longest: usize,
}

impl LayoutReading {
    pub(super) fn add(&mut self, bytes: &[u8], layout: Layout, first: bool) {
        let Some(header) = SplitHeader::read(bytes, layout) else {
            self.short = true;
            return;
        };
        if first {
            (self.total, self.size) = (header.total, header.size);
        }
        self.totals_differ |= header.total != self.total;
        self.sizes_differ |= header.size != self.size;
        self.longest = self.longest.max(bytes.len() - header.at);
        if header.is_first(layout) && self.confirmed.is_none() {
            self.confirmed = confirmed(bytes, header, layout);
        }
        if header.number >= header.total {
            let before = self.beyond.filter(|&(_, total)| total > 0);
            self.beyond = before.or(Some((header.number, header.total)));
        } else if self.has(header.number) {
            self.conflict = self.conflict.or(Some(header.number));
        } else if header.number < self.total {
            if let Some(word) = self.seen.get_mut(usize::from(header.number / 64)) {
                *word |= 1 << (header.number % 64);
            }
            self.count += 1;
        }
    }

    pub(super) fn has(&self, number: u8) -> bool {
        let word = self.seen.get(usize::from(number / 64)).copied().unwrap_or_default();
        word >> (number % 64) & 1 == 1
    }

    pub(super) fn is_complete(&self) -> bool {
        self.total > 0 && self.count == u16::from(self.total)
    }

    /// Whether the packets are consistent.
    pub(super) fn is_sound(&self) -> bool {
        !self.short && !self.totals_differ && self.beyond.is_none()
    }

    /// The number of inconsistencies in this layout: packets that disagree, a number on two
    /// packets, a first packet that begins wrong.
    pub(super) fn objections(&self) -> u8 {
        let begins = self.confirmed.is_some() || !self.has(0);
        let (beyond, conflict) = (self.beyond.is_some(), self.conflict.is_some());
        [self.short, self.totals_differ, beyond, conflict, !begins].map(u8::from).iter().sum()
    }

    /// Whether Size is plausible, if the layout has one: not 0, at most a packet, and at least the
    /// payload of the packets.
    pub(super) fn has_plausible_size(&self) -> bool {
        self.size.is_none_or(|size| {
            let size = usize::from(size);
            !self.sizes_differ && (1..=PACKET_SIZE).contains(&size) && self.longest <= size
        })
    }
}
