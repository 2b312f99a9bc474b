//! What a live capture may still do once its device and its first file are open: read what libpcap
//! counts, make files in the folders that were named, and nothing else with files or TCP.

use std::path::Path;

/// Confines the process for good; `folders` are those in which it makes files. Returns whether the
/// system keeps the writing of files to them: that takes Linux 5.13 with Landlock.
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
    // Older systems know fewer of these rights; all of them know those that matter here.
    confined.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// Other systems have other ways, which were not tried.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_folders: &[&Path]) -> bool {
    false
}
