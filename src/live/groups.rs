//! The groups of the process. `nix` does not set them on Apple's systems.
#![cfg_attr(target_vendor = "apple", allow(unsafe_code))]

use nix::unistd::Gid;

/// Leaves all groups but this one.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn leave_others(group: Gid) -> nix::Result<()> {
    nix::unistd::setgroups(&[group])
}

/// Leaves all groups but this one.
#[cfg(target_vendor = "apple")]
pub(super) fn leave_others(group: Gid) -> nix::Result<()> {
    let group = group.as_raw();
    // SAFETY: the function reads one group, which is there.
    let result = unsafe { libc::setgroups(1, &raw const group) };
    nix::errno::Errno::result(result).map(drop)
}
