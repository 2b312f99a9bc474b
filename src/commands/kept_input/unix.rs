//! Standard input and named pipes of Unix: a pipe is copied to a file without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crate::capture::{self, KeptPipe};

/// A named pipe that is kept.
pub(super) type Pipe = KeptPipe;

/// Maximum number of names that are tried for the file.
const NAMES: u32 = 100;

/// Standard input as a file, and where it begins.
///
/// # Errors
/// There is no room for what a pipe holds.
pub(super) fn keep() -> io::Result<(File, u64)> {
    let mut given = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if given.metadata()?.is_file() {
        let start = given.stream_position()?;
        return Ok((given, start));
    }
    let mut file = nameless()?;
    io::copy(&mut capture::standard_input()?, &mut file)?;
    nix::unistd::dup2_stdin(&file)?;
    file.rewind()?;
    Ok((file, 0))
}

/// Keeps what comes from this file, if it is a named pipe that is not kept.
///
/// # Errors
/// There is no room for it.
pub(super) fn keep_pipe(path: &Path) -> io::Result<Option<Pipe>> {
    let is_pipe = path.metadata().is_ok_and(|it| it.file_type().is_fifo());
    if !is_pipe || !capture::is_read_once(path) {
        return Ok(None);
    }
    KeptPipe::keep(path, &mut capture::pipe(path)?, nameless()?).map(Some)
}

/// What to do if an input cannot be kept.
pub(super) fn unkept(what: &str, error: &io::Error) -> String {
    format!(
        "{what} cannot be kept in {}, from where it is read twice: {error}; set TMPDIR to a folder with room",
        std::env::temp_dir().display()
    )
}

/// A file that only this process can read, and that ends with it.
fn nameless() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let folder = std::env::temp_dir();
    for nth in 0..NAMES {
        let path = folder.join(format!("gamewire-{}-{nth}", std::process::id()));
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => {
                let file = opened?;
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
