//! The commands without a system, as they run in a browser: captures are handed over by name, outputs are kept by
//! name, and what needs devices, processes or a terminal says that it is not there.
//!
//! Each file here stands for the module of the same name that needs a system, with the part of it that the
//! commands use.

pub mod held;
#[cfg(feature = "commands")]
pub(crate) mod live;
#[cfg(feature = "commands")]
pub(crate) mod metrics;
#[cfg(feature = "commands")]
pub(crate) mod output_file;
#[cfg(feature = "commands")]
pub(crate) mod relay;
