//! The places that a capture writes to. They are opened before the process gives up its rights, so
//! that it can be confined to them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{AccessFlags, Uid, UnlinkatFlags, User, faccessat, geteuid, unlinkat};

use super::LiveError;
use super::later::LaterOutput;
use super::privileges::UserAccount;
use crate::output_file::{Target, folder};
use crate::text::escaped;

impl LaterOutput {
    /// What must be writable: the file, if it is there and stays, or else its folder.
    fn place(&self) -> io::Result<PathBuf> {
        let (file, stays) = match self {
            LaterOutput::Folder { path, .. } => return Ok(path.clone()),
            LaterOutput::Replaced(file) => (file, false),
            LaterOutput::Appended(file) => (file, true),
        };
        Ok(match Target::of(file)? {
            Target::Stream(stream) => stream.place,
            Target::File(place, Some(_)) if stays => place,
            Target::File(place, _) => folder(&place).to_owned(),
        })
    }

    /// Opens the place. If this process has made it, it belongs to the user of the account from now on.
    pub(super) fn open(&self, account: Option<&UserAccount>) -> Result<OutputPlace, LiveError> {
        let open = || {
            let path = self.place()?;
            let is_new = matches!(self, LaterOutput::Folder { is_new: true, .. });
            let flags = if is_new { OFlag::O_NOFOLLOW } else { OFlag::empty() };
            let place = OutputPlace::open_as(&path, flags)?;
            if let Some(account) = account.filter(|_| is_new) {
                place.give_to(account)?;
            }
            Ok(OutputPlace { is_used_by_path: true, ..place })
        };
        open().map_err(|error| LiveError::Write { path: self.path().to_owned(), error })
    }

    fn path(&self) -> &Path {
        match self {
            LaterOutput::Replaced(path)
            | LaterOutput::Appended(path)
            | LaterOutput::Folder { path, .. } => path,
        }
    }
}

/// A descriptor that can be neither read nor written, where the system has such ones.
#[cfg(target_os = "linux")]
const HANDLE: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const HANDLE: OFlag = OFlag::O_NONBLOCK;

/// A folder or file to write to. What was opened stays the same, even if its path leads elsewhere later.
pub(crate) struct OutputPlace {
    path: PathBuf,
    descriptor: OwnedFd,
    about: FileStat,
    is_used_by_path: bool,
}

impl AsFd for &OutputPlace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl OutputPlace {
    /// Opens a folder or file without reading or writing.
    pub(crate) fn open(path: &Path) -> io::Result<OutputPlace> {
        OutputPlace::open_as(path, OFlag::empty())
    }

    fn open_as(path: &Path, flags: OFlag) -> io::Result<OutputPlace> {
        let descriptor = open(path, HANDLE | OFlag::O_CLOEXEC | flags, Mode::empty())?;
        let about = fstat(&descriptor)?;
        Ok(OutputPlace { path: path.to_owned(), descriptor, about, is_used_by_path: false })
    }

    /// Makes another user the owner of this folder, which this process has made.
    fn give_to(&self, account: &UserAccount) -> io::Result<()> {
        // Somebody else may have moved it away.
        if !self.is_folder() || self.about.st_uid != geteuid().as_raw() {
            return Ok(());
        }
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(account.own(openat(&self.descriptor, ".", flags, Mode::empty())?)?)
    }

    pub(super) fn is_folder(&self) -> bool {
        SFlag::from_bits_truncate(self.about.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR
    }

    fn open_file(&self, file: &Path, flags: OFlag) -> nix::Result<File> {
        let name = file.file_name().unwrap_or_default();
        // Symbolic links were followed before, where others cannot place any.
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | flags;
        let mode = Mode::from_bits_truncate(0o666);
        Ok(openat(&self.descriptor, name, flags, mode)?.into())
    }

    /// Creates a file in this folder, or opens it; `true`: it is new.
    pub(super) fn create(&self, file: &Path) -> io::Result<(File, bool)> {
        match self.open_file(file, OFlag::O_CREAT | OFlag::O_EXCL) {
            Err(nix::Error::EEXIST) => Ok((self.open_file(file, OFlag::O_CREAT)?, false)),
            created => Ok((created?, true)),
        }
    }

    /// Creates a file in this folder, or opens an empty one. Any other is not changed, which is an error.
    pub(super) fn create_anew(&self, file: &Path) -> io::Result<File> {
        match self.open_file(file, OFlag::O_CREAT | OFlag::O_EXCL) {
            Err(nix::Error::EEXIST) => {}
            created => return Ok(created?),
        }
        let opened = self.open_file(file, OFlag::O_NONBLOCK).ok();
        let is_empty = |file: &File| file.metadata().is_ok_and(|it| it.is_file() && it.len() == 0);
        opened.filter(is_empty).ok_or_else(|| io::ErrorKind::AlreadyExists.into())
    }

    /// Whether a file of this folder is the open one. What is no regular file cannot be renamed: what was
    /// written to it has gone.
    pub(super) fn has(&self, file: &Path, open: &File) -> io::Result<bool> {
        if !open.metadata()?.is_file() {
            return Ok(true);
        }
        let name = file.file_name().unwrap_or_default();
        let about = match fstatat(&self.descriptor, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(nix::Error::ENOENT) => return Ok(false),
            about => about?,
        };
        let open = fstat(open)?;
        Ok((about.st_dev, about.st_ino) == (open.st_dev, open.st_ino))
    }

    /// Removes a file from this folder.
    pub(super) fn remove(&self, file: &Path) -> io::Result<()> {
        let name = file.file_name().unwrap_or_default();
        Ok(unlinkat(&self.descriptor, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Why this process, which has become `user`, cannot create files in this folder or write this
    /// file, and what to do.
    pub(super) fn refusal(&self, user: &str) -> Option<String> {
        let needed = match self.is_folder() {
            true => AccessFlags::W_OK | AccessFlags::X_OK,
            false => AccessFlags::W_OK,
        };
        let is_writable = match self.is_used_by_path {
            true => faccessat(AT_FDCWD, &self.path, needed, AtFlags::AT_EACCESS),
            false => faccessat(&self.descriptor, ".", needed, AtFlags::AT_EACCESS),
        };
        if is_writable.is_ok() {
            return None;
        }
        let owner = Uid::from_raw(self.about.st_uid);
        let name = User::from_uid(owner).ok().flatten().map(|owner| owner.name);
        let owner = name.unwrap_or_else(|| format!("user {owner}"));
        let (what, another) = match self.is_folder() {
            true => ("create files in", "another directory"),
            false => ("write to", "another file"),
        };
        let remedy = match owner == user {
            true => format!("let {user} write there"),
            false => format!("use -Z {owner}"),
        };
        let path = self.path.to_string_lossy();
        Some(format!(
            "cannot {what} '{}' during the capture: it belongs to {owner}, and once the interface is \
             open, gamewire has only the rights of {user}; {remedy}, or {another}",
            escaped(&path)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_needs_its_folder_unless_the_file_stays() {
        let folder = std::env::temp_dir().join(format!("gamewire-outputs-{}", std::process::id()));
        let (other, absent) = (folder.join("other"), folder.join("absent"));
        std::fs::create_dir_all(&other).unwrap();
        let (file, link, pipe) = (other.join("file"), folder.join("link"), folder.join("pipe"));
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let [replaced, appended] = [LaterOutput::Replaced, LaterOutput::Appended];
        for (output, place) in [
            (replaced(absent.clone()), &folder),
            (replaced(file.clone()), &other),
            // The target is replaced.
            (replaced(link.clone()), &other),
            (replaced(pipe.clone()), &pipe),
            (appended(absent), &folder),
            (appended(file.clone()), &file),
            (appended(link.clone()), &file),
            (appended(pipe.clone()), &pipe),
            (LaterOutput::Folder { path: other.clone(), is_new: false }, &other),
        ] {
            assert_eq!(output.place().unwrap(), *place, "{output:?}");
            assert_eq!(output.open(None).unwrap().is_folder(), place.is_dir(), "{output:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_was_opened_stays_the_same() {
        let folder = std::env::temp_dir().join(format!("gamewire-moved-{}", std::process::id()));
        let (before, after) = (folder.join("before"), folder.join("after"));
        std::fs::create_dir_all(&before).unwrap();
        let place = OutputPlace::open(&before).unwrap();
        std::fs::rename(&before, &after).unwrap();
        std::fs::create_dir(&before).unwrap();
        assert!(place.create(&before.join("file")).unwrap().1, "it is new");
        assert!(after.join("file").exists() && !before.join("file").exists());
        assert!(!place.create(&before.join("file")).unwrap().1, "it is not new");
        place.remove(&before.join("file")).unwrap();
        assert!(!after.join("file").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
