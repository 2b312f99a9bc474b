//! Standard input and named pipes that can be read twice.

#[cfg(unix)]
#[path = "kept_input/unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "kept_input/windows.rs"]
mod system;

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use crate::capture::was_interrupted;
use crate::commands::Failure;
use crate::text::escaped;

/// The inputs that could be read only once otherwise.
pub(super) struct KeptInputs {
    /// Standard input, and where it began.
    standard: Option<(File, u64)>,
    /// Named pipes, as long as they are kept.
    pipes: Vec<system::Pipe>,
}

impl KeptInputs {
    /// Standard input and named pipes, if they are among these files.
    ///
    /// # Errors
    /// They cannot be read twice.
    pub(super) fn of(files: &[impl AsRef<Path>]) -> Result<KeptInputs, Failure> {
        let mut kept = KeptInputs { standard: None, pipes: Vec::new() };
        for file in files.iter().map(AsRef::as_ref) {
            if file != Path::new("-") {
                let name = file.to_string_lossy();
                let pipe = system::keep_pipe(file).map_err(|error| unkept(&name, &error))?;
                kept.pipes.extend(pipe);
            } else if kept.standard.is_none() {
                let standard = system::keep().map_err(|error| unkept("standard input", &error))?;
                kept.standard = Some(standard);
            }
        }
        Ok(kept)
    }

    /// Standard input is read from its beginning again, as the others are by themselves.
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        match &mut self.standard {
            Some((file, start)) => file.seek(SeekFrom::Start(*start)).map(drop),
            None => Ok(()),
        }
    }
}

/// Why an input is not kept: there is no room for it, or it was interrupted before anything came.
fn unkept(what: &str, error: &io::Error) -> Failure {
    match was_interrupted(error) {
        true => Failure::Interrupted,
        false => Failure::Other(system::unkept(&escaped(what), error)),
    }
}
