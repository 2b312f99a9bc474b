//! TCP reassembly: segments in the order of the capture go in, the bytes of each direction come out
//! in the order of the stream.
//!
//! This module knows sequence numbers, flags and payloads. It knows nothing of addresses (a table
//! above maps them to a [`Connection`]), of protocols (a [`StreamReader`] decides where a message ends)
//! or of rules: it reports anomalies as [`StreamEvent`]s, which callers check.
//!
//! # How bytes are passed on
//!
//! [`Connection::segment`] calls the reader with a [`Run`]: all unread bytes of one direction, in
//! order and without a gap. The reader returns how many it has consumed, and is called again while
//! it consumes some and some are left; the rest is kept and passed again in front of later bytes, so
//! readers store nothing. While no bytes are waiting, a run borrows the segment's own payload; bytes
//! are copied only when they must wait for others.
//!
//! ```
//! use dissectors::kit::Side;
//! use gamewire::capture::LinkType;
//! use gamewire::net::tcp::{ArrivingSegment, Connection, Next, Run};
//! use gamewire::net::tcp::{StreamBudget, StreamEvent, StreamLimits, StreamReader};
//! use gamewire::net::{FrameRef, Outcome, decode};
//!
//! /// A segment over IPv4.
//! fn packet(sequence: u32, payload: &[u8]) -> Vec<u8> {
//!     let length = 40 + payload.len() as u8;
//!     let ip = [0x45, 0, 0, length, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//!     let [a, b, c, d] = sequence.to_be_bytes();
//!     let tcp = [4, 0, 0, 80, a, b, c, d, 0, 0, 0, 0, 0x50, 0, 0, 1, 0, 0, 0, 0];
//!     [&ip, &tcp, payload].concat()
//! }
//!
//! /// Messages that begin with their length in one byte.
//! #[derive(Default)]
//! struct Messages(Vec<Vec<u8>>);
//!
//! impl StreamReader for Messages {
//!     fn read(&mut self, _side: Side, run: &Run<'_>) -> Next {
//!         let Some((&len, rest)) = run.bytes().split_first() else {
//!             return Next::Consumed(0);
//!         };
//!         let Some(message) = rest.get(..usize::from(len)) else {
//!             return Next::Consumed(0); // wait for more
//!         };
//!         self.0.push(message.to_vec());
//!         Next::Consumed(1 + message.len())
//!     }
//!
//!     fn event(&mut self, event: StreamEvent) {
//!         panic!("this capture is whole: {event:?}");
//!     }
//! }
//!
//! let mut budget = StreamBudget::new(StreamLimits::default());
//! let mut reader = Messages::default();
//! let mut connection = Connection::default();
//! for (frame, sequence, payload) in [(1, 1000, b"\x02hi\x03o".as_slice()), (2, 1005, b"ne")] {
//!     let packet = packet(sequence, payload);
//!     let Outcome::Tcp(segment) = decode(LinkType::RAW, &packet, packet.len() as u32) else {
//!         panic!("it is a segment");
//!     };
//!     let at = FrameRef { frame, time: 0 };
//!     let arrival = ArrivingSegment { segment: &segment, at, pieces: &[] };
//!     connection.segment(Side::First, &arrival, &mut budget, &mut reader);
//! }
//! connection.finish(&mut budget, &mut reader);
//! assert_eq!(reader.0, [b"hi".to_vec(), b"one".to_vec()]);
//! assert_eq!(budget.used(), 0);
//! ```
//!
//! # In which order
//!
//! A direction's bytes are shown as soon as they have come, but for those that acknowledge bytes of
//! the other direction which were not shown: they wait after those that do not. Where they come
//! first, the reader sees that ([`Run::answers_unshown`]) and may leave them for
//! [later](Next::Later), until it has had the others. [`Connection::read_again`] shows them then.
//!
//! # What is decided here
//!
//! - **First copy wins.** A repeat that carries other bytes is reported ([`StreamEventKind::OverlapDiffers`]).
//!   It is compared with all bytes that wait (unread or out of order) and with the last 2 KiB that
//!   were used up in that direction (less if they came in more than 64 segments). What cannot be compared: bytes used up earlier, bytes
//!   before a hole that was given up, bytes dropped at a limit, anything after both directions have
//!   ended, used-up bytes while more than half of the whole budget is taken, and a single byte right
//!   before the next one expected, which is how a keep-alive looks. [`StreamCounts::uncompared`] has the
//!   number.
//! - **Holes** are waited for until the other side has acknowledged the missing bytes (it has them,
//!   the capture does not), the direction has come as far as it is acknowledged, and
//!   [`StreamLimits::patience`] further segments did not bring them; until a memory limit is hit; until
//!   the connection ends; or for three seconds of capture time, if more is acknowledged than was
//!   seen, or if the capture has never shown the other side. Bytes that the snap length cut off are
//!   not waited for. What comes after a hole is handed on with [`Run::missing_before`] set. A lost
//!   FIN looks like a hole of one byte at the end.
//! - **Acknowledgments ahead of what they acknowledge**, as in a capture of each direction by itself
//!   whose clocks differ, change nothing while the bytes follow within three seconds. One beyond all
//!   that was seen holds until one that was sent later says less.
//! - **A capture that begins in the middle**: the first segment with data sets the position. One up
//!   to 64 KiB before it that comes later is taken while the reader has used nothing.
//! - **A SYN** after the end begins a new connection on the same ports. In an open connection, one with another
//!   initial number does so, too, once the other side acknowledges it, or its sender goes on from there: the end of the old
//!   connection was not recorded, which is ended first. Otherwise somebody else has sent it, and it is ignored.
//! - **Far away**: a segment more than 1 GiB off what is expected is counted and ignored, and so is
//!   a RST outside of the receiver's window; where that is unknown, one that is not within 1 MiB ahead.

mod budget;
mod buffered;
mod connection;
mod out_of_order;
mod run;
mod stream;
#[cfg(test)]
mod tests;
mod window;

pub use budget::{StreamBudget, StreamCounts, StreamLimits};
pub use connection::Connection;
pub use run::Run;

use dissectors::kit::{Piece, Side};

use super::packet::{FrameRef, Segment};

/// A segment, and its packets.
#[derive(Clone, Copy, Debug)]
pub struct ArrivingSegment<'p> {
    /// Its contents.
    pub segment: &'p Segment<'p>,
    /// Its packet; of several, the first.
    pub at: FrameRef,
    /// Where its payload was recorded, each byte once, in order; empty: in its packet, at the
    /// payload's offset.
    pub pieces: &'p [Piece],
}

/// The code above a connection, which finds the messages in the bytes.
///
/// Both methods are called in the order of the events.
pub trait StreamReader {
    /// Consumes bytes from the front of a run.
    ///
    /// Called for every new unread byte, again while bytes were consumed and some are left, and
    /// once for every [`StreamEnd`], possibly without bytes.
    fn read(&mut self, side: Side, run: &Run<'_>) -> Next;

    /// Reports an event. A [`StreamEventKind::Gap`] comes before the bytes after it.
    fn event(&mut self, event: StreamEvent);
}

/// The result of reading a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This many bytes from the front were consumed (more than there are means all); the rest is
    /// kept.
    Consumed(usize),
    /// The other direction must be read first: keeps the bytes, and a FIN after them, as unread
    /// until [`read_again`](Connection::read_again). Before a gap or a limit nothing is kept; at
    /// the end of the connection, they are passed once more after the other direction's.
    Later,
    /// The connection is not needed: nothing is kept, and there are no more calls until the ports
    /// are reused.
    Ignore,
}

/// Why no bytes will be added to a run. The bytes that the reader leaves are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The sender closed its direction.
    Fin,
    /// One side reset the connection: its direction ends first.
    Reset,
    /// The following bytes are missing from the capture; the next run begins after them.
    Gap,
    /// A memory limit prevents further buffering; the next run begins after these bytes.
    Limit,
    /// The capture ended, the caller dropped the connection, or its ports were reused.
    Abandoned,
}

/// An event that is not bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// The direction concerned.
    pub side: Side,
    /// The frame; see [`StreamEventKind`] for which one it is.
    pub frame: u64,
    /// Its capture time in nanoseconds.
    pub time: i64,
    /// What it is.
    pub kind: StreamEventKind,
}

/// The kind of a [`StreamEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEventKind {
    /// Bytes are missing from the capture. The frame is that of the first byte after them or, if
    /// there is none, the one whose acknowledgment, FIN, RST or announced length shows it.
    Gap {
        /// The sequence number of the first missing byte.
        sequence: u32,
        /// How many bytes are missing.
        missing: u64,
        /// Why waiting for them ended.
        cause: GapCause,
    },
    /// A repeat has other bytes than the first copy, which was kept. The frame is the repeat's.
    OverlapDiffers {
        /// The sequence number of the first byte that differs.
        sequence: u32,
        /// The frame of the first copy.
        original: u64,
    },
    /// A limit was reached. The frame is that of the bytes that did not fit.
    Limit {
        /// Which one.
        limit: StreamLimit,
        /// How many unread bytes were dropped; the reader saw them last with [`StreamEnd::Limit`].
        /// None if a gap was skipped instead: an event for that follows.
        dropped: u64,
    },
    /// The ports are reused: later bytes belong to another connection. The
    /// frame is the SYN's.
    NewConnection,
}

/// Why waiting for missing bytes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapCause {
    /// The other side acknowledged them.
    Acknowledged,
    /// The other side is not in the capture, and they did not arrive in time.
    Late,
    /// A [`StreamLimit`] was reached.
    Limit,
    /// The snap length cut them off.
    Snapped,
    /// The connection or the capture ended, or the caller skipped them.
    End,
}

/// Which of the [`StreamLimits`] was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLimit {
    /// [`StreamLimits::stream`].
    Stream,
    /// [`StreamLimits::ranges`].
    Ranges,
    /// [`StreamLimits::total`].
    Total,
}
