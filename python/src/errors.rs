//! Creates Python errors and warnings; `gamewire/_errors.py` declares their classes.

use std::ffi::CString;

use gamewire::capture::CaptureError;
use gamewire::filter::FilterError;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// A class of the package.
struct Class {
    name: &'static str,
    class: PyOnceLock<Py<PyType>>,
}

static CAPTURE_ERROR: Class = Class::named("CaptureError");
static CAPTURE_WARNING: Class = Class::named("CaptureWarning");
static FILTER_ERROR: Class = Class::named("FilterError");

impl Class {
    const fn named(name: &'static str) -> Class {
        Class { name, class: PyOnceLock::new() }
    }

    fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyType>> {
        self.class.import(py, "gamewire._errors", self.name)
    }

    fn error<'py>(&self, py: Python<'py>, args: impl PyCallArgs<'py>) -> PyErr {
        // An error while creating the error replaces it.
        let made = self.get(py).and_then(|class| class.call1(args));
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

/// A capture cannot be read.
pub(crate) fn capture(py: Python<'_>, error: &CaptureError) -> PyErr {
    let (CaptureError::Open { path, .. }
    | CaptureError::Interrupted { path }
    | CaptureError::NotACapture { path, .. }
    | CaptureError::Unsupported { path, .. }) = error;
    unreadable(py, error.to_string(), &path.to_string_lossy())
}

/// A capture cannot be read, for this reason.
pub(crate) fn unreadable(py: Python<'_>, why: String, path: &str) -> PyErr {
    CAPTURE_ERROR.error(py, (why, path))
}

/// A filter is invalid. The position is in characters, as in Python.
pub(crate) fn filter(py: Python<'_>, source: &str, error: &FilterError) -> PyErr {
    let [start, end] = [error.at().start, error.at().end]
        .map(|at| source.char_indices().take_while(|(byte, _)| *byte < at).count());
    FILTER_ERROR.error(py, (error.to_string(), source, start, end))
}

/// Warns that a part of a capture is damaged or missing. The warning is attributed to the line that called
/// the package, this number of frames up.
///
/// # Errors
/// The user has turned such warnings into errors.
pub(crate) fn warn(py: Python<'_>, message: &str, frames: i32) -> PyResult<()> {
    let message = CString::new(message.replace('\0', "\u{FFFD}"))?;
    PyErr::warn(py, CAPTURE_WARNING.get(py)?, &message, frames)
}
