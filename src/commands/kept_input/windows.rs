//! Standard input of Windows: a file can be read twice, a pipe cannot.

use std::fs::File;
use std::io::{self, Seek};
use std::os::windows::io::AsHandle;
use std::path::Path;

/// No file is a pipe that could be kept.
pub(super) type Pipe = std::convert::Infallible;

/// Nothing is kept.
///
/// # Errors
/// None.
#[expect(clippy::unnecessary_wraps, reason = "a pipe of Unix may be impossible to keep")]
pub(super) fn keep_pipe(_: &Path) -> io::Result<Option<Pipe>> {
    Ok(None)
}

/// Standard input as a file, and where it begins.
///
/// # Errors
/// It is no file.
pub(super) fn keep() -> io::Result<(File, u64)> {
    let mut file = File::from(io::stdin().as_handle().try_clone_to_owned()?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is a pipe or a terminal"));
    }
    let start = file.stream_position()?;
    Ok((file, start))
}

/// What to do if it is none.
pub(super) fn unkept(_: &str, error: &io::Error) -> String {
    format!(
        "standard input is read twice, which on Windows only a file can be: {error}; name the capture, or redirect it \
         with <"
    )
}
