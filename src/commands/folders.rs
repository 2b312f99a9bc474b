//! Replaces folders by the captures in them, recognized by their content.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::capture::{self, CaptureError};
use crate::text::escaped;

/// Maximum number of skipped files that are named.
const NAMED: usize = 3;

/// Replaces each folder by its captures, sorted by name, and reports skipped files. A folder that
/// cannot be read, or has no captures, remains, so that opening it reports the error.
pub fn expand(files: &mut Vec<PathBuf>, err: &mut dyn Write) {
    if !files.iter().any(|file| file.is_dir()) {
        return;
    }
    let mut expanded = Vec::with_capacity(files.len());
    for file in files.drain(..) {
        match inside(&file) {
            Ok((captures, others)) if !captures.is_empty() => {
                expanded.extend(captures);
                warn_skipped(&file, &others, err);
            }
            _ => expanded.push(file),
        }
    }
    *files = expanded;
}

/// The captures in a folder, and its other files.
fn inside(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths.into_iter().partition(|path| is_capture(path)))
}

/// Whether a file should be read; unreadable captures are reported later.
fn is_capture(path: &Path) -> bool {
    // Opening a pipe would block.
    path.is_file() && !matches!(capture::open(path), Err(CaptureError::NotACapture { .. }))
}

fn warn_skipped(folder: &Path, others: &[PathBuf], err: &mut dyn Write) {
    let name = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        escaped(&name).into_owned()
    };
    let mut names: Vec<_> = others.iter().take(NAMED).map(name).collect();
    if names.is_empty() {
        return;
    }
    let more = others.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let (folder, names) = (folder.to_string_lossy(), names.join(", "));
    writeln!(err, "gamewire: {}: skipped, no captures: {names}", escaped(&folder)).ok();
}
