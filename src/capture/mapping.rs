//! A mapped file that may become shorter while it is read.
//!
//! Reading after the end of a mapped file raises SIGBUS, which kills the process. A handler maps a
//! page of zeros there and sets a flag; the reader checks the flag and stops. Any other SIGBUS is
//! passed to the previous handler.
//!
//! This is the only module of `capture` that needs `unsafe`: for mapping, for the handler, and for
//! a prefetch hint.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};

/// Maximum number of files that are mapped and guarded at a time; further ones are read as streams.
const GUARDED: usize = 64;

/// Pages are released in windows of this many bytes.
const WINDOW: usize = 4 << 20;

/// Pages are mapped ahead in stretches of this many bytes, the range of one page table.
pub(super) const STRETCH: usize = 2 << 20;

/// Stretches in a window.
const STRETCHES: usize = WINDOW / STRETCH;

// A window ends where a stretch does.
const _: () = assert!(WINDOW.is_multiple_of(STRETCH));

/// Bytes that the system maps at once around a page fault.
const AROUND: usize = 64 << 10;

/// A mapped range that the handler may repair.
struct Guard {
    start: AtomicUsize,
    end: AtomicUsize,
    taken: AtomicBool,
    mended: AtomicBool,
}

static GUARDS: [Guard; GUARDED] = [const {
    Guard {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        taken: AtomicBool::new(false),
        mended: AtomicBool::new(false),
    }
}; GUARDED];

/// A whole file, mapped for reading.
pub(super) struct Mapping {
    map: Mmap,
    file: File,
    guard: &'static Guard,
    /// The number of readers.
    readers: AtomicU8,
    /// The number of readers that have passed each window.
    passed: Box<[AtomicU8]>,
}

impl Mapping {
    /// Maps a file that is not empty.
    ///
    /// # Errors
    /// The system's error; also if all guards are in use.
    pub(super) fn new(file: File) -> io::Result<Mapping> {
        handler::install()?;
        // SAFETY: the bytes may change while they are mapped; they are read as plain bytes only,
        // and every length found in them is checked against the slice. Pages that vanish are mended
        // by the handler.
        let map = unsafe { MmapOptions::new().map(&file) }?;
        #[cfg(unix)]
        map.advise(memmap2::Advice::Sequential).ok();
        let guard = GUARDS.iter().find(|guard| !guard.taken.swap(true, Ordering::AcqRel));
        let Some(guard) = guard else {
            return Err(io::Error::other("too many files are mapped"));
        };
        let start = map.as_ptr() as usize;
        guard.mended.store(false, Ordering::Release);
        guard.start.store(start, Ordering::Release);
        guard.end.store(start.saturating_add(map.len()), Ordering::Release);
        let passed = (0..map.len().div_ceil(WINDOW)).map(|_| AtomicU8::new(0)).collect();
        Ok(Mapping { map, file, guard, readers: AtomicU8::new(0), passed })
    }

    /// The file's bytes; zeros where it became shorter.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Adds a reader. Returns the previous number of readers.
    pub(super) fn add_reader(&self) -> u8 {
        self.readers.fetch_add(1, Ordering::Relaxed)
    }

    /// A reader, the `nth` from 0, enters a stretch; called for all stretches in order.
    #[cold]
    pub(super) fn enter(&self, stretch: usize, nth: u8) {
        if stretch > 0 && stretch.is_multiple_of(STRETCHES) {
            self.pass(stretch / STRETCHES - 1);
        }
        self.map_ahead(stretch + 1, nth);
    }

    /// With several readers, each maps different stretches ahead: mapping the same ones would make
    /// them wait for each other. This makes reading bulk traffic with two threads 10 % faster.
    fn map_ahead(&self, next: usize, nth: u8) {
        let readers = usize::from(self.readers.load(Ordering::Relaxed));
        // Missing parts of the file are reported only when they are read.
        if readers < 2 || next % readers != usize::from(nth) || self.is_shorter() {
            return;
        }
        let bytes = self.bytes().get(next * STRETCH..).unwrap_or_default();
        for byte in bytes.iter().take(STRETCH).step_by(AROUND) {
            std::hint::black_box(*byte);
        }
    }

    /// A reader has passed a window and will not return. When all have, its pages are released, so
    /// that the work is divided among the threads and a large file does not stay in memory.
    fn pass(&self, window: usize) {
        let Some(passed) = self.passed.get(window) else { return };
        let count = passed.fetch_add(1, Ordering::AcqRel).saturating_add(1);
        if count == self.readers.load(Ordering::Relaxed).max(1) {
            self.release(window);
        }
    }

    #[cfg(unix)]
    fn release(&self, window: usize) {
        // SAFETY: the mapping is a file's, shared and never written to: pages that are read once
        // more all the same come from the file again.
        unsafe {
            let dropped = memmap2::UncheckedAdvice::DontNeed;
            self.map.unchecked_advise_range(dropped, window * WINDOW, WINDOW).ok();
        }
    }

    /// Windows takes pages of files back when it needs memory.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "there is no such advice here")]
    fn release(&self, _: usize) {}

    /// Whether the file became shorter, and the handler put zeros in the place of its bytes.
    #[inline]
    pub(super) fn shrank(&self) -> bool {
        self.guard.mended.load(Ordering::Relaxed)
    }

    /// Asks the system whether the file has become shorter.
    pub(super) fn is_shorter(&self) -> bool {
        let length = || self.file.metadata().map(|metadata| metadata.len());
        self.shrank() || length().is_ok_and(|length| length < self.map.len() as u64)
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.guard.end.store(0, Ordering::Release);
        self.guard.start.store(0, Ordering::Release);
        self.guard.taken.store(false, Ordering::Release);
    }
}

/// Prefetches a byte that will be read soon. (A request to the system for the next pages instead
/// made reading slower by a third.)
#[inline]
pub(super) fn prefetch(byte: &u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which every x86-64 has and which cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}

#[cfg(unix)]
mod handler {
    use std::io;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::GUARDS;

    static PAGE: AtomicUsize = AtomicUsize::new(4096);
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Puts the handler in place, once.
    pub(super) fn install() -> io::Result<()> {
        static INSTALLED: OnceLock<Result<(), io::ErrorKind>> = OnceLock::new();
        let installed = INSTALLED.get_or_init(|| put_in_place().map_err(|error| error.kind()));
        installed.map_err(io::Error::from)
    }

    fn put_in_place() -> io::Result<()> {
        // SAFETY: sysconf reads a constant of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        if let Ok(page) = usize::try_from(page)
            && page.is_power_of_two()
        {
            PAGE.store(page, Ordering::Release);
        }
        let mut before = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: `before` is written by the first call before it is read, and is stored before the
        // handler can be called; the handler is a function of the shape that SA_SIGINFO demands.
        unsafe {
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            BEFORE.get_or_init(|| before.assume_init());
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Runs inside the signal: uses only atomics and two kinds of system calls.
    extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the kernel hands over a valid siginfo, which has an address where
        // the kernel itself raised the signal.
        let (by_kernel, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
        for guard in &GUARDS {
            let start = guard.start.load(Ordering::Acquire);
            let end = guard.end.load(Ordering::Acquire);
            if !by_kernel || start == 0 || address < start || address >= end {
                continue;
            }
            let page = PAGE.load(Ordering::Acquire);
            let at = address & !(page - 1);
            // SAFETY: the page lies in a mapping of ours that only readers of plain bytes use; it
            // is replaced by zeros in one step.
            let mended = unsafe {
                libc::mmap(
                    at as *mut libc::c_void,
                    page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if mended != libc::MAP_FAILED {
                guard.mended.store(true, Ordering::Release);
                return;
            }
        }
        // SAFETY: the previous action is restored. An access that faulted is then repeated, and fails as
        // it would have without this module; a signal that another process sent is sent again, and
        // delivered when this handler returns.
        unsafe {
            match BEFORE.get() {
                Some(before) => libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()),
                None => libc::raise(libc::SIGKILL),
            };
            if !by_kernel {
                libc::raise(libc::SIGBUS);
            }
        }
    }
}

#[cfg(not(unix))]
mod handler {
    /// There is no SIGBUS here: a file that is mapped cannot become shorter on Windows.
    pub(super) fn install() -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests;
