//! A zstd stream of any number of frames, skippable ones among them.

use std::io::{self, BufRead, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// How much is decoded at a time.
const STEP: usize = 128 << 10;

/// zstd's own default limit for the window of a frame.
/// Limit: memory to decompress a zstd capture | {:bytes}, and half of `--memory` | an error
const WINDOW: u64 = 128 << 20;

/// An empty last block of a frame, and space for the frame's checksum.
const EMPTY_LAST_BLOCK: [u8; 7] = [0x01, 0, 0, 0, 0, 0, 0];

/// Decompresses frame after frame. (ruzstd's own reader silently ends after the first.)
pub(super) struct Zstd<R> {
    source: BufReader<WatchedReader<R>>,
    /// The current frame.
    decoder: Option<FrameDecoder>,
    /// Why decoding failed; returned after all decoded bytes have been read.
    failed: Option<io::Error>,
    /// The largest window that fits in memory.
    window: u64,
}

impl<R: Read> Zstd<R> {
    pub(super) fn new(source: R, window: u64) -> Zstd<R> {
        let source = WatchedReader { source, ended: false, error: None };
        let source = BufReader::with_capacity(64 << 10, source);
        Zstd { source, decoder: None, failed: None, window: window.min(WINDOW) }
    }

    /// Begins the next frame; `false` if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            // A new decoder: an old one allocates a whole window for a frame that only claims it.
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(self.window);
            match decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.decoder = Some(decoder);
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut skipped = (&mut self.source).take(length);
                    if io::copy(&mut skipped, &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                    return Err(io::Error::other(format!(
                        "zstd: it takes {} MiB of memory to unpack, and {} are allowed; unpack it \
                         first, or raise --memory",
                        requested >> 20,
                        max >> 20
                    )));
                }
                Err(_) => return Err(self.why()),
            }
        }
        Ok(false)
    }

    /// The decoder reports an end or failure of the source as various errors of its own.
    fn why(&mut self) -> io::Error {
        let source = self.source.get_mut();
        if let Some(error) = source.error.take() {
            return error;
        }
        if source.ended {
            return io::ErrorKind::UnexpectedEof.into();
        }
        invalid("what it says cannot be unpacked")
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else {
                if let Some(error) = self.failed.take() {
                    return Err(error);
                }
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            };
            let read = decoder.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            if decoder.is_finished() {
                let (stored, is) =
                    (decoder.get_checksum_from_data(), decoder.get_calculated_checksum());
                self.decoder = None;
                if self.failed.is_none() && stored.is_some() && stored != is {
                    return Err(invalid("the checksum does not match"));
                }
                continue;
            }
            let strategy = BlockDecodingStrategy::UptoBytes(STEP);
            if decoder.decode_blocks(&mut self.source, strategy).is_err() {
                // The decoder keeps a window back until its frame ends, so the frame is ended.
                let block = EMPTY_LAST_BLOCK.as_slice();
                if decoder.decode_blocks(block, BlockDecodingStrategy::All).is_err() {
                    self.decoder = None;
                }
                self.failed = Some(self.why());
            }
        }
    }
}

/// Records whether a source has ended or failed.
struct WatchedReader<R> {
    source: R,
    ended: bool,
    error: Option<io::Error>,
}

impl<R: Read> Read for WatchedReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.source.read(out) {
            Ok(read) => {
                self.ended |= read == 0 && !out.is_empty();
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let same = io::Error::new(error.kind(), error.to_string());
                self.error = Some(error);
                Err(same)
            }
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {what}"))
}
