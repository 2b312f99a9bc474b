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

/// The captures in a folder, and what else is in it.
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

/// Reports what is skipped. What is in other folders is not known.
fn warn_skipped(folder: &Path, others: &[PathBuf], err: &mut dyn Write) {
    let (folders, files): (Vec<_>, Vec<_>) = others.iter().partition(|path| path.is_dir());
    let folder = folder.to_string_lossy();
    for (why, skipped) in [("no captures", files), ("folders in it are not read", folders)] {
        if !skipped.is_empty() {
            let names = named(&skipped);
            writeln!(err, "gamewire: {}: skipped, {why}: {names}", escaped(&folder)).ok();
        }
    }
}

/// The names of the first paths, and the number of the others.
fn named(paths: &[&PathBuf]) -> String {
    let name = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        escaped(&name).into_owned()
    };
    let mut names: Vec<_> = paths.iter().take(NAMED).map(name).collect();
    let more = paths.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
