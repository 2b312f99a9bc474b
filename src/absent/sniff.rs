//! There is no interface to capture on.

use std::io::Write;

use super::Failure;
use super::consumer::Consumer;
use crate::cli::InputArgs;
use crate::live::LiveError;
use crate::session::Options;

/// Says so.
pub(super) fn sniff_input(
    _: &InputArgs,
    _: Options,
    _: &mut dyn Consumer,
    _: &mut dyn Write,
    _: bool,
) -> Result<(), Failure> {
    Err(LiveError::NoDevices.into())
}
