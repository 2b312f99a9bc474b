//! Bytes to be read from front to back, from a mapped file or from a stream.

use std::io::{self, Read};

use super::mapping::Mapping;

/// How much is read from a stream at a time.
const CHUNK: usize = 64 << 10;

/// The unread bytes of a capture.
pub(super) struct Input {
    kind: Kind,
    /// Bytes consumed so far.
    position: u64,
}

enum Kind {
    Mapped { mapping: Mapping, at: usize },
    Stream(Stream),
}

struct Stream {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    error: Option<io::Error>,
}

impl Input {
    pub(super) fn mapped(mapping: Mapping) -> Input {
        Input { kind: Kind::Mapped { mapping, at: 0 }, position: 0 }
    }

    pub(super) fn stream(reader: Box<dyn Read + Send>) -> Input {
        let (buffer, start, end) = (Vec::new(), 0, 0);
        let stream = Stream { reader, buffer, start, end, ended: false, error: None };
        Input { kind: Kind::Stream(stream), position: 0 }
    }

    /// Makes `count` unread bytes available, or all that there are. Returns how many are.
    #[inline]
    pub(super) fn fill(&mut self, count: usize) -> usize {
        match &mut self.kind {
            Kind::Mapped { mapping, at } => mapping.bytes().len() - *at,
            Kind::Stream(stream) => {
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
        match &self.kind {
            Kind::Mapped { mapping, at } => mapping.bytes().get(*at..).unwrap_or_default(),
            Kind::Stream(stream) => stream.buffer.get(stream.start..stream.end).unwrap_or_default(),
        }
    }

    /// Consumes `count` bytes, or all that there are: also bytes that are not available yet.
    #[inline]
    pub(super) fn consume(&mut self, count: u64) {
        match &mut self.kind {
            Kind::Mapped { mapping, at } => {
                let left = (mapping.bytes().len() - *at) as u64;
                let count = count.min(left);
                *at += count as usize;
                self.position += count;
            }
            Kind::Stream(stream) => self.position += stream.skip(count),
        }
    }

    /// Bytes consumed so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// How many bytes there are in all, where that is known.
    pub(super) fn length(&self) -> Option<u64> {
        match &self.kind {
            Kind::Mapped { mapping, .. } => Some(mapping.bytes().len() as u64),
            Kind::Stream(_) => None,
        }
    }

    /// Whether the file became shorter while it was read.
    pub(super) fn shrank(&self) -> bool {
        match &self.kind {
            Kind::Mapped { mapping, .. } => mapping.shrank(),
            Kind::Stream(_) => false,
        }
    }

    /// Why a stream ended early.
    pub(super) fn error(&mut self) -> Option<io::Error> {
        match &mut self.kind {
            Kind::Mapped { .. } => None,
            Kind::Stream(stream) => stream.error.take(),
        }
    }
}

impl Stream {
    /// The buffer grows with the bytes that arrive, not with the bytes that are announced.
    fn fill(&mut self, count: usize) {
        while !self.ended && self.end - self.start < count {
            if self.buffer.len() - self.end < CHUNK / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() - self.end < CHUNK / 2 {
                let length = self.buffer.len() + self.buffer.len().max(CHUNK);
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

    fn skip(&mut self, count: u64) -> u64 {
        let mut left = count;
        loop {
            let there = (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            self.start += there;
            left -= there as u64;
            if left == 0 || self.ended {
                return count - left;
            }
            (self.start, self.end) = (0, 0);
            self.fill(1);
        }
    }
}

impl Read for Input {
    /// Hands on what was looked at and the rest behind it: for what turns out to be compressed.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.fill(1);
        if available == 0 {
            return self.error().map_or(Ok(0), Err);
        }
        let count = available.min(out.len());
        out[..count].copy_from_slice(&self.unread()[..count]);
        self.consume(count as u64);
        Ok(count)
    }
}
