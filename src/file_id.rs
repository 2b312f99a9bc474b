//! The identity of files, to recognize one under different names.

use std::fs::Metadata;
use std::path::Path;

/// A regular file, identified by device and inode. Other files are not identified: writing to a device
/// or a pipe overwrites nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The regular file at a path, if there is one.
    pub fn of(path: &Path) -> Option<FileId> {
        FileId::from(&std::fs::metadata(path).ok()?)
    }

    /// The regular file that standard output is redirected to, if it is.
    #[cfg(unix)]
    pub fn of_standard_output() -> Option<FileId> {
        use std::fs::File;
        use std::os::fd::AsFd;

        let copy = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
        FileId::from(&File::from(copy).metadata().ok()?)
    }

    /// Unknown on this system.
    #[cfg(not(unix))]
    pub fn of_standard_output() -> Option<FileId> {
        None
    }

    #[cfg(unix)]
    fn from(metadata: &Metadata) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt;

        metadata.is_file().then(|| FileId { device: metadata.dev(), inode: metadata.ino() })
    }

    #[cfg(not(unix))]
    fn from(_: &Metadata) -> Option<FileId> {
        None
    }
}
