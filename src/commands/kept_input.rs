//! Standard input that can be read twice: a pipe is copied to a file without a name.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::capture;
use crate::commands::Failure;

/// Maximum number of names that are tried for the file.
const NAMES: u32 = 100;

/// Standard input, and where it began.
pub(super) struct KeptInput {
    file: File,
    start: u64,
}

impl KeptInput {
    /// Standard input, if it is among these files.
    ///
    /// # Errors
    /// There is no room for what a pipe holds.
    pub(super) fn of(files: &[impl AsRef<Path>]) -> Result<Option<KeptInput>, Failure> {
        if !files.iter().any(|file| file.as_ref() == Path::new("-")) {
            return Ok(None);
        }
        KeptInput::keep().map(Some).map_err(|error| {
            Failure::Other(format!(
                "standard input cannot be kept in {}, from where it is read twice: {error}; set TMPDIR to a folder \
                 with room",
                std::env::temp_dir().display()
            ))
        })
    }

    fn keep() -> io::Result<KeptInput> {
        let mut given = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if given.metadata()?.is_file() {
            let start = given.stream_position()?;
            return Ok(KeptInput { file: given, start });
        }
        let mut file = nameless()?;
        io::copy(&mut capture::standard_input()?, &mut file)?;
        nix::unistd::dup2_stdin(&file)?;
        let mut kept = KeptInput { file, start: 0 };
        kept.rewind()?;
        Ok(kept)
    }

    /// Standard input is read from its beginning again.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.start)).map(drop)
    }
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
