//! What is written at the end of a capture.

use std::path::PathBuf;

/// Something that is written at the end of a capture, by an unprivileged and confined process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaterOutput {
    /// A file that is written under another name and renamed.
    Replaced(PathBuf),
    /// A file that is appended to.
    Appended(PathBuf),
    /// New files in a folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// This process made it.
        is_new: bool,
    },
}
