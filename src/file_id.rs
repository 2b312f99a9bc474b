//! Which file a path or a stream leads to, whatever it is called.

use std::fs::{File, Metadata};
use std::path::Path;

/// A regular file, by its place on its device. What is written to a device or a pipe destroys nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file that a path leads to, if it leads to one.
    pub fn of(path: &Path) -> Option<FileId> {
        FileId::from(&std::fs::metadata(path).ok()?)
    }

    /// The file that standard output goes to, if it goes to one.
    #[cfg(unix)]
    pub fn of_standard_output() -> Option<FileId> {
        use std::os::fd::AsFd;

        let copy = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
        FileId::from(&File::from(copy).metadata().ok()?)
    }

    /// Not known on this system.
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
