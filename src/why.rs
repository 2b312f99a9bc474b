//! Texts for the system's errors about files: the reason, and what to do.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};

/// EMFILE: the process has too many open files.
const TOO_MANY_OPEN: i32 = 24;

/// Why a file cannot be read.
pub fn unreadable(error: &Error) -> Cow<'static, str> {
    if error.raw_os_error() == Some(TOO_MANY_OPEN) {
        return Cow::Borrowed(
            "too many open files; raise the limit, for example with ulimit -n 4096",
        );
    }
    words(error, |kind| match kind {
        ErrorKind::NotFound => Some("no such file; check its name and folder"),
        ErrorKind::PermissionDenied => Some("permission denied; you need read permission"),
        ErrorKind::IsADirectory => Some("it is a folder; name a file"),
        ErrorKind::InvalidData => Some("it is not UTF-8 text; save it as UTF-8"),
        _ => None,
    })
}

/// Why a file, or what the output goes to, cannot be written.
pub fn unwritable(error: &Error) -> Cow<'static, str> {
    words(error, |kind| match kind {
        ErrorKind::NotFound => Some("no such folder; create it first"),
        ErrorKind::PermissionDenied => Some("permission denied; write to another folder"),
        ErrorKind::IsADirectory => Some("it is a folder; name a file"),
        ErrorKind::AlreadyExists => {
            Some("it is there already; choose another name, or move it away")
        }
        ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only; write to another folder")
        }
        ErrorKind::StorageFull => Some("no space left; free some, or write to another folder"),
        _ => None,
    })
}

/// The text for an error, or else the system's.
fn words(error: &Error, of: impl FnOnce(ErrorKind) -> Option<&'static str>) -> Cow<'static, str> {
    of(error.kind()).map_or_else(|| Cow::Owned(error.to_string()), Cow::Borrowed)
}
