//! The classic format: a header, then records.
//!
//! pcap-parser's functions read header and records; its own iterators take big-endian files for
//! little-endian ones and repeat an error for ever, so the walk is ours.

use std::path::{Path, PathBuf};

use pcap_parser::pcap::{
    LegacyPcapBlock, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

use super::input::Input;
use super::open::end_of;
use super::{Event, Notice, Packet, Packets, RECORD};
use crate::net::LinkType;

const HEADER: usize = 24;

/// The modified format of Alexey Kuznetzov's libpcap, whose records say more of themselves.
const MODIFIED: u32 = 0xA1B2_CD34;

/// Whether these bytes begin a pcap file.
pub(super) fn is_pcap(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    magic.is_some_and(|magic| {
        [magic, magic.swap_bytes()]
            .iter()
            .any(|magic| matches!(*magic, 0xA1B2_C3D4 | 0xA1B2_3C4D | MODIFIED))
    })
}

/// How the two lengths of a record are to be read: they changed places before version 2.3.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    InOrder,
    Swapped,
    SwappedIfTooLong,
}

/// A pcap file.
pub(super) struct Pcap {
    path: PathBuf,
    file: u32,
    input: Input,
    big_endian: bool,
    modified: bool,
    nanoseconds: bool,
    lengths: Lengths,
    link: LinkType,
    /// Bytes of the record at hand, to be consumed before the next.
    record: usize,
    now: Now,
    over: bool,
}

enum Now {
    Packet { time: i64, original_length: u32, start: usize, length: usize },
    Notice(Notice),
}

impl Pcap {
    /// Reads the header. `Err` says what is not supported.
    pub(super) fn new(path: &Path, file: u32, mut input: Input) -> Result<Pcap, String> {
        input.fill(HEADER);
        let bytes = input.unread();
        let magic = bytes.first_chunk().map_or(0, |magic| u32::from_le_bytes(*magic));
        let modified = magic == MODIFIED || magic.swap_bytes() == MODIFIED;
        let header = match bytes.get(..HEADER) {
            // The one form that the parser does not know, spelled as one that it does.
            Some(bytes) if magic.swap_bytes() == MODIFIED => {
                let mut plain: [u8; HEADER] = bytes.try_into().unwrap_or_default();
                plain[..4].copy_from_slice(&0xA1B2_C3D4_u32.to_be_bytes());
                parse_pcap_header(&plain).map(|(_, header)| header).ok()
            }
            Some(bytes) => parse_pcap_header(bytes).map(|(_, header)| header).ok(),
            None => None,
        };
        let header = header.ok_or("the file ends inside the pcap header")?;
        let lengths = match (header.version_major, header.version_minor) {
            (2, 0..=2) | (543, 0) => Lengths::Swapped,
            (2, 3) => Lengths::SwappedIfTooLong,
            (2, 4) => Lengths::InOrder,
            (major, minor) => return Err(format!("pcap version {major}.{minor} is not known")),
        };
        input.consume(HEADER as u64);
        Ok(Pcap {
            path: path.to_owned(),
            file,
            input,
            big_endian: header.is_bigendian() || magic.swap_bytes() == MODIFIED,
            modified,
            nanoseconds: header.is_nanosecond_precision(),
            lengths,
            // The upper bits say whether a checksum follows each packet; they are no link type.
            link: LinkType((header.network.0 & 0xFFFF) as u16),
            record: 0,
            now: Now::Notice(Notice::FileCut { path: path.to_owned(), offset: 0 }),
            over: false,
        })
    }

    fn notice(&mut self, notice: Notice) -> Option<i64> {
        self.now = Now::Notice(notice);
        self.over = true;
        self.record = 0;
        Some(i64::MIN)
    }

    fn head(&self) -> usize {
        if self.modified { 24 } else { 16 }
    }

    /// How many bytes the record at hand has recorded.
    fn recorded_length(&self) -> Option<usize> {
        let at = if self.lengths == Lengths::Swapped { 12 } else { 8 };
        let bytes = *self.input.unread().get(at..)?.first_chunk()?;
        let length =
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        usize::try_from(length).ok()
    }

    fn parse(&self) -> Option<LegacyPcapBlock<'_>> {
        let bytes = self.input.unread();
        let parsed = match (self.modified, self.big_endian) {
            (false, false) => parse_pcap_frame(bytes),
            (false, true) => parse_pcap_frame_be(bytes),
            (true, false) => parse_pcap_frame_modified(bytes),
            // The parser has no big-endian form of the modified record.
            (true, true) => return modified_big_endian(bytes),
        };
        parsed.ok().map(|(_, record)| record)
    }
}

fn modified_big_endian(bytes: &[u8]) -> Option<LegacyPcapBlock<'_>> {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
    let caplen = word(8)?;
    let data = bytes.get(24..)?.get(..usize::try_from(caplen).ok()?)?;
    Some(LegacyPcapBlock { ts_sec: word(0)?, ts_usec: word(4)?, caplen, origlen: word(12)?, data })
}

impl Packets for Pcap {
    fn advance(&mut self) -> Option<i64> {
        if self.over {
            return None;
        }
        self.input.consume(self.record as u64);
        self.record = 0;
        let offset = self.input.position();
        let head = self.head();
        let available = self.input.fill(head);
        if self.input.shrank() {
            return self.notice(Notice::FileShrank { path: self.path.clone(), offset });
        }
        if available == 0 {
            let error = self.input.error()?;
            let notice = match error.kind() {
                std::io::ErrorKind::UnexpectedEof => {
                    Notice::FileCut { path: self.path.clone(), offset }
                }
                _ => Notice::ReadError { path: self.path.clone(), offset, what: error.to_string() },
            };
            return self.notice(notice);
        }
        if available < head {
            let notice = end_of(&self.path, &mut self.input, offset);
            return self.notice(notice);
        }
        let mut length = self.recorded_length()?;
        if length > RECORD {
            let what = "a record of more than 16 MiB: the file is damaged from here on";
            return self.notice(Notice::BrokenBlock { path: self.path.clone(), offset, what });
        }
        if self.input.fill(head + length) < head + length {
            let notice = end_of(&self.path, &mut self.input, offset);
            return self.notice(notice);
        }
        let (seconds, fraction, original_length) = match self.lengths {
            Lengths::Swapped => self.swapped()?,
            _ => {
                let record = self.parse()?;
                (record.ts_sec, record.ts_usec, record.origlen)
            }
        };
        let mut original_length = original_length;
        if self.lengths == Lengths::SwappedIfTooLong && length > original_length as usize {
            (length, original_length) = (original_length as usize, length as u32);
        }
        let unit = if self.nanoseconds { 1 } else { 1_000 };
        let time = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit;
        self.record = head + length;
        self.now = Now::Packet { time, original_length, start: head, length };
        Some(time)
    }

    fn current(&self) -> Event<'_> {
        match &self.now {
            Now::Notice(notice) => Event::Notice(notice.clone()),
            &Now::Packet { time, original_length, start, length } => Event::Packet(Packet {
                time,
                link: self.link,
                original_length,
                data: self.input.unread().get(start..start + length).unwrap_or_default(),
                file: self.file,
                offset: self.input.position() + start as u64,
                digits: if self.nanoseconds { 9 } else { 6 },
            }),
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.input.position(), self.input.length()?))
    }
}

impl Pcap {
    /// Seconds, fraction and original length where the lengths stand in the old order.
    fn swapped(&self) -> Option<(u32, u32, u32)> {
        let word = |at: usize| {
            let bytes = *self.input.unread().get(at..)?.first_chunk()?;
            Some(if self.big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            })
        };
        Some((word(0)?, word(4)?, word(8)?))
    }
}
