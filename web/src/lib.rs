//! gamewire's commands for the page, with a plain C interface: the worker writes names and captures into memory, runs
//! a command line, and reads what the command wrote.
//!
//! One command runs at a time, and memory is handed over by address and length. A panic is a trap, after which the
//! worker is replaced.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use gamewire::Terminal;
use gamewire::browser::held;

// The only import: the worker shows progress. Since Rust 1.96, the linker takes a symbol that is undefined for one only
// if its module is named.
#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn gamewire_reached(done: f64, total: f64);
}

/// Bytes that the worker writes, and what the last command wrote to standard output and standard error.
#[derive(Default)]
struct Transfer {
    incoming: Vec<u8>,
    name: PathBuf,
    out: Vec<u8>,
    err: Vec<u8>,
}

thread_local! {
    static TRANSFER: RefCell<Transfer> = RefCell::default();
}

/// Makes room for bytes of this length, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_room(length: usize) -> *mut u8 {
    TRANSFER.with_borrow_mut(|transfer| {
        transfer.incoming = vec![0; length];
        transfer.incoming.as_mut_ptr()
    })
}

/// Takes what the room holds as the name of the next capture.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_name() {
    TRANSFER.with_borrow_mut(|transfer| transfer.name = path(&transfer.take()));
}

/// Keeps what the room holds as a capture with that name.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_put() {
    TRANSFER.with_borrow_mut(|transfer| held::put(transfer.name.clone(), transfer.take()));
}

/// Forgets the capture or output that the room names.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_remove() {
    let name = TRANSFER.with_borrow_mut(Transfer::take);
    held::remove(&path(&name));
}

/// Runs the command line that the room holds, its arguments separated by zeros, and returns the exit code.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_run() -> u32 {
    held::watch(|done, total| {
        // SAFETY: the worker provides this function, which takes two numbers.
        unsafe { gamewire_reached(done as f64, total as f64) }
    });
    let line = TRANSFER.with_borrow_mut(Transfer::take);
    let line = String::from_utf8_lossy(&line);
    let args = std::iter::once("gamewire").chain(line.split('\0')).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = gamewire::run(args, &mut out, &mut err, Terminal::default());
    TRANSFER.with_borrow_mut(|transfer| (transfer.out, transfer.err) = (out, err));
    code.into()
}

/// Takes the output that the room names, in place of standard output; 1 if it is there.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_take() -> u32 {
    TRANSFER.with_borrow_mut(|transfer| {
        let name = path(&transfer.take());
        let Some(output) = held::get(&name) else { return 0 };
        held::remove(&name);
        transfer.out = std::sync::Arc::unwrap_or_clone(output);
        1
    })
}

/// The address of what the last command wrote: 0 is standard output, 1 standard error.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_written(stream: u32) -> *const u8 {
    TRANSFER.with_borrow(|transfer| transfer.stream(stream).as_ptr())
}

/// Its length.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_written_length(stream: u32) -> usize {
    TRANSFER.with_borrow(|transfer| transfer.stream(stream).len())
}

impl Transfer {
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.incoming)
    }

    fn stream(&self, stream: u32) -> &[u8] {
        if stream == 0 { &self.out } else { &self.err }
    }
}

fn path(name: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(name).into_owned())
}
