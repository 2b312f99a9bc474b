//! The captures that were handed over and the outputs that commands made, by name: what a file system is elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The bytes of a capture or an output.
pub type HeldBytes = Arc<Vec<u8>>;

static HELD: Mutex<BTreeMap<PathBuf, HeldBytes>> = Mutex::new(BTreeMap::new());

/// Told how many bytes of how many were read; 0 if the number is unknown.
pub type Reached = fn(done: u64, total: u64);

static REACHED: OnceLock<Reached> = OnceLock::new();

fn held() -> MutexGuard<'static, BTreeMap<PathBuf, HeldBytes>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps bytes under a name.
pub fn put(name: PathBuf, bytes: Vec<u8>) {
    held().insert(name, Arc::new(bytes));
}

/// The bytes with that name.
pub fn get(name: &Path) -> Option<HeldBytes> {
    held().get(name).cloned()
}

/// Forgets the bytes with that name.
pub fn remove(name: &Path) {
    held().remove(name);
}

/// Has progress reported from now on; only the first call counts.
pub fn watch(reached: Reached) {
    REACHED.get_or_init(|| reached);
}

/// Reports progress.
pub(crate) fn reached(done: u64, total: u64) {
    if let Some(reached) = REACHED.get() {
        reached(done, total);
    }
}
