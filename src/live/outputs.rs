//! The places that a capture writes to. They are opened before the process gives up its rights, so
//! that it can be confined to them.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::unistd::{AccessFlags, Uid, UnlinkatFlags, User, faccessat, geteuid, unlinkat};

use super::LiveError;
use super::privileges::UserAccount;
use crate::text::escaped;

/// Something that is written at the end of a capture, by an unprivileged and confined process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaterOutput {
    /// A file that is written under another name and renamed.
    Replaced(PathBuf),
    /// A file that is appended to.
    Appended(PathBuf),
    /// New files in a folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// This process made it.
        is_new: bool,
    },
}

impl LaterOutput {
    /// What must be writable: the file, if it is there and stays, or else its folder.
    fn place(&self) -> PathBuf {
        match self {
            LaterOutput::Folder { path, .. } => path.clone(),
            LaterOutput::Appended(file) if file.exists() => file.clone(),
            LaterOutput::Replaced(file) if is_special(file) => file.clone(),
            // The target of a symbolic link is replaced, not the link.
            LaterOutput::Replaced(file) | LaterOutput::Appended(file) => {
                let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                folder(&file).to_owned()
            }
        }
    }

    /// Opens the place. If this process has made it, it belongs to the user of the account from now on.
    pub(super) fn open(&self, account: Option<&UserAccount>) -> Result<OutputPlace, LiveError> {
        let path = self.place();
        let open = || {
            let is_new = matches!(self, LaterOutput::Folder { is_new: true, .. });
            let flags = if is_new { OFlag::O_NOFOLLOW } else { OFlag::empty() };
            let place = OutputPlace::open_as(&path, flags)?;
            if let Some(account) = account.filter(|_| is_new) {
                place.give_to(account)?;
            }
            Ok(OutputPlace { is_used_by_path: true, ..place })
        };
        open().map_err(|error| LiveError::Write { path: path.clone(), error })
    }
}

/// Whether it is a pipe or a device, which is written to and not replaced.
fn is_special(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The folder of a file that need not exist.
pub(super) fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
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

    /// Creates a file in this folder, or opens it; `true`: it is new. In a folder that other users can
    /// write to, it does not follow symbolic links, so that they cannot choose the file that root
    /// overwrites.
    pub(super) fn create(&self, file: &Path) -> io::Result<(File, bool)> {
        let name = file.file_name().unwrap_or_default();
        let create = |flags| {
            let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_CLOEXEC | flags;
            openat(&self.descriptor, name, flags, Mode::from_bits_truncate(0o666))
        };
        match create(OFlag::O_EXCL) {
            Err(nix::Error::EEXIST) => {}
            created => return Ok((created?.into(), true)),
        }
        // It may have changed since it was opened.
        let others_write = fstat(&self.descriptor)?.st_mode & 0o022 != 0;
        let flags = if others_write { OFlag::O_NOFOLLOW } else { OFlag::empty() };
        Ok((create(flags)?.into(), false))
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
            (appended(link.clone()), &link),
            (appended(pipe.clone()), &pipe),
            (LaterOutput::Folder { path: other.clone(), is_new: false }, &other),
        ] {
            assert_eq!(output.place(), *place, "{output:?}");
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
