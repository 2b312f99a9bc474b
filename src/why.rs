//! Why a file cannot be used, in words, and what to do about it.
//!
//! It knows what the system says. It refuses to know what the file is for.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};

/// What systems say when a process has as many open files as it may have.
const TOO_MANY_OPEN: i32 = 24;

/// Why a file cannot be read.
pub fn unreadable(error: &Error) -> Cow<'static, str> {
    if error.raw_os_error() == Some(TOO_MANY_OPEN) {
        return Cow::Borrowed(
            "too many files are open at once; raise the limit, as with ulimit -n 4096",
        );
    }
    words(error, |kind| match kind {
        ErrorKind::NotFound => Some("no such file; check its name, and the folder"),
        ErrorKind::PermissionDenied => {
            Some("permission denied; read it as its owner, or ask for read permission")
        }
        ErrorKind::IsADirectory => Some("it is a folder; name a file"),
        ErrorKind::InvalidData => Some("it is not UTF-8 text; save it as UTF-8"),
        _ => None,
    })
}

/// Why a file, or what the output goes to, cannot be written.
pub fn unwritable(error: &Error) -> Cow<'static, str> {
    words(error, |kind| match kind {
        ErrorKind::NotFound => Some("there is no such folder; make it first"),
        ErrorKind::PermissionDenied => Some("permission denied; write where you may"),
        ErrorKind::IsADirectory => Some("it is a folder; name a file"),
        ErrorKind::ReadOnlyFilesystem => Some("nothing may be written there; write elsewhere"),
        ErrorKind::StorageFull => Some("no space is left there; free some, or write elsewhere"),
        _ => None,
    })
}

/// Where nothing better is known, the system's words.
fn words(error: &Error, of: impl FnOnce(ErrorKind) -> Option<&'static str>) -> Cow<'static, str> {
    of(error.kind()).map_or_else(|| Cow::Owned(error.to_string()), Cow::Borrowed)
}
