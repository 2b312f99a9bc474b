//! The bytes of unfinished datagrams, in pages that are allocated on demand and reused.
//!
//! A fragment at a high offset costs one page, not all pages before it. Each page records which of
//! its units of eight bytes are held, and at which units fragments began; ranges of units are found
//! by counting bits, so that placing a fragment costs no more than copying it.
//!
//! It handles positions and bytes only: datagrams, times and limits are handled elsewhere.

#![allow(
    clippy::indexing_slicing,
    reason = "places are below 65,536 (checked by Extent), and page numbers are made here"
)]

const UNIT: u32 = 8;
const PAGE_UNITS: u32 = 256;
const PAGE_BYTES: u32 = PAGE_UNITS * UNIT;
const PAGES: usize = 32;
const WORDS: usize = (PAGE_UNITS / 64) as usize;

/// Maximum number of free pages; more are returned to the allocator.
const SPARE: usize = 1024;

type Bits = [u64; WORDS];

#[derive(Debug)]
struct BytesPage {
    bytes: [u8; PAGE_BYTES as usize],
    held: Bits,
    /// Units where the bytes of some fragment begin.
    starts: Bits,
}

/// The pages of all datagrams.
#[derive(Debug, Default)]
pub(super) struct Pages {
    #[allow(clippy::vec_box, reason = "pages move to datagrams and back, their bytes stay put")]
    spare: Vec<Box<BytesPage>>,
    /// Without pages.
    #[allow(clippy::vec_box, reason = "they move to datagrams and back too")]
    blank: Vec<Box<Coverage>>,
}

/// The pages of a datagram that fragments have touched, which determine the cost of its bytes
/// wherever they are stored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TouchedPages(u32);

impl TouchedPages {
    /// Adds the pages of `length` bytes at `at`.
    pub(super) fn add(&mut self, at: u32, length: u32) {
        if length > 0 {
            let (first, last) = (at / PAGE_BYTES, (at + length - 1) / PAGE_BYTES);
            self.0 |= (u32::MAX >> (31 - (last - first))) << first;
        }
    }

    /// Bytes of memory; an empty datagram counts as a page, so that many of them are not free.
    pub(super) fn cost(self) -> usize {
        self.0.count_ones().max(1) as usize * size_of::<BytesPage>()
    }

    /// The maximum cost of `length` more bytes.
    pub(super) fn most(length: usize) -> usize {
        (length / PAGE_BYTES as usize + 2) * size_of::<BytesPage>()
    }
}

/// The pages of one datagram; untouched ones are not allocated.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    pages: [Option<Box<BytesPage>>; PAGES],
}

impl Coverage {
    /// The first bytes: at most as many as a page has.
    pub(super) fn first(&self, length: usize) -> &[u8] {
        self.page(0).and_then(|page| page.bytes.get(..length)).unwrap_or_default()
    }

    /// Adds the first `length` bytes, all held, to `bytes`.
    pub(super) fn copy(&self, length: u32, bytes: &mut Vec<u8>) {
        let mut rest = length as usize;
        for page in self.pages.iter().flatten() {
            let take = rest.min(page.bytes.len());
            bytes.extend_from_slice(&page.bytes[..take]);
            rest -= take;
        }
    }

    fn starts_at(&self, unit: u32) -> bool {
        self.page(unit).is_some_and(|page| bit(&page.starts, unit % PAGE_UNITS))
    }

    fn holds(&self, unit: u32) -> bool {
        self.page(unit).is_some_and(|page| bit(&page.held, unit % PAGE_UNITS))
    }

    fn page(&self, unit: u32) -> Option<&BytesPage> {
        self.pages.get((unit / PAGE_UNITS) as usize)?.as_deref()
    }
}

/// How a fragment's bytes relate to those already held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// They do not overlap.
    New,
    /// The same fragment was held already.
    Copy,
    /// They overlap others, or the same fragment had other bytes.
    Overlap {
        /// Some byte was held with another value.
        differs: bool,
    },
}

impl Pages {
    /// Stores those of `bytes`, at offset `at` of the datagram, that are not held yet, and calls
    /// `placed(at, length)` for each range.
    pub(super) fn place(
        &mut self,
        coverage: &mut Coverage,
        at: u32,
        bytes: &[u8],
        mut placed: impl FnMut(u32, u32),
    ) -> Placement {
        let end = at + bytes.len() as u32;
        let (first, last) = (at / UNIT, end.div_ceil(UNIT));
        let mut met = PageOverlap::default();
        let mut unit = first;
        while unit < last {
            let page = self.page(coverage, unit);
            let base = unit - unit % PAGE_UNITS;
            let limit = PAGE_UNITS.min(last - base);
            let (held, run_end) = run(&page.held, unit - base, limit);
            let (from, to) = (unit * UNIT, ((base + run_end) * UNIT).min(end));
            let source = &bytes[(from - at) as usize..(to - at) as usize];
            let within = (from - base * UNIT) as usize;
            let target = &mut page.bytes[within..within + source.len()];
            if held {
                met.held = true;
                met.differs |= target != source;
                // The fragment's own first unit may begin a range; any other is a boundary within.
                let inner = if unit == first { unit + 1 } else { unit } - base;
                met.boundary |= inner < run_end && any(&page.starts, inner, run_end);
            } else {
                target.copy_from_slice(source);
                set(&mut page.held, unit - base, run_end);
                // A range that continues from the previous page began there.
                if met.placed_to != Some(from) {
                    set(&mut page.starts, unit - base, unit - base + 1);
                }
                met.placed_to = Some(to);
                placed(from, to - from);
            }
            unit = base + run_end;
        }
        met.placement(coverage, first, last)
    }

    /// Pages for a datagram without bytes.
    pub(super) fn coverage(&mut self) -> Box<Coverage> {
        self.blank.pop().unwrap_or_default()
    }

    /// Takes the pages back.
    pub(super) fn free(&mut self, mut coverage: Box<Coverage>) {
        let pages = coverage.pages.iter_mut().filter_map(Option::take);
        for page in pages {
            if self.spare.len() < SPARE {
                self.spare.push(page);
            }
        }
        if self.blank.len() < SPARE {
            self.blank.push(coverage);
        }
    }

    /// The page of a unit.
    fn page<'a>(&mut self, coverage: &'a mut Coverage, unit: u32) -> &'a mut BytesPage {
        let slot = &mut coverage.pages[(unit / PAGE_UNITS) as usize];
        slot.get_or_insert_with(|| self.blank())
    }

    fn blank(&mut self) -> Box<BytesPage> {
        match self.spare.pop() {
            // It has bytes of an earlier datagram: only those in `held` may be read.
            Some(mut page) => {
                page.held = [0; WORDS];
                page.starts = [0; WORDS];
                page
            }
            None => Box::new(BytesPage {
                bytes: [0; PAGE_BYTES as usize],
                held: [0; WORDS],
                starts: [0; WORDS],
            }),
        }
    }
}

/// What a fragment overlapped in the pages.
#[derive(Default)]
struct PageOverlap {
    placed_to: Option<u32>,
    held: bool,
    differs: bool,
    boundary: bool,
}

impl PageOverlap {
    /// A copy adds nothing, covers one range from its first unit to its last, and is identical.
    fn placement(&self, coverage: &Coverage, first: u32, last: u32) -> Placement {
        if !self.held {
            return Placement::New;
        }
        let same_run = coverage.starts_at(first)
            && (coverage.starts_at(last) || !coverage.holds(last))
            && !self.boundary;
        if self.placed_to.is_none() && same_run && !self.differs {
            return Placement::Copy;
        }
        Placement::Overlap { differs: self.differs }
    }
}

fn bit(bits: &Bits, at: u32) -> bool {
    bits[(at / 64) as usize] >> (at % 64) & 1 == 1
}

/// Whether the bit at `from` is set, and the end (at most `limit`) of the bits with the same value.
fn run(bits: &Bits, from: u32, limit: u32) -> (bool, u32) {
    let value = bit(bits, from);
    let mut at = from;
    while at < limit {
        let word = bits[(at / 64) as usize];
        let unlike = (if value { !word } else { word }) >> (at % 64);
        if unlike != 0 {
            return (value, (at + unlike.trailing_zeros()).min(limit));
        }
        at += 64 - at % 64;
    }
    (value, limit)
}

/// Whether any bit from `from` up to `to` is set.
fn any(bits: &Bits, from: u32, to: u32) -> bool {
    let (value, end) = run(bits, from, to);
    value || end < to
}

fn set(bits: &mut Bits, from: u32, to: u32) {
    for (word, mask) in bits.iter_mut().zip((0u32..).step_by(64)) {
        let low = from.clamp(mask, mask + 64) - mask;
        let high = to.clamp(mask, mask + 64) - mask;
        if low < high {
            *word |= (u64::MAX >> (64 - (high - low))) << low;
        }
    }
}
