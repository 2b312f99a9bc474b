//! The native part of the Python package `gamewire`, which its Python part in `gamewire/` calls.
//!
//! Each module adds its own functions and classes.

mod errors;
mod partition;
mod reading;
mod selection;
mod source;
mod summaries;
mod tables;
mod verdict;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    partition::add(module)?;
    summaries::add(module)?;
    reading::add(module)?;
    selection::add(module)?;
    tables::add(module)?;
    verdict::add(module)
}
