//! Bytes to be read from front to back, from a mapped file or from a stream.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::error::unreadable;
use super::mapping::{self, Mapping, STRETCH};
use super::{Memory, Notice};

/// How much is read from a stream at a time, where there is room.
const CHUNK: usize = 64 << 10;

/// The least that is read at a time.
const LEAST_CHUNK: usize = 4 << 10;

/// What reading a capture may take of memory, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// To unpack it.
    pub(super) unpacking: usize,
    /// For what is read of a stream at a time.
    chunk: usize,
}

impl Room {
    /// For a capture that is read by itself.
    pub(super) fn alone(memory: usize) -> Room {
        Room { unpacking: memory, chunk: CHUNK }
    }

    /// For one of several: half of the memory is for what is read of all, the rest for unpacking.
    pub(super) fn among(captures: usize, memory: usize) -> Room {
        let chunk = (memory / 2 / captures.max(1)).clamp(LEAST_CHUNK, CHUNK);
        Room { unpacking: memory / 2, chunk }
    }

    /// Where this many are unpacked already: all together take no more than there is, however many they are.
    pub(super) fn beside(self, unpacked: usize) -> Room {
        Room { unpacking: self.unpacking / (unpacked + 1).pow(2), ..self }
    }
}

/// How far ahead of a mapped packet memory is asked for what comes next: a walk over a large file
/// waits for memory more than it computes. Worth 7 % of reading large packets from the page cache.
const AHEAD: usize = 2 << 10;

/// Bytes that memory yields at a time.
const LINE: usize = 64;

/// The unread bytes of a capture.
pub(super) enum Input {
    Mapped(Mapped),
    Stream(Stream),
}

pub(super) struct Mapped {
    mapping: Arc<Mapping>,
    /// Bytes consumed so far.
    at: usize,
    /// Which of the mapping's readers this is, from 0.
    reader: u8,
    /// How many stretches of the mapping it has come to.
    entered: usize,
}

impl Mapped {
    /// Unread bytes.
    #[inline]
    fn left(&self) -> usize {
        self.mapping.bytes().len() - self.at
    }

    #[inline]
    fn unread(&self) -> &[u8] {
        self.mapping.bytes().get(self.at..).unwrap_or_default()
    }

    /// Goes on after `count` unread bytes.
    #[inline]
    fn advance(&mut self, count: usize) {
        self.at += count;
        while self.entered <= self.at / STRETCH {
            self.mapping.enter(self.entered, self.reader);
            self.entered += 1;
        }
    }
}

pub(super) struct Stream {
    /// Bytes consumed so far.
    position: u64,
    /// How many there are in all, where that is known.
    length: Option<u64>,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// How much is read at a time.
    chunk: usize,
    start: usize,
    end: usize,
    ended: bool,
    error: Option<io::Error>,
    /// The reader decompresses.
    unpacks: bool,
}

impl Input {
    pub(super) fn mapped(mapping: Mapping) -> Input {
        let mapping = Arc::new(mapping);
        Input::Mapped(Mapped { mapping, at: 0, reader: 0, entered: 0 })
    }

    pub(super) fn stream(reader: Box<dyn Read + Send>) -> Input {
        Input::of_stream(reader, None, false)
    }

    /// A file that is not mapped, with its length.
    pub(super) fn file(reader: Box<dyn Read + Send>, length: u64) -> Input {
        Input::of_stream(reader, Some(length), false)
    }

    /// What a compressed capture unpacks to.
    pub(super) fn unpacked(reader: Box<dyn Read + Send>) -> Input {
        Input::of_stream(reader, None, true)
    }

    fn of_stream(reader: Box<dyn Read + Send>, length: Option<u64>, unpacks: bool) -> Input {
        let (buffer, start, end, ended, error) = (Vec::new(), 0, 0, false, None);
        let position = 0;
        Input::Stream(Stream {
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
        })
    }

    /// The same; what is read of a stream at a time takes no more than there is room.
    pub(super) fn within(mut self, room: Room) -> Input {
        if let Input::Stream(stream) = &mut self {
            stream.chunk = room.chunk;
        }
        self
    }

    /// The same bytes, from the same place on, for somebody else; `None` for a stream.
    pub(super) fn fork(&self) -> Option<Input> {
        let Input::Mapped(mapped) = self else { return None };
        let reader = mapped.mapping.share();
        Some(Input::Mapped(Mapped { mapping: Arc::clone(&mapped.mapping), reader, ..*mapped }))
    }

    /// All bytes, if they are in memory.
    pub(super) fn in_memory(&self) -> Option<Memory> {
        match self {
            Input::Mapped(mapped) => Some(Arc::clone(&mapped.mapping) as Memory),
            Input::Stream(_) => None,
        }
    }

    /// Makes `count` unread bytes available, or all that there are. Returns how many are.
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

    /// Consumes `count` bytes, also ones that are not available yet. Where there are fewer, it
    /// consumes those, and says `false`.
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

    /// Asks memory for as many bytes further ahead of a mapped file as the current record has: one record
    /// after the other, all are asked for in time.
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

    /// How many bytes there are in all, where that is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => Some(mapping.bytes().len() as u64),
            Input::Stream(stream) => stream.length,
        }
    }

    /// Whether zeros were read in the place of a file's bytes, because it became shorter.
    #[inline]
    pub(super) fn shrank(&self) -> bool {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => mapping.shrank(),
            Input::Stream(_) => false,
        }
    }

    /// Whether the file is shorter now: asks the system. In the last page of a file that became
    /// shorter, zeros are read without a word.
    #[cold]
    pub(super) fn is_shorter(&self) -> bool {
        match self {
            Input::Mapped(Mapped { mapping, .. }) => mapping.is_shorter(),
            Input::Stream(_) => false,
        }
    }

    /// Why nothing follows `offset`: `None` where the capture ends as it should, `inside` telling
    /// that it cannot, because something began there.
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

    /// How many bytes a stream's buffer has room for.
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

impl Stream {
    /// The buffer grows with the bytes that arrive, not with the bytes that are announced.
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
    /// Hands on what was looked at and the rest after it: for what turns out to be compressed.
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
