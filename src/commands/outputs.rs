//! Protects the input from being overwritten by the output.

use std::path::{Path, PathBuf};

use crate::commands::Failure;
use crate::file_id::FileId;
use crate::text::escaped;

/// Refuses standard output that is one of the captures.
///
/// # Errors
/// It is.
pub fn refuse_standard_output(output: Option<FileId>, files: &[PathBuf]) -> Result<(), Failure> {
    refuse(output, "standard output", "the capture", files.iter().map(PathBuf::as_path))
}

/// Refuses `-` as the name of an output that is not written to standard output.
///
/// # Errors
/// It is that.
pub(super) fn refuse_dash(output: &Path, option: &str, why: &str) -> Result<(), Failure> {
    match output == Path::new("-") {
        true => Err(Failure::Other(format!("{option} -: {why}"))),
        false => Ok(()),
    }
}

/// Refuses an output file that is one of the captures.
///
/// # Errors
/// It is.
pub(super) fn refuse_capture(
    output: &Path,
    called: &'static str,
    files: &[PathBuf],
) -> Result<(), Failure> {
    refuse(FileId::of(output), called, "the capture", files.iter().map(PathBuf::as_path))
}

/// Refuses a baseline file that is one of the captures or the configuration.
///
/// # Errors
/// It is.
pub(super) fn refuse_baseline(
    baseline: &Path,
    files: &[PathBuf],
    config: Option<&Path>,
) -> Result<(), Failure> {
    let (output, called) = (FileId::of(baseline), "--write-baseline");
    refuse(output, called, "the capture", files.iter().map(PathBuf::as_path))?;
    refuse(output, called, "the configuration", config)
}

fn refuse<'p>(
    output: Option<FileId>,
    called: &'static str,
    what: &'static str,
    files: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(output) = output else { return Ok(()) };
    match files.into_iter().find(|file| FileId::of(file) == Some(output)) {
        Some(file) => {
            let input = escaped(&file.to_string_lossy()).into_owned();
            Err(Failure::OntoInput { output: called, what, input })
        }
        None => Ok(()),
    }
}
