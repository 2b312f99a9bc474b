//! Loads libpcap on demand, so that gamewire builds and reads files without it.
//!
//! The only module that calls into the library, and so the only one here with `unsafe`.
//! Why it is sound: the signatures are those of `pcap/pcap.h`, unchanged since libpcap 1.5; a
//! handle is used by one thread at a time, is closed once, and keeps the library loaded; memory of
//! the library is copied, or borrowed from the handle until its next call.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_uint, c_void};
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::device::{Device, Opening, Raw, Refusal, Stats};

/// The file names of the library; the second one is Debian's.
const NAMES: &[&str] = if cfg!(target_os = "macos") {
    &["libpcap.A.dylib", "libpcap.dylib"]
} else {
    &["libpcap.so.1", "libpcap.so.0.8", "libpcap.so"]
};

/// Bytes of the library's buffer for errors.
const ERROR: usize = 256;

const NO_SUCH_DEVICE: c_int = -5;
const NO_RIGHT: c_int = -8;
const NO_RIGHT_TO_PROMISCUOUS: c_int = -11;
const NANOSECONDS: c_int = 1;
const UNKNOWN_NETWORK: c_uint = 0xFFFF_FFFF;

#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

/// `struct pcap_pkthdr`.
#[repr(C)]
struct PcapHeader {
    time: libc::timeval,
    captured: u32,
    length: u32,
}

/// `struct pcap_stat`.
#[repr(C)]
#[derive(Default)]
struct PcapStats {
    received: c_uint,
    dropped: c_uint,
    dropped_by_interface: c_uint,
    /// Some systems have further fields.
    _more: [c_uint; 8],
}

/// `struct bpf_program`.
#[repr(C)]
struct Program {
    length: c_uint,
    instructions: *mut c_void,
}

/// `struct pcap_if`.
#[repr(C)]
struct PcapInterface {
    next: *mut PcapInterface,
    name: *const c_char,
    description: *const c_char,
    addresses: *mut c_void,
    flags: c_uint,
}

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Functions {
            /// # Safety
            /// `library` is libpcap, and stays loaded as long as the result is used.
            unsafe fn of(library: &libloading::Library) -> Result<Functions, libloading::Error> {
                Ok(Functions { $($field: unsafe { *library.get($name)? },)+ })
            }
        }
    };
}

functions! {
    create = b"pcap_create\0": fn(*const c_char, *mut c_char) -> *mut Opaque;
    set_snaplen = b"pcap_set_snaplen\0": fn(*mut Opaque, c_int) -> c_int;
    set_promiscuous = b"pcap_set_promisc\0": fn(*mut Opaque, c_int) -> c_int;
    set_timeout = b"pcap_set_timeout\0": fn(*mut Opaque, c_int) -> c_int;
    set_immediate = b"pcap_set_immediate_mode\0": fn(*mut Opaque, c_int) -> c_int;
    set_buffer = b"pcap_set_buffer_size\0": fn(*mut Opaque, c_int) -> c_int;
    set_precision = b"pcap_set_tstamp_precision\0": fn(*mut Opaque, c_int) -> c_int;
    precision = b"pcap_get_tstamp_precision\0": fn(*mut Opaque) -> c_int;
    activate = b"pcap_activate\0": fn(*mut Opaque) -> c_int;
    error = b"pcap_geterr\0": fn(*mut Opaque) -> *const c_char;
    status = b"pcap_statustostr\0": fn(c_int) -> *const c_char;
    link = b"pcap_datalink\0": fn(*mut Opaque) -> c_int;
    compile = b"pcap_compile\0": fn(*mut Opaque, *mut Program, *const c_char, c_int, c_uint) -> c_int;
    set_filter = b"pcap_setfilter\0": fn(*mut Opaque, *mut Program) -> c_int;
    free_program = b"pcap_freecode\0": fn(*mut Program);
    offline = b"pcap_offline_filter\0": fn(*const Program, *const PcapHeader, *const c_uchar) -> c_int;
    next = b"pcap_next_ex\0": fn(*mut Opaque, *mut *const PcapHeader, *mut *const c_uchar) -> c_int;
    set_nonblocking = b"pcap_setnonblock\0": fn(*mut Opaque, c_int, *mut c_char) -> c_int;
    descriptor = b"pcap_get_selectable_fd\0": fn(*mut Opaque) -> c_int;
    stats = b"pcap_stats\0": fn(*mut Opaque, *mut PcapStats) -> c_int;
    close = b"pcap_close\0": fn(*mut Opaque);
    open_dead = b"pcap_open_dead\0": fn(c_int, c_int) -> *mut Opaque;
    find_all = b"pcap_findalldevs\0": fn(*mut *mut PcapInterface, *mut c_char) -> c_int;
    free_all = b"pcap_freealldevs\0": fn(*mut PcapInterface);
}

/// The loaded library.
pub(super) struct Library {
    functions: Functions,
    // Declared after the functions, so that it is dropped after them.
    _library: libloading::Library,
}

impl Library {
    /// Searches the system's library paths.
    pub(super) fn load() -> Option<Arc<Library>> {
        Library::load_as(NAMES)
    }

    /// Searches for it under these names.
    pub(super) fn load_as(names: &[&str]) -> Option<Arc<Library>> {
        names.iter().find_map(|name| {
            // SAFETY: libpcap has no initialisers with side effects, and the functions are used
            // with the signatures that its header declares.
            unsafe {
                let library = libloading::Library::new(*name).ok()?;
                let functions = Functions::of(&library).ok()?;
                Some(Arc::new(Library { functions, _library: library }))
            }
        })
    }

    /// All devices.
    pub(super) fn devices(&self) -> Result<Vec<Device>, String> {
        let mut error = [0; ERROR];
        let mut first = ptr::null_mut();
        // SAFETY: both point to memory that the library may write to; the list is read before it is freed,
        // and its texts are copied.
        unsafe {
            if (self.functions.find_all)(&raw mut first, error.as_mut_ptr()) != 0 {
                return Err(text(error.as_ptr()).unwrap_or_default());
            }
            let mut devices = Vec::new();
            let mut at = first;
            while let Some(interface) = at.as_ref() {
                if let Some(name) = text(interface.name) {
                    devices.push(Device {
                        name,
                        description: text(interface.description),
                        loopback: interface.flags & 1 != 0,
                        up: interface.flags & 2 != 0,
                        running: interface.flags & 4 != 0,
                    });
                }
                at = interface.next;
            }
            (self.functions.free_all)(first);
            Ok(devices)
        }
    }
}

/// # Safety
/// `text` is null, or ends with a zero byte and does not change during the call.
unsafe fn text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// An open device, or a placeholder of which only the link type is known.
pub(super) struct Handle {
    library: Arc<Library>,
    pcap: NonNull<Opaque>,
}

// SAFETY: a handle has no thread-local state in the library; it is not shared, only moved.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and not used after this.
        unsafe { (self.library.functions.close)(self.pcap.as_ptr()) }
    }
}

impl Handle {
    pub(super) fn open(
        library: &Arc<Library>,
        device: &str,
        opening: Opening,
    ) -> Result<Handle, Refusal> {
        let nul = |_| Refusal::NoSuchDevice("the name contains a zero byte".to_owned());
        let name = CString::new(device).map_err(nul)?;
        let functions = &library.functions;
        let mut error = [0; ERROR];
        // SAFETY: name and buffer outlive the call.
        let pcap = unsafe { (functions.create)(name.as_ptr(), error.as_mut_ptr()) };
        let Some(pcap) = NonNull::new(pcap) else {
            // SAFETY: the library has written a text that ends with a zero byte.
            let why = unsafe { text(error.as_ptr()) };
            return Err(Refusal::Other(why.unwrap_or_default()));
        };
        let handle = Handle { library: Arc::clone(library), pcap };
        let at = pcap.as_ptr();
        // SAFETY: the handle is created and not yet activated, as all of these functions require.
        let status = unsafe {
            (functions.set_snaplen)(at, opening.snaplen);
            (functions.set_promiscuous)(at, opening.promiscuous.into());
            (functions.set_timeout)(at, opening.timeout);
            // Packets are delivered after the timeout at the latest. The library's immediate mode
            // would be a little faster, but reserves the maximum packet size for each packet: on
            // the loopback interface 64 KiB, which fills a buffer of many megabytes at once.
            (functions.set_immediate)(at, 0);
            (functions.set_precision)(at, NANOSECONDS);
            if let Some(buffer) = opening.buffer {
                (functions.set_buffer)(at, buffer);
            }
            (functions.activate)(at)
        };
        match status {
            0.. => handle.without_waiting(),
            NO_SUCH_DEVICE => Err(Refusal::NoSuchDevice(handle.why(status))),
            NO_RIGHT | NO_RIGHT_TO_PROMISCUOUS => Err(Refusal::NoRight(handle.why(status))),
            _ => Err(Refusal::Other(handle.why(status))),
        }
    }

    /// Switches to non-blocking reads: a blocking one does not return while there are no packets.
    /// [`Handle::wait`] waits instead.
    fn without_waiting(self) -> Result<Handle, Refusal> {
        let mut error = [0; ERROR];
        // SAFETY: the handle is activated; the library writes a text that ends with a zero byte.
        unsafe {
            if (self.library.functions.set_nonblocking)(self.pcap.as_ptr(), 1, error.as_mut_ptr())
                < 0
            {
                return Err(Refusal::Other(text(error.as_ptr()).unwrap_or_default()));
            }
        }
        Ok(self)
    }

    /// Waits until there is something to read, at most for this number of milliseconds.
    pub(super) fn wait(&self, milliseconds: u16) {
        // SAFETY: the handle is open, so its descriptor is open while it is borrowed.
        let descriptor = unsafe {
            let number = (self.library.functions.descriptor)(self.pcap.as_ptr());
            (number >= 0).then(|| BorrowedFd::borrow_raw(number))
        };
        match descriptor {
            Some(descriptor) => {
                let mut fds = [PollFd::new(descriptor, PollFlags::POLLIN)];
                // Errors of the descriptor are reported by the next read.
                poll(&mut fds, PollTimeout::from(milliseconds)).ok();
            }
            None => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }

    /// A handle without a device, to compile filters for the library's link type `link`.
    pub(super) fn dead(library: &Arc<Library>, link: i32, snaplen: i32) -> Option<Handle> {
        // SAFETY: the arguments are plain numbers.
        let pcap = unsafe { (library.functions.open_dead)(link, snaplen) };
        Some(Handle { library: Arc::clone(library), pcap: NonNull::new(pcap)? })
    }

    /// The library's texts for a status and for the last error.
    fn why(&self, status: c_int) -> String {
        // SAFETY: the handle is open; both return texts that end with a zero byte.
        let (status, met) =
            unsafe { (text((self.library.functions.status)(status)), self.error()) };
        match (status, met) {
            (Some(status), met) if met.is_empty() || met == status => status,
            (Some(status), met) => format!("{status}: {met}"),
            (None, met) => met,
        }
    }

    fn error(&self) -> String {
        // SAFETY: the handle is open, and its buffer holds a text that ends with a zero byte.
        unsafe { text((self.library.functions.error)(self.pcap.as_ptr())) }.unwrap_or_default()
    }

    /// The link type in the library's numbering.
    pub(super) fn link(&self) -> i32 {
        // SAFETY: the handle is open.
        unsafe { (self.library.functions.link)(self.pcap.as_ptr()) }
    }

    /// Digits of a second: 6 or 9.
    pub(super) fn digits(&self) -> u8 {
        // SAFETY: the handle is open.
        let precision = unsafe { (self.library.functions.precision)(self.pcap.as_ptr()) };
        if precision == NANOSECONDS { 9 } else { 6 }
    }

    /// Compiles a filter expression; the error is the library's.
    pub(super) fn compile(&self, expression: &str) -> Result<BpfFilter, String> {
        let nul = |_| "the expression contains a zero byte".to_owned();
        let expression = CString::new(expression).map_err(nul)?;
        let mut program = Program { length: 0, instructions: ptr::null_mut() };
        // SAFETY: the handle is open; the library fills the program, which is freed once.
        let status = unsafe {
            (self.library.functions.compile)(
                self.pcap.as_ptr(),
                &raw mut program,
                expression.as_ptr(),
                1,
                UNKNOWN_NETWORK,
            )
        };
        if status != 0 {
            return Err(self.error());
        }
        Ok(BpfFilter { library: Arc::clone(&self.library), program })
    }

    /// From here on, only packets that match the filter are captured.
    pub(super) fn set_filter(&mut self, filter: &mut BpfFilter) -> Result<(), String> {
        // SAFETY: handle and program are valid; the library copies the program.
        let status = unsafe {
            (self.library.functions.set_filter)(self.pcap.as_ptr(), &raw mut filter.program)
        };
        if status == 0 { Ok(()) } else { Err(self.error()) }
    }

    /// The next packet, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Raw<'_>>, String> {
        let (mut header, mut data) = (ptr::null(), ptr::null());
        // SAFETY: the handle is open. Header and data are valid until the next call, which must
        // borrow the handle again; the header has the length of the data.
        unsafe {
            let next = self.library.functions.next;
            match next(self.pcap.as_ptr(), &raw mut header, &raw mut data) {
                1 => {}
                0 => return Ok(None),
                _ => return Err(self.error()),
            }
            let Some(header) = header.as_ref() else { return Ok(None) };
            let data = match NonNull::new(data.cast_mut()) {
                Some(data) => std::slice::from_raw_parts(data.as_ptr(), header.captured as usize),
                None => &[],
            };
            #[allow(clippy::unnecessary_cast, reason = "the width differs between systems")]
            Ok(Some(Raw {
                seconds: header.time.tv_sec as i64,
                fraction: header.time.tv_usec as i64,
                length: header.length,
                data,
            }))
        }
    }

    /// The counters so far.
    pub(super) fn stats(&mut self) -> Option<Stats> {
        let mut counters = PcapStats::default();
        // SAFETY: the handle is open; the struct is larger than that of any system.
        let status =
            unsafe { (self.library.functions.stats)(self.pcap.as_ptr(), &raw mut counters) };
        (status == 0).then_some(Stats {
            received: counters.received,
            dropped: counters.dropped,
            dropped_by_interface: counters.dropped_by_interface,
        })
    }
}

/// A compiled filter.
pub(super) struct BpfFilter {
    library: Arc<Library>,
    program: Program,
}

// SAFETY: the program is plain memory that the library reads.
unsafe impl Send for BpfFilter {}

impl Drop for BpfFilter {
    fn drop(&mut self) {
        // SAFETY: the program was compiled, and is freed once.
        unsafe { (self.library.functions.free_program)(&raw mut self.program) }
    }
}

impl BpfFilter {
    /// Whether a packet matches the filter.
    pub(super) fn takes(&self, data: &[u8], length: u32) -> bool {
        let time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let captured = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let header = PcapHeader { time, captured, length };
        // SAFETY: the program is compiled; the header has the length of the data.
        unsafe {
            let offline = self.library.functions.offline;
            offline(&raw const self.program, &raw const header, data.as_ptr()) != 0
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a skipped test is reported")]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_does_not_panic() {
        assert!(Library::load_as(&["libpcap-of-nowhere.so.0"]).is_none());
    }

    #[test]
    fn filters_select_packets() {
        let Some(library) = Library::load() else {
            eprintln!("skipped: libpcap is not installed");
            return;
        };
        let handle = Handle::dead(&library, 12, 65535).unwrap();
        let udp: Vec<u8> = [
            &[0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..],
            &[0xC3, 0x50, 0x69, 0x87, 0, 12, 0, 0, 1, 2, 3, 4],
        ]
        .concat();
        assert!(handle.compile("udp port 27015").unwrap().takes(&udp, 32));
        assert!(!handle.compile("udp port 27016").unwrap().takes(&udp, 32));
        assert!(!handle.compile("tcp").unwrap().takes(&udp, 32));
        assert!(!handle.compile("udp port nonsense").err().unwrap().is_empty());
    }

    #[test]
    fn a_missing_device_is_an_error() {
        let Some(library) = Library::load() else {
            eprintln!("skipped: libpcap is not installed");
            return;
        };
        let opening = Opening { snaplen: 100, promiscuous: false, buffer: None, timeout: 10 };
        assert!(Handle::open(&library, "nowhere0", opening).is_err());
        assert!(Handle::open(&library, "no\0where", opening).is_err());
    }
}
