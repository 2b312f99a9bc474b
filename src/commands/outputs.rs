//! What is written must not be what is read: it would be destroyed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::commands::Failure;
use crate::file_id::FileId;
use crate::text::escaped;

/// Bytes that wait to be written to a file.
const BUFFER: usize = 1 << 18;

/// Refuses to write to a capture what is read from it.
///
/// # Errors
/// Standard output is one of the captures.
pub fn refuse_standard_output(output: Option<FileId>, files: &[PathBuf]) -> Result<(), Failure> {
    refuse(output, "standard output", "the capture", files.iter().map(PathBuf::as_path))
}

/// Refuses to write packets to what is read.
///
/// # Errors
/// It is one of the captures.
pub(super) fn refuse_capture(
    output: &Path,
    called: &'static str,
    files: &[PathBuf],
) -> Result<(), Failure> {
    refuse(FileId::of(output), called, "the capture", files.iter().map(PathBuf::as_path))
}

/// Refuses to write a baseline to what is read.
///
/// # Errors
/// It is one of the captures, or the configuration.
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

/// A file that is written whole or not at all: beside its place first, and then in it. Until then, it is
/// removed where it is dropped.
pub(super) struct Whole {
    file: Option<BufWriter<File>>,
    beside: PathBuf,
    place: PathBuf,
}

impl Whole {
    /// Begins to write what is to be in this place.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(super) fn create(place: &Path) -> io::Result<Whole> {
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let beside = place.with_file_name(name);
        let file = Some(BufWriter::with_capacity(BUFFER, File::create_new(&beside)?));
        Ok(Whole { file, beside, place: place.to_owned() })
    }

    /// It is complete, and still beside its place.
    ///
    /// # Errors
    /// Not all of it can be written.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        let file = self.file.take();
        file.map_or(Ok(()), |file| {
            file.into_inner().map_err(io::IntoInnerError::into_error).map(drop)
        })
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// Not all of it can be written, or it cannot be put there.
    pub(super) fn put(mut self) -> io::Result<()> {
        self.complete()?;
        std::fs::rename(&self.beside, &self.place)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // Where it is in its place, there is nothing beside it.
        let _ = std::fs::remove_file(&self.beside);
    }
}
