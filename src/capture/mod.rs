//! Reads packets from pcap and pcapng files, plain or compressed, from pipes, and from several
//! files merged.
//!
//! Plain files are memory-mapped and read without copying; pipes and compressed files use a buffer
//! of at most one record. This module handles records and times, not the contents of packets.

#[cfg(feature = "captures")]
mod clock;
#[cfg(feature = "captures")]
mod error;
#[cfg(feature = "captures")]
mod in_order;
#[cfg(feature = "captures")]
mod input;
#[cfg(all(feature = "files", unix))]
mod interrupt;
#[cfg(all(feature = "files", not(unix)))]
#[path = "interrupt_windows.rs"]
mod interrupt;
#[cfg(all(feature = "files", feature = "commands", unix))]
mod kept;
mod link;
#[cfg(feature = "files")]
mod mapping;
#[cfg(feature = "captures")]
mod merge;
mod notice;
#[cfg(feature = "captures")]
mod open;
#[cfg(feature = "captures")]
mod pcap;
#[cfg(feature = "captures")]
mod pcapng;
#[cfg(feature = "files")]
mod place;
mod stop;
#[cfg(all(test, feature = "files"))]
mod tests;
#[cfg(feature = "captures")]
#[doc(hidden)]
pub mod write;
#[cfg(feature = "captures")]
mod zstd;

// Without files, captures are in memory, and nothing interrupts their reading.
#[cfg(all(feature = "captures", not(feature = "files")))]
#[path = "../browser/interrupt.rs"]
mod interrupt;
#[cfg(all(feature = "captures", not(feature = "files")))]
#[path = "../browser/mapping.rs"]
mod mapping;
#[cfg(all(feature = "captures", not(feature = "files")))]
#[path = "../browser/place.rs"]
mod place;

#[cfg(feature = "captures")]
pub use error::CaptureError;
#[cfg(feature = "files")]
pub(crate) use interrupt::Interrupt;
#[cfg(any(feature = "commands", feature = "live"))]
pub(crate) use interrupt::was_interrupted;
#[cfg(all(feature = "files", feature = "commands", unix))]
pub(crate) use kept::KeptPipe;
pub use link::LinkType;
#[cfg(feature = "captures")]
pub use merge::open_merged;
pub use notice::Notice;
#[cfg(feature = "files")]
pub(crate) use open::MAGIC;
#[cfg(any(feature = "commands", feature = "files"))]
pub(crate) use open::begins_one;
#[cfg(feature = "captures")]
pub use open::{open, open_stream, open_stream_within, open_within};
#[cfg(feature = "commands")]
pub(crate) use place::is_read_once;
#[cfg(all(feature = "files", feature = "commands", unix))]
pub(crate) use place::pipe;
#[cfg(feature = "files")]
pub use place::standard_input;
pub use stop::Stop;

use std::sync::Arc;

/// One recorded packet, borrowed until the next one is read.
///
/// ```
/// use gamewire::capture::{LinkType, Packet};
///
/// let bytes = [0x45, 0, 0, 20];
/// let time = 1_767_225_600_000_000_000; // nanoseconds since 1970
/// let packet = Packet { link: LinkType::RAW, original_length: 20, ..Packet::new(time, &bytes) };
/// assert_eq!((packet.data.len(), packet.original_length), (4, 20));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was recorded: nanoseconds since 1970.
    pub time: i64,
    /// The type of its first header.
    pub link: LinkType,
    /// The interface that recorded it, counted from 0 through all sections of its file.
    pub interface: u32,
    /// Its length on the wire; more than `data` has if the snap length cut it, or if it is longer
    /// than the maximum of one megabyte.
    pub original_length: u32,
    /// The recorded bytes.
    pub data: &'a [u8],
    /// Which of the merged files it is from, counted from 0.
    pub file: u32,
    /// Its number in that file, counted from 1; 0 if it is the same as in the capture.
    pub number: u64,
    /// The offset of `data` in the capture file, in bytes; in a compressed one, after
    /// decompression.
    pub offset: u64,
    /// Number of digits of a second in the recorder's clock: 6 or 9.
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

    /// Its number in the capture, if the packet before has this one: those between them are not kept.
    #[cfg(feature = "commands")]
    pub(crate) fn frame_after(&self, before: u64) -> u64 {
        before.saturating_add(1).max(self.number)
    }
}

/// One event of a capture, borrowed until the next is requested.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// Something about the recording itself.
    Notice(Notice),
}

/// A capture's bytes.
pub type CaptureBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A capture that is being read. Reading never fails in the middle: faults are reported as a
/// [`Notice`], and the capture ends.
///
/// ```
/// use gamewire::capture::{self, Event};
///
/// let mut packets = capture::open("samples/a2s-info-players-rules.pcap".as_ref())?;
/// let mut bytes = 0;
/// while let Some(event) = packets.next() {
///     match event {
///         Event::Packet(packet) => bytes += packet.data.len(),
///         Event::Notice(notice) => println!("{notice}"),
///     }
/// }
/// assert!(bytes > 500);
/// # Ok::<(), capture::CaptureError>(())
/// ```
pub trait Packets {
    /// Moves to the next event and returns its time. `None` at the end.
    fn advance(&mut self) -> Option<i64>;
    /// The current event.
    fn current(&self) -> Event<'_>;
    /// Bytes read so far and total bytes, if known.
    fn progress(&self) -> Option<(u64, u64)>;
    /// A second reader of the same capture from the same position, before the first event; `None`
    /// if its bytes can be read only once.
    fn fork(&self) -> Option<Box<dyn Packets + Send>>;

    /// The bytes of the capture, if all of it is in memory and stays there. A file that becomes
    /// shorter meanwhile ends in zeros.
    fn in_memory(&self) -> Option<CaptureBytes> {
        None
    }

    /// The file of the current event among merged files, counted from 0.
    fn file(&self) -> u32 {
        0
    }

    /// Whether the next event of a pipe has not come, and nothing comes for a quarter of a second.
    fn is_awaited(&self) -> bool {
        false
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

/// Maximum length of a packet that is borrowed and buffered: far more than any IP packet has.
#[cfg(feature = "captures")]
const BORROWED: usize = 1 << 20;
