//! Standard input that can be read twice.

#[cfg(unix)]
#[path = "kept_input/unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "kept_input/windows.rs"]
mod system;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use crate::commands::Failure;

/// Standard input, and where it began.
pub(super) struct KeptInput {
    file: File,
    start: u64,
}

impl KeptInput {
    /// Standard input, if it is among these files.
    ///
    /// # Errors
    /// It cannot be read twice.
    pub(super) fn of(files: &[impl AsRef<Path>]) -> Result<Option<KeptInput>, Failure> {
        if !files.iter().any(|file| file.as_ref() == Path::new("-")) {
            return Ok(None);
        }
        let (file, start) =
            system::keep().map_err(|error| Failure::Other(system::unkept(&error)))?;
        Ok(Some(KeptInput { file, start }))
    }

    /// Standard input is read from its beginning again.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.start)).map(drop)
    }
}
