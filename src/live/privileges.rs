//! Gives up root's rights, which are only needed to open a device and the files of its capture.

use std::ffi::OsString;
use std::os::fd::AsFd;

use nix::unistd::{Gid, Uid, User, fchown, geteuid, setgid, setuid};

use super::groups;

/// The user whose rights the process has during the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserAccount {
    pub(super) name: String,
    user: Uid,
    group: Gid,
}

impl UserAccount {
    /// For root: `user`, or if there is none the user who called sudo, or else nobody. Other users
    /// stay who they are: `None`.
    pub(super) fn after_root(
        user: Option<&str>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Option<UserAccount>, String> {
        match user {
            _ if geteuid().is_root() => account(user, variable).map(Some),
            None => Ok(None),
            Some(user) => Err(format!(
                "cannot switch to user {user}: only root can; run gamewire as root, or without -Z"
            )),
        }
    }

    /// Makes this user the owner of a file or folder that this process has made.
    pub(super) fn own(&self, made: impl AsFd) -> nix::Result<()> {
        if self.user.is_root() {
            return Ok(());
        }
        fchown(made, Some(self.user), Some(self.group))
    }
}

/// Switches to this user, if there is one, and drops all capabilities.
pub(super) fn drop_to(account: Option<&UserAccount>) -> Result<(), String> {
    if let Some(account) = account {
        capabilities::drop_bounding();
        if !account.user.is_root() {
            switch_to(account)?;
        }
    }
    capabilities::drop_all()
}

fn switch_to(account: &UserAccount) -> Result<(), String> {
    let failed = |error| {
        format!("cannot switch to user {}: {error}; name another one with -Z", account.name)
    };
    groups::leave_others(account.group).map_err(failed)?;
    setgid(account.group).map_err(failed)?;
    setuid(account.user).map_err(failed)
}

/// Linux capabilities.
#[cfg(target_os = "linux")]
mod capabilities {
    use caps::CapSet;

    /// Programs that this process starts cannot regain any, not even as root. Errors are ignored: a
    /// capability that cannot be dropped from this set was not there.
    pub(super) fn drop_bounding() {
        caps::clear(None, CapSet::Bounding).ok();
    }

    /// Drops all that this process has.
    pub(super) fn drop_all() -> Result<(), String> {
        // Old systems lack ambient ones.
        caps::clear(None, CapSet::Ambient).ok();
        for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
            caps::clear(None, set).map_err(|error| format!("cannot drop capabilities: {error}"))?;
        }
        Ok(())
    }
}

/// Other systems have no capabilities: the change of user drops all privileges.
#[cfg(not(target_os = "linux"))]
mod capabilities {
    pub(super) fn drop_bounding() {}
    pub(super) fn drop_all() -> Result<(), String> {
        Ok(())
    }
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
