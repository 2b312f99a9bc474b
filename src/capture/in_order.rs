//! Puts packets in the order of time that a file has a little out of order. They are numbered in that order, as
//! `reordercap` would write them.
//!
//! A card with several queues, and a recorder of several interfaces, write the packets of each in blocks. Where that shows,
//! packets are copied and wait for others that may come before them, up to [`WINDOW`]. All others pass through: that
//! a capture is in order costs a comparison per packet. Only packets of files wait, because those of a pipe would be late.

use std::collections::VecDeque;
use std::path::Path;

use super::{CaptureBytes, Event, LinkType, Notice, Packet, Packets};

/// Maximum number of packets that wait, and of their bytes.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 4 << 20;

/// Maximum length of a packet whose memory is used again.
const SPARE: usize = 1 << 12;

/// After so many packets in order, the next ones do not wait. At the beginning, they do: most captures that are out
/// of order are so from the beginning.
const CALM: usize = 512;

/// Nanoseconds between packets that are not put in order: the clock was set, or files were appended.
const FAR: i64 = 600_000_000_000;

/// A capture whose packets are put in order.
pub(super) struct InOrder<P> {
    packets: P,
    /// Packets may wait.
    is_file: bool,
    /// The packets that wait, in the order of time.
    waiting: VecDeque<WaitingPacket>,
    /// Places for further ones.
    spare: Vec<WaitingPacket>,
    current: Current,
    /// Bytes of those that wait.
    bytes: usize,
    /// The time of an event of the capture that comes after all that wait.
    after: Option<i64>,
    is_over: bool,
    /// Packets pass through.
    is_passing: bool,
    /// The number of packets in order since the latest one that was not.
    calm: usize,
    /// The latest time.
    latest: i64,
    /// Packets are out of order: whether that was reported.
    is_reported: Option<bool>,
}

/// The current event.
enum Current {
    /// That of the reader.
    Read,
    /// A packet that has waited.
    Waited(WaitingPacket),
    /// The notice that packets are out of order.
    Notice,
}

/// A reader of one file that can be duplicated before the first event.
pub(super) trait Forked: Packets + Send + Sized + 'static {
    /// The file.
    fn path(&self) -> &Path;
    /// Another reader of the same file.
    fn forked(&self) -> Option<Self>;
}

/// A copy of a packet.
#[derive(Default)]
struct WaitingPacket {
    time: i64,
    link: u16,
    interface: u32,
    original_length: u32,
    data: Vec<u8>,
    file: u32,
    offset: u64,
    digits: u8,
    interface_name: Option<String>,
    comments: Vec<String>,
}

impl WaitingPacket {
    fn set(&mut self, packet: &Packet<'_>) {
        let &Packet { time, link, interface, original_length, data, file, offset, digits, .. } =
            packet;
        self.data.clear();
        self.data.extend_from_slice(data);
        (self.time, self.link, self.interface) = (time, link.0, interface);
        (self.original_length, self.file) = (original_length, file);
        (self.offset, self.digits) = (offset, digits);
    }

    fn packet(&self) -> Packet<'_> {
        let &WaitingPacket { time, interface, original_length, file, offset, digits, .. } = self;
        let (link, number, data) = (LinkType(self.link), 0, &self.data[..]);
        Packet { time, link, interface, original_length, data, file, number, offset, digits }
    }
}

impl<P: Forked> InOrder<P> {
    pub(super) fn new(packets: P, is_file: bool) -> InOrder<P> {
        InOrder {
            packets,
            is_file,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            current: Current::Read,
            bytes: 0,
            after: None,
            is_over: false,
            is_passing: !is_file,
            calm: 0,
            latest: i64::MIN,
            is_reported: None,
        }
    }

    /// The next event, while packets wait for others.
    #[cold]
    #[inline(never)]
    fn next_of_window(&mut self) -> Option<i64> {
        if let Current::Waited(gone) = std::mem::replace(&mut self.current, Current::Read) {
            self.bytes -= gone.data.len();
            // What is rarely so long takes no memory for ever.
            if gone.data.capacity() <= SPARE {
                self.spare.push(gone);
            }
        }
        while self.is_file
            && self.calm < CALM
            && self.waiting.len() < WINDOW
            && self.bytes < WINDOW_BYTES
            && self.after.is_none()
            && !self.is_over
        {
            self.await_next();
        }
        if self.is_reported == Some(false) {
            (self.is_reported, self.current) = (Some(true), Current::Notice);
            // Before the first packet that waits, so that merged files do not wait for it.
            return Some(self.waiting.front().map_or(self.latest, |first| first.time));
        }
        if let Some(first) = self.waiting.pop_front() {
            let time = first.time;
            self.current = Current::Waited(first);
            return Some(time);
        }
        if self.after.is_some() || self.is_over {
            return self.after.take();
        }
        self.is_passing = true;
        self.advance()
    }

    /// The next event of the capture waits.
    fn await_next(&mut self) {
        let Some(time) = self.packets.advance() else {
            self.is_over = true;
            return;
        };
        let Event::Packet(packet) = self.packets.current() else {
            self.after = Some(time);
            return;
        };
        if self.latest.saturating_sub(time) > FAR {
            (self.after, self.latest) = (Some(time), time);
            return;
        }
        let mut waits = self.spare.pop().unwrap_or_default();
        waits.set(&packet);
        waits.interface_name = self.packets.interface_name().map(str::to_owned);
        waits.comments = self.packets.comments();
        self.bytes += waits.data.len();
        if time >= self.latest {
            self.latest = time;
            self.calm += 1;
            self.waiting.push_back(waits);
            return;
        }
        self.calm = 0;
        self.is_reported.get_or_insert(false);
        let place = self.waiting.partition_point(|it| it.time <= time);
        self.waiting.insert(place, waits);
    }

    /// A time comes behind a later one.
    #[cold]
    fn falls_back(&mut self) {
        if let Event::Packet(_) = self.packets.current() {
            // The packets before it have passed: only the next ones can be put in order.
            (self.is_passing, self.calm) = (false, 0);
            self.is_reported.get_or_insert(false);
        }
    }
}

impl<P: Forked> Packets for InOrder<P> {
    #[inline]
    fn advance(&mut self) -> Option<i64> {
        if !self.is_passing {
            return self.next_of_window();
        }
        let time = self.packets.advance()?;
        if time < self.latest {
            self.falls_back();
        }
        self.latest = time;
        Some(time)
    }

    #[inline(always)]
    fn current(&self) -> Event<'_> {
        match &self.current {
            Current::Read => self.packets.current(),
            Current::Waited(packet) => Event::Packet(packet.packet()),
            Current::Notice => Event::Notice(Notice::Unordered {
                path: self.packets.path().to_owned(),
                is_mended: self.is_file,
            }),
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.packets.progress()
    }

    #[inline]
    fn is_awaited(&self) -> bool {
        !self.is_file && self.packets.is_awaited()
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        Some(Box::new(InOrder::new(self.packets.forked()?, self.is_file)))
    }

    fn in_memory(&self) -> Option<CaptureBytes> {
        self.packets.in_memory()
    }

    fn file(&self) -> u32 {
        match &self.current {
            Current::Waited(packet) => packet.file,
            Current::Read | Current::Notice => self.packets.file(),
        }
    }

    fn interface_name(&self) -> Option<&str> {
        match &self.current {
            Current::Waited(packet) => packet.interface_name.as_deref(),
            Current::Read | Current::Notice => self.packets.interface_name(),
        }
    }

    fn comments(&self) -> Vec<String> {
        match &self.current {
            Current::Waited(packet) => packet.comments.clone(),
            Current::Read | Current::Notice => self.packets.comments(),
        }
    }
}
