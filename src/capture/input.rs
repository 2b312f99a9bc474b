//! Reads bytes from front to back, from a mapped file or from a stream.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::error::unreadable;
use super::mapping::{self, Mapping, STRETCH};
use super::{CaptureBytes, Notice};

/// Bytes per read from a stream, if there is enough memory.
const CHUNK: usize = 64 << 10;

/// Minimum bytes per read.
const LEAST_CHUNK: usize = 4 << 10;

/// Memory limits for reading a capture, in bytes.
#[derive(Clone, Copy)]
pub(super) struct ReadMemory {
    /// For decompression.
    pub(super) unpacking: usize,
    /// For one read from a stream.
    chunk: usize,
}

impl ReadMemory {
    /// For a single capture.
    pub(super) fn of_one(memory: usize) -> ReadMemory {
        ReadMemory { unpacking: memory, chunk: CHUNK }
    }

    /// For one of several: half of the memory for the reads of all, the rest for decompression.
    pub(super) fn of_several(captures: usize, memory: usize) -> ReadMemory {
        let chunk = (memory / 2 / captures.max(1)).clamp(LEAST_CHUNK, CHUNK);
        ReadMemory { unpacking: memory / 2, chunk }
    }

    /// With this many decompressed already: all together stay within the limit.
    pub(super) fn beside(self, unpacked: usize) -> ReadMemory {
        ReadMemory { unpacking: self.unpacking / (unpacked + 1).pow(2), ..self }
    }
}

/// How far ahead of a mapped packet memory is prefetched. Reading a large file is dominated by
/// cache misses; this makes reading large packets from the page cache 7 % faster.
const AHEAD: usize = 2 << 10;

/// Size of a cache line.
const LINE: usize = 64;

/// The unread bytes of a capture.
pub(super) enum Input {
    Mapped(Mapped),
    Stream(StreamInput),
}

pub(super) struct Mapped {
    mapping: Arc<Mapping>,
    /// Bytes consumed so far.
    at: usize,
    /// The index of this reader of the mapping.
    reader: u8,
    /// The number of stretches of the mapping that it has entered.
    entered: usize,
}

impl Mapped {
    /// Number of unread bytes.
    #[inline]
    fn left(&self) -> usize {
        self.mapping.bytes().len() - self.at
    }

    #[inline]
    fn unread(&self) -> &[u8] {
        self.mapping.bytes().get(self.at..).unwrap_or_default()
    }

    /// Skips `count` unread bytes.
    #[inline]
    fn advance(&mut self, count: usize) {
        self.at += count;
        while self.entered <= self.at / STRETCH {
            self.mapping.enter(self.entered, self.reader);
            self.entered += 1;
        }
    }
}

pub(super) struct StreamInput {
    /// Bytes consumed so far.
    position: u64,
    /// The total number, if known.
    length: Option<u64>,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// Bytes per read.
    chunk: usize,
    start: usize,
    end: usize,
    ended: bool,
    error: Option<io::Error>,
    /// The reader decompresses.
    unpacks: bool,
    /// Whether nothing comes for a while, if that is known.
    is_silent: Option<IsSilent>,
}

/// Tells whether nothing comes for a while.
type IsSilent = Box<dyn Fn() -> bool + Send>;

impl Input {
    pub(super) fn mapped(mapping: Mapping) -> Input {
        let mapping = Arc::new(mapping);
        Input::Mapped(Mapped { mapping, at: 0, reader: 0, entered: 0 })
    }

    pub(super) fn stream(reader: Box<dyn Read + Send>) -> Input {
        Input::of_stream(reader, None, false)
    }

    /// A file that is not mapped, with its length.
    #[cfg(feature = "files")]
    pub(super) fn file(reader: Box<dyn Read + Send>, length: u64) -> Input {
        Input::of_stream(reader, Some(length), false)
    }

    /// The decompressed bytes of a compressed capture.
    pub(super) fn unpacked(reader: Box<dyn Read + Send>) -> Input {
        Input::of_stream(reader, None, true)
    }

    fn of_stream(reader: Box<dyn Read + Send>, length: Option<u64>, unpacks: bool) -> Input {
        let (buffer, start, end, ended, error) = (Vec::new(), 0, 0, false, None);
        let position = 0;
        Input::Stream(StreamInput {
            position,
            length,
            reader,
            buffer,
            chunk: CHUNK,
            start,
            end,
            ended,
            error,
            unpacks,
            is_silent: None,
        })
    }

    /// This input, of a pipe that reports when nothing comes for a while.
    #[cfg(feature = "files")]
    pub(super) fn silent_if(mut self, is_silent: impl Fn() -> bool + Send + 'static) -> Input {
        if let Input::Stream(stream) = &mut self {
            stream.is_silent = Some(Box::new(is_silent));
        }
        self
    }

    /// Whether nothing comes for a while, so that reading waits.
    pub(super) fn is_silent(&self) -> bool {
        match self {
            Input::Mapped(_) => false,
            Input::Stream(stream) => {
                !stream.ended && stream.is_silent.as_ref().is_some_and(|is_silent| is_silent())
            }
        }
    }

    /// This input, with reads limited by the room.
    pub(super) fn within(mut self, room: ReadMemory) -> Input {
        if let Input::Stream(stream) = &mut self {
            stream.chunk = room.chunk;
        }
        self
    }

    /// A second reader of the same bytes from the current position; `None` for a stream.
    pub(super) fn fork(&self) -> Option<Input> {
        let Input::Mapped(mapped) = self else { return None };
        let reader = mapped.mapping.add_reader();
        Some(Input::Mapped(Mapped { mapping: Arc::clone(&mapped.mapping), reader, ..*mapped }))
    }

    /// Whether it is a file, all of which is there.
    pub(super) fn is_file(&self) -> bool {
        match self {
            Input::Mapped(_) => true,
            Input::Stream(stream) => stream.length.is_some(),
        }
    }

    /// All bytes, if they are in memory.
    pub(super) fn in_memory(&self) -> Option<CaptureBytes> {
        match self {
            Input::Mapped(mapped) => Some(Arc::clone(&mapped.mapping) as CaptureBytes),
            Input::Stream(_) => None,
        }
    }

    /// Makes `count` unread bytes available, or all that exist. Returns how many are.
    #[inline]
    pub(super) fn fill(&mut self, count: usize) -> usize {
        match self {
            Input::Mapped(mapped) => mapped.left(),
            Input::Stream(stream) => {
                if stream.end - stream.start < count {
                    stream.fill(count);
                }
                stream.end - stream.start
            }
        }
    }

    /// The unread bytes that are available.
    #[inline]
    pub(super) fn unread(&self) -> &[u8] {
        match self {
            Input::Mapped(mapped) => mapped.unread(),
            Input::Stream(stream) => {
                stream.buffer.get(stream.start..stream.end).unwrap_or_default()
            }
        }
    }

    /// Consumes `count` bytes, also ones that are not available yet. If there are fewer, it
    /// consumes these and returns `false`.
    #[inline]
    pub(super) fn consume(&mut self, count: u64) -> bool {
        let consumed = match self {
            Input::Mapped(mapped) => {
                let consumed = count.min(mapped.left() as u64);
                mapped.advance(consumed as usize);
                consumed
            }
            Input::Stream(stream) => stream.skip(count),
        };
        consumed == count
    }

    /// Prefetches the next bytes of a mapped file, as many as the current record has: over
    /// successive records, all bytes are prefetched in time.
    #[inline]
    pub(super) fn prefetch(&self, record: usize) {
        let Input::Mapped(mapped) = self else { return };
        let unread = mapped.unread();
        let Some(far) = unread.get(AHEAD..) else { return };
        let lines = far.as_chunks::<LINE>().0.iter().take(record.min(AHEAD) / LINE + 1);
        lines.for_each(|[first, ..]| mapping::prefetch(first));
        if record > AHEAD {
            let next = unread.get(record..).unwrap_or_default();
            next.iter().step_by(LINE).take(2).for_each(mapping::prefetch);
        }
    }

    /// Bytes consumed so far.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        match self {
            Input::Mapped(mapped) => mapped.at as u64,
            Input::Stream(stream) => stream.position,
        }
    }

    /// The total number of bytes, if known.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => Some(mapping.bytes().len() as u64),
            Input::Stream(stream) => stream.length,
        }
    }

    /// Whether zeros were read in place of a file's bytes, because the file became shorter.
    #[inline]
    pub(super) fn shrank(&self) -> bool {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => mapping.shrank(),
            Input::Stream(_) => false,
        }
    }

    /// Asks the system whether the file is shorter now. In the last page of a file that became
    /// shorter, zeros are read without a signal.
    #[cold]
    pub(super) fn is_shorter(&self) -> bool {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => mapping.is_shorter(),
            Input::Stream(_) => false,
        }
    }

    /// Why nothing follows `offset`: `None` for a regular end. `inside`: the end is irregular,
    /// because a record began there.
    pub(super) fn end(&mut self, path: &Path, offset: u64, inside: bool) -> Option<Notice> {
        let path = path.to_owned();
        if self.is_shorter() {
            return Some(Notice::FileShrank { path, offset });
        }
        let unpacked = matches!(self, Input::Stream(stream) if stream.unpacks);
        match self.error() {
            Some(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                let what = unreadable(&error).into_owned();
                Some(Notice::ReadError { path, offset, unpacked, what })
            }
            None if !inside => None,
            _ => Some(Notice::FileCut { path, offset, unpacked }),
        }
    }

    /// The capacity of a stream's buffer.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        match self {
            Input::Mapped(_) => 0,
            Input::Stream(stream) => stream.buffer.len(),
        }
    }

    /// Why a stream ended early.
    pub(super) fn error(&mut self) -> Option<io::Error> {
        match self {
            Input::Mapped(_) => None,
            Input::Stream(stream) => stream.error.take(),
        }
    }
}

/// The first numbers of a record, in its file's byte order.
#[inline]
pub(super) fn numbers<const N: usize>(bytes: &[u8], big_endian: bool) -> Option<[u32; N]> {
    let numbers: &[[u8; 4]; N] = bytes.as_chunks().0.first_chunk()?;
    Some(if big_endian { numbers.map(u32::from_be_bytes) } else { numbers.map(u32::from_le_bytes) })
}

impl StreamInput {
    /// The buffer grows with the bytes that arrive, not with the announced length.
    #[cold]
    fn fill(&mut self, count: usize) {
        while !self.ended && self.end - self.start < count {
            if self.buffer.len() - self.end < self.chunk / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() - self.end < self.chunk / 2 {
                let length = self.buffer.len() + self.buffer.len().max(self.chunk);
                self.buffer.resize(length, 0);
            }
            let Some(space) = self.buffer.get_mut(self.end..) else { return };
            match self.reader.read(space) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.error = Some(error);
                }
            }
        }
    }

    #[inline]
    fn skip(&mut self, count: u64) -> u64 {
        let mut left = count;
        loop {
            let there = (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            self.start += there;
            left -= there as u64;
            if left == 0 || self.ended {
                self.position += count - left;
                return count - left;
            }
            (self.start, self.end) = (0, 0);
            self.fill(1);
        }
    }
}

impl Read for Input {
    /// Returns the bytes that were inspected and then the rest, for compressed input.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill(1);
        if available == 0 {
            return self.error().map_or(Ok(0), Err);
        }
        let count = available.min(out.len());
        let (Some(from), Some(to)) = (self.unread().get(..count), out.get_mut(..count)) else {
            return Ok(0);
        };
        to.copy_from_slice(from);
        self.consume(count as u64);
        if self.shrank() {
            return Err(io::Error::other("the file became shorter while it was read"));
        }
        Ok(count)
    }
}
