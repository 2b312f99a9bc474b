//! From a name to a capture: what kind of file it is, whether it is compressed, which format it has.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::error::{CaptureError, seems};
use super::input::Input;
use super::mapping::Mapping;
use super::merge::Merge;
use super::pcap::{self, Pcap};
use super::pcapng::{self, PcapNg};
use super::zstd::Zstd;
use super::{Notice, Packets};

/// How many bytes tell what a file is.
const FIRST: usize = 512;

/// Opens a capture; `-` is standard input.
///
/// # Errors
/// The file cannot be opened, is no capture, or is one of a version that cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn Packets + Send>, CaptureError> {
    open_as(path, 0)
}

/// Opens several captures as one, in the order of their packets' times.
///
/// # Errors
/// As [`open`], for the first file that cannot be read.
pub fn open_merged(paths: &[PathBuf]) -> Result<Box<dyn Packets + Send>, CaptureError> {
    let files = paths.iter().zip(0..).map(|(path, file)| open_as(path, file));
    Ok(Box::new(Merge::new(files.collect::<Result<_, _>>()?)))
}

fn open_as(path: &Path, file: u32) -> Result<Box<dyn Packets + Send>, CaptureError> {
    let failed = |error| CaptureError::Open { path: path.to_owned(), error };
    let mut input =
        if path == Path::new("-") { Input::stream(Box::new(io::stdin())) } else { plain(path)? };
    input.fill(FIRST);
    if let Some(error) = input.error() {
        return Err(failed(error));
    }
    let input = match input.unread() {
        [0x1F, 0x8B, ..] => Input::stream(Box::new(MultiGzDecoder::new(input))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
            Input::stream(Box::new(Zstd::new(input)))
        }
        _ => input,
    };
    format(path, file, input)
}

/// A regular file is mapped; anything else is read as a stream.
fn plain(path: &Path) -> Result<Input, CaptureError> {
    let failed = |error| CaptureError::Open { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        let seems = "is a folder: name the files in it";
        return Err(CaptureError::NotACapture { path: path.to_owned(), seems });
    }
    if metadata.is_file() && metadata.len() > 0 {
        if let Ok(mapping) = Mapping::new(&file) {
            return Ok(Input::mapped(mapping));
        }
        file.rewind().map_err(failed)?;
    }
    Ok(Input::stream(Box::new(file) as Box<dyn Read + Send>))
}

fn format(
    path: &Path,
    file: u32,
    mut input: Input,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    input.fill(FIRST);
    let first = input.unread().get(..FIRST.min(input.unread().len())).unwrap_or_default();
    if pcapng::is_pcapng(first) {
        return Ok(Box::new(PcapNg::new(path, file, input)));
    }
    if pcap::is_pcap(first) {
        return match Pcap::new(path, file, input) {
            Ok(pcap) => Ok(Box::new(pcap)),
            Err(what) => Err(CaptureError::Unsupported { path: path.to_owned(), what }),
        };
    }
    let seems = seems(first);
    if let Some(error) = input.error() {
        return Err(CaptureError::Open { path: path.to_owned(), error });
    }
    Err(CaptureError::NotACapture { path: path.to_owned(), seems })
}

/// Why a capture ends where more was expected: a stream that failed says so, else the file is cut.
pub(super) fn end_of(path: &Path, input: &mut Input, offset: u64) -> Notice {
    let path = path.to_owned();
    match input.error() {
        Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Notice::ReadError { path, offset, what: error.to_string() }
        }
        _ => Notice::FileCut { path, offset },
    }
}
