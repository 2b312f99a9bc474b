//! What the path of an output means on Windows: a regular file, or a device such as NUL.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::Target;
use crate::capture::Interrupt;

/// Why a path is no place for output, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is write-protected; name another file")]
    Protected,
    #[error("it is a capture, which would be lost; name another file")]
    Capture,
    #[error("this is no name of a file")]
    NoName,
}

/// A device, or a named pipe.
pub(crate) struct Stream(PathBuf);

impl Stream {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(&self, interrupt: &Interrupt) -> io::Result<File> {
        interrupt.open(&self.0, OpenOptions::new().write(true))
    }
}

impl Target {
    /// Follows the symbolic links at the end of a path.
    ///
    /// # Errors
    /// It is refused, or cannot be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Target> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Target::File(path.to_owned(), None));
            }
            Err(error) => return Err(error),
        };
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return Ok(Target::Stream(Stream(path.to_owned())));
        }
        match metadata.permissions().readonly() {
            true => Err(Refusal::Protected.into()),
            false => Ok(Target::File(fs::canonicalize(path)?, Some(metadata))),
        }
    }
}

/// Options for a file whose symbolic links were followed.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

/// A new file has the owner and the permissions that its folder gives it.
#[expect(clippy::unnecessary_wraps, reason = "permissions may be impossible to set")]
pub(super) fn take_over(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}
