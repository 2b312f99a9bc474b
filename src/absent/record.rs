//! No command can be run and recorded.

use std::io::Write;

use super::Failure;
use crate::cli::CheckArgs;
use crate::relay::RelayError;

/// What `check --relay` records: nothing.
pub struct Recording {
    /// The command's exit code.
    pub code: u8,
}

impl Recording {
    /// Takes the recording out of the arguments; `None`: there is none.
    ///
    /// # Errors
    /// A command should be run.
    pub fn of(args: &mut CheckArgs) -> Result<Option<Recording>, Failure> {
        if args.relays.relay.is_empty() { Ok(None) } else { Err(RelayError.into()) }
    }

    /// Says that no command can be run.
    pub(super) fn run(&mut self, _: &mut dyn Write) -> Result<(), Failure> {
        Err(RelayError.into())
    }
}
