//! Opens a capture: determines the compression and the format.
//!
//! A pipe is only read as far as needed for this, because its first packets may be seconds away.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::{CaptureError, seems, unopened};
use super::in_order::InOrder;
use super::input::{Input, ReadMemory};
use super::pcap::{self, Pcap, PcapError};
use super::pcapng::{self, PcapNg};
use super::zstd::Zstd;
use super::{Packets, place};

/// Bytes that identify a capture, compressed or not.
pub(crate) const MAGIC: usize = 12;

/// Bytes that are read to identify a file that is not a capture: a few records of a format without
/// a magic number.
const FIRST: usize = 32 << 10;

/// Opens a capture; `-` is standard input.
///
/// # Errors
/// The file cannot be opened, is not a capture, or has an unsupported version.
pub fn open(path: &Path) -> Result<Box<dyn Packets + Send>, CaptureError> {
    open_within(path, usize::MAX)
}

/// Opens a capture with this memory limit for decompression.
///
/// # Errors
/// As [`open`], and if it needs more memory.
pub fn open_within(path: &Path, memory: usize) -> Result<Box<dyn Packets + Send>, CaptureError> {
    open_as(path, 0, ReadMemory::of_one(memory))
}

/// Reads a capture from any reader; notices and errors name it `name`.
///
/// # Errors
/// As [`open`].
pub fn open_stream(
    name: &Path,
    reader: Box<dyn Read + Send>,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    open_stream_within(name, reader, usize::MAX)
}

/// Reads a capture from any reader, with this memory limit for decompression.
///
/// # Errors
/// As [`open_within`].
pub fn open_stream_within(
    name: &Path,
    reader: Box<dyn Read + Send>,
    memory: usize,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    recognized(name, 0, Input::stream(reader), ReadMemory::of_one(memory))
}

pub(super) fn open_as(
    path: &Path,
    file: u32,
    room: ReadMemory,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    recognized(path, file, place::input(path)?, room)
}

/// Decompresses if necessary, and finds the reader of the format.
pub(super) fn recognized(
    path: &Path,
    file: u32,
    input: Input,
    room: ReadMemory,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    let mut input = input.within(room);
    input.fill(MAGIC);
    if let Some(error) = input.error() {
        return Err(unopened(path, error));
    }
    let is_file = input.is_file();
    let input = match Compression::of(input.unread()) {
        Some(Compression::Gzip) => Input::unpacked(Box::new(MultiGzDecoder::new(input))),
        Some(Compression::Zstd) => {
            Input::unpacked(Box::new(Zstd::new(input, room.unpacking as u64)))
        }
        None => input,
    };
    format(path, file, input.within(room), is_file)
}

/// How a capture is compressed.
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// What a file with these first bytes is compressed with.
    fn of(first: &[u8]) -> Option<Compression> {
        match first {
            [0x1F, 0x8B, ..] => Some(Compression::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                Some(Compression::Zstd)
            }
            _ => None,
        }
    }
}

/// Whether a file with these first [`MAGIC`] bytes can be a capture. What is compressed is taken for one.
pub(crate) fn begins_one(first: &[u8]) -> bool {
    pcapng::is_pcapng(first) || pcap::is_pcap(first) || Compression::of(first).is_some()
}

fn format(
    path: &Path,
    file: u32,
    mut input: Input,
    is_file: bool,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    input.fill(MAGIC);
    if pcapng::is_pcapng(input.unread()) {
        return Ok(Box::new(InOrder::new(PcapNg::new(path, file, input), is_file)));
    }
    let path = path.to_owned();
    if pcap::is_pcap(input.unread()) {
        return match Pcap::new(&path, file, input) {
            Ok(pcap) => Ok(Box::new(InOrder::new(pcap, is_file))),
            Err(PcapError::Cut) => {
                let seems = "ends inside the header of a pcap file";
                Err(CaptureError::NotACapture { path, seems })
            }
            Err(PcapError::Version(major, minor)) => {
                let what = format!("pcap version {major}.{minor} is not known");
                Err(CaptureError::Unsupported { path, what })
            }
        };
    }
    input.fill(FIRST);
    let first = input.unread().get(..FIRST).unwrap_or(input.unread());
    let seems = seems(first);
    match input.error() {
        Some(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let seems = "is compressed, and cut before a capture begins";
            Err(CaptureError::NotACapture { path, seems })
        }
        Some(error) => Err(CaptureError::Open { path, error }),
        None => Err(CaptureError::NotACapture { path, seems }),
    }
}
