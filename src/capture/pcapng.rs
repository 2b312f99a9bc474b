//! The pcapng format: sections of blocks, several interfaces with their own clocks.
//!
//! pcap-parser reads the rare blocks. Packet blocks, which are frequent, are read here: its parser
//! collects their options in a vector, treats a packet that is longer than its block as the end of
//! the file, does not support obsolete packet blocks, and does not cut simple ones to the
//! interface's snap length.

use std::path::{Path, PathBuf};

use pcap_parser::{
    OptionCode, PcapNGOption, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_interfacestatisticsblock_be,
    parse_interfacestatisticsblock_le,
};

use super::clock::InterfaceClock;
use super::in_order::Forked;
use super::input::{Input, numbers};
use super::{BORROWED, CaptureBytes, Event, Notice, Packet, Packets};
use crate::capture::LinkType;

const SECTION: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

/// Length of a packet block before its data, except for a simple packet block.
const HEAD: usize = 28;

/// Minimum length of a block: its type, and its length at both ends.
const SHORTEST: usize = 12;

/// Limit: interfaces of a pcapng section | {} | a warning, NET009
const INTERFACES: usize = 1 << 16;

/// Whether these bytes begin a pcapng file.
pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
    word(0) == Some(SECTION)
        && word(8).is_some_and(|order| order == BYTE_ORDER || order.swap_bytes() == BYTE_ORDER)
}

/// The description of an interface.
#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// 0: no limit.
    snaplen: u32,
    clock: InterfaceClock,
    /// Packets dropped, from its latest statistics; `None`: unknown.
    dropped: Option<u64>,
}

/// The position of the current packet, and its metadata.
struct PacketPosition {
    time: i64,
    link: LinkType,
    interface: u32,
    original_length: u32,
    digits: u8,
    /// Bytes of the block before the packet's.
    head: usize,
    borrowed: usize,
}

/// A pcapng file.
pub(super) struct PcapNg {
    path: PathBuf,
    file: u32,
    input: Input,
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Their names, if any.
    names: Vec<Option<Box<str>>>,
    /// The number of interfaces in earlier sections.
    earlier: u32,
    /// Bytes of the current block, to be consumed before the next.
    block: usize,
    here: PacketPosition,
    /// In place of a packet.
    notice: Option<Notice>,
    over: bool,
    /// A time out of range was reported.
    reported_of_time: bool,
}

/// The result of reading a block.
enum Block {
    /// A packet, or a notice.
    Event,
    Nothing,
    Broken(&'static str),
    /// The file ends inside it.
    Cut,
    /// The start of the next one is unknown.
    Lost(&'static str),
}

impl PcapNg {
    pub(super) fn new(path: &Path, file: u32, input: Input) -> PcapNg {
        let here = PacketPosition {
            time: 0,
            link: LinkType(u16::MAX),
            interface: 0,
            original_length: 0,
            digits: 6,
            head: 0,
            borrowed: 0,
        };
        PcapNg {
            path: path.to_owned(),
            file,
            input,
            big_endian: false,
            interfaces: Vec::new(),
            names: Vec::new(),
            earlier: 0,
            block: 0,
            here,
            notice: None,
            over: false,
            reported_of_time: false,
        }
    }

    /// The current packet.
    #[inline(always)]
    fn here(&self) -> Packet<'_> {
        let &PacketPosition { time, link, interface, original_length, digits, head, borrowed } =
            &self.here;
        Packet {
            time,
            link,
            interface,
            original_length,
            data: self.input.unread().get(head..head + borrowed).unwrap_or_default(),
            file: self.file,
            number: 0,
            offset: self.input.position() + head as u64,
            digits,
        }
    }

    /// The first numbers of the current block.
    #[inline]
    fn numbers<const N: usize>(&self) -> Option<[u32; N]> {
        numbers(self.input.unread(), self.big_endian)
    }

    fn short(&self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn long(&self, bytes: [u8; 8]) -> u64 {
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// No more blocks after `offset`: the reason, if it should be reported.
    #[cold]
    fn end(&mut self, offset: u64, inside: bool) -> Option<i64> {
        self.over = true;
        self.notice = Some(self.input.end(&self.path, offset, inside)?);
        Some(self.here.time)
    }

    #[cold]
    fn broken(&mut self, offset: u64, what: &'static str) -> Option<i64> {
        self.notice =
            Some(Notice::BrokenBlock { path: self.path.clone(), offset, what: what.into() });
        Some(self.here.time)
    }

    /// Type and length of the current block.
    #[inline]
    fn outline(&mut self) -> Result<(u32, u32), &'static str> {
        const LOST: &str = "no block begins here: the file is damaged from here on";
        let [mut kind, mut length, order] = self.numbers().ok_or(LOST)?;
        if kind == SECTION {
            // It determines the byte order up to the next section.
            if order == BYTE_ORDER.swap_bytes() {
                self.big_endian = !self.big_endian;
                [kind, length] = self.numbers().ok_or(LOST)?;
            } else if order != BYTE_ORDER {
                return Err(LOST);
            }
        }
        if (length as usize) < SHORTEST || length % 4 != 0 {
            return Err(LOST);
        }
        Ok((kind, length))
    }

    /// Reads the current block.
    #[inline]
    fn read(&mut self, offset: u64) -> Block {
        let (kind, length) = match self.outline() {
            Ok(outline) => outline,
            Err(what) => return Block::Lost(what),
        };
        let length = length as usize;
        self.block = length;
        match kind {
            OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET => self.packet(kind, length, offset),
            SECTION | INTERFACE | STATISTICS => self.rare(kind, length),
            _ => Block::Nothing,
        }
    }

    /// A block that is not a packet.
    #[cold]
    fn rare(&mut self, kind: u32, length: usize) -> Block {
        if kind == SECTION {
            // It has its own interfaces, even if it is otherwise invalid.
            self.earlier = self.earlier.saturating_add(self.interfaces.len() as u32);
            self.interfaces.clear();
            self.names.clear();
        }
        if length > BORROWED {
            if kind == INTERFACE {
                self.describe(Interface::UNREADABLE);
            }
            return Block::Broken("a block of more than a megabyte that is not a packet");
        }
        if self.input.fill(length) < length {
            return Block::Cut;
        }
        match kind {
            SECTION => self.section(length),
            INTERFACE => self.interface(length),
            _ => self.statistics(length),
        }
    }

    fn section(&mut self, length: usize) -> Block {
        if !self.has_both_lengths(length) {
            return Block::Broken(LENGTHS_DIFFER);
        }
        let bytes = self.input.unread().get(12..14).and_then(|bytes| bytes.first_chunk());
        let major = bytes.map(|major| self.short(*major));
        if major != Some(1) {
            return Block::Broken("a section of an unknown version: it is read all the same");
        }
        Block::Nothing
    }

    fn interface(&mut self, length: usize) -> Block {
        let bytes = self.input.unread().get(..length).unwrap_or_default();
        let parsed = if self.big_endian {
            parse_interfacedescriptionblock_be(bytes)
        } else {
            parse_interfacedescriptionblock_le(bytes)
        };
        let Ok((_, block)) = parsed else {
            // Its packets must not be assigned to another interface.
            self.describe(Interface::UNREADABLE);
            return Block::Broken("an interface description that does not parse");
        };
        let mut clock = InterfaceClock::DEFAULT;
        let mut name = None;
        for option in &block.options {
            match (option.code, value(option)) {
                (OptionCode::IfName, value) => name = brief(value),
                (OptionCode::IfTsresol, [resolution, ..]) => clock.resolution = *resolution,
                (OptionCode::IfTsoffset, value) => {
                    if let Some(bytes) = value.first_chunk() {
                        clock.offset = self.long(*bytes).cast_signed();
                    }
                }
                _ => {}
            }
        }
        let link = LinkType((block.linktype.0 & 0xFFFF) as u16);
        let snaplen = block.snaplen;
        let number = self.interfaces.len();
        if self.describe(Interface { link, snaplen, clock, dropped: None }) {
            self.names.resize(number, None);
            self.names.push(name);
            Block::Nothing
        } else {
            Block::Broken("a section of more than 65,536 interfaces: packets of more are not read")
        }
    }

    fn describe(&mut self, interface: Interface) -> bool {
        let is_room = self.interfaces.len() < INTERFACES;
        if is_room {
            self.interfaces.push(interface);
        }
        is_room
    }

    /// Statistics count from the beginning, and may occur any number of times.
    fn statistics(&mut self, length: usize) -> Block {
        let bytes = self.input.unread().get(..length).unwrap_or_default();
        let parsed = if self.big_endian {
            parse_interfacestatisticsblock_be(bytes)
        } else {
            parse_interfacestatisticsblock_le(bytes)
        };
        let Ok((_, block)) = parsed else {
            return Block::Broken("interface statistics that do not parse");
        };
        let count = |code: OptionCode| {
            let option = block.options.iter().find(|option| option.code == code)?;
            Some(self.long(*value(option).first_chunk()?))
        };
        let counts = [count(OptionCode::IsbIfDrop), count(OptionCode::IsbOsDrop)];
        let Some(dropped) = counts.into_iter().flatten().reduce(u64::saturating_add) else {
            return Block::Nothing;
        };
        let number = block.if_id;
        let Some(interface) = self.interfaces.get_mut(number as usize) else {
            return Block::Broken("statistics of an interface that no block describes");
        };
        if interface.dropped.is_some_and(|before| dropped <= before) {
            return Block::Nothing;
        }
        interface.dropped = Some(dropped);
        let interface = self.earlier.saturating_add(number);
        self.notice = Some(Notice::Drops { path: self.path.clone(), interface, count: dropped });
        Block::Event
    }

    /// A packet: the positions of its interface, time, lengths and bytes.
    #[inline]
    fn packet(&mut self, kind: u32, length: usize, offset: u64) -> Block {
        const PAST_ITS_BLOCK: Block = Block::Broken("a packet that is longer than its block");
        let head = if kind == SIMPLE_PACKET { 12 } else { HEAD };
        // Of a longer block, only the part with the borrowed bytes is needed.
        let wanted = length.min(head + BORROWED + 4);
        if self.input.fill(wanted) < wanted {
            return Block::Cut;
        }
        let Some(room) = length.checked_sub(head + 4) else { return PAST_ITS_BLOCK };
        if wanted == length && !self.has_both_lengths(length) {
            return Block::Broken(LENGTHS_DIFFER);
        }
        let [_, _, number, high, low, recorded, original_length] = match kind {
            SIMPLE_PACKET => {
                let [kind, length, original_length] = self.numbers().unwrap_or_default();
                [kind, length, 0, 0, 0, original_length, original_length]
            }
            _ => self.numbers().unwrap_or_default(),
        };
        // In an obsolete block, the interface's number has 16 bits, and a drop count follows it.
        let number = match (kind, self.big_endian) {
            (OBSOLETE_PACKET, true) => number >> 16,
            (OBSOLETE_PACKET, false) => number & 0xFFFF,
            _ => number,
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            return Block::Broken("a packet of an interface that no block describes");
        };
        let (time, recorded) = if kind == SIMPLE_PACKET {
            let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
            // It has no time: it gets that of the previous packet.
            (Ok(self.here.time), recorded.min(snaplen))
        } else {
            (interface.clock.nanoseconds(u64::from(high) << 32 | u64::from(low)), recorded)
        };
        if recorded as usize > room {
            return PAST_ITS_BLOCK;
        }
        if time.is_err() && !self.reported_of_time {
            self.reported_of_time = true;
            self.notice = Some(Notice::TimeOutOfRange { path: self.path.clone(), offset });
            // The same block is read again after the notice.
            self.block = 0;
            return Block::Event;
        }
        let (Ok(time) | Err(time)) = time;
        self.here = PacketPosition {
            time,
            link: interface.link,
            interface: self.earlier.saturating_add(number),
            original_length,
            digits: interface.clock.digits(),
            head,
            borrowed: (recorded as usize).min(BORROWED),
        };
        Block::Event
    }

    /// Whether the lengths at both ends of a block are equal.
    #[inline]
    fn has_both_lengths(&self, length: usize) -> bool {
        let after = self.input.unread().get(length - 4..).unwrap_or_default();
        numbers(after, self.big_endian).is_some_and(|[after]| after as usize == length)
    }
}

const LENGTHS_DIFFER: &str = "a block whose two lengths differ";

impl Interface {
    /// For an interface whose description is invalid.
    const UNREADABLE: Interface = Interface {
        link: LinkType(u16::MAX),
        snaplen: 0,
        clock: InterfaceClock::DEFAULT,
        dropped: None,
    };
}

/// A name of sensible length, since 65,536 of them must fit in memory.
fn brief(bytes: &[u8]) -> Option<Box<str>> {
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(64))?);
    let text = text.trim_end_matches('\0');
    (!text.is_empty()).then(|| text.into())
}

/// An option's value without its padding.
fn value<'a>(option: &'a PcapNGOption<'_>) -> &'a [u8] {
    option.as_bytes().unwrap_or_default()
}

impl Forked for PcapNg {
    fn path(&self) -> &Path {
        &self.path
    }

    fn forked(&self) -> Option<PcapNg> {
        Some(PcapNg::new(&self.path, self.file, self.input.fork()?))
    }
}

impl Packets for PcapNg {
    #[inline]
    fn advance(&mut self) -> Option<i64> {
        self.notice = None;
        loop {
            if self.over {
                return None;
            }
            let before = self.input.position();
            let block = std::mem::take(&mut self.block) as u64;
            if !self.input.consume(block) {
                return self.end(before, true);
            }
            let available = self.input.fill(SHORTEST);
            if available < SHORTEST {
                return self.end(before + block, available > 0);
            }
            let offset = self.input.position();
            let block = self.read(offset);
            // In a file that became shorter, zeros are read.
            if self.input.shrank() {
                return self.end(offset, true);
            }
            match block {
                Block::Event => {
                    self.input.prefetch(self.block);
                    return Some(self.here.time);
                }
                Block::Nothing => {}
                Block::Cut => return self.end(offset, true),
                Block::Broken(_) | Block::Lost(_) if self.input.is_shorter() => {
                    return self.end(offset, true);
                }
                Block::Broken(what) => return self.broken(offset, what),
                Block::Lost(what) => {
                    self.over = true;
                    return self.broken(offset, what);
                }
            }
        }
    }

    fn is_awaited(&self) -> bool {
        let next = self.input.unread().get(self.block..).unwrap_or_default();
        let length = numbers(next, self.big_endian).map(|[_, length]| length);
        let is_there = length.is_some_and(|length| next.len() >= length as usize);
        !is_there && self.input.is_silent()
    }

    fn interface_name(&self) -> Option<&str> {
        let number = self.here.interface.checked_sub(self.earlier)?;
        self.names.get(number as usize)?.as_deref()
    }

    fn comments(&self) -> Vec<String> {
        /// The option of this number is a comment.
        const COMMENT: u16 = 1;
        let (mut comments, recorded) = (Vec::new(), self.here.borrowed.next_multiple_of(4));
        // The part before the packet has this length only in blocks that may have options.
        let options = self.here.head + recorded..self.block.saturating_sub(4);
        let options = self.input.unread().get(options).filter(|_| self.here.head == HEAD);
        let mut rest = options.unwrap_or_default();
        while let Some((&[a, b, c, d], more)) = rest.split_first_chunk() {
            let (code, length) = (self.short([a, b]), usize::from(self.short([c, d])));
            let Some(value) = more.get(..length).filter(|_| code != 0) else { break };
            if code == COMMENT {
                comments.push(String::from_utf8_lossy(value).into_owned());
            }
            rest = more.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        comments
    }

    #[inline]
    fn current(&self) -> Event<'_> {
        if let Some(notice) = &self.notice {
            return Event::Notice(notice.clone());
        }
        Event::Packet(self.here())
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        Some(Box::new(self.forked()?))
    }

    fn in_memory(&self) -> Option<CaptureBytes> {
        self.input.in_memory()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.input.position(), self.input.length()?))
    }
}
