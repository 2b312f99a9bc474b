//! Standard input that can be read twice: there is none.

use std::io;
use std::path::Path;

use super::Failure;

/// Standard input.
pub(super) struct KeptInputs;

impl KeptInputs {
    /// Standard input, if it is among these files: it never is.
    #[expect(clippy::unnecessary_wraps, reason = "a file may be impossible to write")]
    pub(super) fn of(_: &[impl AsRef<Path>]) -> Result<KeptInputs, Failure> {
        Ok(KeptInputs)
    }

    /// Standard input is read from its beginning again.
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "a file may be impossible to read"
    )]
    pub(super) fn rewind(&mut self) -> io::Result<()> {
        Ok(())
    }
}
