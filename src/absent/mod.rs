//! What stands for network devices, relays and processes in a build without them: one that only reads captures.
//!
//! Each file here stands for the module of the same name that needs them, with the part of it that the commands
//! use, and says that they are not there. The page in a browser has these files, and the program on Windows.

pub(crate) mod live;
pub(crate) mod metrics;
pub(crate) mod relay;
