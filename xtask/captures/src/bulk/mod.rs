//! Captures of millions of packets for measurements. They are written while they are generated, so they may
//! be larger than memory.
//!
//! ```
//! use captures::bulk::{self, Input, Size};
//!
//! let mut file = Vec::new();
//! let written = bulk::write(Input::A2s, Size::Packets(100), &mut file)?;
//! assert_eq!((written.packets, written.bytes), (100, file.len() as u64));
//! # Ok::<_, std::io::Error>(())
//! ```
//!
//! Their messages conform to the protocols' specifications, apart from packet loss.

mod a2s;
mod corners;
mod flood;
mod games;
mod others;
mod stage;
mod streams;
mod words;

use std::io::{self, Write};

use crate::bytes::Bytes;
use crate::wire::{ByteOrder, Link, PcapFormat, Precision, START, TimedPacket, pcap};
use stage::Stage;

/// The content of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Clients request info, players and rules from game servers.
    A2s,
    /// One packet of twenty is of a game protocol over UDP. The others are downloads, pages, QUIC and DNS.
    Mixed,
    /// Clients fetch lists from masters, over TCP and HTTP.
    Tcp,
    /// Rules responses in IP fragments.
    Fragments,
    /// One A2S server and three million forged sources.
    ManyFlows,
    /// All fragments are of one datagram, which is never complete.
    OneDatagram,
    /// All segments are of one connection, have one byte, and are out of order.
    OneByteSegments,
    /// Connection attempts without a response.
    HalfOpen,
}

impl Input {
    /// The default inputs of measurements.
    pub const LARGE: [Input; 5] =
        [Input::A2s, Input::Mixed, Input::Tcp, Input::Fragments, Input::ManyFlows];

    /// Inputs that reveal algorithms of quadratic complexity.
    pub const CORNERS: [Input; 3] = [Input::OneDatagram, Input::OneByteSegments, Input::HalfOpen];

    /// Its name, and that of its file without the extension.
    pub const fn name(self) -> &'static str {
        match self {
            Input::A2s => "a2s",
            Input::Mixed => "mixed",
            Input::Tcp => "tcp",
            Input::Fragments => "frag",
            Input::ManyFlows => "manyflows",
            Input::OneDatagram => "one-datagram",
            Input::OneByteSegments => "one-byte-segments",
            Input::HalfOpen => "half-open",
        }
    }

    /// Its default number of packets.
    pub const fn packets(self) -> u64 {
        match self {
            Input::A2s => 2_000_000,
            Input::Mixed => 1_200_000,
            Input::Tcp | Input::Fragments | Input::OneByteSegments => 1_000_000,
            Input::ManyFlows => 5_000_000,
            Input::OneDatagram => 100_000,
            Input::HalfOpen => 3_000_000,
        }
    }

    /// Its content in one line.
    pub const fn holds(self) -> &'static str {
        match self {
            Input::A2s => "A2S; a fifth of the flows with split responses, one in twenty bzip2",
            Input::Mixed => "5 % game traffic, else bulk TCP, HTTP, QUIC- and DNS-like UDP",
            Input::Tcp => "GameSpy lists and HTTP master connections, reordered, repeated, lossy",
            Input::Fragments => "A2S rules responses as IP fragments",
            Input::ManyFlows => {
                "three of five packets from a new, spoofed source, to one A2S server"
            }
            Input::OneDatagram => "fragments of one datagram that is never complete",
            Input::OneByteSegments => "out-of-order segments of one byte, all of one connection",
            Input::HalfOpen => "connections with only a SYN",
        }
    }
}

/// The size of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This number of packets.
    Packets(u64),
    /// At most this file size.
    Bytes(u64),
}

/// The size of the written capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Packets.
    pub packets: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes a capture as a pcap file: little-endian, microseconds, Ethernet. The same arguments give
/// the same bytes. `to` should be buffered.
///
/// # Errors
/// If it cannot be written.
pub fn write(input: Input, size: Size, to: &mut dyn Write) -> io::Result<Written> {
    let mut file = File::begin(size, to)?;
    let mut stage = Stage::new(0x6761_6D65_7769_7265);
    let mut next = conversations(input, size, &mut stage);
    let mut time = 0;
    loop {
        time += next(&mut stage, time);
        while let Some((at, frame)) = stage.next_until(time) {
            if !file.record(at, frame)? {
                return Ok(file.written);
            }
        }
    }
}

/// Starts a conversation at a time; returns the delay until the next one.
type Next = Box<dyn FnMut(&mut Stage, u64) -> u64>;

fn conversations(input: Input, size: Size, stage: &mut Stage) -> Next {
    let packets = match size {
        Size::Packets(packets) => packets,
        Size::Bytes(_) => input.packets(),
    };
    match input {
        Input::A2s => {
            let responses = a2s::Responses::new(&mut stage.prng);
            Box::new(move |stage, time| {
                responses.converse(stage, time);
                stage.prng.between(10, 300)
            })
        }
        Input::Mixed => mixed(stage),
        Input::Tcp => Box::new(|stage, time| {
            streams::fetch(stage, time);
            stage.prng.between(50, 1000)
        }),
        Input::Fragments => {
            let responses = a2s::Responses::new(&mut stage.prng);
            Box::new(move |stage, time| {
                responses.converse_in_fragments(stage, time);
                stage.prng.between(10, 300)
            })
        }
        Input::ManyFlows => {
            let mut flood = flood::Flood::new(packets / 5 * 3, stage);
            Box::new(move |stage, time| {
                flood.go_on(stage, time);
                stage.prng.below(4)
            })
        }
        Input::OneDatagram => counted(corners::fragment),
        Input::OneByteSegments => counted(move |stage, time, number| {
            corners::one_byte_segment(stage, time, number, packets);
        }),
        Input::HalfOpen => counted(corners::half_open),
    }
}

/// Calls `make` for each number, two microseconds apart.
fn counted(mut make: impl FnMut(&mut Stage, u64, u64) + 'static) -> Next {
    let mut number = 0;
    Box::new(move |stage, time| {
        make(stage, time, number);
        number += 1;
        2
    })
}

/// One packet of twenty is of a game protocol.
fn mixed(stage: &mut Stage) -> Next {
    let games = games::Responses::new(&mut stage.prng);
    let web = others::Web::new(&mut stage.prng);
    let (mut of_games, mut of_others) = (0, 0);
    Box::new(move |stage, time| {
        let before = stage.sent();
        if of_games * 19 < of_others {
            games.converse(stage, time);
            of_games += stage.sent() - before;
            return stage.prng.between(10, 200);
        }
        web.converse(stage, time);
        of_others += stage.sent() - before;
        stage.prng.between(10, 400)
    })
}

/// Little-endian, microseconds.
const FORMAT: PcapFormat = PcapFormat { order: ByteOrder::Little, precision: Precision::Micro };

/// The longest packet that the files announce.
const SNAP_LENGTH: u32 = 65_535;

/// A pcap file that is being written.
struct File<'a> {
    to: &'a mut dyn Write,
    size: Size,
    written: Written,
}

impl<'a> File<'a> {
    fn begin(size: Size, to: &'a mut dyn Write) -> io::Result<Self> {
        let header = pcap::header(FORMAT, Link::Ethernet, SNAP_LENGTH).done();
        to.write_all(&header)?;
        Ok(Self { to, size, written: Written { packets: 0, bytes: header.len() as u64 } })
    }

    /// Writes a packet, unless the size is reached. Returns whether it was written.
    fn record(&mut self, time: u64, frame: Vec<u8>) -> io::Result<bool> {
        let bytes = self.written.bytes + 16 + frame.len() as u64;
        let is_full = match self.size {
            Size::Packets(packets) => self.written.packets >= packets,
            Size::Bytes(most) => bytes > most,
        };
        if is_full {
            return Ok(false);
        }
        let packet = TimedPacket::new(START.after(time * 1000), frame);
        self.to.write_all(&pcap::record(Bytes::new(), FORMAT, &packet).done())?;
        self.written = Written { packets: self.written.packets + 1, bytes };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(input: Input, size: Size) -> Vec<u8> {
        let mut file = Vec::new();
        let written = write(input, size, &mut file).unwrap();
        assert_eq!(written.bytes, file.len() as u64);
        file
    }

    #[test]
    fn output_is_reproducible_and_smaller_sizes_are_prefixes() {
        for input in [Input::A2s, Input::Mixed, Input::OneByteSegments] {
            let few = made(input, Size::Packets(200));
            assert_eq!(few, made(input, Size::Packets(200)), "{input:?}");
        }
        let (few, more) = (Size::Packets(200), Size::Packets(300));
        let (few, more) = (made(Input::Tcp, few), made(Input::Tcp, more));
        assert_eq!(few, more[..few.len()]);
    }

    #[test]
    fn a_file_is_as_large_as_requested() {
        let file = made(Input::Fragments, Size::Bytes(100_000));
        assert!((98_000..=100_000).contains(&file.len()), "{} bytes", file.len());
    }

    #[test]
    fn bytes_of_the_corners_are_out_of_order_and_unique() {
        let mut stage = Stage::new(1);
        for number in 0..1000 {
            corners::one_byte_segment(&mut stage, number, number, 1000);
        }
        let mut sequences = Vec::new();
        while let Some((_, frame)) = stage.next_until(u64::MAX) {
            sequences.push(u32::from_be_bytes(*frame[38..].first_chunk().unwrap()));
        }
        let bytes = &sequences[4..];
        assert!(bytes.windows(2).all(|pair| pair[0].wrapping_add(1) != pair[1]));
        let mut sorted = bytes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 996);
    }

    #[test]
    fn sources_of_a_flood_differ() {
        let sources: std::collections::HashSet<_> = (0..10_000).map(flood::source).collect();
        assert_eq!(sources.len(), 10_000);
    }
}
