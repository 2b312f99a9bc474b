//! The outputs of commands, kept by name.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::held;
use crate::capture;

/// An output that is complete or not there.
pub(crate) struct OutputFile {
    name: PathBuf,
    bytes: Vec<u8>,
}

impl OutputFile {
    /// Begins to write the output with this name, which is no capture, and replaces none.
    pub(crate) fn create(name: &Path) -> io::Result<OutputFile> {
        try_appending(name)?;
        OutputFile::create_capture(name)
    }

    /// Begins to write a capture.
    #[expect(clippy::unnecessary_wraps, reason = "a file may be impossible to write")]
    pub(crate) fn create_capture(name: &Path) -> io::Result<OutputFile> {
        Ok(OutputFile { name: name.to_owned(), bytes: Vec::new() })
    }

    /// Begins to write an output that must not exist.
    pub(crate) fn create_new(name: &Path) -> io::Result<OutputFile> {
        match held::get(name) {
            Some(_) => Err(io::ErrorKind::AlreadyExists.into()),
            None => OutputFile::create_capture(name),
        }
    }

    /// Whether it could be written.
    pub(crate) fn try_creating(name: &Path) -> io::Result<()> {
        OutputFile::create(name).map(drop)
    }

    /// Completes it, which cannot fail.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "a file may be impossible to write"
    )]
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Puts it in its place.
    pub(crate) fn put(self) -> io::Result<()> {
        held::put(self.name, self.bytes);
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a folder for outputs: a name needs none.
#[expect(clippy::unnecessary_wraps, reason = "a folder may be impossible to create")]
pub(crate) fn create_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// An output that is appended to: it is put in its place on drop.
pub(crate) struct Appended(Option<OutputFile>);

/// Whether an output could be appended to: not to a capture.
pub(crate) fn try_appending(name: &Path) -> io::Result<()> {
    match held::get(name) {
        Some(bytes) if capture::begins_one(&bytes) => {
            Err(io::Error::other("it is a capture, which would be lost; name another file"))
        }
        _ => Ok(()),
    }
}

/// Opens an output that is appended to.
pub(crate) fn append(name: &Path) -> io::Result<Appended> {
    try_appending(name)?;
    let bytes = held::get(name).map_or_else(Vec::new, |bytes| bytes.to_vec());
    Ok(Appended(Some(OutputFile { name: name.to_owned(), bytes })))
}

impl Write for Appended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |output| output.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        if let Some(output) = self.0.take() {
            output.put().ok();
        }
    }
}
