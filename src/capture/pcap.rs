//! The pcap format: a header, then records.
//!
//! pcap-parser reads the file header. Record headers consist of four numbers and are read here, for
//! all variants: its functions support neither big-endian modified records nor swapped lengths, and
//! return a length only for complete records, so that a wrong length looks like the end of the
//! file. Its iterators read big-endian files as little-endian, and repeat an error for ever.

use std::path::{Path, PathBuf};

use pcap_parser::pcap::parse_pcap_header;

use super::in_order::Forked;
use super::input::{Input, numbers};
use super::{BORROWED, CaptureBytes, Event, Notice, Packet, Packets};
use crate::capture::LinkType;

const HEADER: usize = 24;

const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
/// The modified format of Alexey Kuznetzov's libpcap, with longer record headers.
const MODIFIED: u32 = 0xA1B2_CD34;

/// The largest records in practice are USB transfers of 128 MiB.
/// Limit: bytes of a pcap record | {:bytes}; {crate::capture::BORROWED:bytes} are looked at | a warning, NET009
const PLAUSIBLE: usize = 256 << 20;

/// The file's first four bytes: the magic number, and whether numbers are big-endian.
fn magic(bytes: &[u8]) -> Option<(u32, bool)> {
    let little = u32::from_le_bytes(*bytes.first_chunk()?);
    [(little, false), (little.swap_bytes(), true)]
        .into_iter()
        .find(|(magic, _)| matches!(*magic, MICROSECONDS | NANOSECONDS | MODIFIED))
}

/// Whether these bytes begin a pcap file.
pub(super) fn is_pcap(bytes: &[u8]) -> bool {
    magic(bytes).is_some()
}

/// Why a pcap file cannot be read.
pub(super) enum PcapError {
    /// It ends inside the header.
    Cut,
    /// Its version is unknown.
    Version(u16, u16),
}

/// The order of a record's two lengths: it was swapped before version 2.3.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    InOrder,
    Swapped,
    SwappedIfTooLong,
}

/// Other possible lengths of record headers: recorders of SuSE 6.3 (24) and Nokia (20) use the
/// usual magic number, some of Red Hat 6.1 (28) the modified one. Only the records show which.
fn other_heads(magic: u32, lengths: Lengths) -> &'static [usize] {
    match magic {
        _ if lengths != Lengths::InOrder => &[],
        MICROSECONDS => &[24, 20],
        MODIFIED => &[28],
        _ => &[],
    }
}

/// The length of the record headers: an unusual one, if more records are plausible with it.
/// `is_all`: there are no further records.
fn record_head(
    records: &[u8],
    usual: usize,
    others: &[usize],
    big_endian: bool,
    is_all: bool,
) -> usize {
    let of_usual = plausible(records, usual, big_endian, is_all);
    let better = others.iter().find(|&&head| {
        let of_other = plausible(records, head, big_endian, is_all);
        // Nothing is known about records that have not arrived.
        let is_known = is_all || of_usual.broken;
        of_other.count >= 3 && of_other.count > of_usual.count && is_known
    });
    *better.unwrap_or(&usual)
}

/// No recorder is older: 1990, in seconds since 1970.
const EARLIEST: u32 = 631_152_000;

/// The number of plausible records at the start.
struct PlausibleRecords {
    /// Up to 8; one more than that if they end with the file.
    count: usize,
    /// The bytes after them are not plausible.
    broken: bool,
}

fn plausible(mut records: &[u8], head: usize, big_endian: bool, is_all: bool) -> PlausibleRecords {
    let mut count = 0;
    while count < 8 {
        let Some(length) = plausible_length(records, big_endian) else {
            return PlausibleRecords { count, broken: records.len() >= 16 };
        };
        let Some(after) = records.get(head + length..) else { break };
        count += 1;
        if after.is_empty() {
            count += usize::from(is_all);
            break;
        }
        records = after;
    }
    PlausibleRecords { count, broken: false }
}

/// The length of a record, if a plausible one begins here.
fn plausible_length(record: &[u8], big_endian: bool) -> Option<usize> {
    let [seconds, fraction, length, original] = numbers(record, big_endian)?;
    let is_packet = (1..=original).contains(&length) && original <= 1 << 18;
    (is_packet && fraction < 1_000_000 && seconds >= EARLIEST).then_some(length as usize)
}

/// What is wrong with the header of a joined file whose records are of another kind.
const OTHER_KIND: &str = "another capture begins here, with another link type, byte order or resolution: give each file by \
                          itself, with --merge";

/// What a file's header says of its records.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PcapHeader {
    magic: u32,
    big_endian: bool,
    lengths: Lengths,
    /// Nanoseconds per unit of a record's fraction.
    unit: i64,
    link: LinkType,
}

impl PcapHeader {
    fn read(bytes: &[u8; HEADER]) -> Result<PcapHeader, PcapError> {
        let (magic, big_endian) = magic(bytes).ok_or(PcapError::Cut)?;
        // All variants have the same header, but the parser does not know every magic number.
        let mut plain = *bytes;
        plain[..4].copy_from_slice(&if big_endian {
            MICROSECONDS.to_be_bytes()
        } else {
            MICROSECONDS.to_le_bytes()
        });
        let (_, header) = parse_pcap_header(&plain).map_err(|_| PcapError::Cut)?;
        // The versions that libpcap supports; 543.0 is DG/UX's.
        let lengths = match (header.version_major, header.version_minor) {
            (2, 0..=2) | (543, 0) => Lengths::Swapped,
            (2, 3) => Lengths::SwappedIfTooLong,
            // Later minor versions do not exist; they would not differ in what is read here.
            (2, 4..) => Lengths::InOrder,
            (major, minor) => return Err(PcapError::Version(major, minor)),
        };
        let unit = if magic == NANOSECONDS { 1 } else { 1_000 };
        // The upper bits show whether a checksum follows each packet; they do not belong to the
        // link type.
        let link = LinkType((header.network.0 & 0xFFFF) as u16);
        Ok(PcapHeader { magic, big_endian, lengths, unit, link })
    }
}

/// A pcap file.
pub(super) struct Pcap {
    path: PathBuf,
    file: u32,
    input: Input,
    header: PcapHeader,
    /// Length of a record header.
    head: usize,
    /// Other possible lengths, until it is known.
    others: &'static [usize],
    /// Bytes of the current record, to be consumed before the next.
    record: usize,
    time: i64,
    original_length: u32,
    /// Bytes borrowed from the current packet.
    borrowed: usize,
    /// Instead of a packet; the capture is over then.
    notice: Option<Notice>,
}

impl Pcap {
    /// Reads the header.
    pub(super) fn new(path: &Path, file: u32, mut input: Input) -> Result<Pcap, PcapError> {
        input.fill(HEADER);
        let bytes = input.unread().first_chunk().ok_or(PcapError::Cut)?;
        let header = PcapHeader::read(bytes)?;
        input.consume(HEADER as u64);
        Ok(Pcap {
            path: path.to_owned(),
            file,
            input,
            header,
            head: if header.magic == MODIFIED { 24 } else { 16 },
            others: other_heads(header.magic, header.lengths),
            record: 0,
            time: 0,
            original_length: 0,
            borrowed: 0,
            notice: None,
        })
    }

    /// Whether the next record may be the header of another file, which `cat` joined with this one: it would have no bytes.
    #[inline(always)]
    fn may_be_header(&self) -> bool {
        self.input.unread().get(8..16) == Some(&[0; 8]) && is_pcap(self.input.unread())
    }

    /// Passes over the header of a file that was joined with this one. Returns what is wrong, if its records cannot be read
    /// as those before.
    #[cold]
    fn passes_header(&mut self) -> Result<(), &'static str> {
        self.input.fill(HEADER);
        let bytes = self.input.unread().first_chunk();
        match bytes.map(PcapHeader::read) {
            Some(Ok(header)) if header == self.header => {
                self.input.consume(HEADER as u64);
                Ok(())
            }
            Some(Ok(_)) => Err(OTHER_KIND),
            _ => Err("ends inside the header of another capture"),
        }
    }

    /// Determines the length of record headers, at the first or the second record. Of a pipe, only
    /// available bytes are used, because the next packet may be seconds away. Returns the fault if
    /// it was determined too late.
    #[cold]
    fn decide(&mut self) -> Option<&'static str> {
        let is_all = self.input.in_memory().is_some();
        if self.input.position() == HEADER as u64 {
            let (records, others) = (self.input.unread(), self.others);
            let is_first_good = plausible_length(records, self.header.big_endian).is_some();
            let head = record_head(records, self.head, others, self.header.big_endian, is_all);
            if head != self.head || is_all || !is_first_good {
                (self.head, self.others) = (head, &[]);
            }
            return None;
        }
        let others = std::mem::take(&mut self.others);
        if plausible_length(self.input.unread(), self.header.big_endian).is_some() {
            return None;
        }
        let is_other = others.iter().any(|other| self.has_two(other - self.head, *other));
        is_other.then_some(
            "an old recorder wrote more before each packet than the file says; give the file itself, \
             not a pipe",
        )
    }

    /// Whether two plausible records with such headers begin this many bytes later. Waits for them
    /// only while it seems so.
    fn has_two(&mut self, mut at: usize, head: usize) -> bool {
        for _ in 0..2 {
            self.input.fill(at + 16);
            let record = self.input.unread().get(at..);
            let length = record.and_then(|record| plausible_length(record, self.header.big_endian));
            let Some(length) = length else { return false };
            at += head + length;
            if self.input.fill(at) < at {
                return false;
            }
        }
        true
    }

    /// A packet has arrived: its time, its recorded and its original length.
    #[inline(always)]
    fn is_at(&mut self, seconds: u32, fraction: u32, length: u32, original_length: u32) {
        self.record = self.head + length as usize;
        self.borrowed = BORROWED.min(length as usize);
        self.original_length = original_length;
        self.time = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * self.header.unit;
    }

    /// The current packet.
    #[inline(always)]
    fn packet(&self) -> Packet<'_> {
        Packet {
            time: self.time,
            link: self.header.link,
            interface: 0,
            original_length: self.original_length,
            data: self.input.unread().get(self.head..self.head + self.borrowed).unwrap_or_default(),
            file: self.file,
            number: 0,
            offset: self.input.position() + self.head as u64,
            digits: if self.header.unit == 1 { 9 } else { 6 },
        }
    }

    /// No more records after `offset`: the reason, if it should be reported.
    #[cold]
    fn end(&mut self, offset: u64, inside: bool) -> Option<i64> {
        let notice = self.input.end(&self.path, offset, inside)?;
        self.stop(notice)
    }

    /// From here on, the file cannot be read.
    fn breaks_off(&mut self, what: &'static str) -> Option<i64> {
        let (path, offset) = (self.path.clone(), self.input.position());
        self.stop(Notice::BrokenBlock { path, offset, what: what.into() })
    }

    fn stop(&mut self, notice: Notice) -> Option<i64> {
        self.notice = Some(notice);
        self.record = 0;
        Some(i64::MIN)
    }
}

impl Forked for Pcap {
    fn path(&self) -> &Path {
        &self.path
    }

    fn forked(&self) -> Option<Pcap> {
        let (path, input) = (self.path.clone(), self.input.fork()?);
        Some(Pcap { path, input, notice: None, ..*self })
    }
}

impl Packets for Pcap {
    #[inline]
    fn advance(&mut self) -> Option<i64> {
        if self.notice.is_some() {
            return None;
        }
        let record = std::mem::take(&mut self.record) as u64;
        let before = self.input.position();
        if !self.input.consume(record) {
            return self.end(before, true);
        }
        let mut available = self.input.fill(self.head);
        while self.may_be_header() {
            if let Err(what) = self.passes_header() {
                return self.breaks_off(what);
            }
            available = self.input.fill(self.head);
        }
        if available < self.head {
            return self.end(self.input.position(), available > 0);
        }
        if !self.others.is_empty()
            && let Some(what) = self.decide()
        {
            return self.breaks_off(what);
        }
        let numbers = numbers(self.input.unread(), self.header.big_endian)?;
        let offset = self.input.position();
        // In a file that became shorter, zeros are read.
        if self.input.shrank() || (numbers == [0; 4] && self.input.is_shorter()) {
            return self.end(offset, true);
        }
        let [seconds, fraction, third, fourth] = numbers;
        let (length, original_length) = match self.header.lengths {
            Lengths::InOrder => (third, fourth),
            Lengths::Swapped => (fourth, third),
            Lengths::SwappedIfTooLong => (third.min(fourth), third.max(fourth)),
        };
        if length as usize > PLAUSIBLE {
            let what = "a record of more than 256 MiB: the file is damaged from here on";
            return self.breaks_off(what);
        }
        let wanted = self.head + BORROWED.min(length as usize);
        if self.input.fill(wanted) < wanted {
            return self.end(offset, true);
        }
        self.input.prefetch(self.head + length as usize);
        self.is_at(seconds, fraction, length, original_length);
        Some(self.time)
    }

    #[inline(always)]
    fn current(&self) -> Event<'_> {
        if let Some(notice) = &self.notice {
            return Event::Notice(notice.clone());
        }
        Event::Packet(self.packet())
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        Some(Box::new(self.forked()?))
    }

    fn in_memory(&self) -> Option<CaptureBytes> {
        self.input.in_memory()
    }

    fn is_awaited(&self) -> bool {
        let next = self.input.unread().get(self.record..).unwrap_or_default();
        let length = numbers(next, self.header.big_endian).map(|[_, _, one, other]| one.min(other));
        let is_there = length.is_some_and(|length| next.len() >= self.head + length as usize);
        !is_there && self.input.is_silent()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.input.position(), self.input.length()?))
    }
}
