//! The newer format: sections of blocks, several interfaces with clocks of their own.
//!
//! pcap-parser's functions read the rare blocks. Packet blocks, of which there are millions, are
//! read here: its parser collects their options in a vector, and takes a packet that is longer than
//! its block for a file that is cut. Times are computed here too: its helpers know no power-of-two
//! resolution, cut fractions and read an offset in one byte order only.

use std::path::{Path, PathBuf};

use pcap_parser::{
    OptionCode, PcapNGOption, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_interfacestatisticsblock_be,
    parse_interfacestatisticsblock_le,
};

use super::input::Input;
use super::open::end_of;
use super::{Event, Notice, Packet, Packets, RECORD};
use crate::net::LinkType;

const SECTION: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Interfaces a section may describe: more are an attack on memory.
const INTERFACES: usize = 1 << 16;

/// Whether these bytes begin a pcapng file.
pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    word(0) == Some(SECTION)
        && word(8).is_some_and(|order| order == BYTE_ORDER || order.swap_bytes() == BYTE_ORDER)
}

/// What an interface says of its packets.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    snaplen: u32,
    clock: Clock,
    /// What its statistics last said.
    dropped: u64,
}

/// How an interface counts time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// As option if_tsresol has it: a power of ten, or of two with the upper bit.
    pub(super) resolution: u8,
    /// As option if_tsoffset has it: seconds to add.
    pub(super) offset: i64,
}

impl Clock {
    /// Nanoseconds since 1970; what does not fit in 64 bits is the nearest that does.
    pub(super) fn nanoseconds(self, units: u64) -> i64 {
        let (units, power) = (i128::from(units), u32::from(self.resolution & 0x7F));
        let since = if self.resolution & 0x80 != 0 {
            (units * 1_000_000_000) >> power.min(127)
        } else if power <= 9 {
            units * 10_i128.pow(9 - power)
        } else {
            units / 10_i128.checked_pow(power - 9).unwrap_or(i128::MAX)
        };
        let time = since + i128::from(self.offset) * 1_000_000_000;
        i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
    }

    /// Digits behind the second.
    fn digits(self) -> u8 {
        if self.resolution <= 6 { 6 } else { 9 }
    }
}

/// A pcapng file.
pub(super) struct PcapNg {
    path: PathBuf,
    file: u32,
    input: Input,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Bytes of the block at hand, to be consumed before the next.
    block: u64,
    /// The time of the packet before, for what has none.
    last: i64,
    now: Now,
    over: bool,
}

enum Now {
    Packet { time: i64, original_length: u32, start: usize, length: usize, interface: Interface },
    Notice(Notice),
}

/// What a block came to.
enum Block {
    Packet(i64),
    Nothing,
    Broken(&'static str),
}

impl PcapNg {
    pub(super) fn new(path: &Path, file: u32, input: Input) -> PcapNg {
        PcapNg {
            path: path.to_owned(),
            file,
            input,
            big_endian: false,
            interfaces: Vec::new(),
            block: 0,
            last: 0,
            now: Now::Notice(Notice::FileCut { path: path.to_owned(), offset: 0 }),
            over: false,
        }
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = *self.input.unread().get(at..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn half(&self, at: usize) -> Option<u16> {
        let bytes = *self.input.unread().get(at..)?.first_chunk()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn ends(&mut self, notice: Notice) -> Option<i64> {
        self.over = true;
        self.block = 0;
        self.now = Now::Notice(notice);
        Some(self.last)
    }

    fn broken(&mut self, offset: u64, what: &'static str) -> Option<i64> {
        self.now = Now::Notice(Notice::BrokenBlock { path: self.path.clone(), offset, what });
        Some(self.last)
    }

    /// A section begins: it has its own byte order and its own interfaces.
    fn section(&mut self) -> Block {
        self.interfaces.clear();
        if self.half(12) == Some(1) {
            return Block::Nothing;
        }
        Block::Broken("a section of an unknown version: what follows is read all the same")
    }

    fn interface(&mut self, length: usize) -> Block {
        let bytes = self.input.unread().get(..length).unwrap_or_default();
        let parsed = if self.big_endian {
            parse_interfacedescriptionblock_be(bytes)
        } else {
            parse_interfacedescriptionblock_le(bytes)
        };
        let Ok((_, block)) = parsed else {
            // Its packets must not be taken for another interface's.
            self.describe(Interface::unreadable());
            return Block::Broken("an interface description that does not parse");
        };
        let mut clock = Clock { resolution: 6, offset: 0 };
        for option in &block.options {
            match (option.code, value(option)) {
                (OptionCode::IfTsresol, [resolution, ..]) => clock.resolution = *resolution,
                (OptionCode::IfTsoffset, value) => {
                    if let Some(bytes) = value.first_chunk() {
                        clock.offset = if self.big_endian {
                            i64::from_be_bytes(*bytes)
                        } else {
                            i64::from_le_bytes(*bytes)
                        };
                    }
                }
                _ => {}
            }
        }
        let link = LinkType((block.linktype.0 & 0xFFFF) as u16);
        let interface = Interface { link, snaplen: block.snaplen, clock, dropped: 0 };
        self.describe(interface);
        Block::Nothing
    }

    fn describe(&mut self, interface: Interface) {
        if self.interfaces.len() < INTERFACES {
            self.interfaces.push(interface);
        }
    }

    /// Statistics count from the beginning: what is new since the last ones is told.
    fn statistics(&mut self, length: usize) -> Option<Notice> {
        let bytes = self.input.unread().get(..length).unwrap_or_default();
        let parsed = if self.big_endian {
            parse_interfacestatisticsblock_be(bytes)
        } else {
            parse_interfacestatisticsblock_le(bytes)
        };
        let (_, block) = parsed.ok()?;
        let big_endian = self.big_endian;
        let count = |code: OptionCode| {
            let option = block.options.iter().find(|option| option.code == code)?;
            let bytes = *value(option).first_chunk()?;
            Some(if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
        };
        let dropped = count(OptionCode::IsbIfDrop)
            .unwrap_or(0)
            .saturating_add(count(OptionCode::IsbOsDrop).unwrap_or(0));
        let interface = usize::try_from(block.if_id).ok()?;
        let interface = self.interfaces.get_mut(interface)?;
        let new = dropped.saturating_sub(interface.dropped);
        interface.dropped = interface.dropped.max(dropped);
        (new > 0).then(|| Notice::Drops { path: self.path.clone(), count: new })
    }

    /// A packet block: where its interface, times, lengths and bytes stand.
    fn packet(&mut self, kind: u32, length: usize) -> Block {
        const PAST_ITS_BLOCK: Block = Block::Broken("a packet that is longer than its block");
        let head = match kind {
            SIMPLE_PACKET => 12,
            _ => 28,
        };
        let Some(room) = length.checked_sub(head + 4) else { return PAST_ITS_BLOCK };
        let number = match kind {
            SIMPLE_PACKET => Some(0),
            OBSOLETE_PACKET => self.half(8).map(usize::from),
            _ => self.word(8).and_then(|number| usize::try_from(number).ok()),
        };
        let Some(&interface) = number.and_then(|number| self.interfaces.get(number)) else {
            return Block::Broken("a packet of an interface that no block describes");
        };
        let (time, recorded, original_length) = if kind == SIMPLE_PACKET {
            let original_length = self.word(8).unwrap_or(0);
            let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            (self.last, original_length.min(snaplen), original_length)
        } else {
            let [high, low, recorded, original_length] =
                [12, 16, 20, 24].map(|at| self.word(at).unwrap_or(0));
            let units = u64::from(high) << 32 | u64::from(low);
            (interface.clock.nanoseconds(units), recorded, original_length)
        };
        let recorded = recorded as usize;
        if recorded > room {
            return PAST_ITS_BLOCK;
        }
        self.last = time;
        self.now = Now::Packet { time, original_length, start: head, length: recorded, interface };
        Block::Packet(time)
    }
}

impl Interface {
    /// Stands for one whose description does not parse.
    fn unreadable() -> Interface {
        let clock = Clock { resolution: 6, offset: 0 };
        Interface { link: LinkType(u16::MAX), snaplen: 0, clock, dropped: 0 }
    }
}

/// An option's value without its padding.
fn value<'a>(option: &'a PcapNGOption<'_>) -> &'a [u8] {
    option.value.get(..usize::from(option.len)).unwrap_or(&option.value)
}

impl Packets for PcapNg {
    fn advance(&mut self) -> Option<i64> {
        loop {
            if self.over {
                return None;
            }
            self.input.consume(self.block);
            self.block = 0;
            let offset = self.input.position();
            let available = self.input.fill(12);
            if self.input.shrank() {
                return self.ends(Notice::FileShrank { path: self.path.clone(), offset });
            }
            if available == 0 {
                let error = self.input.error()?;
                let what = error.to_string();
                return match error.kind() {
                    std::io::ErrorKind::UnexpectedEof => {
                        self.ends(Notice::FileCut { path: self.path.clone(), offset })
                    }
                    _ => self.ends(Notice::ReadError { path: self.path.clone(), offset, what }),
                };
            }
            if available < 12 {
                let notice = end_of(&self.path, &mut self.input, offset);
                return self.ends(notice);
            }
            if self.word(0) == Some(SECTION) {
                // The length's byte order is known only from the word behind it.
                self.big_endian = false;
                match self.word(8) {
                    Some(BYTE_ORDER) => {}
                    Some(order) if order.swap_bytes() == BYTE_ORDER => self.big_endian = true,
                    _ => return self.lost(offset),
                }
            }
            let kind = self.word(0)?;
            let Some(length) = self.word(4).filter(|&length| length >= 12 && length % 4 == 0)
            else {
                return self.lost(offset);
            };
            self.block = u64::from(length);
            let length = length as usize;
            let is_known = matches!(
                kind,
                SECTION
                    | INTERFACE
                    | OBSOLETE_PACKET
                    | SIMPLE_PACKET
                    | STATISTICS
                    | ENHANCED_PACKET
            );
            if !is_known {
                if self.input.length().is_some_and(|all| all - offset < self.block) {
                    return self.ends(Notice::FileCut { path: self.path.clone(), offset });
                }
                continue;
            }
            if length > RECORD {
                return self.broken(offset, "a block of more than 16 MiB was passed over");
            }
            if self.input.fill(length) < length {
                let notice = end_of(&self.path, &mut self.input, offset);
                return self.ends(notice);
            }
            let came_to = match kind {
                SECTION => self.section(),
                INTERFACE => self.interface(length),
                STATISTICS => match self.statistics(length) {
                    Some(notice) => {
                        self.now = Now::Notice(notice);
                        return Some(self.last);
                    }
                    None => Block::Nothing,
                },
                _ => self.packet(kind, length),
            };
            match came_to {
                Block::Packet(time) => return Some(time),
                Block::Nothing => {}
                Block::Broken(what) => return self.broken(offset, what),
            }
        }
    }

    fn current(&self) -> Event<'_> {
        match &self.now {
            Now::Notice(notice) => Event::Notice(notice.clone()),
            &Now::Packet { time, original_length, start, length, interface } => {
                Event::Packet(Packet {
                    time,
                    link: interface.link,
                    original_length,
                    data: self.input.unread().get(start..start + length).unwrap_or_default(),
                    file: self.file,
                    offset: self.input.position() + start as u64,
                    digits: interface.clock.digits(),
                })
            }
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.input.position(), self.input.length()?))
    }
}

impl PcapNg {
    /// No block begins here: where the next one does cannot be told.
    fn lost(&mut self, offset: u64) -> Option<i64> {
        let what = "no block begins here: the file is damaged from here on";
        self.ends(Notice::BrokenBlock { path: self.path.clone(), offset, what })
    }
}
