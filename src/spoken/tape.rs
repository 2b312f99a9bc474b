//! The recording of what is said, and its clock.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::capture::write::PcapNgWriter;
use crate::capture::{LinkType, Packet};
use crate::output_file::OutputFile;

/// What a recording holds.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// The packets in the file.
    pub packets: u64,
    /// Datagrams among them that did not get to where they were sent.
    pub lost: u64,
}

/// The system's time at the start, and the time since then, which never goes backwards.
struct Clock {
    began: Instant,
    at: i64,
}

impl Clock {
    fn start() -> Clock {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { began: Instant::now(), at: nanoseconds(at) }
    }

    fn now(&self) -> i64 {
        self.at.saturating_add(nanoseconds(self.began.elapsed()))
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// A pcapng file that packets are written to, if they are recorded.
pub struct Tape {
    writer: Option<PcapNgWriter<OutputFile>>,
    /// The name of the interface in the file.
    interface: &'static str,
    clock: Clock,
    /// Bytes of packets until the file has its maximum size.
    left: usize,
    packets: u64,
    lost: u64,
    latest: Option<Instant>,
    /// Why the file cannot be written. The traffic goes on without it.
    failed: Option<io::Error>,
}

impl Tape {
    /// Begins, with a file if there is one to write. It is in its place only when it is finished. `most`: the bytes of
    /// packets that it may have; those after them are left out.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn new(file: Option<&Path>, interface: &'static str, most: usize) -> io::Result<Tape> {
        let writer =
            file.map(|file| PcapNgWriter::new(OutputFile::create_capture(file)?)).transpose()?;
        Ok(Tape {
            writer,
            interface,
            clock: Clock::start(),
            left: most,
            packets: 0,
            lost: 0,
            latest: None,
            failed: None,
        })
    }

    /// Records a packet; returns its time in nanoseconds since 1970.
    pub fn keep(&mut self, packet: &[u8]) -> i64 {
        let time = self.time();
        self.keep_from(time, packet);
        time
    }

    /// Nanoseconds since 1970, by a clock that never goes back.
    pub fn time(&self) -> i64 {
        self.clock.now()
    }

    /// Records a packet that was said at this time, after all that are recorded.
    pub fn keep_from(&mut self, time: i64, packet: &[u8]) {
        if let Some(writer) = &mut self.writer
            && self.left > packet.len()
        {
            self.left -= packet.len();
            let packet = Packet { link: LinkType::RAW, ..Packet::new(time, packet) };
            let written = writer.packet(&packet, 0, Some(self.interface), &[]);
            self.check(written);
            self.packets += 1;
        }
        self.latest = Some(Instant::now());
    }

    /// Records that a packet did not get through, so that a missing response proves nothing.
    pub fn lost(&mut self) {
        self.lost += 1;
        if let Some(writer) = &mut self.writer {
            let packet = Packet { link: LinkType::RAW, ..Packet::new(self.clock.now(), &[]) };
            let written = writer.drops(&packet, 0, self.lost);
            self.check(written);
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert(error);
            self.writer = None;
        }
    }

    /// The time since the latest packet, if there was one.
    pub fn silence(&self) -> Option<Duration> {
        Some(self.latest?.elapsed())
    }

    /// Whether the recording has reached its maximum size.
    pub fn is_full(&self) -> bool {
        self.left <= usize::from(u16::MAX)
    }

    /// Ends the recording, and puts the file in its place.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub fn finish(self) -> io::Result<Recorded> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(writer) = self.writer {
            writer.finish()?.put()?;
        }
        Ok(Recorded { packets: self.packets, lost: self.lost })
    }
}
