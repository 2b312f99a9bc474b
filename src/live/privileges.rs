//! Root is needed to open a device, and for nothing after that.

use std::ffi::OsString;
use std::path::Path;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::{AccessFlags, Gid, Uid, User, faccessat, geteuid, setgid, setgroups, setuid};

/// Who is to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    name: String,
    user: Uid,
    group: Gid,
}

/// Gives root's rights up for those of `user`; where none is named, of the user who called sudo,
/// else of nobody. Who is not root keeps their name. Returns the name of who goes on, if it is
/// another one.
///
/// Of root's rights one may stay: that to make files in `folders`, if the process `is_confined` to
/// them and the user alone may not.
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
            Some(user) => Err(format!("-Z {user}: only root can switch to another user")),
        };
    }
    let account = account(user, variable)?;
    if account.user.is_root() {
        return Ok(Some(account.name));
    }
    let failed = |error| {
        format!("cannot switch to user {}: {error}; name another user with -Z", account.name)
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

/// What Linux divides root's rights into. What cannot be given up here was not there.
#[cfg(target_os = "linux")]
mod capabilities {
    use caps::{CapSet, Capability, CapsHashSet};

    /// Capabilities outlive the change of the user, until [`keep`] says which. No program that were
    /// started could get any back.
    pub(super) fn survive_user_change() {
        caps::clear(None, CapSet::Bounding).ok();
        caps::securebits::set_keepcaps(true).ok();
    }

    /// Gives up all, or all but the right to make files where the user may not.
    pub(super) fn keep(files: bool) {
        let permitted = caps::read(None, CapSet::Permitted).unwrap_or_default();
        let wanted = files.then_some(Capability::CAP_DAC_OVERRIDE);
        let kept: CapsHashSet = wanted.into_iter().filter(|it| permitted.contains(it)).collect();
        for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective] {
            caps::clear(None, set).ok();
        }
        // What is effective must be permitted: it shrinks first, and grows last.
        caps::set(None, CapSet::Permitted, &kept).ok();
        caps::set(None, CapSet::Effective, &kept).ok();
        caps::securebits::set_keepcaps(false).ok();
    }
}

/// Elsewhere the change of the user takes them all.
#[cfg(not(target_os = "linux"))]
mod capabilities {
    pub(super) fn survive_user_change() {}
    pub(super) fn keep(_files: bool) {}
}

fn account(
    user: Option<&str>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Account, String> {
    if let Some(name) = user {
        return match named(name) {
            Some(account) => Ok(account),
            None => Err(format!("-Z {name}: there is no such user")),
        };
    }
    let number = |name| variable(name)?.to_str()?.parse::<u32>().ok();
    if let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let known = User::from_uid(user).ok().flatten().map(|user| user.name);
        let name = known.unwrap_or_else(|| format!("user {user}"));
        return Ok(Account { name, user, group });
    }
    let none = "there is no user 'nobody': name another user with -Z";
    named("nobody").ok_or_else(|| none.to_owned())
}

fn named(name: &str) -> Option<Account> {
    let user = User::from_name(name).ok().flatten()?;
    Some(Account { name: user.name, user: user.uid, group: user.gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_after_sudo_goes_on_else_nobody() {
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
