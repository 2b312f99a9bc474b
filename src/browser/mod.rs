//! The commands without a system, as they run in a browser: captures are handed over by name, and outputs are kept by
//! name.
//!
//! Each file here stands for the module of the same name that needs a system, with the part of it that the
//! commands use.

pub mod held;
#[cfg(feature = "commands")]
pub(crate) mod output_file;
