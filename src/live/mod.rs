//! Live capture from a network device through libpcap, or on Linux without it.
//!
//! One thread takes packets from the device and never waits for the reader; packets that do not fit
//! into the queue between the two are counted. Signals end the capture, request the counts, or reopen
//! the file. This module does not interpret packets.
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

mod confined;
mod device;
mod device_state;
mod file_filter;
mod groups;
mod later;
mod libpcap;
pub(crate) mod outputs;
#[cfg(target_os = "linux")]
mod packet_socket;
mod privileges;
mod queue;
pub(crate) mod sandbox;
mod signals;
mod source;
mod write;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::capture::{Interrupt, LinkType, Packet};
use crate::text::escaped;
use crate::why;
use confined::Confined;
use device::Stats;
use device_state::DeviceState;
use queue::{PacketQueue, QueuedBatch};
use signals::Signals;
use source::Source;
use write::{DeviceDescription, FileWriter};

pub use file_filter::FileFilter;
pub use later::LaterOutput;
pub use queue::QueueCounts;
pub use sandbox::Confinement;
pub use signals::StopSignals;
pub(crate) use signals::is_ignored;
pub use source::interfaces;
pub use write::FilePlan;

/// Limit: packets that were captured live and are not read yet | {:bytes} | at the end, as packets that came faster
/// than they could be read; NET010
const QUEUE: usize = 64 << 20;

/// Maximum time between two looks at signals and clocks.
const LONGEST_TURN: Duration = Duration::from_millis(100);

/// Milliseconds after which packets are delivered at the latest.
const HANDED_ON: i32 = 10;

/// Maximum delay of packets between the kernel and this process, in nanoseconds.
const ON_THE_WAY: i64 = 1_000_000_000;

/// Why live capture fails, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The library is not installed.
    #[error(
        "libpcap is not installed; {} need it: on Debian and Ubuntu `apt install libpcap0.8`, on Fedora `dnf install libpcap`, on Alpine `apk add libpcap`",
        if cfg!(target_os = "linux") { "capture filters (-f)" } else { "live capture and capture filters" }
    )]
    NoLibrary,
    /// A static program cannot load libraries.
    #[error(
        "this build of gamewire is static and cannot load libpcap, which capture filters (-f) need: choose messages with --host, --port or -Y; or use the Debian package or the archive whose name ends in -linux-gnu; or read what another program filters: `tcpdump -i eth0 -U -w - udp | gamewire dissect -`"
    )]
    IsStatic,
    /// There is no such device.
    #[error(
        "cannot capture on {}: no such interface ({why}); `gamewire dissect -D` lists all",
        escaped(device)
    )]
    NoSuchDevice {
        /// Its name.
        device: String,
        /// The library's error text.
        why: String,
    },
    /// The user has no permission.
    #[error(
        "cannot capture on {}: no permission ({why}); run gamewire as root, or permit it once: sudo setcap cap_net_raw,cap_net_admin=eip $(command -v gamewire); or record a command without it: gamewire record --relay",
        escaped(device)
    )]
    NoRight {
        /// The device.
        device: String,
        /// The library's error text.
        why: String,
    },
    /// The device cannot be opened, or went away.
    #[error("cannot capture on {}: {why}", escaped(device))]
    Device {
        /// Its name.
        device: String,
        /// The library's error text.
        why: String,
    },
    /// The devices cannot be listed.
    #[error("cannot list interfaces: {0}")]
    List(String),
    /// The filter is invalid.
    #[error("invalid filter -f {expression:?}: {why}; `man pcap-filter` describes the language")]
    Filter {
        /// The expression that was given.
        expression: String,
        /// The library's error text.
        why: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {}", escaped(&path.to_string_lossy()), unwritable(error))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A signal came while the file waited for its reader.
    #[error("interrupted: nothing was captured")]
    Interrupted,
    /// A file that is no longer to be kept cannot be removed.
    #[error("cannot remove {}: {error}; it stays", escaped(&path.to_string_lossy()))]
    Remove {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Root privileges cannot be dropped.
    #[error("{0}")]
    Privileges(String),
    /// Signal handlers cannot be installed.
    #[error("cannot install signal handlers: {0}")]
    Signals(io::Error),
}

impl LiveError {
    /// Why there is no libpcap.
    fn without_library() -> LiveError {
        match cfg!(all(target_env = "musl", target_feature = "crt-static")) {
            true => LiveError::IsStatic,
            false => LiveError::NoLibrary,
        }
    }
}

/// Why a file cannot be written. Root privileges are dropped before files are written, so the user of
/// `-Z` needs the permission.
fn unwritable(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "{error}; gamewire writes files as the user of -Z USER, who needs write permission"
        )
        .into(),
        _ => why::unwritable(error),
    }
}

/// Options of a live capture.
#[derive(Clone, Debug, Default)]
pub struct CaptureRequest {
    /// The device's name.
    pub interface: String,
    /// A filter in libpcap's language.
    pub filter: Option<String>,
    /// Bytes recorded of each packet.
    pub snaplen: u32,
    /// Also capture packets that are addressed to other hosts.
    pub promiscuous: bool,
    /// Size of the kernel's buffer in bytes.
    pub buffer: Option<u32>,
    /// Maximum duration in nanoseconds.
    pub duration: Option<i64>,
    /// End when standard input ends.
    pub until_input_ends: bool,
    /// The user to switch to once the device is open.
    pub user: Option<String>,
    /// The files that packets are written to.
    pub write: Option<FilePlan>,
    /// What is written at the end of the capture.
    pub later: Vec<LaterOutput>,
}

/// The result of a wait.
pub enum NextStep<'a> {
    /// Packets.
    Packets(Batched<'a>),
    /// No packets; the time is at least this, in nanoseconds since 1970.
    Nothing(i64),
    /// The capture is over.
    End,
}

/// Packets that were read together.
pub struct Batched<'a> {
    batch: &'a QueuedBatch,
    link: LinkType,
    digits: u8,
}

impl Batched<'_> {
    /// The number of packets.
    pub fn count(&self) -> u64 {
        self.batch.entries.len() as u64
    }

    /// The packets, in order.
    pub fn iter(&self) -> impl Iterator<Item = Packet<'_>> {
        self.batch.entries.iter().map(|entry| Packet {
            time: entry.time,
            link: self.link,
            interface: 0,
            original_length: entry.length,
            data: self.batch.bytes.get(entry.start..entry.end).unwrap_or_default(),
            file: 0,
            number: 0,
            offset: 0,
            digits: self.digits,
        })
    }
}

/// A running capture.
pub struct Live {
    interface: String,
    queue: Arc<PacketQueue>,
    batch: QueuedBatch,
    link: LinkType,
    digits: u8,
    writer: Option<FileWriter>,
    signals: Signals,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    until: Option<Instant>,
    reopen_error: Option<LiveError>,
    confinement: Confinement,
    no_further_file: Option<String>,
}

impl Live {
    /// Opens the device and the files, drops all privileges, confines this thread and those that it
    /// starts, and starts to capture.
    ///
    /// # Errors
    /// Any [`LiveError`].
    pub fn open(request: &CaptureRequest) -> Result<Live, LiveError> {
        let source = Source::open(request)?;
        let (link, digits) = (source.link(), source.digits());
        let state = DeviceState::open(&request.interface);
        let interface = request.interface.clone();
        let snaplen = request.snaplen;
        let description = DeviceDescription { interface, link: link.0, snaplen, digits };
        // Before the process is confined: this reads files.
        let signals = Signals::register(request.write.is_some()).map_err(LiveError::Signals)?;
        let interrupt = Interrupt::when(Arc::clone(&signals.ending.stop));
        let Confined { writer, confinement, no_further_file } =
            confined::open(request, description, &interrupt)?;
        let queue = Arc::new(PacketQueue::new(QUEUE));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = {
            let (queue, stopped) = (Arc::clone(&queue), Arc::clone(&stopped));
            let ending = signals.ending.clone();
            std::thread::spawn(move || {
                capture(source, state, &queue, [&stopped, &ending.stop]);
                // In this thread, because the reader may be blocked in a write to its output.
                ending.next_signal_leaves();
            })
        };
        if request.until_input_ends {
            ends_with_input(Arc::clone(&signals.ending.stop));
        }
        let until = request.duration.and_then(|duration| {
            Instant::now().checked_add(Duration::from_nanos(u64::try_from(duration).ok()?))
        });
        Ok(Live {
            interface: request.interface.clone(),
            queue,
            batch: QueuedBatch::default(),
            link,
            digits,
            writer,
            signals,
            stopped,
            thread: Some(thread),
            until,
            reopen_error: None,
            confinement,
            no_further_file,
        })
    }

    /// Waits for packets, for a short time at most.
    ///
    /// # Errors
    /// The device went away, or a file cannot be written.
    pub fn turn(&mut self) -> Result<NextStep<'_>, LiveError> {
        let over = self.until.is_some_and(|until| Instant::now() >= until);
        if over || self.signals.ending.is_stopped() {
            self.stopped.store(true, Ordering::Relaxed);
            if let Some(thread) = self.thread.take() {
                // The queue has the thread's result.
                thread.join().ok();
            }
        }
        match self.queue.take(&mut self.batch, LONGEST_TURN) {
            Ok(()) => {}
            Err(None) => return Ok(NextStep::End),
            Err(Some(why)) => {
                return Err(LiveError::Device { device: self.interface.clone(), why });
            }
        }
        if self.signals.reopens() {
            self.reopen_error = self.written(|writer| writer.reopen(now())).err();
        }
        if self.batch.entries.is_empty() {
            return Ok(NextStep::Nothing(now() - ON_THE_WAY));
        }
        let batch = std::mem::take(&mut self.batch);
        self.written(|writer| {
            for entry in &batch.entries {
                let data = batch.bytes.get(entry.start..entry.end).unwrap_or_default();
                writer.packet(entry.time, entry.length, data)?;
            }
            writer.flush()
        })?;
        self.batch = batch;
        Ok(NextStep::Packets(Batched { batch: &self.batch, link: self.link, digits: self.digits }))
    }

    fn written(
        &mut self,
        work: impl FnOnce(&mut FileWriter) -> io::Result<()>,
    ) -> Result<(), LiveError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        work(writer).map_err(|error| LiveError::Write { path: writer.path().to_owned(), error })
    }

    /// Tells whether and how the capture is to end.
    pub fn ending(&self) -> StopSignals {
        self.signals.ending.clone()
    }

    /// How the system restricts the process.
    pub fn confinement(&self) -> Confinement {
        self.confinement
    }

    /// Why SIGHUP cannot start a new file.
    pub fn no_further_file(&self) -> Option<&str> {
        self.no_further_file.as_deref()
    }

    /// A function that returns the number of packets that were captured and not yet read.
    pub fn waiting(&self) -> impl Fn() -> u64 + use<> {
        let queue = Arc::clone(&self.queue);
        move || queue.waiting()
    }

    /// The counters so far.
    pub fn counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Whether a signal has requested the counters since the last call.
    pub fn counts_wanted(&self) -> bool {
        self.signals.counts.swap(false, Ordering::Relaxed)
    }

    /// Why the file could not be reopened after the last signal: the old one is still in use.
    pub fn reopen_error(&mut self) -> Option<LiveError> {
        self.reopen_error.take()
    }

    /// Why a file beyond the number to keep was not removed; each is told once.
    pub fn not_removed(&mut self) -> Option<LiveError> {
        let (path, error) = self.writer.as_mut()?.not_removed()?;
        Some(LiveError::Remove { path, error })
    }

    /// Writes the packets that were captured and not yet read, because nobody reads them any longer.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_rest(&mut self) -> Result<(), LiveError> {
        self.stopped.store(true, Ordering::Relaxed);
        while !matches!(self.turn()?, NextStep::End) {}
        Ok(())
    }

    /// Ends the capture, and its file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<QueueCounts, LiveError> {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        let counts = self.queue.counts();
        self.written(|writer| writer.end(now(), counts))?;
        Ok(counts)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Stops when standard input ends, or cannot be read.
fn ends_with_input(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        io::copy(&mut io::stdin(), &mut io::sink()).ok();
        stop.store(true, Ordering::Relaxed);
    });
}

/// Takes packets from the device until it is stopped, or the device goes away.
fn capture(
    mut source: Source,
    mut state: DeviceState,
    queue: &PacketQueue,
    stops: [&AtomicBool; 2],
) {
    let unit = if source.digits() == 9 { 1 } else { 1000 };
    let mut counted = Instant::now();
    loop {
        if stops.into_iter().any(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        match source.next() {
            Ok(Some(raw)) => {
                let time = raw.seconds.saturating_mul(1_000_000_000);
                let time = time.saturating_add(raw.fraction.saturating_mul(unit));
                queue.push(time, raw.length, raw.data);
            }
            Ok(None) => source.wait(LONGEST_TURN.as_millis() as u16),
            Err(why) => {
                queue.end(Some(why));
                return;
            }
        }
        if counted.elapsed() >= Duration::from_secs(1) {
            counted = Instant::now();
            if let Some(stats) = stats(&mut source, &mut state) {
                queue.stats(stats);
            }
            if state.went_down() {
                queue.went_down();
            }
        }
    }
    if state.went_down() {
        queue.went_down();
    }
    if let Some(stats) = stats(&mut source, &mut state) {
        queue.stats(stats);
    }
    queue.end(None);
}

/// The counters of a device.
fn stats(source: &mut Source, state: &mut DeviceState) -> Option<Stats> {
    let mut stats = source.stats()?;
    if cfg!(target_os = "linux") {
        // libpcap reads it from files that a confined process cannot open. The counter has 32 bits,
        // and may overflow.
        stats.dropped_by_interface = state.dropped() as u32;
    }
    Some(stats)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_a_remedy() {
        assert!(LiveError::NoLibrary.to_string().contains("apt install libpcap0.8"));
        let (device, why) = ("eth0".to_owned(), "denied".to_owned());
        assert!(LiveError::NoRight { device, why }.to_string().contains("setcap"));
    }
}
