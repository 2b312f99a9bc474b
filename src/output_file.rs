//! Opens every file that a command writes: the one place that decides what is replaced, written to, or refused.
//!
//! A regular file is written under a temporary name beside it, and renamed when it is complete. A FIFO or a
//! character device is written to; anything else is refused. A symbolic link stays, and what it leads to is
//! meant; in a folder that other users can write to it is refused, so that they cannot choose the file that is
//! overwritten.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::libc::{O_NOCTTY, O_NOFOLLOW};

use crate::capture::Interrupt;

/// Size of the buffer of an output file.
const BUFFER: usize = 1 << 18;

/// Maximum number of symbolic links that are followed, as in Linux.
const LINKS: usize = 40;

/// Maximum number of temporary names that are tried: some may be left over from runs that were killed.
const NAMES: usize = 100;

/// Why a path is no place for output, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Refusal {
    #[error("it is {0}; name a regular file")]
    Kind(&'static str),
    #[error(
        "it is a symbolic link in a folder that other users can write to; name the file itself"
    )]
    Link,
    #[error("it is a link to an open file; name the file itself")]
    OpenFile,
    #[error("too many symbolic links lead from one to another; name the file itself")]
    Links,
    #[error("it is write-protected; name another file")]
    Protected,
    #[error("this is no name of a file")]
    NoName,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        io::Error::other(refusal)
    }
}

/// What a path means.
pub(crate) enum Target {
    /// A regular file, if there is one yet. The path is no symbolic link.
    File(PathBuf, Option<Metadata>),
    /// Something without a content that could be replaced.
    Stream(Stream),
}

/// A FIFO or a character device.
pub(crate) struct Stream {
    /// Its path.
    pub(crate) place: PathBuf,
    /// How it is opened.
    flags: i32,
}

impl Stream {
    /// Opens a FIFO, as soon as it has a reader, or a device.
    ///
    /// # Errors
    /// It cannot be opened, or the wait was interrupted.
    pub(crate) fn open(&self, interrupt: &Interrupt) -> io::Result<File> {
        let mut options = OpenOptions::new();
        interrupt.open(&self.place, options.write(true).custom_flags(self.flags))
    }
}

impl Target {
    /// Follows the symbolic links at the end of a path.
    ///
    /// # Errors
    /// It is refused, or cannot be looked at.
    pub(crate) fn of(path: &Path) -> io::Result<Target> {
        let mut place = path.to_owned();
        for _ in 0..LINKS {
            let metadata = match fs::symlink_metadata(&place) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Target::File(place, None));
                }
                Err(error) => return Err(error),
            };
            if !metadata.is_symlink() {
                return Target::at(place, metadata, O_NOFOLLOW);
            }
            let folder = folder(&place);
            if fs::metadata(folder)?.mode() & 0o022 != 0 {
                return Err(Refusal::Link.into());
            }
            // /dev/stdout, /dev/fd/63: these links have no path to follow.
            if fs::canonicalize(folder)?.starts_with("/proc") {
                let metadata = fs::metadata(&place)?;
                if metadata.is_file() {
                    return Err(Refusal::OpenFile.into());
                }
                return Target::at(place, metadata, 0);
            }
            place = folder.join(fs::read_link(&place)?);
        }
        Err(Refusal::Links.into())
    }

    /// The path that is written to: what the symbolic links lead to.
    #[cfg(feature = "live")]
    pub(crate) fn place(&self) -> &Path {
        match self {
            Target::File(place, _) => place,
            Target::Stream(stream) => &stream.place,
        }
    }

    fn at(place: PathBuf, metadata: Metadata, flags: i32) -> io::Result<Target> {
        let kind = metadata.file_type();
        if kind.is_file() {
            // Neither root nor who may write to the folder is kept from it otherwise.
            match metadata.permissions().readonly() {
                true => Err(Refusal::Protected.into()),
                false => Ok(Target::File(place, Some(metadata))),
            }
        } else if kind.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if kind.is_fifo() || kind.is_char_device() {
            Ok(Target::Stream(Stream { place, flags: flags | O_NOCTTY }))
        } else if kind.is_socket() {
            Err(Refusal::Kind("a socket").into())
        } else {
            Err(Refusal::Kind("a block device").into())
        }
    }
}

/// The folder of a file that need not exist.
pub(crate) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Options for a file whose symbolic links were followed.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(O_NOFOLLOW);
    options
}

/// Opens a file that is appended to.
///
/// # Errors
/// It cannot be opened, or is refused.
#[cfg(feature = "cli")]
pub(crate) fn append(path: &Path) -> io::Result<File> {
    match Target::of(path)? {
        Target::File(place, _) => options().append(true).create(true).open(place),
        Target::Stream(stream) => stream.open(&Interrupt::at_signals()?),
    }
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
    /// Begins to write the output for this path.
    ///
    /// # Errors
    /// It cannot be written there.
    pub(crate) fn create(path: &Path) -> io::Result<OutputFile> {
        match Target::of(path)? {
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
    #[cfg(feature = "cli")]
    pub(crate) fn create_new(path: &Path) -> io::Result<OutputFile> {
        let file = options().create_new(true).open(path)?;
        Ok(OutputFile::of(file, Some(path.to_owned()), None))
    }

    /// Whether the output for this path could be written, to report an error before reading gigabytes.
    ///
    /// # Errors
    /// It could not.
    pub(crate) fn try_creating(path: &Path) -> io::Result<()> {
        match Target::of(path)? {
            // Opening it could have an effect.
            Target::Stream(..) => Ok(()),
            Target::File(..) => OutputFile::create(path).map(drop),
        }
    }

    fn of(file: File, unfinished: Option<PathBuf>, place: Option<PathBuf>) -> OutputFile {
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        OutputFile { file, unfinished, place, replaces: false }
    }

    /// Takes over the owner and the permissions of the file that is to be replaced.
    fn succeeds(&mut self, existing: &Metadata) -> io::Result<()> {
        let Some(file) = self.file.as_ref().map(BufWriter::get_ref) else { return Ok(()) };
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (existing.uid(), existing.gid()) {
            // Only root can give files away.
            fchown(file, Some(existing.uid()), Some(existing.gid())).ok();
        }
        file.set_permissions(existing.permissions())?;
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
