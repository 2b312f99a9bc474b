//! What the path of an output means: symbolic links, FIFOs, devices, and what is refused.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOCTTY, O_NOFOLLOW};

use super::Target;
use crate::capture::Interrupt;

/// Maximum number of symbolic links that are followed, as in Linux.
const LINKS: usize = 40;

/// Why a path is no place for output, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("it is {0}; name a regular file")]
    Kind(&'static str),
    #[error(
        "it is a symbolic link in a folder that other users can write to; name the file itself"
    )]
    Link,
    #[error("it is a link to an open file; name the file itself")]
    OpenFile,
    #[error("too many symbolic links lead from one to another; name the file itself")]
    Links,
    #[error("it is write-protected; name another file")]
    Protected,
    #[error("it is a capture, which would be lost; name another file")]
    Capture,
    #[error("this is no name of a file")]
    NoName,
}

/// A FIFO or a character device.
pub(crate) struct Stream {
    /// Its path.
    pub(crate) place: PathBuf,
    /// How it is opened.
    flags: i32,
}

impl Stream {
    /// Opens a FIFO, as soon as it has a reader, or a device.
    ///
    /// # Errors
    /// It cannot be opened, or the wait was interrupted.
    pub(crate) fn open(&self, interrupt: &Interrupt) -> io::Result<File> {
        let mut options = OpenOptions::new();
        interrupt.open(&self.place, options.write(true).custom_flags(self.flags))
    }
}

impl Target {
    /// Follows the symbolic links at the end of a path.
    ///
    /// # Errors
    /// It is refused, or cannot be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Target> {
        let mut place = path.to_owned();
        for _ in 0..LINKS {
            let metadata = match fs::symlink_metadata(&place) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Target::File(place, None));
                }
                Err(error) => return Err(error),
            };
            if !metadata.is_symlink() {
                return Target::at(place, metadata, O_NOFOLLOW);
            }
            let folder = folder(&place);
            if fs::metadata(folder)?.mode() & 0o022 != 0 {
                return Err(Refusal::Link.into());
            }
            // /dev/stdout, /dev/fd/63: these links have no path to follow.
            if fs::canonicalize(folder)?.starts_with("/proc") {
                let metadata = fs::metadata(&place)?;
                if metadata.is_file() {
                    return Err(Refusal::OpenFile.into());
                }
                return Target::at(place, metadata, 0);
            }
            place = folder.join(fs::read_link(&place)?);
        }
        Err(Refusal::Links.into())
    }

    /// The path that is written to: what the symbolic links lead to.
    #[cfg(feature = "live")]
    pub(crate) fn place(&self) -> &Path {
        match self {
            Target::File(place, _) => place,
            Target::Stream(stream) => &stream.place,
        }
    }

    fn at(place: PathBuf, metadata: Metadata, flags: i32) -> io::Result<Target> {
        let kind = metadata.file_type();
        if kind.is_file() {
            // Neither root nor who may write to the folder is kept from it otherwise.
            match metadata.permissions().readonly() {
                true => Err(Refusal::Protected.into()),
                false => Ok(Target::File(place, Some(metadata))),
            }
        } else if kind.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if kind.is_fifo() || kind.is_char_device() {
            Ok(Target::Stream(Stream { place, flags: flags | O_NOCTTY }))
        } else if kind.is_socket() {
            Err(Refusal::Kind("a socket").into())
        } else {
            Err(Refusal::Kind("a block device").into())
        }
    }
}

/// The folder of a file that need not exist.
pub(crate) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Options for a file whose symbolic links were followed.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(O_NOFOLLOW);
    options
}

/// Gives a new file the owner and the permissions of the one that it replaces.
///
/// # Errors
/// The permissions cannot be set.
pub(super) fn take_over(file: &File, existing: &Metadata) -> io::Result<()> {
    let made = file.metadata()?;
    if (made.uid(), made.gid()) != (existing.uid(), existing.gid()) {
        // Only root can give files away.
        fchown(file, Some(existing.uid()), Some(existing.gid())).ok();
    }
    file.set_permissions(existing.permissions())
}
