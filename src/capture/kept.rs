//! Named pipes whose bytes were kept in a file: to everything that opens them, they are that file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static KEPT: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

fn kept() -> MutexGuard<'static, Vec<(PathBuf, File)>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A named pipe that can be read any number of times, until this is dropped.
pub(crate) struct KeptPipe(PathBuf);

impl KeptPipe {
    /// Copies what comes from the pipe with this path, until its end, to an empty file.
    ///
    /// # Errors
    /// The pipe cannot be read, or the file not be written.
    pub(crate) fn keep(path: &Path, pipe: &mut dyn Read, mut file: File) -> io::Result<KeptPipe> {
        io::copy(pipe, &mut file)?;
        kept().push((path.to_owned(), file));
        Ok(KeptPipe(path.to_owned()))
    }
}

impl Drop for KeptPipe {
    fn drop(&mut self) {
        kept().retain(|(path, _)| *path != self.0);
    }
}

/// What came from this pipe, if it was kept.
pub(super) fn file(path: &Path) -> Option<io::Result<File>> {
    kept().iter().find(|(kept, _)| kept == path).map(|(_, file)| file.try_clone())
}
