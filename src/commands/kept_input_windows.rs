//! Standard input that can be read twice, on Windows: a file can, a pipe cannot.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::windows::io::AsHandle;
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
    /// It is no file.
    pub(super) fn of(files: &[impl AsRef<Path>]) -> Result<Option<KeptInput>, Failure> {
        if !files.iter().any(|file| file.as_ref() == Path::new("-")) {
            return Ok(None);
        }
        KeptInput::keep().map(Some).map_err(|error| {
            Failure::Other(format!(
                "standard input is read twice, which on Windows only a file can be: {error}; name the capture, or \
                 redirect it with <"
            ))
        })
    }

    fn keep() -> io::Result<KeptInput> {
        let mut file = File::from(io::stdin().as_handle().try_clone_to_owned()?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is a pipe or a terminal"));
        }
        let start = file.stream_position()?;
        Ok(KeptInput { file, start })
    }

    /// Standard input is read from its beginning again.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.start)).map(drop)
    }
}
