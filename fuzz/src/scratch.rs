//! Temporary files, because captures are opened by name.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file of this thread, which is removed when the thread ends.
struct Scratch(PathBuf);

thread_local! {
    static SCRATCH: OnceCell<Scratch> = const { OnceCell::new() };
}

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gamewire-fuzz-{}-{number}", std::process::id());
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        Scratch(folder.join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Calls `work` with a file that contains these bytes.
pub(crate) fn with_file<T>(bytes: &[u8], work: impl FnOnce(&Path) -> T) -> T {
    SCRATCH.with(|scratch| {
        let Scratch(path) = scratch.get_or_init(Scratch::new);
        fs::write(path, bytes).expect("the folder for temporary files takes a file");
        work(path)
    })
}
