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
struct Exchange {
    incoming: Vec<u8>,
    name: PathBuf,
    out: Vec<u8>,
    err: Vec<u8>,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::default();
}

/// Makes room for bytes of this length, and returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_room(length: usize) -> *mut u8 {
    EXCHANGE.with_borrow_mut(|exchange| {
        exchange.incoming = vec![0; length];
        exchange.incoming.as_mut_ptr()
    })
}

/// Takes what the room holds as the name of the next capture.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_name() {
    EXCHANGE.with_borrow_mut(|exchange| exchange.name = path(&exchange.take()));
}

/// Keeps what the room holds as a capture with that name.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_put() {
    EXCHANGE.with_borrow_mut(|exchange| held::put(exchange.name.clone(), exchange.take()));
}

/// Forgets the capture or output that the room names.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_remove() {
    let name = EXCHANGE.with_borrow_mut(Exchange::take);
    held::remove(&path(&name));
}

/// Runs the command line that the room holds, its arguments separated by zeros, and returns the exit code.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_run() -> u32 {
    held::watch(|done, total| {
        // SAFETY: the worker provides this function, which takes two numbers.
        unsafe { gamewire_reached(done as f64, total as f64) }
    });
    let line = EXCHANGE.with_borrow_mut(Exchange::take);
    let line = String::from_utf8_lossy(&line);
    let args = std::iter::once("gamewire").chain(line.split('\0')).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = gamewire::run(args, &mut out, &mut err, Terminal::default());
    EXCHANGE.with_borrow_mut(|exchange| (exchange.out, exchange.err) = (out, err));
    code.into()
}

/// Takes the output that the room names, in place of standard output; 1 if it is there.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_take() -> u32 {
    EXCHANGE.with_borrow_mut(|exchange| {
        let name = path(&exchange.take());
        let Some(output) = held::get(&name) else { return 0 };
        held::remove(&name);
        exchange.out = std::sync::Arc::unwrap_or_clone(output);
        1
    })
}

/// The address of what the last command wrote: 0 is standard output, 1 standard error.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_written(stream: u32) -> *const u8 {
    EXCHANGE.with_borrow(|exchange| exchange.stream(stream).as_ptr())
}

/// Its length.
#[unsafe(no_mangle)]
pub extern "C" fn gamewire_written_length(stream: u32) -> usize {
    EXCHANGE.with_borrow(|exchange| exchange.stream(stream).len())
}

impl Exchange {
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
