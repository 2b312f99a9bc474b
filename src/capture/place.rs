//! Where the bytes of a capture come from: a file, a pipe, or standard input.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use super::error::{CaptureError, unopened};
use super::input::Input;
use super::interrupt::{self, Interrupt, Interruptible};
use super::mapping::Mapping;

/// Opens a path; `-` is standard input.
pub(super) fn input(path: &Path) -> Result<Input, CaptureError> {
    if path == Path::new("-") {
        return standard().map_err(|error| unopened(path, error));
    }
    plain(path)
}

/// Standard input, which is often a pipe.
fn standard() -> io::Result<Input> {
    piped(interrupt::copy_of_standard_input()?, Interrupt::at_signals()?)
}

/// A pipe that ends with an interrupt.
fn piped(file: File, interrupt: Interrupt) -> io::Result<Input> {
    let same = file.try_clone()?;
    let input = Input::stream(Box::new(Interruptible::until(interrupt, file)));
    Ok(input.silent_if(move || !interrupt::comes(&same)))
}

/// Standard input until its end, or until SIGINT or SIGTERM. Unlike that of the standard library, it has no buffer in
/// which bytes could remain.
///
/// # Errors
/// It is closed.
pub fn standard_input() -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(Interruptible::new(interrupt::copy_of_standard_input()?)?))
}

/// Whether a path can be read only once, as a device can; standard input is kept, and so are named pipes.
#[cfg(feature = "commands")]
pub(crate) fn is_read_once(path: &Path) -> bool {
    let is_kept = path == Path::new("-") || path.is_file();
    #[cfg(unix)]
    let is_kept = is_kept || super::kept::file(path).is_some();
    !is_kept
}

/// What comes from a named pipe, which may not have a writer for a long time, until its end, or until SIGINT or
/// SIGTERM.
#[cfg(all(feature = "commands", unix))]
pub(crate) fn pipe(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let (file, interrupt) = opened(path)?;
    Ok(Box::new(Interruptible::until(interrupt, file)))
}

/// A named pipe, and what ends reading it.
fn opened(path: &Path) -> io::Result<(File, Interrupt)> {
    let interrupt = Interrupt::at_signals()?;
    let file = interrupt.open(path, OpenOptions::new().read(true))?;
    Ok((file, interrupt))
}

/// A regular file is mapped; anything else is read as a stream.
fn plain(path: &Path) -> Result<Input, CaptureError> {
    let failed = |error| unopened(path, error);
    #[cfg(all(unix, feature = "commands"))]
    if let Some(file) = super::kept::file(path) {
        return whole(path, file.map_err(failed)?);
    }
    let is_other = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    if std::fs::metadata(path).is_ok_and(is_other) {
        return opened(path).and_then(|(file, interrupt)| piped(file, interrupt)).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        let seems = "is a folder that holds none";
        return Err(CaptureError::NotACapture { path: path.to_owned(), seems });
    }
    whole(path, file)
}

/// An opened file.
fn whole(path: &Path, file: File) -> Result<Input, CaptureError> {
    let failed = |error| unopened(path, error);
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_file()
        && metadata.len() > 0
        && let Ok(mapping) = file.try_clone().and_then(Mapping::new)
    {
        return Ok(Input::mapped(mapping));
    }
    let stream = Box::new(Interruptible::new(file).map_err(failed)?) as Box<dyn Read + Send>;
    match metadata.is_file() {
        true => Ok(Input::file(stream, metadata.len())),
        false => Ok(Input::stream(stream)),
    }
}
