//! No command can be run, and no interface captured.

use std::ffi::OsString;
use std::io::Write;

use super::Failure;
use crate::cli::CheckArgs;
use crate::relay::RelayError;

/// Says that no command can be run.
///
/// # Errors
/// Always.
pub fn check(_: &CheckArgs, _: &[OsString], _: &mut dyn Write) -> Result<(bool, u8), Failure> {
    Err(RelayError.into())
}
