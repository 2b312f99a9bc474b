//! Opens every file that a command writes: the one place that decides what is replaced, written to, or refused.
//!
//! A regular file is written under a temporary name beside it, and renamed when it is complete. A FIFO or a
//! character device is written to; anything else is refused. A symbolic link stays, and what it leads to is
//! meant; in a folder that other users can write to it is refused, so that they cannot choose the file that is
//! overwritten.

#[cfg(unix)]
mod target;
#[cfg(not(unix))]
#[path = "output_file/target_windows.rs"]
mod target;

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::capture::{self, Interrupt};
#[cfg(feature = "live")]
pub(crate) use target::folder;
use target::{Refusal, Stream, options};

/// Size of the buffer of an output file.
const BUFFER: usize = 1 << 18;

/// Maximum number of temporary names that are tried: some may be left over from runs that were killed.
const NAMES: usize = 100;

/// What a path means.
pub(crate) enum Target {
    /// A regular file, if there is one yet. The path is no symbolic link.
    File(PathBuf, Option<Metadata>),
    /// Something without a content that could be replaced.
    Stream(Stream),
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        io::Error::other(refusal)
    }
}

impl Target {
    /// Where an output that is no capture goes: never in the place of one.
    fn of_other(path: &Path) -> io::Result<Target> {
        let target = Target::of(path)?;
        match &target {
            Target::File(place, Some(_)) if is_capture(place)? => Err(Refusal::Capture.into()),
            _ => Ok(target),
        }
    }
}

/// Whether a regular file begins as captures do.
fn is_capture(file: &Path) -> io::Result<bool> {
    let file = match File::open(file) {
        Ok(file) => file,
        // A confined process may read nothing: its outputs were tried before.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut first = Vec::new();
    file.take(capture::MAGIC as u64).read_to_end(&mut first)?;
    Ok(capture::begins_one(&first))
}

/// Whether a file could be appended to, to report an error before reading gigabytes.
///
/// # Errors
/// It is refused.
#[cfg(feature = "commands")]
pub(crate) fn try_appending(path: &Path) -> io::Result<()> {
    Target::of_other(path).map(drop)
}

/// Opens a file that is appended to.
///
/// # Errors
/// It cannot be opened, or is refused.
#[cfg(feature = "commands")]
pub(crate) fn append(path: &Path) -> io::Result<File> {
    match Target::of_other(path)? {
        Target::File(place, _) => options().append(true).create(true).open(place),
        Target::Stream(stream) => stream.open(&Interrupt::at_signals()?),
    }
}

/// Creates a folder for outputs, and those above it, where they are missing.
///
/// # Errors
/// It cannot be created.
#[cfg(feature = "commands")]
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// An output that is complete or not there: if it is dropped before it is put in its place, nothing has
/// changed. What went into a FIFO or a device has gone.
pub(crate) struct OutputFile {
    file: Option<BufWriter<File>>,
    /// The file that is removed if the output is not completed.
    unfinished: Option<PathBuf>,
    /// What that is renamed to.
    place: Option<PathBuf>,
    /// An earlier file is replaced, so the new one must be on the disk first.
    replaces: bool,
}

impl OutputFile {
    /// Begins to write the output for this path, which is no capture.
    ///
    /// # Errors
    /// It cannot be written there, or would replace a capture.
    pub(crate) fn create(path: &Path) -> io::Result<OutputFile> {
        OutputFile::begin(Target::of_other(path)?)
    }

    /// Begins to write a capture to this path. It may replace another one.
    ///
    /// # Errors
    /// It cannot be written there.
    #[cfg(feature = "commands")]
    pub(crate) fn create_capture(path: &Path) -> io::Result<OutputFile> {
        OutputFile::begin(Target::of(path)?)
    }

    fn begin(target: Target) -> io::Result<OutputFile> {
        match target {
            Target::Stream(stream) => {
                let file = stream.open(&Interrupt::at_signals()?)?;
                Ok(OutputFile::of(file, None, None))
            }
            Target::File(place, existing) => {
                let (file, beside) = temporary(&place)?;
                let mut output = OutputFile::of(file, Some(beside), Some(place));
                if let Some(existing) = existing {
                    output.succeeds(&existing)?;
                }
                Ok(output)
            }
        }
    }

    /// Begins to write a file that must not exist.
    ///
    /// # Errors
    /// It cannot be created.
    #[cfg(feature = "commands")]
    pub(crate) fn create_new(path: &Path) -> io::Result<OutputFile> {
        let file = options().create_new(true).open(path)?;
        Ok(OutputFile::of(file, Some(path.to_owned()), None))
    }

    /// Whether the output for this path could be written, to report an error before reading gigabytes.
    ///
    /// # Errors
    /// It could not.
    pub(crate) fn try_creating(path: &Path) -> io::Result<()> {
        match Target::of_other(path)? {
            // Opening it could have an effect.
            Target::Stream(..) => Ok(()),
            file @ Target::File(..) => OutputFile::begin(file).map(drop),
        }
    }

    fn of(file: File, unfinished: Option<PathBuf>, place: Option<PathBuf>) -> OutputFile {
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        OutputFile { file, unfinished, place, replaces: false }
    }

    /// Takes over the owner and the permissions of the file that is to be replaced.
    fn succeeds(&mut self, existing: &Metadata) -> io::Result<()> {
        let Some(file) = self.file.as_ref().map(BufWriter::get_ref) else { return Ok(()) };
        target::take_over(file, existing)?;
        self.replaces = true;
        Ok(())
    }

    /// Completes it, still under its temporary name.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if self.replaces { file.sync_all() } else { Ok(()) }
    }

    /// Puts it in its place.
    ///
    /// # Errors
    /// Some of it cannot be written, or it cannot be renamed.
    pub(crate) fn put(mut self) -> io::Result<()> {
        self.complete()?;
        if let (Some(beside), Some(place)) = (&self.unfinished, &self.place) {
            // Something else may have been put there meanwhile.
            if let Ok(metadata) = fs::symlink_metadata(place)
                && !metadata.is_file()
            {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(beside, place)?;
        }
        self.unfinished = None;
        Ok(())
    }
}

/// Creates a file with a temporary name beside this one.
fn temporary(place: &Path) -> io::Result<(File, PathBuf)> {
    let name = place.file_name().ok_or(Refusal::NoName)?;
    let mut number = 1;
    loop {
        let mut beside = name.to_owned();
        beside.push(match number {
            1 => format!(".{}.part", std::process::id()),
            number => format!(".{}-{number}.part", std::process::id()),
        });
        let beside = place.with_file_name(beside);
        match options().create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || number == NAMES => {
                return Err(error);
            }
            Err(_) => number += 1,
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.unfinished {
            // If that fails, there is nothing else to do about it.
            fs::remove_file(unfinished).ok();
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, and a place for a file in it.
    fn place(name: &str) -> (PathBuf, PathBuf) {
        let folder = format!("gamewire-output-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let place = folder.join("output");
        (folder, place)
    }

    #[test]
    fn an_output_that_is_not_put_in_its_place_leaves_nothing() {
        let (folder, place) = place("dropped");
        fs::write(&place, "before").unwrap();
        let mut output = OutputFile::create(&place).unwrap();
        output.write_all(b"after").unwrap();
        output.complete().unwrap();
        drop(output);
        assert_eq!(fs::read(&place).unwrap(), b"before");
        OutputFile::try_creating(&place).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    /// In a container, each run may have the same process number.
    #[test]
    fn what_a_killed_run_has_left_is_not_in_the_way() {
        let (folder, place) = place("killed");
        let (_, left) = temporary(&place).unwrap();
        let mut output = OutputFile::create(&place).unwrap();
        output.write_all(b"after").unwrap();
        output.put().unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"after");
        assert!(left.exists() && fs::read_dir(&folder).unwrap().count() == 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_put_there_meanwhile_is_not_replaced_unless_it_is_a_file() {
        let (folder, place) = place("meanwhile");
        let mut output = OutputFile::create(&place).unwrap();
        output.write_all(b"after").unwrap();
        std::os::unix::fs::symlink("elsewhere", &place).unwrap();
        assert_eq!(output.put().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(place.is_symlink() && fs::read_dir(&folder).unwrap().count() == 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn links_that_lead_to_each_other_are_refused() {
        let (folder, place) = place("circle");
        std::os::unix::fs::symlink("output", &place).unwrap();
        let error = OutputFile::create(&place).err().unwrap();
        assert!(error.to_string().contains("too many symbolic links"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
