//! Where the bytes of a capture come from: they were handed over by name.

use std::io;
use std::path::Path;

use super::error::{CaptureError, unopened};
use super::input::Input;
use super::mapping::Mapping;
use crate::browser::held;

/// The capture with this name.
pub(super) fn input(name: &Path) -> Result<Input, CaptureError> {
    let bytes = held::get(name).ok_or_else(|| unopened(name, io::ErrorKind::NotFound.into()))?;
    Ok(Input::mapped(Mapping::new(bytes)))
}

/// Whether it can be read only once.
#[cfg(feature = "commands")]
pub(crate) fn is_read_once(name: &Path) -> bool {
    held::get(name).is_none()
}
