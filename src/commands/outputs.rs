//! Protects the input from being overwritten by the output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::commands::Failure;
use crate::file_id::FileId;
use crate::text::escaped;

/// Size of the buffer of an output file.
const BUFFER: usize = 1 << 18;

/// Refuses standard output that is one of the captures.
///
/// # Errors
/// It is.
pub fn refuse_standard_output(output: Option<FileId>, files: &[PathBuf]) -> Result<(), Failure> {
    refuse(output, "standard output", "the capture", files.iter().map(PathBuf::as_path))
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

/// A file that is written under a temporary name and renamed when complete. If dropped before that,
/// it is removed.
pub(super) struct AtomicFile {
    file: Option<BufWriter<File>>,
    beside: PathBuf,
    place: PathBuf,
}

impl AtomicFile {
    /// Begins to write a file for this path.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(super) fn create(place: &Path) -> io::Result<AtomicFile> {
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let beside = place.with_file_name(name);
        let file = Some(BufWriter::with_capacity(BUFFER, File::create_new(&beside)?));
        Ok(AtomicFile { file, beside, place: place.to_owned() })
    }

    /// Completes it, still under its temporary name.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        let file = self.file.take();
        file.map_or(Ok(()), |file| {
            file.into_inner().map_err(io::IntoInnerError::into_error).map(drop)
        })
    }

    /// Renames it.
    ///
    /// # Errors
    /// Some of it cannot be written, or it cannot be renamed.
    pub(super) fn put(mut self) -> io::Result<()> {
        self.complete()?;
        std::fs::rename(&self.beside, &self.place)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After renaming, there is no temporary file.
        let _ = std::fs::remove_file(&self.beside);
    }
}
