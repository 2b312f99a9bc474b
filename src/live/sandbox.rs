//! Restricts a live capture once its device and its first file are open: it may read libpcap's
//! counters and create files in the given folders, and has no other access to files or TCP.

use std::path::Path;

/// Confines the process for the rest of its life to creating files in `folders`. Returns whether the
/// system enforces it, which Linux does from 5.13 on, with Landlock.
#[cfg(target_os = "linux")]
pub(crate) fn confine(folders: &[&Path]) -> bool {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
        path_beneath_rules,
    };
    /// Counters of devices, and time zones.
    const READ: [&str; 5] = ["/sys/class/net", "/sys/devices", "/proc", "/usr/share", "/etc"];
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let make = AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::WriteFile | AccessFs::Truncate;
    let confined = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V5))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V5)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.add_rules(path_beneath_rules(READ, read)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(folders, make | read)))
        .and_then(|rules| rules.restrict_self());
    // Older kernels support fewer of these rights; all of them support those that matter here.
    confined.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// Not implemented for other systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_folders: &[&Path]) -> bool {
    false
}
