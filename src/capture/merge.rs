//! Several captures merged in the order of time.
//!
//! Hourly files hardly overlap. Therefore a regular file is opened first to find when it begins,
//! closed, and opened again at that time, so that few of thousands of files are open at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::unreadable;
use super::input::ReadMemory;
use super::open::{open_as, open_within};
use super::{CaptureError, Event, Notice, Packet, Packets};

/// Opens several captures merged by their packets' times, within this much memory.
///
/// # Errors
/// As [`open_within`], for the first file that cannot be read.
pub fn open_merged(
    paths: &[PathBuf],
    memory: usize,
) -> Result<Box<dyn Packets + Send>, CaptureError> {
    if let [path] = paths {
        return open_within(path, memory);
    }
    Ok(Box::new(MergedPackets::new(paths, memory)?))
}

/// The captures; the one with the next event is at the front. For equal times, the order of the
/// files decides. A capture whose own clock goes backwards keeps its own order.
struct MergedPackets {
    captures: Vec<MergedCapture>,
    /// The memory for each.
    room: ReadMemory,
    waiting: BinaryHeap<Reverse<(i64, usize)>>,
    front: Option<(usize, i64)>,
    begun: bool,
}

/// One of the captures.
struct MergedCapture {
    path: PathBuf,
    state: CaptureState,
    /// For the readers that have not begun it.
    shared: Arc<Mutex<SharedOpening>>,
    /// Bytes read and total bytes, when it was last open.
    progress: Option<(u64, u64)>,
    /// It is not compressed, so that other readers can read it, too.
    is_plain: bool,
    /// Its packets so far.
    packets: u64,
}

/// A capture that several threads read is opened once: they need one file descriptor, and none of them can read
/// what another cannot.
#[derive(Default)]
struct SharedOpening {
    /// Forks that have not begun it.
    waiting: usize,
    opened: Option<Result<Box<dyn Packets + Send>, Notice>>,
}

impl SharedOpening {
    /// The capture as another reader opened it, or as this one does.
    fn begin(
        &mut self,
        open: impl FnOnce() -> Result<Box<dyn Packets + Send>, Notice>,
    ) -> Result<Box<dyn Packets + Send>, Notice> {
        self.waiting = self.waiting.saturating_sub(1);
        let opened = self.opened.take().unwrap_or_else(open);
        if self.waiting > 0 {
            self.opened = match &opened {
                Ok(packets) => packets.fork().map(Ok),
                Err(notice) => Some(Err(notice.clone())),
            };
        }
        opened
    }
}

enum CaptureState {
    /// It is opened when its first event, at this time, is next.
    Closed(Option<i64>),
    Open(Box<dyn Packets + Send>),
    /// It cannot be opened again.
    Failed(Notice),
    Over,
}

impl MergedCapture {
    /// Opens a capture; closes a regular file after reading the time of its first event.
    fn new(path: &Path, file: u32, room: ReadMemory) -> Result<MergedCapture, CaptureError> {
        let mut packets = open_as(path, file, room)?;
        let (progress, is_plain) = (packets.progress(), packets.in_memory().is_some());
        let is_regular = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let state = match is_regular {
            true => CaptureState::Closed(packets.advance()),
            false => CaptureState::Open(packets),
        };
        let (path, shared) = (path.to_owned(), Arc::default());
        Ok(MergedCapture { path, state, shared, progress, is_plain, packets: 0 })
    }

    /// Opens a closed capture again, and moves to its first event.
    fn begin(&mut self, file: usize, room: ReadMemory) {
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        let open = || open_as(&self.path, file, room).map_err(|error| unopened(&self.path, error));
        let opened = self.shared().begin(open);
        self.state = match opened {
            Ok(mut packets) => match packets.advance() {
                Some(_) => CaptureState::Open(packets),
                None => CaptureState::Over,
            },
            Err(notice) => CaptureState::Failed(notice),
        };
    }

    fn shared(&self) -> MutexGuard<'_, SharedOpening> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves to the next event.
    fn advance(&mut self) -> Option<i64> {
        let next = match &mut self.state {
            CaptureState::Closed(first) => return *first,
            CaptureState::Open(packets) => packets.advance(),
            CaptureState::Failed(_) | CaptureState::Over => None,
        };
        if next.is_none() {
            if let CaptureState::Open(packets) = &self.state {
                self.progress = packets.progress();
            }
            self.state = CaptureState::Over;
        }
        next
    }
}

fn unopened(path: &Path, error: CaptureError) -> Notice {
    let what = match error {
        CaptureError::Open { error, .. } => unreadable(&error).into_owned(),
        error => error.to_string(),
    };
    Notice::Unopened { path: path.to_owned(), what }
}

impl MergedPackets {
    /// # Errors
    /// One of them cannot be read.
    fn new(paths: &[PathBuf], memory: usize) -> Result<MergedPackets, CaptureError> {
        let (files, room) = (paths.iter().zip(0..), ReadMemory::of_several(paths.len(), memory));
        let captures = files.map(|(path, file)| MergedCapture::new(path, file, room));
        Ok(MergedPackets::of(captures.collect::<Result<_, _>>()?, room))
    }

    fn of(captures: Vec<MergedCapture>, room: ReadMemory) -> MergedPackets {
        MergedPackets { captures, room, waiting: BinaryHeap::new(), front: None, begun: false }
    }

    /// Advances a capture; a time before its last one counts as that one.
    fn go_on(&mut self, at: usize, last: i64) {
        if let Some(time) = self.captures.get_mut(at).and_then(MergedCapture::advance) {
            self.waiting.push(Reverse((time.max(last), at)));
        }
    }

    /// Opens a capture whose first event is next. The more are decompressed at once, the less
    /// memory each gets.
    #[cold]
    fn begin(&mut self, at: usize) {
        let is_unpacked =
            |it: &&MergedCapture| !it.is_plain && matches!(it.state, CaptureState::Open(_));
        let unpacked = self.captures.iter().filter(is_unpacked).count();
        if let Some(capture) = self.captures.get_mut(at) {
            capture.begin(at, self.room.beside(unpacked));
        }
    }
}

impl MergedPackets {
    /// The capture of the current event.
    fn open(&self) -> Option<&(dyn Packets + Send)> {
        match &self.captures.get(self.front?.0)?.state {
            CaptureState::Open(packets) => Some(packets.as_ref()),
            CaptureState::Closed(_) | CaptureState::Failed(_) | CaptureState::Over => None,
        }
    }
}

impl Packets for MergedPackets {
    fn advance(&mut self) -> Option<i64> {
        if !self.begun {
            self.begun = true;
            for at in 0..self.captures.len() {
                self.go_on(at, i64::MIN);
            }
        } else if let Some((at, time)) = self.front.take() {
            self.go_on(at, time);
        }
        loop {
            let Reverse((time, at)) = self.waiting.pop()?;
            if matches!(self.captures.get(at)?.state, CaptureState::Closed(_)) {
                self.begin(at);
            }
            let capture = self.captures.get_mut(at)?;
            if let CaptureState::Open(packets) = &capture.state {
                capture.packets += u64::from(matches!(packets.current(), Event::Packet(_)));
            }
            // The file may have become empty meanwhile.
            if !matches!(capture.state, CaptureState::Over) {
                self.front = Some((at, time));
                return Some(time);
            }
        }
    }

    fn file(&self) -> u32 {
        self.front.map_or(0, |(at, _)| u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn interface_name(&self) -> Option<&str> {
        self.open()?.interface_name()
    }

    fn comments(&self) -> Vec<String> {
        self.open().map(|packets| packets.comments()).unwrap_or_default()
    }

    fn current(&self) -> Event<'_> {
        let at = self.front.map_or(0, |(at, _)| at);
        let MergedCapture { state, packets: number, .. } = &self.captures[at];
        match state {
            CaptureState::Open(packets) => match packets.current() {
                Event::Packet(packet) => Event::Packet(Packet { number: *number, ..packet }),
                notice => notice,
            },
            CaptureState::Failed(notice) => Event::Notice(notice.clone()),
            CaptureState::Closed(_) | CaptureState::Over => {
                unreachable!("it is in front because it has an event")
            }
        }
    }

    fn fork(&self) -> Option<Box<dyn Packets + Send>> {
        let fork = |capture: &MergedCapture| {
            let state = match &capture.state {
                CaptureState::Closed(first) if capture.is_plain => CaptureState::Closed(*first),
                _ => return None,
            };
            let (path, shared) = (capture.path.clone(), Arc::clone(&capture.shared));
            capture.shared().waiting += 1;
            let progress = capture.progress;
            Some(MergedCapture { path, state, shared, progress, is_plain: true, packets: 0 })
        };
        let captures = self.captures.iter().map(fork).collect::<Option<_>>()?;
        Some(Box::new(MergedPackets::of(captures, self.room)))
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let progress = self.captures.iter().map(|capture| match &capture.state {
            CaptureState::Open(packets) => packets.progress(),
            _ => capture.progress,
        });
        progress.sum::<Option<TotalProgress>>().map(|TotalProgress(done, total)| (done, total))
    }
}

/// Progress of several captures added up.
struct TotalProgress(u64, u64);

impl std::iter::Sum<(u64, u64)> for TotalProgress {
    fn sum<I: Iterator<Item = (u64, u64)>>(each: I) -> TotalProgress {
        each.fold(TotalProgress(0, 0), |sum, (done, total)| {
            TotalProgress(sum.0 + done, sum.1 + total)
        })
    }
}
