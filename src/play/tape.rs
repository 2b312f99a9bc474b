//! The recording of what is said, and its clock.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::packets::PacketMaker;
use crate::capture::write::{END, PcapNgWriter};
use crate::capture::{LinkType, Packet};
use crate::output_file::OutputFile;

/// Maximum size of a recording in bytes; what comes later is not recorded.
const LARGEST: usize = 1 << 30;

/// The name of the interface in the recording.
const INTERFACE: &str = "gamewire serve";

/// Keeps packets, if they are recorded.
pub(super) struct Tape {
    pub(super) maker: PacketMaker,
    writer: Option<PcapNgWriter<OutputFile>>,
    left: usize,
    started: (Instant, SystemTime),
    failed: Option<io::Error>,
}

impl Tape {
    /// Begins, with a file if there is one to write.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn new(file: Option<&Path>) -> io::Result<Tape> {
        let writer = file.map(|file| PcapNgWriter::new(OutputFile::create(file)?)).transpose()?;
        let started = (Instant::now(), SystemTime::now());
        Ok(Tape { maker: PacketMaker::default(), writer, left: LARGEST, started, failed: None })
    }

    /// Nanoseconds since 1970, by a clock that never goes back.
    pub(super) fn time(&self) -> i64 {
        let (instant, time) = self.started;
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO) + instant.elapsed();
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    }

    /// Records a packet; returns its time.
    pub(super) fn keep(&mut self, packet: &[u8]) -> i64 {
        let time = self.time();
        if let Some(writer) = &mut self.writer
            && self.left > packet.len()
        {
            self.left -= packet.len();
            let packet = Packet {
                link: LinkType::RAW,
                digits: 9,
                original_length: packet.len() as u32,
                ..Packet::new(time, packet)
            };
            if let Err(error) = writer.packet(&packet, 0, Some(INTERFACE), &[]) {
                self.failed.get_or_insert(error);
                self.writer = None;
            }
        }
        time
    }

    /// Whether the recording has reached its maximum size.
    pub(super) fn is_full(&self) -> bool {
        self.left <= usize::from(u16::MAX)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.keep(&END);
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.writer {
            Some(writer) => writer.finish()?.put(),
            None => Ok(()),
        }
    }
}
