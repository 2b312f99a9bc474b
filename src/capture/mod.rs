//! Where packets come from: pcap and pcapng files, plain or compressed, pipes, and several files
//! merged.
//!
//! Plain files are memory-mapped and walked without copying a packet; pipes and compressed files go
//! through a buffer that grows no further than one record. This module knows records and their
//! times. It refuses to know what a packet's bytes say.

#[cfg(feature = "files")]
mod clock;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
mod input;
#[cfg(feature = "files")]
mod interrupt;
mod link;
#[cfg(feature = "files")]
mod mapping;
#[cfg(feature = "files")]
mod merge;
mod notice;
#[cfg(feature = "files")]
mod open;
#[cfg(feature = "files")]
mod pcap;
#[cfg(feature = "files")]
mod pcapng;
#[cfg(all(test, feature = "files"))]
mod tests;
#[cfg(feature = "files")]
pub mod write;
#[cfg(feature = "files")]
mod zstd;

#[cfg(feature = "files")]
pub use error::CaptureError;
#[cfg(feature = "files")]
pub use interrupt::Stop;
pub use link::LinkType;
#[cfg(feature = "files")]
pub use merge::open_merged;
pub use notice::Notice;
#[cfg(feature = "files")]
pub use open::{open, open_stream, open_stream_within, open_within};

use std::sync::Arc;

/// One packet as it was recorded, borrowed until the next is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was recorded: nanoseconds since 1970.
    pub time: i64,
    /// How its first header reads.
    pub link: LinkType,
    /// Which of its file's interfaces recorded it, counted from 0 through all sections.
    pub interface: u32,
    /// Its length on the wire; more than `data` holds where the snap length cut it, or where it is
    /// longer than the megabyte that is borrowed of one packet at most.
    pub original_length: u32,
    /// The recorded bytes.
    pub data: &'a [u8],
    /// Which of the merged files it is from, counted from 0.
    pub file: u32,
    /// Its number in that file, counted from 1; 0 where it is that in the capture.
    pub number: u64,
    /// Where `data` begins in the capture file, in bytes; in a compressed one, decompressed.
    pub offset: u64,
    /// How many digits of a second the recorder's clock has: 6 or 9.
    pub digits: u8,
}

impl<'a> Packet<'a> {
    /// A packet of Ethernet that was recorded whole, at a time in nanoseconds since 1970; the other fields
    /// can be changed.
    pub fn new(time: i64, data: &'a [u8]) -> Packet<'a> {
        Packet {
            time,
            link: LinkType::ETHERNET,
            interface: 0,
            original_length: u32::try_from(data.len()).unwrap_or(u32::MAX),
            data,
            file: 0,
            number: 0,
            offset: 0,
            digits: 9,
        }
    }
}

/// What a capture yields, borrowed until the next is asked for.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something about the recording itself.
    Notice(Notice),
}

/// A capture's bytes.
pub type Memory = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A capture that is being read. It ends; it never fails half-way: what is wrong is a [`Notice`].
pub trait Packets {
    /// Goes on to the next event and says its time. `None`: the capture is over.
    fn advance(&mut self) -> Option<i64>;
    /// The event that `advance` went to.
    fn current(&self) -> Event<'_>;
    /// Bytes read so far and bytes in all, where that is known.
    fn progress(&self) -> Option<(u64, u64)>;
    /// Another reader of the same capture, that begins where this one is before its first event;
    /// `None` where its bytes come only once.
    fn fork(&self) -> Option<Box<dyn Packets + Send>>;

    /// The bytes that packets are borrowed from, where all of the capture is in memory and stays there. A
    /// file that becomes shorter meanwhile ends in zeros.
    fn in_memory(&self) -> Option<Memory> {
        None
    }

    /// Which of merged files the current event is from, counted from 0.
    fn file(&self) -> u32 {
        0
    }

    /// The name of the current packet's interface, if the file has one.
    fn interface_name(&self) -> Option<&str> {
        None
    }

    /// The comments on the current packet.
    fn comments(&self) -> Vec<String> {
        Vec::new()
    }

    /// The next event.
    #[inline]
    fn next(&mut self) -> Option<Event<'_>> {
        self.advance()?;
        Some(self.current())
    }
}

/// At most so much of one packet is borrowed, and buffered: far more than any IP packet has.
#[cfg(feature = "files")]
const BORROWED: usize = 1 << 20;
