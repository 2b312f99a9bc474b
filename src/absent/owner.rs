//! Files that are found belong to nobody else: a page has none, and on Windows owners are not compared.

use std::fs::File;
use std::io;
use std::path::Path;

/// The owner of a file that was found, if it is somebody else.
#[expect(clippy::unnecessary_wraps, reason = "a system may not say whose a file is")]
pub(super) fn stranger(_: &Path, _: &File) -> io::Result<Option<String>> {
    Ok(None)
}
