//! Restricts a live capture once its device and its files are open: the process reads no file, makes
//! and writes files only where its outputs are, and starts no program and opens no socket.
//!
//! It holds for the calling thread and those that it starts, for the rest of their lives.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls;
#[cfg(target_os = "linux")]
mod files;

use std::fmt;

use super::outputs::OutputPlace;

/// What the system restricts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Access to files, and TCP (Landlock).
    pub files: bool,
    /// System calls (seccomp).
    pub calls: bool,
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.files, self.calls) {
            (true, true) => "confined by Landlock and seccomp",
            (true, false) => "confined by Landlock; this system lacks seccomp",
            (false, true) => "confined by seccomp; this system lacks Landlock",
            (false, false) => "not confined: this system lacks Landlock and seccomp",
        })
    }
}

/// Confines this thread to its outputs, as far as the system can.
pub(crate) fn confine(outputs: &[&OutputPlace]) -> Confinement {
    Confinement { files: restrict_files(outputs), calls: restrict_calls() }
}

#[cfg(target_os = "linux")]
use files::restrict_files;

#[cfg(not(target_os = "linux"))]
fn restrict_files(_outputs: &[&OutputPlace]) -> bool {
    false
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use calls::restrict_calls;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn restrict_calls() -> bool {
    false
}
