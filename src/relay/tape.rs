//! The recording: what all relays write to, in the order in which it was said.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::packets::{self, SegmentHeader};
use crate::capture::write::PcapNgWriter;
use crate::capture::{LinkType, Packet};
use crate::output_file::OutputFile;

/// The name of the interface in the file.
const INTERFACE: &str = "relay";

/// A pcapng file that several threads write to. When it is closed, nothing is written any longer, and
/// relays forward only what was written.
pub struct Tape(Mutex<Option<Reel>>);

/// The open file.
struct Reel {
    writer: PcapNgWriter<OutputFile>,
    clock: Clock,
    /// The identification of the latest IPv4 packet.
    identification: u16,
    packets: u64,
    /// Datagrams that were recorded, but did not get through the relay.
    lost: u64,
    latest: Option<Instant>,
    /// Why the file cannot be written. The command's traffic goes on without it.
    failed: Option<io::Error>,
}

/// What a recording holds.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// The packets in the file.
    pub packets: u64,
    /// Datagrams among them that the system refused to forward.
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

impl Tape {
    /// Begins the file. It is in its place only when it is finished.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn create(path: &Path) -> io::Result<Tape> {
        let reel = Reel {
            writer: PcapNgWriter::new(OutputFile::create(path)?)?,
            clock: Clock::start(),
            identification: 0,
            packets: 0,
            lost: 0,
            latest: None,
            failed: None,
        };
        Ok(Tape(Mutex::new(Some(reel))))
    }

    /// Whether nothing is recorded any longer.
    pub(super) fn is_closed(&self) -> bool {
        self.reel().is_none()
    }

    /// Writes a datagram. `false`: the recording is over, and it must not be forwarded.
    pub(super) fn datagram(&self, ends: [SocketAddr; 2], payload: &[u8]) -> bool {
        self.packet(|identification| packets::datagram(ends, identification, payload))
    }

    /// Writes a segment; `false` as for datagrams.
    pub(super) fn segment(
        &self,
        ends: [SocketAddr; 2],
        header: SegmentHeader,
        payload: &[u8],
    ) -> bool {
        self.packet(|identification| packets::segment(ends, identification, header, payload))
    }

    /// Writes that a recorded datagram did not get through, so that a missing response proves nothing.
    pub(super) fn lost(&self) {
        if let Some(reel) = &mut *self.reel() {
            reel.lost += 1;
            let packet = Packet { link: LinkType::RAW, ..Packet::new(reel.clock.now(), &[]) };
            let written = reel.writer.drops(&packet, 0, reel.lost);
            reel.keep(written);
        }
    }

    /// The time since the latest packet, if there was one.
    pub(super) fn silence(&self) -> Option<Duration> {
        Some(self.reel().as_ref()?.latest?.elapsed())
    }

    /// Ends the recording without a file, unless it has ended.
    pub(super) fn discard(&self) {
        drop(self.reel().take());
    }

    /// Ends the recording, and puts the file in its place.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub(super) fn finish(&self) -> io::Result<Recorded> {
        let Some(reel) = self.reel().take() else {
            return Err(io::Error::other("the recording is over"));
        };
        if let Some(error) = reel.failed {
            return Err(error);
        }
        reel.writer.finish()?.put()?;
        Ok(Recorded { packets: reel.packets, lost: reel.lost })
    }

    fn packet(&self, build: impl FnOnce(u16) -> Option<Vec<u8>>) -> bool {
        let mut reel = self.reel();
        let Some(reel) = &mut *reel else { return false };
        // 0 identifies nothing.
        reel.identification = reel.identification.wrapping_add(1).max(1);
        let Some(data) = build(reel.identification) else { return false };
        let packet = Packet { link: LinkType::RAW, ..Packet::new(reel.clock.now(), &data) };
        let written = reel.writer.packet(&packet, 0, Some(INTERFACE), &[]);
        reel.keep(written);
        reel.packets += 1;
        reel.latest = Some(Instant::now());
        true
    }

    fn reel(&self) -> MutexGuard<'_, Option<Reel>> {
        // A thread that panicked has written whole blocks or nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reel {
    fn keep(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}
