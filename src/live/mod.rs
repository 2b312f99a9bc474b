//! Packets as they come: from a network device, through libpcap.
//!
//! One thread takes packets from the device and never waits for who reads them; what does not fit
//! in the queue between the two is counted. Signals end the capture, ask for the counts, or begin a
//! new file. This module refuses to know what a packet's bytes say.
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

mod device_state;
mod libpcap;
mod privileges;
mod queue;
pub(crate) mod sandbox;
mod signals;
mod write;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::capture::LinkType;
use crate::capture::Packet;
use crate::text::escaped;
use crate::why;
use device_state::DeviceState;
use libpcap::{BpfFilter, Handle, Library, Opening, Refusal};
use queue::{PacketQueue, QueuedBatch};
use signals::Signals;
use write::{DeviceDescription, Writer};

pub use queue::QueueCounts;
pub use signals::Ending;
pub use write::FilePlan;

/// Bytes of packets that may wait to be read.
const QUEUE: usize = 64 << 20;

/// How long a wait takes at most: then signals and clocks are looked at.
const LONGEST_TURN: Duration = Duration::from_millis(100);

/// Milliseconds after which packets are handed on, at the latest.
const HANDED_ON: i32 = 10;

/// How far after the clock packets may still be on their way from the kernel, in nanoseconds.
const ON_THE_WAY: i64 = 1_000_000_000;

/// Why live capture does not go. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The library is not installed.
    #[error(
        "live capture and capture filters need libpcap, which is not installed: on Debian and Ubuntu `apt install libpcap0.8`, on Fedora `dnf install libpcap`, on Alpine `apk add libpcap`"
    )]
    NoLibrary,
    /// There is no such device.
    #[error(
        "{}: there is no such interface ({why}); `gamewire dissect -D` lists them",
        escaped(device)
    )]
    NoSuchDevice {
        /// Its name.
        device: String,
        /// The library's words.
        why: String,
    },
    /// The user may not.
    #[error(
        "{}: no right to capture ({why}); run as root, or once: sudo setcap cap_net_raw,cap_net_admin=eip $(command -v gamewire)",
        escaped(device)
    )]
    NoRight {
        /// The device.
        device: String,
        /// The library's words.
        why: String,
    },
    /// The device cannot be opened, or went away.
    #[error("{}: {why}", escaped(device))]
    Device {
        /// Its name.
        device: String,
        /// The library's words.
        why: String,
    },
    /// The filter is none.
    #[error("-f {expression:?}: {why}; `man pcap-filter` describes the language")]
    Filter {
        /// As it was typed.
        expression: String,
        /// The library's words.
        why: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {}", escaped(&path.to_string_lossy()), unwritable(error))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Root's rights cannot be given up.
    #[error("{0}")]
    Privileges(String),
    /// Signals cannot be waited for.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
}

/// Root's rights are given up before files are written.
fn unwritable(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{error}; files are written as the user of -Z USER, who needs write permission")
                .into()
        }
        _ if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            "it is a symbolic link, in a folder where others may put one; name the file itself"
                .into()
        }
        _ => why::unwritable(error),
    }
}

/// What is to be captured.
#[derive(Clone, Debug, Default)]
pub struct CaptureRequest {
    /// The device's name.
    pub interface: String,
    /// A filter in libpcap's language.
    pub filter: Option<String>,
    /// Bytes kept of each packet.
    pub snaplen: u32,
    /// Packets for others are wanted as well.
    pub promiscuous: bool,
    /// Bytes that the kernel buffers.
    pub buffer: Option<u32>,
    /// How long, in nanoseconds.
    pub duration: Option<i64>,
    /// The user as whom the capture continues once the device is open.
    pub user: Option<String>,
    /// Where packets are kept.
    pub write: Option<FilePlan>,
    /// Files that are to be made when the capture is over.
    pub made_later: Vec<PathBuf>,
}

/// What comes next.
pub enum Turn<'a> {
    /// Packets.
    Packets(Batched<'a>),
    /// Nothing; the time is at least this, in nanoseconds since 1970.
    Nothing(i64),
    /// The capture is over.
    End,
}

/// Packets that came together.
pub struct Batched<'a> {
    batch: &'a QueuedBatch,
    link: LinkType,
    digits: u8,
}

impl Batched<'_> {
    /// How many there are.
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
    writer: Option<Writer>,
    signals: Signals,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    until: Option<Instant>,
    not_begun_anew: Option<LiveError>,
    is_confined: bool,
}

impl Live {
    /// Opens the device, gives up root's rights and begins to capture.
    ///
    /// # Errors
    /// Any [`LiveError`].
    pub fn open(request: &CaptureRequest) -> Result<Live, LiveError> {
        let library = Library::load().ok_or(LiveError::NoLibrary)?;
        let mut handle = device(&library, request)?;
        if let Some(expression) = &request.filter {
            let refused = |why| LiveError::Filter { expression: expression.clone(), why };
            let mut filter = handle.compile(expression).map_err(refused)?;
            handle.set_filter(&mut filter).map_err(refused)?;
        }
        let link = link_type(handle.link());
        let digits = handle.digits();
        let writer = request.write.as_ref().map(|plan| {
            let interface = request.interface.clone();
            let description =
                DeviceDescription { interface, link: link.0, snaplen: request.snaplen, digits };
            let path = plan.path.clone();
            Writer::new(plan.clone(), description, now())
                .map_err(|error| LiveError::Write { path, error })
        });
        let writer = writer.transpose()?;
        let later = request.made_later.iter().map(PathBuf::as_path);
        let written = writer.as_ref().map(Writer::path).into_iter().chain(later.clone());
        let folders: Vec<&Path> = written.map(folder).collect();
        let is_confined = sandbox::confine(&folders);
        let variable = |name: &str| std::env::var_os(name);
        let user = privileges::drop_to(request.user.as_deref(), variable, &folders, is_confined)
            .map_err(LiveError::Privileges)?;
        let rotating = writer.as_ref().filter(|writer| writer.rotates()).map(Writer::path);
        for file in rotating.into_iter().chain(later) {
            may_make(file, user.as_deref())?;
        }
        let signals = Signals::register(writer.is_some()).map_err(LiveError::Signals)?;
        let queue = Arc::new(PacketQueue::new(QUEUE));
        let stopped = Arc::new(AtomicBool::new(false));
        let thread = {
            let (queue, stopped) = (Arc::clone(&queue), Arc::clone(&stopped));
            let ending = signals.ending.clone();
            let state = DeviceState::new(&request.interface);
            std::thread::spawn(move || {
                capture(handle, state, &queue, [&stopped, &ending.stop]);
                // Here, since the thread that reads may wait for whom it writes to.
                ending.next_signal_leaves();
            })
        };
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
            not_begun_anew: None,
            is_confined,
        })
    }

    /// Waits for packets, a moment at most.
    ///
    /// # Errors
    /// The device went away, or a file cannot be written.
    pub fn turn(&mut self) -> Result<Turn<'_>, LiveError> {
        let over = self.until.is_some_and(|until| Instant::now() >= until);
        if over || self.signals.ending.is_stopped() {
            self.stopped.store(true, Ordering::Relaxed);
            if let Some(thread) = self.thread.take() {
                // What the thread has to say is in the queue.
                thread.join().ok();
            }
        }
        match self.queue.take(&mut self.batch, LONGEST_TURN) {
            Ok(()) => {}
            Err(None) => return Ok(Turn::End),
            Err(Some(why)) => {
                return Err(LiveError::Device { device: self.interface.clone(), why });
            }
        }
        if self.signals.reopen.swap(false, Ordering::Relaxed) {
            self.not_begun_anew = self.written(|writer| writer.next(now())).err();
        }
        if self.batch.entries.is_empty() {
            return Ok(Turn::Nothing(now() - ON_THE_WAY));
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
        Ok(Turn::Packets(Batched { batch: &self.batch, link: self.link, digits: self.digits }))
    }

    fn written(
        &mut self,
        work: impl FnOnce(&mut Writer) -> io::Result<()>,
    ) -> Result<(), LiveError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        work(writer).map_err(|error| LiveError::Write { path: writer.path().to_owned(), error })
    }

    /// Whether and how it is to end.
    pub fn ending(&self) -> Ending {
        self.signals.ending.clone()
    }

    /// Whether the system keeps the process to the folders that it writes to.
    pub fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Says how many packets were captured and not handed out.
    pub fn waiting(&self) -> impl Fn() -> u64 + use<> {
        let queue = Arc::clone(&self.queue);
        move || queue.waiting()
    }

    /// What was counted so far.
    pub fn counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Whether a signal has asked for the counts since the last time.
    pub fn counts_wanted(&self) -> bool {
        self.signals.counts.swap(false, Ordering::Relaxed)
    }

    /// Why the file was not begun anew when a signal last asked for it: the old one goes on.
    pub fn not_begun_anew(&mut self) -> Option<LiveError> {
        self.not_begun_anew.take()
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

fn device(library: &Arc<Library>, request: &CaptureRequest) -> Result<Handle, LiveError> {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let opening = Opening {
        snaplen: number(request.snaplen),
        promiscuous: request.promiscuous,
        buffer: request.buffer.map(number),
        timeout: HANDED_ON,
    };
    let device = request.interface.clone();
    Handle::open(library, &request.interface, opening).map_err(|refusal| match refusal {
        Refusal::NoSuchDevice(why) => LiveError::NoSuchDevice { device, why },
        Refusal::NoRight(why) => LiveError::NoRight { device, why },
        Refusal::Other(why) => LiveError::Device { device, why },
    })
}

/// Whether the user that root's rights are given up for can create files beside this one.
fn may_make(file: &Path, user: Option<&str>) -> Result<(), LiveError> {
    let folder = folder(file);
    let Some(user) = user else { return Ok(()) };
    if privileges::may_make_in(folder) {
        return Ok(());
    }
    let what = format!(
        "cannot rotate files in '{}': user '{user}', as whom gamewire runs after opening the \
         interface, has no write permission there; use -Z USER or another directory",
        escaped(&folder.to_string_lossy())
    );
    Err(LiveError::Privileges(what))
}

/// Where a file is, or is to be.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Takes packets from the device until it is asked to stop, or the device goes away.
fn capture(
    mut handle: Handle,
    mut state: DeviceState,
    queue: &PacketQueue,
    stops: [&AtomicBool; 2],
) {
    let unit = if handle.digits() == 9 { 1 } else { 1000 };
    let mut counted = Instant::now();
    loop {
        if stops.into_iter().any(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        match handle.next() {
            Ok(Some(raw)) => {
                let time = raw.seconds.saturating_mul(1_000_000_000);
                let time = time.saturating_add(raw.fraction.saturating_mul(unit));
                queue.push(time, raw.length, raw.data);
            }
            Ok(None) => handle.wait(LONGEST_TURN.as_millis() as u16),
            Err(why) => {
                queue.end(Some(why));
                return;
            }
        }
        if counted.elapsed() >= Duration::from_secs(1) {
            counted = Instant::now();
            if let Some(stats) = handle.stats() {
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
    if let Some(stats) = handle.stats() {
        queue.stats(stats);
    }
    queue.end(None);
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The link type as capture files number it: for a few the library has numbers of its own.
fn link_type(number: i32) -> LinkType {
    match number {
        12 | 14 => LinkType::RAW,
        number => LinkType(u16::try_from(number).unwrap_or(u16::MAX)),
    }
}

/// The library's number of a link type.
fn library_number(link: LinkType) -> i32 {
    match link {
        LinkType::RAW => 12,
        LinkType(number) => number.into(),
    }
}

/// A filter for the packets of files, compiled for each link type when that turns up.
pub struct FileFilter {
    library: Arc<Library>,
    expression: String,
    compiled: HashMap<u16, BpfFilter>,
}

impl FileFilter {
    /// A filter in libpcap's language. It is tried on Ethernet, so that a mistake shows at once.
    ///
    /// # Errors
    /// The library is missing, or the expression is none.
    pub fn new(expression: &str) -> Result<FileFilter, LiveError> {
        let library = Library::load().ok_or(LiveError::NoLibrary)?;
        let (expression, compiled) = (expression.to_owned(), HashMap::new());
        let mut filter = FileFilter { library, expression, compiled };
        filter.compile(LinkType::ETHERNET)?;
        Ok(filter)
    }

    fn compile(&mut self, link: LinkType) -> Result<(), LiveError> {
        let refused = |why| LiveError::Filter { expression: self.expression.clone(), why };
        let handle = Handle::dead(&self.library, library_number(link), 262_144)
            .ok_or_else(|| refused("libpcap has no memory".to_owned()))?;
        let filter = handle.compile(&self.expression).map_err(refused)?;
        self.compiled.insert(link.0, filter);
        Ok(())
    }

    /// Whether it takes a packet.
    ///
    /// # Errors
    /// The expression does not go with the packet's link type.
    pub fn takes(&mut self, packet: &Packet<'_>) -> Result<bool, LiveError> {
        if !self.compiled.contains_key(&packet.link.0) {
            self.compile(packet.link)?;
        }
        let filter = self.compiled.get(&packet.link.0);
        Ok(filter.is_some_and(|filter| filter.takes(packet.data, packet.original_length)))
    }
}

/// The network devices, a line each.
///
/// # Errors
/// The library is missing, or cannot list them.
pub fn interfaces() -> Result<String, LiveError> {
    let library = Library::load().ok_or(LiveError::NoLibrary)?;
    let failed = |why| LiveError::Device { device: "the list of interfaces".to_owned(), why };
    let devices = library.devices().map_err(failed)?;
    let mut lines = String::new();
    let width = devices.iter().map(|device| device.name.len()).max().unwrap_or(0);
    for device in devices {
        let state = match (device.up, device.running) {
            (true, true) => "up, running",
            (true, false) => "up",
            (false, _) => "down",
        };
        let loopback = if device.loopback { ", loopback" } else { "" };
        let name = escaped(&device.name).into_owned();
        lines += &format!("{name:width$}  {state}{loopback}");
        if let Some(description) = &device.description {
            lines += &format!("  {}", escaped(description));
        }
        lines.push('\n');
    }
    if lines.is_empty() {
        return Err(failed("there is none that you may capture on".to_owned()));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_types_have_two_numbers() {
        assert_eq!(link_type(12), LinkType::RAW);
        assert_eq!(library_number(LinkType::RAW), 12);
        assert_eq!(link_type(276), LinkType::LINUX_SLL2);
        assert_eq!(library_number(LinkType::ETHERNET), 1);
        assert_eq!(link_type(-1), LinkType(u16::MAX));
    }

    #[test]
    fn errors_say_what_to_do() {
        assert!(LiveError::NoLibrary.to_string().contains("apt install libpcap0.8"));
        let (device, why) = ("eth0".to_owned(), "denied".to_owned());
        assert!(LiveError::NoRight { device, why }.to_string().contains("setcap"));
    }
}
