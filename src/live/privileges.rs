//! Drops root privileges, which are only needed to open a device.

use std::ffi::OsString;
use std::path::Path;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Gid, Uid, User, faccessat, geteuid, setgid, setgroups, setuid};

/// The user to switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UserAccount {
    name: String,
    user: Uid,
    group: Gid,
}

/// Switches from root to `user`, or if there is none to the user who called sudo, or else to
/// nobody. Does nothing for other users than root. Returns the name of the new user, if there is
/// one.
///
/// One privilege may stay: that of creating files in `folders`, if the process `is_confined` to
/// them and the new user has no permission.
pub(super) fn drop_to(
    user: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
    folders: &[&Path],
    is_confined: bool,
) -> Result<Option<String>, String> {
    if !geteuid().is_root() {
        return match user {
            None => {
                capabilities::keep(false);
                Ok(None)
            }
            Some(user) => Err(format!(
                "cannot switch to user {user}: only root can; run gamewire as root, or without -Z"
            )),
        };
    }
    let account = account(user, variable)?;
    if account.user.is_root() {
        return Ok(Some(account.name));
    }
    let failed = |error| {
        format!("cannot switch to user {}: {error}; name another one with -Z", account.name)
    };
    capabilities::survive_user_change();
    setgroups(&[account.group]).map_err(failed)?;
    setgid(account.group).map_err(failed)?;
    setuid(account.user).map_err(failed)?;
    let may_make = folders.iter().all(|folder| may_make_in(folder));
    capabilities::keep(is_confined && !may_make);
    Ok(Some(account.name))
}

/// Whether this process may create files in a folder.
pub(super) fn may_make_in(folder: &Path) -> bool {
    faccessat(AT_FDCWD, folder, AccessFlags::W_OK, AtFlags::AT_EACCESS).is_ok()
}

/// Linux capabilities. Errors are ignored: a capability that cannot be dropped was not there.
#[cfg(target_os = "linux")]
mod capabilities {
    use caps::{CapSet, Capability, CapsHashSet};

    /// Keeps capabilities across the change of user, until [`keep`] selects some. Programs that this
    /// process starts cannot regain any.
    pub(super) fn survive_user_change() {
        caps::clear(None, CapSet::Bounding).ok();
        caps::securebits::set_keepcaps(true).ok();
    }

    /// Drops all capabilities; with `files`, all but that of creating files without permission.
    pub(super) fn keep(files: bool) {
        let permitted = caps::read(None, CapSet::Permitted).unwrap_or_default();
        let wanted = files.then_some(Capability::CAP_DAC_OVERRIDE);
        let kept: CapsHashSet = wanted.into_iter().filter(|it| permitted.contains(it)).collect();
        for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective] {
            caps::clear(None, set).ok();
        }
        // Effective capabilities must be permitted, so they are removed first, and added last.
        caps::set(None, CapSet::Permitted, &kept).ok();
        caps::set(None, CapSet::Effective, &kept).ok();
        caps::securebits::set_keepcaps(false).ok();
    }
}

/// Other systems have no capabilities: the change of user drops all privileges.
#[cfg(not(target_os = "linux"))]
mod capabilities {
    pub(super) fn survive_user_change() {}
    pub(super) fn keep(_files: bool) {}
}

fn account(
    user: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<UserAccount, String> {
    if let Some(name) = user {
        return match named(name) {
            Some(account) => Ok(account),
            None => {
                Err(format!("cannot switch to user {name}: no such user; name another one with -Z"))
            }
        };
    }
    let number = |name| variable(name)?.to_str()?.parse::<u32>().ok();
    if let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let known = User::from_uid(user).ok().flatten().map(|user| user.name);
        let name = known.unwrap_or_else(|| format!("user {user}"));
        return Ok(UserAccount { name, user, group });
    }
    let none = "cannot switch to user nobody: no such user; name another one with -Z";
    named("nobody").ok_or_else(|| none.to_owned())
}

fn named(name: &str) -> Option<UserAccount> {
    let user = User::from_name(name).ok().flatten()?;
    Some(UserAccount { name: user.name, user: user.uid, group: user.gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_user_is_the_caller_of_sudo_or_nobody() {
        let sudo = |name: &str| match name {
            "SUDO_UID" => Some("4242".into()),
            "SUDO_GID" => Some("4343".into()),
            _ => None,
        };
        let found = account(None, sudo).unwrap();
        assert_eq!((found.user.as_raw(), found.group.as_raw()), (4242, 4343));
        if named("nobody").is_some() {
            assert_eq!(account(None, |_| None).unwrap().name, "nobody");
        }
        assert_eq!(account(Some("root"), sudo).unwrap().name, "root");
        assert!(account(Some("no such user"), sudo).unwrap_err().contains("no such user"));
    }
}
